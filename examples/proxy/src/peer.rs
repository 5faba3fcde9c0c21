//! Another proxy: whether it is asked, its record of answers, and its cache digest if it is a sibling that serves one.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CACHE_CONTROL, EXPIRES, HOST, HeaderValue, LAST_MODIFIED};
use hyper::http::request;
use hyper::{Request, Response, StatusCode, Uri};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::digest::Digest;
use crate::upstream::Link;

/// Where Squid, and this proxy, serve their digests.
pub(crate) const DIGEST_PATH: &str = "/squid-internal-periodic/store_digest";
/// The media type of a digest.
pub(crate) const DIGEST_TYPE: &str = "application/cache-digest";

/// How long a peer may take to answer; the origin is asked afterwards.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a peer that does not answer is left alone.
const REST: Duration = Duration::from_secs(10);
/// How long fetching a digest or a full copy of a summary may take.
const FETCH: Duration = Duration::from_secs(60);
/// Squid counts the bits of a digest in 31 bits.
const LARGEST: usize = 1 << 28;

/// Another proxy. It is asked only for objects in its cache, so requests do not go round in circles.
pub(crate) struct Peer {
    link: Link,
    digest: Mutex<Option<Digest>>,
    rests_until: Mutex<Option<Instant>>,
    counts: Counts,
}

#[derive(Default, Serialize)]
struct Counts {
    /// Objects requested from it.
    asked: AtomicU64,
    hits: AtomicU64,
    /// It lacked an object that its filter has.
    false_hits: AtomicU64,
    /// It did not answer, or refused to.
    failures: AtomicU64,
    digests: AtomicU64,
    failed_digests: AtomicU64,
}

impl Peer {
    /// # Errors
    /// If it is not `HOST:PORT`.
    pub(crate) fn new(address: &str) -> Result<Self> {
        let uri: Option<Uri> = format!("http://{address}/").parse().ok();
        uri.filter(|uri: &Uri| uri.port().is_some() && uri.path() == "/")
            .with_context(|| format!("{address}: expected HOST:PORT"))?;
        Ok(Self {
            link: Link::new(address.to_owned()),
            digest: Mutex::default(),
            rests_until: Mutex::default(),
            counts: Counts::default(),
        })
    }

    pub(crate) fn address(&self) -> &str {
        self.link.address()
    }

    /// Fetches its digest, now and whenever it expires, but not within `gap` of the last time.
    pub(crate) async fn keep_digest(&self, gap: Duration) {
        loop {
            let lasts = match self.fetch_digest().await {
                Ok(digest) => {
                    self.counts.digests.fetch_add(1, Relaxed);
                    let expires = digest.expires;
                    *self.digest.lock().expect("no panic") = Some(digest);
                    expires.duration_since(SystemTime::now()).unwrap_or_default()
                }
                // The old digest may still be right.
                Err(error) => {
                    eprintln!("umbel-proxy: the digest of {}: {error:#}", self.address());
                    self.counts.failed_digests.fetch_add(1, Relaxed);
                    Duration::ZERO
                }
            };
            tokio::time::sleep(lasts.max(gap)).await;
        }
    }

    async fn fetch_digest(&self) -> Result<Digest> {
        let request = Request::get(DIGEST_PATH).header(ACCEPT, DIGEST_TYPE);
        let response = self.fetch(request, Bytes::new()).await?;
        let now = SystemTime::now();
        let date =
            |name| httpdate::parse_http_date(response.headers().get(name)?.to_str().ok()?).ok();
        // By the clock of the sibling.
        let made = date(LAST_MODIFIED).unwrap_or(now);
        Digest::read(made, date(EXPIRES).unwrap_or(now), response.into_body())
    }

    /// Fetches something of the proxy itself.
    pub(crate) async fn fetch(
        &self,
        request: request::Builder,
        body: Bytes,
    ) -> Result<Response<Bytes>> {
        let request = request.header(HOST, self.address()).body(Full::new(body))?;
        timeout(FETCH, async {
            let (head, body) = self.link.send(request).await?.into_parts();
            ensure!(head.status == StatusCode::OK, "{}", head.status);
            let body = Limited::new(body, LARGEST).collect().await;
            let body = body.map_err(anyhow::Error::from_boxed)?.to_bytes();
            Ok(Response::from_parts(head, body))
        })
        .await?
    }

    /// Returns whether its digest has an object.
    pub(crate) fn digest_has(&self, url: &str) -> bool {
        self.digest.lock().expect("no panic").as_ref().is_some_and(|digest| digest.has(url))
    }

    /// Returns the share of questions that it could not answer, with one answered and one unanswered question added.
    pub(crate) fn disappointment(&self) -> f64 {
        let asked = self.counts.asked.load(Relaxed) + 2;
        let hits = self.counts.hits.load(Relaxed) + 1;
        1.0 - hits as f64 / asked as f64
    }

    /// Asks it for an object that it should hold, unless it did not answer a moment ago; nothing if it does not hold it after
    /// all.
    pub(crate) async fn ask(&self, head: &request::Parts) -> Option<Response<Incoming>> {
        let rests = *self.rests_until.lock().expect("no panic");
        if rests.is_some_and(|end| Instant::now() < end) {
            return None;
        }
        let mut request = Request::from_parts(head.clone(), Full::default());
        let only_if_cached = HeaderValue::from_static("only-if-cached");
        request.headers_mut().append(CACHE_CONTROL, only_if_cached);
        self.counts.asked.fetch_add(1, Relaxed);
        let Ok(Ok(response)) = timeout(PATIENCE, self.link.send(request)).await else {
            self.counts.failures.fetch_add(1, Relaxed);
            *self.rests_until.lock().expect("no panic") = Some(Instant::now() + REST);
            return None;
        };
        let status = response.status();
        // If a peer refuses a page, to us or to everyone, the origin may still grant it.
        let is_answer = status.is_success() || status.is_redirection();
        let count = match status {
            _ if is_answer => &self.counts.hits,
            StatusCode::GATEWAY_TIMEOUT => &self.counts.false_hits,
            _ => &self.counts.failures,
        };
        count.fetch_add(1, Relaxed);
        is_answer.then_some(response)
    }

    /// Its figures.
    pub(crate) fn status(&self) -> Value {
        let mut status = json!(self.counts);
        status["address"] = self.address().into();
        status["digest"] =
            json!(self.digest.lock().expect("no panic").as_ref().map(Digest::status));
        status
    }
}
