//! Connections to origin servers and to siblings.
//!
//! Clients name origins, so without more words these are of the public Internet only: a proxy must not fetch what only its own
//! machine and network can reach. The addresses themselves are checked, after names were looked up.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::combinators::UnsyncBoxBody;
use hyper::Uri;
use hyper::body::Bytes;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::{TcpStream, lookup_host};
use tower_service::Service;

/// A body that is passed on, or was held.
pub(crate) type Body = UnsyncBoxBody<Bytes, hyper::Error>;
/// Sends requests, over connections that stay open.
pub(crate) type Upstream = Client<Connector, Body>;

/// Returns a client that connects to the host of each URL, if it has a public address or private ones are allowed.
pub(crate) fn direct(allow_private: bool) -> Upstream {
    client(None, allow_private)
}

/// Returns a client that sends every request to a proxy, with the whole URL.
pub(crate) fn through(proxy: Uri) -> Upstream {
    client(Some(proxy), true)
}

fn client(proxy: Option<Uri>, allow_private: bool) -> Upstream {
    let mut http = HttpConnector::new();
    http.set_nodelay(true);
    http.set_connect_timeout(Some(Duration::from_secs(5)));
    let mut builder = legacy::Builder::new(TokioExecutor::new());
    builder.pool_timer(TokioTimer::new()).pool_idle_timeout(Duration::from_secs(30));
    builder.build(Connector { http, proxy, allow_private })
}

/// Connects to a URL's host, or always to a proxy.
#[derive(Clone)]
pub(crate) struct Connector {
    http: HttpConnector,
    proxy: Option<Uri>,
    allow_private: bool,
}

/// A host has no public address.
#[derive(Debug)]
pub(crate) struct Private(String);

impl std::fmt::Display for Private {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} has no public address; squid-peer --allow-private allows it", self.0)
    }
}

impl std::error::Error for Private {}

/// What may go wrong while connecting.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The URL of an address of this host that is public.
async fn public(url: Uri) -> Result<Uri, Failure> {
    let host = url.host().ok_or("no host")?;
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let found = lookup_host((name, url.port_u16().unwrap_or(80))).await?;
    let address = { found }.find(|address: &SocketAddr| is_public(address.ip()));
    let address = address.ok_or_else(|| Private(host.to_owned()))?;
    Ok(format!("http://{address}/").parse()?)
}

/// Whether an address is of the public Internet, and not of this machine, of a private network, of a link, of a group, or
/// reserved (the registries of RFC 6890).
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            let is_special = address.is_loopback()
                || address.is_private()
                || address.is_link_local()
                || address.is_documentation()
                || a == 0
                || a >= 224
                || (a == 100 && (64..128).contains(&b))
                || (a, b, c) == (192, 0, 0)
                || (a == 198 && (18..20).contains(&b));
            !is_special
        }
        IpAddr::V6(address) => match address.segments() {
            // Translated to IPv4 (RFC 6052), and 6to4 (RFC 3056).
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
                is_public(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)).into())
            }
            [0x2001, 0xdb8 | 0, ..] => false,
            // All else that is given out as global.
            [first, ..] => first & 0xe000 == 0x2000 && address != Ipv6Addr::LOCALHOST,
        },
    }
}

impl Service<Uri> for Connector {
    type Response = Link;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Link, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.http.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, host: Uri) -> Self::Future {
        let is_proxied = self.proxy.is_some();
        let to = self.proxy.clone().unwrap_or(host);
        let (mut http, allow_private) = (self.http.clone(), self.allow_private);
        Box::pin(async move {
            let to = if allow_private { to } else { public(to).await? };
            Ok(Link { stream: http.call(to).await?, is_proxied })
        })
    }
}

/// A connection that knows whether a proxy is at its end, which gets whole URLs.
pub(crate) struct Link {
    stream: TokioIo<TcpStream>,
    is_proxied: bool,
}

impl Connection for Link {
    fn connected(&self) -> Connected {
        self.stream.connected().proxy(self.is_proxied)
    }
}

impl Read for Link {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for Link {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_and_network_are_not_public() {
        for private in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "198.18.0.1",
            "192.0.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in ["8.8.8.8", "172.32.0.1", "100.128.0.1", "2600::1", "64:ff9b::808:808"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }
}
