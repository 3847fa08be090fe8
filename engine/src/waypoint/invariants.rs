//! States that cannot be: no sound entry leads to them from the state before it.

use holdpoint_planfile::{checkpoints, plan::ADVISORS_MAX};
use holdpoint_protocol::{
    checkpoint::DocumentRef,
    facts::Verdict,
    ids::role,
    journal::Entry,
    state::{
        Branch, BranchStanding, Counters, Held, OpenTurn, Phase, Purpose, QuestionStanding, Resume, Status,
        WaypointState,
    },
    streams,
    workflow::is_human,
};

use super::{advising::ADVICE_ROUNDS_MAX, holder::is_no_agents, stacking::is_integrated, visits};

/// What is wrong with the advice that a state after an entry asks for.
fn advice_misfit(before: &WaypointState, after: &WaypointState) -> Option<&'static str> {
    let misfit = |open: &OpenTurn| (open.purpose == Purpose::Advise) != open.advice().is_some();
    if after.open_turns().any(misfit) {
        return Some("an advisor's turn is open, and nothing asks for advice");
    }
    let advice = after.advice()?;
    if advice.round > ADVICE_ROUNDS_MAX || advice.asked > ADVISORS_MAX || advice.helped >= advice.asked {
        return Some("advisors are asked more often than the bounds allow");
    }
    let earlier = before.advice()?;
    if earlier.question != advice.question {
        return Some("the question that advisors are asked was changed");
    }
    let grew = (earlier.round, earlier.asked) < (advice.round, advice.asked);
    (!grew).then_some("an advisor was asked, and it was not counted")
}

/// What is wrong with an entry that leaves its turn open: it says something else than what became of its questions.
fn question_misfit(before: &WaypointState, open: &OpenTurn, entry: &Entry) -> Option<&'static str> {
    let Some(earlier) = before.open_turn(&open.turn) else { return Some("a turn is open that no entry opened") };
    let questions = |open: &OpenTurn| open.questions.iter().map(|q| (q.asked.digest, q.words)).collect::<Vec<_>>();
    if (OpenTurn { questions: Vec::new(), ..earlier.clone() }) != (OpenTurn { questions: Vec::new(), ..open.clone() }) {
        return Some("an open turn was changed");
    }
    if !questions(open).starts_with(&questions(earlier)) {
        return Some("a question of the open turn was changed or lost");
    }
    let last = open.questions.last().map(|question| &question.standing);
    let fits = match entry {
        Entry::Answered(answered) => {
            answered.turn == open.turn && matches!(last, Some(QuestionStanding::Answered { .. }))
        }
        _ => last == Some(&QuestionStanding::Open) && open.questions.len() > earlier.questions.len(),
    };
    (!fits).then_some("the questions of the open turn do not fit the entry")
}

/// The first invariant that a transition breaks, in words; `None` for a sound one (spec FLY-I3, I5, I8, I9).
#[must_use]
pub fn invariants(before: &WaypointState, after: &WaypointState, entry: &Entry) -> Option<String> {
    if matches!(
        entry,
        Entry::Submitted(_)
            | Entry::Landed(_)
            | Entry::Steered(_)
            | Entry::Reserved(_)
            | Entry::Added(_)
            | Entry::Retired(_)
    ) {
        return Some("an entry of a flight's journal".to_owned());
    }
    if entry.decision().is_some_and(|d| d.source_refs.is_empty()) {
        return Some("a decision without references".to_owned());
    }
    let counts = |s: &WaypointState| {
        // Earlier versions drop the last two.
        let Counters { attempts, reworks, conflicts, clarifications, granted, rollbacks: _, interventions: _ } =
            s.counters;
        [attempts, reworks, conflicts, clarifications, granted]
    };
    if counts(before).iter().zip(counts(after)).any(|(before, after)| after < *before) {
        return Some("a counter went down".to_owned());
    }
    let by_agent =
        entry.record().cause.as_ref().is_some_and(|cause| cause.stream != streams::handoff(&role::id(role::OPERATOR)));
    if let Some(what) = holder_misfit(before, after, by_agent) {
        return Some(what.to_owned());
    }
    if after.spent.used != after.spent.used.max(before.spent.used) || after.spent.step < before.spent.step {
        return Some("what was spent went down".to_owned());
    }
    if let Some(what) = advice_misfit(before, after).or_else(|| queue_misfit(after)) {
        return Some(what.to_owned());
    }
    if after.configured.by < before.configured.by {
        return Some("decided by workflows that were replaced before".to_owned());
    }
    let left = match &before.phase {
        Phase::Cancelled => Some("a cancelled waypoint moved on"),
        // Only an act of a person, which its entry names, or the end of a budget that was used up twice.
        // Nor the end of a child that its parent does not want any more.
        Phase::Held(_) if entry.record().cause.is_none() && after.phase != Phase::Cancelled => {
            Some("held work moved on by itself")
        }
        Phase::Waiting(_) if matches!(after.phase, Phase::Accepted { .. }) => {
            Some("accepted while a question was open")
        }
        _ => None,
    };
    left.map(str::to_owned).or_else(|| entry_misfit(before, after, entry)).or_else(|| {
        let lost = !visits::only_grew(before, after);
        lost.then(|| "a visit of a gate was changed or lost".to_owned())
    })
}

