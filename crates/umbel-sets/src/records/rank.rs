//! Values as bytes in their order.

use super::normalize::number;

/// Appends bytes that order values, without blanks at both ends: numbers by their exact values, then texts by their
/// bytes, and empty values last.
pub(crate) fn rank(value: &[u8], to: &mut Vec<u8>) {
    const NUMBER: u8 = 0;
    const TEXT: u8 = 1;
    const EMPTY: u8 = 2;
    const NEGATIVE: u8 = 0;
    const ZERO: u8 = 1;
    const POSITIVE: u8 = 2;
    let value = value.trim_ascii();
    let Some(number) = number(value) else {
        to.push(if value.is_empty() { EMPTY } else { TEXT });
        return to.extend_from_slice(value);
    };
    to.push(NUMBER);
    let (digits, power) = number.split_once('e').unwrap_or((&number, "0"));
    let positive = digits.trim_start_matches('-');
    if positive == "0" {
        return to.push(ZERO);
    }
    // As 0.digits times a power of ten.
    let power = power.parse::<i64>().expect("it was read") + positive.len() as i64;
    to.push(if positive == digits { POSITIVE } else { NEGATIVE });
    let start = to.len();
    to.extend_from_slice(&(power as u64 ^ 1 << 63).to_be_bytes());
    to.extend_from_slice(positive.as_bytes());
    if positive != digits {
        // More digits are less.
        to.push(0);
        to[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_in_the_order_of_values() {
        let numbers = "-1e300 -12.5 -12 -1.25 -1.2 -3e-400 0 3e-400 0.5 9 10 9007199254740992 \
                       9007199254740993 1e300";
        let others = ["+", "2024-01-02", "2024-01-02T03", "n/a", ""];
        let rank_of = |value: &str| {
            let mut rank_of = b"before".to_vec();
            rank(value.as_bytes(), &mut rank_of);
            rank_of
        };
        let ranks: Vec<_> = numbers.split(' ').chain(others).map(rank_of).collect();
        assert!(ranks.is_sorted_by(|a, b| a < b), "{ranks:?}");
        for [one, other] in [["1.50", " 15e-1"], ["-0", "0"], ["", " \t"]] {
            assert_eq!(rank_of(one), rank_of(other), "{one}");
        }
    }
}
