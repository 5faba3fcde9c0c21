//! The reasons why a goal gets no advice. Messages contain the expected value, the value found and the remedy.

use umbel::PlanError;
use umbel::internals::Exact;

/// Why a goal was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The goal leaves too much open to plan for.
    #[error("give two of keys, fpp and a size (memory, or bytes to send); the third is computed")]
    OpenGoal,
    /// The goal has no keys, or an impossible rate.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The rate is below what a hash can keep.
    #[error(
        "a rate of {} is lower than a 128-bit hash allows: {least:.1e} of absent keys share their hash with one of {keys} keys; choose a higher rate, or compare the keys themselves",
        Exact(*fpp)
    )]
    BelowHash {
        /// The requested rate.
        fpp: f64,
        /// The keys.
        keys: u64,
        /// The lowest rate.
        least: f64,
    },
    /// The costs of look-ups are impossible.
    #[error(
        "a look-up of {lookup} ns, a false positive of {false_answer} ns and a share of {absent} absent keys; costs must \
         be at least 0, and the share from 0 to 1"
    )]
    Costs {
        /// Nanoseconds of a look-up.
        lookup: f64,
        /// Nanoseconds of a false answer.
        false_answer: f64,
        /// The share of look-ups whose key is absent.
        absent: f64,
    },
}
