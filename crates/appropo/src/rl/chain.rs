use std::cmp::Ordering;
use std::ops::Range;

use super::preconditioner::{Preconditioner, Split, Triangle};
use crate::env::TabularMdp;
use crate::error::{Error, Result};
use crate::vector::{add_scaled, largest, wide};

/// I − γP for the Markov chain that a policy makes of a model, over the decision states.
///
/// States are numbered so that each comes after its most likely successor. A Gauss–Seidel sweep in that order
/// carries values back along whole trajectories, which makes it a strong preconditioner. Where nothing is discounted, steps to and
/// fro go on for long, and incomplete factors take account of them.
pub(super) struct Chain {
    /// Number in the chain → state.
    order: Vec<u32>,
    matrix: Split,
    preconditioner: Preconditioner,
    /// Runs of a solve before giving up.
    runs: usize,
}

/// Runs of BiCGSTAB, or of sweeps, before giving up.
const RUNS: usize = 10_000;
const FEW_RUNS: usize = 6;
const SWEEPS: usize = 50;
/// Iterations of a run.
const ITERATIONS: usize = 300;
/// Iterations of a rough evaluation, and how much of the residual it leaves.
const ROUGH_ITERATIONS: usize = 60;
const ROUGH: f64 = 0.01;
/// Rewards below this count as 0: their rounding is not relative any more.
const SMALLEST: f64 = 1e-290;

impl Chain {
    /// The chain of `policy(state, action)`, the probability of the action.
    pub(super) fn new(
        model: &TabularMdp,
        gamma: f64,
        decisions: &[bool],
        policy: impl Fn(usize, usize) -> f64,
    ) -> Self {
        let states = (0..decisions.len()).filter(|&s| decisions[s]);
        Self::of(model, gamma, (0..decisions.len(), states), |state| chosen(model, &policy, state), |_| 0)
    }

    /// The chain of one action a state.
    pub(super) fn deterministic(model: &TabularMdp, gamma: f64, decisions: &[bool], actions: &[u32]) -> Self {
        let states = (0..decisions.len()).filter(|&s| decisions[s]);
        Self::of(model, gamma, (0..decisions.len(), states), |state| taken(model, actions, state), |_| 0)
    }

    /// The chain of the choices of each state with their probabilities, over the states given, which are in `range`. Those of one
    /// component stand together, and none leads to a later component.
    pub(super) fn of<I: Iterator<Item = (usize, f64)>>(
        model: &TabularMdp,
        gamma: f64,
        (range, states): (Range<usize>, impl Iterator<Item = usize> + Clone),
        chosen: impl Fn(usize) -> I,
        component: impl Fn(usize) -> u32,
    ) -> Self {
        let successors = |state: usize| {
            chosen(state).flat_map(move |(choice, chosen)| {
                let row = model.outcomes_of(choice).successors();
                row.map(move |(p, next)| (next, gamma * chosen * p))
            })
        };
        let chain = Self::of_rows((range, states), successors, component);
        match gamma < 1.0 {
            true => chain,
            false => Self { preconditioner: Preconditioner::incomplete(&chain.matrix), ..chain },
        }
    }

