//! What is played on workers is the same on any number of them, whoever is lost on the way.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use appropo::constraint::Constraint;
use appropo::env::cart_pole::CartPole;
use appropo::env::point_mass::PointMass;
use appropo::env::{EnvSpec, mars_rover};
use appropo::error::{Error, Result};
use appropo::method::{Appropo, Budget, Cpo, Method, Resume};
use appropo::oracle::Learned;
use appropo::outcome::Outcome;
use appropo::problem::Problem;
use appropo::random::{self, Generator};
use appropo::rl::actor_critic::{A2cOptions, PpoOptions};
use appropo::rl::soft_actor_critic::SacOptions;
use appropo::rl::workers::{Host, Task, Workers};
use appropo::solver::{Observer, Round, Stop};
use appropo::state::Saver;

/// Workers in this process: each task goes to one drawn at random, and each may be lost before it.
struct Crew {
    problem: Problem,
    loss: f64,
    hosts: Mutex<(Vec<Host>, u32, Generator)>,
}

impl Crew {
    fn new(problem: &Problem, count: u32, loss: f64, seed: u64) -> Arc<Self> {
        let hosts = (0..count).map(|number| problem.host(None, number)).collect();
        let hosts = Mutex::new((hosts, count, random::generator(seed)));
        Arc::new(Self { problem: problem.clone(), loss, hosts })
    }
}

impl Workers for Crew {
    fn count(&self) -> usize {
        self.hosts.lock().unwrap().0.len()
    }

    fn play(&self, policy: &[u8], tasks: &[Task]) -> Result<Vec<Vec<u8>>> {
        let (hosts, made, rng) = &mut *self.hosts.lock().unwrap();
        let mut answers = vec![Vec::new(); tasks.len()];
        let mut order: Vec<usize> = (0..tasks.len()).collect();
        random::shuffle(&mut order, rng);
        for task in order {
            let host = random::below(hosts.len(), rng);
            if random::unit(rng) < self.loss {
                hosts[host] = self.problem.host(None, *made);
                *made += 1;
            }
            hosts[host].load(policy)?;
            answers[task] = hosts[host].play(&tasks[task].bytes)?;
        }
        Ok(answers)
    }
}

fn cart_pole() -> Problem {
    let reward = Constraint::at_least("reward", 20.0).unwrap();
    Problem::builder(EnvSpec::playable(CartPole::new))
        .discount(0.99)
        .horizon(60)
        .constraint(reward)
        .build()
        .unwrap()
}

fn point_mass() -> Problem {
    let env = EnvSpec::playable(|horizon| PointMass::new(horizon.unwrap_or(40)));
    let name = env.measures().iter().next().map(|(name, _)| name.to_owned()).unwrap();
    let constraint = Constraint::at_least(&name, -5.0).unwrap();
    Problem::builder(env).discount(0.99).horizon(40).constraint(constraint).build().unwrap()
}

fn rover() -> Problem {
    Problem::builder(mars_rover::world("4x4", 0.05).unwrap())
        .discount(0.99)
        .horizon(40)
        .constraint(Constraint::at_most("failure", 0.3).unwrap())
        .constraint(Constraint::at_least("reward", -0.17).unwrap())
        .build()
        .unwrap()
}

/// All that an outcome says, as bytes.
fn bytes(outcome: &Outcome) -> Vec<u8> {
    let mut saver = Saver::default();
    saver.put(&outcome.mixture);
    saver.put(&outcome.measurements);
    saver.put(&outcome.certificate.z_bar);
    saver.put(&outcome.samples);
    saver.put(&outcome.rounds);
    saver.put(&outcome.evaluation.as_ref().map(|evaluation| (evaluation.samples, evaluation.radii.clone())));
    saver.into_bytes()
}

fn ppo() -> Appropo {
    Appropo::default().oracle(Learned::by(PpoOptions::default().n_steps(32).net_arch(vec![16])))
}

fn sac() -> Appropo {
    let options = SacOptions::default().net_arch([16]).batch_size(16_usize).learning_starts(300_usize);
    Appropo::default().oracle(Learned::by(options))
}

