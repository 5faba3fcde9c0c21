//! Which keys are requested: of rows and of none, by popularity, or by an attacker.

/// Draws numbers of a fixed sequence (S. Vigna's SplitMix64, <https://prng.di.unimi.it/splitmix64.c>).
pub(crate) struct Random(u64);

impl Random {
    /// Another sequence for each seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xd134_2543_de82_ef95))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number below a limit.
    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        (self.unit() * f64::from(limit)) as u32
    }
}

/// Numbers below a limit, of which the i-th is drawn with a weight of 1/i.
pub(crate) struct Zipf(Vec<f64>);

impl Zipf {
    /// Sums up the weights.
    pub(crate) fn new(count: u32) -> Self {
        let mut sum = 0.0;
        Self(
            (1..=count)
                .map(|rank| {
                    sum += 1.0 / f64::from(rank);
                    sum
                })
                .collect(),
        )
    }

    /// Draws one.
    pub(crate) fn draw(&self, random: &mut Random) -> u32 {
        let drawn = random.unit() * self.0[self.0.len() - 1];
        self.0.partition_point(|&sum| sum <= drawn) as u32
    }
}

/// What is known of a requested key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// It has a row.
    Row,
    /// It has none, and is requested by popularity.
    Missing(u32),
    /// It has none, and is never requested again.
    Once,
}

/// A client's requests.
pub(crate) struct Requests<'z> {
    random: Random,
    zipf: &'z Zipf,
    absent: f64,
    /// The number that the attacker's next key gets; nothing if absent keys are as popular as those of rows.
    attack: Option<u64>,
    client: u64,
}

impl<'z> Requests<'z> {
    /// `absent` is the share of keys without a row.
    pub(crate) fn new(zipf: &'z Zipf, client: u64, absent: f64, attack: bool) -> Self {
        Self { random: Random::new(client + 1), zipf, absent, attack: attack.then_some(0), client }
    }

    /// A key.
    pub(crate) fn draw(&mut self) -> (String, Asked) {
        if self.random.unit() >= self.absent {
            return (format!("article-{}", self.zipf.draw(&mut self.random)), Asked::Row);
        }
        match &mut self.attack {
            Some(count) => {
                *count += 1;
                (format!("attack-{}-{count}", self.client), Asked::Once)
            }
            None => {
                let number = self.zipf.draw(&mut self.random);
                (format!("missing-{number}"), Asked::Missing(number))
            }
        }
    }
}
