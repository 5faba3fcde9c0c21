//! Connections to origin servers and to other proxies.
//!
//! Clients name origins, so by default only the public Internet is allowed: a proxy must not fetch pages that only its own
//! machine and network can reach. The addresses themselves are checked, after names were looked up.

use std::io::{Error, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::Result;
use http_body_util::Full;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, Response};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::{Builder, Client};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::{TcpStream, lookup_host};
use tower_service::Service;

/// A body that is passed on, or was held.
pub(crate) type Body = UnsyncBoxBody<Bytes, hyper::Error>;

/// Sends requests to origins, over connections that stay open.
pub(crate) struct Origins {
    client: Client<HttpConnector<Resolver>, Body>,
    allow_private: bool,
}

impl Origins {
    pub(crate) fn new(allow_private: bool) -> Self {
        let mut http = HttpConnector::new_with_resolver(Resolver { allow_private });
        http.set_nodelay(true);
        http.set_connect_timeout(Some(Duration::from_secs(5)));
        let mut builder = Builder::new(TokioExecutor::new());
        builder.pool_timer(TokioTimer::new()).pool_idle_timeout(Duration::from_secs(30));
        Self { client: builder.build(http), allow_private }
    }

    pub(crate) async fn request(&self, request: Request<Body>) -> Result<Response<Incoming>> {
        // The connector resolves names alone.
        let host = request.uri().host().unwrap_or_default();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse();
        if !self.allow_private && address.is_ok_and(|address| !is_public(address)) {
            return Err(private(host).into());
        }
        Ok(self.client.request(request).await?)
    }
}

/// A host has no public address.
fn private(host: &str) -> Error {
    let what = format!("{host} has no public address; umbel-proxy --allow-private allows it");
    Error::new(ErrorKind::PermissionDenied, what)
}

/// Whether a request failed because its host has no public address.
pub(crate) fn is_private(error: &anyhow::Error) -> bool {
    let causes = error.chain().filter_map(|cause| cause.downcast_ref::<Error>());
    causes.into_iter().any(|cause| cause.kind() == ErrorKind::PermissionDenied)
}

/// Looks names up, and leaves private addresses out unless they are allowed.
#[derive(Clone)]
struct Resolver {
    allow_private: bool,
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let allow_private = self.allow_private;
        Box::pin(async move {
            let found = lookup_host((name.as_str(), 0)).await?;
            let usable = found.filter(|address| allow_private || is_public(address.ip()));
            let usable: Vec<_> = usable.collect();
            if usable.is_empty() { Err(private(name.as_str())) } else { Ok(usable.into_iter()) }
        })
    }
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
            // Everything else that is assigned as global.
            [first, ..] => first & 0xe000 == 0x2000,
        },
    }
}

/// Connections to one proxy, which gets requests as they are: with whole URLs.
pub(crate) struct Link {
    address: String,
    open: Mutex<Vec<SendRequest<Full<Bytes>>>>,
}

impl Link {
    pub(crate) fn new(address: String) -> Self {
        Self { address, open: Mutex::default() }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>> {
        if let Some(connection) = self.idle() {
            // The proxy may have closed it a moment ago.
            if let Ok(response) = self.send_over(connection, request.clone()).await {
                return Ok(response);
            }
        }
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        let (connection, driver) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(driver);
        Ok(self.send_over(connection, request).await?)
    }

    /// Takes an open connection whose last answer was read.
    fn idle(&self) -> Option<SendRequest<Full<Bytes>>> {
        let mut open = self.open.lock().expect("no panic");
        open.retain(|connection| !connection.is_closed());
        let at = open.iter().position(SendRequest::is_ready)?;
        Some(open.swap_remove(at))
    }

    async fn send_over(
        &self,
        mut connection: SendRequest<Full<Bytes>>,
        request: Request<Full<Bytes>>,
    ) -> hyper::Result<Response<Incoming>> {
        let response = connection.send_request(request).await?;
        self.open.lock().expect("no panic").push(connection);
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_and_network_are_not_public() {
        let private = "127.0.0.1 127.9.9.9 0.0.0.0 10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 \
            169.254.169.254 100.64.0.1 198.18.0.1 192.0.0.1 224.0.0.1 255.255.255.255 ::1 :: \
            ::ffff:127.0.0.1 ::ffff:10.0.0.1 fe80::1 fc00::1 fd12::1 ff02::1 64:ff9b::7f00:1 \
            2002:7f00:1:: 2001:db8::1";
        for address in private.split_whitespace() {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for public in ["8.8.8.8", "172.32.0.1", "100.128.0.1", "2600::1", "64:ff9b::808:808"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }
}
