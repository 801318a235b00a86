use std::time::Instant;

use appropo::baseline::{maximize_occupancy, solve_occupancy};
use appropo::certificate::{Certificate, Verdict};
use appropo::oracle::{Cache, Exact};
use appropo::policy::{Mixed, TabularPolicy};
use appropo::solver::{Maximum, binary_search, maximize, with_free_objective};

use crate::args::{Optimize, Search};
use crate::problem::{Method, OracleKind, Problem, Settings, suggestion};
use crate::report::{Found, Objective, Report};
use crate::search::{known, options};
use crate::{Failure, Output};

/// Maximises (`sign` 1) or minimises (−1) one measure subject to the constraints.
pub fn run(arguments: &Optimize, sign: f64) -> Result<Output, Failure> {
    let problem = Problem::load(&arguments.problem)?;
    let settings = arguments.settings.apply(&problem.settings);
    arguments.settings.check(&settings)?;
    let (report, _) = optimum(&problem, &settings, &arguments.measure, arguments.search, sign)?;
    report.output(&problem, arguments.settings.json)
}

/// The optimum and the mixed policy that attains it.
pub fn optimum(
    problem: &Problem,
    settings: &Settings,
    measure: &str,
    search: Search,
    sign: f64,
) -> Result<(Report, Mixed<TabularPolicy>), Failure> {
    let objective = entry(problem, measure)?;
    let start = Instant::now();
    if settings.oracle.is_some_and(|oracle| oracle != OracleKind::Exact) {
        return Err(Failure::Input(
            "maximize and minimize plan in a known model and take no oracle but exact".into(),
        ));
    }
    let model = known(problem)?.select(&problem.target.selection_with(objective, sign));
    let set = problem.target.set();
    let mut oracle = Exact::new(model.clone(), problem.discounting, settings.planner)?;
    let options = options(settings);
    let found = match (settings.method, search) {
        (Method::Occupancy, _) => Some(by_programme(problem, &model, settings.tolerance)?),
        (Method::Appropo, Search::Binary) => None,
        // Where episodes can last for millions of steps, the master problem may find no feasible point. The slower
        // search still does.
        (Method::Appropo, Search::Master) => Some(maximize(set, &mut oracle, &options, &mut ())?)
            .filter(|maximum| maximum.value.is_some() || maximum.certificate.verdict == Verdict::Infeasible),
    };
    let mut maximum = match found {
        Some(maximum) => maximum,
        None => {
            let mut cache = Cache::new(oracle);
            let maximum = binary_search(set, &mut cache, &options, &mut ())?;
            oracle = cache.into_oracle();
            maximum
        }
    };
    // What is reported is what holds when computed again.
    if maximum.certificate.z_bar.len() == model.measures().dim() {
        maximum.certificate =
            oracle.recompute(&maximum.certificate, &with_free_objective(set)?, &maximum.mixture)?;
    }
    let upper_bound = match &maximum.ceiling {
        Some(ceiling) if maximum.value.is_some() => oracle.upper_bound(ceiling, set)?,
        _ => maximum.upper_bound,
    };
    let Maximum { value, mixture, certificate, oracle_calls, .. } = maximum;
    let found = Found::planned(problem, certificate, &mixture, oracle_calls)?;
    let mut report = Report::new(problem, settings, found, Some(start.elapsed()));
    report.is_open = value.is_some_and(|v| upper_bound.is_finite() && upper_bound - v > settings.tolerance);
    report.objective = Some(Objective {
        measure: measure.to_owned(),
        goal: if sign > 0.0 { "maximize" } else { "minimize" },
        value: value.map(|v| sign * v),
        bound: upper_bound.is_finite().then_some(sign * upper_bound),
    });
    Ok((report, mixture))
}

/// The entry of the measurement vector that a name, or name\[i\], stands for.
fn entry(problem: &Problem, text: &str) -> Result<usize, Failure> {
    let measures = problem.world.measures();
    let (name, index) = match text.strip_suffix(']').and_then(|t| t.split_once('[')) {
        Some((name, index)) => (name, Some(index)),
        None => (text, None),
    };
    let known: Vec<&str> = measures.iter().map(|(name, _)| name).collect();
    let range = measures
        .range(name)
        .map_err(|error| Failure::Input(format!("{error}; {}", suggestion(name, known.iter().copied()))))?;
    let count = range.len();
    if count == 0 {
        return Err(Failure::Input(format!("measure \"{name}\" has no entries")));
    }
    let bad = |problem: String| Failure::Input(format!("measure \"{text}\": {problem}"));
    match index.map(str::parse::<usize>) {
        None if count == 1 => Ok(range.start),
        Some(Ok(i)) if i < count => Ok(range.start + i),
        None => Err(bad(format!("it has {count} entries; write {name}[0] to {name}[{}]", count - 1))),
        Some(_) => Err(bad(format!("expected a whole number from 0 to {} in the brackets", count - 1))),
    }
}

fn by_programme(
    problem: &Problem,
    model: &appropo::env::TabularMdp,
    tolerance: f64,
) -> Result<Maximum<TabularPolicy>, Failure> {
    let set = problem.target.set();
    match maximize_occupancy(set, model, &problem.discounting, tolerance) {
        Ok(programme) => {
            let value = programme.certificate.z_bar.last().copied();
            Ok(Maximum {
                value,
                upper_bound: f64::INFINITY,
                ceiling: None,
                mixture: Mixed::new([(1.0, programme.policy)]),
                certificate: programme.certificate,
                oracle_calls: 0,
            })
        }
        // The solver says only that there is no point; the least distance says how far off the problem is.
        Err(error) => {
            let selected = known(problem)?.select(problem.target.selection());
            let programme = solve_occupancy(set, &selected, &problem.discounting, tolerance)?;
            let certificate: Certificate = programme.certificate;
            if certificate.verdict != Verdict::Infeasible {
                return Err(error.into());
            }
            Ok(Maximum {
                value: None,
                upper_bound: f64::NEG_INFINITY,
                ceiling: None,
                mixture: Mixed::new([(1.0, programme.policy)]),
                certificate,
                oracle_calls: 0,
            })
        }
    }
}
