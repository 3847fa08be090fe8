//! `complete`: a completion as one request (GATE-21).
//!
//! It stays what a completion always is: a handoff that its sender signed, stored before it is decided. The
//! orchestrator that gets the request stores it as it was signed, in its sender's stream, and waits for the decision of
//! the orchestrator that takes it from there. So it decides nothing itself, and nothing is lost when it dies in
//! between: the same request again finds what was stored.

use std::time::Duration;

use holdpoint_bus::{
    Outgoing,
    api::{ApiFailure, ApiRequest},
    auth::verify_signature,
    handoffs::{self, HandoffSignature, Relayed},
    signals::{Signal, Signals},
};
use holdpoint_engine::completion;
use holdpoint_protocol::{
    Digest,
    api::{ActQuery, ActStanding, RefusedHandoff},
    artifact::{Artifact as _, Completion},
    codec::{self, Encoding},
    completing::{CompleteAnswer, CompleteCall, CompletionRefused, CompletionTaken},
    headers,
    ids::{FlightId, WaypointId, role},
    journal::Sequence,
    refusal::RefusalCode,
    streams,
    subjects::{self, HandedSubject},
};
use holdpoint_runtime::{fresh, telemetry::ErrorChain};
use tokio::time::{Instant, sleep};

use super::Api;
use crate::flight::{self, Follows};

/// How long a request waits for the decision on a completion that was stored by it. It takes milliseconds where nothing is
/// in the way.
const DECIDED_WITHIN: Duration = Duration::from_secs(10);
/// How long for one that was stored earlier: a refusal of then is not reported again.
const KNOWN_WITHIN: Duration = Duration::from_secs(1);
/// The pause before the first look whether it was taken; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(25);
/// The longest pause between two looks.
const PAUSE_MAX: Duration = Duration::from_millis(400);
/// Why a completion is not even stored.
const NOT_OPEN: RefusalCode = RefusalCode::TurnNotOpen;
/// Digits of a completion's digest in its message id: one that differs has another id.
const DIGITS: usize = 32;

/// A completion that is stored for its sender.
struct Errand<'a> {
    api: &'a Api,
    request: &'a ApiRequest,
    call: CompleteCall,
    flight: FlightId,
    waypoint: WaypointId,
    digest: Digest,
}

/// Stores a completion and says what became of it.
pub(crate) async fn complete(
    api: &Api,
    call: CompleteCall,
    request: &ApiRequest,
) -> Result<CompleteAnswer, ApiFailure> {
    let subject = addressed(&call, request)?;
    // An id that is no flight's is stored nowhere.
    api.flight(&subject.flight).await?;
    let waypoint = subject.waypoint.ok_or_else(|| ApiFailure::new(400, "a completion is on a waypoint"))?;
    let digest = Digest::of(call.artifact.as_bytes());
    let errand = Errand { api, request, call, flight: subject.flight, waypoint, digest };
    let to = subjects::refused(&request.caller.role, &request.caller.name);
    let refusals = Signals::listen(&api.shell.bus, to).await;
    let mut refusals = refusals.map_err(|error| ApiFailure::new(503, ErrorChain(&error).to_string()))?;
    match errand.follow().await? {
        Follows::Taken(sequence) => return Ok(errand.taken(&errand.reference(sequence))),
        Follows::Nothing => return Ok(errand.not_open()),
        Follows::MayBeTaken => {}
    }
    let id = format!("call.{}.{}.{}", &digest.hex()[..DIGITS], request.caller.name, Completion::KIND);
    let stored = errand.store(format!("{id}.0")).await?;
    if !stored.known {
        let decision = errand.decision(stored, DECIDED_WITHIN, &mut refusals).await?;
        return decision.ok_or_else(|| errand.undecided(stored));
    }
    // Another agent of the role may have stored something under a known id.
    if errand.is_there(stored).await?
        && let Some(decision) = errand.decision(stored, KNOWN_WITHIN, &mut refusals).await?
    {
        return Ok(decision);
    }
    // It was refused before, which is reported once: looked at once more, it is decided once more.
    let again = errand.store(format!("{id}.{}", fresh::suffix())).await?;
    let decision = errand.decision(again, DECIDED_WITHIN, &mut refusals).await?;
    decision.ok_or_else(|| errand.undecided(again))
}

/// Where the completion belongs, if its sender may store it there and its key signed it.
fn addressed(call: &CompleteCall, request: &ApiRequest) -> Result<HandedSubject, ApiFailure> {
    let caller = &request.caller;
    let subject = subjects::parse_handed(&call.subject).ok_or_else(|| {
        ApiFailure::new(400, "`subject` is no handoff's: take the turn's handoff_subject, a dot, `completion`")
    })?;
    if subject.kind != Completion::KIND {
        let what = format!("`subject` ends with {:?}: this endpoint takes `completion` only", subject.kind);
        return Err(ApiFailure::new(400, what));
    }
    if subject.role != caller.role {
        let what = format!("`subject` is of role {}, and your key is of role {}", subject.role, caller.role);
        return Err(ApiFailure::new(403, what));
    }
    if !verify_signature(&caller.public_key, &call.subject, call.artifact.as_bytes(), &call.signature) {
        let what = "`signature` does not fit `subject`, a line feed and the bytes of `artifact`, by the key of Hp-Jwt";
        return Err(ApiFailure::new(403, what));
    }
    Ok(subject)
}

