//! A sibling: its digest, whether it is asked, and what came of it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CACHE_CONTROL, EXPIRES, HeaderValue, LAST_MODIFIED};
use hyper::http::request;
use hyper::{Method, Request, Response, StatusCode, Uri};
use serde::Serialize;
use tokio::time::timeout;
use umbel_foreign::squid::Squid;
use umbel_foreign::{ForeignFilter, Format, Key, Parameters};

use crate::upstream::{self, Body, Upstream};

/// Where Squid, and this proxy, serve their digests.
pub(crate) const DIGEST_PATH: &str = "/squid-internal-periodic/store_digest";
/// The media type of a digest.
pub(crate) const DIGEST_TYPE: &str = "application/cache-digest";

/// How long a sibling may take to answer; the origin is asked afterwards.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a sibling that does not answer is left alone.
const REST: Duration = Duration::from_secs(10);
/// How long fetching a digest may take.
const FETCH: Duration = Duration::from_secs(60);
/// Squid counts the bits of a digest in 31 bits.
const LARGEST_DIGEST: usize = 1 << 28;
/// Squid does not use digests with a larger share of bits set.
const FULLEST: f64 = 0.65;

/// A sibling. It is asked only for what it holds, so siblings that ask each other do not go round in circles.
pub(crate) struct Sibling {
    address: String,
    digest: Mutex<Option<Digest>>,
    rests_until: Mutex<Option<Instant>>,
    client: Upstream,
    digests: Upstream,
    counts: Counts,
}

struct Digest {
    filter: Squid<Bytes>,
    /// By the clock of the sibling.
    made: SystemTime,
    /// From the receipt, which takes a pass over the bits.
    keys: f64,
    rate: f64,
}

#[derive(Default, Serialize)]
struct Counts {
    /// Objects that it was asked for because its digest has them.
    asked: AtomicU64,
    hits: AtomicU64,
    /// It did not hold what its digest has.
    false_hits: AtomicU64,
    /// It did not answer, or refused to.
    failures: AtomicU64,
    digests: AtomicU64,
    failed_digests: AtomicU64,
}

/// The figures of a sibling.
#[derive(Serialize)]
pub(crate) struct Figures<'a> {
    address: &'a str,
    #[serde(flatten)]
    counts: &'a Counts,
    digest: Option<DigestFigures>,
}

#[derive(Serialize)]
struct DigestFigures {
    age_seconds: u64,
    bytes: u64,
    /// Keys, estimated from the bits.
    keys: f64,
    /// The share of absent URLs that pass.
    rate: f64,
}

