//! A person of the fleet: acts signed with a key of their own, and what becomes of them.

use bytes::Bytes;
use holdpoint_bus::{
    Bus, Outgoing,
    handoffs::{self, ShowJwt},
};
use holdpoint_protocol::{
    api::{ACT, ActQuery, ActRefused, ActStanding, INBOX, Inbox, InboxItem, InboxQuery},
    artifact::{
        Artifact, Budget, BudgetBody, Cancel, CancelBody, ClarificationResponse, ClarificationResponseBody, Completion,
        CompletionBody, HandIn, HandInBody, Origin, Pause, PauseBody, Reconfigure, ReconfigureBody, Release,
        ReleaseBody, Resume, ResumeBody, Retry, RetryBody, Take, TakeBody,
    },
    budget::{Amounts, Raise},
    codec::{self, Encoding},
    facts::{BundleRef, Oid},
    ids::{AgentName, WaypointId, role},
    journal::Sequence,
    state::Outcome,
    subjects,
    workflow::WorkflowSpec,
};
use holdpoint_runtime::{clock, fresh};

use super::{SOON, World};

/// A person played by the test.
pub(crate) struct Person {
    pub(crate) name: AgentName,
    pub(crate) bus: Bus,
}

impl World {
    /// A person with a key of this name.
    pub(crate) async fn person(&self, name: &str) -> Person {
        let name: AgentName = name.parse().unwrap();
        let bus = self.local.connect(&self.local.authority.mint_operator(&name)).await.unwrap();
        Person { name, bus }
    }

    /// What waits for people in the flight.
    pub(crate) async fn inbox(&self) -> Vec<InboxItem> {
        let query = InboxQuery::first(Some(self.flight.clone()));
        self.call::<_, Inbox>(INBOX, &query).await.unwrap().items
    }