    /// The same by the rows of γP.
    pub(super) fn of_rows<I: Iterator<Item = (usize, f64)>>(
        (range, states): (Range<usize>, impl Iterator<Item = usize> + Clone),
        successors: impl Fn(usize) -> I,
        component: impl Fn(usize) -> u32,
    ) -> Self {
        const OUTSIDE: u32 = u32::MAX;
        const FREE: u32 = u32::MAX - 1;
        const ON_PATH: u32 = u32::MAX - 2;
        let start = range.start;
        let mut number = vec![OUTSIDE; range.len()];
        let mut count = 0;
        for state in states.clone() {
            number[state - start] = FREE;
            count += 1;
        }
        let at = |next: usize| next.wrapping_sub(start);
        let likeliest = |state: usize, number: &[u32]| {
            let is_inside = |next: usize| number.get(at(next)).is_some_and(|number| *number != OUTSIDE);
            let others = successors(state).filter(|(next, _)| {
                *next != state && is_inside(*next) && component(*next) == component(state)
            });
            others.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(next, _)| next)
        };
        let mut order = Vec::with_capacity(count);
        let mut path = Vec::new();
        for state in states {
            let mut next = Some(state);
            while let Some(here) = next.filter(|&s| number[at(s)] == FREE) {
                number[at(here)] = ON_PATH;
                path.push(here as u32);
                next = likeliest(here, &number);
            }
            for here in path.drain(..).rev() {
                number[at(here as usize)] = order.len() as u32;
                order.push(here);
            }
        }
        let (mut earlier, mut later) = (Triangle::new(order.len()), Triangle::new(order.len()));
        let mut diagonal = Vec::with_capacity(order.len());
        for (i, &state) in order.iter().enumerate() {
            let mut stay = 0.0;
            for (next, weight) in successors(state as usize) {
                let Some(&column) = number.get(at(next)).filter(|column| **column != OUTSIDE) else {
                    continue;
                };
                match (column as usize).cmp(&i) {
                    Ordering::Less => earlier.push(column, weight),
                    Ordering::Equal => stay += weight,
                    Ordering::Greater => later.push(column, weight),
                }
            }
            diagonal.push(1.0 - stay);
            earlier.end_row();
            later.end_row();
        }
        let matrix = Split { earlier, later, diagonal };
        Self { order, preconditioner: Preconditioner::lower(&matrix), matrix, runs: RUNS }
    }

    /// The same chain, whose solves give up soon.
    pub(super) fn impatient(self) -> Self {
        Self { runs: FEW_RUNS, ..self }
    }

    /// V with (I − γP)V = r, to a relative residual of `accuracy` or rounding. `values` holds a first guess and
    /// receives the solution.
    pub(super) fn values(
        &self,
        reward: impl Fn(usize) -> f64,
        accuracy: f64,
        values: &mut [f64],
    ) -> Result<()> {
        let (b, mut x) = (self.gather(reward), self.gather(|s| values[s]));
        self.solve(&b, &mut x, false, accuracy)?;
        self.scatter(&x, values);
        Ok(())
    }

    /// Brings `values` closer to V with (I − γP)V = r, at the price of a few sweeps. Returns whether it could.
    pub(super) fn approach(&self, reward: impl Fn(usize) -> f64, values: &mut [f64]) -> bool {
        if self.matrix.diagonal.iter().any(|d| *d <= 0.0) {
            return false;
        }
        let (b, mut x) = (self.gather(reward), self.gather(|s| values[s]));
        let mut r = vec![0.0; b.len()];
        self.matrix.residual(&b, &x, false, &mut r);
        let before = largest(&r);
        let least = 4.0 * f64::EPSILON * largest(&b).max(largest(&x)).max(SMALLEST);
        self.krylov(&r, &mut x, false, (ROUGH * before).max(least), ROUGH_ITERATIONS);
        self.matrix.residual(&b, &x, false, &mut r);
        // Written so that NaN is no progress.
        let is_closer = largest(&r) <= 0.5 * before;
        if is_closer {
            self.scatter(&x, values);
        }
        is_closer
    }

    /// ρ with (I − γP)ᵀρ = β: the discounted number of visits to each state.
    pub(super) fn visits(&self, start: &[(usize, f64)], visits: &mut [f64]) -> Result<()> {
        let b = self.starting(start, visits.len());
        self.transposed(&b, b.clone(), visits)
    }

    /// The same from a guess, which `visits` holds.
    pub(super) fn visits_from(&self, start: &[(usize, f64)], visits: &mut [f64]) -> Result<()> {
        let b = self.starting(start, visits.len());
        let guess = self.gather(|s| visits[s]);
        self.transposed(&b, guess, visits)
    }

    fn starting(&self, start: &[(usize, f64)], states: usize) -> Vec<f64> {
        let mut beta = vec![0.0; states];
        for &(state, probability) in start {
            beta[state] += probability;
        }
        self.gather(|s| beta[s])
    }

    fn transposed(&self, b: &[f64], mut x: Vec<f64>, visits: &mut [f64]) -> Result<()> {
        self.solve(b, &mut x, true, 0.0)?;
        self.scatter(&x, visits);
        Ok(())
    }

    fn gather(&self, of: impl Fn(usize) -> f64) -> Vec<f64> {
        self.order.iter().map(|&s| of(s as usize)).collect()
    }

    fn scatter(&self, x: &[f64], out: &mut [f64]) {
        for (&state, &value) in self.order.iter().zip(x) {
            out[state as usize] = value;
        }
    }

    /// Runs of BiCGSTAB from the true residual, with plain iterations of M⁻¹ between them where one makes no headway: those
    /// converge, however slowly.
    fn solve(&self, b: &[f64], x: &mut [f64], transposed: bool, accuracy: f64) -> Result<()> {
        let accuracy = accuracy.max(4.0 * f64::EPSILON);
        if self.matrix.diagonal.iter().any(|d| *d <= 0.0) {
            return Err(Error::Evaluation { residual: f64::INFINITY });
        }
        let mut r = vec![0.0; b.len()];
        let mut last = f64::INFINITY;
        for _ in 0..self.runs {
            self.matrix.residual(b, x, transposed, &mut r);
            let size = largest(b).max(largest(x)).max(SMALLEST);
            let residual = largest(&r);
            if residual <= accuracy * size {
                return Ok(());
            }
            if !residual.is_finite() {
                break;
            }
            if residual > 0.5 * last {
                // No better by rounding, or the Krylov space is of no use here.
                if residual <= 64.0 * f64::EPSILON * size {
                    return Ok(());
                }
                let (mut rest, mut step) = (vec![0.0; r.len()], vec![0.0; r.len()]);
                for _ in 0..SWEEPS {
                    self.preconditioner.solve(&self.matrix, &r, transposed, &mut rest, &mut step);
                    add_scaled(x, 1.0, &step);
                    self.matrix.residual(b, x, transposed, &mut r);
                }
                last = f64::INFINITY;
            } else {
                last = residual;
                self.krylov(&r, x, transposed, accuracy * size, ITERATIONS);
            }
        }
        Err(Error::Evaluation { residual: largest(&r) })
    }

    /// One run of BiCGSTAB (van der Vorst 1992), right-preconditioned, which improves x for the residual r0.
    fn krylov(&self, r0: &[f64], x: &mut [f64], transposed: bool, enough: f64, iterations: usize) {
        wide(
            #[inline(always)]
            || self.iterate(r0, x, transposed, enough, iterations),
        );
    }

    #[inline(always)]
    fn iterate(&self, r0: &[f64], x: &mut [f64], transposed: bool, enough: f64, iterations: usize) {
        let n = x.len();
        let mut r = r0.to_vec();
        let (mut p, mut v) = (vec![0.0; n], vec![0.0; n]);
        let (mut y, mut t) = (vec![0.0; n], vec![0.0; n]);
        let (mut rho, mut alpha, mut omega) = (1.0, 1.0, 1.0);
        let (mut best, mut kept) = (largest(r0), x.to_vec());
        for _ in 0..iterations {
            let next = dot(r0, &r);
            let beta = next / rho * (alpha / omega);
            rho = next;
            for i in 0..n {
                p[i] = r[i] + beta * (p[i] - omega * v[i]);
            }
            self.preconditioner.times(&self.matrix, &p, transposed, &mut y, &mut v);
            alpha = rho / dot(r0, &v);
            if !alpha.is_finite() {
                break;
            }
            add_scaled(x, alpha, &y);
            add_scaled(&mut r, -alpha, &v);
            self.preconditioner.times(&self.matrix, &r, transposed, &mut y, &mut t);
            omega = dot(&t, &r) / dot(&t, &t);
            if !omega.is_finite() {
                break;
            }
            add_scaled(x, omega, &y);
            add_scaled(&mut r, -omega, &t);
            let residual = largest(&r);
            if residual <= enough {
                return;
            }
            if residual < 0.1 * best {
                best = residual;
                kept.copy_from_slice(x);
            }
            if !(residual <= 1e3 * best) || omega == 0.0 {
                break;
            }
        }
        x.copy_from_slice(&kept);
    }
}

