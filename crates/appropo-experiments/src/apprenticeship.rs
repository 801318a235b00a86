//! Abbeel and Ng's experiment: an expert for a hidden reward in a gridworld, and what its apprentices are worth.

use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use appropo::constraint::Constraint;
use appropo::env::{World, gridworld};
use appropo::evaluate::best_measurement;
use appropo::method::{Apprenticeship as Method, ApprenticeshipAlgorithm as Algorithm, Budget};
use appropo::problem::Problem;
use appropo::random;
use appropo::set::{Bounds, Faces};
use appropo::solver::Round;
use appropo::theory;

use crate::Result;
use crate::figure::{Axis, Color, Figure, Key, Mark, Mean, Panel, Plot};

const GAMMA: f64 = 0.99;

/// What the worlds came to.
#[derive(Debug, Clone)]
pub struct Apprenticeship {
    /// One a world.
    worlds: Vec<Curves>,
}

/// One world: how much of the expert's value was missing, as a share of it.
#[derive(Debug, Clone)]
struct Curves {
    projection: Vec<f64>,
    mwal: Vec<f64>,
    lpal: f64,
    /// v* − margin of MWAL, and what its theorem allows, both in visits.
    shortfall: Vec<f64>,
    allowed: Vec<f64>,
}

/// Learns from the experts of the worlds of these seeds for so many iterations.
pub fn apprenticeship(seeds: impl Iterator<Item = u64>, rounds: usize) -> Result<Apprenticeship> {
    Ok(Apprenticeship { worlds: seeds.map(|seed| curves(seed, rounds)).collect::<Result<_>>()? })
}

fn curves(seed: u64, rounds: usize) -> Result<Curves> {
    let world = gridworld::world(gridworld::Layout::default(), &mut random::generator(seed))?;
    let weights = weights(&world);
    let plain = Problem::builder(world.clone()).discount(GAMMA).build()?;
    let z = best_measurement(&plain, "reward")?;
    let (expert, best) = (&z[..weights.len()], z[weights.len()]);
    let missing = |z: &[f64]| 1.0 - weights.iter().zip(z).map(|(w, z)| w * z).sum::<f64>() / best;
    let solve = |most: Vec<f64>, algorithm: Algorithm, watch: &mut dyn FnMut(&Round)| -> Result<_> {
        let set = Arc::new(Bounds::new(expert.to_vec(), most)?);
        let constraint = Constraint::new(["features"], set);
        let problem = Problem::builder(world.clone()).discount(GAMMA).constraint(constraint).build()?;
        let method = Method::default().algorithm(algorithm);
        let mut observer = |round: &Round| {
            watch(round);
            ControlFlow::Continue(())
        };
        Ok(problem.solve(&method, &Budget::default().rounds(rounds), 0, &mut observer)?.measurements)
    };
    let unbounded = || vec![f64::INFINITY; expert.len()];
    let faces = Faces::of(&Bounds::new(expert.to_vec(), unbounded())?);
    let (mut projection, mut mwal, mut shortfall, mut allowed) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    solve(expert.to_vec(), Algorithm::Projection, &mut |round| projection.push(missing(round.z_bar)))?;
    // Nothing is visited less than never or more than always.
    let width = 1.0 / (1.0 - GAMMA) + expert.iter().copied().fold(0.0, f64::max);
    solve(unbounded(), Algorithm::Mwal, &mut |round| {
        mwal.push(missing(round.z_bar));
        // Visits add up to the same for all policies: none is ahead of the expert everywhere, and v* = 0.
        shortfall.push(faces.as_ref().map_or(f64::NAN, |faces| -faces.margin(round.z_bar)));
        let regret = theory::adaptive_hedge_regret_bound(width, expert.len(), round.round);
        allowed.push(-theory::margin_bound(0.0, regret, round.round, 0.0, 0.0));
    })?;
    let lpal = missing(&solve(unbounded(), Algorithm::Lpal, &mut |_| {})?[..expert.len()]);
    Ok(Curves { projection, mwal, lpal, shortfall, allowed })
}

/// The weights of the hidden reward, by macro-cell.
fn weights(world: &World) -> Vec<f64> {
    let model = &world.model;
    let count = model.measures().range("features").map_or(0, |range| range.len());
    let mut weights = vec![0.0; count];
    for state in 0..model.states() {
        for transition in model.row(state, 0) {
            let z = model.outcome(transition.outcome);
            let value = |entry: usize| z.iter().find(|(i, _)| *i as usize == entry).map_or(0.0, |(_, v)| *v);
            if let Some((feature, _)) = z.first().filter(|(feature, _)| (*feature as usize) < count) {
                weights[*feature as usize] = value(count);
            }
        }
    }
    weights
}

