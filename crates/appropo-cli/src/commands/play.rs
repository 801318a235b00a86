use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use appropo::env::{Grid, Status};
use appropo::outcome::number;
use appropo::policy::{Memory, Policy};
use appropo::random;
use appropo::rl::Episode;

use super::playable;
use crate::{Failure, Output};

/// Shows an episode of the mixture of a run: a map that moves on a terminal, lines where there is none.
pub fn run(folder: &str, seed: u64, delay: u64) -> Result<Output, Failure> {
    let (file, outcome) = playable(folder)?;
    let (problem, mixture) = (&file.problem, &outcome.mixture);
    let mut rng = random::generator(seed);
    let mut episode =
        Episode::new(problem.environment(None)?, problem.discounting().gamma(), problem.limit());
    let (mut memory, mut action) = (Memory::default(), vec![0.0; episode.world().actions().entries()]);
    let parts = mixture.parts();
    let chosen = random::choose(parts.iter().map(|(weight, _)| *weight), 1.0, &mut rng);
    let policy = &parts[chosen].1;
    let mut screen = Screen::new(problem.env().grid(), delay);
    episode.start(&mut rng)?;
    screen.show(episode.observation(), &format!("policy {} of {}, start", chosen + 1, parts.len()));
    while episode.status() == Status::Running {
        let observed: Vec<String> = episode.observation().iter().map(|v| number(*v)).collect();
        policy.act(episode.observation(), episode.steps(), &mut rng, &mut memory, &mut action);
        episode.step(&action, &mut rng)?;
        let acted: Vec<String> = action.iter().map(|v| number(*v)).collect();
        let line = format!("step {}: seen {}, did {}", episode.steps(), observed.join(" "), acted.join(" "));
        screen.show(episode.observation(), &line);
    }
    let mut text = screen.finish();
    let end = if episode.status() == Status::Ended { "ended" } else { "cut off" };
    let _ = writeln!(text, "{end} after {} steps", episode.steps());
    for (name, range) in problem.measures().iter().filter(|(_, range)| range.len() == 1) {
        let _ = writeln!(text, "  {name} {}", number(episode.sum()[range.start]));
    }
    Ok(Output::of(text))
}

struct Screen<'a> {
    grid: Option<&'a Grid>,
    delay: Duration,
    /// Lines to go back over; `None` where there is no terminal.
    drawn: Option<usize>,
    text: String,
}

impl<'a> Screen<'a> {
    fn new(grid: Option<&'a Grid>, delay: u64) -> Self {
        let moves = std::io::stdout().is_terminal() && grid.is_some();
        Self { grid, delay: Duration::from_millis(delay), drawn: moves.then_some(0), text: String::new() }
    }

    fn show(&mut self, observation: &[f64], line: &str) {
        let Some(drawn) = self.drawn else {
            let _ = writeln!(self.text, "{line}");
            return;
        };
        let picture = self.grid.map_or(String::new(), |grid| picture(grid, observation[0] as usize));
        let mut out = std::io::stdout();
        let back = if drawn > 0 { format!("\x1b[{drawn}A\x1b[J") } else { String::new() };
        let _ = writeln!(out, "{back}{picture}{line}").and_then(|()| out.flush());
        self.drawn = Some(picture.lines().count() + 1);
        std::thread::sleep(self.delay);
    }

    fn finish(self) -> String {
        self.text
    }
}

/// The map with a mark where the agent is; states beyond the map are ends.
fn picture(grid: &Grid, state: usize) -> String {
    let mut text = String::new();
    for (cell, letter) in grid.cells.iter().enumerate() {
        let shown = match letter {
            _ if cell == state => '@',
            'F' => '·',
            'H' => '#',
            other => *other,
        };
        text.extend([shown, if (cell + 1) % grid.columns == 0 { '\n' } else { ' ' }]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_shows_where_the_agent_is() {
        let grid = Grid::parse("SFH\nFFG", "SFHG").unwrap();
        assert_eq!(picture(&grid, 3), "S · #\n@ · G\n");
        assert_eq!(picture(&grid, 6), "S · #\n· · G\n");
    }
}
