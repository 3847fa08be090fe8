//! The workbench on real repositories, with real git, the real sandbox and real test runners.

#![allow(clippy::unwrap_used, reason = "helpers of tests are no #[test] functions themselves")]

mod base_product;
mod canaries;
mod checkpoints;
mod compared;
mod environments;
mod imports;
mod judges;
mod known;
mod levels;
mod mutants;
mod no_tests;
mod observed;
mod observed_cargo;
mod observed_go;
mod observed_node;
mod over_http;
mod requests;
mod runners;
mod sandboxed;
mod steady;
mod support;
mod suspects;
mod turns;
mod unrun;
mod verdicts;
