//! Each rule broken alone: the one finding that it leads to, with its place.

use holdpoint_protocol::{ids::AgentName, org::ROLES_MAX, workflow::ESCALATIONS_MAX};

use super::{ORG, checked, told};
use crate::gates::GATES_MAX;

/// A sound workflow whose second gate is put in, on line 7 from column 7.
pub(super) fn with(gate: &str) -> String {
    format!(
        "workflow:\n  name: x\n  gates:\n    - id: draft\n      role: writer\n    - id: edit\n{}",
        gate.lines().map(|line| format!("      {line}\n")).collect::<String>()
    )
}

pub(super) fn refused(project: &str, org: &str) -> Vec<String> {
    told(&checked(project, Some(org)).errors)
}

#[test]
fn each_rule_of_gates_has_its_place_and_its_hint() {
    let person = "give the role an agent whose id begins with `human-`";
    let table: &[(&str, &str)] = &[
        ("role: operator", "7:13: role `operator` is reserved for the fleet itself | name a role of the org chart"),
        (
            "role: editor\nescalateTo: Orchestrator",
            "8:19: role `Orchestrator` is reserved for the fleet itself | name a role of the org chart",
        ),
        (
            "role: editor\ntimeout: 31d",
            "8:16: `timeout: 2678400000ms` is not a duration | write a number with ms, s, m, h or d, such as `90s`, `10m` or `1h30m`; at most 30d",
        ),
        (
            "role: editor\ntimeout: 0s",
            "8:16: `timeout: 0ms` is not a duration | write a number with ms, s, m, h or d, such as `90s`, `10m` or `1h30m`; at most 30d",
        ),
        (
            "role: editor\nwhen: \" \"",
            "8:13: `when:  ` is no predicate: nothing is there | write one JavaScript expression over `tags`, `metadata` and `gateHistory`, such as `tags.includes('legal')`",
        ),
        (
            "role: verifier",
            "6:7: gate `edit` judges work and may not send it back | write `canReject: true`: a failing verdict has to lead somewhere",
        ),
        (
            "role: writer\nrequireHuman: true\ntimeout: 1h",
            &format!("7:13: gate `edit` is for people, and role `writer` has none | {person}"),
        ),
        (
            "role: editor\nrequireHuman: true\ntimeout: 1h\nescalateTo: writer",
            &format!("10:19: gate `edit` is for people, and role `writer`, to which it escalates, has none | {person}"),
        ),
        (
            "role: lead\ntimeout: 1h\nescalateTo: writer",
            &format!("9:19: gate `edit` is for people, and role `writer`, to which it escalates, has none | {person}"),
        ),
        (
            "role: editor\nescalateTo: editor",
            "8:19: gate `edit` escalates to its own role `editor` | name another role, or remove it: without `escalateTo` its own role has it again",
        ),
        (
            "role: editor\nescalateTo: [lead, writer, lead]",
            "8:34: gate `edit` escalates to role `lead` twice | name each role once",
        ),
        (
            "role: editor\nescalateTo: [lead, riter]",
            "8:26: role `riter` is not in the org chart | did you mean `writer`?",
        ),
        (
            "role: editor\nescalateTo: [writer, maker]",
            "8:28: gate `edit` is completed, and agents of role `maker`, to which it escalates, complete no gates | name a role that neither makes nor judges work",
        ),
        (
            "role: editor\nescalateTo: {to: lead}",
            "8:19: `escalateTo` is a text, not a mapping | write one text; put it into quotes if it starts with `[`, `{`, `*`, `&`, `!` or has `: ` in it",
        ),
        (
            "role: verifier\ncanReject: true\nescalateTo: [lead, writer]",
            "9:26: gate `edit` judges work, and escalates to people only: role `writer` is not one of people | name a role of people: they hear that no verifier answers",
        ),
        (
            "role: verifier\ncanReject: true\nrequireHuman: true\ntimeout: 1h",
            "9:21: gate `edit` is agents' work and cannot be for people | give it a role that neither builds nor verifies",
        ),
        (
            "role: editor\npeople: [human-eve, eve]",
            "8:27: `eve` in `people` is no person | ids of people begin with `human-`",
        ),
        (
            "role: maker",
            "7:13: gate `edit` makes work and the workflow has no verifier | add a gate of the role `verifier` behind it: only verified work lands",
        ),
        (
            "role: editor\nrejectTo: draft",
            "8:17: `rejectTo` says nothing without the strategy `named` | write `rejectionStrategy: named` in the workflow, or remove `rejectTo`",
        ),
        ("role: editor\ntips: [\"\"]", "8:14: an item of `tips` is empty | write a text, or remove it"),
        (
            "role: editor\nexpectations: [\"a\\u202e\"]",
            "8:22: an item of `expectations` has a character that cannot be seen | remove control characters, marks of direction and zero-width characters",
        ),
        (
            "role: editor\noutcomeHelp: {skip: x}",
            "8:21: unknown key `skip` in `outcomeHelp` | the keys of `outcomeHelp` are `complete`, `needs_review`, `blocked`",
        ),
        ("role: editor\ncanRejct: true", "8:7: unknown key `canRejct` in a gate | did you mean `canReject`?"),
        ("description: no role", "6:7: a gate has no `role` | say whose turn it is, such as `role: verifier`"),
    ];
    for (gate, expected) in table {
        assert_eq!(refused(&with(gate), ORG), [*expected], "{gate}");
    }
}

