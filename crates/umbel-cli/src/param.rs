//! Parameters of other systems' formats, as `--param` writes them, and the table that help shows.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use umbel_foreign::{Format, Parameters};
use umbel_numbers::{Fpp, KeyCount, nearest, whole};

/// The parameters that a file of a format does not declare.
pub(crate) fn undeclared(format: Format, params: &[Param]) -> Result<Parameters> {
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
        let mut parts = text.splitn(2, '=').map(str::to_owned);
        Ok(Self { name: parts.next().unwrap_or_default(), value: parts.next() })
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
                bail!(takes(format, &self.name));
            }
            given.options.push(self.name.clone());
            return Ok(());
        };
        if !format.parameters().contains(&&name[..]) {
            bail!(takes(format, &self.name));
        }
        let not = |what: &str| format!("{value:?} is not {what}");
        let number = || whole(value).with_context(|| not("a whole number"));
        let small = || u32::try_from(number()?).ok().with_context(|| not("below 2^32"));
        match &name[..] {
            "keys" => given.keys = Some(value.parse::<KeyCount>().map_err(anyhow::Error::msg)?.0),
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
            _ => bail!(takes(format, &self.name)),
        }
        Ok(())
    }
}

/// What `--param` may say for a format, and what was probably meant by `name`.
fn takes(format: Format, name: &str) -> String {
    let options = format.options().iter().map(|(name, _)| *name);
    if let Some(near) = nearest(name, options.chain(format.parameters().iter().copied())) {
        return format!(
            "{format} has no parameter {name:?}; did you mean {near:?}? They are {}",
            params(format)
        );
    }
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

/// The table of formats for `umbel filter build --help`.
pub(crate) fn table() -> String {
    let mut text =
        "Formats of other systems, with their --param and --key-type (see docs/formats.md):"
            .to_owned();
    for &format in Format::ALL {
        let keys: Vec<_> = format.key_types().iter().map(|key_type| key_type.name()).collect();
        let line = format!("\n  {:<20} {:<38} {}", format, params(format), keys.join(" "));
        text.push_str(line.trim_end());
    }
    text
}
