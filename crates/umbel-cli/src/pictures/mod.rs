//! Pictures: of a plan, by `umbel plan --plot`, and of a filter, by `umbel info --plot`.
//!
//! There is one file per picture, which computes its data and draws it; shared code is in `canvas` (SVG), `chart` (axes,
//! curves, legends) and `style`. There are no formulas here: the library computes all numbers.

mod bits;
mod canvas;
mod chart;
mod exponent;
mod keys;
mod overfill;
mod probes;
mod profile;
mod style;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use umbel::{AnyFilter, Blocks, Hashing, Kind, Plan};

use canvas::Canvas;

use crate::atomic::{self, Existing};

fn existing(force: bool) -> Existing {
    if force { Existing::Replace } else { Existing::Keep }
}

/// A picture that was written.
pub(crate) struct Written {
    pub(crate) path: PathBuf,
    /// What it shows, in a few words.
    pub(crate) shows: &'static str,
}

/// Writes the five pictures of a goal into a folder. `plans` are those of all kinds that meet it; without any there is
/// nothing to draw.
pub(crate) fn of_plans(dir: &Path, force: bool, plans: &[Plan]) -> Result<Vec<Written>> {
    let Some(goal) = Goal::of(plans) else { return Ok(Vec::new()) };
    let existing = existing(force);
    let pictures: [(&str, &str, Draw); 5] = [
        ("rate-by-probes", "the false-positive rate by probes per key", probes::picture),
        ("exponent", "why half of the bits should be set", exponent::picture),
        ("rate-by-keys", "the false-positive rate by keys, and the plan", keys::picture),
        ("overfill", "the rate with fewer and more keys than planned", overfill::picture),
        (
            "bits-by-rate",
            "bits per key of every kind, over the fewest possible, by rate",
            bits::picture,
        ),
    ];
    let written = pictures.map(|(name, shows, draw)| {
        (Written { path: dir.join(format!("{name}.svg")), shows }, draw)
    });
    fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    for (Written { path, .. }, _) in &written {
        atomic::check_target(path, existing)?;
    }
    for (Written { path, .. }, draw) in &written {
        save(draw(&goal), path, existing)?;
    }
    Ok(written.into_iter().map(|(written, _)| written).collect())
}

/// Refuses, before any work, a place where the picture of a filter cannot go.
pub(crate) fn check(path: &Path, filters: &[PathBuf], force: bool) -> Result<()> {
    if !path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg")) {
        bail!("{}: pictures are SVG; name a file that ends in .svg", path.display());
    }
    if let [_, second, ..] = filters {
        bail!("{}: --plot draws one filter per run; draw this one in another", second.display());
    }
    atomic::check_target(path, existing(force))
}

/// Writes the picture of a filter; `name` is what it is called there.
pub(crate) fn of_filter<H: Hashing>(
    filter: &AnyFilter<Blocks, H>,
    name: &str,
    path: &Path,
    force: bool,
) -> Result<()> {
    save(profile::picture(filter, name), path, existing(force))
}

fn save(picture: Canvas, path: &Path, existing: Existing) -> Result<()> {
    let svg = picture.finish();
    atomic::write(path, existing, |out| Ok(out.write_all(svg.as_bytes())?)).map(drop)
}

/// Draws a picture of a goal.
type Draw = fn(&Goal<'_>) -> Canvas;

/// What the pictures of a plan are about.
struct Goal<'a> {
    plans: &'a [Plan],
    /// The plan of the classic filter, which the formulas are about.
    classic: Plan,
    /// Whether all plans are for one rate, as they are when it was asked for, and for as many keys.
    one_rate: bool,
    one_size: bool,
}

impl<'a> Goal<'a> {
    /// The goal that all these plans meet.
    fn of(plans: &'a [Plan]) -> Option<Self> {
        let classic = *plans.iter().find(|plan| plan.kind() == Kind::Classic)?;
        let same = |other: &Plan| (0.99..1.01).contains(&(other.fpp() / classic.fpp()));
        let one_rate = plans.iter().all(same);
        let one_size = plans.iter().all(|other| other.keys() == classic.keys());
        Some(Self { plans, classic, one_rate, one_size })
    }
}

/// `count` numbers from `low` to `high`, each by the same factor above the one before.
fn log_steps(low: f64, high: f64, count: u32) -> impl Iterator<Item = f64> + Clone {
    let step = (high / low).ln() / f64::from(count - 1);
    (0..count).map(move |i| low * (f64::from(i) * step).exp())
}

/// A curve for each kind; of kinds whose curves would cover each other, one for all.
struct Curve {
    kinds: Vec<Kind>,
    points: Vec<canvas::Point>,
}

impl Curve {
    /// Joins curves that have the same points, to 3 %: less than a line is wide where an axis spans decades.
    fn joined(curves: impl Iterator<Item = (Kind, Vec<canvas::Point>)>) -> Vec<Self> {
        let mut joined: Vec<Self> = Vec::new();
        for (kind, points) in curves.filter(|(_, points)| !points.is_empty()) {
            let close = |(a, b): (&canvas::Point, &canvas::Point)| {
                a.0 == b.0 && (a.1 - b.1).abs() <= 0.03 * b.1.abs()
            };
            let same = joined.iter_mut().find(|curve| {
                curve.points.len() == points.len() && curve.points.iter().zip(&points).all(close)
            });
            match same {
                Some(curve) => curve.kinds.push(kind),
                None => joined.push(Self { kinds: vec![kind], points }),
            }
        }
        joined
    }

    /// Whether any of it lies between `low` and `high`, so that a legend should list it.
    fn shows(&self, low: f64, high: f64) -> bool {
        self.points.iter().any(|point| (low..=high).contains(&point.1))
    }

    fn look(&self) -> style::Look {
        style::of_kind(self.kinds[0])
    }

    fn name(&self) -> String {
        let names: Vec<_> = self.kinds.iter().map(|kind| kind.name()).collect();
        names.join(", ")
    }

    /// Every `step`th point, from one on that differs from curve to curve: markers of neighbours then stand apart.
    fn marked(&self, number: usize, step: usize) -> Vec<canvas::Point> {
        self.points.iter().copied().skip(number * 3 % step).step_by(step).collect()
    }
}

/// A goal that many pictures' tests draw.
#[cfg(test)]
fn plans_for(keys: u64, fpp: f64) -> Vec<Plan> {
    Kind::ALL.iter().map(|&kind| Plan::for_keys(kind, keys, fpp).unwrap()).collect()
}
