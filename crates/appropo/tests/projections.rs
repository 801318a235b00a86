//! Every set's projection, judged by the conditions that define it and by Clarabel.

use std::sync::Arc;

use appropo::random::{self, Generator};
use appropo::set::*;

/// Relative to 1 + ‖x‖: closed forms and scalar searches.
const EXACT: f64 = 1e-10;
/// Relative to 1 + ‖x‖: sets that Clarabel projects onto. An interior point's error is the root of its gap.
const CONIC: f64 = 1e-5;

struct Case {
    name: &'static str,
    set: SharedSet,
    /// How far a point violates the set's defining inequalities.
    violation: Box<dyn Fn(&[f64]) -> f64>,
    tolerance: f64,
}

fn case(
    name: &'static str,
    set: impl ConvexSet + 'static,
    tolerance: f64,
    violation: impl Fn(&[f64]) -> f64 + 'static,
) -> Case {
    Case { name, set: Arc::new(set), violation: Box::new(violation), tolerance }
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum::<f64>().sqrt()
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| a * b).sum()
}

fn minus(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(a, b)| a - b).collect()
}

fn project(set: &dyn ConvexSet, x: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; x.len()];
    set.project(x, &mut out);
    out
}

fn simplex_violation(p: &[f64]) -> f64 {
    let below = p.iter().fold(0.0, |v: f64, p| v.max(-p));
    below.max((p.iter().sum::<f64>() - 1.0).abs())
}

fn kl(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).filter(|(a, _)| **a > 0.0).map(|(a, b)| a * (a / b).ln()).sum()
}

const Q: [f64; 4] = [0.1, 0.2, 0.3, 0.4];
const WITH_ZERO: [f64; 4] = [0.3, 0.0, 0.5, 0.2];

fn rover_product() -> Product {
    Product::new(vec![
        Arc::new(Bounds::at_most(0.2).unwrap()),
        Arc::new(Bounds::at_least(-0.17).unwrap()),
        Arc::new(Ball::new(vec![1.0 / 64.0; 64], 0.12).unwrap()),
    ])
}

