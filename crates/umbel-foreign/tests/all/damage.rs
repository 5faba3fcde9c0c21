//! No input makes a reader panic, and invalid files are refused.

use std::sync::OnceLock;

use proptest::prelude::*;
use umbel_foreign::{Foreign, ForeignFilter, ForeignInsert, Format, Key, Parameters, recognize};

use super::long;
use super::manifest::{manifests, settings};
use super::small::{small, told};

/// A small filter of each format with a few keys in it, and larger ones of formats that grow.
fn files() -> Vec<(Format, Vec<u8>)> {
    static FILES: OnceLock<Vec<(Format, Vec<u8>)>> = OnceLock::new();
    FILES.get_or_init(make_files).clone()
}

fn make_files() -> Vec<(Format, Vec<u8>)> {
    let all = || Format::ALL.iter().copied();
    let small_ones = all().map(|format| (format, filled(format, 8)));
    let grown = all().filter(|format| format.grows()).map(|format| (format, filled(format, 100)));
    small_ones.chain(grown).collect()
}

fn filled(format: Format, keys: u32) -> Vec<u8> {
    let texts: Vec<String> = (0..keys).map(|i| format!("key {i}")).collect();
    let keys = texts.iter().map(|text| Key::from(text.as_str()));
    Foreign::build(format, &small(format), keys).unwrap().encode().unwrap()
}

/// Whether a file of this format contains its own length.
fn is_measured(format: Format) -> bool {
    use Format::{LevelDb, ParquetBits, RocksDb, RocksDbLegacy, SaltedSha1};
    !matches!(format, ParquetBits | LevelDb | RocksDb | RocksDbLegacy | SaltedSha1)
}

/// Reads the file, and tries every operation on the result.
fn try_all(format: Format, content: &[u8]) -> bool {
    let Ok(read) = Foreign::decode_with(format, content, &told(format)) else { return false };
    let keys = [Key::from("key 1"), Key::from("other"), Key::I64(-7), Key::F32(1.5), Key::from("")];
    for key in keys {
        let _ = read.contains(key);
    }
    let receipt = read.receipt();
    assert!(receipt.fill >= 0.0 && receipt.fill <= 1.0, "{format}: {receipt:?}");
    assert!(receipt.fpp >= 0.0 && receipt.fpp <= 1.0, "{format}: {receipt:?}");
    let written = read.encode().unwrap();
    if format != Format::BitsAndBloomsJson {
        assert!(written == content, "{format}");
    }
    let mut owned = read.to_owned().unwrap();
    for key in keys {
        if owned.insert(key).is_ok() && !matches!(key, Key::Bytes([])) {
            assert!(owned.contains(key).unwrap(), "{format}: {key:?} is absent");
        }
    }
    assert_eq!(owned.union(&read).is_ok(), format.merges(), "{format}");
    owned.finish().unwrap();
    true
}

#[test]
fn truncations_are_refused() {
    for (format, content) in files() {
        assert!(try_all(format, &content), "{format}");
        for length in 0..content.len() {
            let passed = try_all(format, &content[..length]);
            assert!(!passed || !is_measured(format), "{format}: {length} of its bytes");
        }
        let longer = [&content[..], &[0]].concat();
        // The zero byte is not a protobuf field's tag, nor JSON white space.
        assert!(!try_all(format, &longer) || !is_measured(format), "{format}: a byte more");
    }
}

#[test]
fn vectors_cut_short_are_refused() {
    for manifest in manifests() {
        for vector in &manifest.vectors {
            let format = settings(&manifest.peer, vector).0;
            let content = vector.content(&manifest.folder);
            let bytes = content.len();
            for length in (0..bytes.min(300)).chain(bytes.saturating_sub(70)..bytes) {
                let read = Foreign::decode(format, &content[..length]);
                assert!(read.is_err() || !is_measured(format), "{}: {length}", vector.name);
            }
        }
    }
}

#[test]
fn flipped_bits_never_make_a_reader_panic() {
    for (format, content) in files() {
        // A partial run flips every third bit, which covers each bit of a byte over some bytes.
        for bit in (0..8 * content.len()).step_by(long(1, 3)) {
            let mut flipped = content.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            try_all(format, &flipped);
        }
        for byte in 0..content.len().min(120) {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut changed = content.clone();
                changed[byte] = value;
                try_all(format, &changed);
            }
        }
    }
}

#[test]
fn every_format_is_recognized_by_its_own_files() {
    for (format, content) in files() {
        let found = recognize(&content);
        let listed = found.iter().any(|(found, _)| *found == format);
        assert!(listed || !format.required().is_empty(), "{format}: {found:?}");
        assert!(found.is_sorted_by_key(|(_, certain)| !certain), "{found:?}");
    }
    assert!(recognize(b"").iter().all(|(_, certain)| !certain));
}

