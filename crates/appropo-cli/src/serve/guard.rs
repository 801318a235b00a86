//! Who may ask for what.
//!
//! The server listens on the loopback address, which every page in a browser on this machine can reach, too. A page of
//! another origin gets nothing: its requests carry its own `Origin` or say that they cross sites, and a name that was made
//! to point here (DNS rebinding) stands in `Host`.

use super::request::{Refusal, Request, refusal};

const FORBIDDEN: &str = "403 Forbidden";

/// What requests must have.
#[derive(Debug)]
pub struct Guard {
    hosts: Vec<String>,
    /// What lets a client stop runs; without it nobody may.
    token: Option<String>,
}

impl Guard {
    pub fn new(port: u16, token: Option<String>) -> Self {
        let hosts = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
        Self { hosts: hosts.into(), token }
    }

    /// Refuses what does not come from the page itself or from outside all pages.
    pub fn check(&self, request: &Request) -> Result<(), Refusal> {
        let host = request.field("host")?.unwrap_or_default();
        if !self.hosts.iter().any(|known| known == host) {
            return Err(refusal(
                "421 Misdirected Request",
                "this server is 127.0.0.1 or localhost, and its port",
            ));
        }
        if request.field("origin")?.is_some_and(|origin| origin != format!("http://{host}")) {
            return Err(refusal(FORBIDDEN, "pages of other origins get nothing"));
        }
        let is_own = matches!(request.field("sec-fetch-site")?, None | Some("same-origin" | "none"));
        // A link elsewhere may lead to the page.
        let is_visit = request.method == "GET"
            && request.field("sec-fetch-mode")? == Some("navigate")
            && request.field("sec-fetch-dest")? == Some("document");
        if !is_own && !is_visit {
            return Err(refusal(FORBIDDEN, "pages of other origins get nothing"));
        }
        Ok(())
    }

    /// Refuses who may not stop runs.
    pub fn may_stop(&self, request: &Request) -> Result<(), Refusal> {
        let Some(token) = &self.token else {
            return Err(refusal(
                FORBIDDEN,
                "this view only reads; \"appropo watch --control\" can stop runs",
            ));
        };
        let given = request.field("x-appropo-token")?.unwrap_or_default();
        match is_same(given.as_bytes(), token.as_bytes()) {
            true => Ok(()),
            false => {
                Err(refusal(FORBIDDEN, "the token is not that which \"appropo watch --control\" printed"))
            }
        }
    }
}

/// Whether two texts are the same, in a time that does not tell where they differ.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    let difference = a.iter().zip(b).fold(0, |all, (a, b)| std::hint::black_box(all | (a ^ b)));
    a.len() == b.len() && difference == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, fields: &str) -> Request {
        Request::read(&mut format!("{method} / HTTP/1.1\r\n{fields}\r\n").as_bytes()).unwrap()
    }

    #[test]
    fn only_the_page_itself_gets_in() {
        let guard = Guard::new(8000, None);
        let check = |method: &str, fields: &str| guard.check(&request(method, fields)).map_err(|r| r.status);
        assert_eq!(check("GET", "Host: 127.0.0.1:8000\r\n"), Ok(()));
        assert_eq!(check("GET", "Host: localhost:8000\r\nOrigin: http://localhost:8000\r\n"), Ok(()));
        for host in
            ["", "Host: \r\n", "Host: evil.example:8000\r\n", "Host: 127.0.0.1\r\n", "Host: localhost:80\r\n"]
        {
            assert_eq!(check("GET", host), Err("421 Misdirected Request"), "{host}");
        }
        for origin in ["http://evil.example", "null", "http://127.0.0.1:8000", "https://localhost:8000"] {
            let fields = format!("Host: localhost:8000\r\nOrigin: {origin}\r\n");
            assert_eq!(check("POST", &fields), Err(FORBIDDEN), "{origin}");
        }
        let crossing = "Host: localhost:8000\r\nSec-Fetch-Site: cross-site\r\n";
        assert_eq!(check("GET", crossing), Err(FORBIDDEN));
        let link = format!("{crossing}Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n");
        assert_eq!((check("GET", &link), check("POST", &link)), (Ok(()), Err(FORBIDDEN)));
        assert_eq!(check("GET", &link.replace("document", "iframe")), Err(FORBIDDEN));
    }

    #[test]
    fn only_the_token_stops_runs() {
        let guard = Guard::new(8000, Some("0af3".into()));
        let may = |fields: &str| guard.may_stop(&request("POST", fields)).is_ok();
        assert!(may("X-Appropo-Token: 0af3\r\n"));
        for wrong in ["", "X-Appropo-Token: \r\n", "X-Appropo-Token: 0af\r\n", "X-Appropo-Token: 0af30\r\n"] {
            assert!(!may(wrong), "{wrong}");
        }
        assert!(Guard::new(8000, None).may_stop(&request("POST", "X-Appropo-Token: \r\n")).is_err());
    }
}
