use std::fmt::Write;

use appropo::env::EnvEntry;
use appropo::registry::Registry;
use appropo_file::BUILT_IN;

/// Lists what there is to write into a problem file.
pub fn run(registry: &Registry) -> String {
    let mut text = String::new();
    let mut section = |title: &str, rows: Vec<(&str, String)>| {
        let _ = writeln!(text, "{title}");
        for (name, what) in rows {
            let _ = writeln!(text, "  {name:<24} {what}");
        }
        text.push('\n');
    };
    let summary = |text: &str| text.lines().next().unwrap_or("").trim_start_matches("# ").to_owned();
    section("built-in problems", BUILT_IN.iter().map(|(name, text)| (*name, summary(text))).collect());
    let described = |world: &EnvEntry| {
        let defaults = world.keys.iter().filter_map(|key| Some(format!("{} = {}", key.name, key.default()?)));
        let defaults: Vec<String> = defaults.collect();
        let gap = if defaults.is_empty() { "" } else { "; " };
        format!("{}{gap}{}", world.about, defaults.join(", "))
    };
    section(
        "environments, with their defaults",
        registry.environments().iter().map(|entry| (entry.name, described(entry))).collect(),
    );
    section(
        "sets, as keys of a constraint",
        registry.sets().iter().map(|set| (set.key.name, set.key.example.into())).collect(),
    );
    section("players", registry.players().iter().map(|entry| (entry.name, entry.about.into())).collect());
    section("oracles", registry.oracles().into_iter().map(|(name, about, _)| (name, about.into())).collect());
    section("methods", registry.methods().iter().map(|entry| (entry.name, entry.about.into())).collect());
    let options = registry.option_tables().into_iter().map(|(name, _, keys)| {
        let keys: Vec<&str> = keys.iter().map(|key| key.name).collect();
        (name, keys.join(", "))
    });
    section("options, as tables [solve.NAME] or --set NAME.OPTION=VALUE", options.collect());
    text.pop();
    text
}
