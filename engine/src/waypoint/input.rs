//! What can happen to a waypoint, and what each of it carries.
//!
//! Nothing here decides; what is read off objects or handoffs is the caller's.

use holdpoint_protocol::{
    Digest, Timestamp,
    artifact::{
        Cancel, ClarificationRequest, ClarificationResponse, Completion, Conversation, Failure, GivenVerdict, Handed,
        HelpRequest, Metered, Retry, Revise, VerificationReport,
    },
    checkpoint::GateDocument,
    facts::{LeftOut, Violation},
    ids::{AgentName, CriterionId, RoleId, TurnId},
    journal::{BundledCommit, Cause, Death, Merged},
    reason::BlockReason,
    state::QuestionKind,
    turn::{Feedback, Turn},
};

/// What happens to a waypoint.
#[derive(Debug, Clone)]
pub enum Input {
    /// Its dependencies are complete and there is room; or a branch of the fork that it is in has no turn yet.
    Open,
    /// All children that it waits for are complete.
    Gathered,
    /// It is a child that its parent does not want any more.
    Recalled,
    /// A build or repair turn ended.
    Built(Handoff<BuildOutcome>),
    /// A verifier reported.
    Reported(Handoff<Box<ReportInput>>),
    /// An agent completed a gate, or its turn failed.
    Fulfilled(Handoff<Box<Completion>>),
    /// An advisor answered, or its turn failed.
    Advised(Handoff<Box<Advised>>),
    /// An agent asked a question or called for help.
    Asked(Handoff<Box<AgentQuestion>>),
    /// A person answers the open question.
    Answered(PersonAct<Box<PersonAnswer>>),
    /// A person completes a gate.
    Completed(PersonAct<Box<Completion>>),
    /// A person has held work tried again.
    Retried(PersonAct<Box<Retrying>>),
    /// A person takes over a turn that agents have.
    Taken(PersonAct<Box<Taking>>),
    /// A person gives back a turn that was taken over.
    Released(PersonAct<Box<Releasing>>),
    /// A person hands in work on a turn that was taken over.
    HandedIn(PersonAct<Box<HandingIn>>),
    /// A person edits the document of a gate.
    Revised(PersonAct<Box<Revise>>),
    /// A person ends the waypoint; without a body, its whole flight.
    Cancelled(PersonAct<Option<Box<Cancel>>>),
    /// A person had the flight go on by other workflows, and the waypoint is at a gate that is gone or another role's.
    Reconfigured(PersonAct<Box<Migrating>>),
    /// Nothing was handed off in time on this turn, as it stands.
    DeadlinePassed(Box<Turn>),
    /// Agents took this turn and were never heard of again.
    Died(Died),
    /// The open question got no answer in time.
    AnswerOverdue,
    /// The votes of its fork decide; with what the rejecting ones said.
    Joined(Vec<Voted>),
    /// Its accepted commit stands on an older head; or it is merged behind other accepted work.
    Integrated(Merged),
    /// Its landing failed again and again; why, in one line.
    LandingFailed(String),
    /// The flight's budget is used up.
    BudgetExhausted,
    /// The next entry is larger than a message may be: it can never be appended.
    TooLarge(Oversize),
}

impl Input {
    /// The document that comes with it.
    #[must_use]
    pub fn document(&self) -> Option<&GateDocument> {
        match self {
            // That of a turn that failed is for people, and goes to no turn.
            Self::Fulfilled(handoff) => handoff.body.document.as_deref().filter(|_| handoff.body.failure.is_none()),
            Self::Completed(act) => act.body.document.as_deref(),
            Self::Revised(act) => Some(&act.body.document),
            _ => None,
        }
    }

    /// The act that it is, by where it is stored.
    pub(super) fn act(&self) -> Option<&Cause> {
        match self {
            Self::Answered(act) => Some(&act.cause),
            Self::Completed(act) => Some(&act.cause),
            Self::Retried(act) => Some(&act.cause),
            Self::Taken(act) => Some(&act.cause),
            Self::Released(act) => Some(&act.cause),
            Self::HandedIn(act) => Some(&act.cause),
            Self::Revised(act) => Some(&act.cause),
            Self::Cancelled(act) => Some(&act.cause),
            _ => None,
        }
    }
}

/// An entry that is too large, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Oversize {
    /// Its size.
    pub bytes: usize,
    /// The limit.
    pub most: usize,
}

