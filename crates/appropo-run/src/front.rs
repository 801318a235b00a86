//! A Pareto front as JSON, CSV, a page, and a folder from which its claim can be computed again.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use appropo::certificate::{Ceiling, Certificate, Verdict};
use appropo::error::Error as LibraryError;
use appropo::front::{Front, FrontFace, FrontMeasure, FrontVertex, verify_front};
use appropo::policy::{AnyPolicy, Mixed};
use appropo::problem::{Direction, Problem};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::{Error, Result, damaged};
use crate::page::{self, FrontPage};
use crate::result::StopWord;
use crate::verify::Verification;
use crate::{Directory, files, policies};

/// A front as one JSON object.
#[derive(Debug, Clone, Serialize)]
pub struct FrontSummary {
    verdict: Verdict,
    distance: f64,
    lower_bound: f64,
    measures: Vec<Asked>,
    epsilon: f64,
    gap: Option<f64>,
    units: Map<String, Value>,
    vertices: Vec<Map<String, Value>>,
    faces: Vec<FaceSummary>,
    corners: Vec<Map<String, Value>>,
    oracle_calls: usize,
    policies: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
}

#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
struct Asked {
    measure: String,
    goal: String,
}

#[derive(Debug, Clone, Serialize)]
struct FaceSummary {
    weights: Map<String, Value>,
    bound: f64,
}

impl FrontSummary {
    /// The summary of a front, with the time that it took where that is known.
    pub fn of(front: &Front, seconds: Option<f64>) -> Self {
        let named = |values: &[f64]| -> Map<String, Value> {
            front.measures.iter().zip(values).map(|(m, v)| (m.measure.clone(), json!(v))).collect()
        };
        Self {
            verdict: front.verdict(),
            distance: front.certificate.distance,
            lower_bound: front.certificate.lower_bound,
            measures: asked(front),
            epsilon: front.epsilon,
            gap: Some(front.gap).filter(|gap| gap.is_finite()),
            units: named(&front.units),
            vertices: front.vertices.iter().map(|vertex| named(&vertex.values)).collect(),
            faces: front
                .faces
                .iter()
                .map(|face| FaceSummary { weights: named(&face.weights), bound: face.bound })
                .collect(),
            corners: front.corners.iter().map(|corner| named(corner)).collect(),
            oracle_calls: front.oracle_calls,
            policies: Policies::of(front).all.len(),
            seconds,
        }
    }

    /// The object as a line of text.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn asked(front: &Front) -> Vec<Asked> {
    let asked = |m: &FrontMeasure| Asked { measure: m.measure.clone(), goal: m.direction.word().into() };
    front.measures.iter().map(asked).collect()
}

/// The vertices as a table: a column for each measure of the front, then for every other measure.
pub fn csv(problem: &Problem, front: &Front) -> String {
    let quoted = |name: &str| match name.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_owned(),
    };
    let mut names: Vec<String> = front.measures.iter().map(|m| quoted(&m.measure)).collect();
    let others = others(problem, front);
    names.extend(others.iter().map(|(name, _)| quoted(name)));
    let mut text = names.join(",") + "\n";
    for vertex in &front.vertices {
        let others = others.iter().map(|(_, entry)| vertex.measurements[*entry]);
        let row: Vec<String> =
            vertex.values.iter().copied().chain(others).map(|value| format!("{value:?}")).collect();
        text += &(row.join(",") + "\n");
    }
    text
}

/// Entries of a measure beyond which a table leaves it out.
const MOST_ENTRIES: usize = 16;

/// The entries that are measured besides those of a front.
fn others(problem: &Problem, front: &Front) -> Vec<(String, usize)> {
    let mut others = Vec::new();
    for (name, range) in problem.measures().iter().filter(|(_, range)| range.len() <= MOST_ENTRIES) {
        let is_one = range.len() == 1;
        for (place, entry) in range.enumerate() {
            let name = if is_one { name.to_owned() } else { format!("{name}[{place}]") };
            if !front.measures.iter().any(|m| m.measure == name) {
                others.push((name, entry));
            }
        }
    }
    others
}

/// All policies of a front, each once, and which of them a mixture draws with which probability.
struct Policies {
    all: Vec<Arc<AnyPolicy>>,
    places: HashMap<*const AnyPolicy, usize>,
}

impl Policies {
    fn of(front: &Front) -> Self {
        let mut policies = Self { all: Vec::new(), places: HashMap::new() };
        let mixtures = front.vertices.iter().map(|vertex| &vertex.mixture).chain([&front.mixture]);
        for (_, policy) in mixtures.flat_map(|mixture| mixture.parts()) {
            policies.places.entry(Arc::as_ptr(policy)).or_insert_with(|| {
                policies.all.push(Arc::clone(policy));
                policies.all.len() - 1
            });
        }
        policies
    }

    fn drawn(&self, mixture: &Mixed) -> Vec<(usize, f64)> {
        mixture.parts().iter().map(|(weight, policy)| (self.places[&Arc::as_ptr(policy)], *weight)).collect()
    }
}

