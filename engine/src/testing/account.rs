//! What was written of a flight in memory, as an audit takes it.

use holdpoint_protocol::{
    Digest, SchemaVersion, Timestamp,
    artifact::{
        Act, Artifact as _, Budget, BuildArtifact, BuildArtifactBody, BuildStatus, Cancel, CancelBody,
        ClarificationRequest, ClarificationRequestBody, ClarificationResponse, Completion, Confidence, HandIn, Handed,
        HandedHead, HelpRequest, HelpRequestBody, Origin, Pause, PauseBody, Reconfigure, ReconfigureBody, Release,
        Resume, ResumeBody, Retry, Revise, Take, Verb, WorkInProgress,
    },
    export::{Cut, HandoffsEnd, JournalEnd},
    facts::{DiffSummary, Harness},
    ids::{AgentName, role},
    journal::{Cause, Dead, Entry, Sequence},
    state::QuestionKind,
    streams,
    subjects::{HandedSubject, JournalKey},
};

use crate::{
    audit::{Audit, Auditor, Bytes, EntryLine, HandoffLine},
    testing::fixture::Fixture,
    waypoint::{AgentQuestion, BuildOutcome, Ends, Handoff, Input, PersonAct},
};

mod taking;

/// Entries and handoffs of one flight.
#[derive(Debug, Clone)]
pub struct Account {
    pub entries: Vec<EntryLine>,
    pub handoffs: Vec<HandoffLine>,
    pub cut: Cut,
}

impl Account {
    pub fn of(fixture: &Fixture) -> Self {
        let flight = &fixture.flight.submitted.flight;
        let mut entries = Vec::new();
        let mut handoffs = Vec::new();
        for (n, logged) in fixture.log.iter().enumerate() {
            entries.push(EntryLine {
                journal: JournalKey { flight: flight.clone(), waypoint: logged.waypoint.clone() },
                sequence: Sequence(n as u64 + 1),
                digest: logged.digest,
                signed: true,
                entry: Ok(logged.entry.clone()),
            });
            handoffs.extend(steering(&entries[n]));
            let taken = logged.input.as_ref().and_then(|input| handoff(&entries[n], input));
            // A report that was kept is the cause of two entries.
            let is_new =
                |line: &HandoffLine| handoffs.iter().all(|known: &HandoffLine| known.reference() != line.reference());
            let taken = taken.filter(is_new);
            handoffs.extend(taken);
            if let Entry::Dead(dead) = &logged.entry {
                handoffs.extend(dead.deaths.iter().map(|death| {
                    let sequence = Sequence(100_000 + handoffs_before(n, death.delivery));
                    let cause = Cause {
                        stream: streams::handoff(&dead.role),
                        sequence,
                        digest: Digest::of(&sequence.0.to_be_bytes()),
                        artifact: format!("plan-{}", sequence.0).parse().unwrap(),
                    };
                    plan(&entries[n], dead, death.delivery, cause, death.agent.as_str())
                }));
            }
        }
        let cut = cut(&entries);
        Self { entries, handoffs, cut }
    }

    pub fn audit(&self) -> Audit {
        self.audit_with(Some(&self.bytes()))
    }

    pub fn audit_with(&self, bytes: Option<&Bytes>) -> Audit {
        let mut auditor = Auditor::new(self.cut.flight.clone());
        self.handoffs.iter().for_each(|line| auditor.handoff(line.clone()));
        self.entries.iter().for_each(|line| auditor.entry(line));
        auditor.finish(Some(&self.cut), bytes)
    }

    /// All evidence that reports name.
    pub fn bytes(&self) -> Bytes {
        self.handoffs.iter().flat_map(HandoffLine::evidence).map(|(digest, _)| (digest, Ok(()))).collect()
    }
}

/// A place in the stream that nothing else has.
fn handoffs_before(entry: usize, delivery: u32) -> u64 {
    entry as u64 * 100 + u64::from(delivery)
}

