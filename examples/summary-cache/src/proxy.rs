//! A caching proxy and its peers.
//!
//! What is not in its own cache it looks for in those of its peers, by its [`Strategy`], and then at the source.
//! Between proxies go
//!
//! - datagrams: queries and answers of [ICP](crate::icp), or deltas and beats of a summary;
//! - `POST /umbel/summary`: a request for a full copy, which is the answer;
//! - `GET` of a page with `Cache-Control: only-if-cached`, which is answered with 504 if it is not there, as between
//!   Squid servers.
//!
//! `GET /umbel/status` is a report as JSON, `/umbel/filter` the filter that is published, and `/umbel/filter?NAME` the
//! one kept of a peer.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, VIA};
use hyper::{Method, Request, StatusCode};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use umbel::KeyHasher;
use umbel_share::summary::{
    Address, GroupKey, Limits, Peers, Settings as SummarySettings, Step, Summary,
};

use crate::http::{self, Answer, Client, answer};
use crate::icp::{Message, Opcode};
use crate::link::{DATAGRAM, Link, Weather};
use crate::store::{Place, Store};
use crate::traffic::MEAN_SIZE;

/// How pages are found in the caches of peers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Strategy {
    /// Not at all.
    Alone,
    /// Every peer is asked, by ICP.
    AskAll,
    /// By the peers' summaries.
    Summaries(SummarySettings),
}

/// A proxy as its peers know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Where it answers requests.
    pub http: SocketAddr,
    /// Where it receives datagrams.
    pub datagrams: SocketAddr,
}

/// What a proxy needs to know.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Itself.
    pub me: Member,
    /// Its peers.
    pub peers: Vec<Member>,
    /// The source of all pages.
    pub source: SocketAddr,
    /// Bytes of pages in its cache.
    pub capacity: u64,
    /// How it finds pages at peers.
    pub strategy: Strategy,
    /// The time between two beats.
    pub beat: Duration,
    /// The key that all proxies have, which authenticates messages about summaries.
    pub key: Option<GroupKey>,
    /// Whether links fail when `/umbel/weather` says so: in trials alone, since whoever reaches the proxy can say it.
    pub weather: bool,
}

/// What happened so far.
#[derive(Debug, Default)]
pub struct Counts {
    /// Requests of clients.
    pub requests: AtomicU64,
    /// Those answered from the proxy's own cache, and from that of a peer.
    pub local: AtomicU64,
    /// See above.
    pub remote: AtomicU64,
    /// Peers asked for a page that they did not have.
    pub false_hits: AtomicU64,
    /// Peers that did not answer.
    pub failures: AtomicU64,
    /// Full copies that were sent.
    pub full_copies: AtomicU64,
    /// Messages over connections, in packets of Ethernet: false hits and full copies, each with its request.
    pub packets: AtomicU64,
    /// Their bytes.
    pub bytes: AtomicU64,
}

/// What the caches really hold, next to what summaries say: pairs of a request and a peer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Truth {
    /// All pairs.
    pub pairs: u64,
    /// Those where the peer has the page.
    pub held: u64,
    /// Of those where the peer has the page, how many its replica cannot know of, expected from when the page came
    /// alone.
    pub unseen: f64,
    /// Of those where it does not, how many its replica must name, expected from when the page left alone.
    pub gone: f64,
    /// Pairs where the replica names a peer that does not have the page.
    pub false_hits: u64,
    /// Pairs where it does not name one that has.
    pub false_misses: u64,
    /// Requests for pages that some peer has, and none that has is named.
    pub missed_requests: u64,
}

impl Truth {
    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: &Self) {
        self.pairs += other.pairs;
        self.held += other.held;
        self.unseen += other.unseen;
        self.gone += other.gone;
        self.false_hits += other.false_hits;
        self.false_misses += other.false_misses;
        self.missed_requests += other.missed_requests;
    }
}

