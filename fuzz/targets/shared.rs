//! Shared files: any bytes are either refused, or are a packed file, a delta or a message. Files give the declared length,
//! in pieces of any size, and the same content after packing it again; after a message, the peer's filter still answers.
//!
//! Checksums would stop nearly every change of a fuzzer. So the bytes are tried unchanged, and then with all checksums
//! corrected.

#![no_main]

use std::io::{Cursor, Read};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use twox_hash::XxHash3_64;
use umbel::internals::format::{Reader, length_of};
use umbel::{AnyFilter, AnyScheme, KeyHasher};
use umbel_fuzz::{file, memory};
use umbel_share::sign::Signature;
use umbel_share::summary::{Address, Limits, Peers, Received, Settings, Step, Summary};
use umbel_share::{ShareError, delta, pack};

#[global_allocator]
static MEMORY: memory::Counted = memory::Counted;

/// The filters that deltas are made from.
const BASES: [&[u8]; 3] = [
    include_bytes!("../../testdata/golden/blocked-k8.umbel"),
    include_bytes!("../../testdata/golden/counting-4.umbel"),
    include_bytes!("../../testdata/golden/scalable-one.umbel"),
];

/// The golden full copy, and the cache that it is from.
const FULL: &[u8] = include_bytes!("../../testdata/shared/summary-full.message");
const CACHE: &str = "cache-1.example:3128";

/// Bytes of a payload in a frame: FORMAT.md, section 20.
const FRAME: u64 = 1 << 20;
/// Larger payloads are not read to their end; 14 bytes can stand for a whole frame.
const MOST: u64 = 4 << 20;
/// Memory for reading beyond the input: a frame, its code, the old frame of a delta, the coder's tables.
const ROOM: usize = 4 << 20;

fuzz_target!(|bytes: &[u8]| {
    // At the end of any file.
    let _ = Signature::of_bytes(bytes);
    message(bytes);
    if let Some(repaired) = repaired_message(bytes) {
        message(&repaired);
    }
    for base in [None].into_iter().chain(BASES.map(Some)) {
        unfolded(bytes, base);
        if let Some(repaired) = repaired(bytes, base).filter(|repaired| repaired != bytes) {
            unfolded(&repaired, base);
        }
    }
});

/// A message to a peer that has the filter of the golden full copy, and to the cache that it is from.
fn message(bytes: &[u8]) {
    let mut peers = Peers::new(KeyHasher::default(), Limits { bytes: MOST, ..Limits::default() });
    peers.add(CACHE);
    let now = Duration::from_secs(1);
    peers.receive(CACHE, FULL, now).expect("a golden message");
    let received = memory::within(4 * ROOM, || peers.receive(CACHE, bytes, now));
    let current = peers.candidates("0", now).len();
    assert!(current <= 1);
    for status in peers.status(now) {
        let shares = [status.gone, status.unseen, status.fpp];
        assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{status:?}");
    }
    let mut summary =
        Summary::new(CACHE, 1, 100, Settings::default(), KeyHasher::default()).unwrap();
    if let Ok(Received { step: Step::Missing(Some(request)), .. }) = received {
        // A request is answered, and the answer is accepted.
        let answer = summary.answer(&request, Address::Verified).unwrap();
        peers.receive(CACHE, &answer, now).unwrap();
    }
    let _ = summary.answer(bytes, Address::Claimed);
}

/// A message of the golden cache with a checksum that holds: FORMAT.md, section 22.
fn repaired_message(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut message = bytes.to_vec();
    let end = message.len().checked_sub(8)?;
    message.get_mut(16..24)?.copy_from_slice(&FULL[16..24]);
    put_sum(&mut message, 0, end, 0)?;
    Some(message)
}

fn whole(file: &[u8]) -> (Cursor<&[u8]>, u64) {
    (Cursor::new(file), file.len() as u64)
}

/// The file that a packed file holds, or that a delta makes from `base`, and the length it declares.
fn reader<'a>(
    bytes: &'a [u8],
    base: Option<&'a [u8]>,
) -> Result<(Box<dyn Read + 'a>, u64), ShareError> {
    Ok(match base {
        None => {
            let decoder = pack::Decoder::new(bytes, MOST)?;
            let length = decoder.length();
            (Box::new(decoder), length)
        }
        Some(base) => {
            let decoder = delta::Decoder::new(whole(base), bytes, MOST)?;
            let length = decoder.length();
            (Box::new(decoder), length)
        }
    })
}

