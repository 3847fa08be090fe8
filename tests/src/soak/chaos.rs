//! Failure injection at the handoffs (RETRY-14): programs and agents that corrupt, break off, stall, crash, lie, flood, lose
//! their network and call tools malformed, by seeds, and how each case ends.
//!
//! A case is one waypoint. Its program runs in this process, behind the real harness: turn folders, git, the exchange, the line
//! over which programs ask, records and results over a real broker to a real orchestrator. A quarter of the cases makes work, which a
//! verifier looks at in its tree and which lands; a judge decides on some of it, behind Holdpoint's own verifier and in its sandbox,
//! and a person approves some. The others complete a gate. What is not here: the sandbox of the other programs, which are none.

#![expect(clippy::print_stdout, reason = "a long run tells how it goes")]

mod agents;
mod book;
mod case;
mod fleet;
mod judge;
mod outage;
mod person;
mod program;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::Arc,
    time::{Duration, Instant},
};

use holdpoint_protocol::{
    api::{HistoryLine, Standing},
    artifact::{Artifact as _, Completion, ExchangeRecord, ExchangeStatus},
    state::Status,
    view::WaypointView,
};

use self::{
    book::Book,
    case::{Case, Fault, Point},
    fleet::Fleet,
    program::RIGHT,
};
use super::Terms;

/// Cases of the long run, and of one fleet.
const CASES: u64 = 1_000;
const OF_A_FLEET: usize = 50;

/// How a case ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// Its work was accepted, and is right.
    Recovered,
    /// A person has to decide: retries or attempts are used up, or it waits.
    Escalated,
    /// Its program ended badly until its attempts were used up.
    Fatal,
}

/// How the cases ended.
#[derive(Debug, Default)]
pub struct Chaos {
    ends: BTreeMap<End, usize>,
    by_fault: BTreeMap<(Point, Fault, End), usize>,
    took: Duration,
}

impl Chaos {
    /// How many cases there were.
    #[must_use]
    pub fn cases(&self) -> usize {
        self.ends.values().sum()
    }

    /// How many of them ended with right work that was accepted.
    #[must_use]
    pub fn recovered(&self) -> usize {
        self.ends.get(&End::Recovered).copied().unwrap_or_default()
    }

    fn note(&mut self, case: &Case, end: End) {
        *self.ends.entry(end).or_default() += 1;
        let mut faults: Vec<_> = case.faults().collect();
        faults.sort_unstable();
        faults.dedup();
        for (point, fault) in faults {
            *self.by_fault.entry((point, fault, end)).or_default() += 1;
        }
    }
}

/// The long run.
///
/// # Errors
/// A case that hangs, or that was accepted though it is wrong.
pub fn run(terms: &Terms) -> Result<(), String> {
    let begun = Instant::now();
    let mut all = Chaos::default();
    let seeds: Vec<u64> = (0..CASES).map(|n| terms.seed.wrapping_mul(CASES).wrapping_add(n) % 1_000_000_000).collect();
    for of_fleet in seeds.chunks(OF_A_FLEET) {
        if begun.elapsed() > terms.time {
            println!("the time is over");
            break;
        }
        fly(of_fleet, &mut all)?;
        println!("{} cases after {} s", all.cases(), begun.elapsed().as_secs());
    }
    all.took = begun.elapsed();
    print!("{}", table(&all));
    Ok(())
}

/// The cases of these seeds, in one fleet.
///
/// # Errors
/// See [`run`].
pub fn cases(seeds: &[u64]) -> Result<Chaos, String> {
    let mut all = Chaos::default();
    fly(seeds, &mut all)?;
    Ok(all)
}

fn fly(seeds: &[u64], all: &mut Chaos) -> Result<(), String> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| format!("no runtime: {error}"))?;
    runtime.block_on(Box::pin(async {
        let cases: Vec<Case> = seeds.iter().map(|seed| Case::of(*seed)).collect();
        let book = Arc::new(Book::new(&cases));
        let fleet = Fleet::start(&book, &cases).await;
        let view = fleet.fly(&cases).await?;
        for case in &cases {
            let waypoint = case.waypoint();
            let found = view.waypoints.iter().find(|found| found.id == waypoint).ok_or("a waypoint is gone")?;
            let end = end_of(found, &fleet.history(&waypoint).await?, book.was_right(&waypoint));
            all.note(case, end.map_err(|wrong| format!("seed {}: {wrong}: {case:?}", case.seed))?);
        }
        Ok(())
    }))
}

/// How a case ended; the error says what is wrong with that.
fn end_of(waypoint: &WaypointView, history: &[HistoryLine], was_right: bool) -> Result<End, String> {
    match waypoint.status {
        Status::Complete => {
            let taken = |line: &&HistoryLine| line.kind == Completion::KIND && line.standing == Some(Standing::Taken);
            let completed = history.iter().rev().find(taken);
            let is_right = completed.is_none_or(|line| line.artifact["summary"] == RIGHT);
            if was_right && is_right { Ok(End::Recovered) } else { Err("it was accepted, and is wrong".to_owned()) }
        }
        Status::Waiting | Status::Blocked => Ok(End::Escalated),
        Status::Failed | Status::Cancelled => {
            let last = history.iter().rev().find(|line| line.kind == ExchangeRecord::KIND);
            let record = last.and_then(|line| serde_json::from_value::<ExchangeRecord>(line.artifact.clone()).ok());
            let status = record.and_then(|record| record.final_status);
            Ok(if status == Some(ExchangeStatus::Fatal) { End::Fatal } else { End::Escalated })
        }
        Status::Pending | Status::Running => Err(format!("it is {:?} at the end of the flight", waypoint.status)),
    }
}

fn table(all: &Chaos) -> String {
    let mut text = format!("  {:<30} {:<9} {:>9} {:>9} {:>9}\n", "where", "fault", "recovered", "escalated", "fatal");
    for point in Point::ALL {
        for fault in Fault::ALL {
            let count = |end| all.by_fault.get(&(point, fault, end)).copied().unwrap_or_default();
            let ends = [End::Recovered, End::Escalated, End::Fatal].map(count);
            let [recovered, escalated, fatal] = ends;
            let (place, fault) = (point.words(), fault.word());
            let _ = writeln!(text, "  {place:<30} {fault:<9} {recovered:>9} {escalated:>9} {fatal:>9}");
        }
    }
    let count = |end| all.ends.get(&end).copied().unwrap_or_default();
    let [recovered, escalated, fatal] = [End::Recovered, End::Escalated, End::Fatal].map(count);
    let _ = writeln!(text, "  {:<30} {:<9} {recovered:>9} {escalated:>9} {fatal:>9}", "all cases", "");
    let _ = writeln!(text, "  {} cases in {} s; none hung, none was accepted wrongly", all.cases(), all.took.as_secs());
    text
}