/// The cache and its summary, which change together.
struct Held {
    store: Store,
    summary: Option<Summary>,
}

/// A running proxy.
pub struct Proxy {
    settings: Settings,
    start: Instant,
    held: Mutex<Held>,
    peers: Mutex<Peers>,
    link: Link,
    client: Client,
    /// Queries of ICP that wait for answers.
    waiting: Mutex<Waiting>,
    next_query: AtomicU32,
    /// Messages for all peers, in order.
    publications: mpsc::UnboundedSender<Vec<u8>>,
    stop: watch::Sender<bool>,
    /// What happened so far.
    pub counts: Counts,
    /// All proxies, in a trial that looks into them.
    others: OnceLock<Vec<Weak<Proxy>>>,
    truth: Mutex<Truth>,
}

/// The answers to queries by their number: from whom, and whether it is a hit.
type Waiting = HashMap<u32, mpsc::UnboundedSender<(SocketAddr, bool)>>;

/// Bytes of the largest request for a full copy that is read; all have 88.
const REQUEST_BYTES: usize = 1 << 10;
/// How long answers of ICP are waited for.
const ICP_PATIENCE: Duration = Duration::from_millis(500);
/// Bytes of the request for a page and of its answer 504, without the address of the page.
const ASK_BYTES: u64 = 80 + 75;
/// Beats without which a peer counts as gone.
const BEATS: u32 = 5;

impl Proxy {
    /// Starts a proxy, which runs until it is [stopped](Self::stop).
    ///
    /// # Errors
    /// An address is in use, or the cache is too large for a filter.
    pub async fn start(settings: Settings) -> Result<Arc<Self>> {
        let listener = TcpListener::bind(settings.me.http).await.context("pages")?;
        let peers = settings.peers.iter().map(|peer| peer.datagrams).collect();
        let link = Link::bind(settings.me.datagrams, peers).await.context("datagrams")?;
        let limits =
            Limits { retry: settings.beat, silence: BEATS * settings.beat, ..Limits::default() };
        let mut peers = Peers::new(KeyHasher::default(), limits);
        if let Some(key) = &settings.key {
            peers = peers.with_key(key.clone());
        }
        settings.peers.iter().for_each(|peer| {
            peers.add(&peer.name);
        });
        let summary = match settings.strategy {
            Strategy::Summaries(how) => Some(summary(&settings, how)?),
            _ => None,
        };
        let (publications, to_publish) = mpsc::unbounded_channel();
        let (stop, stopped) = watch::channel(false);
        let proxy = Arc::new(Self {
            start: Instant::now(),
            held: Mutex::new(Held { store: Store::new(settings.capacity), summary }),
            peers: Mutex::new(peers),
            link,
            client: Client::default(),
            waiting: Mutex::default(),
            next_query: AtomicU32::new(0),
            publications,
            stop,
            counts: Counts::default(),
            others: OnceLock::new(),
            truth: Mutex::default(),
            settings,
        });
        proxy.spawn(listener, stopped, to_publish);
        Ok(proxy)
    }

    /// The tasks of a proxy, each of which ends when it stops.
    fn spawn(
        self: &Arc<Self>,
        listener: TcpListener,
        stopped: watch::Receiver<bool>,
        to_publish: mpsc::UnboundedReceiver<Vec<u8>>,
    ) {
        spawn_until(stopped.clone(), self.clone().receive());
        if self.is_summarized() {
            spawn_until(stopped.clone(), self.clone().publish(to_publish));
            spawn_until(stopped.clone(), self.clone().beat());
        }
        let proxy = self.clone();
        tokio::spawn(http::serve(listener, stopped, move |request| {
            let proxy = proxy.clone();
            async move { proxy.answer(request).await }
        }));
    }

    /// Stops it, as a crash would: no word to anybody.
    pub fn stop(&self) {
        let _ = self.stop.send(true);
    }

