//! Files of rules of a project: the settings that they make, and the errors of broken ones.

use super::*;

const RULE: &str = "; Why.\n((call function: (identifier) @f) @at (#eq? @f \"launch\")\n  (#set! rule \"launches\") \
    (#set! group \"suspicious\") (#set! sentence \"The line launches.\"))\n";

fn file(name: &str, text: &str) -> RuleFile {
    RuleFile { name: name.to_owned(), text: text.to_owned() }
}

#[test]
fn a_rule_of_a_project_is_a_rule_like_the_others() {
    let own = [file(".holdpoint/rules/python-rockets.scm", RULE)];
    assert_eq!(check_rules(&own[0]), Ok(()));
    let found = found(&[change("a.py", None, "launch()\n"), change("tests/a.py", None, "launch()\n")], &own);
    let rules: Vec<(&str, &str)> = found.findings.iter().map(|it| (&*it.path, &*it.rule)).collect();
    assert_eq!(rules, [("a.py", "launches")]);
}

#[test]
fn a_rule_uses_paths_regions_and_names() {
    let rest = "(#set! group \"suppression\") (#set! sentence \"S.\") (#set! where \"any\")";
    let own = [
        file(
            "python.scm",
            &format!("((integer) @at (#set! rule \"in-path\") {rest} (#set! path \"^a/\") (#set! not-path \"b\"))"),
        ),
        file("python-2.scm", &format!("((float) @at (#set! rule \"outside\") {rest} (#set! not-in \"program\"))")),
        file(
            "python-3.scm",
            &format!(
                "((call function: (identifier) @name) @at (#set! rule \"named\") {rest} (#set! named \"imported\"))"
            ),
        ),
    ];
    let text = "import x\nx(1)\nif __name__ == '__main__':\n    y = 1.5\nz = 2.5\ny()\n";
    let rules = |path: &str| -> Vec<(u32, String)> {
        found(&[change(path, None, text)], &own).findings.into_iter().map(|it| (it.line, it.rule)).collect()
    };
    let both = [(2, "named".to_owned()), (5, "outside".to_owned())];
    assert_eq!(rules("b.py"), both);
    assert_eq!(rules("a/b.py"), both);
    assert_eq!(rules("a/c.py")[0], (2, "in-path".to_owned()));
}

#[test]
fn a_rule_asks_for_a_body_without_a_region_that_a_name_makes() {
    let own = [file(
        "python.scm",
        "((function_definition name: (identifier) @name) (#set! names \"here\"))\n\
        ((call function: (identifier) @name) @region (#set! named \"here\") (#set! region \"own-call\"))\n\
        ((function_definition name: (identifier) @at body: (block) @body) (#set! rule \"calls-no-own\")\n\
        (#set! group \"suppression\") (#set! sentence \"S.\") (#set! without \"own-call\"))",
    )];
    let text = "def a():\n    b()\n\ndef b():\n    c()\n\na()\n";
    let found = found(&[change("a.py", None, text)], &own).findings;
    assert_eq!(found.iter().map(|it| (it.line, &*it.rule)).collect::<Vec<_>>(), [(4, "calls-no-own")]);
}

#[test]
fn a_broken_file_is_refused_with_its_line_and_the_problem() {
    let set = |settings: &str| format!("; A comment.\n\n((identifier) @at {settings})\n");
    let whole = "(#set! rule \"r\") (#set! group \"suspicious\") (#set! sentence \"S.\")";
    for (text, line, problem) in [
        ("\n((call) @at".to_owned(), 2, "no tree-sitter query"),
        ("\n\n(no_such_node) @at".to_owned(), 3, "has no node \"no_such_node\""),
        ("(call no_field: (_)) @at".to_owned(), 1, "has no field \"no_field\""),
        ("((call) @at (#eq? @other \"x\"))".to_owned(), 1, "capture \"other\""),
        ("((call) @at\n (#match? @at \"(\"))".to_owned(), 1, "predicate is wrong"),
        ("(integer (identifier)) @at".to_owned(), 1, "no code can match"),
        (set(""), 3, "one of rule, region and names"),
        (set("(#set! rule \"r\")"), 3, "sets no group"),
        (set("(#set! rule \"r\") (#set! group \"suspicious\")"), 3, "sets no sentence"),
        (set("(#set! rule \"r\") (#set! group \"bad\")"), 3, "suspicious or suppression, not \"bad\""),
        (set("(#set! rule \"A b\") (#set! group \"suspicious\")"), 3, "other characters"),
        (set(&format!("{whole} (#set! where \"here\")")), 3, "product, test or any, not \"here\""),
        (set(&format!("{whole} (#set! path \"(\")")), 3, "no regular expression"),
        (set(&format!("{whole} (#set! rule \"r\")")), 3, "sets \"rule\" twice"),
        (set(&format!("{whole} (#set! weight \"1\")")), 3, "no setting is called \"weight\""),
        (set(&format!("{whole} (#set! path)")), 3, "has no value"),
        (set(&format!("{whole} (#looks-odd? @at)")), 3, "no predicate is called #looks-odd?"),
        (set(&format!("{whole} (#set! named \"imported\")")), 3, "no @name"),
        (set(&format!("{whole} (#set! without \"r\")")), 3, "no @body"),
        ("((identifier) @region (#set! region \"r\") (#set! named \"s\"))".to_owned(), 1, "no @name"),
        (format!("((identifier) @x {whole})"), 1, "no @at"),
        ("((identifier) @at (#set! region \"r\"))".to_owned(), 1, "no @region"),
        (format!("\n{}", "(".repeat(70_000)), 2, "brackets are open"),
        ("; x\n".repeat(70_000), 1, "longer than"),
    ] {
        let error = check_rules(&file("rules/python.scm", &text)).unwrap_err();
        assert_eq!((&*error.file, error.line), ("rules/python.scm", line), "{error}");
        assert!(error.problem.contains(problem), "{error}");
    }
    let error = check_rules(&file("rules/cobol.scm", RULE)).unwrap_err();
    assert!(error.problem.contains("no language is called \"cobol\""), "{error}");
}

#[test]
fn rules_are_checked_for_all_grammars_of_their_language() {
    let text = RULE.replace("(call ", "(call_expression ");
    assert_eq!(check_rules(&file("javascript.scm", &text)), Ok(()));
    let only = "((type_annotation) @at (#set! rule \"r\") (#set! group \"suspicious\") (#set! sentence \"S.\"))";
    assert_eq!(check_rules(&file("typescript.scm", only)), Ok(()));
    assert!(check_rules(&file("javascript.scm", only)).is_err());
    assert_eq!(check_rules(&file("python.scm", "")), Ok(()));
}
