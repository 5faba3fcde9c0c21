//! The commands `UM.*`: umbel's own filters, of every kind that its files have.

use umbel::filter::{Fact, Figure};
use umbel::{
    AnyFilter, Hashing, InsertError, KeyHash, KeyHasher, Kind, Plan, Receipt, Sealed, Variant,
    Window,
};

use crate::secrets;
use crate::server::{
    Access, Answer, Argument, CommandSpec, Context, Found, Refusal, exported, spec,
};
use crate::settings::fits;
use crate::values::{Filter, PART, Umbel};

/// All of them.
pub(crate) const COMMANDS: [CommandSpec; 11] = [
    spec(c"um.reserve", exported!(reserve), -4, Access::Insert, c"Creates a filter"),
    spec(c"um.add", exported!(add), 3, Access::Insert, c"Adds a key"),
    spec(c"um.madd", exported!(madd), -3, Access::Insert, c"Adds keys"),
    spec(c"um.addat", exported!(addat), -4, Access::Insert, c"Adds keys that came at a time"),
    spec(c"um.exists", exported!(exists), 3, Access::Read, c"Whether a key may be there"),
    spec(c"um.mexists", exported!(mexists), -3, Access::Read, c"Whether keys may be there"),
    spec(c"um.del", exported!(del), 3, Access::Delete, c"Takes a key out of a counting filter"),
    spec(c"um.info", exported!(info), 2, Access::Read, c"The receipt of a filter").not_cached(),
    spec(c"um.merge", exported!(merge), -3, Access::Insert, c"Joins filters").many_keys(),
    spec(c"um.dump", exported!(dump), 3, Access::Read, c"A part of a filter's file").not_cached(),
    spec(c"um.load", exported!(load), 4, Access::Insert, c"Takes a part of a filter's file"),
];

/// There is no filter, which does not mean that a key is absent.
const NO_FILTER: Refusal =
    Refusal::Words("NOFILTER no such filter; make it with UM.RESERVE or UM.LOAD");
const NO_MEMORY: Refusal = Refusal::Words("ERR Insufficient memory to create filter");

fn refused(error: impl std::fmt::Display) -> Refusal {
    Refusal::Text(format!("ERR {error}"))
}

/// Returns the filter of a key.
fn found<'k>(found: Found<'k, Umbel>) -> Result<&'k mut Filter, Refusal> {
    match found {
        Found::Missing => Err(NO_FILTER),
        Found::Other => Err(Refusal::WRONG_TYPE),
        Found::Value(umbel) => umbel.filter.as_mut().ok_or(NO_FILTER),
    }
}

/// Returns the hasher of a filter's keys; an error for filters of rows, which have no single keys.
fn hasher(filter: &Filter) -> Result<KeyHasher, Refusal> {
    if filter.kind().rows() {
        filter.check_inserts().map_err(refused)?;
    }
    secrets::hasher(filter.hasher().scheme()).map_err(refused)
}

/// Keys that are hashed, and then added or looked up, together.
const BATCH: usize = 128;

