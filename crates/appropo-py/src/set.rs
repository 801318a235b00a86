use std::collections::HashMap;
use std::sync::Arc;

use appropo::constraint::Stated;
use appropo::options::{Given, Table, Value};
use appropo::registry::Registry;
use appropo::set::{
    ConvexSet as _, FromProjection, Intersection, Lift, Product, SetSpace, SharedSet, Similarity,
};
use numpy::{
    AllowTypeChange, IntoPyArray, PyArray1, PyArrayDyn, PyArrayLikeDyn, PyArrayMethods, PyReadonlyArray1,
    PyUntypedArrayMethods,
};
use pyo3::basic::CompareOp;
use pyo3::prelude::*;

use crate::errors::SetError;
use crate::{Raised, options, world};

/// A closed convex set, known by its projection.
#[pyclass(frozen, subclass, module = "appropo._appropo")]
pub struct ConvexSet {
    pub set: SharedSet,
    /// What states it in a problem file, where something does.
    pub(crate) stated: Option<Stated>,
    /// What Python functions that it is made of raised.
    pub(crate) raised: Vec<Raised>,
}

/// Beyond this, squares are no numbers any more.
const LARGEST: f64 = 1e100;

type Numbers<'py> = PyArrayLikeDyn<'py, f64, AllowTypeChange>;

#[pymethods]
impl ConvexSet {
    /// The set of a registered name with these options, for vectors of `dim` entries.
    #[new]
    fn new(name: &str, given: &Bound<PyAny>, dim: usize) -> PyResult<Self> {
        let table = Table::new([(name, options::value(given)?)]);
        let (set, stated) = stated(&table, dim)?;
        Ok(Self { set, stated: Some(stated), raised: Vec::new() })
    }

    /// A set of one's own: `project(x)` returns its point nearest to x.
    #[staticmethod]
    fn from_projection(dim: usize, project: Py<PyAny>, requirement: String) -> Self {
        let raised = Raised::default();
        let kept = raised.clone();
        let call = move |x: &[f64], out: &mut [f64]| {
            Python::attach(|py| {
                if let Err(error) = call_projection(py, &project, x, out) {
                    kept.keep(error);
                    out.fill(f64::NAN);
                }
            });
        };
        let set = Arc::new(FromProjection::new(dim, call).described(requirement));
        Self { set, stated: None, raised: vec![raised] }
    }

    /// The sets side by side: x is cut into their blocks.
    #[staticmethod]
    fn product(blocks: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        if blocks.is_empty() {
            return Err(SetError::new_err("a product needs at least one set"));
        }
        let set = Product::new(blocks.iter().map(|block| Arc::clone(&block.set)).collect());
        Ok(Self::made_of(&blocks, Arc::new(set), None))
    }

    /// What lies in all of the sets.
    #[staticmethod]
    fn intersection(parts: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        let sets = parts.iter().map(|part| Arc::clone(&part.set)).collect();
        let set = Intersection::new(sets).map_err(|error| SetError::new_err(error.to_string()))?;
        let stated = parts.iter().map(|part| {
            let Stated { key, value, .. } = part.stated.clone()?;
            Some(Value::Table(Table::new([(key, value)])))
        });
        let stated = stated.collect::<Option<Vec<_>>>().map(|parts| Stated {
            key: "intersection".into(),
            value: Value::List(parts),
            shift: None,
        });
        Ok(Self::made_of(&parts, Arc::new(set), stated))
    }

    /// The cone {(x, t) : x/t in the set, t > 0} with its limits: what a share a step must satisfy.
    fn share(&self) -> Self {
        self.derived(Arc::new(Lift::share(Arc::clone(&self.set))))
    }

    /// The set moved by a vector.
    fn shifted(&self, by: Vec<f64>) -> PyResult<Self> {
        let set = Similarity::translate(Arc::clone(&self.set), by);
        Ok(self.derived(Arc::new(set.map_err(|error| SetError::new_err(error.to_string()))?)))
    }

    /// The set with every point multiplied by a positive number.
    fn scaled(&self, factor: f64) -> PyResult<Self> {
        let set = Similarity::scale(Arc::clone(&self.set), factor);
        Ok(self.derived(Arc::new(set.map_err(|error| SetError::new_err(error.to_string()))?)))
    }

    /// Entries of its points.
    #[getter]
    fn dim(&self) -> usize {
        self.set.dim()
    }

    /// What its points satisfy, in words.
    #[getter]
    fn requirement(&self) -> String {
        self.set.requirement()
    }

