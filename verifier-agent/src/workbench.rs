//! The workbench: judges one tree, with git and the sandbox and without the broker.

use std::sync::{Mutex, PoisonError};

use holdpoint_engine::handed::DOUBTS_MAX;
use holdpoint_evidence::checks;
use holdpoint_harness::{
    ask::Desk,
    environment::{Environments, TreeMechanism},
    ledger::TurnLedger,
};
use holdpoint_outline::FindingGroup;
use holdpoint_protocol::{
    artifact::{CriterionReport, Doubt, Metered, VerificationPurpose, VerificationRequest},
    budget::Allowance,
    facts::{Oid, Verdict},
    ids::{CriterionId, TurnId},
    plan::{Attention, Criterion, is_open_scope},
};
use holdpoint_runtime::{
    fresh,
    mirror::{from_wire, to_wire},
    path_rules,
};
use holdpoint_sandbox::{Command, Network, Profile, PropertyReport, RunLimits, Sandbox, Standby};
use holdpoint_workspace::{Mirror, WorkspaceError};
use tokio::sync::OnceCell;

use crate::{
    base_product,
    by_judge::{ByJudge, by_judge, by_person},
    case,
    changes::{self, Changes},
    checkpoint,
    criterion::{AskedBy, Judged, NAMES_SHOWN, NO_TESTS, Named, Subject, judged, plain},
    error::VerifyError,
    findings::{Findings, Verdicts},
    folder::{TurnFolder, clear_stale},
    judge::About,
    judged_before::{Attempts, JudgedBefore},
    known_runs::KnownRuns,
    mutants, place,
    runs::{self, Ground, Runs},
    settings::VerifierSettings,
    submodules,
    suspects::{self, Suspects, suspects},
    tree_changed, unrun,
};

/// What a person should know of work that nothing bounds.
const OPEN_SCOPE: &str = "no scope says what it may change: anything may, also what decides the verdict";

/// Judges trees. One a process; its turns may run one after another or at once.
#[derive(Debug)]
pub struct VerifierWorkbench {
    settings: VerifierSettings,
    sandbox: Sandbox,
    environments: Environments,
    mechanism: OnceCell<TreeMechanism>,
    known_runs: Mutex<KnownRuns>,
    judged_before: JudgedBefore,
}

/// What a verification goes by besides its request.
#[derive(Debug, Clone, Copy, Default)]
pub struct VerificationTerms<'a> {
    /// What the judge may use up.
    pub allowance: Option<Allowance>,
    /// The turn, by which it is kept what its deliveries used up; `None`: that is kept nowhere.
    pub turn: Option<&'a TurnId>,
    /// The attempts of whose trees the verdicts stand; `None`: everything is judged.
    pub attempts: Option<Attempts<'a>>,
}

/// Hears in one line what is being done.
pub type Notes<'a> = &'a (dyn Fn(&str) + Send + Sync);

impl VerifierWorkbench {
    /// A workbench. Clears what an earlier process left in the state folder.
    ///
    /// # Errors
    /// The state folder cannot be used.
    pub fn new(mut settings: VerifierSettings, sandbox: Sandbox) -> Result<Self, VerifyError> {
        clear_stale(&settings.state_dir)?;
        let resolved = settings.state_dir.canonicalize();
        settings.state_dir = resolved.map_err(VerifyError::io("resolve", &settings.state_dir))?;
        let environments = settings.environments();
        let (known_runs, judged_before) = (Mutex::default(), JudgedBefore::default());
        Ok(Self { settings, sandbox, environments, mechanism: OnceCell::new(), known_runs, judged_before })
    }

    /// How the trees of runs are kept apart here, found by trying it once.
    ///
    /// # Errors
    /// There is no sandbox here.
    pub async fn mechanism(&self) -> Result<TreeMechanism, VerifyError> {
        let find = async || {
            let overlay = self.sandbox.overlays_in(&self.settings.state_dir).await?;
            Ok::<_, VerifyError>(if overlay { TreeMechanism::Overlay } else { TreeMechanism::Copy })
        };
        self.mechanism.get_or_try_init(find).await.copied()
    }

    /// Where trees are checked out.
    pub(crate) fn state_dir(&self) -> &std::path::Path {
        &self.settings.state_dir
    }

    /// Tries the sandbox by running nothing much as a check, and says what keeps each promise to checks.
    ///
    /// # Errors
    /// A required property is not given here and not waived.
    pub async fn prove(&self) -> Result<Vec<PropertyReport>, holdpoint_sandbox::SandboxError> {
        let profile = Profile {
            read: Vec::new(),
            write: Vec::new(),
            deny: Vec::new(),
            network: Network::Loopback,
            limits: RunLimits::default(),
        };
        let mut command = Command::shell("true", "/", profile);
        command.env.insert("PATH".to_owned(), self.settings.path.clone());
        Ok(self.sandbox.run(&command, None).await?.properties)
    }

