use crate::error::{Error, Result};

/// A rectangular map. Cells are numbered row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// One letter a cell.
    pub cells: Vec<char>,
}

impl Grid {
    /// Reads a map of the given letters, one row a line; `S` and `G` must each stand in it once.
    pub fn parse(text: &str, letters: &str) -> Result<Self> {
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        let problem = |line: usize, problem: String| Error::Map { line, problem };
        let Some(first) = lines.first() else {
            return Err(problem(1, "the map has no rows; write one row a line, such as \"SFG\"".into()));
        };
        let columns = first.chars().count();
        let known = letters.chars().map(String::from).collect::<Vec<_>>().join(", ");
        for (row, line) in lines.iter().enumerate() {
            if let Some((column, letter)) = line.chars().enumerate().find(|(_, c)| !letters.contains(*c)) {
                let column = column + 1;
                return Err(problem(
                    row + 1,
                    format!("'{letter}' in column {column} is not a kind of cell; write one of {known}"),
                ));
            }
            let found = line.chars().count();
            if found != columns {
                return Err(problem(
                    row + 1,
                    format!("{found} cells, but the first row has {columns}; make all rows equally long"),
                ));
            }
        }
        let cells: Vec<char> = lines.iter().flat_map(|l| l.chars()).collect();
        for (letter, what) in [('S', "start"), ('G', "goal")] {
            let count = cells.iter().filter(|c| **c == letter).count();
            if letters.contains(letter) && count != 1 {
                return Err(problem(
                    lines.len(),
                    format!("the map has {count} cells '{letter}'; write exactly one, the {what}"),
                ));
            }
        }
        Ok(Self { rows: lines.len(), columns, cells })
    }

    /// The cell that a move of (rows, columns) leads to; the edge of the map holds.
    pub fn neighbour(&self, cell: usize, (down, right): (isize, isize)) -> usize {
        let row = (cell / self.columns).saturating_add_signed(down).min(self.rows - 1);
        let column = (cell % self.columns).saturating_add_signed(right).min(self.columns - 1);
        row * self.columns + column
    }

    /// The first cell with this letter.
    pub fn find(&self, letter: char) -> Option<usize> {
        self.cells.iter().position(|c| *c == letter)
    }

    /// The distribution that is uniform over the free cells on or above the diagonal: neither obstacle, start nor goal.
    pub fn uniform_upper_triangle(&self) -> Vec<f64> {
        let chosen = |cell: usize| cell % self.columns >= cell / self.columns && self.cells[cell] == 'F';
        let count = (0..self.cells.len()).filter(|&c| chosen(c)).count();
        (0..self.cells.len()).map(|c| if chosen(c) { 1.0 / count as f64 } else { 0.0 }).collect()
    }
}
