//! A workflow as a Mermaid flowchart.
//!
//! Gates for people are slanted, conditions are diamonds, and a rejection is a dotted line. Work that is held is not drawn.

use std::fmt::Write as _;

use holdpoint_planfile::plan::span_written;
use holdpoint_protocol::workflow::{
    Effect, ForkSpec, GateOrFork, GateSpec, JoinStrategy, RejectionStrategy, WorkflowSpec,
};

/// The node behind the last gate.
const DONE: &str = "done";

/// Draws a workflow.
pub(super) fn flowchart(spec: &WorkflowSpec) -> String {
    let mut chart = Chart { spec, text: "flowchart TD\n    start([start])\n".to_owned() };
    chart.line(&format!("start --> {}", chart.entry(0)));
    for (i, item) in spec.gates.iter().enumerate() {
        match item {
            GateOrFork::Gate(gate) => chart.gate(gate, &format!("{i}"), i, &chart.entry(i + 1)),
            GateOrFork::Fork(fork) => chart.fork(fork, i),
        }
    }
    chart.line(&format!("{DONE}([complete])"));
    chart.text
}

struct Chart<'a> {
    spec: &'a WorkflowSpec,
    text: String,
}

impl Chart<'_> {
    fn line(&mut self, line: &str) {
        // Writing into a string cannot fail.
        let _ = writeln!(self.text, "    {line}");
    }

    /// The node at which work comes to an item.
    fn entry(&self, item: usize) -> String {
        match self.spec.gates.get(item) {
            None => DONE.to_owned(),
            Some(GateOrFork::Gate(gate)) => entry(gate, &item.to_string()),
            Some(GateOrFork::Fork(fork)) if fork.when.is_some() => format!("c{item}"),
            Some(GateOrFork::Fork(_)) => format!("f{item}"),
        }
    }

    /// A gate of the item at `item`, its condition, and where work goes from there.
    fn gate(&mut self, gate: &GateSpec, node: &str, item: usize, next: &str) {
        if let Some(when) = &gate.when {
            self.condition(when, node, &format!("g{node}"), next);
        }
        let mut label = format!("{}<br/>{}", words(gate.id.as_str()), words(gate.role.as_str()));
        if let Some(span) = gate.timeout {
            label += &format!("<br/>{}", span_written(span));
        }
        if !gate.escalations.is_empty() {
            label += &format!("<br/>then {}", words(&escalations(gate)));
        }
        let (open, close) = if gate.require_human { ("[/", "/]") } else { ("[", "]") };
        self.line(&format!("g{node}{open}\"{label}\"{close}"));
        let outcomes = &self.spec.outcomes;
        let effects = [
            ("complete", outcomes.complete.unwrap_or(Effect::Advance)),
            ("needs_review", outcomes.needs_review.unwrap_or(Effect::Reject)),
            ("blocked", outcomes.blocked.unwrap_or(Effect::Hold)),
        ];
        for (outcome, effect) in effects {
            match effect {
                Effect::Advance => self.line(&format!("g{node} -- {outcome} --> {next}")),
                Effect::Reject if gate.can_reject => {
                    let target = self.target(gate, item);
                    self.line(&format!("g{node} -. {outcome} .-> {target}"));
                }
                Effect::Reject | Effect::Hold => {}
            }
        }
    }

    fn fork(&mut self, fork: &ForkSpec, item: usize) {
        let next = self.entry(item + 1);
        if let Some(when) = &fork.when {
            self.condition(when, &item.to_string(), &format!("f{item}"), &next);
        }
        let join = match fork.join_strategy {
            JoinStrategy::All => "all",
            JoinStrategy::Any => "any",
            JoinStrategy::Majority => "majority",
        };
        self.line(&format!("f{item}{{{{\"{}\"}}}}", words(fork.id.as_str())));
        self.line(&format!("j{item}{{{{\"{join}\"}}}}"));
        for (n, branch) in fork.branches.iter().enumerate() {
            let node = format!("{item}_{n}");
            self.line(&format!("f{item} --> {}", entry(branch, &node)));
            self.gate(branch, &node, item, &format!("j{item}"));
        }
        self.line(&format!("j{item} --> {next}"));
    }

    fn condition(&mut self, when: &str, node: &str, holds: &str, next: &str) {
        self.line(&format!("c{node}{{\"{}\"}}", words(when)));
        self.line(&format!("c{node} -- yes --> {holds}"));
        self.line(&format!("c{node} -- no --> {next}"));
    }

    /// Where a rejection leads.
    fn target(&self, gate: &GateSpec, item: usize) -> String {
        let named = || {
            let to = gate.reject_to.as_ref()?;
            self.spec.gates.iter().position(|item| item.id() == to)
        };
        self.entry(match self.spec.rejection_strategy {
            RejectionStrategy::Origin => 0,
            RejectionStrategy::Previous => item.saturating_sub(1),
            RejectionStrategy::Named => named().unwrap_or(0),
        })
    }
}

