use std::fmt::Write;

use crate::Output;
use crate::problem::{BUILT_IN, ENVIRONMENTS, Environment, METHODS, ORACLE_WORDS, PLAYER_WORDS, SETS};

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
    let described = |world: &Environment| {
        let defaults = world.keys.iter().filter_map(|key| Some(format!("{} = {}", key.name, key.default()?)));
        let defaults: Vec<String> = defaults.collect();
        let gap = if defaults.is_empty() { "" } else { "; " };
        format!("{}{gap}{}", world.about, defaults.join(", "))
    };
    let worlds: Vec<(&str, String)> = ENVIRONMENTS.iter().map(|e| (e.name, described(e))).collect();
    section(
        "environments, with their defaults",
        worlds.iter().map(|(n, what)| (*n, what.as_str())).collect(),
    );
    section("sets, as keys of a constraint", SETS.iter().map(|key| (key.name, key.example)).collect());
    section("players", PLAYER_WORDS.to_vec());
    section("oracles", ORACLE_WORDS.to_vec());
    section("methods", METHODS.to_vec());
    text.pop();
    Output { text, status: 0 }
}