fn cases() -> Vec<Case> {
    let center = vec![0.5, -1.0, 2.0];
    let c = center.clone();
    let c1 = center.clone();
    let cinf = center.clone();
    let matrix = vec![vec![4.0, 1.0, 0.0], vec![1.0, 0.5, 0.1], vec![0.0, 0.1, 2.0]];
    let m = matrix.clone();
    let ce = center.clone();
    let rows = vec![vec![1.0, 1.0, 0.0], vec![-1.0, 2.0, 1.0], vec![0.0, -1.0, -1.0], vec![-1.0, -1.0, 3.0]];
    let offsets = vec![1.0, 2.0, 0.5, 4.0];
    let polytope = Polytope::new(3, rows.clone(), offsets.clone()).unwrap();
    let (prow, poff) = (rows.clone(), offsets.clone());
    let conic = ConicSet::new(polytope.conic().unwrap()).unwrap();
    let for_lift = polytope.clone();
    let (lrow, loff) = (rows.clone(), offsets.clone());
    let (crow, coff) = (rows.clone(), offsets.clone());
    let excess = |rows: &[Vec<f64>], offsets: &[f64], x: &[f64]| {
        rows.iter().zip(offsets).map(|(r, b)| dot(r, x) - b).fold(0.0, f64::max)
    };
    let rotation = vec![vec![0.6, 0.8, 0.0], vec![0.0, 0.0, 1.0]];
    let two_parts: Vec<SharedSet> = vec![
        Arc::new(ConicSet::new(Ball::new(vec![0.0; 3], 1.0).unwrap().conic().unwrap()).unwrap()),
        Arc::new(HalfSpace::new(vec![1.0, 1.0, 1.0], 0.3).unwrap()),
    ];
    let own_half_space = FromProjection::new(3, |x, out| {
        let excess = ((x[0] + x[1] + x[2] - 0.3) / 3.0).max(0.0);
        for i in 0..3 {
            out[i] = x[i] - excess;
        }
    });
    let not_conic: Vec<SharedSet> =
        vec![Arc::new(Ball::new(vec![0.0; 3], 1.0).unwrap()), Arc::new(own_half_space)];
    let cap = |x: &[f64]| (norm(x) - 1.0).max(x.iter().sum::<f64>() - 0.3);
    let uniform = vec![1.0 / 8.0; 8];
    let u = uniform.clone();
    vec![
        case(
            "box",
            Bounds::new(vec![-1.0, 0.0, f64::NEG_INFINITY], vec![1.0, 0.5, 3.0]).unwrap(),
            EXACT,
            |x| [x[0].abs() - 1.0, -x[1], x[1] - 0.5, x[2] - 3.0].into_iter().fold(0.0, f64::max),
        ),
        case("orthant", Bounds::nonnegative(4), EXACT, |x| x.iter().fold(0.0, |v: f64, x| v.max(-x))),
        case("half-space", HalfSpace::new(vec![1.0, -2.0, 0.5], 0.7).unwrap(), EXACT, |x| {
            dot(&[1.0, -2.0, 0.5], x) - 0.7
        }),
        case("slab", Slab::new(vec![1.0, -2.0, 0.5], -0.2, 0.7).unwrap(), EXACT, |x| {
            let h = dot(&[1.0, -2.0, 0.5], x);
            (h - 0.7).max(-0.2 - h)
        }),
        case(
            "affine subspace",
            AffineSubspace::new(4, &[vec![1.0, 1.0, 0.0, 0.0], vec![0.0, 1.0, -1.0, 2.0]], &[1.0, -1.0])
                .unwrap(),
            EXACT,
            |x| (x[0] + x[1] - 1.0).abs().max((x[1] - x[2] + 2.0 * x[3] + 1.0).abs()),
        ),
        case("ball", Ball::new(center.clone(), 1.5).unwrap(), EXACT, move |x| norm(&minus(x, &c)) - 1.5),
        case("l1 ball", L1Ball::new(center.clone(), 1.5).unwrap(), EXACT, move |x| {
            minus(x, &c1).iter().map(|v| v.abs()).sum::<f64>() - 1.5
        }),
        case("l-infinity ball", Bounds::around(&center, 0.5).unwrap(), EXACT, move |x| {
            minus(x, &cinf).iter().fold(0.0, |m: f64, v| m.max(v.abs())) - 0.5
        }),
        case("ellipsoid", Ellipsoid::new(center.clone(), &matrix).unwrap(), EXACT, move |x| {
            let y = minus(x, &ce);
            let my: Vec<f64> = m.iter().map(|r| dot(r, &y)).collect();
            dot(&y, &my) - 1.0
        }),
        case("simplex", Simplex::probability(5).unwrap(), EXACT, simplex_violation),
        case("scaled simplex", Simplex::new(5, 2.5).unwrap(), EXACT, |x| {
            let below = x.iter().fold(0.0, |v: f64, x| v.max(-x));
            below.max((x.iter().sum::<f64>() - 2.5).abs())
        }),
        case("second-order cone", SecondOrderCone::new(4, 0.7).unwrap(), EXACT, |x| {
            norm(&x[..3]) - 0.7 * x[3]
        }),
        case("semidefinite cone", Semidefinite::new(3), EXACT, |x| {
            let matrix = nalgebra::DMatrix::from_row_slice(3, 3, x);
            let skew = (&matrix - matrix.transpose()).norm();
            skew.max(-nalgebra::SymmetricEigen::new(matrix).eigenvalues.min())
        }),
        case("entropy", KlBall::entropy_at_least(8, 1.8).unwrap(), EXACT, move |p| {
            simplex_violation(p).max(kl(p, &u) - (8f64.ln() - 1.8))
        }),
        case("KL ball", KlBall::new(Q.to_vec(), 0.15).unwrap(), EXACT, |p| {
            simplex_violation(p).max(kl(p, &Q) - 0.15)
        }),
        case("reverse KL ball", ReverseKlBall::new(Q.to_vec(), 0.15).unwrap(), EXACT, |p| {
            simplex_violation(p).max(kl(&Q, p) - 0.15)
        }),
        case("KL ball with an excluded outcome", KlBall::new(WITH_ZERO.to_vec(), 0.3).unwrap(), EXACT, |p| {
            simplex_violation(p).max(p[1].abs()).max(kl(p, &WITH_ZERO) - 0.3)
        }),
        case(
            "reverse KL ball with a free outcome",
            ReverseKlBall::new(WITH_ZERO.to_vec(), 0.3).unwrap(),
            EXACT,
            |p| simplex_violation(p).max(kl(&WITH_ZERO, p) - 0.3),
        ),
        case("polytope", polytope, EXACT, move |x| excess(&prow, &poff, x)),
        case("conic form", conic, CONIC, move |x| excess(&crow, &coff, x)),
        case("intersection by Clarabel", Intersection::new(two_parts).unwrap(), CONIC, cap),
        case("intersection by Dykstra", Intersection::new(not_conic).unwrap(), 1e-9, cap),
        case(
            "translate",
            Similarity::translate(Arc::new(L1Ball::new(vec![0.0; 3], 1.0).unwrap()), vec![1.0, 2.0, 3.0])
                .unwrap(),
            EXACT,
            |x| minus(x, &[1.0, 2.0, 3.0]).iter().map(|v| v.abs()).sum::<f64>() - 1.0,
        ),
        case("scale", Similarity::scale(Arc::new(Bounds::nonnegative(2)), -3.0).unwrap(), EXACT, |x| {
            x[0].max(x[1])
        }),
        case(
            "orthonormal image",
            Similarity::image(Arc::new(Simplex::probability(2).unwrap()), rotation).unwrap(),
            EXACT,
            |x| (0.8 * x[0] - 0.6 * x[1]).abs().max(simplex_violation(&[0.6 * x[0] + 0.8 * x[1], x[2]])),
        ),
        case("product", rover_product(), EXACT, |x| {
            let off: Vec<f64> = x[2..].iter().map(|v| v - 1.0 / 64.0).collect();
            (x[0] - 0.2).max(-0.17 - x[1]).max(norm(&off) - 0.12)
        }),
        case("power", Product::power(Arc::new(Simplex::probability(3).unwrap()), 2), EXACT, |x| {
            simplex_violation(&x[..3]).max(simplex_violation(&x[3..]))
        }),
        case("share of a ball", Lift::share(Arc::new(Ball::new(Q.to_vec(), 0.1).unwrap())), EXACT, |x| {
            let off: Vec<f64> = x[..4].iter().zip(Q).map(|(v, q)| v - q * x[4]).collect();
            norm(&off) - 0.1 * x[4]
        }),
        case(
            "lift of a bounded set",
            Lift::new(Arc::new(KlBall::new(Q.to_vec(), 0.15).unwrap()), 2.0).unwrap(),
            EXACT,
            |x| {
                let a = x[4] / 2.0;
                if a < 1e-7 {
                    return norm(x) * 1e-7 - a;
                }
                let p: Vec<f64> = x[..4].iter().map(|v| v / a).collect();
                a * simplex_violation(&p).max(kl(&p, &Q) - 0.15)
            },
        ),
        case(
            "lift of an unbounded set",
            Lift::new(
                Arc::new(Bounds::new(vec![f64::NEG_INFINITY, -0.17], vec![0.2, f64::INFINITY]).unwrap()),
                3.0,
            )
            .unwrap(),
            EXACT,
            |x| (x[0] - 0.2 * x[2] / 3.0).max(-0.17 * x[2] / 3.0 - x[1]).max(-x[2]),
        ),
        case("lift of a polytope", Lift::new(Arc::new(for_lift), 2.0).unwrap(), EXACT, move |x| {
            let a = x[3] / 2.0;
            let scaled: Vec<f64> = loff.iter().map(|b| b * a).collect();
            excess(&lrow, &scaled, &x[..3]).max(-a)
        }),
        case("lift of the product", Lift::new(Arc::new(rover_product()), 20.0).unwrap(), EXACT, |x| {
            let a = x[66] / 20.0;
            let off: Vec<f64> = x[2..66].iter().map(|v| v - a / 64.0).collect();
            (x[0] - 0.2 * a).max(-0.17 * a - x[1]).max(norm(&off) - 0.12 * a)
        }),
    ]
}

