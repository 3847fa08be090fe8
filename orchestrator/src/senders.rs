//! Who sent a handoff: the broker's permissions say which role, the signature says which agent.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
};

use holdpoint_bus::{Bus, Stored, auth::KnownUsers, journal::ReadError, past};
use holdpoint_protocol::{
    codec::{self, Encoding},
    facts::Harness,
    ids::{AgentName, RoleId, TurnId, role},
    names::PLAN_KINDS,
    refusal::RefusalCode,
    subjects::HandoffSubject,
};
use serde::Deserialize;

/// Agents whose keys are remembered; past that the oldest knowledge is read again from their plans.
const KNOWN_MAX: usize = 4096;

/// JWTs in its plans by which an agent is tried to be known, the newest ones: it has one, or two with a new key.
const JWTS_TRIED_MAX: usize = 8;

/// Why a sender is not believed, or not yet.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SenderError {
    /// It will not get better.
    #[error("{what}")]
    Refused {
        /// For the sender's program.
        code: RefusalCode,
        /// For people.
        what: String,
    },
    /// The broker did not answer: the handoff may be as good as any.
    #[error("cannot look up who sent it")]
    Unknown(#[source] ReadError),
}

impl SenderError {
    /// A refusal.
    pub(crate) fn refused(code: RefusalCode, what: impl Into<String>) -> Self {
        Self::Refused { code, what: what.into() }
    }
}

/// Remembers which JWT an agent showed last, whatever its flights.
#[derive(Debug)]
pub(crate) struct Senders {
    users: KnownUsers,
    /// By role and name.
    known: Mutex<HashMap<(RoleId, AgentName), String>>,
}

impl Senders {
    /// Knows nobody yet.
    pub(crate) fn new(users: KnownUsers) -> Self {
        Self { users, known: Mutex::default() }
    }

    /// Whether a handoff is this agent's, by what it shows and what is remembered, and whose harness its key is for: nothing is
    /// read for it. `None`: its sender has to be looked up.
    pub(crate) fn recognise(
        &self,
        role: &RoleId,
        stored: &Stored,
        agent: &AgentName,
    ) -> Result<Option<Harness>, SenderError> {
        if stored.signature.is_none() {
            return Err(SenderError::refused(RefusalCode::Unsigned, "there is no Hp-Signature"));
        }
        if let Some(jwt) = &stored.jwt {
            return self.verify_by(jwt, role, stored, agent).map(Some);
        }
        // Asked again each time: it may have been revoked.
        let known = self.known(role, agent);
        Ok(known.and_then(|jwt| self.verify_by(&jwt, role, stored, agent).ok()))
    }

