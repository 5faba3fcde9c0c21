//! Tables of states: the errors of each kind, next to those of the structures of the paper and to the formulas; how full
//! buckets get; the timing wheel; and speed and memory next to a hash map.

mod occupancy;
mod paper;
mod speed;

use anyhow::{Result, ensure};
use umbel::KeyHasher;
use umbel::math::binomial_bounds;
use umbel_net::states::{Answer, States, StatesPlan, math};

use crate::statistics::{ALPHA, SIGMAS, splitmix};
use paper::{Direct, Fingerprints, Stateful};

const FLOWS: u64 = 1 << 16;
const STATES: u8 = 6;
/// Events of each flow on average.
const EVENTS: u64 = 10;
/// A flow ends at one event in this many, and another begins; at the others it changes its state.
const ENDS: u64 = 8;
/// Histories of each table, so that the rarer errors are counted.
const RUNS: u64 = 8;
/// Absent keys looked up for each flow.
const ABSENT: u64 = 4;

pub(super) fn run() -> Result<()> {
    let mut wrong = Vec::new();
    errors(&mut wrong)?;
    occupancy::run(&mut wrong)?;
    wheel(&mut wrong)?;
    speed::run()?;
    ensure!(wrong.is_empty(), "out of bounds:\n{}", wrong.join("\n"));
    Ok(())
}

/// A structure that follows flows. It is told what happens to them, and their former state if it needs that.
trait Table {
    fn insert(&mut self, key: u64, state: u8);
    fn change(&mut self, key: u64, from: u8, to: u8);
    fn remove(&mut self, key: u64, state: u8);
    fn get(&self, key: u64) -> Answer;
}

/// A table that is told which keys are new.
struct Told(States);

impl Table for Told {
    fn insert(&mut self, key: u64, state: u8) {
        self.0.insert(key, state).expect("room as planned");
    }

    fn change(&mut self, key: u64, _: u8, to: u8) {
        self.0.change(key, to).expect("a state of the table");
    }

    fn remove(&mut self, key: u64, _: u8) {
        self.0.remove(key);
    }

    fn get(&self, key: u64) -> Answer {
        self.0.get(key)
    }
}

/// A table that is only told the state.
struct OnlySet(States);

impl Table for OnlySet {
    fn insert(&mut self, key: u64, state: u8) {
        self.0.set(key, state).expect("room as planned");
    }

    fn change(&mut self, key: u64, _: u8, to: u8) {
        self.insert(key, to);
    }

    fn remove(&mut self, key: u64, _: u8) {
        self.0.remove(key);
    }

    fn get(&self, key: u64) -> Answer {
        self.0.get(key)
    }
}

/// How many of all answers were wrong, by kind.
#[derive(Clone, Copy, Default)]
struct Errors {
    /// Present and absent keys looked up.
    present: u64,
    absent: u64,
    false_positives: u64,
    false_negatives: u64,
    false_returns: u64,
    unknown: u64,
}

/// Follows flows through a table, and counts its errors at the end.
fn follow(table: &mut impl Table, run: u64, errors: &mut Errors) {
    let draw = |number: u64| splitmix(run << 40 | number);
    let random = |draw: u64| (draw % u64::from(STATES)) as u8;
    let mut flows: Vec<(u64, u8)> = (0..FLOWS).map(|key| (key, random(draw(key) >> 20))).collect();
    flows.iter().for_each(|&(key, state)| table.insert(key, state));
    let last = FLOWS * (1 + EVENTS);
    for event in FLOWS..last {
        let drawn = draw(event);
        let (key, state) = &mut flows[(drawn % FLOWS) as usize];
        let next = random(drawn >> 32);
        if drawn >> 60 & (ENDS - 1) == 0 {
            table.remove(*key, *state);
            *key = event;
            table.insert(event, next);
        } else {
            table.change(*key, *state, next);
        }
        *state = next;
    }
    for (key, state) in flows {
        errors.present += 1;
        match table.get(key) {
            Answer::Absent => errors.false_negatives += 1,
            Answer::Unknown => errors.unknown += 1,
            Answer::State(found) => errors.false_returns += u64::from(found != state),
        }
    }
    for key in last..last + ABSENT * FLOWS {
        errors.absent += 1;
        errors.false_positives += u64::from(table.get(key) != Answer::Absent);
    }
}

