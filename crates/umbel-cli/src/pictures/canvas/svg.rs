//! A picture as SVG. Its texts are in whatever font the viewer has.

use std::fmt::Write;

use super::{Anchor, Area, Canvas, Element, Outline, Point, Shape, Text};
use crate::pictures::style::BLACK;

/// The whole file.
pub(super) fn file(canvas: &Canvas) -> String {
    let Canvas { width, height, .. } = canvas;
    let title = escape(&canvas.title);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" role=\"img\" \
         aria-label=\"{title}\">\n<title>{title}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    let mut clips = 0;
    for element in &canvas.elements {
        match element {
            Element::Shape(one) => svg += &shape(one),
            Element::Text(one) => svg += &text(one),
            Element::Clip(area) => {
                clips += 1;
                svg += &clip(area, clips);
            }
            Element::Unclip => svg += "</g>",
        }
        svg.push('\n');
    }
    svg + "</svg>\n"
}

fn shape(shape: &Shape) -> String {
    let mut svg = match &shape.outline {
        Outline::Lines(points) => format!("<polyline points=\"{}\"", list(points)),
        Outline::Polygon(points) => format!("<polygon points=\"{}\"", list(points)),
        Outline::Circle((x, y), radius) => {
            format!("<circle cx=\"{}\" cy=\"{}\" r=\"{radius}\"", number(*x), number(*y))
        }
    };
    let mut attribute = |name: &str, value: &str| {
        write!(svg, " {name}=\"{value}\"").expect("a string takes all");
    };
    attribute("fill", shape.fill.unwrap_or("none"));
    if let Some(stroke) = shape.stroke {
        attribute("stroke", stroke.colour);
        attribute("stroke-width", &stroke.width.to_string());
        attribute("stroke-linejoin", "round");
        let dash: Vec<_> = stroke.dash.iter().map(u32::to_string).collect();
        if !dash.is_empty() {
            attribute("stroke-dasharray", &dash.join(" "));
        }
    }
    svg + "/>"
}

fn text(text: &Text) -> String {
    let anchor = match text.anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let (x, y) = (number(text.at.0), number(text.at.1));
    let turn = match text.upwards {
        true => format!(" transform=\"rotate(-90 {x} {y})\""),
        false => String::new(),
    };
    format!(
        "<text x=\"{x}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{anchor}\" fill=\"{BLACK}\"{turn}>{}</text>",
        number(text.baseline()),
        text.size,
        escape(&text.text)
    )
}

/// The beginning of a group that shows only inside of an area.
fn clip(&Area { left, top, right, bottom }: &Area, id: u32) -> String {
    format!(
        "<clipPath id=\"clip{id}\"><rect x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\"/>\
         </clipPath>\n<g clip-path=\"url(#clip{id})\">",
        right - left,
        bottom - top
    )
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
    use roxmltree::Document;

    use super::*;
    use crate::pictures::style::{BLUE, DASHED, Look, Marker, SOLID};

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
    fn nothing_is_drawn_without_width() {
        let mut canvas = Canvas::new(10.0, 10.0, "");
        canvas.line(&[(0.0, 0.0), (5.0, 5.0)], Look::line(BLUE, SOLID).width(0.0));
        assert!(!canvas.svg().contains("polyline"));
    }
}