/// A final handoff.
#[derive(Debug, Clone)]
pub struct Handoff<T> {
    /// The turn it answers.
    pub turn: TurnId,
    /// The role that published it, from its subject.
    pub role: RoleId,
    /// The agent that signed it.
    pub agent: AgentName,
    /// Where it is stored.
    pub cause: Cause,
    /// The instructions of its turn, where the turn failed: the next one has to know them as well.
    pub told: Option<Box<Feedback>>,
    /// What its program used up, as far as it says.
    pub metered: Option<Box<Metered>>,
    /// What its clone had besides the work, as its harness says.
    pub left_out: Vec<LeftOut>,
    /// What it says.
    pub body: T,
}

impl<B> Handoff<B> {
    /// The same handoff with another body.
    #[must_use]
    pub fn with<T>(self, body: T) -> Handoff<T> {
        let Self { turn, role, agent, cause, told, metered, left_out, body: _ } = self;
        Handoff { turn, role, agent, cause, told, metered, left_out, body }
    }
}

/// A verifier's report, with what follows it.
#[derive(Debug, Clone)]
pub struct ReportInput {
    /// The report. Whether its receipt is foreign is what its sender's key says, in place of what the report says of itself.
    pub report: VerificationReport,
    /// What its turn keeps for the build turn behind it.
    pub for_build: Option<Box<Feedback>>,
    /// The checkpoints of its gate on touched paths that hold, as git says.
    pub touched: Vec<CriterionId>,
}

/// What a person did.
#[derive(Debug, Clone)]
pub struct PersonAct<T> {
    /// Who signed it.
    pub by: AgentName,
    /// Where it is stored.
    pub cause: Cause,
    /// Whether the waypoint moved on after the act was stored: then an act that does not name what its person looked at is
    /// about something that is gone.
    pub overtaken: bool,
    /// What it says.
    pub body: T,
}

/// A question, or a call for help.
#[derive(Debug, Clone)]
pub struct AgentQuestion {
    /// Which of both.
    pub kind: QuestionKind,
    /// Its words: kept in the handoff, never in the state (FLY-18).
    pub question: String,
    /// What depends on it, or the JSON context of a call; for advisors only.
    pub context: String,
    /// The answers that its asker can work with.
    pub options: Vec<String>,
    /// What kind of obstacle is in the asker's way.
    pub block_reason: BlockReason,
    /// Distinguishes it from other questions of the turn: the digest of its words.
    pub words: Digest,
    /// Whether it ends its turn.
    pub ends: Ends,
    /// What was there when it was asked, as the orchestrator found it in the objects.
    pub work: Option<BundledCommit>,
    /// The conversation in which it was asked: kept in the handoff, never in the state.
    pub conversation: Option<Conversation>,
    /// The open turn, as it stands.
    pub turn: Box<Turn>,
}

/// Whether a question ends its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// It is the turn's result.
    Turn,
    /// It is the turn's result now; its agent waited for the answer in the turn before.
    TurnAfterAll,
    /// Not before the agent has waited for the answer until then.
    NotBefore(Timestamp),
}

impl AgentQuestion {
    /// A question as it was handed off, with the work in progress and the open turn.
    #[must_use]
    pub fn question(asked: &ClarificationRequest, work: Option<BundledCommit>, turn: Box<Turn>) -> Self {
        Self {
            kind: QuestionKind::Clarification,
            question: asked.question.clone(),
            context: asked.decision_context.clone(),
            options: asked.options.clone(),
            block_reason: asked.block_reason,
            words: asked.words(),
            ends: match asked.waits_until {
                Some(until) => Ends::NotBefore(until),
                None if asked.waited => Ends::TurnAfterAll,
                None => Ends::Turn,
            },
            work,
            conversation: asked.conversation.clone(),
            turn,
        }
    }

    /// A call for help as it was handed off.
    #[must_use]
    pub fn help(call: &HelpRequest, work: Option<BundledCommit>, turn: Box<Turn>) -> Self {
        Self {
            kind: QuestionKind::Help,
            question: call.raw_line.clone(),
            context: call.context.as_ref().map(ToString::to_string).unwrap_or_default(),
            options: Vec::new(),
            block_reason: BlockReason::NeedsHumanInput,
            words: Digest::of(call.raw_line.as_bytes()),
            ends: Ends::Turn,
            work,
            conversation: call.conversation.clone(),
            turn,
        }
    }
}

