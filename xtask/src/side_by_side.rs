//! Builds tests and runs their programs, each as soon as it can run, two at a time. One at a time leaves a quarter of
//! two processors idle: when a test waits for a pipe or a timer, and while a program's longest test ends.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::thread;

use anyhow::{Context, Result, bail, ensure};

use xtask::run;

/// The package whose tests run its program, which cargo may build after them.
const RUNS: &str = "umbel-cli";

/// Builds with `build`, a `cargo test --no-run`, and runs the programs as cargo would, each changed by `with`, and `last`
/// when all are built. Prints the output of each when it ends. Fails after all have ended, if one failed.
pub(crate) fn run(build: &mut Command, with: impl Fn(&mut Command), last: Command) -> Result<()> {
    build.args(["--no-run", "--message-format=json-render-diagnostics"]);
    let (waiting, programs) = mpsc::channel();
    let (programs, failed) = (Mutex::new(programs), Mutex::new(Vec::new()));
    let next = || programs.lock().expect("no worker panics").recv().ok();
    let work = || {
        while let Some(mut program) = next() {
            if let Err(error) = end(&mut program) {
                failed.lock().expect("no worker panics").push(format!("{error:#}"));
            }
        }
    };
    let built = thread::scope(|scope| {
        let _workers = [(); 2].map(|()| scope.spawn(work));
        let send = |program| waiting.send(program).expect("workers wait until the last");
        let mut held = Vec::new();
        run::each_line(build, |line| {
            if let Some(mut program) = program(line) {
                with(&mut program);
                let needs_more = program.get_current_dir().is_some_and(|dir| dir.ends_with(RUNS));
                if needs_more { held.push(program) } else { send(program) }
            }
        })?;
        held.into_iter().for_each(send);
        send(last);
        drop(waiting);
        anyhow::Ok(())
    });
    built?;
    match failed.into_inner().expect("no worker panics") {
        failed if failed.is_empty() => Ok(()),
        failed => bail!("{}", failed.join("\n")),
    }
}

/// The test program that cargo has built, from a line of its messages.
fn program(line: &str) -> Option<Command> {
    // Strings without escapes, as cargo writes paths.
    let field = |name| line.split_once(&format!("\"{name}\":\""))?.1.split('"').next();
    let is_test = line.contains("\"test\":true},\"features\"");
    let (program, manifest) = (field("executable").filter(|_| is_test)?, field("manifest_path")?);
    let folder = Path::new(manifest).parent().expect("it is a file");
    let mut command = Command::new(program);
    command.current_dir(folder).env("CARGO_MANIFEST_DIR", folder);
    Some(command)
}

/// Runs a program to its end, and prints its output.
fn end(program: &mut Command) -> Result<()> {
    let name = run::words(program);
    let output = program.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot run {name}"))?;
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "$ {name}")?;
    stdout.write_all(&output.stdout)?;
    stdout.flush()?;
    io::stderr().lock().write_all(&output.stderr)?;
    ensure!(output.status.success(), "{name}: {}", output.status);
    Ok(())
}
