//! The jobs that are tried: the files they start from, their command, and what must hold after them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use tempfile::TempDir;

use super::trace::{self, Action, Call, How, Watch};

/// A command and what surrounds it. One thread makes the same calls in each run.
pub(crate) struct Job {
    pub(crate) name: &'static str,
    /// Commands that prepare the folder, which has the files `a`, `b` and `keys` of lines, `a.gz`, and `rows.csv`.
    pub(crate) before: &'static [&'static str],
    /// One that follows them, and is killed when it is about to sync something for the n-th time.
    pub(crate) interrupted: Option<(&'static str, u32)>,
    pub(crate) run: &'static str,
    pub(crate) stdin: Option<&'static str>,
    /// Commands whose output tells whether all is well.
    pub(crate) after: &'static [&'static str],
    /// Whether a run that ends early may leave some of its work done, for the next run to go on with.
    pub(crate) goes_on: bool,
    /// The file that it appends lines to, each once in whatever order.
    pub(crate) appends: Option<&'static str>,
    /// Whether files are changed where they are, so that only the commands afterwards can tell whether they are whole.
    pub(crate) in_place: bool,
    /// Whether it prints something else each time, and replaces nothing.
    pub(crate) random: bool,
    /// Whether `run` is a program in Python that puts lines into `out`, and not a command of umbel.
    pub(crate) python: bool,
}

const PLAIN: Job = Job {
    name: "",
    before: &[],
    interrupted: None,
    run: "",
    stdin: None,
    after: &[],
    goes_on: false,
    appends: None,
    in_place: false,
    random: false,
    python: false,
};

const PYTHON: Job = Job { python: true, ..PLAIN };

const SEEN: Job =
    Job { after: &["query seen a b keys"], goes_on: true, appends: Some("out"), ..PLAIN };

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
    Job {
        name: "diff, three files",
        before: &["dedup a -o kept"],
        run: "diff a b -j 1 --added added --removed removed --kept kept",
        ..PLAIN
    },
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
    Job {
        name: "query, packed",
        before: &["build -o seen a", "pack seen -o packed"],
        run: "query packed b -j 1",
        ..PLAIN
    },
    Job { name: "query, a list", run: "query --prefixes ip nets ips -j 1", ..PLAIN },
    Job {
        name: "query, a list's filter",
        before: &["build --prefixes ip -o listed nets"],
        run: "query --prefixes ip listed ips -j 1",
        ..PLAIN
    },
    Job {
        name: "build, for Guava",
        run: "build --format guava -o seen keys -j 1",
        after: &["query --key-type bytes seen keys"],
        ..PLAIN
    },
    Job { name: "info", before: &["build -o seen a"], run: "info seen", ..PLAIN },
    Job { name: "overlap", before: VERSIONS, run: "overlap one two", ..PLAIN },
    Job { name: "audit", before: &["build -o seen a"], run: "audit seen --candidates b", ..PLAIN },
    Job { name: "parquet", before: &[ADDED], run: "parquet events.parquet", ..PLAIN },
    Job {
        name: "parquet, keys",
        before: &[ADDED],
        run: "parquet events.parquet -c url a -j 1",
        ..PLAIN
    },
    Job {
        name: "parquet, adding",
        run: "parquet events.parquet --add url --always -o new.parquet -j 1",
        after: &["parquet new.parquet"],
        ..PLAIN
    },
    Job { name: "parquet, in place", run: ADDED, after: &["parquet events.parquet"], ..PLAIN },
    Job {
        name: "parquet, removing",
        before: &[ADDED],
        run: "parquet events.parquet --remove-all",
        ..PLAIN
    },
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
        ..SEEN
    },
    Job {
        name: "unseen, a new filter",
        run: "unseen seen --keys 20000 a b -j 1 --append out",
        ..SEEN
    },
    Job {
        name: "unseen, each batch",
        run: "unseen seen --keys 20000 a b -j 1 --append out --checkpoint 0s",
        ..SEEN
    },
    Job {
        name: "unseen, growing",
        run: "unseen seen a b -j 1 --append out --checkpoint 0s --fpp 0.1",
        ..SEEN
    },
    Job {
        name: "unseen, printed",
        run: "unseen seen --keys 20000 a b -j 1 --checkpoint 0s",
        appends: None,
        ..SEEN
    },
    Job {
        name: "unseen, another folder",
        run: "unseen seen --keys 20000 a b -j 1 --append more/out",
        appends: Some("more/out"),
        ..SEEN
    },
    Job {
        name: "unseen, going on",
        interrupted: Some(("unseen seen --keys 20000 a b -j 1 --append out --checkpoint 0s", 9)),
        run: "unseen seen a b -j 1 --append out --checkpoint 0s",
        ..SEEN
    },
    Job {
        name: "unseen, other lines",
        interrupted: Some(("unseen seen --keys 20000 a -j 1 --append out --checkpoint 1h", 4)),
        run: "unseen seen keys b -j 1 --append out --checkpoint 1h",
        ..SEEN
    },
    Job {
        name: "add, after unseen",
        interrupted: Some(("unseen seen --keys 20000 a b -j 1 --append out --checkpoint 0s", 9)),
        run: "add seen keys -j 1",
        after: &["query seen a b keys"],
        in_place: true,
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
    Job { name: "key, a pair", run: "key new --signing -o mine", random: true, ..PLAIN },
    Job {
        name: "sign",
        before: &["build -o seen a", "key new --signing -o mine"],
        run: "sign seen --sign mine --list a --serial 1",
        after: &["query seen a"],
        ..PLAIN
    },
    Job {
        name: "sign, checked",
        before: &["key new --signing -o mine", "build --sign mine -o seen a"],
        run: "sign seen --trust mine.pub",
        ..PLAIN
    },
    Job { name: "index", run: "index -o all a b a.gz -j 1", after: &["find all 1999"], ..PLAIN },
    Job {
        name: "index, updated",
        before: &["index -o all a b", "dedup a b -o b"],
        run: "index --update all -j 1",
        after: &["find all 1999"],
        in_place: true,
        ..PLAIN
    },
    Job {
        name: "index, updated again",
        before: &["index -o all a b", "dedup a b -o b", "index --update all", "dedup a keys -o a"],
        run: "index --update all -j 1",
        after: &["find all 1999", "find all 7999"],
        in_place: true,
        ..PLAIN
    },
    Job { name: "find", before: &["index -o all a b a.gz"], run: "find all 1999 -j 1", ..PLAIN },
    Job { name: "find, no index", run: "find . 1999 -j 1", ..PLAIN },
    Job { name: "Python: common", run: "out += umbel.common('a', 'b', threads=1)", ..PYTHON },
    Job {
        name: "Python: common, on disk",
        run: "umbel.common('big', 'rest', threads=1, memory='16MiB', out='out')",
        ..PYTHON
    },
    Job {
        name: "Python: except, a column",
        run: "out += umbel.except_(a, 'b', threads=1)",
        ..PYTHON
    },
    Job {
        name: "Python: dedup, rows",
        run: "umbel.dedup('rows.csv', records='csv', key='id', threads=1, out='out')",
        ..PYTHON
    },
    Job {
        name: "Python: diff",
        run: "umbel.diff('a', 'b', threads=1, added='added', removed='removed', kept='kept')",
        ..PYTHON
    },
    Job {
        name: "Python: join",
        run: "umbel.join('rows.csv', 'other.csv', records='csv', on={'id': 'n'}, threads=1, out='out')",
        ..PYTHON
    },
    Job {
        name: "Python: index",
        run: "umbel.index('all', ['a', 'b', 'a.gz'], threads=1)",
        after: &["find all 1999"],
        ..PYTHON
    },
    Job {
        name: "Python: index, updated",
        before: &["index -o all a b", "dedup a b -o b"],
        run: "umbel.index('all', update=True, threads=1)",
        after: &["find all 1999"],
        in_place: true,
        ..PYTHON
    },
    Job {
        name: "Python: find",
        before: &["index -o all a b a.gz"],
        run: "out += [hit.text for hit in umbel.find('all', '1999', threads=1)]",
        ..PYTHON
    },
    Job {
        name: "Python: save",
        before: &["build -o seen keys"],
        run: "seen = umbel.Bloom(20000); seen.add_many(a); seen.save('seen')",
        after: &["query seen a"],
        ..PYTHON
    },
    Job {
        name: "Python: save, packed",
        before: &["build -o seen a"],
        run: "umbel.open('seen').save('packed', packed=True)",
        after: &["query packed a"],
        ..PYTHON
    },
    Job {
        name: "Python: open",
        before: &["build -o seen a"],
        run: "out += filter(umbel.open('seen').__contains__, b)",
        ..PYTHON
    },
    Job {
        name: "Python: open, mapped",
        before: &["build -o seen a"],
        run: "out += filter(umbel.open('seen', mmap=True).__contains__, b)",
        ..PYTHON
    },
    Job {
        name: "Python: Parquet",
        run: "umbel.parquet.add_filters('events.parquet', 'url', always=True, threads=1)",
        after: &["parquet events.parquet"],
        ..PYTHON
    },
];