/// An answer, with what it answers.
#[derive(Debug, Clone)]
pub struct PersonAnswer {
    /// The answer.
    pub response: ClarificationResponse,
    /// The words of the question.
    pub question: String,
    /// Its options.
    pub options: Vec<String>,
    /// The conversation in which it was asked.
    pub conversation: Option<Conversation>,
    /// The turn in which it was asked, as it stands; `None` where no question is open.
    pub turn: Option<Box<Turn>>,
}

impl PersonAnswer {
    /// An answer to a question or a call for help, as it was handed off in that turn. Where nothing is open there are no words.
    #[must_use]
    pub fn to(asked: Option<&Handed>, response: ClarificationResponse, turn: Option<Box<Turn>>) -> Self {
        let (question, options, conversation) = match asked {
            Some(Handed::Clarify(asked)) => (asked.question.clone(), asked.options.clone(), asked.conversation.clone()),
            Some(Handed::Help(help)) => (help.raw_line.clone(), Vec::new(), help.conversation.clone()),
            _ => (String::new(), Vec::new(), None),
        };
        Self { response, question, options, conversation, turn }
    }
}

/// A retry, with what is needed to go on.
#[derive(Debug, Clone)]
pub struct Retrying {
    /// The act.
    pub retry: Retry,
    /// The turn that is held, where it is one.
    pub turn: Option<Box<Turn>>,
    /// What the entry that holds the work kept for its next build turn.
    pub feedback: Option<Box<Feedback>>,
}

/// What goes with work that leaves its gate because the workflow was declared otherwise.
#[derive(Debug, Clone)]
pub struct Migrating {
    /// The turn that it leaves, as it stands, where it is one.
    pub turn: Option<Box<Turn>>,
    /// What the entry that holds the work kept for its next build turn.
    pub feedback: Option<Box<Feedback>>,
}

/// A turn was taken once more than its agents answered for.
#[derive(Debug, Clone)]
pub struct Died {
    /// The turn.
    pub turn: TurnId,
    /// The plan of its holder.
    pub cause: Cause,
    /// Who had it before.
    pub deaths: Vec<Death>,
}

/// What a build turn came to, as the orchestrator computed it from the objects.
#[derive(Debug, Clone)]
pub enum BuildOutcome {
    /// One commit on the base; or nothing changed.
    Work {
        /// The commit, its tree and the bundle that brings it; `None` when nothing changed.
        commit: Option<BundledCommit>,
        /// Broken path rules.
        violations: Vec<Violation>,
    },
    /// Nothing to judge. The files that were there are work in progress: the next turn starts from them.
    Failed(Failure, Option<BundledCommit>),
}

impl BuildOutcome {
    /// The commit that is there, finished or not.
    #[must_use]
    pub fn commit(self) -> Option<BundledCommit> {
        match self {
            Self::Work { commit, .. } | Self::Failed(_, commit) => commit,
        }
    }
}

/// What an advisor handed off.
#[derive(Debug, Clone)]
pub struct Advised {
    /// The handoff: its summary is the advice.
    pub completion: Completion,
    /// The advisor's turn, as it stands.
    pub turn: Box<Turn>,
}

/// What the next maker of the work learns from the entry of a vote.
#[derive(Debug, Clone, PartialEq)]
pub struct Voted {
    /// The digest of the handoff or act that brought it.
    pub cause: Digest,
    /// Its words.
    pub feedback: Feedback,
}

/// A turn to take over.
#[derive(Debug, Clone)]
pub struct Taking {
    /// The turn that its person looked at.
    pub on: Option<String>,
    /// The open turn, as it stands.
    pub turn: Option<Box<Turn>>,
}

/// A turn to give back.
#[derive(Debug, Clone)]
pub struct Releasing {
    /// The turn that its person looked at.
    pub on: Option<String>,
    /// The open turn, as it stands.
    pub turn: Option<Box<Turn>>,
}

/// Work of a person.
#[derive(Debug, Clone)]
pub struct HandingIn {
    /// The turn that its person looked at.
    pub on: Option<String>,
    /// What it came to, as the orchestrator computed it from the objects.
    pub outcome: BuildOutcome,
    /// Of a verification: verdicts on criteria without a check.
    pub verdicts: Vec<GivenVerdict>,
    /// The open turn, as it stands.
    pub turn: Option<Box<Turn>>,
}
