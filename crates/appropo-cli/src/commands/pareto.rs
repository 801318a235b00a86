use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use appropo::certificate::Verdict;
use appropo::front::{Front, FrontMeasure};
use appropo::outcome::{count, number};
use appropo::problem::Problem;
use appropo::registry::Registry;
use appropo::solver::{ParetoProgress, ParetoRule, Stop};
use appropo_file::{ProblemFile, Reader, written, written_solve};
use appropo_run::front::{AboutFront, FrontSummary, csv, save};
use appropo_run::{files, write_whole};
use indicatif::{ProgressBar, ProgressStyle};

use crate::args::Pareto;
use crate::{Failure, Output, interrupts};

/// The Pareto front of several measures.
pub fn run(arguments: &Pareto) -> Result<Output, Failure> {
    let Pareto { problem, maximize, minimize, epsilon, calls, tolerance, run, csv: table, quiet, json } =
        arguments;
    let mut reader = Reader::default();
    tolerance.iter().for_each(|tolerance| reader.settings.set("tolerance", *tolerance));
    let ProblemFile { problem, method, budget, seed, .. } = reader.load(problem)?;
    let problem = problem.without_objective();
    let measures: Vec<FrontMeasure> = maximize
        .iter()
        .map(FrontMeasure::maximize)
        .chain(minimize.iter().map(FrontMeasure::minimize))
        .collect();
    if measures.len() < 2 {
        let text =
            "a front trades two measures or more against each other; name each with --maximize or --minimize";
        return Err(Failure::Input(text.into()));
    }
    if let Some(table) = table.as_ref().filter(|table| Path::new(table).exists()) {
        let text = format!("--csv {table}: it is there already; remove it, or choose another name");
        return Err(Failure::Input(text));
    }
    let rule = ParetoRule::default().epsilon(*epsilon).calls(*calls).tolerance(budget.tolerance);
    let start = Instant::now();
    interrupts::catch();
    let bar = if *quiet || *json { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
        bar.set_style(style);
    }
    let mut watch = |progress: &ParetoProgress| {
        let ParetoProgress { calls, points, gap } = *progress;
        bar.set_message(format!("{calls} calls, {points} points, gap {}", number(gap)));
        bar.tick();
        // What was found so far is a front, too, with a wider gap.
        let is_enough = interrupts::was_interrupted();
        Ok(if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    let front = problem.pareto(&measures, &rule, &mut watch);
    bar.finish_and_clear();
    let front = front?;
    let seconds = start.elapsed().as_secs_f64();
    if let Some(table) = table {
        write_whole(Path::new(table), csv(&problem, &front).as_bytes())?;
    }
    if let Some(folder) = run {
        let registry = Registry::standard();
        let text = written(&problem, &registry)
            + &written_solve(&problem, method.as_ref(), &budget, seed, &registry)?;
        let about = AboutFront {
            version: env!("CARGO_PKG_VERSION"),
            problem: problem.name(),
            command: &command(arguments, &front),
            text: &text,
        };
        save(Path::new(folder), &about, &problem, &front)?;
    }
    let text = match json {
        true => FrontSummary::of(&front, Some(seconds)).to_json() + "\n",
        false => shown(&problem, &front, seconds, run.as_deref()),
    };
    Ok(Output { text, status: status(&front) })
}

fn status(front: &Front) -> u8 {
    match (front.verdict(), &front.stop) {
        (Verdict::Feasible, Stop::Reached) => 0,
        (Verdict::Infeasible, _) => 3,
        _ => 4,
    }
}

/// The command that does it again in the front's folder.
fn command(arguments: &Pareto, front: &Front) -> String {
    let mut text = format!("appropo pareto {}", files::PROBLEM);
    for FrontMeasure { measure, direction } in &front.measures {
        let _ = write!(text, " --{} '{measure}'", direction.word());
    }
    let _ = write!(text, " --epsilon {}", arguments.epsilon);
    text
}

/// Vertices that are printed at most.
const MOST_SHOWN: usize = 40;

fn shown(problem: &Problem, front: &Front, seconds: f64, folder: Option<&str>) -> String {
    let mut text = format!("{}: {}\n", problem.name(), front.sentence());
    if !front.vertices.is_empty() {
        let head = front.measures.iter().map(|m| m.measure.clone()).chain(["policies".into()]).collect();
        let row = |vertex: &appropo::front::FrontVertex| {
            let values = vertex.values.iter().map(|value| number(*value));
            values.chain([vertex.mixture.parts().len().to_string()]).collect()
        };
        let rows: Vec<Vec<String>> =
            std::iter::once(head).chain(front.vertices.iter().take(MOST_SHOWN).map(row)).collect();
        let columns = front.measures.len() + 1;
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        text.push('\n');
        for row in &rows {
            let cells: Vec<String> =
                row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            let _ = writeln!(text, "{}", cells.join("  ").trim_end());
        }
        let more = front.vertices.len().saturating_sub(MOST_SHOWN);
        if more > 0 {
            let _ = writeln!(text, "… and {more} more; --csv FILE and --json have all of them");
        }
    }
    let early = match front.stop {
        Stop::Rounds if front.verdict() == Verdict::Feasible => "; stopped before the gap was closed",
        Stop::Observer => "; interrupted",
        _ => "",
    };
    let _ = writeln!(
        text,
        "\n{}, {seconds:.3} s{early}",
        count(front.oracle_calls, "oracle call", "oracle calls")
    );
    if let Some(folder) = folder {
        let _ = writeln!(text, "front: {folder}, with {} and {}", files::FRONT_TABLE, files::REPORT);
    }
    text
}
