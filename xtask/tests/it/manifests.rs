//! What may depend on what. `ARCHITECTURE.md` says why; these tables are the rule.

use toml::{Table, Value};

use crate::files;

const PREFIX: &str = "holdpoint-";

/// The crates that decide and describe, each on top of those before it: no I/O, no clock, no async.
const PURE: [&str; 7] = ["protocol", "text", "evidence", "planfile", "engine", "account", "admission"];
/// Per member, the members below it that it may depend on, and through them what these may.
const ABOVE: [(&str, &[&str]); 26] = [
    ("protocol", &[]),
    ("faults", &[]),
    ("text", &["protocol"]),
    ("evidence", &["text"]),
    ("planfile", &["evidence"]),
    ("engine", &["planfile"]),
    ("account", &["engine"]),
    ("admission", &["text"]),
    ("sandbox", &["protocol", "faults"]),
    ("conditions", &["sandbox"]),
    ("outline", &["sandbox", "evidence"]),
    ("workspace", &["sandbox", "evidence"]),
    // The local broker is a process, and processes are started by the sandbox.
    ("bus", &["sandbox"]),
    ("runtime", &["workspace", "bus", "engine"]),
    ("harness", &["runtime", "outline"]),
    // Not the harness: an orchestrator never runs an agent's program. Its tests receive traces.
    ("orchestrator", &["runtime", "conditions", "account", "admission", "otlp-sink"]),
    ("verifier-agent", &["harness", "conditions"]),
    // One agent alone checks its own work, by the code of verifiers.
    ("builder-agent", &["verifier-agent"]),
    ("repair-agent", &["harness", "conditions"]),
    // How text of others is shown.
    ("otlp-sink", &["text"]),
    // No broker and no files: what pages show is handed to them.
    ("console", &["account"]),
    ("bridge", &["harness", "conditions"]),
    ("bench", &["orchestrator", "builder-agent", "repair-agent", "console", "bridge"]),
    ("cli", &["bench"]),
    ("tests", &["cli"]),
    ("xtask", &[]),
];

/// Foreign crates (by prefix) and the only members that may depend on them. Tests look from outside at everything.
const ONLY_IN: [(&str, &[&str]); 15] = [
    // The benchmark measures the protocol against the raw client.
    ("async-nats", &["bus", "bench", "tests"]),
    ("opentelemetry", &["runtime", "otlp-sink"]),
    ("tracing-opentelemetry", &["runtime"]),
    ("tonic", &["otlp-sink", "runtime"]),
    // The client of tests over HTTP speaks with services inside the sandbox, where nothing of the runtime is.
    ("hyper", &["otlp-sink", "runtime", "harness"]),
    ("tokio-rustls", &["runtime"]),
    ("prometheus-client", &["runtime"]),
    ("axum", &["console"]),
    ("maud", &["console"]),
    ("ractor", &["runtime", "harness", "orchestrator", "builder-agent", "verifier-agent", "repair-agent", "cli"]),
    ("landlock", &["sandbox"]),
    ("seccompiler", &["sandbox"]),
    ("rquickjs", &["conditions"]),
    ("tree-sitter", &["outline"]),
    ("testcontainers", &["tests"]),
];

/// The crates that Holdpoint is built of by its users' wish, and whose sources use each.
const BUILT_OF: [(&str, &[&str]); 11] = [
    ("tokio", &["orchestrator", "runtime", "bus", "sandbox"]),
    ("async-nats", &["bus"]),
    ("ractor", &["orchestrator", "runtime"]),
    ("serde", &["protocol"]),
    ("serde_json", &["protocol"]),
    ("rmp-serde", &["protocol"]),
    ("opentelemetry", &["runtime"]),
    ("opentelemetry-otlp", &["runtime"]),
    ("tracing-opentelemetry", &["runtime"]),
    ("testcontainers", &["tests"]),
    ("config", &["runtime"]),
];

/// What stands at the top level by their wish; folders are members, but for `deploy`.
const TOP_LEVEL: [&str; 10] = [
    "Cargo.toml",
    "README.md",
    "builder-agent/Cargo.toml",
    "compose.yaml",
    "deploy/Dockerfile",
    "orchestrator/Cargo.toml",
    "protocol/Cargo.toml",
    "repair-agent/Cargo.toml",
    "tests/Cargo.toml",
    "verifier-agent/Cargo.toml",
];

/// Crates that do I/O or bring a runtime, which the pure crates never see.
const IMPURE: [&str; 9] =
    ["tokio", "futures", "async-nats", "ractor", "nix", "rustix", "tracing-subscriber", "tempfile", "config"];

