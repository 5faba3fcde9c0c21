//! Descriptions of keys in files: written if not empty, read back by every reader, compared at merges, and refused if
//! damaged.

use proptest::prelude::*;
use umbel::{
    AnyFilter, AnyScheme, Blocked, Filter, Insert, KeyDescription, KeyHasher, Kind, MergeError,
    Plan, Secret, Shared,
};

use crate::damage::{
    Sample, header_length, is, number, refusal, refuses, refuses_flips, with_header,
};
use crate::every_kind::{self, MERGING, texts};
use crate::reopened::{Aligned, OfKind, SECRET, Way, any_reopened};

/// Most bytes of a description, as FORMAT.md has it.
const MOST: usize = 1 << 15;

pub(crate) fn described(entries: &[(&str, &str)]) -> KeyDescription {
    let mut description = KeyDescription::default();
    for (name, value) in entries {
        description.push(name, value).unwrap();
    }
    description
}

/// Values that are empty, have several bytes per letter, or end a line.
const SOME: [(&str, &str); 5] =
    [("field", "host"), ("field", "größe\n"), ("type", "text"), ("normalization", ""), ("ß", "1")];

fn some() -> KeyDescription {
    described(&SOME)
}

/// As FORMAT.md defines it: for each name and value, a u16 length and that many bytes.
fn encoded(description: &KeyDescription) -> Vec<u8> {
    let mut bytes = Vec::new();
    for text in description.entries().flat_map(|(name, value)| [name, value]) {
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes
}

fn hasher(kind: Kind) -> KeyHasher {
    secret(kind).map_or(KeyHasher::with_seed(5), |secret| KeyHasher::keyed(secret.clone()))
}

/// Half of the kinds are keyed.
fn secret(kind: Kind) -> Option<&'static Secret> {
    (kind as u16).is_multiple_of(2).then_some(&SECRET)
}

/// A filter of each kind, not described.
fn filled(kind: Kind) -> AnyFilter {
    every_kind::filled(kind, &texts(300), hasher(kind))
}

/// Every kind writes the description right before the header's checksum. The rest of the header and the payload do not
/// change, and every reader returns it.
#[test]
fn every_kind_keeps_it() {
    assert_eq!(some().values("field").collect::<Vec<_>>(), ["host", "größe\n"]);
    assert!(KeyDescription::default().is_plain() && !described(&[("type", "ip")]).is_plain());
    for &kind in Kind::ALL {
        let mut filter = filled(kind);
        let plain = filter.to_bytes();
        assert_eq!(number::<4>(&plain, 20), 0, "{kind}");
        assert!(filter.description().is_empty());
        for description in
            [some(), described(&[("n", "")]), described(&[("n", &"v".repeat(MOST - 5))])]
        {
            filter.describe(description.clone());
            assert_eq!(*filter.description(), description);
            let file = filter.to_bytes();
            let (bytes, end) = (encoded(&description), header_length(&file) - 8);
            assert_eq!(number::<4>(&file, 20), bytes.len() as u64, "{kind}");
            assert_eq!(file[end - bytes.len()..end], bytes, "{kind}");
            // The fields of the kind and the payload are the same, with only zeros between them.
            let fields = header_length(&plain) - 8;
            let fields = 64 + plain[64..fields].iter().rposition(|&byte| byte != 0).unwrap() + 1;
            assert_eq!(file[24..fields], plain[24..fields], "{kind}");
            assert!(file[fields..end - bytes.len()].iter().all(|&byte| byte == 0), "{kind}");
            assert!(end - bytes.len() - fields < 64 + 64, "{kind}: no longer than it must be");
            assert!(header_length(&file).is_multiple_of(64));
            assert_eq!(file[end + 8..], plain[header_length(&plain)..], "{kind}");
            for way in Way::ALL {
                let again = any_reopened(&filter, way, secret(kind), &[]);
                assert_eq!(*again.description(), description, "{kind}");
            }
            let sealed = AnyFilter::from_bytes_with(&file, AnyScheme).unwrap();
            assert_eq!(*sealed.description(), description, "{kind}");
            assert!(sealed == filter && sealed.to_bytes() == file);
            assert_eq!(*filter.clone().description(), description);
        }
        // A removed description leaves no trace: the file is the same as before.
        filter.describe(KeyDescription::default());
        assert_eq!(filter.to_bytes(), plain, "{kind}");
        filter.describe(some());
        assert!(filter != filled(kind), "{kind}: with and without it filters differ");
    }
}

