//! The fleet as the pages of the console see it: the API, events and signals that every other command uses.
//!
//! - `acts`: what a form asks for as a signed act; `crew`: who was heard of; `work`: what an attempt changed; `plans`: plans that
//!   are pasted.
//! - `beside`: opening a console, also along with another command.

mod acts;
pub(crate) mod beside;
mod crew;
mod plans;
mod work;

pub(crate) use crew::Crew;
use holdpoint_account::events::{EntryEffect, FlightReader};
use holdpoint_bus::{api::ApiError, blobs};
use holdpoint_console::{ConsoleFleet, ConsoleProblem, FlightAccount, HeardOf, Patch, PlanInspection, WantedAct};
use holdpoint_engine::audit::HandoffLine;
use holdpoint_protocol::{
    Digest, Timestamp,
    api::{DeadTurn, FlightLine, HistoryLine, InboxItem},
    artifact::Verb,
    ids::{AgentName, FlightId, WaypointId, role},
    journal::Entry,
    storage::Storage,
    view::FlightView,
};
use holdpoint_runtime::clock;
use holdpoint_text::live::Spoken;
pub(crate) use plans::Plans;

use crate::{
    client::Client,
    documents,
    failure::{Failure, chain},
    live::Listening,
    observe::{Follower, Source},
    people::find,
    running_fleet::goes_on_by,
    state::StateDir,
    typed::typed,
};

/// The most bytes of evidence that are fetched: a check's output is capped below that.
const EVIDENCE_BYTES_MAX: u64 = 32 << 20;

/// A fleet as it is seen over one connection.
pub(crate) struct Seen {
    client: Client,
    crew: crew::Crew,
    work: work::Work,
    /// Where plans are submitted from; `None`: nowhere.
    plans: Option<Plans>,
    /// Where the flights of this machine are remembered; `None`: the fleet is elsewhere.
    state: Option<StateDir>,
}

impl Seen {
    /// Over this connection, on which it listens from now on to who is there.
    pub(crate) async fn of(client: Client, plans: Option<Plans>, state: Option<StateDir>) -> Result<Self, Failure> {
        let crew = crew::Crew::listen(&client).await?;
        Ok(Self { crew, work: work::Work::new()?, client, plans, state })
    }
}

impl From<Failure> for ConsoleProblem {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Act(refused) => {
                Self { not_found: false, message: refused.message.clone(), hint: refused.hint.clone() }
            }
            Failure::Other { code, message, hint, .. } => Self { not_found: code == "not_found", message, hint },
            Failure::Plan(_) => Self { not_found: false, message: failure.message(), hint: String::new() },
        }
    }
}

fn problem(error: ApiError) -> ConsoleProblem {
    Failure::from(error).into()
}

/// Gives what is read to the account of a flight.
struct Accounting<'a>(&'a mut FlightAccount);

impl Follower for Accounting<'_> {
    fn entry(&mut self, reader: &FlightReader, told: &EntryEffect, entry: &Entry) {
        self.0.entry(reader, told, entry);
    }

    fn handoff(&mut self, line: &HandoffLine) {
        self.0.handoff(line);
    }
}

impl ConsoleFleet for Seen {
    type Reading = Source;
    type Listening = Listening;

    fn me(&self) -> AgentName {
        self.client.bus().name().clone()
    }

    fn now(&self) -> Timestamp {
        clock::now()
    }

    fn typed(command: &str) -> String {
        typed(command)
    }

    fn rests(&self, flight: &FlightId) -> bool {
        self.state.as_ref().is_some_and(|state| goes_on_by(state, flight).is_some())
    }

    async fn flights(&self) -> Result<Vec<FlightLine>, ConsoleProblem> {
        self.client.flights_now().await.map_err(problem)
    }

    async fn status(&self, flight: &FlightId) -> Result<FlightView, ConsoleProblem> {
        self.client.status_now(flight).await.map_err(problem)
    }

