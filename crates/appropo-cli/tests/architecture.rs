//! The arrows between the crates, and no circles between the modules inside each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each crate with those of ours that it may use. The program's `main` may repeat experiments, and the Python package's
/// command is the program.
const ARROWS: [(&str, &[&str]); 6] = [
    ("appropo", &[]),
    ("appropo-file", &["appropo"]),
    ("appropo-run", &["appropo"]),
    ("appropo-experiments", &["appropo", "appropo-file", "appropo-run"]),
    ("appropo-cli", &["appropo", "appropo-file", "appropo-run", "appropo-experiments"]),
    ("appropo-py", &["appropo", "appropo-file", "appropo-run", "appropo-cli"]),
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn crates_use_one_another_one_way() {
    for (name, allowed) in ARROWS {
        let text = fs::read_to_string(crates().join(name).join("Cargo.toml")).unwrap();
        let dependencies = text.split("[dependencies]").nth(1).unwrap_or("").split("\n[").next().unwrap();
        for line in dependencies.lines().filter(|line| line.starts_with("appropo")) {
            let used = line.split(['.', ' ', '=']).next().unwrap();
            assert!(allowed.contains(&used), "{name} uses {used}, against the arrows");
        }
    }
    let known: BTreeSet<String> = ARROWS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let there =
        fs::read_dir(crates()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(there.collect::<BTreeSet<_>>(), known);
}

/// The Python package is the program in one place only: where its command hands its arguments over.
#[test]
fn the_package_calls_the_program_for_its_command_only() {
    let mut calls = 0;
    for (path, text) in sources(&crates().join("appropo-py/src")) {
        let found = text.matches("appropo_cli::").count();
        assert!(found == 0 || path.ends_with("lib.rs"), "{} calls the program", path.display());
        calls += found;
    }
    assert_eq!(calls, 1);
}

/// Every source file below a folder.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text.split("#[cfg(test)]").next().unwrap().to_owned()));
        }
    }
    found
}

/// What stands behind `crate::`, one name or several in braces.
fn names(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in text.split("crate::").skip(1) {
        let group = part.strip_prefix('{').and_then(|part| part.split('}').next());
        for name in group.map_or_else(|| vec![part], |group| group.split(',').collect()) {
            let plain = |c: &char| c.is_alphanumeric() || *c == '_';
            found.push(name.trim().chars().take_while(plain).collect());
        }
    }
    found
}

/// Which modules of a crate see which others.
fn modules(name: &str) -> BTreeMap<String, BTreeSet<String>> {
    let root = crates().join(name).join("src");
    let all = sources(&root);
    let module = |path: &Path| {
        let first = path.strip_prefix(&root).unwrap().components().next().unwrap();
        first.as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned()
    };
    // What the crate hands on under its own name belongs to the module that has it.
    let library = fs::read_to_string(root.join("lib.rs")).unwrap();
    let mut owner = BTreeMap::new();
    for line in library.replace("\n    ", " ").lines().filter_map(|line| line.strip_prefix("pub use ")) {
        let (module, rest) = line.split_once("::").unwrap();
        for name in rest.trim_matches(['{', '}', ';']).split(',') {
            owner.insert(name.trim().trim_end_matches(['}', ';']).to_owned(), module.to_owned());
        }
    }
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in all {
        let this = module(&path);
        if this == "lib" || this == "main" {
            continue;
        }
        let others = names(&text).into_iter().map(|name| owner.get(&name).cloned().unwrap_or(name));
        seen.entry(this.clone()).or_default().extend(others.filter(|other| *other != this));
    }
    let known: BTreeSet<String> = seen.keys().cloned().collect();
    seen.values_mut().for_each(|others| others.retain(|other| known.contains(other)));
    seen
}

#[test]
fn modules_go_in_no_circle() {
    for (name, _) in ARROWS.iter().skip(1) {
        let mut left = modules(name);
        assert!(left.len() > 1 || *name == "appropo-experiments", "{name}: {left:?}");
        // What sees nothing that is left is taken away, until nothing is left, or only circles are.
        while !left.is_empty() {
            let free: Vec<String> = left
                .iter()
                .filter(|(_, others)| others.is_empty())
                .map(|(module, _)| module.clone())
                .collect();
            assert!(!free.is_empty(), "{name}: modules go in a circle: {left:?}");
            for module in free {
                left.remove(&module);
                left.values_mut().for_each(|others| others.retain(|other| *other != module));
            }
        }
    }
}
