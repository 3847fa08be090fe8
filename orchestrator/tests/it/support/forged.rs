//! Journal entries that no orchestrator of today writes, with the signature of one.

use std::time::Duration;

use bytes::Bytes;
use holdpoint_bus::{
    Outgoing,
    journal::{Append, Journal},
};
use holdpoint_planfile::workflows;
use holdpoint_protocol::{
    Digest, Timestamp,
    api::Submit,
    artifact::{Disposition, OrchestratorDecision, OrchestratorDecisionBody, Origin},
    codec::{self, Encoding},
    ids::{WaypointId, role},
    journal::{Decided, Entry, EntryKind, Record, Sequence, Submitted},
    plan::Priority,
    reason::ReasonCode,
    state::{Phase, WaypointState},
    subjects::{Fence, JournalKey},
    version,
};
use holdpoint_runtime::{clock, fresh};

use super::{SOON, World, git};

impl World {
    /// Appends a decision to a waypoint's journal: its state is the one before, changed.
    pub(crate) async fn forge_decision(&self, waypoint: &WaypointId, change: impl FnOnce(&mut WaypointState)) {
        let journal = Journal::new(&self.local.connect(&self.local.orchestrator).await.unwrap());
        let key = JournalKey::waypoint(&self.flight, waypoint);
        let last = journal.last(&key).await.unwrap().unwrap();
        let entry = Entry::decode(&last.subject, &last.payload, last.content_type.as_deref()).unwrap();
        let mut state = entry.record().state.clone().unwrap();
        change(&mut state);
        let origin = Origin {
            artifact_id: fresh::artifact(),
            waypoint_id: waypoint.clone(),
            produced_by_role: role::id(role::ORCHESTRATOR),
            produced_at: clock::now(),
            source_refs: vec!["forged".parse().unwrap()],
        };
        let decided = Decided {
            schema_version: version::CURRENT,
            decision: OrchestratorDecision::new(
                origin,
                OrchestratorDecisionBody {
                    disposition: Disposition::Accept,
                    reason_code: ReasonCode::CriteriaMet,
                    status: None,
                    remediation: None,
                    artifacts: Vec::new(),
                },
            ),
            feedback: None,
            record: Record {
                previous: Some(Digest::of(&last.payload)),
                state: Some(state),
                ..Record::at(clock::now())
            },
        };
        let entry = outgoing(&decided, &EntryKind::Decided);
        let append =
            Append { key: &key, kind: &EntryKind::Decided, fence: Fence::Journal, expected: last.sequence, entry };
        journal.append(append).await.unwrap();
    }

    /// Appends to a waypoint's journal what an orchestrator of a later minor version may have decided, and says where.
    pub(crate) async fn forge_of_a_later_version(&self, waypoint: &WaypointId) -> Sequence {
        let journal = Journal::new(&self.local.connect(&self.local.orchestrator).await.unwrap());
        let key = JournalKey::waypoint(&self.flight, waypoint);
        let last = journal.last(&key).await.unwrap().unwrap();
        let later = serde_json::json!({"schema_version": "1.7", "of_a_later_version": true});
        let entry = outgoing(&later, &EntryKind::Decided);
        let append =
            Append { key: &key, kind: &EntryKind::Decided, fence: Fence::Journal, expected: last.sequence, entry };
        journal.append(append).await.unwrap()
    }

    /// Where a waypoint's journal ends.
    pub(crate) async fn end_of_journal(&self, waypoint: &WaypointId) -> Sequence {
        let journal = Journal::new(&self.local.connect(&self.local.orchestrator).await.unwrap());
        journal.last(&JournalKey::waypoint(&self.flight, waypoint)).await.unwrap().unwrap().sequence
    }

    /// The first entry at the end of a waypoint's journal of which this holds. No orchestrator is asked: one that is looks what is due.
    pub(crate) async fn journalled(&self, waypoint: &WaypointId, holds: impl Fn(&Entry) -> bool) -> Entry {
        let journal = Journal::new(&self.local.connect(&self.local.orchestrator).await.unwrap());
        let key = JournalKey::waypoint(&self.flight, waypoint);
        let deadline = tokio::time::Instant::now() + SOON;
        loop {
            let last = journal.last(&key).await.unwrap();
            let entry =
                last.map(|last| Entry::decode(&last.subject, &last.payload, last.content_type.as_deref()).unwrap());
            if let Some(entry) = entry.filter(&holds) {
                return entry;
            }
            assert!(tokio::time::Instant::now() < deadline, "no such entry ends the journal");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Opens the last turn of a waypoint again, with a deadline that passes soon. Those of agents' turns are minutes away.
    pub(crate) async fn forge_deadline(&self, waypoint: &WaypointId, soon: Duration) -> Timestamp {
        let journal = Journal::new(&self.local.connect(&self.local.orchestrator).await.unwrap());
        let key = JournalKey::waypoint(&self.flight, waypoint);
        let last = journal.last(&key).await.unwrap().unwrap();
        let entry = Entry::decode(&last.subject, &last.payload, last.content_type.as_deref()).unwrap();
        let Entry::Turn(mut turn) = entry else { panic!("no turn was opened last: {entry:?}") };
        let deadline = clock::now().after(soon);
        (turn.turn_id, turn.deadline) = (fresh::turn(), deadline);
        turn.record.previous = Some(Digest::of(&last.payload));
        let state = turn.record.state.as_mut().unwrap();
        let Phase::InTurn(open) = &mut state.phase else { panic!("no turn is open: {state:?}") };
        (open.turn, open.deadline) = (turn.turn_id.clone(), deadline);
        let kind = EntryKind::Turn { role: turn.role.clone(), priority: Priority::Medium, pool: self.pool.clone() };
        let append = Append {
            key: &key,
            kind: &kind,
            fence: Fence::Journal,
            expected: last.sequence,
            entry: outgoing(&*turn, &kind),
        };
        journal.append(append).await.unwrap();
        deadline
    }

    /// Begins the flight with a plan that nobody holds against any rule, as an orchestrator did that is older than them.
    pub(crate) async fn begin_unchecked(&self, submit: Submit) {
        let tree = git(&self.path("repo"), &["rev-parse", &format!("{}^{{tree}}", submit.base)]);
        let (key, kind) = (JournalKey::flight(&submit.flight), EntryKind::Submitted);
        let workflow = workflows::built_in(&submit.plan.workflow).unwrap();
        let submitted = Submitted {
            schema_version: version::CURRENT,
            flight: submit.flight,
            plan: submit.plan,
            base: submit.base,
            base_tree: tree.trim().parse().unwrap(),
            snapshot: submit.snapshot,
            covenant: submit.covenant,
            covenant_version: Digest::of(b""),
            fleet: submit.fleet,
            by: None,
            workflows: vec![workflow.into()],
            record: Record::at(clock::now()),
        };
        let journal = Journal::new(&self.local.connect(&self.local.orchestrator).await.unwrap());
        let append = Append {
            key: &key,
            kind: &kind,
            fence: Fence::Journal,
            expected: Sequence(0),
            entry: outgoing(&submitted, &kind),
        };
        journal.append(append).await.unwrap();
    }
}

fn outgoing<T: serde::Serialize>(entry: &T, kind: &EntryKind) -> Outgoing {
    Outgoing {
        payload: Bytes::from(codec::encode(entry, Encoding::MsgPack).unwrap()),
        content_type: Encoding::MsgPack.content_type(),
        schema: format!("{}/{}", kind.schema_name(), version::CURRENT),
        message_id: fresh::artifact().to_string(),
        traceparent: None,
    }
}
