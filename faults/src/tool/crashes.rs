//! Records a job, and tries umbel on the possible states of its files after a power failure at any moment: they must open,
//! contain everything that was recorded, and the job must be able to go on.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::process::Output;

use anyhow::{Context, Result, ensure};

use super::disk::{self, Crash, Disk, Recorder};
use super::jobs::{Files, Folder, Job, Programs, sorted_lines};
use super::trace::{self, How};

/// The results of a job.
pub(crate) struct Tried {
    /// Changes of files and folders, and calls that sync.
    operations: usize,
    /// Moments with all their states tried, and with only some tried.
    all: usize,
    some: usize,
    /// Distinct states.
    pub(crate) states: u64,
    /// States in which the next run refused to go on, with a reason.
    pub(crate) refused: u64,
    pub(crate) findings: Vec<String>,
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operations, all, some, states, refused, findings } = self;
        write!(
            f,
            "{operations:4} operations, {:4} moments ({all} with all their states), {states:5} states, {refused} refused, {} findings",
            all + some,
            findings.len()
        )
    }
}

/// The results of the recorded run.
struct Good {
    code: i32,
    stdout: Vec<u8>,
    files: Files,
    answers: Vec<Vec<u8>>,
}

enum Verdict {
    Right,
    Refused,
    Wrong(String),
}

/// Tries the states of each moment of a job, at most `most` per moment.
pub(crate) fn try_job(programs: &Programs, job: &Job, most: usize, seed: u64) -> Result<Tried> {
    let folder = Folder::new(programs, job)?;
    let start = folder.files()?;
    let before = folder.answers(job).ok();
    // The commands of the answers may change files themselves.
    folder.put(&start)?;
    let mut recorder = Recorder::new(&folder)?;
    let stdin = job.stdin.map_or_else(Vec::new, |name| start[name].clone());
    let ended = trace::run(&mut folder.command(job, job.run), stdin.clone(), &mut recorder)?;
    let How::Exit(code @ (0 | 1)) = ended.how else {
        anyhow::bail!("{}: {:?}: {}", job.name, ended.how, ended.stderr)
    };
    let (files, answers) = (folder.files()?, folder.answers(job)?);
    let good = Good { code, stdout: ended.stdout, files, answers };
    let judge = Judge { folder: &folder, job, start, before, good };
    let operations = recorder.operations();
    let mut tried =
        Tried { operations, all: 0, some: 0, states: 0, refused: 0, findings: Vec::new() };
    let (mut seen, mut random) = (HashSet::new(), fastrand::Rng::with_seed(seed));
    for operation in 0..=operations {
        let crash = recorder.crash(operation);
        let (disks, all) = crash.disks(most, &mut random);
        if all <= most as f64 {
            tried.all += 1
        } else {
            tried.some += 1
        }
        for disk in disks {
            // After the end of the job, more is required.
            let done = operation == operations;
            let printed = if job.goes_on { crash.printed } else { 0 };
            if !seen.insert((disk::fingerprint(&disk), done, printed)) {
                continue;
            }
            recorder.put(&disk)?;
            tried.states += 1;
            match judge.judge(&disk, &crash, done)? {
                Verdict::Right => {}
                Verdict::Refused => tried.refused += 1,
                Verdict::Wrong(text) => tried.findings.push(format!(
                    "{}: {text}\n      after {operation} operations: {}",
                    job.name,
                    described(&disk)
                )),
            }
        }
    }
    Ok(tried)
}

fn described(disk: &Disk) -> String {
    let files = disk.iter().map(|(name, (_, content))| format!("{name}: {} bytes", content.len()));
    files.collect::<Vec<_>>().join(", ")
}

struct Judge<'a> {
    folder: &'a Folder,
    job: &'a Job,
    start: Files,
    /// The output of the commands before the job.
    before: Option<Vec<Vec<u8>>>,
    good: Good,
}

