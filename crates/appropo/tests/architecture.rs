//! Imports go one way; this reads every `use crate::` line and holds it against the arrows.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::Path;

/// Each module with what it may see of the others. `error`, `random`, `root` and `vector` are open to all.
const ARROWS: &[(&str, &[&str])] = &[
    ("set", &[]),
    ("measurement", &[]),
    ("constraint", &["set", "measurement"]),
    ("player", &["measurement", "set"]),
    ("env", &["measurement"]),
    ("nn", &[]),
    ("policy", &["env", "nn"]),
    ("rl", &["env", "measurement", "nn", "policy"]),
    ("certificate", &["env", "measurement", "set"]),
    // The traits see the certificate's bound; what implements them plans and learns.
    ("oracle", &["certificate", "env", "measurement", "policy", "rl", "set"]),
    ("confidence", &["measurement", "oracle", "policy", "set"]),
    ("solver", &["certificate", "measurement", "oracle", "player", "policy", "set", "theory"]),
    ("baseline", &["certificate", "env", "measurement", "oracle", "policy", "rl", "set"]),
    ("theory", &[]),
];
const OPEN: [&str; 5] = ["error", "random", "root", "state", "vector"];

fn check(path: &Path, module: &str, allowed: &[&str], count: &mut usize) {
    let mut files: Vec<_> = if path.is_dir() {
        fs::read_dir(path).unwrap().map(|e| e.unwrap().path()).collect()
    } else {
        vec![path.to_owned()]
    };
    files.sort();
    for file in files {
        if file.is_dir() {
            check(&file, module, allowed, count);
            continue;
        }
        if file.extension().is_none_or(|e| e != "rs") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for part in code.split("crate::").skip(1) {
            // `crate::{a, b}` names several modules.
            let group = part.strip_prefix('{').and_then(|p| p.split('}').next());
            for name in group.unwrap_or(part).split(if group.is_some() { ',' } else { '\n' }) {
                let seen: String =
                    name.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                *count += 1;
                let fine =
                    seen == module || OPEN.contains(&seen.as_str()) || allowed.contains(&seen.as_str());
                assert!(fine, "{} sees `{seen}`, against the arrows", file.display());
                if group.is_none() {
                    break;
                }
            }
        }
    }
}

#[test]
fn imports_follow_the_arrows() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut count = 0;
    for (module, allowed) in ARROWS {
        let folder = source.join(module);
        let path = if folder.is_dir() { folder } else { source.join(format!("{module}.rs")) };
        check(&path, module, allowed, &mut count);
    }
    assert!(count > 100, "only {count} imports were read");
}

#[test]
fn every_module_has_its_arrows() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for entry in fs::read_dir(source).unwrap() {
        let name = entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned();
        let known = ARROWS.iter().any(|(module, _)| *module == name) || OPEN.contains(&name.as_str());
        assert!(known || name == "lib", "module `{name}` has no arrows");
    }
}
