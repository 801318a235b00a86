//! A set, a player, a learner and an environment of one's own, registered and then named in a problem file.

use std::sync::Arc;

use appropo::certificate::Verdict;
use appropo::env::{EnvEntry, EnvSpec, Environment, HORIZON, Space, Status};
use appropo::error::Result;
use appropo::measurement::{Measures, Spread};
use appropo::options::{Key, Kind, Range, Table};
use appropo::player::{Decision, MakePlayer, Player, PlayerContext, PlayerEntry, Weights};
use appropo::policy::{AnyPolicy, TabularPolicy};
use appropo::random::{self, Generator};
use appropo::registry::Registry;
use appropo::rl::{Episode, EpisodeWindow, Learner, LearnerContext, LearnerEntry, MakeLearner};
use appropo::set::{FromProjection, SetEntry, SharedSet};
use appropo::state::Checkpoint;
use appropo_file::{Reader, schema, written, written_solve};

/// Points whose entries differ from their mean by at most so much, as a vector.
static EVEN: SetEntry = SetEntry {
    key: Key::optional("even", Kind::Table(&EVEN_KEYS), "{ within = 0.1 }", "The entries are almost equal."),
    make: |entry, space| {
        let within = entry.table(&EVEN_KEYS)?.number("within")?;
        let set = FromProjection::new(space.dim, move |x: &[f64], out: &mut [f64]| {
            let mean = x.iter().sum::<f64>() / x.len() as f64;
            let off = x.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>().sqrt();
            let kept = if off > within { within / off } else { 1.0 };
            out.iter_mut().zip(x).for_each(|(out, v)| *out = mean + kept * (v - mean));
        });
        Ok(Arc::new(set.described(format!("even within {within}"))))
    },
};

static EVEN_KEYS: [Key; 1] =
    [Key::defaulted("within", Kind::Number(Range::FROM_ZERO), "0.1", "How far off they may be.")];

/// One choice among doors, then the episode is over.
struct Doors {
    measures: Measures,
    count: usize,
}

impl Doors {
    fn new(count: usize) -> Self {
        Self { measures: Measures::new([("opened", count), ("steps", 1)]), count }
    }
}

impl Checkpoint for Doors {}

impl Environment for Doors {
    fn measures(&self) -> &Measures {
        &self.measures
    }
    fn observations(&self) -> Space {
        Space::Discrete(1)
    }
    fn actions(&self) -> Space {
        Space::Discrete(self.count)
    }
    fn reset(&mut self, _: &mut Generator, observation: &mut [f64]) -> Result<()> {
        observation[0] = 0.0;
        Ok(())
    }
    fn step(
        &mut self,
        action: &[f64],
        _: &mut Generator,
        observation: &mut [f64],
        z: &mut [f64],
    ) -> Result<Status> {
        observation[0] = 0.0;
        z.fill(0.0);
        z[action[0] as usize] = 1.0;
        z[self.count] = 1.0;
        Ok(Status::Ended)
    }
}

static DOORS: EnvEntry = EnvEntry {
    name: "doors",
    about: "a choice among doors",
    keys: &[Key::defaulted("count", Kind::Count(2, 100), "2", "How many doors there are."), HORIZON],
    read: |given, _| {
        let count = given.count("count")? as usize;
        Ok(EnvSpec::playable(move |_| Doors::new(count)))
    },
};

/// λ leads from the set to the mean of the answers.
#[derive(Debug)]
struct Averaging {
    length: f64,
}

struct AveragingPlayer {
    set: SharedSet,
    length: f64,
    sum: Vec<f64>,
    answers: usize,
    decision: Decision,
}

impl Checkpoint for AveragingPlayer {}

