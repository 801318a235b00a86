//! Confidence regions: how often they miss, how they shrink, and what follows from them.

use std::sync::Arc;

use appropo::confidence::{Evaluation, Finding, Look, Options, Sample, evaluate, radii};
use appropo::constraint::{Constraint, Target};
use appropo::env::{EnvSpec, Environment, Simulator, Space, Status, TabularMdp, mars_rover};
use appropo::error::Error;
use appropo::measurement::{Discounting, Estimate, Measures, Selection};
use appropo::method::{Appropo, Budget};
use appropo::oracle::{Exact, ModelOptions, Planner, Respond};
use appropo::policy::{Mixed, TabularPolicy};
use appropo::problem::Problem;
use appropo::random::{self, Generator};
use appropo::rl::{Episode, Occupancy, Rollouts};
use appropo::set::{Ball, Bounds, FromProjection, SharedSet};
use appropo::state::{Checkpoint, Loader, Saver};
use appropo::verify::verify;

const GAMMA: f64 = 0.99;
const HORIZON: usize = 300;

/// Failure and reward of the small rover.
fn model() -> Arc<TabularMdp> {
    let world = mars_rover::world("4x4", 0.05).unwrap();
    Arc::new(world.model.select(&Selection { entries: vec![(0, 1.0), (1, 1.0)] }))
}

/// A failure is at most 1, and a reward of −0.01 a step at least −1.
fn known() -> Vec<Option<(f64, f64)>> {
    vec![Some((0.0, 1.0)), Some((-1.0, 0.0))]
}

fn episode(model: &Arc<TabularMdp>) -> Episode {
    Episode::new(Box::new(Simulator::new(Arc::clone(model), Some(HORIZON))), GAMMA, HORIZON)
}

fn rollouts(model: &Arc<TabularMdp>, seed: u64) -> Rollouts {
    Rollouts::new(episode(model), &mut random::generator(seed))
}

/// Neither crashes nor dawdles.
fn careful(model: &TabularMdp) -> Mixed {
    let discounting = Discounting::new(GAMMA, None).unwrap();
    let mut oracle = Exact::new(model.clone(), discounting, Planner::PolicyIteration).unwrap();
    oracle.respond(&[1.0, -1.0], 0.0).unwrap().policy
}

/// Crashes nearly always.
fn wandering(model: &TabularMdp) -> Mixed {
    Mixed::one(TabularPolicy::uniform(model.states(), model.actions()))
}

fn exact(model: &TabularMdp, mixture: &Mixed) -> Vec<f64> {
    let discounting = Discounting::new(GAMMA, Some(HORIZON)).unwrap();
    Occupancy::of_mixture(model, &discounting, mixture).unwrap().measure(model)
}

fn paper() -> SharedSet {
    Arc::new(Bounds::new(vec![f64::NEG_INFINITY, -0.17], vec![0.2, f64::INFINITY]).unwrap())
}

fn found(mixture: &Mixed, set: &SharedSet, options: &Options) -> Evaluation {
    evaluate(mixture, &mut rollouts(&model(), 7), set, &Selection::all(2), options, &mut |_| Ok(())).unwrap()
}

/// Episodes of one step that measure a draw from a distribution.
struct Draw(Measures, fn(&mut Generator) -> f64);

impl Environment for Draw {
    fn measures(&self) -> &Measures {
        &self.0
    }

    fn observations(&self) -> Space {
        Space::Discrete(1)
    }

    fn actions(&self) -> Space {
        Space::Discrete(1)
    }

    fn reset(&mut self, _: &mut Generator, observation: &mut [f64]) -> appropo::error::Result<()> {
        observation.fill(0.0);
        Ok(())
    }

    fn step(
        &mut self,
        _: &[f64],
        rng: &mut Generator,
        _: &mut [f64],
        z: &mut [f64],
    ) -> appropo::error::Result<Status> {
        z[0] = (self.1)(rng);
        Ok(Status::Ended)
    }
}

impl Checkpoint for Draw {
    fn save(&self, _: &mut Saver) -> appropo::error::Result<()> {
        Ok(())
    }

    fn load(&mut self, _: &mut Loader) -> appropo::error::Result<()> {
        Ok(())
    }
}

