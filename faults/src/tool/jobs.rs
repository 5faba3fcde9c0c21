//! The jobs that are tried: the files they start from, their command, and what must hold after them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

/// A command and what surrounds it. One thread makes the same calls in each run.
pub(crate) struct Job {
    pub(crate) name: &'static str,
    /// Commands that prepare the folder, which has the files `a`, `b` and `keys` of lines, `a.gz`, and `rows.csv`.
    pub(crate) before: &'static [&'static str],
    pub(crate) run: &'static str,
    pub(crate) stdin: Option<&'static str>,
    /// Commands whose output afterwards tells whether all is well.
    pub(crate) after: &'static [&'static str],
    /// Whether a run that fails may leave some of its work done, for the next run to go on with.
    pub(crate) goes_on: bool,
    /// Whether it prints something else each time.
    pub(crate) random: bool,
}

const PLAIN: Job =
    Job { name: "", before: &[], run: "", stdin: None, after: &[], goes_on: false, random: false };

pub(crate) const JOBS: &[Job] = &[
    Job { name: "common", run: "common a b -j 1", ..PLAIN },
    Job { name: "common, compressed", run: "common a.gz b -j 1 -o out", ..PLAIN },
    Job { name: "common, a pipe", run: "common - b -j 1", stdin: Some("a"), ..PLAIN },
    Job { name: "common, on disk", run: "common big rest -j 1 --memory 16MiB -o out", ..PLAIN },
    Job { name: "common, two threads", run: "common a b -j 2", ..PLAIN },
    Job { name: "except", run: "except a b -j 1 -o out", ..PLAIN },
    Job { name: "dedup", run: "dedup a b -j 1 -o out", ..PLAIN },
    Job {
        name: "dedup, replacing",
        before: &["dedup a -o out"],
        run: "dedup a b -j 1 -o out",
        ..PLAIN
    },
    Job { name: "dedup, counted", run: "dedup a b -j 1 --count --by-count", ..PLAIN },
    Job { name: "dedup, one pass", run: "dedup a b -j 1 --fpp 1e-9", ..PLAIN },
    Job { name: "dedup, rows", run: "dedup --csv -k id rows.csv -j 1 -o out", ..PLAIN },
    Job { name: "diff", run: "diff a b -j 1 -o out", ..PLAIN },
    Job { name: "join", run: "join --csv -k id=n rows.csv other.csv -j 1 -o out", ..PLAIN },
    Job { name: "build", run: "build -o seen keys -j 1", after: &["query seen keys"], ..PLAIN },
    Job {
        name: "build, replacing",
        before: &["build -o seen a"],
        run: "build -o seen keys -j 1",
        after: &["query seen keys"],
        ..PLAIN
    },
    Job {
        name: "add",
        before: &["build --keys 20000 -o seen a"],
        run: "add seen b -j 1",
        after: &["query seen a b"],
        ..PLAIN
    },
    Job {
        name: "add, in pieces",
        before: &["build --keys 12000000 --fpp 0.001 -o seen a"],
        run: "add seen b -j 1 --memory 16MiB",
        after: &["query seen a b"],
        ..PLAIN
    },
    Job {
        name: "remove",
        before: &["build --kind counting -o seen a b"],
        run: "remove seen a -j 1",
        after: &["query seen b"],
        ..PLAIN
    },
    Job {
        name: "merge",
        before: &["build --keys 20000 -o one a", "build --keys 20000 -o two b"],
        run: "merge -o all one two",
        after: &["query all a b"],
        ..PLAIN
    },
    Job { name: "query", before: &["build -o seen a"], run: "query seen b -j 1", ..PLAIN },
    Job { name: "info", before: &["build -o seen a"], run: "info seen", ..PLAIN },
    Job {
        name: "convert",
        before: &["build --kind counting -o seen a"],
        run: "convert seen -o out --to blocked",
        after: &["query out a"],
        ..PLAIN
    },
    Job {
        name: "unseen",
        before: &["build --keys 20000 -o seen a"],
        run: "unseen seen b -j 1 --append out",
        after: &["query seen a b", "dedup out"],
        goes_on: true,
        ..PLAIN
    },
    Job {
        name: "unseen, a new filter",
        run: "unseen seen --keys 20000 a b -j 1 --append out",
        after: &["query seen a b", "dedup out"],
        goes_on: true,
        ..PLAIN
    },
    Job { name: "pack", before: &["build -o seen a"], run: "pack seen -o packed", ..PLAIN },
    Job {
        name: "unpack",
        before: &["build -o seen a", "pack seen -o packed"],
        run: "unpack packed -o out",
        after: &["query out a"],
        ..PLAIN
    },
    Job { name: "delta", before: VERSIONS, run: "delta one two -o change", ..PLAIN },
    Job {
        name: "patch",
        before: PATCH,
        run: "patch one change -o new",
        after: &["query new a b"],
        ..PLAIN
    },
    Job { name: "key", run: "key new -o secret", random: true, ..PLAIN },
    Job {
        name: "sign",
        before: &["build -o seen a", "key new --signing -o mine"],
        run: "sign seen --sign mine --list a --serial 1",
        after: &["query seen a"],
        ..PLAIN
    },
    Job { name: "index", run: "index -o all a b a.gz -j 1", after: &["find all 1999"], ..PLAIN },
    Job {
        name: "index, updated",
        before: &["index -o all a b", "dedup a b -o b"],
        run: "index --update all -j 1",
        after: &["find all 1999"],
        ..PLAIN
    },
    Job { name: "find", before: &["index -o all a b a.gz"], run: "find all 1999 -j 1", ..PLAIN },
];

