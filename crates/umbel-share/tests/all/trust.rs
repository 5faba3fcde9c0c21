//! Attacks on signatures and on programs that unpack. Each succeeded before `Trust` had its rule.

use std::io::{Cursor, Read};

use umbel::{Filter, Kind};
use umbel_share::sign::{Label, Signature};
use umbel_share::{Content, Received, ShareError, Trust, delta, pack, receive};

use crate::made::signed_with;
use crate::{add, delta_of, file, filter, grown, key, packed, patched, signed, versions};

fn labelled(file: &[u8], list: &str, serial: u64) -> Vec<u8> {
    signed_with(file, &key(1), &Label::new(list, serial).unwrap())
}

fn trust() -> Trust {
    Trust::of(key(1).public())
}

/// The content of a file as an entry point accepts it.
fn taken(file: &[u8], trust: Option<&Trust>, most: u64) -> Result<Vec<u8>, ShareError> {
    let Received { content, .. } = receive(Cursor::new(file), trust, most)?;
    let mut out = Vec::new();
    match content {
        Content::Filter(mut source) | Content::Delta(mut source) => source.read_to_end(&mut out)?,
        Content::Packed(mut decoder) => decoder.read_to_end(&mut out)?,
    };
    Ok(out)
}

#[test]
fn a_list_is_not_served_as_another_one() {
    let (old, _) = versions();
    let allow = labelled(&old, "allow", 3);
    for trust in [trust(), trust().list("allow").unwrap()] {
        assert!(taken(&allow, Some(&trust), 0).unwrap() == old);
    }
    let block = trust().list("block").unwrap();
    let refused = |file: &[u8]| taken(file, Some(&block), 0).unwrap_err();
    let error = refused(&allow);
    assert!(matches!(error, ShareError::OtherList { .. }), "{error}");
    // Nor is one without a name.
    let error = refused(&signed(&old, &key(1)));
    assert!(error.to_string().contains("signed as no list"), "{error}");
    // A new name under the old signature is a forgery, all checksums right.
    let mut renamed = allow.clone();
    let start = renamed.len() - 256;
    renamed[start + 64..start + 69].copy_from_slice(b"block");
    let sum = twox_hash::XxHash3_64::oneshot(&renamed[start..start + 248]);
    renamed[start + 248..].copy_from_slice(&sum.to_le_bytes());
    assert_eq!(Signature::of_bytes(&renamed).unwrap().unwrap().label().list(), "block");
    let error = refused(&renamed);
    assert!(matches!(error, ShareError::Forged), "{error}");
}

#[test]
fn an_old_version_is_not_served_as_a_new_one() {
    let (old, _) = versions();
    let third = labelled(&old, "block", 3);
    assert!(taken(&third, Some(&trust().newer_than(2)), 0).is_ok());
    for newest in [3, 4, u64::MAX] {
        let error = taken(&third, Some(&trust().newer_than(newest)), 0).unwrap_err();
        assert!(matches!(error, ShareError::NotNewer { found: 3, .. }), "{error}");
    }
    // A file without a serial number is refused.
    assert!(taken(&signed(&old, &key(1)), Some(&trust().newer_than(0)), 0).is_err());
}

#[test]
fn names_of_lists() {
    for name in ["", "block", "Sperrliste für Österreich", &"x".repeat(Label::MOST)] {
        assert_eq!(Label::new(name, 1).unwrap().list(), name);
        let (old, _) = versions();
        let file = labelled(&old, name, u64::MAX);
        let label = Signature::of_bytes(&file).unwrap().unwrap().label().clone();
        assert_eq!((label.list(), label.serial()), (name, u64::MAX));
    }
    for name in [" block", "block ", "a\0b", "a\nb", "\u{1b}[2J", &"x".repeat(Label::MOST + 1)] {
        assert!(matches!(Label::new(name, 1), Err(ShareError::ListName { .. })), "{name:?}");
        assert!(trust().list(name).is_err());
    }
}

