//! Finds values in a JSON text by their paths, without building the text in memory.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use umbel_numbers::nearest;

use super::{Flaw, Quoting, Value, list};

/// The paths of the fields of a key, read in one walk.
pub(super) struct Paths {
    /// The steps of each, from the outermost.
    paths: Vec<Vec<String>>,
    root: Node,
}

/// The parts of a value that paths refer to.
#[derive(Default)]
struct Node {
    /// The fields whose value it is.
    fields: Vec<usize>,
    /// Its members or elements that are on a path.
    within: Vec<(Step, Node)>,
}

struct Step {
    name: String,
    /// The name as a number, for an array.
    index: Option<usize>,
}

impl Paths {
    /// Each `a.b.0`, or after a `/` a JSON pointer (RFC 6901): `/a/b/0`, with `~1` for `/`, `~0` for `~`.
    pub(super) fn new<'t>(texts: impl IntoIterator<Item = &'t String>) -> Self {
        let steps = |text: &'t String| match text.strip_prefix('/') {
            Some(pointer) => {
                pointer.split('/').map(|name| name.replace("~1", "/").replace("~0", "~")).collect()
            }
            None => text.split('.').map(str::to_owned).collect(),
        };
        Self::of(texts.into_iter().map(steps).collect())
    }

    /// For each field, the name of the record's member that it is; `None` for a nested one.
    pub(super) fn members(&self) -> Vec<Option<String>> {
        let member = |steps: &Vec<String>| match &steps[..] {
            [name] => Some(name.clone()),
            _ => None,
        };
        self.paths.iter().map(member).collect()
    }

    fn of(paths: Vec<Vec<String>>) -> Self {
        let mut root = Node::default();
        for (field, steps) in paths.iter().enumerate() {
            let mut node = &mut root;
            for name in steps {
                let known = node.within.iter().position(|(step, _)| step.name == *name);
                let at = known.unwrap_or_else(|| {
                    // RFC 6901, section 4: without zeros in front.
                    let index =
                        name.parse().ok().filter(|index: &usize| index.to_string() == *name);
                    let step = Step { name: name.clone(), index };
                    node.within.push((step, Node::default()));
                    node.within.len() - 1
                });
                node = &mut node.within[at].1;
            }
            node.fields.push(field);
        }
        Self { paths, root }
    }

    /// Finds the value of each field, in their order, as written; checks the whole text.
    fn raw<'t>(&self, text: &'t [u8], found: &mut [Option<&'t str>]) -> Result<(), Flaw> {
        let node = &self.root;
        let mut find = |by_text| {
            let found = &mut *found;
            parse(text, |json| Find { node, found, by_text }.deserialize(json))
        };
        // A number with a path into it is parsed as a number, and may be valid JSON but too large for 64 bits.
        find(false).or_else(|error| find(true).map_err(|_| error))
    }
}

/// The raw text of a field without a value.
pub(super) const NULL: &str = "null";

