//! Connections to origin servers and to siblings.

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
use tokio::net::TcpStream;
use tower_service::Service;

/// A body that is passed on, or was held.
pub(crate) type Body = UnsyncBoxBody<Bytes, hyper::Error>;
/// Sends requests, over connections that stay open.
pub(crate) type Upstream = Client<Connector, Body>;

/// Returns a client that connects to the host of each URL.
pub(crate) fn direct() -> Upstream {
    client(None)
}

/// Returns a client that sends every request to a proxy, with the whole URL.
pub(crate) fn through(proxy: Uri) -> Upstream {
    client(Some(proxy))
}

fn client(proxy: Option<Uri>) -> Upstream {
    let mut http = HttpConnector::new();
    http.set_nodelay(true);
    http.set_connect_timeout(Some(Duration::from_secs(5)));
    let mut builder = legacy::Builder::new(TokioExecutor::new());
    builder.pool_timer(TokioTimer::new()).pool_idle_timeout(Duration::from_secs(30));
    builder.build(Connector { http, proxy })
}

/// Connects to a URL's host, or always to a proxy.
#[derive(Clone)]
pub(crate) struct Connector {
    http: HttpConnector,
    proxy: Option<Uri>,
}

impl Service<Uri> for Connector {
    type Response = Link;
    type Error = <HttpConnector as Service<Uri>>::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Link, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.http.poll_ready(context)
    }

    fn call(&mut self, host: Uri) -> Self::Future {
        let is_proxied = self.proxy.is_some();
        let connecting = self.http.call(self.proxy.clone().unwrap_or(host));
        Box::pin(async move { Ok(Link { stream: connecting.await?, is_proxied }) })
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
