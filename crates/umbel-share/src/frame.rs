//! Frames: up to 1 MiB of a payload, in the form that makes it smallest.
//!
//! ```text
//! u8 form   u32 coded_length   coded bytes   u64 XXH3-64 of all before, seeded with the number of the frame
//!
//! form 0  the bytes as they are                                      bits that do not compress
//! form 1  one byte: all bytes are equal to it                        parts without a key
//! form 2  u16 × 8, coded bytes: frequencies by number of set bits    Bloom filters, whose bits are independent
//! form 3  32 bytes, u16 × n, coded bytes: frequencies by byte        counters and cells, whose bits are not
//! form 4  distances between set bits                                 deltas of a few keys
//! ```
//! In form 2 the numbers are the frequencies of a byte with 1 to 8 set bits; byte 0 gets what remains of 2¹⁶. In form 3
//! bit i of the 32 bytes is set if byte i occurs, and the numbers are the frequencies, less 1, of the bytes that occur.

use std::io::{Read, Write};

use twox_hash::XxHash3_64;

use crate::error::Corrupt;
use crate::rans::{self, Frequencies, SCALE, SCALE_BITS};
use crate::{ShareError, gaps};

/// Bytes of the payload in a frame (part of the format).
pub(crate) const FRAME: usize = 1 << 20;

const STORED: u8 = 0;
const EQUAL: u8 = 1;
const BY_SET_BITS: u8 = 2;
const BY_BYTE: u8 = 3;
const GAPS: u8 = 4;

/// Bytes with 0 to 8 set bits.
const BYTES_WITH: [u64; 9] = [1, 8, 28, 56, 70, 56, 28, 8, 1];

/// Writes a frame; returns its length.
pub(crate) fn write(bytes: &[u8], number: u64, out: &mut dyn Write) -> Result<u64, ShareError> {
    let mut frame = vec![0; 5];
    frame[0] = encode(bytes, &mut frame);
    let coded = frame.len() as u32 - 5;
    frame[1..5].copy_from_slice(&coded.to_le_bytes());
    let sum = XxHash3_64::oneshot_with_seed(number, &frame);
    frame.extend_from_slice(&sum.to_le_bytes());
    out.write_all(&frame)?;
    Ok(frame.len() as u64)
}

/// Reads a frame into `bytes`, which it fills; returns its length.
pub(crate) fn read(
    source: &mut dyn Read,
    number: u64,
    bytes: &mut [u8],
    what: &'static str,
) -> Result<u64, ShareError> {
    let damaged = || ShareError::FrameDamaged { what, number };
    let mut frame = vec![0; 5];
    source.read_exact(&mut frame).map_err(|error| early(error, what))?;
    let length = u32::from_le_bytes(frame[1..5].try_into().expect("four bytes")) as usize;
    if length > bytes.len() {
        return Err(damaged());
    }
    frame.resize(5 + length + 8, 0);
    source.read_exact(&mut frame[5..]).map_err(|error| early(error, what))?;
    let (code, sum) = frame.split_at(5 + length);
    if XxHash3_64::oneshot_with_seed(number, code).to_le_bytes() != sum {
        return Err(damaged());
    }
    decode(code[0], &code[5..], bytes).map_err(|Corrupt| damaged())?;
    Ok(frame.len() as u64)
}

/// A file that ends early, or another error of reading.
pub(crate) fn early(error: std::io::Error, what: &'static str) -> ShareError {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => ShareError::Truncated { what },
        _ => error.into(),
    }
}

/// Appends the smallest code of `bytes`; returns its form.
fn encode(bytes: &[u8], out: &mut Vec<u8>) -> u8 {
    let histogram = histogram(bytes);
    if histogram.iter().filter(|&&count| count > 0).count() == 1 {
        out.push(bytes[0]);
        return EQUAL;
    }
    let set = |byte: usize| u64::from((byte as u8).count_ones());
    let ones: u64 = (0..256).map(|byte| set(byte) * histogram[byte]).sum();
    let by_byte = by_byte(&histogram);
    let by_set_bits = by_set_bits(&histogram);
    // A second try would not pay: all codes are close to their bounds.
    let costs = [
        (STORED, bytes.len() as f64),
        (GAPS, gaps::cost(8 * bytes.len() as u64, ones)),
        (BY_SET_BITS, by_set_bits.map_or(f64::MAX, |found| 24.0 + cost(&histogram, &found))),
        (BY_BYTE, 40.0 + 2.0 * present(&by_byte) as f64 + cost(&histogram, &by_byte)),
    ];
    let (form, _) = costs.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).expect("there are four");
    let start = out.len();
    match (form, by_set_bits) {
        (GAPS, _) => gaps::encode(bytes, ones, out),
        (BY_SET_BITS, Some(frequencies)) => {
            let of_bits = |bits: u32| frequencies[(1usize << bits) - 1] as u16;
            out.extend((1..=8).flat_map(|bits| of_bits(bits).to_le_bytes()));
            rans::encode(bytes, &frequencies, out);
        }
        (BY_BYTE, _) => {
            put_table(&by_byte, out);
            rans::encode(bytes, &by_byte, out);
        }
        _ => out.extend_from_slice(bytes),
    }
    // An estimate that was too low must not make the frame longer than its bytes: readers refuse that.
    if out.len() - start > bytes.len() {
        out.truncate(start);
        out.extend_from_slice(bytes);
        return STORED;
    }
    form
}

