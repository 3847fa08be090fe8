//! Running one program on one tree: checkout and environment before the first run, the sandbox, and the record of it all.
//!
//! `criterion` decides what a run means for a criterion; this only says how each run ended.

mod attended;
mod check;
mod ended;
mod observed;
mod record;
mod run;
mod set_up;
mod stood;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::Mutex,
    time::Instant,
};

use holdpoint_evidence::{
    checks::{CheckOutcome, JudgedRun},
    environment::TreeChanges,
    runners::{Observed, ReportTexts},
    telling,
};
use holdpoint_faults::Step;
use holdpoint_harness::{
    ask::{Ask, Desk, PrintListener},
    backend::login,
    environment::{Environments, TreeMechanism},
    exchange::stall::Stall,
    ledger::TurnLedger,
    over_http,
};
use holdpoint_protocol::{
    Digest,
    artifact::{CheckRun, Metered},
    budget::Allowance,
    facts::Oid,
    ids::{ArtifactId, CriterionId},
    plan::EnvironmentSpec,
    time::Millis,
};
use holdpoint_runtime::{mirror::from_wire, telemetry::TRACE};
use holdpoint_sandbox::{
    Command, Ended, ProgramInput, RunOutcome, Sandbox,
    observer::{ObserverListener, ObserverReport},
    room::{self, NearlyFull},
    tree::remove_tree,
};
use holdpoint_workspace::Mirror;
use tracing::{Instrument as _, info_span};

pub(crate) use ended::exit_code;
pub(crate) use record::Record;
pub(crate) use run::{CheckArgs, Ran, Takes, Tree};

use crate::{
    error::VerifyError,
    evidence::{self, Evidence, Interleaved},
    folder::{TurnFolder, make_dir},
    guard::{self, Guard},
    known_runs::{KnownRuns, TurnRuns},
    place::{Allowed, Place, Places, Stand, profile, variables},
    reports::Reports,
    settings::VerifierSettings,
    unrun::Watch,
};

/// A program to run on a tree.
pub(crate) struct Program<'a> {
    pub(crate) command: &'a str,
    pub(crate) env: &'a BTreeMap<String, String>,
    /// What it may read besides what all programs may.
    pub(crate) read: &'a [PathBuf],
    pub(crate) stdin: Vec<u8>,
    /// The name of a home that runs with that name have in common; `None`: its home goes with it.
    pub(crate) home: Option<&'a str>,
    pub(crate) allowed: Allowed,
    /// The criterion about which it may ask while it runs; only the judge may.
    pub(crate) asks: Option<&'a CriterionId>,
    /// What watches whether it comes on; only the judge is watched.
    pub(crate) stall: Option<&'a Stall>,
    /// What hears its calls for help in print; only the judge's count.
    pub(crate) printed: Option<&'a PrintListener>,
    /// New modules of its tree, whose imports by its Python programs are looked at; `None`: it is no check.
    pub(crate) guarded: Option<&'a BTreeSet<String>>,
    /// Lines that they are watched for.
    pub(crate) watch: Option<&'a Watch>,
    /// An observer hears what its Python test runners do.
    pub(crate) observed: bool,
}

/// What a program left.
struct Left {
    outcome: RunOutcome,
    /// The last lines, for people.
    tail: String,
    asked: Option<Ask>,
    places: Places,
    /// What observers heard; `None`: there were none.
    told: Option<Vec<ObserverReport>>,
    /// The disk that it wrote to, where that was nearly full when it ended.
    nearly_full: Option<NearlyFull>,
    /// Where it ran.
    dir: PathBuf,
    /// What a check reported in files.
    reports: ReportTexts,
    /// What it changed in its tree.
    changed: TreeChanges,
}

impl Left {
    /// What a program printed that came to nothing, unless a lack of room explains that.
    fn printed_with_room(&self) -> Result<String, VerifyError> {
        let printed = evidence::text(&self.outcome);
        match &self.nearly_full {
            Some(disk) if disk.explains(self.outcome.ended, telling::says_no_room(&printed)) => {
                Err(VerifyError::io("run a program in", &self.dir)(room::none_left()))
            }
            Some(_) | None => Ok(printed),
        }
    }
}

