//! Every table of a problem file with its keys.

use appropo::env::{frozen_lake, mars_rover};

use super::keys::{ANY, BELOW_ONE, FROM_ZERO, Key, Kind, MODERATE, POSITIVE, SLOPE, UNIT};

/// An environment and its own keys, besides its name.
pub struct Environment {
    pub name: &'static str,
    pub about: &'static str,
    pub keys: &'static [Key],
}

pub static ROOT: [Key; 4] = [
    Key::required("discount", Kind::Number(UNIT), "0.99", "γ. At 1 without a horizon every policy must end."),
    Key::required(
        "environment",
        Kind::Environment(&ENVIRONMENTS),
        "{ name = \"mars-rover\" }",
        "The world and its settings.",
    ),
    Key::optional(
        "constraint",
        Kind::Constraints(&CONSTRAINT),
        "",
        "What the long-term measurements must satisfy.",
    ),
    Key::optional("solve", Kind::Table(&SOLVE), "{}", "How to solve; every key has a default."),
];

/// The first key of every environment.
pub static NAME: Key = Key::required("name", Kind::Name, "\"mars-rover\"", "Which world it is.");

const HORIZON: Key = Key::optional(
    "horizon",
    Kind::Count(1, 1_000_000_000),
    "300",
    "Steps after which an episode is cut off. Without it episodes run until they end.",
);

/// For worlds that can only be played in.
const REQUIRED_HORIZON: Key = Key::required(
    "horizon",
    Kind::Count(1, 1_000_000_000),
    "500",
    "Steps after which an episode is cut off.",
);

const SEED: Key = Key::defaulted("seed", Kind::Count(0, u64::MAX), "0", "Where random draws begin.");

/// The most of anything that a table has one row for.
const MOST: u64 = 100_000_000;

/// The world of another program.
pub const OUTSIDE: &str = "outside";

pub static ENVIRONMENTS: [Environment; 9] = [
    Environment {
        name: "mars-rover",
        about: "a rover on its way to the goal among rocks",
        keys: &[
            Key::defaulted(
                "map",
                Kind::Map(&mars_rover::MAPS, Some(&RANDOM_MAP)),
                "\"8x8\"",
                "A named map, one as text with a row a line of S (start), G (goal), F (free) and H (rock), or how to draw one.",
            ),
            Key::defaulted(
                "slip",
                Kind::Number(UNIT),
                "0.05",
                "The probability that the action is replaced by one drawn uniformly from all four.",
            ),
            HORIZON,
        ],
    },
    Environment {
        name: "deep-sea-treasure",
        about: "a submarine that trades treasure for time",
        keys: &[
            Key::defaulted(
                "map",
                Kind::Word(&[("concave", "Vamplew et al. 2011"), ("convex", "Yang et al. 2019")]),
                "\"concave\"",
                "Which treasures lie where.",
            ),
            HORIZON,
        ],
    },
    Environment {
        name: "frozen-lake",
        about: "a lake to be crossed without falling into a hole",
        keys: &[
            Key::defaulted(
                "map",
                Kind::Map(&frozen_lake::MAPS, None),
                "\"4x4\"",
                "A named map, or one as text with a row a line of S (start), G (goal), F (frozen) and H (hole).",
            ),
            Key::defaulted(
                "slippery",
                Kind::Flag,
                "true",
                "Whether moves go astray to either side, each with probability 1/3.",
            ),
            HORIZON,
        ],
    },
    Environment {
        name: "cliff-walking",
        about: "a walk along a cliff",
        keys: &[
            Key::defaulted(
                "slippery",
                Kind::Flag,
                "false",
                "Whether moves go astray to either side, each with probability 1/3.",
            ),
            HORIZON,
        ],
    },
    Environment {
        name: "bandit",
        about: "one state with arms to pull; needs a discount below 1",
        keys: &[Key::defaulted("arms", Kind::Count(1, 1_000_000), "2", "How many arms there are."), HORIZON],
    },
    Environment {
        name: "cart-pole",
        about: "a pole on a cart, to be learnt by playing; needs a horizon",
        keys: &[REQUIRED_HORIZON],
    },
    Environment {
        name: "point-mass",
        about: "a point pushed by a force of its choice, to be learnt by playing; needs a horizon",
        keys: &[REQUIRED_HORIZON],
    },
    Environment {
        name: "garnet",
        about: "a random model that never ends",
        keys: &[
            Key::defaulted("states", Kind::Count(1, MOST), "20", "How many states there are."),
            Key::defaulted("actions", Kind::Count(1, MOST), "4", "How many actions there are."),
            Key::defaulted("branching", Kind::Count(1, MOST), "3", "Successors of each state and action."),
            Key::defaulted("measures", Kind::Count(0, MOST), "2", "Entries of the measure m."),
            SEED,
            HORIZON,
        ],
    },
    Environment {
        name: OUTSIDE,
        about: "a world of another program, such as a Gymnasium environment in Python",
        keys: &OF_OUTSIDE,
    },
];

