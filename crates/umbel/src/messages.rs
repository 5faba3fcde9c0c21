//! All error messages of the library, to be read at once in `messages.txt`. A variant that is not listed here does not
//! compile.

use std::fmt::Write;

use crate::filter::Names;
use crate::{
    Algorithm, BuildError, FieldError, FileError, Full, InsertError, KeyHasher, Kind, MergeError,
    OutOfMemory, ParseKindError, PlanError, Prehashed, RowError, Scheme, SchemeError,
};

/// Writes the messages of errors, each by a variant's name and its fields.
macro_rules! messages {
    ($out:ident, $type:ident: $($variant:ident $(($($value:expr),*))? $({$($field:ident: $of:expr),*})?;)*) => {{
        let _ = |error: &$type| match error {
            $($type::$variant { .. } => (),)*
        };
        $out.push_str(concat!("\n", stringify!($type), "\n"));
        $({
            let error = $type::$variant $(($($value),*))? $({$($field: $of),*})?;
            writeln!($out, concat!("  ", stringify!($variant), ": {}"), error).unwrap();
        })*
    }};
}

#[test]
fn messages_are_as_listed() {
    let mut out = String::new();
    let span = FieldError { field: "span", found: 0, expected: "at least 1 tick" };
    let rate = f64::to_bits(0.015);
    let rate = FieldError {
        field: "link_fpp",
        found: rate,
        expected: "the link's share of the planned fpp",
    };
    let payload = FieldError {
        field: "payload",
        found: 1,
        expected: "zeros after the last bit of the filter",
    };
    let [xxh3, keyed, caller] = [
        KeyHasher::with_seed(7).scheme(),
        Scheme::keyed(0xabcd),
        crate::Hashing::scheme(&Prehashed::new(9)),
    ];
    let names = |names: &[&str]| Names::of(names);
    messages!(out, PlanError:
        Fpp(1.5); ZeroKeys; TooLarge { bits: 281_474_976_710_657.0 }; MemoryTooSmall { bytes: 63 };
        TooManyKeys { keys: 1000, bits: 512 }; FirstLinkTooSmall { keys: 1000, bits: 512 };
        TooManyAtOnce { kind: Kind::Bloomier, keys: 1 << 40, most: 1 << 36 };
        FppOutOfReach { kind: Kind::Blocked, fpp: 1e-300 }; Probes { probes: 33 };
        Detail { kind: Kind::Window, found: 9, expected: "2 to 8 generations" };
        Kind { expected: Kind::Attributes, found: Kind::Blocked }; BuiltAtOnce(Kind::Cascade); Unnamed;
        Field(span); OutOfMemory(OutOfMemory { bytes: 1 << 50 });
    );
    for kind in
        [Kind::Counting, Kind::Scalable, Kind::Stable, Kind::Window, Kind::Bloomier, Kind::Coded]
    {
        let error = PlanError::FppOutOfReach { kind, fpp: 0.00012 };
        writeln!(out, "  of {kind}: {error}").unwrap();
    }
    for number in [1.0, f64::NAN, -0.5, 1e-5, 9.9e-6, 1e300] {
        writeln!(out, "  of {number:e}: {}", PlanError::Fpp(number)).unwrap();
    }
    messages!(out, FileError:
        NotUmbel { found: b"PK\x03\x04".to_vec() }; Version { found: 9 }; Length { expected: 4096, found: 100 };
        HeaderDamaged; PayloadDamaged { start: 128, end: 4096 }; ChecksumsDamaged; Field(span);
        UnknownKind(99); UnknownAlgorithm(9); Kind { expected: Kind::Blocked, found: Kind::Attributes };
        Plan(PlanError::ZeroKeys); Scheme(SchemeError::NotKeyed(Algorithm::Xxh3)); Misaligned;
        OutOfMemory(OutOfMemory { bytes: 1 << 50 }); Io(std::io::ErrorKind::NotFound.into());
    );
    for field in [rate, payload] {
        writeln!(out, "  of {}: {}", field.field, FileError::Field(field)).unwrap();
    }
    messages!(out, SchemeError:
        SecretNeeded { key_id: 0xabcd }; WrongSecret { expected: 0xabcd, found: 1 }; NotKeyed(Algorithm::Xxh3);
        Prehashed { id: 9 }; NoRandomness { os_error: Some(38) }; NoSecret { found: 5 }; Other { expected: caller, found: xxh3 };
    );
    messages!(out, Full:
        Limit { bytes: 2048, limit: 1000 }; Links { links: 1024 }; Growth(PlanError::ZeroKeys); Cells { keys: 1000 };
    );
    messages!(out, InsertError:
        Full(Full::Cells { keys: 1000 }); BuiltAtOnce(Kind::Bloomier); Rows { has: names(&["city", "year"]) };
        CannotRemove(Kind::Blocked); NoClock;
    );
    messages!(out, BuildError:
        Overfull { keys: 1001, planned: 1000 }; OtherShard { place: 4, found: 2, shard: 1 };
        ValuesDiffer { places: [3, 9], values: [1, 2] }; OnBothLists { places: [3, 9] }; TooManyLevels(128);
        WideValue { value: 256, place: 3, bits: 8 }; Plan(PlanError::ZeroKeys); Insert(InsertError::NoClock);
    );
    messages!(out, RowError:
        NoAttributes; AttributeCount { found: 65, most: 64 }; AttributeName { name: names(&[""]) };
        AttributeTwice { name: names(&["city"]) };
        UnknownAttribute { name: names(&["town"]), has: names(&["city", "year"]) };
        AttributesMissing { missing: names(&["year"]), has: names(&["city", "year"]) };
        Unnamed { has: names(&["city", "year"]) }; RowLength { expected: 2, found: 3 };
        ValueTooLong { bytes: 1 << 32 }; Plan(PlanError::ZeroKeys);
    );
    messages!(out, MergeError:
        NotMergeable(Kind::Scalable); NotComparable(Kind::Bloomier);
        KindsDiffer { left: Kind::Blocked, right: Kind::Attributes }; SchemesDiffer { left: xxh3, right: keyed };
        KeysDiffer; ProbesDiffer { left: 8, right: 9 }; CellsDiffer { left: 4, right: 8 };
        SizesDiffer { left: 3, right: 6, unit: "blocks" };
        Indivisible { size: 19_824, divisor: 5, unit: "blocks" };
        NotFoldable { left: 3, right: 4, unit: "blocks" };
        AttributesDiffer { left: names(&["city"]), right: names(&["year"]) }; TagsDiffer { left: 0, right: 1 };
        CannotConvert { from: Kind::Classic, to: Kind::Blocked }; Grown { links: 3 };
        OutOfMemory(OutOfMemory { bytes: 1 << 50 });
    );
    for kind in [Kind::Stable, Kind::Window, Kind::Bloomier, Kind::Coded, Kind::Cascade] {
        writeln!(out, "  of {kind}: {}", MergeError::NotMergeable(kind)).unwrap();
    }
    messages!(out, ParseKindError: Name; Parameter(Kind::Bloomier); Plan(PlanError::ZeroKeys););
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/messages.txt");
    if std::env::var_os("UPDATE_MESSAGES").is_some() {
        std::fs::write(path, out.trim_start()).unwrap();
    }
    let listed = std::fs::read_to_string(path).unwrap();
    assert!(
        out.trim_start() == listed,
        "see {path}; UPDATE_MESSAGES=1 writes it, then review the difference"
    );
}
