//! The cache digest of this proxy, as siblings fetch it: a new one when somebody fetches it and the last one is older than the
//! period.

use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use hyper::body::Bytes;
use umbel_foreign::squid::Squid;
use umbel_foreign::{ForeignFilter, ForeignInsert, Format, Key, Parameters};

use crate::cache::Cache;

/// Makes digests of a cache.
pub(crate) struct OwnDigest {
    bits_per_entry: u8,
    period: Duration,
    last: Mutex<Option<Edition>>,
}

/// A digest that was made.
#[derive(Clone)]
pub(crate) struct Edition {
    pub(crate) made: SystemTime,
    pub(crate) expires: SystemTime,
    pub(crate) entries: usize,
    /// The share of absent URLs that pass.
    pub(crate) rate: f64,
    pub(crate) file: Bytes,
}

/// Entries that a digest has room for at least. Squid refuses digests with more than 65 % of the bits set, which the
/// four bits of an entry could be by chance in a digest of a few bytes.
const LEAST_CAPACITY: usize = 100;

impl OwnDigest {
    pub(crate) fn new(bits_per_entry: u8, period: Duration) -> Self {
        Self { bits_per_entry, period, last: Mutex::new(None) }
    }

    /// Returns the digest that a sibling gets now. It has what will still be fresh when it expires, as Squid's.
    pub(crate) fn current(&self, cache: &Cache) -> Result<Edition> {
        let made = SystemTime::now();
        let mut last = self.last.lock().expect("no panic while it was held");
        if let Some(edition) = last.as_ref().filter(|edition| edition.expires > made) {
            return Ok(edition.clone());
        }
        let expires = made + self.period;
        let urls = cache.fresh_at(expires);
        let keys = Some(urls.len().max(LEAST_CAPACITY) as u64);
        let bits_per_key = Some(self.bits_per_entry.into());
        let parameters = Parameters { keys, bits_per_key, ..Parameters::default() };
        let mut digest = Squid::new(Format::Squid, &parameters)?;
        for url in &urls {
            digest.insert(Key::from(url.as_str()))?;
        }
        let (rate, file) = (digest.receipt().fpp, digest.encode()?.into());
        Ok(last.insert(Edition { made, expires, entries: urls.len(), rate, file }).clone())
    }

    /// Returns the digest that the last sibling got.
    pub(crate) fn last(&self) -> Option<Edition> {
        self.last.lock().expect("no panic while it was held").clone()
    }
}
