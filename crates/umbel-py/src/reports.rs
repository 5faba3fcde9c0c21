//! Receipts, plans and comparisons as Python objects.

use std::collections::BTreeMap;

use umbel::{Comparison as Found, Estimate, Fact, Figure, ParseKindError, Plan, Variant};
use umbel_report::advice::{Costs, Goal, Verdict, advise};

use crate::filter::Filter;
use crate::forms::option;
use crate::inner::{Inner, of_inner};
use crate::prelude::*;
use crate::values::{Number, count, size};

/// Makes a report: an object of a class in `umbel._reports`.
pub(crate) fn reported<'py>(
    py: Python<'py>,
    class: &str,
    fields: impl IntoPyObject<'py, Target = PyDict, Output = Bound<'py, PyDict>, Error = PyErr>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("umbel._reports")?.getattr(class)?.call((), Some(&fields.into_pyobject(py)?))
}

/// The fields of a receipt.
#[derive(IntoPyObject)]
pub(crate) struct Receipt {
    kind: String,
    pub(crate) keys: f64,
    keys_low: f64,
    keys_high: f64,
    fpp: f64,
    planned_keys: Option<u64>,
    planned_fpp: Option<f64>,
    bits: u64,
    set_bits: u64,
    fill: f64,
    nbytes: u64,
    room: Option<u64>,
    over_filled: bool,
    scheme: String,
    facts: BTreeMap<&'static str, Value>,
    #[pyo3(item("_parameters"))]
    parameters: Option<Parameters>,
}

/// The value of a fact.
#[derive(IntoPyObject)]
enum Value {
    Count(u64),
    Number(f64),
    Text(String),
}

fn facts(facts: Vec<Fact>) -> BTreeMap<&'static str, Value> {
    let value = |figure| match figure {
        Figure::Count(count) => Some(Value::Count(count)),
        Figure::Number(number) | Figure::Rate(number) => Some(Value::Number(number)),
        Figure::Text(text) => Some(Value::Text(text)),
        _ => None,
    };
    facts.into_iter().filter_map(|fact| Some((fact.name, value(fact.figure)?))).collect()
}

/// The parameters of a filter, from which its rate is computed.
#[pyclass(frozen, name = "_Parameters", module = "umbel._umbel")]
pub(crate) struct Parameters(Plan);

#[pymethods]
impl Parameters {
    #[new]
    fn new(variant: &str, keys: u64, fpp: f64, bits: u64, probes: u32) -> PyResult<Self> {
        let variant: Variant = variant
            .parse()
            .map_err(|error: ParseKindError| PyValueError::new_err(error.to_string()))?;
        Ok(Self(Plan::from_parts(variant, keys, fpp, bits, probes).map_err(Failure::from)?))
    }

    fn __getnewargs__(&self) -> (String, u64, f64, u64, u32) {
        let plan = &self.0;
        (plan.variant().to_string(), plan.keys(), plan.fpp(), plan.bits(), plan.probes())
    }

    fn predicted_fpp(&self, keys: &Bound<'_, PyAny>) -> PyResult<f64> {
        Ok(self.0.predicted_fpp_at(count(keys, "keys")?))
    }
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
            facts: facts(receipt.facts),
            parameters: Some(Parameters(receipt.plan)),
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
            facts: facts(receipt.facts),
            parameters: None,
        }
    }
}

/// The fields of a choice.
#[derive(IntoPyObject)]
pub(crate) struct Choice {
    kind: String,
    fits: bool,
    obstacles: Vec<String>,
    fpp: Option<f64>,
    keys: Option<u64>,
    bits_per_key: Option<f64>,
    probes: Option<u32>,
    nbytes: u64,
    ship: u64,
    cost: Option<f64>,
    #[pyo3(item("_parameters"))]
    parameters: Option<Parameters>,
}

/// The kinds of filters for a goal: suitable ones, the best first, then the others with the reasons against them. Also the
/// verdict: the kind to choose, ``"no filter"`` when a filter would not pay, or ``"nothing"`` when no kind fits.
///
/// Two of `keys`, `fpp` and a size (`memory`, `ship`) suffice. `lookup` is the cost of a lookup that the filter saves, in
/// seconds, and `absent` the share of lookups whose key is absent.
#[pyfunction]
#[pyo3(name = "_plan")]
pub(crate) fn plan(given: &Bound<'_, PyDict>) -> PyResult<(String, Vec<Choice>)> {
    let number = |name: &str, of: fn(&Bound<'_, PyAny>, &str) -> PyResult<u64>| {
        option::<Number<'_>>(given, name)?.map(|value| of(&value, name)).transpose()
    };
    let nanoseconds = |seconds: f64| seconds * 1e9;
    let mut goal = Goal::default();
    goal.keys = number("keys", count)?;
    goal.fpp = option(given, "fpp")?;
    goal.memory = number("memory", size)?;
    goal.ship = number("ship", size)?;
    goal.deletes = option(given, "deletes")?;
    goal.grows = option(given, "grows")?;
    goal.known = option(given, "known")?;
    goal.ages = option(given, "ages")?;
    goal.except = option(given, "excluded")?;
    if let Some(lookup) = option::<Option<f64>>(given, "lookup")? {
        let mut costs = Costs::new(nanoseconds(lookup), option(given, "absent")?);
        let wrong: Option<f64> = option(given, "false_answer")?;
        costs.false_answer = nanoseconds(wrong.unwrap_or(lookup));
        goal.costs = Some(costs);
    }
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
        parameters: choice.plan.map(Parameters),
    });
    Ok((verdict, choices.collect()))
}

type Interval = (f64, f64, f64);

fn interval(estimate: Estimate) -> Interval {
    (estimate.value, estimate.low, estimate.high)
}

/// Estimates from two filters what their sets share. Both must be of one kind, size (or sizes that fold) and way of hashing.
#[pyfunction]
pub(crate) fn compare<'py>(
    left: &Bound<'py, Filter>,
    right: &Bound<'py, Filter>,
) -> PyResult<Bound<'py, PyAny>> {
    let found = left.get().inner.look_at_both(&right.get().inner, left.py(), compared)?;
    let of =
        |which: fn(&umbel::Overlap) -> Estimate| found.overlap.as_ref().map(which).map(interval);
    let fields = (
        interval(found.left),
        interval(found.right),
        of(|overlap| overlap.union),
        of(|overlap| overlap.intersection),
        of(|overlap| overlap.jaccard),
        of(|overlap| overlap.left_in_right),
        of(|overlap| overlap.right_in_left),
    );
    left.py().import("umbel._reports")?.getattr("Comparison")?.call1(fields)
}

/// Estimates from two filters about the sets in them.
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
        "an umbel filter and another system's cannot be combined; build both in one format"
            .to_owned(),
    )
}
