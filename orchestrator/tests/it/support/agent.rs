//! An agent whose every word the test chooses.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use holdpoint_bus::{
    Bus, Outgoing,
    api::{self, Call},
    auth::Credentials,
    blobs,
    broker::LocalBroker,
    handoffs::{self, ShowJwt},
    signals::Signals,
    turns::{Delivery, TurnQueue},
};
use holdpoint_protocol::{
    Digest,
    api::{Going, PROGRESS, Progress, ProgressAnswer, ProgressNotice, RefusedHandoff},
    artifact::{
        Artifact, BuildArtifact, BuildArtifactBody, BuildPlan, BuildPlanBody, BuildStatus, ChecklistReceipt,
        ClarificationRequest, ClarificationRequestBody, Completion, CompletionBody, Confidence, CriterionReport, Doubt,
        HelpRequest, HelpRequestBody, Metered, Origin, VerificationReport, VerificationReportBody, WorkInProgress,
    },
    codec::{self, Encoding},
    completing::{COMPLETE, CompleteAnswer, CompleteCall},
    facts::{BundleRef, CriterionResult, DiffSummary, Oid, Verdict},
    ids::{AgentName, ArtifactId, PoolId, RoleId, role},
    names::PLAN_KINDS,
    plan::TurnBudget,
    reason::{BlockReason, CriterionReason},
    state::Outcome,
    subjects,
    turn::{Turn, TurnRequest},
};
use holdpoint_runtime::{clock, fresh};

use super::{SOON, World};

/// What every check prints; stored when a verifier begins.
const OUTPUT: &[u8] = b"output";

/// An agent played by the test.
pub(crate) struct Agent {
    pub(crate) role: RoleId,
    pub(crate) name: AgentName,
    pub(crate) bus: Bus,
    queue: TurnQueue,
    refused: Signals,
    handoffs: u32,
}

impl Agent {
    /// Connects one that takes the turns of this pool.
    pub(super) async fn join(local: &LocalBroker, pool: &PoolId, role: RoleId, name: AgentName) -> Self {
        let creds = local.authority.mint_agent(&role, &name, pool, None).unwrap();
        Self::join_as(local, pool, role, name, &creds).await
    }

    /// The same with these credentials.
    pub(super) async fn join_as(
        local: &LocalBroker,
        pool: &PoolId,
        role: RoleId,
        name: AgentName,
        creds: &Credentials,
    ) -> Self {
        let bus = local.connect(creds).await.unwrap();
        let roots = Arc::new(local.authority.trust_roots().clone());
        let queue = TurnQueue::open(&bus, &role, pool, roots).await.unwrap();
        if role::JUDGING.contains(&role.as_str()) {
            blobs::put(&bus, &role, Bytes::from_static(OUTPUT)).await.unwrap();
        }
        let refused = Signals::listen(&bus, subjects::refused(&role, &name)).await.unwrap();
        Self { role, name, bus, queue, refused, handoffs: 0 }
    }

    /// The next turn, planned for as an agent does.
    pub(crate) async fn take(&mut self) -> (Turn, Delivery) {
        let delivery = tokio::time::timeout(SOON, self.queue.next()).await.expect("a turn");
        let turn: Turn = codec::decode(&delivery.stored.payload, Encoding::Json).unwrap();
        self.plan(&turn, delivery.number).await;
        (turn, delivery)
    }

