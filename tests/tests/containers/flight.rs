//! A flight on a fleet in containers: the host's repository, plan and command, and gates that hold its builders.

use std::{collections::BTreeSet, path::PathBuf};

use holdpoint_tests::{
    account::SoakAccount,
    checker,
    world::{RunningProcess, World, eventually},
};
use serde_json::Value;

/// Builders wait here, each at the gate of its waypoint. The plan's folder is mounted at `/agents`.
const BUILDER: &str = "while [ ! -e \"/agents/open/$HOLDPOINT_WAYPOINT\" ]; do sleep 0.1; done\n\
                       echo done > \"$HOLDPOINT_WAYPOINT\"";

/// How the host reaches a fleet: what the fleet has given out.
#[derive(Debug, Clone)]
pub(crate) struct Door {
    /// The broker's published port.
    pub(crate) url: String,
    /// An operator's credentials.
    pub(crate) operator: PathBuf,
}

/// How waypoints depend on each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Not at all: as many are built at once as there are builders.
    AllAtOnce,
    /// Each on the one before: a waypoint that loses its builder finds another that is free.
    OneAfterAnother,
}

/// A repository on the host, and the program of the fleet's builders.
pub(crate) struct Site {
    pub(crate) world: World,
}

impl Site {
    /// A repository with one file. `/agents/builder.sh` is in `plan/`.
    pub(crate) fn new() -> Self {
        let world = World::new(&[("shared", "base\n")]);
        world.program("builder.sh", BUILDER);
        world.write("plan/open/.keep", "");
        Self { world }
    }

    /// What is mounted at `/agents`.
    pub(crate) fn agents(&self) -> PathBuf {
        self.world.path("plan")
    }

    /// Begins a flight with these waypoints.
    pub(crate) fn begin<'a>(&'a self, door: &Door, shape: Shape, waypoints: &[&str]) -> Flight<'a> {
        let mut plan = "plan: outage\nwaypoints:\n".to_owned();
        let mut before = None;
        for id in waypoints {
            let after = before.filter(|_| shape == Shape::OneAfterAnother).unwrap_or_default();
            plan += &format!(
                "  - {{id: {id}, title: t, goal: g, depends_on: [{after}], \
                 criteria: [{{id: c, statement: s, check: test -e {id}}}]}}\n"
            );
            before = Some(*id);
        }
        self.world.plan(&plan);
        let operator = door.operator.to_str().unwrap();
        let mut run = self.world.start(&self.world.run_args(&["--nats", &door.url, "--creds", operator]));
        let id = {
            run.until_said("flight ");
            let said = run.said();
            let line = said.lines().find_map(|line| line.strip_prefix("flight ")).unwrap();
            line.trim().to_owned()
        };
        Flight { site: self, door: door.clone(), run, id }
    }
}

/// A flight that is under way.
pub(crate) struct Flight<'a> {
    site: &'a Site,
    door: Door,
    run: RunningProcess,
    id: String,
}

impl Flight<'_> {
    /// Lets the builder of a waypoint go on.
    pub(crate) fn open(&self, waypoint: &str) {
        self.site.world.write(&format!("plan/open/{waypoint}"), "");
    }

    /// Waits until the waypoint's work has landed.
    #[track_caller]
    pub(crate) fn until_complete(&mut self, waypoint: &str) {
        let (world, door, id) = (&self.site.world, &self.door, &self.id);
        self.run.until(&format!("{waypoint} to be complete"), || {
            let status = world.holdpoint(&args(door, &["status", id, "--json"]));
            let complete = status.code == 0 && status.waypoint(waypoint)["status"] == "complete";
            complete.then_some(())
        });
    }

    /// The builders that have said of a waypoint that they hold its turn.
    pub(crate) fn holders(&self, waypoint: &str) -> BTreeSet<String> {
        let history =
            self.site.world.holdpoint(&args(&self.door, &["history", waypoint, "--flight", &self.id, "--json"]));
        let lines = history.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let plans = lines.filter(|line| line["kind"] == "build_plan");
        plans.filter_map(|line| line["artifact"]["agent"].as_str().map(str::to_owned)).collect()
    }

    /// Waits until a builder holds the waypoint's turn, and gives its name.
    #[track_caller]
    pub(crate) fn until_held(&self, waypoint: &str) -> String {
        eventually(&format!("a builder to take {waypoint}"), || self.holders(waypoint).pop_last())
    }

    /// Waits for the end, which has to be that everything was accepted, each at its first attempt, on a branch of one
    /// commit a waypoint.
    #[track_caller]
    pub(crate) fn lands_as_if_nothing_had_happened(self, waypoints: &[&str]) {
        let finished = self.run.finish();
        finished.expect(0);
        for id in waypoints {
            let waypoint = finished.waypoint(id);
            assert_eq!((&waypoint["status"], &waypoint["attempts"]), (&"complete".into(), &1.into()), "{waypoint}");
        }
        let branch = finished.json()["branch"].as_str().unwrap().to_owned();
        let count = self.site.world.git(&["rev-list", "--count", &format!("main..{branch}")]);
        assert_eq!(count.trim(), waypoints.len().to_string());
    }
}

/// Fails unless everything that the broker holds is sound.
#[track_caller]
pub(crate) fn is_sound(account: &SoakAccount) {
    assert_eq!(checker::findings(account), Vec::<String>::new());
}

/// A command for that fleet.
pub(crate) fn args<'a>(door: &'a Door, command: &[&'a str]) -> Vec<&'a str> {
    [command, &["--nats", &door.url, "--creds", door.operator.to_str().unwrap()]].concat()
}
