//! umbel's own files: any bytes are refused, for the same reason by every reader, or are a filter that
//! answers, tells what it delivers, writes the same bytes, takes keys and joins with itself.
//!
//! Checksums would stop nearly every change that a fuzzer makes. So the bytes are tried as they are,
//! then once more with magic, length of the payload and all checksums made right.

#![no_main]

use libfuzzer_sys::fuzz_target;
use twox_hash::XxHash3_64;
use umbel::format::CHUNK;
use umbel::{AnyFilter, Block, Error, KeyHash, Kind, Secret};
use umbel_fuzz::{Aligned, figures, file, memory};

#[global_allocator]
static MEMORY: memory::Counted = memory::Counted;

/// The secret of the golden files.
const SECRET: Secret = Secret::new([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);

fuzz_target!(|bytes: &[u8]| {
    try_all(bytes);
    if let Some(sealed) = sealed(bytes).filter(|sealed| sealed != bytes) {
        try_all(&sealed);
    }
});

/// Bytes taken for a header and a payload, whatever comes after in the last 63, as a file that only its fields
/// can be wrong with: FORMAT.md, sections 1 and 2.
fn sealed(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut file = bytes.to_vec();
    file.get_mut(..10)?.copy_from_slice(b"\x89UMBEL\r\n\x01\0");
    let declared = u32::from_le_bytes(*file.get(12..)?.first_chunk()?) as usize;
    let any = !matches!(file[10..12], [1 | 2, 0]);
    let usable = declared.is_multiple_of(64) && (128..=65_536).contains(&declared);
    let header = if any && usable { declared } else { 128 };
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

/// Opens the bytes in every way there is, all of which must agree.
fn try_all(bytes: &[u8]) {
    let aligned = Aligned::new(bytes);
    let secret = (bytes.get(16) == Some(&2)).then_some(&SECRET);
    let length = bytes.len() as u64;
    let bound = 2 * bytes.len() + 4096;
    let read = memory::within(bound, || AnyFilter::read(bytes, length, secret));
    let view = memory::within(bound, || AnyFilter::view(aligned.bytes(), secret));
    let unkeyed = memory::within(bound, || AnyFilter::read_sealed(bytes, length));
    match (&read, &view) {
        (Ok(read), Ok(view)) => assert_eq!(read.receipt(), view.receipt()),
        (Err(read), Err(view)) => assert_eq!(read.to_string(), view.to_string()),
        _ => panic!("read gives {read:?}, view gives {view:?}"),
    }
    let about_secrets = |error: &Error| {
        matches!(error, Error::SecretNeeded { .. } | Error::WrongSecret { .. } | Error::NotKeyed(_))
    };
    match &read {
        Err(error) if about_secrets(error) => {}
        read => assert_eq!(read.is_ok(), unkeyed.is_ok(), "{unkeyed:?}"),
    }
    if let Ok(filter) = &unkeyed {
        figures::check(&filter.receipt());
        assert!(file(filter) == bytes);
    }
    if let (Ok(read), Ok(view)) = (read, view) {
        accepted(read, &view, bytes);
    }
}

fn accepted(mut filter: AnyFilter, view: &AnyFilter<&[Block]>, bytes: &[u8]) {
    let kind = filter.plan().kind;
    assert!(file(view) == bytes && file(&filter) == bytes, "it writes what it read");
    figures::check(&view.receipt());
    // Most of the time would go into profiles: their chances are sums over thousands of terms.
    if XxHash3_64::oneshot(bytes).is_multiple_of(64) {
        let _ = view.profile(7);
    }

    let tail = &bytes[bytes.len() / 2..];
    let texts = (0..40u32).map(|i| i.to_le_bytes().to_vec()).chain([vec![], tail.to_vec()]);
    let keys: Vec<Vec<u8>> = texts.collect();
    let hashes: Vec<KeyHash> = keys.iter().map(|key| view.hasher().hash(key)).collect();
    let mut found = [vec![false; hashes.len()], vec![false; hashes.len()]];
    view.contains_batch(&hashes, &mut found[0]);
    filter.contains_batch(&hashes, &mut found[1]);
    assert_eq!(found[0], found[1]);
    let single: Vec<bool> = keys.iter().map(|key| view.contains(key)).collect();
    assert_eq!(found[0], single, "a batch answers as single questions do");

    // Joined with itself it is the same, but that counters add up.
    for join in [AnyFilter::union, AnyFilter::intersect] {
        let mut joined = filter.clone();
        match join(&mut joined, view) {
            Ok(()) if kind == Kind::Counting => {
                let kept = keys.iter().map(|key| joined.contains(key)).collect::<Vec<_>>();
                assert_eq!(kept, single);
            }
            Ok(()) => assert!(file(&joined) == bytes, "joined with itself"),
            Err(Error::NotMergeable(_)) => assert!(file(&joined) == bytes, "refused"),
            Err(error) => panic!("{error}"),
        }
    }
    if let Ok(comparison) = view.compare(view) {
        assert_eq!(comparison.left_bits, comparison.shared_bits);
    }
    if let Ok(plain) = filter.convert(Kind::Blocked) {
        keys.iter().zip(&single).for_each(|(key, found)| assert_eq!(plain.contains(key), *found));
    }
    if let AnyFilter::Bloomier(map) = view {
        keys.iter()
            .zip(&single)
            .for_each(|(key, found)| assert_eq!(map.get(key).is_some(), *found));
    }

    filter.set_limit(bytes.len() as u64 + (1 << 20));
    for key in &keys {
        if let AnyFilter::Attributes(rows) = &mut filter {
            let row = vec![key; rows.names().len()];
            rows.insert_row(&row).unwrap();
            let asked: Vec<_> = row.iter().map(Some).collect();
            assert!(rows.contains_row(&asked).unwrap(), "{key:?} is absent");
            continue;
        }
        let known = filter.contains(key);
        match filter.insert(key) {
            Ok(new) => {
                assert!(filter.contains(key), "{key:?} is absent");
                assert!(!new || !known, "{key:?} was there, and is new");
            }
            Err(_) => assert_eq!(filter.contains(key), known, "{key:?} was refused"),
        }
    }
    if kind.removes() {
        assert!(keys.iter().all(|key| filter.remove(key).unwrap()), "what was inserted can go");
    }
    figures::check(&filter.receipt());
    let bytes = file(&filter);
    let secret = (bytes[16] == 2).then_some(&SECRET);
    let again = AnyFilter::read(&bytes[..], bytes.len() as u64, secret)
        .unwrap_or_else(|error| panic!("its own file is refused: {error}"));
    assert!(file(&again) == bytes);
}
