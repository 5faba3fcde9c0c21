use super::*;

fn goal(keys: u64, fpp: f64) -> Goal {
    Goal::for_keys(keys, fpp)
}

fn first(goal: &Goal) -> Kind {
    let advice = advise(goal).unwrap();
    assert_eq!(advice.verdict, Verdict::Take(advice.choices[0].variant));
    advice.choices[0].variant.kind()
}

/// Goals that testdata/plans.json lacks.
#[test]
fn wishes_have_their_kinds() {
    let plain = goal(1_000_000, 0.01);
    assert_eq!(first(&Goal { deletes: true, ..plain }), Kind::Counting);
    assert_eq!(first(&Goal { known: true, except: 1_000_000, ..plain }), Kind::Cascade);
}

#[test]
fn every_kind_is_there_and_those_that_do_not_fit_say_why() {
    let plain = goal(50_000, 0.001);
    let goals = [
        plain,
        Goal { memory: Some(1), ..plain },
        Goal { deletes: true, grows: true, known: true, ages: true, ..plain },
        Goal { fpp: None, memory: Some(100_000), ..plain },
        Goal { keys: None, ship: Some(100_000), ..plain },
        Goal { known: true, except: 10_000, fpp: None, memory: Some(90_000), ..plain },
    ];
    for goal in goals {
        let advice = advise(&goal).unwrap();
        for &kind in Kind::ALL {
            assert!(advice.choices.iter().any(|choice| choice.variant.kind() == kind), "{kind}");
        }
        let fits = advice.choices.iter().take_while(|choice| choice.fits()).count();
        assert!(advice.choices[fits..].iter().all(|choice| !choice.obstacles.is_empty()));
        for choice in &advice.choices[..fits] {
            let plan = choice.plan.unwrap();
            assert!(goal.memory.is_none_or(|limit| choice.memory <= limit), "{choice:?}");
            assert!(goal.ship.is_none_or(|limit| choice.ship <= limit), "{choice:?}");
            assert!(goal.fpp.is_none_or(|fpp| choice.fpp <= fpp), "{choice:?}");
            assert!(goal.keys.is_none_or(|keys| plan.keys() == keys));
            assert!(!choice.explain(&goal).is_empty());
        }
    }
}

#[test]
fn no_filter_where_it_spares_less_than_it_costs() {
    let costs = |lookup, absent| {
        advise(&Goal { costs: Some(Costs::new(lookup, absent)), ..goal(1_000_000, 0.01) }).unwrap()
    };
    assert!(matches!(costs(50.0, 0.1).verdict, Verdict::NoFilter { .. }));
    assert!(matches!(costs(1e6, 0.0).verdict, Verdict::NoFilter { .. }), "nothing to spare");
    let worth = costs(1e5, 0.5);
    assert!(matches!(worth.verdict, Verdict::Take(Variant::Blocked)));
    assert_eq!(worth.ranking, Ranking::Cost);
    // Half of the keys are present and cost the same; so does one in a hundred of the others.
    let cost = worth.choices[0].cost.unwrap();
    let one = worth.choices[0].price.unwrap().one;
    assert!((cost - (one + 0.5e5 + 0.5e5 * worth.choices[0].fpp)).abs() < 1e-6);
    // If a false answer costs far more than any filter, the lowest rate wins.
    let dear = Costs { lookup: 1e6, false_answer: 1e7, absent: 0.9 };
    let memory = Goal::for_memory(1_000_000, 1_200_000);
    assert_eq!(first(&Goal { known: true, costs: Some(dear), ..memory }), Kind::Bloomier);
}

#[test]
fn impossible_goals_are_refused() {
    let plain = goal(1_000, 0.01);
    for open in [Goal::default(), Goal { fpp: None, ..plain }, Goal { keys: None, ..plain }] {
        assert!(matches!(advise(&open), Err(Error::OpenGoal)));
    }
    assert!(matches!(advise(&goal(0, 0.01)), Err(Error::Plan(PlanError::ZeroKeys))));
    assert!(matches!(advise(&goal(1, 1.0)), Err(Error::Plan(PlanError::Fpp(_)))));
    for (lookup, false_answer, absent) in [(-1.0, 1.0, 0.5), (1.0, f64::NAN, 0.5), (1.0, 1.0, 1.5)]
    {
        let costs = Some(Costs { lookup, false_answer, absent });
        assert!(matches!(advise(&Goal { costs, ..plain }), Err(Error::Costs { .. })));
    }
}

#[test]
fn below_1e_6_size_decides() {
    for (fpp, kinds) in [
        (1e-6, [Kind::Blocked, Kind::Blocked]),
        (1e-7, [Kind::Classic, Kind::Bloomier]),
        (1e-9, [Kind::Coded, Kind::Bloomier]),
        (1e-12, [Kind::Classic, Kind::Bloomier]),
    ] {
        for keys in [1_000_000, 100_000_000] {
            let wished = [false, true].map(|known| first(&Goal { known, ..goal(keys, fpp) }));
            assert_eq!(wished, kinds, "{keys} {fpp}");
        }
    }
    // The only kind that meets the goal is not ranked behind kinds that do not.
    assert_eq!(first(&Goal { deletes: true, ..goal(1_000_000, 1e-9) }), Kind::Counting);
    assert_eq!(advise(&goal(1_000, 1e-7)).unwrap().ranking, Ranking::Space);
    let memory = Goal { memory: Some(12_500_000), fpp: None, ..goal(1_000_000, 0.5) };
    assert_eq!(first(&memory), Kind::Blocked, "no low rate was asked for");
}

#[test]
fn a_hit_takes_longer_the_more_lines_it_touches() {
    let price = |kind, fpp| {
        let advice = advise(&goal(1_000_000, fpp)).unwrap();
        let choice = advice.choices.into_iter().find(|choice| choice.variant.kind() == kind);
        choice.unwrap().price.unwrap().one
    };
    assert_eq!(price(Kind::Blocked, 0.01), price(Kind::Blocked, 1e-6));
    assert!((price(Kind::Classic, 0.01) - 85.0).abs() < 0.1);
    assert!((price(Kind::Classic, 1e-6) - (111.0 * 20.0 / 7.0 + 59.0) / 2.0).abs() < 0.1);
}

#[test]
fn so_little_memory_that_all_would_pass_is_no_filter() {
    let small = |bytes| Goal { memory: Some(bytes), fpp: None, ..goal(100_000_000, 0.5) };
    let advice = advise(&small(1 << 20)).unwrap();
    assert_eq!(advice.verdict, Verdict::Nothing);
    assert!(advice.choices.iter().all(|choice| choice.plan.is_none() && !choice.fits()));
    // At one bit per key the rate is still meaningful.
    let advice = advise(&small(12_500_000)).unwrap();
    assert!(matches!(advice.verdict, Verdict::Take(_)));
    assert!(advice.choices[0].fpp < 0.7, "{}", advice.choices[0].fpp);
}

#[test]
fn any_size_is_a_limit() {
    for size in [0, 1, 1 << 40, u64::MAX / 4 + 1, u64::MAX] {
        for goal in [Goal::for_memory(1_000, size), Goal::for_capacity(0.01, size)] {
            advise(&goal).unwrap();
            advise(&Goal { memory: None, ship: Some(size), ..goal }).unwrap();
            advise(&Goal { ship: Some(size), ..goal }).unwrap();
        }
    }
}
