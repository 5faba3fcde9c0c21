//! `umbel find`: the lines of many files that hold a text.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::path::Path;

use anyhow::{Result, bail};
use serde_json::json;
use umbel_find::{Found, Matching, Search, Sink, Wanted};
use umbel_numbers::{Count, Size, counted};
use umbel_sets::{Error, Normalization, Records};

use crate::args::{FindArgs, RecordArgs, Voice};
use crate::output::{Screen, stdout};
use crate::report::{Run, add_warnings, printable, say, say_error};
use crate::standard::{is_standard, name, names};
use crate::{Outcome, lines};

pub(crate) fn find(args: &FindArgs) -> Result<Outcome> {
    let work = &args.work;
    let mut options = lines::options(work, &[])?;
    if work.files_from.is_some() || work.explain || work.records.delimiter.len() > 1 {
        bail!(
            "lists of files, plans and delimiters of several files are for other verbs; omit the option"
        );
    }
    if is_standard(&args.place) {
        bail!("-: a search is in an index, a file or a folder; name one");
    }
    let mut matching = Matching { inside: args.fixed && !args.words, ignore_case: false };
    if matches!(options.form.records, Records::Lines(_)) {
        if !work.records.normalize.is_empty() {
            bail!(
                "--normalize: is for values of a field, and an index of a field has its own; omit it"
            );
        }
        matching.ignore_case = work.records.ignore_case;
        options.form.normalization = Normalization::default();
    }
    let [given, texts] = texts(args)?;
    let wanted = Wanted { texts, matching };
    let run = Run::start("find", work.voice, &options.resources.progress);
    let out = stdout()?;
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
    report(run, &search, (&wanted, not_found), &args.place, work.voice);
    lines::say_unreadable(&search.unreadable);
    if let [gone, others @ ..] = &search.gone[..] {
        for other in others {
            say_error(&format!("{}: is in the index, and gone", other.display()));
        }
        bail!(
            "{}: is in the index, and gone, so that lines may be missing; drop it with umbel index --update {}",
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
            let object = json!({"type": "not-found", "text": shown(text)});
            return out.extend_from_slice(format!("{object}\n").as_bytes());
        }
        out.extend_from_slice(text);
        out.push(self.end());
    }

    /// The end of a line.
    fn end(&self) -> u8 {
        if self.args.work.null { 0 } else { b'\n' }
    }
}

impl Sink for Printer<'_> {
    fn line(&self, found: &Found<'_>, out: &mut Vec<u8>) -> bool {
        if self.args.files {
            return false;
        }
        if self.args.count {
            return true;
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
        out.push(self.end());
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
        out.push(self.end());
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
    place: &Path,
    voice: Voice,
) {
    let seconds = run.seconds();
    let tells = run.tells();
    drop(run);
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
        add_warnings(&mut report);
        say(&report.to_string());
        return;
    }
    let one_of = |paths: &[std::path::PathBuf]| match paths {
        [one] => one.display().to_string(),
        [first, others @ ..] => format!("{} and {} more", first.display(), others.len()),
        [] => String::new(),
    };
    if search.without_index {
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
                "umbel find: searched in full, {what}: {}; bring it up to date with umbel index --update {}",
                one_of(paths),
                place.display()
            ));
        }
    }
    if !tells {
        return;
    }
    let found = match not_found {
        Some(count) => format!("{} not found", counted(count, "text")),
        None => format!("{} found", counted(search.found, "line")),
    };
    let mut words = vec![format!("{found} in {}", counted(search.files, "file"))];
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
        say("umbel find: only whole words were looked for; -F finds parts of words too");
    }
}