/// The plan of an agent that took a delivery of a turn that killed.
fn plan(entry: &EntryLine, dead: &Dead, delivery: u32, cause: Cause, agent: &str) -> HandoffLine {
    let (turn, role, agent) = (dead.turn.clone(), dead.role.clone(), agent.parse().unwrap());
    let mut line = line(
        entry,
        &Handoff { turn, role, agent, cause, told: None, metered: None, left_out: Vec::new(), body: () },
        "build_plan",
        Handed::Plan,
    );
    if let Ok((head, _)) = &mut line.body {
        head.delivery = delivery;
    }
    line
}

/// Where the journals end.
pub fn cut(entries: &[EntryLine]) -> Cut {
    let mut journals: Vec<JournalEnd> = Vec::new();
    for line in entries {
        journals.retain(|end| end.waypoint != line.journal.waypoint);
        let (waypoint, sequence, digest) = (line.journal.waypoint.clone(), line.sequence, line.digest);
        journals.push(JournalEnd { waypoint, sequence, digest });
    }
    let ends = role::HANDING.map(|name| HandoffsEnd {
        stream: streams::handoff(&role::id(name)),
        known: Sequence(u64::MAX),
        until: Sequence(u64::MAX),
    });
    Cut {
        schema_version: SchemaVersion { major: 1, minor: 0 },
        flight: entries[0].journal.flight.clone(),
        at: Timestamp::from_millis(0),
        journals,
        handoffs: ends.to_vec(),
    }
}

fn handoff(entry: &EntryLine, input: &Input) -> Option<HandoffLine> {
    match input {
        Input::Built(handoff) => Some(built(entry, handoff)),
        Input::Reported(handoff) => {
            let mut report = handoff.body.report.clone();
            report.metered = handoff.metered.as_deref().cloned();
            let body = Handed::Reported(Box::new(report));
            Some(line(entry, handoff, "verification_report", body))
        }
        Input::Fulfilled(handoff) => Some(fulfilled(entry, handoff)),
        Input::Advised(handoff) => {
            Some(fulfilled(entry, &handoff.clone().with(Box::new(handoff.body.completion.clone()))))
        }
        Input::Asked(asked) => Some(line(entry, asked, kind_of(asked.body.kind), question(asked, entry))),
        Input::Answered(act) => {
            Some(act_line(entry, &act.by, &act.cause, Act::Answer(Box::new(act.body.response.clone()))))
        }
        Input::Completed(act) => Some(completed(entry, act)),
        Input::Retried(act) => Some(act_line(entry, &act.by, &act.cause, Act::Retry(Box::new(act.body.retry.clone())))),
        Input::Taken(_) | Input::Released(_) | Input::HandedIn(_) => taking::line(entry, input),
        Input::Revised(act) => Some(act_line(entry, &act.by, &act.cause, Act::Revise(act.body.clone()))),
        Input::Cancelled(act) => {
            let cancel = act.body.clone()?;
            Some(act_line(entry, &act.by, &act.cause, Act::Cancel(cancel)))
        }
        Input::Died(died) => {
            let Ok(Entry::Dead(dead)) = &entry.entry else { return None };
            Some(plan(entry, dead, died.deaths.len() as u32 + 1, died.cause.clone(), "agent-9"))
        }
        _ => None,
    }
}

/// A build turn's handoff, as it was sent on the waypoint of an entry.
pub fn built(entry: &EntryLine, handoff: &Handoff<BuildOutcome>) -> HandoffLine {
    line(entry, handoff, "build_artifact", Handed::Built(Box::new(artifact(handoff, entry))))
}

/// An agent's completion, as it was sent on the waypoint of an entry.
pub fn fulfilled(entry: &EntryLine, handoff: &Handoff<Box<Completion>>) -> HandoffLine {
    let mut completion = handoff.body.clone();
    completion.metered = handoff.metered.as_deref().cloned();
    line(entry, handoff, Completion::KIND, Handed::Act(Act::Complete(completion)))
}

