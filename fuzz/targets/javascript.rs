//! Filters of the npm package, of every kind and format: keys of all types added and looked up, merged, saved and opened again,
//! also with bytes changed. Every key added is found, and umbel's own filters answer as the library's do.

#![no_main]

extern crate alloc;

use std::fmt::Display;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use umbel::{AnyFilter, Filter, KeyForm, Kind};
use umbel_foreign::{Format, KeyType};

#[path = "../../crates/umbel-js/src/keys.rs"]
mod keys;
#[path = "../../crates/umbel-js/src/whole.rs"]
mod whole;
use keys::Key;
use whole::Set;

/// As in the package.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

#[derive(Arbitrary, Debug)]
struct Input {
    kind: u8,
    key_type: Option<u8>,
    keys: u16,
    /// Half of the rate's logarithm, without its sign.
    fpp: u8,
    added: Vec<Value>,
    asked: Vec<Value>,
    changes: Vec<(u16, u8)>,
}

#[derive(Arbitrary, Clone, Debug)]
enum Value {
    Text(String),
    Bytes(Vec<u8>),
    Small(i16),
    /// Of a filter of floats; for others, as an integer that JavaScript represents.
    Number(f64),
    Big(i64),
    Unsigned(u64),
}

impl Value {
    /// As `package/filter.js` accepts it.
    fn accepted(self, floats: bool) -> Self {
        const MOST: f64 = 9_007_199_254_740_991.0;
        match self {
            Self::Number(number) if !floats && number.is_nan() => Self::Small(0),
            Self::Number(number) if !floats => Self::Number(number.trunc().clamp(-MOST, MOST)),
            value => value,
        }
    }

    fn key(&self) -> Key<'_> {
        match self {
            Self::Text(text) => Key::Bytes(text.as_bytes()),
            Self::Bytes(bytes) => Key::Bytes(bytes),
            Self::Small(number) => Key::Number((*number).into()),
            Self::Number(number) => Key::Number(*number),
            Self::Big(number) => Key::Big((*number).into()),
            Self::Unsigned(number) => Key::Big((*number).into()),
        }
    }

    /// As `package/filter.js` gives it to the module.
    fn put(&self, room: &mut Vec<u8>) {
        let (sort, bytes) = match self.key() {
            Key::Bytes(bytes) => (0, bytes.to_vec()),
            Key::Number(number) => (1, number.to_le_bytes().to_vec()),
            Key::Big(number) => (2, number.to_le_bytes().to_vec()),
        };
        room.push(sort);
        room.extend((bytes.len() as u32).to_le_bytes());
        room.extend(bytes);
    }
}

fuzz_target!(|mut input: Input| {
    let kinds = Kind::ALL.iter().map(|kind| kind.name());
    let names: Vec<_> = kinds.chain(Format::ALL.iter().map(|format| format.name())).collect();
    let name = names[usize::from(input.kind) % names.len()];
    let key_type = input.key_type.map(|number| KeyType::ALL[usize::from(number) % KeyType::ALL.len()]);
    let words = format!("{name} {}", key_type.map_or("", KeyType::name));
    let fpp = 2f64.powf(-f64::from(input.fpp % 40 + 1) / 2.0);
    let make = || Set::make(words.trim_end(), u64::from(input.keys) % 1000 + 1, fpp);
    let Ok(mut set) = make() else { return };
    let floats = matches!(key_type, Some(KeyType::F32 | KeyType::F64));
    for values in [&mut input.added, &mut input.asked] {
        *values = values.drain(..).map(|value| value.accepted(floats)).collect();
    }
    let mut room = Vec::new();
    input.added.iter().for_each(|value| value.put(&mut room));
    let added = keys::keys(&room);
    assert_eq!(added.len(), input.added.len());
    // A refused key may be behind accepted ones.
    let all = set.add(&added).is_ok();
    let asked: Vec<_> = input.asked.iter().map(Value::key).collect();
    let answers = |set: &Set| [&added[..], &asked].map(|keys| set.has(keys).ok());
    let found = answers(&set);
    if all && !name.starts_with("stable") && !name.starts_with("window") {
        let found = found[0].as_ref().expect("keys that were added");
        assert!(found.iter().all(|found| *found == 1), "{words}: {found:?}");
    }
    let Ok(mut file) = set.save() else { return };
    check_own(&file, &added, found[0].as_deref());
    let reopened = || format!("{} {}", if matches!(set, Set::Own(_)) { "" } else { name }, key_type.map_or("", KeyType::name));
    let again = Set::open(reopened().trim_end(), &file).expect("what was saved");
    assert_eq!(found, answers(&again), "{words}");
    assert_eq!(set.receipt().0, again.receipt().0);
    if let Ok(mut other) = make()
        && other.add(&asked).is_ok()
        && other.merge(&again).is_ok()
        && all
    {
        let found = [&added, &asked].map(|keys| other.has(keys).expect("keys that were added"));
        assert!(found.concat().iter().all(|found| *found == 1), "{words}, merged");
    }
    if input.changes.is_empty() || file.is_empty() {
        return;
    }
    for (place, value) in &input.changes {
        let at = usize::from(*place) % file.len();
        file[at] ^= value;
    }
    for words in ["", reopened().trim_end()] {
        if let Ok(mut damaged) = Set::open(words, &file) {
            let _ = (damaged.has(&asked), damaged.add(&asked), damaged.save(), damaged.receipt());
        }
    }
});

/// Checks the answers against the library's: an integer is one, or its digits in a filter of text.
fn check_own(file: &[u8], keys: &[Key<'_>], found: Option<&[u8]>) {
    let (Ok(filter), Some(found)) = (AnyFilter::from_bytes(file), found) else { return };
    let form = filter.description().form();
    for (key, found) in keys.iter().zip(found) {
        let hash = match *key {
            Key::Bytes(bytes) => filter.hasher().hash(bytes),
            Key::Number(number) if form == Some(KeyForm::Text) => filter.hasher().hash(&(number as i64).to_string()),
            Key::Big(number) if form == Some(KeyForm::Text) => filter.hasher().hash(&number.to_string()),
            Key::Number(number) => filter.hasher().hash(number as i64 as u64),
            Key::Big(number) => filter.hasher().hash(number as u64),
        };
        assert_eq!(*found == 1, filter.contains_hash(hash), "{key:?}");
    }
}
