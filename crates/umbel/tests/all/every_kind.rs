//! Which operations each kind supports, and the errors of the others: inserting, removing, merging.

use umbel::{
    AnyFilter, Attributes, BuildError, Insert, InsertError, KeyHasher, Kind, MergeError, Plan,
    PlanError,
};

/// Kinds that merge with filters of their own kind.
pub(crate) const MERGING: [Kind; 5] =
    [Kind::Blocked, Kind::Classic, Kind::Sliced, Kind::Counting, Kind::Attributes];

pub(crate) fn texts(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("key {number}")).collect()
}

/// A filter of each kind with these keys; filters of rows have a single attribute, queried by key.
pub(crate) fn filled(kind: Kind, keys: &[String], hasher: KeyHasher) -> AnyFilter {
    let plan = Plan::for_keys(kind, keys.len().max(1) as u64, 0.01).unwrap();
    if kind.rows() {
        let mut rows = Attributes::with_names(&plan, &["text"], hasher).unwrap();
        keys.iter().for_each(|key| _ = rows.insert_row(&[key]).unwrap());
        return AnyFilter::Attributes(rows);
    }
    AnyFilter::build(&plan, keys, hasher).unwrap()
}

fn some(kind: Kind) -> AnyFilter {
    filled(kind, &texts(3), KeyHasher::default())
}

/// Pins which kinds accept and remove keys.
#[test]
fn every_kind_says_what_it_does() {
    for &kind in Kind::ALL {
        let mut filter = some(kind);
        let insert = filter.try_insert("key");
        assert_eq!(insert.is_ok(), kind.inserts(), "{kind}: {insert:?}");
        let remove = filter.as_counting_mut().map(|filter| filter.remove("key"));
        match &remove {
            Ok(_) => assert!(kind.removes(), "{kind}"),
            Err(error) => assert_eq!(*error, InsertError::CannotRemove(kind)),
        }
        for error in [insert.err(), remove.err()].into_iter().flatten() {
            // A reason and a remedy.
            let words = error.to_string();
            assert!(words.contains(&kind.to_string()) || kind.rows(), "{words}");
        }
    }
}

#[test]
fn kinds_that_never_merge_say_why() {
    let never = [
        (Kind::Scalable, "add the keys of one to the other"),
        (Kind::Stable, "depends on the order"),
        (Kind::Window, "differ in age"),
        (Kind::Coded, "which bucket"),
        (Kind::Bloomier, "build one from the keys of both"),
        (Kind::Cascade, "build one from the keys of both"),
    ];
    assert_eq!(never.len() + MERGING.len(), Kind::ALL.len());
    for (kind, words) in never {
        for (left, right) in [(kind, kind), (kind, Kind::Classic), (Kind::Blocked, kind)] {
            let (mut left, right) = (some(left), some(right));
            let before = left.clone();
            for error in [left.union(&right), left.intersect(&right)] {
                let error = error.unwrap_err();
                assert_eq!(error, MergeError::NotMergeable(kind));
                assert!(error.to_string().contains(words), "{error}");
            }
            assert!(left == before, "an error changes nothing");
        }
    }
    for (left, right) in MERGING.into_iter().flat_map(|left| MERGING.map(|right| (left, right))) {
        let (mut filter, other) = (some(left), some(right));
        let expected = match left == right {
            true => Ok(()),
            false => Err(MergeError::KindsDiffer(left, right)),
        };
        assert_eq!([filter.union(&other), filter.intersect(&other)], [expected.clone(), expected]);
    }
}

#[test]
fn kinds_that_are_built_at_once_take_no_more() {
    for kind in Kind::ALL.iter().copied().filter(|kind| kind.built_at_once()) {
        let (plan, hasher) = (Plan::for_keys(kind, 100, 0.01).unwrap(), KeyHasher::default());
        let empty = AnyFilter::with_plan(&plan, hasher.clone()).unwrap_err();
        assert_eq!(empty, PlanError::BuiltAtOnce(kind));
        let build = |count| AnyFilter::build(&plan, &Vec::from_iter(0..count), hasher.clone());
        let mut full = build(100).unwrap();
        assert!((0..100).all(|key| full.contains(key)));
        assert_eq!(full.try_insert("key").unwrap_err(), InsertError::BuiltAtOnce(kind));
        let more = build(101).unwrap_err();
        assert_eq!(more, BuildError::Overfull(101, 100));
    }
}
