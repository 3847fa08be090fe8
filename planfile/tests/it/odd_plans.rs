//! Plans in odd shapes: other line ends, other encodings, bombs, and plans as large as they get.

use std::fmt::Write as _;

use holdpoint_planfile::plan::{self, BUILT_IN_WORKFLOWS, FILE_BYTES_MAX, GOAL_BYTES_MAX, PlanErrors, WAYPOINTS_MAX};
use holdpoint_protocol::plan::Plan;

use crate::MINIMAL;

fn read(bytes: &[u8]) -> Result<Plan, PlanErrors> {
    plan::read_bytes(bytes, "plan.yaml", BUILT_IN_WORKFLOWS)
}

/// The only problem of a file, as `line:column: message`.
fn only(bytes: &[u8]) -> String {
    let errors = read(bytes).expect_err("the plan has a problem").errors;
    let told: Vec<String> = errors.iter().map(|p| format!("{}:{}: {}", p.line, p.column, p.message)).collect();
    assert_eq!(told.len(), 1, "{told:#?}");
    told.concat()
}

/// A plan of `count` waypoints, each with the keys that `more` gives it.
fn wide(count: usize, more: impl Fn(usize) -> String) -> String {
    let mut text = "plan: p\nwaypoints:\n".to_owned();
    for i in 0..count {
        let _ = writeln!(text, "  - {{id: w{i}, goal: g, criteria: [{{id: c, check: x}}]{}}}", more(i));
    }
    text
}

#[test]
fn a_byte_order_mark_and_other_line_ends_change_nothing() {
    let expected = read(MINIMAL.as_bytes()).unwrap();
    let windows = MINIMAL.replace('\n', "\r\n");
    for text in
        [format!("\u{feff}{MINIMAL}"), windows.clone(), format!("\u{feff}{windows}"), format!("---\n{MINIMAL}...\n")]
    {
        assert_eq!(read(text.as_bytes()).unwrap(), expected, "{text:?}");
    }
    let wrong = windows.replace("goal", "gaol");
    assert_eq!(read(wrong.as_bytes()).unwrap_err().errors[0].line, 4);
}

#[test]
fn a_file_without_a_plan_has_one_problem() {
    for text in ["", " ", "\n\n", "# a comment\n", "---\n", "--- ~\n", "\u{feff}", "null"] {
        assert_eq!(only(text.as_bytes()), "1:1: the plan is empty", "{text:?}");
    }
}

#[test]
fn what_is_not_text_is_refused_at_its_place() {
    assert_eq!(only(b"plan: p\nb\xc3\xa4se: \xff\n"), "2:7: the file is not UTF-8 text");
    let wide: Vec<u8> = MINIMAL.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(only(&[b"\xff\xfe".to_vec(), wide].concat()).starts_with("1:1: the file is not UTF-8 text"));
    assert!(read(b"\x7fELF\x02\x01\x01\0\0\0").is_err());
    assert!(only(b"plan: p\0\n").starts_with("1:"));
}

#[test]
fn a_tab_as_indentation_is_refused() {
    let told = only(MINIMAL.replace("    goal", "\tgoal").as_bytes());
    assert!(told.contains("this is not YAML") && told.contains("tab"), "{told}");
}

#[test]
fn yaml_that_is_not_plain_data_is_refused() {
    for (line, message) in [
        ("    tags: [&x a, *x]", "aliases are not supported"),
        ("    metadata: {<<: *x}", "this is not YAML"),
        ("    title: !!str x", "tags are not supported"),
        ("    metadata: !secret {a: 1}", "tags are not supported"),
        ("    metadata: {[a, b]: 1}", "a list cannot be a key"),
        ("    metadata: {{a: b}: 1}", "a mapping cannot be a key"),
        ("--- \nplan: q", "a second document starts here"),
        ("%YAML 1.2", "this is not YAML"),
    ] {
        let text = format!("{MINIMAL}{line}\n");
        assert!(only(text.as_bytes()).contains(message), "{line}: {}", only(text.as_bytes()));
    }
}

#[test]
fn a_bomb_of_aliases_is_refused_before_it_grows() {
    let mut text = "plan: p\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for i in 1..30 {
        let all = vec![format!("*a{}", i - 1); 10].join(", ");
        let _ = writeln!(text, "a{i}: &a{i} [{all}]");
    }
    let errors = read(text.as_bytes()).unwrap_err().errors;
    assert!(errors.iter().any(|error| error.message == "aliases are not supported"), "{errors:#?}");
}