/// Whether the state after an entry is not one that such an entry leads to.
fn entry_misfit(before: &WaypointState, after: &WaypointState, entry: &Entry) -> Option<String> {
    if let Entry::Revised(revised) = entry {
        return revision_misfit(before, after, &revised.document).map(str::to_owned);
    }
    let another = || "the state names another turn than the entry".to_owned();
    match (&after.phase, entry) {
        (Phase::InTurn(open), Entry::Turn(turn)) => (open.turn != turn.turn_id || open.role != turn.role).then(another),
        (Phase::InTurn(open), Entry::Decided(_) | Entry::Answered(_)) => {
            question_misfit(before, open, entry).map(str::to_owned)
        }
        (Phase::Forked, _) => fork_misfit(before, after, entry),
        (Phase::Held(Held { resume: Resume::Turn(open), .. }), Entry::Dead(dead)) => {
            (open.turn != dead.turn).then(another)
        }
        (Phase::Accepted { .. }, Entry::Decided(_)) => accepted_without_evidence(after),
        (Phase::Held(held), Entry::Decided(_)) => (!matches!(held.status, Status::Blocked | Status::Failed))
            .then(|| format!("held with status {:?}", held.status)),
        (Phase::Delegated(_), Entry::Decided(_)) => {
            after.work.is_some().then(|| "children are to do the work of one that has some".to_owned())
        }
        (Phase::Waiting(_) | Phase::Cancelled, Entry::Decided(_)) | (Phase::Queued(_), Entry::Queued(_)) => None,
        _ => Some("the state's phase does not fit the entry".to_owned()),
    }
}

/// Invariant 4: accepted only with a passing verification of the very tree that lands. What nothing verified lands nothing.
fn accepted_without_evidence(after: &WaypointState) -> Option<String> {
    let Some(work) = &after.work else {
        return after.verified.as_ref().map(|_| "accepted by a report, without work".to_owned());
    };
    let Some(verified) = &after.verified else { return Some("accepted without a verification".to_owned()) };
    if verified.tree != work.tree || after.base.as_ref() != Some(&verified.base) {
        return Some("accepted with another tree, or on another base, than was verified".to_owned());
    }
    let shown = after.criteria.iter().all(|c| c.verdict == Verdict::Pass && !c.evidence.is_empty());
    (!shown || after.criteria.is_empty()).then(|| "accepted without evidence for every criterion".to_owned())
}

/// What is wrong with an entry that leaves a waypoint in a fork.
fn fork_misfit(before: &WaypointState, after: &WaypointState, entry: &Entry) -> Option<String> {
    let Some(fork) = &after.fork else { return Some("it is in a fork that the state does not name".to_owned()) };
    let kept = before.fork.as_ref().filter(|earlier| earlier.fork == fork.fork && earlier.since == fork.since);
    let lost = |earlier: &Branch| {
        matches!(earlier.standing, BranchStanding::Voted(_))
            && fork.branch(&earlier.gate).map(|branch| &branch.standing) != Some(&earlier.standing)
    };
    if kept.is_some_and(|earlier| earlier.branches.iter().any(lost)) {
        return Some("a vote was changed or lost".to_owned());
    }
    if fork.phases().any(|phase| phase.turn().is_none()) {
        return Some("a branch is in a phase that is no branch's".to_owned());
    }
    match entry {
        Entry::Turn(turn) => {
            let open = after.open_turn(&turn.turn_id).is_some_and(|open| open.role == turn.role);
            (!open).then(|| "the state names another turn than the entry".to_owned())
        }
        Entry::Decided(_) | Entry::Answered(_) => {
            let moved = |branch: &&Branch| kept.and_then(|kept| kept.branch(&branch.gate)) != Some(*branch);
            match fork.branches.iter().find(moved).map(|branch| &branch.standing) {
                Some(BranchStanding::Open(Phase::InTurn(open))) => {
                    question_misfit(before, open, entry).map(str::to_owned)
                }
                _ => None,
            }
        }
        _ => Some("the state's phase does not fit the entry".to_owned()),
    }
}

/// What is wrong with an entry that says that the document of a gate was edited: it changes more than that.
fn revision_misfit(before: &WaypointState, after: &WaypointState, document: &DocumentRef) -> Option<&'static str> {
    let mut expected = WaypointState {
        acted: after.acted.clone(),
        counters: Counters { interventions: after.counters.interventions, ..before.counters },
        configured: after.configured,
        spent: after.spent,
        ..before.clone()
    };
    checkpoints::put_newest(&mut expected.documents, document.clone());
    (*after != expected).then_some("more than the document of a gate was changed")
}

/// Whether a state says of the queue what cannot be.
fn queue_misfit(after: &WaypointState) -> Option<&'static str> {
    let is_made = after.work.as_ref().is_some_and(|work| work.commit.is_some());
    if let Phase::Queued(queued) = &after.phase {
        if !is_made {
            return Some("nothing waits in the queue that could land");
        }
        if queued.kept.is_some() && after.stacked.is_none() {
            return Some("a report is kept on work that is behind no other work");
        }
    }
    let stacked = after.stacked.as_ref()?;
    if !is_integrated(&after.phase) {
        return Some("something else than its landing follows from work that is merged behind other work");
    }
    (!is_made || stacked.behind.is_empty()).then_some("merged behind other work, and there is none")
}

/// What is wrong with a turn that a person took over, or with how it was left.
fn holder_misfit(before: &WaypointState, after: &WaypointState, by_agent: bool) -> Option<&'static str> {
    if by_agent && matches!(&before.phase, Phase::InTurn(open) if is_no_agents(open)) {
        return Some("an agent answered a turn that a person had taken over, or had to");
    }
    let unsound = |open: &OpenTurn| open.taken_by().is_some_and(|by| !is_human(by));
    after.open_turns().any(unsound).then_some("a turn was taken over by somebody who is no person")
}