/// Runs a program in Python, for which the lines of `a` and `b` are lists. The calls that fail are those between two that
/// nobody else makes.
const SCRIPT: &str = "
import os, sys, umbel, umbel.parquet
program, out, error = compile(sys.argv[1], 'job', 'exec'), [], None
lists = {name: open(name).read().split() for name in ('a', 'b')}
os.getpriority(os.PRIO_PROCESS, 0)
try:
    exec(program, {'umbel': umbel, 'out': out, **lists})
except Exception as found:
    error = found
os.getpriority(os.PRIO_PROCESS, 0)
sys.stdout.write('\\n'.join(out))
if error is not None:
    sys.exit([print(type(error).__name__, error, sep=': ', file=sys.stderr), 2][1])
";

const ADDED: &str = "parquet events.parquet --add url --always";

const VERSIONS: &[&str] = &["build --keys 20000 -o one a", "build --keys 20000 -o two a b"];
const PATCH: &[&str] = &[VERSIONS[0], VERSIONS[1], "delta one two -o change"];
/// What runs jobs.
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
        for command in job.before {
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

    /// Puts the files back as they were, and removes all others. A file that is there keeps its number.
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
        self.clear_temporary()
    }

    /// Removes all files.
    pub(crate) fn clear(&self) -> Result<()> {
        for name in self.names()? {
            fs::remove_file(self.path(&name))?;
        }
        self.clear_temporary()
    }

    fn clear_temporary(&self) -> Result<()> {
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

    /// A path on the same file system, in no folder that a job sees.
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

    /// What runs a job, or another command like it.
    pub(crate) fn command(&self, job: &Job, run: &str) -> Command {
        if !job.python {
            return self.umbel(run);
        }
        let mut command = Command::new(&self.programs.python);
        command.args(["-B", "-c", SCRIPT, run]).current_dir(self.root()).env("TMPDIR", self.tmp());
        command
    }

    /// What the commands print that show whether all is well.
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

    /// The names of temporary files that are left.
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

/// Kills a program that is about to sync something once more.
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
