//! `umbel index`: filters of the words of many files.

use serde_json::json;
use umbel_find::Built;
use umbel_numbers::{Count, Size, counted};
use umbel_report::index::{self, percent};
use umbel_report::receipt::aligned;

use crate::args::{RecordArgs, ReplaceArgs, Voice, Work};
use crate::atomic::Existing;
use crate::lines;
use crate::report::{say, with_warnings};
use crate::standard::{is_standard, name, names};
use crate::target::{self, FileType};
use crate::verbs::prelude::*;

/// Index the words of many files, or the values of one field, to find lines in them
///
/// The index has a filter for each block of about 1 MiB of each file. It tells which blocks may hold a word, so umbel find reads
/// only those, and compares the text itself. Files may be compressed. Folders are read at any depth; links in them are not
/// followed. A word is a run of letters, digits and _. In Chinese, Japanese, Thai and other scripts without spaces, each
/// character is a word. With --key, the index is of the values of these fields.
#[derive(Debug, Args)]
pub(crate) struct IndexArgs {
    /// Files and folders to index
    #[arg(required_unless_present_any = ["update", "files_from"])]
    pub(crate) paths: Vec<PathBuf>,
    /// File to write the index to
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "update")]
    pub(crate) output: Option<PathBuf>,
    /// Bring this index up to date: read new and changed files, drop deleted ones
    ///
    /// The index records its folders and the form of its records. Searches meanwhile see the old index or the new one.
    #[arg(long, value_name = "INDEX", value_hint = ValueHint::FilePath, conflicts_with_all = ["paths", "output", "files_from"])]
    pub(crate) update: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

impl Verb for IndexArgs {
    const NAME: &str = "index";
    const HELP: &str = "
also search index, full text
umbel index -o logs.index logs/   the words of all files in a folder
umbel index -k trace_id -o t.index *.jsonl.zst   the values of a field
umbel index --update logs.index   read what is new or changed
0 the index is written
";
    const RUN: fn(&Self) -> Result<Outcome> = index;
}

pub(crate) fn index(args: &IndexArgs) -> Result<Outcome> {
    let work = &args.work;
    let RecordArgs { csv, tsv, jsonl, fields, ref key, .. } = work.records;
    if args.update.is_some() && (csv || tsv || jsonl || fields || !key.is_empty()) {
        bail!("--update: the index records how to read its files; omit options for records");
    }
    let paths = match args.update {
        Some(_) => Vec::new(),
        None => lines::listed(&args.paths, work)?,
    };
    let options = lines::options_of_folders(work, &paths)?;
    let target = args.update.as_ref().or(args.output.as_ref()).expect("one of them is required");
    if paths.iter().chain([target]).any(|path| is_standard(path)) {
        bail!("-: an index is a file, of files that can be read again; name files");
    }
    if work.records.delimiter.len() > 1 {
        bail!("--delimiter: an index uses one for all files; name one");
    }
    let existing = match args.update {
        Some(_) => Existing::Replace,
        None => target::check(target, FileType::Index, args.replace.force)?,
    };
    let run = Run::start("index", work.voice, &options.resources.progress);
    let built = match args.update {
        Some(_) => umbel_find::update(target, &options.resources)?,
        None => umbel_find::build(target, existing, &paths, &options)?,
    };
    if !built.dropped.is_empty() {
        say(&format!(
            "umbel: warning: dropped from the index, because it no longer exists: {}",
            names(&built.dropped).join(", ")
        ));
    }
    report(run, &built, args.update.is_some(), work.voice);
    lines::say_unreadable(&built.unreadable);
    Ok(Outcome::Done)
}

fn report(run: Run, built: &Built, update: bool, voice: Voice) {
    let (seconds, tells) = run.ended();
    let Built { files, read, gone, blocks, text, text_read, keys, bytes, .. } = *built;
    let unreadable: Vec<_> = built.unreadable.iter().map(|(path, _)| name(path)).collect();
    if voice.json {
        if !voice.quiet {
            let report = json!({
                "type": "report",
                "verb": "index",
                "files": files,
                "files_read": read,
                "files_gone": gone,
                "unreadable": unreadable,
                "blocks": blocks,
                "text": text,
                "text_read": text_read,
                "keys": keys,
                "bytes_written": bytes,
                "peak_memory": umbel_io::peak_memory(),
                "seconds": seconds,
            });
            say(&with_warnings(report).to_string());
        }
        return;
    }
    if !tells {
        return;
    }
    let mut words = vec![counted(files, "file")];
    if update {
        words.push(format!("{} read, {} gone", Count(read), Count(gone)));
    }
    if !unreadable.is_empty() {
        words.push(format!(
            "{} unreadable, tried again by --update",
            Count(unreadable.len() as u64)
        ));
    }
    let share = percent(bytes as f64 / text.max(1) as f64);
    words.push(format!("{} of text in {}", Size(text), counted(blocks, "block")));
    words.push(format!("index of {} ({share})", Size(bytes)));
    if voice.verbose {
        words.push(format!("{} of blocks read", counted(keys, "distinct key")));
        words.push(format!("peak {}", Size(umbel_io::peak_memory())));
    }
    say(&format!("umbel index: {}, {seconds:.3} s", words.join(", ")));
}

/// `umbel filter info` of an index.
pub(super) fn about(path: &Path, voice: Voice) -> Result<String> {
    let umbel_find::About { index: about, stale, gone, .. } = umbel_find::about(path)?;
    if voice.json {
        let mut object = index::json(&about, &path.display().to_string());
        object["stale"] = json!(names(&stale));
        object["gone"] = json!(names(&gone));
        return Ok(format!("{object}\n"));
    }
    let listed = |paths: &[std::path::PathBuf]| match names(paths).as_slice() {
        [] => "none".to_owned(),
        names if names.len() > 5 => {
            format!("{} and {} more", names[..5].join(", "), names.len() - 5)
        }
        names => names.join(", "),
    };
    let mut rows = index::rows(&about);
    rows.push(("changed since".to_owned(), listed(&stale)));
    rows.push(("gone since".to_owned(), listed(&gone)));
    Ok(format!("{}\n{}", path.display(), aligned(&rows)))
}
