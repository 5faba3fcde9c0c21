//! Damaged files are refused, with the reason, by every reader; and nothing makes a reader panic.

use std::io::{self, Read};
use std::sync::OnceLock;

use proptest::prelude::*;
use twox_hash::XxHash3_64;
use umbel::format::{CHUNK, Reader};
use umbel::{
    AnyFilter, AnyScheme, Attributes, Blocks, Cascade, FieldError, FileError, KeyHasher, Kind,
    Plan, PlanError, Scalable, SchemeError, Secret, Window,
};

use crate::plans::variant;

static SECRET: Secret = Secret::new([7; 16]);

/// One small filter of each sort, as a file, with the secret that opens it: blocked, blocked keyed,
/// classic, classic keyed, then scalable ones of one link, of four, and of four keyed, then sliced, then
/// windows: of insertions, of insertions that has not turned yet, and by time; then a scalable one of links of
/// one size, then attributes, then coded, then counting, plain and keyed, then stable, then
/// bloomier, then a cascade of several levels and a filter beside a list.
fn files() -> Vec<(Vec<u8>, Option<&'static Secret>)> {
    static FILES: OnceLock<Vec<(Vec<u8>, Option<&'static Secret>)>> = OnceLock::new();
    FILES.get_or_init(make_files).clone()
}

fn make_files() -> Vec<(Vec<u8>, Option<&'static Secret>)> {
    let plan = |kind, detail, keys, fpp, bits, probes| {
        Plan::from_parts(variant(kind, detail), keys, fpp, bits, probes).unwrap()
    };
    let blocked = plan(Kind::Blocked, 0, 60, 0.01, 1024, 8);
    let classic = plan(Kind::Classic, 0, 60, 0.01, 601, 7);
    let sliced = plan(Kind::Sliced, 0, 60, 0.01, 602, 7);
    let mut files = Vec::new();
    for plan in [blocked, classic] {
        for secret in [None, Some(&SECRET)] {
            files.push((file(&plan, secret), secret));
        }
    }
    let one = plan(Kind::Scalable, 0, 60, 0.01, 1024, 8);
    let four = |growth| plan(Kind::Scalable, growth, 8, 0.01, 512, 8);
    files.push((file(&one, None), None));
    files.extend([None, Some(&SECRET)].map(|secret| (grown(&four(0), secret), secret)));
    files.push((file(&sliced, None), None));
    let window = plan(Kind::Window, 4, 30, 0.01, 2048, 8);
    let young = plan(Kind::Window, 4, 120, 0.01, 2048, 8);
    let by_time = plan(Kind::Window, 3, 30, 0.01, 1536, 8);
    files.push((many(Window::with_plan(&window, KeyHasher::with_seed(5)).unwrap()), None));
    files.push((many(Window::with_plan(&young, KeyHasher::with_seed(5)).unwrap()), None));
    let hasher = KeyHasher::keyed(SECRET.clone());
    files.push((many(Window::by_time(&by_time, hasher, 7).unwrap()), Some(&SECRET)));
    files.push((grown(&four(1), None), None));
    files.push((rows(), None));
    let coded = plan(Kind::Coded, 13, 60, 0.1, 1024, 1);
    files.push((file(&coded, None), None));
    let counting = plan(Kind::Counting, 4, 60, 0.01, 4 * 512, 8);
    files.extend([None, Some(&SECRET)].map(|secret| (file(&counting, secret), secret)));
    let stable = plan(Kind::Stable, 3, 60, 0.5, 3 * 512, 1);
    files.push((file(&stable, None), None));
    let bloomier = plan(Kind::Bloomier, 7, 60, 0.01, 1024, 3);
    files.push((file(&bloomier, None), None));
    files.extend([0, 1].map(|form| (cascade(form), None)));
    let mut headers = vec![128, 128, 128, 128, 128, 256, 256, 128, 192, 192, 128, 576];
    headers.resize(files.len() - 2, 128);
    headers.extend([256, 192]);
    for (file, header) in files.iter().zip(headers) {
        assert_eq!(header_length(&file.0), header);
    }
    files
}

/// A filter of rows with two attributes and a tag, each filter with bits to spare at the end.
fn rows() -> Vec<u8> {
    let plan = Plan::from_parts(variant(Kind::Attributes, 11), 60, 0.01, 601, 7).unwrap();
    let hasher = KeyHasher::with_seed(5);
    let mut filter = Attributes::with_names(&plan, &["host", "user"], hasher).unwrap();
    for key in 0..60u64 {
        filter.insert_row(&[key.to_le_bytes(), (key / 2).to_le_bytes()]).unwrap();
    }
    let mut file = Vec::new();
    filter.write(&mut file).unwrap();
    file
}

/// A scalable filter of four links, the last of which is half full.
fn grown(plan: &Plan, secret: Option<&Secret>) -> Vec<u8> {
    let hasher = secret.map_or(KeyHasher::with_seed(5), |secret| KeyHasher::keyed(secret.clone()));
    let mut filter = Scalable::with_plan(plan, hasher).unwrap();
    let taken = |filter: &Scalable| filter.links().iter().map(|link| link.inserted()).sum::<u64>();
    for key in 0.. {
        filter.try_insert(key).unwrap();
        if taken(&filter) == 11 * plan.keys() {
            break;
        }
    }
    let mut file = Vec::new();
    filter.write(&mut file).unwrap();
    file
}

/// A window of which 45 keys came, by time one a tick.
fn many(mut filter: Window) -> Vec<u8> {
    for key in 0..45 {
        if filter.span().is_some() {
            filter.advance(key).unwrap();
        }
        filter.insert(key);
    }
    let mut file = Vec::new();
    filter.write(&mut file).unwrap();
    file
}

/// A cascade of three levels, or a filter beside a list of five.
fn cascade(form: u32) -> Vec<u8> {
    let hasher = KeyHasher::with_seed(5);
    let hashes = |keys: std::ops::Range<u64>| keys.map(|key| hasher.hash(key)).collect();
    let (include, exclude): (Vec<_>, Vec<_>) =
        (hashes(0..60), hashes(60..[6_000, 160][form as usize]));
    let plan = Plan::from_parts(variant(Kind::Cascade, form), 60, 0.1, 512, 3).unwrap();
    let filter = Cascade::build_with_plan(&plan, &include, &exclude, hasher).unwrap();
    let mut file = Vec::new();
    filter.write(&mut file).unwrap();
    file
}

pub(crate) fn header_length(file: &[u8]) -> usize {
    u32::from_le_bytes(file[12..16].try_into().unwrap()) as usize
}

fn file(plan: &Plan, secret: Option<&Secret>) -> Vec<u8> {
    let hasher = secret.map_or(KeyHasher::with_seed(5), |secret| KeyHasher::keyed(secret.clone()));
    let hashes: Vec<_> = (0..plan.keys().min(1000)).map(|key| hasher.hash(key)).collect();
    let filter = AnyFilter::build(plan, &hashes, hasher).unwrap();
    let mut file = Vec::new();
    filter.write(&mut file).unwrap();
    file
}

/// Opens the bytes by every reader; all must agree. Returns the receipt or the error of `read`.
fn open(bytes: &[u8], secret: Option<&Secret>) -> Result<umbel::Receipt, FileError> {
    let mut room = Blocks::zeroed(bytes.len().div_ceil(64) as u64).unwrap();
    let aligned = &mut room.as_bytes_mut()[..bytes.len()];
    aligned.copy_from_slice(bytes);
    let read =
        AnyFilter::read_with(bytes, bytes.len() as u64, secret).map(|filter| filter.receipt());
    let view = AnyFilter::view_with(aligned, secret).map(|filter| filter.receipt());
    let sealed =
        AnyFilter::read_with(bytes, bytes.len() as u64, AnyScheme).map(|filter| filter.receipt());
    match (&read, &view) {
        (Ok(read), Ok(view)) => assert_eq!(read, view),
        (Err(read), Err(view)) => assert_eq!(read.to_string(), view.to_string()),
        _ => panic!("read gives {read:?}, view gives {view:?}"),
    }
    let about_secrets = matches!(
        read,
        Err(FileError::Scheme(
            SchemeError::SecretNeeded { .. }
                | SchemeError::WrongSecret { .. }
                | SchemeError::NotKeyed(_)
        ))
    );
    assert!(about_secrets || sealed.is_ok() == read.is_ok(), "{read:?}, sealed {sealed:?}");
    read
}

/// The error for bytes that must not open.
fn refusal(bytes: &[u8], secret: Option<&Secret>) -> FileError {
    open(bytes, secret).expect_err("damaged bytes were accepted")
}

#[test]
fn undamaged_files_open() {
    for (file, secret) in files() {
        assert!(open(&file, secret).unwrap().set_bits > 0);
    }
}

#[test]
fn every_truncation_is_refused() {
    for (file, secret) in files() {
        for length in 0..file.len() {
            let error = refusal(&file[..length], secret);
            match length {
                0..8 => assert!(matches!(error, FileError::NotUmbel { .. }), "{length}: {error:?}"),
                _ => {
                    let found = length as u64;
                    let header = header_length(&file);
                    let expected = match length {
                        0..128 => 128,
                        _ if length < header => header as u64,
                        _ => file.len() as u64,
                    };
                    assert!(
                        matches!(error, FileError::Length { expected: e, found: f } if (e, f) == (expected, found)),
                        "{length}: {error:?}"
                    );
                    assert!(error.to_string().contains("truncated"));
                }
            }
        }
    }
}

#[test]
fn an_appended_byte_is_refused() {
    for (mut file, secret) in files() {
        for byte in [0, b'\n', 255] {
            file.push(byte);
            let error = refusal(&file, secret);
            assert!(matches!(error, FileError::Length { .. }), "{error:?}");
            assert!(error.to_string().contains("appended"));
        }
    }
}

#[test]
fn every_flipped_bit_is_refused() {
    for (mut file, secret) in files() {
        let payload_end = file.len() - 16;
        let header = header_length(&file);
        for bit in 0..8 * file.len() {
            file[bit / 8] ^= 1 << (bit % 8);
            let error = refusal(&file, secret);
            let right = match bit / 8 {
                0..8 => matches!(error, FileError::NotUmbel { .. }),
                8..10 => matches!(error, FileError::Version { .. }),
                // A longer header than the file has bytes may be all that can be told.
                12..16 => {
                    matches!(error, FileError::HeaderDamaged | FileError::Length { .. })
                }
                byte if byte < header => matches!(error, FileError::HeaderDamaged),
                byte if byte < payload_end => {
                    let range = (header as u64, payload_end as u64);
                    matches!(error, FileError::PayloadDamaged { start, end } if (start, end) == range)
                }
                _ => matches!(error, FileError::ChecksumsDamaged),
            };
            assert!(right, "bit {bit}: {error:?}");
            file[bit / 8] ^= 1 << (bit % 8);
        }
        open(&file, secret).unwrap();
    }
}

/// In a large payload the message locates the damaged part, and parts cannot be exchanged.
#[test]
fn damage_is_located_by_the_mebibyte() {
    let chunk = CHUNK as u64;
    let plan = Plan::from_parts(Kind::Blocked, 9, 0.01, 8 * (2 * chunk + 64), 8).unwrap();
    let mut file = file(&plan, None);
    let ends = [128 + chunk, 128 + 2 * chunk, 128 + 2 * chunk + 64];
    assert_eq!(file.len() as u64, ends[2] + 3 * 8 + 8);
    for (start, end) in [(128, ends[0]), (ends[0], ends[1]), (ends[1], ends[2])] {
        for byte in [start as usize, end as usize - 1] {
            file[byte] ^= 16;
            let error = refusal(&file, None);
            assert!(
                matches!(error, FileError::PayloadDamaged { start: s, end: e } if (s, e) == (start, end)),
                "{byte}: {error:?}"
            );
            file[byte] ^= 16;
        }
    }
    let (first, second) = file[128..].split_at_mut(CHUNK);
    first.swap_with_slice(&mut second[..CHUNK]);
    assert!(matches!(refusal(&file, None), FileError::PayloadDamaged { start: 128, .. }));
}

/// Bytes of a file with some of its header overwritten and the header's checksum made right again.
pub(crate) fn with_header(file: &[u8], offset: usize, bytes: &[u8]) -> Vec<u8> {
    let end = header_length(file) - 8;
    let mut file = file.to_vec();
    file[offset..offset + bytes.len()].copy_from_slice(bytes);
    let sum = XxHash3_64::oneshot_with_seed(0, &file[..end]);
    file[end..end + 8].copy_from_slice(&sum.to_le_bytes());
    file
}

#[test]
fn every_field_of_a_chain_is_checked() {
    fn field(name: &'static str) -> impl Fn(&FileError) -> bool {
        move |error| matches!(error, FileError::Field(FieldError { field, .. }) if *field == name)
    }
    let (one, four) = (&files()[4].0, &files()[5].0);
    assert!(&with_header(four, 0, &[]) == four, "the checksum is computed as FORMAT.md says");
    let at = |link: usize, field: usize| 72 + 40 * link + field;
    let mut fields = vec![
        ("links", four, 64, vec![0, 0, 0, 0]),
        ("links", four, 64, vec![49, 0, 0, 0]),
        ("links", four, 64, vec![4, 0, 0, 1]),
        ("link_fpp", four, 68, vec![1, 0, 0, 0]),
        ("link_fpp", one, 68, vec![1, 0, 0, 0]),
        ("links", four, 64, vec![1, 4, 0, 0, 1, 0, 0, 0]),
        ("growth", four, 68, vec![2, 0, 0, 0]),
        ("growth", four, 68, vec![0, 0, 0, 1]),
        ("header_length", four, 64, vec![5, 0, 0, 0]),
        ("header_length", four, 64, vec![1, 0, 0, 0]),
        // As many bytes of header as three or four links need: the fourth is no zeros.
        ("zeros", four, 64, vec![3, 0, 0, 0]),
        ("header_length", one, 64, vec![2, 0, 0, 0]),
        ("key_id", four, 32, u(1)),
        // What goes for the keys and rate of all goes for those of the links.
        ("link_keys", four, 56, u(9)),
        ("link_keys", four, 56, u(u64::MAX)),
        ("link_fpp", four, 48, f(0.02)),
        ("payload_length", four, 40, u(0)),
        ("payload_length", four, 40, u(64)),
        ("payload_length", four, 40, u(1 << 45)),
        ("payload_length", four, 40, u(u64::MAX)),
    ];
    for byte in (18..20).chain(232..248) {
        fields.push(("zeros", four, byte, vec![1]));
    }
    fields.push(("description", four, 20, vec![1]));
    fields.extend((21..24).map(|byte| ("description_length", four, byte, vec![1])));
    for link in 0..4 {
        for keys in [1, 7 << link, 8 << (link + 1), u64::MAX] {
            fields.push(("link_keys", four, at(link, 0), u(keys)));
        }
        for fpp in [0.01, 0.01 / f64::from(2 << link) + 1e-18, 0.999] {
            fields.push(("link_fpp", four, at(link, 8), f(fpp)));
        }
        for taken in [(8 << link) + 1, u64::MAX, 0] {
            fields.push(("link_taken", four, at(link, 16), u(taken)));
        }
        if link < 3 {
            fields.push(("link_taken", four, at(link, 16), u((8 << link) - 1)));
        }
        for bits in [0, 511, 513] {
            fields.push(("bits", four, at(link, 24), u(bits)));
        }
        for bits in [512 * 100, 1 << 45] {
            fields.push(("payload_length", four, at(link, 24), u(bits)));
        }
        (36..40).for_each(|zero| fields.push(("zeros", four, at(link, zero), vec![1])));
    }
    for (name, file, offset, bytes) in fields {
        let error = refusal(&with_header(file, offset, &bytes), None);
        assert!(field(name)(&error), "{name} at {offset}: {bytes:?}: {error:?}");
    }
    type Refused = fn(&FileError) -> bool;
    let others: [(usize, Vec<u8>, Refused); 9] = [
        (at(2, 0), u(0), |e| matches!(e, FileError::Plan(PlanError::ZeroKeys))),
        (at(2, 8), f(f64::NAN), |e| matches!(e, FileError::Plan(PlanError::Fpp(_)))),
        (at(2, 8), f(-0.0), |e| matches!(e, FileError::Plan(PlanError::Fpp(_)))),
        (at(2, 24), u((1 << 48) + 512), |e| {
            matches!(e, FileError::Plan(PlanError::TooLarge { .. }))
        }),
        // Each for itself could be; all together not.
        (at(2, 24), u(1 << 48), |e| matches!(e, FileError::Plan(PlanError::TooLarge { .. }))),
        (at(2, 32), vec![0, 0, 0, 0], |e| {
            matches!(e, FileError::Plan(PlanError::Probes { probes: 0 }))
        }),
        (at(2, 32), vec![33, 0, 0, 0], |e| {
            matches!(e, FileError::Plan(PlanError::Probes { probes: 33 }))
        }),
        (48, f(1.0), |e| matches!(e, FileError::Plan(PlanError::Fpp(_)))),
        (16, vec![4, 0], |e| matches!(e, FileError::UnknownAlgorithm(4))),
    ];
    for (offset, bytes, refused) in others {
        let error = refusal(&with_header(four, offset, &bytes), None);
        assert!(refused(&error), "at {offset}: {bytes:?}: {error:?}");
    }
    // The last link may have taken any number of keys but none, and so may a first one that is alone.
    for taken in [1, 63, 64] {
        open(&with_header(four, at(3, 16), &u(taken)), None).unwrap();
    }
    for taken in [0, 1, 60] {
        open(&with_header(one, at(0, 16), &u(taken)), None).unwrap();
    }
    // Links do not change places, nor do their bits.
    let mut swapped = four.clone();
    let payload = swapped.len() - 16;
    swapped[256..payload].rotate_left(64);
    assert!(matches!(refusal(&swapped, None), FileError::PayloadDamaged { .. }));
    let secret = refusal(&files()[6].0, None);
    assert!(matches!(secret, FileError::Scheme(SchemeError::SecretNeeded { .. })), "{secret:?}");
}

#[test]
fn every_field_of_a_window_is_checked() {
    let all = files();
    // 45 of 10 a generation: numbers 1 to 4, at places 1, 2, 3 and 0, which took 10, 10, 10 and 5.
    // Of the young one, 40 and 5 at places 0 and 1. By time, 4 ticks a generation: 9, 10 and 11.
    let (old, young, by_time) = (&all[8].0, &all[9].0, &all[10].0);
    let number = |at: usize| u64::from_le_bytes(old[at..at + 8].try_into().unwrap());
    assert_eq!([88, 96, 104, 112, 120].map(number), [4, 5, 10, 10, 10]);
    let taken = |place: usize| 96 + 8 * place;
    let mut fields = vec![
        ("bits", old, 64, u(0)),
        ("bits", old, 64, u(2047)),
        ("bits", old, 64, u(512 * 3)),
        ("payload_length", old, 64, u(4096)),
        ("payload_length", old, 40, u(64)),
        ("payload_length", old, 40, u(u64::MAX)),
        // Another number of generations has other keys in each, or bits that it does not divide.
        ("bits", old, 76, vec![5, 0, 0, 0]),
        ("bits", old, 76, vec![3, 0, 0, 0]),
        ("taken", old, 56, u(31)),
        ("taken", old, 56, u(27)),
        ("taken", old, 88, u(0)),
        ("taken", old, 88, u(3)),
        ("taken", old, 88, u(5)),
        ("taken", old, taken(0), u(10)),
        ("taken", old, taken(0), u(u64::MAX)),
        ("taken", old, taken(2), u(9)),
        ("taken", old, taken(2), u(11)),
        ("taken", old, taken(2), u(0)),
        ("payload", old, taken(0), u(0)),
        ("taken", young, taken(1), u(40)),
        ("taken", young, taken(0), u(39)),
        ("taken", young, taken(2), u(1)),
        ("taken", young, taken(3), u(1)),
        ("taken", young, 88, u(2)),
        ("number", by_time, 88, u(u64::MAX / 4 + 1)),
        ("number", by_time, 88, u(u64::MAX)),
        ("taken", by_time, 88, u(1)),
        ("payload", by_time, taken(1), u(0)),
    ];
    fields.extend((128..184).map(|byte| ("zeros", old, byte, vec![1])));
    for (name, file, offset, bytes) in fields {
        let secret = std::ptr::eq(file, by_time).then_some(&SECRET);
        let error = refusal(&with_header(file, offset, &bytes), secret);
        let right = matches!(error, FileError::Field(FieldError { field, .. }) if field == name);
        assert!(right, "{name} at {offset}: {bytes:?}: {error:?}");
    }
    for generations in [0, 1, 9, u32::MAX] {
        let error = refusal(&with_header(old, 76, &generations.to_le_bytes()), None);
        let detail = matches!(error, FileError::Plan(PlanError::Detail { .. }));
        // No header has so many fields.
        let long = matches!(error, FileError::Field(FieldError { field: "header_length", .. }));
        assert!(detail || long && generations > 8, "{generations}: {error:?}");
    }
    // In generations of more keys, all that were must be full; by time any number is possible.
    for (offset, bytes) in [(56, u(28)), (56, u(30))] {
        open(&with_header(old, offset, &bytes), None).unwrap();
    }
    for (offset, bytes) in [(taken(1), u(u64::MAX)), (88, u(u64::MAX / 4)), (56, u(1)), (80, u(8))]
    {
        open(&with_header(by_time, offset, &bytes), Some(&SECRET)).unwrap();
    }
    for (offset, bytes) in [(72, vec![0, 0, 0, 0]), (72, vec![33, 0, 0, 0])] {
        let error = refusal(&with_header(old, offset, &bytes), None);
        assert!(matches!(error, FileError::Plan(PlanError::Probes { .. })), "{error:?}");
    }
}

#[test]
fn every_field_of_rows_is_checked() {
    let file = &files()[12].0;
    assert!(&with_header(file, 0, &[]) == file, "the checksum is computed as FORMAT.md says");
    type Refused = fn(&FileError) -> bool;
    let field = |name: &str, error: &FileError| matches!(error, FileError::Field(FieldError { field, .. }) if *field == name);
    let n = |number: u32| number.to_le_bytes().to_vec();
    for (name, offset, bytes) in [
        ("bits", 64, u(0)),
        ("payload_length", 64, u(1025)),
        ("payload_length", 64, u(1 << 40)),
        ("payload_length", 76, n(10)),
        ("attributes", 80, n(0)),
        ("attributes", 80, n(65)),
        // The names end earlier, and what is left of them is no zeros; or later.
        ("zeros", 80, n(1)),
        ("name_length", 80, n(3)),
        ("name_length", 88, n(0)),
        ("name_length", 88, n(256)),
        ("header_length", 88, n(100)),
        ("zeros", 84, n(1)),
        ("zeros", 104, vec![1]),
        ("zeros", 119, vec![1]),
        ("name", 92, vec![0xff]),
        ("payload_length", 40, u(64)),
        ("payload_length", 40, u(u64::MAX)),
    ] {
        let error = refusal(&with_header(file, offset, &bytes), None);
        assert!(field(name, &error), "{name} at {offset}: {bytes:?}: {error:?}");
    }
    let others: [(usize, Vec<u8>, Refused); 11] = [
        (48, f(1.0), |e| matches!(e, FileError::Plan(PlanError::Fpp(_)))),
        (48, f(f64::NAN), |e| matches!(e, FileError::Plan(PlanError::Fpp(_)))),
        (56, u(0), |e| matches!(e, FileError::Plan(PlanError::ZeroKeys))),
        (64, u(1 << 48), |e| matches!(e, FileError::Plan(PlanError::TooLarge { .. }))),
        (64, u(u64::MAX), |e| matches!(e, FileError::Plan(PlanError::TooLarge { .. }))),
        (72, n(0), |e| matches!(e, FileError::Plan(PlanError::Probes { probes: 0 }))),
        (72, n(33), |e| matches!(e, FileError::Plan(PlanError::Probes { probes: 33 }))),
        (76, n(3), |e| matches!(e, FileError::Plan(PlanError::Detail { found: 3, .. }))),
        (76, n(20), |e| matches!(e, FileError::Plan(PlanError::Detail { found: 20, .. }))),
        (76, n(u32::MAX), |e| matches!(e, FileError::Plan(PlanError::Detail { .. }))),
        (100, b"host".to_vec(), |e| {
            matches!(e, FileError::Field(FieldError { field: "attributes", .. }))
        }),
    ];
    for (offset, bytes, refused) in others {
        let error = refusal(&with_header(file, offset, &bytes), None);
        assert!(refused(&error), "at {offset}: {bytes:?}: {error:?}");
    }
    // Tags of all subsets of two attributes are those of the rows, with other hashes.
    open(&with_header(file, 76, &n(12)), None).unwrap();
    // Bits after the last of each filter.
    for part in 0..3 {
        let mut file = file.clone();
        file[128 + 128 * part + 75] |= 2;
        resum(&mut file);
        assert!(field("payload", &refusal(&file, None)), "{part}");
    }
}

#[test]
fn every_field_of_codes_is_checked() {
    let file = &files()[13].0;
    type Refused = fn(&FileError) -> bool;
    fn field(name: &'static str) -> impl Fn(&FileError) -> bool {
        move |error| matches!(error, FileError::Field(FieldError { field, .. }) if *field == name)
    }
    let n = |number: u32| number.to_le_bytes().to_vec();
    let mut fields = vec![
        ("bits", 64, u(0)),
        ("bits", 64, u(1023)),
        ("payload_length", 64, u(512)),
        ("probes", 72, n(2)),
        ("payload_length", 40, u(64)),
        ("header_length", 12, n(192)),
    ];
    (80..120).for_each(|byte| fields.push(("zeros", byte, vec![1])));
    for (name, offset, bytes) in fields {
        let error = refusal(&with_header(file, offset, &bytes), None);
        let header = name == "header_length" && matches!(error, FileError::HeaderDamaged);
        assert!(header || field(name)(&error), "{name} at {offset}: {error:?}");
    }
    let others: [(usize, Vec<u8>, Refused); 5] = [
        (64, u((1 << 48) + 512), |e| matches!(e, FileError::Plan(PlanError::TooLarge { .. }))),
        (72, n(0), |e| matches!(e, FileError::Plan(PlanError::Probes { probes: 0 }))),
        (76, n(0), |e| matches!(e, FileError::Plan(PlanError::Detail { found: 0, .. }))),
        (76, n(1), |e| matches!(e, FileError::Plan(PlanError::Detail { found: 1, .. }))),
        (76, n(41), |e| matches!(e, FileError::Plan(PlanError::Detail { found: 41, .. }))),
    ];
    for (offset, bytes, refused) in others {
        let error = refusal(&with_header(file, offset, &bytes), None);
        assert!(refused(&error), "at {offset}: {error:?}");
    }
    // A bit behind the last cell (39 of 13 bits), and a cell that follows an empty one.
    for (byte, bit) in [(63, 128), (63, 8), (62, 1)] {
        let mut file = file.clone();
        file[128 + byte] |= bit;
        resum(&mut file);
        let error = refusal(&file, None);
        assert!(field("payload")(&error), "{byte} {bit}: {error:?}");
    }
}

#[test]
fn every_field_of_a_fuse_graph_is_checked() {
    let file = &files()[17].0;
    let n = |number: u32| number.to_le_bytes().to_vec();
    let mut fields = vec![
        ("shards", 64, n(0)),
        ("shards", 64, n(8001)),
        ("header_length", 64, n(8000)),
        ("payload_length", 64, n(3)),
        ("segment_length", 68, n(0)),
        ("segment_length", 68, n(1)),
        ("segment_length", 68, n(24)),
        ("segment_length", 68, n(1 << 19)),
        ("segment_length", 68, n(1 << 31)),
        ("segments", 72, n(0)),
        ("segments", 72, n(u32::MAX)),
        ("payload_length", 72, n(1000)),
        ("value_bits", 76, n(0)),
        ("fingerprint_bits", 76, n(6)),
        ("fingerprint_bits", 76, n(65)),
        ("fingerprint_bits", 76, n(u32::MAX)),
        ("payload_length", 76, n(64)),
        ("value_bits", 80, n(58)),
        ("value_bits", 80, n(u32::MAX)),
        ("payload_length", 80, n(57)),
        ("keys", 88, u(61)),
        ("keys", 88, u(u64::MAX)),
        ("keys", 56, u(59)),
        ("fingerprint_bits", 48, f(0.007)),
        ("payload_length", 40, u(64)),
        ("payload_length", 40, u(u64::MAX)),
    ];
    fields.extend([0, 2, 1 << 24].map(|other| ("positions", 84, n(other))));
    fields.extend((18..20).chain(104..120).map(|byte| ("zeros", byte, vec![1])));
    fields.push(("description", 20, vec![1]));
    fields.extend((21..24).map(|byte| ("description_length", byte, vec![1])));
    for (name, offset, bytes) in fields {
        let error = refusal(&with_header(file, offset, &bytes), None);
        let right = matches!(error, FileError::Field(FieldError { field, .. }) if field == name);
        assert!(right, "{name} at {offset}: {bytes:?}: {error:?}");
    }
    // The last bits of the payload belong to no slot.
    let mut file = file.clone();
    let last = file.len() - 17;
    file[last] |= 128;
    resum(&mut file);
    let error = refusal(&file, None);
    assert!(matches!(error, FileError::Field(FieldError { field: "payload", .. })), "{error:?}");
}

#[test]
fn every_field_of_a_cascade_is_checked() {
    let files = files();
    let (levels, listed) = (&files[18].0, &files[19].0);
    assert!(&with_header(levels, 0, &[]) == levels, "the checksum is computed as FORMAT.md says");
    let n = |number: u32| number.to_le_bytes().to_vec();
    let number = |file: &[u8], at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    let at = |level: usize, field: usize| 96 + 32 * level + field;
    let caught = number(levels, at(1, 0));
    assert!(caught > 100 && number(listed, 88) == 5);
    let mut fields = vec![
        ("levels", levels, 64, n(0)),
        ("levels", levels, 64, n(129)),
        ("levels", levels, 64, n(u32::MAX)),
        ("header_length", levels, 64, n(5)),
        ("header_length", levels, 64, n(1)),
        ("header_length", levels, 64, n(2)),
        ("levels", listed, 64, n(2)),
        ("form", levels, 68, n(2)),
        ("levels", levels, 68, n(1)),
        ("listed", listed, 68, n(0)),
        ("included", levels, 72, u(61)),
        ("included", listed, 72, u(u64::MAX)),
        // Level 2 cannot have more keys than were included, level 1 than excluded.
        ("level_keys", levels, 72, u(0)),
        ("level_keys", levels, 80, u(caught - 1)),
        ("listed", listed, 80, u(4)),
        ("listed", listed, 88, u(101)),
        ("listed", listed, 88, u(u64::MAX)),
        ("listed", levels, 88, u(1)),
        ("payload_length", listed, 88, u(0)),
        ("payload_length", listed, 88, u(4)),
        ("payload_length", listed, 88, u(9)),
        // Zeros at the end are no hashes, and what ends the list earlier no zeros.
        ("payload", listed, 88, u(8)),
        ("included", levels, 56, u(59)),
        ("level_keys", levels, 56, u(61)),
        ("level_fpp", levels, 48, f(0.05)),
        ("payload_length", levels, 40, u(64)),
        ("payload_length", listed, 40, u(u64::MAX)),
        ("level_keys", levels, at(0, 0), u(61)),
        ("level_fpp", levels, at(0, 8), f(0.2)),
        ("level_keys", levels, at(1, 0), u(u64::MAX)),
        ("level_keys", levels, at(2, 0), u(61)),
    ];
    for level in 0..3 {
        for bits in [0, 511, 513] {
            fields.push(("bits", levels, at(level, 16), u(bits)));
        }
        for bits in [512 * 100, 1 << 45] {
            fields.push(("payload_length", levels, at(level, 16), u(bits)));
        }
    }
    fields.push(("description", levels, 20, vec![1]));
    fields.extend((21..24).map(|byte| ("description_length", levels, byte, vec![1])));
    for byte in (18..20).chain((0..3).flat_map(|level| at(level, 28)..at(level, 32))) {
        fields.push(("zeros", levels, byte, vec![1]));
    }
    for byte in 192..248 {
        fields.push(("zeros", levels, byte, vec![1]));
    }
    for (name, file, offset, bytes) in fields {
        let error = refusal(&with_header(file, offset, &bytes), None);
        let right = matches!(error, FileError::Field(FieldError { field, .. }) if field == name);
        assert!(right, "{name} at {offset}: {bytes:?}: {error:?}");
    }
    type Refused = fn(&FileError) -> bool;
    let others: [(usize, Vec<u8>, Refused); 7] = [
        // As many bytes of header as three or four levels need.
        (64, n(4), |e| matches!(e, FileError::Plan(PlanError::Fpp(_)))),
        (at(1, 0), u(0), |e| matches!(e, FileError::Plan(PlanError::ZeroKeys))),
        (at(2, 8), f(1.0), |e| matches!(e, FileError::Plan(PlanError::Fpp(_)))),
        (at(2, 8), f(f64::NAN), |e| matches!(e, FileError::Plan(PlanError::Fpp(_)))),
        (at(1, 16), u((1 << 48) + 512), |e| {
            matches!(e, FileError::Plan(PlanError::TooLarge { .. }))
        }),
        (at(1, 16), u(1 << 48), |e| matches!(e, FileError::Plan(PlanError::TooLarge { .. }))),
        (at(1, 24), n(33), |e| matches!(e, FileError::Plan(PlanError::Probes { probes: 33 }))),
    ];
    for (offset, bytes, refused) in others {
        let error = refusal(&with_header(levels, offset, &bytes), None);
        assert!(refused(&error), "at {offset}: {bytes:?}: {error:?}");
    }
    // A list in another order, or with a hash twice: a search would miss some.
    let list = listed.len() - 16 - 128;
    for (from, to) in [(list, list + 16), (list + 16, list)] {
        let mut file = listed.clone();
        let hash = file[from..from + 16].to_vec();
        file[to..to + 16].copy_from_slice(&hash);
        resum(&mut file);
        let error = refusal(&file, None);
        assert!(
            matches!(error, FileError::Field(FieldError { field: "payload", .. })),
            "{error:?}"
        );
    }
    let mut file = listed.clone();
    let last = file.len() - 17;
    file[last] = 1;
    resum(&mut file);
    let error = refusal(&file, None);
    assert!(matches!(error, FileError::Field(FieldError { field: "payload", .. })), "{error:?}");
}

#[test]
fn every_header_field_is_checked() {
    type Refused = fn(&FileError) -> bool;
    fn field(name: &'static str) -> impl Fn(&FileError) -> bool {
        move |error| matches!(error, FileError::Field(FieldError { field, .. }) if *field == name)
    }
    let blocked = &files()[0].0;
    let (classic, keyed) = (&files()[2].0, &files()[1].0);
    let nothing = with_header(blocked, 0, &[]);
    assert!(&nothing == blocked, "the checksum is computed as FORMAT.md says");

    let variants: &[(&str, usize, Vec<u8>, Refused)] = &[
        ("magic", 0, b"\x89UMBEL\n\n".to_vec(), |e| matches!(e, FileError::NotUmbel { .. })),
        ("version", 8, vec![0, 0], |e| matches!(e, FileError::Version { found: 0 })),
        ("version", 8, vec![2, 0], |e| matches!(e, FileError::Version { found: 2 })),
        ("kind", 10, vec![0, 0], |e| matches!(e, FileError::UnknownKind(0))),
        ("kind", 10, vec![200, 0], |e| matches!(e, FileError::UnknownKind(200))),
        ("kind", 10, vec![255, 255], |e| matches!(e, FileError::UnknownKind(65_535))),
        ("algorithm", 16, vec![0, 0], |e| matches!(e, FileError::UnknownAlgorithm(0))),
        ("algorithm", 16, vec![4, 0], |e| matches!(e, FileError::UnknownAlgorithm(4))),
        ("planned_fpp", 48, f(0.0), |e| matches!(e, FileError::Plan(PlanError::Fpp(_)))),
        ("planned_fpp", 48, f(-0.0), |e| matches!(e, FileError::Plan(PlanError::Fpp(_)))),
        ("planned_fpp", 48, f(1.0), |e| matches!(e, FileError::Plan(PlanError::Fpp(_)))),
        ("planned_fpp", 48, f(-0.5), |e| matches!(e, FileError::Plan(PlanError::Fpp(_)))),
        ("planned_fpp", 48, f(f64::INFINITY), |e| matches!(e, FileError::Plan(PlanError::Fpp(_)))),
        ("planned_fpp", 48, f(f64::NAN), |e| matches!(e, FileError::Plan(PlanError::Fpp(_)))),
        ("planned_keys", 56, u(0), |e| matches!(e, FileError::Plan(PlanError::ZeroKeys))),
        ("bits", 64, u((1 << 48) + 512), |e| {
            matches!(e, FileError::Plan(PlanError::TooLarge { .. }))
        }),
        ("bits", 64, u(u64::MAX), |e| matches!(e, FileError::Plan(PlanError::TooLarge { .. }))),
        ("probes", 72, vec![0, 0, 0, 0], |e| {
            matches!(e, FileError::Plan(PlanError::Probes { probes: 0 }))
        }),
        ("probes", 72, vec![33, 0, 0, 0], |e| {
            matches!(e, FileError::Plan(PlanError::Probes { probes: 33 }))
        }),
        ("probes", 72, vec![8, 0, 0, 1], |e| {
            matches!(e, FileError::Plan(PlanError::Probes { .. }))
        }),
    ];
    for (name, offset, bytes, refused) in variants {
        for file in [blocked, classic] {
            let error = refusal(&with_header(file, *offset, bytes), None);
            assert!(refused(&error), "{name} {bytes:?}: {error:?}");
        }
    }

    let mut fields = vec![
        ("header_length", blocked, 12, vec![0, 0, 0, 0]),
        ("header_length", blocked, 12, vec![64, 0, 0, 0]),
        ("header_length", blocked, 12, vec![128, 0, 0, 1]),
        ("key_id", blocked, 32, u(1)),
        ("seed", keyed, 24, u(1)),
        ("bits", blocked, 64, u(0)),
        ("bits", classic, 64, u(0)),
        ("bits", blocked, 64, u(1023)),
        // A number that is right by itself but contradicts another.
        ("payload_length", blocked, 64, u(512)),
        ("payload_length", classic, 64, u(1025)),
        ("payload_length", classic, 64, u(512)),
        ("payload_length", blocked, 64, u(1 << 48)),
        ("payload_length", blocked, 40, u(0)),
        ("payload_length", blocked, 40, u(64)),
        ("payload_length", blocked, 40, u(127)),
        ("payload_length", blocked, 40, u(129)),
        ("payload_length", blocked, 40, u(1 << 45)),
        ("payload_length", blocked, 40, u(u64::MAX)),
        ("payload_length", blocked, 40, u(u64::MAX - 127)),
    ];
    for byte in (18..20).chain(76..120) {
        fields.push(("zeros", blocked, byte, vec![1]));
    }
    fields.push(("description", blocked, 20, vec![1]));
    fields.extend((21..24).map(|byte| ("description_length", blocked, byte, vec![1])));
    for (name, file, offset, bytes) in fields {
        let secret = std::ptr::eq(file, keyed).then_some(&SECRET);
        let error = refusal(&with_header(file, offset, &bytes), secret);
        assert!(field(name)(&error), "{name} at {offset}: {bytes:?}: {error:?}");
    }
    // The checksum is looked for where a longer header would end.
    let longer = with_header(blocked, 12, &[192]);
    assert!(matches!(refusal(&longer, None), FileError::HeaderDamaged));
}

#[test]
fn every_field_of_counters_is_checked() {
    let file = &files()[14].0;
    for (name, offset, bytes) in [
        ("header_length", 12, vec![192, 0]),
        ("header_length", 12, vec![64, 0]),
        ("bits", 64, u(0)),
        ("bits", 64, u(512)),
        ("bits", 64, u(3 * 512)),
        ("bits", 64, u(5 * 512)),
        ("bits", 64, u(4 * 512 + 1)),
        ("payload_length", 64, u(8 * 512)),
        ("payload_length", 64, u(1 << 48)),
        ("payload_length", 40, u(0)),
        ("payload_length", 40, u(64)),
        ("bits", 76, vec![8, 0, 0, 0]),
        ("bits", 76, vec![16, 0, 0, 0]),
        ("seed", 16, vec![2, 0]),
    ] {
        let error = refusal(&with_header(file, offset, &bytes), None);
        let right = matches!(&error, FileError::Field(FieldError { field, .. }) if *field == name)
            || (name == "header_length"
                && matches!(error, FileError::HeaderDamaged | FileError::Length { .. }));
        assert!(right, "{name} at {offset}: {bytes:?}: {error:?}");
    }
    for byte in 80..120 {
        let error = refusal(&with_header(file, byte, &[1]), None);
        assert!(
            matches!(error, FileError::Field(FieldError { field: "zeros", .. })),
            "{byte}: {error:?}"
        );
    }
    for detail in [0, 1, 2, 3, 5, 12, 15, 17, 32, 255] {
        let error = refusal(&with_header(file, 76, &[detail, 0, 0, 0]), None);
        assert!(matches!(error, FileError::Plan(PlanError::Detail { .. })), "{error:?}");
    }
    let probes = |probes| refusal(&with_header(file, 72, &[probes, 0, 0, 0]), None);
    assert!(matches!(probes(0), FileError::Plan(PlanError::Probes { probes: 0 })));
    assert!(matches!(probes(33), FileError::Plan(PlanError::Probes { probes: 33 })));
    // High parts without a low one stand for no count.
    let used = |byte: usize| file[128 + byte] | file[128 + 64 + byte];
    let free = (0..64).find(|&byte| used(byte) != 255).unwrap();
    for plane in [2, 3] {
        let mut file = file.clone();
        file[128 + 64 * plane + free] |= !used(free);
        resum(&mut file);
        let error = refusal(&file, None);
        assert!(
            matches!(error, FileError::Field(FieldError { field: "payload", .. })),
            "{error:?}"
        );
    }
}

#[test]
fn every_field_of_cells_is_checked() {
    let file = &files()[16].0;
    // 24 words of 21 cells.
    for (name, offset, bytes) in [
        ("bits", 64, u(0)),
        ("bits", 64, u(513)),
        ("payload_length", 64, u(4 * 512)),
        ("payload_length", 64, u(1 << 48)),
        ("payload_length", 40, u(64)),
        ("lowered", 80, u(0)),
        ("lowered", 80, u(24 * 21 + 1)),
        ("lowered", 80, u(u64::MAX)),
    ] {
        let error = refusal(&with_header(file, offset, &bytes), None);
        let right = matches!(&error, FileError::Field(FieldError { field, .. }) if *field == name);
        assert!(right, "{name} at {offset}: {bytes:?}: {error:?}");
    }
    for byte in 96..120 {
        let error = refusal(&with_header(file, byte, &[1]), None);
        assert!(
            matches!(error, FileError::Field(FieldError { field: "zeros", .. })),
            "{byte}: {error:?}"
        );
    }
    for detail in [0, 9, 16, 255] {
        let error = refusal(&with_header(file, 76, &[detail, 0, 0, 0]), None);
        assert!(matches!(error, FileError::Plan(PlanError::Detail { .. })), "{error:?}");
    }
    let probes = |probes| refusal(&with_header(file, 72, &[probes, 0, 0, 0]), None);
    assert!(matches!(probes(0), FileError::Plan(PlanError::Probes { probes: 0 })));
    assert!(matches!(probes(33), FileError::Plan(PlanError::Probes { probes: 33 })));
    open(&with_header(file, 80, &u(24 * 21)), None).unwrap();
    open(&with_header(file, 88, &u(u64::MAX)), None).unwrap();
    for word in [0, 5, 23] {
        let mut file = file.clone();
        file[128 + 8 * word + 7] |= 0x80;
        resum(&mut file);
        let error = refusal(&file, None);
        assert!(
            matches!(error, FileError::Field(FieldError { field: "payload", .. })),
            "{error:?}"
        );
    }
}

/// A kind of a later release may have a longer header, whose checksum this one would not find.
#[test]
fn newer_kinds_are_told_from_damage() {
    let mut file = files()[0].0.clone();
    file[10] = 200;
    assert!(matches!(refusal(&file, None), FileError::HeaderDamaged));
    file[12] = 192;
    assert!(matches!(refusal(&file, None), FileError::HeaderDamaged));
    let sum = XxHash3_64::oneshot_with_seed(0, &file[..184]);
    file[184..192].copy_from_slice(&sum.to_le_bytes());
    assert!(matches!(refusal(&file, None), FileError::UnknownKind(200)));
    file[10] = 1;
    assert!(matches!(refusal(&file, None), FileError::HeaderDamaged));
}

fn u(number: u64) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

fn f(number: f64) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

#[test]
fn secrets_must_fit() {
    let (plain, keyed) = (&files()[0].0, &files()[1].0);
    let other = Secret::new([8; 16]);
    assert!(matches!(refusal(plain, Some(&SECRET)), FileError::Scheme(SchemeError::NotKeyed(_))));
    assert!(matches!(refusal(keyed, None), FileError::Scheme(SchemeError::SecretNeeded { .. })));
    assert!(matches!(
        refusal(keyed, Some(&other)),
        FileError::Scheme(SchemeError::WrongSecret { .. })
    ));
    let unknown = with_header(keyed, 32, &u(SECRET.key_id() ^ 1));
    assert!(matches!(
        refusal(&unknown, Some(&SECRET)),
        FileError::Scheme(SchemeError::WrongSecret { .. })
    ));
}

/// A consistent header that declares 2⁴⁸ bits is refused by the length of the file, and if that is a lie, by the memory
/// or by the end of the source; never by an abort.
#[test]
fn huge_declared_sizes_are_refused() {
    let huge = with_header(&files()[0].0, 64, &u(1 << 48));
    let huge = with_header(&huge, 40, &u(1 << 45));
    assert!(matches!(refusal(&huge, None), FileError::Length { .. }));

    let whole = 128 + (1u64 << 45) + 8 * (1 << 25) + 8;
    assert!(Reader::new(&huge[..], whole).is_ok(), "the length that the header declares");
    let error = AnyFilter::read(&huge[..], whole).unwrap_err();
    assert!(matches!(error, FileError::OutOfMemory(_) | FileError::Length { .. }), "{error:?}");
}

#[test]
fn set_bits_after_the_last_are_refused() {
    let (file, _) = &files()[2];
    for position in [601usize, 607, 608, 1000, 1023] {
        let mut file = file.clone();
        file[128 + position / 8] |= 1 << (position % 8);
        resum(&mut file);
        let error = refusal(&file, None);
        assert!(
            matches!(error, FileError::Field(FieldError { field: "payload", .. })),
            "{position}: {error:?}"
        );
    }
    let mut file = file.clone();
    file[128 + 600 / 8] |= 1;
    resum(&mut file);
    open(&file, None).expect("bit 600 is the last of 601");
}

/// Makes the checksums of a payload of a single chunk right again.
pub(crate) fn resum(file: &mut [u8]) {
    let table = file.len() - 16;
    let start = header_length(file);
    let sum = XxHash3_64::oneshot_with_seed(0, &file[start..table]);
    file[table..table + 8].copy_from_slice(&sum.to_le_bytes());
    let sum = XxHash3_64::oneshot_with_seed(1, &file[table..table + 8]);
    file[table + 8..].copy_from_slice(&sum.to_le_bytes());
}

/// A source may deliver less than announced, byte by byte, or fail.
#[test]
fn sources_that_end_early_or_fail_are_errors() {
    struct Drip<'a>(&'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let into = &mut into[..1.min(self.0.len())];
            self.0.read(into)
        }
    }

    struct Failing<'a>(&'a [u8]);

    impl Read for Failing<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            match self.0.read(into)? {
                0 => Err(io::Error::other("the disk is gone")),
                read => Ok(read),
            }
        }
    }

    for (file, secret) in files() {
        let length = file.len() as u64;
        AnyFilter::read_with(Drip(&file), length, secret).unwrap();
        for end in 0..file.len() {
            let error = AnyFilter::read_with(Drip(&file[..end]), length, secret).unwrap_err();
            let right = match end {
                0..8 => matches!(error, FileError::NotUmbel { .. }),
                _ => matches!(error, FileError::Length { expected, found } if found < expected),
            };
            assert!(right, "{end}: {error:?}");
            let error = AnyFilter::read_with(Failing(&file[..end]), length, secret).unwrap_err();
            assert!(matches!(error, FileError::Io(_)), "{end}: {error:?}");
        }
    }
}

