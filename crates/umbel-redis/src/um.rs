//! The commands `UM.*`: umbel's own filters, of every kind that its files have.

use std::borrow::Cow;
use std::ffi::CStr;
use std::sync::Arc;

use umbel::{
    AnyFilter, AnyScheme, Fact, Figure, Filter as _, Full, Hashing, InsertError, KeyForm, KeyHash,
    KeyHasher, Kind, Loader, Plan, Receipt, Scheme, Variant, Window,
};

use crate::secrets;
use crate::server::{
    Access::{Delete, Insert, Read},
    Answer, Argument, CommandSpec, Context, End, Found, Handler, Job, Key, NO_WORDS, Refusal,
    exported, no_memory, settle, spec,
};
use crate::settings::check_size;
use crate::values::{Filter, Umbel};

/// As [`exported!`], for a command that writes.
macro_rules! writing {
    ($handler:path) => {
        exported!(|context: &Context, arguments: &[Argument<'_>]| follow(
            context, arguments, $handler
        ))
    };
}

/// As [`writing!`], for a command that changes bits.
macro_rules! changing {
    ($handler:path) => {
        exported!(|context: &Context, arguments: &[Argument<'_>]| alone_with(
            context,
            arguments,
            |context, arguments| follow(context, arguments, $handler)
        ))
    };
}

/// All commands.
pub(crate) const COMMANDS: [CommandSpec; 13] = [
    spec(c"um.reserve", writing!(reserve), -4, Insert, c"Creates a filter"),
    // Additions sent to replicas need no memory. A replica with its own `maxmemory` would have them denied by the
    // server, and then miss keys.
    spec(c"um.add", changing!(add), 3, Insert, c"Adds a key").in_place(),
    spec(c"um.madd", changing!(madd), -3, Insert, c"Adds keys").in_place(),
    spec(c"um.addat", changing!(addat), -4, Insert, c"Adds keys at a given time").in_place(),
    // Windows by time forget without a write, so clients would not learn that a cached reply is outdated.
    spec(c"um.exists", exported!(exists), 3, Read, c"Whether a key may be there").not_cached(),
    spec(c"um.mexists", exported!(mexists), -3, Read, c"Whether keys may be there").not_cached(),
    spec(c"um.del", changing!(del), 3, Delete, c"Removes a key from a counting filter"),
    spec(c"um.info", exported!(info), 2, Read, c"The receipt of a filter").long().not_cached(),
    spec(c"um.merge", writing!(merge), -3, Insert, c"Merges filters").many_keys(),
    spec(c"um.shrink", writing!(shrink), -2, Insert, c"Makes a filter smaller"),
    spec(c"um.dump", exported!(dump), 3, Read, c"A part of a filter's file").long().not_cached(),
    spec(c"um.load", writing!(load), 4, Insert, c"Loads a part of a filter's file"),
    spec(c"um.replay", changing!(replay), -4, Insert, c"What a command did, as hashes").in_place(),
];

/// The filter is missing, which does not mean that a key is absent.
const NO_FILTER: Refusal =
    Refusal::Words("NOFILTER no such filter; make it with UM.RESERVE or UM.LOAD");
const LOADING: Refusal = Refusal::Words(
    "NOFILTER the filter is still being loaded; continue with UM.LOAD, or cancel it with an empty part at 0",
);
const LOST: Refusal = Refusal::Words(
    "NOFILTER this server could not apply all writes to the filter; replace it with UM.LOAD, or DEL and rebuild it",
);

fn refused(error: impl std::fmt::Display) -> Refusal {
    Refusal::Text(format!("ERR {error}"))
}

/// Filters from this size on are read as a whole in the background; smaller ones take a millisecond or two.
const LONG: u64 = 8 << 20;

/// Bytes of a part that `UM.DUMP` returns; the server copies one in less than a millisecond.
const PART: usize = 1 << 20;

/// Returns the filter of a key.
fn found<'k>(found: Found<'k, Umbel>) -> Result<&'k mut Arc<Filter>, Refusal> {
    match found {
        Found::Missing => Err(NO_FILTER),
        Found::Other => Err(Refusal::WRONG_TYPE),
        Found::Value(umbel) => filter_of(umbel),
    }
}

