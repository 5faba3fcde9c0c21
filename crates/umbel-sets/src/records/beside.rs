//! How a row of one input and one of another become one: the second one's columns, words or members, without its key,
//! follow the first one's. Values are written unchanged, with their quotes.

use std::borrow::Cow;
use std::collections::HashSet;

use memchr::{memchr, memchr_iter};
use serde_json::value::RawValue;

use super::{Flaw, Format, Head, Kind, Value, columns, json, text};
use crate::Error;

/// The columns or members of two inputs' rows.
pub(crate) struct Beside {
    kind: Kind,
    left: Side,
    right: Side,
    /// Prefixes for the names of either input: of columns that the other one also has, and of all members, because
    /// later records' members are unknown.
    prefixes: Prefixes<String>,
    /// The header of joined rows, with its end.
    pub(crate) header: Option<Vec<u8>>,
}

/// A prefix for names of the first input, and one for names of the second.
pub(crate) type Prefixes<T> = [Option<T>; 2];

/// The rows of one input.
struct Side {
    /// The columns of the key.
    key: Vec<usize>,
    /// All columns; 0 for an input without rows.
    width: usize,
    /// The members of a JSON object that are the key; `None` for nested ones.
    members: Vec<Option<String>>,
}

/// The start of one input.
pub(crate) struct Start<'f> {
    pub(crate) name: &'f str,
    pub(crate) head: Head<'f>,
    /// Its first record, which may be a header.
    pub(crate) row: Option<Vec<u8>>,
}

impl Side {
    fn new(start: &Start<'_>, format: &Format) -> Result<Self, Error> {
        let Start { name, head, row } = start;
        let width = row.as_deref().map_or(Ok(None), |row| width(format.kind, text(row)));
        let width = width.map_err(|flaw| format.error(flaw, name, 0))?.unwrap_or(0);
        Ok(Self { key: head.columns.clone(), width, members: format.paths(head.other).members() })
    }

    fn check(&self, found: usize) -> Result<(), Flaw> {
        if found == self.width { Ok(()) } else { Err(Flaw::Ragged { found, columns: self.width }) }
    }
}

impl Beside {
    pub(crate) fn new(
        format: &Format,
        starts: [Start<'_>; 2],
        prefixes: Prefixes<&str>,
    ) -> Result<Self, Error> {
        let [left, right] = [Side::new(&starts[0], format)?, Side::new(&starts[1], format)?];
        for (start, side) in starts.iter().zip([&left, &right]) {
            let mut fields = match format.kind {
                Kind::Json => side.members.iter().flatten().cloned().collect(),
                _ => side.key.iter().map(|column| (column + 1).to_string()).collect::<Vec<_>>(),
            };
            fields.sort_unstable();
            if let Some(twice) = fields.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(Error::KeyTwice { name: start.name.into(), field: twice[0].clone() });
            }
        }
        let (kind, prefixes) = (format.kind, prefixes.map(|prefix| prefix.map(str::to_owned)));
        let mut beside = Self { kind, left, right, prefixes, header: None };
        if format.header {
            beside.header = beside.head(format, &starts)?;
        }
        Ok(beside)
    }

