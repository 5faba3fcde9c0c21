//! Finds values in a JSON text by their paths, without building the text in memory.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{Flaw, Value, Written, list};

/// Names of members and numbers of elements, from the outermost.
pub(super) struct Path {
    steps: Vec<Step>,
}

struct Step {
    name: String,
    /// The name as a number, for an array.
    index: Option<usize>,
}

impl Path {
    /// `a.b.0`, or after a `/` a JSON pointer (RFC 6901): `/a/b/0`, with `~1` for `/`, `~0` for `~`.
    pub(super) fn new(text: &str) -> Self {
        let step = |name: String| Step { index: name.parse().ok(), name };
        let steps = match text.strip_prefix('/') {
            Some(pointer) => pointer
                .split('/')
                .map(|name| step(name.replace("~1", "/").replace("~0", "~")))
                .collect(),
            None => text.split('.').map(|name| step(name.to_owned())).collect(),
        };
        Self { steps }
    }
}

/// Finds the value of each path, in their order; checks the whole text.
pub(super) fn find(text: &[u8], paths: &[Path], values: &mut Vec<Value>) -> Result<(), Flaw> {
    if paths.is_empty() {
        return parse(text, |json| IgnoredAny::deserialize(json).map(drop));
    }
    for (field, path) in paths.iter().enumerate() {
        let Some(raw) = at(text, &path.steps)? else {
            return Err(Flaw::NoField { field, found: found(text, &path.steps)? });
        };
        // A raw value is a slice of the text it was read from.
        let start = raw.as_ptr() as usize - text.as_ptr() as usize;
        let end = start + raw.len();
        values.push(match raw.as_bytes() {
            [b'"', inner @ .., b'"'] if memchr::memchr(b'\\', inner).is_none() => {
                Value { start: start + 1, end: end - 1, written: Written::Plain }
            }
            [b'"', ..] => Value { start, end, written: Written::Escaped },
            _ => Value { start, end, written: Written::Plain },
        });
    }
    Ok(())
}

fn at<'t>(text: &'t [u8], steps: &[Step]) -> Result<Option<&'t str>, Flaw> {
    parse(text, |json| Find(steps).deserialize(json))
}

/// Reads all of `text` as one value.
fn parse<'t, T>(
    text: &'t [u8],
    read: impl FnOnce(
        &mut serde_json::Deserializer<serde_json::de::SliceRead<'t>>,
    ) -> Result<T, serde_json::Error>,
) -> Result<T, Flaw> {
    let mut json = serde_json::Deserializer::from_slice(text);
    read(&mut json).and_then(|value| json.end().map(|()| value)).map_err(Flaw::Json)
}

/// What is there if a path leads nowhere: the names of the innermost object reached, for a message.
fn found(text: &[u8], steps: &[Step]) -> Result<String, Flaw> {
    for depth in (0..steps.len()).rev() {
        let Some(inner) = at(text, &steps[..depth])? else { continue };
        let within: Vec<_> = steps[..depth].iter().map(|step| step.name.as_str()).collect();
        let within = if depth == 0 { String::new() } else { format!(" in {}", within.join(".")) };
        return Ok(match inner.as_bytes()[0] {
            b'{' => {
                let names = parse(inner.as_bytes(), |json| json.deserialize_map(Names))?;
                match names.len() {
                    0 => format!("an empty object{within}"),
                    _ => format!("the fields {}{within}", list(names.iter(), names.len())),
                }
            }
            b'[' => {
                let count = parse(inner.as_bytes(), |json| json.deserialize_seq(CountElements))?;
                format!("an array of {count}{within}")
            }
            b'"' => format!("a string{within}"),
            _ => format!("{}{within}", inner.chars().take(40).collect::<String>()),
        });
    }
    Ok("nothing".to_owned())
}

/// Follows a path and returns the value at its end, as written.
struct Find<'p>(&'p [Step]);

impl<'de> DeserializeSeed<'de> for Find<'_> {
    type Value = Option<&'de str>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        match self.0 {
            [] => <&RawValue>::deserialize(json).map(|raw| Some(raw.get())),
            _ => json.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Find<'_> {
    type Value = Option<&'de str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(here) = map.next_key_seed(Is(&self.0[0].name))? {
            if here {
                found = map.next_value_seed(Find(&self.0[1..]))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        for number in 0.. {
            if Some(number) == self.0[0].index {
                let found = elements.next_element_seed(Find(&self.0[1..]))?.flatten();
                while elements.next_element::<IgnoredAny>()?.is_some() {}
                return Ok(found);
            }
            if elements.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
        }
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Whether a member's name is the wanted one.
struct Is<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<bool, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Is<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

/// The names of an object's members.
struct Names;

impl<'de> Visitor<'de> for Names {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut names = Vec::new();
        while let Some((name, IgnoredAny)) = map.next_entry()? {
            names.push(name);
        }
        Ok(names)
    }
}

/// Counts the elements of an array.
struct CountElements;

impl<'de> Visitor<'de> for CountElements {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<usize, A::Error> {
        let mut count = 0;
        while let Some(IgnoredAny) = elements.next_element()? {
            count += 1;
        }
        Ok(count)
    }
}