#[test]
fn it_is_kept_by_what_changes_a_filter() {
    for kind in Kind::ALL.iter().copied().filter(|kind| kind.inserts()) {
        let mut filter = filled(kind);
        filter.describe(some());
        filter.try_insert("key").unwrap();
        assert_eq!(*filter.description(), some(), "{kind}");
        filter.clear().unwrap();
        assert_eq!(*filter.description(), some(), "{kind}");
    }
    let mut counting = filled(Kind::Counting);
    counting.describe(some());
    let blocked = Blocked::out_of(counting.convert(Kind::Blocked).unwrap());
    let shared = Shared::from_filter(blocked);
    assert_eq!(*shared.description(), some());
    assert_eq!(*shared.snapshot().unwrap().description(), some());
    assert_eq!(*shared.into_filter().description(), some());
}

/// Filters merge if their keys are described alike, or if one has no description.
#[test]
fn keys_that_differ_do_not_merge() {
    // Less, in another order, with another value, and only the form of some that were changed.
    let [mut swapped, mut other] = [SOME; 2];
    swapped.swap(0, 1);
    other[4].1 = "2";
    let others = [&SOME[..1], &swapped, &other, &SOME[2..3]].map(described);
    for kind in MERGING {
        let compares = kind != Kind::Attributes;
        for other in &others {
            let (mut left, mut right) = (filled(kind), filled(kind));
            left.describe(some());
            right.describe(other.clone());
            let before = left.to_bytes();
            assert_eq!(left.union(&right), Err(MergeError::KeysDiffer), "{kind}");
            assert_eq!(left.intersect(&right), Err(MergeError::KeysDiffer), "{kind}");
            if compares {
                assert_eq!(left.compare(&right), Err(MergeError::KeysDiffer), "{kind}");
            }
            assert_eq!(left.to_bytes(), before, "an error changes nothing");
            let sealed = AnyFilter::from_bytes_with(&right.to_bytes(), AnyScheme).unwrap();
            assert_eq!(left.union(&sealed), Err(MergeError::KeysDiffer), "{kind}");
        }
        let words = MergeError::KeysDiffer.to_string();
        assert!(words.contains("build both from the same fields"), "{words}");

        let (mut left, mut same) = (filled(kind), filled(kind));
        left.describe(some());
        same.describe(some());
        left.union(&same).unwrap();
        left.intersect(&same).unwrap();
        assert_eq!(*left.description(), some());
        // If one of them has no description, neither has the result, in either order.
        let mut silent = filled(kind);
        let mut described = left.clone();
        described.union(&silent).unwrap();
        silent.union(&left).unwrap();
        assert!(described.description().is_empty() && described == silent, "{kind}");
        // But not if it has no keys either.
        if compares {
            let none = || AnyFilter::with_plan(left.plan(), hasher(kind)).unwrap();
            let (mut first, mut last) = (none(), left.clone());
            first.union(&left).unwrap();
            last.union(&none()).unwrap();
            assert!(*first.description() == some() && *last.description() == some(), "{kind}");
        }
        described.describe(some());
        described.intersect(&silent).unwrap();
        assert!(described.description().is_empty(), "{kind}");
        if compares {
            left.compare(&filled(kind)).unwrap();
            filled(kind).compare(&left).unwrap();
        }
    }
    // The same for counting filters and the blocked filters they are compared as.
    let [mut counting, mut blocked] = [Kind::Counting, Kind::Blocked].map(|kind| {
        let plan = Plan::for_keys(kind, 300, 0.01).unwrap();
        AnyFilter::build(&plan, &[1, 2, 3], KeyHasher::default()).unwrap()
    });
    counting.compare(&blocked).unwrap();
    counting.describe(some());
    blocked.describe(others[0].clone());
    assert_eq!(counting.compare(&blocked), Err(MergeError::KeysDiffer));
    assert_eq!(blocked.compare(&counting), Err(MergeError::KeysDiffer));
}

