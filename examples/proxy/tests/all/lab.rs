//! Servers on loopback: an origin, Squid, and the program. Processes stop when they are dropped.

use std::collections::HashMap;
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use tempfile::TempDir;
use umbel_foreign::squid::Squid;
use umbel_foreign::{ForeignFilter, Format, Key, Parameters};

use crate::traffic;

/// A digest as it was served.
pub(crate) type Digest = Squid<Vec<u8>>;

/// Where Squid serves its digest.
const DIGEST_PATH: &str = "/squid-internal-periodic/store_digest";

/// Waits until something is there; the text says what.
#[track_caller]
pub(crate) fn wait<T>(what: &str, seconds: u64, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(seconds);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "not within {seconds} s: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// A port that nobody listens on, below those that the system gives to clients.
pub(crate) fn free_port() -> u16 {
    static NEXT: Mutex<u16> = Mutex::new(0);
    let mut next = NEXT.lock().unwrap();
    loop {
        *next += 1;
        let port =
            16_384 + (std::process::id() as u16).wrapping_mul(31).wrapping_add(*next) % 16_384;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}

/// An answer of a server.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// Sends a request, by HTTP/1.0, so that no answer is in chunks; nothing if no server answers.
pub(crate) fn request(port: u16, method: &str, target: &str, header: &str) -> Option<Answer> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    write!(stream, "{method} {target} HTTP/1.0\r\nHost: 127.0.0.1\r\n{header}\r\n").ok()?;
    answer(BufReader::new(stream))
}

/// Reads an answer.
fn answer(mut stream: impl BufRead) -> Option<Answer> {
    let (mut head, mut body) = (String::new(), Vec::new());
    while !head.ends_with("\r\n\r\n") {
        (stream.read_line(&mut head).ok()? > 0).then_some(())?;
    }
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let head = head.to_lowercase();
    let length = head.split_once("content-length: ").and_then(|it| it.1.lines().next());
    let length = length.map_or(u64::MAX, |length| length.parse().unwrap());
    stream.take(length).read_to_end(&mut body).ok()?;
    Some(Answer { status, body })
}

/// A client that keeps its connection to a proxy.
pub(crate) struct Client(BufReader<TcpStream>);

impl Client {
    pub(crate) fn new(port: u16) -> Self {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(BufReader::new(stream))
    }

    /// Requests an object, and returns whether the answer is right.
    pub(crate) fn get(&mut self, url: &str) -> bool {
        write!(self.0.get_mut(), "GET {url} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
        answer(&mut self.0).is_some_and(|it| it.status == 200 && it.body == content(url))
    }
}

/// A folder that goes away if the test passes, and is named if it fails.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new(test: &str) -> Self {
        let folder = Self(TempDir::with_prefix(format!("umbel-proxy-{test}-")).unwrap());
        folder.make("");
        folder
    }

    /// A file in it.
    pub(crate) fn file(&self, name: &str, content: &str) -> String {
        let path = self.0.path().join(name);
        fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    /// A folder in it that Squid can write to, also if it is started by root and becomes somebody else.
    fn make(&self, name: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.disable_cleanup(true);
            eprintln!("the logs are in {}", self.0.path().display());
        }
    }
}

/// A web server that counts requests. Everything in it stays fresh for an hour, except under paths
/// with `unstored`. Under those with `big` are 200 KiB, under those of a trace as much as it says.
pub(crate) struct Origin {
    pub(crate) port: u16,
    requests: Arc<Mutex<HashMap<String, u32>>>,
}

impl Origin {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(HashMap::new()));
        let counts = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let counts = Arc::clone(&counts);
                thread::spawn(move || serve(stream.unwrap(), &counts));
            }
        });
        Self { port, requests }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// What a proxy logs that got a page from here.
    pub(crate) fn line(&self) -> String {
        format!("TCP_MISS/200 HIER_DIRECT {}", self.port)
    }

    /// How often a URL was requested here.
    pub(crate) fn count(&self, url: &str) -> u32 {
        let path = url.strip_prefix(&self.url("")).unwrap();
        self.requests.lock().unwrap().get(path).copied().unwrap_or(0)
    }
}

/// What the origin has under a path.
pub(crate) fn content(url: &str) -> Vec<u8> {
    let path = url.splitn(4, '/').nth(3).unwrap();
    let bytes = match path {
        _ if path.contains("big") => 200 * 1024,
        _ if path.starts_with("trace/") => traffic::size(path),
        _ => path.len(),
    };
    path.bytes().cycle().take(bytes).collect()
}

