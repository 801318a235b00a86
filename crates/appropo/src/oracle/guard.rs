use std::collections::BTreeSet;

use crate::certificate::{Bound, Ground, PriceStaying, Tilt, ValueFunction};
use crate::error::{Error, Result};
use crate::measurement::Discounting;
use crate::rl::{Quotient, Staying, shortest_path};
use crate::set::SharedSet;
use crate::vector::{add_scaled, difference, dot, norm};

/// How far out the set is looked at.
const FAR: f64 = 1e6;
/// What does not leave the set by this share of a way does not leave it.
const LEAVES: f64 = 1e-3;
/// A λ prices what goes on for ever if that costs more than this.
const PRICED: f64 = 1e-6;
/// The part of the largest reward that whole ways pay where a tie is broken.
const TIE: f64 = 1e-3;
/// Distinct directions that are looked at.
const DIRECTIONS: usize = 1000;

/// A direction that whatever goes on for ever pays for, while what can be had in the set is bounded: λ·z ≤ offset there.
///
/// Values are bounded by it: V ≥ 1 − λ·z + E V′ for every choice, so it takes up what rounding leaves of a proof.
#[derive(Debug)]
pub(super) struct Guard {
    lam: Vec<f64>,
    offset: f64,
    values: Vec<f64>,
    bias: Vec<f64>,
    /// The directions, each of length 1, in which measurements go on for ever.
    directions: Vec<Vec<f64>>,
    /// Whether the objective pays, too: it serves only while the objective has a price.
    takes_objective: bool,
}

impl Guard {
    /// A guard of a quotient whose measurements are those of the set, and after them those of an objective.
    pub fn find(quotient: &Quotient, set: &SharedSet) -> Result<Option<Self>> {
        let rows = directions(&quotient.endless);
        for takes_objective in [false, true] {
            let Some((lam, offset)) = direction(&rows, set, takes_objective) else { continue };
            if let Some(guard) = Self::new(quotient, lam, offset, takes_objective)? {
                return Ok(Some(Self { directions: rows, ..guard }));
            }
        }
        Ok(None)
    }

    fn new(quotient: &Quotient, lam: Vec<f64>, offset: f64, takes_objective: bool) -> Result<Option<Self>> {
        let least = quotient.endless.iter().map(|(_, _, z)| dot(&lam, z)).fold(f64::INFINITY, f64::min);
        let staying = quotient.staying(&lam)?;
        let paid = quotient.model.rewards(&staying.lam);
        // A round may pay in one of its steps only.
        for power in 0..10 {
            let price = 4.0 / least * 16f64.powi(power);
            let rewards: Vec<f64> = paid.iter().map(|reward| 1.0 + price * reward).collect();
            match shortest_path(quotient, &rewards, &quotient.ending) {
                Err(Error::Unbounded { .. }) => {}
                Err(error) => return Err(error),
                Ok(plan) => {
                    // Twice as much leaves room for rounding.
                    let double = |v: &[f64], by: f64| v.iter().map(|v| 2.0 * by * v).collect();
                    return Ok(Some(Self {
                        lam: double(&lam, price),
                        offset: 2.0 * price * offset,
                        values: double(&plan.values, 1.0),
                        bias: double(&staying.bias, price),
                        directions: Vec::new(),
                        takes_objective,
                    }));
                }
            }
        }
        Ok(None)
    }

    /// A policy that ends, to begin the search for the best one for λ with: the best for a λ next to it, where that is easier to
    /// find. What goes on for ever at no price leaves plateaus, on which policies wander about.
    pub fn first(&self, quotient: &Quotient, lam: &[f64], rewards: &[f64]) -> Result<Vec<u32>> {
        if self.directions.iter().all(|row| dot(lam, row) > PRICED * norm(lam)) {
            return Ok(quotient.ending.clone());
        }
        let size = |values: &[f64]| values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let share = TIE * size(rewards) / size(&self.values).max(1.0);
        let mut tilted = lam.to_vec();
        add_scaled(&mut tilted, share, &self.lam);
        let staying = quotient.staying(&tilted)?;
        Ok(shortest_path(quotient, &quotient.model.rewards(&staying.lam), &quotient.ending)?.actions)
    }