    /// What became of a stored act.
    pub(crate) async fn standing(&self, waypoint: Option<&str>, sequence: Sequence) -> ActStanding {
        let waypoint = waypoint.map(|waypoint| waypoint.parse().unwrap());
        let query = ActQuery { flight: self.flight.clone(), waypoint, sequence };
        let deadline = tokio::time::Instant::now() + SOON;
        loop {
            match self.call(ACT, &query).await.unwrap() {
                ActStanding::Pending => {}
                standing => return standing,
            }
            assert!(tokio::time::Instant::now() < deadline, "nobody looked at act {sequence:?}");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

impl Person {
    /// Stores an act as this person's client does; under another message id each time.
    pub(crate) async fn store<T: Artifact + serde::Serialize>(
        &self,
        world: &World,
        waypoint: Option<&str>,
        act: &T,
        show_jwt: ShowJwt,
    ) -> Sequence {
        let outgoing = Outgoing {
            payload: Bytes::from(codec::encode(act, Encoding::Json).unwrap()),
            content_type: Encoding::Json.content_type(),
            schema: format!("{}/1.0", T::KIND),
            message_id: fresh::artifact().to_string(),
            traceparent: None,
        };
        let waypoint: Option<WaypointId> = waypoint.map(|waypoint| waypoint.parse().unwrap());
        let subject = subjects::act(&world.flight, waypoint.as_ref(), T::KIND);
        handoffs::publish(&self.bus, &subject, &outgoing, show_jwt).await.unwrap()
    }

    async fn act<T: Artifact + serde::Serialize>(&self, world: &World, waypoint: Option<&str>, act: &T) -> ActStanding {
        let sequence = self.store(world, waypoint, act, ShowJwt::Yes).await;
        world.standing(waypoint, sequence).await
    }

    /// An act that must be taken.
    pub(crate) async fn does<T: Artifact + serde::Serialize>(&self, world: &World, waypoint: Option<&str>, act: &T) {
        assert_eq!(self.act(world, waypoint, act).await, ActStanding::Taken, "{}", T::KIND);
    }

    /// An act that must be refused, and why it was.
    pub(crate) async fn fails<T: Artifact + serde::Serialize>(
        &self,
        world: &World,
        waypoint: Option<&str>,
        act: &T,
    ) -> ActRefused {
        match self.act(world, waypoint, act).await {
            ActStanding::Refused(refused) => refused,
            other => panic!("{} was not refused: {other:?}", T::KIND),
        }
    }

    fn agent(&self) -> AgentName {
        self.name.clone()
    }

    /// Raises the flight's cost by so many millionths of a dollar.
    pub(crate) fn raises(&self, cost_micro_usd: u64) -> Budget {
        let raise = Raise { waypoint: None, add: Amounts { cost_micro_usd, ..Amounts::default() } };
        Budget::new(origin(), BudgetBody { agent: self.agent(), raise })
    }

    pub(crate) fn answer(&self, option: &str) -> ClarificationResponse {
        let body = ClarificationResponseBody {
            agent: self.agent(),
            request: None,
            option: Some(option.to_owned()),
            text: None,
            rationale: None,
            updated_constraints: Vec::new(),
        };
        ClarificationResponse::new(origin(), body)
    }

    pub(crate) fn approve(&self) -> Completion {
        self.complete(Outcome::Complete, &[])
    }

    pub(crate) fn reject(&self, blocker: &str) -> Completion {
        self.complete(Outcome::NeedsReview, &[blocker])
    }

    fn complete(&self, outcome: Outcome, blockers: &[&str]) -> Completion {
        let body = CompletionBody {
            summary: "looked at".to_owned(),
            blockers: blockers.iter().map(|&blocker| blocker.to_owned()).collect(),
            ..CompletionBody::of_person(self.agent(), None, outcome)
        };
        Completion::new(origin(), body)
    }

    pub(crate) fn retry(&self) -> Retry {
        Retry::new(origin(), RetryBody { agent: self.agent(), on: None, from: None, reworks: 0, note: None })
    }

    pub(crate) fn cancel(&self) -> Cancel {
        Cancel::new(origin(), CancelBody { agent: self.agent(), reason: None })
    }

    pub(crate) fn pause(&self) -> Pause {
        Pause::new(origin(), PauseBody { agent: self.agent() })
    }

    pub(crate) fn take(&self) -> Take {
        Take::new(origin(), TakeBody { agent: self.agent(), on: None })
    }

    pub(crate) fn release(&self) -> Release {
        Release::new(origin(), ReleaseBody { agent: self.agent(), on: None })
    }

    /// A commit on the turn's base that changes these files, stored and handed in.
    pub(crate) async fn hand_in(&self, world: &World, base: &str, files: &[(&str, &str)]) -> HandIn {
        let (commit, _, bundle) = world.commit_by((&self.bus, &role::id(role::OPERATOR)), base, files).await;
        self.hands_in(commit, bundle)
    }

    pub(crate) fn hands_in(&self, commit: Oid, bundle: BundleRef) -> HandIn {
        let body = HandInBody {
            agent: self.agent(),
            on: None,
            commit: Some(commit),
            bundle: Some(bundle),
            verdicts: Vec::new(),
        };
        HandIn::new(origin(), body)
    }

    pub(crate) fn resume(&self) -> Resume {
        Resume::new(origin(), ResumeBody { agent: self.agent() })
    }
}

impl Person {
    /// Other workflows for the flight.
    pub(crate) fn reload(&self, workflows: &[WorkflowSpec]) -> Reconfigure {
        let workflows = workflows.to_vec();
        Reconfigure::new(origin(), ReconfigureBody { agent: self.agent(), workflows, watched: false })
    }
}

/// The subject says what an act is about; here it names a waypoint for form's sake.
fn origin() -> Origin {
    Origin {
        artifact_id: fresh::artifact(),
        waypoint_id: "w".parse().unwrap(),
        produced_by_role: role::id(role::OPERATOR),
        produced_at: clock::now(),
        source_refs: vec![],
    }
}
