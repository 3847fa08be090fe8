//! Why gates do not make a workflow, and why an outcome does not fit a gate.

use holdpoint_protocol::{
    ids::{AgentName, GateId, RoleId},
    workflow::{ESCALATIONS_MAX, Effect},
};

use super::{Duty, GATES_MAX};

/// Why gates do not make a workflow, or an outcome does not fit a gate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// No gates.
    #[error("workflow {name} has no gates")]
    Empty {
        /// The workflow.
        name: String,
    },
    /// More gates than a waypoint can remember.
    #[error("workflow {name} has {count} gates; {GATES_MAX} are allowed")]
    TooMany {
        /// The workflow.
        name: String,
        /// How many it has.
        count: usize,
    },
    /// Two gates of one id.
    #[error("gate {gate} is there twice")]
    Duplicate {
        /// The gate.
        gate: GateId,
    },
    /// The first gate has nothing to reject to.
    #[error("the first gate {gate} cannot reject: there is no gate before it")]
    FirstRejects {
        /// The gate.
        gate: GateId,
    },
    /// Work is made that no verifier judges: it could never land (invariant 4).
    #[error("gate {gate} makes work and no verifier's gate follows it")]
    Unverified {
        /// The gate.
        gate: GateId,
    },
    /// A verifier's gate that may not send work back: a failing verdict would lead nowhere.
    #[error("gate {gate} judges work and may not send it back")]
    JudgeCannotReject {
        /// The gate.
        gate: GateId,
    },
    /// A gate of agents' work that only people may complete, or one of the reserved roles.
    #[error("gate {gate} cannot belong to role {role}")]
    Role {
        /// The gate.
        gate: GateId,
        /// The role.
        role: RoleId,
    },
    /// A name in `people` that is no person's.
    #[error("gate {gate} names {name} as a person: names of people begin with `human-`")]
    NoPerson {
        /// The gate.
        gate: GateId,
        /// The name.
        name: AgentName,
    },
    /// A gate for people without a time limit (GATE-3).
    #[error("gate {gate} waits for people and has no timeout")]
    NoTimeout {
        /// The gate.
        gate: GateId,
    },
    /// Escalations without end: each role waits for the whole timeout.
    #[error("gate {gate} escalates to {count} roles; {ESCALATIONS_MAX} are allowed")]
    LongChain {
        /// The gate.
        gate: GateId,
        /// How many it has.
        count: usize,
    },
    /// A role would have the same turn again.
    #[error("gate {gate} escalates to role {role} twice, or to its own role")]
    RepeatedLink {
        /// The gate.
        gate: GateId,
        /// The role.
        role: RoleId,
    },
    /// Agents that cannot answer a turn of the gate.
    #[error("{}", unfit(gate, role, *duty))]
    Link {
        /// The gate.
        gate: GateId,
        /// The role to which it escalates.
        role: RoleId,
        /// What its turns are.
        duty: Duty,
    },
    /// Of one branch nobody has to wait for another.
    #[error("fork {fork} has fewer than two branches")]
    Branches {
        /// The fork.
        fork: GateId,
    },
    /// A fork as the beginning of a workflow, or one in which work is made.
    #[error("fork {fork} has to stand behind a gate, and nobody may make work in it")]
    Fork {
        /// The fork.
        fork: GateId,
    },
    /// Children, or what proposes them, where they cannot be.
    #[error("gate {gate} {why}")]
    Misplaced {
        /// The gate.
        gate: GateId,
        /// What is wrong.
        why: &'static str,
    },
    /// Not a gate of this workflow.
    #[error("gate {gate} is not part of workflow {name}")]
    Unknown {
        /// The gate.
        gate: GateId,
        /// The workflow.
        name: String,
    },
    /// `rejectTo` names no gate before, or is missing where the strategy is `named`, or there without it.
    #[error("gate {gate} has to name a gate before it in rejectTo, and only where rejectionStrategy is `named`")]
    RejectTo {
        /// The gate.
        gate: GateId,
    },
    /// `outcomes` under which no work would get on.
    #[error("the outcome `complete` leads to `advance`, and not to `{}`", word(*.effect))]
    Effect {
        /// What it was to lead to.
        effect: Effect,
    },
    /// `skip` is the engine's own.
    #[error("defaultOutcome cannot be `skip`: only the engine passes over a gate")]
    Default,
    /// `needs_review` from a gate that may not reject.
    #[error("gate {gate} may not send work back")]
    RejectNotAllowed {
        /// The gate.
        gate: GateId,
    },
}

fn unfit(gate: &GateId, role: &RoleId, duty: Duty) -> String {
    match duty {
        Duty::Make => format!(
            "gate {gate} makes work, and agents of role {role} do not: escalate to a role with `plane: build`, or to people"
        ),
        Duty::Judge => format!("gate {gate} judges work, and escalates to people only: role {role} has none"),
        Duty::Complete | Duty::Delegate => format!(
            "gate {gate} is completed, and agents of role {role} do not complete gates: escalate to another role"
        ),
    }
}

/// The word of a file for it.
fn word(effect: Effect) -> &'static str {
    match effect {
        Effect::Advance => "advance",
        Effect::Reject => "reject",
        Effect::Hold => "hold",
    }
}
