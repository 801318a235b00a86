use std::hash::{BuildHasher, RandomState};

use crate::measurement::Selection;

/// What transitions measure: sparse vectors by compressed rows, each stored once.
#[derive(Debug, Clone)]
pub(super) struct Outcomes {
    /// The first entry of each outcome, and the end.
    rows: Vec<u32>,
    entries: Vec<(u32, f64)>,
}

impl Default for Outcomes {
    fn default() -> Self {
        Self { rows: vec![0], entries: Vec::new() }
    }
}

impl Outcomes {
    pub fn len(&self) -> usize {
        self.rows.len() - 1
    }

    pub fn get(&self, outcome: u32) -> &[(u32, f64)] {
        let outcome = outcome as usize;
        &self.entries[self.rows[outcome] as usize..self.rows[outcome + 1] as usize]
    }

    pub fn iter(&self) -> impl Iterator<Item = &[(u32, f64)]> {
        self.rows.windows(2).map(|row| &self.entries[row[0] as usize..row[1] as usize])
    }

    /// Every entry of every outcome.
    pub fn entries(&self) -> &[(u32, f64)] {
        &self.entries
    }

    fn push(&mut self, entries: impl IntoIterator<Item = (u32, f64)>) {
        self.entries.extend(entries);
        self.rows.push(self.entries.len() as u32);
    }

    /// An outcome that measures nothing.
    pub fn nothing(&mut self) -> u32 {
        let known = self.rows.windows(2).position(|row| row[0] == row[1]);
        known.unwrap_or_else(|| {
            self.push([]);
            self.len() - 1
        }) as u32
    }

    /// A new outcome that measures 1 in one entry.
    pub fn push_one(&mut self, entry: u32) -> u32 {
        self.push([(entry, 1.0)]);
        self.len() as u32 - 1
    }

    /// Feeds all that is measured to a digest.
    pub fn digest(&self, digest: &mut impl FnMut(&[u8])) {
        let mut bytes = Vec::new();
        for outcomes in self.rows.chunks(1024) {
            bytes.clear();
            bytes.extend(outcomes.iter().flat_map(|row| row.to_le_bytes()));
            digest(&bytes);
        }
        for entries in self.entries.chunks(1024) {
            bytes.clear();
            for (entry, value) in entries {
                bytes.extend(entry.to_le_bytes());
                bytes.extend(value.to_bits().to_le_bytes());
            }
            digest(&bytes);
        }
    }

    /// The same outcomes by the selected entries of `dim`.
    pub fn select(&self, selection: &Selection, dim: usize) -> Self {
        let mut places = vec![Vec::new(); dim];
        for (new, &(old, factor)) in selection.entries.iter().enumerate() {
            places[old].push((new as u32, factor));
        }
        let mut selected = Self::default();
        selected.rows.reserve_exact(self.len());
        let mut kept: Vec<(u32, f64)> = Vec::new();
        for outcome in self.iter() {
            kept.clear();
            for &(i, value) in outcome {
                kept.extend(places[i as usize].iter().map(|&(new, factor)| (new, factor * value)));
            }
            kept.sort_unstable_by_key(|(i, _)| *i);
            selected.push(kept.iter().copied());
        }
        selected.entries.shrink_to_fit();
        selected
    }

    /// The same outcomes without the entries that are not kept.
    pub fn filtered(&self, is_kept: impl Fn(u32) -> bool) -> Self {
        let mut filtered = Self::default();
        for outcome in self.iter() {
            filtered.push(outcome.iter().copied().filter(|(entry, _)| is_kept(*entry)));
        }
        filtered
    }
}

/// Outcomes that are found again by what they measure.
#[derive(Debug, Clone, Default)]
pub(super) struct OutcomeTable {
    pub outcomes: Outcomes,
    known: Interner,
    /// The outcome to be looked up.
    sought: Vec<(u32, f64)>,
    /// The outcomes found last, in a ring: the actions of a state often have the same.
    recent: [u32; 4],
    turn: usize,
}

impl OutcomeTable {
    /// The number of the outcome with these entries, in any order; those of one index are added up.
    pub fn find_or_add(&mut self, z: &[(usize, f64)]) -> u32 {
        let Self { outcomes, known, sought, recent, turn } = self;
        sought.clear();
        sought.extend(z.iter().filter(|(_, v)| *v != 0.0).map(|&(i, v)| (super::tabular::narrow(i), v)));
        if !sought.is_sorted_by(|a, b| a.0 < b.0) {
            sought.sort_by_key(|(i, _)| *i);
            sought.dedup_by(|b, a| {
                let same = a.0 == b.0;
                if same {
                    a.1 += b.1;
                }
                same
            });
        }
        let bits = |&(i, v): &(u32, f64)| (i, v.to_bits());
        let is_same = |outcome: u32| {
            let stored = outcomes.get(outcome);
            stored.len() == sought.len() && stored.iter().zip(sought.iter()).all(|(a, b)| bits(a) == bits(b))
        };
        let is_recent = |outcome: &u32| (*outcome as usize) < outcomes.len() && is_same(*outcome);
        if let Some(outcome) = recent.iter().copied().find(is_recent) {
            return outcome;
        }
        let hash = known.hash(sought.iter().map(bits));
        let found = known.find(hash, is_same);
        let outcome = found.unwrap_or_else(|| {
            let outcome = outcomes.len() as u32;
            outcomes.push(sought.iter().copied());
            known.insert(hash, outcome);
            outcome
        });
        recent[*turn] = outcome;
        *turn = (*turn + 1) % recent.len();
        outcome
    }
}

impl From<Outcomes> for OutcomeTable {
    /// These outcomes, none of which is found again.
    fn from(outcomes: Outcomes) -> Self {
        Self { outcomes, ..Self::default() }
    }
}

/// A hash table of numbers whose things are stored elsewhere. Numbers depend on the order of insertion alone, so the random
/// keys that keep files from choosing collisions change nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Interner {
    keys: RandomState,
    /// A part of the hash and the number plus 1; 0 is free. A power of 2 of them, half free at least.
    slots: Vec<(u32, u32)>,
    count: usize,
}

impl Interner {
    pub fn hash<T: std::hash::Hash>(&self, parts: impl Iterator<Item = T>) -> u64 {
        use std::hash::Hasher;
        let mut hasher = self.keys.build_hasher();
        parts.for_each(|part| part.hash(&mut hasher));
        hasher.finish()
    }

    pub fn find(&self, hash: u64, is_same: impl Fn(u32) -> bool) -> Option<u32> {
        let last = self.slots.len().checked_sub(1)?;
        let mut place = hash as usize & last;
        loop {
            match self.slots[place] {
                (_, 0) => return None,
                (part, number) if part == hash as u32 && is_same(number - 1) => return Some(number - 1),
                _ => place = (place + 1) & last,
            }
        }
    }

    pub fn insert(&mut self, hash: u64, number: u32) {
        if 2 * (self.count + 1) > self.slots.len() {
            let size = (2 * self.slots.len()).max(16);
            for (part, number) in std::mem::replace(&mut self.slots, vec![(0, 0); size]) {
                if number > 0 {
                    self.place(part, number);
                }
            }
        }
        self.place(hash as u32, number + 1);
        self.count += 1;
    }

    fn place(&mut self, part: u32, number: u32) {
        let last = self.slots.len() - 1;
        let mut place = part as usize & last;
        while self.slots[place].1 != 0 {
            place = (place + 1) & last;
        }
        self.slots[place] = (part, number);
    }
}