#[test]
fn deep_nesting_is_refused_however_it_is_written() {
    let deep = |open: &str, close: &str, n: usize| {
        format!("{MINIMAL}    metadata: {{m: {}{}}}\n", open.repeat(n), close.repeat(n))
    };
    assert!(read(deep("[", "]", 25).as_bytes()).is_ok());
    for (open, close) in [("[", "]"), ("{a: ", "}"), ("[{a: ", "}]")] {
        for n in [100, 20_000] {
            let told = only(deep(open, close, n).as_bytes());
            assert!(told.contains("nested deeper than 32 levels") || told.contains("recursion limit"), "{told}");
        }
    }
    let mut blocks = MINIMAL.to_owned() + "    metadata:\n";
    for i in 0..100 {
        let _ = writeln!(blocks, "{}k:", " ".repeat(6 + i));
    }
    assert!(only(blocks.as_bytes()).contains("nested deeper than 32 levels"));
    assert!(
        only(format!("{MINIMAL}    tests:\n      {}x\n", "- ".repeat(20_000)).as_bytes()).contains("nested deeper")
    );
}

#[test]
fn a_file_that_is_too_large_is_refused_unread() {
    assert!(only(&vec![0xff; FILE_BYTES_MAX + 1]).contains("larger than 4 MiB"));
    let long = "x".repeat(GOAL_BYTES_MAX);
    assert_eq!(read(MINIMAL.replace("do it", &long).as_bytes()).unwrap().waypoints[0].goal, long);
    let keys = only(format!("{MINIMAL}{}: x\n", "k".repeat(1_000)).as_bytes());
    assert!(keys.len() < 200, "{keys}");
    let lists = "[],".repeat(500_001);
    assert!(only(format!("{MINIMAL}    tests: [{lists}]\n").as_bytes()).contains("more than 500000 keys and values"));
}

#[test]
fn too_many_waypoints_are_refused_by_their_number() {
    let told = only(wide(WAYPOINTS_MAX + 1, |_| String::new()).as_bytes());
    assert!(told.contains("the plan has 5001 waypoints, more than 5000"), "{told}");
    // A hundred thousand are more than a file may hold, or more values than are read, or counted.
    let lean: String = (0..100_000).map(|i| format!("- {{id: w{i}}}\n")).collect();
    let told = only(format!("plan: p\nwaypoints:\n{lean}").as_bytes());
    assert!(told.contains("the plan has 100000 waypoints, more than 5000"), "{told}");
    assert!(only(wide(100_000, |_| String::new()).as_bytes()).contains("larger than 4 MiB"));
}

/// How the waypoint with a number goes on.
type Keys<'a> = &'a dyn Fn(usize) -> String;

#[test]
fn large_plans_are_read_whatever_depends_on_what() {
    let chain = |i: usize| if i == 0 { String::new() } else { format!(", depends_on: [w{}]", i - 1) };
    let star = |i: usize| if i == 0 { String::new() } else { ", depends_on: [w0]".to_owned() };
    let dense = |i: usize| {
        let all: Vec<String> = (i.saturating_sub(20)..i).map(|on| format!("w{on}")).collect();
        format!(", depends_on: [{}]", all.join(", "))
    };
    for more in [&|_| String::new(), &chain as Keys<'_>, &star, &dense] {
        let plan = read(wide(2_000, more).as_bytes());
        assert_eq!(plan.map(|plan| plan.waypoints.len()).map_err(|errors| errors.render()), Ok(2_000));
    }
}

#[test]
fn large_plans_are_refused_whatever_is_wrong_with_them() {
    let pairs = |i: usize| format!(", depends_on: [w{}]", i ^ 1);
    let strangers = |i: usize| format!(", depends_on: [x{i}]");
    let keys = |i: usize| (0..3).map(|k| format!(", unknown{i}_{k}: 1")).collect::<String>();
    // All of them lead to the one circle at the end.
    let tail = |i: usize| format!(", depends_on: [w{}]", if i < 1_999 { i + 1 } else { 1_998 });
    for more in [&pairs as Keys<'_>, &strangers, &keys, &tail] {
        assert!(!read(wide(2_000, more).as_bytes()).unwrap_err().errors.is_empty());
    }
}
