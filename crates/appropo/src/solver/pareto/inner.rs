use std::sync::Arc;

use crate::error::Result;
use crate::player::{FullyCorrective, Player};
use crate::set::{Bounds, SharedSet};
use crate::vector::{dot, norm};

/// How far a point lies beyond the hull of others and what they dominate, and the direction w ≥ 0 of length 1 in which it does.
#[derive(Debug, Clone)]
pub(super) struct Beyond {
    pub distance: f64,
    pub direction: Vec<f64>,
}

/// Gains up to this are rounding, in units of the front's ranges.
const ROUNDING: f64 = 1e-13;

/// How far `point` lies beyond {u : u ≤ v for some v in the hull of `points`}.
///
/// That is the distance of the hull from {u : u ≥ point}. Of many points few matter: those that the corrective player asks for.
pub(super) fn beyond<'a>(point: &[f64], points: impl Iterator<Item = &'a [f64]> + Clone) -> Result<Beyond> {
    let above: SharedSet = Arc::new(Bounds::new(point.to_vec(), vec![f64::INFINITY; point.len()])?);
    let mut player = FullyCorrective::new(above);
    // The sum of all entries is a good first guess.
    let mut lam = vec![-1.0; point.len()];
    let (mut lowest, mut direction) = (f64::INFINITY, vec![0.0; point.len()]);
    loop {
        let payoff = |z: &&[f64]| dot(&lam, z);
        let Some(best) = points.clone().min_by(|a, b| payoff(a).total_cmp(&payoff(b))) else {
            return Ok(Beyond { distance: f64::INFINITY, direction });
        };
        player.observe(best, None)?;
        let decision = player.decision();
        let length = norm(&decision.lam);
        // λ = (x − Γ(x))/‖x − Γ(x)‖ ≤ 0 for the closest point x, whose distance is λ·x − λ·Γ(x).
        if length == 0.0 {
            return Ok(Beyond { distance: 0.0, direction });
        }
        lam.clone_from(&decision.lam);
        let least = points.clone().map(|z| dot(&lam, z)).fold(f64::INFINITY, f64::min);
        let distance = least - decision.offset;
        direction = lam.iter().map(|lam| -lam).collect();
        // Where no point lies further along −λ, the distance is found; where the last one brought nothing, no more is.
        let is_stuck = !(player_distance(&player, point) < lowest - ROUNDING);
        lowest = lowest.min(player_distance(&player, point));
        if lowest - distance <= ROUNDING * (1.0 + norm(point)) || is_stuck {
            return Ok(Beyond { distance: lowest, direction });
        }
    }
}

fn player_distance(player: &FullyCorrective, point: &[f64]) -> f64 {
    let short = point.iter().zip(player.point()).map(|(p, x)| (p - x).max(0.0).powi(2));
    short.sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(point: &[f64], points: &[&[f64]]) -> Beyond {
        beyond(point, points.iter().copied()).unwrap()
    }

    #[test]
    fn what_is_dominated_counts_as_inside() {
        let points: [&[f64]; 3] = [&[1.0, 0.0], &[0.0, 1.0], &[0.2, 0.2]];
        assert!(found(&[0.5, 0.5], &points).distance <= 1e-12);
        assert!(found(&[-7.0, 1.0], &points).distance <= 1e-12);
        let corner = found(&[1.0, 1.0], &points);
        assert!((corner.distance - 0.5_f64.sqrt()).abs() < 1e-12, "{corner:?}");
        assert!(corner.direction.iter().all(|w| (w - 0.5_f64.sqrt()).abs() < 1e-9), "{corner:?}");
        let side = found(&[1.5, -3.0], &points);
        assert!((side.distance - 0.5).abs() < 1e-12 && (side.direction[0] - 1.0).abs() < 1e-12, "{side:?}");
    }
}
