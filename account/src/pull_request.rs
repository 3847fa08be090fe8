//! What a pull request says of landed work: what was wanted, what was shown and by which evidence, and how that is audited. Pure.

use std::collections::BTreeMap;

use holdpoint_engine::state::FlightState;
use holdpoint_protocol::{
    facts::CriterionResult,
    ids::WaypointId,
    plan::{Check, Waypoint},
    view::{FlightView, WaypointView},
};
use holdpoint_text::{shown, units::counted};

use crate::words::{markdown, status_mark, verdict_mark, why};

/// Bytes of a body: forges take 65,536 characters.
const BODY_BYTES_MAX: usize = 60_000;
/// Characters of a goal, and of a title.
const GOAL_CHARS_MAX: usize = 2_000;
const TITLE_CHARS_MAX: usize = 120;

/// What a forge is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// One line of text.
    pub title: String,
    /// Markdown, at most 60,000 bytes.
    pub body: String,
}

/// A flight whose landed work is to be reviewed.
#[derive(Debug, Clone, Copy)]
pub struct Reviewed<'a> {
    /// The flight, for what was planned.
    pub flight: &'a FlightState,
    /// How it stands.
    pub view: &'a FlightView,
    /// What verifications doubt, by waypoint.
    pub doubts: &'a BTreeMap<WaypointId, Vec<String>>,
    /// What it used up, in a line.
    pub cost: Option<&'a str>,
}

impl Reviewed<'_> {
    /// One request for all that landed.
    #[must_use]
    pub fn whole(&self) -> PullRequest {
        let (landed, all) = self.view.progress();
        let title = match self.landed().as_slice() {
            [only] => only.title.clone(),
            _ => format!("{}: {landed} of {}", self.view.plan, counted(all, "waypoint")),
        };
        let (landed, others): (Vec<_>, Vec<_>) = self.view.waypoints.iter().partition(|w| w.commit.is_some());
        let mut sections: String = landed.into_iter().map(|waypoint| self.section(waypoint)).collect();
        if !others.is_empty() {
            sections.push_str("### Not in it\n\n");
        }
        sections.extend(others.iter().map(|one| {
            let (mark, status) = (status_mark(one.status), one.status.as_str());
            format!("- {mark} **{}** {}: {status}\n", one.id, markdown(&one.title))
        }));
        self.request(&title, &sections)
    }

    /// A request for one waypoint; `None`: nothing of it landed.
    #[must_use]
    pub fn of(&self, id: &WaypointId) -> Option<PullRequest> {
        let waypoint = self.landed().into_iter().find(|waypoint| waypoint.id == *id)?;
        Some(self.request(&waypoint.title, &self.section(waypoint)))
    }

    /// What landed, in the order in which it did.
    #[must_use]
    pub fn landed(&self) -> Vec<&WaypointView> {
        let place = |waypoint: &&WaypointView| {
            self.view.landings.iter().position(|landing| Some(&landing.tip) == waypoint.commit.as_ref())
        };
        let mut landed: Vec<&WaypointView> = self.view.waypoints.iter().filter(|w| w.commit.is_some()).collect();
        landed.sort_by_key(place);
        landed
    }

    fn request(&self, title: &str, sections: &str) -> PullRequest {
        let FlightView { flight, base, .. } = self.view;
        let cost = self.cost.map(|cost| format!(" The flight used up {}.", markdown(cost))).unwrap_or_default();
        let judged = if self.landed().iter().any(|waypoint| waypoint.self_checked) {
            ""
        } else {
            ", and an independent verifier judged it by evidence"
        };
        let body = format!(
            "Agents made this in the flight `{flight}` on `{}`{judged}; `holdpoint audit {flight}` checks the account.{cost}\n\n{sections}",
            base.short()
        );
        PullRequest { title: shown::line(title).chars().take(TITLE_CHARS_MAX).collect(), body: cut(body) }
    }

    /// A waypoint: its goal, and a line for each verdict.
    fn section(&self, waypoint: &WaypointView) -> String {
        let planned = self.flight.planned(&waypoint.id);
        let commit = waypoint.commit.as_ref().map(|commit| format!(" (`{}`)", commit.short())).unwrap_or_default();
        let mut text = format!("### {}: {}{commit}\n\n", waypoint.id, markdown(&waypoint.title));
        if let Some(goal) = planned.map(|planned| planned.goal.trim()).filter(|goal| !goal.is_empty()) {
            let goal: String = goal.chars().take(GOAL_CHARS_MAX).collect();
            text.extend(goal.lines().map(|line| format!("> {}\n", markdown(line))));
            text.push('\n');
        }
        text.push_str("| | verdict | shown by | evidence |\n| --- | --- | --- | --- |\n");
        let criteria = waypoint.criteria.iter().map(|result| self.row(planned, "criterion", result));
        let guards = waypoint.guards.iter().map(|result| self.row(planned, "guard", result));
        text.extend(criteria.chain(guards));
        let by = if waypoint.self_checked { "; nobody but its maker verified it" } else { "" };
        text.push_str(&format!(
            "\n{}, sent back {}{by}.\n\n",
            counted(waypoint.attempts, "attempt"),
            counted(waypoint.sent_back, "time")
        ));
        let doubts = self.doubts.get(&waypoint.id).map(Vec::as_slice).unwrap_or_default();
        if !doubts.is_empty() {
            text.push_str("**To look at:**\n\n");
            text.extend(doubts.iter().map(|doubt| format!("- {}\n", markdown(doubt))));
            text.push('\n');
        }
        text
    }

    fn row(&self, planned: Option<&Waypoint>, kind: &str, result: &CriterionResult) -> String {
        let criterion = planned.and_then(|planned| planned.criteria.iter().find(|one| one.id == result.id));
        let guard = || self.flight.submitted.plan.guards.iter().find(|guard| guard.id == result.id);
        let check: Option<&Check> = match (kind, criterion) {
            ("criterion", Some(criterion)) => criterion.check.as_ref(),
            _ => guard().map(|guard| &guard.check),
        };
        let statement = criterion.map(|criterion| criterion.statement.as_str()).unwrap_or_default();
        let shown = check.map_or(statement, |check| check.command.as_str());
        let evidence: Vec<String> = result.evidence.iter().take(1).map(|digest| format!("`{digest}`")).collect();
        let because = why(result, None).map(|why| format!(": {}", markdown(&why))).unwrap_or_default();
        format!(
            "| {kind} {} | {} {}{because} | {} | {} |\n",
            result.id,
            verdict_mark(result.verdict),
            result.verdict.as_str(),
            markdown(shown),
            evidence.concat()
        )
    }
}

