//! All error messages of the library, to be read together in `messages.txt`. If a variant is missing here, the test
//! does not compile.

use std::fmt::Write;

use crate::filter::Names;
use crate::format::{DELTA, PACKED};
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
    let field = |field, found, expected| FieldError { field, found, expected };
    let span = field("span", 0, "at least 1 tick");
    let rate = field("link_fpp", f64::to_bits(0.015), "the link's share of the planned fpp");
    let payload = field("payload", 1, "zeros after the last bit of the filter");
    let (xxh3, keyed) = (KeyHasher::with_seed(7).scheme(), Scheme::keyed(0xabcd));
    let caller = crate::Hashing::scheme(&Prehashed::new(9));
    let names = |names: &[&str]| Names::of(names);
    messages!(out, PlanError:
        Fpp(1.5); ZeroKeys; TooLarge(281_474_976_710_657.0); MemoryTooSmall(63);
        TooManyKeys(1000, 512); FirstLinkTooSmall(1000, 512);
        TooManyAtOnce(Kind::Bloomier, 1 << 40, 1 << 36);
        FppOutOfReach(Kind::Blocked, 1e-300); Probes(33);
        Detail(Kind::Window, 9, "2 to 8 generations");
        Kind(Kind::Attributes, Kind::Blocked); BuiltAtOnce(Kind::Cascade); Unnamed;
        Field(span); OutOfMemory(OutOfMemory { bytes: 1 << 50 });
    );
    for kind in
        [Kind::Counting, Kind::Scalable, Kind::Stable, Kind::Window, Kind::Bloomier, Kind::Coded]
    {
        let error = PlanError::FppOutOfReach(kind, 0.00012);
        writeln!(out, "  of {kind}: {error}").unwrap();
    }
    for number in [1.0, f64::NAN, -0.5, 1e-5, 9.9e-6, 1e300] {
        writeln!(out, "  of {number:e}: {}", PlanError::Fpp(number)).unwrap();
    }
    messages!(out, FileError:
        NotUmbel(b"PK\x03\x04".to_vec()); Version(9); Length(4096, 100);
        HeaderDamaged; PayloadDamaged { start: 128, end: 4096 }; ChecksumsDamaged; Unsealed;
        NotShared(Kind::Counting); Field(span); UnknownKind(99); UnknownAlgorithm(9); Kind(Kind::Blocked, Kind::Attributes);
        Bits(1984, 1983);
        Plan(PlanError::ZeroKeys); Scheme(SchemeError::NotKeyed(Algorithm::Xxh3)); Misaligned;
        OutOfMemory(OutOfMemory { bytes: 1 << 50 }); Io(std::io::ErrorKind::NotFound.into());
    );
    for field in [rate, payload] {
        writeln!(out, "  of {}: {}", field.field, FileError::Field(field)).unwrap();
    }
    for begin in [&PACKED[..], &DELTA, b""] {
        let error = FileError::NotUmbel(begin.to_vec());
        writeln!(out, "  of \"{}\": {error}", begin.escape_ascii()).unwrap();
    }
    messages!(out, SchemeError:
        SecretNeeded(0xabcd); WrongSecret(0xabcd, 1); NotKeyed(Algorithm::Xxh3);
        Prehashed(9); NoRandomness(Some(38)); NoSecret(5); Other(caller, xxh3);
    );
    messages!(out, Full:
        Limit(2048, 1000); Links(1024); Growth(PlanError::ZeroKeys); Cells(1000);
    );
    messages!(out, InsertError:
        Full(Full::Cells(1000)); BuiltAtOnce(Kind::Bloomier); Rows(names(&["city", "year"]));
        CannotRemove(Kind::Blocked); NoClock;
    );
    messages!(out, BuildError:
        Overfull(1001, 1000); OtherShard(4, 2, 1);
        ValuesDiffer([3, 9], [1, 2]); OnBothLists([3, 9]); TooManyLevels(128);
        WideValue(256, 3, 8); Plan(PlanError::ZeroKeys); Insert(InsertError::NoClock);
    );
    messages!(out, RowError:
        NoAttributes; AttributeCount(65, 64); AttributeName(names(&[""]));
        AttributeTwice(names(&["city"]));
        UnknownAttribute(names(&["town"]), names(&["city", "year"]));
        AttributesMissing(names(&["year"]), names(&["city", "year"]));
        Unnamed(names(&["city", "year"])); RowLength(2, 3);
        ValueTooLong(1 << 32); Plan(PlanError::ZeroKeys);
    );
    messages!(out, MergeError:
        NotMergeable(Kind::Scalable); NotComparable(Kind::Bloomier); NotFolding(Kind::Coded);
        KindsDiffer(Kind::Blocked, Kind::Attributes); SchemesDiffer(xxh3, keyed);
        KeysDiffer; ProbesDiffer(8, 9); CellsDiffer(4, 8);
        SizesDiffer(3, 6, "blocks");
        Indivisible(19_824, 5, "blocks");
        NotFoldable(3, 4, "blocks");
        AttributesDiffer(names(&["city"]), names(&["year"])); TagsDiffer(0, 1);
        CannotConvert(Kind::Classic, Kind::Blocked); Grown(3);
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
