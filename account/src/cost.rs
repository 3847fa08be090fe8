//! Where a flight's tokens and money went: what agents reported with their handoffs, turn by turn (FLY-32).
//!
//! Time and output are measured by a harness; tokens, cost and tool calls are the word of programs. The report of a
//! harness that is not Holdpoint's is a claim altogether, and counted apart.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_engine::audit::HandoffLine;
use holdpoint_protocol::{
    artifact::Metered,
    budget::Amounts,
    facts::Harness,
    ids::{AgentName, TurnId, WaypointId},
    journal::Entry,
};
use serde::Serialize;

/// By what amounts are put together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum By {
    /// The waypoint.
    #[default]
    Waypoint,
    /// The role that had the turn.
    Role,
    /// The agent.
    Agent,
    /// The gate.
    Gate,
}

/// What some turns used up together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Sum {
    /// Deliveries of turns that reported something.
    pub turns: u32,
    /// Together.
    pub used: Amounts,
    /// Those of them whose cost is not known, or not all of it.
    pub unmetered: u32,
    /// Those of them whose cost is an estimate from a configured price, altogether or in part.
    pub estimated: u32,
    /// Those of them whose harness is not Holdpoint's: everything that they report is a claim.
    pub claimed: u32,
}

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CostRow {
    /// The waypoint, role, agent or gate.
    pub name: String,
    /// First attempts.
    pub first: Sum,
    /// Attempts after a rejection or a failure.
    pub reworks: Sum,
}

/// A turn, as its entry opened it.
#[derive(Debug, Clone)]
struct Opened {
    waypoint: WaypointId,
    role: String,
    gate: String,
    attempt: u32,
}

/// What one agent reported of one delivery of a turn.
#[derive(Debug, Clone)]
pub struct ReportedUsage {
    turn: TurnId,
    delivery: u32,
    agent: AgentName,
    metered: Metered,
    foreign: bool,
}

/// Puts the reports of a flight together.
#[derive(Debug, Default)]
pub struct Costs {
    opened: BTreeMap<TurnId, Opened>,
    reported: Vec<ReportedUsage>,
    /// One report of each delivery counts: the first that is stored.
    seen: BTreeSet<(TurnId, u32, AgentName)>,
}

impl Costs {
    /// Takes an entry of a journal.
    pub fn entry(&mut self, entry: &Entry) {
        if let Entry::Turn(turn) = entry {
            let opened = Opened {
                waypoint: turn.waypoint.clone(),
                role: turn.role.to_string(),
                gate: turn.gate.to_string(),
                attempt: turn.attempt,
            };
            self.opened.insert(turn.turn_id.clone(), opened);
        }
    }

    /// Takes what a handoff reports.
    pub fn handoff(&mut self, reported: ReportedUsage) {
        let ReportedUsage { turn, delivery, agent, .. } = &reported;
        if self.seen.insert((turn.clone(), *delivery, agent.clone())) {
            self.reported.push(reported);
        }
    }

    /// What all turns used up.
    #[must_use]
    pub fn total(&self) -> Sum {
        self.rows(By::Role).iter().fold(Sum::default(), |sum, row| sum.plus(row.total()))
    }

    /// The table, most expensive first. Reports on turns that no entry opened count for nothing.
    #[must_use]
    pub fn rows(&self, by: By) -> Vec<CostRow> {
        let mut rows: BTreeMap<String, CostRow> = BTreeMap::new();
        for report in &self.reported {
            let Some(opened) = self.opened.get(&report.turn) else { continue };
            let name = match by {
                By::Waypoint => opened.waypoint.to_string(),
                By::Role => opened.role.clone(),
                By::Agent => report.agent.to_string(),
                By::Gate => opened.gate.clone(),
            };
            let row = CostRow { name: name.clone(), first: Sum::default(), reworks: Sum::default() };
            let row = rows.entry(name).or_insert(row);
            if opened.attempt > 1 { &mut row.reworks } else { &mut row.first }.add(report);
        }
        let mut rows: Vec<CostRow> = rows.into_values().collect();
        let size = |row: &CostRow| {
            let Amounts { cost_micro_usd, tokens, wall_ms, .. } = row.total().used;
            (cost_micro_usd, tokens, wall_ms)
        };
        rows.sort_by(|one, other| size(other).cmp(&size(one)).then_with(|| one.name.cmp(&other.name)));
        rows
    }
}