/// How many of so many evaluations had a region that missed the truth at any look, and how many found what is false.
fn misses(
    repetitions: u64,
    truth: &[f64],
    edge: &SharedSet,
    evaluation: impl Fn(u64, &mut dyn FnMut(&Look) -> appropo::error::Result<()>) -> Evaluation,
) -> (u64, u64) {
    let (mut missed, mut wrong) = (0, 0);
    for seed in 0..repetitions {
        let mut is_missed = false;
        let mut look = |mean: &[f64], radii: &[f64]| {
            let is_outside = |i: usize| (mean[i] - truth[i]).abs() > radii[i];
            is_missed |= (0..mean.len()).any(is_outside);
        };
        let found = evaluation(seed, &mut |looked| {
            look(looked.region.0, looked.region.1);
            Ok(())
        });
        look(&found.mean, &found.radii);
        missed += u64::from(is_missed);
        let is_inside = edge.contains(truth, 0.0);
        wrong += u64::from(match found.finding {
            Finding::Inside => !is_inside,
            Finding::Outside => is_inside,
            Finding::Open => false,
        });
    }
    (missed, wrong)
}

/// A distribution: its name, mean, standard deviation, range where it has one, and a draw.
type Law = (&'static str, f64, f64, Option<(f64, f64)>, fn(&mut Generator) -> f64);

/// Policies near the edge, judged again and again: the region of any look that misses counts.
fn covers(repetitions: u64) {
    let most = repetitions / 20;
    let laws: [Law; 6] = [
        ("1 of 100", 0.01, 0.1, Some((0.0, 1.0)), |rng| f64::from(random::unit(rng) < 0.01)),
        ("1 of 2", 0.5, 0.5, Some((0.0, 1.0)), |rng| f64::from(random::unit(rng) < 0.5)),
        ("exponential", 1.0, 1.0, None, |rng| -(1.0 - random::unit(rng)).ln()),
        ("lognormal", 0.5f64.exp(), 2.16, None, |rng| random::normal(rng).exp()),
        ("crashes", -0.01, 0.34, Some((-1.0, 0.2)), |rng| {
            if random::unit(rng) < 0.1 { -1.0 } else { 0.2 * random::unit(rng) }
        }),
        ("cube", 0.25, 0.29, Some((0.0, 1.0)), |rng| random::unit(rng).powi(3)),
    ];
    let policy = Mixed::one(TabularPolicy::uniform(1, 1));
    for (name, truth, deviation, range, law) in laws {
        for ranges in [vec![], vec![range]] {
            // Inside and outside by what 1,000 episodes can't tell.
            for sign in [-1.0, 1.0] {
                let edge = truth + sign * deviation / 1_000f64.sqrt();
                let set: SharedSet = Arc::new(Bounds::at_most(edge).unwrap());
                let options = Options::default().samples(2_000).ranges(ranges.clone());
                let evaluation = |seed, watch: &mut dyn FnMut(&Look) -> appropo::error::Result<()>| {
                    let draw = Draw(Measures::new([("draw", 1)]), law);
                    let mut rollouts =
                        Rollouts::new(Episode::new(Box::new(draw), 1.0, 1), &mut random::generator(seed));
                    evaluate(&policy, &mut rollouts, &set, &Selection::all(1), &options, watch).unwrap()
                };
                let (missed, wrong) = misses(repetitions, &[truth], &set, evaluation);
                println!(
                    "{name:12} {:5} {sign:2}: {missed} missed, {wrong} wrong of {repetitions}",
                    !ranges.is_empty()
                );
                assert!(missed <= most, "{name}: {missed} of {repetitions} missed");
                assert!(wrong <= most, "{name}: {wrong} of {repetitions} wrong");
            }
        }
    }
}

#[test]
fn regions_hold_the_truth_as_often_as_they_claim() {
    covers(100);
}

#[test]
#[ignore = "2,000 evaluations of every distribution take a minute"]
fn regions_hold_the_truth_in_2000_evaluations() {
    covers(2_000);
    covers_rover(2_000);
    covers_mixture(2_000);
}

/// Failure and reward of the rover, near the edge of both constraints.
fn covers_rover(repetitions: u64) {
    let model = model();
    let both = Mixed::flatten([(0.8, careful(&model)), (0.2, wandering(&model))]);
    for mixture in [careful(&model), wandering(&model), both] {
        let z_bar = exact(&model, &mixture);
        for ranges in [known(), Vec::new()] {
            for shift in [-0.005, 0.005] {
                let upper = vec![z_bar[0] + shift, f64::INFINITY];
                let set: SharedSet =
                    Arc::new(Bounds::new(vec![f64::NEG_INFINITY, z_bar[1] - shift], upper).unwrap());
                let options = Options::default().samples(10_000).ranges(ranges.clone());
                let evaluation = |seed, watch: &mut dyn FnMut(&Look) -> appropo::error::Result<()>| {
                    let rollouts = &mut rollouts(&model, seed);
                    evaluate(&mixture, rollouts, &set, &Selection::all(2), &options, watch).unwrap()
                };
                let (missed, wrong) = misses(repetitions, &z_bar, &set, evaluation);
                println!(
                    "rover {z_bar:.3?} {:5}: {missed} missed, {wrong} wrong of {repetitions}",
                    !ranges.is_empty()
                );
                assert!(missed.max(wrong) <= repetitions / 20, "{missed} missed, {wrong} wrong");
            }
        }
    }
}

#[test]
fn regions_hold_what_the_rover_does() {
    covers_rover(40);
}

/// Two policies that gather ten each of one thing, give or take, and none of the other.
fn gatherers() -> (Arc<TabularMdp>, Mixed) {
    let mut builder = TabularMdp::builder(2, 2, Measures::new([("fish", 1), ("wood", 1)]));
    builder.start(0, 1.0).terminal(1);
    for action in 0..2 {
        for gathered in [8.0, 12.0] {
            builder.transition((0, action), 0.5, 1, &[(action, gathered)]);
        }
    }
    let model = Arc::new(builder.build().unwrap());
    let policy = |action| Mixed::one(TabularPolicy::deterministic(2, 2, vec![action; 2]).unwrap());
    (model, Mixed::flatten([(0.5, policy(0)), (0.5, policy(1))]))
}

/// With controls it hardly matters which policy is drawn: what two of them gather together is known after a few episodes,
/// and as rarely missed.
fn covers_mixture(repetitions: u64) {
    let (model, mixture) = gatherers();
    let all = Selection::all(2);
    for (edge, expected) in [(4.5, Finding::Inside), (4.9, Finding::Open), (5.1, Finding::Open)] {
        let set: SharedSet = Arc::new(Bounds::new(vec![edge; 2], vec![f64::INFINITY; 2]).unwrap());
        let options = Options::default().samples(200);
        let alone = |seed| rollouts(&model, seed);
        let without = evaluate(&mixture, &mut alone(0), &set, &all, &options, &mut |_| Ok(())).unwrap();
        assert_eq!(without.finding, Finding::Open);
        for ranges in [Vec::new(), vec![Some((0.0, 12.0)); 2]] {
            let options = options.clone().ranges(ranges);
            let evaluation = |seed, watch: &mut dyn FnMut(&Look) -> appropo::error::Result<()>| {
                let mut controlled = alone(seed).finding_controls(&mixture).unwrap();
                evaluate(&mixture, &mut controlled, &set, &all, &options, watch).unwrap()
            };
            let (missed, wrong) = misses(repetitions, &[5.0, 5.0], &set, evaluation);
            assert!(missed.max(wrong) <= repetitions / 20, "{edge}: {missed} missed, {wrong} wrong");
            let found = evaluation(0, &mut |_| Ok(()));
            // What is proved takes more episodes.
            let expected = if options.ranges.is_empty() { expected } else { Finding::Open };
            assert_eq!(found.finding, expected, "{edge}: {found:?}");
            assert_eq!(found.inconsistency(&mixture, &set, &all, &options).unwrap(), None);
            let mut forged = found.clone();
            forged.controls.shifts[0][0] += 0.1;
            let said = forged.inconsistency(&mixture, &set, &all, &options).unwrap().unwrap();
            assert!(said.contains("controls"), "{said}");
        }
    }
}

#[test]
fn mixtures_are_measured_as_well_as_their_policies() {
    covers_mixture(100);
}

/// What was added to episodes is checked again: that it cancels, and that policies differ by as much.
#[test]
fn forged_controls_are_refused() {
    let (model, _) = gatherers();
    let hidden = EnvSpec::playable(move |horizon| Simulator::new(Arc::clone(&model), horizon));
    let both = ["fish", "wood"].map(|measure| Constraint::at_least(measure, 4.0).unwrap());
    let problem = Problem::builder(hidden).discount(1.0).horizon(1).constraints(both).build().unwrap();
    let method = Appropo::default().oracle(ModelOptions::default());
    let found = problem.solve(&method, &Budget::samples(2_000), 1, &mut ()).unwrap();
    let controls = &found.evaluation.as_ref().unwrap().controls;
    assert!(controls.shifts.len() > 1 && controls.samples > 0, "{controls:?}");
    verify(&problem, &found, 7).unwrap();
    let weights: Vec<f64> = found.mixture.parts().iter().map(|(weight, _)| *weight).collect();
    let refused = |alter: &dyn Fn(&mut Vec<Vec<f64>>)| {
        let mut forged = found.clone();
        alter(&mut forged.evaluation.as_mut().unwrap().controls.shifts);
        verify(&problem, &forged, 7).unwrap_err().to_string()
    };
    assert!(refused(&|shifts| shifts[0][0] += 0.1).contains("controls"));
    assert!(refused(&|shifts| shifts.truncate(1)).contains("controls"));
    // They cancel, and would move what is measured of one policy at the expense of the other.
    let moved = refused(&|shifts| {
        shifts[0][0] += 100.0 / weights[0];
        shifts[1][0] -= 100.0 / weights[1];
    });
    assert!(moved.contains("entry 0"), "{moved}");
}

/// A region a third as large would miss, so the regions are not just large.
#[test]
fn a_third_of_a_region_is_not_enough() {
    let (model, mut missed) = (model(), 0);
    let mixture = wandering(&model);
    let z_bar = exact(&model, &mixture);
    for seed in 0..100 {
        let (mut rollouts, mut estimate) = (rollouts(&model, seed), Estimate::new(2));
        let add = |sum: &[f64], _| {
            estimate.add(sum);
            Ok(())
        };
        rollouts.play(&mixture, 200, add).unwrap();
        let radii = radii(&estimate, &[], 0.05).unwrap();
        missed += u32::from((0..2).any(|i| (estimate.mean()[i] - z_bar[i]).abs() > radii[i] / 3.0));
    }
    assert!(missed > 10, "{missed}");
}

/// As many copies as there are: the same bits.
#[test]
fn threads_do_not_matter() {
    let model = model();
    let of = |copies: usize| {
        let rollouts = (1..copies).fold(rollouts(&model, 3), |rollouts, _| rollouts.and(episode(&model)));
        let (mut rollouts, mut all) = (rollouts, Vec::new());
        for episodes in [1, 5, 100, 7] {
            let add = |sum: &[f64], steps| {
                all.push((sum.to_vec(), steps));
                Ok(())
            };
            rollouts.play(&wandering(&model), episodes, add).unwrap();
        }
        let both = Mixed::flatten([(0.5, careful(&model)), (0.5, wandering(&model))]);
        let mut rollouts = rollouts.finding_controls(&both).unwrap();
        let add = |sum: &[f64], steps| {
            all.push((sum.to_vec(), steps));
            Ok(())
        };
        rollouts.play(&both, 100, add).unwrap();
        (all, rollouts.samples())
    };
    let alone = of(1);
    assert_eq!(alone.0.len(), 213);
    assert!([2, 3, 8].into_iter().all(|copies| of(copies) == alone));
}

/// A loss of 100 in one of 1,000 episodes, none of which was seen: only a range that is known reaches to it.
#[test]
fn a_known_range_reaches_to_what_was_never_seen() {
    let mut estimate = Estimate::new(1);
    (0..1_000).for_each(|_| estimate.add(&[0.0]));
    let radius = |range| radii(&estimate, &[range], 0.05).unwrap()[0];
    assert!(radius(Some((0.0, 100.0))) > 0.1 && radius(None) < 0.1 && radius(None) > 0.0);
}

/// By hand for 100 draws of 0 and 1, and a quarter of the episodes for little less than twice the radius.
#[test]
fn radii_shrink_with_the_root_of_the_episodes() {
    let of = |count: usize, ranges: &[Option<(f64, f64)>]| {
        let mut estimate = Estimate::new(1);
        (0..count).for_each(|i| estimate.add(&[(i % 2) as f64]));
        radii(&estimate, ranges, 0.05).unwrap()[0]
    };
    let logarithm = 2.0 * 20f64.ln();
    let grown = 100.0 * (logarithm + (logarithm + 1.0).ln()) / 200.0 + 1.0;
    let squares = 25.0 + 40f64.ln();
    let expected = (2.0 * grown / (grown - 1.0) * (20.0 * grown.sqrt()).ln() * squares).sqrt() / 100.0;
    assert!((of(100, &[]) - expected).abs() < 1e-12);
    for ranges in [&[][..], &[Some((0.0, 1.0))]] {
        let ratio = of(100_000, ranges) / of(400_000, ranges);
        assert!((1.85..2.02).contains(&ratio), "{ratio}");
        assert_eq!(of(1, ranges), f64::INFINITY);
    }
    // What is proved is wider, and the wider the less is known.
    assert!(of(100, &[Some((0.0, 1.0))]) > of(100, &[]));
    assert!(of(100, &[Some((0.0, 2.0))]) > of(100, &[Some((0.0, 1.0))]));
}

#[test]
fn a_safe_policy_is_found_inside() {
    let model = model();
    let evaluation = found(&careful(&model), &paper(), &Options::default());
    assert_eq!((evaluation.finding, evaluation.distance), (Finding::Inside, 0.0));
    assert!(evaluation.samples > 5 * evaluation.episodes as u64);
    let edge = evaluation.mean[0] + evaluation.radii[0];
    assert!(edge < 0.2 && edge > exact(&model, &careful(&model))[0]);
}

/// A set known only by its projection is judged by the corners of the region, and found the same.
#[test]
fn sets_of_ones_own_are_judged_too() {
    let project = |x: &[f64], out: &mut [f64]| out.copy_from_slice(&[x[0].min(0.2), x[1].max(-0.17)]);
    let mine: SharedSet = Arc::new(FromProjection::new(2, project));
    for mixture in [careful(&model()), wandering(&model())] {
        let options = Options::default();
        assert_eq!(found(&mixture, &mine, &options), found(&mixture, &paper(), &options));
    }
}

#[test]
fn a_policy_that_crashes_is_found_outside() {
    let evaluation = found(&wandering(&model()), &paper(), &Options::default());
    assert_eq!((evaluation.finding, evaluation.episodes), (Finding::Outside, 50));
    assert!(evaluation.distance > evaluation.radii[0]);
}

/// Looks go on while they may decide.
#[test]
fn a_policy_on_the_edge_stays_open() {
    let model = model();
    let mixture = careful(&model);
    let z_bar = exact(&model, &mixture);
    let most = z_bar[0];
    let project = move |x: &[f64], out: &mut [f64]| out.copy_from_slice(&[x[0].min(most), x[1].min(0.0)]);
    let edges: [SharedSet; 2] = [
        Arc::new(Bounds::new(vec![f64::NEG_INFINITY; 2], vec![most, 0.0]).unwrap()),
        Arc::new(FromProjection::new(2, project)),
    ];
    let options = Options::default().first(100).samples(15_000).ranges(known());
    for edge in edges {
        let evaluation = found(&mixture, &edge, &options);
        assert_eq!(evaluation.finding, Finding::Open);
        assert!((5_000..=15_100).contains(&evaluation.samples), "{}", evaluation.samples);
    }
    // However few steps there are, there is a first look.
    assert_eq!(found(&mixture, &paper(), &options.samples(0)).episodes, 100);
}

/// No region of any size lies in a point, not even where nothing varied.
#[test]
fn nothing_is_found_inside_a_single_point() {
    let model = model();
    let options = Options::default().first(100).samples(4_000);
    for mixture in [careful(&model), wandering(&model)] {
        let z_bar = exact(&model, &mixture);
        let points: [SharedSet; 3] = [
            Arc::new(Bounds::new(z_bar.clone(), z_bar.clone()).unwrap()),
            Arc::new(Ball::new(z_bar.clone(), 0.0).unwrap()),
            Arc::new(FromProjection::new(2, move |_, out| out.copy_from_slice(&z_bar))),
        ];
        for point in points {
            assert_eq!(found(&mixture, &point, &options).finding, Finding::Open);
        }
    }
    let still = Mixed::one(TabularPolicy::deterministic(16, 4, vec![0; 16]).unwrap());
    let world = mars_rover::world("4x4", 0.0).unwrap();
    let model = Arc::new(world.model.select(&Selection { entries: vec![(0, 1.0)] }));
    let never: SharedSet = Arc::new(Bounds::between(0.0, 0.0).unwrap());
    let evaluation =
        evaluate(&still, &mut rollouts(&model, 7), &never, &Selection::all(1), &options, &mut |_| Ok(()))
            .unwrap();
    assert_eq!((evaluation.finding, evaluation.mean[0]), (Finding::Open, 0.0));
}

/// Shares of time are ratios of expectations; the region is that of visits and steps together.
#[test]
fn shares_are_judged_too() {
    let world = mars_rover::world("4x4", 0.05).unwrap();
    let mixture = careful(&model());
    let finding = |radius| {
        let ball = Arc::new(Ball::new(vec![1.0 / 16.0; 16], radius).unwrap());
        let target = Target::new(world.model.measures(), vec![Constraint::share("visits", ball)]).unwrap();
        let (rollouts, options) = (&mut rollouts(&world.model, 7), Options::default().samples(40_000));
        evaluate(&mixture, rollouts, target.set(), target.selection(), &options, &mut |_| Ok(()))
            .unwrap()
            .finding
    };
    assert_eq!((finding(0.9), finding(0.1)), (Finding::Inside, Finding::Outside));
}

#[test]
fn what_does_not_fit_is_refused() {
    let model = model();
    let mixture = careful(&model);
    let refused = |set: SharedSet, options: Options| {
        let selection = Selection::all(2);
        evaluate(&mixture, &mut rollouts(&model, 7), &set, &selection, &options, &mut |_| Ok(())).unwrap_err()
    };
    let three: SharedSet = Arc::new(Bounds::nonnegative(3));
    assert!(matches!(refused(three, Options::default()), Error::Dimension { found: 2, expected: 3, .. }));
    let short = Options::default().ranges(vec![Some((0.0, 1.0))]);
    assert!(matches!(refused(paper(), short), Error::Dimension { found: 1, expected: 2, .. }));
    let narrow = Options::default().ranges(vec![None, Some((-0.01, 0.0))]);
    assert!(matches!(refused(paper(), narrow), Error::OutOfRange { value, .. } if value < -0.01));
    let broken: SharedSet = Arc::new(FromProjection::new(2, |_, out| out.fill(f64::NAN)));
    assert!(matches!(refused(broken, Options::default()), Error::Projection { .. }));
    for options in [Options::default().confidence(1.0), Options::default().first(1)] {
        assert!(matches!(refused(paper(), options), Error::OutOfRange { .. }));
    }
}

/// Episodes of one policy agree with its evaluation; those of another policy do not.
#[test]
fn episodes_of_the_same_policy_agree() {
    let (model, options) = (model(), Options::default().first(1_000));
    let all = Selection::all(2);
    let of = |mixture: &Mixed| {
        evaluate(mixture, &mut rollouts(&model, 0), &paper(), &all, &options, &mut |_| Ok(())).unwrap()
    };
    let fresh = |mixture: &Mixed, seed| {
        let mut sample = Sample::new(3);
        let add = |sum: &[f64], steps| {
            sample.add(sum, steps);
            Ok(())
        };
        rollouts(&model, seed).play(mixture, 1_000, add).unwrap();
        sample
    };
    for mixture in [careful(&model), wandering(&model)] {
        let claimed = of(&mixture);
        assert_eq!(claimed.inconsistency(&mixture, &paper(), &all, &options).unwrap(), None);
        for seed in 1..300 {
            assert_eq!(claimed.quantiles.contradicts(&fresh(&mixture, seed)), None, "seed {seed}");
        }
    }
    let mixture = careful(&model);
    let claimed = of(&mixture);
    assert!(claimed.quantiles.contradicts(&fresh(&wandering(&model), 1)).is_some());
    let alterations: [fn(&mut Evaluation); 9] = [
        |e| e.radii[0] *= 0.99,
        |e| e.mean[0] += 1e-6,
        |e| e.episodes = 999,
        |e| e.samples *= 2,
        |e| e.distance = 0.1,
        |e| e.finding = Finding::Open,
        |e| e.confidence = 0.99,
        |e| e.attempt = 1,
        |e| e.attempt = usize::MAX,
    ];
    for alter in alterations {
        let mut altered = claimed.clone();
        alter(&mut altered);
        assert!(altered.inconsistency(&mixture, &paper(), &all, &options).unwrap().is_some(), "{altered:?}");
    }
}

/// Statistics that no quantiles allow for are found, however they were altered together.
#[test]
fn statistics_must_fit_their_quantiles() {
    let (model, options) = (model(), Options::default().first(1_000));
    let all = Selection::all(2);
    let mixture = careful(&model);
    let claimed =
        evaluate(&mixture, &mut rollouts(&model, 0), &paper(), &all, &options, &mut |_| Ok(())).unwrap();
    // An estimate that is consistent in itself, of other episodes.
    let mut other = Estimate::new(2);
    (0..1_000).for_each(|i| other.add(&[f64::from(i % 2), -0.1]));
    let forged = Evaluation { measured: other, ..claimed.clone() };
    let said = forged.inconsistency(&mixture, &paper(), &all, &options).unwrap().unwrap();
    assert!(said.contains("no episodes have"), "{said}");
}
