//! `umbel` on the command line: lines in, lines out.
//!
//! This file maps verbs to work and results to exit codes: 0 done or found, 1 nothing found, 2 error.

// What is typed: values with names, options, verbs, files.
mod args;
mod choices;
mod param;
mod standard;
mod target;
mod verb;

// What is said and written.
mod hints;
mod output;
mod pictures;
mod report;
mod secrets;

// What verbs read.
mod filters;
mod formats;
mod lines;
mod wrapped;

mod verbs;

// Help, made from the verbs, and what others call them.
mod help;
mod synonyms;

use std::io::{self, ErrorKind, IsTerminal};
use std::process::ExitCode;

use umbel_io::{Memory, atomic};

use verb::Entry;

/// What the exit status reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Done, or something was found.
    Done,
    /// Nothing was found.
    Nothing,
}

#[global_allocator]
static MEMORY: Memory = Memory;

fn main() -> ExitCode {
    let arguments: Vec<_> = umbel_io::arguments().collect();
    let typed = help::typed(&arguments[1.min(arguments.len())..]);
    if let Some(verb) = typed {
        report::begin(verb.about.name);
    }
    if let Some(page) = help::page(&arguments) {
        let shown = page.and_then(|page| match report::is_colourful(&io::stdout()) {
            true => output::print(page.ansi().to_string()),
            false => output::print(page.to_string()),
        });
        return end(shown.map(|()| Outcome::Done), None);
    }
    let is_alone = arguments.len() < 2;
    let matches = match help::command(typed).try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(mut error) if error.use_stderr() => {
            // Someone who types nothing else wants to know what to type.
            if is_alone && io::stderr().is_terminal() {
                report::say(&help::greeting());
                return ExitCode::from(2);
            }
            synonyms::explain(&mut error, typed);
            return misused(&error);
        }
        Err(help) => return end(output::print_by(|| help.print()).map(|()| Outcome::Done), None),
    };
    umbel_io::return_memory();
    umbel_io::allow_open_files();
    let verb = typed.expect("others are refused");
    let mut arguments = &matches;
    for _ in verb.about.name.split(' ') {
        (_, arguments) = arguments.subcommand().expect("it is typed");
    }
    let given = |name: &str| matches!(arguments.try_get_one(name), Ok(Some(true)));
    if given("json") {
        report::keep_warnings();
    }
    if given("quiet") {
        report::be_quiet();
    }
    let empty_ok = given("empty_ok");
    let outcome =
        (verb.run)(arguments).map(|outcome| if empty_ok { Outcome::Done } else { outcome });
    end(outcome, Some(verb))
}

/// Reports what is wrong with the arguments, as other errors are.
fn misused(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    match text.strip_prefix("error: ") {
        Some(text) => report::say_error(text.trim_end()),
        // Without arguments, print the help.
        None => report::say(text.trim_end()),
    }
    ExitCode::from(2)
}

/// Reports how the work ended.
fn end(result: anyhow::Result<Outcome>, verb: Option<&Entry>) -> ExitCode {
    report::end();
    match result {
        Ok(_) if lines::has_left_out() => ExitCode::from(2),
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Nothing) => ExitCode::from(1),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            if let Some(error) = error.downcast_ref() {
                return misused(error);
            }
            report::say_error(&hints::chain(&error, verb));
            ExitCode::from(2)
        }
    }
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
