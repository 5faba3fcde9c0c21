//! The name that a mistyped one was meant to be.

/// Returns the name most similar to `word`, whatever the case of the letters; `None` if none is similar enough.
///
/// The measure is Jaro's, and as in clap a name is similar from 0.7 on. Cost: a pass over the names, and for each a
/// time that grows with the product of the lengths; a name of more than 100 bytes is never similar.
///
/// M. A. Jaro 1989, "Advances in record-linkage methodology", <https://doi.org/10.1080/01621459.1989.10478785>.
pub fn nearest<T: AsRef<str>>(word: &str, names: impl IntoIterator<Item = T>) -> Option<T> {
    const LIKE: f64 = 0.7;
    const LONGEST: usize = 100;
    let word = word.to_lowercase();
    let mut best: Option<(f64, T)> = None;
    for name in names {
        if word.len().max(name.as_ref().len()) > LONGEST {
            continue;
        }
        let like = strsim::jaro(&word, &name.as_ref().to_lowercase());
        if like > best.as_ref().map_or(LIKE, |(most, _)| *most) {
            best = Some((like, name));
        }
    }
    best.map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_the_one_meant() {
        let names = ["id", "customer", "customer_id", "item"];
        for (word, expected) in [
            ("custmer", Some("customer")),
            ("Customer", Some("customer")),
            ("customerid", Some("customer_id")),
            ("itme", Some("item")),
            ("ID", Some("id")),
            ("price", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, names), expected, "{word}");
        }
        assert_eq!(nearest("x", [""; 0]), None);
        assert_eq!(nearest(&"x".repeat(200), ["x".repeat(199)]), None);
    }
}