    /// Begins to set up the sandbox of the first check of a request, as long as the result lives.
    pub(crate) async fn stand_by(&self, request: &VerificationRequest) -> Option<Standby<'_>> {
        let of_criteria = asked(request).filter_map(|criterion| criterion.check.as_ref());
        let of_guards = request.guards.iter().map(|guard| &guard.check);
        let of_checkpoints = request.checkpoints.iter().map(|asked| &asked.command.check);
        let first = of_criteria.chain(of_guards).chain(of_checkpoints).next()?;
        Some(self.sandbox.stand_by(place::network(first.network)).await)
    }

    /// Judges what a request names, in a folder called `name` that goes afterwards, and takes the report for [made](Self::reported). The
    /// judge's questions wait at the desk. Dropping the future ends all programs.
    ///
    /// # Errors
    /// A failure of ours. Faults of the work under review are in the findings.
    pub async fn verify(
        &self,
        name: &str,
        request: &VerificationRequest,
        mirror: &Mirror,
        notes: Notes<'_>,
        desk: &dyn Desk,
    ) -> Result<Findings, VerifyError> {
        let terms = VerificationTerms::default();
        let findings = Box::pin(self.verify_within(terms, (name, request), mirror, notes, desk)).await?;
        self.reported(&findings);
        Ok(findings)
    }

    /// Remembers findings whose report is made: later reports may cite it.
    pub fn reported(&self, findings: &Findings) {
        if findings.asks.is_none() {
            self.known_runs.lock().unwrap_or_else(PoisonError::into_inner).extend(&findings.known);
            self.judged_before.reported(&findings.report);
        }
    }

    /// As [`Self::verify`], by these terms.
    ///
    /// # Errors
    /// As there.
    pub async fn verify_within(
        &self,
        terms: VerificationTerms<'_>,
        (name, request): (&str, &VerificationRequest),
        mirror: &Mirror,
        notes: Notes<'_>,
        desk: &dyn Desk,
    ) -> Result<Findings, VerifyError> {
        let base_tree = match base_tree(mirror, request).await? {
            Ok(base_tree) => base_tree,
            Err(why) => return Ok(Findings::refused(request, &why)),
        };
        let attempts = terms.attempts.filter(|_| !self.settings.fresh);
        let before = attempts.and_then(|attempts| self.judged_before.get(attempts, request));
        if let Some(findings) = before {
            notes("the tree was judged before");
            let metered = terms.turn.and_then(|turn| self.used(turn));
            return Ok(Findings { metered, ..findings });
        }
        let judged = self.judged(terms, (name, request), (mirror, &base_tree), notes, desk);
        let findings = Box::pin(judged).await?;
        if let Some(attempts) = terms.attempts {
            self.judged_before.put(attempts, request, &findings);
        }
        Ok(findings)
    }

    /// What the judge used up in a turn so far, in whichever of its deliveries.
    pub(crate) fn used(&self, turn: &TurnId) -> Option<Metered> {
        runs::used(&TurnLedger::of(&self.settings.state_dir, turn))
    }

    async fn judged(
        &self,
        VerificationTerms { allowance, turn, .. }: VerificationTerms<'_>,
        (name, request): (&str, &VerificationRequest),
        (mirror, base_tree): (&Mirror, &Oid),
        notes: Notes<'_>,
        desk: &dyn Desk,
    ) -> Result<Findings, VerifyError> {
        let folder = TurnFolder::create(&self.settings.state_dir, name)?;
        let mechanism = Box::pin(self.mechanism()).await?;
        let Self { settings, sandbox, environments, known_runs: known, .. } = self;
        let ground = Ground { settings, sandbox, environments, mechanism, known };
        let report = fresh::artifact();
        let mut runs = Runs::new(ground, (mirror, base_tree), &request.environment, folder, (&report, desk));
        let mut changes = Box::pin(looked_at(mirror, base_tree, request, &mut runs)).await?;
        if request.tree != *base_tree {
            let among = Box::pin(runs.among_dependencies(changes.paths().collect::<Vec<_>>().into_iter())).await?;
            let new: Vec<_> = among.into_iter().filter(|violation| !changes.violations.contains(violation)).collect();
            changes.violations.extend(new);
        }
        let subject = Subject {
            waypoint: &request.waypoint_id,
            tree: &request.tree,
            base_tree,
            changes: &changes,
            mirror,
            about: About {
                clarifications: &request.clarifications,
                tests: &request.tests,
                gate: &request.gate,
                judged: &request.judged,
            },
        };
        runs.new_modules = changes.new_modules.clone();
        runs.recipes = path_rules::recipes(mirror, &from_wire(base_tree), &changes::commands(request)).await?;
        runs.ignores = changes::ignores(mirror, base_tree).await?;
        runs.allowance = allowance;
        if let Some(turn) = turn {
            runs.ledger = TurnLedger::of(&self.settings.state_dir, turn);
        }
        let mut verdicts = Verdicts::default();
        if request.purpose == VerificationPurpose::Handoff {
            // A merge is of work that was looked through as it was handed off.
            let told = changes.doubts().into_iter();
            verdicts.doubts.extend(told.map(Doubt::note));
            verdicts.doubts.extend(case::doubt(mirror, base_tree, &request.tree).await?);
        }
        let all = asked(request).count() + request.guards.len() + request.checkpoints.len();
        let mut numbers = 1..;
        let mut told = |kind: &str, id: &CriterionId| {
            let number = numbers.next().unwrap_or_default();
            notes(&format!("{kind} {id}, {number} of {all}"));
        };
        for criterion in asked(request) {
            told("criterion", &criterion.id);
            self.criterion(&mut runs, &subject, request.purpose, criterion, &mut verdicts).await?;
            if verdicts.asks.is_some() {
                return Ok(Findings::of(verdicts, changes, runs.ended()));
            }
        }
        for guard in &request.guards {
            told("guard", &guard.id);
            let named = Named { id: &guard.id, check: &guard.check, by: AskedBy::Guard };
            let report = check(&mut runs, &subject, request.purpose, named, &mut verdicts.doubts).await?;
            verdicts.guards.push(report);
        }
        for asked in &request.checkpoints {
            told("checkpoint", &asked.id);
            verdicts.checkpoints.push(Box::pin(checkpoint::settled(&mut runs, &subject, asked)).await?);
        }
        let is_red = |report: &CriterionReport| report.result.verdict != Verdict::Pass;
        let is_green = !verdicts.criteria.iter().chain(&verdicts.guards).any(is_red);
        let is_judged = request.purpose != VerificationPurpose::Baseline && is_green;
        if is_judged && is_open_scope(&request.scope) && !changes.all.is_empty() {
            verdicts.doubts.push(Doubt::note(OPEN_SCOPE.to_owned()));
        }
        if is_judged
            && request.suspicious != Attention::Off
            && let Some(helper) = &settings.helper
        {
            let Suspects { findings, notes } = suspects(helper, (mirror, base_tree), &changes.all).await?;
            let (suspicious, silenced): (Vec<_>, Vec<_>) =
                findings.iter().partition(|finding| finding.group == FindingGroup::Suspicious);
            // Doubts are bounded: a change that raises many others must not push these out.
            let suspicious = suspicious.into_iter().map(suspects::in_words).map(Doubt::suspicious);
            verdicts.doubts.splice(0..0, suspicious.chain(notes.into_iter().map(Doubt::note)));
            verdicts.doubts.extend(silenced.into_iter().map(suspects::in_words).map(Doubt::note));
            verdicts.suspects = findings;
        }
        if request.purpose == VerificationPurpose::Baseline && verdicts.guards.iter().any(is_red) {
            verdicts.doubts.extend(submodules::doubt(mirror, &request.tree).await?);
        }
        Ok(Findings::of(verdicts, changes, runs.ended()))
    }

    async fn criterion(
        &self,
        runs: &mut Runs<'_>,
        subject: &Subject<'_>,
        purpose: VerificationPurpose,
        criterion: &Criterion,
        verdicts: &mut Verdicts,
    ) -> Result<(), VerifyError> {
        let report = match &criterion.check {
            Some(command) => {
                let named = Named { id: &criterion.id, check: command, by: AskedBy::Criterion };
                check(runs, subject, purpose, named, &mut verdicts.doubts).await?
            }
            None if let Some(given) = subject.about.judged.iter().find(|given| given.criterion == criterion.id) => {
                by_person(runs, criterion, given)
            }
            None => {
                let judge = self.settings.judge.as_ref();
                let (report, doubts) = match by_judge(runs, subject, criterion, judge, &verdicts.criteria).await? {
                    ByJudge::Report(report, doubts) => (*report, doubts),
                    ByJudge::Asks(asks) => {
                        verdicts.asks = Some(asks);
                        return Ok(());
                    }
                };
                let doubts = doubts.into_iter().map(|text| format!("{}: {text}", criterion.id));
                verdicts.doubts.extend(doubts.map(Doubt::note));
                report
            }
        };
        verdicts.criteria.push(report);
        Ok(())
    }
}