/// What a front is of, and what it says.
#[derive(Debug, Serialize, Deserialize)]
struct FrontFile {
    version: String,
    problem: String,
    command: String,
    measures: Vec<Asked>,
    epsilon: f64,
    gap: Option<f64>,
    units: Vec<f64>,
    /// The mixture of the certificate: places of policies, and probabilities.
    mixture: Vec<(usize, f64)>,
    vertices: Vec<VertexFile>,
    faces: Vec<FaceFile>,
    corners: Vec<Vec<f64>>,
    oracle_calls: usize,
    stop: StopWord,
}

#[derive(Debug, Serialize, Deserialize)]
struct VertexFile {
    values: Vec<f64>,
    measurements: Vec<f64>,
    mixture: Vec<(usize, f64)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct FaceFile {
    weights: Vec<f64>,
    bound: f64,
}

/// The proofs of a front: its certificate, and one for each face.
#[derive(Debug, Serialize, Deserialize)]
struct ProofFile {
    certificate: Certificate,
    faces: Vec<Ceiling>,
}

/// What a front is of.
#[derive(Debug, Clone)]
pub struct AboutFront<'a> {
    /// The version of the program.
    pub version: &'a str,
    /// The problem's name.
    pub problem: &'a str,
    /// The command that does it again.
    pub command: &'a str,
    /// The problem file.
    pub text: &'a str,
}

/// Writes a front into a new folder.
pub fn save(path: &Path, about: &AboutFront, problem: &Problem, front: &Front) -> Result<()> {
    let directory = Directory::create(path)?;
    directory.write_text(files::PROBLEM, about.text)?;
    let policies = Policies::of(front);
    // The file of a mixture holds policies; with which probabilities each vertex draws them stands beside it.
    policies::save(&directory, &Mixed::new(policies.all.iter().map(|policy| (1.0, Arc::clone(policy)))))?;
    let faces = front.faces.iter().map(|face| face.ceiling.clone()).collect();
    directory.write_json(files::PROOF, &ProofFile { certificate: front.certificate.clone(), faces })?;
    directory.write(files::FRONT_TABLE, csv(problem, front).as_bytes())?;
    directory.write(files::REPORT, page::render_front(&page_of(about, problem, front)).as_bytes())?;
    // This makes it a front: all that it needs is there by now.
    directory.write_json(
        files::FRONT,
        &FrontFile {
            version: about.version.into(),
            problem: about.problem.into(),
            command: about.command.into(),
            measures: asked(front),
            epsilon: front.epsilon,
            gap: Some(front.gap).filter(|gap| gap.is_finite()),
            units: front.units.clone(),
            mixture: policies.drawn(&front.mixture),
            vertices: front
                .vertices
                .iter()
                .map(|vertex| VertexFile {
                    values: vertex.values.clone(),
                    measurements: vertex.measurements.clone(),
                    mixture: policies.drawn(&vertex.mixture),
                })
                .collect(),
            faces: front
                .faces
                .iter()
                .map(|face| FaceFile { weights: face.weights.clone(), bound: face.bound })
                .collect(),
            corners: front.corners.clone(),
            oracle_calls: front.oracle_calls,
            stop: (&front.stop).into(),
        },
    )
}

/// Whether a folder holds a front.
pub fn is_front(path: &Path) -> bool {
    path.join(files::FRONT).is_file()
}

/// The name of the problem that a front is of.
pub fn problem_name(directory: &Directory) -> Result<String> {
    Ok(directory.read_json::<FrontFile>(files::FRONT)?.problem)
}

