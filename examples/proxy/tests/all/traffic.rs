//! Requests with the locality of those to web proxies: popular pages by Zipf's law, some popular everywhere and some
//! at one proxy alone, and pages that are requested again soon.

use std::collections::HashSet;

/// Pages that are popular at all proxies, and those popular at one.
const SHARED: f64 = 60_000.0;
const OWN: f64 = 40_000.0;
/// Requests for the i-th page are proportional to i^−EXPONENT: 0.64 to 0.83 in traces of proxies (Breslau et al. 1999).
const EXPONENT: f64 = 0.8;
/// The share of requests for a page of the latest ones again, and of the others that for shared pages.
const AGAIN: f64 = 0.3;
const FOR_SHARED: f64 = 0.6;
/// How many of the latest requests may be repeated; one at distance d is with a chance proportional to 1/d.
const LATEST: usize = 2_000;
const EARLIEST: f64 = 10.0;

/// The next number of SplitMix64.
pub(crate) fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mix(*state)
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

fn unit(number: u64) -> f64 {
    (number >> 11) as f64 / (1u64 << 53) as f64
}

/// Bytes of a page: 512 to 8,191, with as many pages in each octave; 2,770 on average.
pub(crate) fn size(path: &str) -> usize {
    let number = path.bytes().fold(0, |sum, byte| mix(sum ^ u64::from(byte)));
    (512.0 * (4.0 * unit(number)).exp2()) as usize
}

/// The paths that the clients of one proxy request, always the same ones.
pub(crate) struct Trace {
    proxy: usize,
    state: u64,
    all: Vec<String>,
}

impl Trace {
    /// Those of the proxy of this number.
    pub(crate) fn new(proxy: usize) -> Self {
        Self { proxy, state: mix(proxy as u64 + 1), all: Vec::new() }
    }

    fn unit(&mut self) -> f64 {
        unit(random(&mut self.state))
    }

    /// Draws one of so many pages: the inverse of the distribution with density x^−EXPONENT.
    fn page(&mut self, pages: f64) -> u64 {
        let power = 1.0 - EXPONENT;
        (1.0 + self.unit() * (pages.powf(power) - 1.0)).powf(1.0 / power) as u64
    }
}

impl Iterator for Trace {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let path = if self.unit() < AGAIN && self.all.len() >= LATEST {
            // A distance whose logarithm is uniform.
            let distance = EARLIEST * (LATEST as f64 / EARLIEST).powf(self.unit());
            let at = self.all.len() - distance as usize;
            self.all[at].clone()
        } else if self.unit() < FOR_SHARED {
            format!("/trace/shared/{}", self.page(SHARED))
        } else {
            let page = self.page(OWN);
            format!("/trace/of-{}/{page}", self.proxy)
        };
        self.all.push(path.clone());
        Some(path)
    }
}

#[test]
fn traces_are_fixed_and_have_locality() {
    let trace = |proxy| Trace::new(proxy).take(20_000).collect::<Vec<_>>();
    let (one, two) = (trace(0), trace(1));
    assert_eq!(one, trace(0));
    let different: HashSet<_> = one.iter().collect();
    assert!((5_000..15_000).contains(&different.len()), "{}", different.len());
    let common = two.iter().filter(|url| different.contains(url)).count();
    assert!((3_000..10_000).contains(&common), "{common} of 20,000 in both");
    let mean = (0..10_000).map(|page| size(&format!("/{page}"))).sum::<usize>() / 10_000;
    assert!((2_600..2_900).contains(&mean), "{mean}");
}
