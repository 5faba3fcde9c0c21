//! The cached objects by URL, up to a number of bytes; the least recently used leaves first. The summary for peers is kept up
//! to date.

use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use http_cache_semantics::{BeforeRequest, CachePolicy};
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{DATE, HeaderValue};
use hyper::http::request;
use lru::LruCache;
use serde_json::{Value, json};
use umbel_share::summary::Summary;

/// An object and its policy: how long it may be used, and for which requests.
pub(crate) struct Object {
    pub(crate) policy: CachePolicy,
    pub(crate) date: HeaderValue,
    pub(crate) body: Bytes,
}

/// The cache.
pub(crate) struct Cache {
    held: Mutex<Held>,
    limit: u64,
}

struct Held {
    objects: LruCache<String, Arc<Object>>,
    bytes: u64,
    evicted: u64,
    summary: Option<Summary>,
}

/// The size of an object's headers and bookkeeping, roughly.
const OVERHEAD: u64 = 1024;

impl Cache {
    pub(crate) fn new(limit: u64, summary: Option<Summary>) -> Self {
        let held = Held { objects: LruCache::unbounded(), bytes: 0, evicted: 0, summary };
        Self { held: Mutex::new(held), limit }
    }

    /// Returns the answer to a request, if it is held and fresh.
    pub(crate) fn answer(&self, request: &request::Parts) -> Option<Response<Bytes>> {
        let object = self.lock().objects.get(&request.uri.to_string()).cloned()?;
        let BeforeRequest::Fresh(mut head) =
            object.policy.before_request(request, SystemTime::now())
        else {
            return None;
        };
        // The policy writes the time of this answer, although `Age` counts from the origin's.
        head.headers.insert(DATE, object.date.clone());
        Some(Response::from_parts(head, object.body.clone()))
    }

    /// Stores an object in the place of an older one, and evicts others. Returns the summary's message to all peers if one is
    /// due.
    pub(crate) fn store(&self, url: String, object: Object) -> Option<Vec<u8>> {
        let size = size(&url, &object);
        if size > self.limit {
            return None;
        }
        let mut held = self.lock();
        let is_new = !held.objects.contains(&url);
        if let Some(summary) = held.summary.as_mut().filter(|_| is_new) {
            summary.insert(&url);
        }
        held.bytes += size;
        if let Some((url, old)) = held.objects.push(url, Arc::new(object)) {
            held.bytes -= self::size(&url, &old);
        }
        while held.bytes > self.limit {
            let (url, old) = held.objects.pop_lru().expect("bytes are those of objects");
            held.leave(&url, &old);
            held.evicted += 1;
        }
        let Held { objects, summary, .. } = &mut *held;
        // Without memory for a larger filter, peers keep the one they have.
        summary.as_mut()?.publish(|| objects.iter().map(|(url, _)| url)).ok()?
    }

    /// Drops an object that may no longer be what the origin has.
    pub(crate) fn forget(&self, url: &str) {
        let mut held = self.lock();
        if let Some(old) = held.objects.pop(url) {
            held.leave(url, &old);
        }
    }

    /// Returns whether it has an object, without using it.
    pub(crate) fn has(&self, url: &str) -> bool {
        self.lock().objects.contains(url)
    }

    /// Does something with the summary, if there is one.
    pub(crate) fn summary<R>(&self, with: impl FnOnce(&mut Summary) -> R) -> Option<R> {
        self.lock().summary.as_mut().map(with)
    }

    /// Returns the URLs of the objects that will still be fresh at that time.
    pub(crate) fn fresh_at(&self, time: SystemTime) -> Vec<String> {
        let held = self.lock();
        let fresh = held.objects.iter().filter(|(_, object)| !object.policy.is_stale(time));
        fresh.map(|(url, _)| url.clone()).collect()
    }

    /// Its figures.
    pub(crate) fn status(&self) -> Value {
        let Held { objects, bytes, evicted, .. } = &*self.lock();
        json!({ "objects": objects.len(), "bytes": bytes, "limit": self.limit, "evicted": evicted })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().expect("no panic while it was held")
    }
}

impl Held {
    /// Accounts for an object that left.
    fn leave(&mut self, url: &str, old: &Object) {
        self.bytes -= size(url, old);
        self.summary.as_mut().map(|summary| summary.remove(url));
    }
}

fn size(url: &str, object: &Object) -> u64 {
    (url.len() + object.body.len()) as u64 + OVERHEAD
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hyper::Request;

    use super::*;

    fn request(url: &str) -> request::Parts {
        Request::get(url).body(()).unwrap().into_parts().0
    }

    fn object(url: &str, seconds: u32, bytes: usize) -> Object {
        let fresh = format!("max-age={seconds}");
        let response = Response::builder().header("cache-control", fresh).body(()).unwrap();
        let policy = CachePolicy::new(&request(url), &response);
        let date = HeaderValue::from_static("Mon, 23 Nov 2026 12:00:00 GMT");
        Object { policy, date, body: vec![7; bytes].into() }
    }

    #[test]
    fn the_least_recently_used_leave_first() {
        let cache = Cache::new(3 * 2048, None);
        let urls = ["http://a/1", "http://a/2", "http://a/3", "http://a/4"];
        for url in &urls[..3] {
            cache.store((*url).to_owned(), object(url, 60, 1000));
        }
        assert!(cache.answer(&request(urls[0])).is_some());
        cache.store(urls[3].to_owned(), object(urls[3], 60, 1000));
        let held = urls.map(|url| cache.answer(&request(url)).is_some());
        assert_eq!(held, [true, false, true, true]);
        for _ in 0..9 {
            cache.store(urls[0].to_owned(), object(urls[0], 60, 500));
        }
        cache.store("http://a/5".to_owned(), object("http://a/5", 60, 6144));
        let bytes = 2500 + 3 * (1024 + 10);
        let figures = json!({ "objects": 3, "bytes": bytes, "limit": 6144, "evicted": 1 });
        assert_eq!(
            cache.status(),
            figures,
            "what is replaced leaves, what is too large does not come"
        );
        urls.iter().for_each(|url| cache.forget(url));
        assert_eq!(cache.status()["bytes"], 0);
    }

    #[test]
    fn only_fresh_objects_answer_and_are_announced() {
        let cache = Cache::new(1 << 20, None);
        let [soon, late] = ["http://a/soon", "http://a/late"];
        cache.store(soon.to_owned(), object(soon, 30, 1));
        cache.store(late.to_owned(), object(late, 90, 1));
        let in_a_minute = SystemTime::now() + Duration::from_secs(60);
        assert_eq!(cache.fresh_at(in_a_minute), [late]);
        let answer = cache.answer(&request(soon)).unwrap();
        assert_eq!(answer.headers()["date"], "Mon, 23 Nov 2026 12:00:00 GMT");
        let stale = object(soon, 0, 1);
        cache.store(soon.to_owned(), stale);
        assert!(cache.answer(&request(soon)).is_none());
    }
}