fn point(dim: usize, rng: &mut Generator) -> Vec<f64> {
    // Scales from well inside to far outside the sets above.
    let scale = 10f64.powf(2.0 * random::unit(rng) - 1.0);
    (0..dim).map(|_| scale * (4.0 * random::unit(rng) - 2.0)).collect()
}

#[test]
fn projections_satisfy_membership_the_variational_inequality_and_idempotence() {
    for Case { name, set, violation, tolerance } in cases() {
        let mut rng = random::generator(7);
        let mut other = project(&set, &point(set.dim(), &mut rng));
        for _ in 0..10_000 {
            let x = point(set.dim(), &mut rng);
            let p = project(&set, &x);
            let within = tolerance * (1.0 + norm(&x));
            assert!(violation(&p) <= within, "{name}: {p:?} violates by {:e}", violation(&p));
            let along = dot(&minus(&x, &p), &minus(&other, &p));
            assert!(
                along <= within * (1.0 + norm(&x)),
                "{name}: {other:?} is nearer to {x:?} than {p:?}: {along:e}"
            );
            let again = project(&set, &p);
            let moved = norm(&minus(&again, &p));
            assert!(moved <= within, "{name}: projecting {x:?} again moves by {moved:e}");
            other = p;
        }
    }
}

#[test]
fn projections_agree_with_clarabel() {
    let mut judged = 0;
    for Case { name, set, .. } in cases() {
        let Some(form) = set.conic() else { continue };
        judged += 1;
        let mut rng = random::generator(11);
        for _ in 0..50 {
            let x = point(set.dim(), &mut rng);
            let estimator = form.nearest(&x).unwrap().x;
            let p = project(&set, &x);
            let apart = norm(&minus(&p, &estimator[..p.len()]));
            assert!(apart <= 1e-6 * (1.0 + norm(&x)), "{name} at {x:?}: {apart:e} apart");
        }
    }
    assert!(judged >= 25, "only {judged} sets have a conic form");
}

