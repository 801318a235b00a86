use std::ops::Add;
use std::sync::Arc;

use super::{Concave, Criterion, Direction, Entropy, Linear, SmoothMinimum, SquaredDistance, Sum};
use crate::error::{Error, Result};
use crate::measurement::Measures;
use crate::options::{Entry, Key, Kind, Range, Result as OptionResult, Table, Value, suggestion};
use crate::set::SetSpace;

/// What is optimised, by the names of measures: a weighted sum of measures and of functions of them.
///
/// ```
/// use appropo::utility::Utility;
///
/// let utility = Utility::from("reward") + Utility::entropy("visits").weighted(0.1);
/// assert_eq!(utility.statement(), "reward + 0.1 · entropy of visits");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Utility {
    /// What is added up.
    pub terms: Vec<Term>,
    /// Whether measures are divided by the number of steps.
    pub share: bool,
}

/// A function of measures, and how much it counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// Its weight.
    pub weight: f64,
    /// The measures whose entries, one after the other, are x.
    pub measures: Vec<String>,
    /// The function.
    pub shape: Shape,
}

/// A function of the measures of a term.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// x itself, one entry.
    Measure,
    /// −Σ xᵢ ln xᵢ.
    Entropy,
    /// ‖x − from‖².
    SquaredDistance {
        /// The point.
        from: Vec<f64>,
    },
    /// −ln(Σ exp(−βxᵢ))/β.
    SmoothMinimum {
        /// β.
        sharpness: f64,
    },
}

/// How many of the first [`KEYS`] state a function, of which a term has one.
pub const FUNCTIONS: usize = 4;

/// The keys of a term.
pub static KEYS: [Key; 8] = [
    Key::optional("measure", Kind::Name, "\"reward\"", "A measure, or one entry of it as in visits[3]."),
    Key::optional(
        "entropy",
        Kind::Measures,
        "\"visits\"",
        "−Σ xᵢ ln xᵢ of the entries x of these measures; to be maximised.",
    ),
    Key::optional(
        "squared_distance",
        Kind::Measures,
        "\"visits\"",
        "‖x − from‖² of the entries x of these measures; to be minimised, or maximised with a negative weight.",
    ),
    Key::optional(
        "smooth_minimum",
        Kind::Measures,
        "\"visits\"",
        "−ln(Σ exp(−βxᵢ))/β of the entries x of these measures, which is near the least of them; to be maximised.",
    ),
    Key::optional("from", Kind::Vector, "\"uniform\"", "The point of a squared distance."),
    Key::defaulted(
        "sharpness",
        Kind::Number(Range::POSITIVE),
        "100",
        "β of a smooth minimum, which is at most ln(n)/β below the least of n entries.",
    ),
    Key::defaulted("weight", Kind::Number(Range::ANY), "1", "What the function is multiplied by."),
    Key::defaulted("share", Kind::Flag, "false", "Whether x is divided by the number of steps."),
];

impl From<&str> for Utility {
    fn from(measure: &str) -> Self {
        Self::of([measure], Shape::Measure)
    }
}

impl From<String> for Utility {
    fn from(measure: String) -> Self {
        measure.as_str().into()
    }
}

impl From<&String> for Utility {
    fn from(measure: &String) -> Self {
        measure.as_str().into()
    }
}

impl Add for Utility {
    type Output = Self;

    /// All of it is per step if any of it is.
    fn add(mut self, other: Self) -> Self {
        self.terms.extend(other.terms);
        Self { share: self.share || other.share, ..self }
    }
}

