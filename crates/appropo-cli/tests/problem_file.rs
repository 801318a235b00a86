//! Problem files: what `check --explain` writes out, the schema, and what is said about mistakes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use appropo_file::BUILT_IN;
use serde_json::{Value, json};

fn appropo(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_appropo")).args(arguments).output().unwrap()
}

#[track_caller]
fn printed(arguments: &[&str]) -> String {
    let output = appropo(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn written(test: &str, name: &str, text: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{name}.toml"));
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

const TWO: &str = "measure = [\"failure\", \"reward\"]";

/// Every environment, set and setting in some problem that can be solved in no time.
fn rich() -> Vec<(String, String)> {
    let rover = "discount = 0.99\n[environment]\nname = \"mars-rover\"\n";
    let share = "measure = \"visits\"\nshare = true";
    let sets = [
        (TWO, "box = { lower = [0, -0.2], upper = [0.2, 0] }"),
        (TWO, "ball = { center = [0.1, -0.13], radius = 0.05 }\nscale = 0.5\nname = \"say \\\"here\\\"\""),
        (TWO, "l1_ball = { center = [0.1, -0.13], radius = 0.05 }"),
        (TWO, "linf_ball = { center = [0.1, -0.13], radius = 0.05 }"),
        (TWO, "ellipsoid = { center = [0.1, -0.13], matrix = [[400, 10], [10, 900]] }"),
        (TWO, "halfspace = { normal = [1, -10], offset = 1.6 }"),
        (TWO, "slab = { normal = [1, 0], lower = 0.1, upper = 0.2 }"),
        (TWO, "affine = { rows = [[1, 0]], offsets = [0.15] }"),
        (TWO, "polytope = { rows = [[1, 0], [0, -1]], offsets = [0.2, 0.17] }"),
        (TWO, "second_order_cone = {}\nshift = [0.3, -0.6]"),
        (TWO, "between = [-0.2, 0.3]"),
        (TWO, "at_most = [0.2, 0]"),
        (TWO, "at_least = -1_000.5"),
        (TWO, "intersection = [{ between = [-0.2, 0.2] }, { intersection = [{ second_order_cone = {} }] }]"),
        ("measure = \"failure\"", "equals = 0.15"),
        ("measure = \"reward\"", "semidefinite = true\nshift = [-0.15]"),
        (share, "simplex = {}"),
        (share, "entropy = { at_least = 3.0 }"),
        (share, "kl = { reference = \"uniform\", radius = 1.0 }"),
        (share, "reverse_kl = { reference = \"uniform\", radius = 1.6 }"),
        (share, "ball = { center = \"uniform-upper-triangle\", radius = 0x1 }"),
    ];
    let constraint = |(measure, set): (&str, &str)| format!("[[constraint]]\n{measure}\n{set}\n");
    let safety = constraint(("measure = \"failure\"", "at_most = 0.2"));
    let mut problems: Vec<String> = sets.iter().map(|set| format!("{rover}{}", constraint(*set))).collect();
    let settings = [
        "method = \"occupancy\"\nsamples = 7\nogd.kappa = 2\nfully-corrective.margin = 0\ndistil.policy = \"network\"",
        "method = \"lagrangian\"\nsamples = 300\nlagrangian = { kp = 1, ki = 2, kd = 0.5 }",
        "method = \"rcpo\"\nsamples = 300\nrcpo = { multiplier_init = 1, multiplier_lr = 0.1, multiplier_max = 9 }",
        "method = \"cpo\"\nsamples = 300\ncpo = { target_kl = 0.02, cg_damping = 0.2, cg_max_steps = 5, n_critic_updates = 2 }",
        "method = \"last-iterate\"\nrounds = 50\nlast-iterate = { eta = 3, multiplier_lr = 0.2, optimistic = false }",
        "method = \"last-iterate\"\noracle = \"a2c\"\nsamples = 300\nlast-iterate = { kp = 0.5, ki = 2 }",
        "method = \"state-augmented\"\nsamples = 300\nstate-augmented = { learning = 0.5, kp = 1, ki = 2 }",
        "batch = { dataset = \"log.csv\", checksum = \"00\", fitted = \"table\", bound = 3, gap = 0.1, n_iterations = 9, resamples = 5 }",
        "player = \"ogd\"\nrounds = 50",
        "player = \"ogd\"\nrounds = 50\n[solve.ogd]\nsteps = \"decreasing\"\nkappa = 3.5",
        "player = \"momentum\"\nrounds = 50\nmomentum = { eta = 0.03, momentum = 0.8 }",
        "method = \"apprenticeship\"\n[solve.apprenticeship]\nalgorithm = \"mwal\"\n[solve.hedge]\nsteps = \"constant\"\neta = 0.2",
        "player = \"blackwell\"\nrounds = 50\nexact.planner = \"value-iteration\"\ngoal = \"feasibility\"",
        "tolerance = 0.01\nseed = 18446744073709551615\nfully-corrective.anchor = { failure = 0.5 }",
        "oracle = \"model\"\nsamples = 500\nmodel = { trials = 2, posterior_checks = 9 }",
        "oracle = \"universal\"\nsamples = 200\n[solve.universal]\nnet_arch = [16]\nlearning_rate = 1e-2\n\
         gradient_steps = 1\nbatch_size = 8\nbuffer_size = 100\ntau = 0.1\ntemperature = 0.01\nn_critics = 1\nconfirming = 9",
        "oracle = \"q-learning\"\nsamples = 500\nplayer = \"ogd\"\nq-learning.backup = \"sarsa\"",
        "oracle = \"a2c\"\nsamples = 500\nnum_envs = 3\nfully-corrective = { margin = 2, anchor = {} }\na2c.net_arch = [8, 4]",
        "oracle = \"ppo\"\nsamples = 500\n[solve.fully-corrective]\nanchor = { failure = 0.8, reward = -1.17 }\n\
         [solve.learned]\nfresh = 3\niterates = false",
    ];
    problems
        .extend(settings.iter().map(|settings| format!("{rover}horizon = 60\n{safety}[solve]\n{settings}")));
    let worlds = [
        ("mars-rover\"\nslip = 1\nmap = \"\"\"\n  SFF\n  FHG\"\"\"", "failure"),
        ("mars-rover\"\nmap = { rows = 4, columns = 5, rocks = 0.2 }", "failure"),
        ("mars-rover\"\nmap = { rows = 4, columns = 5, rocks = 0.2, seed = 3 }", "failure"),
        ("deep-sea-treasure\"\nmap = \"convex\"", "treasure"),
        ("frozen-lake\"\nmap = \"8x8\"\nslippery = false", "failure"),
        ("cliff-walking\"\nslippery = true", "failure"),
        ("bandit\"\narms = 3\nhorizon = 5", "arms"),
        ("garnet\"\nstates = 5\nactions = 2\nbranching = 2\nmeasures = 1\nseed = 9", "m"),
        ("gridworld\"\nsize = 6\nmacro_cell = 2\nnoise = 0.1\nseed = 9", "reward"),
        ("resource-gathering\"\ndanger = 0.2", "killed"),
    ];
    problems.extend(worlds.iter().map(|(world, measure)| {
        format!(
            "discount = 0.9\n[environment]\nname = \"{world}\n[[constraint]]\nmeasure = \"{measure}\"\nat_most = 0.3\n"
        )
    }));
    problems.push("discount = 0.9\nenvironment = { name = \"point-mass\", horizon = 20 }\n".into());
    problems.push(
        "discount = 0.9\n[environment]\nname = \"point-mass\"\nhorizon = 20\n\
         [[constraint]]\nmeasure = \"energy\"\nat_most = 0.3\n\
         [solve]\noracle = \"sac\"\nsamples = 200\nsac = { net_arch = [8], batch_size = 8, learning_starts = 50 }\n"
            .into(),
    );
    problems.push(format!("maximize = \"reward\"\n{rover}{safety}"));
    problems.push(format!("{rover}{safety}[objective]\nmaximize = \"reward\"\n"));
    problems.push(format!("minimize = \"visits[7]\"\n{rover}{safety}[solve]\nsearch = \"binary\"\n"));
    let objectives = [
        "maximize = { entropy = \"visits\", share = true }",
        "minimize = { squared_distance = \"visits\", from = \"uniform-upper-triangle\", weight = 2 }",
        "maximize = [{ measure = \"reward\", weight = -1 }, { smooth_minimum = [\"visits\", \"steps\"], sharpness = 7 }]",
    ];
    problems.extend(objectives.iter().map(|objective| format!("{objective}\n{rover}{safety}")));
    problems.push(format!(
        "maximize = {{ entropy = \"visits\" }}\n{rover}[solve]\nmethod = \"maxent\"\nrounds = 30\nfrank-wolfe.eta = 0.2\n"
    ));
    problems.into_iter().enumerate().map(|(i, text)| (format!("rich-{i}"), text)).collect()
}

/// Every problem of these tests by file or name, with what is explained about it.
fn problems_explained(test: &str) -> Vec<(String, String)> {
    let rich = rich().into_iter().map(|(name, text)| written(test, &name, &text));
    let all = rich.chain(BUILT_IN.iter().map(|(name, _)| (*name).to_owned()));
    let explained = |file: String| (printed(&["check", &file, "--explain"]), file);
    all.map(explained).map(|(text, file)| (file, text)).collect()
}

fn solved(file: &str) -> (Option<i32>, Value) {
    let output = appropo(&["solve", file, "--json"]);
    let mut report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{file}: {}", String::from_utf8_lossy(&output.stderr)));
    report["seconds"] = Value::Null;
    (output.status.code(), report)
}

#[test]
fn what_is_explained_is_the_same_problem() {
    for (file, text) in problems_explained("explained") {
        let again = written("explained", "again", &text);
        assert_eq!(printed(&["check", &again, "--explain"]), text, "{file}");
        if file != "cart-pole" && text.contains("[[constraint]]") {
            assert_eq!(solved(&again), solved(&file), "{file}");
        }
    }
}

#[test]
fn explain_writes_every_default() {
    insta::assert_snapshot!(printed(&["check", "mars-rover-diverse", "--explain"]));
}

#[test]
fn explain_writes_every_default_of_what_learns() {
    insta::assert_snapshot!(printed(&["check", "cart-pole", "--explain"]));
}

#[test]
fn explain_writes_the_gains_of_gradient_players() {
    let text = "discount = 0.99\n[environment]\nname = \"garnet\"\n[[constraint]]\nmeasure = \"visits\"\n\
                intersection = [{ simplex = {} }, { at_most = 0.5 }]\n[solve]\nplayer = \"ogd\"\nogd.kappa = 2\n";
    insta::assert_snapshot!(printed(&["check", &written("gains", "gains", text), "--explain"]));
}

fn as_json(text: &str) -> Value {
    toml::from_str(text).unwrap()
}

fn schema() -> Value {
    serde_json::from_str(&printed(&["schema"])).unwrap()
}

/// Whether a seed is beyond what TOML promises, which the parser of this test refuses.
fn is_beyond_toml(text: &str) -> bool {
    text.contains("18446744073709551615")
}

/// Problems as JSON, for a validator that others wrote: `tests/python/test_schema.py` reads them. What can be read must
/// fit the schema; what stands in `MISTAKES` and can be told without knowing the world must not.
#[test]
fn problems_are_written_for_the_schema() {
    let mut problems: Vec<Value> = Vec::new();
    let mut add = |name: &str, text: &str, fits: bool| {
        if let Ok(problem) = toml::from_str::<Value>(text) {
            problems.push(json!({ "name": name, "problem": problem, "fits": fits }));
        }
    };
    let built_in = BUILT_IN.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    for (name, text) in rich().into_iter().chain(built_in) {
        add(&name, &text, true);
    }
    for (name, text) in problems_explained("schema") {
        add(&name, &text, true);
    }
    for (name, text) in MISTAKES {
        add(name, &problem(text), name.starts_with("the world: "));
    }
    assert!(problems.len() > 120, "{}", problems.len());
    let written = json!({ "schema": schema(), "problems": problems });
    fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("schema.json"), written.to_string()).unwrap();
}

/// A world of another program, with what can be seen and done there counted or not.
const EXTERNAL: &str = r#"
discount = 0.9
[environment]
name = "external"
about = "a robot"
measures = ["cost", "place"]
entries = [1, 2]
states = 3
observation = 3
choices = 2
lower = [-1]
upper = [1]
"#;

#[test]
fn a_world_of_another_program_can_be_read_but_not_played() {
    let text = EXTERNAL.replace("states = 3\n", "").replace("choices = 2\n", "");
    let text = format!("{text}horizon = 9\n[[constraint]]\nmeasure = \"cost\"\nat_most = 1\n");
    let file = written("external", "external", &text);
    let run = |command: &str| {
        let output = appropo(&[command, &file]);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(run("check").0, Some(0));
    let (status, said) = run("solve");
    assert!(status == Some(1) && said.contains("was given by another program"), "{status:?} {said}");
}

/// Every key that is a property somewhere in `value`.
fn keys_of_schema(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            if let Some(Value::Object(properties)) = object.get("properties") {
                keys.extend(properties.keys().cloned());
            }
            object.values().for_each(|value| keys_of_schema(value, keys));
        }
        Value::Array(items) => items.iter().for_each(|value| keys_of_schema(value, keys)),
        _ => {}
    }
}

fn keys_of_problem(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            keys.extend(object.keys().cloned());
            object.values().for_each(|value| keys_of_problem(value, keys));
        }
        Value::Array(items) => items.iter().for_each(|value| keys_of_problem(value, keys)),
        _ => {}
    }
}

