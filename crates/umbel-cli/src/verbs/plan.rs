//! `umbel plan`: which kind of filter to take for a goal, and what each would cost.

use anyhow::Result;
use serde_json::{Value, json};
use umbel::{Capacity, Kind, Plan};
use umbel_advice::{Advice, Choice, Costs, Goal, MEASURED_ON, Obstacle, Ranking, Verdict, advise};

use crate::Outcome;
use crate::args::{PictureArgs, PlanArgs};
use crate::numbers::{Count, Rate, Size};
use crate::output::print;
use crate::pictures;

pub(crate) fn plan(args: &PlanArgs) -> Result<Outcome> {
    if let Some(text) = super::table::asked_for(args)? {
        print(text)?;
        return Ok(Outcome::Done);
    }
    let goal = goal(args);
    let advice = advise(&goal)?;
    let PictureArgs { plot, plot_format, force } = &args.pictures;
    if let Some(dir) = plot {
        pictures::of_plans(dir, *plot_format, *force, &plans(&advice))?;
    }
    print(match args.json {
        true => as_json(&goal, &advice, args.explain),
        false => text(&goal, &advice, args.explain),
    })?;
    Ok(match advice.verdict {
        Verdict::Nothing => Outcome::Nothing,
        _ => Outcome::Done,
    })
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
        ship: args.ship.map(|ship| ship.0),
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
            "\n{}\nlines: cache lines that a look-up of a key that is there touches; ns: a look-up, one key a call / in a\n\
             batch, as measured ({MEASURED_ON});\nwhat lies beyond the caches takes about a memory access more for each line.\n",
            match advice.ranking {
                Ranking::Cost => "Ranked by the expected cost of a look-up.",
                Ranking::Shipped => "Ranked by what has to be sent.",
                _ =>
                    "Ranked by time x space: ns of a look-up, times bits over the bound, log2(1/p) a key.",
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
            let mut text = format!("Take {variant}: {size} in memory, {} to send", Size(best.ship));
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
                    " The next, {}, takes {:.2} x its time and {:.2} x its memory.",
                    next.variant,
                    time.one / of.one,
                    next.memory as f64 / best.memory as f64
                );
            }
            text + "\n"
        }
        Verdict::NoFilter { with, without } => format!(
            "Do not filter: with the best filter a look-up costs {with:.0} ns on average, without one {without:.0}.\n"
        ),
        _ => {
            let mut text = "No kind fits".to_owned();
            if goal.deletes && goal.grows {
                text += ": a filter whose keys leave does not grow; plan one, with --deletes alone, for the most keys \
                         there can be";
            } else if goal.deletes && goal.ages {
                text +=
                    ": keys leave one by one, or the oldest are forgotten; leave one of both out";
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
        "{:<10} {:>17} {:>10} {:>10} {bits:>12.2} {:>10.2} {:>9.0} {price:>11}{}\n",
        choice.variant,
        Count(plan.keys()),
        Rate(choice.fpp),
        Size(choice.memory),
        bits / -choice.fpp.log2(),
        choice.lines,
        cost.unwrap_or_default()
    )
}

fn steps(choice: &Choice, goal: &Goal) -> String {
    choice.explain(goal).iter().map(|step| format!("    {:<7} {}\n", step.what, step.how)).collect()
}

fn obstacles(choice: &Choice) -> Vec<String> {
    let words = |obstacle: &Obstacle| match obstacle {
        Obstacle::Memory { needs, limit } => {
            format!("takes {} of memory; there are {}", Size(*needs), Size(*limit))
        }
        Obstacle::Ship { needs, limit } => {
            format!("its file has {}; {} can be sent", Size(*needs), Size(*limit))
        }
        other => other.to_string(),
    };
    choice.obstacles.iter().map(words).collect()
}

fn as_json(goal: &Goal, advice: &Advice, explain: bool) -> String {
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
    let take = match advice.verdict {
        Verdict::Take(variant) => json!(variant.to_string()),
        _ => Value::Null,
    };
    let filter = !matches!(advice.verdict, Verdict::NoFilter { .. });
    let ranked = match advice.ranking {
        Ranking::Cost => "cost",
        Ranking::Shipped => "shipped",
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
