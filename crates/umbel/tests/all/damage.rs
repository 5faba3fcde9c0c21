//! Every reader refuses damaged files with the reason, and none panics.

use std::fmt::Debug;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::OnceLock;

use proptest::prelude::*;
use twox_hash::XxHash3_64;
use umbel::internals::format::{CHUNK, Reader};
use umbel::{
    AnyFilter, AnyScheme, Attributes, Cascade, FieldError, FileError, Filter, KeyHasher, Kind,
    Plan, Scalable, Secret, Unlock, Window,
};

use crate::plans::variant;
use crate::reopened::Aligned;

static SECRET: Secret = Secret::new([7; 16]);

/// A small file, and the secret that opens it.
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) file: Vec<u8>,
    pub(crate) secret: Option<&'static Secret>,
}

/// One sample of each sort.
fn samples() -> &'static [Sample] {
    static SAMPLES: OnceLock<Vec<Sample>> = OnceLock::new();
    SAMPLES.get_or_init(make_samples)
}

fn sample(name: &str) -> &'static Sample {
    samples().iter().find(|sample| sample.name == name).expect("a sample of this name")
}

fn make_samples() -> Vec<Sample> {
    let plan = |kind, detail, keys, fpp, bits, probes| {
        Plan::from_parts(variant(kind, detail), keys, fpp, bits, probes).unwrap()
    };
    let (plain, keyed) = (None, Some(&SECRET));
    let blocked = plan(Kind::Blocked, 0, 60, 0.01, 1024, 8);
    let classic = plan(Kind::Classic, 0, 60, 0.01, 601, 7);
    let sliced = plan(Kind::Sliced, 0, 60, 0.01, 602, 7);
    let one = plan(Kind::Scalable, 0, 60, 0.01, 1024, 8);
    let four = |growth| plan(Kind::Scalable, growth, 8, 0.01, 512, 8);
    let window = |keys| {
        Window::with_plan(&plan(Kind::Window, 4, keys, 0.01, 2048, 8), hasher(plain)).unwrap()
    };
    let by_time = plan(Kind::Window, 3, 30, 0.01, 1536, 8);
    let by_time = Window::by_time(&by_time, hasher(keyed), 8).unwrap();
    let coded = plan(Kind::Coded, 13, 60, 0.1, 1024, 1);
    let counting = plan(Kind::Counting, 4, 60, 0.01, 4 * 512, 8);
    let stable = plan(Kind::Stable, 3, 60, 0.5, 3 * 512, 1);
    let bloomier = plan(Kind::Bloomier, 7, 60, 0.01, 1024, 3);
    let samples = [
        ("blocked", 128, file(&blocked, plain), plain),
        ("keyed blocked", 128, file(&blocked, keyed), keyed),
        ("classic", 128, file(&classic, plain), plain),
        ("keyed classic", 128, file(&classic, keyed), keyed),
        ("one link", 128, file(&one, plain), plain),
        ("four links", 256, grown(&four(0), plain), plain),
        ("keyed links", 256, grown(&four(0), keyed), keyed),
        ("sliced", 128, file(&sliced, plain), plain),
        ("window", 192, many(window(30)), plain),
        ("young window", 192, many(window(120)), plain),
        ("window by time", 128, many(by_time), keyed),
        ("even links", 576, grown(&four(1), plain), plain),
        ("rows", 128, rows(), plain),
        ("coded", 128, file(&coded, plain), plain),
        ("counting", 128, file(&counting, plain), plain),
        ("keyed counting", 128, file(&counting, keyed), keyed),
        ("stable", 128, file(&stable, plain), plain),
        ("bloomier", 128, file(&bloomier, plain), plain),
        ("levels", 256, cascade(0), plain),
        ("list", 192, cascade(1), plain),
    ];
    let sample = |(name, header, file, secret): (&str, _, Vec<u8>, _)| {
        assert_eq!(header_length(&file), header, "{name}");
        Sample { name: name.to_owned(), file, secret }
    };
    samples.map(sample).into()
}

fn hasher(secret: Option<&Secret>) -> KeyHasher {
    secret.map_or(KeyHasher::with_seed(5), |secret| KeyHasher::keyed(secret.clone()))
}

