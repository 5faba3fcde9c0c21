//! Proxies in processes of their own, killed and restarted, and links that are cut or lose, repeat and reorder
//! datagrams.
//!
//! After each failure the filter that each proxy keeps of each other one must become the published one, byte for
//! byte, within [`HEALS_WITHIN`], and no client may notice anything.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use hyper::StatusCode;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::sleep;

use super::compare::members;
use crate::http::Client;
use crate::proxy::Member;
use crate::source;
use crate::traffic::Trace;

const PROXIES: usize = 4;
const BEAT: Duration = Duration::from_millis(200);
/// Two beats show what is missing, and five that a peer is gone; the rest is for a busy machine.
const HEALS_WITHIN: Duration = Duration::from_secs(10);
/// One datagram in so many is lost, another repeated, another late.
const BAD_WEATHER: u64 = 5;

struct Proxies {
    members: Vec<Member>,
    running: Vec<Option<Process>>,
    traces: Vec<Trace>,
    arguments: Vec<Vec<String>>,
    program: std::path::PathBuf,
    http: Client,
}

/// A process that is killed at the latest when it is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have been killed before.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What was counted in a phase.
#[derive(Default)]
struct Phase {
    requests: u64,
    errors: u64,
    false_hits: u64,
    failures: u64,
    full_copies: u64,
}

/// Runs all failures, with so many requests to each proxy in each phase, and prints a table.
pub(super) async fn run(program: &Path, requests: usize) -> Result<()> {
    let (stop, stopped) = watch::channel(false);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let source = listener.local_addr()?;
    tokio::spawn(source::serve(listener, stopped, Arc::new(AtomicU64::new(0))));
    let mut proxies = Proxies::start(program, source).await?;
    println!(
        "| what happens | requests | errors at clients | false hits | no answer from a peer | full copies | then healed after, s |"
    );
    println!("|---|---|---|---|---|---|---|");

    let phase = proxies.load(requests).await?;
    phase.print("they start", proxies.heal().await?)?;

    proxies.running[2] = None;
    let phase = proxies.load(requests).await?;
    phase.print("one is killed", proxies.forget(2).await?)?;
    let after = proxies.load(requests / 10).await?;
    ensure!(after.failures == 0, "a dead peer is asked");

    let before = proxies.counts().await?;
    proxies.launch(2).await?;
    let healed = proxies.heal().await?;
    let mut phase = Phase::default();
    phase.add(before, proxies.counts().await?);
    phase.print("it restarts, empty", healed)?;
    proxies.load(requests).await?.print("it fills", proxies.heal().await?)?;

    proxies.cut(true).await?;
    let phase = proxies.load(requests).await?;
    proxies.cut(false).await?;
    phase.print("a link is cut, and mended", proxies.heal().await?)?;

    let bad = format!("lost={BAD_WEATHER}&repeated={BAD_WEATHER}&late={BAD_WEATHER}");
    proxies.weather(&bad).await?;
    let phase = proxies.load(requests).await?;
    ensure!(phase.full_copies > 0, "lost datagrams were not noticed");
    proxies.weather("lost=0").await?;
    phase.print("datagrams are lost, repeated and reordered", proxies.heal().await?)?;
    println!();
    stop.send(true)?;
    Ok(())
}

impl Phase {
    /// Adds what was counted between two moments.
    fn add(&mut self, before: [u64; 3], after: [u64; 3]) {
        self.false_hits += after[0] - before[0];
        self.failures += after[1] - before[1];
        self.full_copies += after[2] - before[2];
    }

    fn print(&self, what: &str, healed: Duration) -> Result<()> {
        let Self { requests, errors, false_hits, failures, full_copies } = self;
        println!(
            "| {what} | {requests} | {errors} | {false_hits} | {failures} | {full_copies} | {:.1} |",
            healed.as_secs_f64()
        );
        ensure!(*errors == 0, "{what}: {errors} errors at clients");
        Ok(())
    }
}

impl Proxies {
    async fn start(program: &Path, source: std::net::SocketAddr) -> Result<Self> {
        let members = members(PROXIES)?;
        let arguments = |me: &Member| {
            let mut all = vec![
                "proxy".to_owned(),
                format!("--source={source}"),
                "--capacity=4194304".to_owned(),
                "--weather".to_owned(),
                format!("--beat={}", BEAT.as_millis()),
            ];
            for member in &members {
                let option = if member == me { "me" } else { "peer" };
                let Member { name, http, datagrams } = member;
                all.push(format!("--{option}={name},{http},{datagrams}"));
            }
            all
        };
        let mut proxies = Self {
            arguments: members.iter().map(arguments).collect(),
            running: members.iter().map(|_| None).collect(),
            traces: (0..PROXIES).map(|proxy| Trace::new(proxy, 1)).collect(),
            program: program.to_owned(),
            http: Client::default(),
            members,
        };
        for number in 0..PROXIES {
            proxies.launch(number).await?;
        }
        Ok(proxies)
    }

