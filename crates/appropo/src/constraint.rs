//! Constraints by the names of what they measure, and the target set they make up.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{Result, dimension, in_range};
use crate::measurement::{Measures, Selection};
use crate::options::Value;
use crate::set::{Bounds, ConvexSet, Lift, Product, SharedSet, Similarity};

/// "These measures must lie in this set."
#[derive(Clone)]
pub struct Constraint {
    /// What it is called in results.
    pub name: String,
    /// The measures whose entries, one after the other, are constrained.
    pub measures: Vec<String>,
    /// The set they must lie in.
    pub set: SharedSet,
    /// Whether the constraint is on the measures per step rather than on their sums.
    pub share: bool,
    /// What counts as one unit of violation.
    pub scale: f64,
    /// What states the set in a problem file, where something does.
    pub stated: Option<Stated>,
}

/// What states the set of a constraint in a problem file.
#[derive(Debug, Clone, PartialEq)]
pub struct Stated {
    /// The key of the set.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// The vector that the set is moved by.
    pub shift: Option<Vec<f64>>,
}

impl fmt::Debug for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Constraint({}: {} {})", self.name, self.measures.join(", "), self.requirement())
    }
}

impl Constraint {
    /// A constraint on the sums of the given measures, named after them.
    pub fn new<'a>(measures: impl IntoIterator<Item = &'a str>, set: SharedSet) -> Self {
        let measures: Vec<String> = measures.into_iter().map(str::to_owned).collect();
        Self { name: measures.join(", "), measures, set, share: false, scale: 1.0, stated: None }
    }

    /// measure ≤ bound.
    pub fn at_most(measure: &str, bound: f64) -> Result<Self> {
        Ok(Self::new([measure], Arc::new(Bounds::at_most(bound)?)))
    }

    /// measure ≥ bound.
    pub fn at_least(measure: &str, bound: f64) -> Result<Self> {
        Ok(Self::new([measure], Arc::new(Bounds::at_least(bound)?)))
    }

    /// The same under another name in results.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The same with another unit of violation: distances are divided by it.
    pub fn scaled(self, scale: f64) -> Self {
        Self { scale, ..self }
    }

    /// What is required, in words.
    pub fn requirement(&self) -> String {
        match &self.stated {
            Some(Stated { shift: Some(_), .. }) => {
                self.set.requirement().replace(", moved or scaled", ", shifted")
            }
            _ => self.set.requirement(),
        }
    }

    /// measure / steps ∈ set: for visits, the share of time spent in each cell. It is a ratio of expectations,
    /// stated exactly as a cone in the measure and the steps together.
    pub fn share(measure: &str, set: SharedSet) -> Self {
        Self { share: true, ..Self::new([measure], set) }
    }
}

/// All constraints together: which entries of the measurement vector matter, and the set they must lie in.
#[derive(Clone)]
pub struct Target {
    constraints: Vec<Constraint>,
    ranges: Vec<Range<usize>>,
    selection: Selection,
    set: SharedSet,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Target").field(&self.constraints).finish()
    }
}

impl Target {
    /// The target that `constraints` describe in a world with these measures.
    pub fn new(measures: &Measures, constraints: Vec<Constraint>) -> Result<Self> {
        let mut selection = Selection::default();
        let mut blocks: Vec<SharedSet> = Vec::new();
        let mut ranges = Vec::new();
        for constraint in &constraints {
            let scale = constraint.scale;
            in_range("scale", scale, scale > 0.0, "more than 0")?;
            let start = selection.entries.len();
            for measure in &constraint.measures {
                selection.entries.extend(measures.range(measure)?.map(|i| (i, 1.0 / scale)));
            }
            let entries = selection.entries.len() - start;
            dimension(&format!("the set of \"{}\"", constraint.name), constraint.set.dim(), entries)?;
            if constraint.share {
                selection.entries.extend(measures.range("steps")?.map(|i| (i, 1.0 / scale)));
                blocks.push(Arc::new(Lift::share(Arc::clone(&constraint.set))));
            } else if scale == 1.0 {
                blocks.push(Arc::clone(&constraint.set));
            } else {
                blocks.push(Arc::new(Similarity::scale(Arc::clone(&constraint.set), 1.0 / scale)?));
            }
            ranges.push(start..selection.entries.len());
        }
        let set = Arc::new(Product::new(blocks));
        Ok(Self { constraints, ranges, selection, set })
    }

    /// The constraints.
    pub fn constraints(&self) -> &[Constraint] {
        &self.constraints
    }

    /// Which of the selected entries belong to each constraint.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// The entries that the constraints look at.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// The entries that the constraints look at, followed by those of an objective.
    pub fn selection_with(&self, objective: &[(usize, f64)]) -> Selection {
        let mut selection = self.selection.clone();
        selection.entries.extend(objective);
        selection
    }

    /// C, the set that the selected entries must lie in.
    pub fn set(&self) -> &SharedSet {
        &self.set
    }

    /// How far the full measurement vector `z` is from each constraint, in the constraint's units.
    pub fn distances(&self, z: &[f64]) -> Vec<f64> {
        self.distances_of_selected(&self.selection.apply(z))
    }

    /// The same of the entries that the constraints look at.
    pub fn distances_of_selected(&self, selected: &[f64]) -> Vec<f64> {
        let mut nearest = vec![0.0; selected.len()];
        self.set.project(selected, &mut nearest);
        self.ranges
            .iter()
            .map(|r| crate::vector::distance(&selected[r.clone()], &nearest[r.clone()]))
            .collect()
    }
}
