//! What a run prints while it works and at its end.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use umbel::Capacity;
use umbel_numbers::{Count, Rate, Size, counted};
use umbel_report::receipt::{estimated_keys, foreign_inside, inside, over_filled, warning_of};
use umbel_sets::{Changes, ErrorBound, Joined, Progress, Receipt, Report};
use umbel_share::audit::Guessable;

use crate::args::Voice;
use crate::standard;

/// A run being timed, with its progress shown on a terminal.
pub(crate) struct Run {
    verb: &'static str,
    voice: Voice,
    started: Instant,
    progress: Arc<Progress>,
    bar: Option<(Arc<AtomicBool>, JoinHandle<()>)>,
}

impl Run {
    pub(crate) fn start(verb: &'static str, voice: Voice, progress: &Arc<Progress>) -> Self {
        let terminal = io::stderr().is_terminal()
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let show = terminal && !voice.quiet && !voice.json;
        let started = Instant::now();
        on_terminal().over = false;
        let bar = || {
            let stop = Arc::new(AtomicBool::new(false));
            let thread = thread::Builder::new().spawn({
                let (stop, progress) = (stop.clone(), progress.clone());
                move || draw(&stop, &progress, started)
            });
            Some((stop, thread.ok()?))
        };
        let bar = show.then(bar).flatten();
        Self { verb, voice, started, progress: Arc::clone(progress), bar }
    }

    fn stop_bar(&mut self) {
        if let Some((stop, thread)) = self.bar.take() {
            stop.store(true, Ordering::Relaxed);
            thread.thread().unpark();
            let _ = thread.join();
        }
    }

    /// Whether the end of the run is reported as text: with --verbose always, otherwise on a terminal.
    pub(crate) fn tells(&self) -> bool {
        let Voice { json, verbose, quiet, .. } = self.voice;
        !quiet && !json && (verbose || io::stderr().is_terminal())
    }

    /// Ends it: the seconds it took, and whether its end [is reported as text](Self::tells).
    pub(crate) fn ended(self) -> (f64, bool) {
        (self.started.elapsed().as_secs_f64(), self.tells())
    }

    /// Refuses a run in which no record had its key.
    pub(crate) fn check_keyed(&self, report: &Report) -> Result<(), umbel_sets::Error> {
        report.check_keyed(&self.progress)
    }

    /// Prints the report: a short line, the full report or JSON; and `hints` after it, or in that of JSON. `found` is the
    /// verb's word for its result; `filter` is the receipt of the filter that was made.
    pub(crate) fn finish(
        self,
        report: &Report,
        found: &str,
        filter: Option<&Receipt>,
        hints: &[String],
    ) {
        let lines = |report: &Report| of_lines(report, found);
        let Voice { quiet, json, .. } = self.voice;
        if json {
            hints.iter().for_each(|hint| insist(hint));
        }
        self.print(report, &lines, filter);
        for hint in hints.iter().filter(|_| !json && !quiet) {
            say(&format!("umbel: {hint}"));
        }
    }

    /// As [`Self::finish`], of filters that are made of others.
    pub(crate) fn finish_filter(self, report: &Report, filter: &Receipt) {
        self.print(report, &|_| Vec::new(), Some(filter));
    }

    /// As [`Self::finish`], of a file that is made of another.
    pub(crate) fn finish_file(self, report: &Report) {
        let bytes = |report: &Report| {
            vec![format!("{} to {}", Size(report.bytes_read), Size(report.bytes_written))]
        };
        self.print(report, &bytes, None);
    }

