//! Text that carries its own checksum in its last line.

use sha2::{Digest, Sha256};

const JSON_SEAL: &str = "  \"sha256\": \"";
const COMMENT_SEAL: &str = "# sha256: ";

/// The SHA-256 of some bytes in hexadecimal digits.
pub fn digest(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A JSON object over several lines, with a member `sha256` at its end: that of everything before that line.
pub fn seal_json(object: &str) -> String {
    let body = object.trim_end().trim_end_matches('}').trim_end();
    let comma = if body.ends_with('{') { "" } else { "," };
    let body = format!("{body}{comma}\n");
    let digest = digest(body.as_bytes());
    format!("{body}{JSON_SEAL}{digest}\"\n}}\n")
}

/// Whether a JSON object is as it was sealed.
pub fn is_whole_json(text: &str) -> bool {
    let Some(end) = text.rfind(JSON_SEAL) else { return false };
    text[end..] == format!("{JSON_SEAL}{}\"\n}}\n", digest(&text.as_bytes()[..end]))
}

/// Text with a comment `# sha256: …` as its last line.
pub fn seal_comment(text: &str) -> String {
    let body = format!("{}\n", text.trim_end());
    let digest = digest(body.as_bytes());
    format!("{body}{COMMENT_SEAL}{digest}\n")
}

/// Whether text is as it was sealed.
pub fn is_whole_comment(text: &str) -> bool {
    let Some(end) = text.rfind(COMMENT_SEAL) else { return false };
    text[end..] == format!("{COMMENT_SEAL}{}\n", digest(&text.as_bytes()[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_altered_byte_breaks_the_seal() {
        let json = seal_json("{\n  \"a\": 1,\n  \"b\": {\n    \"c\": \"}\"\n  }\n}");
        assert!(is_whole_json(&json));
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&value["a"], &value["b"]["c"]), (&1.into(), &"}".into()));
        let toml = seal_comment("a = 1\n[b]\n");
        assert!(is_whole_comment(&toml));
        for (text, is_whole) in [(json, is_whole_json as fn(&str) -> bool), (toml, is_whole_comment)] {
            for place in 0..text.len() {
                let mut bytes = text.clone().into_bytes();
                bytes[place] ^= 1;
                assert!(!is_whole(&String::from_utf8(bytes).unwrap()), "byte {place} of {text}");
            }
        }
    }
}