/// Answers requests, until the client goes away.
fn serve(mut stream: TcpStream, counts: &Mutex<HashMap<String, u32>>) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    loop {
        let first = lines.next()?.ok()?;
        while !lines.next()?.ok()?.is_empty() {}
        let path = first.split(' ').nth(1)?;
        *counts.lock().unwrap().entry(path.to_owned()).or_default() += 1;
        let body = content(&format!("http://origin{path}"));
        let control = if path.contains("unstored") { "no-store" } else { "max-age=3600" };
        // Without a date, Squid takes an answer for stale.
        let date = httpdate::fmt_http_date(SystemTime::now());
        let head = format!(
            "HTTP/1.1 200 OK\r\nDate: {date}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\
             Cache-Control: {control}\r\n\r\n",
            body.len()
        );
        stream.write_all(&[head.as_bytes(), &body].concat()).ok()?;
    }
}

/// A proxy: Squid or the program. It ends when it is dropped.
pub(crate) struct Proxy {
    pub(crate) name: &'static str,
    pub(crate) port: u16,
    log: PathBuf,
    process: Child,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// What a line of an access log says, if it is about the URL: as `TCP_MISS/200 CD_SIBLING_HIT 3128` what came of the request, who was
/// asked, and its port, 0 for nobody. The line is `time elapsed client result/status bytes method url user hierarchy/server type`.
fn read(line: &str, url: &str) -> Option<String> {
    let words: Vec<_> = line.split_whitespace().collect();
    let [_, _, _, result, _, _, found, _, from, _] = words[..] else { return None };
    let (hierarchy, server) = from.split_once('/')?;
    let port: u16 = server.rsplit(':').next()?.parse().unwrap_or(0);
    (found == url).then(|| format!("{result} {hierarchy} {port}"))
}

impl Proxy {
    /// Waits until it accepts connections.
    fn ready(mut self) -> Self {
        wait(&format!("{} listens", self.name), 20, || {
            let ended = self.process.try_wait().unwrap();
            assert_eq!(ended, None, "{} ended: {}", self.name, output(self.log.parent().unwrap()));
            TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).ok()
        });
        self
    }

    /// Requests an object, checks it, and returns what the access log says.
    #[track_caller]
    pub(crate) fn get(&self, url: &str) -> String {
        let before = self.lines(url).len();
        self.fetch(url, "");
        self.line(url, before)
    }

    /// Returns a line of the access log about a URL, counted from 0, which may be about to come.
    #[track_caller]
    pub(crate) fn line(&self, url: &str, number: usize) -> String {
        let what = format!("line {number} of {} about {url}", self.name);
        wait(&what, 10, || self.lines(url).get(number).cloned())
    }

    /// Requests an object with another header, and checks it.
    #[track_caller]
    pub(crate) fn fetch(&self, url: &str, header: &str) {
        let answer = request(self.port, "GET", url, header).expect("an answer");
        assert_eq!(answer.status, 200, "{url} from {}", self.name);
        assert_eq!(answer.body, content(url), "{url} from {}", self.name);
    }

    /// The lines of the access log about a URL.
    pub(crate) fn lines(&self, url: &str) -> Vec<String> {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        log.lines().filter_map(|line| read(line, url)).collect()
    }

    /// The digest that it serves now.
    pub(crate) fn digest(&self) -> Option<Digest> {
        let answer = request(self.port, "GET", DIGEST_PATH, "").filter(|it| it.status == 200)?;
        Some(Squid::decode(Format::Squid, answer.body, &Parameters::default()).unwrap())
    }

    /// The program's figures.
    pub(crate) fn status(&self) -> serde_json::Value {
        serde_json::from_str(&self.page("/status")).unwrap()
    }

    /// A page about it.
    pub(crate) fn page(&self, path: &str) -> String {
        let answer = request(self.port, "GET", path, "").expect("an answer");
        assert_eq!(answer.status, 200, "{path} of {}", self.name);
        String::from_utf8(answer.body).unwrap()
    }
}

/// Whether a digest has a URL.
pub(crate) fn has(digest: &Digest, url: &str) -> bool {
    digest.contains(Key::from(url)).unwrap()
}

