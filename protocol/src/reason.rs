//! Closed lists of codes: why a decision was taken, why a criterion is not green.

use crate::words::words;

words! {
    /// Why a decision was taken (contract, "A closed list of `reason_code`").
    ReasonCode {
        /// Every criterion passed.
        CriteriaMet = "criteria_met",
        /// A criterion failed.
        CriteriaFailed = "criteria_failed",
        /// A criterion could be neither shown nor refuted.
        EvidenceMissing = "evidence_missing",
        /// Nothing changed although something had to.
        NoChange = "no_change",
        /// A path outside the scope was changed.
        ScopeViolation = "scope_violation",
        /// A protected or steering path was changed.
        ProtectedChanged = "protected_changed",
        /// A guard that held on the base is red.
        Regression = "regression",
        /// A safety rule was broken.
        Safety = "safety",
        /// A rollback was due and cannot be applied automatically.
        RollbackUnavailable = "rollback_unavailable",
        /// A guard is red on the base.
        GuardRed = "guard_red",
        /// A `red_first` check is green on the base.
        NotRed = "not_red",
        /// The base's dependencies cannot be set up.
        SetupFailed = "setup_failed",
        /// A criterion has no check and there is no judge.
        JudgeMissing = "judge_missing",
        /// Two rules that cannot both hold.
        PolicyConflict = "policy_conflict",
        /// The agent's program failed.
        AgentFailed = "agent_failed",
        /// The agent's program used up its wall time.
        AgentTimeout = "agent_timeout",
        /// The agent's program printed more than it may.
        OutputLimit = "output_limit",
        /// The handoff cannot be used.
        HandoffInvalid = "handoff_invalid",
        /// A question waits for its answer.
        ClarificationOpen = "clarification_open",
        /// The question rounds are used up.
        ClarificationExhausted = "clarification_exhausted",
        /// The agent called for help.
        HelpRequested = "help_requested",
        /// The agent used something that this build does not support.
        Unsupported = "unsupported",
        /// The work collides with what landed meanwhile.
        MergeConflict = "merge_conflict",
        /// The reworks are used up.
        AttemptsExhausted = "attempts_exhausted",
        /// The flight's budget is used up.
        BudgetExhausted = "budget_exhausted",
        /// The turn keeps ending its agents.
        TurnPoisoned = "turn_poisoned",
        /// A person cancelled it.
        Cancelled = "cancelled",
        /// The agent's program cannot work: it is not there, cannot be run, or the provider of its model refuses.
        NotExecutable = "not_executable",
        /// Nobody answered a question in time.
        AnswerOverdue = "answer_overdue",
        /// A gate waits for a person's approval.
        ApprovalOpen = "approval_open",
        /// A person sent the work back.
        ApprovalRejected = "approval_rejected",
        /// What was made does not meet the checkpoints of a gate.
        CheckpointsUnmet = "checkpoints_unmet",
        /// A gate's turn was completed as blocked.
        GateBlocked = "gate_blocked",
        /// Nobody completed a gate for people in time.
        GateTimeout = "gate_timeout",
        /// Accepted work cannot be landed.
        LandingHeld = "landing_held",
        /// The entry that follows is larger than a message may be.
        EntryTooLarge = "entry_too_large",
        /// The condition of a gate whose word the work depends on cannot be evaluated.
        ConditionFailed = "condition_failed",
        /// No gate's condition holds.
        GatesSkipped = "gates_skipped",
        /// Work came to a gate too often.
        GateLoop = "gate_loop",
        /// The work passed over every gate that would have verified it.
        NotVerified = "not_verified",
        /// Work came to a gate whose role nobody has.
        NoAgents = "no_agents",
        /// The gate where work stood is gone, or is another role's, because the workflow was declared otherwise.
        Reconfigured = "reconfigured",
    }
}

words! {
    /// What kind of obstacle keeps work from going on, in the words of who completes a gate as blocked (FLY-29a, DOC-7).
    BlockReason {
        /// Only a person can decide it.
        NeedsHumanInput = "needs_human_input",
        /// Something outside the flight is missing.
        ExternalDependency = "external_dependency",
        /// What is asked for is not what was agreed on any more.
        ScopeChange = "scope_change",
    }
}

impl Default for BlockReason {
    /// Of a question that does not say: a person's decision is missing.
    fn default() -> Self {
        Self::NeedsHumanInput
    }
}

words! {
    /// Why a criterion's verdict is not a plain pass (contract, "Criterion `reason`").
    CriterionReason {
        /// Exit 1 to 125.
        ExitCode = "exit_code",
        /// Exit 0, but the output does not match `expect`.
        ExpectUnmatched = "expect_unmatched",
        /// Fewer tests ran than on the base.
        FewerTests = "fewer_tests",
        /// More tests were skipped than on the base.
        MoreSkipped = "more_skipped",
        /// Its test runners ran no test, so it shows nothing.
        NoTests = "no_tests",
        /// Exit 0, but a test runner's report has failures in it.
        ReportRed = "report_red",
        /// A test runner's process ended well although the runner had come to something else, failures were not reported, or
        /// its library was replaced.
        ReportMismatch = "report_mismatch",
        /// A test runner was begun and did not come to its end.
        NoEndMark = "no_end_mark",
        /// Green only with its own tests, not with those of the base.
        TestsWeakened = "tests_weakened",
        /// Its tests pass with the base's product as well, which they did not on the base.
        BaseProductGreen = "base_product_green",
        /// A changed line was broken, and the check stayed green.
        MutantSurvived = "mutant_survived",
        /// A test that has to fail was added to the tests, and did not fail.
        Canary = "canary",
        /// The check did not end in time.
        Timeout = "timeout",
        /// The check was ended by a signal.
        Signal = "signal",
        /// The check was ended for a limit.
        Limit = "limit",
        /// The command could not be run (exit 126 or 127).
        NotExecutable = "not_executable",
        /// What its command needs is not there, so it was not run.
        ToolMissing = "tool_missing",
        /// The tree's dependencies cannot be set up, so it was not run.
        SetupFailed = "setup_failed",
        /// The command that sets the dependencies up changed the files it is given.
        SetupChanged = "setup_changed",
        /// It ended well, but changed files of the tree or of its dependencies, or left files there that git does not ignore.
        TreeChanged = "tree_changed",
        /// No check and no judge.
        NoJudge = "no_judge",
        /// The judge named no evidence.
        JudgeWithoutEvidence = "judge_without_evidence",
    }
}
