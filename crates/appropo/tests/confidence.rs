//! Confidence regions: how often they miss, how they shrink, and what follows from them.

use std::sync::Arc;

use appropo::confidence::{Evaluation, Finding, Options, Sample, evaluate, radii, spend};
use appropo::constraint::{Constraint, Target};
use appropo::env::{Simulator, TabularMdp, mars_rover};
use appropo::error::Error;
use appropo::measurement::{Discounting, Estimate, Selection};
use appropo::oracle::{Exact, MonteCarlo, Planner, Respond};
use appropo::policy::{Mixed, TabularPolicy};
use appropo::random;
use appropo::rl::{Episode, Occupancy};
use appropo::set::{Ball, Bounds, FromProjection, SharedSet};

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

fn estimator(model: &Arc<TabularMdp>, seed: u64) -> MonteCarlo {
    let simulator = Box::new(Simulator::new(Arc::clone(model), Some(HORIZON)));
    MonteCarlo::new(Episode::new(simulator, GAMMA, HORIZON), &mut random::generator(seed))
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
    evaluate(mixture, &mut estimator(&model(), 7), set, &Selection::all(2), options).unwrap()
}

/// Three looks at a time, 300 times: any look that misses counts. A third of each radius is not enough, so the regions
/// are not just large.
#[test]
fn regions_hold_the_exact_value_more_often_than_they_claim() {
    const REPETITIONS: u64 = 300;
    const ALPHA: f64 = 0.05;
    let model = model();
    let both = Mixed::flatten([(0.5, careful(&model)), (0.5, wandering(&model))]);
    let mut most_misses_of_a_third = 0;
    for mixture in [careful(&model), wandering(&model), both] {
        let z_bar = exact(&model, &mixture);
        for ranges in [known(), Vec::new()] {
            let (mut misses, mut misses_of_a_third) = (0, 0);
            for seed in 0..REPETITIONS {
                let (mut estimator, mut estimate) = (estimator(&model, seed), Estimate::new(2));
                let mut furthest = 0.0f64;
                for look in 1..=3 {
                    estimator.play(&mixture, (100 << (look - 1)) - estimate.count(), &mut estimate).unwrap();
                    let radii = radii(&estimate, &ranges, spend(ALPHA, look)).unwrap();
                    let away = (0..2).map(|i| (estimate.mean()[i] - z_bar[i]).abs() / radii[i]);
                    furthest = away.fold(furthest, f64::max);
                }
                misses += u64::from(furthest > 1.0);
                misses_of_a_third += u64::from(furthest > 1.0 / 3.0);
            }
            assert!((misses as f64) < 0.2 * ALPHA * REPETITIONS as f64, "{misses} misses");
            most_misses_of_a_third = most_misses_of_a_third.max(misses_of_a_third);
        }
    }
    assert!(most_misses_of_a_third as f64 > ALPHA * REPETITIONS as f64, "{most_misses_of_a_third}");
}

/// A loss of 100 in one of 1,000 episodes, none of which was seen: only a range that is known reaches to it.
#[test]
fn a_known_range_reaches_to_what_was_never_seen() {
    let mut estimate = Estimate::new(1);
    (0..1_000).for_each(|_| estimate.add(&[0.0]));
    let radius = |range| radii(&estimate, &[range], 0.05).unwrap()[0];
    assert!(radius(Some((0.0, 100.0))) > 0.1 && radius(None) < 0.1 && radius(None) > 0.0);
}

/// √(2Vx/n) + 7bx/(3(n − 1)) by hand, and a quarter of the episodes for twice the radius.
#[test]
fn radii_shrink_with_the_root_of_the_episodes() {
    let of = |count: usize, ranges: &[Option<(f64, f64)>]| {
        let mut estimate = Estimate::new(1);
        (0..count).for_each(|i| estimate.add(&[(i % 2) as f64]));
        radii(&estimate, ranges, 0.05).unwrap()[0]
    };
    let (x, variance) = (60f64.ln(), 0.25 * 100.0 / 99.0);
    let expected = (2.0 * variance * x / 100.0).sqrt() + 7.0 * x / (3.0 * 99.0);
    assert!((of(100, &[Some((0.0, 1.0))]) - expected).abs() < 1e-12);
    let ratio = of(100_000, &[]) / of(400_000, &[]);
    assert!((1.99..2.05).contains(&ratio), "{ratio}");
    assert!(of(100, &[]) > of(100, &[Some((0.0, 1.0))]));
    assert_eq!(of(1, &[]), f64::INFINITY);
    let spent: f64 = (1..100_000).map(|look| spend(0.05, look)).sum();
    assert!(spent <= 0.05 && spent > 0.0499);
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
    assert_eq!((evaluation.finding, evaluation.episodes), (Finding::Outside, 1_000));
    assert!(evaluation.distance > evaluation.radii[0]);
}