    fn print(
        mut self,
        report: &Report,
        lines: &dyn Fn(&Report) -> Vec<String>,
        filter: Option<&Receipt>,
    ) {
        self.stop_bar();
        let seconds = self.started.elapsed().as_secs_f64();
        let mut report = report.clone();
        report.bad += self.progress.bad();
        let report = &report;
        if let Some(Receipt::Own(receipt)) = filter
            && receipt.over_filled
            && receipt.fpp > receipt.plan.fpp()
            && (self.voice.quiet || !self.voice.json)
        {
            // Printed even when quiet: the rate is no longer the promised one. The JSON report has it.
            insist(&over_filled(receipt));
        }
        if self.voice.quiet {
            return;
        }
        if let Some((first, others)) = report.grown.split_first()
            && !self.voice.json
        {
            let others = match others.len() {
                0 => String::new(),
                count => format!(" and {}", counted(count as u64, "other")),
            };
            say(&format!(
                "umbel {}: {first}{others} grew during the run; the added data is left out",
                self.verb
            ));
        }
        if let Some((first, others)) = report.keyless.split_first() {
            let others = match others.len() {
                0 => String::new(),
                count => format!(" (nor of {})", counted(count as u64, "other file")),
            };
            say(&format!("umbel: warning: {first}: no record has the key{others}"));
        }
        let lines = lines(report);
        if self.voice.json {
            say(&self.json(report, filter, seconds).to_string());
        } else if self.voice.verbose {
            say(&format!("umbel {}: {}", self.verb, full(lines, report, filter, seconds)));
        } else if self.tells() {
            say(&format!("umbel {}: {}", self.verb, short(lines, report, filter, seconds)));
        } else if report.missing + report.bad > 0 {
            // Also in a script, although not requested.
            say_skipped(report);
        }
        if let Some(key_type) = report.assumed_type
            && !self.voice.json
        {
            say(&format!(
                "umbel {}: assumed keys of type {}, because the filter records no type; choose another with --key-type",
                self.verb,
                key_type.name()
            ));
        }
    }

    fn json(&self, report: &Report, filter: Option<&Receipt>, seconds: f64) -> Value {
        let mut object = json!({
            "type": "report",
            "verb": self.verb,
            "lines": report.lines,
            "distinct": report.distinct,
            "found": report.found,
            "missing": report.missing,
            "bad": report.bad,
            "bytes_read": report.bytes_read,
            "empty": report.empty,
            "bytes_spilled": report.bytes_spilled,
            "bytes_written": report.bytes_written,
            "passes": report.passes,
            "grown": report.grown,
            "peak_memory": umbel_io::peak_memory(),
            "seconds": seconds,
            "exact": report.error.is_none() && filter.is_none(),
        });
        if let Some(Changes { removed, added, changed, kept, uneven }) = report.changes {
            object["removed"] = json!(removed);
            object["added"] = json!(added);
            object["changed"] = json!(changed);
            object["kept"] = json!(kept);
            object["uneven"] = json!(uneven);
        }
        if let Some(joined) = report.joined {
            object["pairs"] = json!(joined.pairs);
            object["left_matched"] = json!(joined.left_matched);
            object["left_unmatched"] = json!(joined.left_unmatched);
            object["right_unmatched"] = json!(joined.right_unmatched);
        }
        if let Some(ErrorBound { extra, missing }) = report.error {
            object["chance_extra"] = json!(known(extra, report));
            object["chance_missing"] = json!(known(missing, report));
        }
        if let Some(key_type) = report.assumed_type {
            object["assumed_key_type"] = json!(key_type.name());
        }
        if let Some(absent) = report.absent {
            object["absent"] = json!(absent);
        }
        if let Some(receipt) = filter {
            object["filter"] = shown(receipt).json();
        }
        with_warnings(object)
    }
}

/// The numbers of lines read and printed.
fn of_lines(report: &Report, found: &str) -> Vec<String> {
    let mut words = vec![counted(report.lines, "line")];
    if let Some(Changes { removed, added, changed, uneven, .. }) = report.changes {
        let changes = [(removed, "removed"), (added, "added"), (changed, "changed")];
        words.extend(changes.map(|(count, what)| format!("{} {what}", Count(count))));
        if uneven > 0 {
            words.push(format!("{} more often in one file", Count(uneven)));
        }
    } else if let Some(Joined { pairs, left_unmatched, right_unmatched, .. }) = report.joined {
        words.push(format!("{} {found}", Count(pairs)));
        let unmatched = [(Some(left_unmatched), "LEFT"), (right_unmatched, "RIGHT")];
        let some = unmatched.into_iter().filter_map(|(count, side)| Some((count?, side)));
        words.extend(some.map(|(count, side)| format!("{} of {side} unmatched", Count(count))));
    } else if !found.is_empty() {
        words.push(format!("{} {found}", Count(report.found)));
    }
    if report.empty > 0 {
        words.push(format!("{} with an empty key", Count(report.empty)));
    }
    words.extend(skipped(report));
    words
}

