//! The attributes filter, compared with stored rows and with filters of plain bits, for every query and through files:
//! its rates for unknown values and for values that never occurred together, and the errors it returns.

use std::collections::HashSet;

use proptest::prelude::*;
use umbel::{
    AnyFilter, Attributes, Filter, Insert, InsertError, KeyHash, KeyHasher, Kind, Plan, Tags,
    Variant,
};

use crate::damage::assert_fails;
use crate::plans::{Numbers, detail, variant};
use crate::reference::{Reference, part};
use crate::reopened::{Way, hasher, payload, reopened, way};
use crate::vectors::joined;

const NAMES: [&str; 4] = ["host", "user", "größe", "a b,c"];

/// A row as the numbers of its values.
type Row = Vec<u8>;

/// Short values that repeat often and are easily run together.
fn value(number: u8) -> Vec<u8> {
    match number {
        0 => Vec::new(),
        1 => vec![0, 0, 0, 0],
        2 => vec![1, 0, 0, 0, b'x'],
        n => vec![b'x'; usize::from(n - 2)],
    }
}

#[derive(Clone, Debug)]
enum Op {
    Insert(Row),
    InsertMany(Vec<Row>),
    InsertNew(Vec<Row>),
    /// Rows, and the attributes to query.
    Contains(Vec<(Row, u8)>),
    Clear,
    Reopen(Way),
    Union(Vec<Row>),
    Intersect(Vec<Row>),
}

fn row() -> impl Strategy<Value = Row> {
    prop::collection::vec(0..12u8, 4)
}

fn rows(most: usize) -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec(row(), 0..most)
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => row().prop_map(Op::Insert),
        3 => rows(40).prop_map(Op::InsertMany),
        // Longer than the groups that are processed together.
        1 => rows(600).prop_map(Op::InsertNew),
        3 => rows(40).prop_map(Op::InsertNew),
        4 => prop::collection::vec((row(), any::<u8>()), 0..300).prop_map(Op::Contains),
        1 => Just(Op::Clear),
        4 => way().prop_map(Op::Reopen),
        1 => rows(40).prop_map(Op::Union),
        1 => rows(40).prop_map(Op::Intersect),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let detail = prop::sample::select(vec![0, 1, 2, 10, 11, 12]);
    let fpp = prop::sample::select(vec![0.5, 0.1, 0.001]);
    let planned = (1..=100u64, fpp, detail.clone()).prop_map(|(keys, fpp, detail)| {
        Plan::for_keys(variant(Kind::Attributes, detail), keys, fpp)
    });
    let by_hand = (1..=4u64, 1..=umbel::MAX_PROBES, detail).prop_map(|(size, probes, detail)| {
        let bits = if detail < 10 { 512 * size } else { 130 * size + 1 };
        Plan::from_parts(variant(Kind::Attributes, detail), 50, 0.01, bits, probes)
    });
    prop_oneof![planned, by_hand].prop_map(Result::unwrap)
}

/// The inner filters, as FORMAT.md defines them.
#[derive(Clone)]
struct Model {
    hasher: KeyHasher,
    tags: u32,
    filters: Vec<Reference>,
    joint: Option<Reference>,
}

impl Model {
    fn new(plan: &Plan, attributes: usize, hasher: KeyHasher) -> Self {
        let detail = detail(plan.variant());
        let tags = detail % 10;
        let kind = if detail < 10 { Kind::Blocked } else { Kind::Classic };
        let inside = Numbers { variant: kind.into(), ..Numbers::of(plan) };
        let count = match tags {
            _ if attributes == 1 => 0,
            0 => 0,
            1 => 1,
            _ => (1 << attributes) - attributes as u64 - 1,
        };
        let joint = Numbers { bits: plan.bits() * count, ..inside };
        let joint = (count > 0).then(|| Reference::new(&joint.plan()));
        let filters = vec![Reference::new(&inside.plan()); attributes];
        Self { hasher, tags, filters, joint }
    }

    /// The hash of a value in attribute `i`, or of a subset's joined values with its tag.
    fn hash(&self, bytes: &[u8], i: u64) -> KeyHash {
        part(self.hasher.hash(bytes), i)
    }

    fn tag(&self, row: &[u8], subset: u64) -> KeyHash {
        let asked = row.iter().enumerate().filter(|(i, _)| subset >> i & 1 == 1);
        let values: Vec<_> = asked.map(|(_, &number)| value(number)).collect();
        self.hash(&joined(&values), subset)
    }

    fn tagged(&self, subset: u64) -> bool {
        let all = (1 << self.filters.len()) - 1;
        subset.count_ones() > 1 && (self.tags == 2 || (self.tags == 1 && subset == all))
    }

