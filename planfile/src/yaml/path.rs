//! Where in a file something is, in its keys: `waypoints/3/criteria/0/expect`.

use std::fmt;

use serde::{Serialize, Serializer};

/// One step into a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step<K = String> {
    /// The value of a key.
    Key(K),
    /// A key itself.
    Name(K),
    /// An item of a list, from 0.
    Item(usize),
}

impl Step<&str> {
    fn owned(self) -> Step {
        match self {
            Self::Key(key) => Step::Key(key.to_owned()),
            Self::Name(key) => Step::Name(key.to_owned()),
            Self::Item(item) => Step::Item(item),
        }
    }
}

/// The way from a whole file to one of its values; empty for the file itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanPath(Vec<Step>);

impl PlanPath {
    pub(crate) fn steps(&self) -> &[Step] {
        &self.0
    }
}

impl fmt::Display for PlanPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("/")?;
            }
            match step {
                Step::Key(key) | Step::Name(key) => f.write_str(key)?,
                Step::Item(item) => write!(f, "{item}")?,
            }
        }
        Ok(())
    }
}

impl Serialize for PlanPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A path while a file's value is walked through: costs nothing until something is wrong there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At<'a>(Option<(&'a At<'a>, Step<&'a str>)>);

impl At<'static> {
    /// The whole.
    pub(crate) const ROOT: Self = Self(None);
}

impl<'a> At<'a> {
    /// The value of a key of what is here.
    pub(crate) fn key(&'a self, key: &'a str) -> Self {
        Self(Some((self, Step::Key(key))))
    }

    /// A key of what is here, for what is wrong with the key itself.
    pub(crate) fn name(&'a self, key: &'a str) -> Self {
        Self(Some((self, Step::Name(key))))
    }

    /// An item of the list that is here.
    pub(crate) fn item(&'a self, item: usize) -> Self {
        Self(Some((self, Step::Item(item))))
    }

    /// The way that led here.
    pub(crate) fn path(&self) -> PlanPath {
        let mut steps = Vec::new();
        let mut at = self;
        while let Some((before, step)) = at.0 {
            steps.push(step.owned());
            at = before;
        }
        steps.reverse();
        PlanPath(steps)
    }
}
