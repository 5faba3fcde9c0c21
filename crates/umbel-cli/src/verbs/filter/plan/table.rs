//! `umbel filter plan --table` and `--sizes`: the tables of the textbooks, for any range.

use super::PlanArgs;
use anyhow::Result;
use serde_json::json;
use umbel::formulas::classic;
use umbel_numbers::{Rate, Size};
use umbel_report::advice::formulas;

/// The table of --table or --sizes, if either is given.
pub(super) fn asked_for(args: &PlanArgs) -> Result<Option<String>> {
    let tables = &args.tables;
    let text = if tables.table {
        let rows: Vec<Row> = (tables.ratios.first..=tables.ratios.last)
            .map(|ratio| Row::new(ratio, tables.probes.first, tables.probes.last))
            .collect();
        if args.json { rates_json(&rows) } else { rates(&rows) }
    } else if tables.sizes {
        let rates: Vec<f64> = match (args.fpp, &tables.rates[..]) {
            (Some(fpp), _) => vec![fpp.0],
            (None, []) => (1..=6).map(|power| 10f64.powi(-power)).collect(),
            (None, rates) => rates.iter().map(|rate| rate.0).collect(),
        };
        let keys = match args.keys {
            Some(keys) => vec![keys.0],
            None => (3..=9).map(|power| 10u64.pow(power)).collect(),
        };
        let shapes: Vec<Shape> = rates.into_iter().map(Shape::new).collect();
        if args.json { sizes_json(&shapes, &keys) } else { sizes(&shapes, &keys) }
    } else {
        return Ok(None);
    };
    Ok(Some(text))
}

/// Rates of filters with the same bits per key.
#[derive(Debug)]
struct Row {
    ratio: u32,
    /// k and (1 − e^(−kn/m))^k, in the limit of many bits.
    rates: Vec<(u32, f64)>,
    /// The best k as a real number, ln 2 · m/n.
    best: f64,
    /// The best whole one, in the table or not.
    best_probes: u32,
}

impl Row {
    fn new(ratio: u32, first: u32, last: u32) -> Self {
        let rate = |k| classic::fpp_limit(1, u64::from(ratio), k);
        let best = classic::best_probes(1.0, f64::from(ratio));
        let below = (best.floor() as u32).max(1);
        let best_probes = if rate(below + 1) < rate(below) { below + 1 } else { below };
        Self { ratio, rates: (first..=last).map(|k| (k, rate(k))).collect(), best, best_probes }
    }
}

fn rates(rows: &[Row]) -> String {
    let mut text = format!("{:>4} {:>7}", "m/n", "best k");
    for (k, _) in rows.first().map_or(&[][..], |row| &row.rates) {
        text += &format!(" {:>9}", format!("k = {k} "));
    }
    text.truncate(text.trim_end().len());
    text += "\n";
    for row in rows {
        text += &format!("{:>4} {:>7.2}", row.ratio, row.best);
        for &(k, rate) in &row.rates {
            let mark = if k == row.best_probes { '*' } else { ' ' };
            text += &format!(" {:>8}{mark}", Rate(rate));
        }
        text.truncate(text.trim_end().len());
        text += "\n";
    }
    text + "* the best whole k of the row; rates (1 − e^(−kn/m))^k, in the limit of many bits\n"
}

fn rates_json(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        for &(probes, fpp) in &row.rates {
            let object = json!({
                "type": "rate", "bits_per_key": row.ratio, "probes": probes, "fpp": fpp,
                "best": probes == row.best_probes, "best_probes": row.best,
            });
            text += &format!("{object}\n");
        }
    }
    text
}

/// The fewest bits per key for a rate, in the limit form.
#[derive(Debug)]
struct Shape {
    fpp: f64,
    probes: u32,
    bits_per_key: f64,
}

impl Shape {
    /// The best of 1 to 100 probes.
    fn new(fpp: f64) -> Self {
        let (bits_per_key, probes) = formulas::least_bits_per_key(fpp, 100);
        Self { fpp, probes, bits_per_key }
    }

    /// Bytes for `keys` keys, rounded up.
    fn bytes(&self, keys: u64) -> u64 {
        (keys as f64 * self.bits_per_key / 8.0).ceil() as u64
    }
}

fn sizes(shapes: &[Shape], keys: &[u64]) -> String {
    let mut text = format!("{:>9} {:>3} {:>8} {:>9}", "rate", "k", "bits/key", "bytes/key");
    for &keys in keys {
        text += &format!(" {:>9}", in_few_letters(keys));
    }
    text += " keys\n";
    for shape in shapes {
        let rate = Rate(shape.fpp);
        let bytes = shape.bits_per_key / 8.0;
        text += &format!("{rate:>9} {:>3} {:>8.2} {bytes:>9.2}", shape.probes, shape.bits_per_key);
        for &keys in keys {
            text += &format!(" {:>9}", Size(shape.bytes(keys)));
        }
        text += "\n";
    }
    text + "classic filters with the best k of 1 to 100; bits/key = −k / ln(1 − rate^(1/k)), in the limit of many bits\n"
}

/// A power of ten as 1e6, other numbers as they are.
fn in_few_letters(keys: u64) -> String {
    match keys.ilog10() {
        power if keys == 10u64.pow(power) && power >= 3 => format!("1e{power}"),
        _ => keys.to_string(),
    }
}

fn sizes_json(shapes: &[Shape], keys: &[u64]) -> String {
    let mut text = String::new();
    for shape in shapes {
        for &keys in keys {
            let object = json!({
                "type": "size", "fpp": shape.fpp, "probes": shape.probes, "bits_per_key": shape.bits_per_key,
                "bytes_per_key": shape.bits_per_key / 8.0, "keys": keys, "bytes": shape.bytes(keys),
            });
            text += &format!("{object}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_whole_probes_have_the_lowest_rate() {
        for ratio in 1..=100 {
            let row = Row::new(ratio, 1, 100);
            let least = row.rates.iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            assert_eq!(row.best_probes, least.0, "m/n {ratio}");
            assert!((row.best - f64::from(row.best_probes)).abs() < 1.0);
        }
    }

    #[test]
    fn sizes_against_the_best_real_probes() {
        for fpp in [0.9, 0.5, 0.1, 0.01, 1e-6, 1e-15, 1e-30] {
            let shape = Shape::new(fpp);
            let real = classic::bits_per_key(fpp);
            // With p above 1/2, even one probe is more than optimal.
            let above = if fpp < 0.3 { 1.01 } else { 2.0 * real.recip().max(2.0) };
            assert!((1.0..above).contains(&(shape.bits_per_key / real)), "{shape:?} {real}");
            let back =
                classic::fpp_limit(1_000_000, (shape.bits_per_key * 1e6) as u64, shape.probes);
            assert!((back / fpp - 1.0).abs() < 1e-3, "{shape:?} {back}");
        }
    }
}
