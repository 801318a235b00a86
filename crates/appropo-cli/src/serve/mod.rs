//! Runs served to browsers on this machine, as one page that follows them.
//!
//! Three things can be asked for: the page, the events that keep it up to date, and that a run stops. No path of a request
//! is ever one of a file. Each connection has a thread and one request, and there are only so many at a time.

mod guard;
mod request;

use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use appropo_run::live::{State, Watched};
use appropo_run::{Directory, page, stop};

use guard::Guard;
use request::{Refusal, Request, refusal};

/// The most connections at a time.
const CONNECTIONS: usize = 32;
/// How often the runs are looked at.
const EVERY: Duration = Duration::from_millis(500);
/// After this long without news a stream says that it is still there; else a client that is gone keeps its place.
const QUIET: Duration = Duration::from_secs(10);
/// How long a client may take to read or write anything.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is to be seen of all runs, and how often that has changed.
#[derive(Debug, Default)]
struct View {
    version: u64,
    /// JSON on one line.
    data: Arc<str>,
    /// The runs' names and what is said of them, for browsers without scripts.
    said: Vec<(String, String)>,
}

/// A server of runs.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    port: u16,
    guard: Guard,
    runs: Mutex<Vec<(String, Watched)>>,
    folders: Vec<Directory>,
    /// The runs that this server asked to stop.
    asked: Mutex<Vec<usize>>,
    view: Mutex<View>,
    changed: Condvar,
    connections: AtomicUsize,
}

