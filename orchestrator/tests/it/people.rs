//! What people do to a flight: each test a story of acts, over real journals and keys.

mod acts;
mod advice;
mod approvals;
mod asking;
mod cancels;
mod conditions;
mod escalation;
mod pauses;
mod questions;
mod reloads;
mod retries;
mod taking;

use std::time::Duration;

use holdpoint_protocol::{Timestamp, turn::Turn};
use holdpoint_runtime::clock;

use crate::support::SOON;

const PLAN: &str =
    "plan: p\nwaypoints:\n  - {id: w, title: t, goal: g, criteria: [{id: c, statement: s, check: 'true'}]}\n";

const W: Option<&str> = Some("w");

/// The plan with this at its beginning.
fn plan_with(keys: &str) -> String {
    PLAN.replace("plan: p\n", &format!("plan: p\n{keys}\n"))
}

/// A plan of this many independent waypoints, `w0`, `w1`, …, with this at its beginning.
fn plan_of(count: usize, keys: &str) -> String {
    let waypoint =
        |n| format!("  - {{id: w{n}, title: t, goal: g, criteria: [{{id: c, statement: s, check: 'true'}}]}}\n");
    format!("plan: p\n{keys}\nwaypoints:\n{}", (0..count).map(waypoint).collect::<String>())
}

/// Waits until it is later than this.
async fn passes(deadline: Timestamp) {
    let passed = async {
        while clock::now() <= deadline {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(SOON, passed).await.unwrap();
}

/// What a turn's guidance says of constraints.
fn constraints(turn: &Turn) -> &[String] {
    &turn.guidance.constraints
}
