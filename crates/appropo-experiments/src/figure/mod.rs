//! Figures for print: panels in a grid under one title, with one legend below them, as SVG and as PNG.

mod axis;
mod map;
mod plot;
mod svg;

pub use axis::{Axis, Bound};
pub use map::{Heat, Map};
pub use plot::{Mark, Mean, Plot};
pub use svg::png;

use plot::{DASHES, SHADE, SHORT_DASHES, marker};
use svg::{Anchor, FONT_FAMILY, INK, rectangle, stroke, text, translate};

/// Inner height of every panel, in pixels; a map is as wide, a plot wider.
const HEIGHT: f64 = 220.0;
const MARGIN: f64 = 12.0;
/// Font size of the figure's title.
const TITLE: f64 = 15.0;
const GAP: f64 = 20.0;
const LEGEND_LINE: f64 = 22.0;

pub struct Figure {
    /// Left out when empty.
    pub title: String,
    pub columns: usize,
    pub panels: Vec<Panel>,
    pub legend: Vec<(Key, String)>,
}

pub enum Panel {
    Plot(Plot),
    Map(Map),
}

/// What a line of the legend shows beside its words.
#[derive(Clone, Copy)]
pub enum Key {
    /// A curve or a cloud of dots.
    Series(Color),
    /// The dashed line that goes with a curve.
    Estimate,
    /// The dashed line at a bound.
    Threshold,
    /// The grey region where all bounds hold.
    Target,
}

/// The palette of Okabe and Ito, safe for colour-blind readers. Each colour has its own marker, for prints in
/// grey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    Blue,
    Vermillion,
    Green,
    Orange,
    Purple,
    Sky,
}

impl Color {
    pub const ALL: [Self; 6] =
        [Self::Blue, Self::Vermillion, Self::Green, Self::Orange, Self::Purple, Self::Sky];

    fn hex(self) -> &'static str {
        match self {
            Self::Blue => "#0072b2",
            Self::Vermillion => "#d55e00",
            Self::Green => "#009e73",
            Self::Orange => "#e69f00",
            Self::Purple => "#cc79a7",
            Self::Sky => "#56b4e9",
        }
    }
}

impl Panel {
    /// Width and height with title, ticks and labels.
    fn size(&self) -> (f64, f64) {
        match self {
            Self::Plot(_) => plot::SIZE,
            Self::Map(map) => map.size(),
        }
    }

    fn svg(&self) -> String {
        match self {
            Self::Plot(plot) => plot.svg(),
            Self::Map(map) => map.svg(),
        }
    }
}

impl Figure {
    /// The same figure gives the same bytes.
    pub fn svg(&self) -> String {
        let columns = self.columns.max(1);
        let top = if self.title.is_empty() { MARGIN } else { 40.0 };
        let widest = |column| self.panels.iter().skip(column).step_by(columns).map(|panel| panel.size().0);
        let widths: Vec<f64> = (0..columns).map(|column| widest(column).fold(0.0, f64::max)).collect();
        let panels = widths.iter().sum::<f64>();
        let width = 2.0 * MARGIN + panels.max(TITLE / 12.0 * width_of(&self.title));

        let mut body = text(width / 2.0, 26.0, TITLE, Anchor::Middle, &self.title);
        let mut y = top;
        for row in self.panels.chunks(columns) {
            let mut x = (width - panels) / 2.0;
            for (panel, width) in row.iter().zip(&widths) {
                body += &translate(x, y, &panel.svg());
                x += width;
            }
            y += row.iter().map(|panel| panel.size().1).fold(0.0, f64::max);
        }
        let legend = self.legend_svg(width);
        body += &translate(0.0, y, &legend.0);
        let height = y + legend.1 + MARGIN;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"{FONT_FAMILY}\" fill=\"{INK}\">\n\
             {}{body}</svg>\n",
            rectangle((0.0, 0.0), (width, height), "#ffffff"),
        )
    }

    /// In one line if it fits, or else in columns; with its height.
    fn legend_svg(&self, width: f64) -> (String, f64) {
        let mut widths: Vec<f64> =
            self.legend.iter().map(|(_, label)| 34.0 + width_of(label) + GAP).collect();
        let mut columns = widths.len().max(1);
        if widths.iter().sum::<f64>() > width {
            let widest = widths.iter().copied().fold(0.0, f64::max);
            columns = ((width / widest) as usize).max(1);
            widths.fill(widest);
        }
        let left = (width - widths.iter().take(columns).sum::<f64>()) / 2.0;
        let mut legend = String::new();
        let mut y = 0.0;
        for (entries, widths) in self.legend.chunks(columns).zip(widths.chunks(columns)) {
            let mut x = left + GAP / 2.0;
            for ((key, label), width) in entries.iter().zip(widths) {
                legend += &translate(x, y + LEGEND_LINE / 2.0, &key.svg());
                legend += &text(x + 34.0, y + LEGEND_LINE / 2.0 + 4.0, 12.0, Anchor::Start, label);
                x += width;
            }
            y += LEGEND_LINE;
        }
        (legend, y)
    }
}

/// Roughly, at size 12: a browser may show another font than the one that could be measured here.
fn width_of(label: &str) -> f64 {
    let width = |letter: char| match letter {
        'f' | 'i' | 'j' | 'l' | 'r' | 't' | ' ' | '.' | ',' | ':' | '(' | ')' => 4.4,
        'm' | 'w' => 10.5,
        _ if letter.is_uppercase() => 8.4,
        _ => 7.4,
    };
    label.chars().map(width).sum()
}

impl Key {
    /// A sample 28 wide, centred on the height 0.
    fn svg(self) -> String {
        let line = "M0 0H28";
        match self {
            Self::Series(color) => stroke(line, color.hex(), 2.0, "") + &marker((14.0, 0.0), color),
            Self::Estimate => stroke(line, "#707070", 1.5, SHORT_DASHES),
            Self::Threshold => stroke(line, INK, 1.2, DASHES),
            Self::Target => rectangle((4.0, -7.0), (20.0, 14.0), SHADE),
        }
    }
}

#[cfg(test)]
mod tests;