/// Says how many records were left out.
pub(crate) fn say_skipped(report: &Report) {
    say(&format!("umbel: {}", skipped(report).join(", ")));
}

/// The numbers of records that were left out.
fn skipped(report: &Report) -> Vec<String> {
    let all = [(report.missing, "no key"), (report.bad, "unreadable")].into_iter();
    let some = all.filter(|(count, _)| *count > 0);
    some.map(|(count, why)| format!("{} skipped ({why})", Count(count))).collect()
}

/// A run in a few words.
fn short(
    mut words: Vec<String>,
    report: &Report,
    filter: Option<&Receipt>,
    seconds: f64,
) -> String {
    match (report.error, filter) {
        (Some(error), _) if error.extra.max(error.missing) > 0.0 => words.push("not exact".into()),
        (_, Some(Receipt::Own(receipt))) => {
            words.push(format!("{} filter of {}", receipt.plan.kind(), Size(receipt.bytes())));
        }
        (_, Some(Receipt::Foreign(receipt))) => {
            words.push(format!("{} filter of {}", receipt.format, Size(receipt.bytes)));
        }
        _ => {}
    }
    words.push(format!("{seconds:.3} s"));
    words.join(", ")
}

/// All that is known of a run.
fn full(mut words: Vec<String>, report: &Report, filter: Option<&Receipt>, seconds: f64) -> String {
    if report.distinct > 0 {
        words.insert(1, format!("{} distinct compared", Count(report.distinct)));
    }
    let passes = counted(report.passes.into(), "pass");
    words.push(format!("read {} in {passes}", Size(report.bytes_read)));
    if report.bytes_spilled > 0 {
        words.push(format!("spilled {}", Size(report.bytes_spilled)));
    }
    words.push(format!("wrote {}", Size(report.bytes_written)));
    words.push(format!("peak {}", Size(umbel_io::peak_memory())));
    words.push(format!("{seconds:.3} s"));
    words.push(match (report.error, filter) {
        (Some(ErrorBound { extra, missing }), _) => {
            let may_be = |what: &str, chance: f64| match known(chance, report)? {
                0.0 => Some(format!("no line is {what}")),
                chance => Some(format!("a line is {what} with a chance of {}", Rate(chance))),
            };
            let chances = [may_be("extra", extra), may_be("missing", missing)];
            let chances: Vec<_> = chances.into_iter().flatten().collect();
            match &chances[..] {
                [] => "not exact".to_owned(),
                chances => format!("not exact: {}", chances.join(", ")),
            }
        }
        (None, Some(receipt)) => summary(receipt),
        (None, None) => "exact".to_owned(),
    });
    words.join(", ")
}

/// A chance of an answer; none for what is impossible only if keys have the type that they were taken to have.
fn known(chance: f64, report: &Report) -> Option<f64> {
    (chance > 0.0 || report.assumed_type.is_none()).then_some(chance)
}

impl Drop for Run {
    fn drop(&mut self) {
        self.stop_bar();
    }
}

/// What every message begins with, after the program: the verb's name.
static VERB: OnceLock<&str> = OnceLock::new();

/// Notes the verb.
pub(crate) fn begin(verb: &'static str) {
    let _ = VERB.set(verb);
}

/// With `--json`, the warnings until now, which are for the next report.
static WARNINGS: Mutex<Option<Vec<String>>> = Mutex::new(None);

fn warnings() -> MutexGuard<'static, Option<Vec<String>>> {
    WARNINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps warnings for the report, which is JSON.
pub(crate) fn keep_warnings() {
    *warnings() = Some(Vec::new());
}

/// A report with the warnings until now, if there are any.
pub(crate) fn with_warnings(mut report: Value) -> Value {
    if let Some(kept) = warnings().as_mut().map(std::mem::take).filter(|kept| !kept.is_empty()) {
        report["warnings"] = json!(kept);
    }
    report
}