impl Utility {
    fn of<'a>(measures: impl IntoIterator<Item = &'a str>, shape: Shape) -> Self {
        let measures = measures.into_iter().map(str::to_owned).collect();
        Self { terms: vec![Term { weight: 1.0, measures, shape }], share: false }
    }

    /// −Σ xᵢ ln xᵢ of a measure's entries, to be maximised.
    pub fn entropy(measure: &str) -> Self {
        Self::of([measure], Shape::Entropy)
    }

    /// The squared distance of a measure's entries from a point, to be minimised.
    pub fn squared_distance(measure: &str, from: Vec<f64>) -> Self {
        Self::of([measure], Shape::SquaredDistance { from })
    }

    /// About the least of a measure's entries, to be maximised. `sharpness` is β > 0: it is at most ln(n)/β below the least.
    pub fn smooth_minimum(measure: &str, sharpness: f64) -> Self {
        Self::of([measure], Shape::SmoothMinimum { sharpness })
    }

    /// The same times a number.
    pub fn weighted(mut self, weight: f64) -> Self {
        self.terms.iter_mut().for_each(|term| term.weight *= weight);
        self
    }

    /// The same of measures per step: for visits, of the shares of time.
    pub fn per_step(self) -> Self {
        Self { share: true, ..self }
    }

    /// What it is, in words.
    pub fn statement(&self) -> String {
        let per_step = if self.share { " per step" } else { "" };
        let mut text = String::new();
        for (i, Term { weight, measures, shape }) in self.terms.iter().enumerate() {
            let measures = format!("{}{per_step}", measures.join(", "));
            let function = match shape {
                Shape::Measure => measures,
                Shape::Entropy => format!("entropy of {measures}"),
                Shape::SquaredDistance { .. } => format!("squared distance of {measures} from a point"),
                Shape::SmoothMinimum { .. } => format!("smooth minimum of {measures}"),
            };
            text.push_str(match (i, *weight < 0.0) {
                (0, false) => "",
                (0, true) => "−",
                (_, false) => " + ",
                (_, true) => " − ",
            });
            if weight.abs() != 1.0 {
                text.push_str(&format!("{} · ", weight.abs()));
            }
            text.push_str(&function);
        }
        text
    }

    /// Reads what stands at a key: a measure, a term or several. `vectors` are the named ones.
    pub fn read(
        entry: &Entry,
        measures: &Measures,
        vectors: &dyn Fn(&str) -> Option<Vec<f64>>,
    ) -> OptionResult<Self> {
        if entry.is_text() {
            return Ok(entry.name()?.into());
        }
        let items = if entry.is_list() { entry.items()? } else { vec![entry.clone()] };
        let mut share = None;
        let mut terms = Vec::new();
        for item in &items {
            let given = item.table(&KEYS)?;
            let shapes: Vec<Entry> = KEYS[..FUNCTIONS].iter().filter_map(|key| given.get(key.name)).collect();
            let [stated] = shapes.as_slice() else {
                let names: Vec<&str> = KEYS[..FUNCTIONS].iter().map(|key| key.name).collect();
                return Err(given.error(format!(
                    "found {} functions; write one of {}, as in {{ entropy = \"visits\" }}",
                    shapes.len(),
                    names.join(", ")
                )));
            };
            let named = stated.one_or_more()?;
            let named: Vec<String> =
                named.iter().map(|name| name.text().map(str::to_owned)).collect::<OptionResult<_>>()?;
            let shape = match stated.key.as_str() {
                "entropy" => Shape::Entropy,
                "smooth_minimum" => Shape::SmoothMinimum { sharpness: given.number("sharpness")? },
                "squared_distance" => {
                    let mut dim = 0;
                    for name in &named {
                        dim += stated.at(measures.range(name))?.len();
                    }
                    let externals = Default::default();
                    let space = SetSpace::new(dim, vectors, &externals);
                    Shape::SquaredDistance {
                        from: space
                            .vector(&given.get("from").ok_or_else(|| given.missing(&KEYS[FUNCTIONS]))?)?,
                    }
                }
                _ => Shape::Measure,
            };
            let is_share = given.flag("share")?;
            if *share.get_or_insert(is_share) != is_share {
                return Err(given.error(
                    "some terms are per step and some are not; write share = true in all of them or in none",
                ));
            }
            terms.push(Term { weight: given.number("weight")?, measures: named, shape });
        }
        Ok(Self { terms, share: share.unwrap_or(false) })
    }

    /// As one writes it in a problem file.
    pub fn value(&self) -> Value {
        let table = |Term { weight, measures, shape }: &Term| {
            let named: Value = match measures.as_slice() {
                [measure] => measure.as_str().into(),
                several => several.into(),
            };
            let mut table = match shape {
                Shape::Measure => Table::new([("measure", named)]),
                Shape::Entropy => Table::new([("entropy", named)]),
                Shape::SquaredDistance { from } => {
                    Table::new([("squared_distance", named), ("from", from.as_slice().into())])
                }
                Shape::SmoothMinimum { sharpness } => {
                    Table::new([("smooth_minimum", named), ("sharpness", (*sharpness).into())])
                }
            };
            if *weight != 1.0 {
                table.set("weight", *weight);
            }
            if self.share {
                table.set("share", true);
            }
            Value::Table(table)
        };
        match self.terms.as_slice() {
            [Term { weight: 1.0, measures, shape: Shape::Measure }] if !self.share => {
                measures.concat().into()
            }
            [term] => table(term),
            terms => Value::List(terms.iter().map(table).collect()),
        }
    }

    /// The entries of the measurement vector that it is about, each with a factor, and the function of them that is to be
    /// maximised.
    pub(crate) fn bind(
        &self,
        measures: &Measures,
        direction: Direction,
    ) -> Result<(Vec<(usize, f64)>, Criterion)> {
        if let ([Term { weight: 1.0, measures: named, shape: Shape::Measure }], false) =
            (self.terms.as_slice(), self.share)
        {
            return Ok((vec![(one_entry(measures, &named.concat())?, direction.sign())], Criterion::last()));
        }
        let mut entries = Vec::new();
        let mut functions = Vec::new();
        for term in &self.terms {
            let weight = direction.sign() * term.weight;
            let range = term.entries(measures)?;
            functions.push(term.function(weight, range.len())?);
            entries.extend(range.into_iter().map(|entry| (entry, 1.0)));
        }
        if functions.is_empty() {
            return Err(Error::Objective("it adds up nothing; name a measure".into()));
        }
        let sum: Arc<dyn Concave> = Arc::new(Sum::new(functions));
        if self.share {
            let steps = measures.range("steps").map_err(|_| {
                Error::Objective("it is per step, but this world counts no steps; leave share out".into())
            })?;
            entries.push((steps.start, 1.0));
        }
        Ok((entries, Criterion::new(sum, self.share)))
    }
}

