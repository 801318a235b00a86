//! The state of a computation as bytes, so that it can go on later exactly where it stopped.
//!
//! Players, oracles, learners and worlds write what changes while they run, and take it back into a value that was made
//! with the same settings. What they take back is checked: bytes from anywhere give an error, never a panic.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use rand::SeedableRng;

use crate::error::{Error, Result};
use crate::random::Generator;

/// A value that can be written and made again.
pub trait Saved: Sized {
    /// Appends the value.
    fn save(&self, to: &mut Saver);

    /// Makes it again.
    fn restore(from: &mut Loader) -> Result<Self>;

    /// Appends values one after the other.
    fn save_all(values: &[Self], to: &mut Saver) {
        values.iter().for_each(|value| value.save(to));
    }
}

/// What can be saved in the middle of its work and taken up again later.
///
/// A player, oracle, learner or environment that can't is `impl Checkpoint for Mine {}`: its runs go on to their end in
/// one go.
pub trait Checkpoint {
    /// Writes what is needed to go on later.
    fn save(&self, _: &mut Saver) -> Result<()> {
        Err(Error::Unsaved { what: std::any::type_name::<Self>() })
    }

    /// Takes it back, into a value made with the same settings.
    fn load(&mut self, _: &mut Loader) -> Result<()> {
        Err(Error::Unsaved { what: std::any::type_name::<Self>() })
    }
}

/// Collects bytes. Values that are shared are written once.
#[derive(Debug, Default)]
pub struct Saver {
    bytes: Vec<u8>,
    shared: HashMap<usize, u64>,
}

/// Hands bytes out again, in the order in which they were saved.
#[derive(Debug)]
pub struct Loader<'a> {
    bytes: &'a [u8],
    shared: Vec<Arc<dyn Any + Send + Sync>>,
}

impl Saver {
    /// What was saved.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Appends a value.
    pub fn put(&mut self, value: &impl Saved) {
        value.save(self);
    }

    /// Appends all values, without their number.
    pub fn put_all<T: Saved>(&mut self, values: &[T]) {
        T::save_all(values, self);
    }

    /// Appends bytes with their number.
    pub fn put_bytes(&mut self, bytes: &[u8]) {
        self.put(&bytes.len());
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends a value that others may share.
    pub fn put_shared<T: Saved>(&mut self, value: &Arc<T>) {
        let next = self.shared.len() as u64;
        let id = *self.shared.entry(Arc::as_ptr(value) as usize).or_insert(next);
        self.put(&id);
        if id == next {
            self.put(value.as_ref());
        }
    }
}

impl<'a> Loader<'a> {
    /// Hands out these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, shared: Vec::new() }
    }

    /// The next value.
    pub fn get<T: Saved>(&mut self) -> Result<T> {
        T::restore(self)
    }

    /// The next values, as many as there are places.
    pub fn get_all<T: Saved>(&mut self, places: &mut [T]) -> Result<()> {
        places.iter_mut().try_for_each(|place| {
            *place = self.get()?;
            Ok(())
        })
    }

    /// The next bytes.
    pub fn get_bytes(&mut self) -> Result<Vec<u8>> {
        let count: usize = self.get()?;
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or_else(|| misfit("it ends too early"))?;
        self.bytes = rest;
        Ok(taken.to_vec())
    }

    /// The next value, shared with those who got it before.
    pub fn get_shared<T: Saved + Send + Sync + 'static>(&mut self) -> Result<Arc<T>> {
        let id: u64 = self.get()?;
        if id == self.shared.len() as u64 {
            // The place is taken before the value's own parts take theirs.
            self.shared.push(Arc::new(()));
            let value: Arc<T> = Arc::new(self.get()?);
            self.shared[id as usize] = Arc::clone(&value) as Arc<dyn Any + Send + Sync>;
            return Ok(value);
        }
        let known = self.shared.get(id as usize).map(Arc::clone);
        known.and_then(|value| value.downcast().ok()).ok_or_else(|| misfit("a shared value is missing"))
    }

    /// The next value, which must be one that is allowed.
    pub fn get_where<T: Saved>(&mut self, what: &str, holds: impl Fn(&T) -> bool) -> Result<T> {
        let value = self.get()?;
        if holds(&value) { Ok(value) } else { Err(misfit(format!("{what} is out of range"))) }
    }

    /// Finite numbers into all places.
    pub fn get_finite<T: Saved + Copy + Into<f64>>(&mut self, what: &str, places: &mut [T]) -> Result<()> {
        self.get_all(places)?;
        if places.iter().all(|v| Into::<f64>::into(*v).is_finite()) {
            Ok(())
        } else {
            Err(misfit(format!("{what} is not finite")))
        }
    }

    /// How often something has happened: no more often than leaves room to count on.
    pub fn get_count(&mut self, what: &str) -> Result<usize> {
        self.get_where(what, |count| *count <= usize::MAX / 2)
    }

    /// How many things follow. Each takes a byte at least, so a forged number can't take more memory than the bytes do.
    pub fn get_length(&mut self) -> Result<usize> {
        let length = self.get()?;
        if length > self.bytes.len() {
            return Err(misfit("a list is longer than what is left"));
        }
        Ok(length)
    }

    /// Refuses bytes that nobody asked for.
    pub fn finish(&self) -> Result<()> {
        if self.bytes.is_empty() { Ok(()) } else { Err(misfit("there is more than was asked for")) }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or_else(|| misfit("it ends too early"))?;
        self.bytes = rest;
        Ok(*taken)
    }
}