#[test]
fn what_is_in_the_schema_can_be_read() {
    let (mut promised, mut read) = (BTreeSet::new(), BTreeSet::new());
    keys_of_schema(&schema(), &mut promised);
    for (_, text) in
        rich().into_iter().chain(problems_explained("keys")).filter(|(_, text)| !is_beyond_toml(text))
    {
        keys_of_problem(&as_json(&text), &mut read);
    }
    // A world of another program can be read here, but not solved; a set of one can't even be read.
    keys_of_problem(&as_json(EXTERNAL), &mut read);
    // Logs are read with tests of their own.
    keys_of_problem(&as_json(LOGGED), &mut read);
    // So are models.
    keys_of_problem(&as_json(MODEL), &mut read);
    read.insert("custom".into());
    let unread: Vec<&String> = promised.difference(&read).collect();
    assert!(unread.is_empty(), "{unread:?}");
}

const MODEL: &str = "discount = 1\n\
                     environment = { model = \"a.drn\", rewards = [\"cost\"], reach = [\"goal\"], time = [\"busy\"], \
                     average = [\"cost\"], end = [\"done\"] }\n";

const LOGGED: &str = "discount = 0.9\nenvironment = { dataset = \"log.csv\", checksum = \"0\" }\n\
                      solve = { method = \"batch\", batch = { bound = 1, fitted = \"table\", gap = 1, n_iterations = 1, resamples = 2 } }\n";