fn filter_of(umbel: &mut Umbel) -> Result<&mut Arc<Filter>, Refusal> {
    if umbel.is_lost {
        return Err(LOST);
    }
    umbel.filter.as_mut().ok_or(LOADING)
}

/// Returns a filter to change, unshared with jobs: [`alone_with`] ensured that.
fn alone(filter: &mut Arc<Filter>) -> Result<&mut Filter, Refusal> {
    Arc::get_mut(filter).ok_or(Refusal::Words("ERR the filter is being read"))
}

/// Returns the hasher of a filter's keys; an error if they are not what clients send, such as rows, prefixes of addresses,
/// or keys without capital letters: the filter would report what it was built from as absent.
fn hasher(filter: &Filter) -> Result<KeyHasher, Refusal> {
    if filter.kind().rows() {
        filter.check_inserts().map_err(refused)?;
    }
    let keys = filter.description();
    if !keys.is_plain() {
        let built = keys.in_words();
        return Err(refused(format!(
            "the filter was built from {built}, and clients send keys as they are; build it from such keys"
        )));
    }
    secrets::hasher(filter.hasher().scheme()).map_err(refused)
}

/// `UM.RESERVE key keys fpp [KIND kind] [SPAN milliseconds] [SECRET id | NONE]`
fn reserve(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, keys, fpp, options @ ..] = arguments else { return Err(Refusal::Arity) };
    if options.len() % 2 != 0 {
        return Err(Refusal::Arity);
    }
    let keys = keys.integer().and_then(|keys| u64::try_from(keys).ok());
    // RedisBloom's order is the other one.
    let words = "ERR the number of keys is not a whole number: UM.RESERVE key keys fpp";
    let keys = keys.ok_or(Refusal::Words(words))?;
    let fpp = fpp.number().ok_or(Refusal::Words("ERR fpp is not a number"))?;
    let (mut kind, mut span, mut scheme) = (Variant::from(Kind::Blocked), None, None);
    for option in options.chunks_exact(2) {
        let (name, value) = (option[0], option[1]);
        if name.is("KIND") {
            let text = String::from_utf8_lossy(value.bytes()).to_ascii_lowercase();
            kind = text.parse().map_err(refused)?;
        } else if name.is("SPAN") {
            let number = value.integer().and_then(|span| u64::try_from(span).ok());
            let number = number.filter(|span| *span > 0);
            span = Some(number.ok_or(Refusal::Words("ERR SPAN is not a number of milliseconds"))?);
        } else if name.is("SECRET") {
            scheme = Some(secret(context, value)?);
        } else {
            return Err(Refusal::Words("ERR expected KIND, SPAN or SECRET, each with a value"));
        }
    }
    if span.is_some() && kind.kind() != Kind::Window {
        return Err(Refusal::Words("ERR SPAN is for KIND window"));
    }
    let plan = Plan::for_keys(kind, keys, fpp).map_err(refused)?;
    let scheme = scheme.unwrap_or_else(|| secrets::usual().scheme());
    let mut opened = context.key_for_writing(*key);
    match opened.get::<Umbel>() {
        Found::Missing => {}
        Found::Other => return Err(Refusal::WRONG_TYPE),
        Found::Value(umbel) => {
            filter_of(umbel)?;
            return Err(Refusal::Words("ERR item exists"));
        }
    }
    check_size(context, plan.bytes(), plan.bytes()).map_err(no_memory)?;
    let mut filter = match span {
        None => AnyFilter::with_plan(&plan, scheme).map_err(refused)?,
        Some(span) => AnyFilter::Window(Window::by_time(&plan, scheme, span).map_err(refused)?),
    };
    // Clients send text: numbers are their digits.
    filter.note(KeyForm::Text).map_err(refused)?;
    opened.set(Box::new(Umbel::new(Some(filter), None)));
    drop(opened);
    // The default secret may differ on replicas, so the filter's own is named.
    let mut words = vec![keys.to_string(), format!("{fpp:e}"), "KIND".to_owned(), kind.to_string()];
    if let Some(span) = span {
        words.extend(["SPAN".to_owned(), span.to_string()]);
    }
    let id = if scheme.key_id == 0 { "NONE".to_owned() } else { format!("{:016x}", scheme.key_id) };
    words.extend(["SECRET".to_owned(), id]);
    context.replicate_as(c"UM.RESERVE", *key, &words, &[]);
    context.notify(c"umbel.reserve", *key);
    context.reply_ok()
}

