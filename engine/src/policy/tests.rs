use holdpoint_protocol::Digest;

use super::*;

/// Facts that can be changed one at a time; as they begin, the work is accepted.
#[derive(Debug, Clone)]
struct Case {
    clarification: Option<ReasonCode>,
    criteria: Vec<CriterionResult>,
    guards: Vec<CriterionResult>,
    violations: Vec<ViolationKind>,
    safety_broken: bool,
    changed: bool,
    blocking_doubt: bool,
    receipt_lacks: bool,
    unmet: Option<UnmetCheckpoints>,
    budget_left: bool,
}

fn result(id: &str, verdict: Verdict) -> CriterionResult {
    CriterionResult { id: id.parse().unwrap(), verdict, reason: None, evidence: vec![Digest::of(id.as_bytes())] }
}

fn sound() -> Case {
    Case {
        clarification: None,
        criteria: vec![result("a", Verdict::Pass), result("b", Verdict::Pass)],
        guards: vec![result("g", Verdict::Pass)],
        violations: Vec::new(),
        safety_broken: false,
        changed: true,
        blocking_doubt: false,
        receipt_lacks: false,
        unmet: None,
        budget_left: true,
    }
}

impl Case {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn rule(&self) -> Ruling {
        let ids = |names: &[&str]| names.iter().map(|n| n.parse().unwrap()).collect::<Vec<CriterionId>>();
        let violations: Vec<Violation> =
            self.violations.iter().map(|kind| Violation { kind: *kind, path: "x".to_owned() }).collect();
        rule(&Facts {
            clarification: self.clarification,
            asked: &ids(&["a", "b"]),
            criteria: &self.criteria,
            guards_asked: &ids(&["g"]),
            guards: &self.guards,
            violations: &violations,
            left_out: &[],
            safety_broken: self.safety_broken,
            changed: self.changed,
            blocking_doubt: self.blocking_doubt,
            receipt_lacks: self.receipt_lacks,
            unmet: self.unmet.as_ref(),
            budget_left: self.budget_left,
        })
    }

    fn short(&self) -> String {
        let ruling = self.rule();
        let end = if ruling.exhausted { " exhausted" } else { "" };
        format!("{} {}{end}", ruling.disposition, ruling.reason)
    }
}

fn no_judge(case: &mut Case) {
    case.criteria[0] = CriterionResult { reason: Some(CriterionReason::NoJudge), ..result("a", Verdict::Inconclusive) };
}

type Change = fn(&mut Case);

/// The rows of the table, strongest first: what makes them hold, what they say with and without budget.
const ROWS: &[(&str, Change, &str, &str)] = &[
    (
        "1 a question is open",
        |c| c.clarification = Some(ReasonCode::ClarificationOpen),
        "escalate clarification_open",
        "escalate clarification_open",
    ),
    ("2 no one can judge", no_judge, "escalate judge_missing", "escalate judge_missing"),
    ("3 safety", |c| c.safety_broken = true, "rollback safety", "escalate safety exhausted"),
    (
        "3 a guard is red",
        |c| c.guards[0].verdict = Verdict::Fail,
        "rollback regression",
        "escalate regression exhausted",
    ),
    (
        "4 a protected path",
        |c| c.violations.push(ViolationKind::Protected),
        "rework protected_changed",
        "escalate protected_changed exhausted",
    ),
    (
        "4 out of scope",
        |c| c.violations.push(ViolationKind::OutOfScope),
        "rework scope_violation",
        "escalate scope_violation exhausted",
    ),
    (
        "5 a criterion failed",
        |c| c.criteria[1].verdict = Verdict::Fail,
        "rework criteria_failed",
        "escalate attempts_exhausted exhausted",
    ),
    (
        "5 a doubt is blocking",
        |c| c.blocking_doubt = true,
        "rework evidence_missing",
        "escalate attempts_exhausted exhausted",
    ),
    (
        "5 the receipt of an agent alone lacks a run",
        |c| c.receipt_lacks = true,
        "rework evidence_missing",
        "escalate attempts_exhausted exhausted",
    ),
    (
        "6 nobody could try a checkpoint",
        |c| c.unmet = unmet(true),
        "escalate checkpoints_unmet",
        "escalate checkpoints_unmet",
    ),
    (
        "6 a checkpoint is not met",
        |c| c.unmet = unmet(false),
        "rework checkpoints_unmet",
        "escalate attempts_exhausted exhausted",
    ),
];

fn unmet(only_untried: bool) -> Option<UnmetCheckpoints> {
    Some(UnmetCheckpoints { words: "gate qa: lint (fail)".to_owned(), only_untried })
}

#[test]
fn each_row_decides_with_and_without_budget() {
    for (name, change, with_budget, without) in ROWS {
        let case = sound().with(change);
        assert_eq!(case.short(), *with_budget, "{name}");
        assert_eq!(case.with(|c| c.budget_left = false).short(), *without, "{name}, no budget");
    }
}

#[test]
fn the_first_row_that_holds_decides() {
    for (at, (name, change, expected, _)) in ROWS.iter().enumerate() {
        let weaker = ROWS.iter().skip(at + 1).fold(sound(), |case, (_, weaker, ..)| case.with(weaker));
        assert_eq!(weaker.with(change).short(), *expected, "{name}, with every weaker row");
    }
}

#[test]
fn sound_work_is_accepted_without_budget_too() {
    assert_eq!(sound().short(), "accept criteria_met");
    assert_eq!(sound().with(|c| c.budget_left = false).short(), "accept criteria_met");
    assert_eq!(sound().rule().remediation, None);
}