/// Hashes keys, at most `N` together, and calls `each` with their hashes and the places for their answers.
fn by_batch<const N: usize>(
    hasher: &KeyHasher,
    keys: &[Argument<'_>],
    answers: &mut [bool],
    mut each: impl FnMut(&[KeyHash], &mut [bool]) -> Result<(), InsertError>,
) -> Result<(), InsertError> {
    let mut hashes = [KeyHash::default(); N];
    for (keys, answers) in keys.chunks(N).zip(answers.chunks_mut(N)) {
        for (hash, key) in hashes.iter_mut().zip(keys) {
            *hash = hasher.hash(key.bytes());
        }
        each(&hashes[..keys.len()], answers)?;
    }
    Ok(())
}

/// `UM.RESERVE key keys fpp [KIND kind] [SPAN milliseconds] [SECRET id | NONE]`
fn reserve(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, keys, fpp, options @ ..] = arguments else { return Err(Refusal::Arity) };
    if options.len() % 2 != 0 {
        return Err(Refusal::Arity);
    }
    let keys = keys.integer().and_then(|keys| u64::try_from(keys).ok());
    let keys = keys.ok_or(Refusal::Words("ERR the number of keys is no whole number"))?;
    let fpp = fpp.number().ok_or(Refusal::Words("ERR fpp is no number"))?;
    let (mut kind, mut span, mut hasher) = (Variant::from(Kind::Blocked), None, None);
    for option in options.chunks_exact(2) {
        let (name, value) = (option[0], option[1]);
        if name.is("KIND") {
            let text = String::from_utf8_lossy(value.bytes()).to_ascii_lowercase();
            kind = text.parse().map_err(refused)?;
        } else if name.is("SPAN") {
            let number = value.integer().and_then(|span| u64::try_from(span).ok());
            let number = number.filter(|span| *span > 0);
            span = Some(number.ok_or(Refusal::Words("ERR SPAN is no number of milliseconds"))?);
        } else if name.is("SECRET") {
            hasher = Some(secret(value)?);
        } else {
            return Err(Refusal::Words("ERR expected KIND, SPAN or SECRET, each with a value"));
        }
    }
    let plan = Plan::for_keys(kind, keys, fpp).map_err(refused)?;
    let scheme = hasher.unwrap_or_else(secrets::usual).scheme();
    let mut opened = context.key_for_writing(*key);
    match opened.get::<Umbel>() {
        Found::Missing => {}
        Found::Other => return Err(Refusal::WRONG_TYPE),
        Found::Value(_) => return Err(Refusal::Words("ERR item exists")),
    }
    if !fits(context, plan.bytes(), plan.bytes()) {
        return Err(NO_MEMORY);
    }
    let filter = match span {
        None => AnyFilter::with_plan(&plan, scheme).map_err(refused)?,
        Some(span) => AnyFilter::Window(Window::by_time(&plan, scheme, span).map_err(refused)?),
    };
    opened.set(Box::new(Umbel { filter: Some(filter), loader: None }));
    drop(opened);
    // The default secret may differ on replicas, so the filter's own is named.
    let mut words = vec![keys.to_string(), format!("{fpp:e}"), "KIND".to_owned(), kind.to_string()];
    if let Some(span) = span {
        words.extend(["SPAN".to_owned(), span.to_string()]);
    }
    let id = if scheme.key_id == 0 { "NONE".to_owned() } else { format!("{:016x}", scheme.key_id) };
    words.extend(["SECRET".to_owned(), id]);
    context.replicate_also(c"UM.RESERVE", *key, &words);
    context.notify(c"umbel.reserve", *key);
    context.reply_ok()
}

fn secret(id: Argument<'_>) -> Result<KeyHasher, Refusal> {
    if id.is("NONE") {
        return Ok(KeyHasher::default());
    }
    let text = String::from_utf8_lossy(id.bytes()).into_owned();
    let key_id = u64::from_str_radix(&text, 16).ok();
    key_id.and_then(secrets::named).ok_or_else(|| {
        refused(format!("no secret has the id {text}; the setting secret-files names their files"))
    })
}