    async fn meant(
        &self,
        flight: &FlightId,
        waypoint: Option<&WaypointId>,
    ) -> Result<(FlightId, Option<WaypointId>), ConsoleProblem> {
        let view = find::known(&self.client, flight).await?;
        let waypoint = waypoint.map(|named| find::has_waypoint(&view, named)).transpose()?;
        Ok((view.flight, waypoint))
    }

    async fn inbox(&self, flight: Option<&FlightId>) -> Result<Vec<InboxItem>, ConsoleProblem> {
        self.client.inbox_now(flight).await.map_err(problem)
    }

    async fn storage(&self) -> Result<Storage, ConsoleProblem> {
        self.client.storage().await.map_err(problem)
    }

    async fn dead(&self) -> Result<Vec<DeadTurn>, ConsoleProblem> {
        self.client.dead(None).await.map_err(problem)
    }

    async fn history(&self, flight: &FlightId, waypoint: &WaypointId) -> Result<Vec<HistoryLine>, ConsoleProblem> {
        self.client.history_now(flight, waypoint).await.map_err(problem)
    }

    async fn open(&self, flight: &FlightId) -> Result<Source, ConsoleProblem> {
        Ok(Source::open(&self.client, flight).await?)
    }

    async fn read_on(&self, reading: &mut Source, account: &mut FlightAccount) -> Result<(), ConsoleProblem> {
        reading.follow(&self.client, &mut Accounting(account)).await?;
        account.end(reading.reader());
        Ok(())
    }

    async fn evidence(&self, digest: Digest) -> Result<Vec<u8>, ConsoleProblem> {
        // People may read all of them; evidence is the verifier's.
        let roles = role::SHOWN.map(role::id);
        let found = blobs::get(self.client.bus(), digest, &roles, EVIDENCE_BYTES_MAX).await;
        found.map(|bytes| bytes.to_vec()).map_err(|error| Failure::from(error).into())
    }

    async fn patch(&self, flight: &FlightId, waypoint: &WaypointId, reference: &str) -> Result<Patch, ConsoleProblem> {
        Ok(self.work.patch(&self.client, flight, waypoint, reference).await?)
    }

    fn heard_of(&self) -> Vec<HeardOf> {
        self.crew.heard_of(clock::now())
    }

    async fn hint(&self) {
        self.crew.changed().await;
    }

    async fn listen(&self, flight: &FlightId, waypoint: &WaypointId) -> Result<Listening, ConsoleProblem> {
        Listening::open(&self.client, flight, Some(waypoint)).await.map_err(|error| ConsoleProblem {
            not_found: false,
            message: format!("cannot listen to agents: {}", chain(&error)),
            hint: String::new(),
        })
    }

    fn learn(&self, listening: &mut Listening, view: &FlightView) -> Vec<Spoken> {
        listening.learn(view)
    }

    async fn next(&self, listening: &mut Listening) -> Spoken {
        listening.next().await
    }

    fn unplanned(&self) -> Option<String> {
        let words = "this command flies one plan; `holdpoint up --console` and `holdpoint console` take more";
        self.plans.is_none().then(|| words.to_owned())
    }

    async fn look(&self, text: &str) -> Result<PlanInspection, ConsoleProblem> {
        match &self.plans {
            Some(plans) => plans.look(text).await,
            None => Ok(PlanInspection::default()),
        }
    }

    async fn submit(&self, text: &str) -> Result<FlightId, ConsoleProblem> {
        match &self.plans {
            Some(plans) => Ok(plans.submit(&self.client, text).await?),
            None => Err(ConsoleProblem::not_found(self.unplanned().unwrap_or_default())),
        }
    }

    async fn revise(&self, reference: &str, text: &str) -> Result<String, ConsoleProblem> {
        let old = documents::find(&self.client, reference).await?;
        let written = old.document.with_text(text);
        let (about, is_changed) = documents::revise::revise(&self.client, &old, reference, written.as_bytes()).await?;
        if !is_changed {
            return Ok("nothing was changed, and nothing is sent".to_owned());
        }
        Ok(acts::follows(&self.client, Verb::Revise, &about).await)
    }

    async fn act(&self, wanted: WantedAct) -> Result<String, ConsoleProblem> {
        Ok(acts::perform(&self.client, wanted).await?)
    }
}
