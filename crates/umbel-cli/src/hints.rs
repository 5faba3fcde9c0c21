//! The command line's hints for errors of the libraries, which know no options: the option that helps.

use std::path::Path;

use umbel::{Error, FileError, InsertError, PlanError, RowError, SchemeError};
use umbel_io::content;
use umbel_net::prefixes::ListError;
use umbel_sets::{Form, Input, Normalization, Records};
use umbel_share::ShareError;

use crate::formats::NotAFilter;
use crate::lines::named_form;
use crate::standard::STANDARD;
use crate::verb::Entry;

/// The error and its causes on one line, and the options that help. A cause that the message already has is left out, and
/// a JSON parser's, whose line and column are those in the record.
pub(crate) fn chain(error: &anyhow::Error, verb: Option<&Entry>) -> String {
    let mut message = error.to_string();
    for cause in error.chain().skip(1).filter(|cause| !cause.is::<serde_json::Error>()) {
        let cause = cause.to_string();
        if !message.contains(&cause) {
            message.push_str(": ");
            message.push_str(&cause);
        }
    }
    if let Some(hint) = of(error, verb)
        && verb.is_none_or(|verb| verb.has_options(&hint))
    {
        message.push_str(&format!(" ({hint})"));
    }
    message
}

/// The options that help with an error.
fn of(error: &anyhow::Error, verb: Option<&Entry>) -> Option<String> {
    let format = error.chain().find_map(|cause| cause.downcast_ref::<NotAFilter>()?.hint.clone());
    format.or_else(|| error.chain().find_map(|cause| of_cause(cause, verb)))
}

