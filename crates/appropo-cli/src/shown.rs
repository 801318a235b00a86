//! An outcome as it is printed.

use std::fmt::Write;

use appropo::certificate::Verdict;
use appropo::method::Method;
use appropo::outcome::{Outcome, count, number};
use appropo::problem::Problem;
use appropo::solver::Stop;
use appropo_run::result::Summary;

use crate::{Output, picture};

/// An outcome as text or as JSON, with the exit status of its verdict.
pub fn output(
    problem: &Problem,
    method: &dyn Method,
    outcome: &Outcome,
    seconds: Option<f64>,
    as_json: bool,
) -> Output {
    let status = match outcome.verdict() {
        _ if outcome.failure().is_some() => 1,
        Verdict::Feasible => 0,
        Verdict::Infeasible => 3,
        Verdict::Undecided => 4,
    };
    if let Some(error) = outcome.failure() {
        eprintln!("error: {error}; the result is what had been found by then");
    }
    let text = match as_json {
        true => Summary::of(problem, outcome, seconds).to_json() + "\n",
        false => text(problem, method, outcome, seconds),
    };
    Output { text, status }
}

fn text(problem: &Problem, method: &dyn Method, outcome: &Outcome, seconds: Option<f64>) -> String {
    let mut text = format!("{}: {}\n\n", problem.name(), outcome.sentence());
    text.push_str(&outcome.table(problem));
    if let Some(optimum) = &outcome.objective {
        let is_open = outcome.stop == Stop::Rounds && optimum.bound.is_some();
        let open = if is_open { " (stopped before the two met)" } else { "" };
        let _ = writeln!(text, "\n{}{open}", optimum.sentence());
        for price in outcome.prices(problem) {
            let _ = writeln!(text, "{}", price.sentence(problem));
        }
    }
    if let Some(nearest) = outcome.nearest(problem) {
        let _ = writeln!(text, "\n{}", nearest.sentence());
    }
    if let (Some(grid), Ok(range)) = (problem.env().grid(), problem.measures().range("visits")) {
        let picture = picture::visits(grid, &outcome.measurements[range]);
        if !picture.is_empty() {
            let _ = write!(text, "\n{picture}");
        }
    }
    let samples = match outcome.samples {
        0 => String::new(),
        samples => format!(", {samples} samples"),
    };
    let seconds = seconds.map_or(String::new(), |seconds| format!(", {seconds:.3} s"));
    let effort = match outcome.rounds {
        0 if method.name() == "distil" => "distilled".into(),
        0 => "one conic programme".into(),
        rounds => count(rounds, "oracle call", "oracle calls"),
    };
    let _ = writeln!(
        text,
        "\ndistance {}, lower bound {}; {effort}, {}{samples}{seconds}",
        number(outcome.certificate.distance),
        number(outcome.certificate.lower_bound),
        count(outcome.mixture.parts().len(), "policy", "policies"),
    );
    if let Some(estimate) = &outcome.off_policy {
        let _ = write!(text, "\n{}", estimate.table(problem));
    }
    let evidence = outcome.evidence();
    if !evidence.is_empty() {
        let _ = writeln!(text, "{evidence}");
    }
    text
}