impl Judge<'_> {
    fn judge(&self, disk: &Disk, crash: &Crash, done: bool) -> Result<Verdict> {
        let Self { folder, job, start, before, good } = self;
        let files = disk::files(disk);
        let wrong = |text: String| Ok(Verdict::Wrong(text));
        let changing = job.goes_on || job.in_place;
        for (name, bytes) in files.iter().filter(|(name, _)| !is_link(name)) {
            let whole = start.get(name) == Some(bytes) || good.files.get(name) == Some(bytes);
            if !whole && !changing {
                return wrong(format!("{name} is neither as it was nor complete"));
            }
        }
        let kept = start.keys().filter(|name| good.files.contains_key(*name));
        if let Some(name) = kept.into_iter().find(|name| !files.contains_key(*name)) {
            return wrong(format!("{name} is gone"));
        }
        if done {
            let lost = good.files.iter().filter(|_| !changing);
            if let Some((name, _)) =
                lost.into_iter().find(|(name, bytes)| files.get(*name) != Some(bytes))
            {
                return wrong(format!("the run was over, and {name} is not what it wrote"));
            }
        }
        match (before, folder.answers(job)) {
            (_, Ok(answers)) if done && answers != good.answers => {
                return wrong("the run was over, and there is another answer".into());
            }
            (None, Err(error)) if done => return wrong(format!("the run was over: {error:#}")),
            (Some(before), Ok(answers)) => {
                let all = before.iter().zip(&answers).zip(&good.answers);
                for ((before, answer), good) in all {
                    let between = contains(&[answer], before) && contains(&[good], answer);
                    if answer != before && answer != good && !(job.goes_on && between) {
                        return wrong("neither the answer of before nor that of after".into());
                    }
                }
            }
            (Some(_), Err(error)) => return wrong(format!("{error:#}")),
            (None, _) => {}
        }
        self.go_on(&files, crash, done)
    }

    /// Runs the job once more on these files.
    fn go_on(&self, files: &Files, crash: &Crash, done: bool) -> Result<Verdict> {
        let Self { folder, job, good, .. } = self;
        let wrong = |text: String| Ok(Verdict::Wrong(text));
        let complete = good.files.iter().all(|(name, bytes)| files.get(name) == Some(bytes));
        if complete && !job.goes_on {
            return Ok(Verdict::Right);
        }
        let again = self.run(job.run)?;
        let code = again.status.code();
        let message = String::from_utf8_lossy(&again.stderr);
        // Only one of two files that belong together exists, and existing ones are never replaced.
        if job.random && code == Some(2) && message.contains("interrupted before") {
            return Ok(Verdict::Refused);
        }
        let refuses = code == Some(2) && job.goes_on && !done;
        if code == Some(good.code) || code == Some(1) && job.goes_on {
            if let Some(name) = job.appends {
                let out = fs::read(folder.path(name)).with_context(|| name.to_owned())?;
                if sorted_lines(&out) != sorted_lines(&good.files[name]) {
                    return wrong(format!("{name} has other lines after the next run"));
                }
            } else if job.goes_on {
                let printed = &good.stdout[..crash.printed as usize];
                if !contains(&[printed, &again.stdout], &good.stdout) {
                    return wrong("lines were never printed".into());
                }
            }
        } else if let (true, Some(name)) = (refuses, job.appends) {
            if !message.contains(name) {
                return wrong(format!("the message does not name {name}: {}", message.trim()));
            }
            let out = fs::read(folder.path(name)).ok();
            if out.as_ref() != files.get(name) {
                return wrong(format!("{name} was changed by a run that refused"));
            }
            let elsewhere = self.run(&job.run.replace(name, "elsewhere"))?;
            if !matches!(elsewhere.status.code(), Some(0 | 1)) {
                let message = String::from_utf8_lossy(&elsewhere.stderr);
                return wrong(format!(
                    "neither {name} nor another file will do: {}",
                    message.trim()
                ));
            }
            let new = fs::read(folder.path("elsewhere"))?;
            if !contains(&[&out.unwrap_or_default(), &new], &good.files[name]) {
                return wrong("lines are in neither file".into());
            }
            return Ok(Verdict::Refused);
        } else {
            return wrong(format!("the next run ends with {code:?}: {}", message.trim()));
        }
        match folder.answers(job) {
            Ok(answers) if job.random || answers == good.answers => {}
            Ok(_) => return wrong("another answer after the next run".into()),
            Err(error) => return wrong(format!("after the next run {error:#}")),
        }
        let names = folder.names()?;
        if let Some(name) = names.iter().find(|name| !good.files.contains_key(*name)) {
            return wrong(format!("{name} is left after the next run"));
        }
        Ok(Verdict::Right)
    }

    fn run(&self, arguments: &str) -> Result<Output> {
        let mut command = self.folder.command(self.job, arguments);
        if let Some(name) = self.job.stdin {
            command.stdin(fs::File::open(self.folder.path(name))?);
        }
        let output = command.output().with_context(|| arguments.to_owned())?;
        ensure!(output.status.code().is_some(), "umbel {arguments}: {}", output.status);
        Ok(output)
    }
}

/// Whether it is the temporary name of a file before it was renamed into place.
fn is_link(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|name| name.starts_with(".umbel-"))
}

/// Whether the texts together have each line of `part` at least as often.
fn contains(texts: &[&[u8]], part: &[u8]) -> bool {
    let mut whole: Vec<_> = texts.iter().flat_map(|text| sorted_lines(text)).collect();
    whole.sort_unstable();
    let mut whole = whole.into_iter();
    sorted_lines(part).into_iter().all(|line| whole.any(|other| other == line))
}
