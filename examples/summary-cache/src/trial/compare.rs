//! Proxies in one process, with the same traffic and each strategy.

use std::net::{SocketAddr, TcpListener as StdListener, UdpSocket as StdSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use hyper::StatusCode;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use umbel_share::summary::stale::{Errors, Mix, errors, mean_staleness};

use crate::http::Client;
use crate::proxy::{Member, Proxy, Settings, Strategy, Truth};
use crate::source;
use crate::traffic::Trace;

/// How large a comparison is.
pub(super) struct Size {
    pub(super) proxies: usize,
    /// Bytes of a cache.
    pub(super) capacity: u64,
    /// Requests to each proxy that fill its cache, and those that are counted then.
    pub(super) warm_up: usize,
    pub(super) requests: usize,
}

/// What was counted with a strategy.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) strategy: Strategy,
    requests: u64,
    local: u64,
    remote: u64,
    pub(super) messages: u64,
    pub(super) bytes: u64,
    /// Peers asked in vain.
    false_hits: u64,
    failures: u64,
    full_copies: u64,
    cpu: Duration,
    truth: Truth,
    /// Pages of a proxy, and the rate of a filter, on average.
    pages: u64,
    fpp: f64,
}

/// Concurrent requests to a proxy.
const CLIENTS: usize = 2;
const SEED: u64 = 1998;

/// Runs each strategy, and prints a table of them.
pub(super) async fn run(size: &Size, strategies: &[Strategy]) -> Result<Vec<Run>> {
    let Size { proxies, capacity, warm_up, requests } = size;
    println!(
        "{proxies} proxies with caches of {} MiB; {requests} requests to each, after {warm_up} that are not counted.\n",
        capacity >> 20
    );
    println!(
        "| strategy | hits, local | hits, remote | hits | messages per request | bytes per request | false hits per \
         request | false misses per request | CPU per request, µs |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut runs = Vec::new();
    for strategy in strategies {
        let run = one(size, *strategy).await?;
        run.print();
        runs.push(run);
    }
    println!(
        "\nWhat replicas get wrong, of all pairs of a request that is no local hit and a peer, and the formula:\n"
    );
    println!("| strategy | the peer has it | false hits | computed | false misses | computed |");
    println!("|---|---|---|---|---|---|");
    runs.iter().for_each(Run::print_formula);
    println!();
    Ok(runs)
}

async fn one(size: &Size, strategy: Strategy) -> Result<Run> {
    let (stop, stopped) = watch::channel(false);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let source = listener.local_addr()?;
    tokio::spawn(source::serve(listener, stopped, Arc::new(AtomicU64::new(0))));
    let members = members(size.proxies)?;
    let mut proxies = Vec::new();
    for settings in settings(&members, source, size.capacity, strategy, Duration::from_secs(1)) {
        proxies.push(Proxy::start(settings).await?);
    }
    let traces: Vec<_> =
        (0..size.proxies).map(|proxy| Arc::new(Mutex::new(Trace::new(proxy, SEED)))).collect();
    let load = async |requests| {
        let mut clients = JoinSet::new();
        for (member, trace) in members.iter().zip(&traces) {
            let left = Arc::new(AtomicU64::new(requests as u64));
            for _ in 0..CLIENTS {
                clients.spawn(client(member.http, trace.clone(), left.clone()));
            }
        }
        while let Some(done) = clients.join_next().await {
            done??;
        }
        anyhow::Ok(())
    };
    load(size.warm_up).await?;
    let before = Run::of(strategy, &proxies);
    proxies.iter().for_each(|proxy| proxy.look_into(&proxies));
    let (cpu, start) = (cpu()?, Instant::now());
    load(size.requests).await?;
    let mut run = Run::of(strategy, &proxies).since(&before);
    run.cpu = self::cpu()? - cpu;
    eprintln!("{strategy:?}: {:.1} s", start.elapsed().as_secs_f64());
    proxies.iter().for_each(|proxy| proxy.stop());
    stop.send(true)?;
    Ok(run)
}

/// A client of a proxy, which sends one request after another.
async fn client(proxy: SocketAddr, trace: Arc<Mutex<Trace>>, left: Arc<AtomicU64>) -> Result<()> {
    let http = Client::default();
    let one_less = |left: u64| left.checked_sub(1);
    while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok() {
        let url = trace.lock().expect("nobody panics with it").next().expect("it has no end");
        let (status, _) = http.get(proxy, &url, &[]).await?;
        ensure!(status == StatusCode::OK, "{url}: {status}");
    }
    Ok(())
}

/// Proxies `a`, `b` and so on, at free addresses of this machine.
pub(super) fn members(count: usize) -> Result<Vec<Member>> {
    let free = "127.0.0.1:0";
    let (mut members, mut bound) = (Vec::new(), Vec::new());
    for name in ('a'..).take(count) {
        let (http, datagrams) = (StdListener::bind(free)?, StdSocket::bind(free)?);
        members.push(Member {
            name: name.to_string(),
            http: http.local_addr()?,
            datagrams: datagrams.local_addr()?,
        });
        // Until all have one, so that no two are the same.
        bound.push((http, datagrams));
    }
    Ok(members)
}

/// The settings of each of some proxies.
fn settings(
    members: &[Member],
    source: SocketAddr,
    capacity: u64,
    strategy: Strategy,
    beat: Duration,
) -> impl Iterator<Item = Settings> {
    members.iter().map(move |me| Settings {
        me: me.clone(),
        peers: members.iter().filter(|peer| *peer != me).cloned().collect(),
        source,
        capacity,
        strategy,
        beat,
        key: None,
        weather: false,
    })
}

/// Processor time of this process, of the user and of the system.
fn cpu() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let microseconds =
        usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(microseconds as u64))
}

