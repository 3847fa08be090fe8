use super::super::softened;
use super::*;

const BASE: &str = r##"
pub fn add(a: i32, b: i32) -> i32 { a + b }
macro_rules! assert_close { ($a:expr) => { assert!($a < 0.1) }; }
macro_rules! product { () => { 1 } }
#[cfg(not(test))]
fn real() { 1; }
#[cfg(test)]
mod tests {
    use super::*;
    const EXPECTED: [i32; 2] = [3, 4];
    #[test]
    fn adds() { assert_eq!(add(1, 2), EXPECTED[0], "sums"); }
    #[test]
    fn says() -> Result<(), String> { Err("'}'".to_owned())?; Ok(()) }
    fn helper(x: i32) { assert!(x > 0); }
    mod inner {
        #[test]
        fn adds() { super::helper(1); }
    }
}
#[test]
fn alone() { helper('"'); }
"##;

fn of(after: &str) -> Softened {
    softened(&[ChangedText { path: "src/a.rs", test: false, before: Some(BASE), after: Some(after) }])
}

fn with(from: &str, to: &str) -> Softened {
    assert!(BASE.contains(from), "{from}");
    of(&BASE.replacen(from, to, 1))
}

fn one(names: &[&str]) -> ByFile {
    ByFile::from([("src/a.rs".to_owned(), names.iter().map(|name| (*name).to_owned()).collect())])
}

#[test]
fn a_test_that_asks_for_something_else_is_told_by_its_file_and_name() {
    let table: [(&str, &str, &[&str]); 12] = [
        ("add(1, 2)", "add(1, 3)", &["tests::adds"]),
        ("\"sums\"", "\"summs\"", &["tests::adds"]),
        ("[3, 4]", "[5, 4]", &["tests::EXPECTED"]),
        ("\"'}'\"", "\"'{'\"", &["tests::says"]),
        ("x > 0", "x > -1", &["tests::helper"]),
        ("super::helper(1)", "super::helper(2)", &["tests::inner::adds"]),
        ("$a < 0.1", "$a < 1.1", &["assert_close!"]),
        ("'\"'", "'\\''", &["alone"]),
        ("#[test]\n    fn adds", "#[test]\n#[ignore]\n    fn adds", &["tests::adds"]),
        ("#[test]\n    fn adds", "#[test]\n#[should_panic]\n    fn adds", &["tests::adds"]),
        ("#[test]\n    fn says", "#[test]\n#[cfg(windows)]\n    fn says", &["tests::says"]),
        ("fn adds() { assert_eq!", "fn adds() { if false { } ; assert_eq!", &["tests::adds"]),
    ];
    for (from, to, names) in table {
        let found = with(from, to);
        assert_eq!(found.told.rewritten, one(names), "{from} -> {to}");
        assert!(found.emptied.is_empty());
        let doubts = found.doubts();
        assert!(doubts.len() == 1 && doubts[0].contains(&format!("src/a.rs ({})", names[0])), "{doubts:?}");
    }
}

#[test]
fn what_is_no_change_of_a_test_is_not_told() {
    for (from, to) in [
        ("a + b", "b + a"),
        ("product { () => { 1 } }", "product { () => { 2 } }"),
        ("fn real() { 1; }", "fn real() { 2; }"),
        ("fn helper", "// why\n    /* and */ #[allow(dead_code)] #[doc = \"x\"]\n fn  helper"),
        ("mod inner {", "#[test] fn new() {}\n mod inner {"),
        ("#[test]\nfn alone", "#[test]\nfn new() {}\n#[test]\nfn alone"),
        ("use super::*;", "use super::*; use std::panic;"),
    ] {
        assert_eq!(with(from, to).told, TestRemarks::default(), "{from} -> {to}");
    }
}