/// A filter of rows with two attributes and a tag; each filter has unused bits at the end.
fn rows() -> Vec<u8> {
    let plan = Plan::from_parts(variant(Kind::Attributes, 11), 60, 0.01, 601, 7).unwrap();
    let mut filter = Attributes::with_names(&plan, &["host", "user"], hasher(None)).unwrap();
    for key in 0..60u64 {
        filter.insert_row(&[key.to_le_bytes(), (key / 2).to_le_bytes()]).unwrap();
    }
    filter.to_bytes()
}

/// A scalable filter of four links, the last of which is half full.
fn grown(plan: &Plan, secret: Option<&Secret>) -> Vec<u8> {
    let mut filter = Scalable::with_plan(plan, hasher(secret)).unwrap();
    let new = (0u64..).filter(|&key| filter.try_insert(key).unwrap());
    assert_eq!(new.take(11 * plan.keys() as usize).count() as u64, 11 * plan.keys());
    filter.to_bytes()
}

/// A window after 45 insertions; by time, one per tick.
fn many(mut filter: Window) -> Vec<u8> {
    for key in 0..45 {
        if filter.span().is_some() {
            filter.advance(key).unwrap();
        }
        filter.insert(key);
    }
    filter.to_bytes()
}

/// A three-level cascade, or a filter with a list of five hashes.
fn cascade(form: u32) -> Vec<u8> {
    let hasher = hasher(None);
    let hashes = |keys: std::ops::Range<u64>| keys.map(|key| hasher.hash(key)).collect();
    let (include, exclude): (Vec<_>, Vec<_>) =
        (hashes(0..60), hashes(60..[6_000, 160][form as usize]));
    let plan = Plan::from_parts(variant(Kind::Cascade, form), 60, 0.1, 512, 3).unwrap();
    Cascade::build_with_plan(&plan, &include, &exclude, hasher).unwrap().to_bytes()
}

/// The little-endian number of N bytes at an offset of a file.
pub(crate) fn number<const N: usize>(file: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes[..N].copy_from_slice(&file[at..at + N]);
    u64::from_le_bytes(bytes)
}

pub(crate) fn header_length(file: &[u8]) -> usize {
    number::<4>(file, 12) as usize
}

fn file(plan: &Plan, secret: Option<&Secret>) -> Vec<u8> {
    let keys = Vec::from_iter(0..plan.keys().min(1000));
    AnyFilter::build(plan, &keys, hasher(secret)).unwrap().to_bytes()
}

/// Opens the bytes with every reader; all must agree. Returns the receipt or the error.
fn open<U: Unlock + Copy>(bytes: &[u8], unlock: U) -> Result<umbel::Receipt, FileError> {
    let (aligned, length) = (Aligned::new(bytes), bytes.len() as u64);
    let read = AnyFilter::read_with(bytes, length, unlock).map(|filter| filter.receipt());
    let others = [
        AnyFilter::view_with(aligned.bytes(), unlock).map(|filter| filter.receipt()),
        AnyFilter::from_bytes_with(bytes, unlock).map(|filter| filter.receipt()),
    ];
    for other in others {
        match (&read, &other) {
            (Ok(read), Ok(other)) => assert_eq!(read, other),
            (Err(read), Err(other)) => assert_eq!(read.to_string(), other.to_string()),
            _ => panic!("read gives {read:?}, another reader {other:?}"),
        }
    }
    let sealed = AnyFilter::read_with(bytes, length, AnyScheme).map(drop);
    let about_schemes = matches!(read, Err(FileError::Scheme(_)));
    assert!(about_schemes || sealed.is_ok() == read.is_ok(), "{read:?}, sealed {sealed:?}");
    read
}

/// The error for bytes that must not open.
pub(crate) fn refusal<U: Unlock + Copy>(bytes: &[u8], unlock: U) -> FileError {
    open(bytes, unlock).expect_err("damaged bytes were accepted")
}

/// Compares a field by its name, any other error by the start of its debug form.
pub(crate) fn is(error: &FileError, expected: &str) -> bool {
    match error {
        FileError::Field(FieldError { field, .. }) => *field == expected,
        error => format!("{error:?}").starts_with(expected),
    }
}

/// Asserts that the error has this debug form.
#[track_caller]
pub(crate) fn assert_fails<T, E: Debug>(expected: &str, result: Result<T, E>) {
    let error = format!("{:?}", result.map(drop).unwrap_err());
    assert!(error.starts_with(expected), "{error}, not {expected}");
}