impl Term {
    fn entries(&self, measures: &Measures) -> Result<Vec<usize>> {
        if self.shape == Shape::Measure {
            return Ok(vec![one_entry(measures, &self.measures.concat())?]);
        }
        let mut entries = Vec::new();
        for name in &self.measures {
            entries.extend(measures.range(name).map_err(|error| unknown(measures, name, &error))?);
        }
        if entries.is_empty() {
            return Err(Error::Objective(format!("{} has no entries here", self.measures.join(", "))));
        }
        Ok(entries)
    }

    /// A positive weight and the concave function that it multiplies, where the term times `weight` is to be maximised.
    fn function(&self, weight: f64, dim: usize) -> Result<(f64, Arc<dyn Concave>)> {
        let wrong = |shape: &str, instead: &str| {
            Err(Error::Objective(format!(
                "{shape} can only be made {instead}, which keeps the problem convex; found the other direction; change it, or \
                 the sign of its weight"
            )))
        };
        if weight == 0.0 || !weight.is_finite() {
            return Err(Error::Objective(format!("a weight is {weight}; expected a number other than 0")));
        }
        Ok(match &self.shape {
            Shape::Measure => (1.0, Arc::new(Linear { weights: vec![weight] })),
            Shape::Entropy if weight > 0.0 => (weight, Arc::new(Entropy { dim })),
            Shape::Entropy => return wrong("an entropy", "larger"),
            Shape::SmoothMinimum { sharpness } if weight > 0.0 && *sharpness > 0.0 => {
                (weight, Arc::new(SmoothMinimum { dim, sharpness: *sharpness }))
            }
            Shape::SmoothMinimum { sharpness } if weight > 0.0 => {
                let text =
                    format!("the sharpness of a smooth minimum is {sharpness}; expected a number above 0");
                return Err(Error::Objective(text));
            }
            Shape::SmoothMinimum { .. } => return wrong("a smooth minimum", "larger"),
            Shape::SquaredDistance { from } if weight < 0.0 => {
                crate::error::dimension("the point of a squared distance", from.len(), dim)?;
                crate::error::finite("the point of a squared distance", from)?;
                (-weight, Arc::new(SquaredDistance { center: from.clone() }))
            }
            Shape::SquaredDistance { .. } => return wrong("a squared distance", "smaller"),
        })
    }
}

fn unknown(measures: &Measures, name: &str, error: &Error) -> Error {
    let known = measures.iter().map(|(name, _)| name);
    Error::Objective(format!("{error}; {}", suggestion(name, known)))
}

/// The entry of the measurement vector that a name, or name\[i\], stands for.
fn one_entry(measures: &Measures, text: &str) -> Result<usize> {
    let (name, index) = match text.strip_suffix(']').and_then(|t| t.split_once('[')) {
        Some((name, index)) => (name, Some(index)),
        None => (text, None),
    };
    let range = measures.range(name).map_err(|error| unknown(measures, name, &error))?;
    let count = range.len();
    let bad = |problem: String| Error::Objective(format!("measure \"{text}\": {problem}"));
    if count == 0 {
        return Err(bad("it has no entries".into()));
    }
    match index.map(str::parse::<usize>) {
        None if count == 1 => Ok(range.start),
        Some(Ok(i)) if i < count => Ok(range.start + i),
        None => Err(bad(format!("it has {count} entries; write {name}[0] to {name}[{}]", count - 1))),
        Some(_) => Err(bad(format!("expected a whole number from 0 to {} in the brackets", count - 1))),
    }
}
