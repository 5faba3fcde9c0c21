//! `umbel-summary-cache`: a caching proxy with peers, and the trial of its ways to find pages among them.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand, ValueEnum};
use umbel::Secret;
use umbel_share::summary::{GroupKey, Settings as SummarySettings};
use umbel_summary_cache::proxy::{Member, Proxy, Settings, Strategy};
use umbel_summary_cache::trial;

/// A caching proxy with peers.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    job: Job,
}

#[derive(Subcommand)]
enum Job {
    /// Run a proxy until it is stopped.
    Proxy(Box<ProxyOptions>),
    /// Compare the strategies, then let proxies and links fail; exit 1 if a figure is out of bounds.
    Trial {
        /// With small caches and few requests, in seconds.
        #[arg(long)]
        quick: bool,
    },
}

#[derive(clap::Args)]
struct ProxyOptions {
    /// Its name, where it answers requests, and where it receives datagrams: `a,127.0.0.1:3128,127.0.0.1:3130`.
    #[arg(long, value_parser = member)]
    me: Member,
    /// The same of a peer. Repeat it.
    #[arg(long = "peer", value_parser = member)]
    peers: Vec<Member>,
    /// The server that has all pages.
    #[arg(long)]
    source: SocketAddr,
    /// Bytes of pages in its cache.
    #[arg(long, default_value_t = 1 << 28)]
    capacity: u64,
    /// How it finds pages at its peers.
    #[arg(long, value_enum, default_value_t = How::Summaries)]
    strategy: How,
    /// Bits of a summary per page.
    #[arg(long, default_value_t = 16.0)]
    bits: f64,
    /// The share of pages that may change before a summary is published.
    #[arg(long, default_value_t = 0.01)]
    threshold: f64,
    /// Milliseconds between two beats.
    #[arg(long, default_value_t = 1000)]
    beat: u64,
    /// File with a secret (umbel key new), which all proxies have: messages about summaries made without it are refused.
    #[arg(long)]
    key_file: Option<std::path::PathBuf>,
    /// Let whoever asks at /umbel/weather cut and disturb links: for trials.
    #[arg(long)]
    weather: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum How {
    /// Not at all.
    Alone,
    /// It asks all of them, by ICP.
    Icp,
    /// By their summaries.
    Summaries,
}

fn member(text: &str) -> Result<Member> {
    let mut parts = text.split(',');
    let mut next = || parts.next().context("expected NAME,ADDRESS,ADDRESS");
    Ok(Member { name: next()?.to_owned(), http: next()?.parse()?, datagrams: next()?.parse()? })
}

/// The key in a file.
fn read_key(path: &std::path::Path) -> Result<GroupKey> {
    let name = || path.display().to_string();
    let content = std::fs::read(path).with_context(name)?;
    Ok(GroupKey::new(Secret::from_file(&content).with_context(name)?))
}

#[tokio::main]
async fn main() -> Result<()> {
    match Arguments::parse().job {
        Job::Proxy(options) => {
            let ProxyOptions {
                me,
                peers,
                source,
                capacity,
                strategy,
                bits,
                threshold,
                beat,
                weather,
                key_file,
            } = *options;
            let reachable = [me.http, me.datagrams].iter().any(|own| !own.ip().is_loopback());
            if reachable {
                eprintln!(
                    "warning: {} serves whoever reaches it, and believes datagrams by their address, which can be forged; keep it in a network of your own",
                    me.name
                );
            }
            let strategy = match strategy {
                How::Alone => Strategy::Alone,
                How::Icp => Strategy::AskAll,
                How::Summaries => {
                    Strategy::Summaries(SummarySettings { bits_per_key: bits, threshold })
                }
            };
            let key = key_file.as_deref().map(read_key).transpose()?;
            let beat = Duration::from_millis(beat);
            Proxy::start(Settings { me, peers, source, capacity, strategy, beat, key, weather })
                .await?;
            std::future::pending().await
        }
        Job::Trial { quick } => {
            let program = std::env::current_exe()?;
            if quick { trial::run_quick(&program).await } else { trial::run(&program).await }
        }
    }
}
