//! The lengths of prefixes.

/// The set of lengths, from 0 to 128, of the prefixes in a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lengths {
    /// Length n as bit n − 1.
    above: u128,
    zero: bool,
}

impl Lengths {
    /// Adds a length.
    ///
    /// # Panics
    /// Above 128.
    pub fn insert(&mut self, length: u8) {
        assert!(length <= 128, "a length of at most 128");
        match length.checked_sub(1) {
            None => self.zero = true,
            Some(bit) => self.above |= 1 << bit,
        }
    }

    /// Returns whether it has a length; false above 128.
    #[inline]
    pub fn contains(&self, length: u8) -> bool {
        match length.checked_sub(1) {
            None => self.zero,
            Some(bit) => bit < 128 && self.above >> bit & 1 == 1,
        }
    }

    /// Returns the number of lengths: the maximum number of queries to a filter.
    pub fn len(&self) -> u32 {
        self.above.count_ones() + u32::from(self.zero)
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds all lengths of another set.
    pub fn union(&mut self, other: Self) {
        self.above |= other.above;
        self.zero |= other.zero;
    }

    /// Returns the lengths, the longest first.
    pub fn iter(&self) -> impl Iterator<Item = u8> + use<> {
        let Self { mut above, zero } = *self;
        let mut zero = zero.then_some(0);
        core::iter::from_fn(move || {
            let length = 128 - above.leading_zeros() as u8;
            if length == 0 {
                return zero.take();
            }
            above ^= 1 << (length - 1);
            Some(length)
        })
    }
}

impl FromIterator<u8> for Lengths {
    /// # Panics
    /// For a length above 128.
    fn from_iter<I: IntoIterator<Item = u8>>(lengths: I) -> Self {
        let mut all = Self::default();
        lengths.into_iter().for_each(|length| all.insert(length));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[test]
    fn a_set_of_all_lengths_gives_the_longest_first() {
        let all: Lengths = (0..=128).collect();
        assert_eq!(all.iter().collect::<Vec<_>>(), (0..=128).rev().collect::<Vec<_>>());
        assert_eq!(all.len(), 129);
        let some: Lengths = [0, 24, 128, 24].into_iter().collect();
        assert_eq!(some.iter().collect::<Vec<_>>(), [128, 24, 0]);
        assert!(some.contains(0) && some.contains(128) && !some.contains(1) && !some.contains(255));
        assert!(Lengths::default().is_empty() && !some.is_empty());
    }
}
