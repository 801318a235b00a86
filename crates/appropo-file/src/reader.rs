use std::path::Path;
use std::sync::Arc;

use appropo::method::{Budget, Distil, DistilOptions, Method};
use appropo::options::{Given, Options, Table, Value, suggestion};
use appropo::outcome::Outcome;
use appropo::problem::Problem;

use crate::built_in::BUILT_IN;
use crate::diagnostic::Diagnostic;
use crate::problem_file::{ProblemFile, Reader};
use crate::{document, read};

/// Steps that a network learns a mixture from unless more are asked for.
const MOST_SAMPLES: u64 = 100_000;

impl Reader {
    /// Reads a problem file, or the built-in problem of this name.
    pub fn load(&self, name_or_path: &str) -> Result<ProblemFile, Diagnostic> {
        let path = Path::new(name_or_path);
        let built_in = BUILT_IN.iter().find(|(name, _)| *name == name_or_path);
        if let Some((name, text)) = built_in.filter(|_| !path.is_file()) {
            return self.read(name, name, text);
        }
        let text = std::fs::read_to_string(path).map_err(|error| {
            let known = BUILT_IN.iter().map(|(name, _)| *name);
            let hint = match name_or_path.contains(['/', '.']) {
                true => String::new(),
                false => format!(", nor is it a built-in problem; {}", suggestion(name_or_path, known)),
            };
            Diagnostic::nowhere(name_or_path, format!("can't be read as a file ({error}){hint}"))
        })?;
        let name = path.file_stem().map_or(name_or_path.into(), |stem| stem.to_string_lossy());
        self.read(&name, name_or_path, &text)
    }

    /// Reads the text of a problem that is in no file.
    pub fn parse(&self, name: &str, text: &str) -> Result<ProblemFile, Diagnostic> {
        self.read(name, "", text)
    }

    /// Reads the text of a file: what the problem is called, and what the file is called in messages.
    pub fn read(&self, name: &str, file: &str, text: &str) -> Result<ProblemFile, Diagnostic> {
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        read::read(self, name, folder, document::Document::parse(file, text)?)
    }

    /// An environment alone, by a table as `[environment]` has it: a problem without constraints.
    pub fn environment(&self, table: &Table, discount: f64) -> Result<Problem, Diagnostic> {
        read::environment(self, table, discount).map_err(|error| Diagnostic::nowhere("", error.message))
    }

    /// How to solve a problem, by settings as the table `[solve]` has them.
    pub fn solve(
        &self,
        problem: &Problem,
        settings: &Table,
    ) -> Result<(Arc<dyn Method>, Budget, u64), Diagnostic> {
        read::solve_settings(self, problem, settings).map_err(|error| read::nowhere(&error))
    }

    /// How to make one policy of an outcome, which was found within a budget, by settings as the table `[solve]` has them.
    /// Left out, they are the budget's, though with at most 100,000 samples.
    pub fn distil(
        &self,
        problem: &Problem,
        (outcome, found_within): (&Outcome, &Budget),
        settings: &Table,
    ) -> Result<(Distil, Budget, u64), Diagnostic> {
        let mut table = Table::default();
        table.set("samples", found_within.samples.min(MOST_SAMPLES));
        table.set("evaluation_samples", found_within.evaluation_samples());
        table.set("tolerance", found_within.tolerance);
        table.set("seed", outcome.seed);
        crate::overlay(&mut table, settings);
        table.set("method", "distil");
        let (_, budget, seed) = self.solve(problem, &table)?;
        let nothing = Table::default();
        let options = match table.get("distil") {
            Some(Value::Table(options)) => options,
            _ => &nothing,
        };
        let options = Given::read(options, DistilOptions::KEYS).and_then(|given| DistilOptions::read(&given));
        let options = options.map_err(|error| read::nowhere(&error))?;
        Ok((Distil::of(outcome).options(options), budget, seed))
    }
}