    /// Lets it look into all proxies of a trial, to count what summaries get wrong.
    pub fn look_into(&self, proxies: &[Arc<Self>]) {
        let others = proxies.iter().filter(|proxy| proxy.settings.me != self.settings.me);
        let _ = self.others.set(others.map(Arc::downgrade).collect());
    }

    /// Returns what was counted with [`look_into`](Self::look_into).
    pub fn truth(&self) -> Truth {
        *self.truth.lock().expect("nobody panics with it")
    }

    /// Returns the pages that it holds.
    pub fn pages(&self) -> usize {
        self.held().store.len()
    }

    /// Returns the messages to other proxies, and their bytes.
    pub fn sent(&self) -> (u64, u64) {
        let of =
            |a: &AtomicU64, b: &AtomicU64| a.load(Ordering::Relaxed) + b.load(Ordering::Relaxed);
        let Self { link, counts, .. } = self;
        (of(&link.messages, &counts.packets), of(&link.bytes, &counts.bytes))
    }

    /// Returns the mean false positive rate of the filters that it keeps of its peers, from their own bits.
    pub fn fpp(&self) -> f64 {
        let peers = self.peers();
        let status = peers.status(self.now());
        status.iter().map(|peer| peer.fpp).sum::<f64>() / status.len().max(1) as f64
    }

    fn is_summarized(&self) -> bool {
        matches!(self.settings.strategy, Strategy::Summaries(_))
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().expect("nobody panics with it")
    }

