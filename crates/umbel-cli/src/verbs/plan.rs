//! `umbel plan`: which kind of filter to choose for a goal, and what each would cost.

use anyhow::Result;
use serde_json::{Value, json};
use umbel::{Capacity, Kind, Plan};
use umbel_advice::{
    Advice, Choice, Costs, Goal, LOW_FPP, MEASURED_ON, Obstacle, Ranking, Step, Verdict, advise,
};

use crate::Outcome;
use crate::args::PlanArgs;
use crate::numbers::{Count, Rate, Size, in_threes};
use crate::output::{check_target, write_text};
use crate::pictures::{self, Written};

pub(crate) fn plan(args: &PlanArgs) -> Result<Outcome> {
    check_target(&args.output)?;
    if let Some(text) = super::table::asked_for(args)? {
        write_text(&args.output, |put| put(&text))?;
        return Ok(Outcome::Done);
    }
    if let Some(text) = super::ship::asked_for(args)? {
        write_text(&args.output, |put| put(&text))?;
        return Ok(Outcome::Done);
    }
    let goal = goal(args);
    let advice = advise(&goal)?;
    let pictures = match &args.pictures.plot {
        Some(dir) => Some(pictures::of_plans(dir, args.pictures.force, &plans(&advice))?),
        None => None,
    };
    let text = match args.json {
        true => as_json(&goal, &advice, args.explain, pictures.as_deref().unwrap_or_default()),
        false => text(&goal, &advice, args.explain) + &drawn(pictures.as_deref()),
    };
    write_text(&args.output, |put| put(&text))?;
    Ok(match advice.verdict {
        Verdict::Nothing => Outcome::Nothing,
        _ => Outcome::Done,
    })
}

/// The pictures that were written, and what they show.
fn drawn(pictures: Option<&[Written]>) -> String {
    match pictures {
        None => String::new(),
        Some([]) => "\nNo pictures: there is no plan to draw.\n".to_owned(),
        Some(pictures) => {
            let name = |picture: &Written| picture.path.display().to_string();
            let width = pictures.iter().map(|picture| name(picture).chars().count()).max();
            let line = |picture: &Written| {
                format!("  {:<1$}  {2}\n", name(picture), width.unwrap_or(0), picture.shows)
            };
            format!("\nPictures written:\n{}", pictures.iter().map(line).collect::<String>())
        }
    }
}

/// One of each kind, in the order of the kinds.
fn plans(advice: &Advice) -> Vec<Plan> {
    let of = |kind| advice.choices.iter().find(|choice| choice.variant.kind() == kind)?.plan;
    Kind::ALL.into_iter().filter_map(of).collect()
}

fn goal(args: &PlanArgs) -> Goal {
    let lookup = args.lookup.map(|cost| cost.0);
    Goal {
        keys: args.keys.map(|keys| keys.0),
        fpp: args.fpp.map(|fpp| fpp.0),
        memory: args.memory.map(|memory| memory.0),
        ship: args.ship.flatten().map(|ship| ship.0),
        deletes: args.deletes,
        grows: args.grows,
        known: args.known,
        ages: args.ages,
        except: args.except.map_or(0, |keys| keys.0),
        costs: lookup.map(|lookup| Costs {
            lookup,
            false_answer: args.false_answer.map_or(lookup, |cost| cost.0),
            absent: args.absent,
        }),
    }
}

fn text(goal: &Goal, advice: &Advice, explain: bool) -> String {
    let mut text = verdict(goal, advice);
    let fits = advice.choices.iter().take_while(|choice| choice.fits()).count();
    let (fitting, others) = advice.choices.split_at(fits);
    if !fitting.is_empty() {
        text += &format!(
            "\n{:<10} {:>17} {:>10} {:>10} {:>12} {:>10} {:>9} {:>11}{}\n",
            "kind",
            "keys",
            "fpp",
            "memory",
            "bits per key",
            "x bound",
            "lines",
            "ns",
            if goal.costs.is_some() { "    expected ns" } else { "" }
        );
    }
    for choice in fitting {
        text += &row(choice);
        if explain {
            text += &steps(choice, goal);
        }
    }
    if !others.is_empty() {
        text += "\nDo not fit:\n";
    }
    for choice in others {
        text += &format!("{:<10} {}\n", choice.variant, obstacles(choice).join("; "));
        if explain {
            text += &steps(choice, goal);
        }
    }
    if !fitting.is_empty() {
        text += &format!(
            "\n{}\n\
             x bound: bits per key divided by log2(1/fpp), the fewest that any filter needs.\n\
             lines: cache lines that a look-up reads when it finds its key.\n\
             ns: time of a look-up, one key per call / in a batch; when the filter is larger than the caches,\n\
             \x20   add a memory access per line. Measured on {MEASURED_ON}.\n",
            match advice.ranking {
                Ranking::Cost => "Ranked by the expected cost of a look-up.".to_owned(),
                Ranking::Shipped => "Ranked by the bytes to send.".to_owned(),
                Ranking::Space =>
                    format!("Ranked by x bound alone, as for every fpp below {LOW_FPP:e}."),
                _ => "Ranked by time x space: ns of a look-up, one key per call, times x bound."
                    .to_owned(),
            }
        );
    }
    text
}

