use appropo::options::{Key, Kind, Range};
use appropo::rl::workers::MOST_ENVS;
use appropo::utility;

/// The keys of a problem file.
pub static ROOT: [Key; 7] = [
    Key::required(
        "discount",
        Kind::Number(Range::UNIT),
        "0.99",
        "γ. At 1 without a horizon every policy must end.",
    ),
    Key::required("environment", Kind::Open, "{ name = \"mars-rover\" }", "The world and its settings."),
    Key::optional("constraint", Kind::Tables, "", "What the long-term measurements must satisfy."),
    Key::optional("objective", Kind::Open, "{ maximize = \"reward\" }", "What is optimised."),
    OBJECTIVE[0],
    OBJECTIVE[1],
    Key::optional("solve", Kind::Open, "{}", "How to solve; every key has a default."),
];

/// The keys of the table `[objective]`. They may stand outside it as well.
pub const OBJECTIVE: [Key; 2] = [
    Key::optional(
        "maximize",
        Kind::Utility(&utility::KEYS),
        "\"reward\"",
        "What to make as large as the constraints allow: a measure, measure[i] for an entry of a vector, or a concave function.",
    ),
    Key::optional(
        "minimize",
        Kind::Utility(&utility::KEYS),
        "\"failure\"",
        "What to make as small as the constraints allow: a measure, or a convex function.",
    ),
];

/// The first key of every environment.
pub static NAME: Key = Key::required("name", Kind::Name, "\"mars-rover\"", "Which world it is.");

/// The keys of a constraint, besides its set.
pub static CONSTRAINT: [Key; 5] = [
    Key::optional("name", Kind::Name, "\"safety\"", "What it is called in results; by default its measures."),
    Key::required(
        "measure",
        Kind::Measures,
        "\"failure\"",
        "A measure, one entry of it as in visits[3], or several. In this order they make up the vector x.",
    ),
    Key::defaulted("share", Kind::Flag, "false", "Whether x is divided by the number of steps."),
    Key::defaulted(
        "scale",
        Kind::Number(Range::MODERATE),
        "1",
        "What counts as one unit of violation. Distances are divided by it.",
    ),
    Key::optional("shift", Kind::Numbers, "[0.1]", "A vector that the set is moved by."),
];

/// What solving may take.
pub static BUDGET: [Key; 6] = [
    Key::defaulted(
        "samples",
        Kind::Count(1, u64::MAX),
        "100000",
        "Steps after which an oracle stops learning; estimating its last answer takes some more.",
    ),
    Key::optional(
        "evaluation_samples",
        Kind::Count(1, u64::MAX),
        "25000",
        "Steps after which fresh episodes of the result decide no more, beyond the first 50; by default a quarter of samples.",
    ),
    Key::optional(
        "rounds",
        Kind::Count(1, u64::MAX),
        "1000",
        "The most rounds to play; by default 1000 for the corrective player, 20000 for the others.",
    ),
    Key::optional(
        "num_envs",
        Kind::Count(1, MOST_ENVS as u64),
        "8",
        "Streams of episodes that a2c, ppo and cpo play in, each with random draws of its own; without it, one environment step by step.",
    ),
    Key::defaulted("tolerance", Kind::Number(Range::POSITIVE), "1e-6", "Distances up to this count as 0."),
    Key::defaulted(
        "seed",
        Kind::Count(0, u64::MAX),
        "0",
        "Every random draw comes from it; the exact oracle draws nothing.",
    ),
];
