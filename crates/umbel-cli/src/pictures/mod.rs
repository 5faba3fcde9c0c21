//! Pictures: of a plan, by `umbel plan --plot`, and of a filter, by `umbel info --plot`.
//!
//! There is one file per picture, which draws the data that `umbel_report::curves` computes; shared code is in `canvas` (SVG), `chart` (axes,
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
use umbel::{AnyFilter, Blocks, Hashing, Plan};
use umbel_report::curves::{Curve, Goal};

use canvas::Canvas;

use crate::atomic::{self, Existing};
use crate::target::{self, Sort};

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
        target::check(path, Sort::Picture, force)?;
    }
    for (Written { path, .. }, draw) in &written {
        save(draw(&goal), path)?;
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
    target::check(path, Sort::Picture, force).map(drop)
}

/// Writes the picture of a filter; `name` is what it is called there.
pub(crate) fn of_filter<H: Hashing>(
    filter: &AnyFilter<Blocks, H>,
    name: &str,
    path: &Path,
) -> Result<()> {
    save(profile::picture(filter, name), path)
}

fn save(picture: Canvas, path: &Path) -> Result<()> {
    let svg = picture.finish();
    atomic::write(path, Existing::Replace, |out| Ok(out.write_all(svg.as_bytes())?)).map(drop)
}

/// Draws a picture of a goal.
type Draw = fn(&Goal<'_>) -> Canvas;

/// How a curve is drawn.
trait Drawn {
    /// Whether any of it lies between `low` and `high`, so that a legend should list it.
    fn shows(&self, low: f64, high: f64) -> bool;
    fn look(&self) -> style::Look;
    /// Every `step`th point, from one on that differs from curve to curve: markers of neighbours then stand apart.
    fn marked(&self, number: usize, step: usize) -> Vec<canvas::Point>;
}

impl Drawn for Curve {
    fn shows(&self, low: f64, high: f64) -> bool {
        self.points.iter().any(|point| (low..=high).contains(&point.1))
    }

    fn look(&self) -> style::Look {
        style::of_kind(self.kinds[0])
    }

    fn marked(&self, number: usize, step: usize) -> Vec<canvas::Point> {
        self.points.iter().copied().skip(number * 3 % step).step_by(step).collect()
    }
}