/// Prints the warnings of a run that reports nothing else, as objects of their own.
pub(crate) fn end() {
    for warning in warnings().take().into_iter().flatten() {
        let verb = VERB.get().copied().unwrap_or_default();
        put(&format!("{}\n", json!({"type": "warning", "verb": verb, "warning": warning})));
    }
}

/// Prints an error, after the verb.
pub(crate) fn say_error(words: &str) {
    let verb = VERB.get().map_or_else(String::new, |verb| format!(" {verb}"));
    let verb = painted(&format!("umbel{verb}:"), RED);
    let mut words = printable(words).into_owned();
    for advice in ["tip:", "did you mean"] {
        words = words.replace(advice, &painted(advice, GREEN));
    }
    put(&format!("{verb} {words}\n"));
}

const RED: &str = "\x1b[1;31m";
const YELLOW: &str = "\x1b[1;33m";
const GREEN: &str = "\x1b[1;32m";

/// Words in a colour, where standard error shows colours.
fn painted(words: &str, colour: &str) -> String {
    match is_colourful(&io::stderr()) {
        true => format!("{colour}{words}\x1b[0m"),
        false => words.to_owned(),
    }
}

/// Whether a stream is a terminal that shows colours, and its user wants them (<https://no-color.org>).
pub(crate) fn is_colourful(stream: &impl IsTerminal) -> bool {
    let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    stream.is_terminal()
        && given("NO_COLOR").is_none()
        && given("TERM").is_some_and(|term| term != "dumb")
}

/// Whether the verb was told to be quiet.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Has no warnings printed but that of a filter which is over-filled.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Prints what is happening, unless the verb is quiet or reports in JSON.
pub(crate) fn note(words: &str) {
    if !QUIET.load(Ordering::Relaxed) && warnings().is_none() {
        say(words);
    }
}

/// Prints a warning, also when quiet; with `--json`, it goes into the report.
pub(crate) fn insist(warning: &str) {
    match warnings().as_mut() {
        Some(kept) => kept.push(warning.to_owned()),
        None => print_line(&format!("umbel: warning: {warning}")),
    }
}

/// Prints a line on standard error; one that begins with `umbel: ` gets the verb. Failing to do so is no error. What
/// begins with `umbel: warning: ` goes nowhere with `--quiet`, and into the report with `--json`.
pub(crate) fn say(words: &str) {
    match words.strip_prefix("umbel: warning: ") {
        Some(_) if QUIET.load(Ordering::Relaxed) => {}
        Some(warning) => insist(warning),
        None => print_line(words),
    }
}

fn print_line(words: &str) {
    let words = printable(words);
    match (words.strip_prefix("umbel: "), VERB.get()) {
        (Some(rest), Some(verb)) => match rest.strip_prefix("warning:") {
            Some(rest) => put(&format!("umbel {verb}: {}{rest}\n", painted("warning:", YELLOW))),
            None => put(&format!("umbel {verb}: {rest}\n")),
        },
        _ => put(&format!("{words}\n")),
    }
}

/// A text in which control characters, which a file's name may have, do nothing to a terminal.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let acts = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let shown = |letter: char| match acts(letter) {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    };
    Cow::Owned(text.chars().map(shown).collect())
}

/// A text in lines of at most so many letters, each behind an indent.
pub(crate) fn wrapped(text: &str, indent: &str, columns: usize) -> String {
    let (mut lines, mut column) = (indent.to_owned(), 0);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > columns {
            lines += &format!("\n{indent}");
            column = 0;
        } else if column > 0 {
            lines.push(' ');
            column += 1;
        }
        lines += word;
        column += length;
    }
    lines + "\n"
}

/// Writes to standard error, where no progress is shown meanwhile.
fn put(text: &str) {
    let mut shown = on_terminal();
    shown.clear();
    let _ = io::stderr().write_all(text.as_bytes());
}

/// What a terminal shows of the progress of a run.
struct Shown {
    /// Whether the line of progress is there.
    drawn: bool,
    /// Whether lines have been printed, and no progress is shown any more.
    over: bool,
}

/// What the terminal shows, which nobody else changes meanwhile.
fn on_terminal() -> MutexGuard<'static, Shown> {
    static SHOWN: Mutex<Shown> = Mutex::new(Shown { drawn: false, over: false });
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shown {
    fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _ = io::stderr().write_all(b"\r\x1b[K");
        }
    }
}

