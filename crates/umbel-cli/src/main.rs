//! `umbel` on the command line: lines in, lines out.
//!
//! This file maps verbs to work and results to exit codes: 0 done or found, 1 nothing found, 2 error.

mod args;
mod filters;
mod formats;
mod help;
mod hints;
mod lines;
mod machine;
mod named;
mod output;
mod pictures;
mod private;
mod report;
mod standard;
mod verbs;
mod wrapped;

use std::env;
use std::io::ErrorKind;
use std::process::ExitCode;

use umbel_files::atomic;

use verbs::Verb;

/// What the exit status reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Done, or something was found.
    Done,
    /// Nothing was found.
    Nothing,
}

fn main() -> ExitCode {
    let matches = match help::command(env::args_os().nth(1).as_deref()).try_get_matches() {
        Ok(matches) => matches,
        Err(error) if error.use_stderr() => error.exit(),
        Err(help) => return end(output::print_by(|| help.print()).map(|()| Outcome::Done)),
    };
    machine::return_memory();
    machine::allow_open_files();
    let (name, arguments) = matches.subcommand().expect("it is required");
    end(Verb::named(name).expect("one that was defined").run(arguments))
}

/// Reports how the work ended.
fn end(result: anyhow::Result<Outcome>) -> ExitCode {
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Nothing) => ExitCode::from(1),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            report::say(&format!("umbel: {}", chain(&error)));
            ExitCode::from(2)
        }
    }
}

/// The error and its causes on one line, and the options that help. A cause that the message already has is left out, and
/// a JSON parser's, whose line and column are those in the record.
fn chain(error: &anyhow::Error) -> String {
    let mut message = error.to_string();
    for cause in error.chain().skip(1).filter(|cause| !cause.is::<serde_json::Error>()) {
        let cause = cause.to_string();
        if !message.contains(&cause) {
            message.push_str(": ");
            message.push_str(&cause);
        }
    }
    if let Some(hint) = hints::of(error) {
        message.push_str(&format!(" ({hint})"));
    }
    message
}

/// Whether the reader of our output has gone, as `head` goes: not an error.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = match cause.downcast_ref::<umbel_sets::Error>() {
            Some(umbel_sets::Error::Output(io)) => Some(io),
            Some(_) => None,
            None => cause.downcast_ref::<output::StdoutClosed>().map(|closed| &closed.0),
        };
        io.is_some_and(|io| io.kind() == ErrorKind::BrokenPipe)
    })
}
