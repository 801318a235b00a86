use std::fmt::Write;

use crate::problem::Problem;
use crate::{Failure, Output};

/// Reads a problem and says what it states.
pub fn run(problem: &str) -> Result<Output, Failure> {
    let problem = Problem::load(problem)?;
    let model = &problem.world.model;
    let mut text = format!("{}: the problem is well stated\n\n", problem.name);
    let horizon = problem.discounting.horizon().map_or("no horizon".into(), |h| format!("horizon {h}"));
    let _ = writeln!(
        text,
        "world       {} states, {} actions, {} transitions; discount {}, {horizon}",
        model.states(),
        model.actions(),
        model.transitions(),
        problem.discounting.gamma(),
    );
    let measures: Vec<String> = model
        .measures()
        .iter()
        .map(|(name, range)| if range.len() == 1 { name.into() } else { format!("{name}[{}]", range.len()) })
        .collect();
    let _ = writeln!(text, "measures    {}", measures.join(", "));
    for (constraint, shown) in problem.target.constraints().iter().zip(&problem.shown) {
        let per_step = if constraint.share { " per step" } else { "" };
        let _ = writeln!(
            text,
            "constraint  {}: {}{per_step} {}",
            constraint.name,
            constraint.measures.join(", "),
            shown.requirement
        );
    }
    Ok(Output { text, status: 0 })
}
