//! The way of a request: the cache, then the proxies whose filter has it, then the origin.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use futures_util::stream::{self, StreamExt};
use http_body_util::{BodyExt, BodyStream, Full, Limited, StreamBody};
use http_cache_semantics::CachePolicy;
use hyper::body::{Body as _, Bytes, Frame, Incoming};
use hyper::header::{
    AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, DATE, EXPIRES, HOST,
    HeaderMap, HeaderName, HeaderValue, LAST_MODIFIED, PRAGMA, VIA,
};
use hyper::http::request;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use serde_json::json;
use tokio::time::timeout;

use crate::Settings;
use crate::cache::{Cache, Object};
use crate::digest::{Digest, OwnDigest};
use crate::group::{self, COPY_PATH, Group};
use crate::peer::{DIGEST_PATH, DIGEST_TYPE, Peer};
use crate::upstream::{Body, Origins, is_private};
use crate::uri::canonical;

/// How long an origin may take for the head of its answer, and a sibling for all that is stored.
const PATIENCE: Duration = Duration::from_secs(30);

/// The bytes of a digest before its bits.
const DIGEST_HEADER: usize = 128;
/// How long a sibling has to read the header of a digest.
const MOMENT: Duration = Duration::from_millis(200);
/// Bytes of the largest request for a full copy that is read; all have less than 128.
const LARGEST_REQUEST: usize = 1 << 10;

/// The proxy.
pub(crate) struct Proxy {
    address: SocketAddr,
    via: HeaderValue,
    largest: usize,
    cache: Arc<Cache>,
    digest: OwnDigest,
    siblings: Vec<Arc<Peer>>,
    group: Option<Arc<Group>>,
    origins: Origins,
    started: Instant,
    counts: Counts,
}

#[derive(Default, serde::Serialize)]
struct Counts {
    all: AtomicU64,
    hits: AtomicU64,
    /// Found at siblings and peers.
    sibling_hits: AtomicU64,
    origin: AtomicU64,
    /// Requests from siblings and peers, which only the cache may answer.
    asked: AtomicU64,
    /// Absent objects: their false hits.
    denied: AtomicU64,
    digests_served: AtomicU64,
}

/// An answer and its source, in the terms of Squid's access log.
struct Answer {
    response: Response<Body>,
    result: &'static str,
    from: String,
}

impl Proxy {
    /// Makes the proxy of this address, and starts the exchange of filters.
    pub(crate) async fn start(settings: &Settings, address: SocketAddr) -> Result<Arc<Self>> {
        let siblings = settings.siblings.iter().map(|address| Peer::new(address).map(Arc::new));
        let siblings: Vec<_> = siblings.collect::<Result<_>>()?;
        let cache = Arc::new(Cache::new(settings.memory, group::own_summary(settings)?));
        let group = Group::start(settings, &cache).await?;
        for sibling in &siblings {
            let (sibling, gap) = (Arc::clone(sibling), settings.digest_gap);
            tokio::spawn(async move { sibling.keep_digest(gap).await });
        }
        Ok(Arc::new(Self {
            address,
            via: HeaderValue::try_from(format!("1.1 {}", settings.name))?,
            largest: usize::try_from(settings.largest)?,
            digest: OwnDigest {
                bits_per_entry: settings.bits_per_entry,
                period: settings.digest_period,
                last: Mutex::default(),
            },
            origins: Origins::new(settings.allow_private),
            started: Instant::now(),
            counts: Counts::default(),
            cache,
            siblings,
            group,
        }))
    }

    /// Answers a request, and writes a line of the access log.
    pub(crate) async fn answer(
        &self,
        request: Request<Incoming>,
        client: SocketAddr,
    ) -> Response<Body> {
        let started = Instant::now();
        let (method, url) = (request.method().clone(), request.uri().clone());
        let Answer { response, result, from } = match canonical(&url) {
            _ if self.is_own(&url) => self.internal(request).await,
            Some(url) => self.fetch(request, url).await,
            None => refuse(StatusCode::NOT_IMPLEMENTED, "only http:// URLs are proxied"),
        };
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        println!(
            "{}.{:03} {:6} {} {result}/{} {} {method} {url} - {from} {}",
            time.as_secs(),
            time.subsec_millis(),
            started.elapsed().as_millis(),
            client.ip(),
            response.status().as_u16(),
            size(&response).map_or("-".to_owned(), |bytes| bytes.to_string()),
            response.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or("-"),
        );
        response
    }

