//! `umbel find`: the lines of many files that hold a text.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::slice;

use clap::Command;
use serde_json::json;
use umbel_find::{Found, Matching, Search, Sink, Wanted};
use umbel_io::State;
use umbel_numbers::{Count, Size, counted};
use umbel_sets::{Error, Normalization, Records};

use crate::args::{RecordArgs, Work};
use crate::lines;
use crate::output::{Screen, stdout};
use crate::report::{printable, say, say_error, with_warnings};
use crate::standard::{is_standard, name, names};
use crate::verbs::prelude::*;

/// Print the lines of many files that hold a text, from an index or a folder
///
/// Prints FILE:LINE:text, in the order of the files' paths. A text of several words is found as it is written, with the same
/// characters between them. Its first and last words must be whole words of the line, unless -F is given. Several texts find the
/// lines with any of them.
///
/// An index (umbel index) only makes it faster: a file or a folder in its place is searched in full. Files that changed since they
/// were indexed, and new ones in the index's folders, are searched in full and reported. A file that is gone or cannot be read is
/// an error, after all others were searched.
#[derive(Debug, Args)]
pub(crate) struct FindArgs {
    /// Index, or a file or folder to search in full
    pub(crate) place: PathBuf,
    /// Texts to find, or values of the indexed field
    #[arg(value_name = "TEXT", required_unless_present = "texts_from")]
    pub(crate) texts: Vec<OsString>,
    /// Read more texts from LIST, one per line, or NUL-separated with --null; - is standard input
    #[arg(short = 'f', long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub(crate) texts_from: Option<PathBuf>,
    /// Match inside words too, like grep -F (may read every file)
    #[arg(short = 'F', long)]
    pub(crate) fixed: bool,
    /// Match whole words only [default without -F]
    #[arg(short = 'w', long)]
    pub(crate) words: bool,
    /// Print only the names of files with such a line
    #[arg(long, conflicts_with = "count")]
    pub(crate) files: bool,
    /// Print the number of such lines per file
    #[arg(long)]
    pub(crate) count: bool,
    /// Print the texts that are in no line; exit with 1 if all were found
    #[arg(long, conflicts_with_all = ["files", "count"])]
    pub(crate) not_found: bool,
    #[command(flatten)]
    pub(crate) work: Work,
}

impl Verb for FindArgs {
    const NAME: &str = "find";
    const HELP: &str = "
also grep, rg, search, locate, missing ids, gzip
for --n, line-number, H: files and line numbers are printed without an option
for --e, regexp: texts are not patterns; write -- before one that begins with a hyphen
for --explain: umbel filter info INDEX shows what an index holds
umbel find logs.index 3c0e3dcd33e7   the lines with this word: FILE:LINE:text
umbel find logs/ 3c0e3dcd33e7   the same without an index, by reading all files
umbel find logs.index 'user_id=17'   a text of several words, as it is written
umbel find --files logs.index -f ids.txt   the files that have one of these ids
umbel find --not-found logs.index -f ids.txt   the ids that no line has
umbel find logs.index -F 3c0e   also inside words, which reads all files
0 lines were found, or with --not-found a text was not
1 no line was found, or with --not-found each text was
";
    const RUN: fn(&Self) -> Result<Outcome> = find;

    fn adapt(command: Command) -> Command {
        command
            .mut_arg("ignore_case", |case| {
                case.short('i').help("Ignore the case of letters in lines")
            })
            .mut_arg("files_from", |list| list.hide(true))
            .mut_arg("recursive", |folders| folders.hide(true))
    }
}

