//! A run of a check: taken where it is known, else made and kept.

use std::collections::BTreeSet;

use holdpoint_evidence::telling::{self, PlannedCommand};
use holdpoint_protocol::{
    artifact::CheckRun,
    facts::{Oid, Verdict},
};
use holdpoint_runtime::{
    mirror::{from_wire, wire_path},
    telemetry::{TRACE, fields},
};
use holdpoint_sandbox::tree::remove_tree;
use tracing::{Instrument as _, Span, field, info_span};

use super::{
    CheckArgs, Program, Ran, Runs,
    ended::{read, tell, tested},
    observed,
};
use crate::{
    error::VerifyError,
    guard,
    known_runs::{Around, Key, KnownRun},
    place::{Allowed, Place},
};

impl Runs<'_> {
    /// Runs a check on a tree, unless that run is known.
    pub(crate) async fn check(&mut self, args: CheckArgs<'_>) -> Result<Ran, VerifyError> {
        let new_modules = self.new_modules_of(args.tree.oid, &args.check.command).await?;
        let around = Around {
            environment: self.spec,
            recipe: self.recipe(&args.check.command),
            new_modules: &new_modules,
            ignores: self.ignores,
        };
        let key = Key::of(&args, around);
        match key.and_then(|key| self.known.take(key, args.takes)) {
            Some(known) => Ok(self.taken(args, known)),
            None => self.made(args, key, &new_modules).await,
        }
    }

    /// Runs a check on a tree that no other run needs, and removes the tree.
    pub(crate) async fn check_once(&mut self, args: CheckArgs<'_>) -> Result<Ran, VerifyError> {
        let known = self.trees.contains_key(args.tree.oid);
        let ran = self.check(args).await?;
        let passing = if known { None } else { self.trees.remove(args.tree.oid) };
        if let Some(ready) = passing {
            let Place { tree, build, .. } = ready.place;
            // Folders that stay go with the turn.
            let remove = move || [tree, build].iter().all(|folder| remove_tree(folder).is_ok());
            let _ = tokio::task::spawn_blocking(remove).await;
        }
        Ok(ran)
    }

    async fn made(
        &mut self,
        args: CheckArgs<'_>,
        key: Option<Key>,
        new_modules: &BTreeSet<String>,
    ) -> Result<Ran, VerifyError> {
        let ready = self.ready(args.tree).await?;
        if let Some(failed) = ready.not_set_up {
            return Ok(*failed);
        }
        let command = &args.check.command;
        let program = Program {
            command,
            env: &self.settings.check_env,
            read: &[],
            stdin: Vec::new(),
            home: None,
            allowed: Allowed { network: args.check.network, wall: args.check.timeout.duration() },
            asks: None,
            stall: None,
            printed: None,
            guarded: Some(new_modules),
            watch: args.watch,
            // A run that watches lines is made for that alone.
            observed: args.watch.is_none(),
        };
        let span = span(&args);
        let left = self.run(&ready.place, args.tree.oid, program).instrument(span.clone()).await?;
        let mut read = read(command, self.recipe(command), args.expect, &left);
        if let Some(told) = &left.told {
            read = read.observed(command, observed::all(command, told, &left.places));
        }
        tell(&span, args.tree.tested, &left.outcome, &read);
        let red = read.outcome.0 != Verdict::Pass;
        let printed = if red { left.printed_with_room()? } else { String::new() };
        let (properties, ended) = (left.outcome.properties.clone(), left.outcome.tree_ended);
        let ran = self.noted(Some(args.id), command, args.tree, left, read);
        let ran = Ran { lacks: telling::lacks(PlannedCommand::Check(args.check), &printed), ..ran };
        if let (Some(key), Some(evidence)) = (key, self.record.evidence(&ran.run.output)) {
            let run = CheckRun { known_from: Some(self.report.clone()), ..ran.run.clone() };
            let known = KnownRun { ran: Ran { run, ..ran.clone() }, evidence: evidence.clone(), properties };
            self.known.keep(key, known, ended && ran.run.verdict != Verdict::Inconclusive);
        }
        Ok(ran)
    }

    /// A run that is known, as one of this turn.
    fn taken(&mut self, args: CheckArgs<'_>, known: KnownRun) -> Ran {
        let KnownRun { ran, evidence, properties } = known;
        let run = CheckRun { criterion: Some(args.id.clone()), tested: args.tree.tested, after: None, ..ran.run };
        let span = span(&args);
        span.record(fields::VERDICT, run.verdict.as_str());
        if let Some(report) = &run.known_from {
            span.record(fields::KNOWN_FROM, report.as_str());
        }
        self.record.ran(run.clone(), evidence);
        self.record.enforced(&properties);
        self.record.kept_apart_by(self.mechanism);
        Ran { run, ..ran }
    }

    /// What a command runs: a negation is of the command alone.
    pub(super) fn recipe<'c>(&'c self, command: &'c str) -> &'c str {
        self.recipes.get(command).filter(|_| !command.contains('!')).map_or(command, String::as_str)
    }

    /// The new modules that a tree has, where a command may import them.
    async fn new_modules_of(&self, tree: &Oid, command: &str) -> Result<BTreeSet<String>, VerifyError> {
        if self.new_modules.is_empty() || guard::programs(command).is_empty() {
            return Ok(BTreeSet::new());
        }
        let entries = self.mirror.list_tree(&from_wire(tree)).await?;
        let paths = entries.iter().map(|entry| wire_path(&entry.path));
        Ok(paths.filter(|path| self.new_modules.contains(path)).collect())
    }
}

fn span(args: &CheckArgs<'_>) -> Span {
    info_span!(
        target: TRACE, "check", { fields::CRITERION } = %args.id, { fields::TESTED } = tested(args.tree.tested),
        { fields::VERDICT } = field::Empty, { fields::REASON } = field::Empty, { fields::EXIT_CODE } = field::Empty,
        { fields::KNOWN_FROM } = field::Empty,
    )
}
