//! The alerts of `deploy/monitoring`, by Prometheus' own tool. Its dashboard is the orchestrator's tests'.

use std::process::Command;

use anyhow::ensure;

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