impl Server {
    /// A server of runs, each with its name on the page and its folder, on a port of the loopback address; any that is free
    /// for port 0.
    pub fn new(runs: Vec<(String, Watched)>, port: u16, token: Option<String>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let port = listener.local_addr()?.port();
        let folders =
            runs.iter().filter_map(|(_, run)| Directory::read(run.directory().path()).ok()).collect();
        let server = Self {
            listener,
            port,
            guard: Guard::new(port, token),
            runs: Mutex::new(runs),
            folders,
            asked: Mutex::default(),
            view: Mutex::default(),
            changed: Condvar::new(),
            connections: AtomicUsize::new(0),
        };
        server.look(true);
        Ok(server)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Serves until the process ends.
    pub fn serve(self) -> io::Result<()> {
        let server = Arc::new(self);
        let watching = Arc::clone(&server);
        thread::Builder::new().spawn(move || {
            loop {
                thread::sleep(EVERY);
                watching.look(false);
            }
        })?;
        loop {
            let Ok((stream, _)) = server.listener.accept() else {
                // Too many open files, say: others will close theirs.
                thread::sleep(EVERY);
                continue;
            };
            let serving = Arc::clone(&server);
            if server.connections.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS {
                server.connections.fetch_sub(1, Ordering::Relaxed);
                let _ = stream.set_write_timeout(Some(PATIENCE));
                let _ = refuse(&stream, &refusal("503 Service Unavailable", "too many pages are open"));
                continue;
            }
            let serve = move || {
                // A client that went away is none of anybody's concern.
                let _ = serving.answer(stream);
                serving.connections.fetch_sub(1, Ordering::Relaxed);
            };
            if thread::Builder::new().spawn(serve).is_err() {
                server.connections.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Looks at the runs, and tells those who wait if something is new.
    fn look(&self, is_first: bool) {
        let mut runs = held(&self.runs);
        let is_new = runs.iter_mut().fold(false, |any, (_, run)| run.look() | any);
        if !is_new && !is_first {
            return;
        }
        let mut snapshots = Vec::new();
        for (name, run) in runs.iter_mut() {
            let mut snapshot = run.snapshot();
            snapshot.page.name.clone_from(name);
            snapshots.push(snapshot);
        }
        drop(runs);
        // A request that came as a run ended was never seen by it.
        held(&self.asked).retain(|number| {
            let goes_on = matches!(snapshots[*number].live.state, State::Running | State::Stopping);
            goes_on || self.folders.get(*number).is_some_and(|folder| stop::withdraw(folder).is_err())
        });
        let mut view = held(&self.view);
        view.version += 1;
        view.data = page::data(&snapshots).into();
        view.said = snapshots.into_iter().map(|one| (one.page.name, one.live.sentence)).collect();
        drop(view);
        self.changed.notify_all();
    }

    fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let request = match Request::read(&mut stream) {
            Ok(request) => request,
            Err(refused) => return refuse(&stream, &refused),
        };
        if let Err(refused) = self.guard.check(&request) {
            return refuse(&stream, &refused);
        }
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/") => self.page(&stream),
            ("GET", "/events") => self.events(&stream),
            ("POST", path) if path.starts_with("/stop/") => {
                match self.stop(&request, &path["/stop/".len()..]) {
                    Ok(said) => respond(&stream, "200 OK", "text/plain; charset=utf-8", "", said),
                    Err(refused) => refuse(&stream, &refused),
                }
            }
            ("GET" | "POST", _) => refuse(&stream, &refusal("404 Not Found", "there is nothing here")),
            _ => refuse(&stream, &refusal("405 Method Not Allowed", "this is not done here")),
        }
    }

    fn page(&self, stream: &TcpStream) -> io::Result<()> {
        let Ok(nonce) = random_digits() else {
            return refuse(stream, &refusal("500 Internal Server Error", "there is no randomness"));
        };
        let body = {
            let view = held(&self.view);
            let said: Vec<(&str, &str)> =
                view.said.iter().map(|(name, said)| (name.as_str(), said.as_str())).collect();
            page::render_live(&said, &view.data, &nonce)
        };
        let policy = format!(
            "Content-Security-Policy: default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; \
             img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
        );
        respond(stream, "200 OK", "text/html; charset=utf-8", &policy, &body)
    }

    /// Sends all there is to see whenever it changes, until the client goes away.
    fn events(&self, mut stream: &TcpStream) -> io::Result<()> {
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{HEADERS}\r\nretry: 1000\n\n");
        stream.write_all(head.as_bytes())?;
        let mut sent = 0;
        loop {
            let view = held(&self.view);
            let waited = self.changed.wait_timeout_while(view, QUIET, |view| view.version == sent);
            let (view, _) = waited.unwrap_or_else(PoisonError::into_inner);
            let (version, data) = (view.version, Arc::clone(&view.data));
            drop(view);
            if version == sent {
                stream.write_all(b": still here\n\n")?;
            } else {
                stream.write_all(format!("id: {version}\ndata: {data}\n\n").as_bytes())?;
                sent = version;
            }
        }
    }

    /// Asks a run to stop, and says what comes of it.
    fn stop(&self, request: &Request, number: &str) -> Result<&'static str, Refusal> {
        self.guard.may_stop(request)?;
        let number = number.parse().ok().filter(|number| *number < self.folders.len());
        let number: usize = number.ok_or(refusal("404 Not Found", "there is no such run"))?;
        match stop::request(&self.folders[number]) {
            Ok(true) => {
                let mut asked = held(&self.asked);
                asked.retain(|other| *other != number);
                asked.push(number);
                Ok("The run was asked to stop.")
            }
            Ok(false) => Err(refusal("409 Conflict", "nothing works on this run any more")),
            Err(_) => Err(refusal("500 Internal Server Error", "the run's folder can't be written to")),
        }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// 128 random bits in hexadecimal digits.
pub fn random_digits() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Nothing is kept, guessed, framed or told to others.
const HEADERS: &str = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\
    Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\nConnection: close\r\n";

fn refuse(stream: &TcpStream, Refusal { status, reason }: &Refusal) -> io::Result<()> {
    respond(stream, status, "text/plain; charset=utf-8", "", &format!("{reason}\n"))
}

fn respond(mut stream: &TcpStream, status: &str, kind: &str, more: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{HEADERS}{more}\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}
