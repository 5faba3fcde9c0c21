//! Receipts, plans and comparisons as Python objects.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use umbel::Estimate;
use umbel::filter::{Comparison as Found, Fact, Figure};
use umbel_advice::{Costs, Goal, Verdict, advise};

use crate::errors::Failure;
use crate::filter::Filter;
use crate::inner::{Inner, of_inner};
use crate::values::{count, size};

/// What a filter delivers now, computed from its bits.
#[pyclass(frozen, module = "umbel")]
pub(crate) struct Receipt {
    /// Its kind, or its format when it is of another system.
    #[pyo3(get)]
    kind: String,
    /// Estimated number of different keys.
    #[pyo3(get)]
    pub(crate) keys: f64,
    /// Lower end of the 95 % interval of `keys`.
    #[pyo3(get)]
    keys_low: f64,
    /// Upper end of the 95 % interval of `keys`.
    #[pyo3(get)]
    keys_high: f64,
    /// The chance that a key never added passes now.
    #[pyo3(get)]
    fpp: f64,
    /// Keys it was planned for; None when its file does not say.
    #[pyo3(get)]
    planned_keys: Option<u64>,
    /// The rate it was planned for; None when its file does not say.
    #[pyo3(get)]
    planned_fpp: Option<f64>,
    /// Bits of all its parts.
    #[pyo3(get)]
    bits: u64,
    /// Bits set, or cells in use.
    #[pyo3(get)]
    set_bits: u64,
    /// Set bits over bits, or cells in use over cells.
    #[pyo3(get)]
    fill: f64,
    /// Bytes of its bits.
    #[pyo3(get)]
    nbytes: u64,
    /// Keys until it holds as many as planned, about; None when its file does not say.
    #[pyo3(get)]
    room: Option<u64>,
    /// Whether it certainly holds more keys than planned.
    #[pyo3(get)]
    over_filled: bool,
    /// How it hashes keys.
    #[pyo3(get)]
    scheme: String,
    facts: Vec<Fact>,
}

impl Receipt {
    pub(crate) fn of(receipt: umbel::Receipt) -> Self {
        let Estimate { value, low, high, .. } = receipt.keys;
        Self {
            kind: receipt.plan.kind().to_string(),
            keys: value,
            keys_low: low,
            keys_high: high,
            fpp: receipt.fpp,
            planned_keys: Some(receipt.plan.keys()),
            planned_fpp: Some(receipt.plan.fpp()),
            bits: receipt.bits,
            set_bits: receipt.set_bits,
            fill: receipt.fill,
            nbytes: receipt.bytes(),
            room: Some(receipt.room),
            over_filled: receipt.over_filled,
            scheme: receipt.scheme.to_string(),
            facts: receipt.facts,
        }
    }

    pub(crate) fn of_foreign(receipt: umbel_foreign::Receipt) -> Self {
        let Estimate { value, low, high, .. } = receipt.keys;
        Self {
            kind: receipt.format.to_string(),
            keys: value,
            keys_low: low,
            keys_high: high,
            fpp: receipt.fpp,
            planned_keys: None,
            planned_fpp: None,
            bits: receipt.bits,
            set_bits: receipt.set_bits,
            fill: receipt.fill,
            nbytes: receipt.bytes,
            room: None,
            over_filled: false,
            scheme: receipt.scheme,
            facts: receipt.facts,
        }
    }

    /// It in one line.
    pub(crate) fn line(&self) -> String {
        let mut line = format!("{}, about {:.0} keys", self.kind, self.keys);
        if let Some(planned) = self.planned_keys {
            line += &format!(" of {planned}");
        }
        line += &format!(", fpp {:.3e}", self.fpp);
        if let Some(planned) = self.planned_fpp {
            line += &format!(" (planned {planned})");
        }
        line + &format!(", {} bytes", self.nbytes)
    }
}