/// A turn's workbench in use: its folder, the trees that are ready, and the record so far.
pub(crate) struct Runs<'a> {
    settings: &'a VerifierSettings,
    sandbox: &'a Sandbox,
    mirror: &'a Mirror,
    environments: &'a Environments,
    spec: &'a EnvironmentSpec,
    base_tree: &'a Oid,
    mechanism: TreeMechanism,
    trees: HashMap<Oid, Ready>,
    /// A tree that is checked out, until something runs on it.
    ahead: Option<(Oid, Place)>,
    /// When the turn was taken up, as far as its runs go.
    began: Instant,
    started: u32,
    /// Files that Python could import and that the base does not have.
    pub(crate) new_modules: BTreeSet<String>,
    /// What commands run that ask for recipes of the base.
    pub(crate) recipes: BTreeMap<String, String>,
    /// The base's ignore files.
    pub(crate) ignores: Digest,
    /// Runs that need not be made.
    known: TurnRuns<'a>,
    /// The report that this turn's runs are for.
    report: &'a ArtifactId,
    /// What the judge may use up.
    pub(crate) allowance: Option<Allowance>,
    /// What the judge used up, also in earlier deliveries of the turn.
    pub(crate) ledger: TurnLedger,
    /// What was run so far.
    pub(crate) record: Record,
    folder: TurnFolder,
    desk: &'a dyn Desk,
}

/// A tree that is checked out, with its environment.
#[derive(Debug, Clone)]
struct Ready {
    place: Place,
    /// Its environment could not be set up.
    not_set_up: Option<Box<Ran>>,
}

/// What runs go by on this machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub(crate) settings: &'a VerifierSettings,
    pub(crate) sandbox: &'a Sandbox,
    pub(crate) environments: &'a Environments,
    pub(crate) mechanism: TreeMechanism,
    /// Runs of earlier reports.
    pub(crate) known: &'a Mutex<KnownRuns>,
}

/// What the runs of a turn leave.
pub(crate) struct EndedRuns {
    pub(crate) report: ArtifactId,
    pub(crate) record: Record,
    pub(crate) known: KnownRuns,
    pub(crate) metered: Option<Metered>,
}

/// What is noted in a ledger; `None`: nothing ran.
pub(crate) fn used(ledger: &TurnLedger) -> Option<Metered> {
    Some(ledger.used.clone()).filter(|used| *used != Metered::default())
}

impl<'a> Runs<'a> {
    /// A workbench that uses `folder` for everything, for a `report`. Trees depend on what `spec` says.
    pub(crate) fn new(
        Ground { settings, sandbox, environments, mechanism, known }: Ground<'a>,
        (mirror, base_tree): (&'a Mirror, &'a Oid),
        spec: &'a EnvironmentSpec,
        folder: TurnFolder,
        (report, desk): (&'a ArtifactId, &'a dyn Desk),
    ) -> Self {
        Self {
            settings,
            sandbox,
            mirror,
            environments,
            spec,
            base_tree,
            mechanism,
            trees: HashMap::new(),
            ahead: None,
            began: Instant::now(),
            started: 0,
            new_modules: BTreeSet::new(),
            recipes: BTreeMap::new(),
            ignores: Digest::of(b""),
            known: TurnRuns { earlier: known, own: KnownRuns::default(), fresh: settings.fresh },
            report,
            allowance: None,
            ledger: TurnLedger::unkept(),
            record: Record::default(),
            folder,
            desk,
        }
    }

    /// What a run printed, as it was kept.
    pub(crate) fn printed(&self, ran: &Ran) -> String {
        let evidence = self.record.evidence(&ran.run.output);
        evidence.map(|evidence| String::from_utf8_lossy(&evidence.bytes).into_owned()).unwrap_or_default()
    }

    /// Runs a program that is no check on a tree, and says what it asked meanwhile. Its output is not noted.
    pub(crate) async fn program(
        &mut self,
        tree: Tree<'_>,
        program: Program<'_>,
    ) -> Result<(RunOutcome, Option<Ask>), VerifyError> {
        let ready = self.ready(tree).await?;
        let left = self.run(&ready.place, tree.oid, program).await?;
        if left.outcome.ended != Ended::Exited(0) {
            left.printed_with_room()?;
        }
        Ok((left.outcome, left.asked))
    }

