//! Judging a change that was made elsewhere, with a verifier's workbench in this process.
//!
//! - [`change`]: what is judged, and against what; [`verdict`]: what came of it; [`report`]: the verdict in the forms that others read.

pub(crate) mod change;
pub(crate) mod report;
pub(crate) mod verdict;