/// Damage that checksums do not reveal.
#[test]
fn damaged_descriptions_are_refused() {
    for &kind in Kind::ALL {
        let mut filter = filled(kind);
        let description = described(&[("field", "host"), ("type", "größe")]);
        filter.describe(description.clone());
        let (file, length) = (filter.to_bytes(), encoded(&description).len());
        let (header, start) = (header_length(&file), header_length(&file) - 8 - length);
        assert_eq!(file[header - 8 - 1], b'e');
        let n = |number: usize| (number as u32).to_le_bytes().to_vec();
        let h = |number: usize| (number as u16).to_le_bytes().to_vec();
        let rows = [
            // Longer than the header, or than the header without the fields of the kind.
            ("description_length", 20, [header - 71, header, 1 << 16].map(n).into()),
            ("description_length", 20, vec![vec![0xff; 4]]),
            ("zeros", 18, vec![vec![1]]),
            // Lengths beyond the end, empty names, and bytes that are not text.
            ("name", start, vec![[h(0), h(length - 4)].concat()]),
            ("description", start, [0, 0xffff, length].map(h).into()),
            ("description", start + 2 + 5, [5, 3].map(h).into()),
            // Half a letter at the end.
            ("description", header - 9, vec![vec![0xc3]]),
        ];
        let no_text = [2, 4, 9, 12].map(|at| ("description", start + at, vec![vec![0xff]]));
        let sample = Sample { name: kind.to_string(), file: file.clone(), secret: secret(kind) };
        refuses(&sample, rows.into_iter().chain(no_text));
        // Wrong lengths: 0 leaves the description between the fields and the checksum; others include some zeros or cut
        // some bytes. The maximum includes the fields of the kind, which are not text.
        let all = header - 64 - 8;
        for other in (0..length).chain(length + 1..length + 5).chain([all]) {
            let error = refusal(&with_header(&file, 20, &n(other)), secret(kind));
            let fields = match other {
                0 => &["zeros", "header_length"][..],
                other if other == all => &["description", "name", "header_length"],
                _ => &["description", "name", "zeros", "header_length"],
            };
            assert!(fields.iter().any(|field| is(&error, field)), "{kind} {other}: {error:?}");
        }
        // Another letter makes a valid description, so this damage cannot be detected.
        let other = with_header(&file, start + 9, b"g");
        let read = AnyFilter::from_bytes_with(&other, secret(kind)).unwrap();
        assert_eq!(read.description().values("field").collect::<Vec<_>>(), ["gost"]);
    }
}

/// A description of more than 32 KiB is refused even if the header has room for it.
#[test]
fn a_description_that_is_too_long_is_refused() {
    let mut filter = filled(Kind::Blocked);
    assert_eq!(hasher(Kind::Blocked).scheme().seed, 5);
    filter.describe(described(&[("n", &"v".repeat(MOST - 5 - 5)), ("m", "")]));
    let file = filter.to_bytes();
    let header = header_length(&file);
    // The header has room for more: fewer than 64 zero bytes precede the description.
    let start = header - 8 - MOST;
    assert!(file[80..start].iter().all(|&byte| byte == 0) && start >= 80 + 5);
    let mut longer = file[..start - 5].to_vec();
    longer.extend([1, 0, b'x', 0, 0]);
    longer.extend(&file[start..]);
    longer[20..24].copy_from_slice(&(MOST as u32 + 5).to_le_bytes());
    let error = AnyFilter::from_bytes(&with_header(&longer, 0, &[])).unwrap_err();
    assert!(is(&error, "description_length"), "{error:?}");
    // The last name alone is as long as before.
    AnyFilter::from_bytes(&file).unwrap();

    let mut full = filter.description().clone();
    let error = full.push("x", "").unwrap_err();
    assert_eq!((error.field, error.found), ("description_length", MOST as u64 + 5));
    assert!(full.push("", "x").is_err() && full.push(&"n".repeat(256), "").is_err());
    assert_eq!(full, *filter.description(), "an error changes nothing");
    assert!(KeyDescription::default().push("n", &"v".repeat(MOST)).is_err());
}

