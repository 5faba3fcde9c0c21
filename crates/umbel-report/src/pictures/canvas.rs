//! A picture as SVG, written as it is drawn: shapes and lines of text, clipped where a chart ends. Texts use the
//! viewer's font.

use super::style::{BLACK, Colour, Look, Marker, WHITE};

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

/// Which end of a text is at its point, in SVG's terms.
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
    /// An empty white picture; screen readers read `title`.
    pub(crate) fn new(width: f64, height: f64, title: &str) -> Self {
        let (width, height, title) = (width.ceil(), height.ceil(), escape(title));
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" role=\"img\" \
             aria-label=\"{title}\">\n<title>{title}</title>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"{WHITE}\"/>\n"
        );
        Self { svg, clips: 0 }
    }

    /// The whole file.
    pub(crate) fn finish(self) -> String {
        self.svg + "</svg>\n"
    }

    /// Lines through the points.
    pub(crate) fn line(&mut self, points: &[Point], look: Look) {
        if points.len() < 2 || look.width == 0.0 {
            return;
        }
        let dash: Vec<_> = look.dash.iter().map(u32::to_string).collect();
        let dash = match &dash[..] {
            [] => String::new(),
            dash => format!(" stroke-dasharray=\"{}\"", dash.join(" ")),
        };
        self.add(&format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{dash}/>",
            list(points),
            look.colour,
            look.width
        ));
    }

    /// A filled polygon.
    pub(crate) fn polygon(&mut self, points: &[Point], colour: Colour) {
        self.add(&format!("<polygon points=\"{}\" fill=\"{colour}\"/>", list(points)));
    }

    /// A line of text, its middle at the height of the point.
    pub(crate) fn text(&mut self, text: &str, at: Point, size: f64, anchor: Anchor) {
        self.turned_text(text, at, size, anchor, "");
    }

    /// As [`text`](Self::text), but written upwards, its middle at the point.
    pub(crate) fn text_upwards(&mut self, text: &str, at: Point, size: f64) {
        let turn = format!(" transform=\"rotate(-90 {} {})\"", number(at.0), number(at.1));
        self.turned_text(text, at, size, Anchor::Middle, &turn);
    }

    fn turned_text(&mut self, text: &str, (x, y): Point, size: f64, anchor: Anchor, turn: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        // Small letters and digits are 0.55 to 0.73 of the size high; not all viewers support vertical centring.
        let baseline = y + 0.35 * size;
        self.add(&format!(
            "<text x=\"{}\" y=\"{}\" font-size=\"{size}\" text-anchor=\"{anchor}\" fill=\"{BLACK}\"{turn}>{}</text>",
            number(x),
            number(baseline),
            escape(text)
        ));
    }

    /// The marker of a look.
    pub(crate) fn marker(&mut self, (x, y): Point, look: Look) {
        const RADIUS: f64 = 4.5;
        const SQUARE: [Point; 4] = [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)];
        let colour = look.colour;
        let around = |points: &[Point]| {
            let point = |(dx, dy): &Point| (x + RADIUS * dx, y + RADIUS * dy);
            list(&points.iter().map(point).collect::<Vec<_>>())
        };
        // Filled, or white with a border.
        let full = format!("fill=\"{colour}\"");
        let hollow = format!("fill=\"{WHITE}\" stroke=\"{colour}\" stroke-width=\"2\"");
        let place = format!("cx=\"{}\" cy=\"{}\"", number(x), number(y));
        let circle = |fill: &str| format!("<circle {place} r=\"{RADIUS}\" {fill}/>");
        let polygon =
            |shape: &[Point], fill: &str| format!("<polygon points=\"{}\" {fill}/>", around(shape));
        let arm = |arm: [Point; 2]| {
            let points = around(&arm);
            format!("<polyline points=\"{points}\" stroke=\"{colour}\" stroke-width=\"2\"/>")
        };
        let crossed = |arms: [[Point; 2]; 2]| arms.map(arm).concat();
        let svg = match look.marker {
            Marker::None => return,
            Marker::Disc => circle(&full),
            Marker::Ring => circle(&hollow),
            Marker::Square => polygon(&SQUARE, &full),
            Marker::Box => polygon(&SQUARE, &hollow),
            Marker::Up => polygon(&[(0.0, -1.2), (1.2, 1.0), (-1.2, 1.0)], &full),
            Marker::Down => polygon(&[(0.0, 1.2), (1.2, -1.0), (-1.2, -1.0)], &full),
            Marker::Diamond => polygon(&[(0.0, -1.3), (1.2, 0.0), (0.0, 1.3), (-1.2, 0.0)], &full),
            Marker::Cross => crossed([[(-1.0, -1.0), (1.0, 1.0)], [(-1.0, 1.0), (1.0, -1.0)]]),
            Marker::Plus => crossed([[(-1.3, 0.0), (1.3, 0.0)], [(0.0, -1.3), (0.0, 1.3)]]),
            Marker::Star => {
                let point = |i: u32| {
                    let radius = if i.is_multiple_of(2) { 2.0 } else { 0.8 };
                    let (sin, cos) = (std::f64::consts::PI * f64::from(i) * 0.2).sin_cos();
                    (radius * sin, -radius * cos)
                };
                polygon(&(0..10).map(point).collect::<Vec<_>>(), &full)
            }
        };
        self.add(&svg);
    }

    /// Clips what `draw` draws to an area. Areas do not nest.
    pub(crate) fn clipped(&mut self, area: Area, draw: impl FnOnce(&mut Self)) {
        let Area { left, top, right, bottom } = area;
        self.clips += 1;
        let (id, width, height) = (self.clips, right - left, bottom - top);
        self.add(&format!(
            "<clipPath id=\"clip{id}\"><rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/>\
             </clipPath>\n<g clip-path=\"url(#clip{id})\">"
        ));
        draw(self);
        self.add("</g>");
    }

    fn add(&mut self, element: &str) {
        self.svg.extend([element, "\n"]);
    }
}

