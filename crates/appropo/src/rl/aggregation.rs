/// Rounds of aggregation at most, and the change after which there is no need for another.
const ROUNDS: usize = 100;
const SETTLED: f64 = 1e-14;
/// Sweeps before and after each aggregation.
const SWEEPS: usize = 2;

/// A Markov chain by what comes into each state.
struct Chain {
    /// The first entry of each state, and the end.
    rows: Vec<u32>,
    /// Where it comes from, and how likely.
    entries: Vec<(u32, f64)>,
    /// The probability of leaving each state.
    leaving: Vec<f64>,
}

/// About how often each state is visited in the long run, by a chain that never ends, from any positive guess: sweeps take care
/// of neighbours, and chains of ever larger groups of states of what is far apart (Horton and Leutenegger 1994). Each
/// class has a factor of its own.
pub(super) fn long_run(moves: &[(u32, u32, f64)], mut visits: Vec<f64>) -> Vec<f64> {
    let chain = Chain::new(visits.len(), moves.to_vec());
    for _ in 0..ROUNDS {
        let before = visits.clone();
        chain.cycle(&mut visits);
        let change = visits.iter().zip(&before).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
        if !(change > SETTLED * before.iter().copied().fold(0.0, f64::max)) {
            break;
        }
    }
    visits
}

impl Chain {
    /// The chain of moves as (from, to, probability), of which several may be alike.
    fn new(states: usize, moves: Vec<(u32, u32, f64)>) -> Self {
        let moves = sorted_by(states, &sorted_by(states, &moves, |(from, _, _)| *from), |(_, to, _)| *to);
        let (mut rows, mut entries, mut leaving) = (vec![0u32], Vec::new(), vec![0.0; states]);
        let mut moves = moves.into_iter().peekable();
        for state in 0..states as u32 {
            while let Some((from, _, probability)) = moves.next_if(|(_, to, _)| *to == state) {
                if from == state {
                    continue;
                }
                leaving[from as usize] += probability;
                let first = rows[state as usize] as usize;
                match entries[first..].last_mut() {
                    Some((last, sum)) if *last == from => *sum += probability,
                    _ => entries.push((from, probability)),
                }
            }
            rows.push(entries.len() as u32);
        }
        Self { rows, entries, leaving }
    }

    fn entries_of(&self, state: usize) -> &[(u32, f64)] {
        &self.entries[self.rows[state] as usize..self.rows[state + 1] as usize]
    }

    /// Gauss and Seidel's sweep: each state is visited as often as it is left.
    fn sweep(&self, visits: &mut [f64]) {
        for state in 0..visits.len() {
            if self.leaving[state] > 0.0 {
                let coming: f64 =
                    self.entries_of(state).iter().map(|(from, p)| visits[*from as usize] * p).sum();
                visits[state] = coming / self.leaving[state];
            }
        }
    }

    fn cycle(&self, visits: &mut [f64]) {
        let total: f64 = visits.iter().sum();
        (0..SWEEPS).for_each(|_| self.sweep(visits));
        let (groups, count) = self.groups(visits);
        if count < visits.len() {
            let mut sums = vec![0.0; count];
            groups.iter().zip(&*visits).for_each(|(group, visits)| sums[*group as usize] += visits);
            let mut moves = Vec::with_capacity(self.entries.len());
            for to in 0..visits.len() {
                for &(from, probability) in self.entries_of(to) {
                    let (source, target) = (groups[from as usize], groups[to]);
                    if source != target {
                        let share = visits[from as usize] / sums[source as usize];
                        moves.push((
                            source,
                            target,
                            if share.is_finite() { share * probability } else { probability },
                        ));
                    }
                }
            }
            let before = sums.clone();
            Self::new(count, moves).cycle(&mut sums);
            for (visits, group) in visits.iter_mut().zip(&groups) {
                let factor = sums[*group as usize] / before[*group as usize];
                *visits *= if factor.is_finite() { factor } else { 1.0 };
            }
            (0..SWEEPS).for_each(|_| self.sweep(visits));
        }
        let now: f64 = visits.iter().sum();
        visits.iter_mut().for_each(|visits| *visits *= total / now);
    }

    /// Pairs of states that follow each other most often, and how many groups that makes.
    fn groups(&self, visits: &[f64]) -> (Vec<u32>, usize) {
        const NONE: u32 = u32::MAX;
        let mut groups = vec![NONE; visits.len()];
        let mut count = 0;
        for state in 0..visits.len() {
            if groups[state] != NONE {
                continue;
            }
            let flow = |(from, p): &(u32, f64)| visits[*from as usize] * p;
            let free = self.entries_of(state).iter().filter(|(from, _)| groups[*from as usize] == NONE);
            let partner =
                free.max_by(|a, b| flow(a).total_cmp(&flow(b)).then(b.0.cmp(&a.0))).map(|(from, _)| *from);
            // Alone, it joins the group from which most comes.
            let joined = || {
                let all = self.entries_of(state).iter();
                all.max_by(|a, b| flow(a).total_cmp(&flow(b)).then(b.0.cmp(&a.0)))
                    .map(|(from, _)| groups[*from as usize])
            };
            match (partner, joined()) {
                (Some(partner), _) => {
                    (groups[state], groups[partner as usize]) = (count, count);
                    count += 1;
                }
                (None, Some(group)) => groups[state] = group,
                (None, None) => {
                    groups[state] = count;
                    count += 1;
                }
            }
        }
        (groups, count as usize)
    }
}

/// Moves by one of their states, in the same order where that is the same.
fn sorted_by(
    states: usize,
    moves: &[(u32, u32, f64)],
    of: impl Fn(&(u32, u32, f64)) -> u32,
) -> Vec<(u32, u32, f64)> {
    let mut places = vec![0u32; states + 1];
    moves.iter().for_each(|step| places[of(step) as usize + 1] += 1);
    for state in 0..states {
        places[state + 1] += places[state];
    }
    let mut sorted = vec![(0, 0, 0.0); moves.len()];
    for step in moves {
        let place = &mut places[of(step) as usize];
        sorted[*place as usize] = *step;
        *place += 1;
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A walk on a line of 300 states, to the right ever less likely than to the left beyond its middle: what it visits most
    /// is e^75 times as likely as its ends, and it is found from a guess that knows nothing.
    #[test]
    fn what_is_far_apart_is_found_at_once() {
        let states = 300u32;
        let right = |state: u32| if state < 150 { 0.6 } else { 0.4 };
        let mut moves = Vec::new();
        for state in 0..states {
            let p = if state + 1 == states { 0.0 } else { right(state) };
            let q = if state == 0 { 0.0 } else { 1.0 - right(state) };
            moves.extend([(state, state, 1.0 - p - q)]);
            moves.extend((p > 0.0).then(|| (state, state + 1, p)));
            moves.extend((q > 0.0).then(|| (state, state - 1, q)));
        }
        let visits = long_run(&moves, vec![1.0 / 300.0; 300]);
        // Detailed balance: visits[s] p = visits[s + 1] q.
        let mut expected = vec![1.0];
        for state in 0..states - 1 {
            let last = expected[state as usize];
            expected.push(last * right(state) / (1.0 - right(state + 1)));
        }
        let sum: f64 = expected.iter().sum();
        for (found, expected) in visits.iter().zip(&expected) {
            assert!((found - expected / sum).abs() < 1e-4, "{found} against {}", expected / sum);
        }
    }
}
