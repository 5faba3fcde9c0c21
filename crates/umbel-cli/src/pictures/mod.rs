//! Pictures: of a plan, by `umbel plan --plot`, and of a filter, by `umbel info --plot`.
//!
//! A file a picture computes its data and draws them; what they share is in `canvas` (SVG, PNG), `chart` (axes,
//! curves, legends) and `style`. No formula is here: all numbers are asked of the library.

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

use crate::args::PictureFormat;
use crate::atomic::{self, Existing};

impl PictureFormat {
    fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
        }
    }

    fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        let found =
            [Self::Svg, Self::Png].into_iter().find(|format| extension == format.extension());
        found.with_context(|| {
            format!("{}: no picture of that kind is made; name a .svg or a .png", path.display())
        })
    }

    fn bytes(self, picture: &Canvas) -> Result<Vec<u8>> {
        match self {
            Self::Svg => Ok(picture.svg().into_bytes()),
            Self::Png => picture.png(),
        }
    }
}

fn existing(force: bool) -> Existing {
    if force { Existing::Replace } else { Existing::Keep }
}

/// Writes the five pictures of a goal into a folder. `plans` are those of all kinds that meet it.
pub(crate) fn of_plans(
    dir: &Path,
    format: PictureFormat,
    force: bool,
    plans: &[Plan],
) -> Result<()> {
    let Some(goal) = Goal::of(plans) else { return Ok(()) };
    let existing = existing(force);
    let path = |name: &str| -> PathBuf { dir.join(format!("{name}.{}", format.extension())) };
    let pictures: [(&str, Draw); 5] = [
        ("rate-by-probes", probes::picture),
        ("exponent", exponent::picture),
        ("rate-by-keys", keys::picture),
        ("overfill", overfill::picture),
        ("bits-by-rate", bits::picture),
    ];
    fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    for (name, _) in pictures {
        atomic::check_target(&path(name), existing)?;
    }
    for (name, draw) in pictures {
        save(&draw(&goal), &path(name), format, existing)?;
    }
    Ok(())
}

/// Refuses, before any work, a place where the picture of a filter cannot go.
pub(crate) fn check(path: &Path, filters: &[PathBuf], force: bool) -> Result<()> {
    PictureFormat::of(path)?;
    if let [_, second, ..] = filters {
        bail!("{}: --plot draws one filter; give each a picture of its own", second.display());
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
    save(&profile::picture(filter, name), path, PictureFormat::of(path)?, existing(force))
}

fn save(picture: &Canvas, path: &Path, format: PictureFormat, existing: Existing) -> Result<()> {
    let bytes = format.bytes(picture).with_context(|| path.display().to_string())?;
    atomic::write(path, existing, |out| Ok(out.write_all(&bytes)?)).map(drop)
}

/// Draws a picture of a goal.
type Draw = fn(&Goal<'_>) -> Canvas;

/// What the pictures of a plan are about.
struct Goal<'a> {
    plans: &'a [Plan],
    /// Of the classic filter's plan, or of another that meets the goal.
    keys: u64,
    fpp: f64,
    bits_per_key: f64,
    /// Whether all plans are for one rate, as they are when it was asked for, and for as many keys.
    one_rate: bool,
    one_size: bool,
}

impl<'a> Goal<'a> {
    /// The goal that all these plans meet.
    fn of(plans: &'a [Plan]) -> Option<Self> {
        let classic = plans.iter().find(|plan| plan.kind() == Kind::Classic);
        let plan = classic.or(plans.first())?;
        let bits_per_key = plan.bits_per_key();
        let one_rate = plans.iter().all(|other| (0.99..1.01).contains(&(other.fpp() / plan.fpp())));
        let one_size = plans.iter().all(|other| other.keys() == plan.keys());
        Some(Self { plans, keys: plan.keys(), fpp: plan.fpp(), bits_per_key, one_rate, one_size })
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