fn of_cause(cause: &(dyn std::error::Error + 'static), verb: Option<&Entry>) -> Option<String> {
    if let Some(umbel_sets::Error::UnknownField { found, .. }) = cause.downcast_ref()
        // A comma separates the names in the message.
        && let Some(other) = other_delimiter(|other| {
            let shown = if other == b'\t' { "\\t".to_owned() } else { char::from(other).to_string() };
            other != b',' && found.contains(&shown)
        })
    {
        return Some(format!("{}; one for each file if they differ", option(other)));
    }
    let of_job = cause.downcast_ref().and_then(|error| of_jobs(error, verb));
    of_job.or_else(|| of_part(cause)).map(str::to_owned)
}

/// A delimiter in use in place of the comma.
fn other_delimiter(is_used: impl Fn(u8) -> bool) -> Option<u8> {
    b";\t|,".iter().copied().find(|&other| is_used(other))
}

/// The option for a delimiter.
fn option(delimiter: u8) -> String {
    match delimiter {
        b'\t' => "--tsv".to_owned(),
        b',' => "--delimiter ,".to_owned(),
        other => format!("--delimiter '{}'", char::from(other)),
    }
}

/// What is wrong with inputs that are no lines, or whose columns have another delimiter: some are enough, and of many only
/// the first are looked at, because that would take longer than the work.
pub(crate) fn of_contents(inputs: &[Input], form: &Form) -> Vec<String> {
    const MOST: usize = 64;
    let some = inputs.iter().take(MOST);
    some.filter_map(|input| of_content(input, inputs, form)).take(3).collect()
}

fn of_content(input: &Input, all: &[Input], form: &Form) -> Option<String> {
    let start = input.start().ok()?;
    if let Some(hint) = content::doubt(&start).filter(|_| form.records.end() == b'\n') {
        return Some(format!("{}: {hint}", input.name()));
    }
    let (delimiter, header) = match form.records {
        Records::Csv { delimiter, header, .. } => (delimiter, header),
        Records::Tsv { header, .. } => (b'\t', header),
        _ => return None,
    };
    let told = input.delimiter().unwrap_or(delimiter);
    if header && let Some(first) = data_for_header(&start, told, form.records.key()) {
        return Some(format!(
            "{}: its first line, {first}, is taken for the names of columns; --no-header reads it as a record",
            input.name()
        ));
    }
    let found = delimiter_of(&start, told)?;
    if found == told || matches!(form.records, Records::Tsv { .. }) {
        return None;
    }
    // One for each file, up to the part that they share.
    let each = all.iter().map(|input| {
        let told = input.delimiter().unwrap_or(delimiter);
        input.start().ok().and_then(|start| delimiter_of(&start, told)).unwrap_or(told)
    });
    let mut each: Vec<_> = each.collect();
    while let [.., one, two] = each[..]
        && one == two
    {
        each.pop();
    }
    let remedy = match each[..] {
        [_] | [] => option(found),
        _ => each
            .iter()
            .map(|each| option(*each).replace("--tsv", r"--delimiter '\t'"))
            .collect::<Vec<_>>()
            .join(" "),
    };
    let shown =
        |byte| if byte == b'\t' { "tabs".to_owned() } else { format!("{:?}", char::from(byte)) };
    Some(format!(
        "{}: its first line has no {}, but {}; read it with {remedy}",
        input.name(),
        shown(told),
        shown(found),
    ))
}

/// The first line, if a key is a number and what that column is named there is one, too.
fn data_for_header(start: &[u8], delimiter: u8, key: &[String]) -> Option<String> {
    let first = start.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii_end();
    let names: Vec<_> =
        first.split(|&byte| byte == delimiter).map(String::from_utf8_lossy).collect();
    let is_number = |name: &str| name.trim_matches(['"', ' ']).parse::<f64>().is_ok();
    let column = |key: &String| names.get(key.parse::<usize>().ok()?.checked_sub(1)?);
    let taken = key.iter().filter_map(column).any(|name| is_number(name));
    taken.then(|| {
        String::from_utf8_lossy(first).replace(char::is_control, " ").chars().take(60).collect()
    })
}

/// What seems to be between the columns of a file: what was `told`, if its first line has that.
fn delimiter_of(start: &[u8], told: u8) -> Option<u8> {
    let header = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
    if header.contains(&told) {
        Some(told)
    } else {
        other_delimiter(|other| header.contains(&other))
    }
}

/// Why lines that look the same may not be equal: the line ends of different systems.
pub(crate) fn of_line_ends(inputs: &[Input], form: &Form) -> Option<String> {
    let with = |wanted| with_ends(inputs, form, |ends| ends == wanted);
    if let Some(mixed) = with([true, true]) {
        return Some(format!(
            "some lines of {mixed} end with CR LF and some with LF, so these are not equal; compare them with --crlf"
        ));
    }
    let (crlf, lf) = (with([false, true])?, with([true, false])?);
    Some(format!(
        "the lines of {crlf} end with CR LF and those of {lf} with LF, so none are equal; compare them with --crlf"
    ))
}

/// Why little may be common to tables: their lines were compared as a whole.
pub(crate) fn of_tables(inputs: &[Input], form: &Form) -> Option<String> {
    let mut named = inputs.iter().filter_map(|input| named_form(Path::new(input.name())));
    let option = named.next().filter(|_| form.records == Records::default())?;
    Some(format!(
        "compared whole lines; for records with the same value in a field: {option} --key FIELD"
    ))
}

/// What is in keys that are lines, and in no key that other systems make of them.
pub(crate) fn of_keys(inputs: &[Input], form: &Form) -> Option<String> {
    let name = with_ends(inputs, form, |[_, crlf]| crlf)?;
    Some(format!(
        "{name}: lines end with CR LF, and the CR is part of the key; --crlf leaves it out"
    ))
}

/// The first of some inputs whose lines end so, if that counts.
fn with_ends<'a>(
    inputs: &'a [Input],
    form: &Form,
    so: impl Fn([bool; 2]) -> bool,
) -> Option<&'a str> {
    let Normalization { crlf, trim, read, .. } = &form.normalization;
    let counts = form.records == Records::Lines(b'\n') && !crlf && !trim && read.is_none();
    let some = inputs.iter().filter(|_| counts).find(|input| input.line_ends().is_ok_and(&so));
    some.map(Input::name)
}

