//! Gates, agents and delivery as tables for people.

use holdpoint_account::events::{AgentReport, DeliveryReport, GateReport, Passes, PlaceKind, Spread, WaypointAtGate};
use holdpoint_protocol::{Timestamp, time::Millis};
use holdpoint_text::{
    shown,
    units::{self, counted, seconds},
};

/// Work that is listed at each gate.
const STANDING_MAX: usize = 10;

/// Gates as a table, and below it the work that is there now.
pub(crate) fn gates(gates: &[GateReport], passes: &Passes, now: Timestamp) -> String {
    if gates.is_empty() {
        return "no work has come to a gate yet".to_owned();
    }
    let head =
        ["workflow", "gate", "role", "now", "oldest", "left", "sent back", "skipped", "late", "median", "p90", "max"];
    let row = |gate: &GateReport| {
        let oldest = gate.oldest().map(|since| now.since(since).into());
        let sent_back = match gate.rejection_percent() {
            Some(percent) if gate.rejections > 0 => format!("{} ({percent} %)", gate.rejections),
            _ => "-".to_owned(),
        };
        vec![
            shown::line(&gate.workflow).into_owned(),
            gate.gate.as_ref().map_or_else(dash, ToString::to_string),
            gate.role.as_ref().map_or_else(dash, ToString::to_string),
            count(gate.now.len()),
            span(oldest),
            count(gate.left() as usize),
            sent_back,
            count(gate.skips as usize),
            count(gate.timeouts as usize),
            span(gate.dwell.percentile(50)),
            span(gate.dwell.percentile(90)),
            span(gate.dwell.max()),
        ]
    };
    let mut text = table(&head, gates.iter().map(row));
    if let Some(mean) = passes.mean() {
        text.push_str(&format!("\nwork goes through its gates {mean:.1} times on average, {} at most", passes.max));
    }
    for gate in gates.iter().filter(|gate| !gate.now.is_empty()) {
        let name = gate.gate.as_ref().map_or_else(|| "no gate".to_owned(), |gate| format!("gate {gate}"));
        text.push_str(&format!("\n\n{}, {name}:", shown::line(&gate.workflow)));
        for standing in gate.now.iter().take(STANDING_MAX) {
            text.push_str(&format!("\n  {}", stands(standing, now)));
        }
        if gate.now.len() > STANDING_MAX {
            text.push_str(&format!("\n  and {} more (--json)", gate.now.len() - STANDING_MAX));
        }
    }
    text
}

fn stands(standing: &WaypointAtGate, now: Timestamp) -> String {
    let role = standing.role.as_ref().map(|role| format!(" of role {role}")).unwrap_or_default();
    let people: Vec<&str> = standing.people.iter().map(|name| name.as_str()).collect();
    let people = if people.is_empty() { String::new() } else { format!(" ({})", people.join(", ")) };
    let waits = match standing.waits_for {
        PlaceKind::Agent => format!("waits for an agent{role}"),
        PlaceKind::Person => format!("waits for a person{role}{people}"),
        PlaceKind::Answer => format!("waits for an answer to an agent{role}"),
        PlaceKind::Children => "waits for its children".to_owned(),
        PlaceKind::Held => "is held until somebody has it tried again".to_owned(),
    };
    let since = span(Some(now.since(standing.since).into()));
    format!("{} of {} {waits}, for {since}", standing.waypoint, standing.flight)
}

/// Agents as a table.
pub(crate) fn agents(agents: &[AgentReport]) -> String {
    if agents.is_empty() {
        return "no agent has ended a turn yet".to_owned();
    }
    let head = [
        "agent",
        "role",
        "turns",
        "complete",
        "sent back",
        "blocked",
        "landed",
        "own work sent back",
        "conflicts",
        "deaths",
        "median",
        "p90",
    ];
    let row = |agent: &AgentReport| {
        let roles: Vec<&str> = agent.roles.iter().map(|role| role.as_str()).collect();
        vec![
            agent.agent.to_string(),
            if roles.is_empty() { dash() } else { roles.join(",") },
            count(agent.turns as usize),
            count(agent.complete as usize),
            count(agent.needs_review as usize),
            count(agent.blocked as usize),
            count(agent.landed as usize),
            count(agent.rejected as usize),
            count(agent.conflicts as usize),
            count(agent.deaths as usize),
            span(agent.time.percentile(50)),
            span(agent.time.percentile(90)),
        ]
    };
    table(&head, agents.iter().map(row))
}

/// Delivery in lines.
pub(crate) fn delivery(report: &DeliveryReport) -> String {
    let (Some(from), Some(until)) = (report.from, report.until) else {
        return "nothing was flown yet".to_owned();
    };
    let rate = report.failure_rate.map_or_else(dash, |rate| format!("{:.0} %", rate * 100.0));
    let spread = |spread: &Spread| match (spread.percentile(50), spread.percentile(90)) {
        (Some(median), Some(p90)) => format!("{} median, {} 90th percentile", span(Some(median)), span(Some(p90))),
        _ => dash(),
    };
    [
        format!("{} from {} to {}", counted(report.flights, "flight"), seconds(from), seconds(until)),
        format!(
            "deployment frequency   {:.2} landings a day (of {}, {} landed)",
            report.landings_per_day,
            counted(report.changes, "change"),
            report.landed
        ),
        format!("lead time for changes  {}", spread(&report.lead_time)),
        format!("change failure rate    {rate} (held at any time: {}, now: {})", report.failed, report.held_now),
        format!("time to restore        {}", spread(&report.time_to_restore)),
    ]
    .join("\n")
}

pub(super) fn dash() -> String {
    "-".to_owned()
}

pub(super) fn count(count: usize) -> String {
    if count == 0 { dash() } else { count.to_string() }
}

/// A span, or a dash where there is none.
pub(super) fn span(span: Option<Millis>) -> String {
    span.map_or_else(dash, |span| units::span(span.duration()))
}

/// Columns as wide as their widest cell.
pub(super) fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let head = head.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let columns = rows.first().map_or(0, Vec::len);
    let width =
        |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["builder-1".to_owned(), "3".to_owned()], vec!["v".to_owned(), "12".to_owned()]];
        let text = table(&["agent", "turns"], rows.into_iter());
        assert_eq!(text, "agent      turns\nbuilder-1  3\nv          12");
    }
}
