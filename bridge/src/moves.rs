//! The table of moves: which gate's task is where, and what it means when its file is moved (SDLC-2a). Pure.

use holdpoint_protocol::{
    artifact::VerificationPurpose,
    ids::{GateId, WaypointId},
    state::{Purpose, Status},
    view::WaypointView,
};

use crate::name::{TaskKind, parent};

/// A folder of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaskFolder {
    /// Waits for somebody who does it.
    Queue,
    /// Somebody does it.
    Running,
    /// Handed in, and looked at.
    Review,
    /// Sent back.
    Rejected,
    /// Over, and well.
    Completed,
    /// A person decides.
    Failed,
}

impl TaskFolder {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Queue, Self::Running, Self::Review, Self::Rejected, Self::Completed, Self::Failed];

    /// Its name below `tasks/`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Running => "running",
            Self::Review => "review",
            Self::Rejected => "rejected",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

/// Where a task's file is, and of which type it is there.
pub type Spot = (TaskFolder, TaskKind);

/// Whose inbox and turns they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Actor {
    /// Plans, reviews and decides.
    Supervisor,
    /// Writes specifications and does tasks.
    Worker,
}

impl Actor {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Supervisor, Self::Worker];

    /// The role, and the name in `comms/`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Supervisor => "supervisor",
            Self::Worker => "worker",
        }
    }

    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Supervisor => Self::Worker,
            Self::Worker => Self::Supervisor,
        }
    }
}

/// A document that belongs to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentKind {
    /// `docs/requirements/ID_req.md`.
    Requirements,
    /// `docs/specs/ID_spec.md`.
    Specification,
    /// `docs/plans/ID_plan.md`.
    Plan,
}

impl DocumentKind {
    /// Its path below the folder.
    #[must_use]
    pub fn path(self, request: &WaypointId) -> String {
        match self {
            Self::Requirements => format!("docs/requirements/{request}_req.md"),
            Self::Specification => format!("docs/specs/{request}_spec.md"),
            Self::Plan => format!("docs/plans/{request}_plan.md"),
        }
    }
}

/// A row of the table: one gate.
#[derive(Debug, PartialEq, Eq)]
pub struct SdlcStage {
    /// The gate.
    pub gate: &'static str,
    /// Which of the source's gates its result is shown as; `None`: it has none.
    pub number: Option<&'static str>,
    /// Whose turn it is.
    pub actor: Actor,
    /// Where the file is as the turn opens.
    pub home: Spot,
    /// Where it is as the turn opens on work that was sent back.
    pub again: Spot,
    /// Where it is while somebody does it; `None`: nobody claims it.
    pub claimed: Option<Spot>,
    /// A move there hands it in; `None`: files do.
    pub done: Option<Spot>,
    /// A move there sends it back, with comments.
    pub back: Option<Spot>,
    /// What is handed over with it.
    pub document: Option<DocumentKind>,
    /// The document of an earlier gate that is looked at: what a reviewer writes into it is a comment.
    pub reviews: Option<DocumentKind>,
}

use Actor::{Supervisor, Worker};
use TaskFolder::{Completed, Failed, Queue, Rejected, Review, Running};
use TaskKind::{Doc, Exec, New, Plan};

const fn row(gate: &'static str, actor: Actor, home: Spot) -> SdlcStage {
    let (number, claimed, done, back) = (None, None, None, None);
    SdlcStage { gate, number, actor, home, again: home, claimed, done, back, document: None, reviews: None }
}

/// The gates of a request, in order.
pub static OF_REQUESTS: [SdlcStage; 6] = [
    SdlcStage {
        number: Some("1"),
        done: Some((Queue, Doc)),
        document: Some(DocumentKind::Requirements),
        ..row("brainstorm", Supervisor, (Queue, New))
    },
    SdlcStage {
        number: Some("2"),
        claimed: Some((Running, Doc)),
        done: Some((Review, Doc)),
        document: Some(DocumentKind::Specification),
        ..row("document", Worker, (Queue, Doc))
    },
    SdlcStage {
        done: Some((Queue, Plan)),
        back: Some((Queue, Doc)),
        reviews: Some(DocumentKind::Specification),
        ..row("spec-review", Supervisor, (Review, Doc))
    },
    SdlcStage { number: Some("3"), document: Some(DocumentKind::Plan), ..row("plan", Supervisor, (Queue, Plan)) },
    SdlcStage {
        done: Some((Review, Plan)),
        back: Some((Queue, Plan)),
        reviews: Some(DocumentKind::Plan),
        ..row("estimate", Worker, (Running, Plan))
    },
    SdlcStage { done: Some((Completed, Plan)), back: Some((Queue, Plan)), ..row("track", Supervisor, (Review, Plan)) },
];

/// The gates of an execution task at which agents of the folder have the turn. Between them is `audit`, a verifier's.
pub static OF_TASKS: [SdlcStage; 2] = [
    SdlcStage {
        again: (Rejected, Exec),
        claimed: Some((Running, Exec)),
        done: Some((Review, Exec)),
        ..row("execute", Worker, (Queue, Exec))
    },
    SdlcStage {
        done: Some((Completed, Exec)),
        back: Some((Rejected, Exec)),
        ..row("review", Supervisor, (Review, Exec))
    },
];

/// The gate of a task at which a verifier looks at it.
pub const AUDIT: &str = "audit";
/// The source's number of that gate.
pub const AUDIT_NUMBER: &str = "4";

/// What it means that a file is where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Nothing was done yet.
    Open,
    /// Somebody does it.
    Claimed,
    /// It is handed in.
    Done,
    /// It is sent back.
    SentBack,
    /// Nothing that its gate knows.
    Misplaced,
}

