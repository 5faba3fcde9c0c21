//! `--prefixes`: what `cases/prefixes.md` cannot show.

use serde_json::Value;

use crate::util::{Folder, least_memory};

#[test]
fn the_rate_of_a_filter_is_that_of_a_line() {
    let folder = Folder::new();
    let mut list = String::new();
    // Different networks of seven lengths in 2001::/16; the lines are in another one.
    for i in 0..20_000u32 {
        let length = [40, 48, 52, 56, 60, 64, 128][i as usize % 7];
        list.push_str(&format!("2001:{i:x}:{:x}00::/{length}\n", i & 0xff));
    }
    folder.write("list", list);
    let lines: String = (0..200_000u32)
        .map(|i| {
            format!("2a00:{:x}:{:x}:{:x}::1\n", i & 0xffff, i >> 3, i.wrapping_mul(40_503) & 0xffff)
        })
        .collect();
    folder.write("lines", lines);
    folder.umbel("build -q --prefixes ip --fpp 2% -o f list").run().done();
    let object: Value = serde_json::from_str(&folder.umbel("info --json f").run().text()).unwrap();
    let rate = object["prefix_fpp"].as_f64().unwrap();
    assert!(rate > 0.01 && rate <= 0.02, "{rate}");
    let found = folder.umbel("query -q --prefixes ip --total f lines").run().text();
    let found: u64 = found.trim().parse().unwrap();
    // No two lines share a network of 40 bits, so their questions all differ.
    let (least, most) = umbel::internals::math::binomial_bounds(200_000, rate, 1e-9);
    assert!((least..=most).contains(&found), "{found} at {rate}");
}

#[test]
fn a_list_beyond_the_memory_cap_is_refused_with_one_that_is_enough() {
    let folder = Folder::new();
    let list: String =
        (0..300_000u32).map(|i| format!("10.{}.{}.{}\n", i >> 16, i >> 8 & 255, i & 255)).collect();
    folder.write("list", list);
    folder.write("lines", "10.1.1.1\n11.1.1.1\n");
    let small = folder.umbel("query -j 1 --memory 16MiB --prefixes ip list lines").run();
    let message = small.fails(&["memory cap of 16MiB", "at least", "--memory"]);
    let least = least_memory(&message);
    let enough = format!("query -q -j 1 --memory {least} --prefixes ip list lines");
    let enough = folder.umbel(&enough).run();
    assert_eq!(enough.text(), "10.1.1.1\n");
    // A filter of the list fits.
    folder.umbel("build -q -j 1 --memory 16MiB --prefixes ip -o f list").run().done();
    let filter = folder.umbel("query -q -j 1 --memory 16MiB --prefixes ip f lines").run();
    assert_eq!(filter.text(), "10.1.1.1\n");
}