    /// The next turn, as soon as the broker delivers one again that nobody has hinted at.
    pub(crate) async fn take_again(&mut self) -> (Turn, Delivery) {
        let deadline = tokio::time::Instant::now() + SOON;
        let delivery = loop {
            if let Some(delivery) = self.queue.poll().await {
                break delivery;
            }
            assert!(tokio::time::Instant::now() < deadline, "waited in vain for a turn");
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let turn: Turn = codec::decode(&delivery.stored.payload, Encoding::Json).unwrap();
        self.plan(&turn, delivery.number).await;
        (turn, delivery)
    }

    /// Takes the open turn this often, and is not heard of again in between. The broker has to deliver it again soon.
    pub(crate) async fn dies_of_a_turn(&mut self, deliveries: u64) -> Turn {
        loop {
            let (turn, delivery) = self.take_again().await;
            if delivery.number >= deliveries {
                return turn;
            }
        }
    }

    /// Whether there is a turn for it now.
    pub(crate) async fn is_offered_anything(&mut self) -> bool {
        self.queue.poll().await.is_some()
    }

    /// Takes a build turn and hands off a commit on its base that changes these files.
    pub(crate) async fn builds(&mut self, world: &World, files: &[(&str, &str)]) -> Turn {
        let (turn, delivery) = self.take().await;
        let TurnRequest::Build(request) = &turn.request else { panic!("no build turn: {turn:?}") };
        let work = world.commit(self, request.base.as_str(), files).await;
        let artifact = self.built(&turn, Some(work));
        self.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
        delivery.ack().await.unwrap();
        turn
    }

    /// Takes a verifier's turn and reports this verdict on every criterion.
    pub(crate) async fn judges(&mut self, verdict: Verdict) -> Turn {
        let (turn, delivery) = self.take().await;
        let report = self.reported(&turn, verdict);
        self.hand_off(&turn, VerificationReport::KIND, &report).await;
        delivery.ack().await.unwrap();
        turn
    }

    /// Takes a verifier's turn and passes everything, with doubts that block nothing.
    pub(crate) async fn passes_doubting(&mut self, doubts: &[&str]) {
        let (turn, delivery) = self.take().await;
        let doubts = doubts.iter().map(|text| Doubt::note((*text).to_owned())).collect();
        let report = VerificationReport { doubts, ..self.reported(&turn, Verdict::Pass) };
        self.hand_off(&turn, VerificationReport::KIND, &report).await;
        delivery.ack().await.unwrap();
    }

    /// Takes a turn and asks a question, with the work that is there.
    pub(crate) async fn asks(
        &mut self,
        question: &str,
        options: &[&str],
        work: Option<WorkInProgress>,
    ) -> (Turn, ClarificationRequest) {
        let (turn, delivery) = self.take().await;
        let asked = self.ask(&turn, question, options, work).await;
        delivery.ack().await.unwrap();
        (turn, asked)
    }

    /// Asks a question in a turn that it has.
    pub(crate) async fn ask(
        &mut self,
        turn: &Turn,
        question: &str,
        options: &[&str],
        work: Option<WorkInProgress>,
    ) -> ClarificationRequest {
        let asked = self.question(turn, question, options, work);
        self.hand_off(turn, ClarificationRequest::KIND, &asked).await;
        asked
    }

    /// Asks a question in a turn that it has, and keeps the turn.
    pub(crate) async fn ask_in_turn(&mut self, turn: &Turn, question: &str, options: &[&str]) -> ClarificationRequest {
        let waits_until = Some(clock::now().after(SOON));
        let asked = ClarificationRequest { waits_until, ..self.question(turn, question, options, None) };
        self.hand_off(turn, ClarificationRequest::KIND, &asked).await;
        asked
    }

    /// Ends its turn with the question that it waited for.
    pub(crate) async fn end_waiting(&mut self, turn: &Turn, asked: &ClarificationRequest) {
        let origin = origin(turn, &self.role);
        let ends =
            ClarificationRequest { artifact_id: origin.artifact_id, waits_until: None, waited: true, ..asked.clone() };
        self.hand_off(turn, ClarificationRequest::KIND, &ends).await;
    }

    fn question(
        &self,
        turn: &Turn,
        question: &str,
        options: &[&str],
        work: Option<WorkInProgress>,
    ) -> ClarificationRequest {
        let body = ClarificationRequestBody {
            turn: turn.turn_id.clone(),
            delivery: 1,
            agent: self.name.clone(),
            question: question.to_owned(),
            decision_context: "everything".to_owned(),
            confidence: Confidence::Low,
            options: options.iter().map(|&option| option.to_owned()).collect(),
            block_reason: BlockReason::default(),
            work,
            waits_until: None,
            waited: false,
            metered: None,
            conversation: None,
        };
        ClarificationRequest::new(origin(turn, &self.role), body)
    }

    /// Calls for help in a turn that it has.
    pub(crate) async fn call_for_help(&mut self, turn: &Turn, line: &str) {
        let call = self.help(turn, line);
        self.hand_off(turn, HelpRequest::KIND, &call).await;
    }

    /// Reports a call for help while its program runs.
    pub(crate) async fn hears_help(&mut self, turn: &Turn, line: &str) {
        let call = HelpRequest { running: true, ..self.help(turn, line) };
        self.hand_off(turn, HelpRequest::KIND, &call).await;
    }

    fn help(&self, turn: &Turn, line: &str) -> HelpRequest {
        let body = HelpRequestBody {
            turn: turn.turn_id.clone(),
            delivery: 1,
            agent: self.name.clone(),
            raw_line: line.to_owned(),
            context: None,
            work: None,
            help_events: Vec::new(),
            overruled: false,
            running: false,
            markers_ignored: Vec::new(),
            metered: None,
            conversation: None,
        };
        HelpRequest::new(origin(turn, &self.role), body)
    }

    /// Says that it holds the turn.
    pub(crate) async fn plan(&mut self, turn: &Turn, delivery: u64) {
        let plan = self.build_plan(turn, delivery);
        self.hand_off(turn, BuildPlan::KIND, &plan).await;
    }

    /// Says that it holds the turn, and asks whether it is open.
    pub(crate) async fn plan_and_ask(&mut self, turn: &Turn, nonce: &str) -> ProgressNotice {
        let mut notices = Signals::listen(&self.bus, subjects::progress(&self.role, &self.name)).await.unwrap();
        let plan = self.build_plan(turn, 1);
        let (subject, outgoing) = self.outgoing(turn, BuildPlan::KIND, &plan);
        handoffs::ask(&self.bus, &subject, &outgoing, nonce).await.unwrap();
        let signal = tokio::time::timeout(SOON, notices.next()).await.expect("an answer").unwrap();
        codec::decode(&signal.payload, Encoding::Json).unwrap()
    }

    fn build_plan(&self, turn: &Turn, delivery: u64) -> BuildPlan {
        BuildPlan::new(
            origin(turn, &self.role),
            BuildPlanBody {
                turn: turn.turn_id.clone(),
                delivery: u32::try_from(delivery).unwrap(),
                agent: self.name.clone(),
                declared: false,
                file_targets: vec![],
                validation: vec![],
                coverage: vec![],
                budget: TurnBudget::default(),
            },
        )
    }

    /// Publishes anything on the turn's subject.
    pub(crate) async fn hand_off<T: serde::Serialize>(&mut self, turn: &Turn, kind: &str, artifact: &T) {
        let (subject, outgoing) = self.outgoing(turn, kind, artifact);
        // As an agent does: its plan says who it is.
        let show_jwt = if PLAN_KINDS.contains(&kind) { ShowJwt::Yes } else { ShowJwt::No };
        handoffs::publish(&self.bus, &subject, &outgoing, show_jwt).await.unwrap();
    }

    /// Publishes a handoff of its own under a message id in which another agent is named.
    pub(crate) async fn hand_off_as(&mut self, name: &str, turn: &Turn, artifact: &BuildArtifact) {
        let (subject, outgoing) = self.outgoing(turn, BuildArtifact::KIND, artifact);
        // None that the other agent uses itself: the broker would take its handoff for a repetition.
        let message_id = format!("{}.1.{name}.{}.{}", turn.turn_id, BuildArtifact::KIND, fresh::suffix());
        let outgoing = Outgoing { message_id, ..outgoing };
        handoffs::publish(&self.bus, &subject, &outgoing, ShowJwt::No).await.unwrap();
    }

    fn outgoing<T: serde::Serialize>(&mut self, turn: &Turn, kind: &str, artifact: &T) -> (String, Outgoing) {
        self.handoffs += 1;
        let outgoing = Outgoing {
            payload: codec::encode(artifact, Encoding::Json).unwrap().into(),
            content_type: Encoding::Json.content_type(),
            schema: format!("{kind}/1.0"),
            message_id: format!("{}.1.{}.{kind}.{}", turn.turn_id, self.name, self.handoffs),
            traceparent: None,
        };
        (format!("{}.{kind}", turn.handoff_subject), outgoing)
    }

    /// Says that it cannot go on with a turn.
    pub(crate) async fn say_trouble(&self, turn: &Turn, trouble: &str) {
        self.ask_progress(turn, Some(trouble.to_owned())).await.unwrap();
    }

    /// Asks whether a turn is wanted.
    pub(crate) async fn ask_progress(
        &self,
        turn: &Turn,
        trouble: Option<String>,
    ) -> Result<ProgressAnswer, api::ApiError> {
        self.progress(turn, trouble, 0, false).await
    }

    /// What the holder of an open turn hears that has so many of its answers.
    pub(crate) async fn going(&self, turn: &Turn, answers: u32) -> Going {
        match self.progress(turn, None, answers, true).await.unwrap() {
            ProgressAnswer::Continue(going) => going,
            stop @ ProgressAnswer::Stop { .. } => panic!("{stop:?}"),
        }
    }

    async fn progress(
        &self,
        turn: &Turn,
        trouble: Option<String>,
        answers: u32,
        newest: bool,
    ) -> Result<ProgressAnswer, api::ApiError> {
        let progress = Progress {
            flight: turn.flight.clone(),
            waypoint: turn.waypoint.clone(),
            turn: turn.turn_id.clone(),
            delivery: 1,
            note: None,
            trouble,
            answers,
            newest,
        };
        self.request(PROGRESS, &progress).await
    }

    /// Asks an endpoint.
    pub(crate) async fn request<Q: serde::Serialize, A: serde::de::DeserializeOwned>(
        &self,
        endpoint: &str,
        query: &Q,
    ) -> Result<A, api::ApiError> {
        let payload = Bytes::from(codec::encode(query, Encoding::Json).unwrap());
        let answer = api::request(&self.bus, Call { endpoint, payload, timeout: SOON, traceparent: None }).await?;
        Ok(codec::decode(&answer, Encoding::Json).unwrap())
    }

    /// Completes a turn by one request, with anything in the place of the artifact.
    pub(crate) async fn complete_by_request<T: serde::Serialize>(
        &self,
        turn: &Turn,
        artifact: &T,
    ) -> Result<CompleteAnswer, api::ApiError> {
        let subject = format!("{}.{}", turn.handoff_subject, Completion::KIND);
        self.request(COMPLETE, &complete_call(&self.bus, subject, artifact)).await
    }

    /// What a refusal says.
    pub(crate) async fn refusal(&mut self) -> String {
        self.refused().await.error
    }

    /// The next refusal.
    pub(crate) async fn refused(&mut self) -> RefusedHandoff {
        let signal = tokio::time::timeout(SOON, self.refused.next()).await.expect("a refusal").unwrap();
        codec::decode(&signal.payload, Encoding::Json).unwrap()
    }

    /// Publishes under the name of another agent, whose key it does not have.
    pub(crate) async fn pretends(&mut self, turn: &Turn, artifact: &BuildArtifact, name: &str) {
        let artifact = BuildArtifact { agent: name.parse().unwrap(), ..artifact.clone() };
        self.hand_off(turn, BuildArtifact::KIND, &artifact).await;
    }

    /// A build artifact for this turn.
    pub(crate) fn built(&self, turn: &Turn, work: Option<(Oid, Oid, BundleRef)>) -> BuildArtifact {
        let (commit, tree, bundle) = match work {
            Some((commit, tree, bundle)) => (Some(commit), Some(tree), Some(bundle)),
            None => (None, None, None),
        };
        BuildArtifact::new(
            origin(turn, &self.role),
            BuildArtifactBody {
                turn: turn.turn_id.clone(),
                delivery: 1,
                agent: self.name.clone(),
                status: BuildStatus::Ok,
                failure: None,
                commit,
                tree,
                bundle,
                touched: vec![],
                diff: DiffSummary::default(),
                left_out: Vec::new(),
                document: None,
                ledger: vec![],
                claims: vec![],
                completion_claim: None,
                markers_ignored: Vec::new(),
                last_words: None,
                metered: Metered::default(),
            },
        )
    }

    /// A completion of this turn.
    pub(crate) fn completed(&self, turn: &Turn, outcome: Option<Outcome>) -> Completion {
        let body = CompletionBody {
            outcome,
            summary: "looked at".to_owned(),
            ..CompletionBody::of_agent(self.name.clone(), turn.turn_id.clone(), 1)
        };
        Completion::new(origin(turn, &self.role), body)
    }

    /// Takes a turn and completes it, with what `change` says.
    pub(crate) async fn completes(&mut self, change: impl FnOnce(&mut Completion)) -> Turn {
        let (turn, delivery) = self.take().await;
        let mut completion = self.completed(&turn, None);
        change(&mut completion);
        self.hand_off(&turn, Completion::KIND, &completion).await;
        delivery.ack().await.unwrap();
        turn
    }

    /// A report on this turn in which every criterion has this verdict.
    pub(crate) fn reported(&self, turn: &Turn, verdict: Verdict) -> VerificationReport {
        let TurnRequest::Verify(request) = &turn.request else { panic!("not a verifier's turn") };
        let criteria = request.criteria.iter().map(|criterion| CriterionReport {
            result: CriterionResult {
                id: criterion.id.clone(),
                verdict,
                reason: (verdict == Verdict::Fail).then_some(CriterionReason::ExitCode),
                evidence: vec![Digest::of(OUTPUT)],
            },
            command: None,
            exit_code: Some(0),
            output_tail: "output".to_owned(),
            note: None,
        });
        VerificationReport::new(
            origin(turn, &self.role),
            VerificationReportBody {
                turn: turn.turn_id.clone(),
                delivery: 1,
                agent: self.name.clone(),
                purpose: request.purpose,
                commit: request.commit.clone(),
                tree: request.tree.clone(),
                criteria: criteria.collect(),
                guards: vec![],
                checkpoints: vec![],
                violations: vec![],
                diff: DiffSummary::default(),
                doubts: vec![],
                receipt: ChecklistReceipt { checks: vec![], properties: vec![], foreign: true },
                self_checked: false,
                metered: None,
                markers_ignored: Vec::new(),
            },
        )
    }
}

/// A completion on this subject as its sender would have it stored.
pub(crate) fn complete_call<T: serde::Serialize>(bus: &Bus, subject: String, artifact: &T) -> CompleteCall {
    let artifact = String::from_utf8(codec::encode(artifact, Encoding::Json).unwrap()).unwrap();
    let signature = bus.signer().sign(&subject, artifact.as_bytes());
    CompleteCall { subject, artifact, signature }
}

fn origin(turn: &Turn, role: &RoleId) -> Origin {
    Origin {
        artifact_id: ArtifactId::try_new(fresh::suffix()).unwrap(),
        waypoint_id: turn.waypoint.clone(),
        produced_by_role: role.clone(),
        produced_at: clock::now(),
        source_refs: vec![],
    }
}