/// The choices of a state that a policy takes, with their probabilities.
pub(super) fn chosen(
    model: &TabularMdp,
    policy: impl Fn(usize, usize) -> f64,
    state: usize,
) -> impl Iterator<Item = (usize, f64)> {
    let actions = (0..model.actions()).map(move |action| (action, policy(state, action)));
    actions.filter(|(_, chosen)| *chosen > 0.0).map(move |(action, p)| (model.choice(state, action), p))
}

/// The same of a policy that takes one action a state.
pub(super) fn taken(
    model: &TabularMdp,
    actions: &[u32],
    state: usize,
) -> impl Iterator<Item = (usize, f64)> + use<> {
    std::iter::once((model.choice(state, actions[state] as usize), 1.0))
}

/// The inner product, as four sums side by side.
#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (a, b) in a.0.iter().zip(b.0) {
        for i in 0..4 {
            sums[i] += a[i] * b[i];
        }
    }
    let rest: f64 = a.1.iter().zip(b.1).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{garnet, mars_rover};
    use crate::random;

    /// Both solves, judged by their residuals, on chains that mix, end or hardly ever end.
    #[test]
    fn values_and_visits_solve_their_equations() {
        let mut rng = random::generator(1);
        let size = garnet::Size { states: 40, actions: 3, branching: 4, measures: 1 };
        let worlds = [
            (garnet::world(size, &mut rng).unwrap(), 0.999),
            (mars_rover::world("8x8", 0.05).unwrap(), 0.99),
            (mars_rover::world("sparse-30x30", 0.05).unwrap(), 0.9999),
            (mars_rover::world("8x8", 0.05).unwrap(), 1.0),
        ];
        for (world, gamma) in worlds {
            let model = &world.model;
            let decisions = super::super::decision_states(model);
            let choices: Vec<usize> =
                (0..model.states()).map(|_| random::below(model.actions(), &mut rng)).collect();
            let policy = |s: usize, a: usize| f64::from(choices[s] == a);
            let chain = Chain::new(model, gamma, &decisions, policy);
            let reward = |s: usize| (s as f64).sin();
            let mut values = vec![0.0; model.states()];
            chain.values(reward, 0.0, &mut values).unwrap();
            let mut visits = vec![0.0; model.states()];
            chain.visits(model.start(), &mut visits).unwrap();
            let scale = values.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
            let mut arriving = vec![0.0; model.states()];
            for s in (0..model.states()).filter(|&s| decisions[s]) {
                let row = model.row(s, choices[s]);
                let future: f64 = row.iter().map(|t| t.probability * values[t.next as usize]).sum();
                assert!((reward(s) + gamma * future - values[s]).abs() <= 1e-12 * scale);
                for t in row {
                    arriving[t.next as usize] += gamma * t.probability * visits[s];
                }
            }
            let total: f64 = visits.iter().sum();
            for s in (0..model.states()).filter(|&s| decisions[s]) {
                let start: f64 = model.start().iter().filter(|(b, _)| *b == s).map(|(_, p)| p).sum();
                assert!((visits[s] - start - arriving[s]).abs() <= 1e-12 * total);
            }
            // β·V = ρ·r: the two solves answer the same question.
            let (state, _) = model.start()[0];
            let by_visits: f64 = (0..model.states()).map(|s| visits[s] * reward(s)).sum();
            assert!((values[state] - by_visits).abs() <= 1e-9 * scale.max(total));
        }
    }
}
