//! Flights through real processes: `holdpoint` as a user starts it, with its own broker, agents and sandbox.
//!
//! Few and whole. The crates show what can be shown without processes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod agents;
mod alone;
mod archive;
mod audit;
mod baseline;
mod bridge;
mod browser;
mod chaos;
mod cheats;
mod checker;
mod console;
mod corpus;
mod crashes;
mod dead;
mod declared;
mod dependencies;
mod examples;
mod exchange;
mod external;
mod faults;
mod faults_blobs;
mod faults_clock;
mod faults_disk;
mod flights;
mod forks;
mod honest;
mod inspections;
mod landing;
mod live;
mod mcp;
mod merge_queue;
mod minute;
mod mutants;
mod notified;
mod observing;
mod orchestrators;
mod parallel;
mod people;
mod phases;
mod pull_requests;
mod refusals;
mod reloads;
mod remote;
mod repositories;
mod stages;
mod stalled;
mod surroundings;
mod taking;
mod task_built;
mod tasks;
mod traces;
mod twelve_checks;
mod unfinished;
