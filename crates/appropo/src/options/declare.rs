use super::{Entry, Given, Key, Result, Table, Value};

/// The options of something that is registered.
pub trait Options: Sized {
    /// Them, with their defaults and ranges.
    const KEYS: &'static [Key];

    /// Reads them.
    fn read(given: &Given) -> Result<Self>;

    /// All of them as they are, but for those that are left open.
    fn table(&self) -> Table;
}

/// What an option of a type is read from and written as.
pub(crate) trait Field: Sized {
    fn read(entry: &Entry) -> Result<Self>;
    /// From the text of a default.
    fn default(given: &Given, key: &str) -> Result<Self>;
    fn value(&self) -> Option<Value>;
}

macro_rules! fields {
    ($($type:ty: |$entry:ident| $read:expr;)*) => {$(
        impl Field for $type {
            fn read($entry: &Entry) -> Result<Self> {
                $read
            }
            fn default(given: &Given, key: &str) -> Result<Self> {
                given.default(key)
            }
            fn value(&self) -> Option<Value> {
                Some((*self).into())
            }
        }
    )*};
}

fields! {
    f64: |entry| entry.number();
    u64: |entry| entry.count(0, u64::MAX);
    usize: |entry| Ok(entry.count(0, usize::MAX as u64)? as usize);
    bool: |entry| entry.flag();
}

impl Field for String {
    fn read(entry: &Entry) -> Result<Self> {
        entry.name().map(str::to_owned)
    }
    fn default(given: &Given, key: &str) -> Result<Self> {
        given.default(key)
    }
    fn value(&self) -> Option<Value> {
        Some(self.as_str().into())
    }
}

impl Field for Vec<usize> {
    fn read(entry: &Entry) -> Result<Self> {
        entry.items()?.iter().map(usize::read).collect()
    }
    fn default(given: &Given, key: &str) -> Result<Self> {
        let text: String = given.default(key)?;
        let numbers = text.trim_matches(['[', ']']).split(',').map(|number| number.trim().parse());
        numbers.collect::<std::result::Result<_, _>>().map_err(|_| given.error(format!("{key}: no default")))
    }
    fn value(&self) -> Option<Value> {
        Some(self.as_slice().into())
    }
}

/// Measurements by the names of their measures; those not named are 0.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measurements(pub Vec<(String, Vec<f64>)>);

impl Field for Measurements {
    fn read(entry: &Entry) -> Result<Self> {
        let named = |entry: &Entry| {
            let numbers = entry.one_or_more()?.iter().map(Entry::number).collect::<Result<_>>()?;
            Ok((entry.key.clone(), numbers))
        };
        Ok(Self(entry.open_table()?.entries().iter().map(named).collect::<Result<_>>()?))
    }
    fn default(_: &Given, _: &str) -> Result<Self> {
        Ok(<Self as Default>::default())
    }
    fn value(&self) -> Option<Value> {
        let value = |numbers: &Vec<f64>| match numbers.as_slice() {
            [number] => Value::Number(*number),
            numbers => numbers.into(),
        };
        Some(Table::new(self.0.iter().map(|(name, numbers)| (name.clone(), value(numbers)))).into())
    }
}

/// Left open where it is not given.
impl<T: Field> Field for Option<T> {
    fn read(entry: &Entry) -> Result<Self> {
        T::read(entry).map(Some)
    }
    fn default(_: &Given, _: &str) -> Result<Self> {
        Ok(None)
    }
    fn value(&self) -> Option<Value> {
        self.as_ref().and_then(T::value)
    }
}

/// Declares options once: the struct with its documentation and defaults, its keys, how they are read and written, and
/// a method of each option's name that changes it.
///
/// A field reads `/// What it means.` and then `name: type = kind, default "text";`, or `optional "example";` for one
/// that is left open.
macro_rules! options {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident {
            $(
                #[doc = $about:literal]
                $field:ident: $type:ty = $kind:expr, $presence:ident $text:literal;
            )*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $(
                #[doc = $about]
                pub $field: $type,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                let nothing = $crate::options::Table::default();
                let given = $crate::options::Given::read(&nothing, <Self as $crate::options::Options>::KEYS);
                match given.and_then(|given| <Self as $crate::options::Options>::read(&given)) {
                    Ok(options) => options,
                    Err(error) => unreachable!("the declared defaults are valid: {error}"),
                }
            }
        }

        impl $name {
            $(
                #[doc = $about]
                pub fn $field(mut self, $field: impl Into<$type>) -> Self {
                    self.$field = $field.into();
                    self
                }
            )*
        }

        impl $crate::options::Options for $name {
            const KEYS: &'static [$crate::options::Key] = &[
                $($crate::options::Key::$presence(
                    stringify!($field), $kind, $text, $crate::options::trimmed($about),
                )),*
            ];

            #[allow(unused_variables)]
            fn read(given: &$crate::options::Given) -> $crate::options::Result<Self> {
                Ok(Self {
                    $($field: match given.get(stringify!($field)) {
                        Some(entry) => $crate::options::Field::read(&entry)?,
                        None => $crate::options::Field::default(given, stringify!($field))?,
                    }),*
                })
            }

            #[allow(unused_mut)]
            fn table(&self) -> $crate::options::Table {
                let mut table = $crate::options::Table::default();
                $(
                    if let Some(value) = $crate::options::Field::value(&self.$field) {
                        table.set(stringify!($field), value);
                    }
                )*
                table
            }
        }
    };
}

/// An enum whose variants are words of an option.
macro_rules! words {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident {
            $(
                #[doc = $about:literal]
                $variant:ident = $word:literal,
            )*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $(
                #[doc = $about]
                $variant,
            )*
        }

        impl $name {
            /// The words, with what they stand for.
            pub const WORDS: &'static [(&'static str, &'static str)] =
                &[$(($word, $crate::options::trimmed($about))),*];

            /// Its word.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),*
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = ();

            fn from_str(word: &str) -> std::result::Result<Self, ()> {
                match word {
                    $($word => Ok(Self::$variant),)*
                    _ => Err(()),
                }
            }
        }

        impl $crate::options::Field for $name {
            fn read(entry: &$crate::options::Entry) -> $crate::options::Result<Self> {
                let word = entry.text()?;
                entry.word(Self::WORDS.iter().map(|(word, _)| *word))?;
                word.parse().map_err(|()| entry.error("it is not known here"))
            }
            fn default(given: &$crate::options::Given, key: &str) -> $crate::options::Result<Self> {
                given.default(key)
            }
            fn value(&self) -> Option<$crate::options::Value> {
                Some(self.word().into())
            }
        }
    };
}

/// Methods that change one field each of a struct of settings, which other crates can't write out.
macro_rules! setters {
    ($name:ident { $($field:ident: $type:ty),* $(,)? }) => {
        impl $name {
            $(
                #[doc = concat!("The same with another [`", stringify!($field), "`](field@Self::", stringify!($field), ").")]
                pub fn $field(self, $field: $type) -> Self {
                    Self { $field, ..self }
                }
            )*
        }
    };
}

pub(crate) use {options, setters, words};

/// A line of documentation without the space that it begins with.
pub(crate) const fn trimmed(text: &'static str) -> &'static str {
    match text.as_bytes() {
        [b' ', ..] => text.split_at(1).1,
        _ => text,
    }
}