#[test]
fn cones_satisfy_moreaus_decomposition() {
    for name in [
        "orthant",
        "second-order cone",
        "semidefinite cone",
        "share of a ball",
        "lift of a bounded set",
        "lift of an unbounded set",
        "lift of the product",
    ] {
        let cone = cases().into_iter().find(|c| c.name == name).unwrap().set;
        let polar = Polar(cone.clone());
        let lambda = Lambda::new(cone.clone());
        let mut rng = random::generator(3);
        for _ in 0..1000 {
            let x = point(cone.dim(), &mut rng);
            let within = 1e-9 * (1.0 + norm(&x)).powi(2);
            let (p, q) = (project(&cone, &x), project(&polar, &x));
            assert!(dot(&p, &q).abs() <= within, "{name}: not orthogonal at {x:?}");
            let other = project(&cone, &point(cone.dim(), &mut rng));
            assert!(
                dot(&q, &other) <= 1e-9 * (1.0 + norm(&x)) * (1.0 + norm(&other)),
                "{name}: {q:?} is not polar"
            );
            // Λ = C° ∩ B, judged by its own variational inequality.
            let l = project(&lambda, &x);
            assert!(norm(&l) <= 1.0 + 1e-12);
            let other = project(&lambda, &point(cone.dim(), &mut rng));
            assert!(dot(&minus(&x, &l), &minus(&other, &l)) <= within, "{name}: Λ at {x:?}");
        }
    }
}