const SAFETY: &str = "[[constraint]]\nmeasure = \"failure\"\nat_most = 0.2\n";

/// A text that begins with a key of the constraint, or a problem of its own.
fn problem(text: &str) -> String {
    if text.contains("discount") {
        return text.to_owned();
    }
    let world = "discount = 0.99\n\n[environment]\nname = \"mars-rover\"\n";
    match text
        .strip_prefix("environment: ")
        .map(|text| (text, "environment"))
        .or_else(|| text.strip_prefix("solve: ").map(|text| (text, "solve")))
    {
        Some((text, "environment")) => format!("{world}{text}\n{SAFETY}"),
        Some((text, _)) => format!("{world}{SAFETY}[solve]\n{text}\n"),
        None => format!("{world}\n[[constraint]]\n{text}\n"),
    }
}

/// Mistakes by name. "The world" marks those that depend on it or on more than one value.
const MISTAKES: [(&str, &str); 64] = [
    ("a decimal comma", "discount = 0,99"),
    ("no digit before the point", "discount = .99"),
    ("a key that stands twice", "discount = 0.9\ndiscount = 0.8"),
    ("a word without quotation marks", "environment: map = concave"),
    ("a misspelt name", "discount = 0.9\n[environment]\nnam = \"mars-rover\"\n"),
    ("double brackets", "discount = 0.9\n[[environment]]\nname = \"mars-rover\"\n"),
    ("a negative radius", "measure = \"visits\"\nball = { center = \"uniform\", radius = -0.1 }"),
    ("a discount above 1", "discount = 1.5\n[environment]\nname = \"mars-rover\""),
    ("an infinite bound", "measure = \"failure\"\nat_most = inf"),
    ("a bound as text", "measure = \"failure\"\nat_most = \"0.2\""),
    ("an empty array of measures", "measure = []\nat_most = 0.2"),
    ("an empty bound", "measure = \"failure\"\nat_most = []"),
    (
        "the world: a center of another size",
        "measure = \"visits\"\nball = { center = [0.5, 0.5], radius = 0.1 }",
    ),
    ("a center that is not known", "measure = \"visits\"\nball = { center = \"uniforn\", radius = 0.1 }"),
    (
        "the world: a triangle without cells",
        "measure = \"failure\"\nball = { center = \"uniform-upper-triangle\", radius = 0.1 }",
    ),
    ("the world: a measure that is not there", "measure = [\"failure\", \"rewards\"]\nat_most = 0.2"),
    ("the world: lower above upper", "measure = \"failure\"\nbetween = [0.3, 0.1]"),
    ("the world: a box upside down", "measure = \"failure\"\nbox = { lower = [0.3], upper = [0.1] }"),
    ("the world: a slab upside down", "measure = \"failure\"\nslab = { normal = [1], lower = 1, upper = 0 }"),
    ("three bounds", "measure = \"failure\"\nbetween = [0.3, 0.4, 0.5]"),
    ("the world: a normal of 0", "measure = \"failure\"\nhalfspace = { normal = [0], offset = 0.1 }"),
    (
        "the world: a row of another size",
        "measure = \"failure\"\npolytope = { rows = [[1], [1, 2]], offsets = [1, 2] }",
    ),
    ("the world: offsets without rows", "measure = \"failure\"\naffine = { rows = [[1]], offsets = [1, 2] }"),
    (
        "the world: a matrix that is not positive",
        "measure = \"failure\"\nellipsoid = { center = [0], matrix = [[-1]] }",
    ),
    (
        "the world: a reference that sums to 2",
        "measure = [\"failure\", \"reward\"]\nkl = { reference = [1, 1], radius = 0.1 }",
    ),
    ("the world: entropy above the most", "measure = \"visits\"\nshare = true\nentropy = { at_least = 5 }"),
    ("the world: a shift of another size", "measure = \"failure\"\nat_most = 0.2\nshift = [1, 2]"),
    ("a scale of 0", "measure = \"failure\"\nat_most = 0.2\nscale = 0"),
    ("the world: a matrix that is not square", "measure = [\"failure\", \"reward\"]\nsemidefinite = true"),
    ("not semidefinite", "measure = \"failure\"\nsemidefinite = false"),
    ("no set", "measure = \"failure\""),
    ("two sets", "measure = \"failure\"\nat_most = 0.2\nat_least = 0.1"),
    ("a part without a set", "measure = \"failure\"\nintersection = [{ at_most = 0.2 }, {}]"),
    ("a misspelt key of a set", "measure = \"visits\"\nball = { centre = \"uniform\", radius = 0.1 }"),
    ("a set without its radius", "measure = \"visits\"\nball = { center = \"uniform\" }"),
    ("a control character in a name", "name = \"\\u001b[31mred\"\nmeasure = \"failure\"\nat_most = 0.2"),
    (
        "single brackets",
        "discount = 0.9\n[environment]\nname = \"mars-rover\"\n\n[constraint]\nmeasure = \"failure\"\nat_most = 0.2\n",
    ),
    ("too many arms", "discount = 0.9\n[environment]\nname = \"bandit\"\narms = 1000000000000"),
    (
        "the world: too large a garnet",
        "discount = 0.9\n[environment]\nname = \"garnet\"\nactions = 2\nstates = 90000000",
    ),
    ("an integer beyond all bounds", "environment: horizon = 99999999999999999999999"),
    ("the world: a horizon beyond memory", "environment: horizon = 900000000"),
    ("a fraction of a step", "environment: horizon = 1.5"),
    ("a slip in hexadecimals", "environment: slip = 0xff"),
    ("a key of another world", "environment: arms = 3"),
    ("a map that is not known", "environment: map = \"9x9\""),
    (
        "the world: exact without a model",
        "discount = 0.9\n[environment]\nname = \"cart-pole\"\nhorizon = 9\n[solve]\noracle = \"exact\"",
    ),
    (
        "the world: a model of a continuous world",
        "discount = 0.9\n[environment]\nname = \"point-mass\"\nhorizon = 9\n[solve]\noracle = \"model\"",
    ),
    ("the world: an oracle for occupancies", "solve: method = \"occupancy\"\noracle = \"ppo\""),
    ("the world: a player for occupancies", "solve: method = \"occupancy\"\nplayer = \"ogd\""),
    (
        "two objectives",
        "maximize = \"reward\"\nminimize = \"failure\"\ndiscount = 0.9\nenvironment = { name = \"mars-rover\" }",
    ),
    (
        "an objective in its table and outside it",
        "maximize = \"reward\"\ndiscount = 0.9\nenvironment = { name = \"mars-rover\" }\nobjective = { minimize = \"failure\" }",
    ),
    ("an empty objective", "discount = 0.9\nenvironment = { name = \"mars-rover\" }\nobjective = {}"),
    (
        "an objective of another kind",
        "discount = 0.9\nenvironment = { name = \"mars-rover\" }\n[objective]\nmaximise = \"reward\"",
    ),
    (
        "the world: an objective that is not there",
        "maximize = \"rewards\"\ndiscount = 0.9\nenvironment = { name = \"mars-rover\" }",
    ),
    (
        "the world: an objective of many entries",
        "minimize = \"visits\"\ndiscount = 0.9\nenvironment = { name = \"mars-rover\" }",
    ),
    (
        "an objective with two functions",
        "maximize = { entropy = \"visits\", measure = \"reward\" }\ndiscount = 0.9\nenvironment = { name = \"mars-rover\" }",
    ),
    (
        "the world: an entropy to be minimised",
        "minimize = { entropy = \"visits\" }\ndiscount = 0.9\nenvironment = { name = \"mars-rover\" }",
    ),
    (
        "the world: an entropy of another measure",
        "maximize = { entropy = \"visit\" }\ndiscount = 0.9\nenvironment = { name = \"mars-rover\" }",
    ),
    (
        "the world: a squared distance from nowhere",
        "minimize = { squared_distance = \"visits\" }\ndiscount = 0.9\nenvironment = { name = \"mars-rover\" }",
    ),
    (
        "the world: a squared distance from a shorter point",
        "minimize = { squared_distance = \"visits\", from = [0, 1] }\ndiscount = 0.9\nenvironment = { name = \"mars-rover\" }",
    ),
    (
        "the world: terms per step and per episode",
        "maximize = [{ measure = \"reward\" }, { entropy = \"visits\", share = true }]\ndiscount = 0.9\nenvironment = { name = \"mars-rover\" }",
    ),
    (
        "an objective that is a number",
        "maximize = 3\ndiscount = 0.9\nenvironment = { name = \"mars-rover\" }",
    ),
    ("the world: an anchor of another measure", "solve: fully-corrective.anchor = { failures = 1 }"),
    ("no tolerance", "solve: tolerance = 0"),
];

#[test]
fn mistakes_are_shown_where_they_stand() {
    let mut shown = String::new();
    for (name, text) in MISTAKES {
        let file = written("mistakes", "problem", &problem(text));
        let output = appropo(&["check", &file]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(output.stdout.is_empty(), "{name}");
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains('^') && !message.contains('\u{1b}'), "{name}: {message}");
        shown += &format!("--- {name}\n{}", message.replace(&file, "problem.toml"));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn options_that_would_be_ignored_are_refused() {
    for option in [["--oracle", "ppo"], ["--player", "ogd"]] {
        let arguments = [&["solve", "mars-rover", "--method", "occupancy"], &option[..]].concat();
        assert_eq!(appropo(&arguments).status.code(), Some(2));
    }
}
