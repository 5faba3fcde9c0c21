//! The command line's hints for errors of the libraries, which know no options: the option that helps.

use std::path::Path;

use umbel::{Error, FileError, InsertError, PlanError, RowError, SchemeError};
use umbel_io::content;
use umbel_net::prefixes::ListError;
use umbel_sets::{Form, Input, Normalization, Records};
use umbel_share::ShareError;

use crate::args::named_form;
use crate::formats::NotAFilter;
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
        && let Some(other) = other_delimiter(|other| match other {
            b'\t' => found.contains("\\t"),
            // Between the names in the message, a blank follows.
            b',' => found.contains(',') && !found.contains(", "),
            other => found.contains(char::from(other)),
        })
    {
        let csv = if other == b',' { "--csv " } else { "" };
        return Some(format!("{csv}{}; one for each file if they differ", option(other)));
    }
    if let Some(umbel_sets::Error::OtherKeys(keys)) = cause.downcast_ref()
        && let Some(hint) = of_steps(&keys.filter, &keys.wanted)
    {
        return Some(hint);
    }
    let of_job = cause.downcast_ref().and_then(|error| of_jobs(error, verb));
    of_job.or_else(|| of_part(cause)).map(str::to_owned)
}

/// The options that differ, if keys are the same fields, as the error names them.
fn of_steps(filter: &str, wanted: &str) -> Option<String> {
    let parts = |keys| str::split_once(keys, " with ").unwrap_or((keys, ""));
    let ((fields, there), (same, here)) = (parts(filter), parts(wanted));
    let options = |steps: &str, others: &str| {
        let more = steps
            .split(", ")
            .filter(|step| !step.is_empty() && !others.split(", ").any(|other| other == *step));
        let option = |step: &str| match (step, step.split_once(' ')) {
            (_, Some((_, delimiter))) => format!("--csv --delimiter '{delimiter}'"),
            ("crlf" | "trim" | "ignore-case" | "raw" | "csv" | "tsv" | "jsonl", _) => {
                format!("--{step}")
            }
            _ => format!("--normalize {step}"),
        };
        more.map(option).collect::<Vec<_>>().join(" ")
    };
    let (add, omit) = (options(there, here), options(here, there));
    let hints =
        [("add", add), ("omit", omit)].into_iter().filter(|(_, options)| !options.is_empty());
    let mut hints: Vec<_> = hints.map(|(what, options)| format!("{what} {options}")).collect();
    if hints == ["omit --crlf"] {
        hints.push("remove each CR first: tr -d '\\r'".to_owned());
    }
    (fields == same && !hints.is_empty()).then(|| hints.join(", "))
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

/// Of many inputs, only the first are looked at, because that would take longer than the work.
const MOST: usize = 64;

/// What is wrong with inputs that are no lines, or whose columns have another delimiter: some are enough.
pub(crate) fn of_contents(inputs: &[Input], form: &Form) -> Vec<String> {
    let some = inputs.iter().take(MOST);
    let hint =
        |input: &Input| Some(format!("{}: {}", input.name(), of_content(input, inputs, form)?));
    some.filter_map(hint).take(3).collect()
}

fn of_content(input: &Input, all: &[Input], form: &Form) -> Option<String> {
    let start = input.start().ok()?;
    if let Some(hint) = content::doubt(&start).filter(|_| form.records.end() == b'\n') {
        return Some(hint.to_owned());
    }
    let (delimiter, header) = match form.records {
        Records::Lines(_) if is_cut(input.name(), &start) => {
            return Some(
                "has line feeds in quotes, and is read line by line; --csv keeps records whole"
                    .into(),
            );
        }
        Records::Csv { delimiter, header, .. } => (delimiter, header),
        Records::Tsv { header, .. } => (b'\t', header),
        _ => return None,
    };
    let given = input.delimiter().unwrap_or(delimiter);
    if form.skip == 0 && (start.starts_with(b"sep=") || start.starts_with(b"\"sep=")) {
        return Some("its first line sets the delimiter for Excel; omit it with --skip 1".into());
    }
    if start.starts_with(b"{\"") {
        return Some("its first line begins as JSON does; read it with --jsonl".into());
    }
    if matches!(form.records, Records::Tsv { delimiter: b'\t', .. }) && is_quoted(&start) {
        return Some(
            r"has quotes around fields, which --tsv takes for text; read it with --csv -d '\t'"
                .into(),
        );
    }
    if header && let Some(first) = data_for_header(&start, given, form.records.key()) {
        return Some(format!(
            "its first line, {first}, is read as column names; --no-header reads it as a record"
        ));
    }
    let found = delimiter_of(&start, given)?;
    if found == given || matches!(form.records, Records::Tsv { .. }) {
        return None;
    }
    // One for each file, up to the part that they share.
    let each = all.iter().map(|input| {
        let given = input.delimiter().unwrap_or(delimiter);
        input.start().ok().and_then(|start| delimiter_of(&start, given)).unwrap_or(given)
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
        "its first line has no {}, but {}; read it with {remedy}",
        shown(given),
        shown(found),
    ))
}

/// Whether a file that is named as CSV has a line feed in quotes.
fn is_cut(name: &str, start: &[u8]) -> bool {
    let mut quoted = false;
    let cut = |byte: &u8| {
        quoted ^= *byte == b'"';
        quoted && *byte == b'\n'
    };
    named_form(Path::new(name)) == Some("--csv") && start.iter().any(cut)
}

/// Whether tab-separated fields are quoted: one begins with a quote, and ends with one or has no other.
fn is_quoted(start: &[u8]) -> bool {
    let mut fields = start.split(|byte| b"\t\n".contains(byte)).map(<[u8]>::trim_ascii_end);
    fields.any(|field| match field {
        [b'"', .., b'"'] => true,
        [b'"', rest @ ..] => !rest.is_empty() && !rest.contains(&b'"'),
        _ => false,
    })
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

/// What seems to be between the columns of a file: what was `given`, if its first line has that.
fn delimiter_of(start: &[u8], given: u8) -> Option<u8> {
    let header = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let given = header.contains(&given).then_some(given);
    given.or_else(|| other_delimiter(|other| header.contains(&other)))
}

/// Why lines that look the same may not be equal: the line ends of different systems.
pub(crate) fn of_line_ends(inputs: &[Input], form: &Form) -> Option<String> {
    let ends: Vec<_> = line_ends(inputs, form).collect();
    let with = |wanted| ends.iter().find(|(_, ends)| *ends == wanted).map(|(name, _)| name);
    if let Some(mixed) = with([true, true]) {
        return Some(format!(
            "some lines of {mixed} end with CR LF and some with LF, so they never match; --crlf ignores the CR"
        ));
    }
    let (crlf, lf) = (with([false, true])?, with([true, false])?);
    Some(format!(
        "lines end with CR LF in {crlf} but with LF in {lf}, so none match; --crlf ignores the CR"
    ))
}

/// Why text that looks the same may not be equal: one input is in UTF-8, and another in an older encoding.
pub(crate) fn of_encodings(inputs: &[Input]) -> Option<String> {
    // A character may be cut off at the end.
    let is_utf8 =
        |text: &[u8]| str::from_utf8(text).err().is_none_or(|error| error.error_len().is_none());
    let with = |wanted| {
        let so = |start: Vec<u8>| !start.is_ascii() && is_utf8(&start) == wanted;
        inputs.iter().take(MOST).find(|input| input.start().is_ok_and(so)).map(Input::name)
    };
    let (other, utf8) = (with(false)?, with(true)?);
    Some(format!(
        "{other} is not in UTF-8, but {utf8} is, so letters beyond ASCII never match; convert it: iconv -f WINDOWS-1252 -t UTF-8"
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
    let (name, _) = line_ends(inputs, form).find(|(_, [_, crlf])| *crlf)?;
    Some(format!(
        "{name}: lines end with CR LF, and the CR is part of the key; --crlf leaves it out"
    ))
}

/// The line ends of inputs, where they count, as [`Input::line_ends`] says; by less of each if there are many.
fn line_ends<'a>(inputs: &'a [Input], form: &Form) -> impl Iterator<Item = (&'a str, [bool; 2])> {
    let Normalization { crlf, trim, read, .. } = &form.normalization;
    let counts = form.records == Records::Lines(b'\n') && !crlf && !trim && read.is_none();
    let part = if inputs.len() > MOST { 4 << 10 } else { 64 << 10 };
    let counted = inputs.iter().filter(move |_| counts);
    counted.filter_map(move |input| Some((input.name(), input.line_ends(part).ok()?)))
}

fn of_jobs(error: &umbel_sets::Error, verb: Option<&Entry>) -> Option<&'static str> {
    use umbel::internals::format::OtherKeys;
    use umbel_net::prefixes::Family;
    use umbel_sets::{Error, QuoteFlaw};
    let verb = verb.map_or("", |verb| verb.about.name);
    let of_two = matches!(verb, "common" | "except" | "diff" | "join");
    Some(match error {
        Error::Filter(error) => return of_filters(error),
        Error::Directory(name) if name != STANDARD => "--recursive reads all files in it",
        Error::UnseenRows => {
            "with a filter of rows, run umbel filter query -v and then umbel filter add"
        }
        Error::Memory { .. }
        | Error::NoMemory(_)
        | Error::Outgrown { .. }
        | Error::LongLine { .. } => "--memory",
        Error::Temporary { .. } => "--tmp",
        Error::AtLeast { .. } => "--at-least",
        // These read files unchanged, because they record places in them.
        Error::Quote { .. } if matches!(verb, "index" | "find") => return None,
        Error::Quote { flaw: QuoteFlaw::Blank, .. } => "--trim ignores blanks around quotes",
        Error::Quote { .. } => "--bad skip leaves it out, --quotes none reads quotes as text",
        Error::Ragged { found, columns, .. } if found < columns => {
            "--bad skip; --ragged pad adds missing fields"
        }
        // At its first line, text is JSON over several lines.
        Error::Json { at, source }
            if source.is_eof() && at.line.is_some_and(|(line, _)| line == 1) =>
        {
            "--bad skip; jq -c . puts each value on one line, and jq -c '.[]' each of an array"
        }
        Error::Ragged { .. } | Error::Json { .. } | Error::NoKey { .. } => "--bad skip",
        Error::OtherKeys(OtherKeys { prefixes: Some(family), .. }) => match family {
            Family::Ip => "umbel match, umbel filter build --prefixes ip",
            Family::Domain => "umbel match, umbel filter build --prefixes domain",
        },
        Error::SameColumn { twice: false, .. } | Error::SameMember { .. } => {
            "--prefix, --left-prefix"
        }
        Error::KeptWithoutKey("empty") => "--empty skip",
        Error::KeptWithoutKey(_) => "--missing skip",
        Error::UnknownField { field, .. }
        | Error::NoField { field, .. }
        | Error::NowhereField { field, .. }
        | Error::FieldNumber(field)
            if field.contains(',') =>
        {
            "repeat --key for each field"
        }
        Error::NoField { found, .. } if of_two && !found.contains(' ') => {
            "--key LEFT= if the other files are lists of keys; --missing skip"
        }
        // A value of a whole line, not one in a member.
        Error::NoField { found, .. }
            if found.starts_with("an array") && !found.contains(" in ") =>
        {
            "jq -c '.[]' puts each value of an array on one line; --missing skip"
        }
        Error::NoField { .. } => "--missing skip",
        Error::OtherColumns { difference, .. } => match verb {
            "dedup" if !difference.starts_with("column ") => {
                "--by-name leaves missing columns empty"
            }
            "diff" if !difference.starts_with("column ") => {
                "--ignore-column leaves out a column that only one has; for a renamed one, --key LEFT=RIGHT if it is in the key, otherwise rename it in one file, or --no-header ignores names"
            }
            _ => "--no-header ignores names",
        },
        Error::NowhereField { near: None, .. } | Error::KeyFields { .. } => "--key",
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
