//! How full buckets get when keys come and go: the fluid limit of d-left hashing, and of two tables with moves, next to a
//! table.

use anyhow::Result;
use umbel::KeyHasher;
use umbel_net::states::{Answer, States, StatesPlan};

use crate::statistics::splitmix;

/// Lives of a key until the law no longer changes.
const LIVES: f64 = 40.0;

/// The fluid limit of d tables with many buckets: for each table, the share of its buckets with at least i keys.
///
/// A key goes to the table whose bucket of it has the fewest, among equals to the first. In a table t,
/// dx_i = (x_(i−1) − x_i)·Π_(u<t) x_(u,i)·Π_(u>t) x_(u,i−1) per key that comes and bucket, and with each one that goes
/// −i·(x_i − x_(i+1))/n, with n keys per d buckets (M. Mitzenmacher, B. Vöcking 1999, "The asymptotics of selecting the
/// shortest of two, improved"). With `moves`, keys that find all homes full go to a bucket of the last table that is
/// not, whose key came from there.
struct Fluid {
    tables: Vec<Vec<f64>>,
    cells: usize,
    keys: f64,
    moves: bool,
}

impl Fluid {
    fn new(count: usize, cells: usize, load: f64, moves: bool) -> Self {
        // Without moves, keys go on to buckets of more cells, whose shares then are the probability of failing.
        let most = if moves { cells } else { cells + 4 };
        let mut tables = vec![vec![0.0; most + 2]; count];
        tables.iter_mut().for_each(|table| table[0] = 1.0);
        Self { tables, cells, keys: (count * cells) as f64 * load, moves }
    }

    fn slope(&self, tables: &[Vec<f64>], go: bool) -> Vec<Vec<f64>> {
        let most = tables[0].len() - 2;
        let mut slope = vec![vec![0.0; most + 2]; tables.len()];
        let full: f64 = tables.iter().map(|table| table[self.cells]).product();
        for (t, table) in tables.iter().enumerate() {
            for i in 1..=most {
                let other = |(u, other): (usize, &Vec<f64>)| match u {
                    _ if u < t => other[i],
                    _ if u > t => other[i - 1],
                    _ => 1.0,
                };
                let chosen: f64 = tables.iter().enumerate().map(other).product();
                let mut change = (table[i - 1] - table[i]) * chosen;
                if self.moves && t + 1 == tables.len() {
                    change += full * (table[i - 1] - table[i]) / (1.0 - table[most]);
                }
                if go {
                    change -= i as f64 * (table[i] - table[i + 1]) / self.keys;
                }
                slope[t][i] = change;
            }
        }
        slope
    }

    /// Runs by the fourth-order method of Runge and Kutta.
    fn run(&mut self, keys: f64, steps: usize, go: bool) {
        let h = keys / steps as f64;
        let shifted = |tables: &[Vec<f64>], slope: &[Vec<f64>], h: f64| -> Vec<Vec<f64>> {
            let add =
                |(x, k): (&Vec<f64>, &Vec<f64>)| x.iter().zip(k).map(|(x, k)| x + h * k).collect();
            tables.iter().zip(slope).map(add).collect()
        };
        for _ in 0..steps {
            let a = self.slope(&self.tables, go);
            let b = self.slope(&shifted(&self.tables, &a, h / 2.0), go);
            let c = self.slope(&shifted(&self.tables, &b, h / 2.0), go);
            let d = self.slope(&shifted(&self.tables, &c, h), go);
            for (slope, weight) in [(a, 1.0), (b, 2.0), (c, 2.0), (d, 1.0)] {
                self.tables = shifted(&self.tables, &slope, h * weight / 6.0);
            }
        }
    }

    fn fill(&mut self) {
        self.run(self.keys, 4_000, false);
    }

    fn live(&mut self) {
        let keys = LIVES * self.keys;
        self.run(keys, (4.0 * keys) as usize, true);
    }

    /// The probability that all homes of a key are full.
    fn all_full(&self) -> f64 {
        self.tables.iter().map(|table| table[self.cells]).product()
    }

    fn full(&self) -> f64 {
        self.tables.iter().map(|table| table[self.cells]).sum::<f64>() / self.tables.len() as f64
    }
}

pub(super) fn run(wrong: &mut Vec<String>) -> Result<()> {
    println!(
        "d-left hashing without moves, fluid limit: the probability that all homes of a key are full"
    );
    println!(
        "  {:>6}{:>7}{:>7}{:>14}{:>22}",
        "tables",
        "cells",
        "load",
        "once filled",
        format!("after {LIVES} lives")
    );
    for (count, cells, load) in [
        (4, 8, 0.75),
        (4, 8, 0.8),
        (3, 8, 0.75),
        (2, 8, 0.6),
        (2, 24, 0.8),
        (2, 24, 0.85),
        (2, 24, 0.9),
    ] {
        let mut fluid = Fluid::new(count, cells, load, false);
        fluid.fill();
        let filled = fluid.all_full();
        fluid.live();
        println!("  {count:>6}{cells:>7}{load:>7}{filled:>14.1e}{:>22.1e}", fluid.all_full());
    }
    println!(
        "\numbel's tables, two with moves, 2 cells per bucket free: shares of buckets, and of insertions that move a key"
    );
    println!(
        "  {:>6}{:>8}{:>14}{:>14}{:>10}{:>22}",
        "cells", "load", "full, fluid", "measured", "moving", "all of both elsewhere"
    );
    // Cells of 50 to 11 bits.
    for (error, states, slots) in
        [(2e-11, 254, 4), (1e-6, 14, 4), (1e-3, 6, 4), (0.01, 6, 0), (0.1, 1, 0)]
    {
        let mut plan = StatesPlan::for_keys(1 << 20, error, states)?;
        if slots > 0 {
            plan = plan.with_wheel(1, slots)?;
        }
        let cells = plan.cells_per_bucket();
        let load = plan.keys() as f64 / plan.buckets() as f64 / f64::from(cells);
        let mut fluid = Fluid::new(2, cells as usize, load, true);
        fluid.fill();
        fluid.live();
        let measured = measured(&plan)?;
        let (full, moving) = (fluid.full(), fluid.all_full());
        println!(
            "  {cells:>6}{load:>8.3}{full:>14.4}{measured:>14.4}{moving:>10.4}{:>22.0e}",
            full.powi(2 * cells as i32)
        );
        if (measured / full - 1.0).abs() > 0.05 {
            wrong.push(format!("{measured} of buckets of {cells} cells are full, {full} computed"));
        }
    }
    println!();
    Ok(())
}

/// The share of full buckets after ten lives of each key.
fn measured(plan: &StatesPlan) -> Result<f64> {
    let mut table = States::with_plan(plan, KeyHasher::with_seed(1))?;
    let mut keys: Vec<u64> = (0..plan.keys()).collect();
    for &key in &keys {
        table.insert(key, 0)?;
    }
    for number in plan.keys()..11 * plan.keys() {
        let leaves = &mut keys[(splitmix(number) % plan.keys()) as usize];
        anyhow::ensure!(table.remove(*leaves) != Answer::Absent, "{leaves} is lost");
        table.insert(number, 0)?;
        *leaves = number;
    }
    Ok(table.receipt().full_buckets as f64 / plan.buckets() as f64)
}
