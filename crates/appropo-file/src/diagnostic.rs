use std::fmt;
use std::ops::Range;

/// What is wrong with a problem file, with the place and what to write instead.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// Empty where the text is of no file.
    file: String,
    /// Line and column from 1, the line's text, and how many characters are meant.
    place: Option<(usize, usize, String, usize)>,
    message: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let message = printable(&self.message);
        let Some((line, column, text, length)) = &self.place else {
            let colon = if self.file.is_empty() { "" } else { ": " };
            return write!(f, "{}{colon}{message}", self.file);
        };
        // A place in a text that its reader has not written tells nothing, but for what stands there.
        if self.file.is_empty() {
            let more = if text.chars().count() > 80 { "..." } else { "" };
            return write!(
                f,
                "{message} (in {}{more})",
                printable(&text.chars().take(80).collect::<String>())
            );
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
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
        .collect()
}

impl std::error::Error for Diagnostic {}

impl Diagnostic {
    /// Of no place in a file.
    pub(crate) fn nowhere(file: &str, message: impl Into<String>) -> Self {
        Self { file: file.into(), place: None, message: message.into() }
    }

    /// Of a part of a file's text.
    pub(crate) fn at(file: &str, text: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        let start = span.start.min(text.len());
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let line_text = text[line_start..].lines().next().unwrap_or("").to_owned();
        let column = before[line_start..].chars().count() + 1;
        let on_line = text[start..span.end.max(start).min(text.len())].lines().next().unwrap_or("");
        let place = (before.matches('\n').count() + 1, column, line_text, on_line.chars().count().max(1));
        Self { file: file.into(), place: Some(place), message: message.into() }
    }
}
