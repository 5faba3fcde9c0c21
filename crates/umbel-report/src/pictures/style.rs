//! How the pictures look: colours, dashes, markers and letters, the same in all of them.
//!
//! Colours are from Okabe and Ito (2008, <https://jfly.uni-koeln.de/color/>), which most colour-blind people can
//! distinguish, plus a grey and minus their yellow, which is too pale on white. Two curves of a picture never differ by
//! colour alone: dashes or markers differ as well.

use umbel::Kind;

/// A colour, as SVG writes it.
pub(crate) type Colour = &'static str;

pub(crate) const WHITE: Colour = "#ffffff";
pub(crate) const BLACK: Colour = "#000000";
pub(crate) const ORANGE: Colour = "#e69f00";
pub(crate) const SKY: Colour = "#56b4e9";
pub(crate) const GREEN: Colour = "#009e73";
pub(crate) const BLUE: Colour = "#0072b2";
pub(crate) const VERMILION: Colour = "#d55e00";
pub(crate) const PURPLE: Colour = "#cc79a7";
pub(crate) const GREY: Colour = "#6e6e6e";
/// For grids.
pub(crate) const PALE: Colour = "#e3e3e3";
/// For bars behind curves.
pub(crate) const LIGHT: Colour = "#b9dcf3";

/// Heights of letters, in pixels.
pub(crate) const TITLE: f64 = 17.0;
pub(crate) const NAME: f64 = 14.0;
pub(crate) const LABEL: f64 = 13.0;

pub(crate) const SOLID: &[u32] = &[];
pub(crate) const DASHED: &[u32] = &[7, 4];
pub(crate) const DOTTED: &[u32] = &[2, 3];
pub(crate) const MIXED: &[u32] = &[9, 3, 2, 3];

/// The markers on the points of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    None,
    Disc,
    Ring,
    Square,
    Box,
    Up,
    Down,
    Diamond,
    Cross,
    Plus,
    Star,
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Look {
    pub(crate) colour: Colour,
    /// In pixels; 0 for markers alone.
    pub(crate) width: f64,
    /// Pixels drawn and skipped, alternately.
    pub(crate) dash: &'static [u32],
    pub(crate) marker: Marker,
}

impl Look {
    pub(crate) const fn new(colour: Colour, dash: &'static [u32], marker: Marker) -> Self {
        Self { colour, width: 2.0, dash, marker }
    }

    pub(crate) const fn line(colour: Colour, dash: &'static [u32]) -> Self {
        Self::new(colour, dash, Marker::None)
    }

    pub(crate) const fn width(self, width: f64) -> Self {
        Self { width, ..self }
    }
}

/// Each kind has one look, in every picture.
pub(crate) fn of_kind(kind: Kind) -> Look {
    match kind {
        Kind::Blocked => Look::new(BLUE, SOLID, Marker::Disc),
        Kind::Classic => Look::new(VERMILION, SOLID, Marker::Square),
        Kind::Sliced => Look::new(BLACK, DASHED, Marker::Up),
        Kind::Counting => Look::new(GREEN, SOLID, Marker::Diamond),
        Kind::Scalable => Look::new(SKY, SOLID, Marker::Down),
        Kind::Stable => Look::new(PURPLE, SOLID, Marker::Ring),
        Kind::Window => Look::new(BLACK, DOTTED, Marker::Cross),
        Kind::Bloomier => Look::new(GREEN, DASHED, Marker::Box),
        Kind::Attributes => Look::new(GREY, DASHED, Marker::Plus),
        Kind::Coded => Look::new(ORANGE, SOLID, Marker::Diamond),
        Kind::Cascade => Look::new(PURPLE, DASHED, Marker::Up),
        // Future kinds.
        _ => Look::new(BLACK, MIXED, Marker::Star),
    }
}
