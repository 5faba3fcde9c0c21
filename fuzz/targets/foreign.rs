//! Other systems' filters: any bytes are either refused with an error, or are a filter that answers, writes the same
//! bytes, accepts keys and merges with itself.
//!
//! The environment variable `UMBEL_FORMAT` names the format to read the bytes as, which gives each format its own
//! corpus and coverage. Without it they are read as the formats they are recognized as.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use umbel_foreign::{
    Content, Error, Foreign, ForeignFilter, ForeignInsert, Format, Key, recognize,
};
use umbel_fuzz::{figures, memory};

#[path = "../../crates/umbel-foreign/tests/all/small.rs"]
mod parameters;

use parameters::told;

#[global_allocator]
static MEMORY: memory::Counted = memory::Counted;

/// The variable that names the format.
const FORMAT: &str = "UMBEL_FORMAT";

fuzz_target!(|content: &[u8]| {
    match format() {
        Some(format) => check(format, content),
        None => {
            let found = recognize(content);
            assert!(found.is_sorted_by_key(|(_, certain)| !certain), "those certain come first");
            for (format, certain) in found {
                let read = Foreign::decode(format, content).expect("recognized by reading it");
                assert_eq!((read.format(), read.is_certain()), (format, certain));
                check(format, content);
            }
        }
    }
});

fn format() -> Option<Format> {
    static GIVEN: OnceLock<Option<Format>> = OnceLock::new();
    *GIVEN.get_or_init(|| {
        let name = std::env::var(FORMAT).ok()?;
        Some(name.parse().unwrap_or_else(|error| panic!("{FORMAT}: {error}")))
    })
}

fn check(format: Format, content: &[u8]) {
    let given = told(format);
    let decode = || Foreign::decode_with(format, content, &given);
    // JSON is unpacked, links of chains are listed.
    let Ok(read) = memory::within(4 * content.len() + 1024, decode) else { return };
    assert_eq!(read.format(), format);

    let texts =
        [&b""[..], b"key 1", &content[..content.len().min(9)], &content[content.len() / 2..]];
    let first = content.first_chunk::<8>().copied().unwrap_or_default();
    let mut keys = texts.map(Key::Bytes).to_vec();
    keys.extend([-1, i64::from_le_bytes(first)].map(Key::I64));
    keys.extend([Key::I32(7), Key::F64(f64::from_le_bytes(first)), Key::F32(-0.0)]);
    let answers = ask(&read, &keys);

    let receipt = read.receipt();
    figures::check_foreign(&receipt);
    let written = read.encode().unwrap();
    if format == Format::BitsAndBloomsJson {
        // White space and the order of members are the writer's choice; writing again changes nothing.
        let second = Foreign::decode(format, &written[..]).unwrap();
        assert_eq!(ask(&second, &keys), answers);
        assert!(second.encode().unwrap() == written);
    } else {
        assert!(written == content, "other bytes are written than were read");
    }

    // Merged with itself it is the same; only counts of insertions may change.
    let mut owned = read.to_owned().unwrap();
    assert_eq!(owned.union(&read).is_ok(), format.merges(), "agrees with itself");
    assert_eq!(ask(&owned, &keys), answers);
    // Receipts of small filters look up thousands of keys: at most one for most inputs.
    let again = content.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)) % 16 == 0;
    if again {
        assert_eq!(owned.receipt().set_bits, receipt.set_bits);
    }

    let mut filter = read.to_owned().unwrap();
    let mut held = Vec::new();
    for key in keys {
        let known = filter.contains(key);
        match filter.insert(key) {
            Ok(new) => {
                assert!(!new || known.is_ok_and(|known| !known), "{key:?} was there, and is new");
                if !filter.contains(key).unwrap() {
                    let ignored = format == Format::DataSketches && matches!(key, Key::Bytes([]));
                    assert!(ignored, "{key:?} was inserted and is absent");
                } else {
                    held.push(key);
                }
            }
            // A chain that cannot grow, or would grow beyond memory.
            Err(Error::Full { .. } | Error::TooLarge { .. } | Error::OutOfMemory { .. }) => {
                let before = known.expect("a key that is hashed");
                assert_eq!(filter.contains(key).unwrap(), before, "{key:?} was refused");
            }
            Err(error) => assert_eq!(Err(error.to_string()), known.map_err(|e| e.to_string())),
        }
    }
    filter.finish().unwrap();
    let file = filter.encode().unwrap();
    let written = Foreign::decode_with(format, &file[..], &given)
        .unwrap_or_else(|error| panic!("its own file is refused: {error}"));
    assert!(written.encode().unwrap() == file);
    if again {
        figures::check_foreign(&written.receipt());
    }
    for key in held {
        assert!(written.contains(key).unwrap(), "{key:?} is lost in a file");
    }
}

/// Its answers, which must be the same in a batch as one by one.
fn ask<S: Content>(filter: &Foreign<S>, keys: &[Key<'_>]) -> Vec<Option<bool>> {
    let answers: Vec<_> = keys.iter().map(|key| filter.contains(*key)).collect();
    let hashed = keys.iter().zip(&answers);
    let hashed = hashed.filter_map(|(key, answer)| Some((*key, *answer.as_ref().ok()?)));
    let (hashed, single): (Vec<_>, Vec<_>) = hashed.unzip();
    let mut found = vec![false; hashed.len()];
    filter.contains_all(&hashed, &mut found).unwrap();
    assert_eq!(found, single);
    answers.into_iter().map(Result::ok).collect()
}
