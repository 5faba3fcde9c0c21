//! Where pictures go: of a plan, by `umbel filter plan --plot`, and of a filter, by `umbel filter info --plot`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use umbel::{AnyFilter, Plan, Portable};
use umbel_report::pictures::{self, Picture};

use crate::atomic::{self, Existing};
use crate::target::{self, FileType};

/// A picture in a file.
pub(crate) struct Saved {
    pub(crate) path: PathBuf,
    /// What it shows, in a few words.
    pub(crate) shows: &'static str,
}

/// Writes the pictures of a goal into a folder. `plans` are those of all kinds that meet it; without any there is nothing to
/// draw.
pub(crate) fn of_plans(dir: &Path, force: bool, plans: &[Plan]) -> Result<Vec<Saved>> {
    let pictures = pictures::of_plans(plans);
    let path = |picture: &Picture| dir.join(format!("{}.svg", picture.name));
    if !pictures.is_empty() {
        fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    }
    for picture in &pictures {
        target::check(&path(picture), FileType::Picture, force)?;
    }
    let save = |picture: Picture| {
        let path = path(&picture);
        save(&picture.svg, &path)?;
        Ok(Saved { path, shows: picture.shows })
    };
    pictures.into_iter().map(save).collect()
}

/// Refuses, before any work, a place where the picture of a filter cannot go.
pub(crate) fn check(path: &Path, filters: &[PathBuf], force: bool) -> Result<()> {
    if !path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg")) {
        bail!("{}: pictures are SVG; name a file that ends in .svg", path.display());
    }
    if let [_, second, ..] = filters {
        bail!("{}: --plot draws one filter per run; draw this one in another", second.display());
    }
    target::check(path, FileType::Picture, force).map(drop)
}

/// Writes the picture of a filter; `name` is what it is called there.
pub(crate) fn of_filter<H: Portable>(filter: &AnyFilter<H>, name: &str, path: &Path) -> Result<()> {
    save(&pictures::of_filter(filter, name), path)
}

fn save(svg: &str, path: &Path) -> Result<()> {
    atomic::write(path, Existing::Replace, |out| Ok(out.write_all(svg.as_bytes())?)).map(drop)
}
