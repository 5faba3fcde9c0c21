use umbel::{AnyFilter, AnyScheme, KeyHash, KeyHasher, Plan};

use super::*;

/// Members with fixed secrets.
fn member(number: u8) -> Member {
    Member { secret: digest("a fixed secret", &[&[number]]).into(), used: None }
}

fn filter(kind: Kind, keys: std::ops::Range<u64>) -> AnyFilter {
    let plan = Plan::for_keys(kind, 3_000, 0.01).unwrap();
    let mut filter = AnyFilter::with_plan(&plan, KeyHasher::with_seed(7)).unwrap();
    let keys: Vec<KeyHash> = keys.map(|key| filter.hasher().hash(key)).collect();
    filter.try_insert_all(&keys).unwrap();
    filter
}

/// The header and the payload of a filter's file.
fn parts(filter: &AnyFilter) -> (Header, Vec<u8>) {
    let bytes = filter.to_bytes();
    let reader = Reader::new(&bytes[..], bytes.len() as u64).unwrap();
    let header = reader.header().clone();
    let mut payload = vec![0; header.payload_length() as usize];
    reader.read_payload(&mut payload).unwrap();
    (header, payload)
}

/// A group whose members have overlapping lists, and their masked lists.
struct Group {
    members: Vec<Member>,
    filters: Vec<AnyFilter>,
    round: Round,
    masked: Vec<Vec<u8>>,
}

fn group(count: u8, kind: Kind) -> Group {
    let mut members: Vec<Member> = (0..count).map(member).collect();
    let lists = (0..u64::from(count)).map(|i| 100 * i..100 * i + 250);
    let filters: Vec<AnyFilter> = lists.map(|keys| filter(kind, keys)).collect();
    let round = Round::new(members.iter().map(Member::card), &parts(&filters[0]).0).unwrap();
    let mask = |(member, filter): (&mut Member, &AnyFilter)| {
        let mut masked = Vec::new();
        member.mask(&round, &parts(filter).1, &mut masked).unwrap();
        masked
    };
    let masked = members.iter_mut().zip(&filters).map(mask).collect();
    Group { members, filters, round, masked }
}

impl Group {
    /// Sums all without those at some places, which drop out before they mask.
    fn sum_without(&mut self, dropped: &[usize]) -> Result<Vec<u8>, (Option<usize>, GroupError)> {
        let cards = dropped.iter().map(|&i| self.members[i].card()).collect();
        let stay: Vec<usize> = (0..self.members.len()).filter(|i| !dropped.contains(i)).collect();
        let shares: Vec<Share> =
            stay.iter().map(|&i| self.members[i].share(&cards).unwrap()).collect();
        let mut out = Vec::new();
        sum(stay.iter().map(|&i| &self.masked[i][..]).collect(), &shares, &mut out)?;
        Ok(out)
    }

    fn or_without(&self, dropped: &[usize]) -> Vec<u8> {
        let mut stay = (0..self.filters.len()).filter(|i| !dropped.contains(i));
        let mut or = self.filters[stay.next().unwrap()].try_clone().unwrap();
        stay.for_each(|i| or.union(&self.filters[i]).unwrap());
        or.to_bytes()
    }
}

#[test]
fn the_sum_is_the_or() {
    for kind in [Kind::Blocked, Kind::Classic, Kind::Sliced] {
        for (count, dropped) in [(3, &[][..]), (10, &[4]), (10, &[]), (7, &[0, 6, 3]), (5, &[1, 2])]
        {
            let mut group = group(count, kind);
            let found = group.sum_without(dropped).unwrap();
            assert!(found == group.or_without(dropped), "{kind} {count} {dropped:?}");
            assert!(AnyFilter::from_bytes_with(&found, AnyScheme).is_ok());
        }
    }
}

#[test]
fn secrets_of_the_system_work_too() {
    let mut members: Vec<Member> = (0..3).map(|_| Member::new().unwrap()).collect();
    assert_ne!(members[0].card(), members[1].card());
    let own = filter(Kind::Blocked, 0..100);
    let (header, payload) = parts(&own);
    let round = Round::new(members.iter().map(Member::card), &header).unwrap();
    let mut masked = vec![Vec::new(); 3];
    let mut shares = Vec::new();
    for (member, masked) in members.iter_mut().zip(&mut masked) {
        member.mask(&round, &payload, masked).unwrap();
        shares.push(member.share(&BTreeSet::new()).unwrap());
    }
    let mut out = Vec::new();
    sum(masked.iter().map(|list| &list[..]).collect(), &shares, &mut out).unwrap();
    assert!(out == own.to_bytes());
}

