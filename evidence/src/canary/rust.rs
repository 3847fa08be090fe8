//! Canaries in Rust: a module of tests at the end of the root of a test program, for libtest and nextest.

use std::{collections::BTreeSet, fmt::Write as _};

use super::{Planted, marks::FileMarks};

/// Tests that have to fail, without their name, with `@A` and `@B` for two numbers that differ.
const TESTS: [&str; 7] = [
    "#[test] fn @N() { assert_eq!(@Au32, @Bu32); }",
    "#[test] fn @N() { assert_ne!(@Au32, @Au32); }",
    "#[test] fn @N() { assert!(@Au32 == @Bu32); }",
    "#[test] fn @N() { assert!(@Au32 == @Bu32, \"@A\"); }",
    "#[test] fn @N() { panic!(\"@A\"); }",
    "#[test] fn @N() -> Result<(), u32> { Err(@A) }",
    "#[test] #[should_panic] fn @N() {}",
];

/// The file with canaries. libtest runs tests in the order of their names: the module's is the last, so that the other
/// tests have begun before.
///
/// `filter` is what the line filters tests by: the canaries have it in their names.
pub(super) fn plant(mut marks: FileMarks<'_>, text: &str, filter: Option<&str>) -> Planted {
    let mut segments: Vec<&str> =
        filter.map(|filter| filter.split("::").filter(|name| is_name(name)).collect()).unwrap_or_default();
    let name = segments.pop().unwrap_or("test");
    let module = marks.next();
    let mut out = format!("{text}\n\n#[cfg(test)]\nmod zz_{module} {{\n");
    for segment in &segments {
        let _ = writeln!(out, "mod {segment} {{");
    }
    let mut all = BTreeSet::new();
    for test in TESTS {
        let mark = marks.next();
        let (a, b) = (u32::from(marks.number()) + 1, u32::from(marks.number()) + 2);
        let test = test.replace("@N", &format!("{name}_{mark}"));
        let _ = writeln!(out, "    {}", test.replace("@A", &a.to_string()).replace("@B", &b.to_string()));
        all.insert(mark);
    }
    out.push_str(&"}\n".repeat(segments.len() + 1));
    Planted { text: out, marks: all }
}

/// Whether a segment of a filter can be a name.
fn is_name(segment: &str) -> bool {
    const KEYWORDS: [&str; 8] = ["crate", "self", "super", "mod", "fn", "use", "type", "impl"];
    !segment.is_empty() && !segment.starts_with(|c: char| c.is_ascii_digit()) && !KEYWORDS.contains(&segment)
}
