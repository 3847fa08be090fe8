//! What each component has to hand over (RETRY-1a), and the templates of it. Pure.

use std::collections::BTreeSet;

use holdpoint_planfile::exchange::{Component, ExchangeSettings, Field, HandoffRules, JsonType, Shape};
use holdpoint_protocol::{
    checkpoint::GateDemands,
    envelope::ENVELOPE_VERSION,
    ids::{CriterionId, RoleId, WaypointId},
};

use super::envelope::Before;
use crate::backend::markers::Contract;

/// What programs of any role may call themselves, and what those may that judge or decide.
const AGENT: &str = "agent";
const JUDGES: [&str; 3] = ["judge", "verifier", "code_review"];
const DECIDES: &str = "supervisor";

/// The name under which a project's file speaks of judges.
pub const JUDGE: &str = "judge";
/// The fields of `data` that name the waypoint.
const TASK: &str = "task_id";

/// What a component has to hand over, as its project says.
#[derive(Debug, Clone)]
pub struct Expected {
    /// What it may call itself; the first is in templates.
    pub names: Vec<String>,
    /// The waypoint.
    pub waypoint: Option<WaypointId>,
    /// The criteria that it may name.
    pub criteria: BTreeSet<CriterionId>,
    /// What `data` has to hold.
    pub shape: Shape,
    /// Whether a result without an envelope has failed.
    pub required: bool,
    /// How failures go on.
    pub settings: ExchangeSettings,
    /// What the gate demands besides.
    pub demands: GateDemands,
}

impl Expected {
    /// Of a program that makes work.
    #[must_use]
    pub fn work(role: &RoleId, waypoint: &WaypointId, criteria: BTreeSet<CriterionId>, rules: &HandoffRules) -> Self {
        let shape = Shape::new([
            (TASK, Field::required(JsonType::String)),
            ("success", Field::required(JsonType::Boolean)),
            ("completed_normally", Field::required(JsonType::Boolean)),
            ("todos", Field::required(JsonType::Array)),
            ("summary", Field::optional(JsonType::String)),
            ("errors", Field::optional(JsonType::Array)),
            ("claims", Field::optional(JsonType::Array)),
        ]);
        Self::new(&[role.as_str(), AGENT], Some(waypoint), criteria, shape, rules)
    }

    /// Of a judge.
    #[must_use]
    pub fn judge(rules: &HandoffRules) -> Self {
        let shape = Shape::new([
            ("verdict", Field::required(JsonType::String).among(&["pass", "fail", "inconclusive"])),
            ("evidence", Field::required(JsonType::Array)),
            ("doubts", Field::required(JsonType::Array)),
            ("findings", Field::optional(JsonType::String)),
            ("issues_found", Field::optional(JsonType::Array)),
        ]);
        Self::new(&JUDGES, None, BTreeSet::new(), shape, rules)
    }

    /// Of a program that completes a gate. A completion's contents are held against its turn elsewhere.
    #[must_use]
    pub fn decision(role: &RoleId, waypoint: &WaypointId, rules: &HandoffRules) -> Self {
        let shape = Shape::new([
            (TASK, Field::optional(JsonType::String)),
            ("action", Field::optional(JsonType::String).among(&["execute", "complete", "review", "error"])),
            ("blockers", Field::optional(JsonType::Array)),
        ]);
        Self::new(&[role.as_str(), AGENT, DECIDES], Some(waypoint), BTreeSet::new(), shape, rules)
    }

    fn new(
        names: &[&str],
        waypoint: Option<&WaypointId>,
        criteria: BTreeSet<CriterionId>,
        shape: Shape,
        rules: &HandoffRules,
    ) -> Self {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let Component { envelope, shape: more } = rules.component(&names[0]);
        let (waypoint, settings) = (waypoint.cloned(), rules.settings.clone());
        Self {
            names,
            waypoint,
            criteria,
            shape: shape.and(&more),
            required: envelope,
            settings,
            demands: GateDemands::default(),
        }
    }

    /// With what its gate demands.
    #[must_use]
    pub fn demanding(self, demands: &GateDemands) -> Self {
        Self { demands: demands.clone(), ..self }
    }

    /// By what an object of this component is more than output. A program that was asked for an envelope prints nothing else.
    #[must_use]
    pub fn contract(&self, before: Before<'_>) -> Contract<'_> {
        let asked = before.asked || self.required;
        let names_task = self.shape.fields.get(TASK).is_some_and(|field| field.required);
        let names: &[String] = if asked { &[] } else { &self.names };
        Contract {
            names,
            waypoint: self.waypoint.as_ref().filter(|_| names_task && !asked),
            answers_only: self.waypoint.is_none(),
        }
    }

    /// The name in records and metrics.
    #[must_use]
    pub fn name(&self) -> &str {
        self.names.first().map_or(AGENT, String::as_str)
    }

    /// A template of the whole envelope, with the fields that are required.
    #[must_use]
    pub fn template(&self) -> String {
        let data = self.data(|_| true);
        let name = self.name();
        format!(
            "{{\"version\": \"{ENVELOPE_VERSION}\", \"component\": \"{name}\", \"status\": \"<success|failure|partial>\", \"data\": \
             {{{data}}}}}"
        )
    }

    /// A template of these fields, as `status` and `data.todos`.
    #[must_use]
    pub fn template_of(&self, missing: &[String]) -> String {
        let mut parts = Vec::new();
        let lacks = |name: &str| missing.iter().any(|field| field == name);
        if lacks("component") {
            parts.push(format!("\"component\": \"{}\"", self.name()));
        }
        if lacks("status") {
            parts.push("\"status\": \"<success|failure|partial>\"".to_owned());
        }
        let data = self.data(|name| lacks("data") || lacks(&format!("data.{name}")));
        if !data.is_empty() {
            parts.push(format!("\"data\": {{{data}}}"));
        }
        if parts.is_empty() { self.template() } else { format!("{{{}}}", parts.join(", ")) }
    }

    /// The fields of `data` that are required and chosen.
    fn data(&self, chosen: impl Fn(&str) -> bool) -> String {
        let fields = self.shape.fields.iter().filter(|(name, field)| field.required && chosen(name));
        let parts: Vec<String> = fields
            .map(|(name, field)| match &self.waypoint {
                Some(waypoint) if name == TASK => format!("\"{name}\": \"{waypoint}\""),
                _ => format!("\"{name}\": {}", field.example()),
            })
            .collect();
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_show_every_required_field_or_only_those_that_are_missing() {
        let waypoint: WaypointId = "w1".parse().unwrap();
        let rules = HandoffRules::read(b"components: {builder: {fields: {risk: {enum: [low, high]}}}}\n", "h").unwrap();
        let expected = Expected::work(&"builder".parse().unwrap(), &waypoint, BTreeSet::new(), &rules);
        let whole = expected.template();
        for part in
            ["\"component\": \"builder\"", "\"task_id\": \"w1\"", "\"risk\": \"<low|high>\"", "\"todos\": [\"<text>\"]"]
        {
            assert!(whole.contains(part), "{whole}");
        }
        assert!(!whole.contains("summary") && expected.required);
        let missing = expected.template_of(&["status".to_owned(), "data.todos".to_owned()]);
        assert_eq!(missing, "{\"status\": \"<success|failure|partial>\", \"data\": {\"todos\": [\"<text>\"]}}");
        assert_eq!(expected.template_of(&[]), whole);
        assert!(!Expected::judge(&rules).required);
    }
}
