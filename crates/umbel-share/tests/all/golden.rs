//! The golden files: writing gives their bytes, reading gives what they were made from. They change only with a version
//! of the format; `cargo x golden` writes them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use umbel_share::sign::{Label, SecretKey, Signature, Signer};

use crate::{delta_of, packed, patched, unpacked};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shared");

fn cases(array: &str) -> Vec<Value> {
    let text = fs::read_to_string(Path::new(FOLDER).join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    manifest[array].as_array().unwrap().clone()
}

fn read(case: &Value, field: &str) -> Vec<u8> {
    fs::read(Path::new(FOLDER).join(case[field].as_str().unwrap())).unwrap()
}

#[test]
fn packed_files() {
    let mut forms = BTreeSet::new();
    for case in cases("packed") {
        let (file, filter) = (read(&case, "file"), read(&case, "filter"));
        assert!(packed(&filter) == file, "{case} would be written otherwise");
        assert!(unpacked(&file).unwrap() == filter, "{case}");
        forms.insert(first_form(&file, 24));
    }
    for case in cases("deltas") {
        forms.insert(first_form(&read(&case, "file"), 48));
    }
    assert_eq!(forms, BTreeSet::from([0, 1, 2, 3, 4]), "every form of a frame");
}

/// The form of the first frame.
fn first_form(file: &[u8], fields: usize) -> u8 {
    let header = u32::from_le_bytes(file[12..16].try_into().unwrap()) as usize;
    file[fields + header + 8]
}

#[test]
fn deltas() {
    let cases = cases("deltas");
    for case in &cases {
        let [file, base, result] = ["file", "base", "result"].map(|field| read(case, field));
        assert!(delta_of(&base, &result).unwrap() == file, "{case} would be written otherwise");
        assert!(patched(&base, &file).unwrap() == result, "{case}");
    }
    assert!(cases.len() >= 4);
}

/// The key of 64 digits.
pub(crate) fn secret_key(digits: &str) -> SecretKey {
    let byte = |at: usize| u8::from_str_radix(&digits[2 * at..][..2], 16).unwrap();
    SecretKey::from_bytes(std::array::from_fn(byte))
}

#[test]
fn signatures() {
    for case in cases("signed") {
        let (file, of) = (read(&case, "file"), read(&case, "of"));
        let key = secret_key(case["secret"].as_str().unwrap());
        assert_eq!(key.public().to_string(), case["public"].as_str().unwrap());
        // Ed25519 has no random part.
        let (list, serial) = (case["list"].as_str().unwrap(), case["serial"].as_u64().unwrap());
        let mut signer = Signer::new(Vec::new());
        std::io::Write::write_all(&mut signer, &of).unwrap();
        let again = signer.finish(&key, &Label::new(list, serial).unwrap()).unwrap();
        assert!(again == file, "{case} would be signed otherwise");
        let signature = Signature::of_bytes(&file).unwrap().unwrap();
        signature.check(&file[..], &key.public()).unwrap();
    }
}
