use std::collections::BTreeSet;

use super::{compiled::Meaning, *};
use crate::{ChangeFinding, ChangeFindings, ChangedSource, FindingGroup, added};

mod changes;
mod cpp;
mod files;
mod go;
mod java;
mod javascript;
mod python;
mod rust;
mod shell;

/// A rule, a path, code that the rule names, and code that is much like it and is not named.
type Row = (&'static str, &'static str, &'static str, &'static str);

const TABLES: [(RuleLanguage, &[&[Row]]); 7] = [
    (RuleLanguage::Cpp, &[cpp::ROWS, cpp::TEST_ROWS]),
    (RuleLanguage::Go, &[go::ROWS]),
    (RuleLanguage::Java, &[java::ROWS, java::TEST_ROWS]),
    (RuleLanguage::JavaScript, &[javascript::ROWS, javascript::TEST_ROWS]),
    (RuleLanguage::Python, &[python::ROWS, python::TEST_ROWS]),
    (RuleLanguage::Rust, &[rust::ROWS]),
    (RuleLanguage::Shell, &[shell::ROWS]),
];

fn change(path: &str, before: Option<&str>, after: &str) -> ChangedSource {
    let is_test = ["tests/", "conftest", ".test.", "_test.go"].iter().any(|part| path.contains(part));
    ChangedSource { path: path.to_owned(), before: before.map(str::to_owned), after: Some(after.to_owned()), is_test }
}

/// The findings as callers get them, without the helper.
fn found(changes: &[ChangedSource], own: &[RuleFile]) -> ChangeFindings {
    match scan(changes, own) {
        ScanAnswer::Scanned { rules, files } => added::findings(changes, &rules, &files),
        ScanAnswer::BadRules(error) => panic!("{error}"),
    }
}

fn found_in(path: &str, text: &str) -> Vec<ChangeFinding> {
    found(&[change(path, None, text)], &[]).findings
}

fn shipped(language: RuleLanguage) -> Vec<CompiledFile> {
    let file = |(name, text): &(&str, &str)| RuleFile { name: (*name).to_owned(), text: (*text).to_owned() };
    language.shipped().iter().map(|shipped| compile(language, &file(shipped)).unwrap()).collect()
}

#[test]
fn every_shipped_file_fits_its_grammar() {
    // Compiling panics for one that does not.
    assert_eq!(RuleLanguage::ALL.map(shipped).len(), RuleLanguage::ALL.len());
}

/// Whether the row's rule names each of the texts. All are scanned at once: compiling the rules takes most of the time.
fn named(texts: &[(&Row, &str)]) -> Vec<bool> {
    let changes: Vec<ChangedSource> = texts.iter().map(|((_, path, ..), text)| change(path, None, text)).collect();
    let ScanAnswer::Scanned { rules, files } = scan(&changes, &[]) else { panic!("there are no rules of a project") };
    let ids = |file: &Scanned| match file {
        Scanned::Seen { after, .. } => after.iter().map(|found| rules[found.rule].id.clone()).collect::<Vec<_>>(),
        Scanned::Unseen(reason) => panic!("{reason:?}"),
    };
    texts.iter().zip(&files).map(|(((rule, ..), _), file)| ids(file).iter().any(|id| id == rule)).collect()
}

#[test]
fn every_rule_names_its_sample_and_not_what_is_much_like_it() {
    let rows: Vec<&Row> = TABLES.iter().flat_map(|(_, tables)| *tables).flat_map(|rows| *rows).collect();
    let samples: Vec<(&Row, &str)> = rows.iter().map(|row| (*row, row.2)).collect();
    let nears: Vec<(&Row, &str)> = rows.iter().map(|row| (*row, row.3)).collect();
    let missed = samples.iter().zip(named(&samples)).filter(|(_, named)| !named);
    let wrong = nears.iter().zip(named(&nears)).filter(|(_, named)| *named);
    let all: Vec<_> = missed.chain(wrong).map(|(((rule, path, ..), text), named)| (rule, path, text, named)).collect();
    assert!(all.is_empty(), "{all:#?}");
}

#[test]
fn every_rule_has_a_row_and_says_what_it_is_about_in_a_sentence() {
    for (language, tables) in TABLES {
        let rows: BTreeSet<&str> = tables.iter().flat_map(|rows| *rows).map(|(rule, ..)| *rule).collect();
        let mut rules = BTreeSet::new();
        for file in shipped(language) {
            for pattern in file.patterns {
                let Meaning::Rule(rule) = pattern.meaning else { continue };
                assert!(rule.info.sentence.ends_with('.'), "{}", rule.info.sentence);
                rules.insert(rule.info.id);
            }
        }
        assert_eq!(rules.iter().map(String::as_str).collect::<BTreeSet<_>>(), rows, "{language:?}");
    }
}

#[test]
fn every_rule_is_listed_for_people() {
    let page = include_str!("../../../docs/verify.md");
    for (name, text) in TABLES.iter().flat_map(|(language, _)| language.shipped()) {
        for rule in text.split("(#set! rule \"").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(page.contains(&format!("`{rule}`")), "{name}: {rule}");
        }
    }
}

#[test]
fn rules_for_javascript_hold_for_typescript_too() {
    for path in ["src/a.ts", "src/a.mts", "src/a.tsx"] {
        let findings = found_in(path, "const who: string = new Error().stack!;\n// eslint-disable-next-line\n");
        let rules: Vec<&str> = findings.iter().map(|finding| &*finding.rule).collect();
        assert_eq!(rules, ["looks-at-callers", "silences-tool"], "{path}");
    }
}