impl SdlcStage {
    /// The row of a waypoint's gate; `None`: the folder has no place for it.
    #[must_use]
    pub fn of(waypoint: &WaypointId, gate: &GateId) -> Option<&'static Self> {
        let rows: &'static [Self] = if parent(waypoint).is_some() { &OF_TASKS } else { &OF_REQUESTS };
        rows.iter().find(|row| row.gate == gate.as_str())
    }

    /// Where the file of its turn belongs. `sent_back`: the work is here again.
    #[must_use]
    pub const fn home(&self, sent_back: bool) -> Spot {
        if sent_back { self.again } else { self.home }
    }

    /// What the file's place means.
    #[must_use]
    pub fn meaning(&self, spot: Spot) -> Meaning {
        let is = |of: Option<Spot>| of == Some(spot);
        match () {
            () if is(self.done) => Meaning::Done,
            () if is(self.back) => Meaning::SentBack,
            () if is(self.claimed) => Meaning::Claimed,
            () if spot == self.home || spot == self.again => Meaning::Open,
            () => Meaning::Misplaced,
        }
    }
}

/// Where the file of a waypoint is kept at which no turn of the folder's agents is open; `None`: it has no file now, or its turn
/// says where.
#[must_use]
pub fn resting(view: &WaypointView) -> Option<Spot> {
    let is_task = parent(&view.id).is_some();
    let last = if is_task { Exec } else { Plan };
    match view.status {
        Status::Complete => Some((Completed, last)),
        Status::Blocked | Status::Failed | Status::Cancelled => {
            let kind = view.gate.as_ref().and_then(|gate| SdlcStage::of(&view.id, gate)).map(|row| row.home.1);
            Some((Failed, kind.unwrap_or(last)))
        }
        Status::Waiting | Status::Running => match (&view.turn, &view.gate) {
            (Some(turn), _) => match turn.purpose {
                Purpose::Verify(VerificationPurpose::Handoff | VerificationPurpose::Merge) => Some((Review, last)),
                _ => None,
            },
            (None, Some(gate)) => SdlcStage::of(&view.id, gate).map(|row| row.home).or(Some((Review, last))),
            (None, None) => None,
        },
        Status::Pending => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(waypoint: &str, gate: &str) -> &'static SdlcStage {
        SdlcStage::of(&waypoint.parse().unwrap(), &gate.parse().unwrap()).unwrap()
    }

    #[test]
    fn a_move_means_what_the_table_says() {
        use Meaning::{Claimed, Done, Misplaced, Open, SentBack};
        for (waypoint, gate, spot, meaning) in [
            ("r", "brainstorm", (Queue, New), Open),
            ("r", "brainstorm", (Queue, Doc), Done),
            ("r", "brainstorm", (Running, New), Misplaced),
            ("r", "document", (Queue, Doc), Open),
            ("r", "document", (Running, Doc), Claimed),
            ("r", "document", (Review, Doc), Done),
            ("r", "document", (Queue, Plan), Misplaced),
            ("r", "spec-review", (Review, Doc), Open),
            ("r", "spec-review", (Queue, Doc), SentBack),
            ("r", "spec-review", (Queue, Plan), Done),
            ("r", "plan", (Queue, Plan), Open),
            ("r", "plan", (Completed, Plan), Misplaced),
            ("r", "estimate", (Running, Plan), Open),
            ("r", "estimate", (Review, Plan), Done),
            ("r", "estimate", (Queue, Plan), SentBack),
            ("r", "track", (Review, Plan), Open),
            ("r", "track", (Completed, Plan), Done),
            ("r", "track", (Queue, Plan), SentBack),
            ("r_01", "execute", (Queue, Exec), Open),
            ("r_01", "execute", (Rejected, Exec), Open),
            ("r_01", "execute", (Running, Exec), Claimed),
            ("r_01", "execute", (Review, Exec), Done),
            ("r_01", "execute", (Completed, Exec), Misplaced),
            ("r_01", "review", (Review, Exec), Open),
            ("r_01", "review", (Completed, Exec), Done),
            ("r_01", "review", (Rejected, Exec), SentBack),
        ] {
            assert_eq!(stage(waypoint, gate).meaning(spot), meaning, "{gate} {spot:?}");
        }
    }

    #[test]
    fn a_file_that_is_handed_in_or_sent_back_is_where_its_next_gate_expects_it() {
        for (rows, waypoint) in [(&OF_REQUESTS[..], "r"), (&OF_TASKS[..], "r_01")] {
            for (row, next) in rows.iter().zip(&rows[1..]) {
                if let Some(done) = row.done.filter(|_| row.gate != "estimate") {
                    assert_eq!(done, next.home, "{} to {}", row.gate, next.gate);
                }
            }
            for row in rows.iter().filter(|row| row.back.is_some()) {
                let goes_to = rows.iter().any(|other| row.back == Some(other.again) && other.gate != row.gate);
                assert!(goes_to, "{waypoint}: what {} sends back is some gate's again", row.gate);
            }
        }
        assert_eq!(stage("r", "estimate").done, Some(stage("r", "track").home), "the plan waits there for its tasks");
    }

    #[test]
    fn gates_that_no_table_has_and_gates_of_the_other_table_have_no_place() {
        let known =
            |waypoint: &str, gate: &str| SdlcStage::of(&waypoint.parse().unwrap(), &gate.parse().unwrap()).is_some();
        assert!(!known("r", "execute") && !known("r_01", "plan") && !known("r_01", AUDIT) && !known("r", "deploy"));
    }
}