/// Each MiB is represented by 14 bytes.
#[test]
fn a_bomb_is_refused_before_it_is_unpacked() {
    let large = filter(Kind::Blocked, 30_000_000, 0.01, 0).to_bytes();
    let bomb = packed(&large);
    assert!(large.len() > 36 << 20 && bomb.len() < 2_000);
    let most = 16 << 20;
    let refused = |file: &[u8], trust: Option<&Trust>| {
        let error = taken(file, trust, most).unwrap_err();
        matches!(error, ShareError::Unfolds { bytes, most: 16_777_216, .. } if bytes > 36 << 20)
    };
    assert!(refused(&bomb, None));
    assert!(taken(&bomb, None, large.len() as u64).unwrap() == large);
    assert!(matches!(pack::Decoder::new(&bomb[..], most), Err(ShareError::Unfolds { .. })));
    // Without a trusted key, the signer does not matter.
    assert!(refused(&signed(&bomb, &key(1)), None));
    assert!(refused(&packed(&signed(&large, &key(1))), None));
    // A checked signature of the packed file lifts the limit.
    assert!(taken(&signed(&bomb, &key(1)), Some(&trust()), most).unwrap() == large);
    let other = taken(&signed(&bomb, &key(2)), Some(&trust()), most).unwrap_err();
    assert!(matches!(other, ShareError::OtherSigner { .. }));
    let mut forged = signed(&bomb, &key(1));
    forged[100] ^= 1;
    assert!(matches!(taken(&forged, Some(&trust()), most).unwrap_err(), ShareError::Forged));
}

/// A signature on the filter inside is only seen after unpacking everything.
#[test]
fn a_signature_inside_is_not_one_of_the_packed_file() {
    let (old, _) = versions();
    let inside = packed(&signed(&old, &key(1)));
    let error = taken(&inside, Some(&trust()), u64::MAX).unwrap_err();
    assert!(matches!(error, ShareError::SignedWithin), "{error}");
    let error = taken(&packed(&old), Some(&trust()), u64::MAX).unwrap_err();
    assert!(matches!(error, ShareError::NotSigned), "{error}");
    assert!(taken(&signed(&inside, &key(1)), Some(&trust()), 0).is_ok());
}

/// A delta of a scalable filter makes a larger one.
#[test]
fn a_delta_is_no_bomb() {
    let (old, new) = grown(Kind::Scalable, 1_000, [900, 20_000]);
    let delta = delta_of(&old, &new).unwrap();
    let decoder = delta::Decoder::new(file(&old), &delta[..], new.len() as u64 - 1);
    assert!(matches!(decoder, Err(ShareError::Unfolds { .. })));
    assert!(delta::Decoder::new(file(&old), &delta[..], new.len() as u64).is_ok());
}

/// A base with other bits under the checksums that the delta names: XXH3 does not prevent collisions. Here the attacker
/// alters the base, makes new checksums of its chunks, and puts them into an unsigned delta; or a program applies the
/// signer's delta without comparing them. Either way the digest in the delta differs.
#[test]
fn a_base_that_was_altered_makes_no_trusted_result() {
    let (old, new) = versions();
    let delta = delta_of(&old, &new).unwrap();
    assert!(patched(&old, &delta).unwrap() == new);
    // The base of another list, with its checksums in the delta, as if they collided.
    let mut others = filter(Kind::Classic, 2_000, 0.01, 0);
    add(&mut others, 5_000..6_000);
    let other = others.to_bytes();
    let mut collided = delta.clone();
    let header = u32::from_le_bytes(other[12..16].try_into().unwrap()) as usize;
    collided[24..32].copy_from_slice(&other[header - 8..header]);
    collided[32..40].copy_from_slice(&other[other.len() - 8..]);
    let start = 48 + u32::from_le_bytes(delta[12..16].try_into().unwrap()) as usize;
    let sum = twox_hash::XxHash3_64::oneshot(&collided[..start]);
    collided[start..start + 8].copy_from_slice(&sum.to_le_bytes());
    let error = patched(&other, &collided).unwrap_err();
    assert!(matches!(error, ShareError::OtherResult), "{error}");
}
