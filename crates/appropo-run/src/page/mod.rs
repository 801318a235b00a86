//! A run as one HTML page that needs nothing else: no server, no network, no other file.
//!
//! The caller brings the numbers, [`render`] puts them into the page as JSON, and the page's own script draws them.
//! Numbers that are not finite become `null` there, which the page leaves out.

use std::fmt::Write;

use serde::{Serialize, Serializer};

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
/// In the order in which they build on each other; the page wraps them in one function.
const SCRIPTS: [&str; 8] = [
    include_str!("scale.js"),
    include_str!("chart.js"),
    include_str!("lines.js"),
    include_str!("plane.js"),
    include_str!("map.js"),
    include_str!("figures.js"),
    include_str!("run.js"),
    include_str!("front.js"),
];
/// What a page has besides that follows runs.
const LIVE_SCRIPT: &str = include_str!("live.js");
const START: &str = include_str!("page.js");

/// A run and what it found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Page {
    /// What the run is called.
    pub name: String,
    /// What it is one of several of, and is drawn like; empty where it stands for itself.
    pub group: String,
    /// "feasible", "infeasible" or "undecided".
    pub verdict: String,
    /// The verdict in a sentence.
    pub sentence: String,
    /// The version of the program.
    pub version: String,
    /// The seed, written as text: a browser keeps only 53 bits of a number.
    #[serde(serialize_with = "text")]
    pub seed: u64,
    /// The command that does the run again.
    pub command: String,
    /// The problem file.
    pub problem: String,
    /// Steps taken in the environment to learn.
    pub samples: u64,
    /// Steps taken in the environment to evaluate the result.
    pub evaluation_samples: u64,
    /// How often the oracle was asked.
    pub oracle_calls: usize,
    /// The mixture's distance from the target set.
    pub distance: f64,
    /// No policy is closer to the target set than this.
    pub lower_bound: f64,
    /// The distance that counts as none.
    pub tolerance: f64,
    /// The level of the intervals; none where everything is exact.
    pub confidence: Option<f64>,
    /// Whether they rest on logged episodes, and no fresh ones were played.
    pub is_logged: bool,
    /// What was optimised.
    pub objective: Option<Objective>,
    /// What can be had where nothing meets the constraints, in a sentence; empty otherwise.
    pub nearest: String,
    /// The rows of the table of constraints.
    pub constraints: Vec<Constraint>,
    /// The single numbers that constraints look at.
    pub measures: Vec<Measure>,
    /// How the run went, thinned to about a thousand rounds.
    pub rounds: Rounds,
    /// The target set as seen in the plane of two measures.
    pub sets: Vec<Outline>,
    /// Visits on a map, where the world is one.
    pub grid: Option<Grid>,
    /// The policies that are mixed.
    pub mixture: Vec<Part>,
    /// Where the time went, in seconds.
    pub times: Vec<(String, f64)>,
}

/// The objective and what was found of it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Objective {
    /// "maximize" or "minimize".
    pub goal: String,
    /// What was optimised.
    pub measure: String,
    /// What was found, in a sentence.
    pub sentence: String,
    /// The value; none where no feasible policy was found.
    pub value: Option<f64>,
    /// The confidence interval of the value.
    pub interval: Option<[f64; 2]>,
    /// No feasible policy does better than this.
    pub bound: Option<f64>,
    /// What loosening each constraint is worth, in sentences.
    pub prices: Vec<String>,
}

/// A constraint and whether it holds, its numbers as they are to be read.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Constraint {
    /// What the constraint is called.
    pub name: String,
    /// What it looks at.
    pub measure: String,
    /// What the mixture has.
    pub value: String,
    /// What it must have.
    pub required: String,
    /// How far the value is inside; negative outside.
    pub slack: String,
    /// The confidence interval of the value.
    pub interval: Option<[f64; 2]>,
    /// Whether the constraint holds.
    pub holds: bool,
}

/// A single number that is measured, and the range it must keep to.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Measure {
    /// What the measure is called.
    pub name: String,
    /// What its λ is called; empty where that is the measure's name.
    pub price: String,
    /// What the mixture has.
    pub value: f64,
    /// The confidence interval of the value.
    pub interval: Option<[f64; 2]>,
    /// The value must not be below this.
    pub lower: Option<f64>,
    /// The value must not be above this.
    pub upper: Option<f64>,
}

/// The course of a run, one entry a round in every list.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Rounds {
    /// The rounds' numbers, increasing.
    pub round: Vec<usize>,
    /// Samples taken up to then; zeros where planning needs none.
    pub samples: Vec<u64>,
    /// The mixture's distance from the target set.
    pub distance: Vec<f64>,
    /// The largest lower bound on the distance so far.
    pub lower_bound: Vec<f64>,
    /// The best value of the objective with the constraints held; empty where there is no objective.
    pub objective: Vec<Option<f64>>,
    /// z̄, the mixture's measurement: one list for each of the page's measures.
    #[serde(serialize_with = "short")]
    pub z: Vec<Vec<f64>>,
    /// λ: one list for each of the page's measures.
    #[serde(serialize_with = "short")]
    pub lam: Vec<Vec<f64>>,
}

/// The outline of the target set in the plane of two measures, clipped to a window.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Outline {
    /// The measure that runs across.
    pub x: usize,
    /// The measure that runs up.
    pub y: usize,
    /// The corners, in order round the set.
    pub outline: Vec<[f64; 2]>,
}

