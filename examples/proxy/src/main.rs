//! A caching proxy that knows from its peers' filters which of them has a page: from the cache digests of Squid servers, or from
//! summaries of other proxies like it.
//!
//! `proxy` has the way of a request, `cache` the cached objects and their lifetimes, and `uri` how Squid spells a URL before
//! hashing it. `peer` is another proxy, its record of answers, and its digest; `digest` is the digest that siblings fetch. `group`
//! has the proxies that exchange summaries, by datagrams, or ask each other by `icp`. `upstream` has connections to all others.
//! docs/formats.md shows the proxy next to Squid, README.md among others like it.

mod cache;
mod digest;
mod group;
mod icp;
mod peer;
mod proxy;
mod upstream;
mod uri;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use group::Member;
use proxy::Proxy;

/// A caching proxy that asks its peers for objects that are in their filters. Its access log goes to standard output.
#[derive(Parser)]
struct Settings {
    /// Where to listen.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3130")]
    listen: SocketAddr,
    /// The name in `Via` headers, and for peers.
    #[arg(long, default_value = "umbel-proxy")]
    name: String,
    /// A sibling that serves a cache digest, such as Squid; may be repeated.
    #[arg(long = "sibling", value_name = "HOST:PORT")]
    siblings: Vec<String>,
    /// A peer that exchanges summaries: its name, where it listens, and where it receives datagrams; may be repeated.
    #[arg(long = "peer", value_name = "NAME,ADDRESS,ADDRESS", requires = "datagrams")]
    peers: Vec<Member>,
    /// Where to receive datagrams of peers.
    #[arg(long, value_name = "ADDRESS")]
    datagrams: Option<SocketAddr>,
    /// Ask every peer on every miss, by ICP, instead of exchanging summaries.
    #[arg(long)]
    icp: bool,
    /// The address of an allowed client or asking sibling; may be repeated. By default, the addresses of this machine. Peers are
    /// always allowed.
    #[arg(long = "client", value_name = "ADDRESS")]
    clients: Vec<IpAddr>,
    /// Fetch pages of private networks and of this machine too: whatever it can reach, its clients can.
    #[arg(long)]
    allow_private: bool,
    /// Bytes of memory for objects.
    #[arg(long, value_name = "BYTES", default_value_t = 256 << 20)]
    memory: u64,
    /// Larger objects pass through.
    #[arg(long, value_name = "BYTES", default_value_t = 4 << 20)]
    largest: u64,
    /// Bits per entry of the digest: 5 as Squid lets 9 % of absent URLs pass, 8 lets 2.4 % pass.
    #[arg(long, value_name = "BITS", default_value_t = 8, value_parser = clap::value_parser!(u8).range(5..))]
    bits_per_entry: u8,
    /// The digest is renewed at most once in this many seconds.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    digest_period: Duration,
    /// The digest of a sibling is fetched again when it expires, but not within this many seconds; Squid waits 300.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    digest_gap: Duration,
    /// Bits of the summary per object.
    #[arg(long, value_name = "BITS", default_value_t = 16.0)]
    summary_bits: f64,
    /// The share of objects that may change before the summary is published.
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    summary_threshold: f64,
    /// Seconds between two signs of life.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    beat: Duration,
    /// A file with a secret (umbel filter key new), the same for all peers: messages about summaries made without it are refused.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<Duration> {
    Ok(Duration::try_from_secs_f64(text.parse()?)?)
}

#[tokio::main]
async fn main() -> Result<()> {
    let settings = Settings::parse();
    let listener = TcpListener::bind(settings.listen)
        .await
        .with_context(|| format!("cannot listen on {}", settings.listen))?;
    let address = listener.local_addr()?;
    eprintln!("umbel-proxy: listening on {address}");
    if !address.ip().is_loopback() && settings.clients.is_empty() {
        eprintln!(
            "umbel-proxy: warning: only clients of this machine are answered; name others with --client"
        );
    }
    if settings.allow_private {
        eprintln!("umbel-proxy: warning: clients can fetch whatever this machine can reach");
    }
    if settings.peers.iter().any(|peer| !peer.http.ip().is_loopback()) {
        eprintln!(
            "umbel-proxy: warning: addresses of datagrams can be forged; keep peers in a network of your own"
        );
    }
    let proxy = Proxy::start(&settings, address).await?;
    let peers = settings.peers.iter().map(|peer| peer.http.ip());
    let known: Vec<IpAddr> = settings.clients.iter().copied().chain(peers).collect();
    loop {
        // It fails for single connections, and for want of file descriptors, which passes.
        let Ok((stream, client)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let address = client.ip().to_canonical();
        let is_own = settings.clients.is_empty() && address.is_loopback();
        if !is_own && known.iter().all(|known| known.to_canonical() != address) {
            continue;
        }
        // Without this it is only slower.
        let _ = stream.set_nodelay(true);
        let proxy = Arc::clone(&proxy);
        let answer = service_fn(move |request| {
            let proxy = Arc::clone(&proxy);
            async move { Ok::<_, Infallible>(proxy.answer(request, client).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .serve_connection(TokioIo::new(stream), answer);
        // A client that goes away, or does not send HTTP, does not affect others.
        tokio::spawn(connection);
    }
}
