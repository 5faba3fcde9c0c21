//! Inputs as the command line names them: files, lists of files, standard input.

use std::io::{BufRead, BufReader, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, anyhow, bail};
use umbel_io::{State, content};
use umbel_numbers::{Size, counted};
use umbel_sets::sources::{self, NamedInput, Room, align, rereadable};
use umbel_sets::{
    Form, Input, Missing, Normalization, Options, Records, Report, Resources, SpoolWriter,
    TempFolders, room_left,
};

use crate::args::{NormalForm, Print, Quotes, RecordArgs, Voice, Work, named_form};
use crate::hints;
use crate::output::stdout;
use crate::report::{self, say};
use crate::standard::{check_once, is_standard, name, stdin};

pub(crate) use umbel_sets::RowsOf;
pub(crate) use umbel_sets::sources::Source;

/// The options of the work, with their defaults.
pub(crate) fn options(work: &Work, files: &[PathBuf]) -> Result<Options> {
    options_of_tables(work, files, false)
}

/// As [`options`]; if the work is about `columns`, the names of files tell which, without a key too.
pub(crate) fn options_of_tables(work: &Work, files: &[PathBuf], columns: bool) -> Result<Options> {
    let options = options_of_several(work, files, columns)?;
    if !options.form.others.is_empty() {
        bail!(
            "--key LEFT=RIGHT is only for common, except, diff and join, where files may name a field differently; name one field here"
        );
    }
    Ok(options)
}

/// As [`options`], of work on files that may name their fields differently: `--key LEFT=RIGHT`.
pub(crate) fn options_of_several(work: &Work, files: &[PathBuf], columns: bool) -> Result<Options> {
    let (key, others) = fields(&work.records.key)?;
    // Lists of keys are no records, whatever their names.
    let named = match others == [""] {
        true => files.get(..1).unwrap_or_default().to_vec(),
        false if key.is_empty() || given_form(&work.records).is_some() => files.to_vec(),
        false => known(files, work)?,
    };
    let records = records(work, &named, columns, key)?;
    let folders = if work.tmp.is_empty() { &[umbel_io::temporary_folder()][..] } else { &work.tmp };
    if let Some(none) = folders.iter().find(|folder| !folder.is_dir()) {
        bail!("{}: is not a folder; name one for temporary files with --tmp", none.display());
    }
    let tmp = TempFolders::new(folders).with_notice(warn_if_in_memory);
    let memory = work.memory();
    if let Some(there) = umbel_io::memory().filter(|there| memory > *there) {
        say(&format!(
            "umbel: warning: --memory {} is more than the {} available; a run that uses it all may be killed",
            Size(memory),
            Size(there)
        ));
    }
    // --threads is used as given; the default is lower under a small cap.
    let processors = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = work
        .threads
        .map_or_else(|| processors().min(umbel_sets::most_threads(memory)), NonZeroUsize::get);
    let form = Form {
        records,
        others,
        normalization: normalization(&work.records),
        skip: work.records.skip,
        comment: work.records.comment.map(|byte| byte.0),
        ragged: work.records.ragged.unwrap_or_default(),
        missing: work.records.missing,
        empty: work.records.empty.unwrap_or_default(),
        bad: work.records.bad,
        ..Form::default()
    };
    let mut resources = Resources::new(memory, threads, tmp);
    if !work.voice.quiet {
        resources.notice = |words| say(&format!("umbel: warning: {words}"));
    }
    Ok(Options { resources, form })
}

/// Warns if a folder for temporary files is in memory.
fn warn_if_in_memory(folder: &Path) {
    if umbel_io::is_in_memory(folder) {
        say(&format!(
            "umbel: warning: {}: is in memory (tmpfs), so temporary files use memory beyond the cap; name a folder on disk with --tmp",
            folder.display()
        ));
    }
}

fn normalization(args: &RecordArgs) -> Normalization {
    use NormalForm::{Email, Nfc, Number, Thousands, Url};
    let RecordArgs { ignore_case, trim, crlf, .. } = *args;
    let [url, email, number, thousands, nfc] =
        [Url, Email, Number, Thousands, Nfc].map(|form| args.normalize.contains(&form));
    Normalization { crlf, trim, url, email, number, thousands, nfc, ignore_case, read: None }
}

