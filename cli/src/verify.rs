//! Judging a change that was made elsewhere, with a verifier's workbench in this process.
//!
//! - [`change`]: what is judged, and against what; [`verdict`]: what came of it.
//! - [`report`]: the verdict in the forms that others read; [`attestation`]: the signed one; [`delivery`]: where each goes.

pub(crate) mod attestation;
pub(crate) mod change;
pub(crate) mod delivery;
pub(crate) mod report;
pub(crate) mod verdict;
