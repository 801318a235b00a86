use super::occupancy::{Flow, Programme};
use crate::certificate::Evidence;
use crate::env::TabularMdp;
use crate::error::{Error, Result};
use crate::measurement::Discounting;
use crate::oracle::{Exact, Planner, Respond};
use crate::policy::Mixed;
use crate::set::{Cone, ConvexSet, Faces, SharedSet};

/// The stationary policy with the widest margin, and a proof of how wide any can be.
#[derive(Debug, Clone)]
pub struct MarginProgramme {
    /// The policy, its measurement and what that proves.
    pub programme: Programme,
    /// The room it has before the nearest face of the set; negative outside.
    pub margin: f64,
    /// No policy has more; infinite where that is not known.
    pub ceiling: f64,
}

/// One linear programme over occupancies: maximise t subject to aⱼ·Z̄(ρ) + t ≤ bⱼ for every face of the set. It is LPAL
/// (Syed, Bowling and Schapire 2008) where the faces are an expert's features.
///
/// The programme's multipliers w are weights of the faces, and the best response to them bounds t for every policy.
pub fn widest_margin_occupancy(
    set: &SharedSet,
    model: &TabularMdp,
    discounting: &Discounting,
    tolerance: f64,
) -> Result<MarginProgramme> {
    let faces = Faces::of(set).ok_or(Error::Unsuitable {
        learner: "the linear programme for the widest margin",
        needs: "constraints that are bounds or half-spaces, all of them",
        instead: "\"projection\" as the algorithm, or the method \"occupancy\"",
    })?;
    let mut flow = Flow::new(model, discounting, false)?;
    let t = flow.form.auxiliary(1);
    let first = flow.form.rows.len();
    let within = faces.rows().iter().map(|(row, b)| {
        let row = row.iter().map(|(i, a)| (flow.z + i, *a)).chain([(t, 1.0)]);
        (row.collect::<Vec<_>>(), *b)
    });
    let within: Vec<_> = within.collect();
    flow.form.constrain(Cone::Nonnegative(faces.count()), within);
    let mut objective = vec![0.0; flow.form.variables];
    objective[t] = -1.0;
    let solution = flow.minimize(&objective)?;
    let policy = flow.policy(&solution)?;
    let mut oracle = Exact::new(model.clone(), *discounting, Planner::PolicyIteration)?;
    let z_bar = oracle.measure(&Mixed::one(policy.as_ref().clone()))?;
    let mut weights: Vec<f64> =
        solution.multipliers[first..].iter().take(faces.count()).map(|w| w.max(0.0)).collect();
    let sum: f64 = weights.iter().sum();
    let (mut evidence, mut ceiling) = (Evidence::default(), f64::INFINITY);
    if sum > 0.0 {
        weights.iter_mut().for_each(|w| *w /= sum);
        let (lam, offset) = faces.combination(&weights);
        if let Some(bound) = oracle.respond(&lam, offset)?.bound {
            evidence.add(&lam, offset, &bound);
            ceiling = offset - bound.value;
        }
    }
    let margin = faces.margin(&z_bar);
    let certificate = evidence.certificate(z_bar.clone(), set.distance(&z_bar), tolerance);
    let size = (flow.form.variables, flow.form.rows.len());
    Ok(MarginProgramme { programme: Programme { policy, certificate, size }, margin, ceiling })
}
