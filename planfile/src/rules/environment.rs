//! Rules for what a project depends on.

use holdpoint_protocol::plan::EnvironmentSpec;

use crate::{
    plan::limits::{ITEMS_MAX, SENTENCE_BYTES_MAX},
    yaml::{findings::PlanProblems, path::At, words::quoted},
};

/// Variables that only the harness sets.
const GIVEN: [&str; 3] = ["HOME", "PATH", "TMPDIR"];

/// Holds the environment of a plan or a project to every rule.
pub(crate) fn environment(at: At<'_>, spec: &EnvironmentSpec, found: &mut PlanProblems) {
    if let Some(setup) = &spec.setup {
        found.command(at.key("setup"), "`setup`", setup);
        if spec.inputs.is_empty() {
            let hint =
                "name manifests and lock files, such as `inputs: [package.json, package-lock.json]`: it sees no others";
            found.add(at.key("inputs"), "`environment` has a `setup` and no `inputs`", hint);
        }
    }
    found.globs(at.key("inputs"), "inputs", &spec.inputs);
    found.globs(at.key("names"), "names", &spec.names);
    let path = at.key("path");
    if found.length(path, "`path` of `environment`", spec.path.len(), ITEMS_MAX) {
        for (number, folder) in spec.path.iter().enumerate() {
            found.path(path.item(number), "an item of `path`", folder);
        }
    }
    let env = at.key("env");
    if found.length(env, "`env` of `environment`", spec.env.len(), ITEMS_MAX) {
        for (name, value) in &spec.env {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let is_given = GIVEN.contains(&name.as_str()) || name.starts_with("HOLDPOINT_");
            if name.is_empty() || !name.chars().all(is_name) || is_given {
                let hint = "names have letters, digits and `_`, and the harness's own are not set here; folders go into `path`";
                found.add(env, format!("`env` cannot set `{}`", quoted(name)), hint);
            }
            if !value.is_empty() {
                found.text(env, "a value of `env`", value, SENTENCE_BYTES_MAX);
            }
        }
    }
}
