//! Where in a plan something stands, in the keys of plan files: `waypoints/3/criteria/0/expect`.

use std::fmt;

use serde::{Serialize, Serializer};

/// One step into a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The value of a key.
    Key(&'static str),
    /// An item of a list, from 0.
    Item(usize),
}

/// The way from the plan to one of its values; empty for the plan itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanPath(Vec<Step>);

impl PlanPath {
    pub(super) fn steps(&self) -> &[Step] {
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
                Step::Key(key) => f.write_str(key)?,
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

/// A path while the plan is walked through: costs nothing until something is wrong there.
#[derive(Debug, Clone, Copy)]
pub(super) struct At<'a>(Option<(&'a At<'a>, Step)>);

impl At<'static> {
    /// The plan itself.
    pub(super) const PLAN: Self = Self(None);
}

impl<'a> At<'a> {
    /// The value of a key of what is here.
    pub(super) fn key(&'a self, key: &'static str) -> Self {
        Self(Some((self, Step::Key(key))))
    }

    /// An item of the list that is here.
    pub(super) fn item(&'a self, item: usize) -> Self {
        Self(Some((self, Step::Item(item))))
    }

    /// The way that led here.
    pub(super) fn path(&self) -> PlanPath {
        let mut steps = Vec::new();
        let mut at = self;
        while let Some((before, step)) = at.0 {
            steps.push(step);
            at = before;
        }
        steps.reverse();
        PlanPath(steps)
    }
}