impl Errors {
    fn print(&self, name: &str, note: &str) {
        let of = |count: u64, all: u64| format!("{:.3e}", count as f64 / all as f64);
        println!(
            "  {name:<34}{:>12}{:>12}{:>12}{:>12}  {note}",
            of(self.false_positives, self.absent),
            of(self.unknown, self.present),
            of(self.false_returns, self.present),
            of(self.false_negatives, self.present)
        );
    }
}

/// Every structure at the same bits per flow.
fn errors(wrong: &mut Vec<String>) -> Result<()> {
    println!(
        "{FLOWS} flows in {STATES} states, {EVENTS} events each, one in {ENDS} of which ends a flow and begins another; \
         {RUNS} runs"
    );
    for bits in [16.0, 20.0, 24.0, 28.0] {
        println!("\n{bits} bits per flow");
        println!(
            "  {:<34}{:>12}{:>12}{:>12}{:>12}",
            "", "false pos.", "don't know", "false ret.", "false neg."
        );
        let hasher = KeyHasher::with_seed;
        let mut counted = Errors::default();
        for run in 0..RUNS {
            follow(&mut Direct::new(FLOWS, bits, STATES, hasher(run)), run, &mut counted);
        }
        counted.print("paper: direct Bloom filter", "");
        let mut counted = Errors::default();
        for run in 0..RUNS {
            follow(&mut Stateful::new(FLOWS, bits, STATES, hasher(run)), run, &mut counted);
        }
        counted.print("paper: stateful Bloom filter", "");
        let (mut counted, mut lost) = (Errors::default(), 0);
        for run in 0..RUNS {
            let mut table = Fingerprints::new(FLOWS, bits, STATES, hasher(run));
            follow(&mut table, run, &mut counted);
            lost += table.lost;
        }
        counted.print("paper: fingerprints, d-left 4 x 8", &format!("{lost} flows found no cell"));

        let plan = StatesPlan::for_memory(FLOWS, (bits * FLOWS as f64 / 8.0) as u64, STATES)?;
        let (mut told, mut only_set) = (Errors::default(), Errors::default());
        for run in 0..RUNS {
            follow(&mut Told(States::with_plan(&plan, hasher(run))?), run, &mut told);
            follow(&mut OnlySet(States::with_plan(&plan, hasher(run))?), run, &mut only_set);
        }
        let pairs = plan.pairs();
        let (shared, differ) = (math::collision(FLOWS, pairs), 1.0 - 1.0 / f64::from(STATES));
        let writes = (ENDS - 1) as f64;
        let returned = math::false_return(FLOWS, pairs, differ);
        let missed = math::false_negative(FLOWS, pairs, writes);
        let still = math::unknown(FLOWS, pairs, differ);
        let most = math::unknown_at_most(FLOWS, pairs, writes);
        told.print("umbel: insert, change, remove", "");
        println!(
            "  {:<34}{shared:>12.3e}{:>12}{:>12}{:>12}",
            "  formulas",
            format!("<{most:.2e}"),
            0,
            0
        );
        only_set.print("umbel: set, remove", "");
        println!("  {:<34}{shared:>12.3e}{:>12}{returned:>12.3e}{missed:>12.3e}", "  formulas", 0);

        let mut check = |what: &str, hits: u64, trials: u64, low: f64, high: f64| {
            // Keys that share a pair err together, rarely more than two.
            let spread = |rate: f64| SIGMAS * (2.0 * trials as f64 * rate).sqrt();
            let (least, most) = (trials as f64 * low, trials as f64 * high);
            if (hits as f64) < least - spread(low) || hits as f64 > most + spread(high) {
                wrong.push(format!(
                    "{what} at {bits} bits: {hits} of {trials}, {least} to {most} expected"
                ));
            }
        };
        check("unknown", told.unknown, told.present, still, most);
        check("false returns", told.false_returns, told.present, 0.0, 0.0);
        check("false negatives", told.false_negatives, told.present, 0.0, 0.0);
        check("unknown, set", only_set.unknown, only_set.present, 0.0, 0.0);
        // The formulas are of first order here: flows that share a pair with two others are neglected.
        let within = |rate: f64| (rate * (1.0 - 3.0 * shared), rate * (1.0 + 3.0 * shared));
        let (low, high) = within(returned);
        check("false returns, set", only_set.false_returns, only_set.present, low, high);
        let (low, high) = within(missed);
        check("false negatives, set", only_set.false_negatives, only_set.present, low, high);
        let (low, high) = binomial_bounds(told.absent, shared, ALPHA);
        if !(low..=high).contains(&told.false_positives) {
            wrong.push(format!(
                "{} false positives at {bits} bits, {low} to {high} expected",
                told.false_positives
            ));
        }
    }
    println!();
    Ok(())
}

