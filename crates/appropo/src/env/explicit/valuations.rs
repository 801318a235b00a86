use std::fmt::Write;

/// Variables, and their values in every state.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Valuations {
    /// The variables.
    pub variables: Vec<Variable>,
}

/// A variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value in every state.
    pub values: Values,
    /// The states in which it has none, in order; something stands for it among the values.
    pub absent: Vec<u32>,
}

/// One value a state.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// True or false.
    Flags(Vec<bool>),
    /// Whole numbers.
    Integers(Vec<i64>),
    /// Numbers.
    Numbers(Vec<f64>),
    /// Texts, and which of them it is.
    Texts(Vec<String>, Vec<u32>),
}

impl Values {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Values::Flags(values) => values.len(),
            Values::Integers(values) => values.len(),
            Values::Numbers(values) => values.len(),
            Values::Texts(_, values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Valuations {
    /// Writes a state as Storm does: `x=3`, `flag` or `!flag`, with `separator` between variables.
    pub fn write(&self, state: usize, separator: &str, out: &mut String) {
        let mut is_first = true;
        for variable in &self.variables {
            if variable.absent.binary_search(&(state as u32)).is_ok() {
                continue;
            }
            if !std::mem::take(&mut is_first) {
                out.push_str(separator);
            }
            let name = &variable.name;
            let _ = match &variable.values {
                Values::Flags(values) if values[state] => out.write_str(name),
                Values::Flags(_) => write!(out, "!{name}"),
                Values::Integers(values) => write!(out, "{name}={}", values[state]),
                // A point tells a number from a whole one.
                Values::Numbers(values) => write!(out, "{name}={:?}", values[state]),
                Values::Texts(texts, values) => write!(out, "{name}={:?}", texts[values[state] as usize]),
            };
        }
    }

    /// The same with one more state, in which no variable has a value.
    pub(super) fn with_unknown_state(mut self) -> Self {
        for variable in &mut self.variables {
            variable.absent.push(variable.values.len() as u32);
            match &mut variable.values {
                Values::Flags(values) => values.push(false),
                Values::Integers(values) => values.push(0),
                Values::Numbers(values) => values.push(0.0),
                Values::Texts(_, values) => values.push(0),
            }
        }
        self
    }
}
