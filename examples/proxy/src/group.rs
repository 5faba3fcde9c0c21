//! The peers that exchange summaries of their caches, or ask each other by ICP.
//!
//! Datagrams carry queries and answers of [ICP](crate::icp), or deltas and beats of a summary. They may be lost: a peer that
//! misses one requests a full copy by `POST /umbel/summary`. So a message longer than a datagram is not sent: the beat that
//! replaces it has the same effect. Datagrams from strangers are dropped, but addresses can be forged.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use hyper::Request;
use hyper::body::Bytes;
use serde_json::{Value, json};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use umbel::{Filter, KeyHasher, Secret};
use umbel_share::summary::{self, Address, GroupKey, Limits, Peers, Step, Summary};

use crate::Settings;
use crate::cache::Cache;
use crate::icp;
use crate::peer::Peer;

/// The path for requests of full copies.
pub(crate) const COPY_PATH: &str = "/umbel/summary";
/// How long to wait for ICP answers.
const PATIENCE: Duration = Duration::from_millis(500);
/// Bytes of the largest datagram.
const LARGEST: usize = 65_507;
/// Bytes that fit in a frame of Ethernet, with the headers of IP and UDP.
const PACKET: usize = 1472;
/// Beats without which a peer counts as gone.
const BEATS: u32 = 5;
/// Objects that a summary is planned for at first: with this many bytes each, they fill the memory.
const MEAN_SIZE: u64 = 4096;

/// A peer as it is named on the command line.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// Its HTTP address.
    pub(crate) http: SocketAddr,
    pub(crate) datagrams: SocketAddr,
}

impl FromStr for Member {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.split(',');
        let mut next = || parts.next().context("expected NAME,ADDRESS,ADDRESS");
        Ok(Self { name: next()?.to_owned(), http: next()?.parse()?, datagrams: next()?.parse()? })
    }
}

/// The peers, and the known state of their caches.
pub(crate) struct Group {
    socket: UdpSocket,
    members: Vec<(Member, Peer)>,
    kept: Mutex<Peers>,
    start: Instant,
    asks_all: bool,
    /// ICP queries that wait for answers: from whom, and whether it is a hit.
    waiting: Mutex<HashMap<u32, mpsc::UnboundedSender<(SocketAddr, bool)>>>,
    next_query: AtomicU32,
    /// Traffic sent, in Ethernet packets and in bytes: datagrams, full copies, and requests for them.
    packets: AtomicU64,
    bytes: AtomicU64,
    full_copies: AtomicU64,
}

/// Returns the summary of an empty cache. The epoch is the time of the start.
pub(crate) fn own_summary(settings: &Settings) -> Result<Option<Summary>> {
    if settings.peers.is_empty() || settings.icp {
        return Ok(None);
    }
    let epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_nanos() as u64;
    let how = summary::Settings {
        bits_per_key: settings.summary_bits,
        threshold: settings.summary_threshold,
    };
    let keys = (settings.memory / MEAN_SIZE).max(100);
    let summary = Summary::new(&settings.name, epoch, keys, how, KeyHasher::default())?;
    Ok(Some(match key(settings)? {
        Some(key) => summary.with_key(key),
        None => summary,
    }))
}

/// The key in the file.
fn key(settings: &Settings) -> Result<Option<GroupKey>> {
    let Some(path) = &settings.key_file else { return Ok(None) };
    let name = || path.display().to_string();
    let content = std::fs::read(path).with_context(name)?;
    Ok(Some(GroupKey::new(Secret::from_file(&content).with_context(name)?)))
}

impl Group {
    /// Starts to receive, and to publish the summary of the cache.
    pub(crate) async fn start(
        settings: &Settings,
        cache: &Arc<Cache>,
    ) -> Result<Option<Arc<Self>>> {
        let Some(address) = settings.datagrams else { return Ok(None) };
        let socket = UdpSocket::bind(address)
            .await
            .with_context(|| format!("cannot receive datagrams on {address}"))?;
        let (retry, silence) = (settings.beat, BEATS * settings.beat);
        let limits = Limits { retry, silence, ..Limits::default() };
        let mut kept = Peers::new(KeyHasher::default(), limits);
        if let Some(key) = key(settings)? {
            kept = kept.with_key(key);
        }
        let mut members = Vec::new();
        for member in &settings.peers {
            ensure!(kept.add(&member.name), "{}: two peers have this name", member.name);
            members.push((member.clone(), Peer::new(&member.http.to_string())?));
        }
        let group = Arc::new(Self {
            socket,
            members,
            kept: Mutex::new(kept),
            start: Instant::now(),
            asks_all: settings.icp,
            waiting: Mutex::default(),
            next_query: AtomicU32::new(0),
            packets: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            full_copies: AtomicU64::new(0),
        });
        tokio::spawn(Arc::clone(&group).receive(Arc::clone(cache)));
        let (beats, cache, beat) = (Arc::clone(&group), Arc::clone(cache), settings.beat);
        tokio::spawn(async move {
            while let Some(message) = cache.summary(Summary::beat) {
                beats.send_all(&message);
                tokio::time::sleep(beat).await;
            }
        });
        Ok(Some(group))
    }