    /// Whether a handoff is this agent's, and whose harness its key is for, or why not.
    pub(crate) async fn verify(
        &self,
        bus: &Bus,
        subject: &HandoffSubject,
        stored: &Stored,
        agent: &AgentName,
    ) -> Result<Harness, SenderError> {
        if let Some(harness) = self.recognise(&subject.role, stored, agent)? {
            return Ok(harness);
        }
        // Nothing is remembered after a restart; and the same agent may have been given a new key.
        let mut shown = Newest::default();
        let look = |plan: Plan| {
            plan.jwt.filter(|_| plan.agent == *agent).into_iter().for_each(|jwt| shown.take(jwt));
            false
        };
        any_plan(bus, subject, look).await.map_err(SenderError::Unknown)?;
        let unplanned = "no plan of its agent with a JWT came before this handoff";
        let mut refused = SenderError::refused(RefusalCode::PlanMissing, unplanned);
        for jwt in shown.0.into_iter().rev() {
            match self.verify_by(&jwt, &subject.role, stored, agent) {
                Ok(harness) => return Ok(harness),
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    /// Whether an act is this person's, and why not. It shows its own JWT each time: people have no plans.
    pub(crate) fn verify_person(&self, stored: &Stored, person: &AgentName) -> Result<(), SenderError> {
        let Some(jwt) = &stored.jwt else {
            return Err(SenderError::refused(RefusalCode::JwtRefused, "there is no Hp-Jwt"));
        };
        self.verify_by(jwt, &role::id(role::OPERATOR), stored, person).map(drop)
    }

    /// The person whose JWT an act shows and whose key signed it, no matter whom the act names.
    pub(crate) fn person(&self, stored: &Stored) -> Option<AgentName> {
        self.signer(&role::id(role::OPERATOR), stored, stored.jwt.as_ref()?)
    }

    /// Whose handoff it is, whatever became of it: the agent whose JWT it shows, or the one that it names in its message id or
    /// else in its payload. Whether that agent's key signed it comes with the name; `false`: anybody of the role may have.
    pub(crate) fn author(&self, role: &RoleId, stored: &Stored) -> Option<(AgentName, bool)> {
        if let Some(shown) = stored.jwt.as_ref().and_then(|jwt| self.signer(role, stored, jwt)) {
            return Some((shown, true));
        }
        let has_signed = |name: &AgentName| {
            let known = self.known(role, name).filter(|_| stored.signature.is_some());
            known.is_some_and(|jwt| self.signer(role, stored, &jwt).as_ref() == Some(name))
        };
        let by_id = named_by_id(stored);
        if let Some(name) = by_id.clone().filter(has_signed) {
            return Some((name, true));
        }
        let by_payload = named_by_payload(stored);
        if let Some(name) = by_payload.clone().filter(has_signed) {
            return Some((name, true));
        }
        by_id.or(by_payload).map(|name| (name, false))
    }

    /// The user of this JWT, if it counts and its key signed what is stored.
    fn signer(&self, role: &RoleId, stored: &Stored, jwt: &str) -> Option<AgentName> {
        let user = self.users.verify_jwt_of(role, jwt, holdpoint_runtime::clock::now()).ok()?;
        stored.is_signed_by(&user.public_key).then_some(user.name)
    }

    fn verify_by(&self, jwt: &str, role: &RoleId, stored: &Stored, agent: &AgentName) -> Result<Harness, SenderError> {
        let user = self.users.verify_jwt_of(role, jwt, holdpoint_runtime::clock::now());
        let user =
            user.map_err(|refusal| SenderError::refused(RefusalCode::JwtRefused, format!("Hp-Jwt: {refusal}")))?;
        if user.name != *agent {
            let what = format!("the handoff names agent {agent}, its JWT names {}", user.name);
            return Err(SenderError::refused(RefusalCode::WrongAgent, what));
        }
        if !stored.is_signed_by(&user.public_key) {
            let what = "the signature does not fit subject, payload and the agent's key";
            return Err(SenderError::refused(RefusalCode::WrongSignature, what));
        }
        let harness = user.harness();
        self.remember(role.clone(), user.name, jwt);
        Ok(harness)
    }

    /// The key by which an agent's last handoffs were known to be its own.
    pub(crate) fn key(&self, role: &RoleId, agent: &AgentName) -> Option<String> {
        let jwt = self.known(role, agent)?;
        let user = self.users.verify_jwt_of(role, &jwt, holdpoint_runtime::clock::now()).ok()?;
        Some(user.public_key)
    }

    fn known(&self, role: &RoleId, agent: &AgentName) -> Option<String> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(role.clone(), agent.clone())).cloned()
    }

    fn remember(&self, role: RoleId, agent: AgentName, jwt: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert((role, agent), jwt.to_owned());
    }
}

/// The agent as the message id names it.
fn named_by_id(stored: &Stored) -> Option<AgentName> {
    stored.message_id.as_deref()?.split('.').nth(2)?.parse().ok()
}

/// The agent as the payload names it.
fn named_by_payload(stored: &Stored) -> Option<AgentName> {
    /// What is looked at of a handoff.
    #[derive(Deserialize)]
    struct Named {
        agent: AgentName,
    }
    let encoding = Encoding::from_content_type(stored.content_type.as_deref()).ok()?;
    codec::decode::<Named>(&stored.payload, encoding).ok().map(|named| named.agent)
}

/// Whether a plan of this waypoint and role is one for this turn.
pub(crate) async fn has_planned(bus: &Bus, subject: &HandoffSubject, turn: &TurnId) -> Result<bool, ReadError> {
    any_plan(bus, subject, |plan| plan.turn == *turn).await
}

/// Whether this agent planned for the turn. Another agent that names it has to know the turn, which nobody can guess.
pub(crate) async fn has_planned_as(
    bus: &Bus,
    subject: &HandoffSubject,
    turn: &TurnId,
    agent: &AgentName,
) -> Result<bool, ReadError> {
    any_plan(bus, subject, |plan| plan.turn == *turn && plan.agent == *agent).await
}

/// What is looked at of a plan.
#[derive(Deserialize)]
struct Plan {
    turn: TurnId,
    agent: AgentName,
    /// What came with it.
    #[serde(skip)]
    jwt: Option<String>,
}

/// JWTs that were shown, each once, in the order in which they were shown last: the newest [`JWTS_TRIED_MAX`].
#[derive(Default)]
struct Newest(VecDeque<String>);

impl Newest {
    fn take(&mut self, jwt: String) {
        self.0.retain(|known| *known != jwt);
        self.0.push_back(jwt);
        self.0.drain(..self.0.len().saturating_sub(JWTS_TRIED_MAX));
    }
}

/// Whether this holds of a plan of a waypoint and role: those of each kind are looked at, oldest first, until it does. How many there
/// are, and how large they are, is their senders' to choose: one message is read at a time, and none is kept.
async fn any_plan(bus: &Bus, subject: &HandoffSubject, mut is_it: impl FnMut(Plan) -> bool) -> Result<bool, ReadError> {
    for kind in PLAN_KINDS {
        let mut replay = past::of_kind(bus, &subject.role, &subject.flight, &subject.waypoint, kind).await?.frugal();
        while let Some(stored) = replay.next().await? {
            let encoding = Encoding::from_content_type(stored.content_type.as_deref()).ok();
            let plan = encoding.and_then(|encoding| codec::decode::<Plan>(&stored.payload, encoding).ok());
            if plan.is_some_and(|plan| is_it(Plan { jwt: stored.jwt, ..plan })) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests;
