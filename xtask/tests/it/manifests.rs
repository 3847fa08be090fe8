//! What may depend on what. `ARCHITECTURE.md` says why; these tables are the rule.

use toml::{Table, Value};

use crate::files;

const PREFIX: &str = "holdpoint-";

const CORE: &[&str] = &["protocol", "core", "faults"];
const SHARED: &[&str] =
    &["protocol", "core", "faults", "sandbox", "conditions", "outline", "workspace", "bus", "runtime", "harness"];
const ALL: &[&str] = &[
    "protocol",
    "core",
    "faults",
    "sandbox",
    "conditions",
    "outline",
    "workspace",
    "bus",
    "runtime",
    "harness",
    "orchestrator",
    "builder-agent",
    "verifier-agent",
    "repair-agent",
    "bench",
    "otlp-sink",
    "console",
    "bridge",
    "cli",
];

/// Per member, the members it may depend on.
const MAY_USE: [(&str, &[&str]); 21] = [
    ("protocol", &[]),
    ("faults", &[]),
    ("core", &["protocol"]),
    ("sandbox", CORE),
    ("conditions", &["sandbox"]),
    ("outline", &["sandbox"]),
    ("workspace", &["protocol", "core", "faults", "sandbox"]),
    // The local broker is a process, and processes are started by the sandbox.
    ("bus", &["protocol", "core", "faults", "sandbox"]),
    ("runtime", &["protocol", "core", "faults", "sandbox", "workspace", "bus"]),
    ("harness", &["protocol", "core", "faults", "sandbox", "outline", "workspace", "bus", "runtime"]),
    (
        "orchestrator",
        // Not the harness: an orchestrator never runs an agent's program. Its tests receive traces.
        &["protocol", "core", "faults", "sandbox", "conditions", "workspace", "bus", "runtime", "otlp-sink"],
    ),
    (
        "builder-agent",
        // One agent alone checks its own work, by the code of verifiers.
        &[
            "protocol",
            "core",
            "faults",
            "sandbox",
            "conditions",
            "outline",
            "workspace",
            "bus",
            "runtime",
            "harness",
            "verifier-agent",
        ],
    ),
    ("verifier-agent", SHARED),
    ("repair-agent", SHARED),
    ("bench", ALL),
    // How text of others is shown.
    ("otlp-sink", &["core"]),
    // No broker and no files: what pages show is handed to them.
    ("console", &["protocol", "core"]),
    ("bridge", SHARED),
    ("cli", ALL),
    ("tests", ALL),
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

#[test]
fn members_depend_only_on_members_below_them() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for_each_dependency(|member, dependency| {
        let Some(used) = dependency.strip_prefix(PREFIX) else { return };
        let allowed = MAY_USE.iter().find(|(name, _)| *name == member).map_or(&[][..], |(_, allowed)| allowed);
        if !allowed.contains(&used) {
            wrong.push(format!("{member} depends on {used}"));
        }
    })?;
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn every_member_is_in_the_dependency_table() -> anyhow::Result<()> {
    let unknown: Vec<_> =
        files::members()?.into_iter().filter(|member| !MAY_USE.iter().any(|(name, _)| name == member)).collect();
    assert!(unknown.is_empty(), "say in MAY_USE what these may depend on: {unknown:?}");
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
fn protocol_and_core_are_pure() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for_each_dependency(|member, dependency| {
        if ["protocol", "core"].contains(&member) && IMPURE.contains(&dependency) {
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
