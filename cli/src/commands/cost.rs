//! `cost`: where a flight's tokens and money went.

use std::time::Duration;

use holdpoint_account::{
    cost::{By, CostRow, Costs, ReportedUsage, Sum, dollars},
    events::{EntryEffect, FlightReader},
};
use holdpoint_engine::audit::HandoffLine;
use holdpoint_protocol::{
    budget::{Amounts, Limits},
    ids::FlightId,
    journal::Entry,
};
use holdpoint_text::units::counted;
use serde_json::json;

use crate::{
    args::budget::{CostArgs, CostBy},
    client::Client,
    failure::{Exit, Failure},
    observe::{Follower, Source},
    output,
    people::find,
    target::Target,
};

/// How long the end of a flight waits for what it used up.
const PATIENCE: Duration = Duration::from_secs(5);
/// The columns of `--csv`.
const HEADING: &str = "name,attempts,turns,cost_usd,tokens,tool_calls,output_bytes,wall_ms,unmetered,claimed,estimated";

/// Shows what a flight used up.
pub(super) async fn cost(args: CostArgs) -> Result<Exit, Failure> {
    let target = Target::existing(&args.place).await?;
    let work = async |client: &Client| {
        let flight = find::known(client, &args.flight).await?.flight;
        let (costs, limits) = read(client, &flight).await?;
        Ok((flight, costs, limits))
    };
    let (flight, costs, limits) = target.serve(work).await?;
    let by = match args.by {
        CostBy::Waypoint => By::Waypoint,
        CostBy::Role => By::Role,
        CostBy::Agent => By::Agent,
        CostBy::Gate => By::Gate,
    };
    let rows = costs.rows(by);
    let total = costs.total();
    if args.json {
        output::json(&json!({"flight": flight, "limits": limits, "rows": rows, "total": total}));
    } else if args.csv {
        csv(&rows).iter().for_each(|line| output::out(line));
    } else {
        readable(&rows, total, limits).iter().for_each(|line| output::out(line));
    }
    Ok(Exit::Success)
}

/// What a flight used up so far, and what it may use up.
async fn read(client: &Client, flight: &FlightId) -> Result<(Costs, Limits), Failure> {
    let (mut source, mut costs) = (Source::open(client, flight).await?, Costs::default());
    source.follow(client, &mut Spending(&mut costs)).await?;
    let limits = source.reader().flight().map(|flight| flight.budget.limits(&flight.submitted.plan.budget));
    Ok((costs, limits.unwrap_or_default()))
}

/// Gives what is read to the costs of a flight.
struct Spending<'a>(&'a mut Costs);

impl Follower for Spending<'_> {
    fn entry(&mut self, _: &FlightReader, _: &EntryEffect, entry: &Entry) {
        self.0.entry(entry);
    }

    fn handoff(&mut self, line: &HandoffLine) {
        if let Some(reported) = ReportedUsage::of(line) {
            self.0.handoff(reported);
        }
    }
}

/// What a flight used up, in a line; `None` where that cannot be read in time.
pub(super) async fn in_a_line(client: &Client, flight: &FlightId) -> Option<String> {
    let (costs, _) = tokio::time::timeout(PATIENCE, read(client, flight)).await.ok()?.ok()?;
    let total = costs.total();
    if total.turns > 0 && !total.is_metered() && total.used.tokens == 0 {
        let report = if total.turns == 1 { "whose program reports" } else { "whose programs report" };
        return Some(format!("{}, {report} no cost", counted(total.turns, "turn")));
    }
    (total.turns > 0).then(|| words(total))
}

fn csv(rows: &[CostRow]) -> Vec<String> {
    let line = |name: &str, which: &str, sum: &Sum| {
        let Amounts { tokens, cost_micro_usd, tool_calls, output_bytes, wall_ms } = sum.used;
        let Sum { turns, unmetered, claimed, estimated, .. } = sum;
        let cost = if sum.is_metered() { dollars(cost_micro_usd) } else { String::new() };
        format!(
            "{name},{which},{turns},{cost},{tokens},{tool_calls},{output_bytes},{wall_ms},{unmetered},{claimed},{estimated}"
        )
    };
    let mut all = vec![HEADING.to_owned()];
    for row in rows {
        all.push(line(&row.name, "first", &row.first));
        all.push(line(&row.name, "reworks", &row.reworks));
    }
    all
}

