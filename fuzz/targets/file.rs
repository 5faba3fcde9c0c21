//! umbel's own files: any bytes are either refused, for the same reason by every reader, or are a filter that answers,
//! reports what it delivers, writes the same bytes, accepts keys and merges with itself.
//!
//! Checksums would stop nearly every change of a fuzzer. So the bytes are tried unchanged, and then with magic, payload
//! length and all checksums corrected.

#![no_main]

use libfuzzer_sys::fuzz_target;
use twox_hash::XxHash3_64;
use umbel::internals::format::CHUNK;
use umbel::{
    AnyFilter, AnyScheme, Attributes, Block, Blocked, FileError, Filter, Insert, InsertError, Key,
    KeyHash, KeyHasher, Kind, MergeError, Mixed64, Portable, Prehashed, Scheme, Secret, Unlock,
};
use umbel_fuzz::{Placed, figures, file, memory};
use umbel_report::advice::Profile;

#[global_allocator]
static MEMORY: memory::Counted = memory::Counted;

/// The secret of the golden files.
static SECRET: Secret = Secret::new([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);

fuzz_target!(|bytes: &[u8]| {
    try_all(bytes);
    if let Some(repaired) = repaired(bytes).filter(|repaired| repaired != bytes) {
        try_all(&repaired);
    }
});

/// The bytes as a header and a payload, ignoring the last up to 63, repaired to a file in which only fields can be
/// wrong: FORMAT.md, sections 1 and 2.
fn repaired(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut file = bytes.to_vec();
    file.get_mut(..10)?.copy_from_slice(b"\x89UMBEL\r\n\x01\0");
    let declared = u32::from_le_bytes(*file.get(12..)?.first_chunk()?) as usize;
    let usable = declared.is_multiple_of(64) && (128..=131_072).contains(&declared);
    let header = if usable { declared } else { 128 };
    let payload = file.len().checked_sub(header)? / 64 * 64;
    file.truncate(header + payload);
    file[40..48].copy_from_slice(&(payload as u64).to_le_bytes());
    let sum = XxHash3_64::oneshot_with_seed(0, &file[..header - 8]);
    file[header - 8..header].copy_from_slice(&sum.to_le_bytes());
    let sums = file[header..].chunks(CHUNK).zip(0..);
    let table: Vec<u8> =
        sums.flat_map(|(chunk, i)| XxHash3_64::oneshot_with_seed(i, chunk).to_le_bytes()).collect();
    let sum = XxHash3_64::oneshot_with_seed(table.len() as u64 / 8, &table);
    file.extend(table);
    file.extend(sum.to_le_bytes());
    Some(file)
}

/// Opens the bytes by every reader; all must agree.
fn try_all(bytes: &[u8]) {
    let given = Given::new(bytes);
    let sealed = given.open(AnyScheme);
    let scheme = sealed.as_ref().map(|(filter, _)| *filter.hasher()).ok();
    let tail = &bytes[bytes.len() / 2..];
    if let Some((filter, view)) = given.open_as(None, scheme) {
        keyed(filter, &view, bytes, None, tail);
    }
    if let Some((filter, view)) = given.open_as(Some(&SECRET), scheme) {
        keyed(filter, &view, bytes, Some(&SECRET), tail);
    }
    let function = Prehashed::new(given.seed());
    if let Some((filter, view)) = given.open_as(function, scheme) {
        let words = tail.chunks_exact(8).take(8).map(|word| word.try_into().expect("8 bytes"));
        let numbers = (0..40).map(|i| XxHash3_64::oneshot_with_seed(i, b"key"));
        let keys: Vec<u64> = numbers.chain(words.map(u64::from_le_bytes)).collect();
        let filter = asked(filter, &view, bytes, Mixed64::from_slice(&keys));
        inserted(filter, bytes, function, Mixed64::from_slice(&keys));
    }
    let other = Prehashed::new(!given.seed());
    assert!(given.open_as(other, scheme).is_none(), "opened by the hashes of another function");
    if let Ok((filter, view)) = sealed {
        of_one_kind(&filter, bytes);
        assert!(file(&view) == bytes && filter.to_bytes() == bytes, "it writes what it read");
        figures::check(&view.receipt());
        described(filter);
    }
}

/// The bytes of a file, at the start of a cache line and not.
struct Given {
    aligned: Placed,
    anywhere: Placed,
}

/// A filter read, and the same filter borrowed.
type Opened<'a, H> = (AnyFilter<H>, AnyFilter<H, &'a [Block]>);

