//! Damage and forgery: refused, whatever was altered.

use sha2::{Digest, Sha256};
use twox_hash::XxHash3_64;
use umbel::internals::write_text;
use umbel_share::ShareError;
use umbel_share::sign::{BLOCK, PublicKey, SecretKey, Signature};

use crate::{Random, delta_of, key, packed, patched, signed, unpacked, versions};

/// Ten thousand files with one bit flipped: at random places with a fixed seed, and every bit of the first 400 bytes.
const FLIPS: u64 = 10_000;

fn each_flip(file: &[u8], mut check: impl FnMut(&[u8], u64)) {
    let mut random = Random(2002);
    let mut file = file.to_vec();
    let bits = 8 * file.len() as u64;
    for flip in 0..FLIPS {
        let bit = if flip < 3_200 { flip % bits } else { random.below(bits) };
        file[(bit / 8) as usize] ^= 1 << (bit % 8);
        check(&file, bit);
        file[(bit / 8) as usize] ^= 1 << (bit % 8);
    }
}

#[test]
fn flipped_bits_of_packed_files() {
    let (old, _) = versions();
    each_flip(&packed(&old), |file, bit| assert!(unpacked(file).is_err(), "bit {bit}"));
}

#[test]
fn flipped_bits_of_deltas() {
    let (old, new) = versions();
    let delta = delta_of(&old, &new).unwrap();
    each_flip(&delta, |file, bit| assert!(patched(&old, file).is_err(), "bit {bit}"));
    each_flip(&old, |file, bit| assert!(patched(file, &delta).is_err(), "bit {bit} of the base"));
}

#[test]
fn flipped_bits_of_signed_files() {
    let (old, new) = versions();
    let trusted = key(1).public();
    let trust = |file: &[u8]| -> Result<(), ShareError> {
        let signature = Signature::of_bytes(file)?.ok_or(ShareError::NotSigned)?;
        signature.check(file, &trusted)
    };
    for file in [delta_of(&old, &new).unwrap(), packed(&old)] {
        let file = signed(&file, &key(1));
        trust(&file).unwrap();
        each_flip(&file, |file, bit| assert!(trust(file).is_err(), "bit {bit}"));
    }
    // Only the block is altered in a filter's file: elsewhere the filter's own checksums catch it.
    let file = signed(&old, &key(1));
    trust(&file).unwrap();
    let body = file.len() - BLOCK;
    for bit in 8 * body..8 * file.len() {
        let mut file = file.clone();
        file[bit / 8] ^= 1 << (bit % 8);
        assert!(trust(&file).is_err(), "bit {bit}");
        // Without a trusted key as well: the block is either refused or not seen as one, and the file is then too long.
        let untrusted = Signature::of_bytes(&file);
        assert!(matches!(untrusted, Err(_) | Ok(None)), "bit {bit}");
    }
}

/// All checksums hold, and the filter's header is shorter than declared.
#[test]
fn a_header_longer_than_itself() {
    let (old, _) = versions();
    let mut file = packed(&old);
    let header = u32::from_le_bytes(file[12..16].try_into().unwrap());
    let longer = header + old.len() as u32;
    file[12..16].copy_from_slice(&longer.to_le_bytes());
    file.truncate(24 + header as usize);
    file.resize(24 + longer as usize, 0);
    let sum = XxHash3_64::oneshot(&file);
    file.extend_from_slice(&sum.to_le_bytes());
    assert!(matches!(unpacked(&file), Err(ShareError::HeaderDamaged { .. })));
}

#[test]
fn every_truncation() {
    let (old, new) = versions();
    fn check(file: &[u8], read: impl Fn(&[u8]) -> Result<Vec<u8>, ShareError>) {
        for length in 0..file.len() {
            assert!(read(&file[..length]).is_err(), "{length}");
        }
        assert!(matches!(read(&[file, &[0]].concat()), Err(ShareError::Appended { .. })));
    }
    check(&packed(&old), unpacked);
    check(&delta_of(&old, &new).unwrap(), |delta| patched(&old, delta));
}

