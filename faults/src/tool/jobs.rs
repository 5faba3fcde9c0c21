//! The jobs that are tried: the files they start from, their command, and what must hold after them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::Signal;
use tempfile::TempDir;

use super::trace::{self, Action, Call, How, Watch};

/// A command and its preparation. A job with one thread makes the same calls in each run.
#[derive(Default)]
pub(crate) struct Job {
    pub(crate) name: &'static str,
    /// Commands that prepare the folder, which has the files `a`, `b` and `keys` of lines, `a.gz`, and `rows.csv`.
    pub(crate) before: Vec<&'static str>,
    /// A command that follows them, and is killed at its n-th sync.
    pub(crate) interrupted: Option<(&'static str, u32)>,
    pub(crate) run: &'static str,
    pub(crate) stdin: Option<&'static str>,
    /// Commands whose output shows whether all is well.
    pub(crate) after: Vec<&'static str>,
    /// Whether a run that ends early may leave part of its work done, for the next run to continue.
    pub(crate) goes_on: bool,
    /// The file that it appends lines to, each once, in any order.
    pub(crate) appends: Option<&'static str>,
    /// Whether files are changed in place: only the commands afterwards can check whether they are intact.
    pub(crate) in_place: bool,
    /// Whether its output differs each time, and it replaces nothing.
    pub(crate) random: bool,
    /// Whether `run` is a Python program that puts lines into `out`, and not a command of umbel.
    pub(crate) python: bool,
}

/// The jobs in `jobs.txt`.
pub(crate) fn all() -> Result<Vec<Job>> {
    let mut jobs: Vec<Job> = Vec::new();
    for line in include_str!("jobs.txt").lines().filter(|line| !line.starts_with('#')) {
        let Some(about) = line.strip_prefix("  ") else {
            jobs.push(Job { name: line, ..Job::default() });
            continue;
        };
        let job = jobs.last_mut().context("a name comes first")?;
        let (what, value) = about.split_once(": ").unwrap_or((about, ""));
        match what {
            "before" => job.before.push(value),
            "killed" => {
                let (command, sync) = value.rsplit_once(" at sync ").context(line)?;
                job.interrupted = Some((command, sync.parse()?));
            }
            "run" => job.run = value,
            "python" => (job.run, job.python) = (value, true),
            "stdin" => job.stdin = Some(value),
            "after" => job.after.push(value),
            "appends" => job.appends = Some(value),
            "goes on" => job.goes_on = true,
            "in place" => job.in_place = true,
            "random" => job.random = true,
            _ => bail!("jobs.txt: {line}"),
        }
    }
    Ok(jobs)
}

/// Runs a Python program, for which the lines of `a` and `b` are lists. Two calls that are made nowhere else mark the
/// part in which calls fail.
const SCRIPT: &str = include_str!("job.py");

/// The programs that run jobs.
#[derive(Clone)]
pub(crate) struct Programs {
    pub(crate) umbel: PathBuf,
    /// A Python with the package.
    pub(crate) python: PathBuf,
}

/// A folder for a job.
pub(crate) struct Folder {
    base: TempDir,
    root: PathBuf,
    programs: Programs,
}

/// The files of a folder, without those for temporary use.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

impl Folder {
    pub(crate) fn new(programs: &Programs, job: &Job) -> Result<Self> {
        let base = TempDir::new()?;
        let folder = Self { root: base.path().join("files"), base, programs: programs.clone() };
        fs::create_dir_all(folder.tmp())?;
        fs::create_dir(folder.path(MORE))?;
        let lines = |numbers: std::ops::Range<u32>| -> String {
            numbers.map(|i| format!("https://example.org/w/{}/{i}\n", i % 3000)).collect()
        };
        folder.write("a", lines(0..3000))?;
        folder.write("b", lines(1500..4500))?;
        folder.write("keys", lines(4000..8000))?;
        let rows = (0..2000).map(|i| format!("{i},{}\n", i * 7 % 1000));
        folder
            .write("rows.csv", std::iter::once("number,id\n".to_owned()).chain(rows).collect())?;
        let rows = (0..2000).map(|i| format!("{},{i}\n", i * 3));
        folder.write("other.csv", std::iter::once("n,word\n".to_owned()).chain(rows).collect())?;
        folder.write("nets", "192.0.2.0/24\n2001:db8::/32\n".to_owned())?;
        folder.write("ips", "192.0.2.7\n192.0.3.7\n2001:db8::1\n".to_owned())?;
        if job.run.contains("parquet") {
            fs::copy(EVENTS, folder.path("events.parquet")).context(EVENTS)?;
        }
        if job.run.contains("big") {
            folder.write("big", lines(0..400_000))?;
            folder.write("rest", lines(100_000..500_000))?;
        }
        let gzip = Command::new("gzip").arg("-k").arg(folder.path("a")).status();
        ensure!(gzip.context("gzip")?.success(), "gzip failed");
        for command in &job.before {
            let output = folder.umbel(command).output()?;
            ensure!(
                output.status.success(),
                "umbel {command}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        if let Some((command, syncs)) = job.interrupted {
            let ended = trace::run(&mut folder.umbel(command), Vec::new(), &mut Kill { syncs })?;
            let killed = ended.how == How::Signal(Signal::SIGKILL);
            ensure!(killed, "umbel {command} is over before its sync {syncs}: {:?}", ended.how);
        }
        Ok(folder)
    }

    /// Restores the files, and removes all others. An existing file keeps its inode number.
    pub(crate) fn put(&self, files: &Files) -> Result<()> {
        for name in self.names()? {
            if !files.contains_key(&name) {
                fs::remove_file(self.path(&name))?;
            }
        }
        for (name, bytes) in files {
            let path = self.path(name);
            if fs::read(&path).ok().as_ref() != Some(bytes) {
                fs::write(&path, bytes)?;
                // Secrets are among them.
                fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
            }
        }
        for name in self.left()? {
            fs::remove_file(self.tmp().join(name))?;
        }
        Ok(())
    }

    fn write(&self, name: &str, text: String) -> Result<()> {
        fs::write(self.path(name), text).context("a file of a job")
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// A path on the same file system, outside of the job's folder.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    fn tmp(&self) -> PathBuf {
        self.path(TMP)
    }

    /// Whether a path in this folder is one for temporary use.
    pub(crate) fn is_temporary(path: &Path) -> bool {
        path.starts_with(TMP)
    }

    /// A command of umbel in this folder.
    pub(crate) fn umbel(&self, arguments: &str) -> Command {
        let mut command = Command::new(&self.programs.umbel);
        command.args(arguments.split(' ')).current_dir(self.root()).env("TMPDIR", self.tmp());
        command
    }

    /// The command of a job, or another one like it.
    pub(crate) fn command(&self, job: &Job, run: &str) -> Command {
        if !job.python {
            return self.umbel(run);
        }
        let mut command = Command::new(&self.programs.python);
        command.args(["-B", "-c", SCRIPT, run]).current_dir(self.root()).env("TMPDIR", self.tmp());
        command
    }

    /// The output of the commands that show whether all is well.
    pub(crate) fn answers(&self, job: &Job) -> Result<Vec<Vec<u8>>> {
        let run = |arguments: &&str| {
            let output = self.umbel(arguments).output().with_context(|| arguments.to_string())?;
            ensure!(
                output.status.success(),
                "umbel {arguments}: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            );
            Ok(output.stdout)
        };
        job.after.iter().map(run).collect()
    }

    /// The names of files, without those for temporary use.
    pub(crate) fn names(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for (folder, prefix) in [(self.root().to_owned(), ""), (self.path(MORE), "more/")] {
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                if entry.file_type().is_ok_and(|sort| sort.is_file()) {
                    names.push(format!("{prefix}{}", entry.file_name().to_string_lossy()));
                }
            }
        }
        Ok(names)
    }

    pub(crate) fn files(&self) -> Result<Files> {
        self.names()?
            .into_iter()
            .map(|name| Ok((name.clone(), fs::read(self.path(&name))?)))
            .collect()
    }

    /// The names of leftover temporary files.
    pub(crate) fn left(&self) -> Result<Vec<String>> {
        let names = fs::read_dir(self.tmp())?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect()
    }
}

/// Lines in order, whatever the order they were written in.
pub(crate) fn sorted_lines(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<_> = text.split_inclusive(|byte| *byte == b'\n').collect();
    lines.sort_unstable();
    lines
}

/// A table with a column of texts, `url`.
const EVENTS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/foreign/parquet/events.parquet");

const TMP: &str = "tmp";
/// A folder in it.
const MORE: &str = "more";

/// Kills a program at its n-th sync.
struct Kill {
    syncs: u32,
}

impl Watch for Kill {
    fn enter(&mut self, call: &Call) -> Action {
        if matches!(call.number, libc::SYS_fsync | libc::SYS_fdatasync) {
            self.syncs -= 1;
            if self.syncs == 0 {
                return Action::Kill;
            }
        }
        Action::Go
    }
}
