//! A small caching proxy that takes part as a sibling next to Squid: it serves a cache digest of what it holds, and
//! reads the digests of its siblings to decide whom to ask.
//!
//! `uri` knows how Squid spells a URL before hashing it, `cache` what is held and for how long, `own` the digest that
//! siblings fetch, `sibling` their digests and what came of believing them, `upstream` connections, and `proxy` the way
//! of a request. docs/formats.md shows it next to Squid.

mod cache;
mod own;
mod proxy;
mod sibling;
mod upstream;
mod uri;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use proxy::Proxy;

/// A caching proxy that exchanges cache digests with Squid. Its access log goes to standard output.
#[derive(Parser)]
struct Settings {
    /// Where to listen.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3130")]
    listen: SocketAddr,
    /// The name in `Via` headers.
    #[arg(long, default_value = "squid-peer")]
    name: String,
    /// A sibling that serves a digest, Squid or another of these; several times.
    #[arg(long = "sibling", value_name = "HOST:PORT")]
    siblings: Vec<String>,
    /// A client that is answered, or a sibling that asks, by its address; several times. Without any, those of this machine.
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
    /// For so many seconds the digest stays as it is.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    digest_period: Duration,
    /// The digest of a sibling is fetched again when it expires, but not before so many seconds; Squid waits 300.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    digest_gap: Duration,
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
    eprintln!("squid-peer: listening on {address}");
    if !address.ip().is_loopback() && settings.clients.is_empty() {
        eprintln!(
            "squid-peer: warning: only clients of this machine are answered; name others with --client"
        );
    }
    if settings.allow_private {
        eprintln!("squid-peer: warning: clients can fetch whatever this machine can reach");
    }
    let proxy = Arc::new(Proxy::new(&settings, address)?);
    for sibling in proxy.siblings() {
        let sibling = Arc::clone(sibling);
        tokio::spawn(async move { sibling.keep_digest(settings.digest_gap).await });
    }
    loop {
        // It fails for single connections, and for want of file descriptors, which passes.
        let Ok((stream, client)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let address = client.ip().to_canonical();
        let is_known = match settings.clients.is_empty() {
            true => address.is_loopback(),
            false => settings.clients.iter().any(|known| known.to_canonical() == address),
        };
        if !is_known {
            continue;
        }
        // Without it only slower.
        let _ = stream.set_nodelay(true);
        let proxy = Arc::clone(&proxy);
        let answer = service_fn(move |request| {
            let proxy = Arc::clone(&proxy);
            async move { Ok::<_, Infallible>(proxy.answer(request, client).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .serve_connection(TokioIo::new(stream), answer);
        // A client that goes away, or sends no HTTP, concerns nobody else.
        tokio::spawn(connection);
    }
}
