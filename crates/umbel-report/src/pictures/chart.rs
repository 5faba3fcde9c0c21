//! Axes with ticks and names, curves between them, and a legend next to them, where it covers nothing.

use super::canvas::{Anchor, Area, Canvas, Point, width_of};
use super::style::{Colour, GREY, LABEL, Look, NAME, PALE, SOLID, TITLE};
use umbel_numbers::Count;

/// A linear or logarithmic axis.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    log: bool,
    ticks: Vec<(f64, String)>,
    name: String,
}

impl Axis {
    /// From `low` to `high`, with at most about `most` ticks at round numbers.
    pub(crate) fn linear(low: f64, high: f64, most: u32, name: &str) -> Self {
        Self::stepped(low, high, (high - low) / f64::from(most), name)
    }

    /// As [`linear`](Self::linear), for whole numbers: the axis name has the unit of large ones, millions or billions.
    pub(crate) fn counts(low: f64, high: f64, most: u32, name: &str) -> Self {
        let (unit, name) = match high {
            2e9.. => (1e9, format!("{name}, in billions")),
            2e6.. => (1e6, format!("{name}, in millions")),
            _ => (1.0, name.to_owned()),
        };
        let axis = Self::stepped(low, high, ((high - low) / f64::from(most)).max(1.0), &name);
        let label = |count: f64| match unit {
            1.0 => Count(count as u64).to_string(),
            // Ticks have at most two digits other than 0, so 1,250,000 is never one.
            _ => format!("{}", (count / unit * 100.0).round() / 100.0),
        };
        let ticks = axis.ticks.iter().map(|&(count, _)| (count, label(count))).collect();
        axis.with_ticks(ticks)
    }

    /// With ticks at least `rough` apart.
    fn stepped(low: f64, high: f64, rough: f64, name: &str) -> Self {
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
        let step = step.into_iter().find(|&step| step >= rough * 0.999).unwrap_or(10.0 * power);
        let digits = (-step.log10().floor()).max(0.0) as usize;
        let first = (low / step - 1e-9).ceil() as i64;
        let ticks = (first..).map(|i| i as f64 * step);
        let ticks = ticks.take_while(|&tick| tick <= high + 1e-9 * step);
        let ticks = ticks.map(|tick| (tick, format!("{tick:.digits$}"))).collect();
        Self { low, high, log: false, ticks, name: name.to_owned() }
    }

    /// From `low` to `high`, both above 0, with at most about `most` ticks at powers of ten.
    pub(crate) fn log(low: f64, high: f64, most: u32, name: &str) -> Self {
        let (first, last) = (low.log10(), high.log10());
        let step = ((last - first) / f64::from(most)).ceil().max(1.0) as u32;
        // Counted from 1, which is at one end of every axis of rates.
        let ticks = ((first - 1e-9).ceil() as i32..=(last + 1e-9).floor() as i32)
            .filter(|power| power.unsigned_abs().is_multiple_of(step))
            .map(|power| (10f64.powi(power), power_of_ten(power)))
            .collect();
        Self { low, high, log: true, ticks, name: name.to_owned() }
    }

    /// The same axis with these ticks.
    pub(crate) fn with_ticks(self, ticks: Vec<(f64, String)>) -> Self {
        Self { ticks, ..self }
    }

    /// From 0 at its low end to 1 at its high end.
    fn part(&self, value: f64) -> f64 {
        let scale = |value: f64| if self.log { value.ln() } else { value };
        (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low))
    }
}

/// A power of ten as people type it: 0.001 and 1,000, but 1e-6 and 1e9.
pub(crate) fn power_of_ten(power: i32) -> String {
    match power {
        0..=3 => Count(10u64.pow(power.unsigned_abs())).to_string(),
        -3..0 => format!("{:.*}", power.unsigned_abs() as usize, 10f64.powi(power)),
        _ => format!("1e{power}"),
    }
}

/// Axes drawn into an area.
pub(crate) struct Chart {
    pub(crate) area: Area,
    x: Axis,
    y: Axis,
}