impl Sibling {
    /// # Errors
    /// If it is not `HOST:PORT`.
    pub(crate) fn new(address: &str) -> Result<Self> {
        let uri: Uri = format!("http://{address}/")
            .parse()
            .ok()
            .filter(|uri: &Uri| uri.port().is_some() && uri.path() == "/")
            .with_context(|| format!("{address}: expected HOST:PORT"))?;
        Ok(Self {
            address: address.to_owned(),
            digest: Mutex::default(),
            rests_until: Mutex::default(),
            client: upstream::through(uri),
            digests: upstream::direct(true),
            counts: Counts::default(),
        })
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Fetches its digest, now and each time that it expires, but not within `gap` of the last time.
    pub(crate) async fn keep_digest(&self, gap: Duration) {
        loop {
            let fetched = timeout(FETCH, self.fetch_digest()).await;
            let fetched = fetched.map_err(anyhow::Error::from).and_then(|fetched| fetched);
            let lasts = match fetched {
                Ok((digest, lasts)) => {
                    *self.digest.lock().expect("no panic") = Some(digest);
                    self.counts.digests.fetch_add(1, Relaxed);
                    lasts
                }
                // What it held before, it may hold still.
                Err(error) => {
                    eprintln!("squid-peer: the digest of {}: {error:#}", self.address);
                    self.counts.failed_digests.fetch_add(1, Relaxed);
                    Duration::ZERO
                }
            };
            tokio::time::sleep(lasts.max(gap)).await;
        }
    }

    /// Fetches its digest; also returns how long that will be its newest.
    async fn fetch_digest(&self) -> Result<(Digest, Duration)> {
        let request = Request::get(format!("http://{}{DIGEST_PATH}", self.address))
            .header(ACCEPT, DIGEST_TYPE)
            .body(nothing())?;
        let response = self.digests.request(request).await?;
        ensure!(response.status() == StatusCode::OK, "{}", response.status());
        let now = SystemTime::now();
        let date =
            |name| httpdate::parse_http_date(response.headers().get(name)?.to_str().ok()?).ok();
        let made = date(LAST_MODIFIED).unwrap_or(now);
        let lasts = date(EXPIRES).and_then(|time| time.duration_since(now).ok());
        let body = Limited::new(response.into_body(), LARGEST_DIGEST).collect().await;
        let file = body.map_err(anyhow::Error::from_boxed)?.to_bytes();
        let filter = Squid::decode(Format::Squid, file, &Parameters::default())?;
        let receipt = filter.receipt();
        ensure!(receipt.fill <= FULLEST, "{:.0} % of its bits are set", 100.0 * receipt.fill);
        let (keys, rate) = (receipt.keys.value, receipt.fpp);
        Ok((Digest { filter, made, keys, rate }, lasts.unwrap_or_default()))
    }

    /// Returns whether it may hold an object, by its digest, and is likely to answer.
    pub(crate) fn may_hold(&self, url: &str) -> bool {
        let rests = self.rests_until.lock().expect("no panic");
        if rests.is_some_and(|end| Instant::now() < end) {
            return false;
        }
        let digest = self.digest.lock().expect("no panic");
        let found = digest.as_ref().map(|digest| digest.filter.contains(Key::from(url)));
        found.is_some_and(|found| found.expect("a digest takes all texts"))
    }

    /// Returns the share of questions that it could not answer, as if it had already answered one, and one not.
    pub(crate) fn disappointment(&self) -> f64 {
        let asked = self.counts.asked.load(Relaxed) + 2;
        let hits = self.counts.hits.load(Relaxed) + 1;
        1.0 - hits as f64 / asked as f64
    }

    /// Asks it for an object that its digest has; nothing if it does not hold it after all.
    pub(crate) async fn ask(&self, head: &request::Parts) -> Option<Response<Incoming>> {
        let mut request = Request::new(nothing());
        *request.method_mut() = Method::GET;
        *request.uri_mut() = head.uri.clone();
        *request.headers_mut() = head.headers.clone();
        let only_if_cached = HeaderValue::from_static("only-if-cached");
        request.headers_mut().append(CACHE_CONTROL, only_if_cached);
        self.counts.asked.fetch_add(1, Relaxed);
        let Ok(Ok(response)) = timeout(PATIENCE, self.client.request(request)).await else {
            self.counts.failures.fetch_add(1, Relaxed);
            *self.rests_until.lock().expect("no panic") = Some(Instant::now() + REST);
            return None;
        };
        let status = response.status();
        // What a sibling refuses, to us or to everyone, the origin may grant.
        let is_answer = status.is_success() || status.is_redirection();
        let count = match status {
            _ if is_answer => &self.counts.hits,
            StatusCode::GATEWAY_TIMEOUT => &self.counts.false_hits,
            _ => &self.counts.failures,
        };
        count.fetch_add(1, Relaxed);
        is_answer.then_some(response)
    }

    pub(crate) fn figures(&self) -> Figures<'_> {
        let digest = self.digest.lock().expect("no panic");
        let digest = digest.as_ref().map(|digest| DigestFigures {
            age_seconds: digest.made.elapsed().unwrap_or_default().as_secs(),
            bytes: digest.filter.bytes(),
            keys: digest.keys,
            rate: digest.rate,
        });
        Figures { address: &self.address, counts: &self.counts, digest }
    }
}

/// The body of a request that has none.
fn nothing() -> Body {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}