/// Stands for no `--allow-private`.
pub(crate) const PUBLIC_ONLY: &str = "public only";

/// Starts the program with siblings at these ports.
pub(crate) fn program(
    folder: &Folder,
    name: &'static str,
    port: u16,
    siblings: &[u16],
    options: &[&str],
) -> Proxy {
    let own = folder.make(name);
    let shown = page_block("umbel-proxy ").split_once("--sibling").expect("a sibling").0;
    let mut shown = shown.replace("3130", &port.to_string());
    if options.contains(&PUBLIC_ONLY) {
        shown = shown.replace("--allow-private", "");
    }
    let log = own.join("access.log");
    let process = Command::new(env!("CARGO_BIN_EXE_umbel-proxy"))
        .args(shown.split_whitespace().skip(1))
        .args(siblings.iter().map(|port| format!("--sibling=127.0.0.1:{port}")))
        .args(options.iter().filter(|option| **option != PUBLIC_ONLY))
        .stdout(File::create(&log).unwrap())
        .stderr(File::create(own.join("output")).unwrap())
        .spawn()
        .unwrap();
    Proxy { name, port, log, process }.ready()
}

/// Starts a Squid as docs/formats.md shows it, with siblings at these ports. Requests with a header `X-Alone` go to the origin directly.
pub(crate) fn squid(folder: &Folder, name: &'static str, port: u16, siblings: &[u16]) -> Proxy {
    let own = folder.make(name);
    let mut settings = String::new();
    for line in page_block("# squid.conf").lines() {
        settings += &match line.strip_prefix("cache_peer 127.0.0.1 sibling 3130 ") {
            Some(options) => siblings
                .iter()
                .map(|port| format!("cache_peer 127.0.0.1 sibling {port} {options} name={port}\n"))
                .collect(),
            // Squid looks through all its folders before it makes a digest: 10 s with these.
            None => {
                line.replace("/var/spool/squid", "FOLDER/cache").replace("16 256", "2 2") + "\n"
            }
        };
    }
    settings += include_str!("squid.conf");
    if let Some(root) = unpacked() {
        let (errors, unlinkd) = ("usr/share/squid-langpack/en", "usr/lib/squid/unlinkd");
        settings += &format!("error_directory {}\n", root.join(errors).display());
        settings += &format!("unlinkd_program {}\n", root.join(unlinkd).display());
    }
    let folder = own.display().to_string();
    settings = settings.replace("FOLDER", &folder).replace("PORT", &port.to_string());
    fs::write(own.join("squid.conf"), settings).unwrap();
    // The icons of FTP files, without which it does not start: none.
    fs::write(own.join("mime"), "").unwrap();

    let folders = command(&own, "folders").arg("-z").status();
    let folders = folders.expect("squid: `apt-get install squid`, or run `cargo x test proxy`");
    assert!(folders.success(), "{}", output(&own));
    let process = command(&own, "output").spawn().unwrap();
    Proxy { name, port, log: own.join("access.log"), process }.ready()
}

/// The block of docs/formats.md that starts with a line or a word.
fn page_block(start: &str) -> &'static str {
    let page = include_str!("../../../../docs/formats.md");
    let blocks = page.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.into_iter().find(|block| block.starts_with(start)).expect("the page shows it")
}

/// Squid in the foreground, with its output in a file.
fn command(own: &Path, output: &str) -> Command {
    let root = unpacked().unwrap_or("/".into());
    let libraries = fs::read_dir(root.join("usr/lib")).unwrap().map(|it| it.unwrap().path());
    let mut libraries = libraries.filter(|path| path.to_string_lossy().ends_with("-linux-gnu"));
    let mut command = Command::new(root.join("usr/sbin/squid"));
    command.env("LD_LIBRARY_PATH", libraries.next().unwrap_or_default());
    let file = File::create(own.join(output)).unwrap();
    command.arg("-N").arg("-f").arg(own.join("squid.conf"));
    command.stdout(file.try_clone().unwrap()).stderr(file);
    command
}

fn output(own: &Path) -> String {
    ["folders", "output", "cache.log"]
        .map(|file| fs::read_to_string(own.join(file)).unwrap_or_default())
        .concat()
}

/// Where `cargo x test proxy` has unpacked Debian's package, if none is installed.
fn unpacked() -> Option<PathBuf> {
    std::env::var_os("SQUID_ROOT").map(PathBuf::from)
}
