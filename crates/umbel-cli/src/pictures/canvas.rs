//! A picture as SVG, and SVG as PNG.
//!
//! A PNG is the SVG rendered with a font that the program carries, so both show the same and neither needs a font
//! of the system. It is DejaVu Sans, among the widest: what fits with it fits in viewers that have another one.

use std::fmt::Write;
use std::sync::Arc;

use anyhow::{Context, Result};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

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
    svg: String,
    clips: u32,
}

impl Canvas {
    /// An empty white picture; `title` is what a screen reader tells.
    pub(crate) fn new(width: f64, height: f64, title: &str) -> Self {
        let title = escape(title);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" role=\"img\" \
             aria-label=\"{title}\">\n<title>{title}</title>\n"
        );
        svg += "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
        Self { svg, clips: 0 }
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
        self.write(text, at, size, anchor, "");
    }

    /// As [`text`](Self::text), upwards.
    pub(crate) fn text_upwards(&mut self, text: &str, at: Point, size: f64) {
        let turn = format!(" transform=\"rotate(-90 {} {})\"", number(at.0), number(at.1));
        self.write(text, at, size, Anchor::Middle, &turn);
    }

    fn write(&mut self, text: &str, (x, y): Point, size: f64, anchor: Anchor, turn: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        // Small letters and digits are 0.55 to 0.73 of the size high; not all viewers know middles.
        let baseline = y + 0.35 * size;
        self.push(format_args!(
            "<text x=\"{}\" y=\"{}\" font-size=\"{size}\" text-anchor=\"{anchor}\" \
             fill=\"{BLACK}\"{turn}>{}</text>",
            number(x),
            number(baseline),
            escape(text)
        ));
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

    /// The whole file.
    pub(crate) fn finish(mut self) -> String {
        self.svg.push_str("</svg>\n");
        self.svg
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        writeln!(self.svg, "{element}").expect("a string takes all");
    }
}

/// Pixels of a PNG for each pixel of the SVG: sharp on today's screens.
const SCALE: f32 = 2.0;

/// The same picture as PNG.
pub(crate) fn png(svg: &str) -> Result<Vec<u8>> {
    const FONT: &[u8] = include_bytes!("../../fonts/DejaVuSans-subset.ttf");
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    let options = Options { fontdb: Arc::new(fonts), ..Options::default() };
    let tree = Tree::from_str(svg, &options).context("the picture cannot be rendered")?;
    let size = tree.size().to_int_size().scale_by(SCALE).context("an empty picture")?;
    let mut pixels = Pixmap::new(size.width(), size.height()).context("an empty picture")?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().context("the picture cannot be rendered")
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
        let svg = canvas.finish();
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
            let pixels = Pixmap::decode_png(&png(&canvas.finish()).unwrap()).unwrap();
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
        assert!(!canvas.finish().contains("polyline"));
    }
}