/// Returns the scheme of option `SECRET`. A replica or a restarted server may lack the secret; only clients need it.
fn secret(context: &Context, id: Argument<'_>) -> Result<Scheme, Refusal> {
    if id.is("NONE") {
        return Ok(KeyHasher::default().scheme());
    }
    let text = String::from_utf8_lossy(id.bytes()).into_owned();
    let key_id = u64::from_str_radix(&text, 16).ok();
    let known = key_id.filter(|id| context.must_obey() || secrets::named(*id).is_some());
    let known = known.map(Scheme::keyed);
    known.ok_or_else(|| {
        refused(format!("no secret has the id {text}; bf.secret-files names their files"))
    })
}

/// The keys that a command adds or removes.
enum Keys<'a> {
    Items(&'a [Argument<'a>]),
    Hashes(Vec<KeyHash>),
}

impl Keys<'_> {
    fn hashes(&self, filter: &Filter) -> Result<Cow<'_, [KeyHash]>, Refusal> {
        match self {
            Self::Items(items) => {
                let integers = filter.description().form() == Some(KeyForm::Integer);
                if integers && items.iter().any(|item| KeyForm::integer(item.bytes()).is_none()) {
                    return Err(Refusal::Words(
                        "ERR the filter holds integers; add integers from -9223372036854775808 to 18446744073709551615",
                    ));
                }
                hashed(filter, items, integers).map(Cow::Owned)
            }
            Self::Hashes(hashes) => Ok(Cow::Borrowed(hashes)),
        }
    }
}

/// Hashes keys for a filter; with `integers`, keys that are digits are hashed as integers.
fn hashed(filter: &Filter, keys: &[Argument<'_>], integers: bool) -> Result<Vec<KeyHash>, Refusal> {
    let hasher = hasher(filter)?;
    let hash = |key: &Argument<'_>| match KeyForm::integer(key.bytes()).filter(|_| integers) {
        Some(integer) => hasher.hash(integer),
        None => hasher.hash(key.bytes()),
    };
    Ok(keys.iter().map(hash).collect())
}

/// Keys that are added together; if the filter has to grow, the ones added so far are looked up again.
const BATCH: usize = 128;

/// Adds keys to the filter of a key. The filter grows if it fits. Returns whether each key was new. `at` is
/// the time in milliseconds, for windows by time.
fn add_to(
    context: &Context,
    key: Argument<'_>,
    at: Option<u64>,
    keys: &Keys<'_>,
) -> Result<Vec<bool>, Refusal> {
    let mut opened = context.key_for_writing(key);
    let filter = alone(found(opened.get())?)?;
    let hashes = keys.hashes(filter)?;
    let mut tick = None;
    if let AnyFilter::Window(window) = &mut *filter
        && let Some(span) = window.span()
    {
        let now = context.milliseconds();
        let time = at.unwrap_or(now);
        // A clock that is ahead takes that much from the time of all that is there.
        if time > now.saturating_add(A_MINUTE.min(span / 10)) && !context.must_obey() {
            return Err(Refusal::Words(
                "ERR time in the future: what was added before it would be forgotten",
            ));
        }
        window.advance(time).map_err(refused)?;
        tick = Some(time);
    }
    if at.is_some() && tick.is_none() {
        return Err(Refusal::Words("ERR the filter has no clock; it needs KIND window with SPAN"));
    }
    filter.set_limit(filter.bytes());
    let mut new = vec![false; hashes.len()];
    let mut batches = hashes.chunks(BATCH).zip(new.chunks_mut(BATCH));
    let added = batches.try_for_each(|(hashes, new)| {
        loop {
            let mut more = [false; BATCH];
            let added = filter.try_insert_all_new(hashes, &mut more[..hashes.len()]);
            // Keys added before the filter had to grow are not new in the second attempt.
            new.iter_mut().zip(more).for_each(|(new, more)| *new |= more);
            match added {
                Err(InsertError::Full(Full::Limit(bytes, _)))
                    if check_size(context, bytes, bytes - filter.bytes()).is_ok() =>
                {
                    filter.set_limit(bytes);
                }
                added => break added,
            }
        }
    });
    let has_secret = filter.hasher().scheme().key_id != 0;
    // In the other kinds, a known key changes nothing. Only they can be full, and refused keys do not count as new.
    let counts = matches!(filter.kind(), Kind::Counting | Kind::Window | Kind::Stable);
    drop(opened);
    if counts || new.contains(&true) {
        match keys {
            // A replica can do the same; reusing the server's command is 300 ns faster than making another one.
            Keys::Items(_)
                if added.is_ok() && tick.is_none() && !has_secret && context.has_command() =>
            {
                context.replicate();
            }
            _ => {
                let taken = hashes.iter().zip(&new).filter(|(_, new)| counts || **new);
                let taken: Vec<_> = taken.map(|(hash, _)| hash.to_u128().to_le_bytes()).collect();
                replicate(context, key, tick, b"ADD", taken.as_flattened());
            }
        }
    }
    if new.contains(&true) {
        context.notify(c"umbel.add", key);
    }
    added.map_err(refused)?;
    Ok(new)
}

