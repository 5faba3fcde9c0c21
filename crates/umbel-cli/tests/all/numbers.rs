//! Numbers that the documents print, against the formulas and records that they come from.
//!
//! Each row of [`SENTENCES`] is a passage of a document with `{}` in place of its numbers, and a function that
//! computes them. A number agrees when the computed one rounds to it, in as many digits as it has.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;
use umbel::math::blocked::{Pattern, bit_chance};
use umbel::math::{Coverage, classic};
use umbel::{Classic, KeyHash, KeyHasher, Kind, Plan, Variant};
use umbel_net::prefixes::{Family, Network, PrefixKeys};
use umbel_report::advice::formulas::{self, hash_collisions};

/// A document, a passage of it, and the numbers in the passage.
type Sentence = (&'static str, &'static str, fn() -> Vec<f64>);

const SENTENCES: &[Sentence] = &[
    (
        "docs/pictures/common-light.svg",
        "umbel, 256 MiB {} s and {} MiB, DuckDB, 8 GB (*) {} s and {} MiB, DuckDB, 1 GB {} s and {} MiB, sort -u, comm {} s and {} MiB",
        of_chart,
    ),
    (
        "docs/pictures/common-dark.svg",
        "umbel, 256 MiB {} s and {} MiB, DuckDB, 8 GB (*) {} s and {} MiB, DuckDB, 1 GB {} s and {} MiB, sort -u, comm {} s and {} MiB",
        of_chart,
    ),
    ("docs/net.md", "| one | 1 | {} | {} |", || bits_of_prefixes(1)),
    ("docs/net.md", "| four, such as labels 2 to 5 | 4 | {} | {} |", || bits_of_prefixes(4)),
    ("docs/net.md", "| /8 to /32 of IPv4 | 25 | {} | {} |", || bits_of_prefixes(25)),
    ("docs/net.md", "| /16 to /64 of IPv6 | 49 | {} | {} |", || bits_of_prefixes(49)),
    ("docs/net.md", "| `Prefixes` | {} | {} | {} | {} | {} | {} |", || of_networks("umbel")),
    ("docs/net.md", "| prefix-trie | {} | {} | {} | {} | {} | {} |", || of_networks("prefix-trie")),
    ("docs/net.md", "| poptrie | {} | {} | {} | {} | {} | {} |", || of_networks("poptrie")),
    ("docs/net.md", "| ip_network_table (tree bitmap) | {} | {} | {} | {} | {} | {} |", || {
        of_networks("ip_network_table (tree bitmap)")
    }),
    ("docs/net.md", "| iptrie, level-compressed | {} | {} | {} | {} | {} | {} |", || {
        of_networks("iptrie, level-compressed")
    }),
    ("docs/net.md", "| a hash map alone | {} | {} | {} | {} | {} | {} |", || {
        of_networks("a hash map alone")
    }),
    ("docs/net.md", "| DIR-24-8 | {} | {} | {} | – | – | – |", || {
        of_prefixes("IPv4", "DIR-24-8")
    }),
    ("docs/net.md", "| `Suffixes` | {} | {} | {} |", || of_prefixes("Domains", "umbel")),
    ("docs/net.md", "| a hash map of names | {} | {} | {} |", || {
        of_prefixes("Domains", "a hash map of names")
    }),
    ("docs/net.md", "| fst of reversed labels | {} | {} | {} |", || {
        of_prefixes("Domains", "fst of reversed labels")
    }),
    ("docs/net.md", "| radix_trie of reversed labels | {} | {} | {} |", || {
        of_prefixes("Domains", "radix_trie of reversed labels")
    }),
    ("docs/mathematics.md", "| exact ÷ textbook | {} | {} | {} | {} | {} |", || {
        of_small_filters(classic::fpp_textbook)
    }),
    ("docs/mathematics.md", "| exact ÷ limit | {} | {} | {} | {} | {} |", || {
        of_small_filters(classic::fpp_limit)
    }),
    (
        "docs/mathematics.md",
        "at m = 4,096 by {} of the rate for k = 20 and n = 140, and by {} for k = 28 and n = 100",
        || vec![variance_form_lacks(140, 20), variance_form_lacks(100, 28)],
    ),
    ("docs/mathematics.md", "k = 5 gives {} % and k = 6 gives {} %", || {
        [5, 6].map(|k| 100.0 * formulas::fpp_limit_of(8.0, k)).to_vec()
    }),
    ("docs/mathematics.md", "the rate is 0.5^k = {}^(m/n)", || {
        vec![formulas::log_fpp_at_clear(1.0, 0.5).exp()]
    }),
    ("docs/mathematics.md", "(`classic::bits_per_key`: {} bits per key at 1 %)", || {
        vec![classic::bits_per_key(0.01)]
    }),
    ("docs/mathematics.md", "(`formulas::least_bits_per_key`, {} at 1 % and k = {})", || {
        let (bits, probes) = formulas::least_bits_per_key(0.01, 32);
        vec![bits, f64::from(probes)]
    }),
    ("docs/mathematics.md", "{} bytes per key at 1 %, and {} more for each factor of ten", || {
        [0.01, 0.1].map(|fpp| classic::bits_per_key(fpp) / 8.0).to_vec()
    }),
    ("docs/mathematics.md", "1/ln 2 = {} times", || vec![1.0 / f64::ln(2.0)]),
    (
        "docs/mathematics.md",
        "{} % at a rate of 10 %, {} % at 1 %, {} % at 0.1 % and {} % at 1e-6 by the formulas",
        || RATES.map(|fpp| percent_more(by_formula(fpp))).to_vec(),
    ),
    ("docs/mathematics.md", "plans for 10⁸ keys need {}, {}, {} and {} % more", || {
        RATES.map(|fpp| percent_more(by_plans(100_000_000, fpp))).to_vec()
    }),
    ("docs/mathematics.md", "at 1e-6 and 100,000 keys {} %", || {
        vec![percent_more(by_plans(100_000, 1e-6))]
    }),
    (
        "docs/mathematics.md",
        "At 1 % and k = 8 it is {} % too high with four blocks, {} % with two and {} % with one",
        || [4, 2, 1].map(|blocks| percent_more(poisson_over_true(8, 0.01, blocks))).to_vec(),
    ),
    (
        "docs/mathematics.md",
        "For k = 1 it is too low, by at most {} % with two blocks and {} % with one",
        || [2, 1].map(|blocks| -percent_more(poisson_over_true(1, 0.01, blocks))).to_vec(),
    ),
    (
        "docs/mathematics.md",
        "m = 100,000 and k = 7 that is {} keys at a fill of 0.07, {} at 0.5 and {} at 0.75",
        || [0.07, 0.5, 0.75].map(|fill| overlap_noise(100_000.0, 7.0, fill)).to_vec(),
    ),
    (
        "docs/mathematics.md",
        "it is {} ‰ of each set for 100 keys, {} ‰ for 10,000 and {} ‰ for 100,000",
        || {
            let part =
                |keys: f64| 1e3 * overlap_noise(10.0 * keys, 7.0, 1.0 - f64::exp(-0.7)) / keys;
            [1e2, 1e4, 1e5].map(part).to_vec()
        },
    ),
    ("docs/mathematics.md", "| 8 | 6 | {} % | {} | {} |", || sent(8.0, 6)),
    ("docs/mathematics.md", "| 14 | 2 | {} % | {} | {} |", || sent(14.0, 2)),
    ("docs/mathematics.md", "| 92 | 1 | {} % | {} | {} |", || sent(92.0, 1)),
    ("docs/mathematics.md", "| covered, blocked, % | {} | {} | {} | {} | {} | {} | {} |", || {
        covered("blocked")
    }),
    ("docs/mathematics.md", "| covered, classic, % | {} | {} | {} | {} | {} | {} | {} |", || {
        covered("classic")
    }),
    ("docs/mathematics.md", "| covered, sliced, % | {} | {} | {} | {} | {} | {} | {} |", || {
        covered("sliced")
    }),
    (
        "docs/mathematics.md",
        "are {} standard deviations too high for blocked filters, {} for classic and {} for sliced",
        biases,
    ),
    ("docs/mathematics.md", "it is 1/√(2π) = {} deviations", || {
        vec![(2.0 * std::f64::consts::PI).sqrt().recip()]
    }),
    ("docs/mathematics.md", "has b = 128 bits, so {} at 10⁹ keys", || {
        vec![hash_collisions(1_000_000_000, 128)]
    }),
    (
        "docs/mathematics.md",
        "64-bit hashes made elsewhere add {} at 10⁹ keys; the 32-bit hashes of LevelDB's and Badger's filters add {} at 10⁶ keys, and {} % at 10⁸",
        || {
            let short = |keys| hash_collisions(keys, 32);
            vec![hash_collisions(1_000_000_000, 64), short(1_000_000), 100.0 * short(100_000_000)]
        },
    ),
    ("docs/mathematics.md", "{} % too low at m = 32, n = 4 and k = 6", || {
        vec![-percent_more(classic::fpp_textbook(4, 32, 6) / classic::fpp(4, 32, 6))]
    }),
    ("docs/mathematics.md", "takes {} bytes per key*", || {
        vec![formulas::least_bits_per_key(0.01, 100).0 / 5.0]
    }),
    ("docs/mathematics.md", "Divided by 8 they are {} bytes", || {
        vec![formulas::least_bits_per_key(0.01, 100).0 / 8.0]
    }),
    ("docs/mathematics.md", "rounds to {}; at 10⁸ it is {}.", || {
        [10_000_000, 100_000_000]
            .map(|bits| classic::fpp_textbook(1_000_000, bits, 3).powi(3))
            .to_vec()
    }),
    (
        "docs/mathematics.md",
        "before they were inserted; {} are expected, and more than two happen in {} % of runs",
        || {
            let rate = |keys| classic::fpp_textbook(keys, 10_000_000, 3).powi(3);
            let mean: f64 = (0..1_000_000).map(rate).sum();
            vec![mean, 100.0 * poisson_at_least(mean, 3)]
        },
    ),
    (
        "docs/mathematics.md",
        "| blocked, counting | {} % | {} % | {} % | {} % | {} % | {} % |",
        || margins("blocked"),
    ),
    ("docs/mathematics.md", "| classic | {} % | {} % | {} % | {} % | {} % | {} % |", || {
        margins("classic")
    }),
    ("docs/mathematics.md", "| 0.5 | {} % | {} % | {} % | {} % |", || deviations(0.5)),
    ("docs/mathematics.md", "| 0.1 | {} % | {} % | {} % | {} % |", || deviations(0.1)),
    ("docs/mathematics.md", "| 0.01 | {} % | {} % | {} % | {} % |", || deviations(0.01)),
    ("docs/mathematics.md", "| 0.001 | {} % | {} % | {} % | {} % |", || deviations(0.001)),
    ("docs/mathematics.md", "| 1e-4 | {} % | {} % | {} % | {} % |", || deviations(1e-4)),
    ("docs/mathematics.md", "| 1e-6 | {} % | {} % | {} % | {} % |", || deviations(1e-6)),
    ("docs/mathematics.md", "(`sliced::fpp`) | {} | {} |", || sizes(Kind::Sliced)),
    ("docs/mathematics.md", "by default 4 | {} | {} |", || sizes(Kind::Counting)),
    ("docs/mathematics.md", "(`bloomier::slots_per_key`) | {} | {} |", || sizes(Kind::Bloomier)),
    ("docs/mathematics.md", "over 2^c − 1 at most p | {} | {} |", || sizes(Kind::Coded)),
    ("docs/mathematics.md", "m cells of d bits, see below | {} | {} |", || sizes(Kind::Stable)),
    (
        "docs/mathematics.md",
        "In a plan at 1 % the mean is {}, so a counter of 4 bits reaches 12, where it sticks, with probability {}: about {} per key",
        || {
            let plan = plan(Kind::Blocked, 1_000_000, 0.01);
            let mean = plan.bits_per_key().recip() * f64::from(plan.probes());
            let sticks = poisson_at_least(mean, 12);
            vec![mean, sticks, sticks * plan.bits_per_key()]
        },
    ),
    ("docs/choosing.md", "{} % more bits than the classic filter at 1 %", || {
        vec![percent_more(by_plans(100_000_000, 0.01))]
    }),
    ("docs/choosing.md", "{} bits at 1 %, and a cache line for each of {} probes", || {
        let plan = plan(Kind::Classic, 1_000_000, 0.01);
        vec![plan.bits_per_key(), f64::from(plan.probes())]
    }),
    ("docs/choosing.md", "{} times the bound: {} bits at 1 %", || {
        let bits = plan(Kind::Bloomier, 1_000_000, 0.01).bits_per_key();
        vec![bits / 7.0, bits]
    }),
    ("docs/choosing.md", "none of them is missed; {} times the bits", || {
        vec![over_blocked(Kind::Window, 0.01)]
    }),
    ("docs/choosing.md", "but {} bits per remembered key at 1 %", || {
        vec![plan(Kind::Stable, 1_000_000, 0.01).bits_per_key()]
    }),
    ("docs/choosing.md", "| {} bits for each bit of the blocked filter", || {
        vec![over_blocked(Kind::Counting, 0.01)]
    }),
    (
        "docs/choosing.md",
        "{} times the bits of a classic filter at 1e-6, {} times at 1e-9 and {} times at 1e-12",
        || [1e-6, 1e-9, 1e-12].map(|fpp| by_plans(1_000_000, fpp)).to_vec(),
    ),
    (
        "docs/choosing.md",
        "has {} times that rate if it is blocked, and {} times if it is classic",
        || [Kind::Blocked, Kind::Classic].map(|kind| twice_as_full(kind) / 0.01).to_vec(),
    ),
    (
        "docs/choosing.md",
        "uses {} GiB and has a rate of {} %: it blocks one of {} innocent addresses",
        || {
            let rate = formulas::fpp_limit_of(9.0, 6);
            vec![4e9 * 9.0 / 8.0 / GIB, 100.0 * rate, 1.0 / rate]
        },
    ),
    ("docs/choosing.md", "At {} % about {} million lines would be wrong", || {
        let rate = in_memory(5_000_000_000, 4).predicted_fpp();
        vec![100.0 * rate, 5e9 * rate / 1e6]
    }),
    ("docs/choosing.md", "For {} MiB the filter saves the millisecond in {} of 100", || {
        let plan = plan(Kind::Blocked, 100_000_000, 0.01);
        vec![plan.bytes() as f64 / MIB, 90.0 * (1.0 - plan.predicted_fpp())]
    }),
    ("docs/choosing.md", "`bloomier` has a rate of {} % in {} MiB", || {
        let plan = for_phones(Kind::Bloomier);
        vec![100.0 * plan.predicted_fpp(), plan.bytes() as f64 / MIB]
    }),
    ("docs/choosing.md", "classic filter that is allowed has {} %", || {
        vec![100.0 * for_phones(Kind::Classic).predicted_fpp()]
    }),
    (
        "docs/choosing.md",
        "{} bits per key ([mathematics](mathematics.md#9-compressed-filters)), but uses {} times",
        || {
            // One probe: the rate is the fill.
            let plan = for_phones(Kind::Bloomier);
            let bits = -1.0 / (-plan.predicted_fpp()).ln_1p();
            vec![formulas::sent_per_key(bits, 1.0), bits / plan.bits_per_key()]
        },
    ),
    ("docs/performance.md", "{} % at 10 %, {} % at 1 % and {} % at 0.1 %.", || {
        [0.1, 0.01, 0.001].map(|fpp| percent_more(by_plans(100_000_000, fpp))).to_vec()
    }),
    ("docs/performance.md", "| the limit, ns | {} | {} | {} |", || {
        let read = hashed("| limit, huge pages | batch | 1 |", 4)[0];
        vec![read; 3]
    }),
    ("docs/performance.md", "| umbel, batch, ns | {} | {} | {} |", || {
        hashed("| umbel | batch | 1 |", 4)
    }),
    ("docs/performance.md", "| umbel ÷ limit, same round | {} | {} | {} |", || {
        hashed("| umbel | batch | 1 |", 9)
    }),
    ("docs/performance.md", "| umbel, one key per call, ns | {} | {} | {} |", || {
        hashed("| umbel | one | 1 |", 4)
    }),
    ("docs/performance.md", "| fastbloom, one key per call, ns | {} | {} | {} |", || {
        hashed("| fastbloom | one | 1 |", 4)
    }),
    ("docs/performance.md", "| sbbf-rs, one key per call, ns | {} | {} | {} |", || {
        hashed("| sbbf-rs-safe | one | 1 |", 4)
    }),
    (
        "docs/performance.md",
        "| `common`, 2 × 20 million lines, 10 % shared, 256 MiB | {} | {} | {} |",
        || whole("common", "umbel common, --memory 256MiB"),
    ),
    ("docs/performance.md", "keys and lines are spilled | {} | {} | {} |", || {
        whole("common", "umbel common, --memory 64MiB")
    }),
    ("docs/performance.md", "| `except`, the same files, 256 MiB | {} | {} | {} |", || {
        whole("except", "umbel except, --memory 256MiB")
    }),
    ("docs/performance.md", "38 million distinct, 568 MiB | {} | {} | {} |", || {
        whole("dedup", "umbel dedup, --memory 568MiB")
    }),
    ("docs/performance.md", "| the same with `--fpp 1e-6` | {} | {} | {} |", || {
        whole("dedup", DEDUP_FPP)
    }),
    (
        "docs/performance.md",
        "takes {} times as long as of one file with the same lines. Two threads make `common` {} times as fast as one, `except` {} times, and `dedup` of the 1,000 files {} times",
        || {
            let one = "umbel dedup of one file";
            let files = "umbel dedup of 1,000 files";
            vec![
                over("many", files, one),
                over("common", "umbel common, --memory 256MiB, --threads 1", COMMON),
                over("except", "umbel except, --memory 256MiB, --threads 1", EXCEPT),
                over("many", "umbel dedup of 1,000 files, one thread", files),
            ]
        },
    ),
    ("docs/performance.md", "| 0.1 | {} | {} | {} | {} |", || rates("0.1")),
    ("docs/performance.md", "| 0.01 | {} | {} | {} | {} |", || rates("0.01")),
    ("docs/performance.md", "| 0.001 | {} | {} | {} | {} |", || rates("0.001")),
    ("docs/performance.md", "| 0.0001 | {} | {} | {} | {} |", || rates("0.0001")),
    ("docs/performance.md", "Of {} full filters of nine kinds, {} exceeded it", full_filters),
    ("docs/performance.md", "Keys of 64 bytes take {}, {} and {} ns in batches", || {
        three(&recorded(NOW, "### 100 M keys of 64 bytes, fpp 1 %\n", "| umbel | batch | 1 |"), 4)
    }),
    ("docs/performance.md", "in batches: {}, {} and {} times a plain loop", || {
        goals(NOW, "batch of 64-byte keys ÷ limit", "100 M, 1 %", &INSERT_HIT_MISS)
    }),
    ("docs/performance.md", "takes {} to {} of umbel's time for look-ups", || {
        let rows = read("bench/record/2026-11-24-filters.md");
        let lost = |row: &str| (row.split('|').count() == 6).then(|| number(row, 4));
        let lost: Vec<f64> = rows
            .lines()
            .filter(|row| row.contains("hashed keys, fpp 10 %"))
            .filter_map(lost)
            .collect();
        assert_eq!(lost.len(), 3, "the cases that are lost");
        [f64::min, f64::max].map(|of| lost.iter().copied().reduce(of).unwrap()).to_vec()
    }),
    ("docs/performance.md", "hit, miss | ≤ 1.10 | {}, {} |", || {
        goals(NOW, "batch ÷ limit", "100 M, 1 %", &["hit", "miss"])
    }),
    ("docs/performance.md", "≤ 1.20 | {}, {}, {} |", || {
        goals(NOW, "batch ÷ limit", "10 M, 1 %", &INSERT_HIT_MISS)
    }),
    ("docs/performance.md", "0.1 % | ≤ 1.10 | {}, {} |", || {
        let over =
            |keys| plan(Kind::Blocked, keys, 0.001).bits_per_key() / classic::bits_per_key(0.001);
        [100_000, 10_000_000].map(over).to_vec()
    }),
    ("docs/performance.md", "10 M, 1 % insert | ≥ 0.95 | {} |", || {
        goals(NOW, "gain of two threads over one ÷ the limit's, shared", "10 M, 1 %", &["insert"])
    }),
    ("docs/performance.md", "≥ 2.00 | {} |", || {
        goals(NOW, "one at a time, times as fast as fastbloom", "10 M, 1 %", &["insert"])
    }),
    ("docs/performance.md", "100 M, 1 % insert | ≥ 1.00 | {} |", || {
        goals(NOW, "one at a time, times as fast as sbbf-rs", "100 M, 1 %", &["insert"])
    }),
    ("docs/performance.md", "≥ 1.00 | {}, {}, {} |", || {
        goals(NOW, "one at a time, times as fast as sbbf-rs", "10 M, 1 %", &INSERT_HIT_MISS)
    }),
    ("docs/performance.md", "100 k, 1 % insert | ≤ 2.00 | {} |", || {
        goals(NOW, "shared ÷ plain, one at a time in cache", "100 k, 1 %", &["insert"])
    }),
    ("docs/performance.md", "≤ 1.80 | {} |", || {
        let goal = "counting ÷ two random adjacent lines, one key a call";
        goals(KINDS_NOW, goal, "10 M, 1 %", &["insert"])
    }),
    ("docs/performance.md", "10 M, 1 % hit, miss | ≤ 2.00 | {}, {} |", || {
        let goal = "window ÷ plain of the same keys and rate, batch";
        goals(KINDS_NOW, goal, "10 M, 1 %", &["hit", "miss"])
    }),
    ("docs/performance.md", "≤ 1.20 | {} |", || {
        goals(KINDS_NOW, "bloomier of 8 bits ÷ xorf, build", "10 M, 1 %", &["insert"])
    }),
    ("docs/performance.md", "≤ 1.05 | {}, {} |", || {
        let goal = "bloomier of 8 bits ÷ xorf, one key a call";
        goals(KINDS_NOW, goal, "10 M, 1 %", &["hit", "miss"])
    }),
    ("docs/performance.md", "xorf, batch | 10 M, 1 % hit, miss | ≤ 1.10 | {}, {} |", || {
        goals(KINDS_NOW, "bloomier of 8 bits ÷ xorf, batch", "10 M, 1 %", &["hit", "miss"])
    }),
    ("docs/performance.md", "hits, misses | ≥ 2 | {}, {} |", sbbf_on_parquet),
    ("docs/performance.md", "| 2 × 20 M lines | ≤ 3.3 | {} |", || {
        vec![over("common", COMMON, "wc -l")]
    }),
    ("docs/performance.md", "| 40 M lines | ≤ 2.5 | {} |", || {
        vec![over("dedup", DEDUP_FPP, "wc -l")]
    }),
    ("docs/performance.md", "| 2 × 20 M lines | ≥ 6 | {} |", || {
        vec![over("common", "DuckDB, memory_limit 8GB", COMMON)]
    }),
    ("docs/performance.md", "| ≤ 1.2 | {} and {} (`dedup`), {} and {} (`common`) |", || {
        let grown = |verb: &str, lines| {
            let command = format!("umbel {verb}, --memory 4GiB");
            growth(&command, lines) / growth(&command, 10_000_000)
        };
        ["dedup", "common"]
            .iter()
            .flat_map(|verb| [1_000_000, 200_000_000].map(|lines| grown(verb, lines)))
            .collect()
    }),
    ("bench/record/2026-11-22.md", "the batch at {}, {} and {} times the limit", || {
        goals("filters-2", "batch ÷ limit", "10 M, 1 %", &INSERT_HIT_MISS)
    }),
    ("bench/record/2026-11-22.md", "at {}, {} and {} times the speed of sbbf-rs", || {
        let goal = "one at a time, times as fast as sbbf-rs";
        goals("filters-2", goal, "10 M, 1 %", &INSERT_HIT_MISS)
    }),
    ("bench/record/2026-11-22.md", "one insert per call, in cache**: {} times", shared_over_plain),
    ("bench/record/2026-11-22.md", "takes {} times as long at 8 bits, {} at 16", || {
        vec![
            goals("kinds", "bloomier of 8 bits ÷ xorf, build", "10 M, 1 %", &["insert"])[0],
            goals("kinds", "bloomier of 16 bits ÷ xorf, build", "10 M, 0.1 %", &["insert"])[0],
        ]
    }),
    ("bench/record/2026-11-22.md", "in batches are {} and {} times as fast", sbbf_on_parquet),
    ("docs/compared.md", "| `common` | {} | – | {} | {} | – |", || {
        all_seconds("common", &[COMMON, "DuckDB, memory_limit 8GB", "DuckDB, memory_limit 1GB"])
    }),
    ("docs/compared.md", "| `except` | {} | – | {} | {} | – |", || {
        all_seconds("except", &[EXCEPT, "DuckDB, memory_limit 8GB", "DuckDB, memory_limit 1GB"])
    }),
    ("docs/compared.md", "| `dedup` | {} | – | – | – | {} |", || {
        all_seconds("dedup", &[DEDUP, "huniq"])
    }),
    ("docs/compared.md", "| `common`, to a file of 134 MB | {} | {} | – | {} | – |", || {
        let (sort, duck) = ("sort -u, comm -12, to a file", "DuckDB, memory_limit 1GB, to a file");
        all_seconds("common", &["umbel common, --memory 256MiB, to a file", sort, duck])
    }),
    ("docs/compared.md", "| `except`, to a file of 1.2 GB | {} | {} | – | {} | – |", || {
        let (sort, duck) = ("sort -u, comm -23, to a file", "DuckDB, memory_limit 1GB, to a file");
        all_seconds("except", &["umbel except, --memory 256MiB, to a file", sort, duck])
    }),
    ("docs/compared.md", "| `dedup`, to a file of 2.5 GB | {} | {} |", || {
        let umbel = "umbel dedup, --memory 568MiB, to a file";
        all_seconds("dedup", &[umbel, "sort -u, to a file"])
    }),
    ("docs/compared.md", "| most memory in `common`, MiB | {} | {} | {} | {} |", || {
        let duck = ["DuckDB, memory_limit 8GB", "DuckDB, memory_limit 1GB"];
        let commands = [COMMON, "sort -u, comm -12, to a file", duck[0], duck[1]];
        commands.map(|command| peak("common", command)).to_vec()
    }),
    ("docs/compared.md", "| most memory in `dedup`, MiB | {} | {} | – | – | {} |", || {
        [DEDUP, "sort -u, to a file", "huniq"].map(|command| peak("dedup", command)).to_vec()
    }),
    (
        "docs/compared.md",
        "umbel takes {} s; runiq's Bloom filter (`-f compact`) takes {} s",
        || all_seconds("dedup", &[DEDUP_FPP, "runiq -f compact"]),
    ),
    (
        "docs/compared.md",
        "{} bits per key for umbel's `blocked`, {} for fastbloom, {} for sbbf-rs. BinaryFuse8 of xorf has a rate of {} % with {} bits",
        || {
            let [umbel, fast, sbbf, xorf] =
                ["umbel", "fastbloom", "sbbf-rs-safe", "xorf BinaryFuse8"].map(|filter| {
                    recorded("filters", TEN_MILLION, &format!("| {filter} | one | 1 |"))
                });
            vec![
                number(&umbel, 8),
                number(&fast, 8),
                number(&sbbf, 8),
                number(&xorf, 7),
                number(&xorf, 8),
            ]
        },
    ),
    ("docs/compared.md", "| umbel, batch | {} | {} | {} |", || text_keys("| umbel | batch | 1 |")),
    ("docs/compared.md", "| umbel, one key per call | {} | {} | {} |", || {
        text_keys("| umbel | one | 1 |")
    }),
    ("docs/compared.md", "| fastbloom | {} | {} | {} |", || text_keys("| fastbloom | one | 1 |")),
    ("docs/compared.md", "| DataSketches | {} | {} | {} |", || {
        text_keys("| datasketches | one | 1 |")
    }),
    ("docs/compared.md", "(`umbel, keyed` in the record: {}, {}, {} in batches)", || {
        text_keys("| umbel, keyed | batch | 1 |")
    }),
    ("docs/compared.md", "| umbel `bloomier:8`, batch | {} | {} | {} |", || {
        of_kinds("| umbel bloomier:8 | batch |")
    }),
    ("docs/compared.md", "| umbel `bloomier:8`, one key per call | {} | {} | {} |", || {
        of_kinds("| umbel bloomier:8 | one |")
    }),
    ("docs/compared.md", "| xorf BinaryFuse8, one key per call | {} | {} | {} |", || {
        of_kinds("| xorf BinaryFuse8 | one |")
    }),
    (
        "docs/scale.md",
        "three quarters of the cap give {} bits per line, {} probes and a rate of p = {} %",
        || {
            let plan = in_memory(5_000_000_000, 3);
            vec![plan.bits_per_key(), f64::from(plan.probes()), 100.0 * plan.predicted_fpp()]
        },
    ),
    ("docs/scale.md", "| 4 GiB | 1 % | {} × 10⁹ |", || gathered(0.01, 3)),
    ("docs/scale.md", "| 4 GiB | 10 % | {} × 10⁹ |", || gathered(0.1, 3)),
    ("docs/scale.md", "| 4 GiB | 50 % | {} × 10⁹ |", || gathered(0.5, 3)),
    ("docs/scale.md", "| 8 GiB | 10 % | {} × 10⁹ |", || gathered(0.1, 6)),
    (
        "docs/scale.md",
        "is {} × 10⁹ keys, 108 GB of keys and lines spilled, and {} GB of results",
        || vec![gathered(0.1, 3)[0], 5.0 * 0.1 * 76.0],
    ),
    ("docs/scale.md", "`common` uses {} seconds of processor time", || {
        vec![cpu_seconds("common", COMMON)]
    }),
    ("docs/scale.md", "and it uses {} seconds: {} ns more for each", || {
        let small = cpu_seconds("common", "umbel common, --memory 64MiB");
        // To tens.
        let more = (small - cpu_seconds("common", COMMON)) / 3.5e6 * 1e8;
        vec![small, 10.0 * more.round()]
    }),
    ("docs/scale.md", "`sort -u` of GNU used {} µs per line for 40 million lines", || {
        vec![cpu_seconds("dedup", "sort -u, to a file") / 40e6 * 1e6]
    }),
    ("docs/scale.md", "For 10¹⁰ lines that is at least {} hours", || {
        vec![cpu_seconds("dedup", "sort -u, to a file") / 40e6 * 1e10 / 3600.0]
    }),
    ("docs/scale.md", "lines each: {} ns per line and pass", || {
        vec![cpu_seconds("common", COMMON) / 60e6 * 1e9]
    }),
    ("docs/scale.md", "| `dedup`, 4 GiB: the filter fits | {} | {} | {} | {} | {} |", || {
        growths("umbel dedup, --memory 4GiB", &SIZES)
    }),
    ("docs/scale.md", "| `common`, 4 GiB | {} | {} | {} | {} | {} |", || {
        growths("umbel common, --memory 4GiB", &SIZES)
    }),
    ("docs/scale.md", "| `dedup`, 64 MiB | {} | {} | {} | {} |", || {
        growths("umbel dedup, --memory 64MiB", &SIZES[..4])
    }),
    ("docs/scale.md", "| `common`, 64 MiB | {} | {} | {} | {} | {} |", || {
        growths("umbel common, --memory 64MiB", &SIZES)
    }),
    ("docs/scale.md", "`wc -l` takes {} to {} ns per line", || {
        let sizes = growths("wc -l", &SIZES);
        [f64::min, f64::max].map(|of| sizes.iter().copied().reduce(of).unwrap()).to_vec()
    }),
    ("docs/scale.md", "`common` takes {} times as long per line for 200 million", || {
        let of = |lines| growth("umbel common, --memory 64MiB", lines);
        vec![of(200_000_000) / of(20_000_000)]
    }),
    (
        "docs/formats.md",
        "a full digest lets {} % of absent URLs pass; at 8, the program's default, {} %",
        || [5.0, 8.0].map(|bits| 100.0 * formulas::fpp_limit_of(bits, 4)).to_vec(),
    ),
    ("docs/formats.md", "| umbel, batch | hashes | {} | | the same bits", || {
        foreign("| Parquet, mapped | umbel 0.1.0 | hashed | batch |")
    }),
    ("docs/formats.md", "| sbbf-rs-safe | hashes | {} |", || {
        foreign("| Parquet, owned | sbbf-rs-safe 0.3.2 | hashed | one |")
    }),
    ("docs/formats.md", "| umbel, batch | integers | {} |", || {
        foreign("| Parquet, mapped | umbel 0.1.0 | i64 | batch |")
    }),
    ("docs/formats.md", "of the crate `parquet` | integers | {} |", || {
        foreign("| Parquet, owned | parquet 60.1.0 | i64 | one |")
    }),
    (
        "docs/formats.md",
        "| RocksDB's FastLocalBloom, mapped file | umbel, batch | hashes | {} |",
        || foreign("| FastLocalBloom, mapped | umbel 0.1.0 | hashed | batch |"),
    ),
    (
        "docs/formats.md",
        "| umbel's blocked filter, mapped file | umbel, batch | hashes | {} |",
        || foreign("| blocked, mapped | umbel 0.1.0 | hashed | batch |"),
    ),
    ("README.md", "takes {} seconds on two cores, {} times as long as `wc -l`", || {
        vec![seconds("common", COMMON), over("common", COMMON, "wc -l")]
    }),
    ("README.md", "it uses {} bytes per key", || bytes_per_key()),
    ("docs/guide.md", "or {} bytes per key, no matter", || bytes_per_key()),
    ("docs/guide.md", "per key, the fastest | {}", || guide_bits(Kind::Blocked)),
    ("docs/guide.md", "cache lines per key | {}", || guide_bits(Kind::Classic)),
    ("docs/guide.md", "from keys to values | {}", || guide_bits(Kind::Bloomier)),
    ("docs/guide.md", "blocked filter to ship | {}", || guide_bits(Kind::Counting)),
    ("docs/guide.md", "many keys will come | {} or more", || guide_bits(Kind::Scalable)),
    ("docs/guide.md", "them may be missed | {}", || guide_bits(Kind::Window)),
    ("docs/guide.md", "and then is acceptable | {}", || guide_bits(Kind::Stable)),
    ("docs/guide.md", "up any of them | {} per field", || guide_bits(Kind::Attributes)),
    ("docs/guide.md", "no error on either | {} and a little", || guide_bits(Kind::Cascade)),
    ("docs/guide.md", "table of hash codes | {}", || guide_bits(Kind::Coded)),
];

