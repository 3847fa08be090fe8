//! Why a handoff is refused, and what its sender can do about it: a closed list, so that programs can act on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::words;

words! {
    /// What is wrong with a handoff. Later versions may add to these: a program that meets an unknown one goes by the
    /// action.
    RefusalCode {
        /// The subject is none that a turn named, or its partition is not the flight's.
        BadSubject = "bad_subject",
        /// There is no `Hp-Signature`.
        Unsigned = "unsigned",
        /// `Content-Type` is neither JSON nor MessagePack.
        ContentType = "content_type",
        /// The payload is larger than is read.
        TooLarge = "too_large",
        /// The payload is not JSON (or MessagePack) at all.
        Unreadable = "unreadable",
        /// The payload's `schema_version` is not one that is read.
        Version = "version",
        /// `Hp-Jwt` is not believed: another role's, expired, revoked, or not signed by this fleet.
        JwtRefused = "jwt_refused",
        /// The payload names another agent than the JWT.
        WrongAgent = "wrong_agent",
        /// `Hp-Signature` does not fit subject, payload and the agent's key.
        WrongSignature = "wrong_signature",
        /// Its sender handed off more often than an agent may.
        TooMany = "too_many",
        /// Its sender handed off again on the same waypoint before it could be taken: the newest counts.
        Superseded = "superseded",
        /// The subject names a flight or waypoint that does not exist.
        NoSuchWaypoint = "no_such_waypoint",
        /// The payload is not of the shape of its kind.
        WrongShape = "wrong_shape",
        /// The subject's last token is no kind of handoff.
        UnknownKind = "unknown_kind",
        /// No plan of this turn came before its final handoff.
        PlanMissing = "plan_missing",
        /// The turn was answered, superseded or cancelled, or never was.
        TurnNotOpen = "turn_not_open",
        /// The turn belongs to another role.
        WrongRole = "wrong_role",
        /// The flight's org chart binds the role to agents whom it names, and its sender is none of them.
        NotListed = "not_listed",
        /// The turn wants another kind of handoff.
        WrongKind = "wrong_kind",
        /// The handoff is about something else than what was asked.
        RequestMismatch = "request_mismatch",
        /// A completion that says too little, or what its gate does not take: `details` teaches how it goes.
        CompletionInvalid = "completion_invalid",
        /// The maker of the work does not complete a later gate of it.
        OwnWork = "own_work",
        /// An agent votes once in a fork.
        AlreadyVoted = "already_voted",
        /// A verdict names evidence that is not stored.
        EvidenceMissing = "evidence_missing",
        /// The bundle that a build artifact names is not stored.
        WorkMissing = "work_missing",
        /// What the handoff refers to did not appear in the time that an orchestrator waits for it.
        NeverStored = "never_stored",
        /// The handed-off work cannot be taken: the turn was decided as failed, with `handoff_invalid`.
        WorkRefused = "work_refused",
    }
}

/// What the sender does after a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefusalAction {
    /// The turn is still open: correct it and hand off again, under a message id with another `n`.
    Correct,
    /// Store what is missing. The handoff is looked at again by itself; do not send it again.
    Store,
    /// No other handoff is wanted: acknowledge the delivery and take the next turn.
    Drop,
}

impl RefusalCode {
    /// What the sender does.
    #[must_use]
    pub fn action(self) -> RefusalAction {
        match self {
            Self::TurnNotOpen
            | Self::WrongRole
            | Self::OwnWork
            | Self::AlreadyVoted
            | Self::NotListed
            | Self::WorkRefused
            | Self::Superseded => RefusalAction::Drop,
            Self::EvidenceMissing | Self::WorkMissing => RefusalAction::Store,
            _ => RefusalAction::Correct,
        }
    }

    /// How its author fixes it, in one sentence.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::BadSubject | Self::NoSuchWaypoint => {
                "publish on the turn's handoff_subject as it stands, a dot, and the kind"
            }
            Self::ContentType => "set Content-Type to application/json, and send JSON",
            Self::TooLarge => "store what is long as a blob and name its digest",
            Self::Unreadable => "send one JSON object in UTF-8 and nothing behind it, nested at most 64 levels",
            Self::WrongShape => "compare with the schema that `holdpoint schema KIND` prints; every field is needed",
            Self::Version => "write schema_version 1.0",
            Self::UnknownKind => {
                "the kinds are build_plan, build_artifact, verification_plan, verification_report, completion_plan, \
                 completion, clarification_request and help_request"
            }
            Self::Unsigned => {
                "set Hp-Signature: unpadded base64url of the ed25519 signature, by the key of your .creds file, over \
                 subject, line feed, payload"
            }
            Self::WrongSignature => {
                "sign exactly the subject you publish on, one line feed, and the bytes you send, with the key of the \
                 .creds file whose JWT you show; write it as unpadded base64url"
            }
            Self::JwtRefused => {
                "put the JWT of your own .creds file into Hp-Jwt, as it stands; if it expired or was revoked, ask the \
                 operator for new credentials"
            }
            Self::WrongAgent => "the agent field is the name in your credentials' JWT",
            Self::PlanMissing => {
                "publish build_plan, verification_plan or completion_plan for this turn, with Hp-Jwt, before anything else"
            }
            Self::TurnNotOpen => {
                "acknowledge the delivery and take the next turn; ask progress in time to learn it earlier"
            }
            Self::WrongRole => "answer only turns that your own consumers delivered; acknowledge and go on",
            Self::WrongKind => {
                "a turn that wants `build` ends with build_artifact, one that wants `verify` with verification_report, one that \
                 wants `complete` with completion"
            }
            Self::RequestMismatch => {
                "take purpose, commit, tree and the ids of criteria and guards from the turn's request, each id once"
            }
            Self::CompletionInvalid => "details.message says what is wrong, and shows a completion that is taken",
            Self::OwnWork => "acknowledge the delivery: another agent of the role has to look at what this one made",
            Self::AlreadyVoted => {
                "acknowledge the delivery: another agent of the role has to vote in this branch of the fork"
            }
            Self::NotListed => {
                "acknowledge the delivery: the org chart says onlyListed of the role; to take its turns, have your name added to the \
                 role's agents in org.yaml, and `holdpoint org reload`"
            }
            Self::EvidenceMissing => "store the output under its digest on your role's blob subjects, chunk 0 last",
            Self::WorkMissing => "store the bundle under its digest on your role's blob subjects, chunk 0 last",
            Self::WorkRefused => {
                "hand off one commit whose only parent is request.base, in a thin bundle with exactly one ref; the next \
                 turn says what was wrong"
            }
            Self::NeverStored => {
                "store every blob first and wait for the broker's acknowledgement of each chunk; then hand off again, \
                 under a message id with another `n`"
            }
            Self::TooMany => {
                "hand off once for each delivery; the turn stays open: hand off again when your handoffs of the last hour are \
                 fewer than the error says, and ask your operator if this was honest work"
            }
            Self::Superseded => {
                "nothing to do: your newer handoff counts in its place; hand off once for each delivery"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_the_wire_and_every_code_says_what_to_do() {
        for code in RefusalCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
            assert!(code.hint().len() > 20, "{code}");
        }
        let mut words = RefusalCode::ALL.map(RefusalCode::as_str).to_vec();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), RefusalCode::ALL.len());
    }
}
