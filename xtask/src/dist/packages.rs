//! Linux packages with the program of an archive, and manifests of Homebrew and Scoop, which fetch archives. All use
//! the same facts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use xtask::run::{self, root, target};

use super::{Piece, build, epoch, sha256, version};
use crate::check;

const SUMMARY: &str = "exact set operations on huge files, and Bloom filters";
/// The address of releases.
const PAGE: &str = "https://github.com/umbel/umbel";

/// A .deb and a .rpm of what is in `folder`.
pub(super) fn of(folder: &Path, triple: &str, out: &Path) -> Result<[Piece; 2]> {
    let processor = triple.split('-').next().unwrap_or_default();
    let tree = tree(folder, processor)?;
    let deb = Piece::make(|| deb(&tree, processor, out))?;
    Ok([deb, Piece::make(|| rpm(&tree, processor, out))?])
}

/// The files, placed as on a system.
fn tree(folder: &Path, processor: &str) -> Result<PathBuf> {
    let tree = target().join("dist-packages").join(processor);
    let _ = fs::remove_dir_all(&tree);
    let put = |from: PathBuf, to: &str| -> Result<()> {
        let to = tree.join(to);
        fs::create_dir_all(to.parent().context("it is in a folder")?)?;
        fs::copy(from, to)?;
        Ok(())
    };
    put(folder.join("umbel"), "usr/bin/umbel")?;
    put(folder.join("completions/umbel.bash"), "usr/share/bash-completion/completions/umbel")?;
    put(folder.join("completions/_umbel"), "usr/share/zsh/vendor-completions/_umbel")?;
    put(folder.join("completions/umbel.fish"), "usr/share/fish/vendor_completions.d/umbel.fish")?;
    put(folder.join("LICENSES-OF-PARTS.txt"), "usr/share/doc/umbel/LICENSES-OF-PARTS.txt")?;
    put(folder.join("LICENSE-MIT"), "usr/share/doc/umbel/copyright")?;
    put(folder.join("LICENSE-APACHE"), "usr/share/doc/umbel/LICENSE-APACHE")?;
    put(folder.join("CHANGELOG.md"), "usr/share/doc/umbel/changelog")?;
    for page in run::entries(&folder.join("man"))? {
        let name = page.file_name().context("it has a name")?.to_string_lossy().into_owned();
        put(page, &format!("usr/share/man/man1/{name}"))?;
    }
    let mut gzip = Command::new("gzip");
    gzip.args(["-9nr"]).arg(tree.join("usr/share/man"));
    run::run(gzip.arg(tree.join("usr/share/doc/umbel/changelog")))?;
    run::run(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(&tree))?;
    Ok(tree)
}

fn deb(tree: &Path, processor: &str, out: &Path) -> Result<(PathBuf, String)> {
    let architecture = if processor == "x86_64" { "amd64" } else { "arm64" };
    let version = version()?;
    let control = format!(
        "Package: umbel\nVersion: {version}\nArchitecture: {architecture}\nSection: utils\nPriority: optional\n\
         Maintainer: The umbel authors <umbel@users.noreply.github.com>\nHomepage: {PAGE}\n\
         Description: {SUMMARY}\n Umbel finds the lines that huge files share, lack or repeat: exactly, on files\n \
         larger than memory, under a memory cap.\n"
    );
    let folder = tree.with_file_name(format!("{processor}-deb"));
    let _ = fs::remove_dir_all(&folder);
    run::run(Command::new("cp").arg("-r").arg(tree).arg(&folder))?;
    fs::create_dir(folder.join("DEBIAN"))?;
    fs::write(folder.join("DEBIAN/control"), control)?;
    let package = out.join(format!("umbel_{version}_{architecture}.deb"));
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "-Zxz", "--build"]).arg(&folder).arg(&package);
    run::run(build.env("SOURCE_DATE_EPOCH", epoch()?))?;
    let root = clean_root(&format!("{processor}-deb"))?;
    fs::create_dir_all(root.join("var/lib/dpkg/info"))?;
    fs::create_dir_all(root.join("var/lib/dpkg/updates"))?;
    fs::write(root.join("var/lib/dpkg/status"), "")?;
    let mut install = Command::new("dpkg");
    install.arg(format!("--root={}", root.display())).args(["--force-architecture", "--install"]);
    run::run(install.arg(&package))?;
    Ok((package, installed(&root, processor)?))
}