impl Player for AveragingPlayer {
    fn decision(&self) -> &Decision {
        &self.decision
    }
    fn observe(&mut self, z_hat: &[f64], _: Option<&Spread>) -> Result<()> {
        self.answers += 1;
        self.sum.iter_mut().zip(z_hat).for_each(|(sum, z)| *sum += z);
        let mean: Vec<f64> = self.sum.iter().map(|sum| sum / self.answers as f64).collect();
        let mut nearest = vec![0.0; mean.len()];
        self.set.project(&mean, &mut nearest);
        let lam: Vec<f64> = mean.iter().zip(&nearest).map(|(z, near)| self.length * (z - near)).collect();
        let offset = lam.iter().zip(&nearest).map(|(l, near)| l * near).sum();
        self.decision = Decision { lam, offset };
        Ok(())
    }
    fn weights(&self) -> Weights {
        Weights::Uniform
    }
}

impl MakePlayer for Averaging {
    fn name(&self) -> &str {
        AVERAGING.name
    }
    fn make(&self, set: &SharedSet, _: &PlayerContext) -> Result<Box<dyn Player>> {
        let dim = set.dim();
        Ok(Box::new(AveragingPlayer {
            set: Arc::clone(set),
            length: self.length,
            sum: vec![0.0; dim],
            answers: 0,
            decision: Decision { lam: vec![0.0; dim], offset: 0.0 },
        }))
    }
    fn table(&self, _: &SharedSet, _: &PlayerContext) -> Result<Table> {
        Ok(Table::new([("length", self.length)]))
    }
    fn rounds(&self) -> usize {
        60
    }
}

static AVERAGING: PlayerEntry = PlayerEntry {
    name: "averaging",
    about: "as Blackwell's, with a length",
    keys: &[Key::defaulted("length", Kind::Number(Range::POSITIVE), "1", "How long λ is.")],
    read: |given| Ok(Arc::new(Averaging { length: given.number("length")? })),
};

/// Tries every action in turn, and takes the one that paid most.
#[derive(Debug)]
struct Trying {
    tries: u64,
}

struct TryingLearner {
    episode: Episode,
    tries: u64,
    actions: usize,
    best: u32,
    rng: Generator,
}

impl Checkpoint for TryingLearner {}

impl Learner for TryingLearner {
    fn learn(&mut self, weights: &[f64], window: &mut EpisodeWindow) -> Result<usize> {
        let mut paid = vec![0.0; self.actions];
        let mut steps = 0;
        for (action, _) in (0..self.actions).flat_map(|action| (0..self.tries).map(move |t| (action, t))) {
            self.episode.start(&mut self.rng)?;
            while self.episode.status() == Status::Running {
                self.episode.step(&[action as f64], &mut self.rng)?;
                steps += 1;
            }
            paid[action] += self.episode.sum().iter().zip(weights).map(|(z, w)| z * w).sum::<f64>();
        }
        self.best = (0..self.actions).max_by(|a, b| paid[*a].total_cmp(&paid[*b])).unwrap_or(0) as u32;
        // What the policy does is measured by episodes of its own.
        for _ in 0..self.tries {
            self.episode.start(&mut self.rng)?;
            while self.episode.status() == Status::Running {
                self.episode.step(&[f64::from(self.best)], &mut self.rng)?;
                steps += 1;
            }
            window.add(self.episode.sum());
        }
        Ok(steps)
    }
    fn policy(&self) -> AnyPolicy {
        TabularPolicy::deterministic(1, self.actions, vec![self.best]).unwrap().into()
    }
    fn start_from(&mut self, _: &AnyPolicy) -> Result<()> {
        Ok(())
    }
    fn start_afresh(&mut self) {
        self.best = random::below(self.actions, &mut self.rng) as u32;
    }
}

impl MakeLearner for Trying {
    fn name(&self) -> &str {
        TRYING.name
    }
    fn make(&self, mut context: LearnerContext) -> Result<Box<dyn Learner>> {
        let actions = context.env.actions().count().unwrap_or(1);
        let episode = Episode::new(context.envs.swap_remove(0), context.gamma, context.limit);
        Ok(Box::new(TryingLearner { episode, tries: self.tries, actions, best: 0, rng: context.rng }))
    }
    fn table(&self, _: &EnvSpec) -> Table {
        Table::new([("tries", self.tries)])
    }
}

