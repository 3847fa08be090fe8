//! The runs of `evidence: strict` that put the base's product below the tests of the work, whole and file by file.
//!
//! Which runs speak against the work is decided by `holdpoint_evidence::checks`; this makes only those that can.

use std::{collections::BTreeSet, time::Instant};

use holdpoint_evidence::{
    checks::{self, ProductRuns, ProductSays},
    runners,
};
use holdpoint_protocol::{
    artifact::TreeTested,
    facts::{Oid, Verdict},
    plan::EvidenceLevel,
    reason::CriterionReason,
};
use regex::Regex;

use crate::{
    criterion::{Judged, NAMES_SHOWN, Named, Subject, base_run, expect_of},
    error::VerifyError,
    runs::{Ran, Runs, Tree},
};

/// Files that are put back alone: each is a whole run of the check.
const FILES_MAX: usize = 8;
/// Ends of the names of files that no test looks at.
const PROSE: [&str; 12] =
    [".md", ".rst", ".txt", ".adoc", ".lock", ".png", ".svg", ".jpg", ".gif", ".gitignore", "LICENSE", ".sum"];

/// Tries a green check with the base's product, where the plan asks for it. Gives doubts, and fails the report where the
/// tests are green without the work.
pub(crate) async fn tried(
    runs: &mut Runs<'_>,
    subject: &Subject<'_>,
    named: Named<'_>,
    judged: &mut Judged,
) -> Result<Vec<String>, VerifyError> {
    let tests = judged.first.read.counts.is_some() || runners::may_run_tests(&named.check.command);
    let green = judged.report.result.verdict == Verdict::Pass && subject.tree != subject.base_tree;
    if named.check.evidence != EvidenceLevel::Strict || !green || !tests || subject.changes.scope_is_tests() {
        return Ok(Vec::new());
    }
    let expect = expect_of(named)?;
    let base = match judged.base.take() {
        Some(base) => base,
        None => base_run(runs, subject, named, expect.as_ref()).await?,
    };
    if base.not_set_up {
        return Ok(vec![
            "the environment of the base cannot be set up, so the base's product was not tried".to_owned(),
        ]);
    }
    if !checks::base_product_may_say(&judged.first.read, &base.read, named.check.red_first) {
        return Ok(Vec::new());
    }
    let product = subject.changes.with_product_of_base(subject.mirror, subject.tree).await?;
    let with_product = if &product == subject.base_tree {
        base.clone()
    } else if &product == subject.tree {
        judged.first.clone()
    } else {
        let tree = Tree::new(&product, TreeTested::ProductAsOnBase);
        runs.check_once(named.on(expect.as_ref(), tree)).await?
    };
    if with_product.not_set_up {
        return Ok(vec!["the environment cannot be set up with the base's product, so that was not tried".to_owned()]);
    }
    let says = checks::with_base_product(ProductRuns {
        first: &judged.first.read,
        base: &base.read,
        product: &with_product.read,
        red_first: named.check.red_first,
        only_added: subject.changes.tests_are_new(),
    });
    let mut doubts = Vec::new();
    match says {
        ProductSays::Green(names) => {
            fail(judged, &with_product, &names);
            return Ok(doubts);
        }
        ProductSays::NothingNew(names) => doubts.push(nothing_new(&names)),
        ProductSays::Nothing => {}
    }
    if base.read.alone().0 != Verdict::Pass {
        let known = [(subject.base_tree, &base), (&product, &with_product)];
        doubts.extend(file_by_file(runs, subject, named, expect.as_ref(), &judged.first, known).await?);
    }
    Ok(doubts)
}

/// Puts each changed file of the product back alone, and says which of them no test notices.
async fn file_by_file(
    runs: &mut Runs<'_>,
    subject: &Subject<'_>,
    named: Named<'_>,
    expect: Option<&Regex>,
    first: &Ran,
    known: [(&Oid, &Ran); 2],
) -> Result<Vec<String>, VerifyError> {
    let begun = Instant::now();
    // Runs that only show doubts may take as long as those that decide, and at most the time of one run.
    let most = runs.record.spent(named.id).min(named.check.timeout.duration());
    let files = subject.changes.product_files().filter(|file| !PROSE.iter().any(|end| file.ends_with(end)));
    let files: Vec<String> = files.collect();
    let (mut unnoticed, mut tried) = (BTreeSet::new(), 0);
    for file in files.iter().take(FILES_MAX) {
        if begun.elapsed() > most {
            break;
        }
        let tree = subject.changes.with_file_of_base(subject.mirror, subject.tree, file).await?;
        let earlier = known.iter().find(|(oid, _)| *oid == &tree);
        let ran = match earlier {
            Some((_, ran)) => (*ran).clone(),
            None => {
                let tree = Tree::new(&tree, TreeTested::FileAsOnBase);
                runs.check_once(named.on(expect, tree)).await?
            }
        };
        tried += 1;
        if !ran.not_set_up && checks::goes_unnoticed(&first.read, &ran.read) {
            unnoticed.insert(file.clone());
        }
    }
    let mut doubts = Vec::new();
    if !unnoticed.is_empty() {
        let text = "files whose change no test notices: the check is green as well with each of them as on the base";
        doubts.push(format!("{text}: {}", some_of(&unnoticed)));
    }
    if tried < files.len() {
        doubts.push(format!("{} of {} changed files were not put back alone", files.len() - tried, files.len()));
    }
    Ok(doubts)
}

fn fail(judged: &mut Judged, with_product: &Ran, names: &BTreeSet<String>) {
    let report = &mut judged.report;
    report.result.verdict = Verdict::Fail;
    report.result.reason = Some(CriterionReason::BaseProductGreen);
    report.result.evidence.retain(|evidence| *evidence != with_product.run.output);
    report.result.evidence.insert(0, with_product.run.output);
    report.exit_code = with_product.run.exit_code;
    report.output_tail.clone_from(&with_product.tail);
    let which = if names.is_empty() {
        "the check, which was".to_owned()
    } else {
        format!("tests that were ({})", some_of(names))
    };
    report.note = Some(format!(
        "{which} red on the base, is green with the tests of the work and the product as on the base: the tests pass \
         without the work. Where tests alone are to change, let `scope` name nothing else"
    ));
}

fn nothing_new(names: &BTreeSet<String>) -> String {
    if names.is_empty() {
        return "the added tests pass with the product as on the base as well, so they show nothing of the work"
            .to_owned();
    }
    format!("{} added tests pass with the product as on the base as well: {}", names.len(), some_of(names))
}

/// The first of some names.
fn some_of(names: &BTreeSet<String>) -> String {
    let shown: Vec<&str> = names.iter().map(String::as_str).take(NAMES_SHOWN).collect();
    let more = if names.len() > NAMES_SHOWN { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}
