//! The examples of the source whole: each is flown to its end, with a program for each role of agents and a person at each gate
//! for people.

use super::{DOES, Desk, flight_of};

/// An example, what its waypoint says, its roles of agents, and who approves at which gate.
struct Story {
    file: &'static str,
    workflow: &'static str,
    waypoint: &'static str,
    agents: &'static [&'static str],
    people: &'static [(&'static str, &'static str)],
    /// Gates in the order of their visits, with how they were left.
    visits: &'static [&'static str],
}

const STORIES: [Story; 4] = [
    Story {
        file: "default",
        workflow: "default",
        waypoint: "{id: w, goal: Log people in., tags: [auth, docs]}",
        agents: &["backend", "architect", "qa", "security", "tech-writer"],
        people: &[("approve", "human-xav")],
        visits: &[
            "implement backend-1 complete",
            "code-review architect-1 complete",
            "test qa-1 complete",
            "security security-1 complete",
            "docs tech-writer-1 complete",
            "approve human-xav complete",
        ],
    },
    Story {
        file: "setup",
        workflow: "default",
        waypoint: "{id: w, goal: Log people in.}",
        agents: &["backend", "architect", "qa"],
        people: &[("approve", "human-xav")],
        visits: &[
            "implement backend-1 complete",
            "code-review architect-1 complete",
            "test qa-1 complete",
            "approve human-xav complete",
        ],
    },
    Story {
        file: "sdlc",
        workflow: "sdlc",
        waypoint: "{id: w, goal: Answer faster., tags: [api]}",
        agents: &["backend", "architect", "qa", "security", "tech-writer"],
        people: &[("accept", "human-xav")],
        visits: &[
            "implement backend-1 complete",
            "code-review architect-1 complete",
            "functional-test qa-1 complete",
            "security-audit - skip",
            "docs tech-writer-1 complete",
            "accept human-xav complete",
        ],
    },
    Story {
        file: "basic",
        workflow: "basic",
        waypoint: "{id: w, goal: Write it.}",
        agents: &["writer"],
        people: &[("approve", "human-editor")],
        visits: &["draft writer-1 complete", "approve human-editor complete"],
    },
];

impl Story {
    fn is_flown_to_its_end(&self) {
        let agents: Vec<_> = self.agents.iter().map(|role| (*role, DOES)).collect();
        let desk = Desk::of_example(self.file, self.workflow, self.waypoint, &agents);
        let mut run = desk.fly();
        let flight = flight_of(&run);
        for (gate, person) in self.people {
            assert_eq!(run.expect(1).waypoint("w")["gate"], *gate, "{}", self.file);
            desk.act("approve", person, &[]).expect(0);
            run = desk.go_on(&flight);
        }
        assert_eq!(run.expect(0).json()["status"], "accepted", "{}", self.file);
        assert_eq!(desk.visits(), self.visits, "{}", self.file);
        desk.is_sound(&flight);
    }
}

fn fly(file: &str) {
    let stories: Vec<_> = STORIES.iter().filter(|story| story.file == file).collect();
    assert_eq!(stories.len(), 1, "{file}");
    stories[0].is_flown_to_its_end();
}

#[test]
fn the_first_example_of_the_source_is_flown_to_its_end() {
    fly("default");
}

#[test]
fn the_org_charts_example_of_the_source_is_flown_to_its_end() {
    fly("setup");
}

#[test]
fn the_pipeline_example_of_the_source_is_flown_to_its_end() {
    fly("sdlc");
}

#[test]
fn the_two_step_example_of_the_source_is_flown_to_its_end() {
    fly("basic");
}