/// Sends hashes to replicas and the append-only file. Replicas must not use their own clocks.
fn replicate(context: &Context, key: Argument<'_>, time: Option<u64>, what: &[u8], hashes: &[u8]) {
    let time = time.unwrap_or(0).to_string();
    context.replicate_as(c"UM.REPLAY", key, &[time.as_bytes(), what, hashes], &[]);
}

fn reply_all(context: &Context, answers: &[bool]) -> Answer {
    context.reply_array(answers.len());
    answers.iter().for_each(|answer| context.reply_bool(*answer));
    Ok(())
}

/// `UM.ADD key item`
fn add(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, item] = arguments else { return Err(Refusal::Arity) };
    let new = add_to(context, *key, None, &Keys::Items(&[*item]))?;
    context.reply_bool(new[0]);
    Ok(())
}

/// `UM.MADD key item...`
fn madd(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, items @ ..] = arguments else { return Err(Refusal::Arity) };
    reply_all(context, &add_to(context, *key, None, &Keys::Items(items))?)
}

/// `UM.ADDAT key milliseconds item...`: into a window by time, whose clock never goes back.
fn addat(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, time, items @ ..] = arguments else { return Err(Refusal::Arity) };
    let time = milliseconds(*time)?.ok_or(Refusal::Words("ERR the time is not above 0"))?;
    reply_all(context, &add_to(context, *key, Some(time), &Keys::Items(items))?)
}

/// A time; `None` for 0, which stands for no clock.
fn milliseconds(time: Argument<'_>) -> Result<Option<u64>, Refusal> {
    let time = time.integer().and_then(|time| u64::try_from(time).ok());
    let time = time.ok_or(Refusal::Words("ERR the time is not a number of milliseconds"))?;
    Ok(Some(time).filter(|time| *time > 0))
}

/// The largest tolerated difference between clocks, in milliseconds.
const A_MINUTE: u64 = 60_000;

/// Looks keys up. A window by time first forgets old ones.
fn look_up(
    context: &Context,
    key: Argument<'_>,
    keys: &[Argument<'_>],
) -> Result<Vec<bool>, Refusal> {
    let mut opened = context.key(key);
    let filter = self::found(opened.get())?;
    let form = filter.description().form();
    let hashes = hashed(filter, keys, form == Some(KeyForm::Integer))?;
    // While a job reads it, nothing is forgotten.
    if let Some(AnyFilter::Window(window)) = Arc::get_mut(filter)
        && window.span().is_some()
    {
        // Replicas forget by their own clocks, or with the next key.
        window.advance(context.milliseconds()).map_err(refused)?;
    }
    let mut found = vec![false; keys.len()];
    filter.contains_all(&hashes, &mut found);
    if form == Some(KeyForm::Mixed) {
        let mut others = vec![false; keys.len()];
        filter.contains_all(&hashed(filter, keys, true)?, &mut others);
        found.iter_mut().zip(others).for_each(|(found, other)| *found |= other);
    }
    Ok(found)
}

/// `UM.EXISTS key item`
fn exists(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, item] = arguments else { return Err(Refusal::Arity) };
    context.reply_bool(look_up(context, *key, &[*item])?[0]);
    Ok(())
}

