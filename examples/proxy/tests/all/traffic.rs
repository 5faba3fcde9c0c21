//! Requests with the locality of those to web proxies: popular pages by Zipf's law, some popular everywhere and some
//! at one proxy alone, and pages that are requested again soon.

use std::collections::HashSet;

/// Pages that are popular at all proxies, and those popular at one.
const SHARED: usize = 60_000;
const OWN: usize = 40_000;
/// Requests for the i-th page are proportional to i^−EXPONENT: 0.64 to 0.83 in traces of proxies (Breslau et al. 1999).
const EXPONENT: f64 = 0.8;
/// Of 100 requests, those for a page of the latest ones again, and of the others those for shared pages.
const AGAIN: u64 = 30;
const FOR_SHARED: u64 = 60;
/// How many of the latest requests may be repeated; one at distance d is with a chance proportional to 1/d. Not the
/// very last ones, which another client of the proxy may still be waiting for.
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

/// Bytes of a page: 512 to 8,191, with as many pages in each octave; 2,770 on average.
pub(crate) fn size(path: &str) -> usize {
    let number = path.bytes().fold(0, |sum, byte| mix(sum ^ u64::from(byte)));
    (512.0 * (4.0 * unit(number)).exp2()) as usize
}

fn unit(number: u64) -> f64 {
    (number >> 11) as f64 / (1u64 << 53) as f64
}

/// Zipf's law over some pages.
struct Zipf {
    sums: Vec<f64>,
}

impl Zipf {
    fn new(pages: usize) -> Self {
        let mut sum = 0.0;
        let weight = |page: usize| (page as f64).powf(-EXPONENT);
        Self {
            sums: (1..=pages)
                .map(|page| {
                    sum += weight(page);
                    sum
                })
                .collect(),
        }
    }

    fn draw(&self, state: &mut u64) -> usize {
        let total = self.sums.last().expect("there are pages");
        let at = unit(random(state)) * total;
        self.sums.partition_point(|sum| *sum <= at)
    }
}

/// The paths that the clients of one proxy request, always the same ones.
pub(crate) struct Trace {
    proxy: usize,
    state: u64,
    shared: Zipf,
    own: Zipf,
    latest: Vec<String>,
    requests: usize,
}

impl Trace {
    /// Those of the proxy of this number.
    pub(crate) fn new(proxy: usize) -> Self {
        let (shared, own) = (Zipf::new(SHARED), Zipf::new(OWN));
        Self { proxy, state: mix(proxy as u64 + 1), shared, own, latest: Vec::new(), requests: 0 }
    }
}

impl Iterator for Trace {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let choice = random(&mut self.state) % 100;
        let url = if choice < AGAIN && self.latest.len() == LATEST {
            // A distance whose logarithm is uniform.
            let range = LATEST as f64 / EARLIEST;
            let distance = (EARLIEST * range.powf(unit(random(&mut self.state)))) as usize;
            self.latest[(self.requests + LATEST - distance) % LATEST].clone()
        } else if random(&mut self.state) % 100 < FOR_SHARED {
            format!("/trace/shared/{}", self.shared.draw(&mut self.state))
        } else {
            let page = self.own.draw(&mut self.state);
            format!("/trace/of-{}/{page}", self.proxy)
        };
        match self.latest.get_mut(self.requests % LATEST) {
            Some(place) => place.clone_from(&url),
            None => self.latest.push(url.clone()),
        }
        self.requests += 1;
        Some(url)
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