/// Looks go on to the last episode that is allowed.
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
    let options = Options::default().first(100).most(1_500).ranges(known());
    for edge in edges {
        let evaluation = found(&mixture, &edge, &options);
        assert_eq!((evaluation.finding, evaluation.episodes), (Finding::Open, 1_500));
    }
}

/// No region of any size lies in a point, not even where nothing varied.
#[test]
fn nothing_is_found_inside_a_single_point() {
    let model = model();
    let options = Options::default().first(100).most(400);
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
        evaluate(&still, &mut estimator(&model, 7), &never, &Selection::all(1), &options).unwrap();
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
        let options = Options::default().most(4_000);
        evaluate(&mixture, &mut estimator(&world.model, 7), target.set(), target.selection(), &options)
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
        evaluate(&mixture, &mut estimator(&model, 7), &set, &selection, &options).unwrap_err()
    };
    let three: SharedSet = Arc::new(Bounds::nonnegative(3));
    assert!(matches!(refused(three, Options::default()), Error::Dimension { found: 2, expected: 3, .. }));
    let short = Options::default().ranges(vec![Some((0.0, 1.0))]);
    assert!(matches!(refused(paper(), short), Error::Dimension { found: 1, expected: 2, .. }));
    let narrow = Options::default().ranges(vec![None, Some((-0.01, 0.0))]);
    assert!(matches!(refused(paper(), narrow), Error::OutOfRange { value, .. } if value < -0.01));
    let broken: SharedSet = Arc::new(FromProjection::new(2, |_, out| out.fill(f64::NAN)));
    assert!(matches!(refused(broken, Options::default()), Error::Projection { .. }));
    for options in
        [Options::default().confidence(1.0), Options::default().first(1), Options::default().most(999)]
    {
        assert!(matches!(refused(paper(), options), Error::OutOfRange { .. }));
    }
}

/// Episodes of one policy agree with its evaluation; those of another policy do not.
#[test]
fn episodes_of_the_same_policy_agree() {
    let (model, options) = (model(), Options::default().first(1_000).most(1_000));
    let all = Selection::all(2);
    let of =
        |mixture: &Mixed| evaluate(mixture, &mut estimator(&model, 0), &paper(), &all, &options).unwrap();
    let fresh = |mixture: &Mixed, seed| {
        let mut sample = Sample::new(3);
        estimator(&model, seed).play_each(mixture, 1_000, |sum, steps| sample.add(sum, steps)).unwrap();
        sample
    };
    for mixture in [careful(&model), wandering(&model)] {
        let claimed = of(&mixture);
        assert_eq!(claimed.inconsistency(&paper(), &all, &options).unwrap(), None);
        for seed in 1..300 {
            assert_eq!(claimed.quantiles.contradicts(&fresh(&mixture, seed)), None, "seed {seed}");
        }
    }
    let claimed = of(&careful(&model));
    assert!(claimed.quantiles.contradicts(&fresh(&wandering(&model), 1)).is_some());
    let alterations: [fn(&mut Evaluation); 7] = [
        |e| e.radii[0] *= 0.99,
        |e| e.mean[0] += 1e-6,
        |e| e.episodes = 999,
        |e| e.samples *= 2,
        |e| e.distance = 0.1,
        |e| e.finding = Finding::Open,
        |e| e.confidence = 0.99,
    ];
    for alter in alterations {
        let mut altered = claimed.clone();
        alter(&mut altered);
        assert!(altered.inconsistency(&paper(), &all, &options).unwrap().is_some(), "{altered:?}");
    }
}

/// Statistics that no quantiles allow for are found, however they were altered together.
#[test]
fn statistics_must_fit_their_quantiles() {
    let (model, options) = (model(), Options::default().first(1_000).most(1_000));
    let all = Selection::all(2);
    let claimed = evaluate(&careful(&model), &mut estimator(&model, 0), &paper(), &all, &options).unwrap();
    // An estimate that is consistent in itself, of other episodes.
    let mut other = Estimate::new(2);
    (0..1_000).for_each(|i| other.add(&[f64::from(i % 2), -0.1]));
    let forged = Evaluation { measured: other, ..claimed.clone() };
    let said = forged.inconsistency(&paper(), &all, &options).unwrap().unwrap();
    assert!(said.contains("no episodes have"), "{said}");
}
