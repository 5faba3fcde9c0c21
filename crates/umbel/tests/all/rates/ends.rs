//! Every public function of `umbel::internals::math` and `umbel::plan` returns, and panics only as documented, at the
//! limits of its arguments: 0, 1, the maximum, infinity and NaN.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

use umbel::formulas;
use umbel::formulas::stable::Cells;
use umbel::internals::math::{self, Coverage};
use umbel::{Bloomier, Estimate, Form, Growth, Kind, MAX_PROBES, Plan, Spread, Tags, Variant};

use crate::statistics::long;

const REALS: [f64; 11] =
    [f64::NAN, -f64::INFINITY, -1.0, 0.0, 2.3e-308, 1e-300, 0.01, 0.5, 1.0, 1e300, f64::INFINITY];
const NUMBERS: [u64; 6] = [0, 1, 63, 4096, 1 << 32, u64::MAX];
const SMALL: [u32; 6] = [0, 1, 8, MAX_PROBES, MAX_PROBES + 1, u32::MAX];
/// The probes of a filter made of blocks.
const PROBES: [u32; 4] = [1, 7, 8, MAX_PROBES];
/// Far more than any call needs; only a call that hangs takes this long.
const LONGEST: Duration = Duration::from_secs(60);

/// Runs named calls; reports those that panic, and the first that does not return.
struct Walk {
    done: mpsc::Sender<(String, bool)>,
    calls: Cell<u64>,
}

impl Walk {
    /// Makes one of five calls; all of them in a long test.
    fn call<T>(&self, name: impl FnOnce() -> String, call: impl FnOnce() -> T) {
        self.calls.set(self.calls.get() + 1);
        if !self.calls.get().is_multiple_of(long(1, 5)) {
            return;
        }
        let name = name();
        self.done.send((name.clone(), true)).unwrap();
        if catch_unwind(AssertUnwindSafe(|| _ = call())).is_err() {
            self.done.send((name, false)).unwrap();
        }
    }
}

