//! Lookups that the commands `BF.*` and `CF.*` share.

use umbel_foreign::Key;

use crate::server::{Answer, Argument, Context, Found, Refusal, Value};
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
pub(crate) fn exists<F: Foreign>(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, item] = arguments else { return Err(Refusal::Arity) };
    let mut opened = context.key(*key);
    let found = match opened.get::<Kept<F>>() {
        // If a lookup failed, the item might be there.
        Found::Value(value) => value.filter().contains(Key::Bytes(item.bytes())).unwrap_or(true),
        Found::Missing | Found::Other => false,
    };
    context.reply_bool(found);
    Ok(())
}

/// `MEXISTS key item...`
pub(crate) fn mexists<F: Foreign>(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, items @ ..] = arguments else { return Err(Refusal::Arity) };
    if items.is_empty() {
        return Err(Refusal::Arity);
    }
    let mut opened = context.key(*key);
    context.reply_array(items.len());
    let Found::Value(value) = opened.get::<Kept<F>>() else {
        items.iter().for_each(|_| context.reply_bool(false));
        return Ok(());
    };
    for items in items.chunks(BATCH) {
        let mut keys = [Key::Bytes(b""); BATCH];
        for (key, item) in keys.iter_mut().zip(items) {
            *key = Key::Bytes(item.bytes());
        }
        let mut found = [true; BATCH];
        let (keys, found) = (&keys[..items.len()], &mut found[..items.len()]);
        let _ = value.filter().contains_all(keys, found);
        found.iter().for_each(|found| context.reply_bool(*found));
    }
    Ok(())
}