/// Its size is what a policy for it must fit.
const OF_OUTSIDE: [Key; 9] = [
    Key::optional("about", Kind::Name, "\"CartPole-v1\"", "What it is."),
    Key::required("measures", Kind::Names, "[\"cost\"]", "What is measured in it."),
    Key::optional("entries", Kind::Numbers, "[1]", "How many entries each measure has; 1 where not given."),
    Key::optional(
        "states",
        Kind::Count(1, MOST),
        "16",
        "How many observations there are, if they can be counted.",
    ),
    Key::optional("observation", Kind::Count(1, 1_000_000), "4", "Or how many numbers an observation has."),
    Key::optional(
        "choices",
        Kind::Count(1, MOST),
        "2",
        "How many actions there are, if they can be counted.",
    ),
    Key::optional("lower", Kind::Numbers, "[-1]", "Or the least of each number of an action."),
    Key::optional("upper", Kind::Numbers, "[1]", "And the most."),
    HORIZON,
];

static RANDOM_MAP: [Key; 4] = [
    Key::required("rows", Kind::Count(1, 10_000_000), "100", "Rows of the map."),
    Key::required("columns", Kind::Count(1, 10_000_000), "100", "Columns of the map."),
    Key::required("rocks", Kind::Number(BELOW_ONE), "0.05", "The probability of a rock in each cell."),
    SEED,
];

pub static CONSTRAINT: [Key; 5] = [
    Key::optional("name", Kind::Name, "\"safety\"", "What it is called in results; by default its measures."),
    Key::required(
        "measure",
        Kind::Measures,
        "\"failure\"",
        "A measure, or several. Their entries in this order make up the vector x.",
    ),
    Key::defaulted("share", Kind::Flag, "false", "Whether x is divided by the number of steps."),
    Key::defaulted(
        "scale",
        Kind::Number(MODERATE),
        "1",
        "What counts as one unit of violation. Distances are divided by it.",
    ),
    Key::optional("shift", Kind::Numbers, "[0.1]", "A vector that the set is moved by."),
];

const CENTER: Key = Key::required("center", Kind::Vector, "[0, 0]", "The middle.");
const RADIUS: Key = Key::required("radius", Kind::Number(FROM_ZERO), "0.1", "How far from it x may be.");
const NORMAL: Key = Key::required("normal", Kind::Vector, "[1, 2]", "The direction that is bounded.");
const ROWS: Key = Key::required("rows", Kind::Rows, "[[1, 1]]", "A matrix with one column an entry of x.");
const OFFSETS: Key = Key::required("offsets", Kind::Numbers, "[1]", "One number a row.");
const REFERENCE: Key = Key::required("reference", Kind::Vector, "\"uniform\"", "The distribution q.");

