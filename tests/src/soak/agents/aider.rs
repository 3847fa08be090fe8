//! Aider: it has no tools and keeps no conversation, and edits the files that its model's answers show.

use std::process::Command;

use super::{Agent, REFUSED, Scenario};
use crate::world::World;

const RIGHT: &str = r"say Done.\n\nmade.txt\n```\nhello\n```\n\n<waypoint-complete>w1</waypoint-complete>";
const WRONG: &str = r"say Done.\n\nmade.txt\n```\nhullo\n```\n\n<waypoint-complete>w1</waypoint-complete>";

pub(super) const AGENT: Agent = Agent {
    preset: "aider",
    variable: "HOLDPOINT_SOAK_AIDER",
    configure,
    overload: "fail 429 overloaded",
    scenarios: &SCENARIOS,
    goes_on: false,
};

const SCENARIOS: [Scenario; 6] = [
    Scenario { name: "right the first time", steps: &[RIGHT], calls: None, attempts: 1, looks: |_| Ok(()) },
    Scenario { name: "wrong, then right", steps: &[WRONG, RIGHT], calls: None, attempts: 2, looks: |_| Ok(()) },
    Scenario {
        name: "overload first, no attempt used",
        steps: &["overload", "overload", RIGHT],
        calls: None,
        attempts: 1,
        looks: |_| Ok(()),
    },
    Scenario {
        name: "an answer cut at its token limit",
        steps: &["cut", RIGHT],
        calls: None,
        attempts: 2,
        looks: |_| Ok(()),
    },
    Scenario {
        name: "a model that stalls, no attempt used",
        steps: &["stall 120", RIGHT],
        calls: None,
        attempts: 1,
        looks: |_| Ok(()),
    },
    REFUSED,
];

fn configure(command: &mut Command, _: &World, port: u16) {
    command.env("OPENAI_API_BASE", format!("http://127.0.0.1:{port}/v1")).env("OPENAI_API_KEY", "none");
    command.env("AIDER_MODEL", "openai/gpt-soak");
}
