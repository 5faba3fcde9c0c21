//! Compares filters of every format with a model: random sizes and keys, insertions, files and unions.

use std::collections::HashSet;

use proptest::prelude::*;
use umbel_foreign::Error;
use umbel_foreign::{Foreign, ForeignFilter, ForeignInsert, Format, Key, KeyType, Parameters};

/// A filter to make, with the keys of its two parts.
#[derive(Clone, Debug)]
struct Case {
    format: Format,
    given: Parameters,
    parts: [Vec<Owned>; 2],
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Owned {
    Bytes(Vec<u8>),
    I64(i64),
    I32(i32),
    F64(u64),
    F32(u32),
}

impl Owned {
    fn key(&self) -> Key<'_> {
        match self {
            Self::Bytes(bytes) => Key::Bytes(bytes),
            Self::I64(key) => Key::I64(*key),
            Self::I32(key) => Key::I32(*key),
            Self::F64(bits) => Key::F64(f64::from_bits(*bits)),
            Self::F32(bits) => Key::F32(f32::from_bits(*bits)),
        }
    }
}

fn key(key_type: KeyType) -> BoxedStrategy<Owned> {
    match key_type {
        KeyType::I64 => any::<i64>().prop_map(Owned::I64).boxed(),
        KeyType::I32 => any::<i32>().prop_map(Owned::I32).boxed(),
        KeyType::F64 => any::<f64>().prop_map(|key| Owned::F64(key.to_bits())).boxed(),
        KeyType::F32 => any::<f32>().prop_map(|key| Owned::F32(key.to_bits())).boxed(),
        // Hadoop refuses empty keys and DataSketches ignores them; their own tests cover that.
        _ => prop::collection::vec(any::<u8>(), 1..40).prop_map(Owned::Bytes).boxed(),
    }
}

fn case() -> impl Strategy<Value = Case> {
    let format = prop::sample::select(Format::ALL.to_vec());
    let sizes = (1..60u64, 0.001..0.4, 64..900u64, 1..12u32, any::<bool>(), any::<bool>());
    (format, sizes).prop_flat_map(|(format, (keys, fpp, bits, probes, by_size, option))| {
        let has = |name| format.parameters().contains(&name);
        let mut given = Parameters::default();
        let by_size = has("bits") && (by_size || !has("keys"));
        if by_size {
            given.bits = Some(bits);
            given.probes = has("probes").then_some(probes);
            if format == Format::Spark {
                given.keys = Some(keys);
            }
        } else {
            // Formats sized by their keys get the same number in both parts.
            let least = if format == Format::RedisBloomCuckoo { 4 } else { 1 };
            given.keys = has("keys").then_some(keys.max(least));
            given.fpp = (has("fpp") && format != Format::LevelDb).then_some(fpp);
        }
        given.bits_per_key = has("bits_per_key").then_some(f64::from(probes));
        given.growth = has("growth").then_some(if option { 2 } else { 4 });
        if has("salts") {
            given.salts = (0..probes).map(|salt| salt.to_string().into_bytes()).collect();
        }
        if has("seed") {
            given.seed = Some(bits as i64);
        }
        // The first option of a format, except for Arrow's folding, which changes sizes.
        if let (true, Some((name, _))) = (option, format.options().first())
            && *name != "arrow"
        {
            given.options.push((*name).to_owned());
            // Guava's and Spark's older forms have no seed.
            if *name == "v1" {
                given.seed = None;
            }
        }
        let keys = prop::sample::select(format.key_types().to_vec())
            .prop_flat_map(|key_type| prop::collection::vec(key(key_type), 0..50));
        let case = |(format, given, parts)| Case { format, given, parts };
        (Just(format), Just(given), [keys.clone(), keys]).prop_map(case)
    })
}

/// Inserts a part's keys; formats that accept no more keys than planned may refuse some.
fn fill(filter: &mut Foreign, keys: &[Owned]) -> Result<HashSet<Owned>, TestCaseError> {
    let mut held = HashSet::new();
    for key in keys {
        let known = filter.contains(key.key()).unwrap();
        match filter.insert(key.key()) {
            Ok(new) => {
                prop_assert_eq!(new, !known, "new exactly when it was absent");
                held.insert(key.clone());
            }
            Err(Error::Full { .. }) => {}
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        }
    }
    Ok(held)
}