/// Adds keys to the filter of a key, which grows if it fits; `new` becomes whether each was new. `at` is the time in
/// milliseconds, for windows by time.
fn add_to<const N: usize>(
    context: &Context,
    key: Argument<'_>,
    keys: &[Argument<'_>],
    at: Option<u64>,
    new: &mut [bool],
) -> Result<(), Refusal> {
    let mut opened = context.key_for_writing(key);
    let filter = found(opened.get())?;
    let hasher = hasher(filter)?;
    let mut tick = None;
    if let AnyFilter::Window(window) = &mut *filter
        && window.span().is_some()
    {
        let now = at.unwrap_or_else(|| context.milliseconds());
        window.advance(now).map_err(refused)?;
        tick = Some(now);
    }
    if at.is_some() && tick.is_none() {
        return Err(refused(InsertError::NoClock));
    }
    filter.set_limit(filter.bytes());
    let added = by_batch::<N>(&hasher, keys, new, |hashes, new| {
        loop {
            let mut more = [false; N];
            let added = filter.insert_all_new(hashes, &mut more[..hashes.len()]);
            // Keys added before the filter had to grow are not new in the second attempt.
            new.iter_mut().zip(more).for_each(|(new, more)| *new |= more);
            match added {
                Err(InsertError::GrowthLimit { bytes, .. })
                    if fits(context, bytes, bytes - filter.bytes()) =>
                {
                    filter.set_limit(bytes);
                }
                added => break added,
            }
        }
    });
    // In these kinds, a key that is not new changes nothing.
    let is_set = matches!(filter.kind(), Kind::Blocked | Kind::Classic | Kind::Sliced);
    drop(opened);
    match tick {
        // Replicas must not use their own clocks.
        Some(tick) if at.is_none() => context.replicate_items(c"UM.ADDAT", key, tick, keys),
        _ if !is_set || new.contains(&true) => context.replicate(),
        _ => {}
    }
    added.map_err(refused)?;
    if new.contains(&true) {
        context.notify(c"umbel.add", key);
    }
    Ok(())
}

/// Adds keys and replies for each.
fn add_all(context: &Context, key: Argument<'_>, keys: &[Argument<'_>], at: Option<u64>) -> Answer {
    let mut new = vec![false; keys.len()];
    add_to::<BATCH>(context, key, keys, at, &mut new)?;
    reply_all(context, &new)
}

fn reply_all(context: &Context, answers: &[bool]) -> Answer {
    context.reply_array(answers.len());
    answers.iter().for_each(|answer| context.reply_bool(*answer));
    Ok(())
}

/// `UM.ADD key item`
fn add(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, item] = arguments else { return Err(Refusal::Arity) };
    let mut new = [false];
    add_to::<1>(context, *key, &[*item], None, &mut new)?;
    context.reply_bool(new[0]);
    Ok(())
}

/// `UM.MADD key item...`
fn madd(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, items @ ..] = arguments else { return Err(Refusal::Arity) };
    if items.is_empty() {
        return Err(Refusal::Arity);
    }
    add_all(context, *key, items, None)
}

/// `UM.ADDAT key milliseconds item...`: into a window by time, as if it were then; later than that it stays.
fn addat(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, time, items @ ..] = arguments else { return Err(Refusal::Arity) };
    if items.is_empty() {
        return Err(Refusal::Arity);
    }
    let time = time.integer().and_then(|time| u64::try_from(time).ok());
    let time = time.ok_or(Refusal::Words("ERR the time is no number of milliseconds"))?;
    if !context.must_obey() && time > context.milliseconds().saturating_add(A_MINUTE) {
        return Err(Refusal::Words("ERR the time is to come: nothing after it would be forgotten"));
    }
    add_all(context, *key, items, Some(time))
}

/// The largest tolerated difference between clocks, in milliseconds.
const A_MINUTE: u64 = 60_000;

/// Looks keys up; `found` becomes the answers. A window by time first forgets old ones.
fn look_up<const N: usize>(
    context: &Context,
    key: Argument<'_>,
    keys: &[Argument<'_>],
    found: &mut [bool],
) -> Result<(), Refusal> {
    let mut opened = context.key(key);
    let filter = self::found(opened.get())?;
    if let AnyFilter::Window(window) = &mut *filter
        && window.span().is_some()
    {
        // Replicas forget by their own clocks, or with the next key.
        window.advance(context.milliseconds()).map_err(refused)?;
    }
    let looked_up = by_batch::<N>(&hasher(filter)?, keys, found, |hashes, found| {
        filter.contains_all(hashes, found);
        Ok(())
    });
    looked_up.map_err(refused)
}

/// `UM.EXISTS key item`
fn exists(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, item] = arguments else { return Err(Refusal::Arity) };
    let mut found = [false];
    look_up::<1>(context, *key, &[*item], &mut found)?;
    context.reply_bool(found[0]);
    Ok(())
}