    /// The header of all columns, with its end.
    fn head(&self, format: &Format, starts: &[Start<'_>; 2]) -> Result<Option<Vec<u8>>, Error> {
        let [Some(left), Some(right)] = [&starts[0].row, &starts[1].row] else {
            let only = starts.iter().find_map(|start| start.row.as_deref());
            return Ok(only.map(|row| [text(row), b"\n"].concat()));
        };
        let names = [format.names(starts[0].name, left)?, format.names(starts[1].name, right)?];
        let of = |side: usize, key: &[usize]| -> HashSet<&[u8]> {
            let columns = names[side].iter().enumerate();
            columns.filter(|(column, _)| !key.contains(column)).map(|(_, name)| &name[..]).collect()
        };
        let (lefts, rights) = (of(0, &[]), of(1, &self.right.key));
        let prefixed = |side: usize, others: &HashSet<&[u8]>, name: &[u8]| {
            let prefix = self.prefixes[side].as_ref().filter(|_| others.contains(name));
            [prefix.map_or(&[][..], |prefix| prefix.as_bytes()), name].concat()
        };
        let (mut header, mut taken) = (Vec::new(), HashSet::new());
        for (column, name) in names[0].iter().enumerate() {
            let others = if self.left.key.contains(&column) { &HashSet::new() } else { &rights };
            let name = prefixed(0, others, name);
            self.kind.push(column, &name, &mut header);
            taken.insert(name);
        }
        if self.prefixes[0].is_none() {
            // As written.
            text(left).clone_into(&mut header);
        }
        for (column, name) in names[1].iter().enumerate() {
            if self.right.key.contains(&column) {
                continue;
            }
            let own = prefixed(1, &lefts, name);
            self.kind.push(1, &own, &mut header);
            if !taken.insert(own) {
                let twice = names[1].iter().filter(|other| *other == name).count() > 1;
                let field = String::from_utf8_lossy(name).into_owned();
                return Err(Error::SameColumn { name: starts[1].name.to_owned(), field, twice });
            }
        }
        header.extend_from_slice(self.line_end(left));
        Ok(Some(header))
    }

    /// How many columns the rows of either input have.
    pub(crate) fn widths(&self) -> [usize; 2] {
        [self.left.width, self.right.width]
    }

    /// Appends what a row of the second input adds to one of the first.
    pub(crate) fn add(&self, row: &[u8], to: &mut Vec<u8>) -> Result<(), Flaw> {
        if self.kind == Kind::Json {
            let mut others = last_of_each_name(members(text(row))?);
            let keys = self.right.members.iter().flatten();
            others.retain(|(name, _)| !keys.clone().any(|key| key == name));
            others.iter_mut().for_each(|(name, _)| self.put_prefix(1, name));
            write_members(&others, to);
            return Ok(());
        }
        let found = self.kind.each(row, |column, value| {
            if !self.right.key.contains(&column) {
                to.push(self.kind.delimiter());
                to.extend_from_slice(self.kind.written(row, value));
            }
            Ok(())
        })?;
        if matches!(self.kind, Kind::Fields(_)) { Ok(()) } else { self.right.check(found) }
    }

    /// Appends a row of the first input with what one of the second adds, and the end of the row.
    pub(crate) fn both(&self, left: &[u8], added: &[u8], to: &mut Vec<u8>) -> Result<(), Flaw> {
        let row = text(left);
        match self.kind {
            Kind::Json => self.object(&self.first(row)?, added, to)?,
            Kind::Fields(_) => {
                Self::words(row, &self.left.key, to);
                to.extend_from_slice(added);
            }
            _ => {
                self.left.check(width(self.kind, row)?.unwrap_or(0))?;
                to.extend_from_slice(row);
                to.extend_from_slice(added);
            }
        }
        to.extend_from_slice(self.line_end(left));
        Ok(())
    }

    /// Appends a row of the first input without a partner.
    pub(crate) fn left(&self, left: &[u8], to: &mut Vec<u8>) -> Result<(), Flaw> {
        let missing = match self.kind {
            Kind::Json => {
                to.extend_from_slice(&self.first(text(left))?);
                to.push(b'\n');
                return Ok(());
            }
            Kind::Fields(_) => 0,
            _ => self.right.width.saturating_sub(self.right.key.len()),
        };
        self.both(left, &vec![self.kind.delimiter(); missing], to)
    }

    /// Appends a row of the second input without a partner: its key is put in the first input's key columns.
    pub(crate) fn right(&self, right: &[u8], to: &mut Vec<u8>) -> Result<(), Flaw> {
        let row = text(right);
        match self.kind {
            Kind::Json => self.renamed(row, to)?,
            Kind::Fields(_) => Self::words(row, &self.right.key, to),
            _ if self.left.width == 0 => to.extend_from_slice(row),
            _ => {
                let mut keys = vec![&[][..]; self.right.key.len()];
                self.kind.each(right, |column, value| {
                    let same = self.right.key.iter().zip(&mut keys);
                    let written = self.kind.written(right, value);
                    same.filter(|(key, _)| **key == column).for_each(|(_, key)| *key = written);
                    Ok(())
                })?;
                for column in 0..self.left.width {
                    if column > 0 {
                        to.push(self.kind.delimiter());
                    }
                    if let Some(at) = self.left.key.iter().position(|&key| key == column) {
                        to.extend_from_slice(keys[at]);
                    }
                }
                self.add(right, to)?;
            }
        }
        to.extend_from_slice(self.line_end(right));
        Ok(())
    }

    /// The key's words, and then the others.
    fn words(row: &[u8], key: &[usize], to: &mut Vec<u8>) {
        let words: Vec<Value> = columns::between_blanks(row).collect();
        let others = (0..words.len()).filter(|column| !key.contains(column));
        for (i, column) in key.iter().copied().chain(others).enumerate() {
            if i > 0 {
                to.push(b' ');
            }
            let word = words.get(column).map_or(&[][..], |word| &row[word.start..word.end]);
            to.extend_from_slice(word);
        }
    }

    /// An object with added members.
    fn object(&self, row: &[u8], added: &[u8], to: &mut Vec<u8>) -> Result<(), Flaw> {
        let own = members(row)?;
        let row = row.trim_ascii();
        to.extend_from_slice(row[..row.len() - 1].trim_ascii_end());
        let object = [b"{", added, b"}"].concat();
        /// From this many members on, a set is faster than comparing each.
        const MANY: usize = 64;
        let names = || own.iter().map(|(name, _)| &**name);
        let set: Option<HashSet<&str>> = (own.len() >= MANY).then(|| names().collect());
        let taken = |name: &str| match &set {
            Some(set) => set.contains(name),
            None => names().any(|own| own == name),
        };
        let others = members(&object)?;
        if let Some((name, _)) = others.iter().find(|(name, _)| taken(name)) {
            return Err(Flaw::SameMember(name.to_string()));
        }
        if !own.is_empty() && !others.is_empty() {
            to.push(b',');
        }
        to.extend_from_slice(added);
        to.push(b'}');
        Ok(())
    }

    /// An object of the second input with its key named as in the first.
    fn renamed(&self, row: &[u8], to: &mut Vec<u8>) -> Result<(), Flaw> {
        let names = || self.right.members.iter().zip(&self.left.members);
        if self.prefixes[1].is_none()
            && names().all(|(right, left)| right == left || left.is_none())
        {
            to.extend_from_slice(row);
            return Ok(());
        }
        let mut members = last_of_each_name(members(row)?);
        for (name, _) in &mut members {
            let same = names().find(|(right, _)| right.as_deref() == Some(&**name));
            match same.and_then(|(_, left)| left.clone()) {
                Some(left) => *name = left.into(),
                None => self.put_prefix(1, name),
            }
        }
        if let Some(&again) = repeated(&members).first() {
            return Err(Flaw::SameMember(members[again].0.to_string()));
        }
        to.push(b'{');
        write_members(&members, to);
        to.push(b'}');
        Ok(())
    }

    /// An object of the first input, with its names as they are joined.
    fn first<'r>(&self, row: &'r [u8]) -> Result<Cow<'r, [u8]>, Flaw> {
        if self.prefixes[0].is_none() {
            return Ok(row.into());
        }
        let (mut members, mut object) = (last_of_each_name(members(row)?), vec![b'{']);
        for (name, _) in &mut members {
            if !self.left.members.iter().flatten().any(|key| key == name) {
                self.put_prefix(0, name);
            }
        }
        write_members(&members, &mut object);
        object.push(b'}');
        Ok(object.into())
    }

    fn put_prefix(&self, side: usize, name: &mut Cow<'_, str>) {
        if let Some(prefix) = &self.prefixes[side] {
            name.to_mut().insert_str(0, prefix);
        }
    }

    fn line_end(&self, row: &[u8]) -> &[u8] {
        match &self.kind {
            Kind::Csv(_) | Kind::Tsv(_) if row.ends_with(b"\r") => b"\r\n",
            Kind::Csv(_) | Kind::Tsv(_) | Kind::Json => b"\n",
            Kind::Lines(end) | Kind::Fields(end) => std::slice::from_ref(end),
        }
    }
}

