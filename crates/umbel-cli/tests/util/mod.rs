//! A small harness: a folder a test, `umbel` run in it, and what came of it.
//!
//! Every run has a folder for temporary files of its own, which must be empty when the run is over,
//! however it ended; and a run that hangs is killed and fails.

// Every file of tests uses a part of it.
#![allow(dead_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) mod parquet;
#[cfg(unix)]
mod unix;

/// Far more than any run takes, and any script of a case on a machine that does more than that.
const PATIENCE: Duration = Duration::from_secs(600);
const TMP: &str = "tmp";

/// A text with paths as this system writes them.
pub(crate) fn here(text: &str) -> String {
    text.replace('/', std::path::MAIN_SEPARATOR_STR)
}

/// A folder that a test has for itself. Runs start in it, so paths are short names.
pub(crate) struct Folder {
    root: TempDir,
}

impl Folder {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join(TMP)).unwrap();
        Self { root }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// Writes a file that only its owner may read.
    pub(crate) fn write_private(&self, name: &str, bytes: impl AsRef<[u8]>) {
        self.write(name, bytes);
        #[cfg(unix)]
        umbel_io::Access::private().set(&self.open(name)).unwrap();
    }

    /// A file that is there, to write anywhere in it.
    pub(crate) fn open(&self, name: &str) -> File {
        OpenOptions::new().write(true).open(self.path(name)).unwrap()
    }

    pub(crate) fn append(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let mut file = OpenOptions::new().append(true).open(self.path(name)).unwrap();
        file.write_all(bytes.as_ref()).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// What a file holds; nothing when there is none.
    pub(crate) fn read_if_there(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_default()
    }

    /// What is in the folder, but for the folder of temporary files.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = names(self.root.path());
        names.retain(|name| name != TMP);
        names
    }

    /// A run of `umbel` with arguments as typed, without quotes.
    pub(crate) fn umbel(&self, arguments: &str) -> Umbel {
        let umbel = env!("CARGO_BIN_EXE_umbel");
        #[cfg(unix)]
        if unix::interrupts_are_ignored() {
            return self.program("env", "--default-signal=INT,TERM").arg(umbel).args(arguments);
        }
        self.program(umbel, arguments)
    }

    pub(crate) fn program(&self, program: &str, arguments: &str) -> Umbel {
        let mut command = Command::new(program);
        command
            .current_dir(self.root.path())
            .env("TMPDIR", self.path(TMP))
            .env("TMP", self.path(TMP));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Umbel { command, stdin: None, tmp: self.path(TMP) }.args(arguments)
    }
}

/// A run to be.
pub(crate) struct Umbel {
    pub(crate) command: Command,
    stdin: Option<Vec<u8>>,
    tmp: PathBuf,
}

impl Umbel {
    pub(crate) fn args(mut self, arguments: &str) -> Self {
        self.command.args(arguments.split_whitespace());
        self
    }

    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Runs in another folder.
    pub(crate) fn at(mut self, folder: PathBuf) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Standard input from a pipe with these bytes.
    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.command.stdin(Stdio::piped());
        self.stdin = Some(bytes.into());
        self
    }

    /// Standard input from a file, where it stands.
    pub(crate) fn stdin_file(mut self, file: File) -> Self {
        self.command.stdin(file);
        self
    }

    pub(crate) fn stdout(mut self, to: impl Into<Stdio>) -> Self {
        self.command.stdout(to);
        self
    }

    pub(crate) fn stderr(mut self, to: impl Into<Stdio>) -> Self {
        self.command.stderr(to);
        self
    }

    /// Standard output to a pipe that nobody reads.
    pub(crate) fn unread(self) -> Self {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        self.stdout(writer)
    }

    /// Runs it to its end.
    pub(crate) fn run(self) -> Outcome {
        self.spawn().finish()
    }

    /// Starts it.
    pub(crate) fn spawn(mut self) -> Running {
        let mut child = self.command.spawn().unwrap();
        if let Some(bytes) = self.stdin {
            let mut pipe = child.stdin.take().unwrap();
            // It may end without reading all.
            thread::spawn(move || drop(pipe.write_all(&bytes)));
        }
        let command = format!("{:?}", self.command);
        Running { child, command, tmp: self.tmp }
    }

    /// Starts it with its standard input and output as pipes.
    pub(crate) fn piped(mut self) -> (Running, ChildStdin, ChildStdout) {
        self.command.stdin(Stdio::piped());
        let mut run = self.spawn();
        let (stdin, stdout) = (run.child.stdin.take().unwrap(), run.stdout());
        (run, stdin, stdout)
    }
}

