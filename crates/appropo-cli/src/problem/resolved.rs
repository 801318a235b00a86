//! A problem with the settings in force, as a file that states it in full.

use appropo::error::Result;
use appropo::oracle::Exact;

use super::Problem;
use super::explain::{line, number, numbers, text};
use super::format::SOLVE;
use super::settings::{
    GOALS, METHODS, Method, ORACLES, OracleKind, PLANNERS, PLAYERS, PlayerKind, STEPS, Settings,
};

/// The word that stands for a setting.
fn word<T: PartialEq>(words: &[(&str, T)], meaning: &T) -> String {
    words.iter().find(|(_, known)| known == meaning).map_or(String::new(), |(word, _)| text(word))
}

impl Problem {
    /// The problem as a file with every default written out that matters under these settings. Read back, it is the
    /// same problem.
    pub fn resolved(&self, settings: &Settings) -> Result<String> {
        let plays = settings.method == Method::Appropo;
        let oracle = settings.oracle_for(&self.world);
        let plans = plays && oracle == OracleKind::Exact;
        let learns = plays && !plans;
        let is_corrective = settings.player == PlayerKind::FullyCorrective;
        let descends = plays && settings.momentum().is_some();

        let mut out = format!("{}\n[solve]\n", self.stated);
        // A setting without effect is written only where it was chosen, so that it is still there for another run.
        let mut write = |key: &str, value: String, default: Option<String>, applies: bool| {
            let known = SOLVE.iter().find(|k| k.name == key).and_then(|k| k.default()).map(str::to_owned);
            let default = default.or(known);
            if applies || default.as_ref() != Some(&value) {
                line(&mut out, key, &value, default.as_deref());
            }
        };
        write("method", word(&METHODS, &settings.method), None, true);
        if plays {
            let by_default = Settings { oracle: None, ..settings.clone() }.oracle_for(&self.world);
            write("oracle", word(&ORACLES, &oracle), Some(word(&ORACLES, &by_default)), true);
        }
        write("samples", settings.samples.to_string(), None, learns);
        write("player", word(&PLAYERS, &settings.player), None, plays);
        let is_endless = self.discounting.horizon().is_none();
        write("planner", word(&PLANNERS, &settings.planner), None, plans && is_endless);
        write("goal", word(&GOALS, &settings.goal), None, plays);
        write("tolerance", number(settings.tolerance), None, true);
        let by_default = Settings { rounds: None, ..settings.clone() }.most_rounds();
        write("rounds", settings.most_rounds().to_string(), Some(by_default.to_string()), plays);
        write("caution", number(settings.caution), None, learns && is_corrective);
        if let Some(z) = &settings.anchor {
            write("anchor", self.by_measure(z), None, true);
        }
        let (kappa, eta) = (settings.kappa.map(number), settings.eta.map(number));
        // In a model that is learnt the target grows with what is known, and with it the default gains.
        if descends && oracle != OracleKind::Model {
            let (kappa, default_kappa, eta, default_eta) = self.gains(settings, plans)?;
            write("kappa", number(kappa), Some(number(default_kappa)), true);
            write("eta", number(eta), Some(number(default_eta)), true);
        } else {
            kappa.into_iter().for_each(|kappa| write("kappa", kappa, None, true));
            eta.into_iter().for_each(|eta| write("eta", eta, None, true));
        }
        write("steps", word(&STEPS, &settings.decreasing), None, descends);
        write("seed", settings.seed.to_string(), None, true);
        Ok(out)
    }

    /// κ and its default, η and its default.
    fn gains(&self, settings: &Settings, plans: bool) -> Result<(f64, f64, f64, f64)> {
        let radius = match self.world.model().filter(|_| plans) {
            Some(model) => {
                let selected = model.select(self.target.selection());
                Some(Exact::new(selected, self.discounting, settings.planner)?.measurement_radius()?)
            }
            None => None,
        };
        let (set, rounds) = (self.target.set().as_ref(), settings.most_rounds());
        let (kappa, eta) = settings.gains(set, radius, rounds);
        let (default_kappa, _) = Settings { kappa: None, ..settings.clone() }.gains(set, radius, rounds);
        let (_, default_eta) = Settings { eta: None, ..settings.clone() }.gains(set, radius, rounds);
        Ok((kappa, default_kappa, eta, default_eta))
    }

    /// Measurements as a table by name, without those that are 0.
    fn by_measure(&self, z: &[f64]) -> String {
        let measures = self.world.measures();
        let named = measures.iter().filter(|(_, range)| z[range.clone()].iter().any(|z| *z != 0.0));
        let entries: Vec<String> = named
            .map(|(name, range)| match &z[range] {
                [z] => format!("{name} = {}", number(*z)),
                z => format!("{name} = {}", numbers(z)),
            })
            .collect();
        if entries.is_empty() { "{}".into() } else { format!("{{ {} }}", entries.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::{BUILT_IN, Surroundings, source::Source};
    use super::*;

    /// Whatever overrides a file's settings, what is written can be read and says the same.
    #[test]
    fn settings_in_force_are_read_back() {
        for (name, text) in BUILT_IN {
            let problem = Problem::read(name, Source { file: name, text }, &Surroundings::default()).unwrap();
            let choices = METHODS.iter().flat_map(|m| ORACLES.map(|o| (m.1, o.1)));
            for ((method, oracle), player) in choices.flat_map(|c| PLAYERS.map(|p| (c, p.1))) {
                let is_learnt = matches!(oracle, OracleKind::A2c | OracleKind::Ppo);
                let fits = is_learnt && method == Method::Appropo;
                if problem.world.model().is_none() && !fits {
                    continue;
                }
                let own = problem.settings.clone();
                let settings = Settings { method, oracle: Some(oracle), player, samples: 7, seed: 3, ..own };
                let written = problem.resolved(&settings).unwrap();
                let again =
                    Problem::read(name, Source { file: name, text: &written }, &Surroundings::default())
                        .unwrap();
                assert_eq!(again.resolved(&again.settings).unwrap(), written);
            }
        }
    }
}
