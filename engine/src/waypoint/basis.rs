//! What is handed off and what an entry records, as inputs: the orchestrator and an audit make them here, of the same parts.
//!
//! A new input, or a new verb, is one more arm in each of these functions.

use holdpoint_protocol::{
    artifact::{self, BuildArtifact, BuildStatus, Failure, Handed},
    ids::{AgentName, CriterionId, RoleId, TurnId},
    journal::{Cause, Death, Entry, Happened},
    reason::ReasonCode,
    state::{Held, Phase, QuestionKind, Resume, WaypointState},
    turn::{Feedback, Turn},
};

use super::{
    Advised, AgentQuestion, BuildOutcome, Died, HandingIn, Handoff, Input, Migrating, Oversize, PersonAct,
    PersonAnswer, Releasing, ReportInput, Retrying, Taking, Voted, holder::in_hand,
};

/// What an act is about, to be read where it is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputNeeds {
    /// The turn.
    pub turn: Option<TurnId>,
    /// The handoff that asked the question.
    pub asked: Option<(Cause, QuestionKind)>,
    /// Whether it goes on with what the entry that holds the work kept.
    pub feedback: bool,
}

/// What goes with an input, as it was read.
#[derive(Debug, Clone, Default)]
pub struct InputParts {
    /// The turn that it is about, as it stands.
    pub turn: Option<Box<Turn>>,
    /// The handoff that asked the question that is answered.
    pub asked: Option<Handed>,
    /// What the entry that holds the work kept for its next build turn.
    pub feedback: Option<Box<Feedback>>,
    /// What the rejecting votes of the fork said.
    pub voted: Vec<Voted>,
}

/// What was found out about a handoff besides what it says.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "there is one for a handoff that is taken")]
pub enum HandoffFacts {
    /// Nothing.
    Nothing,
    /// What its work came to.
    Work(BuildOutcome),
    /// The checkpoints of its gate on touched paths that hold.
    Touched(Vec<CriterionId>),
    /// Who had the turn before whose plan it is.
    Deaths(Vec<Death>),
}

impl InputNeeds {
    /// What this act is about, by what is open or held.
    #[must_use]
    pub fn of(state: &WaypointState, act: &artifact::Act) -> Self {
        let in_hand = |on: Option<&String>| in_hand(state, act.verb(), act.agent(), on).map(|open| open.turn.clone());
        let turn = match act {
            artifact::Act::Answer(response) => {
                let mut asked = state.phases().filter_map(question_of);
                let meant =
                    asked.find(|(_, (asked, _))| response.request.as_ref().is_none_or(|r| *r == asked.artifact));
                return meant.map_or_else(Self::default, |(turn, asked)| Self {
                    turn: Some(turn),
                    asked: Some(asked),
                    feedback: false,
                });
            }
            artifact::Act::Retry(_) | artifact::Act::Reconfigure(_) => return Self::of_held(state),
            artifact::Act::Take(take) => in_hand(take.on.as_ref()),
            artifact::Act::Release(release) => in_hand(release.on.as_ref()),
            artifact::Act::HandIn(work) => in_hand(work.on.as_ref()),
            artifact::Act::Complete(_)
            | artifact::Act::Revise(_)
            | artifact::Act::Cancel(_)
            | artifact::Act::Pause(_)
            | artifact::Act::Resume(_)
            | artifact::Act::Budget(_) => None,
        };
        Self { turn, ..Self::default() }
    }

    /// What work goes on with that is held, or that leaves its gate.
    #[must_use]
    pub fn of_held(state: &WaypointState) -> Self {
        let turn = match &state.phase {
            Phase::Held(Held { resume: Resume::Turn(open), .. }) => Some(open),
            Phase::Held(_) => return Self { feedback: true, ..Self::default() },
            other => other.turn(),
        };
        Self { turn: turn.map(|open| open.turn.clone()), ..Self::default() }
    }
}

/// The question that is open in a phase: its turn, who asks, and what it is.
fn question_of(phase: &Phase) -> Option<(TurnId, (Cause, QuestionKind))> {
    match phase {
        Phase::Waiting(question) => Some((question.turn.turn.clone(), (question.asked.clone(), question.kind))),
        Phase::InTurn(open) => {
            let asking = open.asking()?;
            Some((open.turn.clone(), (asking.asked.clone(), QuestionKind::Clarification)))
        }
        _ => None,
    }
}

