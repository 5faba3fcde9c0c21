//! `umbel plan`: which kind of filter to choose for a goal, and what each would cost.

use anyhow::Result;
use serde_json::json;
use umbel_report::advice::{Advice, Costs, Goal, Verdict, advise};
use umbel_report::plan as report;

use crate::Outcome;
use crate::args::PlanArgs;
use crate::output::{check_target, write_text};
use crate::pictures::{self, Saved};
use crate::target::Sort;

pub(crate) fn plan(args: &PlanArgs) -> Result<Outcome> {
    check_target(args.output.file(), Sort::Text, args.output.replace.force)?;
    if let Some(text) = super::table::asked_for(args)? {
        write_text(args.output.file(), |put| put(&text))?;
        return Ok(Outcome::Done);
    }
    if let Some(text) = super::ship::asked_for(args)? {
        write_text(args.output.file(), |put| put(&text))?;
        return Ok(Outcome::Done);
    }
    let goal = goal(args);
    let advice = advise(&goal)?;
    let pictures = match &args.pictures.plot {
        Some(dir) => {
            Some(pictures::of_plans(dir, args.output.replace.force, &report::plans(&advice))?)
        }
        None => None,
    };
    let text = match args.json {
        true => as_json(&goal, &advice, args.explain, pictures.as_deref().unwrap_or_default()),
        false => report::text(&goal, &advice, args.explain) + &drawn(pictures.as_deref()),
    };
    write_text(args.output.file(), |put| put(&text))?;
    Ok(match advice.verdict {
        Verdict::Nothing => Outcome::Nothing,
        _ => Outcome::Done,
    })
}

/// The pictures that were written, and what they show.
fn drawn(pictures: Option<&[Saved]>) -> String {
    match pictures {
        None => String::new(),
        Some([]) => "\nNo pictures: there is no plan to draw.\n".to_owned(),
        Some(pictures) => {
            let name = |picture: &Saved| picture.path.display().to_string();
            let width = pictures.iter().map(|picture| name(picture).chars().count()).max();
            let line = |picture: &Saved| {
                format!("  {:<1$}  {2}\n", name(picture), width.unwrap_or(0), picture.shows)
            };
            format!("\nPictures written:\n{}", pictures.iter().map(line).collect::<String>())
        }
    }
}

fn goal(args: &PlanArgs) -> Goal {
    let lookup = args.lookup.map(|cost| cost.0);
    let mut goal = Goal::default();
    goal.keys = args.keys.map(|keys| keys.0);
    goal.fpp = args.fpp.map(|fpp| fpp.0);
    goal.memory = args.memory.map(|memory| memory.0);
    goal.ship = args.ship.flatten().map(|ship| ship.0);
    goal.deletes = args.deletes;
    goal.grows = args.grows;
    goal.known = args.known;
    goal.ages = args.ages;
    goal.except = args.except.map_or(0, |keys| keys.0);
    goal.costs = lookup.map(|lookup| {
        let mut costs = Costs::new(lookup, args.absent);
        costs.false_answer = args.false_answer.map_or(lookup, |cost| cost.0);
        costs
    });
    goal
}

/// A document a line; those of pictures are before the recommendation.
fn as_json(goal: &Goal, advice: &Advice, explain: bool, pictures: &[Saved]) -> String {
    let picture = |picture: &Saved| {
        let file = picture.path.display().to_string();
        json!({"type": "picture", "file": file, "shows": picture.shows})
    };
    let mut documents = report::documents(goal, advice, explain);
    documents.extend(pictures.iter().map(picture));
    documents.push(report::last_document(advice));
    documents.iter().map(|document| format!("{document}\n")).collect()
}
