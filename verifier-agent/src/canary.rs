//! Tries a green with canaries: composes the trees, runs the check on them, and writes into the report what they said.
//!
//! `holdpoint_evidence::canary` decides what is planted where, and what a run with it says. There is a second run only
//! where the first has no plain answer.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_evidence::canary::{self, ByFile, Canaries, CanaryJudgement, Control, ForgerySign, Sites, Trial};
use holdpoint_protocol::{
    artifact::{CriterionReport, TreeTested},
    facts::{Oid, Verdict},
    plan::Check,
    reason::CriterionReason,
};
use holdpoint_runtime::{
    fresh,
    mirror::{from_wire, to_wire, wire_path},
    path_rules::text_of,
};
use holdpoint_workspace::{EntryMode, FileAs, Mirror, TreeEntry};
use regex::Regex;

use crate::{
    criterion::{Named, Subject},
    error::VerifyError,
    runs::{Ran, Runs, Tree},
};

/// Files of the base that are read in order to empty those with tests.
const EMPTIED_MAX: usize = 256;

/// What canaries came to.
enum Answer {
    /// They could not be asked, or their runs settle nothing; why, as the end of a sentence.
    None(String),
    /// They were.
    Of(CanaryJudgement, Vec<Ran>),
}

/// Asks canaries about a `green` run, and writes what they say into the report of its criterion.
pub(crate) async fn ask(
    runs: &mut Runs<'_>,
    subject: &Subject<'_>,
    named: Named<'_>,
    expect: Option<&Regex>,
    green: &Ran,
    report: &mut CriterionReport,
) -> Result<(), VerifyError> {
    let note = match answer(runs, subject, named, expect, green).await? {
        Answer::None(why) => format!("not tried with tests that have to fail: {why}"),
        Answer::Of(judgement, tried) => {
            report.result.evidence.extend(tried.iter().map(|ran| ran.run.output));
            match judgement {
                CanaryJudgement::Held => return Ok(()),
                CanaryJudgement::Unselected => {
                    "tests that have to fail were added, and this check does not show them".to_owned()
                }
                CanaryJudgement::Unsettled(reason) => {
                    (report.result.verdict, report.result.reason) = (Verdict::Inconclusive, reason);
                    let ending = tried.first().map(|ran| ran.ending.clone()).unwrap_or_default();
                    format!("with tests added that have to fail it ended with: {ending}")
                }
                CanaryJudgement::Forged(sign) => {
                    (report.result.verdict, report.result.reason) = (Verdict::Fail, Some(CriterionReason::Canary));
                    if let Some(ran) = tried.first() {
                        report.exit_code = ran.run.exit_code;
                        report.output_tail.clone_from(&ran.tail);
                    }
                    said(sign).to_owned()
                }
            }
        }
    };
    report.note = Some(report.note.take().map_or_else(|| note.clone(), |before| format!("{before}; {note}")));
    Ok(())
}

fn said(sign: ForgerySign) -> &'static str {
    match sign {
        ForgerySign::EndedWell => {
            "the code under test answers for its tests: the check is green with tests added that have to fail"
        }
        ForgerySign::Passed => "the code under test answers for its tests: tests that have to fail pass",
        ForgerySign::Vanished => {
            "the code under test answers for its tests: tests that have to fail were added, and not all were reported"
        }
        ForgerySign::OthersVanished => {
            "the code under test answers for its tests: with tests added that have to fail, fewer others ran"
        }
    }
}

async fn answer(
    runs: &mut Runs<'_>,
    subject: &Subject<'_>,
    named: Named<'_>,
    expect: Option<&Regex>,
    green: &Ran,
) -> Result<Answer, VerifyError> {
    let canaries = match Canaries::new(&fresh::nonce(), &named.check.command, &green.read) {
        Ok(canaries) => canaries,
        Err(why) => return Ok(Answer::None(why.to_owned())),
    };
    let garden = Garden::of(subject, &canaries, &green.run.tree, &runs.printed(green)).await?;
    if garden.planted.is_empty() {
        return Ok(Answer::None("none of the files that its runner may look into has tests".to_owned()));
    }
    let command = canary::for_all_failures(&named.check.command);
    let check = Check { command, ..named.check.clone() };
    let with_canaries = Named { check: &check, ..named };
    let on = |oid, tested| with_canaries.on(expect, Tree::new(oid, tested));
    let tree = garden.grow(&green.run.tree).await?;
    let ran = runs.check(on(&tree, TreeTested::Canaries)).await?;
    if ran.not_set_up {
        return Ok(Answer::None("the environment cannot be set up where tests are added".to_owned()));
    }
    let seen = canaries.seen(&runs.printed(&ran));
    let trial = Trial {
        first: &green.read,
        run: &ran.read,
        seen: &seen,
        planted: &garden.marks,
        shown: &garden.sites.shown,
        stops_early: canary::stops_early(&check.command),
    };
    if trial.holds() {
        return Ok(Answer::Of(CanaryJudgement::Held, vec![ran]));
    }
    let tree = garden.grow_alone(subject.base_tree).await?;
    let alone = runs.check(on(&tree, TreeTested::CanariesAlone)).await?;
    if alone.not_set_up {
        return Ok(Answer::None("the environment cannot be set up where tests are added to the base".to_owned()));
    }
    let control = Control { run: &alone.read, seen: &canaries.seen(&runs.printed(&alone)) };
    let judgement = trial.judge(control);
    Ok(Answer::Of(judgement, vec![ran, alone]))
}

