//! Everything against a real git, on repositories made for each test.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail like tests; clippy allows it only inside of them")]

mod attributes;
mod bombs;
mod branch;
mod bundles;
mod capture;
mod clones;
mod empty;
mod headers;
mod left_out;
mod looks;
mod merges;
mod objects;
mod repositories;
mod support;
mod trees;
mod unfit;
mod user;