/// Reads the content; if it is accepted, it must be as long as declared, and survive being packed again.
fn unfolded(bytes: &[u8], base: Option<&[u8]>) {
    let Ok((mut decoder, length)) = memory::within(ROOM, || reader(bytes, base)) else { return };
    if length > MOST {
        return;
    }
    let mut made = Vec::with_capacity(length as usize + 1);
    if memory::within(ROOM, || decoder.read_to_end(&mut made)).is_err() {
        return;
    }
    assert_eq!(made.len() as u64, length);

    let (mut pieces, _) = reader(bytes, base).unwrap();
    let mut again = Vec::new();
    let mut piece = [0; 1013];
    while let count @ 1.. = pieces.read(&mut piece).unwrap() {
        again.extend_from_slice(&piece[..count]);
    }
    assert!(again == made);

    let mut folded = Vec::new();
    let written = match base {
        None => pack::Encoder::new(&made[..], length).unwrap().write(&mut folded),
        Some(base) => {
            let encoder = delta::Encoder::new(whole(base), whole(&made)).unwrap();
            encoder.write(&mut folded)
        }
    };
    // The filter's own checksums may be wrong: the envelope covers its bytes, not their meaning.
    if written.is_ok() {
        let mut again = Vec::new();
        reader(&folded, base).unwrap().0.read_to_end(&mut again).unwrap();
        assert!(again == made);
    }
    let signed = Signature::of_bytes(&made).ok().flatten();
    let filter = &made[..signed.map_or(made.len(), |signature| signature.length() as usize)];
    if let Ok(read) = AnyFilter::read_with(filter, filter.len() as u64, AnyScheme) {
        let _ = file(&read);
    }
}

/// Corrects all checksums, and in a delta the checksums that name its base and its result: of the filter's header, of
/// everything before the frames, of each frame, of the filter's file and of the end.
fn repaired(bytes: &[u8], base: Option<&[u8]>) -> Option<Vec<u8>> {
    let fields: usize = if base.is_some() { 48 } else { 24 };
    let mut file = bytes.to_vec();
    if let Some(base) = base {
        let header = Reader::new(base, length_of(base).ok()?).ok()?.header().bytes().len();
        file.get_mut(24..32)?.copy_from_slice(&base[header - 8..header]);
        file.get_mut(32..40)?.copy_from_slice(base.last_chunk::<8>()?);
    }
    let length = u32::from_le_bytes(*file.get(12..)?.first_chunk()?) as usize;
    let start = fields.checked_add(length)?;
    put_sum(&mut file, fields, start.checked_sub(8)?, 0)?;
    put_sum(&mut file, 0, start, 0)?;

    let header = file.get(fields..start)?;
    let payload = Reader::new(header, length_of(header).ok()?).ok()?.header().payload_length();
    let mut at = start + 8;
    let mut frames = 0;
    while frames < payload.div_ceil(FRAME) {
        let coded = u32::from_le_bytes(*file.get(at..)?.get(1..)?.first_chunk()?) as usize;
        let end = at.checked_add(coded)?.checked_add(5)?;
        put_sum(&mut file, at, end, frames)?;
        (at, frames) = (end + 8, frames + 1);
    }
    let tail = usize::try_from(u64::from_le_bytes(*file.get(16..)?.first_chunk()?)).ok()?;
    let end = at.checked_add(tail).filter(|&end| end < 1 << 20)?;
    file.resize(end + 16, 0);

    // Header and payload come out before the end is checked.
    let mut made = Vec::new();
    let most = (length as u64).checked_add(payload).filter(|&most| most <= MOST)?;
    reader(&file, base).ok()?.0.take(most).read_to_end(&mut made).ok()?;
    made.extend_from_slice(&file[at..end]);
    file[end..end + 8].copy_from_slice(&XxHash3_64::oneshot(&made).to_le_bytes());
    put_sum(&mut file, at, end + 8, frames)?;
    Some(file)
}

/// Puts the checksum of `file[from..to]` after it.
fn put_sum(file: &mut [u8], from: usize, to: usize, seed: u64) -> Option<()> {
    let sum = XxHash3_64::oneshot_with_seed(seed, file.get(from..to)?);
    *file.get_mut(to..)?.first_chunk_mut()? = sum.to_le_bytes();
    Some(())
}