#[test]
fn insufficient_evidence_is_no_acceptance() {
    let table: &[(&str, Change)] = &[
        ("a pass without evidence", |c| c.criteria[0].evidence.clear()),
        ("an inconclusive criterion", |c| c.criteria[0].verdict = Verdict::Inconclusive),
        ("a missing criterion", |c| drop(c.criteria.pop())),
        ("no criteria at all", |c| c.criteria.clear()),
        ("a second, weaker verdict on the same criterion", |c| {
            c.criteria.push(result("a", Verdict::Inconclusive));
        }),
        ("an inconclusive guard", |c| c.guards[0].verdict = Verdict::Inconclusive),
        ("a guard without evidence", |c| c.guards[0].evidence.clear()),
        ("a missing guard", |c| c.guards.clear()),
    ];
    for (name, change) in table {
        assert_eq!(sound().with(change).short(), "rework evidence_missing", "{name}");
    }
}

#[test]
fn a_failed_criterion_outweighs_missing_evidence() {
    let case = sound().with(|c| c.criteria = vec![result("a", Verdict::Inconclusive), result("b", Verdict::Fail)]);
    assert_eq!(case.short(), "rework criteria_failed");
}

#[test]
fn a_protected_path_outweighs_the_scope_and_steering_counts_as_protected() {
    use ViolationKind::{OutOfScope, Protected, Steering};
    for (kinds, expected) in [
        (vec![OutOfScope, Protected], "rework protected_changed"),
        (vec![OutOfScope, Steering], "rework protected_changed"),
        (vec![OutOfScope, OutOfScope], "rework scope_violation"),
    ] {
        assert_eq!(sound().with(|c| c.violations = kinds.clone()).short(), expected, "{kinds:?}");
    }
}

#[test]
fn no_change_is_accepted_when_all_is_shown_and_a_rework_when_not() {
    let unchanged = sound().with(|c| c.changed = false);
    assert_eq!(unchanged.short(), "accept criteria_met");
    assert_eq!(unchanged.clone().with(|c| c.criteria[0].verdict = Verdict::Fail).short(), "rework no_change");
    assert_eq!(unchanged.with(|c| c.criteria.clear()).short(), "rework no_change");
}

#[test]
fn a_failed_turn_is_a_rework_while_budget_is_left() {
    let codes =
        [ReasonCode::AgentFailed, ReasonCode::AgentTimeout, ReasonCode::OutputLimit, ReasonCode::HandoffInvalid];
    for reason in codes {
        let ruling = rule_failed_turn(reason, "why", &[], true);
        assert_eq!((ruling.disposition, ruling.reason, ruling.exhausted), (Disposition::Rework, reason, false));
        let ruling = rule_failed_turn(reason, "why", &[], false);
        let expected = (Disposition::Escalate, ReasonCode::AttemptsExhausted, true);
        assert_eq!((ruling.disposition, ruling.reason, ruling.exhausted), expected);
        assert!(ruling.remediation.is_some());
    }
    for budget_left in [true, false] {
        let ruling = rule_failed_turn(ReasonCode::Unsupported, "why", &[], budget_left);
        let expected = (Disposition::Escalate, ReasonCode::Unsupported, false);
        assert_eq!((ruling.disposition, ruling.reason, ruling.exhausted), expected);
    }
}

/// The codes that each disposition may carry: closed and documented (FLY-26 … FLY-29).
fn codes_of(disposition: Disposition) -> &'static [ReasonCode] {
    use ReasonCode as R;
    match disposition {
        Disposition::Accept => &[R::CriteriaMet],
        Disposition::Rework => &[
            R::ScopeViolation,
            R::ProtectedChanged,
            R::CriteriaFailed,
            R::EvidenceMissing,
            R::NoChange,
            R::CheckpointsUnmet,
        ],
        Disposition::Rollback => &[R::Regression, R::Safety],
        Disposition::Escalate => &[
            R::ClarificationOpen,
            R::JudgeMissing,
            R::Regression,
            R::Safety,
            R::ScopeViolation,
            R::ProtectedChanged,
            R::CheckpointsUnmet,
            R::AttemptsExhausted,
        ],
    }
}

#[test]
fn any_facts_give_a_code_of_the_dispositions_closed_list_and_every_escalation_has_remediation() {
    // Every subset of the rows, with and without a change and a budget.
    for set in 0..(1_u32 << (ROWS.len() + 2)) {
        let chosen = ROWS.iter().enumerate().filter(|(bit, _)| set & (1 << bit) != 0);
        let case = chosen.fold(sound(), |case, (_, (_, change, ..))| case.with(change)).with(|c| {
            c.changed = set & (1 << ROWS.len()) != 0;
            c.budget_left = set & (1 << (ROWS.len() + 1)) != 0;
        });
        let ruling = case.rule();
        assert!(codes_of(ruling.disposition).contains(&ruling.reason), "{case:?} gave {ruling:?}");
        let escalated = ruling.disposition == Disposition::Escalate;
        assert_eq!(ruling.remediation.as_ref().is_some_and(|r| !r.is_empty()), escalated, "{ruling:?}");
        assert!(escalated || !ruling.exhausted, "{ruling:?}");
        assert_eq!(ruling, case.rule(), "the same facts give the same ruling");
        let clean = (set & ((1 << ROWS.len()) - 1)) == 0;
        assert_eq!(ruling.disposition == Disposition::Accept, clean, "{case:?}");
    }
}