    /// The nearest point of the set: of one vector, or of every row of an array.
    fn project<'py>(&self, py: Python<'py>, x: Numbers<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let shape = x.shape().to_vec();
        let nearest = self.projected(py, &x)?;
        nearest.into_pyarray(py).reshape(shape)
    }

    /// The Euclidean distance of a vector from the set, or of every row of an array.
    fn distance<'py>(&self, py: Python<'py>, x: Numbers<'py>) -> PyResult<Bound<'py, PyAny>> {
        let nearest = self.projected(py, &x)?;
        let x_slice = x.as_slice()?;
        let dim = self.set.dim();
        let distances: Vec<f64> = x_slice
            .chunks(dim)
            .zip(nearest.chunks(dim))
            .map(|(x, p)| x.iter().zip(p).map(|(x, p)| (x - p) * (x - p)).sum::<f64>().sqrt())
            .collect();
        shaped(py, distances, x.shape())
    }

    /// Whether a vector lies in the set, or every row of an array, up to a tolerance.
    #[pyo3(signature = (x, tolerance = 1e-9))]
    fn contains<'py>(&self, py: Python<'py>, x: Numbers<'py>, tolerance: f64) -> PyResult<Bound<'py, PyAny>> {
        self.distance(py, x)?.rich_compare(tolerance, CompareOp::Le)
    }
}

impl ConvexSet {
    fn made_of(parts: &[PyRef<'_, Self>], set: SharedSet, stated: Option<Stated>) -> Self {
        let raised = parts.iter().flat_map(|part| part.raised.iter().cloned()).collect();
        Self { set, stated, raised }
    }

    fn derived(&self, set: SharedSet) -> Self {
        Self { set, stated: None, raised: self.raised.clone() }
    }

    fn projected(&self, py: Python, x: &Numbers) -> PyResult<Vec<f64>> {
        let dim = self.set.dim();
        if x.shape().last() != Some(&dim) {
            let found = x.shape();
            return Err(SetError::new_err(format!(
                "x has shape {found:?}; expected {dim} entries in its last axis"
            )));
        }
        let x = x
            .as_slice()
            .map_err(|_| SetError::new_err("x is not contiguous; pass numpy.ascontiguousarray(x)"))?;
        if let Some(i) = x.iter().position(|v| v.abs() > LARGEST || v.is_nan()) {
            let found = x[i];
            return Err(SetError::new_err(format!(
                "entry {i} of x is {found}; expected a number of at most {LARGEST:e} in size"
            )));
        }
        let mut nearest = vec![0.0; x.len()];
        py.detach(|| {
            x.chunks(dim).zip(nearest.chunks_mut(dim)).for_each(|(x, out)| self.set.project(x, out))
        });
        if let Some(error) = self.raised.iter().find_map(Raised::take) {
            return Err(error);
        }
        match nearest.iter().position(|v| !v.is_finite()) {
            None => Ok(nearest),
            Some(i) => Err(SetError::new_err(format!(
                "the projection gave {} in entry {}; it must return the nearest point of the set",
                nearest[i],
                i % dim
            ))),
        }
    }
}

/// Numbers of the shape that is left without the last axis; one number where that is none.
fn shaped<'py>(py: Python<'py>, values: Vec<f64>, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    match shape {
        [_] => Ok(values[0].into_pyobject(py)?.into_any()),
        [outer @ .., _] => Ok(values.into_pyarray(py).reshape(outer.to_vec())?.into_any()),
        [] => Err(SetError::new_err("x is a single number; expected a vector")),
    }
}

fn call_projection(py: Python, project: &Py<PyAny>, x: &[f64], out: &mut [f64]) -> PyResult<()> {
    let found = project.call1(py, (PyArray1::from_slice(py, x),))?;
    let found = found.bind(py);
    let array = py.import("numpy")?.call_method1("asarray", (found, "float64")).map_err(|_| {
        let (shown, expected) = (world::shown(found), out.len());
        SetError::new_err(format!("the projection returned {shown}; expected {expected} numbers"))
    })?;
    let nearest: PyReadonlyArray1<f64> = array.call_method0("ravel")?.extract()?;
    let nearest = nearest.as_slice()?;
    if nearest.len() != out.len() {
        let (found, expected) = (nearest.len(), out.len());
        return Err(SetError::new_err(format!(
            "the projection returned {found} entries; expected {expected}"
        )));
    }
    out.copy_from_slice(nearest);
    Ok(())
}

/// The one set that a table states, and what states it.
fn stated(table: &Table, dim: usize) -> PyResult<(SharedSet, Stated)> {
    let registry = Registry::standard();
    let (vectors, externals) = (|_: &str| None, HashMap::new());
    let space = SetSpace::new(dim, &vectors, &externals);
    let given = Given::read(table, registry.sets().iter().map(|set| &set.key));
    let read = given.and_then(|given| registry.one_set(&given, &space));
    read.map_err(|error| SetError::new_err(error.message))
}
