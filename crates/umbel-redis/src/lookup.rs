//! Lookups that the commands `BF.*` and `CF.*` share.

use umbel_foreign::{ForeignFilter, Key};

use crate::server::{Answer, Argument, Context, Either, Found, Refusal, Value};
use crate::values::{Foreign, Kept};

pub(crate) const NOT_FOUND: Refusal = Refusal::Words("ERR not found");

/// Items looked up together.
const BATCH: usize = 128;

/// Calls `at` with the filter of a key, which must exist.
pub(crate) fn look<T: Value, R>(
    context: &Context,
    key: Argument<'_>,
    at: impl FnOnce(&T) -> Result<R, Refusal>,
) -> Result<R, Refusal> {
    match context.key(key).get::<T>() {
        Found::Missing => Err(NOT_FOUND),
        Found::Other => Err(Refusal::WRONG_TYPE),
        Found::Value(filter) => at(filter),
    }
}

/// `EXISTS key item`; 0 if there is no filter.
pub(crate) fn exists<A: Foreign, B: Foreign>(
    context: &Context,
    arguments: &[Argument<'_>],
) -> Answer {
    let [_, key, item] = arguments else { return Err(Refusal::Arity) };
    let mut opened = context.key(*key);
    let item = Key::Bytes(item.bytes());
    let found = match opened.get_either::<Kept<A>, Kept<B>>() {
        Either::First(value) => value.filter().contains(item),
        Either::Second(value) => value.filter().contains(item),
        Either::Missing | Either::Other => Ok(false),
    };
    // If a lookup failed, the item might be there.
    context.reply_bool(found.unwrap_or(true));
    Ok(())
}

/// `MEXISTS key item...`
pub(crate) fn mexists<A: Foreign, B: Foreign>(
    context: &Context,
    arguments: &[Argument<'_>],
) -> Answer {
    let [_, key, items @ ..] = arguments else { return Err(Refusal::Arity) };
    if items.is_empty() {
        return Err(Refusal::Arity);
    }
    let mut opened = context.key(*key);
    context.reply_array(items.len());
    let filter: &dyn ForeignFilter = match opened.get_either::<Kept<A>, Kept<B>>() {
        Either::First(value) => value.filter(),
        Either::Second(value) => value.filter(),
        Either::Missing | Either::Other => {
            items.iter().for_each(|_| context.reply_bool(false));
            return Ok(());
        }
    };
    for items in items.chunks(BATCH) {
        let mut keys = [Key::Bytes(b""); BATCH];
        for (key, item) in keys.iter_mut().zip(items) {
            *key = Key::Bytes(item.bytes());
        }
        let mut found = [true; BATCH];
        let (keys, found) = (&keys[..items.len()], &mut found[..items.len()]);
        let _ = filter.contains_all(keys, found);
        found.iter().for_each(|found| context.reply_bool(*found));
    }
    Ok(())
}