impl CostRow {
    /// First attempts and reworks together.
    #[must_use]
    pub fn total(&self) -> Sum {
        self.first.plus(self.reworks)
    }
}

impl ReportedUsage {
    /// What a handoff reports whose sender is known; `None`: nothing.
    #[must_use]
    pub fn of(line: &HandoffLine) -> Option<Self> {
        let (Ok((head, body)), Ok(harness)) = (&line.body, &line.sender) else { return None };
        let (turn, metered) = (head.turn.clone()?, body.metered()?.clone());
        let (delivery, agent, foreign) = (head.delivery, head.agent.clone(), *harness == Harness::Foreign);
        Some(Self { turn, delivery, agent, metered, foreign })
    }
}

impl Sum {
    fn add(&mut self, report: &ReportedUsage) {
        self.turns += 1;
        self.used = self.used.plus(report.metered.reported().amounts());
        let reported = report.metered.reported();
        self.unmetered += u32::from(reported.cost_micro_usd.is_none() || report.metered.incomplete);
        self.estimated += u32::from(report.metered.estimated);
        self.claimed += u32::from(report.foreign);
    }

    /// Whether any program said what its turn cost. A price that nobody knows is not zero.
    #[must_use]
    pub fn is_metered(&self) -> bool {
        self.turns == 0 || self.used.cost_micro_usd > 0 || self.unmetered < self.turns
    }

    /// The price in words: `$1.25`, or that nobody knows it.
    #[must_use]
    pub fn price(&self) -> String {
        if self.is_metered() { format!("${}", dollars(self.used.cost_micro_usd)) } else { "unmetered".to_owned() }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            turns: self.turns + other.turns,
            used: self.used.plus(other.used),
            unmetered: self.unmetered + other.unmetered,
            estimated: self.estimated + other.estimated,
            claimed: self.claimed + other.claimed,
        }
    }
}

/// Millionths of a dollar as dollars, exactly, with two decimals at least.
#[must_use]
pub fn dollars(micro: u64) -> String {
    let (whole, part) = (micro / 1_000_000, micro % 1_000_000);
    let part = format!("{part:06}");
    let kept = part.trim_end_matches('0').len().max(2);
    format!("{whole}.{}", part.get(..kept).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use holdpoint_engine::{
        testing::{account::Account, fixture::Fixture, parts::failure},
        waypoint::{BuildOutcome, Input},
    };
    use holdpoint_protocol::reason::ReasonCode;

    use super::*;

    fn metered(micro: u64) -> Option<Box<Metered>> {
        Some(Box::new(Metered { cost_micro_usd: Some(micro), tokens: Some(micro * 2), ..Metered::default() }))
    }

    #[test]
    fn what_turns_cost_is_shown_by_what_they_were_for_with_reworks_apart() {
        let mut fixture = Fixture::opened(|_, _| {});
        fixture.metered = metered(300);
        fixture.build("w", failure(ReasonCode::AgentFailed)).turn();
        fixture.metered = metered(50);
        let work = BuildOutcome::Work { commit: Some(fixture.commit()), violations: Vec::new() };
        fixture.build("w", work).turn();
        fixture.metered = None;
        fixture.report("w", |_| {}).decided();
        assert!(fixture.trace.iter().any(|t| matches!(t.input, Input::Reported(_))));
        let account = Account::of(&fixture);
        let mut costs = Costs::default();
        // A report that comes twice counts once.
        let twice = account.handoffs.iter().chain(&account.handoffs);
        twice.filter_map(ReportedUsage::of).for_each(|reported| costs.handoff(reported));
        account.entries.iter().filter_map(|line| line.entry.as_ref().ok()).for_each(|entry| costs.entry(entry));
        let rows = costs.rows(By::Waypoint);
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].first.used.cost_micro_usd, rows[0].reworks.used.cost_micro_usd), (300, 50));
        assert_eq!((rows[0].first.turns, rows[0].reworks.turns), (1, 1));
        assert_eq!(costs.rows(By::Gate)[0].name, "build");
        assert_eq!(costs.rows(By::Role)[0].first.plus(costs.rows(By::Role)[0].reworks).used.tokens, 700);
        assert_eq!(costs.rows(By::Agent)[0].name, "agent-1");
    }
}
