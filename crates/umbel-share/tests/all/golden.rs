//! The golden files: writing gives their bytes, reading gives what they were made from. They change only with a version
//! of the format; `cargo x golden` writes them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use umbel_share::sign::Signature;

use crate::made::{secret_key, signed_as};
use crate::{delta_of, packed, patched, unpacked};

pub(crate) const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shared");

pub(crate) fn cases(array: &str) -> Vec<Value> {
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

#[test]
fn signatures() {
    for case in cases("signed") {
        let (file, of) = (read(&case, "file"), read(&case, "of"));
        let public = secret_key(case["secret"].as_str().unwrap()).public();
        assert_eq!(public.to_string(), case["public"].as_str().unwrap());
        // Ed25519 has no random part.
        assert!(signed_as(&case, &of) == file, "{case} would be signed otherwise");
        let signature = Signature::of_bytes(&file).unwrap().unwrap();
        signature.check(&file[..], &public).unwrap();
    }
}
