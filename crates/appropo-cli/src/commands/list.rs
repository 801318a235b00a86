use std::fmt::Write;

use crate::Output;
use crate::problem::{BUILT_IN, ENVIRONMENTS, ORACLES, PLAYERS, SETS};

/// Lists what there is to write into a problem file.
pub fn run() -> Output {
    let mut text = String::new();
    let mut section = |title: &str, rows: Vec<(&str, &str)>| {
        let _ = writeln!(text, "{title}");
        for (name, what) in rows {
            let _ = writeln!(text, "  {name:<24} {what}");
        }
        text.push('\n');
    };
    let summary = |text: &'static str| text.lines().next().unwrap_or("").trim_start_matches("# ");
    section("built-in problems", BUILT_IN.iter().map(|(name, text)| (*name, summary(text))).collect());
    section("environments, with their settings and defaults", ENVIRONMENTS.to_vec());
    section("sets, as keys of a constraint", SETS.to_vec());
    let about = [
        "the default: few calls",
        "the paper's: gradient descent",
        "ogd with momentum 0.9",
        "needs no settings",
    ];
    section("players", PLAYERS.iter().zip(about).map(|((name, _), what)| (*name, what)).collect());
    let about = [
        "planning in the known model: the default where there is one",
        "planning in a model learnt by playing: the fewest samples where states can be counted",
        "a network learnt by advantage actor-critic",
        "a network learnt by proximal policy optimisation: the default where there is no model",
        "action values in a table",
    ];
    section("oracles", ORACLES.iter().zip(about).map(|((name, _), what)| (*name, what)).collect());
    section(
        "methods",
        vec![("appropo", "the default"), ("occupancy", "one conic programme, solved by Clarabel")],
    );
    text.pop();
    Output { text, status: 0 }
}