    /// Whether a URL is one of this proxy itself: a path alone, or with its address.
    fn is_own(&self, url: &Uri) -> bool {
        match url.authority() {
            None => url.path().starts_with('/'),
            Some(authority) => authority.as_str() == self.address.to_string(),
        }
    }

    async fn internal(&self, request: Request<Incoming>) -> Answer {
        let response = match (request.method(), request.uri().path(), &self.group) {
            (&Method::GET, DIGEST_PATH, _) => self.serve_digest(),
            (&Method::GET, "/status", _) => Ok(self.status().map(whole)),
            (&Method::GET, "/umbel/filter", Some(group)) => {
                // Our published one, or the one that is kept for a peer.
                let file = match request.uri().query() {
                    Some(name) => group.filter(name),
                    None => self.cache.summary(|it| it.published().to_vec().into()),
                };
                file.map(|file| Response::new(whole(file))).context("no such filter")
            }
            (&Method::POST, COPY_PATH, Some(group)) => {
                let body = Limited::new(request.into_body(), LARGEST_REQUEST).collect().await;
                let copy = body.ok().and_then(|it| group.full_copy(&it.to_bytes(), &self.cache));
                copy.map(|copy| Response::new(whole(copy))).context("no request for a copy")
            }
            _ => return refuse(StatusCode::NOT_FOUND, "see /status"),
        };
        match response {
            Ok(response) => answer(response, "TCP_MEM_HIT", "HIER_NONE/-"),
            Err(error) => refuse(StatusCode::BAD_REQUEST, &error.to_string()),
        }
    }

    /// The digest. It is never "not modified": Squid cannot use that answer for a digest that it has on disk only.
    fn serve_digest(&self) -> Result<Response<Body>> {
        let digest = self.digest.current(&self.cache)?;
        self.counts.digests_served.fetch_add(1, Relaxed);
        Ok(Response::builder()
            .header(CONTENT_TYPE, DIGEST_TYPE)
            .header(LAST_MODIFIED, httpdate::fmt_http_date(digest.made))
            .header(EXPIRES, httpdate::fmt_http_date(digest.expires))
            .header(CONTENT_LENGTH, digest.file.len())
            .body(in_two_parts(digest.file))?)
    }

    fn status(&self) -> Response<Bytes> {
        let digest = self.digest.last.lock().expect("no panic").as_ref().map(Digest::status);
        let siblings: Vec<_> = self.siblings.iter().map(|sibling| sibling.status()).collect();
        let status = json!({
            "uptime_seconds": self.started.elapsed().as_secs(),
            "requests": self.counts,
            "cache": self.cache.status(),
            "digest": digest,
            "siblings": siblings,
            "summary": self.cache.summary(|it| json!({ "version": it.version(), "keys": it.keys() })),
            "group": self.group.as_ref().map(|group| group.status()),
        });
        let mut response = Response::new(format!("{status:#}\n").into());
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        response
    }