/// An error, an offset in the header, and the bytes refused there.
type Row = (&'static str, usize, Vec<Vec<u8>>);

pub(crate) fn refuses(sample: &Sample, rows: impl IntoIterator<Item = Row>) {
    let Sample { name, file, secret } = sample;
    assert!(&with_header(file, 0, &[]) == file, "the checksum is computed as FORMAT.md says");
    for (expected, offset, refused) in rows {
        for bytes in refused {
            let error = refusal(&with_header(file, offset, &bytes), *secret);
            assert!(is(&error, expected), "{name}: {expected} at {offset}: {bytes:?}: {error:?}");
        }
    }
}

fn takes(sample: &Sample, rows: impl IntoIterator<Item = (usize, Vec<Vec<u8>>)>) {
    for (offset, taken) in rows {
        for bytes in taken {
            open(&with_header(&sample.file, offset, &bytes), sample.secret).unwrap();
        }
    }
}

/// Bits that are refused if set in these bytes of the payload, even with correct checksums.
fn refuses_bits(sample: &Sample, bits: impl IntoIterator<Item = (usize, u8)>) {
    for (byte, bits) in bits {
        let mut file = sample.file.clone();
        file[header_length(&sample.file) + byte] |= bits;
        resum(&mut file);
        let error = refusal(&file, sample.secret);
        assert!(is(&error, "payload"), "{}: {bits} at {byte}: {error:?}", sample.name);
    }
}

/// Rows for reserved bytes.
fn zeros(bytes: impl IntoIterator<Item = usize>) -> impl Iterator<Item = Row> {
    bytes.into_iter().map(|byte| ("zeros", byte, vec![vec![1]]))
}

/// Numbers of 8 bytes.
fn u<const N: usize>(numbers: [u64; N]) -> Vec<Vec<u8>> {
    numbers.map(|number| number.to_le_bytes().to_vec()).into()
}

/// Numbers of 4 bytes.
fn n<const N: usize>(numbers: [u32; N]) -> Vec<Vec<u8>> {
    numbers.map(|number| number.to_le_bytes().to_vec()).into()
}

fn f<const N: usize>(numbers: [f64; N]) -> Vec<Vec<u8>> {
    u(numbers.map(f64::to_bits))
}

#[test]
fn undamaged_files_open() {
    for Sample { file, secret, .. } in samples() {
        assert!(open(file, *secret).unwrap().set_bits > 0);
    }
}

#[test]
fn every_other_length_is_refused() {
    for Sample { file, secret, .. } in samples() {
        let (header, length) = (header_length(file), file.len());
        let longer = [&file[..], &[0, b'\n', 255]].concat();
        for found in (0..=longer.len()).filter(|&found| found != length) {
            let error = refusal(&longer[..found], *secret);
            let expected = match found {
                0..8 => "NotUmbel(".to_owned(),
                8..128 => format!("Length(128, {found})"),
                _ if found < header => format!("Length({header}, {found})"),
                _ => format!("Length({length}, {found})"),
            };
            assert!(is(&error, &expected), "{expected}: {error:?}");
            let words = if found < length { "truncated" } else { "appended" };
            assert!(found < 8 || error.to_string().contains(words), "{error}");
        }
    }
}

/// Flips some bits of a file with one chunk, one at a time; each flip is refused with the error of its field.
pub(crate) fn refuses_flips(
    file: &[u8],
    bits: Range<usize>,
    refusals: impl Fn(&[u8]) -> Vec<FileError>,
) {
    let (header, payload_end) = (header_length(file), file.len() - 16);
    let mut file = file.to_vec();
    for bit in bits {
        file[bit / 8] ^= 1 << (bit % 8);
        for error in refusals(&file) {
            let right = match bit / 8 {
                0..8 => matches!(error, FileError::NotUmbel(..)),
                8..10 => matches!(error, FileError::Version(..)),
                // If the declared header is longer than the file, no other error may be possible.
                12..16 => matches!(error, FileError::HeaderDamaged | FileError::Length(..)),
                byte if byte < header => matches!(error, FileError::HeaderDamaged),
                byte if byte < payload_end => {
                    let range = (header as u64, payload_end as u64);
                    matches!(error, FileError::PayloadDamaged { start, end } if (start, end) == range)
                }
                _ => matches!(error, FileError::ChecksumsDamaged),
            };
            assert!(right, "bit {bit}: {error:?}");
        }
        file[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn every_flipped_bit_is_refused() {
    for Sample { file, secret, .. } in samples() {
        refuses_flips(file, 0..8 * file.len(), |file| vec![refusal(file, *secret)]);
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
            let expected = format!("PayloadDamaged {{ start: {start}, end: {end} }}");
            assert!(is(&error, &expected), "{byte}: {error:?}");
            file[byte] ^= 16;
        }
    }
    let (first, second) = file[128..].split_at_mut(CHUNK);
    first.swap_with_slice(&mut second[..CHUNK]);
    assert!(matches!(refusal(&file, None), FileError::PayloadDamaged { start: 128, .. }));
}

/// Bytes of a file with part of its header overwritten and the header's checksum corrected.
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
    let (one, four) = (sample("one link"), sample("four links"));
    let at = |link: usize, field: usize| 72 + 40 * link + field;
    refuses(one, [("link_fpp", 68, n([1])), ("header_length", 64, n([2]))]);
    let mut rows = vec![
        ("links", 64, n([0, 49, 4 | 1 << 24])),
        ("link_fpp", 68, n([1])),
        ("links", 64, u([1 << 32 | 1025])),
        ("Plan(Detail", 68, n([2, 1 << 24])),
        ("header_length", 64, n([5, 1])),
        // Three or four links need equally many bytes of header: the fourth is not zeros.
        ("zeros", 64, n([3])),
        // The links' keys and rates follow the same rules as those of the whole filter.
        ("link_keys", 56, u([9, u64::MAX])),
        ("link_fpp", 48, f([0.02])),
        ("Plan(ZeroKeys", at(2, 0), u([0])),
        ("Plan(Fpp", at(2, 8), f([f64::NAN, -0.0])),
        ("Plan(TooLarge", at(2, 24), u([(1 << 48) + 512])),
        // Each would be possible, but not all together.
        ("Plan(TooLarge", at(2, 24), u([1 << 48])),
        ("Plan(Probes(0)", at(2, 32), n([0])),
        ("Plan(Probes(33)", at(2, 32), n([33])),
    ];
    for link in 0..4 {
        rows.extend([
            ("link_keys", at(link, 0), u([1, 7 << link, 8 << (link + 1), u64::MAX])),
            ("link_fpp", at(link, 8), f([0.01, 0.01 / f64::from(2 << link) + 1e-18, 0.999])),
            ("link_taken", at(link, 16), u([(8 << link) + 1, u64::MAX, 0])),
            ("bits", at(link, 24), u([0, 511, 513])),
            ("payload_length", at(link, 24), u([51_200, 1 << 45])),
        ]);
        if link < 3 {
            rows.push(("link_taken", at(link, 16), u([(8 << link) - 1])));
        }
        rows.extend(zeros(at(link, 36)..at(link, 40)));
    }
    refuses(four, rows.into_iter().chain(zeros(232..248)));
    // The last link may have taken any number of keys but 0, and so may a first one that is alone.
    takes(four, [(at(3, 16), u([1, 63, 64]))]);
    takes(one, [(at(0, 16), u([0, 1, 60]))]);
    // Links cannot change places, nor can their bits.
    let mut swapped = four.file.clone();
    let payload = swapped.len() - 16;
    swapped[256..payload].rotate_left(64);
    assert!(matches!(refusal(&swapped, None), FileError::PayloadDamaged { .. }));
}

#[test]
fn every_field_of_a_window_is_checked() {
    // 45 of 10 a generation: numbers 1 to 4, at places 1, 2, 3 and 0, which took 10, 10, 10 and 5.
    // Of the young one, 40 and 5 at places 0 and 1. By time, 4 ticks a generation: 9, 10 and 11.
    let (old, young, by_time) =
        (sample("window"), sample("young window"), sample("window by time"));
    let numbers = [88, 96, 104, 112, 120].map(|at| number::<8>(&old.file, at));
    assert_eq!(numbers, [4, 5, 10, 10, 10]);
    let taken = |place: usize| 96 + 8 * place;
    let rows = [
        ("bits", 64, u([2047, 512 * 3])),
        ("payload_length", 64, u([4096])),
        // Another number of generations implies other keys in each, or does not divide the bits.
        ("bits", 76, n([5, 3])),
        ("Plan(Detail", 76, n([0, 1, 9, u32::MAX])),
        ("taken", 56, u([31, 27])),
        ("taken", 88, u([0, 3, 5])),
        ("taken", taken(0), u([10, u64::MAX])),
        ("taken", taken(2), u([9, 11, 0])),
        ("payload", taken(0), u([0])),
    ];
    refuses(old, rows.into_iter().chain(zeros(128..184)));
    let rows = [
        ("taken", taken(1), u([40])),
        ("taken", taken(0), u([39])),
        ("taken", taken(2), u([1])),
        ("taken", taken(3), u([1])),
        ("taken", 88, u([2])),
    ];
    refuses(young, rows);
    let rows = [
        ("number", 88, u([u64::MAX / 4 + 1, u64::MAX])),
        ("taken", 88, u([1])),
        ("payload", taken(1), u([0])),
    ];
    refuses(by_time, rows);
    // With more keys per generation, all earlier ones must be full; by time any number is possible.
    takes(old, [(56, u([28, 30]))]);
    let any = [(taken(1), u([u64::MAX])), (88, u([u64::MAX / 4])), (56, u([1])), (80, u([8]))];
    takes(by_time, any);
}

#[test]
fn every_field_of_rows_is_checked() {
    let rows = [
        ("payload_length", 64, u([1025, 1 << 40])),
        ("payload_length", 76, n([10])),
        ("attributes", 80, n([0, 65])),
        // The names end earlier, with other bytes than zeros after them; or they end later.
        ("zeros", 80, n([1])),
        ("name_length", 80, n([3])),
        ("name_length", 88, n([0, 256])),
        ("header_length", 88, n([100])),
        ("zeros", 84, n([1])),
        ("name", 92, vec![vec![0xff]]),
        ("attributes", 100, vec![b"host".to_vec()]),
        ("Plan(TooLarge", 64, u([1 << 48])),
        ("Plan(Detail(Attributes, 3,", 76, n([3])),
        ("Plan(Detail(Attributes, 20,", 76, n([20])),
        ("Plan(Detail", 76, n([u32::MAX])),
    ];
    refuses(sample("rows"), rows.into_iter().chain(zeros([104, 119])));
    // Tags of all subsets of two attributes equal the tags of rows, with other hashes.
    takes(sample("rows"), [(76, n([12]))]);
    // Bits after the last of each filter.
    refuses_bits(sample("rows"), [0, 1, 2].map(|part| (128 * part + 75, 2)));
}

#[test]
fn every_field_of_codes_is_checked() {
    let rows = [
        ("bits", 64, u([1023])),
        ("payload_length", 64, u([512])),
        ("probes", 72, n([2])),
        ("Plan(Detail(Coded, 0,", 76, n([0])),
        ("Plan(Detail(Coded, 1,", 76, n([1])),
        ("Plan(Detail(Coded, 41,", 76, n([41])),
    ];
    refuses(sample("coded"), rows.into_iter().chain(zeros(80..120)));
    // A bit behind the last cell (39 of 13 bits), and a cell that follows an empty one.
    refuses_bits(sample("coded"), [(63, 128), (63, 8), (62, 1)]);
}

#[test]
fn every_field_of_a_fuse_graph_is_checked() {
    let graph = sample("bloomier");
    let rows = [
        ("shards", 64, n([0, 8001])),
        ("header_length", 64, n([8000])),
        ("payload_length", 64, n([3])),
        ("segment_length", 68, n([0, 1, 24, 1 << 19, 1 << 31])),
        ("segments", 72, n([0, u32::MAX])),
        ("payload_length", 72, n([1000])),
        ("value_bits", 76, n([0])),
        ("fingerprint_bits", 76, n([6, 65, u32::MAX])),
        ("payload_length", 76, n([64])),
        ("value_bits", 80, n([58, u32::MAX])),
        ("payload_length", 80, n([57])),
        ("positions", 84, n([0, 2, 1 << 24])),
        ("keys", 88, u([61, u64::MAX])),
        ("keys", 56, u([59])),
        ("fingerprint_bits", 48, f([0.007])),
    ];
    refuses(graph, rows.into_iter().chain(zeros(104..120)));
    // The last bits of the payload belong to no slot.
    refuses_bits(graph, [(graph.file.len() - 17 - 128, 128)]);
}

#[test]
fn every_field_of_a_cascade_is_checked() {
    let (levels, listed) = (sample("levels"), sample("list"));
    let at = |level: usize, field: usize| 96 + 32 * level + field;
    let caught = number::<8>(&levels.file, at(1, 0));
    assert!(caught > 100 && number::<8>(&listed.file, 88) == 5);
    let mut rows = vec![
        ("levels", 64, n([0, 129, u32::MAX])),
        ("header_length", 64, n([5, 1, 2])),
        // Three or four levels need equally many bytes of header.
        ("Plan(Fpp", 64, n([4])),
        ("Plan(Detail", 68, n([2])),
        ("levels", 68, n([1])),
        ("included", 72, u([61])),
        // Level 2 cannot have more keys than were included, nor level 1 more than were excluded.
        ("level_keys", 72, u([0])),
        ("level_keys", 80, u([caught - 1])),
        ("listed", 88, u([1])),
        ("included", 56, u([59])),
        ("level_keys", 56, u([61])),
        ("level_fpp", 48, f([0.05])),
        ("level_keys", at(0, 0), u([61])),
        ("level_fpp", at(0, 8), f([0.2])),
        ("level_keys", at(1, 0), u([u64::MAX])),
        ("level_keys", at(2, 0), u([61])),
        ("Plan(ZeroKeys", at(1, 0), u([0])),
        ("Plan(Fpp", at(2, 8), f([1.0, f64::NAN])),
        ("Plan(TooLarge", at(1, 16), u([(1 << 48) + 512, 1 << 48])),
        ("Plan(Probes(33)", at(1, 24), n([33])),
    ];
    for level in 0..3 {
        rows.push(("bits", at(level, 16), u([0, 511, 513])));
        rows.push(("payload_length", at(level, 16), u([51_200, 1 << 45])));
        rows.extend(zeros(at(level, 28)..at(level, 32)));
    }
    refuses(levels, rows.into_iter().chain(zeros(192..248)));
    let rows = [
        ("levels", 64, n([2])),
        ("listed", 68, n([0])),
        ("included", 72, u([u64::MAX])),
        ("listed", 80, u([4])),
        ("listed", 88, u([101, u64::MAX])),
        ("payload_length", 88, u([0, 4, 9])),
        // Zeros at the end are not hashes, and the bytes after a list that ends earlier are not zeros.
        ("payload", 88, u([8])),
    ];
    refuses(listed, rows);
    // A list in another order, or with a repeated hash: a search would miss some.
    let list = listed.file.len() - 16 - 128;
    for (from, to) in [(list, list + 16), (list + 16, list)] {
        let mut file = listed.file.clone();
        file.copy_within(from..from + 16, to);
        resum(&mut file);
        assert!(is(&refusal(&file, None), "payload"), "{from} {to}");
    }
    refuses_bits(listed, [(listed.file.len() - 17 - 192, 1)]);
}

/// Fields in the headers of all kinds, and in those of filters of one size.
#[test]
fn every_common_field_is_checked() {
    for sample in samples() {
        let kind = AnyFilter::read_with(&sample.file[..], sample.file.len() as u64, AnyScheme);
        let kind = kind.unwrap().kind();
        let rows = [
            ("NotUmbel", 0, vec![b"\x89UMBEL\n\n".to_vec()]),
            ("Version(0)", 8, vec![vec![0, 0]]),
            ("Version(2)", 8, vec![vec![2, 0]]),
            ("UnknownKind(0)", 10, vec![vec![0, 0]]),
            ("UnknownKind(200)", 10, vec![vec![200, 0]]),
            ("UnknownKind(65535)", 10, vec![vec![255, 255]]),
            ("UnknownAlgorithm(0)", 16, vec![vec![0, 0]]),
            ("UnknownAlgorithm(4)", 16, vec![vec![4, 0]]),
            ("Plan(Fpp", 48, f([0.0, -0.0, 1.0, -0.5, f64::INFINITY, f64::NAN])),
            (if kind == Kind::Bloomier { "keys" } else { "Plan(ZeroKeys" }, 56, u([0])),
            ("payload_length", 40, u([0, 64, 127, 129, 1 << 45, u64::MAX, u64::MAX - 127])),
            if sample.secret.is_some() { ("seed", 24, u([1])) } else { ("key_id", 32, u([1])) },
        ];
        refuses(sample, rows.into_iter().chain(zeros(18..20)));
        // One sample's fields leave no room for a description; another's header is longer.
        let described =
            if sample.name == "window by time" { "header_length" } else { "description" };
        refuses(sample, [(described, 20, vec![vec![1]])]);
        if sample.name != "even links" {
            refuses(sample, (21..24).map(|byte| ("description_length", byte, vec![vec![1]])));
        }
        if header_length(&sample.file) == 128 {
            // The reader looks for the checksum where a longer header would end.
            let lengths = ("header_length", 12, n([0, 64, 128 | 1 << 24]));
            refuses(sample, [lengths, ("HeaderDamaged", 12, n([192]))]);
        }
        if !matches!(kind, Kind::Scalable | Kind::Bloomier | Kind::Cascade) {
            let rows = [
                ("bits", 64, u([0])),
                ("Plan(TooLarge", 64, u([(1 << 48) + 512, u64::MAX])),
                ("Plan(Probes(0)", 72, n([0])),
                ("Plan(Probes(33)", 72, n([33])),
                ("Plan(Probes", 72, n([8 | 1 << 24])),
            ];
            refuses(sample, rows);
        }
    }
}

#[test]
fn every_field_of_plain_bits_is_checked() {
    // A number that is valid by itself but contradicts another.
    let rows = [("bits", 64, u([1023])), ("payload_length", 64, u([512, 1 << 48]))];
    refuses(sample("blocked"), rows.into_iter().chain(zeros(76..120)));
    refuses(sample("classic"), [("payload_length", 64, u([512, 1025]))]);
}

#[test]
fn every_field_of_counters_is_checked() {
    let counting = sample("counting");
    let rows = [
        ("bits", 64, u([512, 3 * 512, 5 * 512, 4 * 512 + 1])),
        ("payload_length", 64, u([8 * 512, 1 << 48])),
        ("bits", 76, n([8, 16])),
        ("seed", 16, vec![vec![2, 0]]),
        ("Plan(Detail", 76, n([0, 1, 2, 3, 5, 12, 15, 17, 32, 255])),
    ];
    refuses(counting, rows.into_iter().chain(zeros(80..120)));
    // High parts without a low one are not a count.
    let used = |byte: usize| counting.file[128 + byte] | counting.file[128 + 64 + byte];
    let free = (0..64).find(|&byte| used(byte) != 255).unwrap();
    refuses_bits(counting, [2, 3].map(|plane| (64 * plane + free, !used(free))));
}

#[test]
fn every_field_of_cells_is_checked() {
    let stable = sample("stable");
    // 24 words of 21 cells.
    let rows = [
        ("bits", 64, u([513])),
        ("payload_length", 64, u([4 * 512, 1 << 48])),
        ("lowered", 80, u([0, 24 * 21 + 1, u64::MAX])),
        ("Plan(Detail", 76, n([0, 9, 16, 255])),
    ];
    refuses(stable, rows.into_iter().chain(zeros(96..120)));
    takes(stable, [(80, u([24 * 21])), (88, u([u64::MAX]))]);
    refuses_bits(stable, [0, 5, 23].map(|word| (8 * word + 7, 0x80)));
}

/// A kind of a later release may have a longer header, whose checksum this release would not find.
#[test]
fn newer_kinds_are_told_from_damage() {
    let mut file = sample("blocked").file.clone();
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

#[test]
fn secrets_must_fit() {
    let (plain, keyed) = (&sample("blocked").file, &sample("keyed blocked").file);
    let other = Secret::new([8; 16]);
    let unknown = with_header(keyed, 32, &(SECRET.key_id() ^ 1).to_le_bytes());
    for (expected, file, secret) in [
        ("Scheme(NotKeyed(", plain, Some(&SECRET)),
        ("Scheme(SecretNeeded(", keyed, None),
        ("Scheme(SecretNeeded(", &sample("keyed links").file, None),
        ("Scheme(WrongSecret(", keyed, Some(&other)),
        ("Scheme(WrongSecret(", &unknown, Some(&SECRET)),
    ] {
        assert_fails(expected, open(file, secret));
    }
}

/// A consistent header that declares 2⁴⁸ bits is refused because of the file's length; if that is forged too, memory or
/// the end of the source limits it. It never aborts.
#[test]
fn huge_declared_sizes_are_refused() {
    let huge = with_header(&sample("blocked").file, 64, &(1u64 << 48).to_le_bytes());
    let huge = with_header(&huge, 40, &(1u64 << 45).to_le_bytes());
    assert!(matches!(refusal(&huge, None), FileError::Length(..)));

    let whole = 128 + (1u64 << 45) + 8 * (1 << 25) + 8;
    assert!(Reader::new(&huge[..], whole).is_ok(), "the length that the header declares");
    let error = AnyFilter::read(&huge[..], whole).unwrap_err();
    assert!(matches!(error, FileError::OutOfMemory(_) | FileError::Length(..)), "{error:?}");
}

#[test]
fn set_bits_after_the_last_are_refused() {
    let classic = sample("classic");
    let after = [601, 607, 608, 1000, 1023];
    refuses_bits(classic, after.map(|position: usize| (position / 8, 1 << (position % 8))));
    let mut file = classic.file.clone();
    file[128 + 600 / 8] |= 1;
    resum(&mut file);
    open(&file, None).expect("bit 600 is the last of 601");
}

/// Corrects the checksums of a payload of a single chunk.
pub(crate) fn resum(file: &mut [u8]) {
    seal(file, header_length(file));
}

/// Corrects all checksums of a file with a header of this length and a payload of a single chunk.
pub(crate) fn seal(file: &mut [u8], header: usize) {
    let table = file.len() - 16;
    for (part, seed) in [(0..header - 8, 0), (header..table, 0), (table..table + 8, 1)] {
        let sum = XxHash3_64::oneshot_with_seed(seed, &file[part.clone()]);
        file[part.end..part.end + 8].copy_from_slice(&sum.to_le_bytes());
    }
}

/// A source may deliver fewer bytes than announced, deliver them one by one, or fail.
#[test]
fn sources_that_end_early_or_fail_are_errors() {
    struct Drip<'a>(&'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let into = &mut into[..1.min(self.0.len())];
            self.0.read(into)
        }
    }

    struct Failing;

    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }

    for &Sample { ref file, secret, .. } in samples() {
        let length = file.len() as u64;
        AnyFilter::read_with(Drip(file), length, secret).unwrap();
        for end in 0..file.len() {
            let error = AnyFilter::read_with(Drip(&file[..end]), length, secret).unwrap_err();
            let right = match end {
                0..8 => matches!(error, FileError::NotUmbel(..)),
                _ => matches!(error, FileError::Length(_, found) if found == end as u64),
            };
            assert!(right, "{end}: {error:?}");
            let failed = AnyFilter::read_with(file[..end].chain(Failing), length, secret);
            assert_fails("Io(", failed);
        }
    }
}

