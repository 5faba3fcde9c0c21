//! Filters of the npm package, of every kind and format: keys of all types are added and looked up; filters are merged, saved and
//! opened again, also with bytes changed. No key is lost, and umbel's own filters answer as the library's do.

#![no_main]

extern crate alloc;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use umbel::{AnyFilter, Filter, KeyForm, Kind};
use umbel_foreign::{Format, KeyType};
use umbel_fuzz::memory;

// The package's functions for JavaScript are named like the system's, so it cannot be linked.
#[path = "../../crates/umbel-js/src/failure.rs"]
mod failure;
#[path = "../../crates/umbel-js/src/keys.rs"]
mod keys;
#[path = "../../crates/umbel-js/src/whole.rs"]
mod whole;

use failure::{Failure, Result};
use keys::Key;
use whole::Set;

#[global_allocator]
static MEMORY: memory::Counted = memory::Counted;

#[derive(Arbitrary, Debug)]
struct Input {
    /// A kind or a format, by its number.
    name: u8,
    key_type: Option<u8>,
    keys: u16,
    /// Twice the bits per key.
    bits: u8,
    added: Vec<Value>,
    asked: Vec<Value>,
    changes: Vec<(u16, u8)>,
}

#[derive(Arbitrary, Debug)]
enum Value {
    Text(String),
    Bytes(Vec<u8>),
    Small(i16),
    Number(f64),
    Big(i64),
    Unsigned(u64),
}

impl Value {
    /// The bytes of values, as `package/filter.js` passes them. Of numbers, it accepts floats for filters of floats, and for
    /// others integers that JavaScript represents.
    fn passed(values: &[Self], floats: bool) -> Vec<u8> {
        const MOST: f64 = 9_007_199_254_740_991.0;
        let number = |number: f64| match floats {
            true => number,
            // What is not a number becomes 0.
            false => (number.trunc() as i64 as f64).clamp(-MOST, MOST),
        };
        let mut room = Vec::new();
        for value in values {
            let (sort, bytes) = match value {
                Self::Text(text) => (0, text.as_bytes().to_vec()),
                Self::Bytes(bytes) => (0, bytes.clone()),
                Self::Small(small) => (1, f64::from(*small).to_le_bytes().to_vec()),
                Self::Number(float) => (1, number(*float).to_le_bytes().to_vec()),
                Self::Big(big) => (2, i128::from(*big).to_le_bytes().to_vec()),
                Self::Unsigned(big) => (2, i128::from(*big).to_le_bytes().to_vec()),
            };
            room.push(sort);
            room.extend((bytes.len() as u32).to_le_bytes());
            room.extend(bytes);
        }
        room
    }
}

fuzz_target!(|input: Input| {
    let kinds = Kind::ALL.iter().map(|kind| kind.name());
    let names: Vec<_> = kinds.chain(Format::ALL.iter().map(|format| format.name())).collect();
    let name = names[usize::from(input.name) % names.len()];
    let key_type = input.key_type.map(|at| KeyType::ALL[usize::from(at) % KeyType::ALL.len()]);
    let typed = |name: &str| format!("{name} {}", key_type.map_or("", KeyType::name));
    let fpp = 2f64.powf(-f64::from(input.bits % 40 + 1) / 2.0);
    let make = || Set::make(typed(name).trim_end(), u64::from(input.keys) % 1000 + 1, fpp, false);
    let Ok(mut set) = make() else { return };

    let floats = matches!(key_type, Some(KeyType::F32 | KeyType::F64));
    let passed = [&input.added, &input.asked].map(|values| Value::passed(values, floats));
    let [added, asked] = passed.each_ref().map(|room| keys::keys(room));
    assert_eq!([added.len(), asked.len()], [input.added.len(), input.asked.len()]);
    // DataSketches ignores empty texts. A refused key may be behind accepted ones.
    let empty = |key: &Key<'_>| name == "datasketches" && matches!(key, Key::Bytes([]));
    let all = set.add(&added).is_ok() && !added.iter().chain(&asked).any(empty);
    let answers = |set: &Set| [&added, &asked].map(|keys| set.has(keys).ok());
    let found = answers(&set);
    if all && !matches!(name, "stable" | "window") {
        assert!(found[0].iter().flatten().all(|found| *found == 1), "{name}: {found:?}");
    }
    let Ok(mut file) = set.save() else { return };
    if let (Ok(own), Some(found)) = (AnyFilter::from_bytes(&file), &found[0]) {
        let library = added.iter().map(|key| u8::from(contains(&own, key)));
        assert!(library.eq(found.iter().copied()), "{added:?}: {found:?}");
    }
    let opened_as = typed(if matches!(set, Set::Own(_)) { "" } else { name });
    let again = Set::open(opened_as.trim_end(), &file);
    let again = again.unwrap_or_else(|Failure(error)| panic!("{name}: {error}"));
    assert_eq!(found, answers(&again), "{opened_as}");
    assert_eq!(set.receipt().0, again.receipt().0);
    if let Ok(mut other) = make()
        && other.add(&asked).is_ok()
        && other.merge(&again).is_ok()
        && all
    {
        let found = [added, asked.clone()].map(|keys| other.has(&keys).ok());
        assert!(found.iter().flatten().flatten().all(|found| *found == 1), "{name}, merged");
    }
    if input.changes.is_empty() || file.is_empty() {
        return;
    }
    for (place, value) in &input.changes {
        let at = usize::from(*place) % file.len();
        file[at] ^= value;
    }
    for opened_as in ["", opened_as.trim_end()] {
        if let Ok(mut damaged) = Set::open(opened_as, &file) {
            let _ = (damaged.has(&asked), damaged.add(&asked), damaged.save(), damaged.receipt());
        }
    }
});

/// The library's answer: an integer is one, or its digits in a filter of text.
fn contains(filter: &AnyFilter, key: &Key<'_>) -> bool {
    let number = match *key {
        Key::Bytes(bytes) => return filter.contains(bytes),
        Key::Number(number) => number as i128,
        Key::Big(number) => number,
    };
    match filter.description().form() {
        Some(KeyForm::Text) => filter.contains(&number.to_string()),
        _ => filter.contains(number as u64),
    }
}
