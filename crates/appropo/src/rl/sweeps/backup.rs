use super::Sweeps;
use super::layout::Layout;
use crate::rl::lanes::Lanes;

/// What actions of the state in a place are worth, given the values of a part.
pub(super) trait Backup {
    fn value(&self, values: &[f64], place: usize, action: usize) -> f64;

    /// The best action and its value.
    fn best(&self, values: &[f64], place: usize) -> (usize, f64);
}

/// By a copy of the model.
pub(super) struct InLanes<'a> {
    pub lanes: &'a Lanes,
    pub sweeps: &'a Sweeps<'a>,
}

impl Backup for InLanes<'_> {
    #[inline(always)]
    fn value(&self, values: &[f64], place: usize, action: usize) -> f64 {
        self.lanes.value(place, action, &self.sweeps.scaled, values)
    }

    #[inline(always)]
    fn best(&self, values: &[f64], place: usize) -> (usize, f64) {
        self.lanes.best(place, &self.sweeps.scaled, values)
    }
}

/// By the model itself.
pub(super) struct InRows<'a> {
    /// The first state of the part.
    pub start: usize,
    pub sweeps: &'a Sweeps<'a>,
}

impl InRows<'_> {
    #[inline(always)]
    fn plain(&self, values: &[f64], choice: usize) -> f64 {
        let Sweeps { successors, rewards, gamma, .. } = self.sweeps;
        rewards[choice] + gamma * successors.expectation(choice, |next| values[next - self.start])
    }

    /// The value of a choice that may lead to its own state or to another part.
    fn any(&self, values: &[f64], state: usize, choice: usize) -> f64 {
        let Sweeps { model, rewards, gamma, before, .. } = self.sweeps;
        let (mut future, mut stay) = (0.0, 0.0);
        for (probability, next) in model.outcomes_of(choice).successors() {
            if next == state {
                stay += probability;
            } else {
                let here = values.get(next.wrapping_sub(self.start));
                future += probability * here.copied().unwrap_or_else(|| before[next]);
            }
        }
        let value = rewards[choice] + gamma * future;
        if stay > 0.0 { value / (1.0 - gamma * stay) } else { value }
    }
}

impl Backup for InRows<'_> {
    #[inline(always)]
    fn value(&self, values: &[f64], place: usize, action: usize) -> f64 {
        let Layout { is_plain, states, .. } = &*self.sweeps.layout;
        let state = states[place] as usize;
        let choice = self.sweeps.model.choices_of(state).start + action;
        match is_plain[place] {
            true => self.plain(values, choice),
            false => self.any(values, state, choice),
        }
    }

    #[inline(always)]
    fn best(&self, values: &[f64], place: usize) -> (usize, f64) {
        let actions = self.sweeps.model.choices_of(self.sweeps.layout.states[place] as usize).len();
        (0..actions).fold((0, f64::NEG_INFINITY), |best, action| {
            let value = self.value(values, place, action);
            if value > best.1 { (action, value) } else { best }
        })
    }
}
