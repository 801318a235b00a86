/// The problems that come with the library: their names and texts.
pub const BUILT_IN: [(&str, &str); 10] = [
    ("mars-rover", include_str!("../problems/mars-rover.toml")),
    ("mars-rover-diverse", include_str!("../problems/mars-rover-diverse.toml")),
    ("mars-rover-infeasible", include_str!("../problems/mars-rover-infeasible.toml")),
    ("mars-rover-undiscounted", include_str!("../problems/mars-rover-undiscounted.toml")),
    ("mars-rover-30x30", include_str!("../problems/mars-rover-30x30.toml")),
    ("deep-sea-treasure", include_str!("../problems/deep-sea-treasure.toml")),
    ("frozen-lake", include_str!("../problems/frozen-lake.toml")),
    ("cliff-walking", include_str!("../problems/cliff-walking.toml")),
    ("bandit", include_str!("../problems/bandit.toml")),
    ("cart-pole", include_str!("../problems/cart-pole.toml")),
];
