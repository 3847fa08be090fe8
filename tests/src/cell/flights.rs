//! What cells fly: a flight that agents fly alone, one with a gate for a document, and one in which people have a part.

use holdpoint_faults::{Role, Step};
use holdpoint_protocol::artifact::Verb;

/// Agents that make work have to say that it is written, and are asked again in the turn until they do.
const CHECKED: &str = r#"
workflow:
  name: checked
  gates:
    - {id: build, role: builder, checkpoints: [{name: written}]}
    - {id: verify, role: verifier, canReject: true}
"#;

/// A document gate before work whose command is run again by the verifier.
const STAGED: &str = r#"
workflow:
  name: staged
  gates:
    - id: requirements
      role: analyst
      document: {sections: [Why, What]}
      checkpoints: [{name: criteria, matches: '(?m)^- AC-\d+:'}]
    - id: build
      role: builder
      checkpoints: [{name: good, run: grep -q good one}]
    - id: verify
      role: verifier
      canReject: true
      checkpoints: [{name: shown, report: criteria}]
"#;

/// Two waypoints at once: one is accepted at once, the other is reworked by the repair agent and then merged with the
/// head that moved.
const ALONE: &str = r#"
plan: cell
workflow: checked
waypoints:
  - {id: one, goal: g, criteria: [{id: c, check: "grep -q good one"}]}
  - {id: two, goal: g, criteria: [{id: c, check: "grep -q good two", red_first: true}]}
"#;
const ALONE_BUILDER: &str = r#"
if [ "${HOLDPOINT_RETRY:-0}" != 0 ]; then
  printf -- '---\ncheckpoints:\n- {name: written, status: pass}\n---\nDone.\n' > "$HOLDPOINT_DOCUMENT_FILE"
fi
test $HOLDPOINT_WAYPOINT = one && echo good > one || echo bad > two"#;
/// What the repair agent of both runs. It says at once that the work is written.
pub(super) const REPAIR: &str = r#"
if [ -n "${HOLDPOINT_DOCUMENT_FILE:-}" ]; then
  printf -- '---\ncheckpoints:\n- {name: written, status: pass}\n---\nDone.\n' > "$HOLDPOINT_DOCUMENT_FILE"
fi
echo good > two"#;

/// A document comes before the work, and each gate has checkpoints.
const STAGES: &str = r#"
plan: stages
workflow: staged
waypoints:
  - {id: one, goal: g, criteria: [{id: c, check: "grep -q good one", red_first: true}]}
"#;
/// Writes one section, and the other one when it is asked again.
const ANALYST: &str = r#"
if [ "${HOLDPOINT_RETRY:-0}" = 0 ]; then
  printf '# Why\n\nIt is wanted.\n' > "$HOLDPOINT_DOCUMENT_FILE"
else
  printf '\n# What\n\n- AC-1: it is good\n' >> "$HOLDPOINT_DOCUMENT_FILE"
fi"#;
/// The document that the analyst hands over in the end.
const DOCUMENT: &str = "# Why\n\nIt is wanted.\n\n# What\n\n- AC-1: it is good\n";
/// Goes by the document, and makes good work when a command of its gate has failed.
const STAGES_BUILDER: &str = r#"
grep -q '^- AC-1: it is good' "$HOLDPOINT_DOCUMENTS_DIR/requirements.md" || exit 3
test "${HOLDPOINT_RETRY:-0}" = 0 && echo bad > one || echo good > one"#;

/// The first waypoint asks, the second one needs it and is approved. The third one is built until people have done all
/// that: the flight never stands still for them.
const PEOPLE: &str = r#"
plan: people
workflow: fly
waypoints:
  - {id: one, goal: g, criteria: [{id: c, check: "grep -q good one"}]}
  - {id: two, goal: g, depends_on: [one], workflow: fly-approved, criteria: [{id: c, check: "grep -q good two", red_first: true}]}
  - {id: while, goal: g, criteria: [{id: c, check: "grep -q good while", red_first: true}]}
"#;
const PEOPLE_BUILDER: &str = r#"
case $HOLDPOINT_WAYPOINT in
one)
  if ! grep -qs '"blue"' "${HOLDPOINT_FEEDBACK_FILE:-/nowhere}"; then
    echo '{"type":"ClarificationRequest","question":"Which colour?","options":["red","blue"]}'
    exit 0
  fi ;;
while)
  while [ ! -e "$(dirname "$0")/acted" ]; do sleep 0.05; done ;;
esac
echo good > $HOLDPOINT_WAYPOINT"#;
/// The file that the third waypoint's builder waits for.
pub(super) const ACTED: &str = "plan/acted";

