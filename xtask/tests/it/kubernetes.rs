//! The chart and the manifests of `deploy/`, by Helm's own renderer and the schemas of the Kubernetes API. No cluster is here.

use std::{fs, path::Path, process::Command};

use anyhow::ensure;

use crate::files;

const SCRIPT: &str = "xtask/tests/kubernetes/manifests.py";

/// What the script has to say, and whether it found nothing wrong.
fn manifests(args: &[&str]) -> anyhow::Result<(bool, String)> {
    let root = files::root()?;
    let python = root.join("target/tools/kubernetes/bin/python");
    ensure!(python.is_file(), "there is no {}: run `cargo xtask tools`", python.display());
    let output = Command::new(python).arg(root.join(SCRIPT)).args(args).output()?;
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Ok((output.status.success(), said))
}

#[test]
fn the_chart_renders_to_hardened_objects_that_the_api_takes() -> anyhow::Result<()> {
    let (right, said) = manifests(&["chart"])?;
    ensure!(right, "{said}");
    Ok(())
}

#[test]
fn the_plain_manifests_are_what_the_chart_renders() -> anyhow::Result<()> {
    let (right, said) = manifests(&["plain"])?;
    ensure!(right, "{said}");
    Ok(())
}

#[test]
fn a_misspelt_field_of_a_manifest_is_refused_by_its_place() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    for (file, field, misspelt) in [
        ("broker.yaml", "readOnlyRootFilesystem", "readOnlyRootFileSystem"),
        ("orchestrator.yaml", "serviceName:", "servicename:"),
        ("network.yaml", "podSelector:", "podSelecter:"),
        ("scaling.yaml", "maxReplicaCount", "maxReplicas"),
    ] {
        let text = files::read(&format!("deploy/kubernetes/{file}"))?;
        ensure!(text.contains(field), "{file} has no {field}");
        let wrong = dir.path().join(file);
        fs::write(&wrong, text.replace(field, misspelt))?;
        let (right, said) = manifests(&["check", &wrong.to_string_lossy()])?;
        let word = misspelt.trim_end_matches(':');
        ensure!(!right && said.contains(word) && said.contains(file), "{file}: {said}");
    }
    Ok(())
}

#[test]
fn the_charts_copy_of_the_seccomp_profile_is_that_of_compose() -> anyhow::Result<()> {
    let copy = Path::new("deploy/helm/holdpoint/files/seccomp.json");
    ensure!(
        files::read(&copy.to_string_lossy())? == files::read("deploy/seccomp.json")?,
        "copy deploy/seccomp.json to {}",
        copy.display()
    );
    Ok(())
}