const MIB: f64 = 1_048_576.0;
const GIB: f64 = 1024.0 * MIB;
const RATES: [f64; 4] = [0.1, 0.01, 0.001, 1e-6];

fn plan(kind: Kind, keys: u64, fpp: f64) -> Plan {
    Plan::for_keys(kind, keys, fpp).unwrap()
}

fn percent_more(ratio: f64) -> f64 {
    100.0 * (ratio - 1.0)
}

/// The exact rate over another form, for the sizes of the table.
fn of_small_filters(form: fn(u64, u64, u32) -> f64) -> Vec<f64> {
    let ratio = |bits: u64| classic::fpp(bits / 8, bits, 6) / form(bits / 8, bits, 6);
    [32, 64, 128, 512, 1024].map(ratio).to_vec()
}

/// How much of the rate the form with the variance lacks at 4,096 bits, the most for which `fpp` is exact.
fn variance_form_lacks(keys: u64, probes: u32) -> f64 {
    let (m, k) = (4096.0, f64::from(probes));
    let lambda = k * keys as f64 / m;
    let empty = f64::exp(-lambda);
    let variance = m * empty * (1.0 - (1.0 + lambda) * empty);
    let form = classic::fpp_textbook(keys, 4096, probes)
        * (1.0 + k * (k - 1.0) / 2.0 * variance / (m * (1.0 - empty)).powi(2));
    1.0 - form / classic::fpp(keys, 4096, probes)
}