fn probes() -> Vec<Owned> {
    let texts = (0..100u32).map(|i| Owned::Bytes(format!("probe {i}").into_bytes()));
    texts.chain((0..100).map(Owned::I64)).collect()
}

/// Answers to probes of all key types of the format.
fn asked(filter: &impl ForeignFilter) -> Vec<Option<bool>> {
    probes().iter().map(|probe| filter.contains(probe.key()).ok()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn keys_stay_through_files_and_unions(case in case()) {
        let Case { format, given, parts: [left, right] } = case;
        let [mut one, mut two] = [(); 2].map(|()| Foreign::new(format, &given).unwrap());
        // An empty DataSketches filter is only a header; its plan counts the later bytes.
        if format != Format::DataSketches {
            let planned = Foreign::plan(format, &given).unwrap().bytes;
            prop_assert_eq!(planned, one.encode().unwrap().len() as u64);
        }
        prop_assert!(asked(&one).iter().all(|found| *found != Some(true)), "empty");
        let (held, more) = (fill(&mut one, &left)?, fill(&mut two, &right)?);

        // Inserting all keys together gives the same filter, unless some are refused.
        let mut many = Foreign::new(format, &given).unwrap();
        let keys: Vec<_> = left.iter().map(Owned::key).collect();
        if many.insert_all(&keys).is_ok() {
            prop_assert_eq!(many.encode().unwrap(), one.encode().unwrap());
        }

        // A file, queried in place, is the same filter.
        let file = one.encode().unwrap();
        let read = Foreign::decode_with(format, &file[..], &given).unwrap();
        prop_assert_eq!(&read.encode().unwrap(), &file);
        prop_assert_eq!(asked(&read), asked(&one));
        prop_assert_eq!(read.receipt(), one.receipt());
        prop_assert!(held.iter().all(|key| read.contains(key.key()).unwrap()));

        // Batches give the same answers as single queries.
        let keys: Vec<_> = left.iter().chain(&right).map(Owned::key).collect();
        let mut found = vec![false; keys.len()];
        read.contains_all(&keys, &mut found).unwrap();
        let single: Vec<bool> = keys.iter().map(|key| read.contains(*key).unwrap()).collect();
        prop_assert_eq!(found, single);

        if !format.merges() {
            let refused = one.union(&two);
            prop_assert!(matches!(refused, Err(Error::NoUnion { .. })), "{refused:?}");
            prop_assert_eq!(one.encode().unwrap(), file, "unchanged");
            return Ok(());
        }

        // A union holds both, in either order, and adding a part again changes no answer.
        let mut both = one.to_owned().unwrap();
        both.union(&two).unwrap();
        let mut other_way = two.to_owned().unwrap();
        other_way.union(&read).unwrap();
        prop_assert_eq!(asked(&both), asked(&other_way));
        prop_assert_eq!(both.receipt().set_bits, other_way.receipt().set_bits);
        let mut again = both.to_owned().unwrap();
        again.union(&one).unwrap();
        prop_assert_eq!(asked(&again), asked(&both));
        let file = both.encode().unwrap();
        let both = Foreign::decode_with(format, &file[..], &given).unwrap();
        prop_assert!(held.iter().chain(&more).all(|key| both.contains(key.key()).unwrap()));
    }

    #[test]
    fn what_differs_is_not_joined(case in case(), other in case()) {
        let mut one = Foreign::new(case.format, &case.given).unwrap();
        fill(&mut one, &case.parts[0])?;
        let mut two = Foreign::new(other.format, &other.given).unwrap();
        fill(&mut two, &other.parts[0])?;
        let before = one.encode().unwrap();
        match one.union(&two) {
            Ok(()) => {
                prop_assert_eq!(case.format, other.format);
                let held = |key: &Owned| two.contains(key.key()).is_ok_and(|found| found);
                let kept = other.parts[0].iter().filter(|key| held(key)).all(|key| one.contains(key.key()).unwrap());
                prop_assert!(kept, "a key of the other is lost");
            }
            Err(Error::FormatsDiffer { .. }) => prop_assert!(case.format != other.format),
            Err(Error::NoUnion { format }) => prop_assert!(!format.merges()),
            Err(Error::Differ { left, right, .. }) => {
                prop_assert!(left != right);
                prop_assert_eq!(one.encode().unwrap(), before, "as it was");
            }
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        }
    }
}
