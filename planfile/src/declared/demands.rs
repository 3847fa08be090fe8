//! Reading what a gate demands of what is handed off there: its document and its checkpoints (DOC-3, DOC-4).

use holdpoint_protocol::{
    checkpoint::{CHECKPOINT_RETRIES_MAX, DocumentSpec, GateDemands, SCORE_MAX, THRESHOLD_DEFAULT},
    proposal::ProposalBounds,
};

use super::{
    checkpoint,
    checks::{self, Checks},
};
use crate::yaml::{error::Problems, fields::Fields, tree::Node};

/// The keys of a document.
pub(super) const DOCUMENT_KEYS: &[&str] = &["sections"];
/// Reads the demands of a gate.
pub(super) fn read(gate: &Fields<'_>, problems: &mut Problems) -> GateDemands {
    let mut checkpoints = checkpoint::checkpoints("checkpoints", gate, problems);
    let checks = checks::checks(gate, problems);
    let plan_checks = matches!(checks, Some(Checks::OfPlan));
    let default = checks.is_some().then_some(THRESHOLD_DEFAULT);
    if let Some(Checks::These(these)) = checks {
        checkpoints.extend(these);
    }
    GateDemands {
        document: gate.get("document", problems).and_then(|node| document(node, problems)),
        proposes: gate.flag("proposes", problems).filter(|proposes| *proposes).map(|_| ProposalBounds::default()),
        checkpoints,
        checkpoint_retries: gate.number("checkpointRetries", &(0..=u64::from(CHECKPOINT_RETRIES_MAX)), problems),
        plan_checks,
        threshold: gate.number("threshold", &(0..=u64::from(SCORE_MAX)), problems).or(default),
    }
}

fn document(node: &Node, problems: &mut Problems) -> Option<DocumentSpec> {
    let fields = Fields::open(node, "`document`", DOCUMENT_KEYS, problems)?;
    Some(DocumentSpec { sections: fields.texts("sections", problems) })
}