/// Asserts that these bytes come next.
pub(crate) fn comes(from: &mut impl Read, bytes: impl AsRef<[u8]>) {
    let mut read = vec![0; bytes.as_ref().len()];
    from.read_exact(&mut read).unwrap();
    assert!(read == bytes.as_ref(), "{}", read.escape_ascii());
}

/// A run that has begun.
pub(crate) struct Running {
    child: Child,
    command: String,
    tmp: PathBuf,
}

impl Running {
    pub(crate) fn stdout(&mut self) -> ChildStdout {
        self.child.stdout.take().unwrap()
    }

    pub(crate) fn stderr(&mut self) -> ChildStderr {
        self.child.stderr.take().unwrap()
    }

    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits until `done`, for as long as it runs.
    pub(crate) fn until(&mut self, what: &str, mut done: impl FnMut() -> bool) {
        let start = Instant::now();
        while !done() {
            assert!(self.runs(), "{}: ended before {what}", self.command);
            assert!(start.elapsed() < PATIENCE, "{}: never {what}", self.command);
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Writes the last of its input, and waits for its end.
    pub(crate) fn finish_after(self, mut input: impl Write, last: &[u8]) -> Outcome {
        input.write_all(last).unwrap();
        drop(input);
        self.finish()
    }

    /// Waits for its end, reading what it says meanwhile.
    pub(crate) fn finish(mut self) -> Outcome {
        let stdout = self.child.stdout.take().map(drain);
        let stderr = self.child.stderr.take().map(drain);
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > PATIENCE {
                self.child.kill().unwrap();
                panic!("{}: does not end", self.command);
            }
            thread::sleep(Duration::from_millis(1));
        };
        let read = |reader: Option<JoinHandle<Vec<u8>>>| {
            reader.map(|reader| reader.join().unwrap()).unwrap_or_default()
        };
        let (stdout, stderr) = (read(stdout), read(stderr));
        assert_eq!(names(&self.tmp), [""; 0], "{}: left temporary files", self.command);
        let stderr = String::from_utf8(stderr).unwrap();
        Outcome { command: std::mem::take(&mut self.command), status, stdout, stderr }
    }
}

impl Drop for Running {
    /// A test that fails leaves nothing running.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A run that is over.
pub(crate) struct Outcome {
    pub(crate) command: String,
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Outcome {
    /// Standard output of a run that was done or found something.
    pub(crate) fn done(self) -> Vec<u8> {
        self.ended_with(0);
        self.stdout
    }

    /// Standard output, as text, of a run that was done or found something.
    pub(crate) fn text(self) -> String {
        String::from_utf8(self.done()).unwrap()
    }

    /// The report of a run that was done or found something, which is all it says.
    pub(crate) fn report(self) -> Value {
        self.ended_with(0);
        serde_json::from_str(&self.stderr).expect("a report is one object")
    }

    /// Asserts that nothing was found, which is no error.
    pub(crate) fn nothing(self) {
        self.ended_with(1);
        assert_eq!(self.stdout, b"", "{}", self.command);
    }

    /// Asserts that these words are on standard error.
    pub(crate) fn says(self, words: &str) -> Self {
        let Self { command, stderr, .. } = &self;
        assert!(stderr.contains(words), "{command}: no {words:?} in {stderr}");
        self
    }

    /// The message of a run that failed as it should: told on standard error, with all these words.
    pub(crate) fn fails(self, words: &[&str]) -> String {
        self.ended_with(2);
        let start = &self.stdout[..self.stdout.len().min(200)];
        assert!(start.is_empty(), "{}: answered {}", self.command, start.escape_ascii());
        let start = self.stderr.split(':').next().unwrap_or_default();
        let verb = start.strip_prefix("umbel").map(str::trim_start);
        let is_verb = |verb: &str| {
            ["", "filter", "parquet"].contains(&verb) || verbs().iter().any(|other| other == verb)
        };
        let verb = verb.map(|verb| verb.split(" warning").next().unwrap_or_default());
        assert!(verb.is_some_and(is_verb), "{}: {}", self.command, self.stderr);
        self.advises_options_that_exist();
        words.iter().fold(self, |this, word| this.says(word)).stderr
    }

    /// Asserts that every option that a message names is one of the verb that the message speaks of, or was typed.
    pub(crate) fn advises_options_that_exist(&self) {
        let typed = |option: &str| self.command.contains(option);
        let mut verb = String::new();
        let mut words =
            self.stderr.split([' ', '\n', '(', ')', ';', ',', '\'', ':', '"']).peekable();
        while let Some(word) = words.next() {
            if word == "umbel" {
                let mut next = words.clone();
                let (first, second) = (next.next().unwrap_or(""), next.next().unwrap_or(""));
                let name = format!("{first} {second}");
                let named = verbs().iter().find(|verb| **verb == first || **verb == name);
                verb = named.unwrap_or(&verb).clone();
            } else if ["zstd", "xz", "iconv", "unzip"].contains(&word) {
                verb = word.to_owned();
            }
            let option = word.split(['=', '<', '.', '[']).next().unwrap_or_default();
            let is_option = option.strip_prefix("--").is_some_and(|name| !name.is_empty());
            if is_option && option != "--help" && !typed(option) && !help_of(&verb).is_empty() {
                let has = options_in(&help_of(&verb)).contains(option);
                assert!(has, "{}: umbel {verb} has no {option}: {}", self.command, self.stderr);
            }
        }
    }

    pub(crate) fn ended_with(&self, code: i32) {
        assert_eq!(self.status.code(), Some(code), "{}: {}", self.command, self.stderr);
    }
}

fn help(arguments: &str) -> String {
    let mut umbel = Command::new(env!("CARGO_BIN_EXE_umbel"));
    let run = umbel.args(arguments.split_whitespace()).output().unwrap();
    String::from_utf8(run.stdout).unwrap()
}

/// All verbs, such as `dedup` and `filter build`, as the help lists them.
pub(crate) fn verbs() -> &'static [String] {
    static VERBS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let listed = |help: &str| -> Vec<String> {
            let lines = help.lines().filter_map(|line| line.strip_prefix("  "));
            let words = lines.filter_map(|line| line.split_once("  ").map(|(word, _)| word));
            let is_verb = |word: &&str| {
                !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase())
            };
            words.filter(is_verb).map(str::to_owned).collect()
        };
        let all = help("help");
        let set_up = all.split_once("Set up: ").unwrap().1.trim().split(", ");
        let of_nouns = |noun: &str| {
            let verbs = listed(&help(&format!("help {noun}"))).into_iter();
            verbs.map(|verb| format!("{noun} {verb}")).collect::<Vec<_>>()
        };
        let words = listed(&all).into_iter().chain(set_up.map(str::to_owned));
        let all: Vec<_> = words
            .flat_map(|word| match &*word {
                "filter" | "parquet" => of_nouns(&word),
                _ => vec![word],
            })
            .collect();
        assert!(all.len() > 30, "{all:?}");
        all
    });
    &VERBS
}

