use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use appropo::problem::Direction;
use appropo_experiments::{Comparison, join as join_study};
use appropo_run::study::{Compared, Progress};

use crate::args::{Compare, Drawing, Study};
use crate::progress::StudyProgress;
use crate::{Failure, Output, interrupts};

/// Runs methods on problems and shows one table.
pub fn run(arguments: &Compare) -> Result<Output, Failure> {
    let named = |measure: &Option<String>, direction| measure.clone().map(|measure| (measure, direction));
    let comparison = Comparison {
        problems: arguments.problems.clone(),
        methods: arguments.methods.clone(),
        seeds: arguments.seed..arguments.seed + arguments.seeds,
        objective: named(&arguments.maximize, Direction::Maximize)
            .or_else(|| named(&arguments.minimize, Direction::Minimize)),
        settings: arguments.table(),
        folder: PathBuf::from(&arguments.out),
    };
    let drawing = &arguments.drawing;
    drawn(drawing, |watch| Ok(comparison.run(&drawing.options(), watch)?))
}

/// Runs what a folder plans and shows one table.
pub fn join(arguments: &Study) -> Result<Output, Failure> {
    let (folder, drawing) = (Path::new(&arguments.folder), &arguments.drawing);
    drawn(drawing, |watch| Ok(join_study(folder, &drawing.options(), watch)?))
}

fn drawn(
    drawing: &Drawing,
    run: impl FnOnce(&mut dyn FnMut(&Progress) -> ControlFlow<()>) -> Result<Compared, Failure>,
) -> Result<Output, Failure> {
    interrupts::catch();
    let mut shown = StudyProgress::new(drawing.quiet || drawing.json);
    let compared = run(&mut |progress| {
        shown.show(progress);
        if interrupts::was_interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    drop(shown);
    let compared = compared?;
    if compared.rows.is_empty() && compared.failed.is_empty() && !compared.is_interrupted {
        return Err(Failure::Input(compared.text().trim().into()));
    }
    let mut output = Output::of(if drawing.json { compared.to_json() } else { compared.text() });
    if compared.is_interrupted {
        eprintln!("stopped; the same command goes on");
        output.status = 130;
    } else if !compared.failed.is_empty() {
        eprintln!("{} failed; --retry tries again", runs(compared.failed.len()));
        output.status = 1;
    }
    Ok(output)
}

fn runs(count: usize) -> String {
    if count == 1 { "1 run".into() } else { format!("{count} runs") }
}