/// Bits of a blocked filter over those of the best classic one, without margins. The probes are those that plans choose.
fn by_formula(fpp: f64) -> f64 {
    let probes = plan(Kind::Blocked, 100_000_000, fpp).probes();
    512.0 / Pattern::new(probes).load_for(fpp) / formulas::least_bits_per_key(fpp, 32).0
}

/// The same of plans.
fn by_plans(keys: u64, fpp: f64) -> f64 {
    let [blocked, classic] = [Kind::Blocked, Kind::Classic].map(|kind| plan(kind, keys, fpp));
    blocked.bits_per_key() / classic.bits_per_key()
}

/// The Poisson sum over the mean for true loads, which are binomial; k = 1 or 8, whose rates given a load are simple.
fn poisson_over_true(probes: u32, fpp: f64, blocks: u32) -> f64 {
    let pattern = Pattern::new(probes);
    let load = pattern.load_for(fpp).round();
    let lanes = if probes == 8 { 8 } else { 1 };
    let rate = |keys: f64| (-(keys * (-bit_chance(probes)).ln_1p()).exp_m1()).powi(lanes);
    let (keys, part) = (load * f64::from(blocks), 1.0 / f64::from(blocks));
    let mut chance = (1.0 - part).powf(keys);
    let mut mean = 0.0;
    if blocks == 1 {
        mean = rate(keys);
    } else {
        for i in 0..=keys as u64 {
            mean += chance * rate(i as f64);
            chance *= (keys - i as f64) / (i as f64 + 1.0) * part / (1.0 - part);
        }
    }
    pattern.fpp(load) / mean
}