/// The fields of --key in the first input, and in the others if these name them differently: LEFT=RIGHT, where RIGHT is
/// empty if they are lists of keys. A name with an equals sign has it twice.
fn fields(keys: &[String]) -> Result<(Vec<String>, Vec<String>)> {
    const DOUBLED: &str = "\0";
    let (mut names, mut differ) = ((Vec::new(), Vec::new()), false);
    for key in keys {
        let text = key.replace("==", DOUBLED);
        // Equal numbers may be columns of different names.
        differ |= text.contains('=');
        let (left, right) = text.split_once('=').unwrap_or((&text, &text));
        if left.is_empty() || right.contains('=') || right.is_empty() && keys.len() > 1 {
            bail!(
                "--key {key}: expected FIELD, LEFT=RIGHT or a single LEFT=; write an equals sign in a name twice"
            );
        }
        names.0.push(left.replace(DOUBLED, "="));
        names.1.push(right.replace(DOUBLED, "="));
    }
    if !differ {
        names.1.clear();
    }
    Ok(names)
}

/// As [`options`], of files and folders: the names of the files in them tell how to read records.
pub(crate) fn options_of_folders(work: &Work, paths: &[PathBuf]) -> Result<Options> {
    let mut files = paths.to_vec();
    if !work.records.key.is_empty() && given_form(&work.records).is_none() {
        files = within(files, work, false)?;
    }
    options(work, &files)
}

/// The option that is given for the form of records.
fn given_form(args: &RecordArgs) -> Option<&'static str> {
    let given = [args.csv, args.tsv, args.jsonl, args.fields].into_iter();
    let mut given = given.zip(["--csv", "--tsv", "--jsonl", "--fields"]);
    given.find_map(|(given, option)| given.then_some(option))
}

/// The option for the form of records: the one that is given, or if others need one, what all names of files tell.
fn form_option(
    args: &RecordArgs,
    files: &[PathBuf],
    columns: bool,
) -> Result<Option<&'static str>> {
    if let Some(option) = given_form(args) {
        return Ok(Some(option));
    }
    let named: Vec<_> = files.iter().map(|path| named_form(path)).collect();
    let first = named.first().copied().flatten();
    let form = first.filter(|_| named.iter().all(|other| *other == first));
    // With a delimiter it is CSV, whose quotes have a meaning.
    let form =
        form.map(|form| if form == "--tsv" && !args.delimiter.is_empty() { "--csv" } else { form });
    if args.key.is_empty() {
        let named = !args.delimiter.is_empty() || args.no_header || args.ragged.is_some();
        return Ok(form.filter(|_| columns || named));
    }
    if form.is_none() {
        let several = named.iter().flatten().next().is_some();
        bail!(
            "--key names a field of a record{}; choose how to read records: --csv, --tsv, --jsonl or --fields",
            if several { ", and the file names do not show one format for all" } else { "" }
        );
    }
    Ok(form)
}

fn records(work: &Work, files: &[PathBuf], columns: bool, key: Vec<String>) -> Result<Records> {
    let (args, end) = (&work.records, work.line_end());
    let form = form_option(args, files, columns)?;
    let (header, is_csv) = (!args.no_header, form == Some("--csv"));
    if !args.delimiter.is_empty() && !is_csv {
        match form {
            Some("--tsv") => bail!(
                "--delimiter: --tsv always uses a tab; omit it, or replace --tsv with --csv --quotes none"
            ),
            _ => bail!("--delimiter requires --csv; add --csv, or omit --delimiter"),
        }
    }
    if args.raw && !is_csv && form != Some("--jsonl") {
        bail!(
            "--raw requires --csv or --jsonl: other records are compared as they are written; omit it"
        );
    }
    if args.quotes == Quotes::None && !is_csv {
        bail!("--quotes requires --csv: it has no effect on other formats; omit it");
    }
    if args.no_header && !is_csv && form != Some("--tsv") {
        bail!("--no-header requires --csv or --tsv, since other inputs have no header; omit it");
    }
    if args.ragged.is_some() && !is_csv && form != Some("--tsv") {
        bail!("--ragged requires --csv or --tsv, since other records have no columns; omit it");
    }
    if form.is_some_and(|form| form != "--fields") && work.null {
        bail!("--null: records of {} end with a line feed; omit it", form.unwrap_or_default());
    }
    let delimiter = args.delimiter.first().map_or(b',', |delimiter| delimiter.0);
    Ok(match form {
        Some("--csv") if args.quotes == Quotes::None => {
            if args.delimiter.len() > 1 {
                bail!("--quotes none: all files need the same delimiter; name one");
            }
            Records::Tsv { delimiter, header, key }
        }
        Some("--csv") => Records::Csv { delimiter, header, key, raw: args.raw },
        Some("--tsv") => Records::Tsv { delimiter: b'\t', header, key },
        Some("--jsonl") => Records::JsonLines { key, raw: args.raw },
        Some(_) => Records::Fields { end, key },
        None => Records::Lines(end),
    })
}

