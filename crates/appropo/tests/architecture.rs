//! Imports go one way; this reads every `use crate::` line and holds it against the arrows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Each module with what it may see of the others. Those of `OPEN` are open to all.
const ARROWS: &[(&str, &[&str])] = &[
    ("set", &[]),
    ("measurement", &[]),
    ("theory", &[]),
    ("constraint", &["set", "measurement"]),
    ("utility", &["measurement", "set"]),
    ("player", &["measurement", "set", "theory", "utility"]),
    ("env", &["measurement"]),
    ("nn", &[]),
    ("policy", &["env", "nn"]),
    ("rl", &["env", "measurement", "nn", "policy"]),
    ("certificate", &["env", "measurement", "set", "utility"]),
    // The traits see the certificate's bound; what implements them plans and learns.
    ("oracle", &["certificate", "env", "measurement", "policy", "rl", "set", "utility"]),
    ("confidence", &["measurement", "policy", "rl", "set"]),
    ("solver", &["certificate", "measurement", "oracle", "player", "policy", "set", "theory", "utility"]),
    ("baseline", &["certificate", "env", "measurement", "oracle", "policy", "rl", "set", "utility"]),
];

/// What everything may see. They see nothing of the others.
const OPEN: [&str; 6] = ["error", "options", "random", "root", "state", "vector"];

/// What is made of all the rest: they see each other and everything below, and nothing below sees them.
const TOP: [&str; 11] = [
    "evaluate",
    "front",
    "method",
    "off_policy",
    "outcome",
    "price",
    "problem",
    "record",
    "registry",
    "scalars",
    "verify",
];

/// Every module of the crate that a module's code names, with a file that names it. Links in the documentation count,
/// too, unless they are left out.
fn seen(module: &str, with_links: bool) -> BTreeMap<String, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let folder = source.join(module);
    let mut open = vec![if folder.is_dir() { folder } else { source.join(format!("{module}.rs")) }];
    let mut found = BTreeMap::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        if path.extension().is_none_or(|e| e != "rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let is_read = |line: &&str| with_links || !line.trim_start().starts_with("//");
        let code = code.lines().filter(is_read).collect::<Vec<_>>().join("\n");
        for part in code.split("crate::").skip(1) {
            // `crate::{a, b::{c, d}}` names several modules.
            for name in first_steps(part) {
                found.entry(name).or_insert_with(|| path.display().to_string());
            }
        }
    }
    found.remove(module);
    found
}

/// The modules named after `crate::`.
fn first_steps(part: &str) -> Vec<String> {
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(group) = part.strip_prefix('{') else { return vec![word(part)] };
    let (mut depth, mut names, mut is_new) = (1, Vec::new(), true);
    for (place, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => is_new = true,
            c if depth == 1 && is_new && !c.is_whitespace() => {
                names.push(word(&group[place..]));
                is_new = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

#[test]
fn imports_follow_the_arrows() {
    let mut count = 0;
    for (module, allowed) in ARROWS {
        for (name, file) in seen(module, true) {
            count += 1;
            let fine = OPEN.contains(&name.as_str()) || allowed.contains(&name.as_str());
            assert!(fine, "{file} sees `{name}`, against the arrows");
        }
    }
    assert!(count > 60, "only {count} arrows were read");
}

#[test]
fn what_is_open_sees_what_is_open() {
    for module in OPEN {
        for (name, file) in seen(module, false) {
            assert!(OPEN.contains(&name.as_str()), "{file} sees `{name}`, and is open to all");
        }
    }
}

#[test]
fn the_top_sees_what_there_is() {
    for module in TOP {
        for (name, file) in seen(module, true) {
            let is_below = ARROWS.iter().any(|(below, _)| *below == name) || OPEN.contains(&name.as_str());
            assert!(is_below || TOP.contains(&name.as_str()), "{file} sees `{name}`, which is no module");
        }
    }
}

/// A cycle among these modules, if there is one.
fn cycle(arrows: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    fn visit(
        at: &str,
        arrows: &BTreeMap<String, BTreeSet<String>>,
        path: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> Option<Vec<String>> {
        if let Some(start) = path.iter().position(|name| name == at) {
            return Some(path[start..].to_vec());
        }
        if done.contains(at) {
            return None;
        }
        path.push(at.to_owned());
        let found = arrows.get(at).into_iter().flatten().find_map(|next| visit(next, arrows, path, done));
        path.pop();
        done.insert(at.to_owned());
        found
    }
    let mut done = BTreeSet::new();
    arrows.keys().find_map(|module| visit(module, arrows, &mut Vec::new(), &mut done))
}

/// Neither the arrows nor what follows them leads back to where it began.
#[test]
fn nothing_below_the_top_goes_in_circles() {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
    let allowed = ARROWS.iter().map(|(module, names)| ((*module).to_owned(), owned(names))).collect();
    assert_eq!(cycle(&allowed), None, "the arrows go in circles");
    let below = |module: &str| {
        let names = seen(module, true).into_keys().filter(|name| ARROWS.iter().any(|(m, _)| m == name));
        names.collect::<BTreeSet<String>>()
    };
    let found = ARROWS.iter().map(|(module, _)| ((*module).to_owned(), below(module))).collect();
    assert_eq!(cycle(&found), None, "modules see each other in circles");
    let circle = [("a", "b"), ("b", "c"), ("c", "b")].map(|(a, b)| (a.to_owned(), owned(&[b])));
    assert_eq!(cycle(&circle.into_iter().collect()), Some(vec!["b".into(), "c".into()]));
}

#[test]
fn every_module_has_its_arrows() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for entry in fs::read_dir(source).unwrap() {
        let name = entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned();
        let known = ARROWS.iter().any(|(module, _)| *module == name)
            || OPEN.contains(&name.as_str())
            || TOP.contains(&name.as_str());
        assert!(known || name == "lib", "module `{name}` has no arrows");
    }
}
