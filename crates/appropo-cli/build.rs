//! What a build is of, for `appropo --version`: the commit, the target and the compiler.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=APPROPO_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let profile = env::var("PROFILE").unwrap_or_default();
    let commit = env::var("APPROPO_COMMIT").ok().or_else(packaged);
    // A build for development would be linked anew after every commit.
    let commit = commit.or_else(|| (profile == "release").then(checked_out).flatten());
    println!("cargo::rustc-env=APPROPO_COMMIT={}", commit.unwrap_or_default());
    println!("cargo::rustc-env=APPROPO_PROFILE={profile}");
    println!("cargo::rustc-env=APPROPO_TARGET={}", env::var("TARGET").unwrap_or_default());
    let compiler = said(env::var("RUSTC").unwrap_or_default().as_str(), &["--version"]);
    println!("cargo::rustc-env=APPROPO_COMPILER={}", compiler.unwrap_or_default());
}

/// The commit that a packaged crate was made of, which Cargo writes beside it.
fn packaged() -> Option<String> {
    let text = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let digits = text.split("\"sha1\"").nth(1)?.split('"').nth(1)?;
    digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| digits.to_owned())
}

/// The commit of the clone that this is, with a mark where files differ from it.
fn checked_out() -> Option<String> {
    let root = Path::new("../..");
    for name in ["HEAD", "logs/HEAD"] {
        let path = said("git", &["-C", "../..", "rev-parse", "--git-path", name])?;
        println!("cargo::rerun-if-changed={}", root.join(path).display());
    }
    // Someone else's repository around these files is not of this program.
    let top = said("git", &["-C", "../..", "rev-parse", "--show-toplevel"])?;
    if fs::canonicalize(top).ok()? != fs::canonicalize(root).ok()? {
        return None;
    }
    let commit = said("git", &["-C", "../..", "rev-parse", "HEAD"])?;
    let changed = said("git", &["-C", "../..", "status", "--porcelain", "--untracked-files=no"])?;
    Some(if changed.is_empty() { commit } else { format!("{commit}, with changes") })
}

fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
