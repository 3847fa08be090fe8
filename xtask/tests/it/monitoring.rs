//! The alerts of `deploy/monitoring`, by Prometheus' own tool. Its dashboard is the orchestrator's tests'.

use std::{fs, path::Path, process::Command};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::files;

/// Runs promtool in the folder of the alerts; what it says.
fn promtool(args: &[&str]) -> anyhow::Result<String> {
    let root = files::root()?;
    let program = root.join("target/tools/promtool");
    ensure!(program.is_file(), "there is no {}: run `cargo xtask tools`", program.display());
    let output = Command::new(program).args(args).current_dir(root.join("deploy/monitoring")).output()?;
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "promtool {args:?}: {said}");
    Ok(said)
}

#[test]
fn alerts_come_when_they_should_and_go_again() -> anyhow::Result<()> {
    promtool(&["check", "config", "--lint-fatal", "prometheus.yaml"])?;
    promtool(&["test", "rules", "alerts.test.yaml"])?;
    Ok(())
}

/// What the dashboard of exchanges asks, as Prometheus sees it.
fn asked_of_exchanges(root: &Path) -> anyhow::Result<Vec<String>> {
    let text = fs::read(root.join("deploy/monitoring/grafana/dashboards/exchanges.json"))?;
    let dashboard: Value = serde_json::from_slice(&text)?;
    let panels = dashboard["panels"].as_array().context("no panels")?;
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    Ok(targets.filter_map(|target| target["expr"].as_str()).map(|expr| expr.replace("$__range", "6h")).collect())
}

#[test]
fn the_dashboard_of_exchanges_asks_for_metrics_that_agents_have() -> anyhow::Result<()> {
    let root = files::root()?;
    let asked = asked_of_exchanges(&root)?;
    ensure!(asked.len() == 5, "{asked:?}");
    let described = fs::read_to_string(root.join("docs/operations.md"))?;
    let dir = tempfile::tempdir()?;
    let mut rules = "groups:\n  - name: asked\n    rules:\n".to_owned();
    for (number, expr) in asked.iter().enumerate() {
        rules.push_str(&format!("      - record: asked:{number}:asked\n        expr: '{expr}'\n"));
        for name in expr
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .filter_map(|word| word.strip_prefix("holdpoint_"))
        {
            let name = name.trim_end_matches("_sum").trim_end_matches("_count");
            ensure!(described.contains(&format!("`{name}`")), "docs/operations.md does not name {name}");
        }
    }
    let file = dir.path().join("asked.yaml");
    fs::write(&file, rules)?;
    promtool(&["check", "rules", &file.display().to_string()])?;
    Ok(())
}
