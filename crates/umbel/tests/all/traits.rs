//! Generic code with filters and hashers, and filters without files.

use umbel::{
    AnyFilter, Blocked, ByHash, Classic, Coded, Error, FileError, Filter, Hash64, Insert,
    KeyHasher, Kind, Plan, PlanError, Prehashed, Scalable, Sliced, Window,
};

use crate::filter::answers;

const KEYS: u64 = 2_000;

/// Filters of several types behind one type are filled, queried and written.
#[test]
fn filters_of_any_type_are_filled_and_asked() {
    fn fill(filter: &mut impl Insert) -> Result<usize, Error> {
        let mut new = 0;
        for key in (0..KEYS).chain(0..KEYS) {
            new += usize::from(filter.try_insert(key)?);
        }
        Ok(new)
    }

    let plan = Plan::for_keys(Kind::Sliced, KEYS, 0.01).unwrap();
    let mut filters: Vec<Box<dyn Insert>> = vec![
        Box::new(Blocked::new(KEYS, 0.01).unwrap()),
        Box::new(Classic::new(KEYS, 0.01).unwrap()),
        Box::new(Scalable::new(KEYS / 10, 0.01).unwrap()),
        Box::new(Coded::new(KEYS, 0.01).unwrap()),
        Box::new(Window::new(KEYS, 0.01).unwrap()),
        Box::new(AnyFilter::with_plan(&plan, KeyHasher::default()).unwrap()),
    ];
    for filter in &mut filters {
        let new = fill(filter).unwrap();
        assert!((1_900..=KEYS as usize).contains(&new), "{}: {new} new", filter.kind());
        let found = answers(filter, &(0..2 * KEYS).collect::<Vec<_>>());
        assert!(!found[..KEYS as usize].contains(&false) && found.contains(&false));
        let mut written = Vec::new();
        filter.write(&mut written).unwrap();
        let read = AnyFilter::from_bytes(&written).unwrap();
        assert!(read.plan() == filter.plan() && read.blocks() == filter.blocks());
        assert_eq!(written, filter.to_bytes());
    }
}

/// A plain filter can be rebuilt from its plan and bits; other bits are refused.
#[test]
fn plain_filters_are_made_from_their_bits() {
    macro_rules! made {
        ($($kind:ident),*) => {$({
            let mut filter = $kind::new(100, 0.001).unwrap();
            filter.extend(0..100);
            let plan = *filter.plan();
            let hasher = KeyHasher::default;
            let mut bits = filter.blocks().concat().iter().flat_map(|b| *b.as_bytes()).collect::<Vec<_>>();
            assert!($kind::from_bits(&plan, &bits, hasher()).unwrap() == filter);
            let other = Plan::for_keys(Kind::Stable, 100, 0.01).unwrap();
            let refused = $kind::from_bits(&other, &bits, hasher());
            assert!(matches!(refused, Err(FileError::Plan(PlanError::Kind(..)))));
            if plan.bits() < 8 * bits.len() as u64 {
                *bits.last_mut().unwrap() |= 128;
                let refused = $kind::from_bits(&plan, &bits, hasher());
                assert!(matches!(refused, Err(FileError::Field(_))), "a bit after the last");
            }
            for length in [0, bits.len() - 1, bits.len() - 64] {
                let refused = $kind::from_bits(&plan, &bits[..length], hasher());
                assert!(matches!(refused, Err(FileError::Bits(..))), "{length} bytes");
            }
        })*};
    }
    made!(Blocked, Classic, Sliced);
}

#[test]
fn hashers_are_equal_if_their_hashes_are() {
    assert_eq!(KeyHasher::default(), KeyHasher::with_seed(0));
    assert_ne!(KeyHasher::default(), KeyHasher::with_seed(1));
    assert_ne!(KeyHasher::random().unwrap(), KeyHasher::random().unwrap());
    assert_ne!(Prehashed::new(1), Prehashed::new(2));
    let by_hash = ByHash::random();
    assert_eq!(by_hash, by_hash.clone());
    assert_ne!(ByHash::random(), ByHash::default());
}

/// Without a secret, filters of a caller's hashes are deserialized like others.
#[test]
fn filters_of_hashes_are_deserialized() {
    let plan = Plan::for_keys(Kind::Blocked, 100, 0.01).unwrap();
    let mut filter = Blocked::with_plan(&plan, Prehashed::new(7)).unwrap();
    filter.insert(Hash64(1));
    let json = serde_json::to_string(&filter).unwrap();
    assert!(serde_json::from_str::<Blocked<Prehashed>>(&json).unwrap() == filter);
    let any: AnyFilter<Prehashed> = serde_json::from_str(&json).unwrap();
    assert_eq!(any.hasher(), &Prehashed::new(7));
    assert!(serde_json::from_str::<Blocked>(&json).is_err(), "of other keys");
    let text = serde_json::to_string(&Blocked::new(100, 0.01).unwrap()).unwrap();
    assert!(serde_json::from_str::<Blocked<Prehashed>>(&text).is_err(), "of text");
}