/// Bytes in place of a signature must be one: in files that are sent, and in the files made from them.
#[test]
fn bytes_behind_a_filter_are_no_signature() {
    let (old, new) = versions();
    let whole = signed(&new, &key(1));
    let packed_whole = packed(&whole);
    let delta = delta_of(&old, &whole).unwrap();
    assert!(unpacked(&packed_whole).unwrap() == whole && patched(&old, &delta).unwrap() == whole);
    let mut altered = whole.clone();
    altered[new.len()] ^= 1;
    let mut damaged = whole.clone();
    damaged[new.len() + 60] ^= 1;
    for bad in [[&new[..], &[7; BLOCK]].concat(), altered, damaged.clone()] {
        let mut out = Vec::new();
        let encoder = umbel_share::pack::Encoder::new(&bad[..], bad.len() as u64);
        assert!(encoder.and_then(|encoder| encoder.write(&mut out)).is_err());
        assert!(delta_of(&old, &bad).is_err() && delta_of(&bad, &new).is_err());
        assert!(patched(&[&old, &bad[new.len()..]].concat(), &delta).is_err());
        // Made by a careless program, with correct checksums.
        let checksum = XxHash3_64::oneshot(&bad).to_le_bytes().to_vec();
        for (file, sum) in [(&packed_whole, checksum), (&delta, Sha256::digest(&bad).to_vec())] {
            let mut file = file.clone();
            let (frames, end) = (1, file.len() - 8 - sum.len());
            file.truncate(end - BLOCK);
            file.extend([&bad[new.len()..], &sum].concat());
            let tail = end - BLOCK - (whole.len() - BLOCK - payload_end(&new));
            let sum = XxHash3_64::oneshot_with_seed(frames, &file[tail..]);
            file.extend(sum.to_le_bytes());
            let made = if file[4] == b'A' { unpacked(&file) } else { patched(&old, &file) };
            let error = made.unwrap_err();
            let named = match bad == damaged {
                true => matches!(error, ShareError::SignatureDamaged),
                false => matches!(error, ShareError::NoSignature { .. }),
            };
            assert!(named, "{error}");
        }
    }
}

/// The end of the payload in a filter's file.
fn payload_end(file: &[u8]) -> usize {
    let reader = umbel::internals::format::Reader::new(file, file.len() as u64).unwrap();
    reader.header().bytes().len() + reader.header().payload_length() as usize
}

#[test]
fn what_is_something_else() {
    let (old, new) = versions();
    let (packed, delta) = (packed(&old), delta_of(&old, &new).unwrap());
    for file in [&old, &delta, &vec![], &b"lines of text, not a filter\n".to_vec()] {
        assert!(matches!(unpacked(file), Err(ShareError::Other { .. })));
    }
    assert!(matches!(patched(&old, &packed), Err(ShareError::Other { .. })));
    let mut newer = packed.clone();
    for (version, words) in [(0, "no release wrote it"), (2, "use a newer umbel")] {
        newer[8] = version;
        let error = unpacked(&newer).unwrap_err();
        assert!(matches!(error, ShareError::Version { found, .. } if found == u16::from(version)));
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn only_the_trusted_key_is_trusted() {
    let (old, _) = versions();
    let file = signed(&old, &key(1));
    let signature = Signature::of_bytes(&file).unwrap().unwrap();
    assert_eq!(signature.length(), old.len() as u64);
    assert_eq!(signature.signer(), key(1).public().to_string());
    let error = signature.check(&file[..], &key(2).public()).unwrap_err();
    assert!(matches!(error, ShareError::OtherSigner { .. }), "{error}");
    assert!(Signature::of_bytes(&old).unwrap().is_none());
    assert!(Signature::of_bytes(&[]).unwrap().is_none());

    // A block of the trusted key from another file, with correct checksums.
    let other = signed(&old[..old.len() - 1], &key(1));
    let block = &other[other.len() - BLOCK..];
    let forged = [&old[..old.len() - 1], block].concat();
    Signature::of_bytes(&forged).unwrap().unwrap().check(&forged[..], &key(1).public()).unwrap();
    let mut altered = forged.clone();
    altered[500] ^= 1;
    let signature = Signature::of_bytes(&altered).unwrap().unwrap();
    assert!(matches!(signature.check(&altered[..], &key(1).public()), Err(ShareError::Forged)));
}

#[test]
fn keys_are_lines_of_text() {
    let secret = SecretKey::generate().unwrap();
    let again: SecretKey = format!("{}\n", secret.to_text()).parse().unwrap();
    assert_eq!(again.public(), secret.public());
    assert_ne!(SecretKey::generate().unwrap().public(), secret.public());
    let public: PublicKey = secret.public().to_string().parse().unwrap();
    assert_eq!(public, secret.public());
    assert!(!format!("{secret:?}").contains(&secret.to_text()[20..]));
    for wrong in ["", "umbel-public-key-1", "umbel-public-key-1 00", &secret.to_text(), "00"] {
        assert!(matches!(wrong.parse::<PublicKey>(), Err(ShareError::Key { .. })), "{wrong}");
    }
    // The neutral element of the curve, which accepts signatures without a secret key.
    let mut weak = [0; 32];
    weak[0] = 1;
    let weak = write_text("umbel-public-key-1", &weak);
    assert!(weak.parse::<PublicKey>().is_err());
    // Mistyped, and too long.
    let text = secret.public().to_string();
    assert!(text.replacen("1 ", "1 0", 1).parse::<PublicKey>().is_err());
    let more = write_text("umbel-public-key-1", &[&secret.public().to_bytes()[..], &[0]].concat());
    assert!(more.parse::<PublicKey>().is_err());
    assert!(secret.public().to_string().parse::<SecretKey>().is_err());
}

/// RFC 8032, section 7.3, has no context; a key pair of section 7.1 checks the arithmetic of keys.
#[test]
fn keys_as_in_the_rfc() {
    let secret = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    let secret = crate::made::secret_key(secret);
    let public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    let text = secret.public().to_string();
    assert!(text.starts_with(&format!("umbel-public-key-1 {public} check ")), "{text}");
}