impl HandoffFacts {
    /// As the entry says that answers this handoff.
    #[must_use]
    pub fn recorded(entry: &Entry, body: &Handed) -> Self {
        let what = entry.record().basis.as_ref().map(|basis| &basis.what);
        match (what, body) {
            (_, Handed::Plan) => match entry {
                Entry::Dead(dead) => Self::Deaths(dead.deaths.clone()),
                _ => Self::Nothing,
            },
            (Some(what), Handed::Built(built)) if built.status == BuildStatus::Failed => {
                let left = if let Happened::Work { commit, .. } = what { commit.clone() } else { None };
                Self::Work(BuildOutcome::Failed(failure(built), left))
            }
            (Some(Happened::Work { commit, violations }), _) => {
                Self::Work(BuildOutcome::Work { commit: commit.clone(), violations: violations.clone() })
            }
            (Some(Happened::Unusable), _) => {
                let failure = Failure { reason: ReasonCode::HandoffInvalid, detail: String::new() };
                Self::Work(BuildOutcome::Failed(failure, None))
            }
            (Some(Happened::Reported { touched }), _) => Self::Touched(touched.clone()),
            _ => Self::Nothing,
        }
    }

    fn work(self) -> BuildOutcome {
        let nothing = BuildOutcome::Work { commit: None, violations: Vec::new() };
        if let Self::Work(outcome) = self { outcome } else { nothing }
    }
}

/// Why a turn failed that makes work, as its agent says.
#[must_use]
pub fn failure(built: &BuildArtifact) -> Failure {
    let unsaid = || Failure { reason: ReasonCode::AgentFailed, detail: "no reason was given".to_owned() };
    built.failure.clone().unwrap_or_else(unsaid)
}

impl Handoff<()> {
    /// A handoff on a turn, with what its body says of every kind.
    #[must_use]
    pub fn on(turn: TurnId, (role, agent): (RoleId, AgentName), cause: Cause, body: &Handed) -> Self {
        let metered = body.metered().cloned().map(Box::new);
        Self { turn, role, agent, cause, told: None, metered, left_out: body.left_out().to_vec(), body: () }
    }
}

impl Input {
    /// What an agent handed off on its turn; `None` of a kind that leads to no entry.
    #[must_use]
    pub fn handed(handoff: Handoff<()>, body: Handed, facts: HandoffFacts, parts: InputParts) -> Option<Self> {
        let turn = parts.turn;
        let told = turn.as_ref().and_then(|turn| turn.told().cloned()).map(Box::new);
        let handoff = Handoff { told, ..handoff };
        Some(match (body, turn) {
            (Handed::Built(_), _) => Self::Built(handoff.with(facts.work())),
            (Handed::Reported(report), turn) => {
                let touched = if let HandoffFacts::Touched(touched) = facts { touched } else { Vec::new() };
                let for_build = turn.and_then(|turn| turn.for_build);
                Self::Reported(handoff.with(Box::new(ReportInput { report: *report, for_build, touched })))
            }
            (Handed::Clarify(asked), Some(turn)) => {
                Self::Asked(handoff.with(Box::new(AgentQuestion::question(&asked, facts.work().commit(), turn))))
            }
            (Handed::Help(call), Some(turn)) => {
                Self::Asked(handoff.with(Box::new(AgentQuestion::help(&call, facts.work().commit(), turn))))
            }
            // Nobody ever opened its turn: no input fits, and the step says so.
            (Handed::Clarify(_) | Handed::Help(_), None) => Self::Built(handoff.with(HandoffFacts::Nothing.work())),
            (Handed::Act(artifact::Act::Complete(completion)), Some(turn)) if turn.is_advice() => {
                Self::Advised(handoff.with(Box::new(Advised { completion: *completion, turn })))
            }
            (Handed::Act(artifact::Act::Complete(completion)), _) => Self::Fulfilled(handoff.with(completion)),
            (Handed::Plan, _) => {
                let HandoffFacts::Deaths(deaths) = facts else { return None };
                Self::Died(Died { turn: handoff.turn, cause: handoff.cause, deaths })
            }
            (Handed::Act(_) | Handed::GivenBack | Handed::Status(_) | Handed::Exchange(_), _) => return None,
        })
    }