/// What to do, and why.
fn verdict(goal: &Goal, advice: &Advice) -> String {
    match advice.verdict {
        Verdict::Take(variant) => {
            let best = &advice.choices[0];
            let size = Size(best.memory);
            let mut text =
                format!("Choose {variant}: {size} in memory, {} to send", Size(best.ship));
            if let (Some(cost), Some(costs)) = (best.cost, goal.costs) {
                text += &format!(
                    "; a look-up costs {} ns on average instead of {}",
                    Count(cost.round() as u64),
                    Count(costs.lookup.round() as u64)
                );
            }
            text += ".";
            let next = advice.choices.get(1).filter(|next| next.fits());
            if let Some((next, (time, of))) =
                next.and_then(|next| Some((next, next.price.zip(best.price)?)))
            {
                text += &format!(
                    " The next, {}, needs {:.2} x its time and {:.2} x its memory.",
                    next.variant,
                    time.one / of.one,
                    next.memory as f64 / best.memory as f64
                );
            }
            text + "\n"
        }
        Verdict::NoFilter { with, without } => format!(
            "Use no filter: a look-up costs {} ns on average with the best one, and {} without.\n",
            Count(with.round() as u64),
            Count(without.round() as u64)
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

fn row(choice: &Choice) -> String {
    let Some(plan) = &choice.plan else { return String::new() };
    let bits = choice.bits_per_key().expect("there is a plan");
    let price = match choice.price {
        Some(price) => format!("{:.0} / {:.0}", price.one, price.batch),
        None => "-".to_owned(),
    };
    let cost = choice.cost.map(|cost| format!(" {:>14}", Count(cost.round() as u64)));
    format!(
        "{:<10} {:>17} {:>10} {:>10} {:>12} {:>10} {:>9.0} {price:>11}{}\n",
        choice.variant,
        Count(plan.keys()),
        Rate(choice.fpp),
        Size(choice.memory),
        in_threes(&format!("{bits:.2}")),
        in_threes(&format!("{:.2}", bits / -choice.fpp.log2())),
        choice.lines,
        cost.unwrap_or_default()
    )
}

fn steps(choice: &Choice, goal: &Goal) -> String {
    let line = |step: &Step| format!("    {:<7} {}\n", step.what, in_threes(&step.how));
    choice.explain(goal).iter().map(line).collect()
}

fn obstacles(choice: &Choice) -> Vec<String> {
    let words = |obstacle: &Obstacle| match obstacle {
        Obstacle::Memory { needs, limit } => {
            format!("needs {} of memory; the limit is {}", Size(*needs), Size(*limit))
        }
        Obstacle::Ship { needs, limit } => {
            format!("has a file of {}; the limit is {}", Size(*needs), Size(*limit))
        }
        other => in_threes(&other.to_string()),
    };
    choice.obstacles.iter().map(words).collect()
}

fn as_json(goal: &Goal, advice: &Advice, explain: bool, pictures: &[Written]) -> String {
    let mut text = String::new();
    for (rank, choice) in (1..).zip(&advice.choices) {
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
        text += &format!("{object}\n");
    }
    for picture in pictures {
        let file = picture.path.display().to_string();
        text += &format!("{}\n", json!({"type": "picture", "file": file, "shows": picture.shows}));
    }
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
    let last = json!({
        "type": "advice", "take": take, "filter": filter, "ranked_by": ranked, "measured_on": MEASURED_ON,
    });
    text + &format!("{last}\n")
}

fn merge(object: &mut Value, more: Value) {
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more);
    }
}