/// The whole help of a verb, asked for once.
pub(crate) fn help_of(verb: &str) -> String {
    static HELPS: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    if !verbs().iter().any(|other| other == verb) {
        return String::new();
    }
    let steps: &[&str] = if verb == "filter key" { &["", "new", "id"] } else { &[""] };
    let mut helps = HELPS.lock().unwrap_or_else(PoisonError::into_inner);
    let all = || steps.iter().map(|step| help(&format!("{verb} {step} --help"))).collect();
    helps.entry(verb.to_owned()).or_insert_with(all).clone()
}

/// The options that a help names.
pub(crate) fn options_in(help: &str) -> BTreeSet<String> {
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let names = lines.flat_map(|line| line.split([' ', ',', '[', '=', '/']));
    names.filter(|name| name.starts_with("--")).map(str::to_owned).collect()
}

/// The amount of memory that a message names as sufficient: the last one there.
pub(crate) fn least_memory(message: &str) -> &str {
    let mut words = message.split([' ', ';', '\n']);
    words.rfind(|word| word.ends_with("iB")).expect("names an amount")
}

/// Lines with their ends.
pub(crate) fn lines<T: AsRef<[u8]>>(lines: impl IntoIterator<Item = T>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in lines {
        bytes.extend_from_slice(line.as_ref());
        bytes.push(b'\n');
    }
    bytes
}

