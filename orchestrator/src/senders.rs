//! Who sent a handoff: the broker's permissions say which role, the signature says which agent.

use std::collections::HashMap;

use holdpoint_bus::{Stored, auth::VerifiedUser, journal::ReadError, past};
use holdpoint_protocol::{
    artifact::{Artifact, BuildPlan, VerificationPlan},
    subjects::HandoffSubject,
};

use crate::shell::Shell;

/// Kinds by which an agent plans; they carry its JWT.
const PLAN_KINDS: [&str; 2] = [BuildPlan::KIND, VerificationPlan::KIND];
/// Agents whose keys are remembered; past that the oldest knowledge is read again from their plans.
const KNOWN_MAX: usize = 4096;

/// Why a sender is not believed, or not yet.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SenderError {
    /// It will not get better.
    #[error("{0}")]
    Refused(String),
    /// The broker did not answer: the handoff may be as good as any.
    #[error("cannot look up who sent it")]
    Unknown(#[source] ReadError),
}

/// Remembers which key belongs to which agent.
#[derive(Default)]
pub(crate) struct Senders {
    known: HashMap<String, VerifiedUser>,
}

impl Senders {
    /// The verified sender of a handoff, or why it is not believed.
    pub(crate) async fn verify(
        &mut self,
        shell: &Shell,
        subject: &HandoffSubject,
        stored: &Stored,
        agent: &str,
    ) -> Result<VerifiedUser, SenderError> {
        let key = format!("{}.{agent}", subject.role);
        let user = match (&stored.jwt, self.known.get(&key)) {
            (Some(jwt), _) => self.believe(shell, subject, jwt)?,
            (None, Some(user)) => user.clone(),
            (None, None) => {
                let jwt = planned(shell, subject).await.map_err(SenderError::Unknown)?;
                let none = || SenderError::Refused("no plan with a JWT came before this handoff".to_owned());
                self.believe(shell, subject, &jwt.ok_or_else(none)?)?
            }
        };
        if user.name.as_str() != agent {
            let what = format!("the handoff names agent {agent}, its JWT names {}", user.name);
            return Err(SenderError::Refused(what));
        }
        if !stored.is_signed_by(&user.public_key) {
            let what = "the signature does not fit subject, payload and the agent's key";
            return Err(SenderError::Refused(what.to_owned()));
        }
        Ok(user)
    }

    fn believe(&mut self, shell: &Shell, subject: &HandoffSubject, jwt: &str) -> Result<VerifiedUser, SenderError> {
        let user = shell
            .roots
            .verify_jwt_of(&subject.role, jwt, holdpoint_runtime::clock::now())
            .map_err(|refusal| SenderError::Refused(refusal.to_string()))?;
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(format!("{}.{}", user.role, user.name), user.clone());
        Ok(user)
    }
}

/// The JWT that came with the last plan of this waypoint and role: after a restart nothing is remembered.
async fn planned(shell: &Shell, subject: &HandoffSubject) -> Result<Option<String>, ReadError> {
    for kind in PLAN_KINDS {
        let plan = past::last(&shell.bus, &subject.role, &subject.flight, &subject.waypoint, kind).await?;
        if let Some(plan) = plan {
            return Ok(plan.jwt);
        }
    }
    Ok(None)
}
