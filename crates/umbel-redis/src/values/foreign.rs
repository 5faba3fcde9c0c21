//! Values as RedisBloom saves them: each loads the other's snapshots.

use std::borrow::Cow;
use std::ffi::{CStr, c_int};

use umbel_foreign::redisbloom::{Link, RedisBloom};
use umbel_foreign::redisbloom_cuckoo::{Head, RedisBloomCuckoo};
use umbel_foreign::{Bytes, Error, ForeignInsert};

use crate::server::{Context, Fields, Rewrite, ServerType, Value};
use crate::settings::{self, check_size};

/// A filter of RedisBloom as a value.
pub(crate) struct Kept<F>(F);

/// A Bloom filter.
pub(crate) type Bloom = Kept<RedisBloom>;

/// A cuckoo filter.
pub(crate) type Cuckoo = Kept<RedisBloomCuckoo>;

/// What the server has to know of a filter of RedisBloom.
pub(crate) trait Foreign: ForeignInsert + Sized + 'static {
    /// The name of the type.
    const TYPE: &'static CStr;
    /// The command that takes a chunk of a dump.
    const LOADCHUNK: &'static CStr;
    /// Bytes as `BF.INFO` and `CF.INFO` count them: of the head, and of each array next to its content.
    const HEAD: u64;
    const ARRAY_HEAD: u64;

    fn server_type() -> &'static ServerType;
    fn load(fields: &mut Fields, version: c_int, arrays: &mut Arrays<'_>) -> Result<Self, String>;
    fn save(&self, fields: &mut Fields);
    fn arrays(&self) -> impl Iterator<Item = &[u8]>;
    fn chunks(&self) -> impl Iterator<Item = (u64, Cow<'_, [u8]>)>;
    fn header(&self) -> Vec<u8>;
    fn copy(&self) -> Result<Self, Error>;
}

impl<F: Foreign> Kept<F> {
    /// Wraps a filter. It then grows only after [`check_size`] allows it.
    pub(crate) fn new(mut filter: F) -> Self {
        filter.set_limit(0);
        Self(filter)
    }

    pub(crate) fn filter(&self) -> &F {
        &self.0
    }

    pub(crate) fn filter_mut(&mut self) -> &mut F {
        &mut self.0
    }

    /// Returns its bytes as its command `INFO` counts them.
    pub(crate) fn size(&self) -> u64 {
        F::HEAD + self.0.arrays().map(|array| F::ARRAY_HEAD + array.len() as u64).sum::<u64>()
    }
}

/// The arrays of a filter in a snapshot, as they are read.
pub(crate) struct Arrays<'c> {
    context: &'c Context,
    bytes: u64,
}

impl Arrays<'_> {
    /// Takes the next one, as the server gives it, without a copy: a filter that has room in a server of RedisBloom has room here.
    fn next(&mut self, fields: &mut Fields) -> Result<Bytes, String> {
        let array = fields.string()?;
        self.bytes += array.len() as u64;
        // The server has this memory already.
        check_size(self.context, self.bytes, 0).map_err(|too_large| too_large.to_string())?;
        Ok(array.into())
    }
}

impl<F: Foreign> Value for Kept<F> {
    const NAME: &'static CStr = F::TYPE;
    const VERSION: c_int = 4;

    fn server_type() -> &'static ServerType {
        F::server_type()
    }

    fn load(fields: &mut Fields, version: c_int, context: &Context) -> Result<Self, String> {
        F::load(fields, version, &mut Arrays { context, bytes: 0 }).map(Self::new)
    }

    fn save(&self, fields: &mut Fields) {
        self.0.save(fields);
    }

    fn rewrite(&self, rewrite: &Rewrite) {
        for (iterator, chunk) in self.0.chunks() {
            rewrite.chunk(F::LOADCHUNK, iterator, &chunk);
        }
    }

    fn bytes(&self) -> u64 {
        self.size()
    }

    fn digest(&self, add: &mut dyn FnMut(&[u8])) {
        add(&self.0.header());
        self.0.arrays().for_each(add);
    }

    fn copy(&self) -> Option<Self> {
        self.0.copy().ok().map(Self::new)
    }
}

/// The last versions of snapshots without a field.
const BLOOM_WITHOUT_BITS: c_int = 0;
const BLOOM_WITHOUT_OPTIONS: c_int = 1;
const BLOOM_WITHOUT_GROWTH: c_int = 3;
const CUCKOO_WITHOUT_SIZES: c_int = 3;

impl Foreign for RedisBloom {
    const TYPE: &'static CStr = c"MBbloom--";
    const LOADCHUNK: &'static CStr = c"BF.LOADCHUNK";
    const HEAD: u64 = 32;
    const ARRAY_HEAD: u64 = 64;

