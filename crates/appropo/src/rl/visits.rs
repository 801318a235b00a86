use crate::env::Space;
use crate::error::Result;
use crate::rl::frame::Moments;
use crate::state::{Loader, Saver, misfit};

/// How new observations are: 1/√n for the n-th visit of a cell (count-based exploration, Tang et al. 2017). Counted
/// observations are cells themselves; numbers fall into cells of a grid whose widths follow what has been seen.
#[derive(Debug)]
pub(in crate::rl) struct Visits {
    visits: Vec<u32>,
    grid: Option<Grid>,
}

#[derive(Debug)]
struct Grid {
    moments: Moments,
    /// Whether an entry has only been a whole number so far.
    is_whole: Vec<bool>,
    origin: Vec<f64>,
    width: Vec<f64>,
    /// How many observations the grid is laid by; 0 before there is one.
    laid_by: u64,
}

/// Cells of a grid, about, so that they are visited often enough to say something.
const CELLS: f64 = 4096.0;
/// Standard deviations that those cells reach over.
const REACH: f64 = 4.0;
/// Places for the cells of a grid; cells that share one count together.
const PLACES: usize = 1 << 16;
/// Observations after which a grid is laid for the first time, and for the last.
const FIRST: u64 = 256;
const LAST: u64 = 16_384;

impl Visits {
    pub fn new(observations: &Space) -> Self {
        match observations {
            Space::Discrete(count) => Self { visits: vec![0; *count], grid: None },
            Space::Continuous(bounds) => {
                let entries = bounds.len();
                let grid = Grid {
                    moments: Moments::new(entries),
                    is_whole: vec![true; entries],
                    origin: vec![0.0; entries],
                    width: vec![1.0; entries],
                    laid_by: 0,
                };
                Self { visits: vec![0; PLACES], grid: Some(grid) }
            }
        }
    }

    /// Counts a visit and says how new the observation is, at most 1.
    pub fn visit(&mut self, observation: &[f64]) -> f32 {
        let place = match &mut self.grid {
            None => observation[0] as usize,
            Some(grid) => {
                if grid.observe(observation) {
                    self.visits.fill(0);
                }
                grid.place(observation.iter().copied())
            }
        };
        self.visits[place] = self.visits[place].saturating_add(1);
        1.0 / (self.visits[place] as f32).sqrt()
    }

    /// How new an observation is that may have been visited before.
    pub fn newness(&self, observation: &[f32]) -> f32 {
        let place = match &self.grid {
            None => observation[0] as usize,
            Some(grid) => grid.place(observation.iter().map(|value| f64::from(*value))),
        };
        1.0 / (self.visits[place].max(1) as f32).sqrt()
    }

    pub fn save(&self, to: &mut Saver) {
        let visited = || self.visits.iter().enumerate().filter(|(_, visits)| **visits > 0);
        to.put(&visited().map(|(place, visits)| (place, u64::from(*visits))).collect::<Vec<_>>());
        if let Some(grid) = &self.grid {
            grid.moments.save(to);
            to.put(&grid.is_whole);
            to.put_all(&grid.origin);
            to.put_all(&grid.width);
            to.put(&grid.laid_by);
        }
    }

    pub fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.visits.fill(0);
        for (place, visits) in from.get::<Vec<(usize, u64)>>()? {
            let Some(at) = self.visits.get_mut(place) else { return Err(misfit("a cell does not exist")) };
            *at = u32::try_from(visits).unwrap_or(u32::MAX);
        }
        if let Some(grid) = &mut self.grid {
            grid.moments.load(from)?;
            let entries = grid.is_whole.len();
            grid.is_whole = from.get_where("a kind of numbers", |all: &Vec<bool>| all.len() == entries)?;
            from.get_finite("an origin", &mut grid.origin)?;
            from.get_finite("a width", &mut grid.width)?;
            if !grid.width.iter().all(|width| *width > 0.0) {
                return Err(misfit("a width is not positive"));
            }
            grid.laid_by = from.get()?;
        }
        Ok(())
    }
}

impl Grid {
    /// Takes an observation in; whether the grid is laid anew by it.
    fn observe(&mut self, observation: &[f64]) -> bool {
        if self.laid_by >= LAST {
            return false;
        }
        self.moments.add(observation.iter().copied());
        for (is_whole, value) in self.is_whole.iter_mut().zip(observation) {
            *is_whole &= value.fract() == 0.0;
        }
        let seen = self.moments.count() as u64;
        let is_due = seen >= (4 * self.laid_by).max(FIRST);
        if is_due {
            self.laid_by = seen;
            let cells = CELLS.powf(1.0 / self.width.len() as f64);
            for entry in 0..self.width.len() {
                let width = REACH * self.moments.deviation(entry) / cells;
                self.width[entry] = if self.is_whole[entry] { width.max(1.0) } else { width };
                self.origin[entry] = if self.is_whole[entry] { 0.0 } else { self.moments.mean(entry) };
            }
        }
        is_due
    }

    /// The place of an observation's cell.
    fn place(&self, observation: impl Iterator<Item = f64>) -> usize {
        // Fowler, Noll and Vo's hash of the cell's coordinates.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for ((value, origin), width) in observation.zip(&self.origin).zip(&self.width) {
            let coordinate = ((value - origin) / width).round() as i64;
            hash = (hash ^ coordinate as u64).wrapping_mul(0x0000_0100_0000_01b3);
        }
        (hash ^ (hash >> 32)) as usize % PLACES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_again_is_less_new() {
        let mut visits = Visits::new(&Space::Discrete(3));
        assert_eq!(visits.visit(&[1.0]), 1.0);
        for _ in 0..3 {
            visits.visit(&[1.0]);
        }
        assert_eq!((visits.visit(&[2.0]), visits.visit(&[1.0])), (1.0, 1.0 / 5.0_f32.sqrt()));
    }

    /// Whole numbers are cells of their own; a number far from all that was seen is new.
    #[test]
    fn numbers_are_counted_by_cells() {
        let mut visits = Visits::new(&Space::Continuous(vec![(0.0, 10.0), (-1.0, 1.0)]));
        let seen = |i: u64| [(i % 4) as f64, (i % 100) as f64 / 100.0];
        for i in 0..20_000 {
            visits.visit(&seen(i));
        }
        assert!(visits.visit(&seen(7)) < 0.3);
        assert_eq!(visits.visit(&[9.0, 0.5]), 1.0);
        assert_eq!(visits.visit(&[1.0, 5.0]), 1.0);
    }
}