impl Chart {
    /// Draws axes, ticks and grid. The area is between the axes; names and ticks take 70 pixels to its left and 55
    /// below, the title 35 above.
    pub(crate) fn new(canvas: &mut Canvas, area: Area, x: Axis, y: Axis, title: &str) -> Self {
        let chart = Self { area, x, y };
        let Area { left, top, right, bottom } = area;
        let grid = Look::line(PALE, SOLID).width(1.0);
        for (value, label) in &chart.x.ticks {
            let at = left + chart.x.part(*value) * (right - left);
            canvas.line(&[(at, top), (at, bottom)], grid);
            canvas.text(label, (at, bottom + 15.0), LABEL, Anchor::Middle);
        }
        for (value, label) in &chart.y.ticks {
            let at = bottom - chart.y.part(*value) * (bottom - top);
            canvas.line(&[(left, at), (right, at)], grid);
            canvas.text(label, (left - 8.0, at), LABEL, Anchor::End);
        }
        let frame = [(left, top), (left, bottom), (right, bottom)];
        canvas.line(&frame, Look::line(GREY, SOLID).width(1.2));
        let (middle, centre) = area.middle();
        canvas.text(&chart.x.name, (middle, bottom + 38.0), NAME, Anchor::Middle);
        canvas.text_upwards(&chart.y.name, (left - 58.0, centre), NAME);
        canvas.text(title, (middle, top - 18.0), NAME, Anchor::Middle);
        chart
    }

    /// The pixels of a point.
    pub(crate) fn at(&self, (x, y): Point) -> Point {
        let Area { left, top, right, bottom } = self.area;
        (left + self.x.part(x) * (right - left), bottom - self.y.part(y) * (bottom - top))
    }

    fn pixels(&self, points: &[Point]) -> Vec<Point> {
        // A rate of 0 on a logarithmic axis is drawn as far below as anything else outside it.
        let far = 1e4;
        let points = points.iter().map(|&point| self.at(point));
        points.map(|(x, y)| (x, if y.is_nan() { far } else { y.clamp(-far, far) })).collect()
    }

    /// A curve through points, cut off where it leaves the area.
    pub(crate) fn curve(&self, canvas: &mut Canvas, points: &[Point], look: Look) {
        let points = self.pixels(points);
        canvas.clipped(self.area, |canvas| canvas.line(&points, look));
    }

    /// Markers on the points that are in the area.
    pub(crate) fn markers(&self, canvas: &mut Canvas, points: &[Point], look: Look) {
        let Area { left, top, right, bottom } = self.area;
        let (across, down) = (left - 1.0..right + 1.0, top - 1.0..bottom + 1.0);
        let inside = |(x, y): &Point| across.contains(x) && down.contains(y);
        self.pixels(points).into_iter().filter(inside).for_each(|at| canvas.marker(at, look));
    }

    /// A filled shape, cut off where it leaves the area.
    pub(crate) fn shape(&self, canvas: &mut Canvas, points: &[Point], colour: Colour) {
        let points = self.pixels(points);
        canvas.clipped(self.area, |canvas| canvas.polygon(&points, colour));
    }
}

/// An empty picture with its title, at least `width` wide.
pub(crate) fn titled(title: &str, width: f64, height: f64) -> Canvas {
    let mut canvas = Canvas::new(width.max(32.0 + width_of(title, TITLE)), height, title);
    canvas.text(title, (16.0, 22.0), TITLE, Anchor::Start);
    canvas
}

/// Line styles and their meanings.
#[derive(Default)]
pub(crate) struct Legend {
    entries: Vec<Entry>,
}

/// One line of a legend.
#[derive(Clone)]
struct Entry {
    look: Option<Look>,
    /// The left end of the texts.
    indent: f64,
    words: String,
}

impl Legend {
    const STEP: f64 = 23.0;
    /// As wide as a look and a gap behind it.
    const INDENT: f64 = 44.0;

    pub(crate) fn add(&mut self, look: Look, meaning: impl Into<String>) {
        self.push(Some(look), Self::INDENT, meaning);
    }

