//! The chores of a guarded table: its journal, its keeper, a rebuild, a look at some keys.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use umbel_cache::{Answer, Error, Guard, Keeper, Settings, install, rebuild};

const USAGE: &str = "usage: umbel-cache install | keep | rebuild | get KEY...
  settings: CACHE_TABLE, CACHE_KEY, CACHE_ROW (an expression), REDIS (addresses, separated by commas), POSTGRES
  and, if they differ from the default: CACHE_FPP, CACHE_HEADROOM, CACHE_DELETES=no, CACHE_SECRET (a file), CACHE_JOURNAL (seconds),
  UMBEL (the program)";

fn main() -> ExitCode {
    let Some(settings) = settings() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let done = match std::env::args().nth(1).as_deref() {
        Some("install") => install(&settings),
        Some("keep") => {
            let report = |error: Error| eprintln!("umbel-cache: {error}");
            Keeper::run(&settings, &AtomicBool::new(false), report);
            Ok(())
        }
        Some("rebuild") => rebuild(&settings).map(|rebuilt| {
            eprintln!("umbel-cache: {} keys, {} bytes", rebuilt.keys, rebuilt.bytes);
        }),
        Some("get") => get(settings),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("umbel-cache: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the rows of keys, and the sources of the answers.
fn get(settings: Settings) -> Result<(), Error> {
    let mut guard = Guard::new(settings)?;
    for key in std::env::args().skip(2) {
        let Answer { row, source } = guard.get(&key)?;
        println!("{row:?} from {source:?}");
    }
    Ok(())
}

/// The settings from the environment; nothing if one is missing or not a number.
fn settings() -> Option<Settings> {
    let variable = |name: &str| std::env::var(name).ok();
    let redis = variable("REDIS")?.split(',').map(str::to_owned).collect();
    let (table, key) = (variable("CACHE_TABLE")?, variable("CACHE_KEY")?);
    let mut settings =
        Settings::new(&table, &key, &variable("CACHE_ROW")?, redis, &variable("POSTGRES")?);
    if let Some(fpp) = variable("CACHE_FPP") {
        settings.fpp = fpp.parse().ok()?;
    }
    if let Some(headroom) = variable("CACHE_HEADROOM") {
        settings.headroom = headroom.parse().ok()?;
    }
    settings.secret = variable("CACHE_SECRET").map(Into::into);
    if let Some(seconds) = variable("CACHE_JOURNAL") {
        settings.journal = Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?;
    }
    if let Some(umbel) = variable("UMBEL") {
        settings.umbel = umbel.into();
    }
    settings.deletes = variable("CACHE_DELETES").is_none_or(|deletes| deletes != "no");
    Some(settings)
}