/// The error of a state that does not belong here.
pub fn misfit(problem: impl Into<String>) -> Error {
    Error::State { problem: problem.into() }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Saved for $number {
            fn save(&self, to: &mut Saver) {
                to.bytes.extend_from_slice(&self.to_le_bytes());
            }
            fn restore(from: &mut Loader) -> Result<Self> {
                Ok(Self::from_le_bytes(from.take()?))
            }
            fn save_all(values: &[Self], to: &mut Saver) {
                // One growth for all: states are mostly long lists of numbers.
                to.bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            }
        }
    )*};
}

numbers!(u8, u32, u64, f32, f64);

impl Saved for usize {
    fn save(&self, to: &mut Saver) {
        to.put(&(*self as u64));
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        usize::try_from(from.get::<u64>()?).map_err(|_| misfit("a count is too large"))
    }
}

impl Saved for bool {
    fn save(&self, to: &mut Saver) {
        to.put(&u8::from(*self));
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        Ok(from.get_where::<u8>("a flag", |flag| *flag < 2)? == 1)
    }
}

impl Saved for () {
    fn save(&self, _: &mut Saver) {}
    fn restore(_: &mut Loader) -> Result<Self> {
        Ok(())
    }
}

impl<A: Saved, B: Saved> Saved for (A, B) {
    fn save(&self, to: &mut Saver) {
        to.put(&self.0);
        to.put(&self.1);
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        Ok((from.get()?, from.get()?))
    }
}

impl<T: Saved> Saved for Option<T> {
    fn save(&self, to: &mut Saver) {
        to.put(&self.is_some());
        if let Some(value) = self {
            to.put(value);
        }
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        Ok(if from.get()? { Some(from.get()?) } else { None })
    }
}

impl<T: Saved> Saved for Vec<T> {
    fn save(&self, to: &mut Saver) {
        to.put(&self.len());
        to.put_all(self);
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        let mut items = Vec::new();
        for _ in 0..from.get_length()? {
            items.push(from.get()?);
        }
        Ok(items)
    }
}

impl Saved for Generator {
    fn save(&self, to: &mut Saver) {
        to.bytes.extend_from_slice(&self.state());
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        Ok(Self::from_seed(from.take()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;

    #[test]
    fn what_was_saved_comes_back() {
        let shared = Arc::new(vec![1.5, f64::NEG_INFINITY]);
        let mut rng = random::generator(3);
        random::unit(&mut rng);
        let mut saver = Saver::default();
        saver.put(&Some((7usize, true)));
        saver.put_shared(&shared);
        saver.put_shared(&shared);
        saver.put(&rng);
        let bytes = saver.into_bytes();
        let mut loader = Loader::new(&bytes);
        assert_eq!(loader.get::<Option<(usize, bool)>>().unwrap(), Some((7, true)));
        let first = loader.get_shared::<Vec<f64>>().unwrap();
        assert_eq!(first, shared);
        assert!(Arc::ptr_eq(&first, &loader.get_shared().unwrap()));
        assert_eq!(random::unit(&mut loader.get().unwrap()), random::unit(&mut rng));
        loader.finish().unwrap();
    }

    #[test]
    fn forged_bytes_are_refused() {
        let load = |bytes: &[u8]| Loader::new(bytes).get::<Vec<f64>>();
        assert!(load(&u64::MAX.to_le_bytes()).is_err());
        assert!(load(&[1, 0, 0]).is_err());
        assert!(Loader::new(&[2]).get::<bool>().is_err());
        // A shared value of another kind.
        let mut saver = Saver::default();
        saver.put_shared(&Arc::new(1u64));
        saver.put(&0u64);
        let bytes = saver.into_bytes();
        let mut loader = Loader::new(&bytes);
        loader.get_shared::<u64>().unwrap();
        assert!(loader.get_shared::<f64>().is_err());
    }
}