/// How many columns a row has; none if its kind has no columns. Refuses anything but an object for JSON.
pub(crate) fn width(kind: Kind, row: &[u8]) -> Result<Option<usize>, Flaw> {
    match kind {
        Kind::Json => members(row).map(|_| None),
        Kind::Lines(_) | Kind::Fields(_) => Ok(None),
        Kind::Csv(_) if memchr(b'"', row).is_some() => kind.each(row, |_, _| Ok(())).map(Some),
        Kind::Csv(_) | Kind::Tsv(_) => Ok(Some(memchr_iter(kind.delimiter(), row).count() + 1)),
    }
}

/// The names and values of an object.
pub(crate) type Members<'t> = Vec<(Cow<'t, str>, &'t RawValue)>;

fn write_members(members: &Members<'_>, to: &mut Vec<u8>) {
    for (i, (name, value)) in members.iter().enumerate() {
        if i > 0 {
            to.push(b',');
        }
        serde_json::to_writer(&mut *to, name).expect("memory takes all");
        to.push(b':');
        to.extend_from_slice(value.get().as_bytes());
    }
}

/// The members whose name is repeated later, in order.
fn repeated(members: &Members<'_>) -> Vec<usize> {
    let mut order: Vec<u32> = (0..members.len() as u32).collect();
    let name = |i: u32| &*members[i as usize].0;
    order.sort_unstable_by_key(|&i| (name(i), i));
    let again = order.windows(2).filter(|pair| name(pair[0]) == name(pair[1]));
    let mut again: Vec<usize> = again.map(|pair| pair[0] as usize).collect();
    again.sort_unstable();
    again
}

/// If an object has a name twice, the last one counts.
fn last_of_each_name(mut members: Members<'_>) -> Members<'_> {
    let mut again = repeated(&members).into_iter().peekable();
    let mut number = 0..;
    members.retain(|_| again.next_if_eq(&number.next().expect("no end")).is_none());
    members
}

/// The members of an object.
pub(crate) fn members(row: &[u8]) -> Result<Members<'_>, Flaw> {
    let mut members = Vec::new();
    let expected = "an object, whose members can be joined to others";
    json::each_member(row, expected, |name, value| members.push((name, value)))?;
    Ok(members)
}
