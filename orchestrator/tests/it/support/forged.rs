//! Journal entries that no orchestrator writes, with the signature of one.

use bytes::Bytes;
use holdpoint_bus::{
    Outgoing,
    journal::{Append, Journal},
};
use holdpoint_protocol::{
    Digest,
    artifact::{Disposition, OrchestratorDecision, OrchestratorDecisionBody, Origin},
    codec::{self, Encoding},
    ids::{WaypointId, role},
    journal::{Decided, Entry, EntryKind, Record},
    reason::ReasonCode,
    state::WaypointState,
    subjects::JournalKey,
    version,
};
use holdpoint_runtime::{clock, fresh};

use super::World;

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
                },
            ),
            feedback: None,
            record: Record {
                at: clock::now(),
                previous: Some(Digest::of(&last.payload)),
                cause: None,
                state: Some(state),
            },
        };
        let entry = Outgoing {
            payload: Bytes::from(codec::encode(&decided, Encoding::MsgPack).unwrap()),
            content_type: Encoding::MsgPack.content_type(),
            schema: format!("{}/{}", EntryKind::Decided.schema_name(), version::CURRENT),
            message_id: fresh::artifact().to_string(),
            traceparent: None,
        };
        let append = Append { key: &key, kind: &EntryKind::Decided, expected: last.sequence, entry };
        journal.append(append).await.unwrap();
    }
}