impl Apprenticeship {
    /// Whether LPAL is exact and MWAL within its theorem in every iteration of every world.
    pub fn is_as_proved(&self) -> bool {
        let is_within =
            |world: &Curves| world.shortfall.iter().zip(&world.allowed).all(|(found, most)| found <= most);
        self.worlds.iter().all(|world| world.lpal.abs() <= 1e-6 && is_within(world))
    }

    /// The share of the expert's value that is missing: the mean over worlds, and the largest.
    pub fn table(&self) -> String {
        let mut text =
            String::from("| Iterations | projection | `mwal` | `mwal`: v* − margin | its theorem |\n");
        text += "| --- | --- | --- | --- | --- |\n";
        let most = self.worlds.iter().map(|world| world.projection.len().min(world.mwal.len())).min();
        for count in [1, 3, 10, 30, 100, 300, 1000].into_iter().filter(|count| most >= Some(*count)) {
            let mut row = format!("| {count} ");
            for (curve, factor, unit) in
                [(Self::PROJECTION, 100.0, "%"), (Self::MWAL, 100.0, "%"), (Self::SHORTFALL, 1.0, "")]
            {
                let values: Vec<f64> =
                    self.worlds.iter().map(|world| factor * curve(world)[count - 1]).collect();
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                let largest = values.iter().copied().fold(0.0, f64::max);
                let _ = write!(row, "| {mean:.3}{unit} ({largest:.3}{unit}) ");
            }
            let allowed =
                self.worlds.iter().map(|world| world.allowed[count - 1]).fold(f64::INFINITY, f64::min);
            let _ = writeln!(text, "{row}| {allowed:.1} |");
        }
        let lpal = self.worlds.iter().map(|world| world.lpal.abs()).fold(0.0, f64::max);
        let _ =
            writeln!(text, "\nlpal: {lpal:.1e} of the expert's value at most is missing, in one programme");
        text
    }

    const PROJECTION: fn(&Curves) -> &Vec<f64> = |world| &world.projection;
    const MWAL: fn(&Curves) -> &Vec<f64> = |world| &world.mwal;
    const SHORTFALL: fn(&Curves) -> &Vec<f64> = |world| &world.shortfall;
    const ALLOWED: fn(&Curves) -> &Vec<f64> = |world| &world.allowed;

    /// The curves as a figure.
    pub fn figure(&self) -> String {
        let value = Plot {
            title: "the expert's value that is missing".into(),
            x: Axis { label: "iterations".into(), ..Axis::default() },
            y: Axis { label: "log₁₀ of its share".into(), range: Some((-6.0, 0.0)), bound: None },
            marks: vec![
                Mark::Curve { color: Color::Blue, means: self.means(Self::PROJECTION) },
                Mark::Curve { color: Color::Vermillion, means: self.means(Self::MWAL) },
            ],
        };
        let margin = Plot {
            title: "MWAL: the widest margin less its own".into(),
            x: Axis { label: "iterations".into(), ..Axis::default() },
            y: Axis { label: "log₁₀ of the difference".into(), range: Some((-2.0, 4.0)), bound: None },
            marks: vec![
                Mark::Curve { color: Color::Vermillion, means: self.means(Self::SHORTFALL) },
                Mark::Curve { color: Color::Green, means: self.means(Self::ALLOWED) },
            ],
        };
        Figure {
            title: String::new(),
            columns: 2,
            panels: vec![Panel::Plot(value), Panel::Plot(margin)],
            legend: vec![
                (Key::Series(Color::Blue), "projection".into()),
                (Key::Series(Color::Vermillion), "mwal".into()),
                (Key::Series(Color::Green), "what its theorem allows".into()),
            ],
        }
        .svg()
    }

    /// Means and deviations of the logarithms.
    fn means(&self, curve: fn(&Curves) -> &Vec<f64>) -> Vec<Mean> {
        let rounds = self.worlds.iter().map(|world| curve(world).len()).min().unwrap_or(0);
        let at = |place: usize| {
            let logarithm = |world: &Curves| curve(world)[place].max(1e-12).log10();
            let values: Vec<f64> = self.worlds.iter().map(logarithm).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
            Mean { x: (place + 1) as f64, mean, deviation: square.sqrt() }
        };
        (0..rounds).map(at).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_proved_is_seen() {
        let found = apprenticeship(40..41, 12).unwrap();
        assert!(found.is_as_proved(), "{}", found.table());
        assert!(found.table().contains("| 10 |") && found.figure().starts_with("<svg"));
        let mut wrong = found.clone();
        wrong.worlds[0].allowed[11] = 0.0;
        assert!(!wrong.is_as_proved());
        let mut wrong = found;
        wrong.worlds[0].lpal = 1e-5;
        assert!(!wrong.is_as_proved());
    }
}