/// The node at which work comes to a gate.
fn entry(gate: &GateSpec, node: &str) -> String {
    if gate.when.is_some() { format!("c{node}") } else { format!("g{node}") }
}

/// A text inside a label: what could end it, or mean something in it, is written by its number.
fn words(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || " _-.,:()'=!|?+*/".contains(c);
    text.chars().map(|c| if plain(c) { c.to_string() } else { format!("#{};", u32::from(c)) }).collect()
}

/// The roles that get a turn of the gate that timed out, in their order.
pub(super) fn escalations(gate: &GateSpec) -> String {
    let roles: Vec<&str> = gate.escalations.iter().map(|link| link.role.as_str()).collect();
    roles.join(", then ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use holdpoint_planfile::{declared, workflows::built_in};

    use super::*;

    #[test]
    fn gates_in_order_with_their_rejections_are_drawn() {
        let chart = flowchart(&built_in("fly-approved").unwrap());
        let expected = "flowchart TD
    start([start])
    start --> g0
    g0[\"build<br/>builder\"]
    g0 -- complete --> g1
    g1[\"verify<br/>verifier\"]
    g1 -- complete --> g2
    g1 -. needs_review .-> g0
    g2[/\"approve<br/>approver<br/>30d\"/]
    g2 -- complete --> done
    g2 -. needs_review .-> g0
    done([complete])
";
        assert_eq!(chart, expected);
    }

    const FORKED: &str = r#"workflow:
  name: x
  rejectionStrategy: named
  gates:
    - {id: a, role: writer}
    - id: both
      type: fork
      when: "tags[0] == \"x\""
      branches:
        - {id: b, role: editor, canReject: true, rejectTo: a}
        - {id: c, role: lead, when: tags.length > 1}
    - {id: d, role: editor, canReject: true, rejectTo: both}
"#;

    #[test]
    fn conditions_forks_and_named_targets_are_drawn() {
        let chart = flowchart(&declared::read(FORKED, "x").unwrap()[0]);
        for line in [
            "g0 -- complete --> c1",
            "c1{\"tags#91;0#93; == #34;x#34;\"}",
            "c1 -- yes --> f1",
            "c1 -- no --> g2",
            "f1{{\"both\"}}",
            "f1 --> g1_0",
            "f1 --> c1_1",
            "c1_1 -- no --> j1",
            "g1_0 -. needs_review .-> g0",
            "g1_1 -- complete --> j1",
            "j1{{\"all\"}}",
            "j1 --> g2",
            "g2 -. needs_review .-> c1",
        ] {
            assert!(chart.lines().any(|drawn| drawn.trim() == line), "{line}\n{chart}");
        }
    }

    #[test]
    fn every_node_that_an_edge_names_is_drawn() {
        for spec in [built_in("fly").unwrap(), declared::read(FORKED, "x").unwrap().remove(0)] {
            let chart = flowchart(&spec);
            let id = |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().to_owned();
            let (edges, nodes): (Vec<&str>, Vec<&str>) =
                chart.lines().skip(1).map(str::trim).partition(|line| line.contains("->"));
            let drawn: BTreeSet<String> = nodes.into_iter().map(id).collect();
            for edge in edges {
                let (from, to) = (id(edge), id(edge.rsplit("> ").next().unwrap()));
                assert!(drawn.contains(&from) && drawn.contains(&to), "{edge}\n{chart}");
            }
        }
    }
}
