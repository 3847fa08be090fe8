//! `docs/conformance.md` and `docs/projects.md` claim nothing that no test shows.

use std::collections::HashSet;

use crate::files;

const TABLE: &str = "docs/conformance.md";
const PROJECTS: &str = "docs/projects.md";

/// What there is to do: a family of rows, the number of its last one, and those that were put in between.
const FAMILIES: [(&str, u32, &[&str]); 7] = [
    ("FLY-", 40, &["10a", "10b", "22a", "29a"]),
    ("FLY-I", 9, &[]),
    ("GATE-", 36, &["7a", "7b", "7c", "20a"]),
    ("RETRY-", 14, &["1a", "1b", "4a"]),
    ("DOC-", 9, &[]),
    ("SDLC-", 10, &["2a"]),
    ("CARD-", 9, &[]),
];

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

/// Names of all tests of the workspace.
fn tests() -> anyhow::Result<HashSet<String>> {
    Ok(files::sources()?.iter().flat_map(|file| tests_of(&file.text)).map(str::to_owned).collect())
}

/// Names of a source's tests: functions with an attribute that makes them one, and those that a macro of the same file makes
/// into tests. A helper next to them is none.
fn tests_of(source: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut marked, mut making) = (false, false);
    for line in source.lines() {
        let code = line.trim();
        if code.starts_with("#[test]") || code.starts_with("#[tokio::test") {
            marked = true;
        } else if makers(source).any(|name| line == format!("{name}! {{")) {
            making = true;
        } else if line == "}" {
            making = false;
        } else if let Some(name) = function(code) {
            found.extend((marked || making).then_some(name));
            marked = false;
        } else if code.is_empty() || code.ends_with(['}', ';', '{']) {
            marked = false;
        }
    }
    found
}

/// Names of a source's macros that make tests.
fn makers(source: &str) -> impl Iterator<Item = &str> {
    source.split("\nmacro_rules! ").skip(1).filter_map(|rest| {
        let (name, body) = rest.split_once(" {")?;
        let (body, _) = body.split_once("\n}")?;
        body.contains("test]").then_some(name)
    })
}

/// The name of the function that a line begins.
fn function(code: &str) -> Option<&str> {
    let words = code.trim_start_matches("pub").trim_start_matches("(crate)").trim_start_matches("(super)").trim_start();
    let rest = words.strip_prefix("async ").unwrap_or(words).strip_prefix("fn ")?;
    let end = rest.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(rest.len());
    Some(&rest[..end]).filter(|name| !name.is_empty())
}

/// Every row there has to be, in the tables' order.
fn known() -> Vec<String> {
    let numbered = |(family, last, lettered): &(&str, u32, &[&str])| -> Vec<String> {
        let after = |number: u32| {
            let of_it = move |name: &&&str| name.trim_end_matches(char::is_alphabetic) == number.to_string();
            lettered.iter().filter(of_it).map(|name| format!("{family}{name}")).collect::<Vec<_>>()
        };
        (1..=*last).flat_map(|number| [vec![format!("{family}{number}")], after(number)].concat()).collect()
    };
    FAMILIES.iter().flat_map(numbered).collect()
}

#[test]
fn every_conformance_claim_names_a_test_that_exists() -> anyhow::Result<()> {
    let known = tests()?;
    let mut wrong = Vec::new();
    for Row { id, state, tests } in rows()? {
        let named: Vec<_> = tests.split('`').skip(1).step_by(2).collect();
        let said: String = tests.split('`').step_by(2).collect();
        match state.as_str() {
            "open" if !named.is_empty() => wrong.push(format!("{id} is open and names tests")),
            "open" => {}
            "done" | "partly" if named.is_empty() => wrong.push(format!("{id} is {state} and names no test")),
            "partly" if !said.contains(char::is_alphabetic) => wrong.push(format!("{id} does not say what is missing")),
            "done" | "partly" => {}
            other => wrong.push(format!("{id}: the state is done, partly or open, not {other:?}")),
        }
        let mut once = HashSet::new();
        wrong.extend(named.iter().filter(|name| !once.insert(**name)).map(|name| format!("{id} names {name} twice")));
        // `module::name` helps a reader; the last part is what must exist.
        let missing = named.iter().filter(|name| !known.contains(name.rsplit("::").next().unwrap_or(name)));
        wrong.extend(missing.map(|name| format!("{id}: no test {name}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn every_kind_of_project_that_is_supported_names_tests_that_exist() -> anyhow::Result<()> {
    let known = tests()?;
    let text = files::read(PROJECTS)?;
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| kind |")).collect();
    let mut wrong = Vec::new();
    for row in &rows {
        let shown = row.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
        let named: Vec<_> = shown.split('`').skip(1).step_by(2).collect();
        if named.is_empty() && shown != "not shown" {
            wrong.push(format!("no test: {row}"));
        }
        wrong.extend(named.iter().filter(|name| !known.contains(**name)).map(|name| format!("no test {name}")));
    }
    assert!(wrong.is_empty() && rows.len() > 20, "{wrong:#?}");
    Ok(())
}

#[test]
fn every_row_is_there_once_and_no_other() -> anyhow::Result<()> {
    let rows: Vec<String> = rows()?.into_iter().map(|row| row.id).collect();
    let known = known();
    let differing = |rows: &[String], others: &[String]| -> Vec<String> {
        let times = |ids: &[String], id: &String| ids.iter().filter(|other| *other == id).count();
        rows.iter().filter(|id| times(rows, id) > times(others, id)).cloned().collect()
    };
    assert_eq!(differing(&known, &rows), Vec::<String>::new(), "missing");
    assert_eq!(differing(&rows, &known), Vec::<String>::new(), "unknown, or there twice");
    Ok(())
}

#[test]
fn a_helper_is_not_taken_for_a_test() {
    let source = "#[test]
fn a_test() {
    fn inner() {}
}

#[tokio::test(flavor = \"multi_thread\")]
#[expect(
    clippy::x,
    reason = \"long\"
)]
async fn an_async_test() {}

fn helper() {}

macro_rules! matrix {
    ($(fn $name:ident),*) => {
        $(#[tokio::test] async fn $name() {})*
    };
}

matrix! {
    fn one_of_a_matrix,
    fn another_of_it
}

proptest! {
    #[test]
    fn a_property(x in 0..3) {}

    fn not_a_property(x in 0..3) {}
}
";
    assert_eq!(tests_of(source), ["a_test", "an_async_test", "one_of_a_matrix", "another_of_it", "a_property"]);
}

#[test]
fn the_known_rows_are_those_of_the_tables_headings() {
    let known = known();
    assert_eq!(known.len(), 139);
    for id in ["FLY-1", "FLY-10b", "FLY-40", "FLY-I9", "GATE-7a", "GATE-20a", "RETRY-4a", "SDLC-2a", "CARD-9"] {
        assert_eq!(known.iter().filter(|known| *known == id).count(), 1, "{id}");
    }
    let ten = known.iter().position(|id| id == "FLY-10");
    assert_eq!(known.get(ten.map_or(0, |at| at + 1)).map(String::as_str), Some("FLY-10a"));
}
