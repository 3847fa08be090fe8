//! `events`, `gates` and `report`.

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    time::Duration,
};

use holdpoint_account::events::{Agents, DeliveryTally, Event, EventKind, Gates, Trend};
use holdpoint_protocol::{
    ids::{FlightId, WaypointId},
    view::FlightStatus,
};
use holdpoint_runtime::clock;
use serde_json::json;
use tokio::time::Instant;

use crate::{
    args::observe::{EventsArgs, Flights, GatesArgs, ReportArgs},
    client::{Client, is_passing},
    failure::{Exit, Failure},
    observe::{self, Chosen, Source, choose},
    output,
    people::find,
    target::Target,
};

/// How often it is looked for what is new, and how seldom at most.
const LOOK_EVERY: Duration = Duration::from_millis(500);
const LOOK_SELDOM: Duration = Duration::from_secs(10);
/// How much longer a pause is than the look before it.
const PAUSE_TO_LOOK: u32 = 10;
/// How often it is looked for new flights: that reads all journals.
const FLIGHTS_EVERY: Duration = Duration::from_secs(10);

/// Prints the events of flights.
pub(super) async fn events(args: EventsArgs) -> Result<Exit, Failure> {
    let Some(target) = target_of(&args.flights).await? else { return Ok(Exit::Success) };
    target
        .serve(async |client| {
            let args = EventsArgs { waypoint: waypoint(client, &args).await?, ..args };
            let chosen = chosen(client, &args.flights).await?;
            let (mut sources, mut all) = (Vec::new(), Vec::new());
            for flight in &chosen.flights {
                let mut source = Source::open(client, flight).await?;
                all.extend(source.read_on(client, |_, _, _| {}).await?);
                sources.push(source);
            }
            all.sort_by_key(|event| event.timestamp);
            if output::noted(print(&args, &all)) && args.follow {
                follow(client, &args, sources).await?;
            }
            Ok(Exit::Success)
        })
        .await
}

/// The waypoint that is meant; one that no flight has is refused. A flight that begins later may have it, where no flight is named to
/// follow.
async fn waypoint(client: &Client, args: &EventsArgs) -> Result<Option<WaypointId>, Failure> {
    let flight = args.flights.flight.as_ref();
    match &args.waypoint {
        Some(named) if flight.is_some() || !args.follow => {
            find::flight_with(client, flight, named).await.map(|(_, waypoint)| Some(waypoint))
        }
        named => Ok(named.clone()),
    }
}

/// Goes on until nobody reads any more, or the one flight is over.
async fn follow(client: &Client, args: &EventsArgs, sources: Vec<Source>) -> Result<(), Failure> {
    let mut sources: BTreeMap<FlightId, Source> =
        sources.into_iter().map(|source| (source.flight().clone(), source)).collect();
    let mut listed = Instant::now();
    loop {
        let since = Instant::now();
        let named = args.flights.flight.as_ref().and_then(|_| sources.keys().next());
        let over = match named {
            Some(flight) => match client.status_now(flight).await {
                Ok(view) => view.status == FlightStatus::Accepted,
                Err(error) if is_passing(&error) => false,
                Err(error) => return Err(error.into()),
            },
            None => false,
        };
        if args.flights.flight.is_none() && listed.elapsed() >= FLIGHTS_EVERY {
            listed = Instant::now();
            for line in client.flights().await? {
                if !sources.contains_key(&line.flight) && line.status == FlightStatus::Running {
                    sources.insert(line.flight.clone(), Source::open(client, &line.flight).await?);
                }
            }
        }
        let mut new = Vec::new();
        for source in sources.values_mut() {
            new.extend(source.read_on(client, |_, _, _| {}).await?);
        }
        new.sort_by_key(|event| event.timestamp);
        if !output::noted(print(args, &new)) || over {
            return Ok(());
        }
        tokio::time::sleep((since.elapsed() * PAUSE_TO_LOOK).clamp(LOOK_EVERY, LOOK_SELDOM)).await;
    }
}

/// Prints those that are asked for. It fails when nobody reads any more.
fn print(args: &EventsArgs, events: &[Event]) -> io::Result<()> {
    let mut lines = output::json_lines();
    let wanted = events.iter().filter(|event| {
        args.waypoint.as_ref().is_none_or(|waypoint| event.task_id == *waypoint)
            && (args.kinds.is_empty() || args.kinds.iter().any(|kind| kind == event.what.kind()))
    });
    for event in wanted {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        lines.write_all(&line)?;
    }
    lines.flush()
}