#[test]
fn derivatives_are_the_limits_of_differences() {
    for Case { name, set, tolerance, .. } in cases().into_iter().filter(|c| c.tolerance <= 1e-9) {
        let mut rng = random::generator(13);
        let mut agreeing = 0;
        for _ in 0..200 {
            let (x, d) = (point(set.dim(), &mut rng), point(set.dim(), &mut rng));
            let mut derivative = vec![0.0; x.len()];
            set.derivative(&x)(&d, &mut derivative);
            let h = 1e-6 / norm(&d);
            let at = |t: f64| project(&set, &x.iter().zip(&d).map(|(x, d)| x + t * d).collect::<Vec<_>>());
            let difference: Vec<f64> = minus(&at(h), &at(-h)).iter().map(|v| v / (2.0 * h)).collect();
            let apart = norm(&minus(&derivative, &difference));
            agreeing += usize::from(apart <= (1e-3 + tolerance) * norm(&d));
        }
        // A few points lie within the difference's reach of a kink.
        assert!(agreeing >= 198, "{name}: only {agreeing} of 200 derivatives agree");
    }
}

#[test]
fn recession_cones_are_the_limits_of_scaled_projections() {
    for Case { name, set, tolerance, .. } in cases() {
        let mut rng = random::generator(5);
        for _ in 0..20 {
            let x = point(set.dim(), &mut rng);
            let mut recession = vec![0.0; x.len()];
            set.project_recession(&x, &mut recession);
            let far: Vec<f64> = x.iter().map(|v| v * 1e4).collect();
            let limit: Vec<f64> = project(&set, &far).iter().map(|v| v / 1e4).collect();
            let apart = norm(&minus(&recession, &limit));
            assert!(apart <= (1e-3 + tolerance) * (1.0 + norm(&x)), "{name} at {x:?}: {apart:e}");
        }
    }
}

#[test]
fn bad_sets_are_refused_with_the_value_named() {
    let messages = [
        Ball::new(vec![0.0], -1.0).err().unwrap().to_string(),
        Ball::new(vec![f64::NAN, 0.0], 1.0).err().unwrap().to_string(),
        Bounds::between(1.0, 0.0).err().unwrap().to_string(),
        Polytope::new(1, vec![vec![1.0], vec![-1.0]], vec![0.0, -1.0]).err().unwrap().to_string(),
        KlBall::entropy_at_least(4, 2.0).err().unwrap().to_string(),
        AffineSubspace::new(1, &[vec![1.0], vec![2.0]], &[1.0, 3.0]).err().unwrap().to_string(),
        Ellipsoid::new(vec![0.0, 0.0], &[vec![1.0, 0.0], vec![0.0, -1.0]]).err().unwrap().to_string(),
        HalfSpace::new(vec![0.0, 0.0], 1.0).err().unwrap().to_string(),
        Similarity::translate(Arc::new(Semidefinite::new(2)), vec![0.0; 3]).err().unwrap().to_string(),
        Simplex::new(3, f64::INFINITY).err().unwrap().to_string(),
        Lift::new(Arc::new(Semidefinite::new(2)), 0.0).err().unwrap().to_string(),
    ];
    assert_eq!(
        messages,
        [
            "radius is -1; expected 0 or more",
            "center, entry 0, is NaN; expected a finite number",
            "lower bound is 1; expected at most the upper bound 0",
            "the polytope is empty: no point satisfies all of it; loosen a bound",
            "entropy bound is 2; expected between 0 and ln 4 = 1.386294, the entropy of the uniform distribution",
            "the affine subspace is empty: no point satisfies all of it; loosen a bound",
            "an eigenvalue of the matrix is -1; expected more than 0: the matrix must be positive definite",
            "the normal's length is 0; expected more than 0",
            "shift has 3 entries; expected 4",
            "total is inf; expected a finite number",
            "kappa is 0; expected more than 0",
        ]
    );
}

/// Rows of any length state the same polytope: lengths of 1e12 and 1e-12 once made every point a member.
#[test]
fn the_length_of_a_polytopes_rows_does_not_matter() {
    for length in [1e-200, 1e-12, 1.0, 1e9, 1e12, 1e200] {
        let polytope = Polytope::new(2, vec![vec![length, length]], vec![0.9 * length]).unwrap();
        let distance = polytope.distance(&[0.5, 0.5]);
        assert!((distance - 0.1 / 2f64.sqrt()).abs() < 1e-9, "{distance} at length {length}");
    }
    assert!(HalfSpace::new(vec![1e160, 1e160], 9e159).is_err());
    assert!(SecondOrderCone::new(3, 1e200).is_err());
}
