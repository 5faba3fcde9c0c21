//! Finds values in a JSON text by their paths, without building the text in memory.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::mem::replace;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Deserializer as Json;
use serde_json::de::SliceRead;
use serde_json::value::RawValue;

use umbel_numbers::nearest;

use super::normalize::number;
use super::{Flaw, Normalization, Quoting, Value, list};

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
    pub(super) fn new(texts: &[String]) -> Self {
        let steps = |text: &String| match text.strip_prefix('/') {
            Some(pointer) => {
                pointer.split('/').map(|name| name.replace("~1", "/").replace("~0", "~")).collect()
            }
            None => text.split('.').map(str::to_owned).collect(),
        };
        Self::of(texts.iter().map(steps).collect())
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
    fn raw(&self, text: &[u8], found: &mut [Value]) -> Result<(), Flaw> {
        let node = &self.root;
        let mut find = |by_text| {
            let found = &mut *found;
            parse(text, |json| Find { node, found, text, by_text }.deserialize(json))
        };
        // A number with a path into it is parsed as a number, and may be valid JSON but too large for 64 bits.
        find(false).or_else(|error| find(true).map_err(|_| error))
    }
}

/// The raw text of a missing field.
pub(super) const NULL: &str = "null";

/// Finds the value of each path, in their order; checks the whole text. A field that is null is missing.
/// If not `raw`, values other than strings count in their canonical form.
pub(super) fn find(
    text: &[u8],
    paths: &Paths,
    raw: bool,
    values: &mut Vec<Value>,
) -> Result<(), Flaw> {
    values.resize(paths.paths.len(), Value::MISSING);
    paths.raw(text, values)?;
    for (field, value) in values.iter_mut().enumerate() {
        if value.is_missing() {
            let (found, names) = self::found(text, &paths.paths[field])?;
            return Err(Flaw::NoField { field, found, names });
        }
        let Value { start, end, .. } = *value;
        match &text[start..end] {
            // Null is no value, as in SQL and jq.
            b"null" => return Err(Flaw::NoField { field, found: NULL.to_owned(), names: None }),
            [b'"', inner @ .., b'"'] if memchr::memchr(b'\\', inner).is_none() => {
                *value = Value::plain(start + 1, end - 1);
            }
            [b'"', ..] => value.written = Quoting::Escaped,
            other if raw || is_canonical(other) => {}
            _ => value.written = Quoting::Json,
        }
    }
    Ok(())
}

/// The most bytes of memory per byte of a value for its canonical form: `1e19` has 21 with a comma, and a member of five
/// bytes takes 48 while it is sorted.
pub(super) const GROWTH: u64 = 5 + 10;

/// The maximum digits of a number without an exponent in its canonical form: a 64-bit number's.
const DIGITS: usize = 20;

/// Whether a value is a literal, or a number that is clearly in its canonical form.
fn is_canonical(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    let (short, ends_with_zero) = (digits.len() <= DIGITS, digits.last() == Some(&b'0'));
    let points = digits.iter().filter(|byte| **byte == b'.').count();
    let is_plain = digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    match points {
        _ if !is_plain => matches!(value, b"true" | b"false" | b"null"),
        0 => (short || !ends_with_zero) && value != b"-0",
        _ => short && !ends_with_zero,
    }
}

/// Appends the canonical form of a valid value, equal for equal values: members by name (of one name the last), no blanks,
/// strings with the fewest escapes, numbers by their exact value, in decimal notation if that has at most 20 digits.
/// Strings with escapes that are no characters stay as they are; others are normalized, unless they are names.
pub(super) fn canonical(text: &[u8], normalization: Normalization, to: &mut Vec<u8>) {
    Canonical { text, at: 0, to, members: Vec::new(), normalization }.value();
}

/// Reads a valid value once, and writes it as it reads.
struct Canonical<'t> {
    text: &'t [u8],
    at: usize,
    to: &'t mut Vec<u8>,
    /// Where members of the present objects, their names and their values end in what is written.
    members: Vec<[usize; 3]>,
    normalization: Normalization,
}

