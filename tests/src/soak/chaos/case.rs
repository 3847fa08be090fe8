//! What goes wrong in a case. It follows from the case's seed alone.

use holdpoint_protocol::ids::WaypointId;

use crate::soak::dice::Dice;

/// One way to go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// A result with a byte of its structure missing.
    Corrupt,
    /// A result that breaks off.
    Truncate,
    /// Nothing comes for a long time.
    Stall,
    /// It dies.
    Crash,
    /// A result that is well formed and not true.
    Lie,
    /// Much more than anybody reads.
    Flood,
    /// Its network times out.
    Network,
    /// A call of a tool that is malformed.
    Mcp,
}

impl Fault {
    /// All of them.
    pub(super) const ALL: [Self; 8] =
        [Self::Corrupt, Self::Truncate, Self::Stall, Self::Crash, Self::Lie, Self::Flood, Self::Network, Self::Mcp];

    /// Its word in the table.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Corrupt => "corrupt",
            Self::Truncate => "truncate",
            Self::Stall => "stall",
            Self::Crash => "crash",
            Self::Lie => "lie",
            Self::Flood => "flood",
            Self::Network => "network",
            Self::Mcp => "MCP",
        }
    }
}

/// Where it goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Point {
    /// A program that completes a gate hands over to its harness.
    Completing,
    /// A program that makes work hands over to its harness.
    Building,
    /// An agent hands off to the orchestrator, by the broker.
    Agent,
    /// A verifier's agent reports to the orchestrator, by the broker.
    Verifier,
    /// A judge hands its verdict to the verifier's harness.
    Judge,
    /// A person acts, by the broker.
    Person,
}

impl Point {
    /// All of them, in the order of the table.
    pub(super) const ALL: [Self; 6] =
        [Self::Completing, Self::Building, Self::Agent, Self::Verifier, Self::Judge, Self::Person];

    /// Its words in the table.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Completing => "completing program to harness",
            Self::Building => "building program to harness",
            Self::Agent => "agent to orchestrator",
            Self::Verifier => "verifier to orchestrator",
            Self::Judge => "judge to harness",
            Self::Person => "person to orchestrator",
        }
    }
}

/// What has to be done in a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A gate is completed.
    Completes,
    /// Work is made, and a verifier looks at it.
    Builds,
    /// Work is made, and a judge decides, behind Holdpoint's own verifier and its sandbox.
    Judged,
    /// Work is made and verified, and a person approves it.
    Approved,
}

impl Kind {
    /// Whether work is made.
    pub(super) fn builds(self) -> bool {
        self != Self::Completes
    }
}

/// One case: one waypoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Case {
    /// Everything else follows from it.
    pub(super) seed: u64,
    /// What has to be done.
    pub(super) kind: Kind,
    /// What the program does wrong, run by run. Then it is right, unless it never is.
    pub(super) program: Vec<Fault>,
    /// It does all of that again and again.
    pub(super) never_right: bool,
    /// What the agent does before it hands off, turn by turn.
    pub(super) agent: Vec<Fault>,
    /// What the verifier's agent does before it reports.
    pub(super) verifier: Vec<Fault>,
    /// What the judge does wrong in each turn, run by run. Then it is right.
    pub(super) judge: Vec<Fault>,
    /// What the person does before the approval.
    pub(super) person: Vec<Fault>,
}

impl Case {
    /// The case of this seed. At least one thing goes wrong in it.
    pub(super) fn of(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let kind = match dice.below(16) {
            0 | 1 => Kind::Builds,
            2 => Kind::Judged,
            3 => Kind::Approved,
            _ => Kind::Completes,
        };
        let mut some = |most: u32| (0..dice.below(most + 1)).map(|_| dice.one_of(&Fault::ALL)).collect::<Vec<_>>();
        let (mut program, agent) = (some(4), some(2));
        let mut only = |of: &[Kind], most: u32| if of.contains(&kind) { some(most) } else { Vec::new() };
        let verifier = only(&[Kind::Builds, Kind::Approved], 1);
        let (judge, person) = (only(&[Kind::Judged], 3), only(&[Kind::Approved], 3));
        if [&program, &agent, &verifier, &judge, &person].iter().all(|faults| faults.is_empty()) {
            program.push(dice.one_of(&Fault::ALL));
        }
        let never_right = !program.is_empty() && dice.below(5) == 0;
        Self { seed, kind, program, never_right, agent, verifier, judge, person }
    }

    /// Its waypoint.
    pub(super) fn waypoint(&self) -> WaypointId {
        WaypointId::try_new(format!("c{}", self.seed)).unwrap()
    }

    /// Everything that goes wrong, and where.
    pub(super) fn faults(&self) -> impl Iterator<Item = (Point, Fault)> {
        let of_program = if self.kind.builds() { Point::Building } else { Point::Completing };
        let at = |point, faults: &'_ [Fault]| faults.iter().map(|fault| (point, *fault)).collect::<Vec<_>>();
        at(of_program, &self.program)
            .into_iter()
            .chain(at(Point::Agent, &self.agent))
            .chain(at(Point::Verifier, &self.verifier))
            .chain(at(Point::Judge, &self.judge))
            .chain(at(Point::Person, &self.person))
    }

    /// What the program does wrong in this run, counted from 0; `None`: it is right.
    pub(super) fn in_run(&self, run: usize) -> Option<Fault> {
        let run = if self.never_right { run % self.program.len() } else { run };
        self.program.get(run).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_follows_from_its_seed_and_a_thousand_have_every_fault_at_every_point() {
        let cases: Vec<Case> = (0..1_000).map(Case::of).collect();
        assert_eq!(cases, (0..1_000).map(Case::of).collect::<Vec<_>>());
        assert!(cases.iter().all(|case| case.faults().next().is_some()));
        for point in Point::ALL {
            for fault in Fault::ALL {
                let here = cases.iter().filter(|case| case.faults().any(|found| found == (point, fault)));
                assert!(here.count() >= 5, "{point:?} {fault:?}");
            }
        }
    }
}