/// Finds the value of each path, in their order; checks the whole text. A field that is null is missing.
pub(super) fn find(text: &[u8], paths: &Paths, values: &mut Vec<Value>) -> Result<(), Flaw> {
    // Most keys have few fields.
    let (mut few, mut many) = ([None; 4], Vec::new());
    let found = match few.get_mut(..paths.paths.len()) {
        Some(found) => found,
        None => {
            many.resize(paths.paths.len(), None);
            &mut many[..]
        }
    };
    paths.raw(text, found)?;
    for (field, raw) in found.iter().enumerate() {
        let Some(raw) = *raw else {
            let (found, names) = self::found(text, &paths.paths[field])?;
            return Err(Flaw::NoField { field, found, names });
        };
        // No value, as in SQL and jq.
        if raw == NULL {
            return Err(Flaw::NoField { field, found: NULL.to_owned(), names: None });
        }
        // A raw value is a slice of the text it was read from.
        let start = raw.as_ptr() as usize - text.as_ptr() as usize;
        let end = start + raw.len();
        values.push(match raw.as_bytes() {
            [b'"', inner @ .., b'"'] if memchr::memchr(b'\\', inner).is_none() => {
                Value { start: start + 1, end: end - 1, written: Quoting::Plain }
            }
            [b'"', ..] => Value { start, end, written: Quoting::Escaped },
            _ => Value { start, end, written: Quoting::Plain },
        });
    }
    Ok(())
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

/// The names of the innermost object that a path reaches: the first of them.
#[derive(Debug)]
pub(crate) struct Members {
    /// The steps that lead to it.
    depth: usize,
    names: Vec<String>,
}

/// Names that are kept for a message. A record may have one per 5 bytes, which as a `String` takes up to 56.
pub(super) const KEPT_NAMES: usize = 1000;

impl Members {
    /// The path probably meant by one that leads nowhere, in the same notation.
    pub(super) fn nearest(self, path: &str) -> Option<String> {
        let (first, separator) = if path.starts_with('/') { ("/", "/") } else { ("", ".") };
        let mut steps: Vec<_> = path[first.len()..].split(separator).collect();
        // As jq writes it.
        if first.is_empty() && steps.len() > 1 && steps[0].is_empty() {
            steps.remove(0);
        }
        let (before, rest) = steps.split_at_checked(self.depth)?;
        // A name may have the separator in it: {"x.y":1}.
        let has = |steps: usize| self.names.contains(&rest[..steps].join(separator));
        let whole = (1..=rest.len()).rev().find(|&steps| has(steps));
        let name = match whole {
            Some(steps) => rest[..steps].join(separator),
            None => nearest(rest.first()?, &self.names)?.clone(),
        };
        let after = &rest[whole.unwrap_or(1)..];
        let path = |name: &str, separator: &str| {
            before
                .iter()
                .copied()
                .chain([name])
                .chain(after.iter().copied())
                .collect::<Vec<_>>()
                .join(separator)
        };
        Some(match first.is_empty() && !name.contains('.') && !name.starts_with('/') {
            true => path(&name, "."),
            // As a JSON pointer (RFC 6901).
            false => format!("/{}", path(&name.replace('~', "~0").replace('/', "~1"), "/")),
        })
    }
}

/// What was found if a path leads nowhere: the names of the innermost object reached, for a message.
fn found(text: &[u8], steps: &[String]) -> Result<(String, Option<Members>), Flaw> {
    for depth in (0..steps.len()).rev() {
        let mut inner = [None];
        let inner = match depth {
            0 => text.trim_ascii(),
            // Text off the path need not be UTF-8, but a value that contains it cannot be a raw value.
            _ => match Paths::of(vec![steps[..depth].to_vec()]).raw(text, &mut inner) {
                Ok(()) => inner[0].unwrap_or_default().as_bytes(),
                Err(_) => continue,
            },
        };
        let Some(first) = inner.first() else { continue };
        let within = &steps[..depth];
        let within = if depth == 0 { String::new() } else { format!(" in {}", within.join(".")) };
        let found = match first {
            b'{' => {
                let (names, count) = parse(inner, |json| json.deserialize_map(Names))?;
                let found = match count {
                    0 => format!("an empty object{within}"),
                    _ => format!("the fields {}{within}", list(names.iter(), count)),
                };
                return Ok((found, Some(Members { depth, names })));
            }
            b'[' => {
                let count = parse(inner, |json| json.deserialize_seq(CountElements))?;
                format!("an array of {count}{within}")
            }
            b'"' => format!("a string{within}"),
            _ => format!("{}{within}", inner[..inner.len().min(40)].escape_ascii()),
        };
        return Ok((found, None));
    }
    Ok(("nothing".to_owned(), None))
}

/// Finds the wanted values within one value.
struct Find<'n, 'f, 'de> {
    node: &'n Node,
    found: &'f mut [Option<&'de str>],
    /// Whether only objects and arrays are searched, which takes longer: their content is read once per level.
    by_text: bool,
}

impl<'de> Find<'_, '_, 'de> {
    /// The same for entry `number` of `within`; if a name is there twice, the last one counts.
    fn within<'s>(&'s mut self, number: usize) -> Find<'s, 's, 'de> {
        Find { node: &self.node.within[number].1, found: self.found, by_text: self.by_text }
    }
}

impl Node {
    /// Forgets what was found.
    fn clear(&self, found: &mut [Option<&str>]) {
        self.fields.iter().for_each(|field| found[*field] = None);
        self.within.iter().for_each(|(_, node)| node.clear(found));
    }
}

impl<'de> DeserializeSeed<'de> for Find<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        self.node.clear(self.found);
        if self.node.fields.is_empty() {
            match self.node.within[..] {
                [] => return IgnoredAny::deserialize(json).map(drop),
                _ if !self.by_text => return json.deserialize_any(self),
                _ => {}
            }
        }
        let raw = <&RawValue>::deserialize(json)?.get();
        if !self.node.within.is_empty() && raw.starts_with(['{', '[']) {
            // A field within another one.
            let mut inner = serde_json::Deserializer::from_str(raw);
            inner
                .deserialize_any(Find { found: &mut *self.found, ..self })
                .map_err(D::Error::custom)?;
        }
        self.node.fields.iter().for_each(|field| self.found[*field] = Some(raw));
        Ok(())
    }
}

impl<'de> Visitor<'de> for Find<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(wanted) = map.next_key_seed(Which(&self.node.within))? {
            match wanted {
                Some(number) => map.next_value_seed(self.within(number))?,
                None => map.next_value::<IgnoredAny>().map(drop)?,
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
        for index in 0.. {
            let wanted = self.node.within.iter().position(|(step, _)| step.index == Some(index));
            let read = match wanted {
                Some(number) => elements.next_element_seed(self.within(number))?,
                None => elements.next_element::<IgnoredAny>()?.map(drop),
            };
            if read.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Which of the members on a path has a name.
struct Which<'n>(&'n [(Step, Node)]);

impl<'de> DeserializeSeed<'de> for Which<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Which<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|(step, _)| step.name == name))
    }
}

/// The first names of an object's members, and how many there are.
struct Names;

impl<'de> Visitor<'de> for Names {
    type Value = (Vec<String>, usize);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut names, mut count) = (Vec::new(), 0);
        while let Some((name, IgnoredAny)) = map.next_entry()? {
            count += 1;
            if count <= KEPT_NAMES {
                names.push(name);
            }
        }
        Ok((names, count))
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
