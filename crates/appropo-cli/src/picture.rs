//! A map with visits, in plain characters.

use appropo::env::Grid;

const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];

/// The map, two characters a cell: how often a cell is visited compared with the most visited one.
pub fn visits(grid: &Grid, visits: &[f64]) -> String {
    // Maps wider than a terminal are left out.
    if grid.columns > 60 {
        return String::new();
    }
    // Start and goal keep their letters, so they don't set the scale.
    let free = visits.iter().zip(&grid.cells).filter(|(_, cell)| **cell == 'F');
    let most = free.map(|(visits, _)| *visits).fold(f64::MIN_POSITIVE, f64::max);
    let mut picture = String::new();
    for row in 0..grid.rows {
        picture.push_str("  ");
        for column in 0..grid.columns {
            let cell = row * grid.columns + column;
            match grid.cells[cell] {
                letter @ ('S' | 'G' | 'C') => picture.extend([letter, ' ']),
                'H' => picture.push_str("# "),
                _ => {
                    let share = visits[cell] / most;
                    let shade = if share < 1e-3 { 0 } else { 1 + ((share * 4.0) as usize).min(3) };
                    picture.extend([SHADES[shade], if shade == 0 { ' ' } else { SHADES[shade] }]);
                }
            }
        }
        picture.truncate(picture.trim_end().len());
        picture.push('\n');
    }
    picture.push_str("  visits: · none, ░ few to █ most; S start, G goal");
    for (letter, meaning) in [('H', ", # obstacle"), ('C', ", C cliff")] {
        if grid.cells.contains(&letter) {
            picture.push_str(meaning);
        }
    }
    picture.push('\n');
    picture
}
