//! What a problem file may hold: anything.

/// Reads a problem.
pub fn problem(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !is_large(text)
    {
        let _ = appropo_file::Reader::default().parse("problem", text);
    }
}

/// Whether the text may ask for a world that is as large as worlds may be, which takes as much time and memory as it
/// should. Found by the numbers in all lines that speak of sizes.
fn is_large(text: &str) -> bool {
    const SIZES: [&str; 8] =
        ["states", "actions", "branching", "measures", "arms", "rows", "columns", "horizon"];
    const LARGE: u64 = 20_000;
    let lines = text.lines().filter(|line| SIZES.iter().any(|size| line.contains(size)));
    let words = lines.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
    let numbers = words.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    // What is no plain number, such as 0xfff, is taken for a large one.
    let size = |number: &str| number.replace('_', "").parse().unwrap_or(u64::MAX).max(1);
    numbers.map(size).fold(1, u64::saturating_mul) > LARGE
}