/// `UM.MEXISTS key item...`
fn mexists(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, items @ ..] = arguments else { return Err(Refusal::Arity) };
    reply_all(context, &look_up(context, *key, items)?)
}

/// `UM.DEL key item`: removes from a counting filter; false if the item is certainly absent.
fn del(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, item] = arguments else { return Err(Refusal::Arity) };
    context.reply_bool(remove_from(context, *key, &Keys::Items(&[*item]))?);
    Ok(())
}

/// Removes one key.
fn remove_from(context: &Context, key: Argument<'_>, keys: &Keys<'_>) -> Result<bool, Refusal> {
    let mut opened = context.key_for_writing(key);
    let filter = alone(found(opened.get())?)?;
    let mut hashes = keys.hashes(filter)?.into_owned();
    // As in look-ups, digits may be an integer.
    if let (Keys::Items(items), Some(KeyForm::Mixed)) = (keys, filter.description().form()) {
        hashes.extend(hashed(filter, items, true)?);
    }
    let counting = filter.as_counting_mut().map_err(refused)?;
    let removed = hashes.into_iter().find(|hash| counting.remove(*hash));
    drop(opened);
    if let Some(hash) = removed {
        replicate(context, key, None, b"DEL", &hash.to_u128().to_le_bytes());
        context.notify(c"umbel.del", key);
    }
    Ok(removed.is_some())
}

/// `UM.REPLAY key milliseconds ADD hashes`, `UM.REPLAY key 0 DEL hash`, `UM.REPLAY key 0 LOST`: what a command did, for replicas and
/// the append-only file. A hash has 16 bytes. The time is 0 for filters without a clock.
///
/// Hashes need no secret, and exclude refused keys.
fn replay(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, time, what, hashes @ ..] = arguments else { return Err(Refusal::Arity) };
    let time = milliseconds(*time)?;
    let parsed = match hashes {
        [hashes] => hashes.bytes().as_chunks(),
        _ => (&[][..], &[][..]),
    };
    match parsed {
        ([], []) if what.is("LOST") => lose(context, *key, "it was lost on another server"),
        (hashes @ [_, ..], []) if what.is("ADD") || (what.is("DEL") && hashes.len() == 1) => {
            let hashes = hashes.iter().map(|hash| KeyHash::from_u128(u128::from_le_bytes(*hash)));
            let keys = Keys::Hashes(hashes.collect());
            match what.is("ADD") {
                true => drop(add_to(context, *key, time, &keys)?),
                false => drop(remove_from(context, *key, &keys)?),
            }
        }
        _ => return Err(Refusal::Words("ERR expected ADD, DEL or LOST, and hashes of 16 bytes")),
    }
    context.reply_ok()
}