/// A body within its bound.
fn cut(mut body: String) -> String {
    if body.len() > BODY_BYTES_MAX {
        const MORE: &str = "\n\n(cut: `holdpoint history` shows all)\n";
        body.truncate(body.floor_char_boundary(BODY_BYTES_MAX - MORE.len()));
        body.push_str(MORE);
    }
    body
}

#[cfg(test)]
mod tests {
    use holdpoint_engine::{
        flight::{self, Waypoints},
        testing::fixture::Fixture,
    };

    use super::*;

    fn landed() -> Fixture {
        let mut fixture = Fixture::opened(|plan, _| {
            let waypoint = &mut plan.waypoints[0];
            (waypoint.title, waypoint.goal) =
                ("Retries | back off".to_owned(), "See <b>AGENTS.md</b>\nand go on".to_owned());
        });
        fixture.accept("w");
        fixture.land("w");
        fixture
    }

    fn view(fixture: &Fixture) -> FlightView {
        let mut states = Waypoints::new();
        states.insert("w".parse().unwrap(), fixture.state("w"));
        flight::view(&fixture.flight, &states, None, Vec::new(), |_, _| None).unwrap()
    }

    #[test]
    fn a_request_names_what_was_wanted_each_verdict_with_its_evidence_and_what_is_doubted() {
        let fixture = landed();
        let (view, doubts) = (view(&fixture), [("w".parse().unwrap(), vec!["look at `a`".to_owned()])].into());
        let reviewed = Reviewed { flight: &fixture.flight, view: &view, doubts: &doubts, cost: Some("$0.10") };
        let PullRequest { title, body } = reviewed.whole();
        assert_eq!(title, "Retries | back off", "one work has its own title");
        for says in [
            "`holdpoint audit demo-1`",
            "The flight used up $0.10.",
            "### w: Retries \\| back off (`",
            "> See &lt;b>AGENTS.md&lt;/b>\n> and go on\n",
            "| ✓ pass |",
            "| `sha256:",
            "1 attempt, sent back 0 times.",
            "**To look at:**\n\n- look at \\`a\\`\n",
        ] {
            assert!(body.contains(says), "{says}\n{body}");
        }
        assert_eq!(reviewed.of(&"w".parse().unwrap()).unwrap().title, title);
        assert!(body.contains("an independent verifier judged it"), "{body}");
        let mut alone = view.clone();
        alone.waypoints[0].self_checked = true;
        let PullRequest { body, .. } = Reviewed { view: &alone, ..reviewed }.whole();
        assert!(!body.contains("independent") && body.contains("nobody but its maker verified it"), "{body}");
        assert_eq!(reviewed.of(&"other".parse().unwrap()), None, "nothing of it landed");
    }

    #[test]
    fn what_did_not_land_is_named_and_a_body_keeps_to_its_bound() {
        let fixture = Fixture::opened(|plan, _| plan.waypoints[0].title = "ä".repeat(50_000));
        let (view, doubts) = (view(&fixture), BTreeMap::new());
        let reviewed = Reviewed { flight: &fixture.flight, view: &view, doubts: &doubts, cost: None };
        let PullRequest { title, body } = reviewed.whole();
        assert_eq!((title.as_str(), reviewed.landed().len()), ("demo: 0 of 1 waypoint", 0));
        assert!(body.contains("### Not in it\n\n- … **w** ä") && body.ends_with("shows all)\n"), "{body}");
        assert!(body.len() <= BODY_BYTES_MAX);
    }
}