/// Bytes that are not from a mapping may have an address at which they cannot be borrowed.
#[test]
fn a_misplaced_view_is_an_error() {
    let (file, _) = &files()[0];
    let mut room = Blocks::zeroed((file.len().div_ceil(64) + 1) as u64).unwrap();
    let bytes = room.as_bytes_mut();
    for shift in [1, 8, 32, 63] {
        bytes[shift..shift + file.len()].copy_from_slice(file);
        let view = AnyFilter::view(&bytes[shift..shift + file.len()]);
        assert!(matches!(view, Err(FileError::Misaligned)), "{shift}");
    }
}

/// Messages name what was found and what to do.
#[test]
fn messages_tell_what_to_do() {
    let (file, _) = &files()[0];
    for (bytes, words) in [
        (&file[..150], "the header declares 272 bytes, the file has 150; truncated? copy it again"),
        (&b"PAR1 and more"[..], "not an umbel file: it begins with \"PAR1 and\""),
        (
            &with_header(file, 8, &[9, 0])[..],
            "format version 9; this release reads version 1; use a newer umbel",
        ),
        (&with_header(file, 10, &[200, 0])[..], "kind 200, which this release does not know"),
    ] {
        let message = refusal(bytes, None).to_string();
        assert!(message.contains(words), "{message}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        _ = open(&bytes, None);
        _ = open(&bytes, Some(&SECRET));
    }

    /// Random bytes seldom pass the first checks; these are led past them.
    #[test]
    fn no_header_makes_a_reader_panic(
        which in 0..20usize,
        changes in prop::collection::vec(
            (8..248usize, prop_oneof![Just(0), Just(255), any::<u8>()]), 0..6,
        ),
        length in 128..1500usize,
        payload in any::<u8>(),
    ) {
        let (file, secret) = &files()[which];
        let mut file = file.clone();
        for (at, byte) in changes {
            // The length of the header stays, so that its checksum is where it was.
            let end = header_length(&file) - 8;
            if at < end && !(12..16).contains(&at) {
                file = with_header(&file, at, &[byte]);
            }
        }
        let header = header_length(&file);
        file.resize(length, payload);
        if length > header + 16 {
            resum(&mut file);
        }
        _ = open(&file, *secret);
        _ = Reader::new(&file[..], u64::MAX);
        if let Ok(reader) = Reader::new(&file[..], file.len() as u64) {
            let mut payload = vec![0; reader.header().payload_length() as usize];
            _ = reader.read_payload(&mut payload);
        }
    }
}