fn walked(work: impl FnOnce(&Walk) + Send + 'static) {
    let (done, calls) = mpsc::channel();
    std::thread::spawn(move || work(&Walk { done, calls: Cell::new(0) }));
    let (mut last, mut count, mut failed) = ("none".to_owned(), 0, Vec::new());
    loop {
        match calls.recv_timeout(LONGEST) {
            Ok((name, true)) => (last, count) = (name, count + 1),
            Ok((name, false)) => failed.push(name),
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("{last} does not end; {failed:?}"),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    // Stops at the first panic of each function.
    let panics = failed.len();
    failed.dedup_by_key(|name| name.split('(').next().unwrap_or_default().to_owned());
    assert!(failed.is_empty(), "{panics} panic, such as {failed:#?}");
    assert!(count > long(1000, 100), "{count} calls");
}

/// Calls `walk.call`, with the text of the call and its arguments as its name.
macro_rules! call {
    ($walk:expr, $function:expr $(, $argument:expr)*) => {
        $walk.call(
            || format!("{}{:?}", stringify!($function), ($($argument,)*)),
            || $function($($argument),*),
        )
    };
}

#[test]
fn formulas_end_whatever_they_are_given() {
    walked(|walk| {
        for a in REALS {
            call!(walk, formulas::classic::bits_per_key, a);
            call!(walk, Spread::fixed, a);
            for k in SMALL {
                call!(walk, formulas::classic::bits_per_key_with, a, k);
                call!(walk, formulas::window::share, a, k);
                call!(walk, formulas::window::spread, Spread::fixed(a), k);
            }
            for k in PROBES {
                call!(walk, |a| formulas::blocked::Pattern::shared(k).fpp(a), a);
                call!(walk, |a| formulas::blocked::Pattern::shared(k).load_for(a), a);
            }
            for b in REALS {
                call!(walk, formulas::classic::best_probes, a, b);
                call!(walk, |a, b| formulas::window::compound([a, b]), a, b);
                call!(walk, Estimate::new, a, b);
                call!(walk, |a, b| Spread { deviation: b, ..Spread::fixed(a) }.upper(), a, b);
                call!(walk, |a, b| Spread::fixed(a).resized(b), a, b);
                for top in [0, 1, u8::MAX] {
                    for lowered in REALS {
                        let cells = Cells { cells: a, probes: b, lowered, top };
                        call!(walk, |cells: Cells| cells.fill(), cells);
                        call!(walk, |cells: Cells| cells.fpp_with_spread(), cells);
                        call!(walk, formulas::stable::spread, cells);
                        call!(walk, |cells: Cells| cells.forgotten(b), cells);
                        call!(walk, |cells: Cells| cells.remembered(b), cells);
                    }
                }
            }
            for n in [0, 1, 1000, 1 << 40] {
                for alpha in REALS {
                    call!(walk, math::binomial_bounds, n, a, alpha);
                }
            }
        }
    });
}

#[test]
fn rates_of_filters_end_whatever_they_are_given() {
    walked(|walk| {
        for n in NUMBERS {
            call!(walk, formulas::bloomier::segment_length, n);
            call!(walk, formulas::bloomier::slots_per_key, n);
            for k in SMALL {
                call!(walk, |n, k| Coverage::classic(n, k).keys(f64::NAN), n, k);
                call!(walk, |n, k| Coverage::sliced(n, k).keys(0.0), n, k);
            }
            for m in NUMBERS {
                call!(walk, formulas::bloomier::slots, n, m);
                for k in SMALL {
                    call!(walk, formulas::classic::fpp_limit, n, m, k);
                    call!(walk, formulas::classic::fpp_textbook, n, m, k);
                    call!(walk, formulas::classic::fpp, n, m, k);
                    call!(walk, formulas::sliced::fpp, n, m, k);
                    call!(walk, formulas::classic::spread, n, m, k);
                    call!(walk, formulas::sliced::spread, n, m, k);
                }
                for k in PROBES {
                    call!(walk, formulas::blocked::spread, n, m, k);
                }
            }
            for k in PROBES {
                call!(walk, formulas::blocked::bit_chance, k);
                for (a, b) in REALS.into_iter().flat_map(|a| REALS.map(|b| (a, b))) {
                    let overlap = |n, k, a, b| {
                        let coverages = [
                            Coverage::classic(n, k),
                            Coverage::sliced(n, k),
                            Coverage::blocked(n, k),
                        ];
                        coverages.map(|coverage| (coverage.keys(a), coverage.overlap(a, b, a)))
                    };
                    call!(walk, overlap, n, k, a, b);
                }
            }
        }
    });
}

#[test]
fn plans_end_whatever_they_are_given() {
    walked(|walk| {
        let odd = [
            Variant::Bloomier { fingerprint_bits: Some(u32::MAX), value_bits: u32::MAX },
            Variant::Bloomier { fingerprint_bits: Some(1), value_bits: u32::MAX },
            Variant::Bloomier { fingerprint_bits: None, value_bits: u32::MAX },
            Variant::Counting { counter_bits: u32::MAX },
            Variant::Stable { cell_bits: u32::MAX },
            Variant::Window { generations: u32::MAX },
            Variant::Window { generations: 0 },
            Variant::Coded { code_bits: Some(u32::MAX) },
            Variant::Coded { code_bits: Some(12) },
            Variant::Scalable { growth: Growth::Even },
            Variant::Cascade { form: Form::List },
            Variant::Attributes { tags: Tags::Subsets, classic: true },
        ];
        for variant in Kind::ALL.iter().copied().map(Variant::from).chain(odd) {
            call!(walk, |variant: Variant| variant.to_string(), variant);
            let mut plans = Vec::new();
            for n in NUMBERS {
                for fpp in REALS {
                    call!(walk, |v, n, p| plans.extend(Plan::for_keys(v, n, p)), variant, n, fpp);
                    for (bits, k) in NUMBERS.into_iter().flat_map(|m| SMALL.map(|k| (m, k))) {
                        call!(walk, Plan::from_parts, variant, n, fpp, bits, k);
                    }
                }
                for probes in [1, 3, 8] {
                    // Whole blocks for any number of generations and bits of a counter.
                    walk.call(
                        || format!("Plan::from_parts({variant}, {n}, .., {probes})"),
                        || plans.extend(Plan::from_parts(variant, n, 0.01, 512 * 1680, probes)),
                    );
                }
                for m in NUMBERS {
                    call!(walk, |v, n, m| plans.extend(Plan::for_memory(v, n, m)), variant, n, m);
                }
                for attributes in [0, 1, 63, 64, usize::MAX] {
                    call!(walk, |v: Variant, a, n| v.share(a, n), variant, attributes, n);
                }
            }
            for fpp in REALS {
                for bytes in NUMBERS {
                    call!(walk, Plan::for_capacity, variant, fpp, bytes);
                    call!(walk, Plan::for_lists, variant, bytes, bytes / 2, fpp);
                }
            }
            for plan in plans {
                call!(walk, |plan: Plan| plan.fpp_spread().upper(), plan);
                for n in NUMBERS.into_iter().chain([i32::MAX as u64]) {
                    call!(walk, |plan: Plan, n| plan.predicted_fpp_at(n), plan, n);
                    call!(walk, |plan: Plan, n| plan.bytes_at(n), plan, n);
                    call!(walk, |plan: Plan, n| plan.link(n as u32), plan, n);
                    call!(walk, |plan: Plan, n| plan.bytes_for_lists(n, n), plan, n);
                }
            }
        }
        for (n, fpp) in NUMBERS.into_iter().flat_map(|n| REALS.map(|fpp| (n, fpp))) {
            for k in SMALL {
                call!(walk, Plan::for_sending, n, fpp, k);
            }
        }
        for tags in [Tags::None, Tags::Row, Tags::Subsets] {
            for attributes in [0, 1, 63, 64, 65, 1 << 31, usize::MAX] {
                call!(walk, |tags: Tags, a| tags.per_row(a), tags, attributes);
            }
        }
        for n in NUMBERS {
            for (value, print) in SMALL.into_iter().flat_map(|v| SMALL.map(|p| (v, p))) {
                call!(walk, Bloomier::map_plan, n, value, print);
            }
        }
    });
}