/// The files of a tree, by their names.
type Files = BTreeMap<String, TreeEntry>;

/// Files with canaries, for trees to be made of.
struct Garden<'a> {
    mirror: &'a Mirror,
    canaries: &'a Canaries,
    sites: Sites,
    files: Files,
    on_base: Files,
    /// Files in which canaries are planted: their texts without and with them.
    planted: Vec<(String, String, String)>,
    marks: ByFile,
}

impl<'a> Garden<'a> {
    /// Plants canaries in files of a tree.
    async fn of(subject: &Subject<'a>, canaries: &'a Canaries, tree: &Oid, output: &str) -> Result<Self, VerifyError> {
        let mirror = subject.mirror;
        let files = files(mirror, tree).await?;
        let on_base = self::files(mirror, subject.base_tree).await?;
        let names = |files: &Files| files.keys().cloned().collect();
        let sites = canaries.sites(&names(&files), &names(&on_base), output);
        let mut garden = Self { mirror, canaries, sites, files, on_base, planted: Vec::new(), marks: ByFile::new() };
        for path in &garden.sites.planted {
            let Some(text) = text(mirror, &garden.files, path).await? else { continue };
            if let Some(planted) = canaries.plant(path, &text) {
                garden.planted.push((path.clone(), text, planted.text));
                garden.marks.insert(path.clone(), planted.marks);
            }
        }
        Ok(garden)
    }

    /// The tree with canaries in its files.
    async fn grow(&self, tree: &Oid) -> Result<Oid, VerifyError> {
        let texts = self.planted.iter().map(|(path, _, text)| (path.clone(), text.clone()));
        self.compose(tree, texts.collect(), &self.files).await
    }

    /// The base with the canaries instead of its own tests.
    async fn grow_alone(&self, base: &Oid) -> Result<Oid, VerifyError> {
        let on_base = &self.on_base;
        let mut texts = BTreeMap::new();
        let names: BTreeSet<String> = on_base.keys().chain(self.files.keys()).cloned().collect();
        for path in
            self.canaries.with_tests(&names).into_iter().filter(|path| on_base.contains_key(path)).take(EMPTIED_MAX)
        {
            let before = text(self.mirror, on_base, &path).await?;
            if let Some(emptied) = before.and_then(|before| self.canaries.emptied(&path, &before)) {
                texts.insert(path, emptied);
            }
        }
        for path in self.canaries.packages(&names).into_iter().filter(|path| !on_base.contains_key(path)) {
            texts.insert(path, String::new());
        }
        for (path, now, _) in &self.planted {
            let before = text(self.mirror, on_base, path).await?;
            texts.insert(path.clone(), self.canaries.alone(path, now, before.as_deref()));
        }
        self.compose(base, texts, on_base).await
    }

    /// A tree with these files as texts. Files that are there keep their modes.
    async fn compose(&self, on: &Oid, texts: BTreeMap<String, String>, files: &Files) -> Result<Oid, VerifyError> {
        let mut replacements = Vec::new();
        for (path, text) in texts {
            let (repo_path, mode) = match files.get(&path).or_else(|| self.files.get(&path)) {
                Some(entry) => (entry.path.clone(), entry.mode),
                None => continue,
            };
            let oid = self.mirror.write_blob(text.into_bytes()).await?;
            replacements.push((repo_path, Some(FileAs { mode, oid })));
        }
        Ok(to_wire(&self.mirror.compose_tree(&from_wire(on), &replacements).await?))
    }
}

/// The regular files of a tree.
async fn files(mirror: &Mirror, tree: &Oid) -> Result<Files, VerifyError> {
    let entries = mirror.list_tree(&from_wire(tree)).await?;
    let files = entries.iter().filter(|entry| matches!(entry.mode, EntryMode::File | EntryMode::Executable));
    Ok(files.map(|entry| (wire_path(&entry.path), entry.clone())).collect())
}

/// The text of a file; `None` where it is not there, too long or not UTF-8.
async fn text(mirror: &Mirror, files: &Files, path: &str) -> Result<Option<String>, VerifyError> {
    let side = files.get(path).map(|entry| (entry.mode, entry.oid.clone()));
    Ok(text_of(mirror, side.as_ref(), canary::FILE_BYTES_MAX).await?)
}