/// A map and how often its cells are visited, row by row.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Grid {
    /// How many rows the map has.
    pub rows: usize,
    /// How many columns the map has.
    pub columns: usize,
    /// One letter a cell: S start, G goal, F free, H obstacle, C cliff.
    pub cells: String,
    /// Expected visits to each cell.
    pub visits: Vec<f64>,
}

/// A policy of the mixture.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Part {
    /// Its probability.
    pub weight: f64,
    /// "table" or "network".
    pub kind: String,
    /// What it measures: one number for each of the page's measures, or nothing.
    pub z: Vec<f64>,
}

/// A Pareto front.
#[derive(Clone, Debug, Serialize)]
pub struct FrontPage {
    /// "front".
    pub kind: &'static str,
    /// What the problem is called.
    pub name: String,
    /// "feasible", "infeasible" or "undecided": of the constraints.
    pub verdict: String,
    /// What was found, in a sentence.
    pub sentence: String,
    /// The version of the program.
    pub version: String,
    /// The command that does it again.
    pub command: String,
    /// The problem file.
    pub problem: String,
    /// The constraints in words.
    pub constraints: Vec<String>,
    /// The measures with "maximize" or "minimize".
    pub measures: Vec<(String, String)>,
    /// What else the vertices say.
    pub others: Vec<String>,
    /// The vertices: one number a measure.
    pub vertices: Vec<Vec<f64>>,
    /// What else they measure.
    pub measured: Vec<Vec<f64>>,
    /// The probabilities of the policies that each vertex mixes.
    pub mixtures: Vec<Vec<f64>>,
    /// weights·values ≤ bound.
    pub faces: Vec<(Vec<f64>, f64)>,
    /// The corners of the outer approximation.
    pub corners: Vec<Vec<f64>>,
    /// The gap that was asked for.
    pub epsilon: f64,
    /// The gap that was proved.
    pub gap: f64,
    /// How often the oracle was asked.
    pub oracle_calls: usize,
}

/// The page of a Pareto front.
pub fn render_front(front: &FrontPage) -> String {
    filled(&escape(&front.name), &[(&front.name, &front.sentence)], &data(&[front]), None)
}

/// The page of one run, or the comparison of several.
pub fn render(runs: &[Page]) -> String {
    let said: Vec<(&str, &str)> = runs.iter().map(|run| (run.name.as_str(), run.sentence.as_str())).collect();
    filled(&title(&said), &said, &data(runs), None)
}

/// The page that follows runs, of which `data` is what [`data`] makes of them: it asks its server for events. Only the script
/// with this nonce runs where the server says so.
pub fn render_live(said: &[(&str, &str)], data: &str, nonce: &str) -> String {
    filled(&title(said), said, data, Some(nonce))
}

fn title(said: &[(&str, &str)]) -> String {
    match said {
        [(name, _)] => escape(name),
        _ => format!("Comparison of {} runs", said.len()),
    }
}

fn filled(title: &str, said: &[(&str, &str)], data: &str, nonce: Option<&str>) -> String {
    let mut summary = String::new();
    for (name, sentence) in said {
        // Writing to a string cannot fail.
        let _ = writeln!(summary, "<h1>{}</h1>\n<p>{}</p>", escape(name), escape(sentence));
    }
    let mut page = String::new();
    let mut rest = TEMPLATE;
    // One walk over the template: what is filled in is never searched for places to fill.
    while let Some((before, (place, after))) =
        rest.split_once("{{").and_then(|(before, more)| Some((before, more.split_once("}}")?)))
    {
        page.push_str(before);
        match place {
            "title" => page.push_str(title),
            "style" => page.push_str(STYLE),
            "summary" => page.push_str(&summary),
            "data" => page.push_str(data),
            "script" => {
                page.extend(SCRIPTS);
                page.push_str(nonce.map_or("", |_| LIVE_SCRIPT));
                page.push_str(START);
            }
            "connect" => page.push_str(nonce.map_or("", |_| "; connect-src 'self'")),
            "nonce" => page.push_str(&nonce.map_or(String::new(), |nonce| format!(" nonce=\"{nonce}\""))),
            unknown => unreachable!("nothing fills the place {unknown}"),
        }
        rest = after;
    }
    page + rest
}

/// Whether this is the beginning of a page that [`render`] made.
pub fn is_page(bytes: &[u8]) -> bool {
    let mark = "content=\"appropo\">";
    let end = TEMPLATE.find(mark).map_or(TEMPLATE.len(), |start| start + mark.len());
    bytes.starts_with(&TEMPLATE.as_bytes()[..end])
}

/// The runs as JSON that can stand inside a script element: no `<`, hence no `</script>` and no `<!--`, and none of
/// the two line ends that JSON knows as ordinary characters but old scripts do not.
pub fn data(runs: &[impl Serialize]) -> String {
    let json =
        serde_json::to_string(runs).unwrap_or_else(|error| unreachable!("plain data is JSON: {error}"));
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn text<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

/// Seven significant digits: more than a curve can show, at half the size of the page.
fn short<S: Serializer>(curves: &[Vec<f64>], serializer: S) -> Result<S::Ok, S::Error> {
    let round = |x: &f64| format!("{x:.6e}").parse().unwrap_or(*x);
    serializer.collect_seq(curves.iter().map(|curve| curve.iter().map(round).collect::<Vec<f64>>()))
}

#[cfg(test)]
mod tests;
