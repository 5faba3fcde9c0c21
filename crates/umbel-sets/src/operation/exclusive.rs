//! Which options of a set operation exclude each other, in one place for every front end.

/// The options that cannot be given with `option` of a verb (`common`, `except`, `dedup`, `diff` or `join`). Names are as on
/// the command line, with `_` for `-`. Each pair is listed once, so look up both options.
pub fn excludes(verb: &str, option: &str) -> &'static [&'static str] {
    match (verb, option) {
        // A semi-join requires all inputs; filters alone know neither repeats nor counts.
        ("common", "all") => &["at_least", "fpp"],
        ("common", "which") => &["all", "fpp"],
        ("common", "only") => &["all", "at_least", "fpp"],
        ("except", "all") => &["fpp"],
        ("dedup", "repeated") => &["at_least"],
        ("dedup", "unique") => &["repeated", "at_least", "count", "by_count", "top", "fpp"],
        ("dedup", "fpp") => {
            &["repeated", "at_least", "keep", "count", "by_count", "top", "line_number"]
        }
        ("dedup", "all") => &["unique", "keep", "count", "by_count", "top", "fpp"],
        ("dedup", "line_number") => &["count", "by_name"],
        // Each option sets an order.
        ("dedup", "sort") => &["by_count", "top", "fpp"],
        ("common" | "except", "sort") => &["fpp"],
        ("diff", "symmetric") => &["added", "changed", "removed", "kept", "total", "old"],
        ("diff", "old") => &["added", "changed", "removed", "kept", "total"],
        ("diff", "mark_column") => &["added", "changed", "removed", "kept", "total", "symmetric"],
        ("diff", "counts") => {
            &["added", "changed", "removed", "kept", "total", "symmetric", "cells"]
        }
        ("diff", "cells") => {
            &["added", "changed", "removed", "kept", "total", "symmetric", "old", "mark_column"]
        }
        ("join", "full") => &["left"],
        ("join", "unique") => &["first"],
        _ => &[],
    }
}