pub(crate) fn find(args: &FindArgs) -> Result<Outcome> {
    let work = &args.work;
    let mut options = lines::options_of_folders(work, slice::from_ref(&args.place))?;
    if work.files_from.is_some() || work.records.delimiter.len() > 1 {
        bail!("umbel find does not read file lists or several delimiters; omit the option");
    }
    if is_standard(&args.place) {
        bail!("-: umbel find searches an index, a file or a folder; name one");
    }
    let mut matching = Matching { inside: args.fixed && !args.words, ignore_case: false };
    if matches!(options.form.records, Records::Lines(_)) {
        if !work.records.normalize.is_empty() {
            bail!(
                "--normalize: applies to values of a field, and an index of a field records its own; omit it"
            );
        }
        matching.ignore_case = work.records.ignore_case;
        options.form.normalization = Normalization::default();
    }
    for text in args.texts.iter().filter(|text| Path::new(text).is_file()) {
        say(&format!(
            "umbel: warning: {} is a file, but is searched for as a text; to search several files, name their folder",
            name(Path::new(text))
        ));
    }
    let [given, texts] = texts(args)?;
    let run = Run::start("find", work.voice, &options.resources.progress);
    let out = stdout()?;
    let output = State::of(&out).ok().filter(|out| out.is_file).map(|out| out.id);
    let wanted = Wanted { texts, matching, output };
    let printer = Printer { texts: &given, args, is_terminal: out.is_terminal() };
    let mut out = Screen::new(out);
    let (not_found, search) = if args.not_found {
        let (texts, search) = umbel_find::not_found(&args.place, &wanted, &options)?;
        let mut lines = Vec::new();
        texts.iter().for_each(|&text| printer.not_found(text, &mut lines));
        out.write_all(&lines).map_err(Error::Output)?;
        (Some(texts.len() as u64), search)
    } else {
        let write = &mut |bytes: &[u8]| out.write_all(bytes);
        (None, umbel_find::find(&args.place, &wanted, &options, &printer, write)?)
    };
    report(run, &search, (&wanted, not_found), args);
    lines::say_unreadable(&search.unreadable);
    if let [gone, others @ ..] = &search.gone[..] {
        for other in others {
            say_error(&format!("{}: is in the index but no longer exists", other.display()));
        }
        bail!(
            "{}: is in the index but no longer exists, so lines may be missing; drop it with umbel index --update {}",
            gone.display(),
            args.place.display()
        );
    }
    Ok(if not_found.unwrap_or(search.found) > 0 { Outcome::Done } else { Outcome::Nothing })
}

/// The texts of the arguments and of a list, as they are written and as they are looked for; each once.
fn texts(args: &FindArgs) -> Result<[Vec<Vec<u8>>; 2]> {
    let RecordArgs { crlf, trim, .. } = args.work.records;
    let sought = |text: &Vec<u8>| {
        let text = text.strip_suffix(b"\r").filter(|_| crlf).unwrap_or(text);
        if trim { text.trim_ascii() } else { text }.to_vec()
    };
    let mut given: Vec<_> =
        args.texts.iter().map(|text| text.clone().into_encoded_bytes()).collect();
    if given.iter().any(|text| sought(text).is_empty()) {
        bail!("an empty text is in every line; name a text");
    }
    if let Some(list) = &args.texts_from {
        given.extend(lines::list_in(list, &args.work)?);
        given.retain(|text| !text.trim_ascii().is_empty());
        if given.is_empty() {
            bail!("{}: the list is empty; name texts in it", name(list));
        }
    }
    let mut seen = HashSet::new();
    given.retain(|text| seen.insert(sought(text)));
    let texts = given.iter().map(sought).collect();
    Ok([given, texts])
}

/// Prints what is found.
struct Printer<'a> {
    texts: &'a [Vec<u8>],
    args: &'a FindArgs,
    is_terminal: bool,
}

impl Printer<'_> {
    /// The name of a file: as it is for other programs, and for a terminal so that it does nothing to it.
    fn name<'n>(&self, file: &'n Path) -> Cow<'n, [u8]> {
        match self.is_terminal {
            true => printable(&file.display().to_string()).into_owned().into_bytes().into(),
            false => file.as_os_str().as_encoded_bytes().into(),
        }
    }

    /// Prints a text that no line has.
    fn not_found(&self, number: usize, out: &mut Vec<u8>) {
        let text = &self.texts[number];
        if self.args.work.voice.json {
            let object = json!({"type": "not_found", "text": shown(text)});
            return out.extend_from_slice(format!("{object}\n").as_bytes());
        }
        out.extend_from_slice(text);
        out.push(self.args.work.line_end());
    }
}

