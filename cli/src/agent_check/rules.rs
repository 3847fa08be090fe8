//! What an agent has to do, sentence by sentence, and what was seen of it. Pure: nothing is watched here.

use std::collections::BTreeMap;

use serde::Serialize;

/// One sentence of the contract (docs/external-agents.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Rule {
    Connects,
    PullsByPriority,
    OneTurnAtATime,
    UrgentFirst,
    PlansFirst,
    ShowsJwt,
    Signs,
    NamesItself,
    Headers,
    Heartbeats,
    AsksProgress,
    BlobsFirst,
    HandsOff,
    ReadableHandoff,
    FitsRequest,
    Verdicts,
    AcknowledgesLast,
    ObeysStop,
    TakesRedelivery,
    LeavesSuperseded,
    GivesBack,
    SurvivesRefusal,
    Corrects,
    StaysInItsRole,
    EndsInOrder,
}

/// How an agent does by a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// As the contract says.
    Right,
    /// Against the contract.
    Wrong,
    /// Not against the contract, but worth fixing.
    Advice,
    /// There was no occasion.
    NotSeen,
}

/// What was found by one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) rule: Rule,
    pub(super) outcome: Outcome,
    /// The contract's sentence.
    pub(super) sentence: &'static str,
    /// What was seen; empty when all is right.
    pub(super) seen: Vec<String>,
    /// What to do, unless all is right.
    pub(super) hint: Option<&'static str>,
    /// Why there was no occasion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) no_occasion: Option<&'static str>,
}

impl Rule {
    const ALL: [Self; 25] = [
        Self::Connects,
        Self::PullsByPriority,
        Self::OneTurnAtATime,
        Self::UrgentFirst,
        Self::PlansFirst,
        Self::ShowsJwt,
        Self::Signs,
        Self::NamesItself,
        Self::Headers,
        Self::Heartbeats,
        Self::AsksProgress,
        Self::BlobsFirst,
        Self::HandsOff,
        Self::ReadableHandoff,
        Self::FitsRequest,
        Self::Verdicts,
        Self::AcknowledgesLast,
        Self::ObeysStop,
        Self::TakesRedelivery,
        Self::LeavesSuperseded,
        Self::GivesBack,
        Self::SurvivesRefusal,
        Self::Corrects,
        Self::StaysInItsRole,
        Self::EndsInOrder,
    ];

    /// Whether breaking it is only worth an advice.
    fn is_advice(self) -> bool {
        matches!(self, Self::Corrects | Self::EndsInOrder | Self::UrgentFirst)
    }

