//! Numbers that the documents print, against the formulas and records that they come from.
//!
//! Each row of [`SENTENCES`] is a passage of a document with `{}` in place of its numbers, and a function that
//! computes them. A number agrees when the computed one rounds to it, in as many digits as it has.

use std::fs;
use std::path::Path;

use umbel::math::blocked::{Pattern, bit_chance};
use umbel::math::{Coverage, classic, compressed, hash_collisions};
use umbel::{Classic, KeyHash, KeyHasher, Kind, Plan, Variant};

/// A document, a passage of it, and the numbers in the passage.
type Sentence = (&'static str, &'static str, fn() -> Vec<f64>);

const SENTENCES: &[Sentence] = &[
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
        [5, 6].map(|k| 100.0 * classic::fpp_limit_of(8.0, k)).to_vec()
    }),
    ("docs/mathematics.md", "the rate is 0.5^k = {}^(m/n)", || {
        vec![classic::log_fpp_at_clear(1.0, 0.5).exp()]
    }),
    ("docs/mathematics.md", "(`classic::bits_per_key`: {} bits per key at 1 %)", || {
        vec![classic::bits_per_key(0.01)]
    }),
    ("docs/mathematics.md", "(`least_bits_per_key`, {} at 1 % and k = {})", || {
        let (bits, probes) = classic::least_bits_per_key(0.01, 32);
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
    ("docs/mathematics.md", "| 8 | 6 | {} % | {} |", || sent(8.0, 6)),
    ("docs/mathematics.md", "| 14 | 2 | {} % | {} |", || sent(14.0, 2)),
    ("docs/mathematics.md", "| 92 | 1 | {} % | {} |", || sent(92.0, 1)),
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
        vec![classic::least_bits_per_key(0.01, 100).0 / 5.0]
    }),
    ("docs/mathematics.md", "Divided by 8 they are {} bytes", || {
        vec![classic::least_bits_per_key(0.01, 100).0 / 8.0]
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
    ("docs/mathematics.md", "| 0.5 | {} % | 0.15 % | {} % |", || deviations(0.5)),
    ("docs/mathematics.md", "| 0.1 | {} % | 0.25 % | {} % |", || deviations(0.1)),
    ("docs/mathematics.md", "| 0.01 | {} % | 0.73 % | {} % |", || deviations(0.01)),
    ("docs/mathematics.md", "| 0.001 | {} % | 1.09 % | {} % |", || deviations(0.001)),
    ("docs/mathematics.md", "| 1e-4 | {} % | 2.7 % | {} % |", || deviations(1e-4)),
    ("docs/mathematics.md", "| 1e-6 | {} % | 8.5 % | {} % |", || deviations(1e-6)),
    ("docs/mathematics.md", "(`sliced::fpp`) | {} | {} |", || sizes(Kind::Sliced)),
    ("docs/mathematics.md", "4 unless said otherwise | {} | {} |", || sizes(Kind::Counting)),
    ("docs/mathematics.md", "(`bloomier::slots_per_key`) | {} | {} |", || sizes(Kind::Bloomier)),
    ("docs/mathematics.md", "over 2^c − 1 at most p | {} | {} |", || sizes(Kind::Coded)),
    ("docs/mathematics.md", "m cells of d bits: see below | {} | {} |", || sizes(Kind::Stable)),
    (
        "docs/mathematics.md",
        "Of a plan at 1 % that is {}, so a counter of 4 bits reaches 12, where it sticks, with a chance of {}: about {} per key",
        || {
            let plan = plan(Kind::Blocked, 1_000_000, 0.01);
            let mean = plan.bits_per_key().recip() * f64::from(plan.probes());
            let sticks = poisson_at_least(mean, 12);
            vec![mean, sticks, sticks * plan.bits_per_key()]
        },
    ),
    ("docs/family.md", "{} % more bits than the classic filter at 1 %", || {
        vec![percent_more(by_plans(100_000_000, 0.01))]
    }),
    ("docs/family.md", "{} bits at 1 %, a cache line for each of {} probes", || {
        let plan = plan(Kind::Classic, 1_000_000, 0.01);
        vec![plan.bits_per_key(), f64::from(plan.probes())]
    }),
    ("docs/family.md", "{} times the bound: {} bits at 1 %", || {
        let bits = plan(Kind::Bloomier, 1_000_000, 0.01).bits_per_key();
        vec![bits / 7.0, bits]
    }),
    ("docs/family.md", "none of these is missed; {} times the bits", || {
        vec![over_blocked(Kind::Window, 0.01)]
    }),
    ("docs/family.md", "but {} bits a key remembered at 1 %", || {
        vec![plan(Kind::Stable, 1_000_000, 0.01).bits_per_key()]
    }),
    (
        "docs/family.md",
        "{} times the bits of a classic filter at 1e-6, {} times at 1e-9, {} times at 1e-12",
        || [1e-6, 1e-9, 1e-12].map(|fpp| by_plans(1_000_000, fpp)).to_vec(),
    ),
    (
        "docs/family.md",
        "has {} times that rate if it is blocked and {} times if it is classic",
        || [Kind::Blocked, Kind::Classic].map(|kind| twice_as_full(kind) / 0.01).to_vec(),
    ),
    ("docs/family.md", "takes {} GiB and errs {} %: one of {} innocent addresses", || {
        let rate = classic::fpp_limit_of(9.0, 6);
        vec![4e9 * 9.0 / 8.0 / GIB, 100.0 * rate, 1.0 / rate]
    }),
    ("docs/family.md", "at {} bits a key a filter errs about {} %", || {
        let bytes = 4 * (1 << 30);
        let plan = Plan::for_memory(Kind::Blocked, 5_000_000_000, bytes).unwrap();
        vec![plan.bits_per_key(), 100.0 * plan.predicted_fpp()]
    }),
    ("docs/family.md", "for 89 of 100 look-ups, for {} MiB", || {
        vec![plan(Kind::Blocked, 100_000_000, 0.01).bytes() as f64 / MIB]
    }),
    ("docs/family.md", "`bloomier`, {} % in {} MiB", || {
        let plan = Plan::for_memory(Kind::Bloomier, 10_000_000, 12_000_000).unwrap();
        vec![100.0 * plan.predicted_fpp(), plan.bytes() as f64 / MIB]
    }),
    (
        "docs/family.md",
        "{} bits per key (docs/mathematics.md, section 9), but takes {} times",
        || {
            // One probe: the rate is the fill.
            let plan = Plan::for_memory(Kind::Bloomier, 10_000_000, 12_000_000).unwrap();
            let bits = -1.0 / (-plan.predicted_fpp()).ln_1p();
            vec![compressed::sent_per_key(bits, 1.0), bits / plan.bits_per_key()]
        },
    ),
    ("docs/performance.md", "{} % at 10 %, {} % at 1 % and {} % at 0.1 %: some blocks", || {
        [0.1, 0.01, 0.001].map(|fpp| percent_more(by_plans(100_000_000, fpp))).to_vec()
    }),
    ("docs/performance.md", "| the limit, ns | {} | {} | {} |", || {
        let read = recorded("| limit, huge pages | batch | 1 |", 4)[0];
        vec![read; 3]
    }),
    ("docs/performance.md", "| umbel, batch, ns | {} | {} | {} |", || {
        recorded("| umbel | batch | 1 |", 4)
    }),
    ("docs/performance.md", "| umbel ÷ limit, same round | {} | {} | {} |", || {
        recorded("| umbel | batch | 1 |", 9)
    }),
    (
        "docs/performance.md",
        "| batch, times as fast as fastbloom, which takes one key per call | {} | {} | {} |",
        || recorded("| umbel | batch | 1 |", 10),
    ),
    (
        "docs/performance.md",
        "| batch, times as fast as sbbf-rs, which takes one key per call | {} | {} | {} |",
        || recorded("| umbel | batch | 1 |", 11),
    ),
    ("docs/performance.md", "| umbel, one key a call, ns | {} | {} | {} |", || {
        recorded("| umbel | one | 1 |", 4)
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
    ("CHANGELOG.md", "a little smaller than a classic filter ({} bits per key, {})", || {
        [Kind::Coded, Kind::Classic].map(|kind| sizes(kind)[1]).to_vec()
    }),
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
    512.0 / Pattern::new(probes).load_for(fpp) / classic::least_bits_per_key(fpp, 32).0
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

/// The rate in percent, and the bits sent per key.
fn sent(bits_per_key: f64, probes: u32) -> Vec<f64> {
    let rate = classic::fpp_limit_of(bits_per_key, probes);
    vec![100.0 * rate, compressed::sent_per_key(bits_per_key, f64::from(probes))]
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

/// Relative deviations of the rate at 100,000 keys, blocked and classic, in percent.
fn deviations(fpp: f64) -> Vec<f64> {
    let deviation = |kind| {
        let spread = plan(kind, 100_000, fpp).fpp_spread();
        100.0 * spread.deviation / spread.mean
    };
    [Kind::Blocked, Kind::Classic].map(deviation).to_vec()
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

/// Numbers of a row of the record of filters, at 100 million hashed keys and 1 %: the medians of `cells` next to each
/// other where these have one each, or of one cell that has three.
fn recorded(row: &str, cell: usize) -> Vec<f64> {
    let record = read("bench/record/2026-11-22-filters.md");
    let table = record.split("### 100 M hashed keys, fpp 1 %\n").nth(1).unwrap();
    let row = table.lines().find(|line| line.starts_with(row)).unwrap();
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let number = |cell: &str| cell.trim_start_matches("read ").split(' ').next().unwrap().parse();
    match cells[cell].contains('/') {
        true => cells[cell].split(" / ").map(|cell| number(cell).unwrap()).collect(),
        false => cells[cell..cell + 3].iter().filter_map(|cell| number(cell).ok()).collect(),
    }
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

/// Rows of measurements are those of a record, and their goals are counted.
#[test]
fn measurements_are_those_of_the_records() {
    let records = ["filters", "filters-2", "kinds"]
        .map(|name| read(&format!("bench/record/2026-11-22-{name}.md")))
        .join("\n");
    let known: std::collections::HashSet<&str> = records.lines().collect();
    let rates = read("bench/record/2026-11-22-rates.txt");
    let page = read("docs/performance.md");
    let mut rows = 0;
    for line in page.lines() {
        // A median with the range of its rounds.
        let measured = line.starts_with('|') && line.contains('[') && line.contains("–");
        assert!(!measured || known.contains(line), "in no record: {line}");
        let rate = line.starts_with("blocked  ");
        assert!(!rate || rates.contains(line), "not in the record of rates: {line}");
        rows += u32::from(measured || rate);
    }
    assert!(rows > 20, "{rows}");
    for section in page.split("Goals: ").skip(1) {
        let (heading, rest) = section.split_once('\n').unwrap();
        let rows: Vec<&str> = rest
            .lines()
            .skip_while(|line| !line.starts_with('|'))
            .take_while(|line| line.starts_with('|'))
            .skip(2)
            .collect();
        let met = rows.iter().filter(|row| row.ends_with("| met |")).count();
        assert_eq!(heading, format!("{met} of {} met", rows.len()));
    }
}

/// 400 pairs of filters of sets that share nothing vary as section 7 says, and not as √(m·fill)/k.
#[test]
fn estimates_of_empty_intersections_vary_as_printed() {
    const PAIRS: u64 = 400;
    let (bits, probes) = (10_000, 7);
    let coverage = Coverage::classic(bits, probes);
    let hasher = KeyHasher::default();
    for (keys, fill) in [(104, 0.07), (990, 0.5), (1980, 0.75)] {
        let plan = Plan::of(Variant::Classic, keys, 0.5, bits, probes).unwrap();
        let filter = |number: u64| {
            let hashes: Vec<KeyHash> =
                (number * keys..(number + 1) * keys).map(|key| hasher.hash(key)).collect();
            let mut filter = Classic::with_plan(&plan, hasher).unwrap();
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
