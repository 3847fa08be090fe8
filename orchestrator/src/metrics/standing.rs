//! Gauges: where work is now, read from all journals as they grow.
//!
//! Flights leave memory while they wait, and other orchestrators move them: what an orchestrator has at hand does not say
//! where work waits. So each reads what was appended since the last time, and keeps a few words of each flight. The fold and
//! its checks are not repeated here: only what an orchestrator signed counts, and nothing is decided by it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex},
    time::Duration,
};

use holdpoint_account::events::{self, PlaceKind, StoppedAt};
use holdpoint_bus::journal::ReadError;
use holdpoint_engine::state::adopted;
use holdpoint_protocol::{
    Timestamp,
    ids::{self, FlightId, GateId, RoleId, WaypointId},
    journal::{Entry, Sequence},
    reason::ReasonCode,
    state::Phase,
    workflow::WorkflowSpec,
};
use holdpoint_runtime::{
    blocking::blocking,
    clock,
    metrics::{Described, Labels, Metrics, Sample},
    supervise::TaskFailed,
    telemetry::ErrorChain,
};

use super::{
    counted::{at, with},
    unpoisoned,
};
use crate::{books::Checked, shell::Shell};

/// How often it is looked for what was appended.
const LOOK_EVERY: Duration = Duration::from_secs(5);

const ACTIVE: &str = "gate_active_waypoints";
const WAITING: &str = "gate_waiting_waypoints";
const OLDEST: &str = "gate_oldest_age_seconds";
const HELD: &str = "gate_held_waypoints";
const NOBODY: &str = "gate_blocked_no_agents";
const QUEUE: &str = "queue_depth";
const READ_AGE: &str = "gates_read_age_seconds";

/// What the gauges are worked out from.
#[derive(Default)]
pub(super) struct Board(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    work: Vec<Standing>,
    /// When it was read; `None`: not yet.
    read: Option<Timestamp>,
}

/// A waypoint that is somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Standing {
    project: String,
    workflow: String,
    place: StoppedAt,
    /// Why it is held.
    held: Option<ReasonCode>,
    /// The role that nobody has; there for work that is held for that reason.
    nobody: Option<RoleId>,
}

impl Board {
    /// Adds the gauges to what the process serves.
    pub(super) fn register(metrics: &Metrics) -> Arc<Self> {
        let gauge = |name, help, largest| Described { name, help, largest };
        let described = vec![
            gauge(ACTIVE, "Waypoints that are at a gate now", false),
            gauge(
                WAITING,
                "The same, by what they wait for: an agent, a person, an answer, or a person while they are held",
                false,
            ),
            gauge(OLDEST, "For how long the waypoint is at the gate that came to it first", true),
            gauge(HELD, "Waypoints that are held for a person at a gate, by the reason", false),
            gauge(NOBODY, "Waypoints that are held because nobody has the role", false),
            gauge(QUEUE, "Turns of a role that are open: nobody has taken them, or an agent works on them", false),
            gauge(READ_AGE, "How old the other gauges of gates are", true),
        ];
        let board = Arc::new(Self::default());
        let seen = board.clone();
        metrics.gauges(described, move || unpoisoned(seen.0.lock()).samples(clock::now()));
        board
    }

    fn show(&self, work: Vec<Standing>, read: Timestamp) {
        *unpoisoned(self.0.lock()) = Seen { work, read: Some(read) };
    }
}

impl Seen {
    fn samples(&self, now: Timestamp) -> Vec<Sample> {
        let Some(read) = self.read else { return Vec::new() };
        let age = |since: Timestamp| now.since(since).as_secs_f64();
        let mut samples = vec![Sample { name: READ_AGE, labels: Labels::new(), value: age(read) }];
        // An autoscaler that reads a queue has to tell an empty one from one that nobody counts.
        let role = |role: &RoleId| vec![("role", role.to_string())];
        let empty = |name| Sample { name: QUEUE, labels: role(&ids::role::id(name)), value: 0.0 };
        samples.extend(ids::role::AGENTS.map(empty));
        for Standing { project, workflow, place, held, nobody } in &self.work {
            let labels = at(project, workflow, place.gate.as_ref().map_or("", GateId::as_str));
            let waits = with(labels.clone(), "kind", place.kind.as_str());
            samples.push(Sample { name: WAITING, labels: waits, value: 1.0 });
            if let Some(reason) = held {
                let held = with(labels.clone(), "reason", reason.as_str());
                samples.push(Sample { name: HELD, labels: held, value: 1.0 });
            }
            samples.push(Sample { name: OLDEST, labels: labels.clone(), value: age(place.since) });
            samples.push(Sample { name: ACTIVE, labels, value: 1.0 });
            if let Some(nobody) = nobody {
                samples.push(Sample { name: NOBODY, labels: role(nobody), value: 1.0 });
            }
            if let (PlaceKind::Agent, Some(waited)) = (place.kind, &place.role) {
                samples.push(Sample { name: QUEUE, labels: role(waited), value: 1.0 });
            }
        }
        samples
    }
}

/// Reads until it is aborted; nothing where nobody asked.
pub(crate) async fn watch_for_ever(shell: Shell) -> TaskFailed {
    let Some(inner) = shell.metrics.inner() else { return std::future::pending().await };
    let (mut tracked, mut after) = (Tracked::default(), Sequence(0));
    let mut times = tokio::time::interval(LOOK_EVERY);
    times.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        times.tick().await;
        match read_on(&shell, &mut tracked, &mut after).await {
            Ok(()) => {
                tracked.begun().for_each(|(project, workflow)| inner.gates.begin(project, workflow));
                inner.board.show(tracked.standing(), clock::now());
            }
            Err(error) => tracing::debug!(error = %ErrorChain(&error), "cannot look where work is now"),
        }
    }
}

