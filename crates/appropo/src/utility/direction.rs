use crate::options::words;

words! {
    /// Which way is better.
    pub enum Direction {
        /// more is better
        Maximize = "maximize",
        /// less is better
        Minimize = "minimize",
    }
}

impl Direction {
    /// 1 where more is better, else −1.
    pub fn sign(self) -> f64 {
        match self {
            Direction::Maximize => 1.0,
            Direction::Minimize => -1.0,
        }
    }
}
