//! A picture as PNG, twice as many pixels as the SVG each way: sharp on today's screens.
//!
//! Letters are outlines of a font that the program carries, so none of the system is needed. It is DejaVu Sans, among
//! the widest: what fits with it fits in viewers that show the SVG in another one.

use anyhow::{Context, Result};
use tiny_skia::{
    Color, FillRule, Mask, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform,
};
use ttf_parser::{Face, OutlineBuilder};

use super::{Anchor, Area, Canvas, Element, Outline, Shape, Text};
use crate::pictures::style::{BLACK, Colour};

const SCALE: f32 = 2.0;
const FONT: &[u8] = include_bytes!("../../../fonts/DejaVuSans-subset.ttf");

/// The whole file.
pub(super) fn file(canvas: &Canvas) -> Result<Vec<u8>> {
    let font = Face::parse(FONT, 0).context("the font of the program cannot be read")?;
    let side = |length: f64| (length as f32 * SCALE).ceil() as u32;
    let pixels = Pixmap::new(side(canvas.width), side(canvas.height));
    let mut sheet = Sheet { pixels: pixels.context("an empty picture")?, clip: None };
    sheet.pixels.fill(Color::WHITE);
    for element in &canvas.elements {
        match element {
            Element::Shape(shape) => sheet.shape(shape),
            Element::Text(text) => sheet.text(text, &font),
            Element::Clip(area) => sheet.clip(*area),
            Element::Unclip => sheet.clip = None,
        }
    }
    sheet.pixels.encode_png().context("the picture cannot be written as PNG")
}

/// The pixels, and which of them are drawn on.
struct Sheet {
    pixels: Pixmap,
    clip: Option<Mask>,
}

impl Sheet {
    fn shape(&mut self, shape: &Shape) {
        let Some(path) = path(&shape.outline) else { return };
        if let Some(colour) = shape.fill {
            self.fill(&path, colour, scaled());
        }
        if let Some(stroke) = shape.stroke {
            let dash: Vec<_> = stroke.dash.iter().map(|&length| length as f32).collect();
            let pen = Stroke {
                width: stroke.width as f32,
                line_join: tiny_skia::LineJoin::Round,
                // Of an odd number of lengths, or none, it is a line without gaps.
                dash: StrokeDash::new(dash, 0.0),
                ..Stroke::default()
            };
            let paint = paint(stroke.colour);
            self.pixels.stroke_path(&path, &paint, &pen, scaled(), self.clip.as_ref());
        }
    }

    /// The outlines of its letters, one beside the other as wide as the font has them.
    fn text(&mut self, text: &Text, font: &Face<'_>) {
        let scale = text.size as f32 / f32::from(font.units_per_em());
        let glyphs: Vec<_> =
            text.text.chars().filter_map(|letter| font.glyph_index(letter)).collect();
        let advance = |glyph| f32::from(font.glyph_hor_advance(glyph).unwrap_or_default()) * scale;
        let width: f32 = glyphs.iter().map(|&glyph| advance(glyph)).sum();
        let before = match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        let (x, y) = (text.at.0 as f32, text.at.1 as f32);
        let mut letters = Letters {
            path: PathBuilder::new(),
            left: x - before,
            baseline: text.baseline() as f32,
            scale,
        };
        for glyph in glyphs {
            // A space has none.
            let _ = font.outline_glyph(glyph, &mut letters);
            letters.left += advance(glyph);
        }
        let turn = if text.upwards {
            Transform::from_rotate_at(-90.0, x, y)
        } else {
            Transform::identity()
        };
        if let Some(path) = letters.path.finish() {
            self.fill(&path, BLACK, turn.post_concat(scaled()));
        }
    }

    fn clip(&mut self, area: Area) {
        let Area { left, top, right, bottom } = area;
        let area = Rect::from_ltrb(left as f32, top as f32, right as f32, bottom as f32);
        let mut mask = Mask::new(self.pixels.width(), self.pixels.height());
        if let (Some(mask), Some(area)) = (&mut mask, area) {
            mask.fill_path(&PathBuilder::from_rect(area), FillRule::Winding, true, scaled());
        }
        self.clip = mask;
    }

    fn fill(&mut self, path: &Path, colour: Colour, transform: Transform) {
        let (paint, rule) = (paint(colour), FillRule::Winding);
        self.pixels.fill_path(path, &paint, rule, transform, self.clip.as_ref());
    }
}

fn scaled() -> Transform {
    Transform::from_scale(SCALE, SCALE)
}

/// None where there is nothing to draw.
fn path(outline: &Outline) -> Option<Path> {
    let (points, closed) = match outline {
        Outline::Lines(points) => (points, false),
        Outline::Polygon(points) => (points, true),
        Outline::Circle((x, y), radius) => {
            return PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32);
        }
    };
    let mut path = PathBuilder::new();
    let mut points = points.iter().map(|&(x, y)| (x as f32, y as f32));
    let (x, y) = points.next()?;
    path.move_to(x, y);
    points.for_each(|(x, y)| path.line_to(x, y));
    if closed {
        path.close();
    }
    path.finish()
}

/// A colour as SVG writes it.
fn paint(colour: Colour) -> Paint<'static> {
    let digits = u32::from_str_radix(&colour[1..], 16).expect("colours are # and six digits");
    let [_, red, green, blue] = digits.to_be_bytes();
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, u8::MAX);
    paint
}

/// Outlines of letters, as one path.
struct Letters {
    path: PathBuilder,
    /// Where the letter begins.
    left: f32,
    baseline: f32,
    scale: f32,
}

impl Letters {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.left + self.scale * x, self.baseline - self.scale * y)
    }
}

impl OutlineBuilder for Letters {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_clip_hides_what_is_outside() {
        let mut canvas = Canvas::new(20.0, 10.0, "");
        let half = Area { left: 0.0, top: 0.0, right: 10.0, bottom: 10.0 };
        let all = [(0.0, 0.0), (20.0, 0.0), (20.0, 10.0), (0.0, 10.0)];
        canvas.clipped(half, |canvas| canvas.polygon(&all, BLACK));
        canvas.polygon(&[(18.0, 0.0), (20.0, 0.0), (20.0, 10.0), (18.0, 10.0)], "#cc79a7");
        let pixels = Pixmap::decode_png(&canvas.png().unwrap()).unwrap();
        let colour = |x: u32| {
            let pixel = pixels.pixel(x, 10).unwrap();
            [pixel.red(), pixel.green(), pixel.blue()]
        };
        assert_eq!([colour(18), colour(22), colour(38)], [[0; 3], [255; 3], [0xcc, 0x79, 0xa7]]);
    }
}
