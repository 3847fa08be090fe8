//! JSON Schemas, generated from the types (FLY-14).

use schemars::{Schema, schema_for};

use crate::{api, artifact, attestation, export, journal, turn, view};

/// Every published schema with its file name, sorted by name.
#[must_use]
pub fn all() -> Vec<(&'static str, Schema)> {
    vec![
        ("act_query", schema_for!(api::ActQuery)),
        ("act_standing", schema_for!(api::ActStanding)),
        ("artifact_query", schema_for!(api::ArtifactQuery)),
        ("attest_query", schema_for!(attestation::AttestQuery)),
        ("build_artifact", schema_for!(artifact::BuildArtifact)),
        ("build_plan", schema_for!(artifact::BuildPlan)),
        ("cancel", schema_for!(artifact::Cancel)),
        ("checklist_receipt", schema_for!(artifact::ChecklistReceipt)),
        ("clarification_request", schema_for!(artifact::ClarificationRequest)),
        ("clarification_response", schema_for!(artifact::ClarificationResponse)),
        ("completion", schema_for!(artifact::Completion)),
        ("cut_query", schema_for!(export::CutQuery)),
        ("dead", schema_for!(journal::Dead)),
        ("dead_query", schema_for!(api::DeadQuery)),
        ("dead_turn", schema_for!(api::DeadTurn)),
        ("dead_turns", schema_for!(api::DeadTurns)),
        ("decided", schema_for!(journal::Decided)),
        ("dsse_envelope", schema_for!(attestation::Envelope)),
        ("export_begin", schema_for!(export::ExportCut)),
        ("export_line", schema_for!(export::Line)),
        ("export_page", schema_for!(export::MessagePage)),
        ("feedback", schema_for!(turn::Feedback)),
        ("flight_line", schema_for!(api::FlightLine)),
        ("flight_view", schema_for!(view::FlightView)),
        ("flights", schema_for!(api::Flights)),
        ("flights_query", schema_for!(api::FlightsQuery)),
        ("given_back", schema_for!(artifact::GivenBack)),
        ("guidance_packet", schema_for!(artifact::GuidancePacket)),
        ("help_request", schema_for!(artifact::HelpRequest)),
        ("history", schema_for!(api::History)),
        ("history_line", schema_for!(api::HistoryLine)),
        ("history_query", schema_for!(api::HistoryQuery)),
        ("inbox", schema_for!(api::Inbox)),
        ("inbox_query", schema_for!(api::InboxQuery)),
        ("landed", schema_for!(journal::Landed)),
        ("message_query", schema_for!(export::MessageQuery)),
        ("orchestrator_decision", schema_for!(artifact::OrchestratorDecision)),
        ("pause", schema_for!(artifact::Pause)),
        ("presence", schema_for!(api::Presence)),
        ("progress", schema_for!(api::Progress)),
        ("progress_answer", schema_for!(api::ProgressAnswer)),
        ("refused_handoff", schema_for!(api::RefusedHandoff)),
        ("resume", schema_for!(artifact::Resume)),
        ("retry", schema_for!(artifact::Retry)),
        ("status_query", schema_for!(api::StatusQuery)),
        ("steered", schema_for!(journal::Steered)),
        ("submit", schema_for!(api::Submit)),
        ("submitted", schema_for!(journal::Submitted)),
        ("turn", schema_for!(turn::Turn)),
        ("verification_plan", schema_for!(artifact::VerificationPlan)),
        ("verification_report", schema_for!(artifact::VerificationReport)),
        ("verification_request", schema_for!(artifact::VerificationRequest)),
    ]
}