    fn peers(&self) -> MutexGuard<'_, Peers> {
        self.peers.lock().expect("nobody panics with it")
    }

    fn member(&self, name: &str) -> Option<&Member> {
        self.settings.peers.iter().find(|peer| peer.name == name)
    }

    fn count(&self, counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts messages over connections.
    fn count_packets(&self, packets: u64, bytes: u64) {
        self.counts.packets.fetch_add(packets, Ordering::Relaxed);
        self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Answer {
        let path = request.uri().path().to_owned();
        if request.uri().host().is_some() {
            return self.page(request).await;
        }
        if self.comes_from_cut_link(&request) {
            return answer(StatusCode::SERVICE_UNAVAILABLE, "");
        }
        match (request.method(), path.as_str()) {
            (&Method::POST, "/umbel/summary") => self.full_copy(request).await,
            (&Method::GET, "/umbel/status") => answer(StatusCode::OK, self.status().to_string()),
            (&Method::GET, "/umbel/filter") => self.filter(request.uri().query()),
            (&Method::POST, "/umbel/weather") if self.settings.weather => {
                self.weather(request.uri().query().unwrap_or(""))
            }
            _ => answer(StatusCode::NOT_FOUND, "no such page"),
        }
    }

    /// Answers a client, or a peer that wants a page only if it is here.
    async fn page(&self, request: Request<Incoming>) -> Answer {
        let url = request.uri().to_string();
        let only_if_cached =
            request.headers().get(CACHE_CONTROL).is_some_and(|value| value == "only-if-cached");
        if only_if_cached {
            if self.comes_from_cut_link(&request) {
                return answer(StatusCode::SERVICE_UNAVAILABLE, "");
            }
            let page = self.held().store.get(&url);
            return match page {
                Some(page) => answer(StatusCode::OK, page),
                None => answer(StatusCode::GATEWAY_TIMEOUT, ""),
            };
        }
        self.count(&self.counts.requests);
        let page = self.held().store.get(&url);
        if let Some(page) = page {
            self.count(&self.counts.local);
            return answer(StatusCode::OK, page);
        }
        if let Some(page) = self.find_at_peers(&url).await {
            self.count(&self.counts.remote);
            self.keep(&url, page.clone());
            return answer(StatusCode::OK, page);
        }
        match self.client.get(self.settings.source, path_of(&url), &[]).await {
            Ok((StatusCode::OK, page)) => {
                self.keep(&url, page.clone());
                answer(StatusCode::OK, page)
            }
            Ok((status, body)) => answer(status, body),
            Err(error) => answer(StatusCode::BAD_GATEWAY, error.to_string()),
        }
    }

    /// The page, if a peer has it.
    async fn find_at_peers(&self, url: &str) -> Option<Bytes> {
        let names: Vec<String> = match self.settings.strategy {
            Strategy::Alone => return None,
            Strategy::AskAll => return self.fetch(&self.ask_all(url).await?, url).await,
            Strategy::Summaries(_) => {
                let peers = self.peers();
                peers.candidates(url, self.now()).iter().map(|one| one.peer.to_owned()).collect()
            }
        };
        self.compare(url, &names);
        for name in names {
            let page = self.fetch(self.member(&name)?, url).await;
            self.peers().note(&name, page.is_some());
            if page.is_some() {
                return page;
            }
        }
        None
    }

    /// The page from a peer that should have it.
    async fn fetch(&self, peer: &Member, url: &str) -> Option<Bytes> {
        if self.link.is_cut(peer.datagrams) {
            self.count(&self.counts.failures);
            return None;
        }
        let headers = [(CACHE_CONTROL, "only-if-cached"), (VIA, &*self.settings.me.name)];
        match self.client.get(peer.http, url, &headers).await {
            Ok((StatusCode::OK, page)) => Some(page),
            Ok((StatusCode::GATEWAY_TIMEOUT, _)) => {
                self.count(&self.counts.false_hits);
                self.count_packets(2, ASK_BYTES + url.len() as u64);
                None
            }
            _ => {
                self.count(&self.counts.failures);
                None
            }
        }
    }

    /// The first peer that answers "hit" to ICP.
    async fn ask_all(&self, url: &str) -> Option<Member> {
        let number = self.next_query.fetch_add(1, Ordering::Relaxed);
        let (sender, mut answers) = mpsc::unbounded_channel();
        self.waiting().insert(number, sender);
        let query = Message { opcode: Opcode::Query, number, url }.to_bytes();
        for peer in &self.settings.peers {
            self.link.send(peer.datagrams, &query).await;
        }
        let first_hit = async {
            for _ in &self.settings.peers {
                let (from, is_hit) = answers.recv().await?;
                if is_hit {
                    return self.settings.peers.iter().find(|peer| peer.datagrams == from).cloned();
                }
            }
            None
        };
        let found = tokio::time::timeout(ICP_PATIENCE, first_hit).await;
        self.waiting().remove(&number);
        found.ok().flatten()
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().expect("nobody panics with it")
    }

    /// Takes a page into the cache, and its summary; publishes that if it is due.
    fn keep(&self, url: &str, page: Bytes) {
        let Held { store, summary } = &mut *self.held();
        let (is_new, left) = store.insert(url, page);
        let Some(summary) = summary else { return };
        if is_new {
            summary.insert(url);
        }
        for url in &left {
            summary.remove(url);
        }
        // Without memory for a larger filter, peers keep the one they have.
        if let Ok(Some(message)) = summary.publish(|| store.urls()) {
            let _ = self.publications.send(message);
        }
    }

    /// Sends publications to all peers, one after another.
    async fn publish(self: Arc<Self>, mut messages: mpsc::UnboundedReceiver<Vec<u8>>) {
        while let Some(message) = messages.recv().await {
            for peer in &self.settings.peers {
                self.link.send(peer.datagrams, &message).await;
            }
        }
    }

    async fn beat(self: Arc<Self>) {
        loop {
            let beat = self.held().summary.as_mut().map(Summary::beat);
            let _ = beat.map(|beat| self.publications.send(beat));
            tokio::time::sleep(self.settings.beat).await;
        }
    }

    /// Takes datagrams.
    async fn receive(self: Arc<Self>) {
        loop {
            let Ok((from, bytes)) = self.link.receive().await else { continue };
            match Message::read(&bytes) {
                Some(Message { opcode: Opcode::Query, number, url }) => {
                    let has = self.held().store.has(url);
                    let opcode = if has { Opcode::Hit } else { Opcode::Miss };
                    self.link.send(from, &Message { opcode, number, url }.to_bytes()).await;
                }
                Some(Message { opcode, number, .. }) => {
                    if let Some(sender) = self.waiting().get(&number) {
                        let _ = sender.send((from, opcode == Opcode::Hit));
                    }
                }
                None => self.take(from, &bytes),
            }
        }
    }

    /// Takes a message about a summary; requests a full copy if one is needed.
    fn take(self: &Arc<Self>, from: SocketAddr, message: &[u8]) {
        let peer = self.settings.peers.iter().find(|peer| peer.datagrams == from);
        let Some(peer) = peer else { return };
        let received = self.peers().receive(&peer.name, message, self.now());
        if let Ok(received) = received
            && let Step::Missing(Some(request)) = received.step
        {
            let (proxy, peer) = (self.clone(), peer.clone());
            tokio::spawn(async move { proxy.request_copy(&peer, request).await });
        }
    }

    async fn request_copy(&self, peer: &Member, request: Vec<u8>) {
        if self.link.is_cut(peer.datagrams) {
            return;
        }
        self.count_packets(1, request.len() as u64);
        let headers = [(VIA, &*self.settings.me.name)];
        let answered =
            self.client.post(peer.http, "/umbel/summary", &headers, request.into()).await;
        if let Ok((StatusCode::OK, copy)) = answered {
            // If it is not the copy, the next beat shows that.
            let _ = self.peers().receive(&peer.name, &copy, self.now());
        }
    }

    /// Answers a request for a full copy.
    async fn full_copy(&self, request: Request<Incoming>) -> Answer {
        let body = Limited::new(request.into_body(), REQUEST_BYTES);
        let Ok(request) = body.collect().await else {
            return answer(StatusCode::BAD_REQUEST, "");
        };
        let request = request.to_bytes();
        let copy =
            self.held().summary.as_mut().map(|summary| summary.answer(&request, Address::Verified));
        match copy {
            Some(Ok(copy)) => {
                self.count(&self.counts.full_copies);
                self.count_packets(copy.len().div_ceil(DATAGRAM) as u64, copy.len() as u64);
                answer(StatusCode::OK, copy)
            }
            Some(Err(error)) => answer(StatusCode::BAD_REQUEST, error.to_string()),
            None => answer(StatusCode::NOT_FOUND, "no summary here"),
        }
    }

    /// Counts what the summaries get wrong about a page.
    fn compare(&self, url: &str, named: &[String]) {
        let (Some(others), Strategy::Summaries(how)) = (self.others.get(), self.settings.strategy)
        else {
            return;
        };
        let mut truth = Truth::default();
        let (mut is_held, mut is_found) = (false, false);
        for other in others.iter().filter_map(Weak::upgrade) {
            let (place, pages) = {
                let held = other.held();
                (held.store.place(url), held.store.len())
            };
            let due = (how.threshold * pages as f64).ceil().max(1.0);
            // A change with `later` ones after it is not yet published if there are more than that since the last
            // publication, of which there may be 0 to due − 1.
            let unpublished = |later: u64| (1.0 - (later + 1) as f64 / due).max(0.0);
            let is_named = named.contains(&other.settings.me.name);
            truth.pairs += 1;
            match place {
                Place::Here(since) => {
                    truth.held += 1;
                    truth.unseen += unpublished(since - 1);
                    truth.false_misses += u64::from(!is_named);
                    is_held = true;
                    is_found |= is_named;
                }
                Place::Gone(since) => {
                    truth.gone += unpublished(since);
                    truth.false_hits += u64::from(is_named);
                }
                Place::Nowhere => truth.false_hits += u64::from(is_named),
            }
        }
        truth.missed_requests += u64::from(is_held && !is_found);
        self.truth.lock().expect("nobody panics with it").add(&truth);
    }

    /// Whether a request is of a peer to which the link is cut.
    fn comes_from_cut_link(&self, request: &Request<Incoming>) -> bool {
        let name = request.headers().get(VIA).and_then(|name| name.to_str().ok());
        let peer = name.and_then(|name| self.member(name));
        peer.is_some_and(|peer| self.link.is_cut(peer.datagrams))
    }

    fn status(&self) -> serde_json::Value {
        let version = self.held().summary.as_ref().map(Summary::version);
        let peers = self.peers();
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        let peers: Vec<_> = peers
            .status(self.now())
            .iter()
            .map(|peer| {
                json!({
                    "peer": peer.peer, "version": peer.version, "is_current": peer.is_current,
                    "behind": peer.behind, "age": seconds(peer.age), "silent": seconds(peer.silent),
                    "keys": peer.keys, "gone": peer.gone, "unseen": peer.unseen, "fpp": peer.fpp,
                    "hit_rate": peer.hit_rate, "bytes": peer.bytes,
                })
            })
            .collect();
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counts { requests, local, remote, false_hits, failures, full_copies, .. } =
            &self.counts;
        json!({
            "name": self.settings.me.name, "version": version, "pages": self.pages(),
            "requests": of(requests), "local": of(local), "remote": of(remote),
            "false_hits": of(false_hits), "failures": of(failures), "full_copies": of(full_copies),
            "messages": self.sent().0, "message_bytes": self.sent().1, "peers": peers,
        })
    }

    /// The file of the published filter, or of the one kept of a peer.
    fn filter(&self, peer: Option<&str>) -> Answer {
        let file = match peer {
            None => self.held().summary.as_ref().map(|summary| summary.published().to_vec()),
            Some(name) => self.peers().filter(name).map(|filter| filter.to_bytes()),
        };
        match file {
            Some(file) => answer(StatusCode::OK, file),
            None => answer(StatusCode::NOT_FOUND, "no filter"),
        }
    }

    /// Lets links fail, for trials: `cut=NAME`, `mend=NAME`, or `lost=N&repeated=N&late=N`.
    fn weather(&self, query: &str) -> Answer {
        let mut weather = Weather::default();
        for (what, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            let number = value.parse().unwrap_or(0);
            match (what, self.member(value)) {
                ("cut", Some(peer)) => self.link.cut(peer.datagrams, true),
                ("mend", Some(peer)) => self.link.cut(peer.datagrams, false),
                ("lost", _) => weather.lost = number,
                ("repeated", _) => weather.repeated = number,
                ("late", _) => weather.late = number,
                _ => return answer(StatusCode::BAD_REQUEST, "no such weather"),
            }
        }
        let seed = self.settings.me.name.bytes().map(u64::from).sum();
        self.link.set_weather(weather, seed);
        answer(StatusCode::OK, "")
    }
}

/// Runs a task until `stopped` is set.
fn spawn_until(
    mut stopped: watch::Receiver<bool>,
    task: impl Future<Output = ()> + Send + 'static,
) {
    tokio::spawn(async move {
        tokio::select! {
            () = task => {}
            _ = stopped.wait_for(|stop| *stop) => {}
        }
    });
}

/// The summary of an empty cache, planned for as many pages as it will hold. The epoch is the time of the start.
fn summary(settings: &Settings, how: SummarySettings) -> Result<Summary> {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    let pages = (settings.capacity / MEAN_SIZE).max(1);
    let epoch = time.as_nanos() as u64;
    let name = &settings.me.name;
    let summary = Summary::new(name, epoch, pages + pages / 20, how, KeyHasher::default())?;
    Ok(match &settings.key {
        Some(key) => summary.with_key(key.clone()),
        None => summary,
    })
}

/// The path of a page at the source, which is one server for all hosts.
fn path_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.find('/').map_or("/", |at| &rest[at..])
}
