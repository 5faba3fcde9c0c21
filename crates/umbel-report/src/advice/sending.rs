//! Filters ranked by the bits sent, packed to their entropy.

use umbel::{Kind, MAX_PROBES, Plan, Variant};

use super::formulas::sent_per_key;
use super::{Choice, Error, Goal, advise, overhead};

/// A filter to send.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sent {
    /// The kind, with its parameter.
    pub variant: Variant,
    /// Its plan.
    pub plan: Plan,
    /// Whether it is packed, because that makes it smaller; other kinds are sent as they are.
    pub packed: bool,
    /// Bytes of the file sent; for a packed one, the expected number when it is full.
    pub bytes: u64,
    /// Bytes in memory, once it has arrived.
    pub memory: u64,
}

impl Sent {
    /// Returns the bits sent per key.
    pub fn bits_per_key(&self) -> f64 {
        8.0 * self.bytes as f64 / self.plan.keys() as f64
    }

    /// Returns whether two such filters can be merged.
    pub fn merges(&self) -> bool {
        matches!(self.variant.kind(), Kind::Blocked | Kind::Classic | Kind::Sliced | Kind::Counting)
    }

    /// Returns whether keys can be added to it.
    pub fn takes_more(&self) -> bool {
        !self.variant.kind().built_at_once()
    }
}

/// Returns the filters for `keys` keys at a rate of at most `fpp`, the one with the fewest bits sent first: classic filters planned
/// for being packed, with 1, 2, 3… probes, and every other kind as it is.
///
/// # Errors
/// [`Error::Plan`] if no filter meets the goal.
pub fn by_bits_sent(keys: u64, fpp: f64) -> Result<Vec<Sent>, Error> {
    let goal = Goal { known: true, ..Goal::for_keys(keys, fpp) };
    let plain = advise(&goal)?.choices.into_iter().filter(Choice::fits);
    let sent = |Choice { variant, plan, ship, memory, .. }| {
        Some(Sent { variant, plan: plan?, packed: false, bytes: ship, memory })
    };
    let mut all: Vec<Sent> = plain.filter_map(sent).collect();
    // With the best number of probes in memory, half of the bits are set, and packing does not help.
    let best = Plan::for_keys(Kind::Classic, keys, fpp)?.probes();
    for probes in 1..best.min(MAX_PROBES) {
        // One probe may need more bits per key than a filter can have.
        let Ok(plan) = Plan::for_sending(keys, fpp, probes) else { continue };
        let bits = sent_per_key(plan.bits_per_key(), f64::from(probes)) * keys as f64;
        all.push(Sent {
            variant: Kind::Classic.into(),
            packed: true,
            bytes: (bits / 8.0).ceil() as u64 + overhead(plan.bytes()),
            memory: plan.bytes(),
            plan,
        });
    }
    all.sort_by_key(|sent| sent.bytes);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_probes_send_less_and_need_more_memory() {
        let all = by_bits_sent(10_000_000, 0.01).unwrap();
        let packed: Vec<_> = all.iter().filter(|sent| sent.packed).collect();
        assert_eq!(packed.len(), 6);
        for (place, pair) in packed.windows(2).enumerate() {
            assert_eq!(pair[0].plan.probes(), place as u32 + 1);
            assert!(pair[0].bytes < pair[1].bytes && pair[0].memory > pair[1].memory);
        }
        let classic = all.iter().find(|sent| sent.variant.kind() == Kind::Classic && !sent.packed);
        assert!(packed.iter().all(|sent| sent.bytes < classic.unwrap().bytes));
        // As in the paper, where m/n is 92 for 1.08 %.
        assert!((packed[0].bits_per_key() - 8.05).abs() < 0.05, "{}", packed[0].bits_per_key());
        let bloomier = all.iter().find(|sent| sent.variant.kind() == Kind::Bloomier).unwrap();
        assert!(!bloomier.merges() && !bloomier.takes_more() && packed[0].merges());
    }

    #[test]
    fn goals_out_of_reach() {
        // 1e-6 with one probe would need a million bits per key.
        let all = by_bits_sent(1_000, 1e-6).unwrap();
        assert!(all.iter().filter(|sent| sent.packed).all(|sent| sent.plan.probes() > 1));
        assert!(by_bits_sent(0, 0.01).is_err() && by_bits_sent(10, 1.0).is_err());
    }
}
