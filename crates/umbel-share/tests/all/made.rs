//! Files as `cargo x golden` writes them: packed filters, deltas, signed files, and messages of summaries.

use std::io::{Cursor, Write};
use std::time::Duration;

use serde_json::Value;
use umbel::{Filter, KeyHasher};
use umbel_share::sign::{Label, SecretKey, Signer};
use umbel_share::summary::{Limits, Peers, Settings, Summary};
use umbel_share::{ShareError, delta, pack};

/// Packs a filter's file.
pub(crate) fn packed(file: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let encoder = pack::Encoder::new(file, file.len() as u64).unwrap();
    let length = encoder.write(&mut out).unwrap();
    assert_eq!(length, out.len() as u64);
    out
}

/// A file in memory and its length.
pub(crate) fn file(bytes: &[u8]) -> (Cursor<Vec<u8>>, u64) {
    (Cursor::new(bytes.to_vec()), bytes.len() as u64)
}

pub(crate) fn delta_of(old: &[u8], new: &[u8]) -> Result<Vec<u8>, ShareError> {
    let mut out = Vec::new();
    let length = delta::Encoder::new(file(old), file(new))?.write(&mut out)?;
    assert_eq!(length, out.len() as u64);
    Ok(out)
}

/// The key of 64 digits.
pub(crate) fn secret_key(digits: &str) -> SecretKey {
    let byte = |at: usize| u8::from_str_radix(&digits[2 * at..][..2], 16).expect("hexadecimal");
    SecretKey::from_bytes(std::array::from_fn(byte))
}

/// A file signed as a manifest case describes.
pub(crate) fn signed_as(case: &Value, of: &[u8]) -> Vec<u8> {
    let [secret, list] = ["secret", "list"].map(|field| case[field].as_str().expect("a text"));
    let label = Label::new(list, case["serial"].as_u64().expect("a number")).expect("a name");
    signed_with(of, &secret_key(secret), &label)
}

/// A file with a signature.
pub(crate) fn signed_with(file: &[u8], key: &SecretKey, label: &Label) -> Vec<u8> {
    let mut signer = Signer::new(Vec::new());
    signer.write_all(file).unwrap();
    signer.finish(key, label).unwrap()
}

const CACHE: &str = "cache-1.example:3128";

/// A message of each form, from one cache, and the filters that they make; all with the names of their files.
pub(crate) fn messages() -> [(&'static str, Vec<u8>); 6] {
    let settings = Settings { bits_per_key: 8.0, threshold: 0.05 };
    let mut sender = Summary::new(CACHE, 7, 300, settings, KeyHasher::default()).expect("a plan");
    let mut receiver = Peers::new(KeyHasher::default(), Limits::default());
    receiver.add(CACHE);
    let request = receiver.request(CACHE, Duration::ZERO).expect("a peer");
    let mut received = |message: &[u8]| {
        receiver.receive(CACHE, message, Duration::ZERO).expect("a message for it");
        receiver.filter(CACHE).expect("a filter").to_bytes()
    };
    let page = |number: u64| format!("/page/{number}");
    let nothing = Vec::<u64>::new;

    (0..250).for_each(|number| sender.insert(page(number)));
    sender.publish(nothing).expect("memory");
    let full = sender.full();
    let of_full = received(&full);
    for number in 0..10 {
        sender.remove(page(number));
        sender.insert(page(250 + number));
    }
    let beat = sender.beat();
    (260..263).for_each(|number| sender.insert(page(number)));
    let delta = sender.publish(nothing).expect("memory").expect("13 of 253 keys are above 5 %");
    let of_delta = received(&delta);
    [
        ("summary-request.message", request),
        ("summary-full.message", full),
        ("summary-full.umbel", of_full),
        ("summary-beat.message", beat),
        ("summary-delta.message", delta),
        ("summary-delta.umbel", of_delta),
    ]
}
