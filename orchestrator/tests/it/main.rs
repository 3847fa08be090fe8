//! The orchestrator on a real broker, with agents played by the test: what it decides, and what it does not believe.

mod decisions;
mod distrust;
mod support;
