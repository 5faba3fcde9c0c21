//! Runs test programs two at a time. One alone leaves a quarter of two processors idle: where a test waits for a pipe or a
//! timer, and where a program ends with its longest test. Each program's output is printed when it ends.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, bail};

use xtask::run;

/// Whose programs begin first, as they take longest.
const LONGEST: &str = "umbel-cli";

/// Builds the tests of a `cargo test --no-run`, and returns their programs, each as cargo would run it.
pub(crate) fn programs(build: &mut Command) -> Result<Vec<Command>> {
    let mut programs = Vec::new();
    build.arg("--message-format=json-render-diagnostics");
    run::each_line(build, |line| {
        if let (Some(program), Some(manifest)) =
            (field(line, "executable"), field(line, "manifest_path"))
            && line.contains("\"test\":true},\"features\"")
        {
            let folder = Path::new(manifest).parent().expect("it is a file");
            let mut command = Command::new(program);
            command.current_dir(folder).env("CARGO_MANIFEST_DIR", folder);
            programs.push((!folder.ends_with(LONGEST), command));
        }
    })?;
    programs.sort_by_key(|(later, _)| *later);
    Ok(programs.into_iter().map(|(_, command)| command).collect())
}

/// A field of a line of JSON that is a string without escapes, as cargo writes paths.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split_once(&format!("\"{name}\":\""))?.1.split('"').next()
}

/// Runs all programs, and fails if one of them does.
pub(crate) fn run(programs: Vec<Command>) -> Result<()> {
    let waiting = Mutex::new(VecDeque::from(programs));
    let failed = Mutex::new(Vec::new());
    let work = || {
        loop {
            let Some(mut program) = waiting.lock().expect("no worker panics").pop_front() else {
                return Ok(());
            };
            let name = run::words(&program);
            let output = program.stdin(Stdio::null()).output();
            let output = output.with_context(|| format!("cannot run {name}"))?;
            print(&name, &output)?;
            if !output.status.success() {
                failed.lock().expect("no worker panics").push(format!("{name}: {}", output.status));
            }
        }
    };
    let ended: Result<()> = thread::scope(|scope| {
        let workers = [(); 2].map(|()| scope.spawn(work));
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    });
    ended?;
    match failed.into_inner().expect("no worker panics") {
        failed if failed.is_empty() => Ok(()),
        failed => bail!("{}", failed.join("\n")),
    }
}

fn print(name: &str, output: &Output) -> Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "$ {name}")?;
    stdout.write_all(&output.stdout)?;
    stdout.flush()?;
    io::stderr().lock().write_all(&output.stderr)?;
    Ok(())
}
