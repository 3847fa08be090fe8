//! `workflow new`: workflows to begin with, and the org charts that go with them.

use std::{fs::File, io::Write as _, path::Path};

use holdpoint_protocol::ids::AgentName;

use crate::{
    args::workflow::{Starter, WorkflowNewArgs},
    failure::{Exit, Failure},
    output,
    people::key,
};

/// The person of the org charts.
const STANDS_FOR_YOU: &str = "human-you";

/// A starter's workflow file and org chart.
fn files(kind: Starter) -> (&'static str, &'static str) {
    macro_rules! of {
        ($folder:literal) => {
            (
                include_str!(concat!("../../../starters/", $folder, "/project.yaml")),
                include_str!(concat!("../../../starters/", $folder, "/org.yaml")),
            )
        };
    }
    match kind {
        Starter::Review => of!("review"),
        Starter::Security => of!("security"),
        Starter::Sales => of!("sales"),
        Starter::Publishing => of!("publishing"),
    }
}

/// Prints or writes one of them.
pub(super) fn new(args: &WorkflowNewArgs) -> Result<Exit, Failure> {
    let (project, org) = files(args.kind);
    let text = if args.org { named(org, &key::default_name()) } else { project.to_owned() };
    match &args.out {
        None => output::bytes(text.as_bytes()),
        Some(path) => {
            write(path, &text)?;
            output::out(&path.display().to_string());
        }
    }
    Ok(Exit::Success)
}

/// An org chart in which the person has their name in whose name `holdpoint approve` acts.
fn named(org: &str, person: &AgentName) -> String {
    org.replace(STANDS_FOR_YOU, person.as_str())
}

/// Writes a file that was not there.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        let message = format!("cannot write {}: {error}", path.display());
        if error.kind() == std::io::ErrorKind::AlreadyExists {
            return Failure::usage("file_exists", message, "nothing is overwritten: name another file with --out");
        }
        Failure::environment("cannot_write", message, "name a place that you may write to")
    })
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;
    use holdpoint_planfile::declared::{DeclaredFile, check};

    use super::*;

    /// Lines that are neither comments nor empty.
    fn lines(text: &str) -> Vec<&str> {
        text.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#')).collect()
    }

    #[test]
    fn every_starter_is_sound_with_its_org_chart() {
        for kind in Starter::value_variants() {
            let (project, org) = files(*kind);
            let source = |file, text: &'static str| DeclaredFile { file, bytes: text.as_bytes() };
            let found = check(&[source("project.yaml", project)], Some(source("org.yaml", org)), None, &|_| Ok(()));
            let told: Vec<String> = found.errors.iter().chain(&found.warnings).map(|found| found.render("")).collect();
            assert_eq!(told, [""; 0], "{kind:?}");
            let name = kind.to_possible_value().unwrap();
            assert_eq!(found.projects[0][0].name, name.get_name());
        }
    }

    #[test]
    fn an_org_chart_names_the_person_in_whose_name_one_approves() {
        for kind in Starter::value_variants() {
            let (_, org) = files(*kind);
            let named = named(org, &"human-ann".parse().unwrap());
            assert!(named.contains("- human-ann #") && !named.contains(STANDS_FOR_YOU), "{named}");
        }
    }

    #[test]
    fn a_starter_has_ten_or_so_lines_and_a_comment_on_each() {
        for kind in Starter::value_variants() {
            let (project, org) = files(*kind);
            assert!(lines(project).len() <= 16, "{kind:?} has {} lines", lines(project).len());
            for line in [lines(project), lines(org)].concat() {
                assert!(line.contains(" # "), "{kind:?}: {line}");
            }
        }
    }

    #[test]
    fn what_is_there_is_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("project.yaml");
        std::fs::write(&path, "mine").unwrap();
        let args = WorkflowNewArgs { kind: Starter::Sales, org: false, out: Some(path.clone()) };
        assert_eq!(new(&args).unwrap_err().exit(), Exit::Usage);
        assert_eq!(std::fs::read_to_string(path).unwrap(), "mine");
    }
}