    /// A line without a look.
    pub(crate) fn say(&mut self, words: impl Into<String>) {
        self.push(None, 0.0, words);
    }

    /// More about the look above.
    pub(crate) fn say_inside(&mut self, words: impl Into<String>) {
        self.push(None, Self::INDENT, words);
    }

    fn push(&mut self, look: Option<Look>, indent: f64, words: impl Into<String>) {
        self.entries.push(Entry { look, indent, words: words.into() });
    }

    /// How wide it gets.
    pub(crate) fn width(&self) -> f64 {
        let width = |entry: &Entry| entry.indent + width_of(&entry.words, LABEL);
        self.entries.iter().map(width).fold(0.0, f64::max)
    }

    /// Side by side, as many as fit into `width`, then the next row.
    pub(crate) fn draw_in_rows(&self, canvas: &mut Canvas, (left, mut y): Point, width: f64) {
        let mut x = left;
        for entry in &self.entries {
            let one = Self { entries: vec![entry.clone()] };
            if x > left && x + one.width() > left + width {
                (x, y) = (left, y + Self::STEP);
            }
            one.draw(canvas, (x, y));
            x += one.width() + 24.0;
        }
    }

    /// Below each other.
    pub(crate) fn draw(&self, canvas: &mut Canvas, (x, mut y): Point) {
        for Entry { look, indent, words } in &self.entries {
            if let Some(look) = look {
                canvas.line(&[(x, y), (x + 34.0, y)], *look);
                canvas.marker((x + 17.0, y), *look);
            }
            canvas.text(words, (x + indent, y), LABEL, Anchor::Start);
            y += Self::STEP;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_at_round_numbers() {
        for (axis, labels) in [
            (Axis::linear(0.0, 1.0, 5, ""), "0.0 0.2 0.4 0.6 0.8 1.0"),
            (Axis::linear(-4.6, 0.0, 5, ""), "-4 -3 -2 -1 0"),
            (Axis::linear(190.0, 350.0, 4, ""), "200 250 300 350"),
            (Axis::log(0.01, 1.0, 9, ""), "0.01 0.1 1"),
            (Axis::log(1e-9, 1.0, 5, ""), "1e-8 1e-6 1e-4 0.01 1"),
            (Axis::log(1.0, 1e12, 6, ""), "1 100 1e4 1e6 1e8 1e10 1e12"),
            // Whole and brief.
            (Axis::counts(0.0, 1.05, 6, ""), "0 1"),
            (Axis::counts(0.0, 1973.0, 5, ""), "0 500 1,000 1,500"),
            (Axis::counts(0.0, 4e5, 2, ""), "0 200,000 400,000"),
            (Axis::counts(0.0, 2.1e6, 5, ""), "0 0.5 1 1.5 2"),
            (Axis::counts(0.0, 3.8e10, 4, ""), "0 10 20 30"),
        ] {
            let found: Vec<_> = axis.ticks.iter().map(|(_, label)| &label[..]).collect();
            assert_eq!(found.join(" "), labels);
        }
        assert_eq!(Axis::counts(0.0, 2.1e6, 5, "blocks").name, "blocks, in millions");
        assert_eq!(Axis::counts(0.0, 3.8e10, 4, "blocks").name, "blocks, in billions");
    }

    #[test]
    fn points_lie_where_their_values_are() {
        let mut canvas = Canvas::new(200.0, 200.0, "");
        let area = Area { left: 50.0, top: 10.0, right: 150.0, bottom: 110.0 };
        let (x, y) = (Axis::linear(0.0, 10.0, 5, "x"), Axis::log(1e-4, 1.0, 5, "y"));
        let chart = Chart::new(&mut canvas, area, x, y, "");
        assert_eq!(chart.at((0.0, 1.0)), (50.0, 10.0));
        let (x, y) = chart.at((5.0, 0.01));
        assert!((x - 100.0).abs() < 1e-9 && (y - 60.0).abs() < 1e-9);
        assert!(chart.pixels(&[(1.0, 0.0)])[0].1 > 110.0, "no rate is below all others");
    }
}