static TRYING: LearnerEntry = LearnerEntry {
    name: "trying",
    about: "every action in turn",
    keys: &[Key::defaulted("tries", Kind::Count(1, 1000), "3", "How often each is tried.")],
    read: |given| Ok(Arc::new(Trying { tries: given.count("tries")? })),
};

const PROBLEM: &str = r#"
discount = 1
environment = { name = "doors", count = 3 }

[[constraint]]
name = "fairness"
measure = "opened"
even = { within = 0.2 }

[solve]
oracle = "trying"
player = "averaging"
samples = 20000
trying = { tries = 2 }
learned = { episodes = 2, fresh = 0, iterates = false }
"#;

fn reader() -> Reader {
    let registry = Registry::standard().with_set(&EVEN).unwrap().with_environment(&DOORS).unwrap();
    let registry = registry.with_player(&AVERAGING).unwrap().with_learner(&TRYING).unwrap();
    Reader { registry, ..Reader::default() }
}

#[test]
fn a_problem_of_registered_parts_is_solved_from_its_file() {
    let file = reader().parse("fair", PROBLEM).unwrap();
    assert_eq!(file.problem.statements().collect::<Vec<_>>(), ["fairness: opened even within 0.2"]);
    let outcome = file.problem.solve(file.method.as_ref(), &file.budget, file.seed, &mut ()).unwrap();
    assert_eq!(outcome.verdict(), Verdict::Feasible, "{}", outcome.sentence());
    let opened = &outcome.measurements[..3];
    assert!(opened.iter().all(|share| (share - 1.0 / 3.0).abs() < 0.2), "{opened:?}");
    // All three are needed.
    assert!(outcome.rounds >= 3 && outcome.samples > 0 && outcome.mixture.parts().len() == 3);
}

#[test]
fn registered_parts_are_written_out_in_full() {
    let reader = reader();
    let explained = |text: &str| {
        let file = reader.parse("fair", text).unwrap();
        let solve =
            written_solve(&file.problem, file.method.as_ref(), &file.budget, file.seed, &reader.registry);
        written(&file.problem, &reader.registry) + &solve.unwrap()
    };
    let text = explained(PROBLEM);
    assert_eq!(explained(&text), text);
    for line in [
        "name = \"doors\"\ncount = 3\n",
        "even.within = 0.2\n",
        "oracle = \"trying\"\n",
        "rounds = 60  # default\n",
        "[solve.trying]\ntries = 2\n",
        "[solve.averaging]\nlength = 1  # default\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
}

#[test]
fn mistakes_in_registered_parts_are_shown_as_any_others() {
    for (right, wrong, expected) in [
        ("\"doors\"", "\"dors\"", "did you mean \"doors\"?"),
        (
            "count = 3",
            "count = 1",
            "count: found the number 1; expected a whole number, 2 or more, at most 100",
        ),
        ("even = ", "evn = ", "unknown key \"evn\"; did you mean \"even\"?"),
        ("within = 0.2", "within = -1", "within: found -1; expected a number, 0 or more"),
        ("\"averaging\"", "\"averagin\"", "did you mean \"averaging\"?"),
        ("\"trying\"", "\"tryin\"", "did you mean \"trying\"?"),
        ("tries = 2", "tris = 2", "unknown key \"tris\"; did you mean \"tries\"?"),
    ] {
        let text = PROBLEM.replacen(right, wrong, 1);
        let said = reader().read("fair", "fair.toml", &text).unwrap_err().to_string();
        assert!(said.contains(expected) && said.contains('^'), "{wrong}: {said}");
    }
    // Without being registered they are not known.
    assert!(
        Reader::default().parse("fair", PROBLEM).unwrap_err().to_string().contains("\"doors\" is not known")
    );
}

#[test]
fn registered_parts_are_in_the_schema() {
    for name in ["doors", "even", "averaging", "trying"] {
        let describes = |registry: &Registry| schema(registry).to_string().contains(&format!("\"{name}\""));
        assert!(describes(&reader().registry) && !describes(&Registry::standard()), "{name}");
    }
}
