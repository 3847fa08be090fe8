//! The turn in which an agent drafts. Pure.

use std::fmt::Write as _;

use holdpoint_protocol::{
    Digest, Timestamp,
    artifact::{Disposition, GuidancePacket, GuidancePacketBody, Origin},
    ids::{ArtifactId, FlightId, TurnId, WaypointId, role},
    journal::Record,
    plan::{Plan, TurnBudget},
    reason::ReasonCode,
    turn::{BuildRequest, Feedback, Turn, TurnRequest},
    version,
};
use holdpoint_runtime::mirror::to_wire;
use holdpoint_workspace::ObjectId;

use super::review::DraftProblem;
use crate::ready::COVENANT;

/// What the turn is about.
const TITLE: &str = "Draft a plan";
/// What the turn works on.
const WAYPOINT: &str = "plan";
/// Problems that the agent hears of at once.
const PROBLEMS_MAX: usize = 40;

/// A turn's own words.
pub(super) struct Named {
    pub(super) turn: TurnId,
    pub(super) artifact: ArtifactId,
    pub(super) at: Timestamp,
}

/// What all turns of one draft share.
pub(super) struct Errand {
    pub(super) flight: FlightId,
    /// A plan of which the turn is: what it knows of the repository.
    pub(super) seed: Plan,
    pub(super) goal: String,
    pub(super) base: ObjectId,
}

impl Errand {
    /// A turn that starts from `start`, where the last one ended, and hears of its `problems`.
    pub(super) fn turn(&self, named: Named, start: &ObjectId, (round, problems): (u32, &[DraftProblem])) -> Turn {
        let waypoint = WaypointId::try_new(WAYPOINT).expect("a literal id");
        let digest = Digest::of(self.goal.as_bytes());
        let origin = Origin {
            artifact_id: named.artifact,
            waypoint_id: waypoint.clone(),
            produced_by_role: role::id(role::ORCHESTRATOR),
            produced_at: named.at,
            source_refs: Vec::new(),
        };
        let guidance = GuidancePacketBody {
            covenant_version: digest,
            policy_hash: digest,
            constraints: Vec::new(),
            stop_conditions: Vec::new(),
        };
        Turn {
            schema_version: version::CURRENT,
            turn_id: named.turn,
            flight: self.flight.clone(),
            waypoint,
            gate: "build".parse().expect("a literal id"),
            role: role::id(role::BUILDER),
            attempt: round,
            deadline: named.at,
            handoff_subject: String::new(),
            guidance: GuidancePacket::new(origin, guidance),
            request: TurnRequest::Build(Box::new(self.request(start, problems))),
            decision: None,
            for_build: None,
            allowance: None,
            record: Record::at(named.at),
        }
    }

    fn request(&self, start: &ObjectId, problems: &[DraftProblem]) -> BuildRequest {
        BuildRequest {
            title: TITLE.to_owned(),
            goal: self.goal.clone(),
            criteria: Vec::new(),
            // With none, the map that the agent gets is of the whole repository.
            scope: Vec::new(),
            protected: Vec::new(),
            ignore: self.seed.ignore.clone(),
            environment: self.seed.environment.clone().unwrap_or_default(),
            sources: Vec::new(),
            covenant: COVENANT.to_owned(),
            base: to_wire(&self.base),
            start: to_wire(start),
            bundles: Vec::new(),
            feedback: (!problems.is_empty()).then(|| feedback(problems)),
            budget: TurnBudget::default(),
            tests: Vec::new(),
            ask_below: None,
            ask_before_removing: None,
            description: None,
            role_description: None,
            context: Default::default(),
            dependencies: Vec::new(),
            documents: Vec::new(),
            conversation: None,
        }
    }
}

fn feedback(problems: &[DraftProblem]) -> Feedback {
    let mut note = String::from("Correct all of these:\n");
    for problem in problems.iter().take(PROBLEMS_MAX) {
        let _ = writeln!(note, "- {}", problem.in_words());
    }
    if let Some(more) = problems.len().checked_sub(PROBLEMS_MAX).filter(|more| *more > 0) {
        let _ = writeln!(note, "- {more} more problems follow");
    }
    Feedback {
        disposition: Disposition::Rework,
        reason_code: ReasonCode::HandoffInvalid,
        failing: Vec::new(),
        notes: vec![note],
        collision: None,
        clarifications: Vec::new(),
        review: None,
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_planfile::plan::{PlanTask, of_task};

    use super::*;

    fn told(problems: &[DraftProblem]) -> Option<Feedback> {
        let seed = of_task(&PlanTask { title: TITLE.to_owned(), ..PlanTask::default() }).unwrap();
        let base: ObjectId = "11".repeat(20).parse().unwrap();
        let errand = Errand { flight: "f".parse().unwrap(), seed, goal: "g".to_owned(), base: base.clone() };
        let at = Timestamp::from_millis(0);
        let named = Named { turn: "t".parse().unwrap(), artifact: "a".parse().unwrap(), at };
        errand.turn(named, &base, (2, problems)).told().cloned()
    }

    #[test]
    fn an_agent_hears_of_each_problem_up_to_a_bound() {
        assert_eq!(told(&[]), None);
        let problem = |n: usize| DraftProblem::new(format!("problem {n}"), "mend it");
        let many: Vec<DraftProblem> = (0..PROBLEMS_MAX + 2).map(problem).collect();
        let feedback = told(&many).unwrap();
        let [note] = feedback.notes.as_slice() else { panic!("one note") };
        assert!(note.contains("- problem 0; mend it\n") && note.ends_with("- 2 more problems follow\n"), "{note}");
        assert_eq!(note.lines().count(), PROBLEMS_MAX + 2);
    }
}
