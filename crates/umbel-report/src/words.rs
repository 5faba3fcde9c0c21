//! A filter so small that all its bits can be seen, filled and queried step by step: the output of `umbel filter demo`.

use umbel_numbers::Rate;

/// A word and its bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// The word.
    pub word: String,
    /// Its bits, in the order of the probes.
    pub bits: Vec<u64>,
}

/// Returns the published example: M. Ceglowski, Using Bloom Filters (perl.com, 2004). Apples and plums are inserted into 14
/// bits; mango is not, but passes.
pub fn example() -> Vec<At> {
    let at = |word: &str, bits: [u64; 3]| At { word: word.to_owned(), bits: bits.to_vec() };
    vec![at("apples", [3, 12, 11]), at("plums", [11, 1, 8]), at("mango", [8, 3, 12])]
}

/// A filter that knows which word set each bit, unlike a real one.
#[derive(Clone, Debug)]
pub struct Shown {
    setters: Vec<Option<String>>,
    words: Vec<String>,
}

/// A word inserted.
#[derive(Clone, Debug)]
pub struct Step {
    /// The word.
    pub word: String,
    /// Its bits, in the order of the probes.
    pub probes: Vec<u64>,
    /// Bits that it was the first to set.
    pub new: Vec<u64>,
    /// The bits after it.
    pub bits: Vec<bool>,
}

/// The result of a query.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The word.
    pub word: String,
    /// The bit of each probe, and the word that set it.
    pub probes: Vec<(u64, Option<String>)>,
    /// Whether it may be in.
    pub found: bool,
    /// Whether it was inserted.
    pub inserted: bool,
}

impl Shown {
    /// Makes an empty filter.
    pub fn new(bits: u64) -> Self {
        Self { setters: vec![None; bits as usize], words: Vec::new() }
    }

    /// Returns its bits.
    pub fn bits(&self) -> Vec<bool> {
        self.setters.iter().map(Option::is_some).collect()
    }

    /// Inserts a word whose probes are these bits.
    pub fn insert(&mut self, word: &str, probes: &[u64]) -> Step {
        let mut new = Vec::new();
        for &bit in probes {
            let setter = &mut self.setters[bit as usize];
            if setter.is_none() {
                *setter = Some(word.to_owned());
                new.push(bit);
            }
        }
        self.words.push(word.to_owned());
        Step { word: word.to_owned(), probes: probes.to_vec(), new, bits: self.bits() }
    }

    /// Returns the number of its bits.
    pub fn len(&self) -> usize {
        self.setters.len()
    }

    /// Returns whether it has no bits.
    pub fn is_empty(&self) -> bool {
        self.setters.is_empty()
    }

    /// Returns the chance that a word passes that was not inserted.
    pub fn fpp(&self, probes: u32) -> f64 {
        let set = self.bits().into_iter().filter(|set| *set).count();
        (set as f64 / self.len() as f64).powi(probes as i32)
    }

    /// Returns the same in words.
    pub fn chance(&self, probes: u32) -> String {
        let set = self.bits().into_iter().filter(|set| *set).count();
        let (bits, rate) = (self.len(), Rate(self.fpp(probes)));
        format!(
            "{set} of {bits} bits {} set, so a word that was not inserted passes with a chance of \
             ({set}/{bits})^{probes} = {rate}.",
            if set == 1 { "is" } else { "are" }
        )
    }

    /// Looks up a word whose probes are these bits.
    pub fn ask(&self, word: &str, probes: &[u64]) -> Answer {
        let setter = |&bit: &u64| (bit, self.setters[bit as usize].clone());
        let probes: Vec<_> = probes.iter().map(setter).collect();
        let found = probes.iter().all(|(_, setter)| setter.is_some());
        let inserted = self.words.iter().any(|other| other == word);
        Answer { word: word.to_owned(), probes, found, inserted }
    }
}

impl Step {
    /// Returns what happened, in sentences.
    pub fn sentences(&self) -> Vec<String> {
        let (word, are) = (quoted(&self.word), are_bits(&self.probes));
        let mut sentences = vec![format!("Insert {word}: {are}.")];
        let old = different(self.probes.iter().filter(|bit| !self.new.contains(bit)));
        match &old[..] {
            [] => {}
            [one] => sentences.push(format!("Bit {one} is already set and stays set.")),
            many => sentences.push(format!("Bits {} are already set and stay set.", list(many))),
        }
        if self.new.is_empty() {
            let nothing = "Nothing changes: the filter cannot know that the word is new.";
            sentences.push(nothing.to_owned());
        }
        sentences
    }
}

impl Answer {
    /// Returns the question.
    pub fn question(&self) -> String {
        let bits: Vec<u64> = self.probes.iter().map(|(bit, _)| *bit).collect();
        format!("Look up {}: {}.", quoted(&self.word), are_bits(&bits))
    }

    /// Returns which word set each of its bits, in a filter of `bits` bits.
    pub fn reasons(&self, bits: usize) -> Vec<String> {
        let width = bits.to_string().len();
        let reason = |(bit, setter): &(u64, Option<String>)| match setter {
            Some(setter) => format!("bit {bit:>width$} is set, first by {}", quoted(setter)),
            None => format!("bit {bit:>width$} is clear: no word set it"),
        };
        self.probes.iter().map(reason).collect()
    }

    /// Returns what the answer is, and why.
    pub fn verdict(&self) -> String {
        let words = match (self.found, self.inserted) {
            (true, true) => {
                "may be in: all its bits are set. It was inserted, and is never missed."
            }
            (true, false) => {
                let mut names: Vec<String> = Vec::new();
                for name in self.probes.iter().filter_map(|probe| probe.1.as_deref()).map(quoted) {
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                &format!(
                    "may be in, which is wrong: it was never inserted, but {} set all its bits. This is a false positive, the only error a Bloom filter makes.",
                    joined(&names)
                )
            }
            (false, _) => {
                "certainly not in: had it been inserted, none of its bits would be clear."
            }
        };
        words.to_owned()
    }
}

/// Returns a word for printing, without the middle of a long one.
pub fn quoted(word: &str) -> String {
    const MOST: usize = 18;
    let letters: Vec<char> = word.escape_debug().collect();
    match letters.len() {
        0 => "the empty word".to_owned(),
        count if count > MOST => {
            let end = |letters: &[char]| letters.iter().collect::<String>();
            format!("{}…{}", end(&letters[..MOST - 7]), end(&letters[count - 6..]))
        }
        _ => letters.into_iter().collect(),
    }
}

fn different<'a>(bits: impl Iterator<Item = &'a u64>) -> Vec<u64> {
    let mut bits: Vec<u64> = bits.copied().collect();
    bits.sort_unstable();
    bits.dedup();
    bits
}

/// Which bits the probes of a word are.
fn are_bits(probes: &[u64]) -> String {
    match probes {
        [bit] => format!("its probe is bit {bit}"),
        bits => format!("its probes are bits {}", list(bits)),
    }
}

fn list(bits: &[u64]) -> String {
    joined(&bits.iter().map(u64::to_string).collect::<Vec<_>>())
}

/// a, b and c.
pub fn joined(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_any_kind_fit() {
        assert_eq!(quoted(""), "the empty word");
        assert_eq!(quoted("a\nb"), "a\\nb");
        assert_eq!(quoted(&"x".repeat(100)).chars().count(), 18);
    }
}