fn decode(form: u8, coded: &[u8], out: &mut [u8]) -> Result<(), Corrupt> {
    match form {
        STORED if coded.len() == out.len() => out.copy_from_slice(coded),
        EQUAL if coded.len() == 1 => out.fill(coded[0]),
        BY_SET_BITS => {
            let (table, coded) = coded.split_at_checked(16).ok_or(Corrupt)?;
            rans::decode(coded, &read_set_bits(table)?, out)?;
        }
        BY_BYTE => {
            let (frequencies, coded) = read_table(coded)?;
            rans::decode(coded, &frequencies, out)?;
        }
        GAPS => {
            out.fill(0);
            gaps::decode(coded, out)?;
        }
        _ => return Err(Corrupt),
    }
    Ok(())
}

fn histogram(bytes: &[u8]) -> [u64; 256] {
    // Four tables: increments of one counter in a row wait for each other.
    let mut tables = [[0u32; 256]; 4];
    let (fours, rest) = bytes.as_chunks::<4>();
    for four in fours {
        for (table, &byte) in tables.iter_mut().zip(four) {
            table[usize::from(byte)] += 1;
        }
    }
    for &byte in rest {
        tables[0][usize::from(byte)] += 1;
    }
    std::array::from_fn(|byte| tables.iter().map(|table| u64::from(table[byte])).sum())
}

/// Bytes of the code for bytes with this histogram.
fn cost(histogram: &[u64; 256], frequencies: &Frequencies) -> f64 {
    let bits = |(&count, &frequency): (&u64, &u32)| match count {
        0 => 0.0,
        _ => count as f64 * (f64::from(SCALE_BITS) - f64::from(frequency).log2()),
    };
    histogram.iter().zip(frequencies).map(bits).sum::<f64>() / 8.0
}

fn present(frequencies: &Frequencies) -> usize {
    frequencies.iter().filter(|&&frequency| frequency > 0).count()
}

/// The frequency of a byte counted `count` times of `total`: above 0 if it occurs.
fn scaled(count: u64, total: u64) -> u32 {
    match count {
        0 => 0,
        _ => (((count << SCALE_BITS) + total / 2) / total).max(1) as u32,
    }
}

/// Frequencies of each byte. At least two bytes occur.
fn by_byte(histogram: &[u64; 256]) -> Frequencies {
    let total = histogram.iter().sum();
    let mut frequencies = histogram.map(|count| scaled(count, total));
    let sum: u32 = frequencies.iter().sum();
    // The highest frequency takes what rounding left. It is above 255, and rounding takes at most 1 for each other byte.
    let highest = frequencies.iter_mut().max().expect("there are 256");
    *highest = *highest + SCALE - sum;
    frequencies
}

/// Frequencies of each number of set bits; `None` if byte 0 cannot take what rounding left.
fn by_set_bits(histogram: &[u64; 256]) -> Option<Frequencies> {
    let total: u64 = histogram.iter().sum();
    let mut counts = [0; 9];
    for (byte, count) in (0u8..=255).zip(histogram) {
        counts[byte.count_ones() as usize] += count;
    }
    let mut classes: [u32; 9] =
        std::array::from_fn(|bits| scaled(counts[bits], total * BYTES_WITH[bits]));
    classes[0] = rest_of(&classes)?;
    let possible = (counts[0] == 0 || classes[0] > 0) && classes[8] < SCALE;
    possible.then(|| spread(&classes))
}

/// The frequency of byte 0: the rest after the classes from 1 on.
fn rest_of(classes: &[u32; 9]) -> Option<u32> {
    let others = classes.iter().zip(BYTES_WITH).skip(1);
    let sum: u64 = others.map(|(&frequency, bytes)| u64::from(frequency) * bytes).sum();
    u64::from(SCALE).checked_sub(sum).map(|rest| rest as u32)
}

/// The frequency of each byte, from the frequencies by number of set bits.
fn spread(classes: &[u32; 9]) -> Frequencies {
    std::array::from_fn(|byte| classes[(byte as u8).count_ones() as usize])
}

