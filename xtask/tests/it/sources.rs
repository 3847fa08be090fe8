//! House rules of the sources, read as text. A rule that needs the meaning of the code belongs to clippy.

use std::collections::BTreeMap;

use crate::files::{self, TextFile};

/// Past this a file is hard to read as a whole; the aim is a quarter of it.
const LINES_MAX: usize = 500;

/// Members whose product code may start programs: the sandbox does it for all others, and chores are no product.
const STARTERS: [&str; 2] = ["sandbox/", "xtask/"];

/// Endings of the files that people read and that must make sense on every machine.
const TEXTS: [&str; 8] = [".rs", ".toml", ".md", ".yaml", ".yml", ".sh", ".json", ".py"];

fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Every line that `breaks` a rule, with its place.
fn lines_where(files: &[TextFile], breaks: impl Fn(&TextFile, &str) -> bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for file in files {
        for (index, line) in file.text.lines().enumerate() {
            if breaks(file, line) {
                wrong.push(format!("{}:{}: {}", file.path, index + 1, line.trim()));
            }
        }
    }
    wrong
}

#[test]
fn every_file_says_what_it_is_for() -> anyhow::Result<()> {
    let files = files::sources()?;
    // The name of a `tests.rs` next to its module says all there is to say.
    let told = |file: &&TextFile| file.path.ends_with("/tests.rs") || file.text.starts_with("//!");
    let silent = files.iter().filter(|file| !told(file));
    assert_none(&silent.map(|file| format!("{} does not begin with `//!`", file.path)).collect::<Vec<_>>());
    Ok(())
}

/// The name of a type that a line makes public, if it does.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub ")?;
    let named = ["struct ", "enum ", "trait ", "type "].iter().find_map(|kind| rest.strip_prefix(kind))?;
    // A name that a macro makes up is none here.
    named.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
}

#[test]
fn a_public_type_has_a_name_of_its_own() -> anyhow::Result<()> {
    let files = files::sources()?;
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in &files {
        for (number, line) in file.product_lines() {
            if let Some(name) = public_type(line) {
                places.entry(name).or_default().push(format!("{}:{number}", file.path));
            }
        }
    }
    assert!(places.len() > 500, "only {} public types were found", places.len());
    let shared = places.iter().filter(|(_, places)| places.len() > 1);
    assert_none(&shared.map(|(name, places)| format!("{name} is a type at {}", places.join(", "))).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn public_types_are_found_in_lines() {
    assert_eq!(public_type("    pub struct Place<'a> {"), Some("Place"));
    assert_eq!(public_type("pub type Lines = u8;"), Some("Lines"));
    assert_eq!(public_type("pub(crate) enum Place {"), None);
    assert_eq!(public_type("/// pub enum Place"), None);
    assert_eq!(public_type("    pub struct $name {"), None);
}

#[test]
fn modules_are_files_beside_their_folder() -> anyhow::Result<()> {
    let files = files::sources()?;
    let wrong = files.iter().filter(|file| file.path.ends_with("/mod.rs"));
    assert_none(&wrong.map(|file| format!("{}: use `name.rs` beside `name/`", file.path)).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn files_can_be_read_as_a_whole() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for file in files::sources()?.iter().filter(|file| !file.is_test()) {
        let lines = file.product_lines().count();
        if lines > LINES_MAX {
            wrong.push(format!("{} has {lines} lines, more than {LINES_MAX}", file.path));
        }
    }
    assert_none(&wrong);
    Ok(())
}

#[test]
fn no_test_file_is_forgotten() -> anyhow::Result<()> {
    let files = files::sources()?;
    let mut wrong = Vec::new();
    for file in &files {
        let Some((member, module)) = file.path.split_once("tests/it/") else { continue };
        // Files in folders below are named by the file next to their folder, and the compiler checks those.
        let Some(module) = module.strip_suffix(".rs").filter(|module| !module.contains('/') && *module != "main")
        else {
            continue;
        };
        let main = format!("{member}tests/it/main.rs");
        let declaration = format!("mod {module};");
        let named = files.iter().any(|file| file.path == main && file.text.lines().any(|line| line == declaration));
        if !named {
            wrong.push(format!("{} is not in {main}", file.path));
        }
    }
    assert_none(&wrong);
    Ok(())
}

#[test]
fn integration_tests_of_a_member_are_one_binary() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for member in files::members()? {
        let folder = format!("{member}/tests/");
        for file in files::below(&folder, &[".rs"])? {
            if !file.path.trim_start_matches(&folder).contains('/') {
                wrong.push(format!("{}: move it below {folder}it/", file.path));
            }
        }
    }
    assert_none(&wrong);
    Ok(())
}

#[test]
fn no_test_is_switched_off() -> anyhow::Result<()> {
    assert_none(&lines_where(&files::sources()?, |_, line| line.trim_start().starts_with("#[ignore")));
    Ok(())
}

/// Members that are no product, and the one that has the way in which temporary folders are made.
const FOLDER_MAKERS: [&str; 4] = ["sandbox/", "bench/", "tests/", "xtask/"];

#[test]
fn temporary_folders_are_made_in_one_way() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for file in files::sources()? {
        if file.is_test() || FOLDER_MAKERS.iter().any(|folder| file.path.starts_with(folder)) {
            continue;
        }
        for (number, line) in file.product_lines() {
            if ["tempdir()", "TempDir::new"].iter().any(|way| line.contains(way)) && !line.contains("//") {
                wrong.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    assert_none(&wrong);
    Ok(())
}

#[test]
fn only_the_sandbox_starts_programs() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for file in files::sources()? {
        if file.is_test() || STARTERS.iter().any(|folder| file.path.starts_with(folder)) {
            continue;
        }
        for (number, line) in file.product_lines() {
            let code = line.split("//").next().unwrap_or_default();
            let grouped = code.contains("process::{") && code.contains("Command");
            if code.contains("process::Command") || grouped {
                wrong.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    assert_none(&wrong);
    Ok(())
}

#[test]
fn nothing_names_a_place_of_one_machine() -> anyhow::Result<()> {
    // Put together here, so that this file does not find itself.
    let places = [concat!("/wo", "rk/"), concat!("/ro", "ot/."), concat!("arti", "factory")];
    let files = files::below("", &TEXTS)?;
    assert_none(&lines_where(&files, |_, line| {
        places.iter().any(|place| {
            let starts_a_path = |at: usize| !line[..at].ends_with(|before: char| before.is_alphanumeric());
            line.match_indices(place).any(|(at, _)| !place.starts_with('/') || starts_a_path(at))
        })
    }));
    Ok(())
}
