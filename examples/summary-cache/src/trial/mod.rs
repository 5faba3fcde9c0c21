//! The trial: proxies with the same traffic and each strategy, then proxies that are killed and links that fail.
//!
//! Prints Markdown; fails if a figure is out of its bounds. The traffic is the same every time; its timing is not.

mod compare;
mod failures;

use std::path::Path;

use anyhow::{Result, ensure};
use umbel_share::summary::Settings as SummarySettings;

use crate::proxy::Strategy;
use compare::{Run, Size};

/// Messages of asking everyone, in those of summaries with 16 bits per key and 1 %: at least. Fan et al. found 25 to
/// 60.
const FEWER_MESSAGES: f64 = 25.0;
/// How much the share of hits may be below that of asking everyone: 1 % of all requests.
const FEWER_HITS: f64 = 0.01;

/// What the goals are stated for.
const USUAL: SummarySettings = SummarySettings { bits_per_key: 16.0, threshold: 0.01 };

/// Runs the whole trial, some minutes; `program` is this program, for proxies that are killed.
///
/// # Errors
/// A figure is out of its bounds, or something does not start.
pub async fn run(program: &Path) -> Result<()> {
    let size = Size { proxies: 8, capacity: 12 << 20, warm_up: 20_000, requests: 30_000 };
    let mut strategies = vec![Strategy::Alone, Strategy::AskAll];
    for threshold in [0.01, 0.02, 0.05, 0.1] {
        for bits_per_key in [8.0, 16.0, 32.0] {
            strategies.push(Strategy::Summaries(SummarySettings { bits_per_key, threshold }));
        }
    }
    let runs = compare::run(&size, &strategies).await?;
    goals(&runs, FEWER_MESSAGES)?;
    failures::run(program, 3_000).await
}

/// Runs it in a quick form, with small caches, whose filters are published more often: bounds that depend on that are
/// wider.
///
/// # Errors
/// As [`run`].
pub async fn run_quick(program: &Path) -> Result<()> {
    let size = Size { proxies: 4, capacity: 4 << 20, warm_up: 5_000, requests: 5_000 };
    let lax = SummarySettings { bits_per_key: 8.0, threshold: 0.1 };
    let strategies = [Strategy::AskAll, Strategy::Summaries(USUAL), Strategy::Summaries(lax)];
    let runs = compare::run(&size, &strategies).await?;
    goals(&runs, 10.0)?;
    failures::run(program, 500).await
}

/// Checks what the trial is to show.
fn goals(runs: &[Run], fewer_messages: f64) -> Result<()> {
    let of = |strategy| runs.iter().find(|run| run.strategy == strategy).expect("it was run");
    let (icp, usual) = (of(Strategy::AskAll), of(Strategy::Summaries(USUAL)));
    let fewer = icp.messages as f64 / usual.messages as f64;
    let lost = icp.hit_rate() - usual.hit_rate();
    println!(
        "With 16 bits per key and 1 %: {fewer:.1} times fewer messages than ICP, {:.1} times fewer bytes, and {:.2} % of all requests \
         fewer are hits.\n",
        icp.bytes as f64 / usual.bytes as f64,
        100.0 * lost
    );
    ensure!(fewer >= fewer_messages, "{fewer:.1} times fewer messages, not {fewer_messages}");
    ensure!(lost <= FEWER_HITS, "{lost} fewer hits");
    for run in runs {
        run.check_formula()?;
    }
    Ok(())
}
