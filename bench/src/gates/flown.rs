//! The second part: the workflow on a fleet, against `fly` on another one of the same kind.
//!
//! Each flight has a fleet of its own. `fly` is flown before and after the others, so that a machine that gets busier meanwhile
//! is seen. A transition is a gate that is left: each entry but the one that opens a waypoint.

use std::time::Duration;

use super::{FlownRow, GatesArgs, On, workflow};
use crate::{
    BenchError, Host,
    course::{self, Course, Crew},
    fleet::Fleet,
    repository,
    stats::{count, ratio},
    submit::{self, Submitter},
};

/// Builders, and verifiers.
const AGENTS: usize = 16;
/// Reviewers: they have most of the turns.
const REVIEWERS: usize = 32;
/// How many waypoints are open at once.
const PARALLEL: usize = 64;
/// The part of all waypoints that is flown before the measurement.
const WARM_UP_SHARE: usize = 5;

/// What is flown.
#[derive(Debug, Clone, Copy)]
enum Flown {
    Fly,
    Gated { conditions: usize, on: On },
}

/// Flies `fly`, the workflow without and with conditions of both kinds, and `fly` once more.
pub(super) async fn rows(args: &GatesArgs, host: &Host) -> Result<Vec<FlownRow>, BenchError> {
    let mut flown = vec![Flown::Fly, Flown::Gated { conditions: 0, on: On::Plan }];
    if args.conditions > 0 {
        flown.extend([On::Plan, On::History].map(|on| Flown::Gated { conditions: args.conditions, on }));
    }
    flown.push(Flown::Fly);
    let mut rows = Vec::new();
    for which in flown {
        rows.push(fly(args, host, which).await?);
    }
    Ok(rows)
}

async fn fly(args: &GatesArgs, host: &Host, which: Flown) -> Result<FlownRow, BenchError> {
    let (name, gates, conditions, on) = match which {
        Flown::Fly => ("fly", 2, 0, None),
        Flown::Gated { conditions, on } => ("gated", args.gates, conditions, (conditions > 0).then_some(on)),
    };
    let seen = on.map_or(String::new(), |on| format!(", {conditions} with a condition on {}", on.words()));
    host.say(&format!("{} waypoints by {name}: {gates} gates{seen}", args.waypoints));
    let waypoints = args.waypoints;
    let mut crews = Crew::of_fly(AGENTS, AGENTS, Duration::ZERO);
    let (mut roles, mut workflows, mut plan) = (Vec::new(), Vec::new(), submit::plan(planned(waypoints))?);
    if let Flown::Gated { conditions, on } = which {
        let role = workflow::reviewer()?;
        crews.push(Crew { role: role.clone(), agents: REVIEWERS, think: Duration::ZERO });
        roles.push(role);
        workflows.push(workflow::declared(gates, conditions, on)?);
        plan = workflow::plan(planned(waypoints))?;
    }
    let flight = submit::flight_id("gates", gates)?;
    let course = Course { flight, plan, workflows, warm_up: warm_up(waypoints), waypoints, parallel: PARALLEL, crews };
    let measured = host
        .in_folder(async |dir| {
            let mut fleet = Fleet::start(host, dir, false, &roles).await?;
            let snapshot = repository::snapshot(dir, &fleet.operator).await?;
            let submitter = Submitter::new(&fleet.operator, snapshot);
            let measured = Box::pin(course::fly(&mut fleet, &submitter, &course)).await?;
            fleet.stop().await?;
            Ok(measured)
        })
        .await?;
    // As many begin as end: so many stay under way.
    let transitions = measured.entries.saturating_sub(waypoints as u64);
    let (transitions, wall) = (transitions as f64, measured.wall.as_secs_f64());
    let cpu: f64 = measured.usage.iter().map(|usage| usage.cpu_s).sum();
    Ok(FlownRow {
        workflow: name,
        gates,
        conditions,
        on,
        waypoints,
        waypoints_per_s: ratio(count(waypoints), wall),
        transitions_per_s: ratio(transitions, wall),
        cpu_s_per_1000_transitions: ratio(cpu * 1000.0, transitions),
        processes: measured.usage,
    })
}

/// Waypoints of the flight. The last ones are not waited for: fewer and fewer would be under way.
pub(super) fn planned(waypoints: usize) -> usize {
    waypoints + warm_up(waypoints) + PARALLEL
}

fn warm_up(waypoints: usize) -> usize {
    (waypoints / WARM_UP_SHARE).max(PARALLEL)
}
