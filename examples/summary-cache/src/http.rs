//! HTTP/1.1: a server of a function, and a client that keeps connections.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Result, bail};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A request without its body.
pub type Query = Request<Full<Bytes>>;
/// A whole answer.
pub type Answer = Response<Full<Bytes>>;

/// Bytes of the largest answer that is read: a page, or a full copy.
const LARGEST: usize = 256 << 20;
/// After this time a server counts as dead.
const PATIENCE: Duration = Duration::from_secs(5);

/// Answers requests until `stop` is set, and closes all connections then.
pub async fn serve<F>(
    listener: TcpListener,
    stop: watch::Receiver<bool>,
    answer: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static,
) where
    F: Future<Output = Answer> + Send,
{
    loop {
        let mut stopped = stop.clone();
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.wait_for(|stop| *stop) => return,
        };
        // It fails for single connections, and for want of file descriptors, which passes.
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let (answer, mut stopped) = (answer.clone(), stop.clone());
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let answer = answer(request);
                async move { Ok::<_, Infallible>(answer.await) }
            });
            let mut connection =
                pin!(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            tokio::select! {
                _ = connection.as_mut() => {}
                _ = stopped.wait_for(|stop| *stop) => {}
            }
        });
    }
}

/// An answer of this status and body.
pub fn answer(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    answer
}

/// Requests to servers, over connections that stay open between requests.
#[derive(Default)]
pub struct Client {
    idle: Mutex<HashMap<SocketAddr, Vec<SendRequest<Full<Bytes>>>>>,
}

impl Client {
    /// Gets an address as it is: a whole one if the server is a proxy. `headers` come on top of `host`.
    ///
    /// # Errors
    /// The server does not answer in five seconds, or not in HTTP.
    pub async fn get(
        &self,
        server: SocketAddr,
        url: &str,
        headers: &[(header::HeaderName, &str)],
    ) -> Result<(StatusCode, Bytes)> {
        self.send(server, hyper::Method::GET, url, headers, Bytes::new()).await
    }

    /// Posts a body, and returns the answer.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn post(
        &self,
        server: SocketAddr,
        url: &str,
        headers: &[(header::HeaderName, &str)],
        body: Bytes,
    ) -> Result<(StatusCode, Bytes)> {
        self.send(server, hyper::Method::POST, url, headers, body).await
    }

    async fn send(
        &self,
        server: SocketAddr,
        method: hyper::Method,
        url: &str,
        headers: &[(header::HeaderName, &str)],
        body: Bytes,
    ) -> Result<(StatusCode, Bytes)> {
        let mut request = Request::builder().method(method).uri(url).header(header::HOST, "proxy");
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        let request = request.body(Full::new(body))?;
        let exchange = async {
            // The server may have closed a connection that was idle.
            while let Some(mut connection) = self.take(server) {
                if connection.ready().await.is_err() {
                    continue;
                }
                match self.exchange(server, connection, request.clone()).await {
                    Ok(answer) => return Ok(answer),
                    Err(_) => break,
                }
            }
            let stream = TcpStream::connect(server).await?;
            stream.set_nodelay(true)?;
            let (connection, driver) = handshake(TokioIo::new(stream)).await?;
            tokio::spawn(driver);
            self.exchange(server, connection, request.clone()).await
        };
        match tokio::time::timeout(PATIENCE, exchange).await {
            Ok(answered) => answered,
            Err(_) => bail!("{server} does not answer"),
        }
    }

    async fn exchange(
        &self,
        server: SocketAddr,
        mut connection: SendRequest<Full<Bytes>>,
        request: Query,
    ) -> Result<(StatusCode, Bytes)> {
        let answer = connection.send_request(request).await?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), LARGEST).collect().await;
        let body = body.map_err(anyhow::Error::from_boxed)?.to_bytes();
        let mut idle = self.idle.lock().expect("nobody panics with it");
        idle.entry(server).or_default().push(connection);
        Ok((status, body))
    }

    fn take(&self, server: SocketAddr) -> Option<SendRequest<Full<Bytes>>> {
        self.idle.lock().expect("nobody panics with it").get_mut(&server)?.pop()
    }
}
