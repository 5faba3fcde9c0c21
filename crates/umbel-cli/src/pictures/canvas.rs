//! A picture as SVG, and as PNG.
//!
//! A PNG is the SVG rendered, its letters as outlines of a font that the program carries: so both show the same, and
//! neither needs a font of the system. It is DejaVu Sans, among the widest: what fits with it fits in viewers that have
//! another one.

use std::fmt::Write;

use anyhow::{Context, Result};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use ttf_parser::{Face, OutlineBuilder};

use super::style::{BLACK, Colour, Look, Marker};

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
    head: String,
    elements: Vec<Element>,
    clips: u32,
}

/// What a picture is made of, in the order of drawing.
enum Element {
    /// As SVG has it.
    Shape(String),
    Text(Text),
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
    /// An empty white picture; `title` is what a screen reader tells.
    pub(crate) fn new(width: f64, height: f64, title: &str) -> Self {
        let title = escape(title);
        let mut head = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" role=\"img\" \
             aria-label=\"{title}\">\n<title>{title}</title>\n"
        );
        head += "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
        Self { head, elements: Vec::new(), clips: 0 }
    }

    /// Lines through the points.
    pub(crate) fn line(&mut self, points: &[Point], look: Look) {
        if points.len() < 2 || look.width == 0.0 {
            return;
        }
        let Look { colour, width, dash, .. } = look;
        let dash: Vec<_> = dash.iter().map(u32::to_string).collect();
        let dash = match &dash[..] {
            [] => String::new(),
            dash => format!(" stroke-dasharray=\"{}\"", dash.join(" ")),
        };
        self.push(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" \
             stroke-linejoin=\"round\"{dash}/>",
            list(points)
        ));
    }

    /// What the points enclose, filled.
    pub(crate) fn polygon(&mut self, points: &[Point], colour: Colour) {
        self.push(format_args!("<polygon points=\"{}\" fill=\"{colour}\"/>", list(points)));
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
        let colour = look.colour;
        let r = 4.5;
        let shape = |points: &[Point]| -> String {
            let points: Vec<_> = points.iter().map(|(dx, dy)| (x + r * dx, y + r * dy)).collect();
            list(&points)
        };
        let filled =
            |points: &[Point]| format!("<polygon points=\"{}\" fill=\"{colour}\"/>", shape(points));
        let stroke = format!("stroke=\"{colour}\" stroke-width=\"2\"");
        let crossed = |one: &[Point], other: &[Point]| {
            let arm = |points| format!("<polyline points=\"{}\" {stroke}/>", shape(points));
            arm(one) + &arm(other)
        };
        let circle = |r: f64, paint: &str| {
            format!("<circle cx=\"{}\" cy=\"{}\" r=\"{r}\" {paint}/>", number(x), number(y))
        };
        let element = match look.marker {
            Marker::None => return,
            Marker::Disc => circle(r, &format!("fill=\"{colour}\"")),
            Marker::Ring => circle(r, &format!("fill=\"#ffffff\" {stroke}")),
            Marker::Square => filled(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
            Marker::Box => {
                let points = shape(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]);
                format!("<polygon points=\"{points}\" fill=\"#ffffff\" {stroke}/>")
            }
            Marker::Up => filled(&[(0.0, -1.2), (1.2, 1.0), (-1.2, 1.0)]),
            Marker::Down => filled(&[(0.0, 1.2), (1.2, -1.0), (-1.2, -1.0)]),
            Marker::Diamond => filled(&[(0.0, -1.3), (1.2, 0.0), (0.0, 1.3), (-1.2, 0.0)]),
            Marker::Cross => crossed(&[(-1.0, -1.0), (1.0, 1.0)], &[(-1.0, 1.0), (1.0, -1.0)]),
            Marker::Plus => crossed(&[(-1.3, 0.0), (1.3, 0.0)], &[(0.0, -1.3), (0.0, 1.3)]),
            Marker::Star => {
                let point = |i: u32| {
                    let (angle, r) =
                        (f64::from(i) * 0.2, if i.is_multiple_of(2) { 2.0 } else { 0.8 });
                    let (sin, cos) = (std::f64::consts::PI * angle).sin_cos();
                    (r * sin, -r * cos)
                };
                filled(&(0..10).map(point).collect::<Vec<_>>())
            }
        };
        self.push(format_args!("{element}"));
    }

    /// Draws only inside an area what `draw` draws.
    pub(crate) fn clipped(&mut self, area: Area, draw: impl FnOnce(&mut Self)) {
        let Area { left, top, right, bottom } = area;
        self.clips += 1;
        let id = self.clips;
        self.push(format_args!(
            "<clipPath id=\"clip{id}\"><rect x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\"/>\
             </clipPath>\n<g clip-path=\"url(#clip{id})\">",
            right - left,
            bottom - top
        ));
        draw(self);
        self.push(format_args!("</g>"));
    }

    /// The whole file, as SVG.
    pub(crate) fn svg(&self) -> String {
        self.with_letters(Text::svg)
    }

    /// The whole file, as PNG.
    pub(crate) fn png(&self) -> Result<Vec<u8>> {
        /// Pixels for each of the SVG: sharp on today's screens.
        const SCALE: f32 = 2.0;
        const FONT: &[u8] = include_bytes!("../../fonts/DejaVuSans-subset.ttf");
        let font = Face::parse(FONT, 0).context("the font of the program cannot be read")?;
        let svg = self.with_letters(|text| text.outlines(&font));
        let tree = Tree::from_str(&svg, &Options::default());
        let tree = tree.context("the picture cannot be rendered")?;
        let size = tree.size().to_int_size().scale_by(SCALE).context("an empty picture")?;
        let mut pixels = Pixmap::new(size.width(), size.height()).context("an empty picture")?;
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
        pixels.encode_png().context("the picture cannot be rendered")
    }

    fn with_letters(&self, letters: impl Fn(&Text) -> String) -> String {
        let mut svg = self.head.clone();
        for element in &self.elements {
            match element {
                Element::Shape(shape) => svg += shape,
                Element::Text(text) => svg += &letters(text),
            }
            svg.push('\n');
        }
        svg + "</svg>\n"
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        self.elements.push(Element::Shape(element.to_string()));
    }
}