    fn contains(&self, row: &[u8], subset: u64) -> bool {
        let asked = (0..self.filters.len()).filter(|i| subset >> i & 1 == 1);
        let mut each = asked.map(|i| self.filters[i].contains(self.hash(&value(row[i]), i as u64)));
        let joint = || match &self.joint {
            Some(joint) if self.tagged(subset) => joint.contains(self.tag(row, subset)),
            _ => true,
        };
        each.all(|found| found) && joint()
    }

    /// Whether any bit was clear.
    fn insert(&mut self, row: &[u8]) -> bool {
        let mut new = false;
        for (i, &number) in row.iter().enumerate() {
            let hash = self.hash(&value(number), i as u64);
            new |= !self.filters[i].contains(hash);
            self.filters[i].insert(hash);
        }
        for subset in 1..1 << row.len() {
            if !self.tagged(subset) {
                continue;
            }
            let tag = self.tag(row, subset);
            let joint = self.joint.as_mut().unwrap();
            new |= !joint.contains(tag);
            joint.insert(tag);
        }
        new
    }

    fn join(&mut self, other: &Self, join: fn(bool, bool) -> bool) {
        let others = other.filters.iter().chain(&other.joint);
        for (filter, other) in self.filters.iter_mut().chain(&mut self.joint).zip(others) {
            filter.join(other, join);
        }
    }

    fn payload(&self) -> Vec<u8> {
        self.filters.iter().chain(&self.joint).flat_map(Reference::payload).collect()
    }
}

fn values(row: &[u8], attributes: usize) -> Vec<Vec<u8>> {
    row[..attributes].iter().map(|&number| value(number)).collect()
}

fn question(row: &[u8], attributes: usize, subset: u64) -> Vec<Option<Vec<u8>>> {
    let asked = |(i, value)| (subset >> i & 1 == 1).then_some(value);
    values(row, attributes).into_iter().enumerate().map(asked).collect()
}