impl Sink for Printer<'_> {
    fn line(&self, found: &Found<'_>, out: &mut Vec<u8>) -> bool {
        if self.args.files || self.args.count {
            return self.args.count;
        }
        if self.args.work.voice.json {
            let keys: Vec<_> =
                found.keys.iter().map(|&number| shown(&self.texts[number])).collect();
            let object = json!({
                "type": "line",
                "file": found.file.display().to_string(),
                "line": found.line,
                "text": shown(found.text),
                "keys": keys,
            });
            out.extend_from_slice(format!("{object}\n").as_bytes());
            return true;
        }
        out.extend_from_slice(&self.name(found.file));
        out.extend_from_slice(format!(":{}:", found.line).as_bytes());
        out.extend_from_slice(found.text);
        out.push(self.args.work.line_end());
        true
    }

    fn file(&self, file: &Path, lines: u64, out: &mut Vec<u8>) {
        let FindArgs { files, count, .. } = *self.args;
        if !files && !count {
            return;
        }
        if self.args.work.voice.json {
            let mut object = json!({"type": "file", "file": file.display().to_string()});
            if count {
                object["lines"] = json!(lines);
            }
            out.extend_from_slice(format!("{object}\n").as_bytes());
            return;
        }
        out.extend_from_slice(&self.name(file));
        if count {
            out.extend_from_slice(format!(":{lines}").as_bytes());
        }
        out.push(self.args.work.line_end());
    }
}

/// Bytes in JSON.
fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn report(
    run: Run,
    search: &Search,
    (wanted, not_found): (&Wanted, Option<u64>),
    FindArgs { place, work: Work { voice, .. }, files, .. }: &FindArgs,
) {
    let (seconds, tells) = run.ended();
    if voice.quiet {
        return;
    }
    let text = |number: usize| shown(&wanted.texts[number]);
    if voice.json {
        let wide: Vec<_> = search
            .wide
            .iter()
            .map(|&(number, why)| json!({"text": text(number), "why": why.reason()}))
            .collect();
        let mut report = json!({
            "type": "report",
            "verb": "find",
            "files": search.files,
            "blocks": search.blocks,
            "blocks_read": search.blocks_read,
            "text": search.text,
            "text_read": search.text_read,
            "stale": names(&search.stale),
            "new": names(&search.new),
            "gone": names(&search.gone),
            "unreadable": search.unreadable.iter().map(|(path, _)| name(path)).collect::<Vec<_>>(),
            "searched_in_full": wide,
            "index": !search.without_index,
            "peak_memory": umbel_io::peak_memory(),
            "seconds": seconds,
            "exact": true,
        });
        // Not all lines with a text are looked for then.
        match not_found {
            Some(count) => report["not_found"] = json!(count),
            None => report["found"] = json!(search.found),
        }
        say(&with_warnings(report).to_string());
        return;
    }
    let one_of = |paths: &[std::path::PathBuf]| match paths {
        [one] => one.display().to_string(),
        [first, others @ ..] => format!("{} and {} more", first.display(), others.len()),
        [] => String::new(),
    };
    if search.without_index && tells {
        say(&format!(
            "umbel find: {}: is not an index, so all of it was searched",
            place.display()
        ));
    }
    if let [(number, why), others @ ..] = &search.wide[..] {
        let more = match others.len() {
            0 => String::new(),
            1 => ", as does another text".to_owned(),
            count => format!(", as do {}", counted(count as u64, "other text")),
        };
        say(&format!(
            "umbel find: {:?} {}, so all files were searched{more}",
            text(*number),
            why.reason()
        ));
    }
    for (paths, what) in [(&search.stale, "changed since"), (&search.new, "not in the index")] {
        if !paths.is_empty() {
            say(&format!(
                "umbel find: searched in full, {what}: {}; bring the index up to date with umbel index --update {}",
                one_of(paths),
                place.display()
            ));
        }
    }
    if !tells {
        return;
    }
    let all = counted(search.files, "file");
    let mut words = vec![match not_found {
        Some(count) => format!("{} not found in {all}", counted(count, "text")),
        None if *files => format!("found in {} of {all}", Count(search.found)),
        None => format!("{} found in {all}", counted(search.found, "line")),
    }];
    if !search.without_index {
        words.push(format!(
            "{} of {} read",
            Count(search.blocks_read),
            counted(search.blocks, "block")
        ));
    }
    words.push(format!("{} of text read", Size(search.text_read)));
    if voice.verbose {
        words.push(format!("peak {}", Size(umbel_io::peak_memory())));
    }
    say(&format!("umbel find: {}, {seconds:.3} s, exact", words.join(", ")));
    if not_found.unwrap_or(u64::from(search.found == 0)) > 0
        && !wanted.matching.inside
        && search.wide.is_empty()
    {
        say("umbel find: only whole words were searched for; -F also finds parts of words");
    }
}
