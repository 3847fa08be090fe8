//! Reading what a project depends on: `environment` of a plan, or of a project file.

use holdpoint_protocol::plan::EnvironmentSpec;

use crate::yaml::{
    error::Problems,
    fields::{Fields, word},
    tree::Value,
    words::quoted,
};

/// The keys of `environment`.
pub(super) const ENVIRONMENT_KEYS: &[&str] = &["setup", "inputs", "names", "path", "env", "offline"];

/// Reads `environment`: `none`, or what its dependencies are set up from.
pub(crate) fn environment(fields: &Fields<'_>, problems: &mut Problems) -> Option<EnvironmentSpec> {
    let node = fields.get("environment", problems)?;
    if !matches!(node.value, Value::Map(_)) {
        let said = word(node, "`environment`", problems)?;
        if said.text != "none" {
            let hint = "write `environment: none`, or a mapping such as `environment: {setup: npm ci, inputs: [package-lock.json]}`";
            problems.add(said.at, format!("`environment: {}` is no environment", quoted(said.text)), hint);
        }
        return Some(EnvironmentSpec::default());
    }
    let environment = Fields::open(node, "`environment`", ENVIRONMENT_KEYS, problems)?;
    environment.demand(
        "setup",
        "say how dependencies are set up, such as `setup: npm ci`, or write `environment: none`",
        problems,
    );
    let env = environment.get("env", problems).and_then(|node| {
        let hint = "write variables by name, such as `env: {CI: \"true\"}`";
        let env = Fields::free(node, "`env` of `environment`", hint, problems)?;
        let values = env.entries().iter().filter_map(|(key, node)| {
            let value = word(node, &format!("`{}` of `env`", key.name), problems)?;
            Some((key.name.clone(), value.text.to_owned()))
        });
        Some(values.collect())
    });
    Some(EnvironmentSpec {
        setup: environment.text("setup", problems),
        inputs: environment.texts("inputs", problems),
        names: environment.texts("names", problems),
        path: environment.texts("path", problems),
        env: env.unwrap_or_default(),
        offline: environment.flag("offline", problems).unwrap_or_default(),
    })
}