/// Steps that only people's part has.
const ACTS: [Step; 2] = [Step::PublishAct, Step::TakeAct];
/// Steps of the commands that fly nothing: the one that takes a flight off the broker when it is over, and the bridge.
const ELSEWHERE: [Step; 5] = [Step::KeepExport, Step::Retire, Step::Delete, Step::BridgeWrite, Step::BridgeMove];
/// The role that only the flight of stages has.
const ANALYST_ROLE: Role = "analyst";
/// Steps of documents that go to later gates, which only the flight of stages has.
const DOCUMENTS: [Step; 2] = [Step::StoreDocument, Step::LayOutDocuments];
/// Steps that are walked in the flight of stages besides those of its analyst.
const OF_STAGES: [(Step, Role); 8] = [
    (Step::LayOutDocuments, "builder"),
    (Step::Establish, "builder"),
    (Step::RecordTry, "builder"),
    (Step::RunCheck, "verifier"),
    (Step::StoreDocument, "orchestrator"),
    (Step::AppendTurn, "orchestrator"),
    (Step::TakeHandoff, "orchestrator"),
    (Step::AckHandoff, "orchestrator"),
];
/// Steps of every flight that are walked with people too: the first passing of each is about the question, or about the
/// work that its answer made.
const SHARED: [(Step, Role); 4] = [
    (Step::PublishResult, "builder"),
    (Step::TakeHandoff, "orchestrator"),
    (Step::AppendDecided, "orchestrator"),
    (Step::AppendLanded, "orchestrator"),
];

/// What is flown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flight {
    /// Agents fly it alone.
    Alone,
    /// A gate hands over a document before anything is built, and the agent of each gate is asked again for its checkpoints.
    Stages,
    /// It has a dependency, a question that a person answers, and an approval by another.
    People,
}

impl Flight {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Alone, Self::Stages, Self::People];

    /// The steps at which processes are stopped in it, each with a role that passes it.
    #[must_use]
    pub fn steps(self) -> Vec<(Step, Role)> {
        let of = |step: &Step| step.roles().iter().map(|role| (*step, *role)).collect::<Vec<_>>();
        match self {
            Self::Alone => {
                let walked = |step: &&Step| !ACTS.contains(step) && !ELSEWHERE.contains(step);
                let has = |(step, role): &(Step, Role)| *role != ANALYST_ROLE && !DOCUMENTS.contains(step);
                Step::ALL.iter().filter(walked).flat_map(of).filter(has).collect()
            }
            Self::Stages => {
                let analysts = Step::ALL.iter().flat_map(of).filter(|(_, role)| *role == ANALYST_ROLE);
                analysts.chain(OF_STAGES).collect()
            }
            Self::People => ACTS.iter().flat_map(of).chain(SHARED).collect(),
        }
    }

    /// What the names of its cells begin with.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Alone => "",
            Self::Stages => "stages: ",
            Self::People => "people: ",
        }
    }

    pub(super) fn plan(self) -> &'static str {
        match self {
            Self::Alone => ALONE,
            Self::Stages => STAGES,
            Self::People => PEOPLE,
        }
    }

    pub(super) fn builder(self) -> &'static str {
        match self {
            Self::Alone => ALONE_BUILDER,
            Self::Stages => STAGES_BUILDER,
            Self::People => PEOPLE_BUILDER,
        }
    }

    /// The workflow that its repository declares.
    pub(super) fn project(self) -> &'static str {
        match self {
            Self::Alone | Self::People => CHECKED,
            Self::Stages => STAGED,
        }
    }

    /// The program of its analyst, where it has one.
    pub(super) fn analyst(self) -> Option<&'static str> {
        (self == Self::Stages).then_some(ANALYST)
    }

    /// The documents that gates have handed over in the end.
    pub(super) fn documents(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Alone | Self::People => &[],
            Self::Stages => &[("requirements", DOCUMENT)],
        }
    }

    /// How many builders it has. One of them is busy until people have done their part, and so may be another one that got
    /// the same turn when the broker died.
    pub(super) fn builders(self) -> &'static str {
        match self {
            Self::Alone | Self::Stages => "2",
            Self::People => "3",
        }
    }

    /// The files of its branch in which nothing happened.
    pub(super) fn files(self) -> &'static str {
        match self {
            Self::Alone => "one\nproject.yaml\nshared\ntwo\n",
            Self::Stages => "one\nproject.yaml\nshared\n",
            Self::People => "one\nproject.yaml\nshared\ntwo\nwhile\n",
        }
    }

    /// Its waypoints, with the attempts that each takes.
    pub(super) fn attempts(self) -> &'static [(&'static str, u64)] {
        match self {
            Self::Alone => &[("one", 1), ("two", 2)],
            Self::Stages => &[("one", 1)],
            Self::People => &[("one", 1), ("two", 1), ("while", 1)],
        }
    }

    /// What people do in it, in the order in which the journal has it.
    pub(super) fn acts(self) -> &'static [(&'static str, Verb)] {
        match self {
            Self::Alone | Self::Stages => &[],
            Self::People => &[("one", Verb::Answer), ("two", Verb::Approve)],
        }
    }
}