/// The deviation of the estimated intersection of two sets that share nothing.
fn overlap_noise(bits: f64, probes: f64, fill: f64) -> f64 {
    bits.sqrt() * fill / ((1.0 - fill) * probes)
}

/// The rate in percent, and the bits sent per key, by the formula and packed.
fn sent(bits_per_key: f64, probes: u32) -> Vec<f64> {
    let rate = formulas::fpp_limit_of(bits_per_key, probes);
    let computed = formulas::sent_per_key(bits_per_key, f64::from(probes));
    let coded = by_trial(&format!("m/n = {bits_per_key}, k = {probes}: rate"), "bits sent a key");
    vec![100.0 * rate, computed, coded]
}

fn poisson_at_least(mean: f64, least: u32) -> f64 {
    let mut term = f64::exp(-mean);
    let mut sum = 0.0;
    for i in 0..least + 100 {
        if i >= least {
            sum += term;
        }
        term *= mean / f64::from(i + 1);
    }
    sum
}

/// What the margin costs full filters of 100,000 keys, in percent, from the record of rates.
fn margins(kind: &str) -> Vec<f64> {
    let record = read("bench/record/2026-11-22-rates.txt");
    let full = record.lines().skip_while(|line| !line.starts_with("full"));
    let rows = full.filter(|line| line.starts_with(kind));
    rows.map(|row| {
        let cells: Vec<&str> = row.split_whitespace().collect();
        let percent = cells.iter().position(|cell| *cell == "%").unwrap();
        cells[percent - 1].parse().unwrap()
    })
    .collect()
}