/// The keys that state a set, with an example of each. d is the number of entries of x.
pub static SETS: [Key; 21] = [
    Key::optional("at_most", Kind::PerEntry, "0.2", "xᵢ ≤ bᵢ; a single number bounds every entry."),
    Key::optional("at_least", Kind::PerEntry, "-0.17", "xᵢ ≥ bᵢ; a single number bounds every entry."),
    Key::optional("between", Kind::Pair, "[0.1, 0.2]", "lower ≤ xᵢ ≤ upper for every entry."),
    Key::optional("equals", Kind::PerEntry, "0.5", "xᵢ = bᵢ; a single number stands for every entry."),
    Key::optional(
        "box",
        Kind::Table(&[
            Key::required("lower", Kind::Vector, "[0, 0]", "The least of every entry."),
            Key::required("upper", Kind::Vector, "[1, 2]", "The most of every entry."),
        ]),
        "{ lower = [0, 0], upper = [1, 2] }",
        "lowerᵢ ≤ xᵢ ≤ upperᵢ.",
    ),
    Key::optional(
        "ball",
        Kind::Table(&[CENTER, RADIUS]),
        "{ center = \"uniform\", radius = 0.1 }",
        "‖x − center‖ ≤ radius.",
    ),
    Key::optional(
        "l1_ball",
        Kind::Table(&[CENTER, RADIUS]),
        "{ center = [0, 0], radius = 0.1 }",
        "Σ |xᵢ − centerᵢ| ≤ radius.",
    ),
    Key::optional(
        "linf_ball",
        Kind::Table(&[CENTER, RADIUS]),
        "{ center = [0, 0], radius = 0.1 }",
        "max |xᵢ − centerᵢ| ≤ radius.",
    ),
    Key::optional(
        "ellipsoid",
        Kind::Table(&[
            CENTER,
            Key::required("matrix", Kind::Rows, "[[4, 0], [0, 1]]", "M, symmetric and positive definite."),
        ]),
        "{ center = [0, 0], matrix = [[4, 0], [0, 1]] }",
        "(x − center)ᵀ M (x − center) ≤ 1.",
    ),
    Key::optional(
        "halfspace",
        Kind::Table(&[NORMAL, Key::required("offset", Kind::Number(ANY), "0.5", "The most of normal·x.")]),
        "{ normal = [1, 2], offset = 0.5 }",
        "normal·x ≤ offset.",
    ),
    Key::optional(
        "slab",
        Kind::Table(&[
            NORMAL,
            Key::required("lower", Kind::Number(ANY), "0", "The least of normal·x."),
            Key::required("upper", Kind::Number(ANY), "0.5", "The most of normal·x."),
        ]),
        "{ normal = [1, 2], lower = 0, upper = 0.5 }",
        "lower ≤ normal·x ≤ upper.",
    ),
    Key::optional(
        "affine",
        Kind::Table(&[ROWS, OFFSETS]),
        "{ rows = [[1, 1]], offsets = [1] }",
        "rows·x = offsets.",
    ),
    Key::optional(
        "polytope",
        Kind::Table(&[ROWS, OFFSETS]),
        "{ rows = [[1, 1], [-1, 0]], offsets = [1, 0] }",
        "rows·x ≤ offsets.",
    ),
    Key::optional(
        "simplex",
        Kind::Table(&[Key::defaulted("total", Kind::Number(FROM_ZERO), "1", "The sum of all entries.")]),
        "{ total = 1 }",
        "x ≥ 0, Σ xᵢ = total.",
    ),
    Key::optional(
        "entropy",
        Kind::Table(&[Key::required("at_least", Kind::Number(FROM_ZERO), "2", "In nats, at most ln d.")]),
        "{ at_least = 2.0 }",
        "x is a distribution with −Σ xᵢ ln xᵢ ≥ at_least.",
    ),
    Key::optional(
        "kl",
        Kind::Table(&[REFERENCE, RADIUS]),
        "{ reference = \"uniform\", radius = 0.1 }",
        "x is a distribution with Σ xᵢ ln(xᵢ/qᵢ) ≤ radius, q the reference.",
    ),
    Key::optional(
        "reverse_kl",
        Kind::Table(&[REFERENCE, RADIUS]),
        "{ reference = \"uniform\", radius = 0.1 }",
        "x is a distribution with Σ qᵢ ln(qᵢ/xᵢ) ≤ radius, q the reference.",
    ),
    Key::optional(
        "second_order_cone",
        Kind::Table(&[Key::defaulted("slope", Kind::Number(SLOPE), "1", "The slope of its sides.")]),
        "{ slope = 1 }",
        "‖(x₁, …, x_{d−1})‖ ≤ slope·x_d.",
    ),
    Key::optional(
        "semidefinite",
        Kind::True,
        "true",
        "x, read row by row, is a positive semidefinite matrix; d must be a square.",
    ),
    Key::optional(
        "custom",
        Kind::Name,
        "\"mine\"",
        "A set of another program, such as a Python function, by the name that it has there.",
    ),
    Key::optional(
        "intersection",
        Kind::Parts,
        "[{ simplex = {} }, { ball = { center = \"uniform\", radius = 0.1 } }]",
        "x lies in every part; each part is a table with one set.",
    ),
];

