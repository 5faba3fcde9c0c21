//! Files in pieces: loaded as they arrive, and written part by part.

use umbel::{AnyFilter, AnyScheme, Filter, KeyHasher, Kind, Plan};

use crate::damage::assert_fails;

fn filled(kind: Kind) -> AnyFilter {
    let plan = Plan::for_keys(kind, 200_000, 0.001).unwrap();
    let keys: Vec<u64> = (0..1000).collect();
    AnyFilter::build(&plan, &keys, KeyHasher::default()).unwrap()
}

#[test]
fn files_come_in_pieces_of_any_size() {
    for kind in [Kind::Blocked, Kind::Counting, Kind::Scalable, Kind::Window, Kind::Bloomier] {
        let filter = filled(kind);
        let file = filter.to_bytes();
        for size in [1, 63, 64, 127, 128, 1000, 65_536, 1 << 20, file.len()] {
            if size < 63 && kind != Kind::Bloomier {
                continue;
            }
            let mut loader = AnyFilter::loader();
            for piece in file.chunks(size) {
                assert!(!loader.is_complete());
                loader = loader.push(piece).unwrap();
                if size > 60_000 {
                    assert_eq!(loader.pieces().concat(), file[..loader.loaded() as usize]);
                }
            }
            assert!(loader.is_complete() && loader.length() == Some(file.len() as u64));
            assert!(loader.finish().unwrap().to_bytes() == file, "{kind} by {size}");
        }
    }
}

#[test]
fn files_go_out_in_pieces_of_any_size() {
    for kind in [Kind::Classic, Kind::Scalable, Kind::Bloomier] {
        let filter = filled(kind);
        let file = filter.to_bytes();
        assert_eq!(filter.file_length(), file.len() as u64);
        for size in [97, 1000, 100_000, 1 << 20, file.len() + 9] {
            let (mut at, mut pieces) = (0, Vec::new());
            // Tests every piece if there are few, else the last ones.
            if size < 1000 {
                at = file.len() as u64 - 5 * size as u64;
                pieces.extend_from_slice(&file[..at as usize]);
            }
            loop {
                let piece = filter.file_part(at, size);
                if piece.is_empty() {
                    break;
                }
                at += piece.len() as u64;
                pieces.extend(piece);
            }
            assert!(pieces == file, "{kind} by {size}");
        }
        assert!(filter.file_part(u64::MAX, 10).is_empty());
    }
}

#[test]
fn damage_is_refused_where_it_is_seen() {
    let file = filled(Kind::Blocked).to_bytes();
    let load = |file: &[u8]| {
        let loader = AnyFilter::loader_with(AnyScheme);
        let loaded = file.chunks(10_000).try_fold(loader, |loader, piece| loader.push(piece));
        loaded?.finish().map(drop)
    };
    assert!(load(&file).is_ok());
    assert_fails("Length(", load(&file[..file.len() - 1]));
    assert_fails("Length(", load(&[&file[..], &[0]].concat()));
    assert_fails("Length(", load(&file[..50]));
    for (expected, at) in [
        ("NotUmbel(", 0),
        ("HeaderDamaged", 100),
        ("PayloadDamaged", 100_000),
        ("ChecksumsDamaged", file.len() - 1),
    ] {
        let mut file = file.clone();
        file[at] ^= 1;
        assert_fails(expected, load(&file));
    }
}