/// Calls `check(member, dependency)` for every dependency of every member, development and build ones included.
fn for_each_dependency(mut check: impl FnMut(&str, &str)) -> anyhow::Result<()> {
    for member in files::members()? {
        let manifest: Table = files::read(&format!("{member}/Cargo.toml"))?.parse()?;
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            for name in manifest.get(section).and_then(Value::as_table).into_iter().flat_map(Table::keys) {
                check(&member, name);
            }
        }
    }
    Ok(())
}

/// Whether a member is below another one.
fn is_below(used: &str, member: &str) -> bool {
    let direct = ABOVE.iter().find(|(name, _)| *name == member).map_or(&[][..], |(_, direct)| direct);
    direct.iter().any(|below| *below == used || is_below(used, below))
}

#[test]
fn members_depend_only_on_members_below_them() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for_each_dependency(|member, dependency| {
        let Some(used) = dependency.strip_prefix(PREFIX) else { return };
        if !is_below(used, member) {
            wrong.push(format!("{member} depends on {used}"));
        }
    })?;
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn every_member_is_in_the_dependency_table() -> anyhow::Result<()> {
    let unknown: Vec<_> =
        files::members()?.into_iter().filter(|member| !ABOVE.iter().any(|(name, _)| name == member)).collect();
    assert!(unknown.is_empty(), "say in ABOVE what these may depend on: {unknown:?}");
    Ok(())
}

#[test]
fn each_foreign_thing_has_one_owner() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for_each_dependency(|member, dependency| {
        for (prefix, owners) in ONLY_IN {
            if dependency.starts_with(prefix) && !owners.contains(&member) {
                wrong.push(format!("{member} depends on {dependency}; only {owners:?} may"));
            }
        }
    })?;
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn each_named_package_is_used_by_the_sources_it_is_for() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for (package, members) in BUILT_OF {
        let path = format!("{}::", package.replace('-', "_"));
        for member in members {
            let depends = files::read(&format!("{member}/Cargo.toml"))?
                .lines()
                .any(|line| line.strip_prefix(package).is_some_and(|rest| rest.starts_with(['.', ' '])));
            let uses = files::below(member, &[".rs"])?.iter().any(|file| {
                let product = file.product_lines().filter(|_| *member == "tests" || !file.is_test());
                product.into_iter().any(|(_, line)| !line.trim_start().starts_with("//") && line.contains(&path))
            });
            if !depends || !uses {
                wrong.push(format!("{member} does not use {package}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn the_top_level_has_the_folders_and_files_that_were_asked_for() -> anyhow::Result<()> {
    let members = files::members()?;
    let mut wrong = Vec::new();
    for path in TOP_LEVEL {
        if files::read(path).is_err() {
            wrong.push(format!("{path} is not there"));
        }
        if let Some(folder) = path.strip_suffix("/Cargo.toml")
            && !members.iter().any(|member| member == folder)
        {
            wrong.push(format!("{folder} is no member"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn the_crates_that_decide_are_pure() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for_each_dependency(|member, dependency| {
        if PURE.contains(&member) && IMPURE.contains(&dependency) {
            wrong.push(format!("{member} depends on {dependency}"));
        }
    })?;
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn every_member_takes_lints_and_package_facts_from_the_workspace() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for member in files::members()? {
        let manifest: Table = files::read(&format!("{member}/Cargo.toml"))?.parse()?;
        let inherits = |table: &str, key: &str| {
            let value = manifest.get(table).and_then(|table| table.get(key));
            let value = if table == "lints" { value } else { value.and_then(|value| value.get("workspace")) };
            value.and_then(Value::as_bool) == Some(true)
        };
        if !inherits("lints", "workspace") {
            wrong.push(format!("{member} has no `[lints] workspace = true`"));
        }
        for key in ["edition", "rust-version", "version", "license", "publish"] {
            if !inherits("package", key) {
                wrong.push(format!("{member} has no `{key}.workspace = true`"));
            }
        }
        if manifest["package"]["name"].as_str() != Some(&format!("{PREFIX}{member}")) {
            wrong.push(format!("{member} is not named {PREFIX}{member}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn versions_are_written_in_the_root_only() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for member in files::members()? {
        let manifest: Table = files::read(&format!("{member}/Cargo.toml"))?.parse()?;
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            for (name, value) in manifest.get(section).and_then(Value::as_table).into_iter().flatten() {
                if value.get("workspace").and_then(Value::as_bool) != Some(true) {
                    wrong.push(format!("{member}: {name} is not `workspace = true`"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}