#[test]
fn each_rule_of_workflows_has_its_place() {
    let draft = "- {id: draft, role: writer}";
    let table: &[(&str, &[&str], &str)] = &[
        ("name: fly", &[draft], "2:9: workflow `fly` is built in"),
        ("name: x", &[], "2:3: workflow `x` has no gates"),
        (
            "name: x\n  outcomes: {complete: hold}",
            &[draft],
            "3:13: no outcome leads to `advance`, so work could never pass a gate",
        ),
        ("name: x\n  outcomes: {skip: hold}", &[draft], "3:14: unknown key `skip` in `outcomes`"),
        (
            "name: x\n  rejectionStrategy: named",
            &[draft, "- {id: a, role: editor, canReject: true}"],
            "6:7: gate `a` may reject and does not say where to",
        ),
        (
            "name: x\n  rejectionStrategy: named",
            &[draft, "- {id: a, role: editor, canReject: true, rejectTo: b}", "- {id: b, role: editor}"],
            "6:56: gate `a` rejects to `b`, which does not stand before it",
        ),
        (
            "name: x\n  rejectionStrategy: named",
            &[draft, "- {id: a, role: editor, rejectTo: draft}"],
            "6:39: gate `a` names where it rejects to and may not reject",
        ),
        (
            "name: x",
            &["- {id: a, role: maker}", "- {id: b, role: verifier, canReject: true}", "- {id: c, role: builder}"],
            "6:21: gate `c` makes work and no verifier's gate follows it",
        ),
        (
            "name: x",
            &[draft, "- {id: f, type: fork, branches: [{id: a, role: editor}]}"],
            "5:37: fork `f` has fewer than two branches",
        ),
        (
            "name: x",
            &[draft, "- {id: f, branches: [{id: a, role: editor}, {id: b, role: lead, timeout: 1h}]}"],
            "5:7: a fork has no `type`",
        ),
        (
            "name: x",
            &[draft, "- {id: f, type: join, branches: [{id: a, role: editor}, {id: b, role: lead, timeout: 1h}]}"],
            "5:21: `type: join` is not a type of gate",
        ),
        ("name: x", &[draft, "- {id: a, role: editor, type: review}"], "5:35: `type: review` is not a type of gate"),
        (
            "name: x",
            &[draft, "- {id: f, type: inspection, branches: [{id: a, role: editor}, {id: b, role: editor}]}"],
            "5:7: a gate of another type is one gate and has no branches",
        ),
        (
            "name: x",
            &[draft, "- {id: a, role: verifier, type: inspection, canReject: true}"],
            "5:37: gate `a` judges work by evidence, and cannot be an inspection",
        ),
        (
            "name: x",
            &[draft, "- {id: a, role: builder, type: inspection, requireHuman: true, timeout: 1h}"],
            "5:62: gate `a` is agents' work and cannot be for people",
        ),
        (
            "name: x",
            &[draft, "- {id: f, type: fork, branches: [{id: a, role: editor}, {id: draft, role: editor}]}"],
            "5:66: there are two gates with the id `draft`",
        ),
        (
            "name: x",
            &[
                draft,
                "- {id: f, type: fork, joinStrategy: most, branches: [{id: a, role: editor}, {id: b, role: editor}]}",
            ],
            "5:41: `joinStrategy: most` is not a join strategy",
        ),
        (
            "name: x",
            &["- {id: f, type: fork, branches: [{id: a, role: editor}, {id: b, role: editor, canReject: true}]}"],
            "4:7: the workflow begins with fork `f`: nobody made anything yet that it could look at",
        ),
        (
            "name: x",
            &[
                draft,
                "- {id: f, type: fork, branches: [{id: a, role: builder}, {id: b, role: editor}]}",
                "- {id: v, role: verifier, canReject: true}",
            ],
            "5:52: gate `a` makes work in a fork, where others look at it meanwhile",
        ),
        (
            "name: x",
            &[
                draft,
                "- {id: f, type: fork, branches: [{id: a, role: editor}, {id: b, role: editor}, {id: c, type: fork}]}",
            ],
            "5:84: a branch of a fork is a fork",
        ),
    ];
    let mut wrong = Vec::new();
    for (head, gates, expected) in table {
        let gates: String = gates.iter().map(|gate| format!("\n    {gate}")).collect();
        let list = if gates.is_empty() { String::new() } else { format!("\n  gates:{gates}") };
        let text = format!("workflow:\n  {head}{list}\n");
        let found = refused(&text, ORG);
        if found.len() != 1 || !found[0].starts_with(expected) {
            wrong.push(format!("{expected}\n{text}\n{found:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let many: String = (0..=GATES_MAX).map(|n| format!("    - {{id: g{n}, role: writer}}\n")).collect();
    let found = refused(&format!("workflow:\n  name: x\n  gates:\n{many}"), ORG);
    assert_eq!(found, ["4:5: workflow `x` has 33 gates, more than 32 | split it into several workflows"]);
}

#[test]
fn those_to_notify_are_people_of_the_org_chart() {
    let found = |keys: &str, org: Option<&str>| {
        let text = format!("workflow: {{name: x, gates: [{{id: a, role: writer}}]}}\n{keys}");
        let checked = checked(&text, org);
        (told(&checked.errors), checked.projects)
    };
    let (errors, projects) = found("owner: human-lea\nstakeholders: [human-eve, human-lea]\n", Some(ORG));
    assert_eq!((errors, projects[0][0].notified(None)), (vec![], vec![id("human-lea"), id("human-eve")]), "each once");
    let table = [
        ("owner: bot\n", "2:8: `bot` in `owner` is no person | ids of people begin with `human-`"),
        ("owner: human-lee\n", "2:8: `human-lee` in `owner` is not in the org chart | did you mean `human-lea`?"),
        (
            "stakeholders: [human-eve, human-somebody]\n",
            "2:27: `human-somebody` in `stakeholders` is not in the org chart | add that person to a role of the org chart",
        ),
        ("owner: [human-lea]\n", "2:8: `owner` is a text, not a list"),
        ("stakeholder: [human-lea]\n", "2:1: unknown key `stakeholder` in the file | did you mean `stakeholders`?"),
    ];
    for (keys, expected) in table {
        let (errors, _) = found(keys, Some(ORG));
        assert!(errors.len() == 1 && errors[0].starts_with(expected), "{keys}{errors:#?}");
    }
    let (errors, _) = found("owner: human-somebody\n", None);
    assert_eq!(errors, [""; 0], "without a chart any person can be meant");
    let crowd = vec!["human-eve"; 51].join(", ");
    let (errors, _) = found(&format!("stakeholders: [{crowd}]\n"), Some(ORG));
    assert!(errors.len() == 1 && errors[0].contains("`stakeholders` has 51 items, more than 50"), "{errors:?}");
}

fn id(name: &str) -> AgentName {
    name.parse().unwrap()
}

#[test]
fn each_rule_of_org_charts_has_its_place() {
    let project = "workflow: {name: x, gates: [{id: a, role: verifier2}]}\n";
    let org = |roles: &str| format!("roles:\n  verifier2: {{agents: [v]}}\n{roles}");
    let table = [
        ("  operator: {agents: [a]}\n", "org.yaml:3:3: role `operator` is reserved for the fleet itself"),
        (
            "  human-qa: {agents: [a]}\n",
            "org.yaml:3:3: role `human-qa` begins with `human-`, as the names of people do",
        ),
        ("  Builder: {agents: [a]}\n", "org.yaml:3:3: roles `Builder` and `builder` would share a stream"),
        (
            "  code-review: {agents: [a]}\n  code_review: {agents: [b]}\n",
            "org.yaml:4:3: roles `code_review` and `code-review` would",
        ),
        ("  qa: {agents: [a]}\n  qa_high: {agents: [b]}\n", "org.yaml:4:3: roles `qa_high` and `qa` would share"),
        ("  qa: {agents: [v]}\n", "org.yaml:2:24: `v` has role `qa` already"),
        ("  qa: {agents: [a, a]}\n", "org.yaml:3:20: `a` has role `qa` already"),
        ("  qa: {agents: [human-], requireHuman: true}\n", "org.yaml:3:16: role `qa` is for people and has none"),
        ("  qa: {agents: [], requireHuman: true}\n", "org.yaml:3:16: role `qa` is for people and has none"),
        (
            "  verifier: {agents: [human-a], requireHuman: true}\n",
            "org.yaml:3:47: role `verifier` is agents' work and cannot",
        ),
        ("  qa: {agents: [human-a], requireHuman: true, plane: build}\n", "org.yaml:3:41: role `qa` is agents' work"),
        (
            "  verifier: {agents: [a], plane: build}\n",
            "org.yaml:3:34: role `verifier` judges what others build, and cannot",
        ),
        ("  qa: {agents: [a], onlyListed: perhaps}\n", "org.yaml:3:33: `onlyListed: perhaps` is not a yes or no"),
        ("  qa: {agents: [a], plane: judge}\n", "org.yaml:3:28: `plane: judge` is not a plane | write `build`"),
        ("  qa team: {agents: [a]}\n", "org.yaml:3:3: `qa team` is not an id"),
        ("  qa: {agents: [a b]}\n", "org.yaml:3:17: `a b` is not an id"),
        ("  qa: {agents: a}\n", "org.yaml:3:16: `agents` is a list, not a text"),
        (
            "  qa: {agent: [a], agents: [b]}\n",
            "org.yaml:3:8: unknown key `agent` in role `qa` | did you mean `agents`?",
        ),
        ("  qa: {agents: [b], description: \"\"}\n", "org.yaml:3:34: `description` is empty"),
    ];
    for (roles, expected) in table {
        let found = refused(project, &org(roles));
        assert!(found.len() == 1 && found[0].starts_with(expected), "{expected}\n{roles}{found:#?}");
    }
    let many: String = (0..ROLES_MAX).map(|n| format!("  r{n}: {{agents: [a{n}]}}\n")).collect();
    let found = refused(project, &org(&many));
    assert!(
        found.len() == 1 && found[0].starts_with("org.yaml:2:3: the org chart has 65 roles, more than 64"),
        "{found:?}"
    );
    let empty = refused(
        "workflow: {name: x, gates: [{id: a, role: builder}, {id: v, role: verifier, canReject: true}]}\n",
        "roles: {}\n",
    );
    assert!(empty.len() == 1 && empty[0].starts_with("org.yaml:1:8: the org chart has no roles"), "{empty:?}");
}

#[test]
fn what_will_not_work_as_meant_is_a_warning() {
    let gate = |gate: &str| told(&checked(&with(gate), Some(ORG)).warnings);
    let hint = "people sleep: write how long it may wait, such as `timeout: 3d`";
    let waits =
        |span: &str| format!("6:7: gate `edit` waits for people and has only the default timeout of {span} | {hint}");
    assert_eq!(gate("role: editor\nrequireHuman: true"), [waits("1h")]);
    assert_eq!(gate("role: lead\nmetadata: {kind: deploy}"), [waits("45m")]);
    assert_eq!(gate("role: lead\ntimeout: 3d"), [""; 0]);
    let alone = "7:13: gate `edit` looks at work of role `maker`, whose one agent never looks at its own work | give the \
                 role a second agent: without one the work waits here";
    assert_eq!(gate("role: maker\ntype: inspection"), [alone]);
    assert_eq!(gate("role: builder\ntype: inspection"), [""; 0], "the fleet says how many builders it has");
    let other =
        "8:27: `human-zoe` in `people` does not have role `editor` | add that person to the role, or remove the name";
    assert_eq!(gate("role: editor\npeople: [human-eve, human-zoe]"), [other]);
    let lax = "workflow: {name: x, defaultOutcome: needs_review, gates: [{id: a, role: qa}, {id: b, role: qa, canReject: true}]}\n";
    let lax = checked(lax, Some("roles: {qa: {agents: [m]}}\n"));
    let [back] = &told(&lax.warnings)[..] else { panic!("one warning: {:?}", told(&lax.warnings)) };
    assert!(back.starts_with("1:") && back.contains("gate `a` may not send work back"), "{back}");
    let chart = |roles: &str| {
        let project = "workflow: {name: x, gates: [{id: a, role: qa}]}\n";
        let found = checked(project, Some(&format!("roles:\n{roles}")));
        assert_eq!(told(&found.errors), [""; 0]);
        found
            .warnings
            .iter()
            .map(|found| format!("{}:{}: {}", found.line, found.column, found.message))
            .collect::<Vec<_>>()
    };
    let empty = "role `qa` has no agents: work that comes to it is blocked with `no agents for role`";
    assert_eq!(chart("  qa: {agents: []}\n"), [format!("2:16: {empty}")]);
    assert_eq!(chart("  qa: {description: x}\n"), [format!("2:7: {empty}")]);
    let found = chart("  qa: {agents: [human-a, b], requireHuman: true}\n");
    assert!(
        found[1].starts_with("2:26: `b` is no person, and role `qa` is for people") || found[0].starts_with("2:26"),
        "{found:?}"
    );
}

#[test]
fn a_gate_that_cannot_be_read_makes_no_others_wrong() {
    let text = "workflow:\n  name: x\n  gates:\n    - {id: a}\n    - {id: b, role: editor, canReject: true}\n    \
                - {id: c, role: maker}\n    - {role: lead, timeout: 1h}\n";
    let found = refused(text, ORG);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(
        found[0].starts_with("4:7: a gate has no `role`") && found[1].starts_with("7:7: a gate has no `id`"),
        "{found:#?}"
    );
    let found = refused(
        &with("role: lead\nrequireHuman: true\ntimeout: 1h\nescalateTo: editor"),
        &ORG.replace("human-eve", "h e"),
    );
    assert_eq!(found.len(), 1, "a chart that was not read whole says nothing about people: {found:#?}");
}

#[test]
fn predicates_are_judged_by_whatever_evaluates_them() {
    let text = with("role: editor\nwhen: tags.includes('x')");
    let refuse = |_: &str| Err("no".to_owned());
    let found = crate::declared::check(&[super::source("project.yaml", &text)], None, None, &refuse);
    assert!(
        told(&found.errors)[0].starts_with("8:13: `when: tags.includes('x')` is no predicate"),
        "{:?}",
        found.errors
    );
}

/// A workflow that makes work, with this in `escalateTo` of its first gate.
fn making(escalate_to: &str) -> String {
    format!(
        "workflow:\n  name: x\n  gates:\n    - {{id: a, role: builder, escalateTo: {escalate_to}}}\n    \
         - {{id: b, role: verifier, canReject: true}}\n"
    )
}

#[test]
fn a_gate_that_makes_work_escalates_to_makers_and_people() {
    for sound in ["maker", "repair", "lead", "[maker, repair, lead]"] {
        assert_eq!(refused(&making(sound), ORG), [""; 0], "{sound}");
    }
    let hint = "give the role `plane: build` in the org chart, or name a role of people";
    for (escalate_to, column, role) in [("writer", 42, "writer"), ("[lead, verifier]", 49, "verifier")] {
        let message =
            format!("gate `a` makes work, and agents of role `{role}`, to which it escalates, do not | {hint}");
        assert_eq!(refused(&making(escalate_to), ORG), [format!("4:{column}: {message}")]);
    }
    let without_chart = told(&checked(&making("lead"), None).errors);
    assert!(
        without_chart[0].contains("agents of role `lead`"),
        "nobody says that it is one of people: {without_chart:?}"
    );
}

#[test]
fn a_chain_of_escalations_has_a_bound() {
    let roles: Vec<String> = (0..=ESCALATIONS_MAX).map(|n| format!("r{n}")).collect();
    let chart: String =
        roles.iter().map(|role| format!("  {role}: {{agents: [agent-{role}], plane: build}}\n")).collect();
    let org = format!("roles:\n{chart}");
    let chain = |count: usize| making(&format!("[{}]", roles[..count].join(", ")));
    assert_eq!(refused(&chain(ESCALATIONS_MAX), &org), [""; 0]);
    let hint = "leave some out: each waits for the gate's whole `timeout`";
    assert_eq!(
        refused(&chain(ESCALATIONS_MAX + 1), &org),
        [format!("4:75: gate `a` escalates to 9 roles, more than {ESCALATIONS_MAX} | {hint}")]
    );
}