pub static METHODS: [(&str, &str); 2] =
    [("appropo", "the default"), ("occupancy", "one conic programme, solved by Clarabel")];

pub static ORACLE_WORDS: [(&str, &str); 6] = [
    ("exact", "planning in the known model: the default where there is one"),
    ("model", "planning in a model learnt by playing: the fewest samples where states can be counted"),
    ("a2c", "a network learnt by advantage actor-critic"),
    ("ppo", "a network learnt by proximal policy optimisation: the default where there is no model"),
    ("q-learning", "action values in a table"),
    ("outside", "an oracle of another program, such as a Python object"),
];

pub static PLAYER_WORDS: [(&str, &str); 4] = [
    ("fully-corrective", "the default: few calls"),
    ("ogd", "the paper's: gradient descent"),
    ("momentum", "ogd with momentum 0.9"),
    ("blackwell", "needs no settings"),
];

pub static SOLVE: [Key; 14] = [
    Key::defaulted("method", Kind::Word(&METHODS), "\"appropo\"", "How to solve."),
    Key::optional(
        "oracle",
        Kind::Word(&ORACLE_WORDS),
        "\"exact\"",
        "Who answers λ; by default exact, or ppo where there is no model.",
    ),
    Key::defaulted(
        "samples",
        Kind::Count(1, u64::MAX),
        "100000",
        "Steps after which an oracle stops learning; estimating its last answer takes some more.",
    ),
    Key::defaulted("player", Kind::Word(&PLAYER_WORDS), "\"fully-corrective\"", "Who chooses λ."),
    Key::defaulted(
        "planner",
        Kind::Word(&[
            ("policy-iteration", "policies evaluated exactly"),
            ("value-iteration", "values until they settle"),
        ]),
        "\"policy-iteration\"",
        "How the exact oracle plans; with a horizon always by backward induction.",
    ),
    Key::defaulted(
        "goal",
        Kind::Word(&[
            ("distance", "go on until the closest point is found"),
            ("feasibility", "stop at the first proof"),
        ]),
        "\"distance\"",
        "When an infeasible problem is done.",
    ),
    Key::defaulted("tolerance", Kind::Number(POSITIVE), "1e-6", "Distances up to this count as 0."),
    Key::optional(
        "rounds",
        Kind::Count(1, u64::MAX),
        "1000",
        "The most rounds to play; by default 1000 for the corrective player, 20000 for the others.",
    ),
    Key::defaulted(
        "caution",
        Kind::Number(FROM_ZERO),
        "1.75",
        "By how many standard errors the corrective player keeps away from the set's edge while it learns.",
    ),
    Key::optional(
        "anchor",
        Kind::Measurements,
        "{ failure = 0.8 }",
        "For the corrective player while it learns: measurements by name that its first λ leads away from; those not named are 0.",
    ),
    Key::optional(
        "kappa",
        Kind::Number(POSITIVE),
        "20",
        "κ, the height of the lifted set, for ogd and momentum; by default from Lemma 3.5.",
    ),
    Key::optional(
        "eta",
        Kind::Number(POSITIVE),
        "0.1",
        "η, the step size, for ogd and momentum; by default from Theorem 3.3.",
    ),
    Key::defaulted(
        "steps",
        Kind::Word(&[("constant", "η in every round"), ("decreasing", "η/√t in round t")]),
        "\"constant\"",
        "How the step size goes on, for ogd and momentum.",
    ),
    Key::defaulted(
        "seed",
        Kind::Count(0, u64::MAX),
        "0",
        "Every random draw comes from it; the exact oracle draws nothing.",
    ),
];
