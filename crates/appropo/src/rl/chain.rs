use crate::env::TabularMdp;
use crate::error::{Error, Result};
use crate::vector::{add_scaled, dot};

/// I − γP for the Markov chain that a policy makes of a model, over the decision states.
///
/// States are numbered so that each comes after its most likely successor. A Gauss–Seidel sweep in that order
/// carries values back along whole trajectories, which makes it a strong preconditioner.
pub(super) struct Chain {
    /// Number in the chain → state.
    order: Vec<usize>,
    rows: Vec<usize>,
    /// Successor and γP, without the diagonal.
    entries: Vec<(u32, f64)>,
    /// 1 − γP(s, s).
    diagonal: Vec<f64>,
}

/// Runs of BiCGSTAB, or of sweeps, before giving up.
const RUNS: usize = 10_000;
const SWEEPS: usize = 50;
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
        let successors = |state: usize| {
            let policy = &policy;
            (0..model.actions())
                .map(move |action| (action, policy(state, action)))
                .filter(|(_, chosen)| *chosen > 0.0)
                .flat_map(move |(action, chosen)| model.row(state, action).iter().map(move |t| (t, chosen)))
                .filter(|(t, _)| decisions[t.next as usize])
                .map(move |(t, chosen)| (t.next as usize, gamma * chosen * t.probability))
        };
        let likeliest = |state: usize| {
            let others = successors(state).filter(|(next, _)| *next != state);
            others.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(next, _)| next)
        };
        let mut number = vec![u32::MAX; decisions.len()];
        let mut order = Vec::new();
        let mut path = Vec::new();
        for state in 0..decisions.len() {
            let mut next = Some(state).filter(|&s| decisions[s]);
            while let Some(here) = next.filter(|&s| number[s] == u32::MAX) {
                number[here] = u32::MAX - 1;
                path.push(here);
                next = likeliest(here);
            }
            for here in path.drain(..).rev() {
                number[here] = order.len() as u32;
                order.push(here);
            }
        }
        let mut chain = Self { rows: vec![0], entries: Vec::new(), diagonal: Vec::new(), order: Vec::new() };
        for &state in &order {
            let mut stay = 0.0;
            for (next, weight) in successors(state) {
                if next == state {
                    stay += weight;
                } else {
                    chain.entries.push((number[next], weight));
                }
            }
            chain.diagonal.push(1.0 - stay);
            chain.rows.push(chain.entries.len());
        }
        chain.order = order;
        chain
    }

    /// V with (I − γP)V = r, to a relative residual of `accuracy` or rounding. `values` holds a first guess and
    /// receives the solution; other states get 0.
    pub(super) fn values(
        &self,
        reward: impl Fn(usize) -> f64,
        accuracy: f64,
        values: &mut [f64],
    ) -> Result<()> {
        let b: Vec<f64> = self.order.iter().map(|&s| reward(s)).collect();
        let mut x: Vec<f64> = self.order.iter().map(|&s| values[s]).collect();
        self.solve(&b, &mut x, false, accuracy)?;
        self.scatter(&x, values);
        Ok(())
    }

    /// ρ with (I − γP)ᵀρ = β: the discounted number of visits to each state.
    pub(super) fn visits(&self, start: &[(usize, f64)], visits: &mut [f64]) -> Result<()> {
        let mut beta = vec![0.0; visits.len()];
        for &(state, probability) in start {
            beta[state] += probability;
        }
        let b: Vec<f64> = self.order.iter().map(|&s| beta[s]).collect();
        let mut x = b.clone();
        self.solve(&b, &mut x, true, 0.0)?;
        self.scatter(&x, visits);
        Ok(())
    }

    fn scatter(&self, x: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (&state, &value) in self.order.iter().zip(x) {
            out[state] = value;
        }
    }

    fn row(&self, i: usize) -> &[(u32, f64)] {
        &self.entries[self.rows[i]..self.rows[i + 1]]
    }

    /// out = b − A x, or with Aᵀ.
    fn residual(&self, b: &[f64], x: &[f64], transposed: bool, out: &mut [f64]) {
        out.copy_from_slice(b);
        for i in 0..x.len() {
            out[i] -= self.diagonal[i] * x[i];
            if transposed {
                for &(j, c) in self.row(i) {
                    out[j as usize] += c * x[i];
                }
            } else {
                out[i] += self.row(i).iter().map(|&(j, c)| c * x[j as usize]).sum::<f64>();
            }
        }
    }

    /// Solves M x = x in place, where M is the diagonal and the part of A that points to earlier states.
    fn precondition(&self, x: &mut [f64], transposed: bool) {
        if transposed {
            for i in (0..x.len()).rev() {
                x[i] /= self.diagonal[i];
                for &(j, c) in self.row(i) {
                    if (j as usize) < i {
                        x[j as usize] += c * x[i];
                    }
                }
            }
        } else {
            for i in 0..x.len() {
                let earlier = self.row(i).iter().filter(|(j, _)| (*j as usize) < i);
                x[i] = (x[i] + earlier.map(|&(j, c)| c * x[j as usize]).sum::<f64>()) / self.diagonal[i];
            }
        }
    }

    /// Runs of BiCGSTAB from the true residual, with Gauss–Seidel sweeps between them where one makes no headway:
    /// those converge, however slowly, for every chain that ends or is discounted.
    fn solve(&self, b: &[f64], x: &mut [f64], transposed: bool, accuracy: f64) -> Result<()> {
        let accuracy = accuracy.max(4.0 * f64::EPSILON);
        if self.diagonal.iter().any(|d| *d <= 0.0) {
            return Err(Error::Evaluation { residual: f64::INFINITY });
        }
        let mut r = vec![0.0; b.len()];
        let mut last = f64::INFINITY;
        for _ in 0..RUNS {
            self.residual(b, x, transposed, &mut r);
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
                for _ in 0..SWEEPS {
                    self.precondition(&mut r, transposed);
                    add_scaled(x, 1.0, &r);
                    self.residual(b, x, transposed, &mut r);
                }
                last = f64::INFINITY;
            } else {
                last = residual;
                self.krylov(&r, x, transposed, accuracy * size);
            }
        }
        Err(Error::Evaluation { residual: largest(&r) })
    }

    /// One run of BiCGSTAB (van der Vorst 1992), right-preconditioned, which improves x for the residual r0.
    fn krylov(&self, r0: &[f64], x: &mut [f64], transposed: bool, enough: f64) {
        let n = x.len();
        let zero = vec![0.0; n];
        let times = |y: &[f64], out: &mut [f64]| {
            self.residual(&zero, y, transposed, out);
            out.iter_mut().for_each(|v| *v = -*v);
        };
        let mut r = r0.to_vec();
        let (mut p, mut v) = (vec![0.0; n], vec![0.0; n]);
        let (mut y, mut t) = (vec![0.0; n], vec![0.0; n]);
        let (mut rho, mut alpha, mut omega) = (1.0, 1.0, 1.0);
        let (mut best, mut kept) = (largest(r0), x.to_vec());
        for _ in 0..300 {
            let next = dot(r0, &r);
            let beta = next / rho * (alpha / omega);
            rho = next;
            for i in 0..n {
                p[i] = r[i] + beta * (p[i] - omega * v[i]);
            }
            y.copy_from_slice(&p);
            self.precondition(&mut y, transposed);
            times(&y, &mut v);
            alpha = rho / dot(r0, &v);
            if !alpha.is_finite() {
                break;
            }
            add_scaled(x, alpha, &y);
            add_scaled(&mut r, -alpha, &v);
            y.copy_from_slice(&r);
            self.precondition(&mut y, transposed);
            times(&y, &mut t);
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

fn largest(v: &[f64]) -> f64 {
    // Unlike f64::max, this keeps NaN.
    v.iter().fold(0.0, |m: f64, v| if m.is_nan() || v.abs() <= m { m } else { v.abs() })
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