impl Run {
    /// What was counted since the proxies started.
    fn of(strategy: Strategy, proxies: &[Arc<Proxy>]) -> Self {
        let sum = |of: fn(&Proxy) -> u64| proxies.iter().map(|proxy| of(proxy)).sum::<u64>();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut truth = Truth::default();
        proxies.iter().for_each(|proxy| truth.add(&proxy.truth()));
        Self {
            strategy,
            requests: proxies.iter().map(|proxy| count(&proxy.counts.requests)).sum(),
            local: proxies.iter().map(|proxy| count(&proxy.counts.local)).sum(),
            remote: proxies.iter().map(|proxy| count(&proxy.counts.remote)).sum(),
            messages: sum(|proxy| proxy.sent().0),
            bytes: sum(|proxy| proxy.sent().1),
            false_hits: proxies.iter().map(|proxy| count(&proxy.counts.false_hits)).sum(),
            failures: proxies.iter().map(|proxy| count(&proxy.counts.failures)).sum(),
            full_copies: proxies.iter().map(|proxy| count(&proxy.counts.full_copies)).sum(),
            cpu: Duration::ZERO,
            truth,
            pages: sum(|proxy| proxy.pages() as u64) / proxies.len() as u64,
            fpp: proxies.iter().map(|proxy| proxy.fpp()).sum::<f64>() / proxies.len() as f64,
        }
    }

    fn since(self, before: &Self) -> Self {
        Self {
            requests: self.requests - before.requests,
            local: self.local - before.local,
            remote: self.remote - before.remote,
            messages: self.messages - before.messages,
            bytes: self.bytes - before.bytes,
            false_hits: self.false_hits - before.false_hits,
            failures: self.failures - before.failures,
            full_copies: self.full_copies - before.full_copies,
            ..self
        }
    }

    /// The share of requests that a cache answered.
    pub(super) fn hit_rate(&self) -> f64 {
        self.per_request(self.local + self.remote)
    }

    fn per_request(&self, count: u64) -> f64 {
        count as f64 / self.requests as f64
    }

    fn name(&self) -> String {
        match self.strategy {
            Strategy::Alone => "no cooperation".to_owned(),
            Strategy::AskAll => "ask everyone (ICP)".to_owned(),
            Strategy::Summaries(how) => {
                format!(
                    "summaries, {} bits per key, {:.0} %",
                    how.bits_per_key,
                    100.0 * how.threshold
                )
            }
        }
    }

    fn print(&self) {
        println!(
            "| {} | {:.2} % | {:.2} % | {:.2} % | {:.3} | {:.1} | {:.4} | {:.4} | {:.0} |",
            self.name(),
            100.0 * self.per_request(self.local),
            100.0 * self.per_request(self.remote),
            100.0 * self.hit_rate(),
            self.per_request(self.messages),
            self.per_request(self.bytes),
            self.per_request(self.false_hits),
            self.per_request(self.truth.missed_requests),
            self.cpu.as_secs_f64() * 1e6 / self.requests as f64,
        );
        if self.failures + self.full_copies > 0 {
            eprintln!("{} failures, {} full copies", self.failures, self.full_copies);
        }
    }

    /// What the formula says for the mix of requests that was observed; none without summaries.
    fn computed(&self) -> Option<Errors> {
        let Strategy::Summaries(how) = self.strategy else { return None };
        let Truth { pairs, held, unseen, gone, .. } = self.truth;
        let stale = mean_staleness(self.pages, how.threshold, 0.0, 0.0);
        let per_held = |count: f64| count / (held as f64 * stale);
        let mix = Mix {
            held: held as f64 / pairs as f64,
            new: per_held(unseen),
            departed: per_held(gone),
        };
        Some(errors(stale, self.fpp, mix))
    }

    fn print_formula(&self) {
        let Some(Errors { false_hits, false_misses }) = self.computed() else { return };
        let pairs = self.truth.pairs as f64;
        println!(
            "| {} | {:.2} % | {:.3} % | {:.3} % | {:.4} % | {:.4} % |",
            self.name(),
            100.0 * self.truth.held as f64 / pairs,
            100.0 * self.truth.false_hits as f64 / pairs,
            100.0 * false_hits,
            100.0 * self.truth.false_misses as f64 / pairs,
            100.0 * false_misses
        );
    }

    /// Checks what replicas got wrong against the formula: 6 deviations of a Poisson variable, whose mean the pairs at
    /// most have as their variance, and a tenth for what the formula leaves out: publications are not evenly spread,
    /// as pages have different sizes, and messages are under way for a while.
    pub(super) fn check_formula(&self) -> Result<()> {
        let Some(computed) = self.computed() else { return Ok(()) };
        for (what, count, share) in [
            ("false hits", self.truth.false_hits, computed.false_hits),
            ("false misses", self.truth.false_misses, computed.false_misses),
        ] {
            let mean = share * self.truth.pairs as f64;
            let bound = 6.0 * mean.sqrt() + mean / 10.0;
            let off = (count as f64 - mean).abs();
            ensure!(
                off <= bound,
                "{}: {count} {what}, computed {mean:.0} ± {bound:.0}",
                self.name()
            );
        }
        Ok(())
    }
}
