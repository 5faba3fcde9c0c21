//! Umbel's own filters as values, saved as umbel files.

use std::ffi::CStr;
use std::sync::Arc;

use umbel::internals::format::length_of;
use umbel::{AnyFilter, AnyScheme, Filter as _, Loader, Scheme};

use crate::server::{Context, Fields, Rewrite, ServerType, Value};
use crate::settings::{check_copy, check_size};

/// Bytes of a piece in snapshots and of a part in append-only files, as in RedisBloom's chunks.
const PIECE: usize = 16 << 20;

/// A filter of any kind, without its secret, which is needed only to hash keys.
pub(crate) type Filter = AnyFilter<Scheme>;

/// A filter, one that is being loaded and will replace it, or both.
pub(crate) struct Umbel {
    /// A background job shares it while it reads it.
    pub(crate) filter: Option<Arc<Filter>>,
    pub(crate) loader: Option<Loader<AnyScheme>>,
    /// Whether there was a filter to which this server could not apply a write. It would wrongly report keys as absent,
    /// so it was dropped until another is loaded. The key stays: it may be renamed or copied, as on the primary.
    pub(crate) is_lost: bool,
}

impl Umbel {
    pub(crate) const LOST: Self = Self { filter: None, loader: None, is_lost: true };

    pub(crate) fn new(filter: Option<Filter>, loader: Option<Loader<AnyScheme>>) -> Self {
        Self { filter: filter.map(Arc::new), loader, is_lost: false }
    }
}

static UMBEL: ServerType = ServerType::new();

/// Saves the length of all pieces together, then the pieces.
fn save_pieces<P: AsRef<[u8]>>(fields: &mut Fields, pieces: impl Iterator<Item = P>, length: u64) {
    fields.save_unsigned(length);
    pieces.filter(|piece| !piece.as_ref().is_empty()).for_each(|piece| {
        piece.as_ref().chunks(PIECE).for_each(|piece| fields.save_string(piece));
    });
}

fn load_pieces(
    fields: &mut Fields,
    context: &Context,
) -> Result<Option<Loader<AnyScheme>>, String> {
    let length = fields.unsigned()?;
    if length == 0 {
        return Ok(None);
    }
    let mut loader = AnyFilter::loader_with(AnyScheme);
    while loader.loaded() < length {
        let before = loader.loaded();
        let piece = fields.string()?;
        if before == 0 {
            // The first piece has the header, which declares how much memory the rest needs.
            let length = length_of(&piece).map_err(|error| error.to_string())?;
            check_size(context, length, length)?;
        }
        loader = loader.push(&piece).map_err(|error| error.to_string())?;
        if loader.loaded() == before {
            return Err("an empty piece".to_owned());
        }
    }
    Ok(Some(loader))
}

/// Returns a filter's file in parts.
fn parts(filter: &Filter) -> impl Iterator<Item = Vec<u8>> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let part = filter.file_part(offset, PIECE);
        offset += part.len() as u64;
        (!part.is_empty()).then_some(part)
    })
}

impl Value for Umbel {
    const NAME: &'static CStr = c"umbelfltr";
    const VERSION: i32 = 1;

    fn server_type() -> &'static ServerType {
        &UMBEL
    }

    fn load(fields: &mut Fields, version: i32, context: &Context) -> Result<Self, String> {
        if version != Self::VERSION {
            return Err(format!("version {version}, this module reads {}", Self::VERSION));
        }
        let filter = load_pieces(fields, context)?.map(Loader::finish).transpose();
        let filter = filter.map_err(|error| error.to_string())?;
        let loader = load_pieces(fields, context)?;
        if loader.as_ref().is_some_and(Loader::is_complete) {
            return Err("a file that is loaded in parts is there as a whole".to_owned());
        }
        // A value with neither counts as lost.
        let is_lost = fields.unsigned()? != 0 || (filter.is_none() && loader.is_none());
        Ok(Self { is_lost, ..Self::new(filter.filter(|_| !is_lost), loader) })
    }

    fn save(&self, fields: &mut Fields) {
        let Self { filter, loader, is_lost } = self;
        let length = filter.as_ref().map_or(0, |filter| filter.file_length());
        save_pieces(fields, filter.iter().flat_map(|filter| parts(filter)), length);
        let loaded = loader.as_ref().map_or(0, Loader::loaded);
        save_pieces(fields, loader.iter().flat_map(Loader::pieces), loaded);
        fields.save_unsigned((*is_lost).into());
    }

    fn rewrite(&self, rewrite: &Rewrite) {
        let Self { filter, loader, is_lost } = self;
        if *is_lost {
            rewrite.chunk(c"UM.REPLAY", 0, b"LOST");
        }
        let mut offset = 0;
        for part in filter.iter().flat_map(|filter| parts(filter)) {
            rewrite.chunk(c"UM.LOAD", offset, &part);
            offset += part.len() as u64;
        }
        let mut offset = 0;
        for part in loader.iter().flat_map(Loader::pieces).flat_map(|piece| piece.chunks(PIECE)) {
            rewrite.chunk(c"UM.LOAD", offset, part);
            offset += part.len() as u64;
        }
    }

    fn bytes(&self) -> u64 {
        let Self { filter, loader, .. } = self;
        let loading = loader.as_ref().and_then(Loader::length).unwrap_or(0);
        filter.as_ref().map_or(0, |filter| filter.bytes()) + loading + size_of::<Self>() as u64
    }

    fn digest(&self, add: &mut dyn FnMut(&[u8])) {
        self.filter.iter().flat_map(|filter| parts(filter)).for_each(|part| add(&part));
        self.loader.iter().flat_map(Loader::pieces).for_each(&mut *add);
        if self.is_lost {
            add(b"lost");
        }
    }

    fn copy(&self, context: &Context) -> Option<Self> {
        check_copy(context, self.bytes())?;
        let filter = self.filter.as_ref().map(|filter| filter.try_clone()).transpose().ok()?;
        let copy = |from: &Loader<_>| {
            from.pieces().into_iter().try_fold(AnyFilter::loader_with(AnyScheme), Loader::push)
        };
        let loader = self.loader.as_ref().map(copy).transpose().ok()?;
        Some(Self { is_lost: self.is_lost, ..Self::new(filter, loader) })
    }

    fn lost() -> Option<Self> {
        Some(Self::LOST)
    }
}
