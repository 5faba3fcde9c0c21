//! The cache of a proxy: pages by their address, and what was used least recently goes first when the bytes run out.
//!
//! For the trial it also notes when pages came and left, counted in pages that came before.

use std::collections::HashMap;

use bytes::Bytes;
use lru::LruCache;

/// A page, and how many had come before it.
struct Page {
    body: Bytes,
    number: u64,
}

/// A cache of pages.
pub struct Store {
    pages: LruCache<String, Page>,
    capacity: u64,
    bytes: u64,
    arrivals: u64,
    /// When pages left that have not come back.
    departed: HashMap<String, u64>,
}

/// Where a page is, and for how long, in arrivals of pages since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Held.
    Here(u64),
    /// It left.
    Gone(u64),
    /// Never seen, or it left long ago.
    Nowhere,
}

impl Store {
    /// Makes an empty cache for this many bytes of pages.
    pub fn new(capacity: u64) -> Self {
        let (bytes, arrivals) = (0, 0);
        Self { pages: LruCache::unbounded(), capacity, bytes, arrivals, departed: HashMap::new() }
    }

    /// Returns a page, which is then the most recently used.
    pub fn get(&mut self, url: &str) -> Option<Bytes> {
        self.pages.get(url).map(|page| page.body.clone())
    }

    /// Returns whether it has a page, without using it.
    pub fn has(&self, url: &str) -> bool {
        self.pages.contains(url)
    }

    /// Returns the number of pages.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Returns whether it has none.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Returns the addresses of all pages.
    pub fn urls(&self) -> impl Iterator<Item = &str> {
        self.pages.iter().map(|(url, _)| url.as_str())
    }

    /// Takes a page; returns whether it is new, and which ones had to leave. One larger than the cache is not taken.
    pub fn insert(&mut self, url: &str, body: Bytes) -> (bool, Vec<String>) {
        let size = body.len() as u64;
        if size > self.capacity {
            return (false, Vec::new());
        }
        let before = self.pages.peek(url).map(|page| (page.number, page.body.len() as u64));
        let is_new = before.is_none();
        // Another version of a page came when the first one did.
        let (number, old) = before.unwrap_or((self.arrivals, 0));
        self.pages.put(url.to_owned(), Page { body, number });
        self.bytes = self.bytes + size - old;
        if is_new {
            self.arrivals += 1;
            self.departed.remove(url);
        }
        let mut left = Vec::new();
        while self.bytes > self.capacity {
            let (url, page) = self.pages.pop_lru().expect("pages have bytes");
            self.bytes -= page.body.len() as u64;
            self.departed.insert(url.clone(), self.arrivals);
            left.push(url);
        }
        // What left longer ago than a cache full is not asked for.
        if self.departed.len() > 4 * self.pages.len() + 1024 {
            let oldest = self.arrivals.saturating_sub(self.pages.len() as u64);
            self.departed.retain(|_, left| *left >= oldest);
        }
        (is_new, left)
    }

    /// Returns where a page is.
    pub fn place(&self, url: &str) -> Place {
        let since = |number: u64| self.arrivals - number;
        match (self.pages.peek(url), self.departed.get(url)) {
            (Some(page), _) => Place::Here(since(page.number)),
            (None, Some(left)) => Place::Gone(since(*left)),
            (None, None) => Place::Nowhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_leave() {
        let mut store = Store::new(100);
        let page = |bytes| Bytes::from(vec![0; bytes]);
        assert_eq!(store.insert("a", page(40)), (true, vec![]));
        assert_eq!(store.insert("b", page(40)), (true, vec![]));
        assert!(store.get("a").is_some());
        assert_eq!(store.insert("c", page(40)), (true, vec!["b".to_owned()]));
        assert_eq!(store.insert("c", page(60)), (false, vec![]), "a new version");
        assert_eq!(store.place("c"), Place::Here(1), "it was there before");
        assert_eq!(store.insert("d", page(101)), (false, vec![]));
        assert_eq!(store.insert("e", page(100)), (true, vec!["a".to_owned(), "c".to_owned()]));
        assert_eq!(store.urls().collect::<Vec<_>>(), ["e"]);
        assert_eq!((store.place("e"), store.place("a")), (Place::Here(1), Place::Gone(0)));
        assert_eq!((store.place("b"), store.place("x")), (Place::Gone(1), Place::Nowhere));
    }
}
