use std::fmt::Write;

use crate::problem::Problem;
use crate::{Failure, Output};

/// Reads a problem and says what it states, or writes it out in full.
pub fn run(problem: &str, explain: bool) -> Result<Output, Failure> {
    let problem = Problem::load(problem)?;
    if explain {
        return Ok(Output { text: problem.resolved(&problem.settings)?, status: 0 });
    }
    let mut text = format!("{}: the problem is well stated\n\n", problem.name);
    let horizon = problem.discounting.horizon().map_or("no horizon".into(), |h| format!("horizon {h}"));
    let size = match problem.world.model() {
        Some(model) => format!(
            "{} states, {} actions, {} transitions",
            model.states(),
            model.actions(),
            model.transitions()
        ),
        None => "no model: to be learnt by playing".into(),
    };
    let _ = writeln!(text, "world       {size}; discount {}, {horizon}", problem.discounting.gamma());
    let all = problem.world.measures();
    let measures: Vec<String> = all
        .iter()
        .map(|(name, range)| if range.len() == 1 { name.into() } else { format!("{name}[{}]", range.len()) })
        .collect();
    let _ = writeln!(text, "measures    {}", measures.join(", "));
    for constraint in problem.constraints() {
        let _ = writeln!(text, "constraint  {constraint}");
    }
    Ok(Output { text, status: 0 })
}
