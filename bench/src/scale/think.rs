//! The second part: builders that think, and how much of their time they do.

use std::time::Duration;

use super::{ScaleArgs, ThinkRow};
use crate::{
    BenchError, Host,
    course::{self, Course, Crew},
    fleet::Fleet,
    repository,
    stats::{count, ratio},
    submit::{self, Submitter},
};

/// Turns that each builder thinks about while it is measured.
const ROUNDS: usize = 20;
/// Verifiers: they think about nothing, so a few do.
const VERIFIERS: usize = 4;

/// Measures a row for each number of builders, on one fleet.
pub(super) async fn rows(args: &ScaleArgs, host: &Host) -> Result<Vec<ThinkRow>, BenchError> {
    host.in_folder(async |dir| {
        let mut fleet = Fleet::start(host, dir, false, &[]).await?;
        let snapshot = repository::snapshot(dir, &fleet.operator).await?;
        let submitter = Submitter::new(&fleet.operator, snapshot);
        let mut rows = Vec::new();
        for (index, builders) in args.builders.iter().enumerate() {
            let think = args.think;
            host.say(&format!("{builders} builders that think for {think:?} about a turn"));
            // All of them are at it, and none for the first time.
            let (warm_up, waypoints) = (builders * 2, builders * ROUNDS);
            let course = Course {
                flight: submit::flight_id("thinking", index)?,
                plan: submit::plan(warm_up + waypoints)?,
                workflows: Vec::new(),
                warm_up,
                waypoints,
                parallel: builders * 2 + VERIFIERS,
                crews: Crew::of_fly(*builders, VERIFIERS, think),
            };
            let measured = course::fly(&mut fleet, &submitter, &course).await?;
            rows.push(row(*builders, think, measured.wall));
        }
        fleet.stop().await?;
        Ok(rows)
    })
    .await
}

fn row(builders: usize, think: Duration, wall: Duration) -> ThinkRow {
    let (actual_s, ideal_s) = (wall.as_secs_f64(), think.as_secs_f64() * count(ROUNDS));
    let waypoints = builders * ROUNDS;
    ThinkRow { builders, waypoints, ideal_s, actual_s, efficiency: ratio(ideal_s, actual_s) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn efficiency_is_the_share_of_time_that_builders_think() {
        let row = row(4, Duration::from_millis(100), Duration::from_millis(2_500));
        assert_eq!((row.waypoints, row.ideal_s, row.efficiency), (80, 2.0, 0.8));
    }
}
