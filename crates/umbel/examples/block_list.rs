//! A block list of addresses in nine bits each, and an allow list that corrects it.
//!
//! 4·10⁹ addresses at m/n = 9 and k = 6 need 4.19 GiB, and 1.33 % of all other addresses match: (1 − e^(−6/9))^6. The rate
//! does not depend on the number of addresses, so this is a thousandth of the list.

use umbel::formulas::classic;
use umbel::internals::math::binomial_bounds;
use umbel::{Cascade, Classic, Filter, Form, KeyHash, KeyHasher, Plan, Variant};

const BLOCKED: u64 = 4_000_000;
const ALLOWED: u64 = 400_000;
const OTHERS: u64 = 2_000_000;

/// How many addresses of a list match.
fn matching(list: &[KeyHash], contains: &dyn Fn(KeyHash) -> bool) -> u64 {
    list.iter().filter(|&&address| contains(address)).count() as u64
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let hasher = KeyHasher::default();
    let hashes = |start, count| (start..start + count).map(|it: u64| hasher.hash(it)).collect();
    let blocked: Vec<KeyHash> = hashes(0, BLOCKED);
    let allowed: Vec<KeyHash> = hashes(BLOCKED, ALLOWED);
    let others: Vec<KeyHash> = hashes(BLOCKED + ALLOWED, OTHERS);
    let counted = |name: &str, bytes: u64, fpp: f64, contains: &dyn Fn(KeyHash) -> bool| {
        let counts = [&blocked, &allowed, &others].map(|list| matching(list, contains));
        let bits = 8.0 * bytes as f64 / BLOCKED as f64;
        println!("{name}: {bits:.2} bits per address; match: {counts:?}");
        assert_eq!(counts[0], BLOCKED, "no blocked address is missed");
        let (least, most) = binomial_bounds(OTHERS, fpp, 1e-9);
        assert!((least..=most).contains(&counts[2]), "{least} to {most} are expected");
        counts[1]
    };
    println!("lists of {BLOCKED} blocked, {ALLOWED} allowed and {OTHERS} other addresses");
    let gib = 9.0 * 4e9 / 8.0 / 2f64.powi(30);
    let fpp = classic::fpp(BLOCKED, 9 * BLOCKED, 6);
    println!("4e9 addresses: {gib:.2} GiB; {:.2} % of others match", 100.0 * fpp);
    assert_eq!((format!("{gib:.2}"), format!("{fpp:.4}")), ("4.19".into(), "0.0133".into()));

    let plan = Plan::from_parts(Variant::Classic, BLOCKED, fpp, 9 * BLOCKED, 6)?;
    let mut filter = Classic::with_plan(&plan, hasher.clone())?;
    filter.insert_all(&blocked);
    let contains = |hash| filter.contains(hash);
    let caught = counted("classic", plan.bytes(), filter.receipt().fpp, &contains);
    assert!(caught > ALLOWED / 100, "without an allow list {caught} of its addresses are caught");

    for (form, name) in [(Form::List, "with an exact list"), (Form::Levels, "cascade")] {
        let plan = Plan::for_lists(Variant::Cascade { form }, BLOCKED, ALLOWED, fpp)?;
        let filter = Cascade::build_with_plan(&plan, &blocked, &allowed, hasher.clone())?;
        let receipt = filter.receipt();
        let contains = |hash| filter.contains(hash);
        assert_eq!(counted(name, filter.bytes(), receipt.fpp, &contains), 0, "none is caught");
        assert!(receipt.fpp <= fpp);
    }
    Ok(())
}

#[test]
fn no_blocked_address_is_missed_and_no_allowed_one_is_caught() {
    main().unwrap();
}