    /// Why nothing may be seen of it in a run.
    fn no_occasion(self) -> &'static str {
        match self {
            Self::Heartbeats | Self::AsksProgress => "the turns that it ended took less than 5 s",
            Self::BlobsFirst => "nothing that it handed off refers to a blob",
            Self::ObeysStop => "it did not ask about the turn that was not wanted any more",
            Self::Corrects => "it handed nothing off that could be refused",
            Self::Verdicts => "it handed no report off",
            Self::ShowsJwt | Self::Signs | Self::NamesItself | Self::Headers | Self::ReadableHandoff => {
                "it handed nothing off on the turns that are looked at closely"
            }
            Self::FitsRequest => "it handed no work and no report off",
            Self::Connects
            | Self::PullsByPriority
            | Self::OneTurnAtATime
            | Self::UrgentFirst
            | Self::PlansFirst
            | Self::HandsOff
            | Self::AcknowledgesLast
            | Self::TakesRedelivery
            | Self::LeavesSuperseded
            | Self::GivesBack
            | Self::SurvivesRefusal
            | Self::StaysInItsRole
            | Self::EndsInOrder => "the run did not come to the scene that shows it: see what is wrong above",
        }
    }

    /// The contract's sentence, and what to do when it is broken.
    #[allow(clippy::too_many_lines, reason = "a table")]
    fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::Connects => (
                "It connects with the credentials it is given, under its own inbox prefix _INBOX.<agent>.",
                "read HOLDPOINT_NATS_URL and HOLDPOINT_CREDS; set the client's inbox prefix to _INBOX.<name in the JWT>",
            ),
            Self::PullsByPriority => (
                "It pulls from its role's durable consumers, critical to low, without waiting.",
                "request one message of <role>_<priority>_<pool> at each priority in turn, with no_wait",
            ),
            Self::OneTurnAtATime => {
                ("It takes one turn at a time.", "ask for a batch of 1, and pull again only after the turn is answered")
            }
            Self::UrgentFirst => (
                "It takes the most urgent turn first.",
                "after each turn begin again with the consumer of critical turns",
            ),
            Self::PlansFirst => (
                "It sends its plan first: who holds the turn, and what it means to do.",
                "publish build_plan or verification_plan on handoff_subject before the work",
            ),
            Self::ShowsJwt => (
                "The plan carries Hp-Jwt, the agent's user JWT.",
                "put the JWT of the .creds file into Hp-Jwt as it stands",
            ),
            Self::Signs => (
                "Every handoff is signed: ed25519 over subject, line feed, payload as sent.",
                "sign the exact bytes with the seed of the .creds file; unpadded base64url",
            ),
            Self::NamesItself => (
                "A handoff names turn, delivery, agent, role and waypoint as they were given.",
                "take turn_id and waypoint from the turn, the delivery from the acknowledgement subject, the agent from \
                 the JWT",
            ),
            Self::Headers => (
                "A handoff has Content-Type, Hp-Schema and Nats-Msg-Id = <turn>.<delivery>.<agent>.<kind>.<n>.",
                "set the three headers; without a message id a repetition is stored twice",
            ),
            Self::Heartbeats => (
                "It sends +WPI at a third of the acknowledgement wait while it works.",
                "publish +WPI on the delivery's reply subject every few seconds",
            ),
            Self::AsksProgress => (
                "It asks progress every few seconds whether the turn is still wanted.",
                "request hp.v1.api.progress, signed and with Hp-Jwt",
            ),
            Self::BlobsFirst => (
                "It stores bytes as write-once chunks under their digest before it refers to them.",
                "publish the chunks, chunk 0 last, wait for their acknowledgements, then hand off",
            ),
            Self::HandsOff => (
                "It publishes one final handoff per delivery, of a kind that the turn wants.",
                "end a build turn with build_artifact, a verify turn with verification_report",
            ),
            Self::ReadableHandoff => {
                ("Handoffs are JSON of the published schemas.", "validate against what `holdpoint schema KIND` prints")
            }
            Self::FitsRequest => (
                "The handoff is about what was asked: the commit under review, or one commit on the base.",
                "take commit, tree, purpose and ids from the request; hand off a commit whose one parent is base",
            ),
            Self::Verdicts => (
                "Verdicts are read from the end of a check: 0 and expect matched pass, 1 to 125 fail, all else neither.",
                "compare with the contract's Checks; a pass names the digest of the stored output",
            ),
            Self::AcknowledgesLast => (
                "It acknowledges the delivery after the publish of the final handoff is acknowledged.",
                "wait for the broker's acknowledgement of the handoff, then send +ACK",
            ),
            Self::ObeysStop => (
                "When progress answers stop, it ends the work, hands nothing off and acknowledges.",
                "end the program, send +ACK, take the next turn",
            ),
            Self::TakesRedelivery => (
                "A turn whose agent died comes again, and is done under its new delivery number.",
                "take the number from the delivery's reply subject; keep no state that a restart would trip over",
            ),
            Self::LeavesSuperseded => (
                "A redelivered turn that is no longer wanted is acknowledged without work.",
                "ask progress before the plan when the delivery number is above 1",
            ),
            Self::GivesBack => (
                "A failure of its own gives the turn back with -NAK, and is no handoff.",
                "when a blob cannot be got or a tool is missing, send -NAK with a delay",
            ),
            Self::SurvivesRefusal => (
                "A refused handoff ends nothing: it goes on taking turns.",
                "treat what comes on hp.v1.refused.<role>.<agent> as news",
            ),
            Self::Corrects => (
                "After a refusal with the action `correct` it hands off again, under a message id with another n.",
                "listen on hp.v1.refused.<role>.<agent>; the turn is still open",
            ),
            Self::StaysInItsRole => (
                "It publishes and subscribes only what its role may.",
                "look at your client's error callback: the broker tells permissions violations there",
            ),
            Self::EndsInOrder => (
                "On SIGTERM it ends, and gives back the turn in its hands.",
                "handle SIGTERM: take no more turns, -NAK the one in hand, exit with 0",
            ),
        }
    }
}

/// What was seen so far.
#[derive(Debug, Default)]
pub(super) struct Notes {
    seen: BTreeMap<Rule, Vec<Option<String>>>,
    without: BTreeMap<Rule, &'static str>,
}

