//! Ids are newtypes, parsed at the edge. All of them are single NATS subject tokens.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest id in bytes. Ids are subject tokens, file names and branch names; 64 keeps all of them short.
pub const ID_LEN_MAX: usize = 64;

/// Why a text is not an id: `[A-Za-z0-9][A-Za-z0-9_-]{0,63}` (contract, "Plan file"), of a pool without capitals.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not an id: use {}, digits, `_` and `-`, start with a letter or digit, at most 64 characters",
    .case.letters()
)]
pub struct InvalidId {
    /// The refused text, cut to 80 characters.
    pub text: String,
    /// Which letters it may have.
    pub case: Case,
}

/// Which letters an id may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Small and capital ones.
    Any,
    /// Small ones: the broker knows the id from a tag, and tags are lower case.
    Lower,
}

impl Case {
    fn letters(self) -> &'static str {
        match self {
            Self::Any => "letters",
            Self::Lower => "lower-case letters",
        }
    }

    fn check(self, text: &str) -> Result<(), InvalidId> {
        let letter = |b: u8| b.is_ascii_lowercase() || (self == Self::Any && b.is_ascii_uppercase());
        let mut bytes = text.bytes();
        let head = bytes.next().is_some_and(|b| letter(b) || b.is_ascii_digit());
        let tail = bytes.all(|b| letter(b) || b.is_ascii_digit() || b == b'_' || b == b'-');
        if head && tail && text.len() <= ID_LEN_MAX {
            return Ok(());
        }
        Err(InvalidId { text: text.chars().take(80).collect(), case: self })
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        id! { $(#[$doc])* $name, Case::Any }
    };
    ($(#[$doc:meta])* $name:ident, $case:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "String", into = "String")]
        #[schemars(with = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks and takes a text as an id.
            ///
            /// # Errors
            /// [`InvalidId`] when the text is not a single subject token of the allowed characters.
            pub fn try_new(text: impl Into<String>) -> Result<Self, InvalidId> {
                let text = text.into();
                $case.check(&text)?;
                Ok(Self(text))
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<Self, InvalidId> {
                Self::try_new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::try_new(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// The name of one agent process: the holder of one key.
    AgentName
}
id! {
    /// One artifact, unique over all flights.
    ArtifactId
}
id! {
    /// An acceptance criterion or guard, unique within its waypoint (criteria) or plan (guards).
    CriterionId
}
id! {
    /// A running of a plan against a repository.
    FlightId
}
id! {
    /// A gate of a workflow.
    GateId
}
id! {
    /// Which agents may take which turns: `fleet`, or the flight of a local run. Lower case only.
    PoolId, Case::Lower
}
id! {
    /// A role of the org chart. The built-in ones are in [`role`].
    RoleId
}
id! {
    /// One turn of one agent: an unguessable fencing token.
    TurnId
}
id! {
    /// A unit of work with acceptance criteria.
    WaypointId
}

/// The built-in roles.
pub mod role {
    use super::RoleId;

    /// Owns the journal and every decision (FLY-1).
    pub const ORCHESTRATOR: &str = "orchestrator";
    /// The write plane (FLY-2).
    pub const BUILDER: &str = "builder";
    /// The judge plane (FLY-3).
    pub const VERIFIER: &str = "verifier";
    /// Fixes failing criteria (FLY-4).
    pub const REPAIR: &str = "repair";
    /// One agent alone: it makes work, and its harness checks that work, in flights of `mode: single` (FLY-36). Its keys are the
    /// operator's leave for such flights.
    pub const SOLO: &str = "solo";
    /// A person's or a script's command line.
    pub const OPERATOR: &str = "operator";
    /// What takes flights off the broker (`holdpoint archive`): the only key that deletes.
    pub const ARCHIVIST: &str = "archivist";
    /// What copies all streams from one broker to another (`holdpoint migrate`).
    pub const MIGRATOR: &str = "migrator";
    /// Gives advice to agents that call for help, in fleets that have it. Like every role that is not built in, it is
    /// declared by its keys.
    pub const ADVISOR: &str = "advisor";

    /// The fleet's own: no agent takes turns of them.
    pub const OWN: [&str; 4] = [ORCHESTRATOR, OPERATOR, ARCHIVIST, MIGRATOR];
    /// The roles whose agents take turns in the built-in workflow `fly`.
    pub const AGENTS: [&str; 3] = [BUILDER, VERIFIER, REPAIR];

    /// The roles that hand something off: agents, and people with their acts.
    pub const HANDING: [&str; 4] = [BUILDER, VERIFIER, REPAIR, OPERATOR];

    /// The roles that store blobs: work, evidence, snapshots, and what orchestrators make of them. Each has a stream of its own.
    pub const STORING: [&str; 5] = [BUILDER, VERIFIER, REPAIR, OPERATOR, ORCHESTRATOR];

    /// The roles whose agents report verifications. Evidence is theirs.
    pub const JUDGING: [&str; 2] = [VERIFIER, SOLO];

    /// The roles among whose blobs people look for evidence and output, in this order.
    pub const SHOWN: [&str; 6] = [VERIFIER, SOLO, BUILDER, REPAIR, ORCHESTRATOR, OPERATOR];

    /// A built-in role as an id.
    #[must_use]
    pub fn id(name: &'static str) -> RoleId {
        RoleId::try_new(name).expect("built-in role names are ids")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_subject_token() {
        for good in ["a", "Retry-backoff_2", "0x", &"a".repeat(64)] {
            assert!(WaypointId::try_new(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "_", "a.b", "a b", "a*", ">", "ä", &"a".repeat(65)] {
            assert!(WaypointId::try_new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_pool_is_one_subject_token_in_lower_case() {
        for good in ["fleet", "demo-1", "0_x"] {
            assert!(PoolId::try_new(good).is_ok(), "{good}");
        }
        for bad in ["Fleet", "a.b", "*", ">", "-a", ""] {
            assert!(PoolId::try_new(bad).unwrap_err().to_string().contains("lower-case letters"), "{bad}");
        }
    }

    #[test]
    fn an_invalid_id_is_refused_when_read() {
        assert!(serde_json::from_str::<FlightId>("\"a.b\"").is_err());
        assert_eq!(serde_json::from_str::<FlightId>("\"a-b\"").unwrap().as_str(), "a-b");
    }
}
