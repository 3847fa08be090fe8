//! Whose signatures counted when something was stored: for those who look at it later.
//!
//! A key that was revoked since, or a JWT whose time is over, counted until then. When a message was stored is the
//! broker's word.

use std::collections::BTreeMap;

use holdpoint_protocol::{
    Timestamp,
    facts::Harness,
    ids::{AgentName, RoleId},
};

use super::{
    roots::{Checked, JwtRefusal, TrustRoots},
    signer::verify_signature,
};

/// A signed message.
#[derive(Debug, Clone, Copy)]
pub struct SignedMessage<'a> {
    /// The subject it was published on.
    pub subject: &'a str,
    /// Its payload as sent.
    pub payload: &'a [u8],
    /// `Hp-Signature`, if it has one.
    pub signature: Option<&'a str>,
    /// When it was stored.
    pub at: Timestamp,
}

impl TrustRoots {
    /// Whether a key that was an orchestrator's at that time signed it.
    #[must_use]
    pub fn was_orchestrators(&self, signed: SignedMessage<'_>) -> bool {
        let SignedMessage { subject, payload, signature, at } = signed;
        signature.is_some_and(|signature| self.is_orchestrators(subject, payload, signature, at))
    }

    fn check_past(&self, jwt: &str, at: Timestamp) -> Result<Checked, JwtRefusal> {
        let checked = self.check_jwt(jwt)?;
        let at_s = u64::try_from(at.as_seconds()).unwrap_or(0);
        if self.was_revoked(&checked.user.public_key, at) {
            return Err(JwtRefusal::Revoked);
        }
        if checked.expires_at.is_some_and(|end| end <= at_s) { Err(JwtRefusal::Expired) } else { Ok(checked) }
    }
}

/// Senders of handoffs, known by the JWTs that came with what they sent before.
#[derive(Debug)]
pub struct PastSenders<'a> {
    roots: &'a TrustRoots,
    /// By role and name: an agent may have been given new keys.
    jwts: BTreeMap<(RoleId, AgentName), Vec<String>>,
}

impl<'a> PastSenders<'a> {
    /// Knows nobody yet.
    #[must_use]
    pub fn new(roots: &'a TrustRoots) -> Self {
        Self { roots, jwts: BTreeMap::new() }
    }

    /// Whether a handoff was this agent's, of this role, and whose harness its key is for; handoffs in the order in which they
    /// were stored.
    ///
    /// # Errors
    /// Why not, in words.
    pub fn verify(
        &mut self,
        role: &RoleId,
        agent: &AgentName,
        jwt: Option<&str>,
        signed: SignedMessage<'_>,
    ) -> Result<Harness, String> {
        let key = (role.clone(), agent.clone());
        if let Some(jwt) = jwt {
            let harness = self.verify_by(role, agent, jwt, signed)?;
            let known = self.jwts.entry(key).or_default();
            if !known.iter().any(|one| one == jwt) {
                known.push(jwt.to_owned());
            }
            return Ok(harness);
        }
        let known = self.jwts.get(&key).map_or(&[][..], Vec::as_slice);
        let tried = known.iter().rev().map(|jwt| self.verify_by(role, agent, jwt, signed));
        let mut last = Err(format!("no JWT of {agent} came before it, by which its key could be known"));
        for tried in tried {
            last = tried;
            if last.is_ok() {
                break;
            }
        }
        last
    }

    /// A JWT of this role by which handoffs that came without one may be known. One that is no user's of the role is passed over;
    /// whether it counted when a handoff was stored is asked for each.
    pub fn learn(&mut self, role: &RoleId, jwt: &str, at: Timestamp) {
        let checked = self.roots.check_past(jwt, at).ok().and_then(|checked| checked.user.of(role).ok());
        let Some(user) = checked else { return };
        let known = self.jwts.entry((role.clone(), user.name)).or_default();
        if !known.iter().any(|one| one == jwt) {
            known.push(jwt.to_owned());
        }
    }

    fn verify_by(
        &self,
        role: &RoleId,
        agent: &AgentName,
        jwt: &str,
        signed: SignedMessage<'_>,
    ) -> Result<Harness, String> {
        let checked = self.roots.check_past(jwt, signed.at).map_err(|refusal| format!("Hp-Jwt: {refusal}"))?;
        let user = checked.user.of(role).map_err(|refusal| format!("Hp-Jwt: {refusal}"))?;
        if user.name != *agent {
            return Err(format!("it names agent {agent}, its JWT names {}", user.name));
        }
        let good = signed
            .signature
            .is_some_and(|signature| verify_signature(&user.public_key, signed.subject, signed.payload, signature));
        let harness = user.harness();
        if good {
            Ok(harness)
        } else {
            Err("the signature does not fit subject, payload and the agent's key".to_owned())
        }
    }
}
