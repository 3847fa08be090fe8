//! Questions and acts of people: what waits, who may do what, what happens instead, where it goes on.

mod approvals;
mod asking;
mod questions;
mod retries;
mod signing_off;
mod steering;
mod taking;
mod verdicts;

use holdpoint_protocol::{artifact::ActCode, reason::ReasonCode};

use crate::testing::fixture::{Fed, Fixture};
use crate::waypoint::Refusal;

pub(super) fn code(taken: Fed) -> ActCode {
    match taken.refusal() {
        Refusal::Act(refused) => refused.code,
        other => panic!("expected a refused act, got {other:?}"),
    }
}

fn reason(fixture: &Fixture) -> ReasonCode {
    fixture.state("w").decision.unwrap().reason_code
}