/// The approximate width of a text, with a margin for wider fonts.
pub(crate) fn width_of(text: &str, size: f64) -> f64 {
    // The mean letter of DejaVu Sans, a wide font, is 0.58 of its size wide, its digits 0.64.
    text.chars().count() as f64 * 0.64 * size
}

fn list(points: &[Point]) -> String {
    let points: Vec<_> =
        points.iter().map(|&(x, y)| format!("{},{}", number(x), number(y))).collect();
    points.join(" ")
}

/// A number, to a tenth of a pixel.
fn number(value: f64) -> String {
    let tenths = (value * 10.0).round() / 10.0;
    format!("{}", if tenths == 0.0 { 0.0 } else { tenths })
}

fn escape(text: &str) -> String {
    // Characters that XML allows neither directly nor as escapes.
    let odd = |letter: char| letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}');
    text.replace(odd, "\u{fffd}")
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use roxmltree::Document;

    use super::*;
    use crate::pictures::style::{BLUE, DASHED, SOLID};

    #[test]
    fn what_is_drawn_is_there() {
        let mut canvas = Canvas::new(100.0, 50.0, "a < b & \"c\"");
        let look = Look::new(BLUE, DASHED, Marker::Star);
        canvas.line(&[(0.0, 0.04), (99.96, 50.0)], look);
        canvas.line(&[(0.0, 0.0)], look);
        canvas.line(&[(0.0, 0.0), (5.0, 5.0)], look.width(0.0));
        canvas.clipped(Area { left: 1.0, top: 2.0, right: 11.0, bottom: 22.0 }, |canvas| {
            canvas.marker((5.0, 5.0), look);
        });
        canvas.text("0 <= x & y", (50.0, 25.0), 10.0, Anchor::Middle);
        let svg = canvas.finish();
        let document = Document::parse(&svg).unwrap();
        let root = document.root_element();
        assert_eq!((root.attribute("width"), root.attribute("height")), (Some("100"), Some("50")));
        assert_eq!(root.attribute("aria-label"), Some("a < b & \"c\""));
        assert_eq!(svg.matches("<polyline").count(), 1);
        for part in ["0,0 100,50", "stroke-dasharray=\"7 4\"", "0 &lt;= x &amp; y</text>"] {
            assert!(svg.contains(part), "{part} in {svg}");
        }
    }

    #[test]
    fn every_marker_parses_and_draws() {
        use Marker::*;
        for marker in [Disc, Ring, Square, Box, Up, Down, Diamond, Cross, Plus, Star] {
            let mut canvas = Canvas::new(10.0, 10.0, "");
            let empty = canvas.svg.len();
            canvas.marker((5.0, 5.0), Look::new(BLUE, SOLID, marker));
            assert!(canvas.svg.len() > empty, "{marker:?}");
            Document::parse(&canvas.finish()).unwrap();
        }
    }

    #[test]
    fn names_of_files_may_have_any_letters() {
        let mut canvas = Canvas::new(10.0, 10.0, "a\u{1}\u{1b}[2J\u{7f}\u{ffff}b");
        canvas.text("\0\u{fffe}", (1.0, 1.0), 10.0, Anchor::Start);
        Document::parse(&canvas.finish()).unwrap();
    }
}
