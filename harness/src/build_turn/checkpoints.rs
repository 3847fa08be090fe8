//! The checkpoints of a gate that makes work, established in its turn: what its program wrote, what it touched, and what the
//! gate's commands come to (DOC-4, DOC-6).

use std::time::Duration;

use holdpoint_evidence::{checks, telling};
use holdpoint_planfile::checkpoints::{self, Block, HandedOver, MESSAGE_BYTES_MAX, WrittenDocument};
use holdpoint_protocol::{
    artifact::{Confidence, ExchangeErrorKind},
    checkpoint::{
        CheckpointCommand, CheckpointResult, CheckpointRule, CheckpointStatus, EstablishedBy, GateDemands, GateDocument,
    },
    facts::PathChange,
    ids::CriterionId,
    plan::Check,
};
use holdpoint_sandbox::Ended;

use super::workbench::BuildError;
use crate::{
    backend::{Backend, BackendTask, CheckedCommand, question::ValidQuestion},
    exchange::{ResultProblem, document},
    tail::last_lines,
};

/// What a gate demands, and where its commands are run.
#[derive(Debug)]
pub(super) struct Checkpoints<'a, B> {
    pub(super) demands: &'a GateDemands,
    pub(super) backend: &'a B,
    pub(super) task: &'a BackendTask,
}

/// What came of them.
#[derive(Debug)]
pub(super) enum Established {
    /// The work can be handed off, with this.
    Ready(Option<GateDocument>),
    /// Its program is asked again.
    Unready(ResultProblem),
    /// Its program says that only a person can help.
    Blocked(ValidQuestion),
}

impl<B: Backend> Checkpoints<'_, B> {
    /// Establishes all of them for work that touches these paths.
    pub(super) async fn establish(&self, touched: &[PathChange]) -> Result<Established, BuildError> {
        if self.demands.is_empty() {
            return Ok(Established::Ready(None));
        }
        let _at = holdpoint_faults::at(holdpoint_faults::Step::Establish);
        let written = self.task.document_file.as_deref().and_then(document::written).unwrap_or_default();
        let written = match checkpoints::read_document(written.as_bytes(), "document") {
            Ok(written) => written,
            Err(wrong) => {
                let what = format!("the document cannot be read: {}", wrong.render());
                return Ok(Established::Unready(ResultProblem::new(ExchangeErrorKind::Semantic, what)));
            }
        };
        let WrittenDocument { title, statements, block, text, proposal: _ } = written;
        if let Some(block) = block {
            return Ok(match asks(&block).checked() {
                Ok(question) => Established::Blocked(question),
                Err(bad) => {
                    let what = format!("`block_details` cannot be asked of a person: {bad}");
                    Established::Unready(ResultProblem::new(ExchangeErrorKind::Semantic, what))
                }
            });
        }
        let mut said = checkpoints::stated(statements);
        for spec in &self.demands.checkpoints {
            if let Some(CheckpointRule::Command(command)) = &spec.rule {
                said.push(self.run(&spec.name, command).await?);
            }
        }
        let paths: Vec<String> = touched.iter().map(|change| change.path.clone()).collect();
        let touched = checkpoints::touching(self.demands, &paths);
        let over = HandedOver { text: &text, touched: &touched, said: &said, judged: None, proposal: None };
        let validation = checkpoints::validate(self.demands, &over, 0);
        let (ready, checkpoints) = (validation.handoff_ready, validation.checkpoints);
        let document = GateDocument { text, title, checkpoints, ..GateDocument::default() };
        if ready {
            return Ok(Established::Ready(Some(document)));
        }
        let what = checkpoints::in_one_line(self.demands, &document.checkpoints);
        let problem = ResultProblem::new(ExchangeErrorKind::NotReady, what);
        Ok(Established::Unready(ResultProblem { unready: Some(Box::new(document)), ..problem }))
    }

    async fn run(&self, name: &CriterionId, command: &CheckpointCommand) -> Result<CheckpointResult, BuildError> {
        let CheckpointCommand { check, needs } = command;
        let wall = check.timeout.duration().min(self.backend.limits(self.task).0);
        let came_to =
            |status, message| CheckpointResult { name: name.clone(), by: EstablishedBy::Command, status, message };
        for need in needs {
            let probed = self.backend.check(self.task, &need.probe, wall).await?;
            if probed.ended != Ended::Exited(0) {
                let why = format!("`{}` is missing: `{}` does not end well", need.tool, need.probe);
                return Ok(came_to(CheckpointStatus::Skip, why));
            }
        }
        let ran = self.backend.check(self.task, &check.command, wall).await?;
        Ok(match unmet(&ran, check, wall) {
            None => came_to(CheckpointStatus::Pass, String::new()),
            Some(wrong) => came_to(CheckpointStatus::Fail, wrong),
        })
    }
}

/// Why a command does not hold, with the last lines that it printed.
fn unmet(ran: &CheckedCommand, check: &Check, wall: Duration) -> Option<String> {
    let how = match ran.ended {
        Ended::Exited(0) if checks::is_expected(check, &String::from_utf8_lossy(&ran.output)) => return None,
        Ended::Exited(0) => format!("its output does not match `{}`", check.expect.as_deref().unwrap_or_default()),
        Ended::Exited(code) => format!("it {}", telling::exited(code)),
        Ended::Signalled(signal) => format!("{} ended it", telling::signal(signal)),
        Ended::TimedOut => format!("it took longer than {} s", wall.as_secs()),
        Ended::OutputLimit => "it printed more than it may".to_owned(),
        Ended::MemoryLimit => "it used more memory than it may".to_owned(),
        Ended::DiskLimit => "it wrote more than it may".to_owned(),
    };
    let lines = last_lines(&ran.output);
    let room = MESSAGE_BYTES_MAX.saturating_sub(how.len() + 2);
    let lines = lines.get(lines.ceil_char_boundary(lines.len().saturating_sub(room))..).unwrap_or_default();
    Some(if lines.trim().is_empty() { how } else { format!("{how}: {}", lines.trim()) })
}

/// What blocks a program, as the question that it is to people.
fn asks(block: &Block) -> ValidQuestion {
    ValidQuestion {
        question: block.details.clone(),
        options: Vec::new(),
        confidence: Confidence::Low,
        decision_context: String::new(),
        block_reason: block.reason,
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::plan::{CHECK_TIMEOUT_DEFAULT, EvidenceLevel};

    use super::*;

    #[test]
    fn a_command_holds_if_it_ends_well_and_prints_what_it_is_expected_to() {
        let check = |expect: Option<&str>| Check {
            command: "make test".to_owned(),
            expect: expect.map(str::to_owned),
            red_first: false,
            timeout: CHECK_TIMEOUT_DEFAULT,
            network: false,
            writes_tree: false,
            evidence: EvidenceLevel::Fast,
            mutants: None,
        };
        let ran = |ended| CheckedCommand { ended, output: b"3 passed\n".to_vec() };
        let wrong = |ended, expect| unmet(&ran(ended), &check(expect), Duration::from_secs(5));
        assert_eq!(wrong(Ended::Exited(0), None), None);
        assert_eq!(wrong(Ended::Exited(0), Some(r"^\d+ passed")), None);
        let unmatched = wrong(Ended::Exited(0), Some("4 passed")).unwrap();
        assert_eq!(unmatched, "its output does not match `4 passed`: 3 passed");
        assert!(wrong(Ended::Exited(0), Some("(")).is_some(), "what cannot be matched is not");
        assert_eq!(wrong(Ended::Exited(1), None).unwrap(), "it exited with 1: 3 passed");
    }
}