fn of_jobs(error: &umbel_sets::Error, verb: Option<&Entry>) -> Option<&'static str> {
    use umbel::internals::format::OtherKeys;
    use umbel_net::prefixes::Family;
    use umbel_sets::Error;
    let of_two =
        verb.is_some_and(|verb| matches!(verb.about.name, "common" | "except" | "diff" | "join"));
    Some(match error {
        Error::Filter(error) => return of_filters(error),
        Error::Directory(name) if name != STANDARD => "--recursive reads all files in it",
        Error::SeenRows => {
            "with a filter of rows, run umbel filter query -v and then umbel filter add"
        }
        Error::Memory { .. }
        | Error::NoMemory(_)
        | Error::Outgrown { .. }
        | Error::LongLine { .. } => "--memory",
        Error::Temporary { .. } => "--tmp",
        Error::AtLeast { .. } => "--at-least",
        // These read files unchanged, because they record places in them.
        Error::Quote { .. }
            if verb.is_some_and(|verb| matches!(verb.about.name, "index" | "find")) =>
        {
            return None;
        }
        Error::Quote { .. } => "--bad skip leaves it out, --quotes none takes quotes as they are",
        Error::Ragged { .. } => "--bad skip; --ragged pad fills in what a row lacks",
        Error::Json { .. } | Error::NoKey { .. } => "--bad skip",
        Error::OtherKeys(OtherKeys { prefixes: Some(family), .. }) => match family {
            Family::Ip => "umbel match, umbel filter build --prefixes ip",
            Family::Domain => "umbel match, umbel filter build --prefixes domain",
        },
        Error::SameColumn { twice: false, .. } | Error::SameMember { .. } => {
            "--prefix, --left-prefix"
        }
        Error::KeptWithoutKey => "--missing skip",
        Error::NoField { found, .. } if of_two && !found.contains(' ') => {
            "--key LEFT= if the other files are lists of keys; --missing skip"
        }
        Error::NoField { .. } => "--missing skip",
        Error::OtherColumns { .. } if verb.is_some_and(|verb| verb.about.name == "dedup") => {
            "--by-name fills in what a file lacks"
        }
        Error::OtherColumns { .. } if verb.is_some_and(|verb| verb.about.name == "diff") => {
            "--key LEFT=RIGHT compares columns of other names, --no-header ignores names"
        }
        Error::OtherColumns { .. } => "--no-header ignores names",
        Error::NowhereField { near: None, .. } => "--key",
        Error::UnknownField { near: None, found, .. } if !found.contains(',') && of_two => {
            "--key LEFT= if it is a list of keys, --no-header; --skip and --comment are for lines before the header"
        }
        Error::UnknownField { near: None, found, .. } if !found.contains(',') => {
            "--key, --no-header; --skip and --comment are for lines before the header"
        }
        Error::UnknownField { near: None, .. } if of_two => {
            "--key LEFT=RIGHT where the files name it differently, --no-header"
        }
        Error::UnknownField { near: None, .. } => "--key, --no-header",
        Error::UnknownField { near: Some(near), field, .. } if near.trim() == field => {
            "--trim ignores blanks around names"
        }
        Error::UnknownField { .. } if of_two => {
            "--key LEFT=RIGHT where two files name it differently"
        }
        Error::FieldNumber(_) => "--key; for names, omit --no-header",
        Error::Delimiter(_) => "--delimiter",
        Error::KeyFields { .. } => "--key",
        Error::OtherKeys(keys)
            if [&keys.filter, &keys.wanted].iter().any(|keys| keys.contains(" with ")) =>
        {
            "--key; --ignore-case, --trim, --crlf, --normalize"
        }
        Error::OtherKeys(_) => "--key, or --as if only the names differ",
        Error::Names { .. } => "--as",
        Error::NamesOfRows => "omit --as",
        _ => return None,
    })
}

fn of_filters(error: &Error) -> Option<&'static str> {
    match error {
        Error::Plan(error) => of_part(error),
        Error::Insert(error) => of_part(error),
        Error::Row(error) => of_part(error),
        Error::File(error) => of_part(error),
        _ => None,
    }
}

/// The options that help with an error of what a job is made of.
fn of_part(error: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    use SchemeError::{NotKeyed, SecretNeeded};
    if matches!(error.downcast_ref(), Some(PlanError::Unnamed))
        || matches!(error.downcast_ref(), Some(InsertError::Rows(..)))
        || matches!(error.downcast_ref(), Some(RowError::NoAttributes | RowError::Unnamed(..)))
    {
        return Some("--key, and --csv, --tsv or --jsonl for what a row is");
    }
    if let Some(FileError::Scheme(SecretNeeded { .. } | NotKeyed(_))) = error.downcast_ref() {
        return Some("--secret-file");
    }
    if let Some(ListError::Other { .. }) = error.downcast_ref() {
        return Some("umbel filter build --prefixes");
    }
    let unfolds = matches!(error.downcast_ref(), Some(ShareError::Unfolds { .. }));
    unfolds.then_some("--trust, --memory")
}
