//! The built-in workflows: YAML files in `planfile/workflows/`, read like any other. And which workflows a plan is flown by, and whose
//! agents they need.
//!
//! How a workflow moves is [`crate::gates`].

pub(crate) mod names;

use std::{collections::BTreeMap, sync::LazyLock};

use holdpoint_protocol::{
    ids::{GateId, RoleId, role},
    org::Plane,
    plan::{Mode, Plan},
    roles::Roles,
    workflow::{GateOrFork, WorkflowSpec},
};

pub use names::{ONE_GATE, is_reserved};

use crate::{
    declared::read,
    gates::{Duty, Gate, Workflow},
};

/// The name of each, and the file it is declared in.
const BUILT_IN: [(&str, &str); 6] = [
    ("fly", include_str!("../workflows/fly.yaml")),
    ("fly-approved", include_str!("../workflows/fly-approved.yaml")),
    (ONE_GATE, include_str!("../workflows/one-gate.yaml")),
    ("stages", include_str!("../workflows/stages.yaml")),
    ("sdlc", include_str!("../workflows/sdlc.yaml")),
    ("sdlc-task", include_str!("../workflows/sdlc-task.yaml")),
];

/// Each as it is declared: read once, because every submission asks for one.
static SPECS: LazyLock<Vec<WorkflowSpec>> = LazyLock::new(|| {
    let read =
        |(name, text): (&str, &str)| read::read(text, name).expect("the built-in workflows can be read: a test does");
    BUILT_IN.into_iter().flat_map(read).collect()
});

/// The built-in workflow of this name, as it is declared.
#[must_use]
pub fn built_in(name: &str) -> Option<WorkflowSpec> {
    SPECS.iter().find(|spec| spec.name == name).cloned()
}

/// Every built-in workflow, as it is declared.
#[must_use]
pub fn all_built_in() -> &'static [WorkflowSpec] {
    &SPECS
}

/// Whether a workflow is a built-in one, and none that a project declares under such a name.
#[must_use]
pub fn is_built_in(spec: &WorkflowSpec) -> bool {
    is_reserved(&spec.name) || SPECS.contains(spec)
}

/// The workflow of this name: the project's, else the built-in one.
#[must_use]
pub fn named(name: &str, declared: &[WorkflowSpec]) -> Option<WorkflowSpec> {
    let own = || declared.iter().find(|spec| spec.name == name && !is_reserved(name)).cloned();
    own().or_else(|| built_in(name))
}

/// The workflows of these names, and behind them those by which their children are flown; each once. `nested` is what is wrong with
/// one of the latter that has children itself.
///
/// # Errors
/// The first that `find` or `nested` says.
pub fn with_children<E>(
    names: impl IntoIterator<Item = String>,
    find: impl Fn(&str) -> Result<WorkflowSpec, E>,
    nested: impl Fn(&str) -> E,
) -> Result<Vec<WorkflowSpec>, E> {
    let mut all: Vec<WorkflowSpec> = Vec::new();
    for name in names {
        if all.iter().all(|known| known.name != name) {
            all.push(find(&name)?);
        }
    }
    let children: Vec<String> =
        all.iter().flat_map(WorkflowSpec::all_gates).filter_map(|gate| gate.child_workflow.clone()).collect();
    for name in children {
        let there = all.iter().find(|known| known.name == name).cloned();
        let spec = match &there {
            Some(known) => known.clone(),
            None => find(&name)?,
        };
        if spec.all_gates().any(|gate| gate.child_workflow.is_some() || gate.demands.proposes.is_some()) {
            return Err(nested(&name));
        }
        if there.is_none() {
            all.push(spec);
        }
    }
    Ok(all)
}

