//! Mutants of the work: breaks changed lines one at a time, runs the check on each tree, and writes into the report what
//! came of it.
//!
//! Which lines are broken and how, and what a run says, is decided by `holdpoint_evidence::mutants`.

use std::time::{Duration, Instant};

use holdpoint_engine::handed::EVIDENCE_MAX;
use holdpoint_evidence::{
    mutants::{self, Fate, Mutant, MutantRun, Site},
    runners,
};
use holdpoint_protocol::{artifact::TreeTested, facts::Verdict, reason::CriterionReason};
use holdpoint_runtime::mirror::{from_wire, to_wire};
use holdpoint_workspace::FileAs;
use regex::Regex;

use crate::{
    criterion::{Judged, Named, Subject, expect_of},
    error::VerifyError,
    runs::{Ran, Runs, Tree},
    work::Work,
};

/// Runs for each mutant that is asked for: as many may not build.
const TRIES_PER_MUTANT: u32 = 2;
/// Survivors that a report names, with what each printed.
const SURVIVORS_SHOWN: usize = 10;

/// What mutants came to.
#[derive(Default)]
struct Tally {
    tried: u32,
    killed: u32,
    survived: Vec<(String, Ran)>,
    /// Whether the time of all of them was used up.
    late: bool,
}

impl Tally {
    /// Mutants that said something.
    fn judged(&self) -> u32 {
        self.killed + u32::try_from(self.survived.len()).unwrap_or(u32::MAX)
    }
}

/// Tries a green check with as many mutants as it asks for. Fails the report where one survives.
pub(crate) async fn tried(
    runs: &mut Runs<'_>,
    subject: &Subject<'_>,
    named: Named<'_>,
    judged: &mut Judged,
) -> Result<(), VerifyError> {
    let Some(wanted) = named.check.mutants.filter(|_| judged.report.result.verdict == Verdict::Pass) else {
        return Ok(());
    };
    let work = Work::read(subject).await?;
    let sites = work.sites(subject.tree);
    let why = if sites.is_empty() {
        Some("no line of the product that the work changed can be broken")
    } else if runners::expected(&named.check.command) {
        Some("its command asks for failures")
    } else if judged.first.read.alone().0 != Verdict::Pass {
        Some("it reports failures without them, as on the base")
    } else {
        None
    };
    if let Some(why) = why {
        note(judged, &format!("no mutants were made: {why}"));
        return Ok(());
    }
    let expect = expect_of(named)?;
    let scene = Scene { subject, named, expect: expect.as_ref(), first: &judged.first, work: &work, wanted };
    let tally = scene.tally(runs, &sites).await?;
    write(judged, &tally, wanted);
    Ok(())
}

/// What mutants are tried on.
struct Scene<'a> {
    subject: &'a Subject<'a>,
    named: Named<'a>,
    expect: Option<&'a Regex>,
    first: &'a Ran,
    work: &'a Work,
    wanted: u32,
}

impl Scene<'_> {
    /// Tries lines until as many mutants as are asked for have said something, or their tries or their time are used up.
    async fn tally(&self, runs: &mut Runs<'_>, sites: &[Site]) -> Result<Tally, VerifyError> {
        let begun = Instant::now();
        let mut tally = Tally::default();
        for site in sites {
            for mutant in &site.mutants {
                if tally.judged() == self.wanted || tally.tried == self.wanted.saturating_mul(TRIES_PER_MUTANT) {
                    return Ok(tally);
                }
                if begun.elapsed() >= self.limit().saturating_mul(self.wanted) {
                    return Ok(Tally { late: true, ..tally });
                }
                let Some(ran) = self.run(runs, &site.path, mutant).await? else { continue };
                tally.tried += 1;
                match self.fate(runs, &site.path, &ran) {
                    Fate::Void => continue,
                    Fate::Killed => tally.killed += 1,
                    Fate::Survived => tally.survived.push((mutant.said.clone(), ran)),
                }
                break;
            }
        }
        Ok(tally)
    }

    fn limit(&self) -> Duration {
        self.named.check.timeout.duration()
    }

    /// A run on the tree with this mutant alone.
    async fn run(&self, runs: &mut Runs<'_>, path: &str, mutant: &Mutant) -> Result<Option<Ran>, VerifyError> {
        let Some((change, _, text)) = self.work.files.get(path) else { return Ok(None) };
        let Some((mode, _)) = change.new else { return Ok(None) };
        let mirror = self.subject.mirror;
        let oid = mirror.write_blob(mutant.apply(text).into_bytes()).await?;
        let broken = [(change.path.clone(), Some(FileAs { mode, oid }))];
        let oid = to_wire(&mirror.compose_tree(&from_wire(self.subject.tree), &broken).await?);
        let tree = Tree { oid: &oid, tested: TreeTested::Mutant, broken: Some(&mutant.said) };
        Ok(Some(runs.check_once(self.named.on(self.expect, tree)).await?))
    }

    fn fate(&self, runs: &Runs<'_>, path: &str, ran: &Ran) -> Fate {
        if ran.not_set_up {
            return Fate::Void;
        }
        let (before, now) = (runs.printed(self.first), runs.printed(ran));
        mutants::fate(MutantRun {
            path,
            first: (&self.first.read, &before),
            first_took: self.first.run.duration.duration(),
            run: (&ran.read, &now),
            limit: self.limit(),
        })
    }
}

/// Writes what mutants came to into the report.
fn write(judged: &mut Judged, tally: &Tally, wanted: u32) {
    let mut text = count(tally, wanted);
    if !tally.survived.is_empty() {
        let said: Vec<&str> = tally.survived.iter().take(SURVIVORS_SHOWN).map(|(said, _)| said.as_str()).collect();
        let more = tally.survived.len() - said.len();
        let more = if more == 0 { String::new() } else { format!("; and {more} more") };
        text = format!(
            "tests do not notice what the work does: the check stays green with a changed line broken, so a test has to \
             ask for it: {}{more} ({text})",
            said.join("; ")
        );
    }
    note(judged, &text);
    let Some((_, first)) = tally.survived.first() else { return };
    let report = &mut judged.report;
    report.result.verdict = Verdict::Fail;
    report.result.reason = Some(CriterionReason::MutantSurvived);
    report.exit_code = first.run.exit_code;
    report.output_tail.clone_from(&first.tail);
    let survivors = tally.survived.iter().take(SURVIVORS_SHOWN).map(|(_, ran)| ran.run.output);
    let mut evidence: Vec<_> = survivors.chain(report.result.evidence.iter().copied()).collect();
    evidence.truncate(EVIDENCE_MAX);
    report.result.evidence = evidence;
}

/// `3 of 3 mutants: 2 killed, 1 survived`, and what became of the others.
fn count(tally: &Tally, wanted: u32) -> String {
    let (judged, survived) = (tally.judged(), tally.survived.len());
    let mut text = format!("{judged} of {wanted} mutants: {} killed, {survived} survived", tally.killed);
    let void = tally.tried - judged;
    if void > 0 {
        text += &format!("; {void} more said nothing, because they did not build or no test ran");
    }
    if tally.late {
        text += "; their time was used up";
    } else if judged < wanted && tally.tried < wanted.saturating_mul(TRIES_PER_MUTANT) {
        text += "; no other changed line can be broken";
    }
    text
}

/// Adds to the note of a report, before what it says already.
fn note(judged: &mut Judged, text: &str) {
    let note = &mut judged.report.note;
    *note = Some(note.take().map_or_else(|| text.to_owned(), |before| format!("{text}; {before}")));
}