impl Given {
    fn new(bytes: &[u8]) -> Self {
        let behind = 1 + XxHash3_64::oneshot(bytes) as usize % 63;
        Self { aligned: Placed::new(bytes, 0), anywhere: Placed::new(bytes, behind) }
    }

    /// The seed in the header, if there is one.
    fn seed(&self) -> u64 {
        let seed = self.aligned.bytes().get(24..32);
        seed.map_or(0, |seed| u64::from_le_bytes(seed.try_into().expect("8 bytes")))
    }

    /// The bytes that opening may request at a time.
    ///
    /// The names and values of a description are separate strings. Each pair has at least 5 bytes in the file, and 48
    /// in a vector, of which only a third may be used when it grows.
    fn bound(&self) -> usize {
        let bytes = self.aligned.bytes();
        let described = match bytes.get(8..24) {
            Some([1, 0, .., a, b, c, d]) => u32::from_le_bytes([*a, *b, *c, *d]) as usize,
            _ => 0,
        };
        2 * bytes.len() + 4096 + 30 * described.min(bytes.len())
    }

    /// Opens it by every reader.
    fn open<U: Unlock + Copy>(&self, unlock: U) -> Result<Opened<'_, U::Hasher>, FileError> {
        let (bytes, anywhere, bound) = (self.aligned.bytes(), self.anywhere.bytes(), self.bound());
        let length = bytes.len() as u64;
        let read = memory::within(bound, || AnyFilter::read_with(bytes, length, unlock));
        let copied = memory::within(bound, || AnyFilter::from_bytes_with(anywhere, unlock));
        let view = memory::within(bound, || AnyFilter::view_with(bytes, unlock));
        let askew = memory::within(bound, || AnyFilter::view_with(anywhere, unlock));
        // In pieces, unless the header declares more bytes than there are.
        if umbel::internals::format::length_of(bytes).is_ok_and(|declared| declared <= length) {
            let loaded = memory::within(bound + 2 * bytes.len(), || loaded(bytes, unlock));
            match (&loaded, &copied) {
                (Ok(loaded), Ok(copied)) => assert!(loaded == copied, "loaded otherwise"),
                (Err(_), Err(_)) => {}
                _ => panic!("{loaded:?} is loaded, {copied:?} copied"),
            }
        }
        match (read, copied, view, askew) {
            (Ok(read), Ok(copied), Ok(view), Err(FileError::Misaligned)) => {
                assert!(read == copied && read == view, "{read:?} is read otherwise");
                assert_eq!(read.receipt(), view.receipt());
                Ok((read, view))
            }
            (Err(read), Err(copied), Err(view), Err(askew)) => {
                // If a scheme or an address does not fit and more is wrong, a reader may name either.
                let reason = |error: &&FileError| {
                    !matches!(error, FileError::Scheme(_) | FileError::Misaligned)
                };
                let errors = [&read, &copied, &view, &askew].into_iter().filter(reason);
                let reasons: Vec<_> = errors.map(ToString::to_string).collect();
                assert!(reasons.windows(2).all(|two| two[0] == two[1]), "{reasons:?}");
                Err(read)
            }
            (read, copied, view, askew) => {
                panic!("{read:?} is read, {copied:?} copied, {view:?} and {askew:?} borrowed")
            }
        }
    }

    /// Like [`open`](Self::open), with an `unlock` that may not fit; `scheme` is the scheme of a valid file.
    fn open_as<U: Unlock + Copy>(
        &self,
        unlock: U,
        scheme: Option<Scheme>,
    ) -> Option<Opened<'_, U::Hasher>> {
        match (self.open(unlock), scheme.map(|scheme| unlock.unlock(scheme))) {
            (Ok(opened), Some(Ok(_))) => Some(opened),
            (Err(FileError::Scheme(found)), Some(Err(expected))) => {
                assert_eq!(found, expected);
                None
            }
            (Err(_), None) => None,
            (opened, fits) => panic!("{opened:?} is opened, its scheme {fits:?}"),
        }
    }
}