/// Bytes of small files, and values that files never have there.
#[test]
fn fields_out_of_range_are_refused() {
    let sized = |bits| Parameters { bits: Some(bits), probes: Some(3), ..Parameters::default() };
    let digest = Parameters { keys: Some(10), bits_per_key: Some(9.0), ..Parameters::default() };
    let planned = Parameters::for_keys;
    for (format, given, changes) in [
        (Format::Guava, planned(1, 1e-6), "0:2 0:255 1:0 2:128 5:0 5:2"),
        (Format::Hadoop, sized(77), "3:254 4:128 4:1 7:0 8:2 9:128 12:0 12:81 22:32"),
        (Format::BitsAndBlooms, sized(70), "0:1 7:0 7:71 15:0 8:1 23:71 32:1 39:64"),
        // 7 slices of 3 bits: three bytes, three bits of padding.
        (Format::Pybloom4, planned(2, 0.01), "7:191 7:127 8:0 8:9 10:2 23:255 16:0 24:0 42:32"),
        (Format::Pybloom4, planned(2, 0.5), "6:240"), // a rate of 1
        (Format::Squid, digest, "1:2 3:6 7:0 7:11 19:13 20:0 20:5 21:5 22:1 127:9"),
        (
            Format::RedisBloom,
            planned(4, 0.01),
            "0:4 8:0 8:2 11:1 12:16 20:0 20:15 28:1 36:4 51:191 60:5 72:64 72:7",
        ),
        // Versions, rate, tightening, seed, links, lengths, hashes, capacity, items.
        (
            Format::ValkeyBloom,
            planned(4, 0.01),
            "0:2 12:64 20:64 21:1 21:2 22:0 22:2 30:0 38:2 39:9 47:0 50:1 95:128 96:0 103:128",
        ),
    ] {
        let mut filter = Foreign::new(format, &given).unwrap();
        filter.insert_all(&["1", "2", "3"].map(Key::from)).unwrap();
        let file = filter.encode().unwrap();
        assert!(Foreign::decode(format, &file[..]).is_ok(), "{format}");
        for change in changes.split(' ') {
            let (byte, value) = change.split_once(':').unwrap();
            let mut changed = file.clone();
            changed[byte.parse::<usize>().unwrap()] = value.parse().unwrap();
            assert!(Foreign::decode(format, changed).is_err(), "{format} {change}");
        }
    }
    assert!(Foreign::new(Format::BitsAndBlooms, &Parameters::default()).is_err());
}

#[test]
fn messages_name_field_value_and_remedy() {
    let says = |format: Format, content: &[u8], words: &[&str]| {
        let error = Foreign::decode(format, content).unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    };
    says(Format::Hadoop, &[0; 20], &["hadoop", "version", "0"]);
    says(Format::Squid, &[0; 20], &["squid", "version", "3 or later"]);
    says(Format::RedisBloom, &[0; 10], &["redisbloom", "10", "truncated"]);
    says(Format::BitsAndBloomsJson, b"{\"m\":7", &["bits-and-blooms-json", "JSON", "m and k"]);
    says(Format::SaltedSha1, b"abc", &["salted-sha1", "salts"]);
    let old_orc = [0x11, 0, 0, 0, 0, 0, 0, 0, 0];
    says(Format::Orc, &old_orc, &["orc", "BLOOM_FILTER"]);
}

#[test]
fn errors_do_not_quote_whole_files() {
    let long = "\u{7f}".repeat(5000);
    for json in [
        format!("\"{long}\""),
        format!("[\"{long}\"]"),
        format!("{{\"m\":\"{long}\",\"k\":1,\"b\":\"\"}}"),
        format!("{{\"m\":1,\"k\":1,\"b\":[\"{long}\"]}}"),
        format!("{{\"m\":1,\"k\":1,\"b\":\"{long}\"}}"),
        format!("{{\"{long}\":1}}"),
    ] {
        let error = Foreign::decode(Format::BitsAndBloomsJson, json.as_bytes()).unwrap_err();
        let said = error.to_string();
        assert!(said.contains("JSON") && said.len() < 300, "{said}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn noise_never_makes_a_reader_panic(mut content in prop::collection::vec(any::<u8>(), 0..200), zeros in 0usize..32) {
        let zeros = zeros.min(content.len());
        content[..zeros].fill(0);
        for &format in Format::ALL {
            try_all(format, &content);
        }
        recognize(&content);
    }

    #[test]
    fn several_changes_never_make_a_reader_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        for (format, mut content) in files() {
            for (at, value) in &changes {
                let at = at.index(content.len());
                content[at] = *value;
            }
            try_all(format, &content);
        }
    }
}