    fn server_type() -> &'static ServerType {
        static TYPE: ServerType = ServerType::new();
        &TYPE
    }

    fn load(fields: &mut Fields, version: c_int, arrays: &mut Arrays<'_>) -> Result<Self, String> {
        if version <= BLOOM_WITHOUT_BITS {
            return Err(format!("a Bloom filter of version {version} is too old"));
        }
        let items = fields.unsigned()?;
        let count: u32 = fields.small("the number of links")?;
        let options =
            if version <= BLOOM_WITHOUT_OPTIONS { 0 } else { fields.small("the options")? };
        let growth =
            if version <= BLOOM_WITHOUT_GROWTH { 2 } else { fields.small("the growth")? };
        let mut links = Vec::new();
        for _ in 0..count {
            let entries = fields.unsigned()?;
            let error = fields.double()?;
            let hashes = fields.small("the number of hashes")?;
            let bits_per_entry = fields.double()?;
            let (bits, n2) = (fields.unsigned()?, fields.small("n2")?);
            let array = arrays.next(fields)?;
            let items = fields.unsigned()?;
            let link = Link { bits, items, error, bits_per_entry, hashes, entries, n2 };
            links.push((link, array));
        }
        Self::from_links(items, options, growth, links).map_err(|error| error.to_string())
    }

    fn save(&self, fields: &mut Fields) {
        fields.save_unsigned(self.items());
        fields.save_unsigned(self.links().len() as u64);
        fields.save_unsigned(self.options().into());
        fields.save_unsigned(self.growth().into());
        for (link, array) in self.links().iter().zip(self.arrays()) {
            fields.save_unsigned(link.entries);
            fields.save_double(link.error);
            fields.save_unsigned(link.hashes.into());
            fields.save_double(link.bits_per_entry);
            fields.save_unsigned(link.bits);
            fields.save_unsigned(link.n2.into());
            fields.save_string(array);
            fields.save_unsigned(link.items);
        }
    }

    fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        self.arrays()
    }

    fn chunks(&self) -> impl Iterator<Item = (u64, Cow<'_, [u8]>)> {
        self.chunks()
    }

    fn header(&self) -> Vec<u8> {
        self.header()
    }

    fn copy(&self) -> Result<Self, Error> {
        self.to_owned()
    }
}

impl Foreign for RedisBloomCuckoo {
    const TYPE: &'static CStr = c"MBbloomCF";
    const LOADCHUNK: &'static CStr = c"CF.LOADCHUNK";
    const HEAD: u64 = 40;
    const ARRAY_HEAD: u64 = 16;

    fn server_type() -> &'static ServerType {
        static TYPE: ServerType = ServerType::new();
        &TYPE
    }

    fn load(fields: &mut Fields, version: c_int, arrays: &mut Arrays<'_>) -> Result<Self, String> {
        let (filters, buckets, items) =
            (fields.unsigned()?, fields.unsigned()?, fields.unsigned()?);
        let mut head = Head {
            items,
            buckets,
            deletes: 0,
            filters,
            bucket_size: settings::CF_BUCKET_SIZE.get() as u16,
            max_iterations: settings::CF_MAX_ITERATIONS.get() as u16,
            growth: settings::CF_EXPANSION_FACTOR.get() as u16,
        };
        if version > CUCKOO_WITHOUT_SIZES {
            head.deletes = fields.unsigned()?;
            head.bucket_size = fields.small("the size of a bucket")?;
            head.max_iterations = fields.small("the number of iterations")?;
            head.growth = fields.small("the growth")?;
        }
        let mut slots = Vec::new();
        for _ in 0..filters {
            let buckets = fields.unsigned()?;
            let array = arrays.next(fields)?;
            if buckets.checked_mul(head.bucket_size.into()) != Some(array.len() as u64) {
                return Err(format!("{buckets} buckets have {} slots", array.len()));
            }
            slots.push(array);
        }
        Self::from_filters(head, slots).map_err(|error| error.to_string())
    }

    fn save(&self, fields: &mut Fields) {
        let Head { items, buckets, deletes, filters, bucket_size, max_iterations, growth } =
            *self.head();
        let sizes = [bucket_size, max_iterations, growth].map(u64::from);
        for number in [filters, buckets, items, deletes].into_iter().chain(sizes) {
            fields.save_unsigned(number);
        }
        for slots in self.arrays() {
            fields.save_unsigned(slots.len() as u64 / u64::from(bucket_size));
            fields.save_string(slots);
        }
    }

    fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        self.arrays()
    }

    fn chunks(&self) -> impl Iterator<Item = (u64, Cow<'_, [u8]>)> {
        self.chunks()
    }

    fn header(&self) -> Vec<u8> {
        self.header().to_vec()
    }

    fn copy(&self) -> Result<Self, Error> {
        self.to_owned()
    }
}
