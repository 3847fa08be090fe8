//! What a test asks for: one line in a file.

use std::fmt;

use crate::Step;

/// Before or after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum When {
    /// It has not begun.
    Before,
    /// It is over, and nothing followed yet.
    After,
}

impl When {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Before, Self::After];

    /// Its word in orders and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }
}

/// Stop a process of this role when it passes this step for the n-th time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultOrder {
    /// The role, as the name of the process begins.
    pub role: String,
    /// The step.
    pub step: Step,
    /// On which side of it.
    pub when: When,
    /// Which passing of that process, from 1.
    pub nth: u32,
}

impl fmt::Display for FaultOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.role, self.when.name(), self.step.name(), self.nth)
    }
}

impl FaultOrder {
    /// Reads what [`FaultOrder`]'s `Display` wrote; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let role = words.next()?.to_owned();
        let when = words.next().and_then(|word| When::BOTH.into_iter().find(|when| when.name() == word))?;
        let step = words.next().and_then(Step::named)?;
        let nth = words.next()?.parse().ok()?;
        words.next().is_none().then_some(Self { role, step, when, nth })
    }

    /// Whether it is meant for the process of this name.
    #[must_use]
    pub fn is_for(&self, process: &str) -> bool {
        let number = process.strip_prefix(self.role.as_str());
        number.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_ordered_by_its_name_and_read_back() {
        for step in Step::ALL {
            assert!(!step.roles().is_empty(), "{} is passed by nobody", step.name());
            for when in When::BOTH {
                let order = FaultOrder { role: "builder".to_owned(), step: *step, when, nth: 3 };
                assert_eq!(FaultOrder::parse(&order.to_string()), Some(order));
            }
        }
        assert_eq!(FaultOrder::parse("builder before nothing 1"), None);
        assert_eq!(FaultOrder::parse("builder before fetch 1 more"), None);
    }

    #[test]
    fn an_order_is_for_all_processes_of_its_role() {
        let order = FaultOrder::parse("builder before fetch 1").unwrap();
        assert!(order.is_for("builder-2") && order.is_for("builder"));
        assert!(!order.is_for("builders") && !order.is_for("verifier-1"));
    }
}