impl Errand<'_> {
    async fn store(&self, message_id: String) -> Result<Relayed, ApiFailure> {
        let outgoing = Outgoing {
            payload: self.call.artifact.clone().into(),
            content_type: headers::JSON,
            schema: format!("{}/1.0", Completion::KIND),
            message_id,
            traceparent: self.request.traceparent.clone(),
        };
        let signed = HandoffSignature { signature: &self.call.signature, jwt: &self.request.jwt };
        let stored = handoffs::relay(&self.api.shell.bus, &self.call.subject, &outgoing, signed).await;
        stored.map_err(|error| ApiFailure::new(503, ErrorChain(&error).to_string()))
    }

    /// Whether the message there is this completion, by this sender.
    async fn is_there(&self, stored: Relayed) -> Result<bool, ApiFailure> {
        let stream = streams::handoff(&self.request.caller.role);
        let found = handoffs::get(&self.api.shell.bus, &stream, stored.sequence).await;
        let found = found.map_err(|error| ApiFailure::new(503, ErrorChain(&error).to_string()))?;
        let key = &self.request.caller.public_key;
        Ok(found.is_some_and(|found| found.payload == self.call.artifact.as_bytes() && found.is_signed_by(key)))
    }

    /// What came of it at any time before, or may come of it now.
    async fn follow(&self) -> Result<Follows, ApiFailure> {
        let role = self.request.caller.role.clone();
        let (waypoint, stream) = (self.waypoint.clone(), streams::handoff(&role));
        let asked = flight::Followed { waypoint, stream, role, digest: self.digest };
        self.api.followed(&self.flight, asked).await
    }

    /// Nothing is stored that leads nowhere: what one key stores takes room of all that have its role.
    fn not_open(&self) -> CompleteAnswer {
        let role = &self.request.caller.role;
        let whose = if role.as_str() == role::OPERATOR { "for people".to_owned() } else { format!("of role {role}") };
        CompleteAnswer::Refused(CompletionRefused {
            reference: String::new(),
            code: NOT_OPEN.as_str().to_owned(),
            message: format!("no turn {whose} is open on waypoint {}: the completion was not stored", self.waypoint),
            hint: NOT_OPEN.hint().to_owned(),
            details: None,
        })
    }

    /// What was decided about the completion there; `None`: nothing in this time.
    async fn decision(
        &self,
        stored: Relayed,
        within: Duration,
        refusals: &mut Signals,
    ) -> Result<Option<CompleteAnswer>, ApiFailure> {
        let reference = self.reference(stored.sequence);
        let (until, mut pause) = (Instant::now() + within, FIRST_PAUSE);
        loop {
            if let Some(decision) = self.look(stored, &reference).await? {
                return Ok(Some(decision));
            }
            if Instant::now() >= until {
                return Ok(None);
            }
            tokio::select! {
                Some(signal) = refusals.next() => if let Some(refused) = refusal(&signal, &reference) {
                    return Ok(Some(CompleteAnswer::Refused(refused)));
                },
                () = sleep(pause) => pause = (pause * 2).min(PAUSE_MAX),
            }
        }
    }

    /// What the journal says, and of a person's act what its flight remembers.
    async fn look(&self, stored: Relayed, reference: &str) -> Result<Option<CompleteAnswer>, ApiFailure> {
        let caller = &self.request.caller;
        if caller.role.as_str() == role::OPERATOR {
            let query = ActQuery {
                flight: self.flight.clone(),
                waypoint: Some(self.waypoint.clone()),
                sequence: stored.sequence,
            };
            return Ok(match self.api.standing(query).await? {
                ActStanding::Pending => None,
                ActStanding::Taken => Some(self.taken(reference)),
                ActStanding::Refused(why) => {
                    let details = Some(why.details).filter(|details| !details.is_null());
                    Some(CompleteAnswer::Refused(CompletionRefused {
                        reference: reference.to_owned(),
                        code: why.code.as_str().to_owned(),
                        message: why.message,
                        hint: why.hint,
                        details,
                    }))
                }
            });
        }
        Ok(match self.follow().await? {
            Follows::Taken(sequence) => Some(self.taken(&self.reference(sequence))),
            Follows::MayBeTaken | Follows::Nothing => None,
        })
    }

    fn taken(&self, reference: &str) -> CompleteAnswer {
        let said: Option<Completion> = codec::decode(self.call.artifact.as_bytes(), Encoding::Json).ok();
        let (outcome, warning) = match said {
            Some(said) if said.failure.is_none() => (said.outcome, completion::warning(&said.blockers)),
            _ => (None, None),
        };
        CompleteAnswer::Taken(CompletionTaken { reference: reference.to_owned(), outcome, warning })
    }

    fn reference(&self, stored: Sequence) -> String {
        format!("{}/{}", streams::handoff(&self.request.caller.role), stored.0)
    }

    fn undecided(&self, stored: Relayed) -> ApiFailure {
        let what = format!(
            "the completion is stored as {}, and nothing was decided in {} s: send the same request again",
            self.reference(stored.sequence),
            DECIDED_WITHIN.as_secs()
        );
        ApiFailure::new(503, what)
    }
}

/// The refusal of the completion there, sent to its sender at the same time.
fn refusal(signal: &Signal, reference: &str) -> Option<CompletionRefused> {
    let refused: RefusedHandoff = codec::decode(&signal.payload, Encoding::Json).ok()?;
    (refused.reference == reference).then(|| CompletionRefused {
        reference: refused.reference,
        code: refused.code.as_str().to_owned(),
        message: refused.error,
        hint: refused.hint,
        details: refused.details,
    })
}
