//! The server whose pages are cached: any address is a page, of a size that its number determines.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use hyper::StatusCode;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::http;
use crate::traffic::size;

/// Serves pages until `stop` is set, and counts them.
pub async fn serve(listener: TcpListener, stop: watch::Receiver<bool>, served: Arc<AtomicU64>) {
    let page = Bytes::from(vec![b'.'; 1 << 14]);
    http::serve(listener, stop, move |request| {
        served.fetch_add(1, Ordering::Relaxed);
        let body = page.slice(..size(request.uri().path()));
        async move { http::answer(StatusCode::OK, body) }
    })
    .await;
}