/// A person's completion, as it was sent on the waypoint of an entry.
pub fn completed(entry: &EntryLine, act: &PersonAct<Box<Completion>>) -> HandoffLine {
    act_line(entry, &act.by, &act.cause, Act::Complete(act.body.clone()))
}

fn line<T>(entry: &EntryLine, handoff: &Handoff<T>, kind: &str, body: Handed) -> HandoffLine {
    let head = HandedHead {
        artifact_id: handoff.cause.artifact.clone(),
        turn: Some(handoff.turn.clone()),
        delivery: 1,
        agent: handoff.agent.clone(),
        source_refs: Vec::new(),
    };
    HandoffLine {
        stream: handoff.cause.stream.clone(),
        sequence: handoff.cause.sequence,
        subject: HandedSubject {
            role: handoff.role.clone(),
            flight: entry.journal.flight.clone(),
            waypoint: entry.journal.waypoint.clone(),
            kind: kind.to_owned(),
        },
        digest: handoff.cause.digest,
        sender: Ok(match &body {
            Handed::Reported(report) if report.receipt.foreign => Harness::Foreign,
            _ => Harness::Holdpoint,
        }),
        body: Ok((head, body)),
    }
}

fn kind_of(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Clarification => ClarificationRequest::KIND,
        QuestionKind::Help => HelpRequest::KIND,
    }
}

/// A question as it was handed off.
fn question(handoff: &Handoff<Box<AgentQuestion>>, entry: &EntryLine) -> Handed {
    let origin = Origin {
        artifact_id: handoff.cause.artifact.clone(),
        waypoint_id: entry.journal.waypoint.clone().unwrap(),
        produced_by_role: handoff.role.clone(),
        produced_at: Timestamp::from_millis(0),
        source_refs: Vec::new(),
    };
    let (turn, delivery, agent, asked) = (handoff.turn.clone(), 1, handoff.agent.clone(), &handoff.body);
    let metered = handoff.metered.as_deref().cloned();
    let work = asked.work.as_ref();
    let work = work.map(|work| WorkInProgress { commit: work.commit.clone(), bundle: work.bundle.clone() });
    match asked.kind {
        QuestionKind::Clarification => Handed::Clarify(Box::new(ClarificationRequest::new(
            origin,
            ClarificationRequestBody {
                turn,
                delivery,
                agent,
                question: asked.question.clone(),
                decision_context: asked.context.clone(),
                confidence: Confidence::Low,
                options: asked.options.clone(),
                block_reason: asked.block_reason,
                work,
                waits_until: if let Ends::NotBefore(until) = asked.ends { Some(until) } else { None },
                waited: asked.ends == Ends::TurnAfterAll,
                metered,
                conversation: None,
            },
        ))),
        QuestionKind::Help => Handed::Help(Box::new(HelpRequest::new(
            origin,
            HelpRequestBody {
                turn,
                delivery,
                agent,
                raw_line: asked.question.clone(),
                context: None,
                work,
                help_events: Vec::new(),
                overruled: false,
                running: false,
                markers_ignored: Vec::new(),
                metered,
                conversation: None,
            },
        ))),
    }
}

/// An act as it was handed off: on the entry's waypoint, or on the flight.
fn act_line(entry: &EntryLine, by: &AgentName, cause: &Cause, act: Act) -> HandoffLine {
    let head = HandedHead {
        artifact_id: cause.artifact.clone(),
        turn: None,
        delivery: 0,
        agent: by.clone(),
        source_refs: Vec::new(),
    };
    HandoffLine {
        stream: cause.stream.clone(),
        sequence: cause.sequence,
        subject: HandedSubject {
            role: role::id(role::OPERATOR),
            flight: entry.journal.flight.clone(),
            waypoint: entry.journal.waypoint.clone(),
            kind: kind_of_act(&act).to_owned(),
        },
        digest: cause.digest,
        sender: Ok(Harness::Foreign),
        body: Ok((head, Handed::Act(act))),
    }
}