/// Relative deviations of the rate at 100,000 keys, in percent: of blocked filters by the formula and measured, and of
/// classic ones.
fn deviations(fpp: f64) -> Vec<f64> {
    [Kind::Blocked, Kind::Classic]
        .into_iter()
        .flat_map(|kind| {
            let spread = plan(kind, 100_000, fpp).fpp_spread();
            let measured = by_trial("Deviation of the rate", &format!("{kind}, {fpp} "));
            [100.0 * spread.deviation / spread.mean, measured]
        })
        .collect()
}

/// What filters measured in a record, in a row below a heading.
fn by_trial(heading: &str, row: &str) -> f64 {
    let record = read("bench/record/2026-11-23-mathematics.txt");
    let rows = record.split(heading).nth(1).unwrap();
    let row = rows.lines().find_map(|line| line.trim_start().strip_prefix(row)).unwrap();
    // Before the bounds, LOW to HIGH.
    let bounds = row.split_whitespace().position(|word| word == "to").unwrap();
    row.split_whitespace().nth(bounds - 2).unwrap().parse().unwrap()
}

/// How many of 1,000 intervals cover the truth, in percent.
fn covered(kind: &str) -> Vec<f64> {
    let record = read("bench/record/2026-11-22-intervals.txt");
    let rows = record.lines().filter(|line| line.starts_with(kind));
    rows.map(|row| {
        row.split_once(": ").unwrap().1.split(' ').next().unwrap().parse::<f64>().unwrap() / 10.0
    })
    .collect()
}

