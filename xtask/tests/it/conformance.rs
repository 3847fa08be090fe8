//! `docs/conformance.md` claims nothing that no test shows.

use std::collections::HashSet;

use anyhow::Context as _;

use crate::files;

const TABLE: &str = "docs/conformance.md";

/// One row of the tables: id, paraphrase, state, tests.
struct Row {
    id: String,
    state: String,
    tests: String,
}

fn rows() -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for line in files::read(TABLE)?.lines().filter(|line| line.starts_with("| ") && line.contains('-')) {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [id, _, state, tests] = cells[..] else {
            anyhow::bail!("not four cells: {line}");
        };
        rows.push(Row { id: id.to_owned(), state: state.to_owned(), tests: tests.to_owned() });
    }
    Ok(rows)
}

/// Names of all functions of the workspace. That they are tests is not checked: a helper named here would be a lie.
fn functions() -> anyhow::Result<HashSet<String>> {
    let mut names = HashSet::new();
    for file in files::sources()? {
        for (_, rest) in file.text.match_indices("fn ").map(|(at, word)| file.text.split_at(at + word.len())) {
            let end = rest.find(|character: char| !character.is_alphanumeric() && character != '_');
            names.insert(rest[..end.unwrap_or(rest.len())].to_owned());
        }
    }
    Ok(names)
}

#[test]
fn every_conformance_claim_names_a_test_that_exists() -> anyhow::Result<()> {
    let functions = functions()?;
    let mut wrong = Vec::new();
    for Row { id, state, tests } in rows()? {
        let named: Vec<_> = tests.split('`').skip(1).step_by(2).collect();
        match state.as_str() {
            "open" => {}
            "done" | "partly" if named.is_empty() => wrong.push(format!("{id} is {state} and names no test")),
            "done" | "partly" => {}
            other => wrong.push(format!("{id}: the state is done, partly or open, not {other:?}")),
        }
        // `module::name` helps a reader; the last part is what must exist.
        let missing = named.iter().filter(|name| !functions.contains(name.rsplit("::").next().unwrap_or(name)));
        wrong.extend(missing.map(|name| format!("{id}: no function {name}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn conformance_rows_are_there_once_and_without_gaps() -> anyhow::Result<()> {
    let rows = rows()?;
    let mut seen = HashSet::new();
    let twice: Vec<_> = rows.iter().filter(|row| !seen.insert(&row.id)).map(|row| &row.id).collect();
    assert!(twice.is_empty(), "twice: {twice:?}");
    for (family, last) in
        [("FLY", 40), ("FLY-I", 9), ("GATE", 36), ("RETRY", 14), ("DOC", 9), ("SDLC", 10), ("CARD", 9)]
    {
        let separator = if family.contains('-') { "" } else { "-" };
        let missing: Vec<_> =
            (1..=last).map(|number| format!("{family}{separator}{number}")).filter(|id| !seen.contains(id)).collect();
        assert!(missing.is_empty(), "missing: {missing:?}");
    }
    rows.first().context("the tables have rows").map(drop)
}
