use super::ActorCritic;
use crate::error::Result;

impl ActorCritic {
    /// Advantage actor-critic (Mnih et al. 2016): one step along the gradient of ln π(a|s)·A over the batch.
    pub(super) fn follow_policy_gradient(&mut self) -> Result<()> {
        if self.options.normalize {
            self.batch.normalize_advantages(&self.order);
        }
        self.accumulate(0..self.order.len(), |_, _, advantage| -advantage);
        self.step()
    }
}
