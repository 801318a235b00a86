//! The target set as it is seen in the plane of two of the page's numbers.

use std::f64::consts::TAU;

use appropo::outcome::History;
use appropo::problem::Problem;
use appropo::scalars::{FAR, Scalar, ScalarKind};
use appropo::set::ConvexSet;

use crate::page::{Measure, Outline};

type Point = [f64; 2];
type Range = (f64, f64);

/// Directions from which the set is looked at, and from how far: from far away one sees the corners, from near by
/// the curves of a set that has no end.
const DIRECTIONS: usize = 120;
const RADII: [f64; 4] = [1.0, 10.0, 1e3, FAR];
/// The room round what the run saw, so large that a set without end leaves every view of it.
const ROOM: f64 = 3.0;

/// The outline in the plane of each two numbers, where it is known.
pub fn all(
    problem: &Problem,
    history: &History,
    z_bar: &[f64],
    scalars: &[Scalar],
    measures: &[Measure],
) -> Vec<Outline> {
    let windows: Vec<Range> =
        measures.iter().enumerate().map(|(i, measure)| window(history, i, measure)).collect();
    let mut outlines = Vec::new();
    for x in 0..scalars.len() {
        for y in x + 1..scalars.len() {
            let corners = match (&scalars[x].kind, &scalars[y].kind) {
                (ScalarKind::Entry(a), ScalarKind::Entry(b)) if a.len() == 1 && b.len() == 1 => {
                    hull(boundary(problem, z_bar, [a[0], b[0]], [windows[x], windows[y]]))
                }
                (ScalarKind::Slack(k), ScalarKind::Entry(held))
                | (ScalarKind::Entry(held), ScalarKind::Slack(k))
                    if held.iter().any(|(place, _)| problem.target().ranges()[*k].contains(place)) =>
                {
                    continue;
                }
                _ => {
                    let far = |v: f64| v.clamp(-FAR, FAR);
                    let ((left, right), (low, high)) = (scalars[x].range(problem), scalars[y].range(problem));
                    let (left, right, low, high) = (far(left), far(right), far(low), far(high));
                    if left > right || low > high {
                        continue;
                    }
                    vec![[left, low], [right, low], [right, high], [left, high]]
                }
            };
            let outline = clip(corners, [windows[x], windows[y]]);
            outlines.push(Outline { x, y, outline });
        }
    }
    outlines
}

/// What the run saw of a number, its thresholds, and room on both sides.
fn window(history: &History, scalar: usize, measure: &Measure) -> Range {
    let seen = history.lines.iter().filter_map(|line| line.mixture.get(scalar).copied());
    let beside = [Some(measure.value), measure.lower, measure.upper]
        .into_iter()
        .chain(measure.interval.iter().flatten().map(|end| Some(*end)));
    let (low, high) = seen
        .chain(beside.flatten())
        .filter(|v| v.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let room = ROOM * (high - low).max(1e-3 * (1.0 + high.abs()));
    (low - room, high + room)
}

/// Points on the outline of the set: the nearest ones to places all round it.
fn boundary(problem: &Problem, from: &[f64], held: [(usize, f64); 2], windows: [Range; 2]) -> Vec<Point> {
    let set = problem.target().set();
    let mut nearest = vec![0.0; set.dim()];
    let mut points = Vec::new();
    for k in 0..DIRECTIONS {
        let (up, across) = (TAU * k as f64 / DIRECTIONS as f64).sin_cos();
        for radius in RADII {
            let mut place = from.to_vec();
            for (((entry, factor), (low, high)), way) in held.iter().zip(windows).zip([across, up]) {
                place[*entry] = factor * (0.5 * (low + high) + radius * way * (high - low));
            }
            set.project(&place, &mut nearest);
            let point = held.map(|(entry, factor)| nearest[entry] / factor);
            if point.iter().all(|v| v.is_finite()) {
                points.push(point);
            }
        }
    }
    points
}

/// How far `c` lies to the left of the line from `a` to `b`, times the line's length.
fn turn(a: Point, b: Point, c: Point) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// The corners of the convex hull, anticlockwise (Andrew's monotone chain).
fn hull(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    points.dedup();
    let half = |points: &mut dyn Iterator<Item = Point>| {
        let mut chain: Vec<Point> = Vec::new();
        for point in points {
            while chain.len() > 1 && turn(chain[chain.len() - 2], chain[chain.len() - 1], point) <= 0.0 {
                chain.pop();
            }
            chain.push(point);
        }
        chain.pop();
        chain
    };
    if points.len() < 3 {
        return points;
    }
    let mut corners = half(&mut points.iter().copied());
    corners.extend(half(&mut points.iter().rev().copied()));
    corners
}

/// The part of a convex polygon inside the window (Sutherland and Hodgman).
fn clip(mut corners: Vec<Point>, windows: [Range; 2]) -> Vec<Point> {
    for (axis, (low, high)) in windows.into_iter().enumerate() {
        for (sign, bound) in [(1.0, low), (-1.0, high)] {
            let inside = |p: &Point| sign * (p[axis] - bound) >= 0.0;
            let mut kept = Vec::new();
            for (i, b) in corners.iter().enumerate() {
                let a = &corners[(i + corners.len() - 1) % corners.len()];
                if inside(a) != inside(b) {
                    let share = (bound - a[axis]) / (b[axis] - a[axis]);
                    let mut cut = [a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])];
                    cut[axis] = bound;
                    kept.push(cut);
                }
                if inside(b) {
                    kept.push(*b);
                }
            }
            corners = kept;
        }
    }
    corners.dedup();
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(corners: &[Point]) -> f64 {
        (1..corners.len().max(2) - 1).map(|i| 0.5 * turn(corners[0], corners[i], corners[i + 1])).sum()
    }

    #[test]
    fn a_hull_has_only_corners() {
        let square = vec![[0.0, 0.0], [1.0, 1.0], [0.5, 0.5], [1.0, 0.0], [0.0, 1.0], [0.5, 0.0], [0.0, 0.0]];
        assert_eq!(hull(square), [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]);
        assert_eq!(hull(vec![[2.0, 1.0]; 3]), [[2.0, 1.0]]);
    }

    /// Cutting each coordinate by itself bent the edge of a half-plane.
    #[test]
    fn an_oblique_edge_stays_oblique() {
        let half_plane = vec![[-FAR, -FAR], [FAR + 1.0, -FAR], [-FAR, FAR + 1.0]];
        let seen = clip(half_plane, [(0.0, 2.0), (0.0, 2.0)]);
        assert!(seen.iter().all(|[x, y]| x + y <= 1.0 + 1e-6), "{seen:?}");
        assert!((area(&seen) - 0.5).abs() < 1e-6);
        assert!(clip(vec![[3.0, 3.0], [4.0, 3.0], [4.0, 4.0]], [(0.0, 2.0), (0.0, 2.0)]).is_empty());
    }
}