/// Takes what was appended since. Journals that were read before an error are not read again.
async fn read_on(shell: &Shell, tracked: &mut Tracked, after: &mut Sequence) -> Result<(), ReadError> {
    let mut entries = shell.journal.all_after(*after).await?;
    loop {
        let batch = entries.next_batch().await?;
        let Some(last) = batch.last().map(|stored| stored.sequence) else { return Ok(()) };
        let roots = shell.trust.roots();
        // Signatures take a while, and everything else goes on.
        let checked = blocking(move || Checked::all(&roots, &batch)).await;
        for checked in checked {
            if let (Some(key), Some(entry)) = (checked.key.clone(), checked.entry()) {
                tracked.take(&key.flight, key.waypoint.as_ref(), entry);
            }
        }
        *after = last;
    }
}

/// A few words of each flight that is not over.
#[derive(Default)]
struct Tracked(HashMap<FlightId, Flight>);

struct Flight {
    project: String,
    workflow: String,
    /// Where a waypoint names its own.
    own: BTreeMap<WaypointId, String>,
    workflows: Vec<WorkflowSpec>,
    /// Whether the series of its gates were begun.
    begun: bool,
    at: BTreeMap<WaypointId, (Vec<StoppedAt>, Option<ReasonCode>)>,
    /// Its waypoints that nothing follows any more: landed, accepted with nothing to land, or cancelled.
    over: BTreeSet<WaypointId>,
    /// How many waypoints it has.
    count: usize,
}

impl Tracked {
    fn take(&mut self, id: &FlightId, waypoint: Option<&WaypointId>, entry: &Entry) {
        if let Entry::Submitted(submitted) = entry {
            let plan = &submitted.plan;
            let own = plan.waypoints.iter().filter_map(|w| Some((w.id.clone(), w.workflow.clone()?)));
            let workflows = submitted.workflows.iter().map(|recorded| recorded.workflow.clone());
            let flight = Flight {
                project: plan.plan.clone(),
                workflow: plan.workflow.clone(),
                own: own.collect(),
                workflows: workflows.collect(),
                begun: false,
                at: BTreeMap::new(),
                over: BTreeSet::new(),
                count: plan.waypoints.len(),
            };
            self.0.entry(id.clone()).or_insert(flight);
            return;
        }
        if let (Entry::Added(added), Some(flight)) = (entry, self.0.get_mut(id)) {
            let own = added.waypoints.iter().filter_map(|w| Some((w.id.clone(), w.workflow.clone()?)));
            flight.own.extend(own);
            flight.count += added.waypoints.len();
        }
        if matches!(entry, Entry::Retired(_)) {
            self.0.remove(id);
        }
        let Some(flight) = self.0.get_mut(id) else { return };
        if let Entry::Steered(steered) = entry
            && !steered.workflows.is_empty()
        {
            flight.workflows = steered.workflows.iter().map(|recorded| recorded.workflow.clone()).collect();
            flight.begun = false;
        }
        if let Some(over) = over(waypoint, entry) {
            flight.at.remove(over);
            flight.over.insert(over.clone());
            if flight.over.len() >= flight.count {
                self.0.remove(id);
            }
            return;
        }
        let (Some(waypoint), Some(state)) = (waypoint, &entry.record().state) else { return };
        let reason = state.decision.as_ref().map(|last| last.reason_code);
        let places: Vec<StoppedAt> = events::places(state).collect();
        if places.is_empty() {
            flight.at.remove(waypoint);
            return;
        }
        let reason = reason.filter(|_| places.iter().any(|place| place.kind == PlaceKind::Held));
        flight.at.insert(waypoint.clone(), (places, reason));
    }

    /// The workflows of flights that move, each flight's once.
    fn begun(&mut self) -> impl Iterator<Item = (&str, &WorkflowSpec)> {
        let new = self.0.values_mut().filter(|flight| !flight.begun && !flight.at.is_empty());
        new.flat_map(|flight| {
            flight.begun = true;
            flight.workflows.iter().map(|workflow| (flight.project.as_str(), workflow))
        })
    }

    fn standing(&self) -> Vec<Standing> {
        self.0.values().flat_map(Flight::standing).collect()
    }
}

/// The waypoint of an entry that nothing follows.
fn over<'a>(waypoint: Option<&'a WaypointId>, entry: &'a Entry) -> Option<&'a WaypointId> {
    if let Entry::Landed(landed) = entry {
        return Some(&landed.waypoint);
    }
    let state = entry.record().state.as_ref()?;
    let is_over = match state.phase {
        Phase::Cancelled => true,
        Phase::Accepted { .. } => !state.lands(),
        _ => false,
    };
    waypoint.filter(|_| is_over)
}

impl Flight {
    fn standing(&self) -> impl Iterator<Item = Standing> {
        let places =
            self.at.iter().flat_map(|(waypoint, (places, held))| places.iter().map(move |at| (waypoint, at, held)));
        places.map(|(waypoint, place, held)| {
            let planned = self.own.get(waypoint).unwrap_or(&self.workflow);
            let workflow = adopted(self.workflows.iter(), planned);
            let is_nobodys = *held == Some(ReasonCode::NoAgents);
            let mut gates = workflow.into_iter().flat_map(WorkflowSpec::all_gates);
            let gate = gates.find(|known| is_nobodys && Some(&known.id) == place.gate.as_ref());
            Standing {
                project: self.project.clone(),
                workflow: workflow.map_or_else(|| planned.clone(), |workflow| workflow.name.clone()),
                place: place.clone(),
                held: *held,
                nobody: gate.map(|gate| gate.role.clone()),
            }
        })
    }
}

#[cfg(test)]
mod tests;