    /// What a person did to a waypoint, or to the whole flight: `overtaken` and the rest are as in [`PersonAct`]. `None`: it is about
    /// something else.
    #[must_use]
    pub fn acted(
        act: artifact::Act,
        (cause, overtaken, on_waypoint): (Cause, bool, bool),
        facts: HandoffFacts,
        parts: InputParts,
    ) -> Option<Self> {
        let (by, InputParts { turn, asked, feedback, .. }) = (act.agent().clone(), parts);
        Some(match act {
            artifact::Act::Answer(response) => {
                let body = Box::new(PersonAnswer::to(asked.as_ref(), *response, turn));
                Self::Answered(PersonAct { by, cause, overtaken, body })
            }
            artifact::Act::Complete(body) => Self::Completed(PersonAct { by, cause, overtaken, body }),
            artifact::Act::Retry(retry) => {
                let body = Box::new(Retrying { retry: *retry, turn, feedback });
                Self::Retried(PersonAct { by, cause, overtaken, body })
            }
            artifact::Act::Take(take) => {
                Self::Taken(PersonAct { by, cause, overtaken, body: Box::new(Taking { on: take.on, turn }) })
            }
            artifact::Act::Release(release) => {
                Self::Released(PersonAct { by, cause, overtaken, body: Box::new(Releasing { on: release.on, turn }) })
            }
            artifact::Act::HandIn(work) => {
                let (on, verdicts) = (work.on, work.verdicts);
                let body = Box::new(HandingIn { on, outcome: facts.work(), verdicts, turn });
                Self::HandedIn(PersonAct { by, cause, overtaken, body })
            }
            artifact::Act::Revise(body) => Self::Revised(PersonAct { by, cause, overtaken, body }),
            artifact::Act::Cancel(cancel) => {
                Self::Cancelled(PersonAct { by, cause, overtaken, body: on_waypoint.then_some(cancel) })
            }
            artifact::Act::Reconfigure(_) if !on_waypoint => {
                Self::Reconfigured(PersonAct { by, cause, overtaken, body: Box::new(Migrating { turn, feedback }) })
            }
            artifact::Act::Reconfigure(_)
            | artifact::Act::Pause(_)
            | artifact::Act::Resume(_)
            | artifact::Act::Budget(_) => return None,
        })
    }

    /// What happened without a handoff; `None`: it takes one.
    #[must_use]
    pub fn unprompted(what: &Happened, parts: InputParts) -> Option<Self> {
        Some(match what {
            Happened::Opened => Self::Open,
            Happened::Gathered => Self::Gathered,
            Happened::Recalled => Self::Recalled,
            Happened::DeadlinePassed => Self::DeadlinePassed(parts.turn?),
            Happened::AnswerOverdue => Self::AnswerOverdue,
            Happened::Joined => Self::Joined(parts.voted),
            Happened::Integrated(merged) => Self::Integrated(merged.as_ref().clone()),
            // Why, and how large it was, is in the words for people only.
            Happened::LandingFailed => Self::LandingFailed(String::new()),
            Happened::TooLarge => Self::TooLarge(Oversize { bytes: 0, most: 0 }),
            Happened::BudgetExhausted => Self::BudgetExhausted,
            Happened::Handed | Happened::Work { .. } | Happened::Unusable | Happened::Reported { .. } => return None,
        })
    }

    /// What its entry records of it.
    pub(super) fn happened(&self) -> Happened {
        let of = |outcome: &BuildOutcome| match outcome.clone() {
            BuildOutcome::Work { commit, violations } => Happened::Work { commit, violations },
            BuildOutcome::Failed(_, None) => Happened::Unusable,
            BuildOutcome::Failed(_, commit) => Happened::Work { commit, violations: Vec::new() },
        };
        match self {
            Self::Open => Happened::Opened,
            Self::Gathered => Happened::Gathered,
            Self::Recalled => Happened::Recalled,
            Self::Built(handoff) => of(&handoff.body),
            Self::HandedIn(act) if act.body.verdicts.is_empty() => of(&act.body.outcome),
            Self::Asked(handoff) => Happened::Work { commit: handoff.body.work.clone(), violations: Vec::new() },
            Self::Reported(handoff) => Happened::Reported { touched: handoff.body.touched.clone() },
            Self::DeadlinePassed(_) => Happened::DeadlinePassed,
            Self::AnswerOverdue => Happened::AnswerOverdue,
            Self::Joined(_) => Happened::Joined,
            Self::Integrated(merged) => Happened::Integrated(Box::new(merged.clone())),
            Self::LandingFailed(_) => Happened::LandingFailed,
            Self::BudgetExhausted => Happened::BudgetExhausted,
            Self::TooLarge(_) => Happened::TooLarge,
            Self::Fulfilled(_)
            | Self::Advised(_)
            | Self::Answered(_)
            | Self::Completed(_)
            | Self::Retried(_)
            | Self::Taken(_)
            | Self::Released(_)
            | Self::HandedIn(_)
            | Self::Revised(_)
            | Self::Cancelled(_)
            | Self::Reconfigured(_)
            | Self::Died(_) => Happened::Handed,
        }
    }
}