#[test]
fn a_test_that_does_nothing_any_more_is_emptied() {
    for body in
        ["", "return;", "return; assert_eq!(1, 1)", "let x = 1; let _ = x != 2;", "if true { }", "\"assert!(x)\";"]
    {
        let found = with("assert_eq!(add(1, 2), EXPECTED[0], \"sums\");", body);
        assert_eq!(found.emptied, BTreeSet::from(["adds".to_owned()]), "{body}");
        assert_eq!(found.told.rewritten, one(&["tests::adds"]), "{body}");
    }
    let empty_before = BASE.replace("assert_eq!(add(1, 2), EXPECTED[0], \"sums\");", "");
    let file = ChangedText { path: "a.rs", test: false, before: Some(&empty_before), after: Some(BASE) };
    assert!(softened(&[file]).emptied.is_empty());
}

#[test]
fn a_moved_test_is_no_news_and_one_that_is_gone_or_moved_and_changed_is() {
    let test = "#[test]\nfn alone() { helper('\"'); }\n";
    let from = ChangedText { path: "src/a.rs", test: false, before: Some(test), after: Some("") };
    let to = |text| ChangedText { path: "src/b.rs", test: false, before: None, after: Some(text) };
    let inside = format!("mod tests {{ {test} }}");
    assert_eq!(softened(&[from, to(&inside)]).told, TestRemarks::default());
    let moved = ChangedText { path: "tests/b.rs", test: true, before: None, after: Some(test) };
    assert_eq!(softened(&[from, moved]).told, TestRemarks::default());
    assert_eq!(softened(&[from]).told.gone, one(&["alone"]));
    assert_eq!(softened(&[from, to("#[test] fn alone() { helper(1); }")]).told.rewritten, one(&["alone"]));
    let put_back = ChangedText { test: true, ..from };
    assert_eq!(softened(&[put_back]).told, TestRemarks::default(), "a test file is put back");
}

#[test]
fn what_comes_in_the_place_of_the_tests_own_code_is_told() {
    for (line, hook) in [
        ("#[ctor::ctor] fn first() {}", "ctor::ctor"),
        ("#[no_mangle] pub extern \"C\" fn main() {}", "no_mangle"),
        ("#[unsafe(no_mangle)] pub extern \"C\" fn main() {}", "unsafe(no_mangle)"),
        ("#[link_section = \".init_array\"] static F: fn() = f;", "link_section=.init_array"),
        ("#![cfg_attr(test, no_main)]", "cfg_attr(test,no_main)"),
    ] {
        let found = of(&format!("{line}\n{BASE}"));
        assert_eq!(found.told.hooks, one(&[hook]), "{line}");
        assert!(found.doubts()[0].contains(hook));
    }
    let other = with("use super::*;", "use super::*; use lenient::{assert_eq, other};");
    assert_eq!((other.told.imports, other.shadows), (one(&["assert_eq"]), BTreeSet::new()));
    let own = with("use super::*;", "use super::*; use crate::lenient::assert;");
    assert_eq!(own.shadows, BTreeSet::from(["assert".to_owned()]));
}

#[test]
fn doubts_are_short_however_much_was_changed() {
    let tests = |body: &str| (0..500).map(|n| format!("#[test] fn t{n}() {{ {body} }}\n")).collect::<String>();
    let (before, after) = (tests("f(1)"), tests("f(2)"));
    let paths: Vec<String> = (0..50).map(|n| format!("src/{n}.rs")).collect();
    let file = |path| ChangedText { path, test: false, before: Some(&before), after: Some(&after) };
    let mut found = softened(&paths.iter().map(|path| file(path)).collect::<Vec<_>>());
    found.told.unread = 3;
    let doubts = found.doubts();
    assert_eq!(doubts.len(), 2);
    assert!(doubts[0].len() < 2_000 && doubts[0].ends_with("and 40 more"), "{}", doubts[0]);
    assert!(doubts[1].starts_with("3 changed files"));
}

#[test]
fn torn_texts_end() {
    for end in 0..BASE.len() {
        if let Some(torn) = BASE.get(..end) {
            let _ = of(torn).doubts();
        }
    }
    for torn in [
        "fn",
        "#[test] fn",
        "macro_rules!",
        "use",
        "mod x {",
        "#[test] fn a(",
        "const X: u8 = {",
        "}}}} #![cfg(test)] fn a",
    ] {
        let _ = of(torn).doubts();
    }
}
