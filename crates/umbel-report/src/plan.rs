//! The output of `umbel filter plan`: the ranking of all kinds for a goal, as a table and as documents.

use umbel::{Capacity, Kind, Plan};
use umbel_numbers::{Count, Rate, Size, in_threes};

use crate::advice::{Advice, Choice, Goal, LOW_FPP, MEASURED_ON, Obstacle, Ranking, Step, Verdict};
use serde_json::{Value, json};

/// A column of the table: its id, its title, and its width in a text.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The name of its cells for programs.
    pub id: &'static str,
    /// The heading above the cells.
    pub title: &'static str,
    /// The meaning of the column.
    pub help: &'static str,
    width: usize,
}

const fn column(id: &'static str, title: &'static str, width: usize, help: &'static str) -> Column {
    Column { id, title, help, width }
}

const BOUND: &str = "bits per key divided by log2(1/fpp), the fewest that any filter needs";
const EXPECTED: &str = "average time of a look-up, including the one behind the filter";
const LINES: &str = "cache lines that a look-up reads when it finds its key";

/// Returns the columns of the table, except the kind.
pub fn columns(goal: &Goal) -> Vec<Column> {
    let mut columns = vec![
        column("keys", "keys", 17, "keys that it holds at its rate"),
        column("fpp", "fpp", 10, "share of absent keys that pass, as predicted"),
        column("memory", "memory", 10, "bytes in memory"),
        column("bits_per_key", "bits per key", 12, "bits in memory over keys"),
        column("bound", "x bound", 10, BOUND),
        column("lines", "lines", 9, LINES),
        column("ns", "ns", 11, "time of a look-up, one key per call / in a batch"),
    ];
    if goal.costs.is_some() {
        columns.push(column("expected_ns", "expected ns", 14, EXPECTED));
    }
    columns
}

/// Returns the cells of a kind that fits, in the order of the [columns]; empty without a plan.
pub fn cells(choice: &Choice) -> Vec<String> {
    let Some(plan) = &choice.plan else { return Vec::new() };
    let bits = choice.bits_per_key().expect("there is a plan");
    let price = match choice.price {
        Some(price) => format!("{:.0} / {:.0}", price.one, price.batch),
        None => "-".to_owned(),
    };
    let mut cells = vec![
        Count(plan.keys()).to_string(),
        Rate(choice.fpp).to_string(),
        Size(choice.memory).to_string(),
        in_threes(&format!("{bits:.2}")),
        in_threes(&format!("{:.2}", bits / -choice.fpp.log2())),
        format!("{:.0}", choice.lines),
        price,
    ];
    cells.extend(choice.cost.map(|cost| Count(cost.round() as u64).to_string()));
    cells
}

/// Returns the whole text.
pub fn text(goal: &Goal, advice: &Advice, explain: bool) -> String {
    let mut text = verdict(goal, advice) + "\n";
    let fits = advice.choices.iter().take_while(|choice| choice.fits()).count();
    let (fitting, others) = advice.choices.split_at(fits);
    let columns = columns(goal);
    let line = |kind: &str, cells: &mut dyn Iterator<Item = &str>| {
        let padded =
            columns.iter().zip(cells).map(|(column, cell)| format!(" {cell:>0$}", column.width));
        format!("{kind:<10}{}\n", padded.collect::<String>())
    };
    if !fitting.is_empty() {
        text += "\n";
        text += &line("kind", &mut columns.iter().map(|column| column.title));
    }
    let steps = |choice| if explain { steps(choice, goal) } else { String::new() };
    for choice in fitting {
        text += &line(&choice.variant.to_string(), &mut cells(choice).iter().map(|cell| &cell[..]));
        text += &steps(choice);
    }
    if !others.is_empty() {
        text += "\nDo not fit:\n";
    }
    for choice in others {
        text += &format!("{:<10} {}\n", choice.variant, obstacles(choice).join("; "));
        text += &steps(choice);
    }
    if !fitting.is_empty() {
        let notes = notes(advice).map(|note| note + "\n");
        text += &format!("\n{}", notes.concat());
    }
    text
}

/// Returns the ranking criterion and the meaning of the columns: one line each, two for the last.
pub fn notes(advice: &Advice) -> [String; 4] {
    let by = match advice.ranking {
        Ranking::Cost => "the expected cost of a look-up",
        Ranking::Shipped => "the bytes to send",
        Ranking::Space => &format!("x bound alone, as for every fpp below {LOW_FPP:e}"),
        _ => "time x space: ns of a look-up, one key per call, times x bound",
    };
    [
        format!("Ranked by {by}."),
        format!("x bound: {BOUND}."),
        format!("lines: {LINES}."),
        format!(
            "ns: time of a look-up, one key per call / in a batch; when the filter is larger than the caches,\n\
             \x20   add a memory access per line. Measured on {MEASURED_ON}."
        ),
    ]
}

