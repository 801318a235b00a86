//! The name "expert" where numbers are expected.

use appropo::evaluate::best_measurement;
use appropo::registry::Registry;
use appropo::set::ConvexSet;
use appropo_file::{Reader, written, written_solve};

fn problem(world: &str, set: &str) -> String {
    format!(
        "discount = 0.9\nenvironment = {{ {world} }}\n[[constraint]]\n{set}\n[solve]\nmethod = \"apprenticeship\"\n"
    )
}

/// It stands for what the policy with the largest reward measures, in all or per step, in every kind of set.
#[test]
fn an_expert_is_what_the_best_policy_measures() {
    let world = "name = \"gridworld\", size = 6, macro_cell = 2, seed = 4";
    for (set, is_per_step, algorithm) in [
        ("measure = \"features\"\nat_least = \"expert\"", false, "lpal"),
        ("measure = \"features\"\nball = { center = \"expert\", radius = 0 }", false, "projection"),
        ("measure = \"features\"\nshare = true\nequals = \"expert\"", true, "projection"),
        ("measure = [\"steps\", \"features\"]\nat_least = \"expert\"", false, "lpal"),
    ] {
        let file = Reader::default().parse("mine", &problem(world, set)).unwrap();
        let z = best_measurement(&file.problem, "reward").unwrap();
        let x = file.problem.target().selection().apply(&z);
        let constraint = &file.problem.target().constraints()[0].set;
        let expert: Vec<f64> = if is_per_step { x[..9].iter().map(|v| v / x[9]).collect() } else { x };
        assert!(constraint.distance(&expert) < 1e-12, "{set}");
        let below: Vec<f64> = expert.iter().map(|x| x - 0.1).collect();
        assert!(constraint.distance(&below) > 0.09, "{set}");
        let registry = Registry::standard();
        let settings =
            written_solve(&file.problem, file.method.as_ref(), &file.budget, file.seed, &registry).unwrap();
        assert!(settings.contains(&format!("algorithm = \"{algorithm}\"")), "{settings}");
        // Written out it is read again.
        let text = written(&file.problem, &registry) + &settings;
        assert!(text.contains("\"expert\""), "{text}");
        Reader::default().parse("again", &text).unwrap();
    }
}

#[test]
fn an_expert_needs_a_model_and_a_reward() {
    for world in ["name = \"bandit\"", "name = \"cart-pole\", horizon = 9"] {
        let text = problem(world, "measure = \"steps\"\nat_least = \"expert\"");
        let error = Reader::default().parse("mine", &text).err().unwrap().to_string();
        assert!(error.contains("\"expert\" needs a world with a model"), "{error}");
    }
}