impl Notes {
    /// It was as it should be.
    pub(super) fn right(&mut self, rule: Rule) {
        self.seen.entry(rule).or_default().push(None);
    }

    /// It was not.
    pub(super) fn wrong(&mut self, rule: Rule, seen: impl Into<String>) {
        let seen = seen.into();
        let noted = self.seen.entry(rule).or_default();
        if !noted.contains(&Some(seen.clone())) {
            noted.push(Some(seen));
        }
    }

    /// There is no occasion in this run, and why.
    pub(super) fn without(&mut self, rule: Rule, why: &'static str) {
        self.without.insert(rule, why);
    }

    /// One or the other.
    pub(super) fn note(&mut self, rule: Rule, holds: bool, seen: impl Into<String>) {
        if holds { self.right(rule) } else { self.wrong(rule, seen) }
    }

    /// One finding a rule, in the contract's order. Rules for verifiers only are left out for others.
    pub(super) fn findings(&self, verifies: bool) -> Vec<Finding> {
        let rules = Rule::ALL.into_iter().filter(|rule| verifies || *rule != Rule::Verdicts);
        rules.map(|rule| self.finding(rule)).collect()
    }

    fn finding(&self, rule: Rule) -> Finding {
        let noted = self.seen.get(&rule).map_or(&[][..], Vec::as_slice);
        let seen: Vec<String> = noted.iter().flatten().cloned().collect();
        let outcome = match (noted.is_empty(), seen.is_empty()) {
            (true, _) => Outcome::NotSeen,
            (false, true) => Outcome::Right,
            (false, false) if rule.is_advice() => Outcome::Advice,
            (false, false) => Outcome::Wrong,
        };
        let (sentence, hint) = rule.texts();
        let why = || self.without.get(&rule).copied().unwrap_or_else(|| rule.no_occasion());
        let no_occasion = (outcome == Outcome::NotSeen).then(why);
        let hint = (outcome != Outcome::Right).then_some(hint);
        Finding { rule, outcome, sentence, seen, hint, no_occasion }
    }
}

/// Whether an agent keeps the contract: nothing is wrong, and the heart of it was seen.
pub(super) fn keeps(findings: &[Finding]) -> bool {
    let heart = [Rule::Connects, Rule::PlansFirst, Rule::HandsOff, Rule::AcknowledgesLast];
    let seen = |rule: &Rule| findings.iter().any(|found| found.rule == *rule && found.outcome == Outcome::Right);
    findings.iter().all(|found| found.outcome != Outcome::Wrong) && heart.iter().all(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_thing_outweighs_what_was_right_and_an_advice_does_not() {
        let mut notes = Notes::default();
        for rule in Rule::ALL {
            notes.right(rule);
        }
        assert!(keeps(&notes.findings(true)));
        notes.wrong(Rule::Corrects, "no second handoff");
        assert!(keeps(&notes.findings(true)));
        notes.wrong(Rule::Signs, "no Hp-Signature");
        let findings = notes.findings(true);
        assert!(!keeps(&findings));
        let signs = findings.iter().find(|found| found.rule == Rule::Signs).unwrap();
        assert_eq!((signs.outcome, signs.seen.as_slice()), (Outcome::Wrong, &["no Hp-Signature".to_owned()][..]));
        assert!(signs.hint.is_some());
    }

    #[test]
    fn an_agent_of_which_nothing_was_seen_does_not_pass() {
        let findings = Notes::default().findings(false);
        assert!(findings.iter().all(|found| found.outcome == Outcome::NotSeen));
        assert!(!keeps(&findings));
        assert!(findings.iter().all(|found| found.rule != Rule::Verdicts), "a builder gives no verdicts");
    }

    #[test]
    fn what_there_was_no_occasion_for_says_why() {
        let mut notes = Notes::default();
        notes.right(Rule::Connects);
        notes.without(Rule::EndsInOrder, "it was not started here");
        let findings = notes.findings(true);
        let why = |rule| findings.iter().find(|found| found.rule == rule).unwrap().no_occasion;
        assert_eq!((why(Rule::Connects), why(Rule::EndsInOrder)), (None, Some("it was not started here")));
        assert!(why(Rule::Heartbeats).unwrap().contains("less than 5 s"));
        let not_seen = findings.iter().filter(|found| found.outcome == Outcome::NotSeen);
        assert!(not_seen.clone().count() == 24 && not_seen.clone().all(|found| found.no_occasion.is_some()));
    }
}
