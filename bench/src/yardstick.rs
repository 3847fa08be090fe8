//! The yardstick: a minimal program on the raw client that moves the same messages over the same kind of broker.
//!
//! As many messages a waypoint as the protocol stores, of the same sizes, in a chain: each is published with an awaited
//! acknowledgement, pulled by another process, answered there by the next one, and double-acknowledged. Messages that
//! the protocol does not wait for are stored along with the next one of the chain. There is one account without
//! permissions, one consumer a process; nothing is signed, encoded, checked or decided.
//!
//! The other process has one connection with all messages under way on it, or one per agent with one message at a time, as agents hold
//! turns: that costs the broker most of what sets the two apart, and a fleet whose agents have keys of their own cannot do without it.

mod peer;
mod run;

use serde::{Deserialize, Serialize};

use crate::streams::Shape;

pub(crate) use peer::serve;
pub(crate) use run::Yardstick;

/// The stream.
const STREAM: &str = "YARDSTICK";
/// What the other process pulls: `y.peer.<step>.<waypoint>`.
const PEER: &str = "peer";
/// What the driver pulls: the last step.
const DRIVER: &str = "driver";
/// Messages that a pull asks for: far more than are under way, so that it is seldom asked.
const BATCH_LEN: usize = 1_000;

/// What the far side has to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct YardstickSpec {
    /// The broker.
    pub(crate) url: String,
    /// What a waypoint is made of.
    pub(crate) steps: Vec<Step>,
    /// How it is connected.
    pub(crate) connections: Connections,
}

/// How the far side is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Connections {
    /// By one connection for everything.
    One,
    /// By so many, each of which has one message at a time.
    PerAgent(usize),
}

/// One message of a waypoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    /// Its length in bytes, headers included.
    pub(crate) len: usize,
    /// The steps that are published when it was pulled. Nothing follows from the last one, and from those that are only
    /// stored.
    pub(crate) then: Vec<usize>,
}

/// The chain that moves the same messages as these.
pub(crate) fn chain(shapes: &[Shape]) -> Vec<Step> {
    let mut steps: Vec<Step> = shapes.iter().map(|shape| Step { len: shape.len, then: Vec::new() }).collect();
    let mut from = 0;
    let mut beside = Vec::new();
    for (index, shape) in shapes.iter().enumerate().skip(1) {
        beside.push(index);
        // Nobody waits for a plan: it goes with the message after it.
        if !shape.kind.ends_with("_plan") {
            steps[from].then = std::mem::take(&mut beside);
            from = index;
        }
    }
    steps
}

/// `y.<who pulls it>.<step>.<waypoint>`
fn subject(steps: &[Step], step: usize, waypoint: &str) -> String {
    let who = if step + 1 == steps.len() { DRIVER } else { PEER };
    format!("y.{who}.{step}.{waypoint}")
}

/// Which step and waypoint a subject is of.
fn parse(subject: &str) -> Option<(usize, &str)> {
    let mut tokens = subject.split('.').skip(2);
    Some((tokens.next()?.parse().ok()?, tokens.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(kind: &str, len: usize) -> Shape {
        Shape { kind: kind.to_owned(), len, after_ms: 0.0 }
    }

    #[test]
    fn plans_are_stored_beside_the_chain() {
        let kinds = ["submitted", "turn.builder", "build_plan", "build_artifact", "decided"];
        let shapes: Vec<_> = kinds.iter().enumerate().map(|(n, kind)| shape(kind, 100 + n)).collect();
        let then: Vec<_> = chain(&shapes).into_iter().map(|step| step.then).collect();
        assert_eq!(then, [vec![1], vec![2, 3], vec![], vec![4], vec![]]);
        assert_eq!(chain(&shapes)[3].len, 103);
    }

    #[test]
    fn every_message_is_sent_once() {
        let kinds = ["submitted", "a_plan", "b_plan", "x", "c_plan", "y"];
        let steps = chain(&kinds.map(|kind| shape(kind, 1)));
        let mut sent: Vec<_> = steps.iter().flat_map(|step| step.then.clone()).collect();
        sent.sort_unstable();
        assert_eq!(sent, [1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_subject_reads_back() {
        let steps = chain(&[shape("submitted", 1), shape("decided", 1)]);
        assert_eq!(subject(&steps, 0, "7"), "y.peer.0.7");
        assert_eq!(subject(&steps, 1, "7"), "y.driver.1.7");
        assert_eq!(parse("y.driver.1.7"), Some((1, "7")));
        assert_eq!(parse("y.driver"), None);
    }
}