impl Canonical<'_> {
    /// The next byte that is not a blank; 0 at the end.
    fn next(&mut self) -> u8 {
        let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        self.at += self.text[self.at..].iter().take_while(blank).count();
        self.text.get(self.at).copied().unwrap_or(0)
    }

    /// Writes a byte as it is.
    fn take(&mut self) {
        self.to.extend(self.text.get(self.at));
        self.at += 1;
    }

    /// Writes a value, without recursion: a line may nest values deeply enough to overflow the stack.
    fn value(&mut self) {
        const ARRAY: usize = usize::MAX;
        // The innermost open value, an array, or an object whose members are those from this place on; and those around it,
        // which most values do not have: no memory is allocated for one level.
        let (mut inner, mut open) = (None, Vec::new());
        loop {
            match self.next() {
                0 => return,
                b'"' => self.string(self.normalization),
                b'[' => {
                    open.extend(inner.replace(ARRAY));
                    self.take();
                }
                b'{' => {
                    open.extend(inner.replace(self.members.len()));
                    self.take();
                    self.name();
                }
                b',' => {
                    self.take();
                    if inner != Some(ARRAY) {
                        self.name();
                    }
                }
                b']' => {
                    inner = open.pop();
                    self.take();
                }
                b'}' => {
                    self.sort(inner.unwrap_or_default());
                    inner = open.pop();
                    self.take();
                }
                _ => self.word(),
            }
            if inner.is_none() {
                return;
            }
        }
    }

    /// Writes a number or a literal.
    fn word(&mut self) {
        let rest = &self.text[self.at..];
        let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
        let value = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
        self.at += value.len();
        match number(value) {
            Some(normal) if !is_canonical(value) => put_number(&normal, self.to),
            _ => self.to.extend_from_slice(value),
        }
    }

    /// Writes the name of a member, if one follows, and its colon.
    fn name(&mut self) {
        if self.next() == b'"' {
            let begin = self.to.len();
            self.string(Normalization::default());
            self.members.push([begin, self.to.len(), 0]);
            self.next();
            self.take();
        }
    }

    /// Sorts what is written of an object, whose members are those from `first` on.
    fn sort(&mut self, first: usize) {
        let name = |[begin, end, _]: &[usize; 3]| &self.to[*begin..*end];
        let members = &mut self.members[first..];
        if !members.is_sorted_by(|one, other| name(one) < name(other)) {
            let (open, mut end) = (members[0][0], self.to.len());
            for member in members.iter_mut().rev() {
                // In front of each but the first is a comma.
                member[2] = replace(&mut end, member[0] - 1);
            }
            members.sort_by(|one, other| name(one).cmp(name(other)));
            let last =
                |i: usize| members.get(i + 1).is_none_or(|next| name(next) != name(&members[i]));
            let kept = (0..members.len()).filter(|&i| last(i));
            let parts: Vec<_> = kept.map(|i| &self.to[members[i][0]..members[i][2]]).collect();
            let sorted = parts.join(&b","[..]);
            self.to.truncate(open);
            self.to.extend_from_slice(&sorted);
        }
        self.members.truncate(first);
    }

    fn string(&mut self, normalization: Normalization) {
        let rest = &self.text[self.at..];
        let (mut end, mut escaped) = (1, false);
        while let Some(at) = memchr::memchr2(b'"', b'\\', &rest[end..]) {
            end += at + 1;
            if rest[end - 1] == b'"' {
                break;
            }
            (escaped, end) = (true, end + 1);
        }
        let written = &rest[..end];
        self.at += end;
        let changes = escaped || !normalization.is_none();
        match changes.then(|| serde_json::from_slice::<String>(written)) {
            Some(Ok(text)) => {
                let mut text = text.into_bytes();
                normalization.apply(&mut text, 0);
                let text = str::from_utf8(&text).expect("text stays text");
                serde_json::to_writer(&mut *self.to, text).expect("memory takes all");
            }
            _ => self.to.extend_from_slice(written),
        }
    }
}

/// A number, which is its sign, its digits without zeros at either end, and a power of ten.
fn put_number(normal: &str, to: &mut Vec<u8>) {
    let (digits, power) = normal.split_once('e').unwrap_or((normal, "0"));
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let length = digits.len() as i64;
    let plain = match power.parse::<i64>() {
        Ok(0) => digits.to_owned(),
        Ok(power @ 1..) if length + power <= DIGITS as i64 => {
            digits.to_owned() + &"0".repeat(power as usize)
        }
        Ok(power @ ..0) if length.max(1 - power) <= DIGITS as i64 => {
            let digits = format!("{digits:0>width$}", width = (1 - power) as usize);
            let (whole, part) = digits.split_at(digits.len() - power.unsigned_abs() as usize);
            format!("{whole}.{part}")
        }
        _ => format!("{digits}e{power}"),
    };
    to.extend_from_slice(sign.as_bytes());
    to.extend_from_slice(plain.as_bytes());
}

/// Reads all of `text` as one value.
fn parse<'t, T>(
    text: &'t [u8],
    read: impl FnOnce(&mut Json<SliceRead<'t>>) -> serde_json::Result<T>,
) -> Result<T, Flaw> {
    let mut json = Json::from_slice(text);
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
    /// The path probably meant by a path that leads nowhere, in the same notation.
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
        let path = |name: &str, separator| [before, &[name], after].concat().join(separator);
        Some(match first.is_empty() && !name.contains('.') && !name.starts_with('/') {
            true => path(&name, "."),
            // As a JSON pointer (RFC 6901).
            false => format!("/{}", path(&name.replace('~', "~0").replace('/', "~1"), "/")),
        })
    }
}

