//! The long runs: each a part that can be called alone, is bounded in time, and ends with a table.
//!
//! What everybody runs before a commit is in `tests/it/`; nothing here is needed for that.

pub mod agents;
pub mod chaos;
pub mod dice;
pub mod fuzz;
pub mod history;
pub mod kubernetes;
pub mod performance;
pub mod repositories;
pub mod storm;
pub mod upgrade;
pub mod walk;

use std::time::Duration;

/// The terms of a part.
#[derive(Debug, Clone)]
pub struct Terms {
    /// What random choices are made from. Printed; the same seed makes the same choices.
    pub seed: u64,
    /// No new round begins after this long.
    pub time: Duration,
    /// Only the cells of the walk, the flights of `repositories` and `agents`, or the projects of `history`, whose name has this in it.
    pub only: Option<String>,
}

/// One long run.
#[derive(Debug)]
pub struct SoakPart {
    /// What it is called by.
    pub name: &'static str,
    /// What it shows, in a line.
    pub about: &'static str,
    /// Runs it, and prints its table. An error is what was found to be wrong.
    pub run: fn(&Terms) -> Result<(), String>,
}

/// All parts, in the order in which they are run.
pub const PARTS: &[SoakPart] = &[
    SoakPart {
        name: "walk",
        about: "every step of a flight, each process stopped there, and four things that happen then",
        run: walk::run,
    },
    SoakPart {
        name: "storm",
        about: "kills every second over 200 waypoints, and what the journal says afterwards",
        run: storm::run,
    },
    SoakPart {
        name: "chaos",
        about: "1,000 cases of programs and agents that corrupt, break off, stall, crash, lie and flood, and how each ends",
        run: chaos::run,
    },
    SoakPart { name: "fuzz", about: "every parser of what others wrote, fed by coverage", run: fuzz::run },
    SoakPart {
        name: "repositories",
        about: "a file of 200 MB, plans of up to 2,000 waypoints, a history of 2 GB",
        run: repositories::run,
    },
    SoakPart {
        name: "agents",
        about: "real coding agents against a scripted model, without a network (500 MB to get)",
        run: agents::run,
    },
    SoakPart {
        name: "history",
        about: "the last commits of public projects in HOLDPOINT_HISTORY, each judged on its parent",
        run: history::run,
    },
    SoakPart {
        name: "upgrade",
        about: "a fleet of an earlier build with work in every state, whose processes are replaced by those of this build",
        run: upgrade::run,
    },
    SoakPart {
        name: "kubernetes",
        about: "the chart in a cluster, whose pods are deleted and replaced during a flight",
        run: kubernetes::run,
    },
    SoakPart {
        name: "performance",
        about: "every benchmark at full size, in a release build, against its targets",
        run: performance::run,
    },
];