/// The criteria that a request wants judged. A baseline only shows that what has to be red first is.
pub(crate) fn asked(request: &VerificationRequest) -> impl Iterator<Item = &Criterion> {
    let baseline = request.purpose == VerificationPurpose::Baseline;
    request.criteria.iter().filter(move |criterion| !baseline || criterion.check.as_ref().is_some_and(|c| c.red_first))
}

async fn check(
    runs: &mut Runs<'_>,
    subject: &Subject<'_>,
    purpose: VerificationPurpose,
    named: Named<'_>,
    doubts: &mut Vec<Doubt>,
) -> Result<CriterionReport, VerifyError> {
    if purpose == VerificationPurpose::Baseline {
        return plain(runs, subject, named).await;
    }
    let mut judged = judged(runs, subject, named).await?;
    Box::pin(tree_changed::tried(runs, subject, named, &mut judged)).await?;
    doubts.extend(renamed(subject, named, &judged));
    if named.by == AskedBy::Guard {
        let shows_nothing = judged.report.result.verdict == Verdict::Pass && judged.first.read.ran_no_test();
        let text = format!("guard {}: {NO_TESTS}", named.id);
        doubts.extend(shows_nothing.then_some(Doubt::note(text)));
    } else if purpose == VerificationPurpose::Handoff {
        // A guard was green before the work, and a merge is of work that was tried as it was handed off.
        let found = Box::pin(base_product::tried(runs, subject, named, &mut judged)).await?;
        let room = DOUBTS_MAX / 2 - doubts.len().min(DOUBTS_MAX / 2);
        let unrun = Box::pin(unrun::doubt(runs, subject, named, &judged)).await?;
        let found = found.into_iter().chain(unrun).take(room).map(|text| format!("{}: {text}", named.id));
        doubts.extend(found.map(Doubt::note));
        Box::pin(mutants::tried(runs, subject, named, &mut judged)).await?;
    }
    Ok(judged.report)
}