/// The innermost object reached by a path that leads nowhere: its names, for a message.
fn found(text: &[u8], steps: &[String]) -> Result<(String, Option<Members>), Flaw> {
    for depth in (0..steps.len()).rev() {
        let mut inner = [Value::MISSING];
        let inner = match depth {
            0 => text.trim_ascii(),
            // Text off the path need not be UTF-8, but a value that contains it cannot be a raw value.
            _ => match Paths::of(vec![steps[..depth].to_vec()]).raw(text, &mut inner) {
                Ok(()) if !inner[0].is_missing() => &text[inner[0].start..inner[0].end],
                _ => continue,
            },
        };
        let Some(first) = inner.first() else { continue };
        let within = &steps[..depth];
        let within = if depth == 0 { String::new() } else { format!(" in {}", within.join(".")) };
        let found = match first {
            b'{' => {
                let (mut names, mut count) = (Vec::new(), 0);
                each_member(inner, "an object", |name, _: IgnoredAny| {
                    count += 1;
                    if count <= KEPT_NAMES {
                        names.push(name.into_owned());
                    }
                })?;
                let found = match count {
                    0 => format!("an empty object{within}"),
                    _ => format!("the fields {}{within}", list(names.iter(), count)),
                };
                return Ok((found, Some(Members { depth, names })));
            }
            b'[' => {
                let elements = parse(inner, |json| Vec::<IgnoredAny>::deserialize(json))?;
                format!("an array of {}{within}", elements.len())
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
    found: &'f mut [Value],
    /// The whole text.
    text: &'de [u8],
    /// Whether only objects and arrays are searched, which takes longer: their content is read once per level.
    by_text: bool,
}

impl<'de> Find<'_, '_, 'de> {
    /// The same for entry `number` of `within`; if a name is repeated, the last one counts.
    fn within<'s>(&'s mut self, number: usize) -> Find<'s, 's, 'de> {
        Find { node: &self.node.within[number].1, found: self.found, ..*self }
    }
}

impl Node {
    /// Forgets what was found.
    fn clear(&self, found: &mut [Value]) {
        self.fields.iter().for_each(|field| found[*field] = Value::MISSING);
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
            let find = Find { found: &mut *self.found, ..self };
            Json::from_str(raw).deserialize_any(find).map_err(D::Error::custom)?;
        }
        // A raw value is a slice of the text it was read from.
        let start = raw.as_ptr().addr() - self.text.as_ptr().addr();
        let value = Value::plain(start, start + raw.len());
        self.node.fields.iter().for_each(|field| self.found[*field] = value);
        Ok(())
    }
}

/// The methods of a visitor that ignores these values.
macro_rules! ignore {
    ($($visit:ident: $value:ty,)*) => {
        $(fn $visit<E>(self, _: $value) -> Result<(), E> {
            Ok(())
        })*
    };
}

impl<'de> Visitor<'de> for Find<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let within = &self.node.within;
        let number = |name: Cow<'_, str>| within.iter().position(|(step, _)| step.name == name);
        while let Some(wanted) = map.next_key_seed(Name(number))? {
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

    ignore! {
        visit_bool: bool,
        visit_i64: i64,
        visit_u64: u64,
        visit_f64: f64,
        visit_str: &str,
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Passes on a name; copies it only if it has escapes.
struct Name<F>(F);

impl<'de, T, F: FnOnce(Cow<'de, str>) -> T> DeserializeSeed<'de> for Name<F> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<T, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'de, T, F: FnOnce(Cow<'de, str>) -> T> Visitor<'de> for Name<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<T, E> {
        Ok((self.0)(Cow::Borrowed(name)))
    }

    fn visit_str<E>(self, name: &str) -> Result<T, E> {
        Ok((self.0)(Cow::Owned(name.to_owned())))
    }
}

/// Passes on the members of an object; for any other value, the error contains `expected`.
pub(super) fn each_member<'t, V: Deserialize<'t>>(
    text: &'t [u8],
    expected: &'static str,
    each: impl FnMut(Cow<'t, str>, V),
) -> Result<(), Flaw> {
    struct Each<F, V> {
        expected: &'static str,
        each: F,
        value: PhantomData<V>,
    }
    impl<'de, V: Deserialize<'de>, F: FnMut(Cow<'de, str>, V)> Visitor<'de> for Each<F, V> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.expected)
        }

        fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
            while let Some(name) = map.next_key_seed(Name(|name| name))? {
                (self.each)(name, map.next_value()?);
            }
            Ok(())
        }
    }

    parse(text, |json| json.deserialize_map(Each { expected, each, value: PhantomData }))
}
