//! Packing and patching give back every byte.

use proptest::prelude::*;
use umbel::{FileError, Filter, KeyHasher, Kind, Plan};
use umbel_share::{ShareError, pack::Encoder, sign::Signature};

use crate::{
    FILLED, add, delta_of, filter, golden_filters, grown, key, packed, patched, signed, unpacked,
};

#[test]
fn golden_files_of_all_kinds_pack() {
    for (name, file) in golden_filters() {
        let packed = packed(&file);
        assert!(unpacked(&packed).unwrap() == file, "{name}");
        // Envelope, frame, checksums: at most these bytes more than the file.
        assert!(packed.len() <= file.len() + 61 + 13 * (1 + file.len() / (1 << 20)), "{name}");
    }
}

#[test]
fn golden_files_of_all_kinds_have_deltas_to_themselves_and_no_others() {
    let files = golden_filters();
    for (name, file) in &files {
        let delta = delta_of(file, file).unwrap();
        assert!(patched(file, &delta).unwrap() == *file, "{name}");
        for (other, wrong) in &files {
            if wrong != file {
                let error = patched(wrong, &delta).unwrap_err();
                assert!(matches!(error, ShareError::OtherBase { .. }), "{name} {other}: {error}");
            }
        }
    }
}

#[test]
fn signatures_of_the_filter_survive() {
    let (old, new) = grown(Kind::Blocked, 10_000, [5_000, 5_100]);
    let [old, new] = [old, new].map(|file| signed(&file, &key(1)));
    assert!(unpacked(&packed(&old)).unwrap() == old);
    let delta = delta_of(&old, &new).unwrap();
    assert!(patched(&old, &delta).unwrap() == new);
    // A delta is applied to the file without its signature.
    let (bare, _) = old.split_at(old.len() - umbel_share::sign::BLOCK);
    let patched = patched(bare, &delta).unwrap();
    let signature = Signature::of_bytes(&patched).unwrap().unwrap();
    signature.check(&patched[..], &key(1).public()).unwrap();
}

#[test]
fn scalable_filters_grow() {
    let (old, new) = grown(Kind::Scalable, 1_000, [900, 20_000]);
    assert!(new.len() > 4 * old.len());
    assert!(patched(&old, &delta_of(&old, &new).unwrap()).unwrap() == new);
    assert!(matches!(delta_of(&new, &old), Err(ShareError::Unlike { field: "size" })));
}

#[test]
fn filters_that_are_not_alike_have_no_delta() {
    let file = |kind, planned| filter(kind, planned, 0.01, 100).to_bytes();
    let blocked = file(Kind::Blocked, 10_000);
    let plan = Plan::for_keys(Kind::Blocked, 10_000, 0.01).unwrap();
    let seeded = umbel::AnyFilter::with_plan(&plan, KeyHasher::with_seed(7));
    let unlike = |other: &[u8]| match delta_of(&blocked, other) {
        Err(ShareError::Unlike { field }) => field,
        other => panic!("{other:?}"),
    };
    assert_eq!(unlike(&file(Kind::Classic, 10_000)), "kind");
    assert_eq!(unlike(&file(Kind::Blocked, 20_000)), "size");
    assert_eq!(unlike(&seeded.unwrap().to_bytes()), "hash scheme");
}

#[test]
fn a_delta_is_applied_once_and_in_order() {
    let mut growing = filter(Kind::Blocked, 10_000, 0.01, 5_000);
    let mut files = vec![growing.to_bytes()];
    for step in 0..3 {
        add(&mut growing, 5_000 + 50 * step..5_050 + 50 * step);
        files.push(growing.to_bytes());
    }
    let deltas: Vec<_> =
        files.windows(2).map(|pair| delta_of(&pair[0], &pair[1]).unwrap()).collect();
    for (base, file) in files.iter().enumerate() {
        for (number, delta) in deltas.iter().enumerate() {
            match patched(file, delta) {
                Ok(new) => assert!(base == number && new == files[number + 1]),
                Err(ShareError::AlreadyPatched) => assert_eq!(base, number + 1),
                Err(ShareError::OtherBase { .. }) => assert!(![number, number + 1].contains(&base)),
                Err(other) => panic!("{other}"),
            }
        }
    }
}

#[test]
fn damaged_filters_are_not_packed() {
    let file = filter(Kind::Blocked, 10_000, 0.01, 5_000).to_bytes();
    let mut damaged = file.clone();
    damaged[1_000] ^= 1;
    let pack = |file: &[u8]| Encoder::new(file, file.len() as u64)?.write(std::io::sink());
    let payload = |error| matches!(error, ShareError::Filter(FileError::PayloadDamaged { .. }));
    assert!(payload(pack(&damaged).unwrap_err()));
    assert!(payload(delta_of(&damaged, &file).unwrap_err()));
    assert!(payload(delta_of(&file, &damaged).unwrap_err()));
    // It has the checksums of the base, but another payload.
    let delta = delta_of(&file, &file).unwrap();
    assert!(patched(&damaged, &delta).is_err());
    for length in [0, 7, 127, 128, 1_000, file.len() - 1] {
        assert!(matches!(pack(&file[..length]).unwrap_err(), ShareError::Filter(_)), "{length}");
    }
    assert!(pack(&[&file[..], &[0]].concat()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_filter_packs_and_any_two_versions_have_a_delta(
        kind in 0..FILLED.len(),
        planned in 1u64..30_000,
        exponent in 1i32..5,
        old_share in 0.0f64..1.0,
        new_share in 0.0f64..1.0,
    ) {
        let part = |share: f64| (planned as f64 * share) as u64;
        let mut growing = filter(FILLED[kind], planned, 0.3f64.powi(exponent), part(old_share));
        let old = growing.to_bytes();
        add(&mut growing, planned..planned + part(new_share));
        let new = growing.to_bytes();
        prop_assert!(unpacked(&packed(&old)).unwrap() == old);
        prop_assert!(unpacked(&packed(&new)).unwrap() == new);
        prop_assert!(patched(&old, &delta_of(&old, &new).unwrap()).unwrap() == new);
    }
}
