//! The workflows of GitHub, by actionlint. Nothing here runs them.

use std::{fs, process::Command};

use anyhow::{Context as _, ensure};

use crate::files;

/// What actionlint has to say of these files, and whether it found nothing wrong.
fn actionlint(workflows: &[String]) -> anyhow::Result<(bool, String)> {
    let root = files::root()?;
    let program = root.join("target/tools/actionlint/actionlint");
    ensure!(program.is_file(), "there is no {}: run `cargo xtask tools`", program.display());
    // What else is installed on the machine changes nothing.
    let output = Command::new(program)
        .args(["-no-color", "-shellcheck=", "-pyflakes="])
        .args(workflows)
        .current_dir(root)
        .output()?;
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Ok((output.status.success(), said))
}

#[test]
fn workflows_are_what_github_takes() -> anyhow::Result<()> {
    let workflows: Vec<String> =
        files::below(".github/workflows", &[".yml"])?.into_iter().map(|file| file.path).collect();
    ensure!(workflows.len() == 2, "{workflows:?}");
    let (right, said) = actionlint(&workflows)?;
    ensure!(right, "{said}");
    Ok(())
}

#[test]
fn a_workflow_with_an_input_that_an_earlier_job_does_not_give_is_refused() -> anyhow::Result<()> {
    let text = files::read(".github/workflows/release.yml")?;
    let dir = tempfile::tempdir()?;
    for (was, wrong, word) in [
        ("needs: pypi", "needs: publish", "publish"),
        ("matrix.runner }}\n    timeout", "matrix.machine }}\n    timeout", "machine"),
        ("id-token: write", "id-tokens: write", "id-tokens"),
    ] {
        ensure!(text.contains(was), "release.yml has no {was:?}");
        let file = dir.path().join("release.yml");
        fs::write(&file, text.replacen(was, wrong, 1))?;
        let (right, said) = actionlint(&[file.to_string_lossy().into_owned()])?;
        ensure!(!right && said.contains(word), "{wrong}: {said}");
    }
    Ok(())
}

#[test]
fn actions_are_named_by_their_commit() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for file in files::below(".github/workflows", &[".yml"])? {
        for line in file.text.lines() {
            let Some((_, action)) = line.split_once("uses: ") else { continue };
            seen += 1;
            let commit = action.split_once('@').and_then(|(_, rest)| rest.split_once(" # v")).map(|(commit, _)| commit);
            if !commit.is_some_and(|commit| commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit())) {
                wrong.push(format!("{}: {action}", file.path));
            }
        }
    }
    ensure!(seen >= 7 && wrong.is_empty(), "of {seen}: {wrong:#?}");
    Ok(())
}

#[test]
fn workflows_install_the_rust_that_the_workspace_names() -> anyhow::Result<()> {
    let manifest: toml::Table = files::read("Cargo.toml")?.parse()?;
    let wanted = manifest["workspace"]["package"]["rust-version"].as_str().context("rust-version is a string")?;
    for file in files::below(".github/workflows", &[".yml"])? {
        let (_, rest) = file.text.split_once("rustup toolchain install ").context("it installs no Rust")?;
        ensure!(rest.split(' ').next() == Some(wanted), "{}: not {wanted}", file.path);
        ensure!(rest.contains(&format!("rustup default {wanted}\n")), "{}: not {wanted}", file.path);
    }
    Ok(())
}