/// The filter of a file that comes in pieces.
fn loaded<U: Unlock>(bytes: &[u8], unlock: U) -> Result<AnyFilter<U::Hasher>, FileError> {
    let loader = AnyFilter::loader_with(unlock);
    let size = 1 + XxHash3_64::oneshot(bytes) as usize % 500;
    let loader = bytes.chunks(size).try_fold(loader, |loader, piece| loader.push(piece))?;
    loader.finish()
}

/// A filter of keys or rows, hashed by umbel.
fn keyed(
    filter: AnyFilter,
    view: &AnyFilter<KeyHasher, &[Block]>,
    bytes: &[u8],
    secret: Option<&Secret>,
    tail: &[u8],
) {
    let texts = (0..40u32).map(|i| i.to_le_bytes().to_vec()).chain([vec![], tail.to_vec()]);
    let keys: Vec<Vec<u8>> = texts.collect();
    match asked(filter, view, bytes, &keys) {
        AnyFilter::Attributes(filter) => rows(filter, secret, &keys),
        filter => inserted(filter, bytes, secret, &keys),
    }
}

/// Looks up keys, one by one and in batches, and merges the filter with itself. Returns it.
fn asked<H: Portable, K: Key<H>>(
    filter: AnyFilter<H>,
    view: &AnyFilter<H, &[Block]>,
    bytes: &[u8],
    keys: &[K],
) -> AnyFilter<H>
where
    KeyHash: Key<H>,
{
    let kind = filter.kind();
    assert!(file(view) == bytes && filter.to_bytes() == bytes, "it writes what it read");
    figures::check(&view.receipt());
    assert_eq!(filter.description(), view.description());
    // Profiles would take most of the time: their probabilities are sums over thousands of terms.
    if XxHash3_64::oneshot(bytes).is_multiple_of(64) {
        let _ = Profile::of(view, 7);
    }

    let hashes: Vec<KeyHash> = keys.iter().map(|key| key.key_hash(view.hasher())).collect();
    let single: Vec<bool> = keys.iter().map(|key| view.contains(key)).collect();
    let mut found = vec![false; keys.len()];
    view.contains_all(&hashes, &mut found);
    assert_eq!(found, single, "a batch answers as single questions do");
    filter.contains_all(&hashes, &mut found);
    assert_eq!(found, single, "owned and borrowed answer alike");
    filter.contains_all(keys, &mut found);
    assert_eq!(found, single, "keys and their hashes are found alike");

    // Merged with itself it is the same, except that counters add up.
    for union in [true, false] {
        let mut joined = filter.clone();
        let result = if union { joined.union(view) } else { joined.intersect(view) };
        match result {
            Ok(()) if kind == Kind::Counting => {
                joined.contains_all(keys, &mut found);
                assert_eq!(found, single);
            }
            Ok(()) => assert!(file(&joined) == bytes, "joined with itself"),
            Err(MergeError::NotMergeable(_)) => assert!(file(&joined) == bytes, "refused"),
            Err(error) => panic!("{error}"),
        }
    }
    if let Ok(comparison) = view.compare(view) {
        assert_eq!(comparison.left_bits, comparison.shared_bits);
    }
    if let Ok(plain) = filter.convert(Kind::Blocked) {
        plain.contains_all(keys, &mut found);
        assert_eq!(found, single);
    }
    if let AnyFilter::Bloomier(map) = view {
        let got = keys.iter().map(|key| map.get(key).is_some());
        assert!(got.eq(single), "a map has a value of what it holds");
    }
    filter
}