/// Numbers that look random, from a seed that a failure can be repeated with: SplitMix64 (G. L. Steele, D. Lea, C. H. Flood 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Between 0 and 1.
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// As often between 1 and 10 as between 10 and 100, up to `most`.
    pub(crate) fn of_any_size(&mut self, most: u64) -> u64 {
        (most as f64 + 1.0).powf(self.fraction()) as u64
    }
}

/// How much a long test does: a part, unless `cargo x test --full` asks for all.
pub(crate) fn long<T>(all: T, part: T) -> T {
    if std::env::var_os("UMBEL_TEST_FULL").is_some() { all } else { part }
}

/// A line of 66 bytes with its end, as long as URLs are; neighbours differ in many places.
pub(crate) fn url(number: u64) -> String {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("https://example.org/{mixed:020}/{number:024}")
}

/// Such lines.
pub(crate) fn urls(numbers: impl IntoIterator<Item = u64>) -> Vec<u8> {
    lines(numbers.into_iter().map(url))
}

/// One member of a gzip file.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A block of bgzip (SAM 1.6, section 4.1).
pub(crate) fn bgzip(text: &[u8], level: flate2::Compression) -> Vec<u8> {
    let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), level);
    deflate.write_all(text).unwrap();
    let deflated = deflate.finish().unwrap();
    let mut crc = flate2::Crc::new();
    crc.update(text);
    let mut block = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0".to_vec();
    block.extend(u16::try_from(18 + deflated.len() + 8 - 1).unwrap().to_le_bytes());
    block.extend(deflated);
    block.extend(crc.sum().to_le_bytes());
    block.extend((text.len() as u32).to_le_bytes());
    block
}

/// The same bytes in each format that is read, by its name.
pub(crate) fn compressed(bytes: &[u8]) -> [(&'static str, Vec<u8>); 5] {
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(bytes).unwrap();
    // Those that may do without a checksum have one, as their programs write it.
    let mut zstd = zstd::Encoder::new(Vec::new(), 1).unwrap();
    zstd.include_checksum(true).unwrap();
    zstd.write_all(bytes).unwrap();
    let sums = lz4_flex::frame::FrameInfo::new().content_checksum(true);
    let mut lz4 = lz4_flex::frame::FrameEncoder::with_frame_info(sums, Vec::new());
    lz4.write_all(bytes).unwrap();
    [
        ("gzip", gzip(bytes)),
        ("zstd", zstd.finish().unwrap()),
        ("xz", xz(bytes, 1)),
        ("bzip2", bzip2.finish().unwrap()),
        ("lz4", lz4.finish().unwrap()),
    ]
}

/// A stream of xz, with the dictionary that this preset has.
pub(crate) fn xz(bytes: &[u8], preset: u32) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(preset);
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn drain(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        match pipe.read_to_end(&mut bytes) {
            #[cfg(unix)]
            Err(error) if unix::is_closed_terminal(&error) => bytes,
            Err(error) if error.kind() != ErrorKind::Interrupted => panic!("{error}"),
            _ => bytes,
        }
    })
}

/// The names of what is in a folder.
pub(crate) fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}