    /// Answers a request for a URL, which is spelled as Squid does.
    async fn fetch(&self, request: Request<Incoming>, url: Uri) -> Answer {
        self.counts.all.fetch_add(1, Relaxed);
        let (mut head, body) = request.into_parts();
        let is_simple = body.is_end_stream();
        let only_if_cached = asks(&head.headers, "only-if-cached");
        remove_hop_by_hop(&mut head.headers);
        let host = url.authority().and_then(|host| HeaderValue::try_from(host.as_str()).ok());
        head.headers.insert(HOST, host.expect("a canonical URL has a host"));
        head.headers.append(VIA, self.via.clone());
        (head.uri, head.version) = (url, Version::HTTP_11);

        if only_if_cached {
            self.counts.asked.fetch_add(1, Relaxed);
        }
        if let Some(response) = self.held(&head) {
            self.counts.hits.fetch_add(1, Relaxed);
            return answer(response.map(whole), "TCP_MEM_HIT", "HIER_NONE/-");
        }
        if only_if_cached {
            self.counts.denied.fetch_add(1, Relaxed);
            return refuse(StatusCode::GATEWAY_TIMEOUT, "not held");
        }
        if is_simple
            && may_come_from_sibling(&head)
            && let Some(answer) = self.ask_siblings(&head).await
        {
            return answer;
        }
        self.ask_origin(head, body).await
    }

    /// The cached answer to `GET`; it also serves for `HEAD`, since the server sends only its head then.
    fn held(&self, head: &request::Parts) -> Option<Response<Bytes>> {
        let mut get = head.clone();
        get.method = Method::GET;
        [Method::GET, Method::HEAD].contains(&head.method).then(|| self.cache.answer(&get))?
    }

    /// Asks the siblings whose digest has the URL, the most reliable first, and then peers of the group.
    async fn ask_siblings(&self, head: &request::Parts) -> Option<Answer> {
        let url = head.uri.to_string();
        let mut may: Vec<_> = self.siblings.iter().filter(|it| it.digest_has(&url)).collect();
        may.sort_by(|a, b| a.disappointment().total_cmp(&b.disappointment()));
        for sibling in may {
            if let Some(answer) = self.ask(sibling, head).await {
                return Some(answer);
            }
        }
        let group = self.group.as_ref()?;
        for (member, peer) in group.candidates(&url).await {
            let answer = self.ask(peer, head).await;
            group.note(member, answer.is_some());
            if answer.is_some() {
                return answer;
            }
        }
        None
    }

    async fn ask(&self, peer: &Peer, head: &request::Parts) -> Option<Answer> {
        let response = peer.ask(head).await?;
        let response = timeout(PATIENCE, self.keep(head, response)).await.ok()?.ok()?;
        self.counts.sibling_hits.fetch_add(1, Relaxed);
        let from = format!("CD_SIBLING_HIT/{}", peer.address());
        Some(answer(response, "TCP_MISS", &from))
    }

    async fn ask_origin(&self, head: request::Parts, body: Incoming) -> Answer {
        self.counts.origin.fetch_add(1, Relaxed);
        if !head.method.is_safe() {
            self.cache.forget(&head.uri.to_string());
        }
        let request = Request::from_parts(head.clone(), body.boxed_unsync());
        let response = match timeout(PATIENCE, self.origins.request(request)).await {
            Ok(Ok(response)) => self.keep(&head, response).await,
            Ok(Err(error)) => {
                let status = match is_private(&error) {
                    true => StatusCode::FORBIDDEN,
                    false => StatusCode::BAD_GATEWAY,
                };
                return refuse(status, &format!("{error:#}"));
            }
            Err(_) => return refuse(StatusCode::GATEWAY_TIMEOUT, "the origin does not answer"),
        };
        let from = format!("HIER_DIRECT/{}", head.uri.authority().map_or("-", |it| it.as_str()));
        match response {
            Ok(response) => answer(response, "TCP_MISS", &from),
            Err(error) => refuse(StatusCode::BAD_GATEWAY, &error.to_string()),
        }
    }