/// The bias of estimated intersections, in standard deviations.
fn biases() -> Vec<f64> {
    let record = read("bench/record/2026-11-22-intervals.txt");
    let rows = record.lines().filter(|line| line.contains("intersection"));
    rows.map(|row| row.rsplit_once(' ').unwrap().1.parse().unwrap()).collect()
}

/// Bits per key of plans for a million keys at 1 % and at 1e-9.
fn sizes(kind: Kind) -> Vec<f64> {
    [0.01, 1e-9].map(|fpp| plan(kind, 1_000_000, fpp).bits_per_key()).to_vec()
}

fn over_blocked(kind: Kind, fpp: f64) -> f64 {
    let [kind, blocked] = [kind, Kind::Blocked].map(|kind| plan(kind, 100_000_000, fpp));
    kind.bits_per_key() / blocked.bits_per_key()
}

fn twice_as_full(kind: Kind) -> f64 {
    plan(kind, 1_000_000, 0.01).predicted_fpp_at(2_000_000)
}

fn bytes_per_key() -> Vec<f64> {
    vec![plan(Kind::Blocked, 1_000_000, 0.01).bits_per_key() / 8.0]
}

fn guide_bits(kind: Kind) -> Vec<f64> {
    vec![plan(kind, 10_000_000, 0.01).bits_per_key()]
}

fn in_memory(keys: u64, gib: u64) -> Plan {
    Plan::for_memory(Kind::Blocked, keys, gib << 30).unwrap()
}

/// Keys of a file of 5 × 10⁹ lines, in 10⁹, that are in another with a share of its lines, or pass a filter of that one;
/// at the rate that the filter has in its memory, but at least 1 %.
fn gathered(shared: f64, gib: u64) -> Vec<f64> {
    let rate = in_memory(5_000_000_000, gib).predicted_fpp().max(0.01);
    vec![5.0 * (shared + (1.0 - shared) * rate)]
}

/// Ten million keys in at most 12 MB.
fn for_phones(kind: Kind) -> Plan {
    Plan::for_memory(kind, 10_000_000, 12_000_000).unwrap()
}

const INSERT_HIT_MISS: [&str; 3] = ["insert", "hit", "miss"];
const TEN_MILLION: &str = "### 10 M hashed keys, fpp 1 %\n";

/// The latest records of filters and kinds.
const NOW: &str = "2026-11-24-filters";
const KINDS_NOW: &str = "2026-11-24-kinds";

/// The row of a table that starts so, in a record below a heading; of 2026-11-22 unless its name has a date.
fn recorded(record: &str, heading: &str, row: &str) -> String {
    let date = if record.starts_with("2026") { "" } else { "2026-11-22-" };
    let record = read(&format!("bench/record/{date}{record}.md"));
    let table = record.split(heading).nth(1).unwrap_or_else(|| panic!("no {heading}"));
    table
        .lines()
        .find(|line| line.starts_with(row))
        .unwrap_or_else(|| panic!("no {row}"))
        .to_owned()
}

/// Bytes, and nanoseconds for both sorts of look-ups, in the record of longest prefixes.
fn of_prefixes(of: &str, structure: &str) -> Vec<f64> {
    let record = read("bench/record/2026-11-23-prefixes.md");
    let table = record.split(&format!("## {of}: ")).nth(1).unwrap();
    let row = table.lines().find(|line| line.starts_with(&format!("| {structure} |"))).unwrap();
    [2, 4, 6].map(|cell| number(row, cell)).to_vec()
}

/// The same for IPv4 and IPv6.
fn of_networks(structure: &str) -> Vec<f64> {
    ["IPv4", "IPv6"].into_iter().flat_map(|of| of_prefixes(of, structure)).collect()
}

/// Seconds and most memory of the bars of the chart in README.md.
fn of_chart() -> Vec<f64> {
    [
        "umbel common, --memory 256MiB, to a file",
        "DuckDB, memory_limit 8GB",
        "DuckDB, memory_limit 1GB, to a file",
        "sort -u, comm -12, to a file",
    ]
    .into_iter()
    .flat_map(|command| [seconds("common", command), peak("common", command)])
    .collect()
}

/// Bits per prefix for as many questions per look-up, at 1 % and at 0.1 %.
fn bits_of_prefixes(questions: u8) -> Vec<f64> {
    let mut keys = PrefixKeys::new(Family::Ip);
    (1..=questions).for_each(|length| {
        let address = std::net::Ipv6Addr::UNSPECIFIED.into();
        keys.insert(Network::new(address, length).unwrap().key().as_ref());
    });
    let bits = |fpp| plan(Kind::Blocked, 1_000_000, keys.fpp_for(fpp)).bits_per_key();
    [0.01, 0.001].map(bits).to_vec()
}

/// The first number of a cell: the median where its range follows.
fn number(row: &str, cell: usize) -> f64 {
    let cell = row.split('|').nth(cell).unwrap().trim();
    let cell = cell.trim_start_matches("read ").trim_start_matches("built ");
    cell.split(' ').next().unwrap().parse().unwrap_or_else(|error| panic!("{cell}: {error}"))
}