/// `UM.MEXISTS key item...`
fn mexists(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, items @ ..] = arguments else { return Err(Refusal::Arity) };
    if items.is_empty() {
        return Err(Refusal::Arity);
    }
    let mut found = vec![false; items.len()];
    look_up::<BATCH>(context, *key, items, &mut found)?;
    reply_all(context, &found)
}

/// `UM.DEL key item`: out of a counting filter; false when it is certainly not there.
fn del(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, item] = arguments else { return Err(Refusal::Arity) };
    let mut opened = context.key_for_writing(*key);
    let filter = found(opened.get())?;
    let hash = hasher(filter)?.hash(item.bytes());
    let removed = filter.removing().map_err(refused)?.remove(hash);
    drop(opened);
    if removed {
        context.replicate();
        context.notify(c"umbel.del", *key);
    }
    context.reply_bool(removed);
    Ok(())
}

/// `UM.INFO key`: the receipt, from the bits. One pass over them.
fn info(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key] = arguments else { return Err(Refusal::Arity) };
    let mut opened = context.key(*key);
    let receipt = found(opened.get())?.receipt();
    let Receipt { plan, scheme, bits, set_bits, fill, keys, fpp, room, over_filled, .. } = &receipt;
    context.reply_map(14 + receipt.facts.len());
    let texts = [("kind", plan.kind().to_string()), ("scheme", scheme.to_string())];
    for (name, text) in texts {
        context.reply_bytes(name.as_bytes());
        context.reply_bytes(text.as_bytes());
    }
    let counts = [
        ("bytes", receipt.bytes()),
        ("bits", *bits),
        ("set bits", *set_bits),
        ("probes", plan.probes().into()),
        ("planned keys", plan.keys()),
        ("room", *room),
    ];
    for (name, count) in counts {
        context.reply_bytes(name.as_bytes());
        context.reply_count(count);
    }
    let numbers = [
        ("planned fpp", plan.fpp()),
        ("fill", *fill),
        ("fpp", *fpp),
        ("keys", keys.value),
        ("keys at most", keys.high),
    ];
    for (name, number) in numbers {
        context.reply_bytes(name.as_bytes());
        context.reply_number(number);
    }
    context.reply_bytes(b"over-filled");
    context.reply_bool(*over_filled);
    for Fact { name, figure } in &receipt.facts {
        context.reply_bytes(name.replace('_', " ").as_bytes());
        match figure {
            Figure::Count(count) => context.reply_count(*count),
            Figure::Number(number) | Figure::Rate(number) => context.reply_number(*number),
            Figure::Text(text) => context.reply_bytes(text.as_bytes()),
            _ => context.reply_null(),
        }
    }
    Ok(())
}

/// `UM.MERGE destination source...`: the keys of all, also of a destination that is there. On an error it is as it was.
fn merge(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, destination, sources @ ..] = arguments else { return Err(Refusal::Arity) };
    if sources.is_empty() {
        return Err(Refusal::Arity);
    }
    let mut union: Option<Filter> = None;
    // The destination comes first, if it exists, and is skipped among the sources.
    let others = sources.iter().filter(|source| source.bytes() != destination.bytes());
    for (i, source) in std::iter::once(destination).chain(others).enumerate() {
        let mut opened = context.key(*source);
        let filter = match opened.get::<Umbel>() {
            Found::Missing if i == 0 => continue,
            Found::Value(Umbel { filter: None, .. }) if i == 0 => continue,
            other => found(other)?,
        };
        match &mut union {
            Some(union) => union.union(filter).map_err(refused)?,
            None => {
                if !fits(context, filter.bytes(), filter.bytes()) {
                    return Err(NO_MEMORY);
                }
                union = Some(filter.try_clone().map_err(refused)?);
            }
        }
    }
    let filter = union.ok_or(NO_FILTER)?;
    let mut opened = context.key_for_writing(*destination);
    match opened.get::<Umbel>() {
        Found::Other => return Err(Refusal::WRONG_TYPE),
        Found::Value(umbel) => umbel.filter = Some(filter),
        Found::Missing => {
            opened.set(Box::new(Umbel { filter: Some(filter), loader: None }));
        }
    }
    drop(opened);
    context.replicate();
    context.notify(c"umbel.merge", *destination);
    context.reply_ok()
}