fn run(plan: &Plan, count: usize, hasher: KeyHasher, ops: &[Op]) {
    let new = || Attributes::with_names(plan, &NAMES[..count], hasher.clone()).unwrap();
    let (mut filter, mut model) = (new(), Model::new(plan, count, hasher.clone()));
    let mut members: HashSet<Row> = HashSet::new();
    let whole = |row: &[u8]| match &values(row, count)[..] {
        [only] => hasher.hash(only),
        values => hasher.hash(joined(values)),
    };
    for op in ops {
        match op {
            Op::Insert(row) => {
                let told = filter.insert_row(&values(row, count)).unwrap();
                assert_eq!(told, model.insert(&row[..count]));
                assert!(!filter.insert_row(&values(row, count)).unwrap(), "a second time");
                members.insert(row[..count].to_vec());
            }
            Op::InsertMany(rows) | Op::InsertNew(rows) => {
                let values: Vec<_> = rows.iter().map(|row| values(row, count)).collect();
                let expected: Vec<_> = rows.iter().map(|row| model.insert(&row[..count])).collect();
                if matches!(op, Op::InsertMany(_)) {
                    filter.insert_rows(&values).unwrap();
                } else {
                    let mut new = vec![true; rows.len()];
                    filter.insert_rows_new(&values, &mut new).unwrap();
                    assert_eq!(new, expected, "new or not, in turn");
                }
                members.extend(rows.iter().map(|row| row[..count].to_vec()));
            }
            Op::Contains(asked) => {
                let all = (1u64 << count) - 1;
                let questions: Vec<_> = asked
                    .iter()
                    .map(|(row, subset)| question(row, count, u64::from(*subset) & all))
                    .collect();
                let mut found = vec![false; asked.len()];
                filter.contains_rows(&questions, &mut found).unwrap();
                for (found, (question, (row, subset))) in
                    found.into_iter().zip(questions.iter().zip(asked))
                {
                    assert_eq!(found, model.contains(row, u64::from(*subset) & all));
                    assert_eq!(found, filter.contains_row(question).unwrap());
                }
            }
            Op::Clear => {
                filter.clear();
                (model, members) = (Model::new(plan, count, hasher.clone()), HashSet::new());
            }
            Op::Reopen(way) => {
                let hashes: Vec<_> = members.iter().map(|row| whole(row)).collect();
                filter = reopened(&filter, *way, &hashes);
            }
            Op::Union(rows) | Op::Intersect(rows) => {
                let (mut other, mut others) = (new(), Model::new(plan, count, hasher.clone()));
                for row in rows {
                    other.insert_row(&values(row, count)).unwrap();
                    others.insert(&row[..count]);
                }
                let rows: HashSet<_> = rows.iter().map(|row| row[..count].to_vec()).collect();
                if matches!(op, Op::Union(_)) {
                    filter.union(&other).unwrap();
                    model.join(&others, |left, right| left | right);
                    members.extend(rows);
                } else {
                    filter.intersect(&other).unwrap();
                    model.join(&others, |left, right| left & right);
                    members.retain(|row| rows.contains(row));
                }
            }
        }
        let payload = payload(&filter);
        assert!(payload == model.payload(), "other bits than FORMAT.md says");
        let receipt = filter.receipt();
        let set: u32 = payload.iter().map(|byte| byte.count_ones()).sum();
        assert_eq!((receipt.set_bits, receipt.bytes()), (u64::from(set), filter.bytes()));
        assert_eq!(receipt.parts.len(), count + usize::from(model.joint.is_some()));
        assert_eq!(receipt.parts[count - 1].name.as_deref(), Some(NAMES[count - 1]));
        for row in &members {
            for subset in 0..1 << count {
                let asked = question(row, count, subset);
                assert!(filter.contains_row(&asked).unwrap(), "{row:?} is lost, {subset:b}");
            }
            assert!(filter.contains(whole(row)), "by the hash of the whole row");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn acts_as_its_model(
        plan in plan(), count in 1..=4usize, hasher in hasher(),
        ops in prop::collection::vec(op(), 0..16),
    ) {
        run(&plan, count, hasher, &ops);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let plan = Plan::for_keys(Kind::Attributes, 10, 0.01).unwrap();
    let new =
        |plan: &Plan, names: &[&str]| Attributes::with_names(plan, names, KeyHasher::default());
    let names: Vec<_> = (0..65).map(|i| format!("{i}{}", "n".repeat(250))).collect();
    let names: Vec<&str> = names.iter().map(|name| &name[..]).collect();
    let subsets = Variant::Attributes { tags: Tags::Subsets, classic: false };
    let subsets = Numbers { variant: subsets, ..Numbers::of(&plan) }.plan();
    let huge = Numbers { bits: 1 << 47, ..Numbers::of(&plan) }.plan();
    let blocked = Plan::for_keys(Kind::Blocked, 10, 0.01).unwrap();
    assert_fails("NoAttributes", new(&plan, &[]));
    assert_fails("AttributeName(", new(&plan, &["a", ""]));
    assert_fails("AttributeName(", new(&plan, &[&"a".repeat(256)]));
    assert_fails("AttributeTwice(", new(&plan, &["a", "b", "a"]));
    assert_fails("AttributeCount(65, 64)", new(&plan, &names));
    assert_fails("AttributeCount(9, 8)", new(&subsets, &names[..9]));
    assert_fails("Plan(Kind(Attributes, Blocked)", new(&blocked, &["a"]));
    assert_fails("Plan(TooLarge(", new(&huge, &["a", "b"]));
    assert_eq!(new(&subsets, &names[..8]).unwrap().bytes(), (8 + 247) * plan.bytes());
    let longest = new(&plan, &names[..64]).unwrap().to_bytes().len();
    assert!(longest < 64 * (256 + 64) + 2_000, "the longest header is no longer than this");

    let mut filter = new(&plan, &["host", "user"]).unwrap();
    assert_fails("RowLength(2, 1)", filter.insert_row(&["a"]));
    assert!(filter.contains_row(&[Some("a"), None, None]).is_err());
    assert!(filter.insert_rows(&[&["a", "b"][..], &["a"]]).is_err());
    assert_eq!(filter.receipt().set_bits, 0, "nothing of a wrong batch is in");
    assert!(filter.contains_row(&[None::<&str>, None]).unwrap(), "no question is no limit");
    assert_eq!(filter.indices(&["user"]).unwrap(), [1]);
    assert_eq!(filter.indices_of_all(&["user", "host"]).unwrap(), [1, 0]);
    for (names, words) in [
        (&[][..], "rows of host, user, not single keys"),
        (&["port"], "no attribute \"port\" (found host, user)"),
        (&["user", "user"], "\"user\" is named twice"),
        (&["user"], "name host too"),
    ] {
        let error = filter.indices_of_all(names).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let mut any = AnyFilter::Attributes(filter.clone());
    let error = any.try_insert("key").unwrap_err();
    assert!(matches!(&error, InsertError::Rows(has) if has.to_string() == "host, user"));
    assert_fails("Unnamed", AnyFilter::with_plan(&plan, KeyHasher::default()));

    let untagged = Numbers { variant: variant(Kind::Attributes, 0), ..Numbers::of(&plan) }.plan();
    let [renamed, untagged] = [(plan, ["user", "host"]), (untagged, ["host", "user"])]
        .map(|(plan, names)| new(&plan, &names).unwrap());
    let seeded = Attributes::with_names(&plan, &["host", "user"], KeyHasher::with_seed(1)).unwrap();
    let [mut two, three, four] = [2, 3, 4].map(|blocks| {
        let plan = Numbers { bits: blocks * 512, ..Numbers::of(&plan) }.plan();
        new(&plan, &["host", "user"]).unwrap()
    });
    assert_fails("AttributesDiffer(", filter.union(&renamed));
    assert_fails("TagsDiffer(1, 0)", filter.union(&untagged));
    assert_fails("SchemesDiffer(", filter.intersect(&seeded));
    assert_fails("NotFoldable(", two.union(&three));
    assert_fails("SizesDiffer(", two.union(&four));
}
