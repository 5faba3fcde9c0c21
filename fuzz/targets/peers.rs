//! A cache and a peer of it, while messages are lost, late, repeated and damaged, and the cache restarts: the peer only ever has a
//! filter that was published, and recovers once messages arrive.

#![no_main]

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use umbel_fuzz::memory;

#[path = "../../crates/umbel-share/tests/all/world.rs"]
mod world;
use world::{Event, World};

#[global_allocator]
static MEMORY: memory::Counted = memory::Counted;

/// More events would only be slower.
const MOST: usize = 400;

fuzz_target!(|bytes: &[u8]| {
    let mut chosen = Unstructured::new(bytes);
    let events: Vec<_> = std::iter::from_fn(|| event(&mut chosen).ok()).take(MOST).collect();
    World::new().live(&events);
});

fn event(chosen: &mut Unstructured<'_>) -> Result<Event> {
    let number = |chosen: &mut Unstructured<'_>| Ok(chosen.arbitrary::<u16>()?.into());
    // Restarting a cache is slow.
    Ok(match chosen.arbitrary::<u8>()? % 32 {
        0..10 => Event::Insert(chosen.int_in_range(1..=39)?),
        10..15 => Event::Remove(number(chosen)?),
        15..17 => Event::Beat,
        17..24 => Event::Arrive(number(chosen)?),
        24..26 => Event::ArriveTwice(number(chosen)?),
        26..28 => Event::Lose(number(chosen)?),
        28 => Event::Damage(number(chosen)?, number(chosen)?),
        29 => Event::Restart(chosen.int_in_range(-1..=1)?),
        _ => Event::Wait(chosen.int_in_range(0..=1499)?),
    })
}
