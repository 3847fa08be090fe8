//! Benchmarks, each against a yardstick in the same run: absolute figures say more about the machine than about us.
//!
//! - [`handoff`]: waypoints with no-op agents through the full protocol, against a raw program on the same broker.
//! - [`scale`]: the same while much is open, and with agents that think.
//! - [`gates`]: a workflow of many gates, in memory and on a fleet, against `fly`.
//! - [`flights`]: many small flights that are flown and archived.
//! - [`idle`]: what a fleet costs that has nothing to do.
//! - [`landing`]: how fast accepted work lands, by the number of verifiers.
//! - [`workspace`]: what git work costs, against plain git.
//! - [`verdict`]: what a verdict costs at each level of evidence, against the check alone.
//! - [`verification`]: what verdicts cost whose suite takes time, against a pipeline with a merge queue.
//! - [`peer`]: what runs in the other processes of a benchmark.
//!
//! Nothing here is used by a flight. The command line prints: a report is data with a table.

mod course;
mod driver;
mod error;
mod fleet;
pub mod flight;
pub mod flights;
pub mod gates;
pub mod handoff;
mod host;
pub mod idle;
pub mod landing;
pub mod peer;
mod repository;
pub mod scale;
mod stats;
mod streams;
mod submit;
pub mod target;
mod usage;
pub mod verdict;
pub mod verification;
pub mod workspace;
mod yardstick;

pub use error::BenchError;
pub use host::Host;