    /// Stores a response if it may be, and returns it for the client.
    async fn keep(
        &self,
        request: &request::Parts,
        response: Response<Incoming>,
    ) -> hyper::Result<Response<Body>> {
        let (mut head, body) = response.into_parts();
        remove_hop_by_hop(&mut head.headers);
        head.headers.append(VIA, self.via.clone());
        let now = SystemTime::now();
        let date = || HeaderValue::try_from(httpdate::fmt_http_date(now)).expect("a date is ASCII");
        let date = head.headers.entry(DATE).or_insert_with(date).clone();
        let policy = CachePolicy::new(request, &head);
        let is_wanted = request.method == Method::GET
            && head.status == StatusCode::OK
            && policy.is_storable()
            && !policy.is_stale(now);
        if !is_wanted {
            return Ok(Response::from_parts(head, body.boxed_unsync()));
        }
        let body = match read(body, self.largest).await? {
            Extent::Whole(body) => {
                let object = Object { policy, date, body: body.clone() };
                let message = self.cache.store(request.uri.to_string(), object);
                if let (Some(message), Some(group)) = (message, &self.group) {
                    group.publish(message, &self.cache);
                }
                whole(body)
            }
            Extent::Larger(body) => body,
        };
        Ok(Response::from_parts(head, body))
    }
}

/// A body that was read up to a limit.
enum Extent {
    Whole(Bytes),
    /// A larger one: the part that was read, and then the rest.
    Larger(Body),
}

async fn read(mut body: Incoming, limit: usize) -> hyper::Result<Extent> {
    let mut read = Vec::new();
    while body.size_hint().lower() + read.len() as u64 <= limit as u64 {
        let Some(frame) = body.frame().await else {
            return Ok(Extent::Whole(read.into()));
        };
        if let Ok(data) = frame?.into_data() {
            read.extend_from_slice(&data);
        }
    }
    let read = stream::iter([Ok(Frame::data(Bytes::from(read)))]);
    Ok(Extent::Larger(StreamBody::new(read.chain(BodyStream::new(body))).boxed_unsync()))
}

/// A digest: first its header, and a moment later the rest. A Squid with bug 5510 (5.7 has it, and all since 2002) that
/// receives more than the header at first puts all but 128 bytes of it into the wrong place, and then misses most
/// objects of a sibling with up to some thousands.
fn in_two_parts(digest: Bytes) -> Body {
    let (header, mask) = (digest.slice(..DIGEST_HEADER), digest.slice(DIGEST_HEADER..));
    let later = async {
        tokio::time::sleep(MOMENT).await;
        Ok(Frame::data(mask))
    };
    StreamBody::new(stream::iter([Ok(Frame::data(header))]).chain(stream::once(later)))
        .boxed_unsync()
}

fn whole(body: Bytes) -> Body {
    Full::new(body).map_err(|never| match never {}).boxed_unsync()
}

fn answer(response: Response<Body>, result: &'static str, from: &str) -> Answer {
    Answer { response, result, from: from.to_owned() }
}

fn refuse(status: StatusCode, why: &str) -> Answer {
    let mut response = Response::new(whole(format!("umbel-proxy: {why}\n").into()));
    *response.status_mut() = status;
    answer(response, "TCP_MISS", "HIER_NONE/-")
}

/// The bytes of a body, if they are known before it ends.
fn size(response: &Response<Body>) -> Option<u64> {
    let declared = || response.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok();
    response.body().size_hint().exact().or_else(declared)
}

/// The items of a header that is a list.
fn listed(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

/// Whether a request has a directive in `Cache-Control`.
fn asks(headers: &HeaderMap, directive: &str) -> bool {
    listed(headers, CACHE_CONTROL).any(|it| it.eq_ignore_ascii_case(directive))
}

/// Whether siblings may answer a request: digests have objects that `GET` returns to everyone.
fn may_come_from_sibling(head: &request::Parts) -> bool {
    let wants_new = ["no-cache", "no-store"].iter().any(|directive| asks(&head.headers, directive));
    head.method == Method::GET
        && !wants_new
        && !head.headers.contains_key(PRAGMA)
        && !head.headers.contains_key(AUTHORIZATION)
}

/// Removes headers that concern one connection only (RFC 9110, section 7.6.1).
fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<_> = listed(headers, CONNECTION).map(str::to_owned).collect();
    let others = "connection keep-alive proxy-connection proxy-authorization proxy-authenticate te \
        trailer transfer-encoding upgrade";
    for name in named.iter().map(String::as_str).chain(others.split(' ')) {
        headers.remove(name);
    }
}
