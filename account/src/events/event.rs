//! The words of the event stream (GATE-25), with the names of the workflow document.

use holdpoint_protocol::{
    Timestamp,
    ids::{AgentName, FlightId, GateId, RoleId, WaypointId},
    state::Outcome,
    time::Millis,
    workflow::WorkflowSpec,
};
use serde::{Serialize, Serializer};

/// What the engine does about a condition that cannot be evaluated, unless it holds the work.
pub(super) const SKIPPING: &str = "Skipping gate (treating condition as false)";

/// One event of a waypoint at a gate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// When: what its entry says, or when the broker stored its handoff.
    pub timestamp: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub what: EventKind,
    /// How much it concerns people.
    pub level: Level,
    /// The waypoint. The workflow document calls it a task.
    pub task_id: WaypointId,
    /// The flight.
    pub flight: FlightId,
    /// The plan's name.
    pub project: String,
    /// The workflow of the waypoint.
    pub workflow: String,
    /// Where it is written: `STREAM/SEQUENCE`. Empty where nobody asked.
    #[serde(rename = "ref", skip_serializing_if = "String::is_empty")]
    pub reference: String,
    /// One sentence, where people should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// How much an event concerns people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The usual course.
    Info,
    /// Something to know of.
    Warn,
    /// A person has to act.
    Error,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum EventKind {
    /// A gate was left, entered, or both.
    GateTransition {
        /// The gate that was left; absent where work came from outside: it began, or went on after it was held.
        #[serde(skip_serializing_if = "Option::is_none")]
        from_gate: Option<GateId>,
        /// The gate that was entered; absent where the work is over, waits or is held.
        #[serde(skip_serializing_if = "Option::is_none")]
        to_gate: Option<GateId>,
        /// What the turn of `from_gate` came to.
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<Outcome>,
        /// Whose turn it was.
        #[serde(skip_serializing_if = "Option::is_none")]
        role: Option<RoleId>,
        /// Who completed it.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<AgentName>,
        /// How long the gate was open, in seconds.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_seconds")]
        duration: Option<Millis>,
        /// What they say they did, where they said it.
        #[serde(skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
    },
    /// Work was sent back by a gate that may reject.
    GateRejection {
        /// That gate.
        gate: GateId,
        /// Where the work goes; absent where it is held.
        #[serde(skip_serializing_if = "Option::is_none")]
        target_gate: Option<GateId>,
        /// Whose turn it was.
        role: RoleId,
        /// Who sent it back.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<AgentName>,
        /// Whose work it was.
        #[serde(skip_serializing_if = "Option::is_none")]
        work_of: Option<AgentName>,
        /// What has to change, as the next turn says.
        blockers: Vec<String>,
        /// Those of them that are too vague to act on, where its agent or person completed the gate.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        vague_blockers: Vec<String>,
        /// How long the gate was open, in seconds.
        #[serde(serialize_with = "seconds")]
        duration: Millis,
    },
    /// The holder of a gate's turn called for help, and advisors are asked before a person.
    GateAdvice {
        /// The gate.
        gate: GateId,
        /// Whose turn it is there.
        role: RoleId,
        /// Who called, or which advisor answered; absent where nobody was heard of.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<AgentName>,
        /// Which round, from 1.
        round: u32,
        /// What follows.
        outcome: AdviceOutcome,
    },
    /// Work passed over a gate.
    GateSkip {
        /// The gate.
        gate: GateId,
        /// Whose turn it would have been.
        role: RoleId,
        /// Why.
        reason: SkipReason,
    },
    /// A turn was not answered in time.
    GateTimeout {
        /// The gate.
        gate: GateId,
        /// Whose turn it was.
        role: RoleId,
        /// Who had it, as far as is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<AgentName>,
        /// How long the turn might take, in seconds.
        #[serde(serialize_with = "seconds")]
        timeout: Millis,
        /// The role that has it now, where it is another one.
        #[serde(skip_serializing_if = "Option::is_none")]
        escalate_to: Option<RoleId>,
        /// Whether it is open again; else it is held for a person.
        reopened: bool,
    },
    /// A handoff came too late, or second: nothing was recorded twice.
    GateConflict {
        /// The gate.
        gate: GateId,
        /// Who was first; absent where the turn ended without an answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        winning_agent: Option<AgentName>,
        /// Who was not.
        losing_agent: AgentName,
    },
    /// Work came to a gate too often.
    GateCircularLoop {
        /// The gate.
        gate: GateId,
        /// How often.
        loop_count: u32,
    },
    /// There is nobody who could take the turn.
    GateBlockedNoAgents {
        /// The gate.
        gate: GateId,
        /// The role.
        role: RoleId,
    },
    /// The condition of a gate could not be evaluated.
    GateConditionError {
        /// The gate.
        gate: GateId,
        /// The condition.
        expression: String,
        /// What went wrong.
        error: String,
        /// What the engine did.
        action: &'static str,
    },
    /// A turn was answered by another role than its own.
    GateAssignmentError {
        /// The gate.
        gate: GateId,
        /// Whose turn it was.
        expected_role: RoleId,
        /// Who answered.
        actual_role: RoleId,
        /// By that name.
        agent: AgentName,
    },
}