/// The front of a folder.
pub fn read(directory: &Directory, problem: &Problem) -> Result<Front> {
    let file: FrontFile = directory.read_json(files::FRONT)?;
    let proof: ProofFile = directory.read_json(files::PROOF)?;
    let all = policies::load(directory)?;
    let unfit = |problem: String| Error::Unfit { path: directory.file(files::FRONT), problem };
    let (measures, dim) = (file.measures.len(), problem.measures().dim());
    let model = problem.env().model().ok_or_else(|| unfit("the problem has no model to plan in".into()))?;
    let fits = |policy: &AnyPolicy| {
        policy
            .as_table()
            .is_some_and(|table| (table.states(), table.actions()) == (model.states(), model.actions()))
    };
    if let Some(place) = all.parts().iter().position(|(_, policy)| !fits(policy)) {
        return Err(unfit(format!("policy {place} is for another world than the front's problem")));
    }
    let mixed = |drawn: &[(usize, f64)]| -> Result<Mixed> {
        let part = |(place, weight): &(usize, f64)| {
            let (_, policy) = all.parts().get(*place)?;
            (*weight > 0.0 && *weight <= 1.0).then(|| (*weight, Arc::clone(policy)))
        };
        let parts = drawn.iter().map(part).collect::<Option<Vec<_>>>();
        let total: f64 = drawn.iter().map(|(_, weight)| weight).sum();
        match parts {
            Some(parts) if (total - 1.0).abs() < 1e-9 => Ok(Mixed::new(parts)),
            _ => Err(damaged(
                &directory.file(files::FRONT),
                "a mixture has other weights, or policies that are not there",
            )),
        }
    };
    let fits = file.units.len() == measures
        && file.units.iter().all(|unit| *unit > 0.0 && unit.is_finite())
        && file.vertices.iter().all(|v| v.values.len() == measures && v.measurements.len() == dim)
        && file.faces.iter().all(|face| face.weights.len() == measures)
        && file.corners.iter().all(|corner| corner.len() == measures)
        && proof.faces.len() == file.faces.len()
        && proof.certificate.z_bar.len() == problem.target().set().dim();
    if !fits {
        return Err(unfit("it has other numbers of measures, faces or proofs than its problem".into()));
    }
    let direction = |word: &str| match word {
        "maximize" => Ok(Direction::Maximize),
        "minimize" => Ok(Direction::Minimize),
        other => Err(unfit(format!("{other:?} is neither \"maximize\" nor \"minimize\""))),
    };
    let asked = |m: &Asked| Ok(FrontMeasure { measure: m.measure.clone(), direction: direction(&m.goal)? });
    let vertex = |vertex: VertexFile| {
        let VertexFile { values, measurements, mixture } = vertex;
        Ok(FrontVertex { values, measurements, mixture: mixed(&mixture)? })
    };
    let faces = file.faces.into_iter().zip(proof.faces);
    Ok(Front {
        measures: file.measures.iter().map(asked).collect::<Result<_>>()?,
        certificate: proof.certificate,
        mixture: mixed(&file.mixture)?,
        vertices: file.vertices.into_iter().map(vertex).collect::<Result<_>>()?,
        faces: faces
            .map(|(face, ceiling)| FrontFace { weights: face.weights, bound: face.bound, ceiling })
            .collect(),
        corners: file.corners,
        units: file.units,
        epsilon: file.epsilon,
        gap: file.gap.unwrap_or(f64::INFINITY),
        oracle_calls: file.oracle_calls,
        stop: file.stop.stop(""),
    })
}

/// Computes the claim of a front again from its files. The problem is that which its own file states.
pub fn verify(directory: &Directory, problem: &Problem) -> Result<Verification> {
    let mut lines: Vec<String> =
        problem.statements().map(|statement| format!("claim   {statement}")).collect();
    let outcome = check(directory, problem, &mut lines).map_err(|error| error.to_string());
    Ok(Verification { lines, outcome })
}

fn check(directory: &Directory, problem: &Problem, lines: &mut Vec<String>) -> Result<String> {
    let front = read(directory, problem)?;
    for FrontMeasure { measure, direction } in &front.measures {
        lines.push(format!("claim   {} {measure}", direction.word()));
    }
    lines.push(format!("ok      by their checksums {} are as they were written", SEALED.join(", ")));
    if directory.read_bytes(files::FRONT_TABLE)? != csv(problem, &front).as_bytes() {
        let problem = format!("{} is not the table of the front's vertices", files::FRONT_TABLE);
        return Err(LibraryError::Refuted { problem }.into());
    }
    lines.push(format!("ok      {} is the table of the vertices", files::FRONT_TABLE));
    lines.extend(verify_front(problem, &front)?.into_iter().map(|line| format!("ok      {line}")));
    directory.is_as_written(files::FRONT, &directory.read_json::<FrontFile>(files::FRONT)?)?;
    directory.is_as_written(files::PROOF, &directory.read_json::<ProofFile>(files::PROOF)?)?;
    Ok(match front.verdict() {
        Verdict::Feasible => format!("a front within {} of its ranges", appropo::outcome::number(front.gap)),
        Verdict::Infeasible => format!("infeasible by at least {:?}", front.certificate.lower_bound),
        Verdict::Undecided => "undecided, as it says".into(),
    })
}

const SEALED: [&str; 5] =
    ["front.json", "problem.toml", "policies.safetensors", "manifest.json", "proof.json"];

/// What the page of a front shows.
pub fn page_of(about: &AboutFront, problem: &Problem, front: &Front) -> FrontPage {
    let others = others(problem, front);
    FrontPage {
        kind: "front",
        name: about.problem.into(),
        verdict: format!("{:?}", front.verdict()).to_lowercase(),
        sentence: front.sentence(),
        version: about.version.into(),
        command: about.command.into(),
        problem: about.text.into(),
        constraints: problem.statements().collect(),
        measures: front.measures.iter().map(|m| (m.measure.clone(), m.direction.word().into())).collect(),
        others: others.iter().map(|(name, _)| name.clone()).collect(),
        vertices: front.vertices.iter().map(|vertex| vertex.values.clone()).collect(),
        measured: front
            .vertices
            .iter()
            .map(|vertex| others.iter().map(|(_, entry)| vertex.measurements[*entry]).collect())
            .collect(),
        mixtures: front
            .vertices
            .iter()
            .map(|vertex| vertex.mixture.parts().iter().map(|(weight, _)| *weight).collect())
            .collect(),
        faces: front.faces.iter().map(|face| (face.weights.clone(), face.bound)).collect(),
        corners: front.corners.clone(),
        epsilon: front.epsilon,
        gap: front.gap,
        oracle_calls: front.oracle_calls,
    }
}
