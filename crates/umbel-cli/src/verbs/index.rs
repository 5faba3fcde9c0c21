//! `umbel index`: filters of the words of many files.

use std::path::Path;

use anyhow::{Result, bail};
use serde_json::json;
use umbel_find::Built;
use umbel_numbers::{Count, Rate, Size, counted};
use umbel_report::receipt::aligned;

use crate::args::{IndexArgs, Voice};
use crate::atomic::Existing;
use crate::report::{Run, add_warnings, say};
use crate::standard::{is_standard, names};
use crate::target::{self, Sort};
use crate::{Outcome, lines};

pub(crate) fn index(args: &IndexArgs) -> Result<Outcome> {
    let work = &args.work;
    let options = lines::options(work)?;
    let paths = match args.update {
        Some(_) => Vec::new(),
        None => lines::listed(&args.paths, work)?,
    };
    let target = args.update.as_ref().or(args.output.as_ref()).expect("one of them is required");
    if paths.iter().chain([target]).any(|path| is_standard(path)) {
        bail!("-: an index is a file, of files that can be read again; name files");
    }
    if args.update.is_some() && options.records != umbel_sets::Records::Lines {
        bail!("--update: the index knows its records; omit the options that describe them");
    }
    if work.records.delimiter.len() > 1 {
        bail!("--delimiter: an index has one for all files; name one");
    }
    if work.explain {
        bail!("--explain: umbel index reads each file once, and has no other plan; omit it");
    }
    let existing = match args.update {
        Some(_) => Existing::Replace,
        None => target::check(target, Sort::Index, args.replace.force)?,
    };
    let run = Run::start("index", work.voice, &options.progress);
    let built = match args.update {
        Some(_) => umbel_find::update(target, &options)?,
        None => umbel_find::build(target, existing, &paths, &options)?,
    };
    report(run, &built, args.update.is_some(), work.voice);
    Ok(Outcome::Done)
}

fn report(run: Run, built: &Built, update: bool, voice: Voice) {
    let seconds = run.seconds();
    let tells = run.tells();
    drop(run);
    let Built { files, read, gone, blocks, text, text_read, keys, bytes, .. } = *built;
    if voice.json {
        if !voice.quiet {
            let mut report = json!({
                "type": "report",
                "verb": "index",
                "files": files,
                "files_read": read,
                "files_gone": gone,
                "blocks": blocks,
                "text": text,
                "text_read": text_read,
                "keys": keys,
                "bytes_written": bytes,
                "peak_memory": umbel_system::peak_memory(),
                "seconds": seconds,
            });
            add_warnings(&mut report);
            say(&report.to_string());
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
    let share = percent(bytes as f64 / text.max(1) as f64);
    words.push(format!("{} of text in {}", Size(text), counted(blocks, "block")));
    words.push(format!("index of {} ({share})", Size(bytes)));
    if voice.verbose {
        words.push(format!("{} of blocks read", counted(keys, "distinct key")));
        words.push(format!("peak {}", Size(umbel_system::peak_memory())));
    }
    say(&format!("umbel index: {}, {seconds:.3} s", words.join(", ")));
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// `umbel info` of an index.
pub(super) fn about(path: &Path, voice: Voice) -> Result<String> {
    let about = umbel_find::about(path)?;
    let per_block = 8.0 * about.filters as f64 / about.blocks.max(1) as f64;
    if voice.json {
        let object = json!({
            "type": "info",
            "file": path.display().to_string(),
            "kind": "index",
            "keys": if about.fields.is_empty() { "words" } else { "fields" },
            "fields": about.fields,
            "files": about.files,
            "blocks": about.blocks,
            "text": about.text,
            "bytes": about.bytes,
            "bits_per_block": per_block,
            "fill": about.fill,
            "groups": about.groups,
            "roots": names(&about.roots),
            "stale": names(&about.stale),
            "gone": names(&about.gone),
        });
        return Ok(format!("{object}\n"));
    }
    let keys = match &about.fields[..] {
        [] => "words of lines".to_owned(),
        [field] => format!("values of the field {field}"),
        fields => format!("values of the fields {}", fields.join(", ")),
    };
    let rate = match about.fields[..] {
        [_, ..] => format!("{} of a value", Rate(about.fill.powi(8))),
        [] => format!(
            "{} of a word of 12 letters or more, {} of one of 4 to 7",
            Rate(about.fill.powi(12)),
            Rate(about.fill.powi(4))
        ),
    };
    let share = percent(about.bytes as f64 / about.text.max(1) as f64);
    let listed = |paths: &[std::path::PathBuf]| match names(paths).as_slice() {
        [] => "none".to_owned(),
        names if names.len() > 5 => {
            format!("{} and {} more", names[..5].join(", "), names.len() - 5)
        }
        names => names.join(", "),
    };
    let rows = [
        ("keys", keys),
        ("of", names(&about.roots).join(", ")),
        ("files", Count(about.files).to_string()),
        ("text", format!("{} in {}", Size(about.text), counted(about.blocks, "block"))),
        ("size", format!("{}, {share} of the text", Size(about.bytes))),
        ("filters", format!("{per_block:.0} bits per block, {} of them set", percent(about.fill))),
        ("false positives", format!("{rate}, per block")),
        ("looked up in", counted(about.groups, "group")),
        ("changed since", listed(&about.stale)),
        ("gone since", listed(&about.gone)),
    ];
    let rows: Vec<_> = rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Ok(format!("{}\n{}", path.display(), aligned(&rows)))
}
