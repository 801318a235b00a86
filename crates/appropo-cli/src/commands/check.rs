use std::fmt::Write;

use appropo::outcome::count;
use appropo::registry::Registry;
use appropo_file::{ProblemFile, Reader, written, written_solve};

use crate::args::Overrides;
use crate::{Failure, Output};

/// Reads a problem and says what it states, or writes it out in full.
pub fn run(problem: &str, explain: bool, overrides: &Overrides) -> Result<Output, Failure> {
    let reader = Reader { settings: overrides.table(), ..Reader::default() };
    let ProblemFile { problem, method, budget, seed, .. } = reader.load(problem)?;
    if explain {
        let registry = Registry::standard();
        let solve = written_solve(&problem, method.as_ref(), &budget, seed, &registry)?;
        return Ok(Output::of(written(&problem, &registry) + &solve));
    }
    let mut text = format!("{}: the problem is well stated\n\n", problem.name());
    let discounting = problem.discounting();
    let horizon = discounting.horizon().map_or("no horizon".into(), |h| format!("horizon {h}"));
    let size = match (problem.env().model(), problem.env().logged()) {
        (_, Some(logs)) => {
            let episodes = count(logs.episodes().len(), "logged episode", "logged episodes");
            format!("{episodes} of {} steps, in which nobody can play", logs.steps())
        }
        (Some(model), None) => format!(
            "{} states, {} actions, {} transitions",
            model.states(),
            model.actions(),
            model.transitions()
        ),
        (None, None) => "no model: to be learnt by playing".into(),
    };
    let _ = writeln!(text, "world       {size}; discount {}, {horizon}", discounting.gamma());
    let measures = problem.measures().iter().map(|(name, range)| match range.len() {
        1 => name.into(),
        entries => format!("{name}[{entries}]"),
    });
    let _ = writeln!(text, "measures    {}", measures.collect::<Vec<_>>().join(", "));
    for statement in problem.statements() {
        let _ = writeln!(text, "constraint  {statement}");
    }
    if let Some(objective) = problem.objective() {
        let _ = writeln!(text, "objective   {} {}", objective.direction.word(), objective.statement());
    }
    Ok(Output::of(text))
}