/// Returns what to do, and why, in one line.
pub fn verdict(goal: &Goal, advice: &Advice) -> String {
    match advice.verdict {
        Verdict::Take(variant) => {
            let best = &advice.choices[0];
            let size = Size(best.memory);
            let ship = Size(best.ship);
            let mut text = format!("Choose {variant}: {size} in memory, {ship} to send");
            if let (Some(cost), Some(costs)) = (best.cost, goal.costs) {
                let [with, without] = [cost, costs.lookup].map(rounded);
                text += &format!("; a look-up costs {with} ns on average instead of {without}");
            }
            text += ".";
            if let Some(next) = advice.choices.get(1).filter(|next| next.fits())
                && let Some((price, of)) = next.price.zip(best.price)
            {
                let (time, memory) = (price.one / of.one, next.memory as f64 / best.memory as f64);
                let next = next.variant;
                text += &format!(
                    " The next, {next}, needs {time:.2} x its time and {memory:.2} x its memory."
                );
            }
            text
        }
        Verdict::NoFilter { with, without } => format!(
            "Use no filter: a look-up costs {} ns on average with the best one, and {} without.",
            rounded(with),
            rounded(without)
        ),
        _ => {
            let mut text = "No kind fits".to_owned();
            if goal.deletes && goal.grows {
                text += ": a filter from which keys are removed does not grow; plan one with --deletes alone, for the \
                         largest number of keys";
            } else if goal.deletes && goal.ages {
                text += ": either keys are removed, or the oldest ones are forgotten; omit --deletes or --ages";
            }
            text + ".\n"
        }
    }
}

fn rounded(nanoseconds: f64) -> Count {
    Count(nanoseconds.round() as u64)
}

fn steps(choice: &Choice, goal: &Goal) -> String {
    let line = |step: &Step| format!("    {:<7} {}\n", step.what, in_threes(&step.how));
    choice.explain(goal).iter().map(line).collect()
}

/// Returns why a kind does not fit.
pub fn obstacles(choice: &Choice) -> Vec<String> {
    let words = |obstacle: &Obstacle| match obstacle {
        &Obstacle::Memory { needs, limit } => {
            format!("needs {} of memory; the limit is {}", Size(needs), Size(limit))
        }
        &Obstacle::Ship { needs, limit } => {
            format!("has a file of {}; the limit is {}", Size(needs), Size(limit))
        }
        other => in_threes(&other.to_string()),
    };
    choice.obstacles.iter().map(words).collect()
}

/// Returns a document for each kind, in the order of the ranking.
pub fn documents(goal: &Goal, advice: &Advice, explain: bool) -> Vec<Value> {
    let document = |(rank, choice): (usize, &Choice)| {
        let mut object = json!({
            "type": "plan", "kind": choice.variant.kind().name(), "variant": choice.variant.to_string(),
            "fits": choice.fits(), "obstacles": obstacles(choice),
        });
        if choice.fits() {
            object["rank"] = json!(rank);
        }
        if let Some(plan) = &choice.plan {
            let figures = json!({
                "keys": plan.keys(), "fpp": plan.fpp(), "predicted_fpp": choice.fpp, "bits": plan.bits(),
                "bytes": choice.memory, "ship_bytes": choice.ship, "probes": plan.probes(),
                "planned_variant": plan.variant().to_string(), "bits_per_key": choice.bits_per_key(),
                "times_bound": choice.bits_per_key().map(|bits| bits / -choice.fpp.log2()),
                "cache_lines": choice.lines,
                "ns_one": choice.price.map(|price| price.one),
                "ns_batch": choice.price.map(|price| price.batch),
                "grows": plan.kind().capacity() == Capacity::First,
                "forgets": plan.kind().capacity() == Capacity::Last,
                "expected_ns": choice.cost,
            });
            merge(&mut object, figures);
        }
        if explain {
            let steps = choice.explain(goal);
            object["explain"] = steps.iter().map(|step| json!({step.what: step.how})).collect();
        }
        object
    };
    (1..).zip(&advice.choices).map(document).collect()
}

/// Returns the document of the recommendation, which comes last.
pub fn last_document(advice: &Advice) -> Value {
    let take = match advice.verdict {
        Verdict::Take(variant) => json!(variant.to_string()),
        _ => Value::Null,
    };
    let filter = !matches!(advice.verdict, Verdict::NoFilter { .. });
    let ranked = match advice.ranking {
        Ranking::Cost => "cost",
        Ranking::Shipped => "shipped",
        Ranking::Space => "space",
        _ => "time_space",
    };
    let on = MEASURED_ON;
    json!({ "type": "advice", "take": take, "filter": filter, "ranked_by": ranked, "measured_on": on })
}

fn merge(object: &mut Value, more: Value) {
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more);
    }
}

/// Returns the plans in an advice, one per kind, in the order of the kinds.
pub fn plans(advice: &Advice) -> Vec<Plan> {
    let of = |kind| advice.choices.iter().find(|choice| choice.variant.kind() == kind)?.plan;
    Kind::ALL.iter().copied().filter_map(of).collect()
}