#[test]
fn any_number_of_workers_gives_the_same_outcome_whoever_is_lost() {
    let a2c = Appropo::default().oracle(Learned::by(A2cOptions::default().net_arch(vec![16])));
    let cases: [(Problem, Box<dyn Method>); 6] = [
        (cart_pole(), Box::new(ppo())),
        (rover(), Box::new(a2c)),
        (point_mass(), Box::new(ppo())),
        (point_mass(), Box::new(Cpo::default())),
        (point_mass(), Box::new(sac())),
        (rover(), Box::new(sac())),
    ];
    for (problem, method) in cases {
        let budget = Budget::samples(3000).num_envs(3);
        let solved = |budget: &Budget| problem.solve(method.as_ref(), budget, 5, &mut ()).unwrap();
        let here = bytes(&solved(&budget));
        for (count, loss) in [(1, 0.0), (2, 0.1), (5, 0.3)] {
            let crew = Crew::new(&problem, count, loss, count.into());
            let there = bytes(&solved(&budget.clone().on(crew)));
            assert!(there == here, "{} with {count} workers", method.name());
        }
        // Streams are what decides, not who plays them.
        let others = bytes(&solved(&Budget::samples(3000).num_envs(4)));
        assert!(others != here, "{}", method.name());
    }
}

/// Keeps the state of some rounds.
#[derive(Default)]
struct Keeper(Vec<Vec<u8>>);

impl Observer for Keeper {
    fn round(&mut self, round: &Round) -> Result<ControlFlow<()>> {
        self.0.push((round.state)()?.1);
        Ok(ControlFlow::Continue(()))
    }
}

#[test]
fn a_run_goes_on_with_another_number_of_workers() {
    // Constraints that are not reached: there are several rounds.
    let cases: [(Problem, Box<dyn Method>); 2] =
        [(cart_pole(), Box::new(Cpo::default())), (point_mass(), Box::new(sac()))];
    for (problem, method) in cases {
        let (method, budget) = (method.as_ref(), Budget::samples(6000).num_envs(3));
        let (mut keeper, crew) = (Keeper::default(), Crew::new(&problem, 2, 0.0, 1));
        let whole = problem.solve(method, &budget.clone().on(crew), 9, &mut keeper).unwrap();
        assert!(keeper.0.len() > 2, "{}", keeper.0.len());
        let state = keeper.0[keeper.0.len() / 2].clone();
        let from = Resume { state, ..Resume::default() };
        for budget in [budget.clone(), budget.clone().on(Crew::new(&problem, 5, 0.2, 2))] {
            let rest = problem.resume(method, &budget, 9, from.clone(), &mut ()).unwrap();
            assert!(bytes(&rest) == bytes(&whole));
        }
    }
}

/// Fresh episodes are those of a run without workers: each comes from its own seed.
#[test]
fn workers_judge_as_one_process_does() {
    let problem = rover();
    let solved = |budget: &Budget| problem.solve(&ppo(), budget, 2, &mut ()).unwrap();
    let budget = Budget::samples(2000);
    let crew = Crew::new(&problem, 3, 0.2, 4);
    assert!(bytes(&solved(&budget.clone().on(crew))) == bytes(&solved(&budget)));
}

/// Workers are asked for nothing more once a run is to stop.
#[test]
fn a_run_on_workers_stops_when_it_is_told_to() {
    let (problem, asked) = (cart_pole(), Arc::new(Mutex::new(0)));
    let counted = Arc::clone(&asked);
    let stop = Arc::new(move || {
        *counted.lock().unwrap() += 1;
        *counted.lock().unwrap() > 5
    });
    let budget = Budget::samples(1_000_000).num_envs(3).on(Crew::new(&problem, 2, 0.0, 1)).until(stop);
    let outcome = problem.solve(&Cpo::default(), &budget, 0, &mut ()).unwrap();
    assert_eq!(outcome.stop, Stop::Failed(Error::Interrupted));
    assert!(outcome.samples < 100_000, "{}", outcome.samples);
}

#[test]
fn streams_are_counted_from_one() {
    let problem = cart_pole();
    for num_envs in [0, 1_000_000] {
        let failed = problem.solve(&ppo(), &Budget::samples(1000).num_envs(num_envs), 0, &mut ());
        assert!(failed.unwrap_err().to_string().contains("num_envs"));
    }
}
