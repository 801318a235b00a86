//! Grid worlds, plain or shaded by how often each cell is visited.

use appropo::env::Grid;

use super::svg::{Anchor, INK, number, place, rectangle, stroke, text, translate, upward_text};
use super::{Axis, HEIGHT};

const SIDE: f64 = HEIGHT;
const TOP: f64 = 28.0;
const GAP: f64 = 16.0;
const BAR: f64 = 12.0;
const BAR_WITH_LABELS: f64 = 72.0;
const ROCK: &str = "#4d4d4d";
const HATCH: &str = "#8a8a8a";
const GRID: &str = "#b8b8b8";

#[derive(Clone, Debug)]
pub struct Map {
    pub title: String,
    pub grid: Grid,
    pub heat: Option<Heat>,
}

#[derive(Clone, Debug)]
pub struct Heat {
    pub label: String,
    /// One a cell, row by row.
    pub values: Vec<f64>,
    /// What the darkest shade stands for, the largest value unless given; one for all makes maps comparable.
    pub most: Option<f64>,
}

impl Heat {
    fn axis(&self) -> Axis {
        let largest = self.values.iter().copied().fold(0.0, f64::max);
        Axis { range: Some((0.0, self.most.unwrap_or(largest))), ..Axis::default() }
    }
}

impl Map {
    pub fn size(&self) -> (f64, f64) {
        let bar = if self.heat.is_some() { BAR_WITH_LABELS } else { 0.0 };
        (GAP + SIDE + bar + GAP, TOP + SIDE + GAP)
    }

    pub fn svg(&self) -> String {
        let Grid { rows, columns, cells } = &self.grid;
        let side = SIDE / (*rows).max(*columns).max(1) as f64;
        let (width, height) = (side * *columns as f64, side * *rows as f64);
        let scale = self.heat.as_ref().map(|heat| (heat, heat.axis().scale([].into_iter())));

        let (mut ground, mut letters) = (String::new(), String::new());
        for (cell, letter) in (0..rows * columns).zip(cells) {
            let (x, y) = (side * (cell % columns) as f64, side * (cell / columns) as f64);
            if matches!(letter, 'H' | 'C') {
                ground += &(rectangle((x, y), (side, side), ROCK) + &hatching((x, y), side));
                continue;
            }
            let value = scale.as_ref().and_then(|(heat, scale)| Some(scale.share(*heat.values.get(cell)?)));
            let share = value.filter(|share| share.is_finite()).unwrap_or(0.0);
            ground += &rectangle((x, y), (side, side), &shade(share));
            if *letter != 'F' {
                let color = if share > 0.5 { "#ffffff" } else { INK };
                let letter =
                    text(x + 0.5 * side, y + 0.71 * side, 0.58 * side, Anchor::Middle, &letter.to_string());
                letters += &format!("<g fill=\"{color}\">{letter}</g>\n");
            }
        }
        let across = (1..*rows).map(|row| format!("M0 {}H{}", number(side * row as f64), number(width)));
        let down =
            (1..*columns).map(|column| format!("M{} 0V{}", number(side * column as f64), number(height)));
        let lines = stroke(&across.chain(down).collect::<String>(), GRID, 0.6, "");
        let frame = stroke(&format!("M0 0H{}V{}H0Z", number(width), number(height)), INK, 1.0, "");

        let map =
            translate((SIDE - width) / 2.0, (SIDE - height) / 2.0, &(ground + &lines + &letters + &frame));
        let title = text(SIDE / 2.0, -10.0, 13.0, Anchor::Middle, &self.title);
        let bar = scale.map(|(heat, scale)| bar(&heat.label, &scale.ticks())).unwrap_or_default();
        translate(GAP, TOP, &(title + &map + &translate(SIDE + 10.0, 0.0, &bar)))
    }
}

/// From white by the palette's blue to a blue near black: darker is more in grey as well.
fn shade(share: f64) -> String {
    const STOPS: [[f64; 3]; 4] = [[255.0; 3], [138.0, 196.0, 228.0], [0.0, 114.0, 178.0], [3.0, 36.0, 77.0]];
    let position = 3.0 * share.clamp(0.0, 1.0);
    let low = (position as usize).min(2);
    let [red, green, blue] = [0, 1, 2].map(|part| {
        let (from, to) = (STOPS[low][part], STOPS[low + 1][part]);
        (from + (to - from) * (position - low as f64)).round() as u8
    });
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Tells a rock from a dark shade.
fn hatching((x, y): (f64, f64), side: f64) -> String {
    let lines = [(0.0, 0.5), (0.0, 1.0), (0.5, 1.0)].map(|(from, to)| {
        format!("M{}L{}", place((x + from * side, y + to * side)), place((x + to * side, y + from * side)))
    });
    stroke(&lines.concat(), HATCH, 1.0, "")
}

fn bar(label: &str, ticks: &[(f64, String)]) -> String {
    const STRIPS: usize = 110;
    // Each strip runs on under those that follow, so that no seams show between them.
    let strip = |strip: usize| {
        let y = SIDE * strip as f64 / STRIPS as f64;
        let share = 1.0 - strip as f64 / (STRIPS - 1) as f64;
        rectangle((0.0, y), (BAR, SIDE - y), &shade(share))
    };
    let mut shapes: String = (0..STRIPS).map(strip).collect();
    shapes += &stroke(&format!("M0 0H{BAR}V{SIDE}H0Z"), INK, 0.8, "");
    for (share, label) in ticks {
        let y = SIDE * (1.0 - share);
        shapes += &stroke(&format!("M{BAR} {}h3", number(y)), INK, 1.0, "");
        shapes += &text(BAR + 6.0, y + 4.0, 10.0, Anchor::Start, label);
    }
    shapes + &upward_text((BAR + 50.0, SIDE / 2.0), 11.0, label)
}
