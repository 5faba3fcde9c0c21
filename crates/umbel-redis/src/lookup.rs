//! The common parts of the commands `BF.*` and `CF.*`: lookups, and the option `SEED`.

use std::ffi::CStr;

use umbel_foreign::{ForeignFilter, Key};

use crate::server::{self, Answer, Argument, Context, Either, Found, Refusal, Value};
use crate::values::{Foreign, Kept, Umbel};

pub(crate) const NOT_FOUND: Refusal = Refusal::Words("ERR not found");

/// The summary of `BF.EXISTS` and `CF.EXISTS`.
pub(crate) const EXISTS: &CStr = c"Whether an item may be there";
/// The summary of `BF.MEXISTS` and `CF.MEXISTS`.
pub(crate) const MEXISTS: &CStr = c"Whether items may be there";

/// The most characters of a seed.
const MOST_SEED: usize = 20;

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

/// Parses `SEED random`, `SEED 123` and `SEED 0x7b` among the options of `RESERVE`, as RedisBloom's development version does.
pub(crate) fn seed(context: &Context, options: &[Argument<'_>]) -> Result<Option<u64>, Refusal> {
    let Some(at) = options.iter().position(|option| option.is("SEED")) else { return Ok(None) };
    let rest = &options[at + 1..];
    let seed = match rest {
        [seed, ..] if !rest.iter().any(|option| option.is("SEED")) => seed,
        _ => return Err(Refusal::Words("ERR expected one SEED value")),
    };
    if seed.is("RANDOM") {
        return Ok(Some(u64::from_ne_bytes(context.random())));
    }
    let invalid = "ERR invalid seed: expected random, unsigned decimal or 0x hexadecimal";
    let invalid = Refusal::Words(invalid);
    let text = str::from_utf8(seed.bytes()).ok().filter(|text| text.len() <= MOST_SEED);
    let (digits, radix) = match text.map(|text| (text, text.get(..2))) {
        Some((text, Some("0x" | "0X"))) => (&text[2..], 16),
        Some((text, _)) => (text, 10),
        None => return Err(invalid),
    };
    // The parser would also accept a sign.
    let are_digits = digits.chars().all(|digit| digit.is_digit(radix));
    let number = u64::from_str_radix(digits, radix).ok().filter(|_| are_digits);
    number.map(Some).ok_or(invalid)
}

/// Returns an error for a filter of `UM.*`, which might hold the item. For a missing key and other types, the commands
/// answer "absent", as RedisBloom does.
pub(crate) fn check_not_umbel(opened: &mut server::Key<'_>) -> Answer {
    match opened.get::<Umbel>() {
        Found::Value(_) => Err(Refusal::WRONG_TYPE),
        Found::Missing | Found::Other => Ok(()),
    }
}

/// Returns the filter of a key, of two types.
fn filter<'k, A: Foreign, B: Foreign>(
    opened: &'k mut server::Key<'_>,
) -> Result<Option<&'k dyn ForeignFilter>, Refusal> {
    check_not_umbel(opened)?;
    Ok(match opened.get_either::<Kept<A>, Kept<B>>() {
        Either::First(value) => Some(value.filter()),
        Either::Second(value) => Some(value.filter()),
        Either::Missing | Either::Other => None,
    })
}

/// `EXISTS key item`; 0 if the filter does not exist.
pub(crate) fn exists<A: Foreign, B: Foreign>(
    context: &Context,
    arguments: &[Argument<'_>],
) -> Answer {
    let [_, key, item] = arguments else { return Err(Refusal::Arity) };
    let mut opened = context.key(*key);
    let found =
        filter::<A, B>(&mut opened)?.map(|filter| filter.contains(Key::Bytes(item.bytes())));
    // If a lookup failed, the item might be there.
    context.reply_bool(found.is_some_and(|found| found.unwrap_or(true)));
    Ok(())
}

/// `MEXISTS key item...`
pub(crate) fn mexists<A: Foreign, B: Foreign>(
    context: &Context,
    arguments: &[Argument<'_>],
) -> Answer {
    let [_, key, items @ ..] = arguments else { return Err(Refusal::Arity) };
    let mut opened = context.key(*key);
    let filter = filter::<A, B>(&mut opened)?;
    context.reply_array(items.len());
    for items in items.chunks(BATCH) {
        let mut keys = [Key::Bytes(b""); BATCH];
        for (key, item) in keys.iter_mut().zip(items) {
            *key = Key::Bytes(item.bytes());
        }
        let mut found = [filter.is_some(); BATCH];
        let (keys, found) = (&keys[..items.len()], &mut found[..items.len()]);
        let _ = filter.map(|filter| filter.contains_all(keys, found));
        found.iter().for_each(|found| context.reply_bool(*found));
    }
    Ok(())
}