/// Prints work gate by gate.
pub(super) async fn gates(args: GatesArgs) -> Result<Exit, Failure> {
    let (mut gates, mut left_out) = (Gates::default(), 0);
    if let Some(target) = target_of(&args.flights).await? {
        (gates, left_out) = target
            .serve(async |client| {
                let (chosen, mut gates) = (chosen(client, &args.flights).await?, Gates::default());
                for flight in &chosen.flights {
                    let mut source = Source::open(client, flight).await?;
                    let events = source.read_on(client, |reader, told, _| gates.take(reader, told)).await?;
                    for event in events {
                        if let EventKind::GateConflict { gate, .. } = &event.what {
                            gates.conflict(source.reader(), &event.task_id, gate);
                        }
                    }
                    gates.end(flight, source.reader());
                }
                Ok((gates, chosen.left_out))
            })
            .await?;
    }
    let (gates, passes) = gates.finish();
    let now = clock::now();
    if args.json {
        let passes =
            json!({"waypoints": passes.waypoints, "total": passes.total, "max": passes.max, "mean": passes.mean()});
        output::json(&json!({"at": now, "gates": gates, "passes": passes, "flights_left_out": left_out}));
    } else {
        output::out(&observe::gates(&gates, &passes, now));
        say_left_out(left_out);
    }
    Ok(Exit::Success)
}

/// What a report is made of.
struct Reports {
    agents: Agents,
    delivery: DeliveryTally,
    trend: Trend,
    left_out: usize,
}

/// Prints what agents did, what was delivered, and whether gates send back more than they did.
pub(super) async fn report(args: ReportArgs) -> Result<Exit, Failure> {
    let now = clock::now();
    let (agents, delivery, trend) = (Agents::default(), DeliveryTally::default(), Trend::new(args.days, now));
    let mut read = Reports { agents, delivery, trend, left_out: 0 };
    if let Some(target) = target_of(&args.flights).await? {
        read = target.serve(async |client| reports(client, &args.flights, read).await).await?;
    }
    let left_out = read.left_out;
    let (agents, delivery, trend) = (read.agents.finish(), read.delivery.finish(clock::now()), read.trend.finish());
    let all = !(args.by_agent || args.dora || args.trend);
    let (by_agent, dora, by_trend) = (all || args.by_agent, all || args.dora, all || args.trend);
    if args.json {
        let mut shown = json!({"flights_left_out": left_out});
        if by_agent {
            shown["agents"] = json!(agents);
        }
        if dora {
            shown["dora"] = json!(delivery);
        }
        if by_trend {
            shown["trend"] = json!(trend);
        }
        output::json(&shown);
    } else {
        let parts = [
            by_agent.then(|| observe::agents(&agents)),
            dora.then(|| observe::delivery(&delivery)),
            by_trend.then(|| observe::trend(&trend)),
        ];
        output::out(&parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n"));
        say_left_out(left_out);
    }
    Ok(Exit::Success)
}

async fn reports(client: &Client, flights: &Flights, mut read: Reports) -> Result<Reports, Failure> {
    let chosen = chosen(client, flights).await?;
    for flight in &chosen.flights {
        let mut source = Source::open(client, flight).await?;
        let events = source.read_on(client, |reader, told, entry| {
            read.agents.take(reader, told, entry);
            read.delivery.take(flight, reader, told, entry);
            read.trend.take(reader, told);
        });
        let lost = |event: &&Event| matches!(event.what, EventKind::GateConflict { .. });
        events.await?.iter().filter(lost).for_each(|event| read.agents.event(event));
    }
    Ok(Reports { left_out: chosen.left_out, ..read })
}

/// Where a flight is named there has to be a fleet; where none is, nothing flown is nothing to show.
async fn target_of(flights: &Flights) -> Result<Option<Target>, Failure> {
    match flights.flight {
        Some(_) => Target::existing(&flights.place).await.map(Some),
        None => Target::find(&flights.place).await,
    }
}

async fn chosen(client: &Client, flights: &Flights) -> Result<Chosen, Failure> {
    match &flights.flight {
        Some(named) => Ok(Chosen { flights: vec![find::known(client, named).await?.flight], left_out: 0 }),
        None => Ok(choose(client.flights().await?, flights.last)),
    }
}

fn say_left_out(left_out: usize) {
    if left_out > 0 {
        output::err(&format!("note: {left_out} older flights that are over are not counted; --last N reads more"));
    }
}