#[pymethods]
impl Receipt {
    /// What only filters of its kind report, by name.
    #[getter]
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let facts = PyDict::new(py);
        for Fact { name, figure, .. } in &self.facts {
            match figure {
                Figure::Count(count) => facts.set_item(name, count)?,
                Figure::Number(number) | Figure::Rate(number) => facts.set_item(name, number)?,
                Figure::Text(text) => facts.set_item(name, text)?,
                _ => {}
            }
        }
        Ok(facts)
    }

    fn __repr__(&self) -> String {
        format!("<Receipt: {}>", self.line())
    }
}

/// A kind of filter for a goal, as `plan` ranks them.
#[pyclass(frozen, module = "umbel")]
pub(crate) struct Choice {
    /// The kind.
    #[pyo3(get)]
    kind: String,
    /// Whether it fits the goal.
    #[pyo3(get)]
    fits: bool,
    /// Why it does not fit.
    #[pyo3(get)]
    obstacles: Vec<String>,
    /// The false positive rate that the formulas give; None when there is no plan.
    #[pyo3(get)]
    fpp: Option<f64>,
    /// Keys it is for; None when there is no plan.
    #[pyo3(get)]
    keys: Option<u64>,
    /// Bits per key; None when there is no plan.
    #[pyo3(get)]
    bits_per_key: Option<f64>,
    /// Probes per key; None when there is no plan.
    #[pyo3(get)]
    probes: Option<u32>,
    /// Bytes in memory.
    #[pyo3(get)]
    nbytes: u64,
    /// Bytes of the file that is sent to others.
    #[pyo3(get)]
    ship: u64,
    /// Expected nanoseconds per lookup with the filter in front, where the goal says what lookups cost.
    #[pyo3(get)]
    cost: Option<f64>,
    plan: Option<umbel::Plan>,
}

#[pymethods]
impl Choice {
    /// The false positive rate with so many keys, also more than planned; None when there is no plan.
    fn predicted_fpp(&self, keys: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
        let keys = count(keys, "keys")?;
        Ok(self.plan.map(|plan| plan.predicted_fpp_at(keys)))
    }

    fn __repr__(&self) -> String {
        match (self.fits, self.bits_per_key, self.fpp) {
            (true, Some(bits), Some(fpp)) => {
                format!(
                    "<Choice: {}, {bits:.2} bits per key, fpp {fpp:.3e}, {} bytes>",
                    self.kind, self.nbytes
                )
            }
            _ => format!("<Choice: not {}: {}>", self.kind, self.obstacles.join("; ")),
        }
    }
}

/// The kinds of filters for a goal: those that fit, the best first, then the others, and why they do not fit. Also a word on the
/// verdict: the kind to choose, ``"no filter"`` when one would not pay, or ``"nothing"`` when no kind fits.
///
/// Two of `keys`, `fpp` and a size (`memory`, `ship`) suffice. `lookup` is what a lookup costs that the filter spares, in
/// seconds, and `absent` the share of lookups whose key is absent.
#[pyfunction]
#[pyo3(name = "_plan", signature = (
    keys=None, fpp=None, *, memory=None, ship=None, deletes=false, grows=false, known=false, ages=false, excluded=0,
    lookup=None, false_answer=None, absent=0.5
))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn plan(
    keys: Option<Bound<'_, PyAny>>,
    fpp: Option<f64>,
    memory: Option<Bound<'_, PyAny>>,
    ship: Option<Bound<'_, PyAny>>,
    deletes: bool,
    grows: bool,
    known: bool,
    ages: bool,
    excluded: u64,
    lookup: Option<f64>,
    false_answer: Option<f64>,
    absent: f64,
) -> PyResult<(String, Vec<Choice>)> {
    let nanoseconds = |seconds: f64| seconds * 1e9;
    let mut goal = Goal::default();
    goal.keys = keys.map(|keys| count(&keys, "keys")).transpose()?;
    goal.fpp = fpp;
    goal.memory = memory.map(|memory| size(&memory, "memory")).transpose()?;
    goal.ship = ship.map(|ship| size(&ship, "ship")).transpose()?;
    goal.deletes = deletes;
    goal.grows = grows;
    goal.known = known;
    goal.ages = ages;
    goal.except = excluded;
    goal.costs = lookup.map(|lookup| {
        let mut costs = Costs::new(nanoseconds(lookup), absent);
        costs.false_answer = nanoseconds(false_answer.unwrap_or(lookup));
        costs
    });
    let advice = advise(&goal).map_err(Failure::from)?;
    let verdict = match advice.verdict {
        Verdict::Take(variant) => variant.kind().to_string(),
        Verdict::NoFilter { .. } => "no filter".to_owned(),
        _ => "nothing".to_owned(),
    };
    let choices = advice.choices.into_iter().map(|choice| Choice {
        kind: choice.variant.kind().to_string(),
        fits: choice.fits(),
        obstacles: choice.obstacles.iter().map(ToString::to_string).collect(),
        fpp: choice.plan.map(|_| choice.fpp),
        keys: choice.plan.map(|plan| plan.keys()),
        bits_per_key: choice.bits_per_key(),
        probes: choice.plan.map(|plan| plan.probes()),
        nbytes: choice.memory,
        ship: choice.ship,
        cost: choice.cost,
        plan: choice.plan,
    });
    Ok((verdict, choices.collect()))
}

