//! Questions and acts of people: what waits, who may do what, what happens instead, where it goes on.

mod approvals;
mod asking;
mod questions;
mod retries;
mod steering;
mod taking;
mod verdicts;

use holdpoint_protocol::{artifact::ActCode, reason::ReasonCode};

use super::fixture::{Fixture, Taken};
use crate::engine::Refusal;

pub(super) fn code(taken: Taken) -> ActCode {
    match taken.refusal() {
        Refusal::Act(refused) => refused.code,
        other => panic!("expected a refused act, got {other:?}"),
    }
}

fn reason(fixture: &Fixture) -> ReasonCode {
    fixture.state("w").decision.unwrap().reason_code
}