fn read_set_bits(table: &[u8]) -> Result<Frequencies, Corrupt> {
    let mut classes = [0; 9];
    for (class, bytes) in classes[1..].iter_mut().zip(table.as_chunks::<2>().0) {
        *class = u32::from(u16::from_le_bytes(*bytes));
    }
    classes[0] = rest_of(&classes).ok_or(Corrupt)?;
    Ok(spread(&classes))
}

fn put_table(frequencies: &Frequencies, out: &mut Vec<u8>) {
    let (eights, _) = frequencies.as_chunks::<8>();
    for eight in eights {
        out.push((0..8).map(|bit| u8::from(eight[bit] > 0) << bit).sum());
    }
    for &frequency in frequencies.iter().filter(|&&frequency| frequency > 0) {
        out.extend_from_slice(&((frequency - 1) as u16).to_le_bytes());
    }
}

/// The frequencies, and what follows them.
fn read_table(coded: &[u8]) -> Result<(Frequencies, &[u8]), Corrupt> {
    let (present, mut rest) = coded.split_first_chunk::<32>().ok_or(Corrupt)?;
    let mut frequencies = [0; 256];
    for (byte, frequency) in frequencies.iter_mut().enumerate() {
        if present[byte / 8] >> (byte % 8) & 1 == 1 {
            let (bytes, after) = rest.split_first_chunk::<2>().ok_or(Corrupt)?;
            *frequency = u32::from(u16::from_le_bytes(*bytes)) + 1;
            rest = after;
        }
    }
    if frequencies.iter().sum::<u32>() == SCALE { Ok((frequencies, rest)) } else { Err(Corrupt) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bytes whose bits are each set with probability `chance`.
    fn random(length: usize, chance: f64, seed: u64) -> Vec<u8> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut byte = |_| (0..8).map(|bit| u8::from(next() < chance) << bit).sum();
        (0..length).map(&mut byte).collect()
    }

    fn round_trip(bytes: &[u8]) -> (u8, usize) {
        let mut frame = Vec::new();
        write(bytes, 7, &mut frame).unwrap();
        let mut back = vec![0xA5; bytes.len()];
        let read = read(&mut &frame[..], 7, &mut back, "test").unwrap();
        assert!(back == bytes && read == frame.len() as u64);
        (frame[0], frame.len())
    }

    fn entropy(chance: f64) -> f64 {
        [chance, 1.0 - chance].into_iter().filter(|p| *p > 0.0).map(|p| -p * p.log2()).sum()
    }

    #[test]
    fn every_fill_is_coded_near_its_entropy() {
        let chances = [1e-6, 1e-5, 1e-4, 1e-3, 0.0036, 0.0108, 0.05, 0.133, 0.3];
        for (seed, chance) in (1..).zip(chances) {
            let bytes = random(FRAME, chance, seed);
            let ones: u32 = bytes.iter().map(|byte| byte.count_ones()).sum();
            let fill = f64::from(ones) / (8 * FRAME) as f64;
            let least = entropy(fill) * FRAME as f64;
            let (form, length) = round_trip(&bytes);
            // Header and checksum of a frame, the table, the state: 13, 16 and 8 bytes.
            let bound = least * if form == GAPS { 1.045 } else { 1.005 } + 40.0;
            assert!((length as f64) < bound, "{chance}: form {form}, {length} of {least}");
        }
        assert_eq!(round_trip(&random(FRAME, 0.5, 1)), (STORED, FRAME + 13));
        assert_eq!(round_trip(&vec![0; FRAME]), (EQUAL, 14));
        assert_eq!(round_trip(&[255; 64]), (EQUAL, 14));
    }

    #[test]
    fn counters_are_coded_by_byte() {
        // Counters of 4 bits: 00 most of the time, and hardly ever with both bits in patterns of chance.
        let counter = |byte: &u8| [0x00, 0x11, 0x30, 0x03][usize::from(byte & 3)];
        let counters: Vec<u8> = random(FRAME, 0.1, 3).iter().map(counter).collect();
        let (form, length) = round_trip(&counters);
        assert!(form == BY_BYTE && length < FRAME / 6, "{form} {length}");
    }

    proptest! {
        #[test]
        fn any_bytes(length in 1usize..3000, chance in 0.0f64..=1.0, power in 0u32..6, seed: u64) {
            round_trip(&random(length, chance.powi(power as i32), seed));
        }

        #[test]
        fn few_different_bytes(bytes in prop::collection::vec(0u8..3, 1..400), more: u8) {
            let bytes: Vec<u8> = bytes.iter().map(|byte| byte.wrapping_mul(more)).collect();
            round_trip(&bytes);
        }

        /// Decoding ends for every code, and its result can be encoded and decoded again.
        #[test]
        fn any_code(form in 0u8..6, coded in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = vec![0; 256];
            if decode(form, &coded, &mut bytes).is_ok() {
                round_trip(&bytes);
            }
        }
    }
}