/// Runs a command that writes. If it fails from the primary or the append-only file, the filter is lost.
fn follow(context: &Context, arguments: &[Argument<'_>], command: Handler) -> Answer {
    let done = command(context, arguments);
    if let (Err(refusal), [_, key, ..]) = (&done, arguments)
        && context.must_obey()
    {
        lose(context, *key, refusal.words());
    }
    done
}

/// Runs a command that changes bits. If a job reads the filter, the command waits for it to end, or ends it.
fn alone_with(context: &Context, arguments: &[Argument<'_>], command: Handler) -> Answer {
    if let [_, key, ..] = arguments
        && let Found::Value(Umbel { filter: Some(filter), .. }) = context.key(*key).get()
        && Arc::get_mut(filter).is_none()
    {
        if context.can_wait() {
            return context.after_job(arguments, command);
        }
        settle();
    }
    command(context, arguments)
}

/// Drops a filter that has missed writes: it would answer "absent" for their keys.
fn lose(context: &Context, key: Argument<'_>, why: &str) {
    let mut opened = context.key_for_writing(key);
    match opened.get::<Umbel>() {
        Found::Other | Found::Value(Umbel { is_lost: true, .. }) => return,
        Found::Value(umbel) => *umbel = Umbel::LOST,
        Found::Missing => opened.set(Box::new(Umbel::LOST)),
    }
    drop(opened);
    replicate(context, key, None, b"LOST", b"");
    let name = key.bytes().escape_ascii();
    context.warn(&format!("umbel: the filter {name} is lost, because a write failed here: {why}"));
}

/// Does a job: in the background if it is about a large filter.
fn do_job(
    context: &Context,
    arguments: &[Argument<'_>],
    is_long: bool,
    begin: fn(&Context, &[Argument<'_>]) -> Result<Job, Refusal>,
) -> Answer {
    match is_long {
        true => context.do_job(arguments, begin),
        false => begin(context, arguments)?()(context, arguments),
    }
}

/// `UM.INFO key`: the receipt, from the bits. One pass over them.
fn info(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key] = arguments else { return Err(Refusal::Arity) };
    let is_long = found(context.key(*key).get())?.bytes() >= LONG;
    do_job(context, arguments, is_long, |context, arguments| {
        let filter = Arc::clone(found(context.key(arguments[1]).get())?);
        Ok(Box::new(move || -> End {
            let receipt = filter.receipt();
            Box::new(move |context, _| {
                drop(filter);
                reply_receipt(context, &receipt)
            })
        }))
    })
}

fn reply_receipt(context: &Context, receipt: &Receipt) -> Answer {
    let Receipt { plan, scheme, bits, set_bits, fill, keys, fpp, room, over_filled, .. } = receipt;
    context.reply_map(14 + receipt.facts.len());
    let reply = |name: &str, figure: &Figure| {
        context.reply_bytes(name.as_bytes());
        match figure {
            Figure::Count(count) => context.reply_count(*count),
            Figure::Number(number) | Figure::Rate(number) => context.reply_number(*number),
            Figure::Text(text) => context.reply_bytes(text.as_bytes()),
            _ => context.reply_null(),
        }
    };
    let own = [
        ("kind", Figure::Text(plan.kind().to_string())),
        ("scheme", Figure::Text(scheme.to_string())),
        ("bytes", Figure::Count(receipt.bytes())),
        ("bits", Figure::Count(*bits)),
        ("set bits", Figure::Count(*set_bits)),
        ("probes", Figure::Count(plan.probes().into())),
        ("planned keys", Figure::Count(plan.keys())),
        ("room", Figure::Count(*room)),
        ("planned fpp", Figure::Rate(plan.fpp())),
        ("fill", Figure::Rate(*fill)),
        ("fpp", Figure::Rate(*fpp)),
        ("keys", Figure::Number(keys.value)),
        ("keys at most", Figure::Number(keys.high)),
    ];
    own.iter().for_each(|(name, figure)| reply(name, figure));
    context.reply_bytes(b"over-filled");
    context.reply_bool(*over_filled);
    for Fact { name, figure, .. } in &receipt.facts {
        reply(&name.replace('_', " "), figure);
    }
    Ok(())
}

/// The filters that a command reads.
type Sources = Result<Vec<Arc<Filter>>, Refusal>;

/// A command that replaces the filter of its key by one made from filters.
struct Remake {
    command: &'static CStr,
    event: &'static CStr,
    sources: fn(&Context, &[Argument<'_>]) -> Sources,
    make: fn(&[Arc<Filter>], keys: u64) -> Result<Filter, Refusal>,
}

/// `UM.MERGE destination source...`: the keys of all, including an existing destination. An error leaves it unchanged.
fn merge(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    const MERGE: Remake = Remake {
        command: c"UM.MERGE",
        event: c"umbel.merge",
        sources,
        make: |sources, _| {
            let mut union = sources[0].try_clone().map_err(refused)?;
            sources[1..].iter().try_for_each(|source| union.union(source).map_err(refused))?;
            Ok(union)
        },
    };
    let is_long = MERGE.bytes(context, arguments)? >= LONG;
    do_job(context, arguments, is_long, |context, arguments| MERGE.job(context, arguments, 0))
}

/// `UM.SHRINK key [keys]`: folds a filter that is too large, with room for this many keys or for its present ones.
fn shrink(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    const SHRINK: Remake = Remake {
        command: c"UM.SHRINK",
        event: c"umbel.shrink",
        sources: |context, arguments| sources(context, &arguments[..2]),
        make: |filters, keys| {
            let mut smaller = filters[0].try_clone().map_err(refused)?;
            smaller.shrink_to(keys).map_err(refused)?;
            Ok(smaller)
        },
    };
    if arguments.len() > 3 {
        return Err(Refusal::Arity);
    }
    let is_long = SHRINK.bytes(context, arguments)? >= LONG;
    do_job(context, arguments, is_long, |context, arguments| {
        let keys = arguments.get(2).map_or(Some(0), |keys| keys.integer()?.try_into().ok());
        let keys = keys.ok_or(Refusal::Words("ERR the number of keys is not a whole number"))?;
        SHRINK.job(context, arguments, keys)
    })
}

impl Remake {
    fn bytes(&self, context: &Context, arguments: &[Argument<'_>]) -> Result<u64, Refusal> {
        Ok((self.sources)(context, arguments)?.iter().map(|filter| filter.bytes()).sum())
    }

    fn job(
        &'static self,
        context: &Context,
        arguments: &[Argument<'_>],
        keys: u64,
    ) -> Result<Job, Refusal> {
        let sources = (self.sources)(context, arguments)?;
        // All have the size of the first, or fold to it.
        let bytes = sources[0].bytes();
        check_size(context, bytes, bytes).map_err(no_memory)?;
        Ok(Box::new(move || -> End {
            let made = (self.make)(&sources, keys);
            Box::new(move |context, arguments| {
                let (key, others) = (arguments[1], &arguments[2..]);
                let made = made?;
                let now = (self.sources)(context, arguments)?;
                if now.len() != sources.len()
                    || !now.iter().zip(&sources).all(|(a, b)| Arc::ptr_eq(a, b))
                {
                    return Err(Refusal::Words(
                        "TRYAGAIN a filter was replaced while it was read; nothing has changed",
                    ));
                }
                let mut opened = context.key_for_writing(key);
                match opened.get::<Umbel>() {
                    Found::Other => return Err(Refusal::WRONG_TYPE),
                    Found::Value(umbel) => umbel.filter = Some(Arc::new(made)),
                    Found::Missing => opened.set(Box::new(Umbel::new(Some(made), None))),
                }
                drop(opened);
                context.replicate_as(self.command, key, NO_WORDS, others);
                context.notify(self.event, key);
                context.reply_ok()
            })
        }))
    }
}

/// Returns the filters of `UM.MERGE`. The destination comes first, if it exists, and is skipped among the sources.
fn sources(context: &Context, arguments: &[Argument<'_>]) -> Sources {
    let destination = arguments[1];
    let others = arguments[2..].iter().filter(|source| source.bytes() != destination.bytes());
    let mut sources = Vec::new();
    for (i, source) in std::iter::once(&destination).chain(others).enumerate() {
        match context.key(*source).get::<Umbel>() {
            Found::Missing if i == 0 => {}
            Found::Value(Umbel { filter: None, is_lost: false, .. }) if i == 0 => {}
            other => sources.push(Arc::clone(found(other)?)),
        }
    }
    if sources.is_empty() { Err(NO_FILTER) } else { Ok(sources) }
}

/// `UM.DUMP key offset`: the offset after this part of the umbel file, and the part; 0 and an empty part at the end.
fn dump(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, offset] = arguments else { return Err(Refusal::Arity) };
    let offset = position(*offset)?;
    let mut opened = context.key(*key);
    let filter = found(opened.get())?;
    // The checksums are at the end of the file, and need everything before them.
    let is_end = offset.saturating_add(2 * PART as u64) > filter.file_length();
    let is_long = filter.bytes() >= LONG && is_end;
    drop(opened);
    do_job(context, arguments, is_long, |context, arguments| {
        let offset = position(arguments[2])?;
        let filter = Arc::clone(found(context.key(arguments[1]).get())?);
        Ok(Box::new(move || -> End {
            let part = filter.file_part(offset, PART);
            Box::new(move |context, _| {
                drop(filter);
                context.reply_array(2);
                context.reply_count(if part.is_empty() { 0 } else { offset + part.len() as u64 });
                context.reply_bytes(&part);
                Ok(())
            })
        }))
    })
}

fn position(offset: Argument<'_>) -> Result<u64, Refusal> {
    let offset = offset.integer().and_then(|offset| u64::try_from(offset).ok());
    offset.ok_or(Refusal::Words("ERR the offset is not a whole number"))
}

/// `UM.LOAD key offset data`: the next part of an umbel file; answers the offset of the one after it, 0 with the last.
/// Until then the old filter answers; then the new one replaces it. An empty part at 0 ends a load.
fn load(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, offset, data] = arguments else { return Err(Refusal::Arity) };
    let (offset, data) = (position(*offset)?, data.bytes());
    let mut opened = context.key_for_writing(*key);
    let mut none = None;
    let begun = match opened.get::<Umbel>() {
        Found::Other => return Err(Refusal::WRONG_TYPE),
        Found::Missing => &mut none,
        Found::Value(umbel) => &mut umbel.loader,
    };
    let expected = begun.as_ref().map_or(0, Loader::loaded);
    // A part at 0 starts over.
    if offset != 0 && offset != expected {
        return Err(refused(format!("expected the part at {expected}, or the first one at 0")));
    }
    let begun = begun.take();
    let was_begun = begun.is_some();
    let loaded = match (offset, data) {
        (0, []) => Ok(None),
        (0, _) => take_part(context, None, data).map(Some),
        _ => take_part(context, begun, data).map(Some),
    };
    let Ok(Some((next, filter, loader))) = loaded else {
        end_load(opened);
        if was_begun {
            context.replicate_as(c"UM.LOAD", *key, &["0", ""], &[]);
        }
        context.reply_count(loaded.map(|_| 0)?);
        return Ok(());
    };
    let is_whole = filter.is_some();
    match opened.get::<Umbel>() {
        Found::Value(umbel) => {
            umbel.is_lost &= !is_whole;
            umbel.filter = filter.map(Arc::new).or(umbel.filter.take());
            umbel.loader = loader;
        }
        _ => opened.set(Box::new(Umbel::new(filter, loader))),
    }
    drop(opened);
    let words = [offset.to_string()];
    context.replicate_as(c"UM.LOAD", *key, &words, &arguments[3..]);
    if is_whole {
        context.notify(c"umbel.load", *key);
    }
    context.reply_count(next);
    Ok(())
}

/// The result of a part: the offset of the next one, 0 after the last; the filter once complete, its loader until then.
type Part = (u64, Option<Filter>, Option<Loader<AnyScheme>>);

/// Takes the next part of a file, the first without a loader.
fn take_part(
    context: &Context,
    loader: Option<Loader<AnyScheme>>,
    data: &[u8],
) -> Result<Part, Refusal> {
    let loader = match loader {
        Some(loader) => loader,
        None => {
            // The first part has the header with the length, so a filter that does not fit is refused here.
            let length = umbel::internals::format::length_of(data).map_err(refused)?;
            check_size(context, length, length).map_err(no_memory)?;
            AnyFilter::loader_with(AnyScheme)
        }
    };
    let loader = loader.push(data).map_err(refused)?;
    if !loader.is_complete() {
        return Ok((loader.loaded(), None, Some(loader)));
    }
    let filter = loader.finish().map_err(refused)?;
    // Otherwise the server could not hash keys for it.
    if !context.must_obey() {
        secrets::hasher(filter.hasher().scheme()).map_err(refused)?;
    }
    Ok((0, Some(filter), None))
}

/// Deletes a key that was only to be loaded. An existing filter stays, and so does the note that one was lost.
fn end_load(mut opened: Key<'_>) {
    if let Found::Value(Umbel { filter: None, is_lost: false, .. }) = opened.get() {
        opened.delete();
    }
}