impl Text {
    /// As text, in whatever font the viewer has.
    fn svg(&self) -> String {
        let anchor = match self.anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        format!(
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{anchor}\" fill=\"{BLACK}\"{}>{}</text>",
            number(self.at.0),
            number(self.baseline()),
            self.size,
            self.turn(),
            escape(&self.text)
        )
    }

    /// As the outlines of its letters, one beside the other as wide as the font has them.
    fn outlines(&self, font: &Face<'_>) -> String {
        let scale = self.size / f64::from(font.units_per_em());
        let glyphs: Vec<_> =
            self.text.chars().filter_map(|letter| font.glyph_index(letter)).collect();
        let advance = |glyph| f64::from(font.glyph_hor_advance(glyph).unwrap_or_default()) * scale;
        let width: f64 = glyphs.iter().map(|&glyph| advance(glyph)).sum();
        let before = match self.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        let left = self.at.0 - before;
        let mut outline = Outline { path: String::new(), left, baseline: self.baseline(), scale };
        for glyph in glyphs {
            // A space has none.
            let _ = font.outline_glyph(glyph, &mut outline);
            outline.left += advance(glyph);
        }
        format!("<path d=\"{}\" fill=\"{BLACK}\"{}/>", outline.path, self.turn())
    }

    fn baseline(&self) -> f64 {
        // Small letters and digits are 0.55 to 0.73 of the size high; not all viewers know middles.
        self.at.1 + 0.35 * self.size
    }

    fn turn(&self) -> String {
        match self.upwards {
            true => {
                format!(" transform=\"rotate(-90 {} {})\"", number(self.at.0), number(self.at.1))
            }
            false => String::new(),
        }
    }
}

