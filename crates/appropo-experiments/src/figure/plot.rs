//! Curves and dots between two axes.

use super::axis::Scale;
use super::svg::{
    Anchor, INK, clip, number, place, rectangle, stroke, text, through, translate, upward_text,
};
use super::{Axis, Bound, Color, HEIGHT};

const WIDTH: f64 = 300.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 28.0;
pub const SIZE: (f64, f64) = (LEFT + WIDTH + 16.0, TOP + HEIGHT + 52.0);

pub const DASHES: &str = "6 4";
pub const SHORT_DASHES: &str = "3 1.8";
pub const SHADE: &str = "#e5e5e5";
const GRID: &str = "#d6d6d6";

#[derive(Clone, Debug, Default)]
pub struct Plot {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub marks: Vec<Mark>,
}

#[derive(Clone, Debug)]
pub enum Mark {
    /// A line through means, with a band of one standard deviation to both sides.
    Curve {
        color: Color,
        means: Vec<Mean>,
    },
    /// A dashed line, such as what an algorithm believes beside what is true.
    Estimate {
        color: Color,
        points: Vec<(f64, f64)>,
    },
    Dots {
        color: Color,
        points: Vec<(f64, f64)>,
    },
}

#[derive(Clone, Copy, Debug)]
pub struct Mean {
    pub x: f64,
    pub mean: f64,
    pub deviation: f64,
}

impl Mean {
    fn centre(&self) -> (f64, f64) {
        (self.x, self.mean)
    }

    /// The band's edge above, for a side of 1, or below, for −1.
    fn edge(&self, side: f64) -> (f64, f64) {
        (self.x, self.mean + side * self.deviation)
    }
}

/// Both axes of a plot.
struct Scales {
    x: Scale,
    y: Scale,
}

impl Scales {
    fn across(&self, value: f64) -> f64 {
        WIDTH * self.x.share(value)
    }

    fn down(&self, value: f64) -> f64 {
        HEIGHT * (1.0 - self.y.share(value))
    }

    /// Where points lie in the panel, less those that are not numbers.
    fn places(&self, points: impl IntoIterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
        let places = points.into_iter().map(|(x, y)| (self.across(x), self.down(y)));
        places.filter(|(x, y)| x.is_finite() && y.is_finite()).collect()
    }
}

impl Plot {
    pub fn svg(&self) -> String {
        let points: Vec<(f64, f64)> = self.marks.iter().flat_map(Mark::points).collect();
        let x = self.x.scale(points.iter().map(|point| point.0));
        let y = self.y.scale(points.iter().map(|point| point.1));
        let scales = Scales { x, y };
        let all = |draw: fn(&Mark, &Scales) -> String| -> String {
            self.marks.iter().map(|mark| draw(mark, &scales)).collect()
        };
        let inside = self.target(&scales) + &all(Mark::band) + &self.threshold(&scales) + &all(Mark::line);
        let around = self.frame(&scales) + &all(Mark::markers);
        translate(LEFT, TOP, &(clip((WIDTH, HEIGHT), &inside) + &around))
    }

    /// The region where the bounds hold, and lines across it.
    fn target(&self, scales: &Scales) -> String {
        let mut shapes = String::new();
        let bounds = (self.x.finite_bound(), self.y.finite_bound());
        if bounds.0.or(bounds.1).is_some() {
            let ((left, right), (bottom, top)) = (scales.x.allowed(bounds.0), scales.y.allowed(bounds.1));
            let size = (WIDTH * (right - left), HEIGHT * (top - bottom));
            shapes += &rectangle((WIDTH * left, HEIGHT * (1.0 - top)), size, SHADE);
        }
        let across = |(share, _)| format!("M0 {}H{WIDTH}", number(HEIGHT * (1.0 - share)));
        shapes + &stroke(&scales.y.ticks().into_iter().map(across).collect::<String>(), GRID, 0.6, "")
    }

    /// A line only where y alone is bounded: bounds on both have a region with corners.
    fn threshold(&self, scales: &Scales) -> String {
        let bound = self.y.finite_bound().filter(|_| self.x.bound.is_none());
        let line = |bound: Bound| format!("M0 {}H{WIDTH}", number(scales.down(bound.threshold())));
        bound.map(|bound| stroke(&line(bound), INK, 1.2, DASHES)).unwrap_or_default()
    }