/// Bytes that are not from a mapping may have an address that prevents borrowing.
#[test]
fn a_misplaced_view_is_an_error() {
    for shift in [1, 8, 32, 63] {
        let room = Aligned::new(&[&[0; 64][..shift], &sample("blocked").file].concat());
        let view = AnyFilter::view(&room.bytes()[shift..]);
        assert!(matches!(view, Err(FileError::Misaligned)), "{shift}");
    }
}

/// Messages name the value found and the remedy.
#[test]
fn messages_tell_what_to_do() {
    let file = &sample("blocked").file;
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

    /// Random bytes seldom pass the first checks, so these start past them.
    #[test]
    fn no_header_makes_a_reader_panic(
        which in 0..20usize,
        changes in prop::collection::vec(
            (8..248usize, prop_oneof![Just(0), Just(255), any::<u8>()]), 0..6,
        ),
        length in 128..1500usize,
        payload in any::<u8>(),
    ) {
        let Sample { file, secret, .. } = &samples()[which];
        let mut file = file.clone();
        for (at, byte) in changes {
            // The header's length is unchanged, so its checksum stays in place.
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
        if let Ok(mut reader) = Reader::new(&file[..], file.len() as u64) {
            let mut payload = vec![0; reader.header().payload_length() as usize];
            _ = reader.read(&mut payload).and_then(|()| reader.finish());
        }
    }
}