/// Outlines of letters as the path of an SVG.
struct Outline {
    path: String,
    /// Where the letter begins.
    left: f64,
    baseline: f64,
    scale: f64,
}

impl Outline {
    fn add(&mut self, command: char, points: &[(f32, f32)]) {
        self.path.push(command);
        for &(x, y) in points {
            let x = self.left + self.scale * f64::from(x);
            let y = self.baseline - self.scale * f64::from(y);
            write!(self.path, "{x:.2} {y:.2} ").expect("a string takes all");
        }
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.add('M', &[(x, y)]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.add('L', &[(x, y)]);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.add('Q', &[(x1, y1), (x, y)]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.add('C', &[(x1, y1), (x2, y2), (x, y)]);
    }

    fn close(&mut self) {
        self.add('Z', &[]);
    }
}

/// About how wide a text is, with some to spare for wider fonts.
pub(crate) fn width_of(text: &str, size: f64) -> f64 {
    // The mean letter of DejaVu Sans is 0.58 of its size wide, its digits 0.64.
    text.chars().count() as f64 * 0.64 * size
}

fn list(points: &[Point]) -> String {
    let points: Vec<_> =
        points.iter().map(|&(x, y)| format!("{},{}", number(x), number(y))).collect();
    points.join(" ")
}

/// To a tenth of a pixel.
fn number(value: f64) -> String {
    let tenths = (value * 10.0).round() / 10.0;
    format!("{}", if tenths == 0.0 { 0.0 } else { tenths })
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::style::{BLUE, DASHED, SOLID};
    use super::*;

    #[test]
    fn what_is_drawn_is_there() {
        let mut canvas = Canvas::new(100.0, 50.0, "a < b & \"c\"");
        let look = Look::new(BLUE, DASHED, Marker::Star);
        canvas.line(&[(0.0, 0.04), (99.96, 50.0)], look);
        canvas.line(&[(0.0, 0.0)], look);
        canvas.clipped(Area { left: 1.0, top: 2.0, right: 11.0, bottom: 22.0 }, |canvas| {
            canvas.marker((5.0, 5.0), look);
        });
        canvas.text("0 <= x & y", (50.0, 25.0), 10.0, Anchor::Middle);
        let svg = canvas.svg();
        let tree = Tree::from_str(&svg, &Options::default()).unwrap();
        assert_eq!((tree.size().width(), tree.size().height()), (100.0, 50.0));
        assert_eq!(svg.matches("<polyline").count(), 1);
        for part in ["0,0 100,50", "stroke-dasharray=\"7 4\"", "0 &lt;= x &amp; y</text>"] {
            assert!(svg.contains(part), "{part} in {svg}");
        }
    }

    /// Every sign that the pictures write has a glyph: without one the PNG would have a gap.
    #[test]
    fn letters_show_in_a_png() {
        let blank = |text: &str| {
            let mut canvas = Canvas::new(40.0, 40.0, "");
            canvas.text(text, (20.0, 20.0), 20.0, Anchor::Middle);
            let pixels = Pixmap::decode_png(&canvas.png().unwrap()).unwrap();
            assert_eq!((pixels.width(), pixels.height()), (80, 80));
            pixels.pixels().iter().all(|pixel| pixel.red() == 255)
        };
        assert!(blank(" "));
        let letters = ('!'..='~').map(String::from);
        for text in
            letters.chain(["×", "λ", "σ", "–", "…", "²", "−", "≤", "≈", "·"].map(String::from))
        {
            assert!(!blank(&text), "{text}");
        }
    }

    #[test]
    fn nothing_is_drawn_without_width() {
        let mut canvas = Canvas::new(10.0, 10.0, "");
        canvas.line(&[(0.0, 0.0), (5.0, 5.0)], Look::line(BLUE, SOLID).width(0.0));
        assert!(!canvas.svg().contains("polyline"));
    }
}