    fn frame(&self, scales: &Scales) -> String {
        let mut lines = format!("M0 0V{HEIGHT}H{WIDTH}");
        let mut words = text(WIDTH / 2.0, -10.0, 13.0, Anchor::Middle, &self.title);
        for (share, label) in scales.x.ticks() {
            let x = WIDTH * share;
            lines += &format!("M{}v4", place((x, HEIGHT)));
            words += &text(x, HEIGHT + 17.0, 11.0, Anchor::Middle, &label);
        }
        for (share, label) in scales.y.ticks() {
            let y = HEIGHT * (1.0 - share);
            lines += &format!("M{}h-4", place((0.0, y)));
            words += &text(-8.0, y + 4.0, 11.0, Anchor::End, &label);
        }
        words += &text(WIDTH / 2.0, HEIGHT + 36.0, 12.0, Anchor::Middle, &self.x.label);
        words += &upward_text((-48.0, HEIGHT / 2.0), 12.0, &self.y.label);
        stroke(&lines, INK, 1.0, "") + &words
    }
}

impl Mark {
    /// What the axes have to hold.
    fn points(&self) -> Vec<(f64, f64)> {
        match self {
            Self::Curve { means, .. } => {
                means.iter().flat_map(|mean| [mean.centre(), mean.edge(1.0), mean.edge(-1.0)]).collect()
            }
            Self::Estimate { points, .. } | Self::Dots { points, .. } => points.clone(),
        }
    }

    fn band(&self, scales: &Scales) -> String {
        let Self::Curve { color, means } = self else { return String::new() };
        let above = means.iter().map(|mean| mean.edge(1.0));
        let below = means.iter().rev().map(|mean| mean.edge(-1.0));
        let outline = through(&scales.places(above.chain(below)));
        format!("<path d=\"{outline}\" fill=\"{}\" fill-opacity=\"0.18\"/>\n", color.hex())
    }

    fn line(&self, scales: &Scales) -> String {
        let (color, points, width, dashes) = match self {
            Self::Curve { color, means } => (color, means.iter().map(Mean::centre).collect(), 2.0, ""),
            Self::Estimate { color, points } => (color, points.clone(), 1.5, SHORT_DASHES),
            Self::Dots { .. } => return String::new(),
        };
        stroke(&through(&scales.places(points)), color.hex(), width, dashes)
    }

    fn markers(&self, scales: &Scales) -> String {
        let (color, mut places) = match self {
            Self::Curve { color, means } => {
                (*color, sparse(scales.places(means.iter().map(Mean::centre)), *color))
            }
            Self::Dots { color, points } => (*color, scales.places(points.iter().copied())),
            Self::Estimate { .. } => return String::new(),
        };
        // One at the edge is shown whole, so markers are not clipped but left out.
        places.retain(|(x, y)| (0.0..=WIDTH).contains(x) && (0.0..=HEIGHT).contains(y));
        places.into_iter().map(|place| marker(place, color)).collect()
    }
}

/// About six of the places, others for each colour, so that curves that lie on one another can be told apart.
fn sparse(places: Vec<(f64, f64)>, color: Color) -> Vec<(f64, f64)> {
    let spacing = places.len().div_ceil(6).max(1);
    let first = spacing * (1 + color as usize) / (1 + Color::ALL.len());
    places.into_iter().skip(first).step_by(spacing).collect()
}

/// Edged in white, to stand out where many lie together.
pub fn marker(at: (f64, f64), color: Color) -> String {
    let path = match color {
        Color::Blue => "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
        Color::Vermillion => "m-3.2 -3.2h6.4v6.4h-6.4z",
        Color::Green => "m0 -4.2l4.2 7.4h-8.4z",
        Color::Orange => "m0 -4.6l4.6 4.6l-4.6 4.6l-4.6 -4.6z",
        Color::Purple => "m0 4.2l4.2 -7.4h-8.4z",
        Color::Sky => "m-1.4 -4.2h2.8v2.8h2.8v2.8h-2.8v2.8h-2.8v-2.8h-2.8v-2.8h2.8z",
    };
    format!(
        "<path d=\"M{}{path}\" fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"0.7\"/>\n",
        place(at),
        color.hex()
    )
}
