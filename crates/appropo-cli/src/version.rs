//! What this program is: its version, and what it was built of and for.

use std::sync::LazyLock;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// "0.2.0 (34f237b9c1d0)".
pub static SHORT: LazyLock<String> = LazyLock::new(|| match commit() {
    "" => VERSION.to_owned(),
    commit => format!("{VERSION} ({})", commit.get(..12).unwrap_or(commit)),
});

/// A line each for the commit, the build, the formats that it writes, and what the processor lets it use.
pub static LONG: LazyLock<String> = LazyLock::new(|| {
    let commit = if commit().is_empty() { "not known" } else { commit() };
    let build = format!("{}, {}", env!("APPROPO_PROFILE"), env!("APPROPO_TARGET"));
    let compiler = env!("APPROPO_COMPILER");
    let runs = appropo_run::FORMAT;
    let instructions = appropo::nn::instructions();
    let readers = "toml, json, csv, parquet (snappy), drn, umb, prism explicit, gzip, xz";
    format!(
        "{VERSION}\ncommit: {commit}\nbuild: {build}\ncompiler: {compiler}\nformat of runs: {runs}\n\
         reads: {readers}\nwrites: safetensors, onnx, tensorboard, html, svg, png\n\
         network instructions: {instructions}, chosen at run time"
    )
});

fn commit() -> &'static str {
    env!("APPROPO_COMMIT")
}
