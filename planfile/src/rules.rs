//! The rules over what people write, whether it comes from a file or with a request. What they find names its place, and all of it is
//! found at once.
//!
//! [`values`] has the rules for single values. [`command`], [`criteria`], [`environment`] and [`change`] are what plans and projects
//! share, [`plan`] and [`declared`] what each keeps alone. [`submission`] is on top: a request has both. [`unjudged`] and
//! [`patterns`] look at plans that may fly.

pub(crate) mod change;
mod command;
mod criteria;
pub(crate) mod declared;
mod environment;
mod patterns;
pub(crate) mod plan;
mod submission;
mod unjudged;
mod values;

pub use patterns::{PatternList, PatternMatches, matches_on, that_protect_nothing};
pub use plan::validate;
pub use submission::validate_submission;
pub use unjudged::{
    accepted_untouched, idle_checks, nothing_fulfils, that_are_open, that_lack, that_nothing_fulfils,
    that_want_network, without_check,
};