/// The names of the workflows that a plan's waypoints use, each once.
#[must_use]
pub fn used(plan: &Plan) -> Vec<&str> {
    let mut names: Vec<&str> =
        plan.waypoints.iter().map(|waypoint| waypoint.workflow.as_deref().unwrap_or(&plan.workflow)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The workflows that a plan names, and those of children, as they are declared: those of the project, and built-in ones. What is not
/// there, or has grandchildren, is left out.
#[must_use]
pub fn specs(plan: &Plan, declared: &[WorkflowSpec]) -> Vec<WorkflowSpec> {
    let there = |name: &&str| named(name, declared).is_some();
    let each = used(plan).into_iter().filter(there).map(str::to_owned);
    let mut all: Vec<WorkflowSpec> = Vec::new();
    for name in each {
        let found = with_children([name], |name| named(name, declared).ok_or(()), |_| ()).unwrap_or_default();
        let is_new = |spec: &WorkflowSpec| all.iter().all(|known| known.name != spec.name);
        let new: Vec<WorkflowSpec> = found.into_iter().filter(is_new).collect();
        all.extend(new);
    }
    all
}

/// The gates of these workflows with `checks: auto`: they check what the plan checks, so it has to say what that is (SDLC-3).
pub fn check_by_plan(workflows: &[WorkflowSpec]) -> impl Iterator<Item = &GateId> {
    let gates = workflows.iter().flat_map(WorkflowSpec::all_gates);
    gates.filter(|gate| gate.demands.plan_checks).map(|gate| &gate.id)
}

/// The workflows that a plan is flown by: built-in ones, and of the declared ones those that it names. One that is not sound
/// is left out.
pub fn flown(plan: &Plan, declared: &[WorkflowSpec]) -> impl Iterator<Item = Workflow> {
    let mode = plan.policy.mode;
    specs(plan, declared).into_iter().filter_map(move |spec| Some(Workflow::try_new(&spec).ok()?.under(mode)))
}

/// The roles of agents besides the built-in ones that have turns of these workflows in a flight of this mode, each with whether its
/// turns make work.
#[must_use]
pub fn declared_roles(workflows: &[WorkflowSpec], mode: Mode) -> Vec<(RoleId, bool)> {
    let flown = |spec| Some((spec, Workflow::try_new(spec).ok()?.under(mode)));
    let flown: Vec<(&WorkflowSpec, Workflow)> = workflows.iter().filter_map(flown).collect();
    let named = || flown.iter().flat_map(|(_, workflow)| workflow.agent_roles());
    let roles = Roles::with_all(named().map(|(role, _)| role));
    // Also where this workflow has the role only look at work: its keys are the same everywhere.
    let gates = || flown.iter().flat_map(|(spec, _)| spec.all_gates());
    let makes = |role: &RoleId| {
        role.as_str() == role::SOLO || gates().any(|gate| gate.role == *role && gate.plane == Some(Plane::Build))
    };
    roles.declared().map(|role| (role.clone(), makes(role))).collect()
}

/// The gates of a workflow that look at work of their own role, each with that role: one agent alone cannot take their turns,
/// because nobody completes a gate that looks at their own work (GATE-30).
pub fn inspections(workflow: &Workflow) -> impl Iterator<Item = (&GateId, &RoleId)> {
    let makes = |role: &RoleId| workflow.gates().any(|gate| gate.role == *role && gate.duty == Duty::Make);
    let looks = move |gate: &&Gate| gate.duty == Duty::Complete && !gate.require_human && makes(&gate.role);
    workflow.gates().filter(looks).map(|gate| (&gate.id, &gate.role))
}

/// The forks in which a role of agents certainly has more branches than members, each with the role and how many branches it has: an
/// agent votes once in a fork, so that a branch would wait for one more. Branches that a condition may leave out, or that people
/// complete, do not count. `members` says how many there are, where that is known.
pub fn crowded(spec: &WorkflowSpec, members: impl Fn(&RoleId) -> Option<u32>) -> Vec<(&GateId, &RoleId, u32)> {
    let mut found = Vec::new();
    for gate in &spec.gates {
        let GateOrFork::Fork(fork) = gate else { continue };
        let mut branches: BTreeMap<&RoleId, u32> = BTreeMap::new();
        for branch in fork.branches.iter().filter(|branch| branch.when.is_none() && !branch.require_human) {
            *branches.entry(&branch.role).or_default() += 1;
        }
        let is_crowded = |role: &RoleId, count: u32| members(role).is_some_and(|members| members < count);
        let crowded = branches.into_iter().filter(|(role, count)| is_crowded(role, *count));
        found.extend(crowded.map(|(role, count)| (&fork.id, role, count)));
    }
    found
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::workflow::{Escalation, ForkKind, ForkSpec, GateKind, GateOrFork, GateSpec, JoinStrategy};

    use super::*;
    use crate::plan;

    fn gate(id: &str, role_name: &'static str, can_reject: bool) -> GateOrFork {
        GateSpec { can_reject, ..GateSpec::new(id.parse().unwrap(), role::id(role_name)) }.into()
    }

    #[test]
    fn every_built_in_workflow_is_sound_and_has_its_own_name() {
        for (name, _) in BUILT_IN {
            let spec = built_in(name).unwrap();
            assert_eq!(spec.name, name);
            Workflow::try_new(&spec).unwrap();
        }
        assert_eq!(built_in("deploy"), None);
        let known: Vec<&str> = plan::BUILT_IN_WORKFLOWS.iter().map(|known| known.name).collect();
        assert_eq!(known, BUILT_IN.map(|(name, _)| name), "plans may name exactly these");
    }

    #[test]
    fn a_projects_own_workflow_goes_before_a_built_in_one_of_its_name_and_brings_that_of_its_children() {
        let own = declared("sdlc", vec![gate("do", "writer", false)]);
        assert_eq!(named("sdlc", std::slice::from_ref(&own)), Some(own.clone()));
        assert!(!is_built_in(&own) && is_built_in(&built_in("sdlc").unwrap()));
        let names = |declared: &[WorkflowSpec], name: &str| {
            let find = |name: &str| super::named(name, declared).ok_or_else(|| format!("no {name}"));
            let all = with_children([name.to_owned()], find, |name| format!("{name} has children"));
            all.map(|all| all.into_iter().map(|spec| spec.name).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(names(&[], "sdlc"), Ok("sdlc sdlc-task".to_owned()));
        assert_eq!(names(&[own], "sdlc"), Ok("sdlc".to_owned()));
        let mut nested = built_in("sdlc").unwrap();
        nested.name = "sdlc-task".to_owned();
        assert_eq!(names(&[nested], "sdlc"), Err("sdlc-task has children".to_owned()));
        assert_eq!(names(&[], "none"), Err("no none".to_owned()));
    }

    #[test]
    fn fly_is_recorded_in_the_same_bytes_whatever_else_may_be_declared() {
        let recorded = serde_json::to_string(&built_in("fly").unwrap()).unwrap();
        let gates = r#"[{"id":"build","role":"builder"},{"id":"verify","role":"verifier","canReject":true}]"#;
        assert_eq!(
            recorded,
            format!(r#"{{"name":"fly","description":"Build, then verify by evidence","gates":{gates}}}"#)
        );
    }

    #[test]
    fn fly_is_build_then_verify() {
        let gates = vec![gate("build", role::BUILDER, false), gate("verify", role::VERIFIER, true)];
        assert_eq!(built_in("fly").unwrap().gates, gates);
    }

    fn declared(name: &str, gates: Vec<GateOrFork>) -> WorkflowSpec {
        WorkflowSpec { name: name.to_owned(), gates, ..built_in("fly").unwrap() }
    }

    #[test]
    fn a_plan_is_flown_by_the_workflows_that_it_names_and_a_built_in_one_is_never_replaced() {
        let plan = "plan: p\nworkflow: papers\nwaypoints:\n  - {id: a, title: t, goal: g}\n  \
                    - {id: b, title: t, goal: g, workflow: fly}\n  - {id: c, title: t, goal: g, workflow: broken}\n  \
                    - {id: d, title: t, goal: g, workflow: nowhere}\n";
        let plan = plan::glance(plan.as_bytes()).unwrap();
        let draft = || vec![gate("draft", "writer", false)];
        let all = [
            declared("papers", draft()),
            declared("unused", draft()),
            declared("fly", draft()),
            declared("broken", Vec::new()),
        ];
        let flown: Vec<Workflow> = flown(&plan, &all).collect();
        let names: Vec<&str> = flown.iter().map(|workflow| workflow.name.as_str()).collect();
        assert_eq!(names, ["fly", "papers"]);
        assert!(flown[0].needs_builder());
        assert!(!flown[1].needs_builder());
    }

    #[test]
    fn declared_roles_are_those_without_built_in_agents_and_one_that_makes_work_anywhere_does() {
        let verify = || gate("verify", role::VERIFIER, true);
        let makes = || {
            let code = GateSpec::new("code".parse().unwrap(), role::id("backend"));
            GateSpec { plane: Some(Plane::Build), ..code }.into()
        };
        let all = [
            built_in("fly").unwrap(),
            declared("talk", vec![gate("plan", "backend", false), gate("draft", "writer", false)]),
            declared("code", vec![makes(), verify()]),
            declared("broken", Vec::new()),
        ];
        assert_eq!(declared_roles(&all, Mode::Team), [(role::id("backend"), true), (role::id("writer"), false)]);
        assert_eq!(declared_roles(&all[..1], Mode::Team), []);
    }

    #[test]
    fn one_agent_alone_has_the_turns_that_make_and_judge_work_and_people_keep_theirs() {
        let chained = GateSpec {
            escalations: vec![Escalation { plane: Some(Plane::Build), ..role::id("backend").into() }],
            vacant: true,
            ..GateSpec::new("build".parse().unwrap(), role::id(role::BUILDER))
        };
        let gates = vec![gate("plan", "writer", false), chained.into(), gate("verify", role::VERIFIER, true)];
        let spec = declared("own", gates);
        assert_eq!(
            declared_roles(std::slice::from_ref(&spec), Mode::Single),
            [(role::id("solo"), true), (role::id("writer"), false)]
        );
        let alone = Workflow::try_new(&spec).unwrap().under(Mode::Single);
        let roles: Vec<(&str, Duty, bool)> =
            alone.gates().map(|gate| (gate.role.as_str(), gate.duty, gate.vacant)).collect();
        assert_eq!(
            roles,
            [("writer", Duty::Complete, false), ("solo", Duty::Make, false), ("solo", Duty::Judge, false)]
        );
        assert_eq!((alone.judging_role(), alone.needs_builder()), (role::id(role::SOLO), false));
        assert!(alone.gates().all(|gate| gate.escalations.is_empty()));
        let taken = declared("mine", vec![gate("build", role::SOLO, false), gate("verify", role::VERIFIER, true)]);
        assert!(Workflow::try_new(&taken).is_err(), "the role is no workflow's to name");
    }

    #[test]
    fn a_role_that_makes_work_elsewhere_keeps_its_keys_where_it_only_looks() {
        let inspect = GateSpec {
            plane: Some(Plane::Build),
            kind: Some(GateKind::Inspection),
            ..GateSpec::new("look".parse().unwrap(), role::id("backend"))
        };
        let talk = declared("talk", vec![gate("draft", "writer", false), inspect.into()]);
        assert_eq!(declared_roles(&[talk], Mode::Team), [(role::id("backend"), true), (role::id("writer"), false)]);
    }

    #[test]
    fn inspections_are_the_gates_that_look_at_work_of_their_own_role() {
        let look = |id: &str, role_name| {
            let gate = GateSpec::new(id.parse().unwrap(), role::id(role_name));
            GateSpec { kind: Some(GateKind::Inspection), ..gate }.into()
        };
        let verify = || gate("verify", role::VERIFIER, true);
        let build = || gate("build", role::BUILDER, false);
        let own = declared("own", vec![build(), look("look", role::BUILDER), verify(), gate("read", "reader", true)]);
        let other = declared("other", vec![build(), look("look", role::REPAIR), look("read", "reader"), verify()]);
        let flown: Vec<Workflow> = [own, other].iter().map(|spec| Workflow::try_new(spec).unwrap()).collect();
        let found: Vec<String> =
            flown.iter().flat_map(inspections).map(|(gate, role)| format!("{gate} {role}")).collect();
        assert_eq!(found, ["look builder"]);
    }

    #[test]
    fn a_fork_is_crowded_where_a_role_has_more_branches_than_members() {
        let branch = |id: &str, role_name, when: Option<&str>, require_human| GateSpec {
            when: when.map(str::to_owned),
            require_human,
            ..GateSpec::new(id.parse().unwrap(), role::id(role_name))
        };
        let fork = ForkSpec {
            id: "look".parse().unwrap(),
            kind: ForkKind::Fork,
            description: None,
            branches: vec![
                branch("a", "critic", None, false),
                branch("b", "critic", None, false),
                branch("c", "critic", Some("tags.length > 0"), false),
                branch("d", "reader", None, false),
                branch("e", "lead", None, true),
                branch("f", "lead", None, true),
            ],
            join_strategy: JoinStrategy::Majority,
            when: None,
            metadata: BTreeMap::new(),
        };
        let spec = declared("own", vec![gate("draft", "writer", false), GateOrFork::Fork(fork)]);
        let found = |members: u32| {
            let found = crowded(&spec, |_| Some(members));
            found.into_iter().map(|(fork, role, count)| format!("{fork} {role} {count}")).collect::<Vec<_>>()
        };
        assert_eq!((found(1), found(2)), (vec!["look critic 2".to_owned()], Vec::new()));
        assert_eq!(crowded(&spec, |_| None), []);
    }
}