fn rpm(tree: &Path, processor: &str, out: &Path) -> Result<(PathBuf, String)> {
    let version = version()?;
    let spec = format!(
        "Name: umbel\nVersion: {version}\nRelease: 1\nSummary: {SUMMARY}\nLicense: MIT OR Apache-2.0\nURL: {PAGE}\n\
         AutoReqProv: no\n%description\nUmbel finds the lines that huge files share, lack or repeat: exactly, on files\n\
         larger than memory, under a memory cap.\n%install\ncp -r {}/. %{{buildroot}}\n%files\n/usr/bin/umbel\n\
         /usr/share/bash-completion/completions/umbel\n/usr/share/zsh/vendor-completions/_umbel\n\
         /usr/share/fish/vendor_completions.d/umbel.fish\n/usr/share/doc/umbel\n/usr/share/man/man1/*\n",
        tree.display()
    );
    let top = tree.with_file_name(format!("{processor}-rpm"));
    run::empty(&top)?;
    let file = top.join("umbel.spec");
    fs::write(&file, spec)?;
    let mut build = Command::new("rpmbuild");
    build.args(["-bb", "--quiet", "--target", &format!("{processor}-linux")]);
    for (name, value) in [
        ("_topdir", top.to_str().context("the path is not UTF-8")?),
        ("_build_id_links", "none"),
        ("__os_install_post", "%{nil}"),
        ("debug_package", "%{nil}"),
        ("_buildhost", "umbel"),
        ("use_source_date_epoch_as_buildtime", "1"),
        ("clamp_mtime_to_source_date_epoch", "1"),
    ] {
        build.args(["--define", &format!("{name} {value}")]);
    }
    run::run(build.env("SOURCE_DATE_EPOCH", epoch()?).arg(&file))?;
    let name = format!("umbel-{version}-1.{processor}.rpm");
    let package = out.join(&name);
    fs::copy(top.join("RPMS").join(processor).join(&name), &package)?;
    let root = clean_root(&format!("{processor}-rpm"))?;
    let mut install = Command::new("rpm");
    install.arg("--root").arg(&root).args(["--ignorearch", "--nodeps", "-i"]);
    run::run(install.arg(&package))?;
    Ok((package, installed(&root, processor)?))
}

/// An empty folder that packages are installed into.
fn clean_root(name: &str) -> Result<PathBuf> {
    let root = target().join("dist-roots").join(name);
    run::empty(&root)?;
    Ok(root)
}

/// Runs the installed program.
fn installed(root: &Path, processor: &str) -> Result<String> {
    let triple = format!("{processor}-unknown-linux-musl");
    let program = build::running(&triple, &root.join("usr/bin/umbel"))?;
    let mut program = program.context("what is packed for Linux runs here")?;
    Ok(format!("installed in an empty root; {}", super::check_runs(&mut program)?))
}

/// The manifests, and the archives whose sums replace placeholders in them.
const MANIFESTS: [(&str, &[(&str, &str)]); 2] = [
    (
        "umbel.rb",
        &[
            ("aarch64-apple-darwin", "MACOS_ARM"),
            ("x86_64-unknown-linux-musl", "LINUX_INTEL"),
            ("aarch64-unknown-linux-musl", "LINUX_ARM"),
        ],
    ),
    ("umbel.json", &[("x86_64-pc-windows-gnu", "WINDOWS_INTEL")]),
];

/// A Homebrew formula and a Scoop manifest, each if all its archives exist.
pub(super) fn manifests(archives: &[(&str, PathBuf)], out: &Path) -> Result<()> {
    let version = version()?;
    let of = |triple| archives.iter().find(|(found, _)| *found == triple).map(|(_, file)| file);
    for (name, words) in MANIFESTS {
        let mut text = fs::read_to_string(root().join("packaging").join(name))?;
        text = text.replace("VERSION", &version);
        let files: Option<Vec<_>> = words.iter().map(|(triple, _)| of(*triple)).collect();
        let Some(files) = files else { continue };
        for (file, (_, word)) in files.into_iter().zip(words) {
            let archive = file.file_name().context("it has a name")?.to_string_lossy();
            ensure!(text.contains(&*archive), "packaging/{name} does not name {archive}");
            text = text.replace(word, &sha256(file)?);
        }
        let manifest = out.join(name);
        fs::write(&manifest, text)?;
        if name.ends_with(".rb") {
            run::run(Command::new("ruby").args(["-wc"]).arg(&manifest))?;
        } else {
            check::schema(["--schemafile", "packaging/scoop.schema.json"], &manifest)?;
        }
    }
    Ok(())
}