fn readable(rows: &[CostRow], total: Sum, limits: Limits) -> Vec<String> {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or_default().max("total".len());
    let mut all: Vec<String> = Vec::new();
    for row in rows {
        all.push(format!("{:width$}  {}", row.name, words(row.total())));
        if row.reworks.turns > 0 {
            all.push(format!("{:width$}  of it reworks: {}", "", words(row.reworks)));
        }
    }
    all.push(format!("{:width$}  {}", "total", words(total)));
    let Limits { tokens, cost_micro_usd, tool_calls, output_bytes, .. } = limits;
    let limited = [
        cost_micro_usd.map(|cost| format!("${}", dollars(cost))),
        tokens.map(|tokens| format!("{tokens} tokens")),
        tool_calls.map(|calls| format!("{calls} tool calls")),
        output_bytes.map(|bytes| format!("{bytes} bytes of output")),
    ];
    let limited: Vec<String> = limited.into_iter().flatten().collect();
    if !limited.is_empty() {
        all.push(format!("{:width$}  the flight may use up {}", "", limited.join(", ")));
    }
    all
}

/// `$1.25, 42000 tokens, 17 tool calls, 95 s in 3 turns (1 estimated, 1 unmetered, 1 claimed)`.
fn words(sum: Sum) -> String {
    let Sum { turns, used, unmetered, estimated, claimed } = sum;
    let seconds = used.wall_ms / 1_000;
    let kinds = [(estimated, "estimated"), (unmetered, "unmetered"), (claimed, "claimed")];
    let kinds: Vec<String> =
        kinds.iter().filter(|(count, _)| *count > 0).map(|(count, kind)| format!("{count} {kind}")).collect();
    let apart = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    let (price, turns) = (sum.price(), counted(turns, "turn"));
    format!("{price}, {} tokens, {} tool calls, {seconds} s in {turns}{apart}", used.tokens, used.tool_calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(micro: u64, turns: u32) -> Sum {
        let used = Amounts { cost_micro_usd: micro, tokens: 42, wall_ms: 95_000, ..Amounts::default() };
        Sum { turns, used, unmetered: 0, estimated: 1, claimed: 1 }
    }

    #[test]
    fn a_table_names_the_parts_and_the_whole_with_reworks_apart() {
        let row = CostRow { name: "w1".to_owned(), first: sum(1_250_000, 1), reworks: sum(1, 2) };
        let limits = Limits { cost_micro_usd: Some(20_000_000), ..Limits::default() };
        let lines = readable(std::slice::from_ref(&row), row.total(), limits);
        assert_eq!(lines[0], "w1     $1.250001, 84 tokens, 0 tool calls, 190 s in 3 turns (2 estimated, 2 claimed)");
        assert_eq!(
            lines[1].trim_start(),
            "of it reworks: $0.000001, 42 tokens, 0 tool calls, 95 s in 2 turns (1 estimated, 1 claimed)"
        );
        assert!(lines[3].ends_with("the flight may use up $20.00"), "{lines:?}");
        let csv = csv(&[row]);
        assert_eq!(csv[0].split(',').count(), csv[1].split(',').count());
        assert_eq!(csv[1], "w1,first,1,1.25,42,0,0,95000,0,1,1");
    }

    #[test]
    fn a_cost_that_nobody_knows_is_unmetered_and_no_zero() {
        let unknown = Sum { turns: 2, unmetered: 2, ..Sum::default() };
        assert_eq!(words(unknown), "unmetered, 0 tokens, 0 tool calls, 0 s in 2 turns (2 unmetered)");
        let row = CostRow { name: "w1".to_owned(), first: unknown, reworks: Sum::default() };
        assert_eq!(csv(&[row])[1..], ["w1,first,2,,0,0,0,0,2,0,0", "w1,reworks,0,0.00,0,0,0,0,0,0,0"]);
        let partly = Sum { used: Amounts { cost_micro_usd: 500_000, ..Amounts::default() }, unmetered: 1, ..unknown };
        assert!(words(partly).starts_with("$0.50, "));
    }
}