const VERSIONS: &[&str] = &["build --keys 20000 -o one a", "build --keys 20000 -o two a b"];
const PATCH: &[&str] = &[VERSIONS[0], VERSIONS[1], "delta one two -o change"];

/// A folder for a job.
pub(crate) struct Folder {
    root: TempDir,
    umbel: PathBuf,
}

/// The files of a folder, without those for temporary use.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

impl Folder {
    pub(crate) fn new(umbel: &Path, job: &Job) -> Result<Self> {
        let folder = Self { root: TempDir::new()?, umbel: umbel.to_owned() };
        fs::create_dir(folder.tmp())?;
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
        if job.run.contains("big") {
            folder.write("big", lines(0..400_000))?;
            folder.write("rest", lines(100_000..500_000))?;
        }
        let gzip = Command::new("gzip").arg("-k").arg(folder.path("a")).status();
        ensure!(gzip.context("gzip")?.success(), "gzip failed");
        for command in job.before {
            let output = folder.umbel(command).output()?;
            ensure!(
                output.status.success(),
                "umbel {command}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(folder)
    }

    /// Puts the files back as they were, and removes all others.
    pub(crate) fn put(&self, files: &Files) -> Result<()> {
        for (name, bytes) in self.files()? {
            if files.get(&name) != Some(&bytes) {
                fs::remove_file(self.path(&name))?;
            }
        }
        for (name, bytes) in files {
            if !self.path(name).exists() {
                fs::write(self.path(name), bytes)?;
                // Secrets are among them.
                fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o600))?;
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
        self.root.path()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    fn tmp(&self) -> PathBuf {
        self.path("tmp")
    }

    /// A command of umbel in this folder.
    pub(crate) fn umbel(&self, arguments: &str) -> Command {
        let mut command = Command::new(&self.umbel);
        command.args(arguments.split(' ')).current_dir(self.root()).env("TMPDIR", self.tmp());
        command
    }

    pub(crate) fn files(&self) -> Result<Files> {
        let mut files = Files::new();
        for entry in fs::read_dir(self.root())? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                let name = entry.file_name().to_string_lossy().into_owned();
                files.insert(name, fs::read(entry.path())?);
            }
        }
        Ok(files)
    }

    /// The names of temporary files that are left.
    pub(crate) fn left(&self) -> Result<Vec<String>> {
        let names = fs::read_dir(self.tmp())?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect()
    }
}
