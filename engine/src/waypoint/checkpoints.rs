//! The checkpoints that a verification settles: commands of the gates where the work was made, and all of its own gate (DOC-3).

use holdpoint_planfile::{
    checkpoints::{self, GateValidation, HandedOver, Judged},
    gates::{Duty, Gate},
};
use holdpoint_protocol::{
    artifact::{CheckpointAsked, VerificationPurpose, VerificationReport},
    checkpoint::{CheckpointRule, CheckpointSpec, CheckpointStatus, GateCheckpoints, GateDemands},
    ids::{CriterionId, GateId},
    state::WaypointState,
};

use super::{StepContext, standing, terms, visits};
use crate::policy::UnmetCheckpoints;

/// The checkpoints of a gate that hold: those on touched paths are among them, and of these git said so.
pub(crate) fn held(state: &WaypointState, gate: &GateId) -> Vec<CriterionId> {
    let of_gate = state.checkpoints.iter().filter(|one| one.gate == *gate).flat_map(|one| &one.checkpoints);
    of_gate.filter(|one| one.status == CheckpointStatus::Pass).map(|one| one.name.clone()).collect()
}

/// What a verification is held against besides criteria and guards, gate by gate.
pub(super) fn demanded(
    state: &WaypointState,
    gate: &Gate,
    purpose: VerificationPurpose,
    cx: &StepContext<'_>,
) -> Vec<(GateId, GateDemands)> {
    if purpose == VerificationPurpose::Baseline {
        return Vec::new();
    }
    let mut all = might_be_demanded(gate, cx);
    all.retain(|(earlier, _)| *earlier == gate.id || visits::was_entered(state, earlier));
    all
}

/// The same, also of gates that the work passed over.
fn might_be_demanded(gate: &Gate, cx: &StepContext<'_>) -> Vec<(GateId, GateDemands)> {
    let before = cx.workflow.gates().take_while(|earlier| earlier.id != gate.id);
    let made = before.filter(|earlier| earlier.duty == Duty::Make);
    let commands = made.map(|earlier| (earlier.id.clone(), commands(&earlier.context.demands)));
    let own = checkpoints::in_plan(&gate.context.demands, &cx.flight.submitted.plan);
    commands.chain([(gate.id.clone(), own)]).filter(|(_, demands)| !demands.is_empty()).collect()
}

/// All commands that a verification may have to run: its turn has the time for them.
pub(super) fn might_be_run(gate: &Gate, purpose: VerificationPurpose, cx: &StepContext<'_>) -> Vec<CheckpointAsked> {
    match purpose {
        VerificationPurpose::Baseline => Vec::new(),
        VerificationPurpose::Handoff | VerificationPurpose::Merge => asked(&might_be_demanded(gate, cx)),
    }
}

/// The commands of a gate that makes work. Guards of the plan are judged as such.
fn commands(demands: &GateDemands) -> GateDemands {
    let is_command = |spec: &&CheckpointSpec| matches!(spec.rule, Some(CheckpointRule::Command(_)));
    let checkpoints = demands.checkpoints.iter().filter(is_command).cloned().collect();
    GateDemands { checkpoints, ..GateDemands::default() }
}

/// The commands that the verifier runs for them.
pub(super) fn asked(demanded: &[(GateId, GateDemands)]) -> Vec<CheckpointAsked> {
    let all = demanded.iter().flat_map(|(gate, demands)| demands.checkpoints.iter().map(move |spec| (gate, spec)));
    let commands = all.filter_map(|(gate, spec)| match &spec.rule {
        Some(CheckpointRule::Command(command)) => {
            Some(CheckpointAsked { gate: gate.clone(), id: spec.name.clone(), command: command.clone() })
        }
        _ => None,
    });
    commands.collect()
}

/// What came of the checkpoints of one gate.
pub(super) struct Settled {
    gate: GateId,
    demands: GateDemands,
    validation: GateValidation,
}

impl Settled {
    /// As a state keeps it.
    pub(super) fn kept(&self) -> GateCheckpoints {
        checkpoints::gate_checkpoints(&self.gate, &self.demands, &self.validation)
    }
}

/// Settles them by a report, and by which checkpoints on touched paths hold.
pub(super) fn settle(
    state: &WaypointState,
    gate: &GateId,
    (report, touched): (&VerificationReport, &[CriterionId]),
    cx: &StepContext<'_>,
) -> Vec<Settled> {
    let Some(gate) = cx.workflow.gate(gate) else { return Vec::new() };
    let criteria = terms::criteria(report.purpose, cx);
    let guards: Vec<CriterionId> = cx.flight.submitted.plan.guards.iter().map(|guard| guard.id.clone()).collect();
    let judged = Judged {
        report,
        criteria: &criteria,
        guards: &guards,
        has_judge: cx.flight.submitted.fleet.judge,
        changed: state.work.as_ref().is_some_and(|work| work.commit.is_some()),
    };
    let demanded = demanded(state, gate, report.purpose, cx);
    let settled = demanded.into_iter().map(|(gate, demands)| {
        let said = checkpoints::ran(report, &gate);
        let over = HandedOver { touched, said: &said, judged: Some(judged), ..HandedOver::default() };
        let validation = checkpoints::validate(&demands, &over, 0);
        Settled { gate, demands, validation }
    });
    settled.collect()
}

/// What of them keeps the work from going on.
pub(super) fn unmet(all: &[Settled]) -> Option<UnmetCheckpoints> {
    let unready: Vec<&Settled> = all.iter().filter(|one| !one.validation.handoff_ready).collect();
    let words = unready.iter().map(|one| {
        let words = checkpoints::in_one_line(&one.demands, &one.validation.checkpoints);
        format!("gate {}: {words}", one.gate)
    });
    let words: Vec<String> = words.collect();
    let only_untried = unready.iter().all(|one| checkpoints::are_untried(&one.demands, &one.validation.checkpoints));
    (!unready.is_empty()).then(|| UnmetCheckpoints { words: words.join("; "), only_untried })
}

/// The same as feedback to who makes the work, a document for each gate.
pub(super) fn feedback(all: &[Settled], state: &WaypointState, cx: &StepContext<'_>) -> Vec<String> {
    let next = state.counters.reworks.saturating_add(1);
    let tries = (next, standing::reworks_granted(state, cx));
    let unready = all.iter().filter(|one| !one.validation.handoff_ready);
    unready.map(|one| checkpoints::feedback(&one.demands, &one.validation.checkpoints, tries)).collect()
}