/// Flows that begin in each tick.
const ARRIVALS: u64 = 50;
/// Ticks of a flow, in each of which it is touched.
const TICKS: u64 = 40;
/// One flow in this many falls silent and never ends.
const SILENT: u64 = 10;
const LIFETIME: u64 = 60;

/// Flows that end without an event leave with the wheel: how many are held on average, next to the number computed.
fn wheel(wrong: &mut Vec<String>) -> Result<()> {
    println!(
        "timing wheel: {ARRIVALS} flows begin per tick and last {TICKS} ticks; one in {SILENT} falls silent then, the \
         others end; lifetime {LIFETIME} ticks"
    );
    println!(
        "  {:>6}{:>10}{:>10}{:>12}{:>12}",
        "slots", "at least", "at most", "flows held", "computed"
    );
    for slots in [2, 4, 8, 16] {
        let plan = StatesPlan::for_keys(5_000, 1e-9, 2)?.with_wheel(LIFETIME, slots)?;
        let mut table = States::with_plan(&plan, KeyHasher::default())?;
        let (_, at_most) = plan.lifetime().expect("it has a wheel");
        let turn = at_most / u64::from(slots);
        // Whole turns, after all has become even.
        let (warm, ticks) = (10 * turn * u64::from(slots), 50 * turn);
        let mut held = 0;
        for tick in 0..warm + ticks {
            table.advance(tick)?;
            for number in 0..ARRIVALS {
                let of = |tick: u64| tick * ARRIVALS + number;
                table.insert(of(tick), 0)?;
                for earlier in tick.saturating_sub(TICKS - 1)..tick {
                    table.touch(of(earlier));
                }
                if tick >= TICKS && !of(tick).is_multiple_of(SILENT) {
                    table.remove(of(tick - TICKS));
                }
            }
            held += if tick < warm { 0 } else { table.len() };
        }
        // A flow touched in the turn's tick i leaves with the turn `slots` later, i ticks earlier than at most.
        let silent = at_most as f64 - (turn - 1) as f64 / 2.0 - 1.0;
        let computed = ARRIVALS as f64 * (TICKS as f64 + silent / SILENT as f64);
        let found = held as f64 / ticks as f64;
        println!("  {slots:>6}{LIFETIME:>10}{at_most:>10}{found:>12.1}{computed:>12.1}");
        if (found - computed).abs() > 1e-6 * computed {
            wrong.push(format!("{found} flows held with {slots} slots, computed {computed}"));
        }
    }
    println!();
    Ok(())
}
