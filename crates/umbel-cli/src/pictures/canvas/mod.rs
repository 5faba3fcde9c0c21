//! A picture: shapes and lines of text, in the order of drawing. `svg` and `png` turn it into a file.

mod png;
mod svg;

use anyhow::Result;

use super::style::{Colour, Look, Marker};

/// A point in pixels, from the top left.
pub(crate) type Point = (f64, f64);

/// A part of a picture, in pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Area {
    pub(crate) fn middle(&self) -> Point {
        ((self.left + self.right) / 2.0, (self.top + self.bottom) / 2.0)
    }
}

/// Which end of a text is at its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A picture being drawn.
pub(crate) struct Canvas {
    width: f64,
    height: f64,
    title: String,
    elements: Vec<Element>,
}

/// What a picture is made of.
enum Element {
    Shape(Shape),
    Text(Text),
    /// What follows shows only inside of the area, up to `Unclip`. Areas do not nest.
    Clip(Area),
    Unclip,
}

struct Shape {
    outline: Outline,
    fill: Option<Colour>,
    stroke: Option<Stroke>,
}

enum Outline {
    Lines(Vec<Point>),
    Polygon(Vec<Point>),
    /// Its centre and radius.
    Circle(Point, f64),
}

#[derive(Clone, Copy)]
struct Stroke {
    colour: Colour,
    width: f64,
    dash: &'static [u32],
}

/// A line of text.
struct Text {
    text: String,
    /// Where its anchor is, its middle at this height.
    at: Point,
    size: f64,
    anchor: Anchor,
    upwards: bool,
}

impl Canvas {
    /// An empty white picture; `title` is what a screen reader says.
    pub(crate) fn new(width: f64, height: f64, title: &str) -> Self {
        Self { width, height, title: title.to_owned(), elements: Vec::new() }
    }

    /// Lines through the points.
    pub(crate) fn line(&mut self, points: &[Point], look: Look) {
        if points.len() < 2 || look.width == 0.0 {
            return;
        }
        let Look { colour, width, dash, .. } = look;
        let stroke = Stroke { colour, width, dash };
        self.shape(Outline::Lines(points.to_vec()), None, Some(stroke));
    }

    /// What the points enclose, filled.
    pub(crate) fn polygon(&mut self, points: &[Point], colour: Colour) {
        self.shape(Outline::Polygon(points.to_vec()), Some(colour), None);
    }

    /// A line of text, its middle at the height of the point.
    pub(crate) fn text(&mut self, text: &str, at: Point, size: f64, anchor: Anchor) {
        let text = Text { text: text.to_owned(), at, size, anchor, upwards: false };
        self.elements.push(Element::Text(text));
    }

    /// As [`text`](Self::text), upwards.
    pub(crate) fn text_upwards(&mut self, text: &str, at: Point, size: f64) {
        let (text, anchor) = (text.to_owned(), Anchor::Middle);
        self.elements.push(Element::Text(Text { text, at, size, anchor, upwards: true }));
    }

    /// The marker of a look.
    pub(crate) fn marker(&mut self, (x, y): Point, look: Look) {
        const RADIUS: f64 = 4.5;
        const WHITE: Option<Colour> = Some("#ffffff");
        const SQUARE: [Point; 4] = [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)];
        let colour = Some(look.colour);
        let stroke = Some(Stroke { colour: look.colour, width: 2.0, dash: &[] });
        let around = |points: &[Point]| -> Vec<Point> {
            points.iter().map(|(dx, dy)| (x + RADIUS * dx, y + RADIUS * dy)).collect()
        };
        let polygon = |points: &[Point]| Outline::Polygon(around(points));
        let circle = Outline::Circle((x, y), RADIUS);
        let mut crossed = |arms: [[Point; 2]; 2]| {
            for arm in arms {
                self.shape(Outline::Lines(around(&arm)), None, stroke);
            }
        };
        match look.marker {
            Marker::None => {}
            Marker::Disc => self.shape(circle, colour, None),
            Marker::Ring => self.shape(circle, WHITE, stroke),
            Marker::Square => self.shape(polygon(&SQUARE), colour, None),
            Marker::Box => self.shape(polygon(&SQUARE), WHITE, stroke),
            Marker::Up => {
                self.shape(polygon(&[(0.0, -1.2), (1.2, 1.0), (-1.2, 1.0)]), colour, None);
            }
            Marker::Down => {
                self.shape(polygon(&[(0.0, 1.2), (1.2, -1.0), (-1.2, -1.0)]), colour, None);
            }
            Marker::Diamond => {
                let points = [(0.0, -1.3), (1.2, 0.0), (0.0, 1.3), (-1.2, 0.0)];
                self.shape(polygon(&points), colour, None);
            }
            Marker::Cross => crossed([[(-1.0, -1.0), (1.0, 1.0)], [(-1.0, 1.0), (1.0, -1.0)]]),
            Marker::Plus => crossed([[(-1.3, 0.0), (1.3, 0.0)], [(0.0, -1.3), (0.0, 1.3)]]),
            Marker::Star => {
                let point = |i: u32| {
                    let radius = if i.is_multiple_of(2) { 2.0 } else { 0.8 };
                    let (sin, cos) = (std::f64::consts::PI * f64::from(i) * 0.2).sin_cos();
                    (radius * sin, -radius * cos)
                };
                self.shape(
                    polygon(&std::array::from_fn::<_, 10, _>(|i| point(i as u32))),
                    colour,
                    None,
                );
            }
        }
    }

    /// Draws only inside an area what `draw` draws.
    pub(crate) fn clipped(&mut self, area: Area, draw: impl FnOnce(&mut Self)) {
        self.elements.push(Element::Clip(area));
        draw(self);
        self.elements.push(Element::Unclip);
    }

    /// The whole file, as SVG.
    pub(crate) fn svg(&self) -> String {
        svg::file(self)
    }

    /// The whole file, as PNG.
    pub(crate) fn png(&self) -> Result<Vec<u8>> {
        png::file(self)
    }

    fn shape(&mut self, outline: Outline, fill: Option<Colour>, stroke: Option<Stroke>) {
        self.elements.push(Element::Shape(Shape { outline, fill, stroke }));
    }
}

impl Text {
    fn baseline(&self) -> f64 {
        // Small letters and digits are 0.55 to 0.73 of the size high; not all viewers know middles.
        self.at.1 + 0.35 * self.size
    }
}

/// About how wide a text is, with some to spare for wider fonts.
pub(crate) fn width_of(text: &str, size: f64) -> f64 {
    // The mean letter of DejaVu Sans is 0.58 of its size wide, its digits 0.64.
    text.chars().count() as f64 * 0.64 * size
}