/// The numbers for insertions, hits and misses: of three cells, the first of which is `cell`, or of one that has
/// three, as far as there are any.
fn three(row: &str, cell: usize) -> Vec<f64> {
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    match cells[cell].contains('/') {
        true => cells[cell].split(" / ").map(|cell| cell.parse().unwrap()).collect(),
        false => {
            (cell..cell + 3).filter(|&at| cells[at] != "–").map(|at| number(row, at)).collect()
        }
    }
}

/// 100 million hashed keys at 1 %.
fn hashed(row: &str, cell: usize) -> Vec<f64> {
    three(&recorded(NOW, "### 100 M hashed keys, fpp 1 %\n", row), cell)
}

/// Nanoseconds for 100 million keys of 64 bytes at 1 %.
fn text_keys(row: &str) -> Vec<f64> {
    three(&recorded("filters", "### 100 M keys of 64 bytes, fpp 1 %\n", row), 4)
}

/// Nanoseconds in the record of kinds, at 1 %.
fn of_kinds(row: &str) -> Vec<f64> {
    three(&recorded("kinds", "## 10 M keys, 1 % asked for\n", row), 3)
}

/// Nanoseconds of a hit in a filter of another system.
fn foreign(row: &str) -> Vec<f64> {
    vec![number(&recorded("foreign", "| filter | asked by |", row), 5)]
}

/// What was found for a goal.
fn goals(record: &str, goal: &str, case: &str, operations: &[&str]) -> Vec<f64> {
    let found = |operation| {
        number(&recorded(record, "## Goals: ", &format!("| {goal} | {case} {operation} |")), 4)
    };
    operations.iter().map(found).collect()
}

fn shared_over_plain() -> Vec<f64> {
    goals("filters", "shared ÷ plain, one at a time in cache", "100 k, 1 %", &["insert"])
}

fn sbbf_on_parquet() -> Vec<f64> {
    let row = recorded("foreign", "| goal | needed |", "| sbbf-rs ÷ umbel's batch by hash |");
    vec![number(&row, 3), number(&row, 4)]
}

/// Of blocked filters of 10 million keys: the rate from the bits, the rate counted, bits per key, and these over
/// those of the classic formula.
fn rates(promised: &str) -> Vec<f64> {
    let record = read("bench/record/2026-11-22-rates.txt");
    let rows = record.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows.into_iter().find(|row| row.starts_with(&["blocked", "10000000", promised]));
    let row = row.unwrap();
    [4, 5, 9, 10].map(|cell: usize| row[cell].parse().unwrap()).to_vec()
}

/// Full filters of 100,000 keys, and how many exceeded the rate that was promised.
fn full_filters() -> Vec<f64> {
    let record = read("bench/record/2026-11-22-rates.txt");
    let full = record.lines().skip_while(|line| !line.starts_with("full"));
    let full: Vec<Vec<&str>> = full.skip(1).map(|line| line.split_whitespace().collect()).collect();
    let kinds: HashSet<&str> = full.iter().map(|row| row[0]).collect();
    assert_eq!(kinds.len(), 9);
    [3, 4].map(|cell| full.iter().map(|row| row[cell].parse::<f64>().unwrap()).sum()).to_vec()
}

const WHOLE_FILES: &str = "bench/record/files-20261122T173208Z.jsonl";
const GROWTH: &str = "bench/record/files-20261122T175252Z.jsonl";
const COMMON: &str = "umbel common, --memory 256MiB";
const EXCEPT: &str = "umbel except, --memory 256MiB";
const DEDUP: &str = "umbel dedup, --memory 568MiB";
const DEDUP_FPP: &str = "umbel dedup, --memory 568MiB, --fpp 1e-6";

/// A run of a command over whole files.
#[derive(Deserialize)]
struct Run {
    job: String,
    lines: u64,
    command: String,
    round: u32,
    wall_s: f64,
    user_s: f64,
    sys_s: f64,
    peak_kib: f64,
}

impl Run {
    fn cpu_s(&self) -> f64 {
        self.user_s + self.sys_s
    }
}

/// The samples of a record, in its order.
fn runs(record: &str) -> Vec<Run> {
    let lines = read(record);
    let samples = lines.lines().filter(|line| line.contains("\"type\": \"sample\""));
    samples.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Of one command of a job, a number for each round.
fn of_rounds(job: &str, command: &str, what: fn(&Run) -> f64) -> Vec<(u32, f64)> {
    let runs = runs(WHOLE_FILES).into_iter();
    let runs = runs.filter(|run| run.job == job && run.command == command);
    let rounds: Vec<_> = runs.map(|run| (run.round, what(&run))).collect();
    assert!(!rounds.is_empty(), "{job}: {command}");
    rounds
}

fn median(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_by(f64::total_cmp);
    let half = numbers.len() / 2;
    match numbers.len() % 2 {
        1 => numbers[half],
        _ => (numbers[half - 1] + numbers[half]) / 2.0,
    }
}

fn seconds(job: &str, command: &str) -> f64 {
    median(of_rounds(job, command, |run| run.wall_s).into_iter().map(|(_, wall)| wall))
}

fn all_seconds(job: &str, commands: &[&str]) -> Vec<f64> {
    commands.iter().map(|command| seconds(job, command)).collect()
}

fn cpu_seconds(job: &str, command: &str) -> f64 {
    median(of_rounds(job, command, Run::cpu_s).into_iter().map(|(_, cpu)| cpu))
}

/// The most memory in any round, in MiB.
fn peak(job: &str, command: &str) -> f64 {
    let peaks = of_rounds(job, command, |run| run.peak_kib);
    peaks.into_iter().map(|(_, kib)| kib).reduce(f64::max).unwrap() / 1024.0
}

/// The time of a command over that of another in the same round.
fn over(job: &str, command: &str, other: &str) -> f64 {
    let others: HashMap<u32, f64> = of_rounds(job, other, |run| run.wall_s).into_iter().collect();
    let walls = of_rounds(job, command, |run| run.wall_s).into_iter();
    median(walls.filter_map(|(round, wall)| Some(wall / others.get(&round)?)))
}

/// Seconds, processor seconds, and the time over that of `wc -l`.
fn whole(job: &str, command: &str) -> Vec<f64> {
    vec![seconds(job, command), cpu_seconds(job, command), over(job, command, "wc -l")]
}

const SIZES: [u64; 5] = [1_000_000, 10_000_000, 20_000_000, 50_000_000, 200_000_000];

fn growths(command: &str, sizes: &[u64]) -> Vec<f64> {
    sizes.iter().map(|&lines| growth(command, lines)).collect()
}

/// Nanoseconds per line of all inputs.
fn growth(command: &str, lines: u64) -> f64 {
    let runs = runs(GROWTH).into_iter();
    let runs = runs.filter(|run| run.command == command && run.lines == lines);
    median(runs.map(|run| run.wall_s * 1e9 / lines as f64))
}

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The numbers of a passage, as printed.
fn printed(text: &str, passage: &str) -> Option<Vec<String>> {
    let parts: Vec<&str> = passage.split("{}").collect();
    let digit = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | 'e' | '-');
    let at = |start: usize| {
        let mut rest = text[start..].strip_prefix(parts[0])?;
        let mut numbers = Vec::new();
        for part in &parts[1..] {
            let end = rest.find(|c| !digit(c)).unwrap_or(rest.len());
            // A comma or full stop after a number belongs to the sentence.
            let number = rest[..end].trim_end_matches([',', '.']);
            rest = rest[number.len()..].strip_prefix(part)?;
            numbers.push(number.replace(',', ""));
        }
        Some(numbers)
    };
    // A passage that starts with a number is looked for from each place.
    text.char_indices().find_map(|(start, _)| at(start).filter(|numbers| !numbers[0].is_empty()))
}