/// What two filters tell about the sets in them; estimates are tuples of a value and the ends of its 95 % interval.
#[pyclass(frozen, module = "umbel")]
pub(crate) struct Comparison(Found);

type Interval = (f64, f64, f64);

fn interval(estimate: Estimate) -> Interval {
    (estimate.value, estimate.low, estimate.high)
}

#[pymethods]
impl Comparison {
    /// Keys of the first set.
    #[getter]
    fn left(&self) -> Interval {
        interval(self.0.left)
    }

    /// Keys of the second set.
    #[getter]
    fn right(&self) -> Interval {
        interval(self.0.right)
    }

    /// Keys in either; None when the filters are too full to tell. So are the others.
    #[getter]
    fn union(&self) -> Option<Interval> {
        self.0.overlap.map(|overlap| interval(overlap.union))
    }

    /// Keys in both.
    #[getter]
    fn intersection(&self) -> Option<Interval> {
        self.0.overlap.map(|overlap| interval(overlap.intersection))
    }

    /// Keys in both over keys in either.
    #[getter]
    fn jaccard(&self) -> Option<Interval> {
        self.0.overlap.map(|overlap| interval(overlap.jaccard))
    }

    /// The share of the first set that is in the second.
    #[getter]
    fn left_in_right(&self) -> Option<Interval> {
        self.0.overlap.map(|overlap| interval(overlap.left_in_right))
    }

    /// The share of the second set that is in the first.
    #[getter]
    fn right_in_left(&self) -> Option<Interval> {
        self.0.overlap.map(|overlap| interval(overlap.right_in_left))
    }

    fn __repr__(&self) -> String {
        let about = |estimate: &Estimate| format!("{:.0}", estimate.value);
        let both = self.0.overlap.map_or("unknown".to_owned(), |found| about(&found.intersection));
        format!(
            "<Comparison: about {} and {} keys, {both} in both>",
            about(&self.0.left),
            about(&self.0.right)
        )
    }
}

/// Estimates from two filters what their sets share. Both must be of one kind, size (or sizes that fold) and way of hashing.
#[pyfunction]
pub(crate) fn compare(left: &Bound<'_, Filter>, right: &Bound<'_, Filter>) -> PyResult<Comparison> {
    Ok(Comparison(left.get().look_at_both(right.get(), left.py(), compared)?))
}

/// What two filters tell about the sets in them.
pub(crate) fn compared(left: &Inner, right: &Inner) -> Result<Found, Failure> {
    Ok(
        of_inner!(left, left => of_inner!(right, right => left.compare(right)?, _other => return Err(mixed())), left => match right {
            Inner::Foreign(right) => left.filter.compare(&right.filter)?,
            _ => return Err(mixed()),
        }),
    )
}

pub(crate) fn mixed() -> Failure {
    Failure::Type(
        "a filter of umbel and one of another system do not go together; build both in one format"
            .to_owned(),
    )
}
