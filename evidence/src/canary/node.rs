//! Canaries for node's own test runner, in modules of either kind.

use std::{collections::BTreeSet, fmt::Write as _};

use super::{Planted, marks::FileMarks};

/// Bodies of tests that have to fail, with `@E` for the module of assertions.
const TESTS: [&str; 7] = [
    "@E.strictEqual(@A, @B)",
    "@E.equal(@A, @B)",
    "@E.deepStrictEqual([@A], [@B])",
    "@E.ok(@A === @B)",
    "@E(@A === @B)",
    "@E.throws(() => @A)",
    "throw new Error(\"@A\")",
];

/// The file with canaries at its end, where it uses node's runner.
pub(super) fn plant(marks: FileMarks<'_>, path: &str, text: &str) -> Option<Planted> {
    if !text.contains("node:test") {
        return None;
    }
    let (canaries, marks) = canaries(marks, is_module(path, text));
    Some(Planted { text: format!("{text}\n{canaries}"), marks })
}

/// Only the canaries of a file.
pub(super) fn alone(marks: FileMarks<'_>, path: &str, text: &str) -> String {
    canaries(marks, is_module(path, text)).0
}

/// Whether the file is an ECMAScript module: by its name, or by a line that imports.
fn is_module(path: &str, text: &str) -> bool {
    let imports =
        |line: &str| line.starts_with("import ") || line.starts_with("import{") || line.starts_with("export ");
    path.ends_with(".mjs") || (!path.ends_with(".cjs") && text.lines().any(imports))
}

fn canaries(mut marks: FileMarks<'_>, module: bool) -> (String, BTreeSet<String>) {
    let own = marks.next();
    let (test, assert) = (format!("test_{own}"), format!("assert_{own}"));
    let mut out = if module {
        format!("\nimport {{ test as {test} }} from 'node:test';\nimport {assert} from 'node:assert';\n")
    } else {
        format!("\nconst {{ test: {test} }} = require('node:test');\nconst {assert} = require('node:assert');\n")
    };
    let mut all = BTreeSet::new();
    for body in TESTS {
        let mark = marks.next();
        let (a, b) = (u32::from(marks.number()) + 1, u32::from(marks.number()) + 2);
        let body = body.replace("@E", &assert).replace("@A", &a.to_string()).replace("@B", &b.to_string());
        let _ = writeln!(out, "{test}('{mark}', () => {{ {body}; }});");
        all.insert(mark);
    }
    (out, all)
}