/// The inputs: the files named, followed by those of a list. Without any, standard input.
pub(crate) fn open(
    files: &[PathBuf],
    work: &Work,
    rows: RowsOf,
    options: &Options,
) -> Result<Vec<Source>> {
    open_beside(files, work, &[], rows, options)
}

/// As [`open`], of these files alone: `--files-from` and `--recursive` are about others.
pub(crate) fn open_alone(files: &[PathBuf], work: &Work, options: &Options) -> Result<Vec<Source>> {
    let standard = [PathBuf::from("-")];
    let files = if files.is_empty() { &standard } else { files };
    align(open_with_hints(files, work, options)?, None, RowsOf::One, options)
}

/// What a run writes to while it reads its inputs, or in place of what was there.
pub(crate) enum OutputPath<'a> {
    /// Lines are appended to the file.
    Lines(&'a Path),
    /// A filter is written there.
    Filter(&'a Path),
}

/// As [`open`], with outputs that must not be among the inputs.
pub(crate) fn open_beside(
    files: &[PathBuf],
    work: &Work,
    outputs: &[OutputPath<'_>],
    rows: RowsOf,
    options: &Options,
) -> Result<Vec<Source>> {
    align(open_unaligned(files, work, outputs, options)?, None, rows, options)
}

/// As [`open_beside`], of records whose columns stay as they are.
pub(crate) fn open_unaligned(
    files: &[PathBuf],
    work: &Work,
    outputs: &[OutputPath<'_>],
    options: &Options,
) -> Result<Vec<Source>> {
    let paths = named(files, work)?;
    check_beside(&paths, outputs)?;
    if let Some(list) = &work.files_from {
        check_beside(std::slice::from_ref(list), outputs)?;
    }
    open_with_hints(&paths, work, options)
}

/// The inputs at paths as they are, whose contents were looked at.
fn open_with_hints(paths: &[PathBuf], work: &Work, options: &Options) -> Result<Vec<Source>> {
    let sources = sources::read_ahead(open_paths(paths, work)?, &options.resources)?;
    for source in &sources {
        if let Source::Files(inputs) = source {
            notice(inputs, true, work.voice, options);
        }
    }
    Ok(sources)
}

/// Says what inputs are that are no lines, and what may be wrong with lines if they are `keys`.
fn notice(inputs: &[Input], keys: bool, voice: Voice, options: &Options) {
    if voice.quiet {
        return;
    }
    let of_keys = keys.then(|| hints::of_keys(inputs, &options.form)).flatten();
    for hint in hints::of_contents(inputs, &options.form).into_iter().chain(of_keys) {
        say(&format!("umbel: warning: {hint}"));
    }
}

fn check_beside(paths: &[PathBuf], outputs: &[OutputPath<'_>]) -> Result<()> {
    for output in outputs {
        let (output, what) = match output {
            OutputPath::Lines(path) => (path, "lines are appended to it"),
            OutputPath::Filter(path) => (path, "the filter is written to it"),
        };
        let Ok(out) = State::at(output) else { continue };
        // A device such as a terminal or /dev/null may be both read and written.
        let is_output = |path: &&PathBuf| {
            let input = match is_standard(path) {
                true => stdin().and_then(|file| Ok(State::of(&file)?)).ok(),
                false => State::at(path).ok(),
            };
            out.is_file && input.is_some_and(|input| input.id == out.id)
        };
        if let Some(path) = paths.iter().find(is_output) {
            bail!("{}: {what}, so it cannot be an input too; name another file", name(path));
        }
    }
    Ok(())
}

/// As [`open`], of paths as they are.
fn open_paths(paths: &[PathBuf], work: &Work) -> Result<Vec<Source>> {
    check_once(paths, None)?;
    let named = |path: &PathBuf| match is_standard(path) {
        true => {
            let file = stdin()?;
            Ok(match umbel_io::typed() {
                Some(typed) => NamedInput::Bytes(name(path), typed),
                None => NamedInput::Open(name(path), file),
            })
        }
        // As with grep -r, readable files are read.
        false if work.recursive => Ok(NamedInput::MaybePath(path.clone(), say_left_out)),
        false => Ok(NamedInput::Path(path.clone())),
    };
    let named = paths.iter().map(named).collect::<Result<_>>()?;
    let output = stdout().and_then(|out| Ok(State::of(&out)?)).ok().filter(|out| out.is_file);
    let delimiters: Vec<_> = work.records.delimiter.iter().map(|delimiter| delimiter.0).collect();
    sources::open(named, output.map(|out| out.id), &delimiters)
}

/// Whether lines are read from standard input, as far as the names of files tell.
pub(crate) fn are_standard(files: &[PathBuf], work: &Work) -> bool {
    files.is_empty() && work.files_from.is_none() || files.iter().any(|path| is_standard(path))
}

/// The paths of all inputs.
pub(crate) fn named(files: &[PathBuf], work: &Work) -> Result<Vec<PathBuf>> {
    in_folders(listed(files, work)?, work)
}

/// The paths of inputs that are known before any is read: those in a list from standard input are not.
pub(crate) fn known(files: &[PathBuf], work: &Work) -> Result<Vec<PathBuf>> {
    match &work.files_from {
        Some(list) if is_standard(list) => Ok(files.to_vec()),
        _ if work.recursive => within(listed(files, work)?, work, false),
        _ => listed(files, work),
    }
}

/// The files of folders. What cannot be read is told if `tells`, and otherwise when the work comes to it.
fn within(paths: Vec<PathBuf>, work: &Work, tells: bool) -> Result<Vec<PathBuf>> {
    let mut room = Room::of_inputs(work.memory());
    sources::files_of_folders(paths, &mut room, &mut |path, error| {
        if tells {
            say_left_out(&error.context(path.display().to_string()));
        }
        Ok(())
    })
}

/// The paths that are named, of files and of folders.
pub(crate) fn listed(files: &[PathBuf], work: &Work) -> Result<Vec<PathBuf>> {
    let mut paths = files.to_vec();
    if let Some(list) = &work.files_from {
        for path in list_in(list, work)? {
            let path = umbel_io::path_from(path).with_context(|| {
                format!("{}: has a path that is not UTF-8; write the list in UTF-8", name(list))
            })?;
            paths.push(path);
        }
        if is_standard(list) && paths.iter().any(|path| is_standard(path)) {
            bail!(
                "-: standard input can be read only once, and --files-from reads the list from it"
            );
        }
        if paths.is_empty() {
            bail!("{}: the list is empty; name files in it", name(list));
        }
    } else if paths.is_empty() {
        paths.push(PathBuf::from("-"));
    }
    Ok(paths)
}

/// The lines of a list, which are not empty and may end with CR LF; with `--null` they end with a NUL.
pub(crate) fn list_in(path: &Path, work: &Work) -> Result<Vec<Vec<u8>>> {
    const MARK: &[u8] = "\u{feff}".as_bytes();
    let name = || name(path);
    let file = match is_standard(path) {
        true => stdin()?,
        false => umbel_io::open(path).with_context(name)?,
    };
    let mut file = BufReader::with_capacity(64 << 10, file);
    content::check(&name(), file.fill_buf().with_context(name)?, false).with_context(name)?;
    let separator = work.line_end();
    let memory = work.memory();
    // A quarter more than an input alone, because its line is in memory meanwhile.
    let mut room = Room::new(memory, [500, 5]);
    let (mut lines, mut is_first) = (Vec::new(), true);
    loop {
        let mut line = Vec::new();
        // A line that is cut off here costs too much.
        let read = file.by_ref().take(room.longest() + 1).read_until(separator, &mut line);
        if read.with_context(name)? == 0 {
            return Ok(lines);
        }
        line.pop_if(|last| *last == separator);
        if std::mem::take(&mut is_first) && line.starts_with(MARK) {
            line.drain(..MARK.len());
        }
        line.pop_if(|last| *last == b'\r' && !work.null);
        if line.is_empty() {
            continue;
        }
        if room.take(line.len()).is_err() {
            bail!(
                "{}: is too long for a memory cap of {}, after {}; raise it with --memory, or split the list",
                name(),
                Size(memory),
                counted(lines.len() as u64, "line")
            );
        }
        line.shrink_to_fit();
        lines.push(line);
    }
}

/// With --recursive, the files of a folder in its place.
fn in_folders(paths: Vec<PathBuf>, work: &Work) -> Result<Vec<PathBuf>> {
    if work.recursive { within(paths, work, true) } else { Ok(paths) }
}

/// As [`open`], for work that reads more than once.
pub(crate) fn open_rereadable(
    files: &[PathBuf],
    work: &Work,
    rows: RowsOf,
    options: &Options,
) -> Result<Vec<Input>> {
    let inputs = rereadable(open_paths(&named(files, work)?, work)?, options)?;
    notice(&inputs, false, work.voice, options);
    Ok(umbel_sets::align(inputs, None, rows, options)?)
}

/// Whether something that was asked for was left out of the work.
static LEFT_OUT: AtomicBool = AtomicBool::new(false);

/// Tells of a file that cannot be read, while the work on others goes on: the run then [fails](has_left_out) at its end. Verbs
/// that do so have all options that hints on reading name.
pub(crate) fn say_left_out(error: &anyhow::Error) {
    LEFT_OUT.store(true, Ordering::Relaxed);
    report::say_error(&hints::chain(error, None));
}

/// Tells of all files of an index or a search that cannot be read.
pub(crate) fn say_unreadable(files: &[(PathBuf, String)]) {
    for (path, why) in files {
        say_left_out(&anyhow!("{}: {why}", path.display()));
    }
}

/// Whether a file was left out.
pub(crate) fn has_left_out() -> bool {
    LEFT_OUT.load(Ordering::Relaxed)
}

/// As [`open_rereadable`], for two lists of inputs and an output.
pub(crate) fn open_two(
    files: &[PathBuf],
    others: &[PathBuf],
    work: &Work,
    output: &OutputPath<'_>,
    options: &Options,
) -> Result<[Vec<Input>; 2]> {
    let mut paths = named(files, work)?;
    let first = paths.len();
    paths.extend(in_folders(others.to_vec(), work)?);
    check_beside(&paths, std::slice::from_ref(output))?;
    let inputs = rereadable(open_paths(&paths, work)?, options)?;
    let mut inputs = umbel_sets::align(inputs, None, RowsOf::One, options)?;
    let others = inputs.split_off(first);
    Ok([inputs, others])
}

/// As [`open_rereadable`], for work on two inputs or more.
pub(crate) fn open_several(
    files: &[PathBuf],
    work: &Work,
    rows: RowsOf,
    options: &mut Options,
) -> Result<Vec<Input>> {
    let inputs = match options.form.others == [""] {
        true => open_with_lists(files, work, rows, options)?,
        false => open_rereadable(files, work, rows, options)?,
    };
    let inputs = sources::name_others(inputs, &options.form);
    match &inputs[..] {
        [one] => bail!("{}: is the only file; name two or more", one.name()),
        _ => Ok(inputs),
    }
}

/// `--key LEFT=`: inputs after the first are lists of keys, one on each line, and are read as records with that field.
fn open_with_lists(
    files: &[PathBuf],
    work: &Work,
    rows: RowsOf,
    options: &mut Options,
) -> Result<Vec<Input>> {
    let mut sources = open_paths(&named(files, work)?, work)?;
    if let Some(Source::Files(files)) = sources.first_mut()
        && files.len() > 1
    {
        let lists = files.split_off(1);
        sources.insert(1, Source::Files(lists));
    }
    let lists = sources.split_off(sources.len().min(1));
    let mut inputs = umbel_sets::align(rereadable(sources, options)?, None, rows, options)?;
    inputs.extend(rereadable(lists, &umbel_sets::options_of_keys(b'\n', options))?);
    notice(&inputs, false, work.voice, options);
    let records = &options.form.records;
    let field = match records {
        Records::JsonLines { .. } => "key".to_owned(),
        _ if records.has_header() => records.key()[0].clone(),
        _ => "1".to_owned(),
    };
    for input in inputs.iter_mut().skip(1) {
        *input = umbel_sets::records_of_keys(input, b'\n', &field, options)?;
    }
    options.form.others = vec![field];
    Ok(inputs)
}

/// `--print key`: lines of the keys of the inputs, which are compared and printed in place of the records.
pub(crate) fn keys_alone(
    inputs: Vec<Input>,
    print: Print,
    options: &mut Options,
) -> Result<Vec<Input>> {
    if print == Print::Record {
        return Ok(inputs);
    }
    let records = options.form.records.clone();
    let names = records.key().to_vec();
    if names.is_empty() {
        bail!("--print key prints fields of records; name them with --key");
    }
    if let Some(option) = options.form.keeps_keyless() {
        bail!(
            "--print key cannot print the records without a key that --{option} keep keeps; leave them out with --{option} skip"
        );
    }
    let end = records.end();
    // Each value is normalized on its own.
    let apart = names.len() > 1 && !options.form.normalization.is_none();
    let alone = match records {
        Records::Csv { delimiter, header, .. } => {
            Records::Csv { delimiter, header, key: Vec::new(), raw: false }
        }
        Records::Tsv { .. } => records.with_key(Vec::new()),
        Records::JsonLines { .. } if apart => {
            Records::Tsv { delimiter: b'\t', header: false, key: Vec::new() }
        }
        Records::Fields { .. } if apart => {
            let key = (1..=names.len()).map(|number| number.to_string()).collect();
            Records::Fields { end, key }
        }
        _ => Records::Lines(end),
    };
    let header = alone.has_header();
    let mut read = options.clone();
    // Blanks around quotes are read in their own way.
    let trim = options.form.normalization.trim && matches!(read.form.records, Records::Csv { .. });
    read.form.normalization = Normalization { trim, ..Normalization::default() };
    let room = room_left(0, &read.resources)?;
    let row_of = |values: &[&[u8]]| row_of(values, &alone);
    let (mut keys_of, mut total, mut alike) = (Vec::new(), Report::default(), Report::default());
    for input in inputs {
        let mut rows = SpoolWriter::new(input.name(), options)?;
        if header {
            let fields: Vec<_> = names.iter().map(String::as_bytes).collect();
            rows.row(&row_of(&fields).map_err(anyhow::Error::msg)?)?;
        }
        let part = umbel_sets::keys(slice::from_ref(&input), room, &read, |keys| {
            keys.iter().enumerate().try_for_each(|(i, key)| {
                let values: Vec<_> = umbel_sets::values_of(key, names.len()).collect();
                rows.row(&row_of(&values).map_err(|why| keys.refuse(i, why))?)
            })
        })?;
        alike.add(part);
        if keys_of.is_empty() && !options.form.others.is_empty() {
            // The other inputs name the fields differently.
            alike.check_keyed(&options.resources.progress)?;
            total.add(std::mem::take(&mut alike));
        }
        keys_of.push(rows.finish()?);
    }
    alike.check_keyed(&options.resources.progress)?;
    total.add(alike);
    if total.missing + total.bad > 0 {
        report::say_skipped(&total);
    }
    options.form.missing = Missing::Refuse;
    options.form.others.clear();
    options.form.records = alone;
    Ok(keys_of)
}

/// A row of values among such records; what would not be one row of as many values is an error.
fn row_of(values: &[&[u8]], records: &Records) -> Result<Vec<u8>, &'static str> {
    let (column, quotes) = match records {
        Records::Csv { delimiter, .. } => (*delimiter, true),
        Records::Tsv { delimiter, .. } => (*delimiter, false),
        _ => (b'\t', false),
    };
    let mut row = Vec::new();
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            row.push(column);
        }
        let start = row.len();
        row.extend_from_slice(value);
        // An empty line is not a row of columns, and a carriage return at the end does not belong to the row.
        let last = i + 1 == values.len();
        let hidden = last && (row.is_empty() || row.ends_with(b"\r"));
        if quotes {
            umbel_sets::quote(&mut row, start, column);
            if last && row.is_empty() {
                row.extend_from_slice(b"\"\"");
            }
        } else if hidden && !matches!(records, Records::Lines(_)) {
            return Err(
                "the key is empty or ends with a carriage return, so --print key cannot print it as one row; omit --print",
            );
        } else if value.contains(&records.end()) || value.contains(&column) && values.len() > 1 {
            return Err(
                "the key has a line feed or a tab, so --print key cannot print it as one line",
            );
        }
    }
    Ok(row)
}