    /// What is left when nothing else runs.
    pub(crate) fn ended(self) -> EndedRuns {
        let (record, metered) = (self.record, used(&self.ledger));
        EndedRuns { report: self.report.clone(), record, known: self.known.own, metered }
    }

    /// Who has questions answered and keeps records.
    pub(crate) fn desk(&self) -> &'a dyn Desk {
        self.desk
    }

    /// The failed setup of a tree's environment, if it failed.
    pub(crate) async fn failed_setup(&mut self, tree: Tree<'_>) -> Result<Option<Ran>, VerifyError> {
        Ok(self.ready(tree).await?.not_set_up.map(|ran| *ran))
    }

    /// Checks a tree out and sets its environment up, once.
    async fn ready(&mut self, tree: Tree<'_>) -> Result<Ready, VerifyError> {
        if let Some(ready) = self.trees.get(tree.oid) {
            return Ok(ready.clone());
        }
        let mut place = match self.ahead.take_if(|(oid, _)| oid == tree.oid) {
            Some((_, place)) => place,
            None => self.checked_out(tree.oid).await?,
        };
        let (layer, not_set_up) = self.set_up(tree).await?;
        place.layer = layer;
        place.here.clone_from(&self.settings.here);
        place.compiled = self.has_compiled_modules(tree.oid, &place).await?;
        self.begin_build(&place).await?;
        let ready = Ready { place, not_set_up: not_set_up.map(Box::new) };
        self.trees.insert(tree.oid.clone(), ready.clone());
        Ok(ready)
    }

    /// Checks a tree out on which something is to run.
    pub(crate) async fn check_out_ahead(&mut self, tree: &Oid) -> Result<(), VerifyError> {
        self.ahead = Some((tree.clone(), self.checked_out(tree).await?));
        Ok(())
    }

    async fn checked_out(&self, tree: &Oid) -> Result<Place, VerifyError> {
        let place = Place::in_folder(self.folder.path(), tree.as_str());
        make_dir(&place.build)?;
        self.checkout(tree, &place.tree).await?;
        Ok(place)
    }

    async fn checkout(&self, tree: &Oid, dir: &Path) -> Result<(), VerifyError> {
        if let Some(parent) = dir.parent() {
            make_dir(parent)?;
        }
        let _at = holdpoint_faults::at(Step::Checkout);
        let span = info_span!(target: TRACE, "checkout");
        self.mirror.checkout(&from_wire(tree), dir).instrument(span).await?;
        Ok(())
    }

    /// Runs a program in the sandbox, in folders of its own.
    async fn run(&mut self, place: &Place, tree: &Oid, program: Program<'_>) -> Result<Left, VerifyError> {
        let scratch = self.folder.path().join("runs").join(self.started.to_string());
        self.started += 1;
        let home = program.home.map(|name| self.folder.path().join("kept").join(name));
        let stand = Stand::in_folder(&scratch, place, home, self.mechanism);
        let stood = self.stand(&stand, place, tree).await?;
        if program.home.is_some() {
            login::keep_path(&stand.real.home);
        }
        let places = Places::of(&stand.seen);
        let mut profile = profile(self.settings, place, &stand, program.allowed, program.read);
        let mut env = variables(self.settings, self.spec, (place, &stand.seen), program.env);
        let path = env.get("PATH").cloned().unwrap_or_default();
        let listener = observed::listener(self.sandbox, &program, profile.network, &scratch.join("observer")).await?;
        if let Some(guard) = self.guard(&program, &stand.seen.dir, &scratch.join("guard"), listener.as_ref())? {
            profile.read.push(guard.folder().to_owned());
            env.insert("PATH".to_owned(), guard.path(&path));
        }
        let mut reports = None;
        if program.guarded.is_some() {
            if guard::node::may_test(self.recipe(program.command)) {
                profile.read.push(guard::node::load_first(&scratch.join("node"), &mut env)?);
            }
            reports = Some(Reports::asked_for(&stand.real.tmp, &stand.seen.tmp, &mut env)?);
        }
        let mut command = Command::shell(program.command, &stand.real.dir, profile);
        command.shown.clone_from(&stand.shown);
        command.env = env;
        if over_http::is_asked_by(program.command) {
            let dir = scratch.join("http");
            over_http::grant(&dir, self.sandbox, &mut command).map_err(VerifyError::io("link in", &dir))?;
        }
        if let Some(listener) = &listener {
            observed::start_through(listener, program.command, &mut command, (&scratch, &place.tree))?;
        }
        if !program.stdin.is_empty() {
            command.stdin = ProgramInput::Bytes(program.stdin);
        }
        let tail = Interleaved::default();
        let tap = tail.tap();
        let _at = holdpoint_faults::at(Step::RunCheck);
        let (outcome, asked, told) = if let Some(criterion) = program.asks {
            let (outcome, asked) = self
                .attended(command, &scratch.join("line"), &tap, (criterion, program.stall, program.printed))
                .await?;
            (outcome, asked, None)
        } else if let Some(listener) = listener {
            let (outcome, told) = listener.during(self.sandbox.run(&command, Some(&tap))).await;
            (outcome?, None, Some(told))
        } else {
            (self.sandbox.run(&command, Some(&tap)).await?, None, None)
        };
        let nearly_full = NearlyFull::at(&scratch);
        let changed = self.changed(&stand, stood, place, tree).await?;
        let dir = stand.real.dir.clone();
        // No later run uses it, and copies of big trees add up. Folders that stay go with the turn.
        let read_and_removed = tokio::task::spawn_blocking(move || {
            let texts = reports.map(|reports| reports.read(&dir)).unwrap_or_default();
            let _ = remove_tree(&scratch);
            texts
        });
        let reports = read_and_removed.await.unwrap_or_default();
        let tail = tail.last_lines(&outcome);
        self.record.ended(&outcome);
        self.record.kept_apart_by(self.mechanism);
        Ok(Left { outcome, tail, asked, places, told, nearly_full, dir: stand.real.dir, reports, changed })
    }

    /// A guard for a program on the tree in `dir`, where there is something to look at or to hear.
    fn guard(
        &self,
        program: &Program<'_>,
        dir: &Path,
        folder: &Path,
        listener: Option<&ObserverListener>,
    ) -> Result<Option<Guard>, VerifyError> {
        let named = guard::programs(program.command);
        let Some(new_modules) = program.guarded.filter(|_| !named.is_empty()) else { return Ok(None) };
        if new_modules.is_empty() && program.watch.is_none() && listener.is_none() {
            return Ok(None);
        }
        let observer = listener.map(ObserverListener::starts_with);
        Guard::write(folder, &named, dir, new_modules, program.watch, observer.as_ref()).map(Some)
    }

    /// Puts a run into the record.
    fn noted(
        &mut self,
        criterion: Option<&CriterionId>,
        command: &str,
        tree: Tree<'_>,
        left: Left,
        read: JudgedRun,
    ) -> Ran {
        let Left { outcome, tail, changed, .. } = left;
        let heard = read.observed.as_ref().map(Observed::lines).unwrap_or_default();
        let run = self.recorded((criterion, command), tree, &outcome, &heard, read.outcome);
        let ending = evidence::ending(outcome.ended);
        let (red_before, is_steady) = (Vec::new(), false);
        Ran { run, read, tail, ending, changed, lacks: None, not_set_up: false, red_before, is_steady }
    }

    /// The run of a command, with its evidence in the record.
    fn recorded(
        &mut self,
        (criterion, command): (Option<&CriterionId>, &str),
        tree: Tree<'_>,
        outcome: &RunOutcome,
        heard: &[String],
        (verdict, reason): CheckOutcome,
    ) -> CheckRun {
        let evidence = Evidence::of_run(command, tree.oid, tree.broken, outcome, heard);
        let run = CheckRun {
            criterion: criterion.cloned(),
            command: command.to_owned(),
            tested: tree.tested,
            tree: tree.oid.clone(),
            exit_code: exit_code(outcome.ended),
            signal: if let Ended::Signalled(signal) = outcome.ended { Some(signal) } else { None },
            duration: Millis::from(outcome.duration),
            after: Some(Millis::from(self.began.elapsed().saturating_sub(outcome.duration))),
            output: evidence.digest,
            output_bytes: evidence.bytes.len() as u64,
            verdict,
            reason,
            known_from: None,
        };
        self.record.ran(run.clone(), evidence);
        run
    }
}