/// Ends the progress on a terminal to which results are written now.
pub(crate) fn hush() {
    let mut shown = on_terminal();
    shown.clear();
    shown.over = true;
}

fn draw(stop: &AtomicBool, progress: &Progress, started: Instant) {
    /// Short runs show nothing.
    const PATIENCE: Duration = Duration::from_millis(500);
    thread::park_timeout(PATIENCE);
    while !stop.load(Ordering::Relaxed) {
        let mut shown = on_terminal();
        if shown.over {
            return;
        }
        if let Some(line) = line(progress.done(), progress.total(), started.elapsed()) {
            let _ = io::stderr().write_all(format!("\r{line}\x1b[K").as_bytes());
            shown.drawn = true;
        }
        drop(shown);
        thread::park_timeout(Duration::from_millis(200));
    }
    on_terminal().clear();
}

/// A line of progress; none as long as nothing was read, or while somebody types.
fn line(done: u64, total: u64, elapsed: Duration) -> Option<String> {
    if done == 0 || standard::is_typed() {
        return None;
    }
    let speed = done as f64 / elapsed.as_secs_f64();
    let rate = format!("{}/s", Size(speed as u64));
    // How much follows in a pipe is unknown.
    if total <= done {
        return Some(format!("{} read, {rate}", Size(done)));
    }
    let left = match ((total - done) as f64 / speed) as u64 {
        seconds @ 0..100 => format!("{} s", seconds.max(1)),
        seconds @ 100..6000 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h", seconds.div_ceil(3600)),
    };
    let percent = done as f64 / total as f64 * 100.0;
    Some(format!("{percent:.0} % of {}, {rate}, {left} left", Size(total)))
}

/// What a filter promises and delivers, in one line.
fn summary(receipt: &Receipt) -> String {
    match receipt {
        Receipt::Own(receipt) => {
            let plan = &receipt.plan;
            let planned = match plan.kind().capacity() {
                Capacity::First => "growing from",
                Capacity::Last => "remembering the last",
                _ => "planned for",
            };
            format!(
                "{} filter of {}, {}, {planned} {} at {}, rate now {}",
                plan.kind(),
                Size(receipt.bytes()),
                inside(receipt),
                counted(plan.keys(), "key"),
                Rate(plan.fpp()),
                Rate(receipt.fpp)
            )
        }
        Receipt::Foreign(receipt) => format!(
            "{} filter of {}, {}, {}, rate now {}",
            receipt.format,
            Size(receipt.bytes),
            foreign_inside(receipt),
            estimated_keys(&receipt.keys),
            Rate(receipt.fpp)
        ),
    }
}

/// Warns of a filter whose keys somebody can try, which is not keyed.
pub(crate) fn warn_guessable(filter: &Path, keys: Guessable) {
    say(&format!("umbel: warning: {}: {}", filter.display(), warning_of(keys)));
}

/// A receipt to be shown.
pub(crate) fn shown(receipt: &Receipt) -> umbel_report::Receipt<'_> {
    match receipt {
        Receipt::Own(receipt) => umbel_report::Receipt::Own(receipt),
        Receipt::Foreign(receipt) => umbel_report::Receipt::Foreign(receipt),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_shown_of_what_is_known() {
        let second = Duration::from_secs(1);
        assert_eq!(line(0, 1 << 30, second), None);
        assert_eq!(line(0, 0, second), None);
        assert_eq!(line(3 << 20, 3 << 20, second).unwrap(), "3.00 MiB read, 3.00 MiB/s");
        let known = line(1 << 20, 4 << 20, 2 * second).unwrap();
        assert_eq!(known, "25 % of 4.00 MiB, 512 KiB/s, 6 s left");
        assert!(line(1, 1 << 20, second).unwrap().ends_with(" h left"));
    }

    #[test]
    fn control_characters_are_shown() {
        assert_eq!(printable("a\tb\n"), "a\tb\n");
        assert_eq!(printable("a\u{1b}[2Jb\u{9b}\r"), "a\\u{1b}[2Jb\\u{9b}\\r");
    }
}
