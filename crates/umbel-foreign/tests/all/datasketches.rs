//! Filters exchanged with DataSketches in Rust. `cargo x test formats` does so with systems that need Java or Python.

use std::hash::{Hash, Hasher};

use datasketches::bloom::{BloomFilter, BloomFilterBuilder};
use umbel_foreign::{Foreign, ForeignFilter, ForeignInsert, Format, Key, Parameters};

/// A key as the crate must hash it to agree with Java, where text is not followed by a byte 0xff.
struct Raw<'a>(Key<'a>);

impl Hash for Raw<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.0 {
            Key::Bytes(bytes) => state.write(bytes),
            Key::I64(number) => state.write(&number.to_le_bytes()),
            _ => unreachable!("no other keys here"),
        }
    }
}

fn exchange(seed: i64, fpp: f64, key: impl Fn(u64) -> Key<'static>) {
    // The crate always counts the set bits.
    let given = Parameters { seed: Some(seed), ..Parameters::for_keys(2500, fpp) }.with("counted");
    let theirs = BloomFilterBuilder::with_accuracy(2500, fpp).seed(seed as u64).build();
    let (mut theirs, mut ours) =
        (theirs.unwrap(), Foreign::new(Format::DataSketches, &given).unwrap());
    for number in 0..2000 {
        theirs.insert(Raw(key(number)));
        ours.insert(key(number)).unwrap();
    }
    assert_eq!(ours.encode().unwrap(), theirs.serialize(), "other bytes of the same keys");
    let read = Foreign::decode(Format::DataSketches, theirs.serialize()).unwrap();
    let mut read = read.to_owned().unwrap();
    (2000..2200).for_each(|number| assert!(read.insert(key(number)).is_ok()));
    let back = BloomFilter::deserialize(&read.encode().unwrap()).unwrap();
    assert!((0..2200).all(|number| back.contains(&Raw(key(number)))));
    for number in 10_000..12_000 {
        assert_eq!(back.contains(&Raw(key(number))), read.contains(key(number)).unwrap());
    }
}

#[test]
fn texts_go_both_ways() {
    exchange(9001, 0.05, |number| {
        let is_wide = number % 3 == 0;
        let text = if is_wide { format!("größe-{number}-😀") } else { format!("key-{number}") };
        Key::Bytes(text.leak().as_bytes())
    });
}

#[test]
fn integers_go_both_ways() {
    let key = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64 | 1 << 40;
    exchange(-3, 0.1, |number| Key::I64(key(number)));
}