    pub fn serves(&self, lam: &[f64]) -> bool {
        !self.takes_objective || lam.last().is_some_and(|price| *price < 0.0)
    }

    /// A bound for a λ next to this one, by a value function that nothing exceeds.
    pub fn bound(
        &self,
        quotient: &Quotient,
        lam: &[f64],
        values: &[f64],
        staying: &Staying,
    ) -> Option<Bound> {
        let undiscounted = Discounting::new(1.0, None).ok()?;
        let ground = ground(quotient, &undiscounted);
        let rewards = quotient.model.rewards(&staying.lam);
        let scale = values.iter().chain(&rewards).fold(0.0, |m: f64, v| m.max(v.abs()));
        for share in std::iter::once(0.0).chain((-16..-5).map(|power| 10f64.powi(power) * scale)) {
            let (mut tilted, mut raised, mut bias) = (lam.to_vec(), values.to_vec(), staying.bias.clone());
            add_scaled(&mut tilted, share, &self.lam);
            add_scaled(&mut raised, share, &self.values);
            add_scaled(&mut bias, share, &self.bias);
            let witness = ValueFunction { values: raised, steps: None, bias };
            let value = ground.least_payoff(&tilted, &witness).ok()?;
            if value.is_finite() {
                let tilt = Tilt { lam: difference(&tilted, lam), offset: share * self.offset };
                return Some(Bound { value, witness: witness.into(), tilt: Some(tilt) });
            }
        }
        None
    }
}

impl PriceStaying for Quotient {
    fn priced(&self, lam: &[f64], bias: &[f64]) -> Result<Vec<f64>> {
        Quotient::priced(self, lam, bias)
    }

    fn dim(&self) -> usize {
        Quotient::dim(self)
    }
}

/// The ground of a quotient.
pub(super) fn ground<'a>(quotient: &'a Quotient, discounting: &'a Discounting) -> Ground<'a> {
    Ground { model: &quotient.model, decisions: &quotient.decisions, discounting, staying: Some(quotient) }
}

/// The distinct directions in which measurements go on for ever, each of length 1.
fn directions(endless: &[(usize, usize, Vec<f64>)]) -> Vec<Vec<f64>> {
    let unit = |z: &Vec<f64>| z.iter().map(|v| (v / norm(z)).to_bits()).collect::<Vec<u64>>();
    let distinct: BTreeSet<Vec<u64>> = endless.iter().map(|(_, _, z)| unit(z)).collect();
    distinct.into_iter().take(DIRECTIONS).map(|d| d.into_iter().map(f64::from_bits).collect()).collect()
}

/// A direction that all rows go along, and how far the set does.
fn direction(rows: &[Vec<f64>], set: &SharedSet, takes_objective: bool) -> Option<(Vec<f64>, f64)> {
    let dim = rows.first()?.len();
    let (mut lam, mut offset) = (vec![0.0; dim], 0.0);
    for row in rows {
        if let Some((outward, far)) = outward(set, &row[..set.dim()]) {
            add_scaled(&mut lam[..set.dim()], 1.0, &outward);
            offset += far;
        }
    }
    if takes_objective && dim == set.dim() + 1 {
        lam[set.dim()] = -(rows.len() as f64);
    }
    rows.iter().all(|row| dot(&lam, row) > 0.0).then_some((lam, offset))
}

/// The way out of a set along a direction, and how far the set goes that way; `None` where it does not end.
pub(crate) fn outward(set: &SharedSet, direction: &[f64]) -> Option<(Vec<f64>, f64)> {
    let far: Vec<f64> = direction.iter().map(|d| FAR * d).collect();
    let mut nearest = far.clone();
    set.project(&far, &mut nearest);
    let way = difference(&far, &nearest);
    let length = norm(&way);
    if !(length > LEAVES * FAR * norm(direction)) {
        return None;
    }
    let lam: Vec<f64> = way.iter().map(|v| v / length).collect();
    let offset = dot(&lam, &nearest);
    Some((lam, offset))
}