#[test]
fn every_flipped_bit_of_a_description_is_refused() {
    for &kind in Kind::ALL {
        let mut filter = filled(kind);
        filter.describe(some());
        let file = filter.to_bytes();
        refuses_flips(&file, 8 * 8..8 * header_length(&file), |file| {
            vec![refusal(file, secret(kind))]
        });
    }
}

proptest! {
    #[test]
    fn what_is_said_is_read(
        kind in prop::sample::select(Kind::ALL),
        entries in prop::collection::vec((".{1,40}", ".{0,200}"), 0..20),
    ) {
        let mut filter = filled(kind);
        let plain = filter.to_bytes();
        let given: Vec<_> = entries.iter().map(|(name, value)| (&name[..], &value[..])).collect();
        filter.describe(described(&given));
        let file = filter.to_bytes();
        prop_assert_eq!(file == plain, entries.is_empty());
        let read = AnyFilter::from_bytes_with(&file, secret(kind)).unwrap();
        let found: Vec<_> = read.description().entries().collect();
        prop_assert_eq!(found, given);
        prop_assert!(read == filter);
        prop_assert_eq!(read.to_bytes(), file);
    }

    /// Random bytes in place of a description, with a correct checksum.
    #[test]
    fn no_description_makes_a_reader_panic(
        kind in prop::sample::select(Kind::ALL),
        length in prop_oneof![0..200u32, any::<u32>()],
        bytes in prop::collection::vec(any::<u8>(), 0..60),
        place in 0..60usize,
    ) {
        let mut filter = filled(kind);
        filter.describe(described(&[("field", &"v".repeat(60))]));
        let file = filter.to_bytes();
        let start = header_length(&file) - 8 - 69;
        let bytes = &bytes[..bytes.len().min(69 - place)];
        let file = with_header(&file, start + place, bytes);
        let read = AnyFilter::from_bytes_with(&file, secret(kind));
        let room = Aligned::new(&file);
        let view = AnyFilter::view_with(room.bytes(), secret(kind));
        prop_assert_eq!(read.is_ok(), view.is_ok());
        if let Ok(read) = read {
            prop_assert_eq!(read.to_bytes(), file.clone(), "what opens is written again as it was");
        }
        let file = with_header(&file, 20, &length.to_le_bytes());
        _ = AnyFilter::from_bytes_with(&file, secret(kind));
        _ = AnyFilter::read_with(&file[..], file.len() as u64, AnyScheme);
    }
}

/// Another program may give several types, all of which count, names of attributes, and entries that say nothing of
/// keys.
#[test]
fn all_types_are_compared_and_other_entries_are_not() {
    let [none, numbers] = [described(&[]), described(&[("type", "ip-prefix")])];
    let two = described(&[("type", "text"), ("type", "ip-prefix")]);
    for (left, right) in [(&none, &numbers), (&none, &two), (&numbers, &two)] {
        let check = |one: &KeyDescription, other| one.check(Kind::Blocked, other);
        assert!(check(left, right).is_err() && check(right, left).is_err(), "{left:?}");
        assert!(check(right, right).is_ok(), "{right:?}");
    }
    let named = described(&[("field", "a"), ("field", "b")]);
    assert!(named.check(Kind::Attributes, &none).is_ok(), "queries name attributes");
    let ours = described(&[("type", "text"), ("made by", "hand")]);
    assert!(ours.check(Kind::Blocked, &none).is_ok(), "text goes without saying");
}
