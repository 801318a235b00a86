//! Requests of HTTP/1.1, as far as a page on this machine makes them: a line, some fields, no body.

use std::io::Read;
use std::time::{Duration, Instant};

/// The most bytes of a request.
const LONGEST: usize = 8 << 10;
/// How long a client may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a client asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub method: String,
    pub path: String,
    fields: Vec<(String, String)>,
}

/// Why a request is refused: its status, and a reason for people.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    pub status: &'static str,
    pub reason: &'static str,
}

pub fn refusal(status: &'static str, reason: &'static str) -> Refusal {
    Refusal { status, reason }
}

const BAD: &str = "400 Bad Request";

impl Request {
    /// Reads a request from a stream whose reads time out by themselves.
    pub fn read(stream: &mut impl Read) -> Result<Self, Refusal> {
        let (mut bytes, mut chunk) = (Vec::new(), [0; 1024]);
        let start = Instant::now();
        loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                return Self::parse(&bytes[..end]);
            }
            if bytes.len() >= LONGEST {
                return Err(refusal("431 Request Header Fields Too Large", "the request is too long"));
            }
            match stream.read(&mut chunk) {
                Ok(n) if n > 0 && start.elapsed() < PATIENCE => bytes.extend(&chunk[..n]),
                _ => return Err(refusal("408 Request Timeout", "the request did not come to its end")),
            }
        }
    }

    fn parse(head: &[u8]) -> Result<Self, Refusal> {
        let text = std::str::from_utf8(head).map_err(|_| refusal(BAD, "the request is not text"))?;
        let mut lines = text.split("\r\n");
        let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, path, "HTTP/1.1" | "HTTP/1.0"] = words[..] else {
            return Err(refusal(BAD, "the request does not begin as HTTP/1.1 does"));
        };
        let mut fields = Vec::new();
        for line in lines {
            let (name, value) = line.split_once(':').ok_or(refusal(BAD, "a field has no colon"))?;
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
                return Err(refusal(BAD, "a field has no name"));
            }
            fields.push((name.to_ascii_lowercase(), value.trim_matches([' ', '\t']).to_owned()));
        }
        let request = Self { method: method.to_owned(), path: path.to_owned(), fields };
        let is_empty = request.field("content-length").is_ok_and(|length| matches!(length, None | Some("0")));
        if !is_empty || request.field("transfer-encoding") != Ok(None) {
            return Err(refusal("413 Content Too Large", "requests have no content here"));
        }
        Ok(request)
    }

    /// The value of a field; one that stands twice means different things to different readers.
    pub fn field(&self, name: &str) -> Result<Option<&str>, Refusal> {
        let mut found =
            self.fields.iter().filter(|(field, _)| field == name).map(|(_, value)| value.as_str());
        match (found.next(), found.next()) {
            (value, None) => Ok(value),
            _ => Err(refusal(BAD, "a field stands twice")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Request, Refusal> {
        Request::read(&mut text.as_bytes())
    }

    #[test]
    fn requests_are_read() {
        let request = read("GET /events HTTP/1.1\r\nHost: localhost:1\r\nX-Empty:\r\n\r\n").unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/events"));
        assert_eq!(request.field("host"), Ok(Some("localhost:1")));
        assert_eq!((request.field("x-empty"), request.field("origin")), (Ok(Some("")), Ok(None)));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let status = |text: &str| read(text).unwrap_err().status;
        assert_eq!(status(""), "408 Request Timeout");
        assert_eq!(status("GET / HTTP/1.1\r\nHost: a"), "408 Request Timeout");
        assert_eq!(status("GET /\r\n\r\n"), BAD);
        assert_eq!(status("GET / HTTP/2\r\n\r\n"), BAD);
        assert_eq!(status("GET / HTTP/1.1\r\nHost\r\n\r\n"), BAD);
        assert_eq!(status("GET / HTTP/1.1\r\nHost : a\r\n\r\n"), BAD);
        assert_eq!(status("POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx"), "413 Content Too Large");
        assert_eq!(status("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), "413 Content Too Large");
        assert_eq!(
            status(&format!("GET /{} HTTP/1.1", "a".repeat(20_000))),
            "431 Request Header Fields Too Large"
        );
        let twice = read("GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n").unwrap();
        assert_eq!(twice.field("host").unwrap_err().status, BAD);
    }
}
