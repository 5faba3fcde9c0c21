//! The stable filter (F. Deng, D. Rafiei 2006, <https://doi.org/10.1145/1142473.1142477>): among P consecutive cells
//! from a random start, an insertion lowers by one each that is above 0, then sets K cells to their maximum, Max. With
//! m cells, a cell is lowered with probability p = P/m and set with probability q = K/m.

use crate::kinds::prelude::*;
use crate::math::search::border;
use crate::math::spread::of_power;

/// The paper's parameters.
#[derive(Clone, Copy, Debug)]
pub struct Cells {
    /// Cells, m.
    pub cells: f64,
    /// Probes a key, K.
    pub probes: f64,
    /// Cells lowered by an insertion, P.
    pub lowered: f64,
    /// The maximum of a cell, Max = 2^d − 1; cells have at most 8 bits.
    pub top: u8,
}

impl Cells {
    /// κ: how often a cell is set per time it is lowered, 1/(P(1/K − 1/m)).
    fn kappa(&self) -> f64 {
        1.0 / (self.lowered * (1.0 / self.probes - 1.0 / self.cells))
    }

    /// Returns the fraction of cells above 0 at the stable point, 1 − (1/(1 + 1/(P(1/K − 1/m))))^Max: theorem 2 and its
    /// corollary.
    pub fn fill(&self) -> f64 {
        -(-self.kappa().ln_1p() * f64::from(self.top)).exp_m1()
    }

    /// Returns FPS, the rate at the stable point, (1 − Pr(0))^K: the maximum, on average.
    pub fn fpp(&self) -> f64 {
        self.fill().powf(self.probes)
    }

    /// Returns [`fpp`](Self::fpp) plus what the spread of the fill adds to it in a small filter.
    ///
    /// The mean of f^K is about f^K·(1 + K(K − 1)/2·Var f/f²). Cells at a distance x below P are lowered together with
    /// probability 1 − x/P. If their states were as correlated, Var f would be f(1 − f)·P/m: an upper bound, because
    /// they are set independently.
    pub fn fpp_with_spread(&self) -> f64 {
        let (fill, k) = (self.fill(), self.probes);
        let spread = k * (k - 1.0) / 2.0 * (1.0 - fill) / fill * self.lowered / self.cells;
        self.fpp() * (1.0 + spread)
    }

    /// Returns the probability that a key is forgotten after `insertions` more insertions: that one of its cells was
    /// lowered Max times, if none were set again for another key. The true probability is slightly lower.
    pub fn forgotten(&self, insertions: f64) -> f64 {
        1.0 - kept(insertions * self.lowered / self.cells, self.top).powf(self.probes)
    }

    /// Returns how many of the last `insertions` keys, all different, are remembered on average, the integral of 1 −
    /// [`forgotten`](Self::forgotten), and the standard deviation if they were independent.
    pub fn remembered(&self, insertions: f64) -> (f64, f64) {
        const STEPS: usize = 1000;
        let scale = self.cells / self.lowered;
        // Beyond this, a Poisson variable of this mean is below Max with probability less than e^−40.
        let top = f64::from(self.top);
        let end = (insertions / scale).min(top + 9.0 * top.sqrt() + 40.0);
        let (mut sum, mut variance) = (0.0, 0.0);
        for step in 0..STEPS {
            let age = (step as f64 + 0.5) * end / STEPS as f64;
            let kept = kept(age, self.top).powf(self.probes);
            sum += kept;
            variance += kept * (1.0 - kept);
        }
        let step = scale * end / STEPS as f64;
        (sum * step, (variance * step).sqrt())
    }
}

/// The probability that a Poisson variable of mean `mean` is below `top`.
fn kept(mean: f64, top: u8) -> f64 {
    let (mut term, mut sum) = ((-mean).exp(), 0.0);
    for i in 0..u32::from(top) {
        sum += term;
        term *= mean / f64::from(i + 1);
    }
    sum.min(1.0)
}

/// How often the cells of a key may be lowered on average until it is forgotten with probability `forgotten`.
pub(super) fn span(probes: u32, top: u8, forgotten: f64) -> f64 {
    let remembers = |mean| 1.0 - kept(mean, top).powi(probes as i32) <= forgotten;
    border(0.0, f64::from(top) + 1.0, 40, &remembers)[0]
}

/// Returns an upper bound of the spread of a stable filter at its stable point, about twice the deviation measured.
///
/// f = F^K, with F the fraction of cells above 0. Given everything that was lowered, cells were last set independently;
/// so Var F is at most F(1 − F)/m plus the variance of the mean given what was lowered. A cell is then 0 with
/// probability e^(−qT), where T, the time in which it was lowered Max times, is a Gamma variable: the variance is v =
/// (1 + 2κ)^−Max − (1 + κ)^−2Max. Cells at a distance x share the part 1 − x/P of what lowers them, and have at most
/// that part of v in common: in total at most P·v/m. That the total of all lowering is fixed is ignored.
pub fn spread(cells: Cells) -> Spread {
    let (fill, kappa, top) = (cells.fill(), cells.kappa(), f64::from(cells.top));
    let (of_square, square_of) = (-top * (2.0 * kappa).ln_1p(), -2.0 * top * kappa.ln_1p());
    let of_zero = square_of.exp() * (of_square - square_of).exp_m1();
    let variance = (fill * (1.0 - fill) + cells.lowered * of_zero) / cells.cells;
    of_power(cells.fpp_with_spread(), variance.sqrt() / fill, cells.probes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: Cells = Cells { cells: 40_000.0, probes: 3.0, lowered: 36.0, top: 3 };

    #[test]
    fn spans_and_forgetting_answer_each_other() {
        for (probes, top) in [(1, 1), (3, 3), (4, 15), (8, 255)] {
            let lambda = span(probes, top, 0.01);
            let cells = Cells { probes: f64::from(probes), top, ..SOME };
            let forgotten = cells.forgotten(lambda * cells.cells / cells.lowered);
            assert!((forgotten - 0.01).abs() < 1e-6, "{probes} {top} {forgotten}");
            assert_eq!(cells.forgotten(0.0), 0.0);
            let (few, deviation) = cells.remembered(10.0);
            assert!(few > 9.9 * (1.0 - cells.forgotten(10.0)) && deviation < 4.0);
            let (most, _) = cells.remembered(1e18);
            let span = cells.cells / cells.lowered;
            assert!(most > lambda * span && most < (f64::from(top) + 1.0) * span, "{most}");
        }
    }
}