fn kind_of_act(act: &Act) -> &'static str {
    match act {
        Act::Answer(_) => ClarificationResponse::KIND,
        Act::Complete(_) => Completion::KIND,
        Act::Retry(_) => Retry::KIND,
        Act::Cancel(_) => Cancel::KIND,
        Act::Pause(_) => Pause::KIND,
        Act::Resume(_) => Resume::KIND,
        Act::Take(_) => Take::KIND,
        Act::Release(_) => Release::KIND,
        Act::HandIn(_) => HandIn::KIND,
        Act::Reconfigure(_) => Reconfigure::KIND,
        Act::Budget(_) => Budget::KIND,
        Act::Revise(_) => Revise::KIND,
    }
}

/// The act by which a person steered the flight.
fn steering(entry: &EntryLine) -> Option<HandoffLine> {
    let Ok(Entry::Steered(steered)) = &entry.entry else { return None };
    let cause = steered.record.cause.as_ref()?;
    let origin = Origin {
        artifact_id: cause.artifact.clone(),
        waypoint_id: entry.journal.flight.as_str().parse().unwrap(),
        produced_by_role: role::id(role::OPERATOR),
        produced_at: Timestamp::from_millis(0),
        source_refs: Vec::new(),
    };
    let agent = steered.by.clone();
    let act = match steered.verb {
        Verb::Pause => Act::Pause(Box::new(Pause::new(origin, PauseBody { agent }))),
        Verb::Reconfigure => {
            let workflows = steered.workflows.iter().map(|recorded| recorded.workflow.clone()).collect();
            Act::Reconfigure(Box::new(Reconfigure::new(origin, ReconfigureBody { agent, workflows, watched: false })))
        }
        Verb::Resume => Act::Resume(Box::new(Resume::new(origin, ResumeBody { agent }))),
        _ => Act::Cancel(Box::new(Cancel::new(origin, CancelBody { agent, reason: None }))),
    };
    Some(act_line(entry, &steered.by, cause, act))
}

fn artifact(handoff: &Handoff<BuildOutcome>, entry: &EntryLine) -> BuildArtifact {
    let origin = Origin {
        artifact_id: handoff.cause.artifact.clone(),
        waypoint_id: entry.journal.waypoint.clone().unwrap(),
        produced_by_role: handoff.role.clone(),
        produced_at: Timestamp::from_millis(0),
        source_refs: Vec::new(),
    };
    let (status, failure, commit) = match &handoff.body {
        BuildOutcome::Work { commit, .. } => (BuildStatus::Ok, None, commit.clone()),
        BuildOutcome::Failed(failure, left) => (BuildStatus::Failed, Some(failure.clone()), left.clone()),
    };
    BuildArtifact::new(
        origin,
        BuildArtifactBody {
            turn: handoff.turn.clone(),
            delivery: 1,
            agent: handoff.agent.clone(),
            status,
            failure,
            commit: commit.as_ref().map(|c| c.commit.clone()),
            tree: commit.as_ref().map(|c| c.tree.clone()),
            bundle: commit.map(|c| c.bundle),
            touched: Vec::new(),
            diff: DiffSummary::default(),
            left_out: Vec::new(),
            document: None,
            ledger: Vec::new(),
            claims: Vec::new(),
            completion_claim: None,
            markers_ignored: Vec::new(),
            last_words: None,
            metered: handoff.metered.as_deref().cloned().unwrap_or_default(),
        },
    )
}

/// A digest that nothing has.
pub fn nothing() -> Digest {
    Digest::of(b"nothing has this digest")
}

pub fn decided(line: &EntryLine) -> bool {
    matches!(line.entry, Ok(Entry::Decided(_)))
}
