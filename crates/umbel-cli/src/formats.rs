//! Other systems' filters in files: their format and its parameters.

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use umbel_foreign::{Bytes, Foreign, Format, Parameters};
use umbel_report::recognize::{Recognized, other, perhaps, unknown};
use umbel_sets::Options;

use crate::wrapped;
use umbel_numbers::{Fpp, Keys, whole};

/// Reads a file in a given format.
pub(crate) fn read(
    file: &File,
    path: &Path,
    format: Format,
    params: &[Param],
    options: Option<&Options>,
) -> Result<Foreign> {
    let given = told(format, params)?;
    let bytes = content(file, path, options)?;
    Foreign::decode_with(format, bytes, &given).or_else(|error| {
        let bytes = content(file, path, options)?;
        let hint = if is_umbel(&bytes) {
            "; this is a filter of umbel: omit --format".to_owned()
        } else {
            let found = umbel_foreign::recognize(&bytes).into_iter().find(|(_, certain)| *certain);
            found.map_or_else(String::new, |(found, _)| format!("; its content looks like {found}"))
        };
        bail!("{}: {error}{hint}", path.display())
    })
}

/// Reads a file that is not umbel's, as `refused` says, in the format that its content shows.
pub(crate) fn recognize(
    file: &File,
    path: &Path,
    refused: &anyhow::Error,
    options: Option<&Options>,
) -> Result<Foreign> {
    // A file that does not fit in memory is hardly a filter; more likely a file of lines was named by mistake.
    let Ok(bytes) = content(file, path, options) else {
        bail!(NotAFilter::new(unknown(refused), &[]))
    };
    match Recognized::of(&bytes) {
        Recognized::One(format) => {
            Foreign::decode(format, bytes).with_context(|| path.display().to_string())
        }
        Recognized::Perhaps(formats) => {
            bail!(NotAFilter::new(perhaps(refused, &formats), &formats))
        }
        Recognized::Other(content) => bail!(other(refused, content)),
        Recognized::Unknown => bail!(NotAFilter::new(unknown(refused), &[])),
    }
}

/// A file that is no filter, unless its format is named.
#[derive(Debug)]
pub(crate) struct NotAFilter {
    message: String,
    /// One that it may have.
    pub(crate) format: Option<Format>,
}

impl NotAFilter {
    fn new(message: String, formats: &[Format]) -> Self {
        Self { message, format: formats.first().copied() }
    }
}

impl fmt::Display for NotAFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for NotAFilter {}

fn is_umbel(content: &[u8]) -> bool {
    let header = umbel::format::Reader::new(content, content.len() as u64);
    !matches!(header, Err(umbel::FileError::NotUmbel { .. }))
}

/// All of a file, when it fits in memory.
fn content(mut file: &File, path: &Path, options: Option<&Options>) -> Result<Bytes> {
    let name = || path.display().to_string();
    let bytes = length(file, path)?;
    if let Some(options) = options {
        let mut first = [0];
        file.rewind().and_then(|()| file.read(&mut first)).with_context(name)?;
        // JSON is kept in binary form; while that is made there are its text and both forms, 2.5 times its size.
        let times = if first[0] == b'{' { 3 } else { 1 };
        umbel_sets::room_left(bytes.saturating_mul(times), options).with_context(name)?;
    }
    let length =
        usize::try_from(bytes).map_err(|_| umbel::OutOfMemory { bytes }).with_context(name)?;
    let mut content = Bytes::zeroed(length, 0).with_context(name)?;
    file.rewind().and_then(|()| file.read_exact(&mut content)).with_context(name)?;
    Ok(content)
}

/// Bytes of a filter's file, without a signature at its end. It is read from its start then.
pub(crate) fn length(file: &File, path: &Path) -> Result<u64> {
    let meta = file.metadata().with_context(|| path.display().to_string())?;
    if meta.is_dir() {
        bail!("{}: is a directory; name a filter file", path.display());
    }
    match meta.is_file() {
        true => {
            Ok(wrapped::signature(file, path, None)?.map_or(meta.len(), |found| found.length()))
        }
        false => Ok(meta.len()),
    }
}

/// The parameters that a file of a format does not declare.
fn told(format: Format, params: &[Param]) -> Result<Parameters> {
    match params.first() {
        Some(param) if format.required().is_empty() => {
            bail!("--param {param}: a {format} file declares all its parameters; omit --param")
        }
        _ => parameters(format, params),
    }
}

/// The parameters with which a format builds a filter.
pub(crate) fn parameters(format: Format, params: &[Param]) -> Result<Parameters> {
    let mut given = Parameters::default();
    for param in params {
        param.set(format, &mut given).with_context(|| format!("--param {param}"))?;
    }
    Ok(given)
}

/// A parameter of a format, or an option without a value.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    name: String,
    value: Option<String>,
}

impl FromStr for Param {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        Ok(Self { name: name.to_owned(), value })
    }
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{}={value}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl Param {
    fn set(&self, format: Format, given: &mut Parameters) -> Result<()> {
        let name = self.name.replace('-', "_");
        let Some(value) = &self.value else {
            if !format.options().iter().any(|(option, _)| *option == self.name) {
                bail!(takes(format));
            }
            given.options.push(self.name.clone());
            return Ok(());
        };
        if !format.parameters().contains(&&name[..]) {
            bail!(takes(format));
        }
        let not = |what: &str| format!("{value:?} is not {what}");
        let number = || whole(value).with_context(|| not("a whole number"));
        let small = || u32::try_from(number()?).ok().with_context(|| not("below 2^32"));
        match &name[..] {
            "keys" => given.keys = Some(value.parse::<Keys>().map_err(anyhow::Error::msg)?.0),
            "fpp" => given.fpp = Some(value.parse::<Fpp>().map_err(anyhow::Error::msg)?.0),
            "bits" => given.bits = Some(number()?),
            "bits_per_key" => {
                given.bits_per_key = Some(value.parse().ok().with_context(|| not("a number"))?);
            }
            "probes" => given.probes = Some(small()?),
            "seed" => given.seed = Some(value.parse().ok().with_context(|| not("a whole number"))?),
            "bucket_size" => given.bucket_size = Some(small()?),
            "max_iterations" => given.max_iterations = Some(small()?),
            "growth" => given.growth = Some(small()?),
            "salts" => given.salts.extend(value.split(',').map(|salt| salt.as_bytes().to_vec())),
            _ => bail!(takes(format)),
        }
        Ok(())
    }
}

/// What `--param` may say for a format.
fn takes(format: Format) -> String {
    match params(format) {
        names if names.is_empty() => format!("{format} has no parameters but --keys and --fpp"),
        names => {
            format!("the parameters of {format} are {names}, and --keys and --fpp if it uses them")
        }
    }
}

fn params(format: Format) -> String {
    let others = format.parameters().iter().filter(|name| !["keys", "fpp"].contains(name));
    let options = format.options().iter().map(|(name, _)| *name);
    let named = others.map(|name| format!("{name}=…"));
    named.chain(options.map(str::to_owned)).collect::<Vec<_>>().join(", ")
}

/// The table of formats for `umbel build --help`.
pub(crate) fn table() -> String {
    let mut text = "Formats of other systems, with what they take as --param and --key-type (see docs/formats.md):"
        .to_owned();
    for format in Format::ALL {
        let keys: Vec<_> = format.key_types().iter().map(|key_type| key_type.name()).collect();
        let line = format!("\n  {:<20} {:<38} {}", format, params(format), keys.join(" "));
        text.push_str(line.trim_end());
    }
    text
}