/// What follows when advice is asked for, or an advisor answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AdviceOutcome {
    /// The next advisor has a turn.
    Asked,
    /// The caller's turn is open again, with advice.
    Advised,
    /// No advisor helped: it waits for a person.
    Unhelped,
    /// Nobody needs advice any more: the work was held, moved or cancelled.
    Superseded,
}

impl AdviceOutcome {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Asked, Self::Advised, Self::Unhelped, Self::Superseded];

    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Advised => "advised",
            Self::Unhelped => "unhelped",
            Self::Superseded => "superseded",
        }
    }
}

/// Why work passed over a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// Its condition does not hold.
    ConditionFalse,
    /// Its condition could not be evaluated.
    ConditionError,
    /// It is a branch of a fork that was decided without it.
    Superseded,
}

impl SkipReason {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ConditionFalse => "condition_false",
            Self::ConditionError => "condition_error",
            Self::Superseded => "superseded",
        }
    }
}

/// The kinds of events, as `--type` names them.
pub const KINDS: [&str; 10] = [
    "gate_transition",
    "gate_rejection",
    "gate_advice",
    "gate_skip",
    "gate_timeout",
    "gate_conflict",
    "gate_circular_loop",
    "gate_blocked_no_agents",
    "gate_condition_error",
    "gate_assignment_error",
];

impl EventKind {
    /// The word for its kind, one of [`KINDS`].
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::GateTransition { .. } => "gate_transition",
            Self::GateRejection { .. } => "gate_rejection",
            Self::GateAdvice { .. } => "gate_advice",
            Self::GateSkip { .. } => "gate_skip",
            Self::GateTimeout { .. } => "gate_timeout",
            Self::GateConflict { .. } => "gate_conflict",
            Self::GateCircularLoop { .. } => "gate_circular_loop",
            Self::GateBlockedNoAgents { .. } => "gate_blocked_no_agents",
            Self::GateConditionError { .. } => "gate_condition_error",
            Self::GateAssignmentError { .. } => "gate_assignment_error",
        }
    }

    /// Whether work passed over a gate because its condition could not be evaluated: nothing waits, and people should know.
    #[must_use]
    pub fn is_condition_skip(&self) -> bool {
        matches!(self, Self::GateConditionError { action, .. } if *action == SKIPPING)
    }

    /// The role of agents that has a turn again which nobody answered in time: nothing waits for people, and they should know
    /// (GATE-15). `None`: it is another event, or the turn is held or for people, and the inbox has it.
    #[must_use]
    pub fn offered_again(&self, workflow: Option<&WorkflowSpec>) -> Option<&RoleId> {
        let Self::GateTimeout { gate, role, escalate_to, reopened: true, .. } = self else { return None };
        let role = escalate_to.as_ref().unwrap_or(role);
        let gate = workflow.into_iter().flat_map(WorkflowSpec::all_gates).find(|spec| spec.id == *gate);
        let is_peoples = gate.is_some_and(|gate| {
            let link = gate.escalations.iter().find(|link| link.role == *role);
            link.map_or(gate.require_human, |link| !link.people.is_empty())
        });
        (!is_peoples).then_some(role)
    }

    /// How much it concerns people.
    #[must_use]
    pub(super) fn level(&self) -> Level {
        match self {
            Self::GateAdvice { outcome: AdviceOutcome::Unhelped, .. } => Level::Warn,
            Self::GateTransition { .. }
            | Self::GateRejection { .. }
            | Self::GateAdvice { .. }
            | Self::GateSkip { .. } => Level::Info,
            Self::GateTimeout { .. } | Self::GateConflict { .. } | Self::GateConditionError { .. } => Level::Warn,
            Self::GateCircularLoop { .. } | Self::GateBlockedNoAgents { .. } | Self::GateAssignmentError { .. } => {
                Level::Error
            }
        }
    }
}

/// Seconds: whole ones without a fraction.
pub(super) fn seconds<S: Serializer>(span: &Millis, serializer: S) -> Result<S::Ok, S::Error> {
    match span.0 % 1_000 {
        0 => serializer.serialize_u64(span.0 / 1_000),
        _ => serializer.serialize_f64(span.duration().as_secs_f64()),
    }
}

fn optional_seconds<S: Serializer>(span: &Option<Millis>, serializer: S) -> Result<S::Ok, S::Error> {
    match span {
        Some(span) => seconds(span, serializer),
        None => serializer.serialize_none(),
    }
}