/// `UM.DUMP key offset`: the offset after this part of the umbel file, and the part; 0 and nothing at the end.
fn dump(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, offset] = arguments else { return Err(Refusal::Arity) };
    let offset = position(*offset)?;
    let mut opened = context.key(*key);
    let part = found(opened.get())?.file_part(offset, PART);
    let next = if part.is_empty() { 0 } else { offset + part.len() as u64 };
    context.reply_array(2);
    context.reply_count(next);
    context.reply_bytes(&part);
    Ok(())
}

fn position(offset: Argument<'_>) -> Result<u64, Refusal> {
    let offset = offset.integer().and_then(|offset| u64::try_from(offset).ok());
    offset.ok_or(Refusal::Words("ERR the offset is no whole number"))
}

/// `UM.LOAD key offset data`: the next part of an umbel file; answers the offset of the one after it, 0 with the last.
/// Until then the old filter answers; then the new one replaces it.
fn load(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, offset, data] = arguments else { return Err(Refusal::Arity) };
    let (offset, data) = (position(*offset)?, data.bytes());
    let mut opened = context.key_for_writing(*key);
    let mut umbel = match opened.get::<Umbel>() {
        Found::Other => return Err(Refusal::WRONG_TYPE),
        Found::Missing => None,
        Found::Value(umbel) => Some(umbel),
    };
    let begun = umbel.as_mut().and_then(|umbel| umbel.loader.take());
    let was_begun = begun.is_some();
    // A part at 0 starts over.
    let mut loader = if offset == 0 { None } else { begun }.unwrap_or(AnyFilter::loader(Sealed));
    if offset != loader.loaded() {
        let expected = loader.loaded();
        if let Some(umbel) = umbel {
            umbel.loader = (expected > 0).then_some(loader);
        }
        return Err(refused(format!("the part at {expected} comes next, or that at 0")));
    }
    // The first part has the header with the length, so a filter that does not fit is refused here.
    let fitting = match offset {
        0 => umbel::format::length_of(data)
            .map_err(refused)
            .and_then(|length| fits(context, length, length).then_some(()).ok_or(NO_MEMORY)),
        _ => Ok(()),
    };
    let pushed = fitting.and_then(|()| loader.push(data).map_err(refused));
    let answer = pushed.and_then(|()| {
        let next = loader.loaded();
        let loaded = if loader.is_whole() {
            let filter = loader.finish().map_err(refused)?;
            check_secret(context, &filter)?;
            (Some(filter), None)
        } else {
            (None, Some(loader))
        };
        Ok((next, loaded))
    });
    let (next, (filter, loader)) = match answer {
        Ok(loaded) => loaded,
        // Replicas must drop what they have, too.
        Err(refusal) => {
            if was_begun {
                context.replicate();
            }
            return Err(refusal);
        }
    };
    let is_whole = filter.is_some();
    match umbel {
        Some(umbel) => {
            umbel.filter = filter.or(umbel.filter.take());
            umbel.loader = loader;
        }
        None => opened.set(Box::new(Umbel { filter, loader })),
    }
    drop(opened);
    context.replicate();
    if is_whole {
        context.notify(c"umbel.load", *key);
    }
    context.reply_count(if is_whole { 0 } else { next });
    Ok(())
}

/// Returns an error if the server cannot hash keys for the filter.
fn check_secret(context: &Context, filter: &Filter) -> Result<(), Refusal> {
    if context.must_obey() {
        return Ok(());
    }
    secrets::hasher(filter.hasher().scheme()).map(drop).map_err(refused)
}
