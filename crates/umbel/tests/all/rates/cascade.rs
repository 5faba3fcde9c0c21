//! The rate of a cascade for keys on neither list.

use umbel::{Cascade, Filter, Form, KeyHasher, Plan, Variant};

use crate::statistics::{Keys, assert_rate, power};

/// Hits of keys on neither list are binomial with the rate given by the bits, which is at most the planned one.
#[test]
fn other_keys_pass_at_the_promised_rate() {
    for (sort, stream) in Keys::ALL.into_iter().zip(1..) {
        for (included, excluded, fpp) in [
            (20_000, 0, 0.01),
            (20_000, 400_000, 0.1),
            (3_000, 300_000, 0.01),
            (100_000, 50_000, 0.5),
            (1, 1_000, 0.01),
        ] {
            for form in [Form::Levels, Form::List] {
                let hasher = KeyHasher::with_seed(stream);
                let hash = |number| sort.hash(&hasher, number);
                let include: Vec<_> = (0..included).map(hash).collect();
                let exclude: Vec<_> = (included..included + excluded).map(hash).collect();
                let kind = Variant::Cascade { form };
                let plan = Plan::for_lists(kind, included, excluded, fpp).unwrap();
                let filter =
                    Cascade::build_with_plan(&plan, &include, &exclude, hasher.clone()).unwrap();
                let rate = filter.receipt().fpp;
                assert!(plan.predicted_fpp() <= fpp);
                let trials = power(rate, 0.1).clamp(10_000.0, 1e6) as u64;
                let start = included + excluded;
                let what = (sort, included, excluded, fpp, form);
                assert_rate(&filter, start..start + trials, hash, rate, &what);
                // May exceed the promise only by chance in the bits of few keys.
                let margin = if included > 1000 { 1.05 } else { 10.0 };
                assert!(rate <= fpp * margin, "{what:?}: {rate}");
            }
        }
    }
}
