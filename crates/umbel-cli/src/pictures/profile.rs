//! The inside of one filter: how many blocks are how full, beside what chance gives, and the fill along its file.

use umbel::{AnyFilter, Blocks, Hashing};
use umbel_advice::Profile;

use super::canvas::{Anchor, Area, Canvas, Point, width_of};
use super::chart::{Axis, Chart, Legend, titled};
use super::style::{BLACK, BLUE, DASHED, GREY, LABEL, LIGHT, Look, SOLID, VERMILION};
use crate::numbers::{Count, Rate, Size};
use crate::report;

/// Stretches that the fill is drawn in.
const STRETCHES: usize = 200;
/// Most bars of the histogram: wider than 3 pixels each.
const BARS: usize = 120;

/// Bars of blocks by how many cells are set: the first number of cells, how many numbers it stands for, blocks
/// counted and, where known, expected.
struct Bar {
    first: usize,
    width: usize,
    counted: u64,
    expected: f64,
}

/// Bars of equal width over all that was counted or is to be expected.
fn bars(profile: &Profile) -> Vec<Bar> {
    let expected = |load: usize| profile.expected.as_ref().map_or(0.0, |expected| expected[load]);
    // A block expected in a hundred filters does not make room for itself.
    let shows = |load: &usize| profile.loads[*load] > 0 || expected(*load) >= 0.01;
    let all = 0..profile.loads.len();
    let first = all.clone().find(shows).unwrap_or(0);
    let last = all.rev().find(shows).unwrap_or(0);
    let width = (last + 1 - first).div_ceil(BARS);
    let bar = |first: usize| {
        let loads = first..(first + width).min(profile.loads.len());
        Bar {
            first,
            width,
            counted: profile.loads[loads.clone()].iter().sum(),
            expected: loads.map(expected).sum(),
        }
    };
    (first..=last).step_by(width).map(bar).collect()
}

pub(super) fn picture<H: Hashing>(filter: &AnyFilter<Blocks, H>, name: &str) -> Canvas {
    let (profile, receipt) = (Profile::of(filter, STRETCHES), filter.receipt());
    let cells = profile.cells;
    let per_block = profile.loads.len() - 1;
    let kind = receipt.plan.kind();

    let (mut left, mut right) = (Legend::new(), Legend::new());
    left.add(Look::line(LIGHT, SOLID).width(12.0), "blocks counted");
    let expected = Look::line(VERMILION, SOLID).width(1.6);
    if profile.expected.is_some() {
        left.add(expected, format!("by chance, of {} keys", report::estimate(&receipt.keys)));
    }
    let mean = Look::line(BLUE, SOLID).width(1.8);
    right.add(mean, "mean fill");
    let whole = Look::line(BLACK, DASHED).width(1.2);
    right.add(whole, format!("of all: {:.2} %", receipt.fill * 100.0));
    right.add(Look::line(LIGHT, SOLID).width(12.0), "emptiest to fullest block");

    let mut canvas = titled(&short(name, 85), 1000.0, 520.0);
    let s = if profile.blocks == 1 { "" } else { "s" };
    let facts = format!(
        "{kind}, {} block{s}, {}; {} keys; rate now {}",
        Count(profile.blocks),
        Size(receipt.bytes()),
        report::estimate(&receipt.keys),
        Rate(receipt.fpp)
    );
    canvas.text(&facts, (16.0, 46.0), LABEL, Anchor::Start);

    histogram(&mut canvas, &profile, cells, per_block, expected);
    along(&mut canvas, &profile, receipt.fill, mean, whole);
    left.draw(&mut canvas, (95.0, 468.0));
    right.draw_in_rows(&mut canvas, (570.0, 468.0), 400.0);
    canvas
}