/// Inserts keys, one by one and in a batch, and removes them again if possible.
fn inserted<U: Unlock + Copy, K: Key<U::Hasher>>(
    mut filter: AnyFilter<U::Hasher>,
    bytes: &[u8],
    unlock: U,
    keys: &[K],
) {
    filter.set_limit(bytes.len() as u64 + (1 << 20));
    let mut many = filter.clone();
    let all = many.try_insert_all(keys);
    let mut refused: Option<InsertError> = None;
    for (place, key) in keys.iter().enumerate() {
        let known = filter.contains(key);
        match filter.try_insert(key) {
            Ok(new) => {
                assert!(filter.contains(key), "key {place} is absent");
                assert!(!new || !known, "key {place} was there, and is new");
            }
            Err(error) => {
                assert_eq!(filter.contains(key), known, "key {place} was refused");
                if refused.is_none() {
                    assert!(many == filter, "a batch ends where a key finds no room");
                    refused = Some(error);
                }
            }
        }
    }
    assert_eq!(all.err(), refused);
    assert!(refused.is_some() || many == filter, "a batch inserts what single calls do");
    if let Ok(counting) = filter.as_counting_mut() {
        let mut many = counting.clone();
        let mut removed = vec![false; keys.len()];
        many.remove_all(keys, &mut removed);
        assert!(!removed.contains(&false), "what was inserted can go");
        assert!(keys.iter().all(|key| counting.remove(key)), "what was inserted can go");
        assert!(many == *counting, "a batch removes what single calls do");
    }
    written(&filter, unlock);
}

/// Inserts rows that have a key in all their attributes.
fn rows(mut filter: Attributes, secret: Option<&Secret>, keys: &[Vec<u8>]) {
    for key in keys {
        let row = vec![key; filter.names().len()];
        filter.insert_row(&row).unwrap();
        let asked: Vec<_> = row.iter().map(Some).collect();
        assert!(filter.contains_row(&asked).unwrap(), "{key:?} is absent");
    }
    written(&AnyFilter::Attributes(filter), secret);
}

/// Writes the filter and reads it again.
fn written<U: Unlock>(filter: &AnyFilter<U::Hasher>, unlock: U) {
    figures::check(&filter.receipt());
    let bytes = file(filter);
    let again = AnyFilter::read_with(&bytes[..], bytes.len() as u64, unlock)
        .unwrap_or_else(|error| panic!("its own file is refused: {error}"));
    assert!(file(&again) == bytes && again == *filter);
}

/// Reads the file as one of a single kind.
fn of_one_kind(filter: &AnyFilter<Scheme>, bytes: &[u8]) {
    match Blocked::from_bytes_with(bytes, AnyScheme) {
        Ok(blocked) => assert!(AnyFilter::Blocked(blocked) == *filter),
        Err(FileError::Kind(Kind::Blocked, found)) => {
            assert!(found == filter.kind() && found != Kind::Blocked);
        }
        Err(error) => panic!("{error}"),
    }
}

/// Adds a type to the description of its keys, which the file must then contain. The filter merges with one that has none, and the
/// union then has none either, unless the other has no keys and no description.
fn described(mut filter: AnyFilter<Scheme>) {
    let plain = filter.clone();
    let mut keys = plain.description().clone();
    if keys.push("type", "text\n\u{fffd}").is_err() {
        return; // it is full
    }
    filter.describe(keys.clone());
    written(&filter, AnyScheme);
    let mut read = AnyFilter::from_bytes_with(&filter.to_bytes(), AnyScheme).expect("its own file");
    assert!(*read.description() == keys && read != plain);
    let typed = plain.description().values("type").next().is_some();
    let no_say = plain.is_empty() && plain.description().is_empty();
    let both = if no_say { &keys } else { plain.description() };
    match read.union(&plain) {
        Ok(()) => assert!(!typed && read.description() == both),
        Err(MergeError::KeysDiffer) => assert!(typed && read == filter),
        Err(MergeError::NotMergeable(_)) => assert!(read == filter),
        Err(error) => panic!("{error}"),
    }
}
