use super::{Plan, best_action};
use crate::env::TabularMdp;

/// The best policy over `horizon` steps, with a table for each step, by backward induction.
/// The value of the cut-off is 0: what would follow is not measured.
pub fn backward_induction(
    model: &TabularMdp,
    gamma: f64,
    horizon: usize,
    decisions: &[bool],
    rewards: &[f64],
) -> Plan {
    let states = model.states();
    let mut actions = vec![0; horizon * states];
    let mut values = vec![0.0; (horizon + 1) * states];
    for stage in (0..horizon).rev() {
        let (now, later) = values.split_at_mut((stage + 1) * states);
        let now = &mut now[stage * states..];
        for state in (0..states).filter(|&s| decisions[s]) {
            (actions[stage * states + state], now[state]) =
                best_action(model, gamma, rewards, &later[..states], state);
        }
    }
    values.truncate(horizon * states);
    Plan { actions, values }
}