/// Pearson's statistic of bytes against the uniform distribution, and the bound that chance exceeds with a probability of
/// 1e-9: the quantile of χ² with 255 degrees of freedom, by E. B. Wilson and M. M. Hilferty 1931, whose error is far
/// below 1 % there.
fn chi_squared(bytes: &[u8]) -> (f64, f64) {
    const FREE: f64 = 255.0;
    /// One-sided normal quantile of 1e-9.
    const Z: f64 = 5.998;
    let mut counts = [0u64; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let expected = bytes.len() as f64 / 256.0;
    let off = |count: &u64| (*count as f64 - expected).powi(2) / expected;
    let spread = 2.0 / (9.0 * FREE);
    (counts.iter().map(off).sum(), FREE * (1.0 - spread + Z * spread.sqrt()).powi(3))
}

fn looks_random(words: &[u64]) -> bool {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let (found, most) = chi_squared(&bytes);
    // All bytes, and each of the eight places in a word.
    let place = |place: usize| bytes.iter().skip(place).step_by(8).copied().collect::<Vec<u8>>();
    let places = (0..8).all(|i| {
        let (found, most) = chi_squared(&place(i));
        found <= most
    });
    found <= most && places
}

/// The words of a masked list.
fn words(masked: &[u8], round: &Round) -> Vec<u64> {
    let start = 32 + 32 * (round.members() + 1) + round.header.len();
    let bytes = &masked[start..masked.len() - 8];
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

fn without(words: &[u64], masks: impl IntoIterator<Item = Mask>) -> Vec<u64> {
    let (mut words, mut bytes) = (words.to_vec(), Vec::new());
    masks.into_iter().for_each(|mut mask| mask.apply(&mut words, &mut bytes));
    words
}

/// What a collector sees, alone and with all that others know, passes a test of uniformity; what it must not see fails
/// it. Nine tests per view at α = 1e-9, with fixed secrets.
#[test]
fn a_view_without_all_masks_is_uniform() {
    let mut group = group(5, Kind::Blocked);
    let round = group.round.clone();
    let seen = words(&group.masked[0], &round);
    assert!(seen.len() > 28_000, "{} words, so that 8 tests of bytes have power", seen.len());
    assert!(looks_random(&seen));
    let cards: Vec<Card> = group.members.iter().map(Member::card).collect();
    let pair = |i: usize| {
        // The collector subtracts what the first member added.
        let key = group.members[0].pair(&round.id, &cards[i]).unwrap();
        Mask::new(key, cards[0] > cards[i])
    };
    let own = || Mask::new(group.members[0].own(&round.id), false);
    // All others collude, or the member is late and taken to have dropped out: its own mask covers it.
    assert!(looks_random(&without(&seen, (1..5).map(pair))));
    // It has sent its share, and all others but one collude.
    assert!(looks_random(&without(&seen, (1..4).map(pair).chain([own()]))));
    // Without any mask, the clear bits are seen: the test has the power to tell.
    let bare = without(&seen, (1..5).map(pair).chain([own()]));
    assert!(!looks_random(&bare));
    let payload = parts(&group.filters[0]).1;
    let bits = (0..bare.len() - CHECKS).map(|i| payload[i / 8] >> (i % 8) & 1 == 1);
    assert!(bits.eq(bare[..bare.len() - CHECKS].iter().map(|word| *word != 0)));
    // The sum does not tell how many have a bit: values of one member look like those of several.
    let all = (0..5).map(|i| words(&group.masked[i], &round));
    let sum = all.reduce(|a, b| a.iter().zip(b).map(|(a, b)| a.wrapping_add(b)).collect()).unwrap();
    let shares = group.members.iter_mut().map(|member| member.share(&BTreeSet::new()).unwrap());
    let sum = without(&sum, shares.map(|share| Mask::new(share.own, false)));
    let payloads: Vec<Vec<u8>> = group.filters.iter().map(|filter| parts(filter).1).collect();
    let count = |i: usize| payloads.iter().filter(|list| list[i / 8] >> (i % 8) & 1 == 1).count();
    let of = |wanted: fn(usize) -> bool| {
        let places = (0..sum.len() - CHECKS).filter(|&i| wanted(count(i)));
        places.map(|i| sum[i]).collect::<Vec<_>>()
    };
    let (one, more) = (of(|count| count == 1), of(|count| count > 1));
    assert!(one.len() > 1_300 && more.len() > 1_300, "{} {}", one.len(), more.len());
    assert!(looks_random(&one) && looks_random(&more));
    assert!(of(|count| count == 0).iter().all(|word| *word == 0));
}

#[test]
fn a_secret_masks_one_list_and_makes_one_share() {
    let mut group = group(6, Kind::Blocked);
    let round = group.round.clone();
    let (_, payload) = parts(&group.filters[0]);
    let mut again = Vec::new();
    group.members[0].mask(&round, &payload, &mut again).unwrap();
    assert!(again == group.masked[0], "a repetition gives the same bytes");
    let (_, other) = parts(&group.filters[1]);
    let second = group.members[0].mask(&round, &other, Vec::new());
    assert!(matches!(second, Err(GroupError::Used)));
    let fewer = round.cards.iter().copied().filter(|card| *card != group.members[5].card());
    let smaller = Round::new(fewer, &parts(&group.filters[0]).0).unwrap();
    let second = group.members[0].mask(&smaller, &payload, Vec::new());
    assert!(matches!(second, Err(GroupError::Used)));
    let stranger = member(99).mask(&round, &payload, Vec::new());
    assert!(matches!(stranger, Err(GroupError::NotAMember)));
    let cards = |places: &[usize]| {
        places.iter().map(|&i| member(i as u8).card()).collect::<BTreeSet<Card>>()
    };
    let first = &mut group.members[0];
    assert!(matches!(first.share(&cards(&[0])), Err(GroupError::NotDropped)));
    assert!(matches!(first.share(&cards(&[99])), Err(GroupError::NotDropped)));
    assert!(matches!(first.share(&cards(&[1, 2, 3, 4])), Err(GroupError::Few { found: 2 })));
    let share = first.share(&cards(&[1])).unwrap();
    assert!(first.share(&cards(&[1])).unwrap() == share);
    assert!(matches!(first.share(&cards(&[])), Err(GroupError::Shared)));
    assert!(matches!(member(0).share(&cards(&[])), Err(GroupError::Unused)));
}

#[test]
fn rounds_that_reveal_or_cannot_be_added_are_refused() {
    let header = |kind| parts(&filter(kind, 0..10)).0;
    let cards = |count: u8| (0..count).map(|i| member(i).card());
    let few = Round::new(cards(2).chain(cards(2)), &header(Kind::Blocked));
    assert!(matches!(few, Err(GroupError::Few { found: 2 })));
    let kind = Round::new(cards(3), &header(Kind::Counting));
    assert!(matches!(kind, Err(GroupError::Kind(Kind::Counting))));
    let ids = [cards(3), cards(4)].map(|cards| Round::new(cards, &header(Kind::Blocked)));
    assert!(ids[0].as_ref().unwrap().id() != ids[1].as_ref().unwrap().id());
    // A key of low order would make a mask that everybody knows.
    let mut first = member(0);
    let bad = Round::new(cards(3).chain([Card([0; 32])]), &header(Kind::Blocked)).unwrap();
    let payload = parts(&filter(Kind::Blocked, 0..10)).1;
    assert!(matches!(first.mask(&bad, &payload, Vec::new()), Err(GroupError::NoKey)));
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let none = BTreeSet::new();
    let mut group5 = group(5, Kind::Blocked);
    let mut group4 = group(4, Kind::Blocked);
    let lists: Vec<&[u8]> = group5.masked.iter().map(|list| &list[..]).collect();
    let mut shares: Vec<Share> =
        group5.members.iter_mut().map(|member| member.share(&none).unwrap()).collect();
    let failure = |lists: &[&[u8]], shares: &[Share]| {
        let mut out = Vec::new();
        let failure = sum(lists.to_vec(), shares, &mut out).unwrap_err();
        assert!(out.is_empty(), "nothing is written");
        failure
    };
    use GroupError::{Few, Masks, OtherDropped, OtherRound, Twice, Unmatched};
    assert!(matches!(failure(&[], &[]), (None, Few { found: 0 })));
    let unmatched = failure(&lists, &shares[..4]);
    assert!(matches!(unmatched, (None, Unmatched { masked: 5, shares: 4 })));
    assert!(matches!(failure(&lists[..4], &shares), (None, Unmatched { .. })));
    let other = failure(&lists[..4], &shares[..4]);
    assert!(matches!(other, (None, OtherDropped { named: 0, missing: 1 })));
    let twice = failure(&[lists[0], lists[1], lists[0]], &shares);
    assert!(matches!(twice, (Some(2), Twice)));
    let mixed = failure(&[lists[0], &group4.masked[1]], &shares);
    assert!(matches!(mixed, (Some(1), OtherRound)));
    let foreign = group4.members[3].share(&none).unwrap();
    let foreign = [&shares[..3], &[foreign], &shares[4..]].concat();
    assert!(matches!(failure(&lists, &foreign), (None, OtherRound)));
    let again = [&shares[..4], &shares[..1]].concat();
    assert!(matches!(failure(&lists, &again), (None, Twice)));
    shares[3].own[0] ^= 1;
    assert!(matches!(failure(&lists, &shares), (None, Masks)));
}

#[test]
fn texts_are_read_as_written_and_damage_is_refused() {
    let mut group = group(5, Kind::Blocked);
    let fresh = member(0);
    let card = fresh.card();
    assert_eq!(Card::from_text(&card.to_text()).unwrap(), card);
    assert_eq!(Card::from_text(&(card.to_text() + "\n")).unwrap(), card);
    let share = group.members[1].share(&BTreeSet::from([card])).unwrap();
    assert!(Share::from_text(&share.to_text()).unwrap() == share);
    for own in [&fresh, &group.members[0], &group.members[1]] {
        let read = Member::from_text(&own.to_text()).unwrap();
        assert_eq!(read.to_text(), own.to_text());
    }
    assert!(!format!("{:?} {share:?}", group.members[1]).contains("own"), "secrets are not shown");
    let texts = [card.to_text(), share.to_text(), group.members[1].to_text()];
    for (i, text) in texts.iter().enumerate() {
        let read = |text: &str| match i {
            0 => Card::from_text(text).map(drop),
            1 => Share::from_text(text).map(drop),
            _ => Member::from_text(text).map(drop),
        };
        for place in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[place] ^= 1;
            let flipped = String::from_utf8(bytes).unwrap();
            assert!(matches!(read(&flipped), Err(GroupError::Damaged { .. })), "{flipped}");
            assert!(read(&text[..place]).is_err(), "{place}");
        }
        assert!(read(&texts[(i + 1) % 3]).is_err(), "of another sort");
    }
    for wrong in ["", "check ", "\u{e9}check \u{e9}"] {
        assert!(Card::from_text(wrong).is_err());
    }
}

#[test]
fn a_damaged_masked_list_is_refused() {
    let mut group = group(3, Kind::Blocked);
    let none = BTreeSet::new();
    let shares: Vec<Share> =
        group.members.iter_mut().map(|member| member.share(&none).unwrap()).collect();
    let sums = |second: &[u8]| {
        let lists = vec![&group.masked[0][..], second, &group.masked[2][..]];
        let mut out = Vec::new();
        let result = sum(lists, &shares, &mut out);
        assert!(result.is_ok() || out.is_empty(), "nothing is written");
        result
    };
    let whole = &group.masked[1];
    assert!(sums(whole).is_ok());
    let start = 32 + 32 * 4 + group.round.header.len();
    let ends = [whole.len() - 9, whole.len() - 8, whole.len() - 1, whole.len() / 2];
    // The start is short; of the rest, some places.
    for place in (0..start).chain(ends) {
        let mut damaged = whole.clone();
        damaged[place] ^= 1 << (place % 8);
        assert!(sums(&damaged).is_err(), "{place}");
        assert!(sums(&whole[..place]).is_err(), "{place}");
    }
    assert!(matches!(
        sums(&[&whole[..], b"x"].concat()),
        Err((Some(1), GroupError::Damaged { .. }))
    ));
    let newer = [&whole[..8], &[2, 0], &whole[10..]].concat();
    assert!(matches!(sums(&newer), Err((Some(1), GroupError::Version { found: 2 }))));
}

/// The vectors of FORMAT.md: secrets 00 01 … 1F and 20 21 … 3F, and a round whose id is all zeros.
#[test]
fn keys_and_masks_are_those_of_the_format() {
    let counted = |first: u8| Member {
        secret: std::array::from_fn::<u8, 32, _>(|i| first + i as u8).into(),
        used: None,
    };
    let (one, two) = (counted(0), counted(32));
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let round = [0; 32];
    let pair = one.pair(&round, &two.card()).unwrap();
    assert_eq!(pair, two.pair(&round, &one.card()).unwrap());
    let mut first = [0; 1];
    Mask::new(pair, true).apply(&mut first, &mut Vec::new());
    let found = [
        hex(&one.card().0),
        hex(&two.card().0),
        hex(&pair),
        hex(&one.own(&round)),
        hex(&first[0].to_le_bytes()),
        one.card().to_text().rsplit_once(" check").unwrap().1.to_owned(),
    ];
    let format = include_str!("../../../../FORMAT.md");
    for found in &found {
        assert!(format.contains(found), "not in FORMAT.md: {found}");
    }
}