/// What is doubted where tests of the base are gone under their names, and as many others came.
fn renamed(subject: &Subject<'_>, named: Named<'_>, judged: &Judged) -> Option<Doubt> {
    let base = judged.base.as_ref().filter(|_| judged.report.result.verdict == Verdict::Pass);
    let base = base.filter(|_| !subject.changes.tests_named())?;
    let gone = checks::without_their_names(&base.read, &judged.first.read, &subject.changes.changed_names);
    let shown: Vec<&str> = gone.iter().map(String::as_str).take(NAMES_SHOWN).collect();
    let more = if gone.len() > NAMES_SHOWN { ", …" } else { "" };
    let text = format!(
        "{}: tests of the base are gone, and as many others came; they are green where they are put back: {}{more}",
        named.id,
        shown.join(", ")
    );
    (!gone.is_empty()).then_some(Doubt::note(text))
}

/// What changed. Where something is run, the tree is checked out meanwhile: the first run of a check is nearly always on it.
async fn looked_at(
    mirror: &Mirror,
    base_tree: &Oid,
    request: &VerificationRequest,
    runs: &mut Runs<'_>,
) -> Result<Changes, VerifyError> {
    let changes = async {
        match request.purpose {
            VerificationPurpose::Baseline => Ok(Changes::default()),
            VerificationPurpose::Handoff | VerificationPurpose::Merge => {
                Changes::between(mirror, base_tree, request).await
            }
        }
    };
    let has_commands = !request.guards.is_empty() || !request.checkpoints.is_empty();
    let runs_something = has_commands || asked(request).any(|criterion| criterion.check.is_some());
    let ahead = async { if runs_something { runs.check_out_ahead(&request.tree).await } else { Ok(()) } };
    let (changes, ahead) = tokio::join!(changes, ahead);
    let changes = changes?;
    ahead.map(|()| changes)
}

/// The tree of the base, if what is to be judged is what it has to be: one commit on that base, with that tree. The
/// inner error says what is wrong with it.
async fn base_tree(mirror: &Mirror, request: &VerificationRequest) -> Result<Result<Oid, String>, VerifyError> {
    let VerificationRequest { base, commit, tree, .. } = request;
    let read = async |wanted: &Oid| match mirror.commit(&from_wire(wanted)).await {
        Err(WorkspaceError::NoSuchObject { .. }) => Ok(Err(match mirror.has(&from_wire(wanted)).await? {
            true => format!("{wanted} is not a commit"),
            false => format!("the commit {wanted} was not brought by the bundles"),
        })),
        read => Ok::<_, VerifyError>(Ok(read?)),
    };
    let (on, judged) = match (read(base).await?, read(commit).await?) {
        (Ok(on), Ok(judged)) => (on, judged),
        (Err(trouble), _) | (_, Err(trouble)) => return Ok(Err(trouble)),
    };
    let found = to_wire(&judged.tree);
    if &found != tree {
        return Ok(Err(format!("the commit {commit} has the tree {found} and not {tree}")));
    }
    let one_on_base = judged.parents.iter().map(to_wire).eq([base.clone()]);
    if request.purpose != VerificationPurpose::Baseline && commit != base && !one_on_base {
        return Ok(Err(format!("the commit {commit} is not one commit on the base {base}")));
    }
    Ok(Ok(to_wire(&on.tree)))
}
