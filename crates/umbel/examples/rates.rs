//! The false positive rate of a classic filter of m bits with n keys and k probes, as papers on Bloom filters print it:
//! by m/n and k, as curves, and measured in real filters.

use umbel::formulas::classic;
use umbel::internals::math::binomial_bounds;
use umbel::{Classic, Filter, KeyHasher, Plan, Variant};

/// Keys of the filters that are counted.
const KEYS: u64 = 50_000;

/// ln of the rate if a share p of the bits stays clear: −(m/n)·ln p·ln(1 − p).
fn exponent(bits_per_key: f64, p: f64) -> f64 {
    -bits_per_key * p.ln() * (1.0 - p).ln()
}

/// The rate of a filter by its own bits, and how many of `KEYS` other keys it contains.
fn counted(bits_per_key: u64, probes: u32) -> (f64, u64) {
    let plan = Plan::from_parts(Variant::Classic, KEYS, 0.5, bits_per_key * KEYS, probes).unwrap();
    let mut filter = Classic::with_plan(&plan, KeyHasher::default()).unwrap();
    filter.extend(0..KEYS);
    (filter.receipt().fpp, (KEYS..2 * KEYS).filter(|key| filter.contains(key)).count() as u64)
}

fn main() {
    println!("m/n  best k   rate for k = 1 to 7: (1 - e^(-kn/m))^k, and of a filter by its bits");
    for ratio in 2..=9 {
        print!("{ratio}    {:.3}", classic::best_probes(1.0, ratio as f64));
        for probes in 1..=7 {
            let limit = classic::fpp_limit(KEYS, ratio * KEYS, probes);
            let (fpp, hits) = counted(ratio, probes);
            print!("  {limit:.4} {fpp:.4}");
            let (least, most) = binomial_bounds(KEYS, fpp, 1e-9);
            assert!((least..=most).contains(&hits), "{hits}, not {least} to {most}");
            assert!((fpp / limit - 1.0).abs() < 0.05);
        }
        println!();
    }
    println!("\nk    rate at m = 100, exact and limit, for n = 10, 20, 40, 80");
    for k in 1..=10 {
        let rates = |n| [classic::fpp(n, 100, k), classic::fpp_limit(n, 100, k)];
        let rates = [10, 20, 40, 80].map(|n| rates(n).map(|rate| format!("{rate:.5}")).join(" "));
        println!("{k:<4} {}", rates.join("   "));
    }
    println!("\np    ln of the rate at m/n = 8 with a share p of the bits clear: least at 1/2");
    (1..10).for_each(|p| println!("0.{p}  {:.3}", exponent(8.0, f64::from(p) / 10.0)));
    println!("\nlog2 m: log10 of the rate at the best k, 0.5^k, for n = 10^0, 10^1 ... below m");
    for log in (8..=36).step_by(4) {
        let bits = 2f64.powi(log);
        let keys = (0..11).map(|power| 10f64.powi(power)).filter(|&keys| keys < bits);
        let rates = keys.map(|keys| 0.5f64.log10() * classic::best_probes(keys, bits));
        println!("{log}: {}", rates.map(|rate| format!("{rate:.3} ")).collect::<String>());
    }
}

#[test]
fn rates_are_those_that_texts_print() {
    main();
    let limit = |ratio, probes| classic::fpp_limit(KEYS, ratio * KEYS, probes);
    let printed = ["0.118", "0.0489", "0.0306", "0.0240", "0.0217", "0.0216", "0.0229"];
    for (probes, text) in (1..).zip(printed) {
        assert_eq!(format!("{:.*}", text.len() - 2, limit(8, probes)), text);
    }
    assert_eq!(format!("{:.4}", limit(9, 6)), "0.0133");
    assert_eq!(format!("{:.4}", exponent(1.0, 0.5).exp()), "0.6185");
    assert!((1..100).all(|p| exponent(8.0, 0.5) <= exponent(8.0, f64::from(p) / 100.0)));
    let above_textbook = classic::fpp(4, 32, 6) / classic::fpp_textbook(4, 32, 6);
    let above_limit = classic::fpp(128, 1024, 6) / classic::fpp_limit(128, 1024, 6);
    assert_eq!(format!("{above_textbook:.2} {above_limit:.3}"), "1.14 1.006");
}
