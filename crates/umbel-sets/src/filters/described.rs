//! Compares the description of a filter's keys with the keys that a job looks up.
//!
//! Hashes do not depend on where a key came from, so a filter of one column accepts keys of another, and answers that
//! all of them are absent. The description in its file distinguishes them.

use umbel::{KeyDescription, KeyForm, Kind};

use crate::{Error, Form, Missing};

/// Returns the description for a filter made from the keys of a job, which have a form. `names` are the filter's names for
/// the fields of the key; empty if it uses the job's.
///
/// A filter of rows stores the names of its fields itself, and queries can name any of them in any order: they are not
/// repeated.
///
/// # Errors
/// [`Error::Names`] if there are names, but not one for each field; [`Error::NamesOfRows`]; [`Error::Filter`] if they
/// are too long.
pub fn keys_of(
    kind: Kind,
    form: &Form,
    names: &[String],
    key_form: KeyForm,
) -> Result<KeyDescription, Error> {
    let fields = form.records.key();
    if form.missing == Missing::Keep {
        return Err(Error::KeptWithoutKey);
    }
    if kind.rows() && !names.is_empty() {
        return Err(Error::NamesOfRows);
    }
    let names = if names.is_empty() { fields } else { names };
    if names.len() != fields.len() {
        return Err(Error::Names { fields: fields.len(), names: names.len() });
    }
    let mut keys = KeyDescription::default();
    let mut say =
        |name, value: &str| keys.push(name, value).map_err(|error| Error::Filter(error.into()));
    if !kind.rows() {
        // In the order of the key.
        names.iter().try_for_each(|field| say("field", field))?;
    }
    say("type", key_form.name())?;
    form.normalization.steps().try_for_each(|step| say("normalization", step))?;
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(entries: &[(&str, &str)]) -> KeyDescription {
        let mut keys = KeyDescription::default();
        entries.iter().for_each(|(name, value)| keys.push(name, value).unwrap());
        keys
    }

    #[test]
    fn one_field_and_whole_lines_are_alike_and_nothing_else() {
        let none = keys(&[]);
        let [a, b] = ["a", "b"].map(|field| keys(&[("field", field), ("type", "text")]));
        let ab = keys(&[("field", "a"), ("field", "b"), ("type", "text")]);
        let ba = keys(&[("field", "b"), ("field", "a")]);
        let all = [&none, &a, &b, &ab, &ba];
        for (i, left) in all.into_iter().enumerate() {
            for (j, right) in all.into_iter().enumerate() {
                let alike = i == j || [(0, 1), (0, 2), (1, 0), (2, 0)].contains(&(i, j));
                let checked = left.check(Kind::Blocked, right);
                assert_eq!(checked.is_ok(), alike, "{left:?} {right:?}");
            }
        }
        let error = ab.check(Kind::Blocked, &a).unwrap_err().to_string();
        assert!(error.contains(r#"built from the fields "a", "b", so"#), "{error}");
        assert!(error.contains(r#"the field "a""#), "{error}");
    }

    #[test]
    fn types_and_normalizations_must_be_the_same() {
        let none = keys(&[]);
        let numbers = keys(&[("type", "ip-prefix")]);
        let lower = keys(&[("normalization", "lowercase")]);
        let trimmed = keys(&[("normalization", "lowercase"), ("normalization", "trim")]);
        let two = keys(&[("type", "text"), ("type", "ip-prefix")]);
        for (left, right) in [
            (&none, &numbers),
            (&none, &lower),
            (&lower, &trimmed),
            (&none, &two),
            (&numbers, &two),
        ] {
            let error = left.check(Kind::Blocked, right).unwrap_err().to_string();
            assert!(
                right.check(Kind::Blocked, left).is_err()
                    && right.check(Kind::Blocked, right).is_ok(),
                "{error}"
            );
        }
        let ours = keys(&[("type", "text"), ("made by", "hand")]);
        assert!(ours.check(Kind::Blocked, &none).is_ok(), "text goes without saying");
    }

    #[test]
    fn the_fields_of_rows_are_not_compared() {
        let none = keys(&[]);
        let named = keys(&[("field", "a"), ("field", "b")]);
        assert!(named.check(Kind::Attributes, &none).is_ok());
        assert!(named.check(Kind::Blocked, &none).is_err());
        let trimmed = keys(&[("normalization", "trim")]);
        assert!(trimmed.check(Kind::Attributes, &none).is_err());
    }
}
