//! Filters in serde's formats.

use umbel::{AnyFilter, Blocked, Classic, Filter, KeyHasher, Secret};

#[test]
fn filters_go_through_serde() {
    let mut filter = Blocked::new(100, 0.01).unwrap();
    filter.extend(0..100);
    let json = serde_json::to_string(&filter).unwrap();
    assert_eq!(serde_json::from_str::<Blocked>(&json).unwrap(), filter);
    let any: AnyFilter = serde_json::from_str(&json).unwrap();
    assert_eq!(any, AnyFilter::Blocked(filter.clone()));
    assert!(serde_json::from_str::<Classic>(&json).is_err(), "another kind");
    assert!(serde_json::from_str::<Blocked>(&json.replacen("85", "86", 1)).is_err(), "damaged");
    let keyed = Blocked::with_plan(filter.plan(), KeyHasher::keyed(Secret::new([7; 16])));
    let json = serde_json::to_string(&keyed.unwrap()).unwrap();
    let error = serde_json::from_str::<Blocked>(&json).unwrap_err();
    assert!(error.to_string().contains("keyed"), "{error}");
}