/// Whether `value` rounds to `text` in the digits that it has.
fn agrees(text: &str, value: f64) -> bool {
    let Ok(printed) = text.parse::<f64>() else { return false };
    let (mantissa, power) = text.split_once('e').unwrap_or((text, "0"));
    let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
    // Half a unit of the last digit, and a rounding either way at the half.
    (value - printed).abs() <= 0.501 * 10f64.powi(power.parse::<i32>().unwrap() - decimals)
}

#[test]
fn every_number_is_what_its_formula_gives() {
    let mut wrong = Vec::new();
    for (file, passage, formula) in SENTENCES {
        let text = read(file).split_whitespace().collect::<Vec<_>>().join(" ");
        let computed = formula();
        match printed(&text, passage) {
            None => wrong.push(format!("{file} does not say {passage:?}; {computed:?}")),
            Some(numbers) => {
                let same = numbers.len() == computed.len()
                    && numbers.iter().zip(&computed).all(|(text, value)| agrees(text, *value));
                if !same {
                    wrong.push(format!("{file}: {passage:?} has {numbers:?}, not {computed:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn numbers_are_found_and_compared() {
    assert_eq!(
        printed("of 9.6, or 1,000.", "of {}, or {}."),
        Some(vec!["9.6".into(), "1000".into()])
    );
    assert_eq!(printed("of 9.6", "at {}"), None);
    assert!(agrees("9.6", 9.649) && !agrees("9.6", 9.66));
    assert!(agrees("3.3e-4", 3.27e-4) && !agrees("3.3e-4", 3.2e-4));
    assert!(!agrees("", 0.0));
}

/// Every goal that the records of filters and kinds miss is in the table of docs/performance.md, which has a number for
/// each of those at 1 %, or at 0.1 % where that is the rate of the goal.
#[test]
fn the_goals_that_are_missed_are_listed() {
    let missed = |record: &str| {
        let record = read(&format!("bench/record/{record}.md"));
        let rows = record.lines().filter(|row| row.ends_with("| **not met** |"));
        rows.map(str::to_owned).collect::<Vec<_>>()
    };
    let [filters, kinds] = [NOW, KINDS_NOW].map(missed);
    let kinds: Vec<&String> = kinds.iter().filter(|row| row.contains(" 1 % ")).collect();
    let page = read("docs/performance.md");
    let table = page.split("These goals are not met").nth(1).unwrap();
    let rows = table.lines().skip_while(|row| !row.starts_with("|---")).skip(1);
    let rows = rows.take_while(|row| row.starts_with('|'));
    // The rows of other records are below these.
    let rows: Vec<&str> = rows.take_while(|row| !row.contains("sbbf-rs ÷ umbel's")).collect();
    let found = |row: &&str| row.split('|').nth(4).unwrap().split(',').count();
    assert_eq!(rows.iter().map(found).sum::<usize>(), filters.len() + kinds.len());
}

/// The page of the records has a row for every command of whole files, as its samples give it.
#[test]
fn the_tables_of_whole_files_are_those_of_their_records() {
    let page = read("bench/record/2026-11-22.md");
    let rows: HashSet<&str> = page.lines().filter(|line| line.starts_with('|')).collect();
    let mut missing = Vec::new();
    for (record, per_line) in [(WHOLE_FILES, false), (GROWTH, true)] {
        let runs = runs(record);
        let key = |run: &Run| (run.job.clone(), run.lines, run.command.clone());
        let mut walls = HashMap::new();
        for run in runs.iter().filter(|run| run.command == "wc -l") {
            walls.insert((&run.job, run.lines, run.round), run.wall_s);
        }
        let mut seen = HashSet::new();
        for first in runs.iter().filter(|run| seen.insert(key(run))) {
            let of: Vec<&Run> = runs.iter().filter(|run| key(run) == key(first)).collect();
            let scale = if per_line { 1e9 / first.lines as f64 } else { 1.0 };
            let decimals = if per_line { 1 } else { 2 };
            let time = spread(of.iter().map(|run| run.wall_s * scale).collect(), decimals);
            let cpu = median(of.iter().map(|run| run.cpu_s() * scale));
            let over = of.iter().map(|run| run.wall_s / walls[&(&run.job, run.lines, run.round)]);
            let over = spread(over.collect(), 2);
            let peak = of.iter().map(|run| run.peak_kib).reduce(f64::max).unwrap() / 1024.0;
            let (command, count) = (&first.command, of.len());
            let lines =
                if per_line { format!("| {} ", threes(first.lines)) } else { String::new() };
            let row = format!(
                "{lines}| {command} | {count} | {time} | {cpu:.decimals$} | {over} | {peak:.0} |"
            );
            if !rows.contains(row.as_str()) {
                missing.push(row);
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// Rows and sentences with figures of the trial are copied.
#[test]
fn the_tables_of_summaries_are_those_of_their_record() {
    let record = read("bench/record/2026-11-23-summary-cache.md");
    let page = read("docs/summary-cache.md");
    let measured = page.split("## ").find(|section| section.starts_with("Measured")).unwrap();
    let copied: Vec<&str> = measured
        .lines()
        .filter(|line| line.starts_with('|') || line.starts_with("With "))
        .collect();
    assert!(copied.len() > 20, "{} lines", copied.len());
    for line in copied {
        assert!(record.lines().any(|recorded| recorded == line), "not in the record: {line}");
    }
}

/// A median with the least and the most, where there are several.
fn spread(numbers: Vec<f64>, decimals: usize) -> String {
    let middle = median(numbers.iter().copied());
    let [least, most] = [f64::min, f64::max].map(|of| numbers.iter().copied().reduce(of).unwrap());
    match numbers.len() {
        1 => format!("{middle:.decimals$}"),
        _ => format!("{middle:.decimals$} [{least:.decimals$}–{most:.decimals$}]"),
    }
}

/// A number with commas between its thousands.
fn threes(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    groups.map(|group| std::str::from_utf8(group).unwrap()).collect::<Vec<_>>().join(",")
}

/// 400 pairs of filters of sets that share nothing vary as section 7 says, and not as √(m·fill)/k.
#[test]
fn estimates_of_empty_intersections_vary_as_printed() {
    const PAIRS: u64 = 400;
    let (bits, probes) = (10_000, 7);
    let coverage = Coverage::classic(bits, probes);
    let hasher = KeyHasher::default();
    for (keys, fill) in [(104, 0.07), (990, 0.5), (1980, 0.75)] {
        let plan = Plan::from_parts(Variant::Classic, keys, 0.5, bits, probes).unwrap();
        let filter = |number: u64| {
            let hashes: Vec<KeyHash> =
                (number * keys..(number + 1) * keys).map(|key| hasher.hash(key)).collect();
            let mut filter = Classic::with_plan(&plan, hasher.clone()).unwrap();
            filter.insert_all(&hashes);
            filter
        };
        let clear = |filter: &Classic| (bits - filter.receipt().set_bits) as f64;
        let estimates = (0..PAIRS).map(|pair| {
            let (left, right) = (filter(2 * pair), filter(2 * pair + 1));
            let mut either = left.clone();
            either.union(&right).unwrap();
            let [left, right, either] =
                [&left, &right, &either].map(|filter| coverage.keys(clear(filter)).value);
            left + right - either
        });
        let squares = estimates.map(|estimate| estimate * estimate).sum::<f64>();
        let found = (squares / PAIRS as f64).sqrt();
        let expected = overlap_noise(bits as f64, f64::from(probes), fill);
        // The deviation of a deviation from so many is 1/√(2·PAIRS) of it, 3.5 %; the formula is itself the first order.
        assert!((found / expected - 1.0).abs() < 0.2, "fill {fill}: {found}, not {expected}");
    }
}