fn histogram(canvas: &mut Canvas, profile: &Profile, cells: &str, per_block: usize, line: Look) {
    let bars = bars(profile);
    let (first, last) = (&bars[0], &bars[bars.len() - 1]);
    let (low, high) = (first.first as f64 - 0.5, (last.first + last.width) as f64 - 0.5);
    let highest = bars.iter().map(|bar| bar.expected.max(bar.counted as f64)).fold(1.0, f64::max);
    let what = if cells == "bits" { "bits set" } else { cells };
    let name = format!("{what} in a block of {per_block}");
    let x = if bars.len() == 1 {
        let middle = first.first as f64;
        Axis::linear(low, high, 5, &name).with_ticks(vec![(middle, first.first.to_string())])
    } else {
        Axis::counts(low, high, 6, &name)
    };
    let y_name = match first.width {
        1 => "blocks".to_owned(),
        width => format!("blocks, in steps of {width} {cells}"),
    };
    let y = Axis::counts(0.0, highest * 1.05, 6, &y_name);
    let area = Area { left: 95.0, top: 100.0, right: 455.0, bottom: 400.0 };
    let chart = Chart::new(canvas, area, x, y, "Blocks by how full they are");
    // One shape for all bars: the outline of the histogram. What is expected has steps too: few keys set multiples of
    // k bits, and a line from one to the next would tell of numbers between.
    let mut outline: Vec<Point> = vec![(low, 0.0)];
    let mut expected: Vec<Point> = Vec::new();
    for bar in &bars {
        let (from, to) = (bar.first as f64 - 0.5, (bar.first + bar.width) as f64 - 0.5);
        outline.extend([(from, bar.counted as f64), (to, bar.counted as f64)]);
        expected.extend([(from, bar.expected), (to, bar.expected)]);
    }
    outline.push((high, 0.0));
    chart.shape(canvas, &outline, LIGHT);
    if profile.expected.is_some() {
        chart.curve(canvas, &expected, line);
    }
}

fn along(canvas: &mut Canvas, profile: &Profile, fill: f64, mean: Look, whole: Look) {
    let area = Area { left: 570.0, top: 100.0, right: 970.0, bottom: 400.0 };
    let end = profile.blocks as f64;
    let x = Axis::counts(0.0, end, 5, "block of the file");
    let y = Axis::linear(0.0, 1.0, 5, "fill");
    let chart = Chart::new(canvas, area, x, y, "Fill along the file");
    let (mut upper, mut lower, mut line) = (Vec::new(), Vec::new(), Vec::new());
    for stretch in &profile.stretches {
        let ends = [stretch.start, stretch.start + stretch.blocks].map(|block| block as f64);
        upper.extend(ends.map(|x| (x, stretch.max)));
        lower.extend(ends.map(|x| (x, stretch.min)));
        line.extend(ends.map(|x| (x, stretch.fill)));
    }
    upper.extend(lower.into_iter().rev());
    chart.shape(canvas, &upper, LIGHT);
    chart.curve(canvas, &[(0.0, fill), (end, fill)], whole);
    chart.curve(canvas, &line, mean);
    let border = Look::line(GREY, SOLID).width(1.0);
    let mut before = area.left;
    for section in &profile.sections {
        let (left, _) = chart.at((section.start as f64, 0.0));
        let (right, _) = chart.at(((section.start + section.blocks) as f64, 0.0));
        // Of many small parts not every border can be seen.
        if left > before + 3.0 {
            before = left;
            canvas.line(&[(left, area.top), (left, area.bottom)], border);
        }
        // What does not fit between its borders stays unsaid; `umbel info` names all parts.
        let name: String = section.name.escape_debug().collect();
        if width_of(&name, LABEL) < right - left {
            canvas.text(&name, ((left + right) / 2.0, area.top + 12.0), LABEL, Anchor::Middle);
        }
    }
}

/// The end of a text that is too long, which tells more of a path than its start.
fn short(text: &str, most: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    match letters.len().checked_sub(most) {
        None | Some(0) => text.to_owned(),
        Some(over) => format!("…{}", letters[over + 1..].iter().collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use umbel::{KeyHasher, Kind, Plan};

    use super::*;

    fn filter(kind: Kind, keys: u64) -> AnyFilter {
        let plan = Plan::for_keys(kind, keys.max(1), 0.01).unwrap();
        let hasher = KeyHasher::default();
        let hashes: Vec<_> = (0..keys).map(|key| hasher.hash(key)).collect();
        AnyFilter::build(&plan, &hashes, hasher).unwrap()
    }

    #[test]
    fn bars_hold_all_blocks() {
        for (kind, keys) in [
            (Kind::Blocked, 0),
            (Kind::Blocked, 50_000),
            (Kind::Coded, 1_000),
            (Kind::Scalable, 999),
        ] {
            let profile = Profile::of(&filter(kind, keys), STRETCHES);
            let bars = bars(&profile);
            assert!(bars.len() <= BARS);
            assert_eq!(bars.iter().map(|bar| bar.counted).sum::<u64>(), profile.blocks);
            if profile.expected.is_some() {
                let expected: f64 = bars.iter().map(|bar| bar.expected).sum();
                assert!((expected - profile.blocks as f64).abs() < 2.0, "{kind}: {expected}");
            }
        }
    }

    #[test]
    fn long_names_keep_their_ends() {
        assert_eq!(short("a/b.umbel", 9), "a/b.umbel");
        assert_eq!(short("a/b.umbel", 8), "…b.umbel");
        assert_eq!(short("a/b.umbel", 8).chars().count(), 8);
    }
}
