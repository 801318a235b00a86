//! The text of a problem file, and mistakes shown in it.

use std::fmt;
use std::ops::Range;

use toml::Spanned;
use toml::de::DeTable;

/// A mistake in a problem file, with the place and what to write instead.
#[derive(Debug)]
pub struct Mistake {
    /// Empty where the text is of no file.
    file: String,
    /// Line and column from 1, the line's text, and how many characters are meant.
    place: Option<(usize, usize, String, usize)>,
    message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let message = shown(&self.message);
        let Some((line, column, text, length)) = &self.place else {
            let colon = if self.file.is_empty() { "" } else { ": " };
            return write!(f, "{}{colon}{message}", self.file);
        };
        // A place in a text that its reader has not written tells nothing, but for what stands there.
        if self.file.is_empty() {
            let more = if text.chars().count() > 80 { "..." } else { "" };
            return write!(f, "{message} (in {}{more})", shown(&text.chars().take(80).collect::<String>()));
        }
        let margin = " ".repeat(line.to_string().len());
        let indent: String =
            text.chars().take(column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        // One sign for one character, so that the caret stays in its place.
        let text = text.replace(|c: char| c.is_control() && c != '\t', "\u{fffd}");
        writeln!(f, "{}:{line}:{column}: {message}", self.file)?;
        writeln!(f, "{margin} |")?;
        writeln!(f, "{line} | {text}")?;
        write!(f, "{margin} | {indent}{}", "^".repeat(*length))
    }
}

/// A text without characters that would change how a terminal shows the rest.
pub fn shown(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
        .collect()
}

pub type Result<T> = std::result::Result<T, Mistake>;

/// The text of a problem file and its name.
#[derive(Clone, Copy)]
pub struct Source<'i> {
    pub file: &'i str,
    pub text: &'i str,
}

impl<'i> Source<'i> {
    /// Parses the text as TOML.
    pub fn parse(self) -> Result<Spanned<DeTable<'i>>> {
        DeTable::parse(self.text).map_err(|error| match error.span() {
            Some(span) => {
                let found = self.text.get(span.clone()).unwrap_or_default();
                self.mistake(span, in_other_words(error.message(), found))
            }
            None => self.nowhere(error.message()),
        })
    }

    pub fn mistake(self, span: Range<usize>, message: impl Into<String>) -> Mistake {
        let start = span.start.min(self.text.len());
        let before = &self.text[..start];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let line_text = self.text[line_start..].lines().next().unwrap_or("").to_owned();
        let column = before[line_start..].chars().count() + 1;
        let on_line = self.text[start..span.end.max(start).min(self.text.len())].lines().next().unwrap_or("");
        let place = (before.matches('\n').count() + 1, column, line_text, on_line.chars().count().max(1));
        Mistake { file: self.file.into(), place: Some(place), message: message.into() }
    }

    pub fn nowhere(self, message: impl Into<String>) -> Mistake {
        Mistake { file: self.file.into(), place: None, message: message.into() }
    }
}

/// What the parser says, with what to write where that is not plain from it.
fn in_other_words(message: &str, found: &str) -> String {
    let said = message.replace('\n', ", ");
    match said.split(',').next().unwrap_or_default() {
        "string values must be quoted" if found.trim().is_empty() => {
            "a value is missing; write one here".into()
        }
        "string values must be quoted" => {
            format!("{found} is no number; write text in quotation marks: \"{found}\"")
        }
        "invalid mantissa" => "expected digits before the point; write 0.5, not .5".into(),
        "duplicate key" => "this key stands here twice; leave one of them out".into(),
        "unexpected key or value" => {
            format!("{said}; one value a line, and a point for decimals: 0.5, not 0,5")
        }
        _ => said,
    }
}

/// "; did you mean "x"?", or the list of what there is.
pub fn suggestion<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let near = known
        .iter()
        .map(|k| (strsim::damerau_levenshtein(found, k), k))
        .min()
        .filter(|(distance, k)| *distance <= 1 + k.len() / 3);
    match near {
        Some((_, name)) => format!("did you mean \"{name}\"?"),
        None => format!("write one of {}", known.join(", ")),
    }
}