    /// Sends a message about the summary to all peers.
    pub(crate) fn publish(&self, message: Vec<u8>, cache: &Cache) {
        let short = Some(message).filter(|message| message.len() <= LARGEST);
        if let Some(message) = short.or_else(|| cache.summary(Summary::beat)) {
            self.send_all(&message);
        }
    }

    /// Returns the peers that should hold an object, best first.
    pub(crate) async fn candidates(&self, url: &str) -> Vec<&(Member, Peer)> {
        if self.asks_all {
            return self.ask_all(url).await.into_iter().collect();
        }
        let kept = self.kept();
        let found = kept.candidates(url, self.start.elapsed());
        found
            .iter()
            .filter_map(|found| self.members.iter().find(|it| it.0.name == found.peer))
            .collect()
    }

    /// Notes whether a candidate had the object.
    pub(crate) fn note(&self, member: &Member, had_it: bool) {
        self.kept().note(&member.name, had_it);
    }

    /// The first peer that answers "hit" to ICP.
    async fn ask_all(&self, url: &str) -> Option<&(Member, Peer)> {
        let number = self.next_query.fetch_add(1, Relaxed);
        let (sender, mut answers) = mpsc::unbounded_channel();
        self.waiting.lock().expect("no panic").insert(number, sender);
        self.send_all(&icp::message(icp::QUERY, number, url));
        let first_hit = async {
            for _ in &self.members {
                let (from, is_hit) = answers.recv().await?;
                if is_hit {
                    return self.members.iter().find(|it| it.0.datagrams == from);
                }
            }
            None
        };
        let found = tokio::time::timeout(PATIENCE, first_hit).await;
        self.waiting.lock().expect("no panic").remove(&number);
        found.ok().flatten()
    }

    fn send_all(&self, message: &[u8]) {
        for (member, _) in &self.members {
            self.send(member.datagrams, message);
        }
    }

    fn send(&self, to: SocketAddr, message: &[u8]) {
        self.count(message.len());
        // An error, such as a full buffer, counts as a loss.
        let _ = self.socket.try_send_to(message, to);
    }

    fn count(&self, bytes: usize) {
        self.packets.fetch_add(bytes.div_ceil(PACKET) as u64, Relaxed);
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// Takes datagrams.
    async fn receive(self: Arc<Self>, cache: Arc<Cache>) -> io::Result<()> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let Ok((length, from)) = self.socket.recv_from(&mut buffer).await else { continue };
            let Some(at) = self.members.iter().position(|it| it.0.datagrams == from) else {
                continue;
            };
            match icp::read(&buffer[..length]) {
                Some((icp::QUERY, number, url)) => {
                    let opcode = if cache.has(url) { icp::HIT } else { icp::MISS };
                    self.send(from, &icp::message(opcode, number, url));
                }
                Some((opcode, number, _)) => {
                    if let Some(sender) = self.waiting.lock().expect("no panic").get(&number) {
                        let _ = sender.send((from, opcode == icp::HIT));
                    }
                }
                None => self.take(at, &buffer[..length]),
            }
        }
    }

    /// Takes a message about a peer's summary; requests a full copy if one is needed.
    fn take(self: &Arc<Self>, at: usize, message: &[u8]) {
        let name = &self.members[at].0.name;
        let received = self.kept().receive(name, message, self.start.elapsed());
        let Ok(Step::Missing(Some(request))) = received.map(|received| received.step) else {
            return;
        };
        let group = Arc::clone(self);
        tokio::spawn(async move {
            group.count(request.len());
            let (member, peer) = &group.members[at];
            let copy = peer.fetch(Request::post(COPY_PATH), request.into()).await;
            // If it is not the copy, the next beat shows that.
            if let Ok(copy) = copy {
                let _ = group.kept().receive(&member.name, copy.body(), group.start.elapsed());
            }
        });
    }

    /// Returns the answer to a request for a full copy.
    pub(crate) fn full_copy(&self, request: &[u8], cache: &Cache) -> Option<Bytes> {
        let copy = cache.summary(|summary| summary.answer(request, Address::Verified))?.ok()?;
        self.full_copies.fetch_add(1, Relaxed);
        self.count(copy.len());
        Some(copy.into())
    }

    /// Returns the file of the filter that is kept for a peer.
    pub(crate) fn filter(&self, name: &str) -> Option<Bytes> {
        self.kept().filter(name).map(|filter| filter.to_bytes().into())
    }

    /// Returns the traffic sent, and the known state of each peer.
    pub(crate) fn status(&self) -> Value {
        let kept = self.kept();
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        let status = kept.status(self.start.elapsed());
        let peers = self.members.iter().zip(&status).map(|((_, peer), known)| {
            let mut status = peer.status();
            status["name"] = known.peer.into();
            status["summary"] = json!({
                "version": known.version, "is_current": known.is_current, "behind": known.behind,
                "age": seconds(known.age), "silent": seconds(known.silent), "keys": known.keys,
                "gone": known.gone, "unseen": known.unseen, "fpp": known.fpp,
                "hit_rate": known.hit_rate, "bytes": known.bytes,
            });
            status
        });
        json!({
            "packets": self.packets, "bytes": self.bytes, "full_copies": self.full_copies,
            "peers": peers.collect::<Vec<_>>(),
        })
    }

    fn kept(&self) -> MutexGuard<'_, Peers> {
        self.kept.lock().expect("no panic")
    }
}