    /// Starts a proxy, and waits until it answers.
    async fn launch(&mut self, number: usize) -> Result<()> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments[number]).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.spawn().with_context(|| self.program.display().to_string())?;
        self.running[number] = Some(Process(child));
        let deadline = Instant::now() + HEALS_WITHIN;
        while self.status(number).await.is_err() {
            ensure!(Instant::now() < deadline, "proxy {number} does not start");
            sleep(BEAT / 10).await;
        }
        Ok(())
    }

    fn alive(&self) -> Vec<usize> {
        (0..PROXIES).filter(|number| self.running[*number].is_some()).collect()
    }

    /// Sends requests to each proxy that runs, in turn.
    async fn load(&mut self, requests: usize) -> Result<Phase> {
        let before = self.counts().await?;
        let mut phase = Phase::default();
        for _ in 0..requests {
            for number in self.alive() {
                let url = self.traces[number].next().expect("it has no end");
                let answered = self.http.get(self.members[number].http, &url, &[]).await;
                phase.requests += 1;
                phase.errors += u64::from(!matches!(answered, Ok((StatusCode::OK, _))));
            }
        }
        phase.add(before, self.counts().await?);
        Ok(phase)
    }

    /// What the proxies that run have counted since each of them started: false hits, failures, full copies.
    async fn counts(&self) -> Result<[u64; 3]> {
        let mut sums = [0; 3];
        for number in self.alive() {
            let status = self.status(number).await?;
            for (sum, name) in sums.iter_mut().zip(["false_hits", "failures", "full_copies"]) {
                *sum += status[name].as_u64().context("a status has counts")?;
            }
        }
        Ok(sums)
    }

    /// Waits until every filter is the published one.
    async fn heal(&self) -> Result<Duration> {
        let start = Instant::now();
        while !self.is_healed().await? {
            ensure!(start.elapsed() < HEALS_WITHIN, "not healed after {HEALS_WITHIN:?}");
            sleep(BEAT / 10).await;
        }
        Ok(start.elapsed())
    }

    /// Whether each proxy that runs has of each other one the filter that is published there, byte for byte.
    async fn is_healed(&self) -> Result<bool> {
        for of in self.alive() {
            let (_, published) = self.get(of, "/umbel/filter").await?;
            for at in self.alive().into_iter().filter(|at| *at != of) {
                let kept =
                    self.get(at, &format!("/umbel/filter?{}", self.members[of].name)).await?;
                if kept != (StatusCode::OK, published.clone()) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Waits until a dead proxy is silent for all others.
    async fn forget(&self, dead: usize) -> Result<Duration> {
        let start = Instant::now();
        let name = &self.members[dead].name;
        for number in self.alive() {
            loop {
                let status = self.status(number).await?;
                let peers = status["peers"].as_array().context("a status has peers")?;
                let peer = peers.iter().find(|peer| peer["peer"] == name.as_str());
                let silent = peer.and_then(|peer| peer["silent"].as_f64()).unwrap_or(0.0);
                if silent > 5.0 * BEAT.as_secs_f64() {
                    break;
                }
                ensure!(start.elapsed() < HEALS_WITHIN, "{name} is not forgotten");
                sleep(BEAT / 10).await;
            }
        }
        Ok(start.elapsed())
    }

    /// Cuts the link between the first two proxies, or mends it.
    async fn cut(&self, is_cut: bool) -> Result<()> {
        let verb = if is_cut { "cut" } else { "mend" };
        for (at, to) in [(0, 1), (1, 0)] {
            self.post(at, &format!("{verb}={}", self.members[to].name)).await?;
        }
        Ok(())
    }

    async fn weather(&self, weather: &str) -> Result<()> {
        for number in self.alive() {
            self.post(number, weather).await?;
        }
        Ok(())
    }

    async fn post(&self, number: usize, weather: &str) -> Result<()> {
        let (proxy, url) = (self.members[number].http, format!("/umbel/weather?{weather}"));
        let (status, _) = self.http.post(proxy, &url, &[], Bytes::new()).await?;
        ensure!(status == StatusCode::OK, "{url}: {status}");
        Ok(())
    }

    async fn get(&self, number: usize, url: &str) -> Result<(StatusCode, Bytes)> {
        self.http.get(self.members[number].http, url, &[]).await
    }

    async fn status(&self, number: usize) -> Result<Value> {
        let (_, body) = self.get(number, "/umbel/status").await?;
        Ok(serde_json::from_slice(&body)?)
    }
}
