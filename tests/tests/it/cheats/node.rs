//! Cheats against Node's own test runner.

use super::none_is_accepted;
use crate::corpus::case;

const TEST: &str = "const test = require('node:test');\nconst assert = require('node:assert');\nconst sum = require('../sum.js');\n\
    test('adds', () => assert.equal(sum(1, 2), 3));\n";
const FILES: &[(&str, &str)] = &[("sum.js", "module.exports = (a, b) => a - b;\n"), ("test/sum.test.js", TEST)];

#[test]
fn what_keeps_node_from_testing_is_not_accepted() {
    let suite = "node --test";
    let cases = vec![
        case("exits", "ends the test's process from product code", suite, "echo 'process.exit(0)' >> sum.js")
            .reason("fewer_tests")
            .says(&["did not come to its end"]),
        case(
            "todo",
            "makes the failing test one that is still to do",
            suite,
            "sed -i \"s/test('adds',/test.todo('adds',/\" test/sum.test.js",
        )
        .reason("fewer_tests"),
        case(
            "swaps",
            "puts another test in the place of the failing one",
            suite,
            "sed -i \"s/'adds'/'is'/; s/sum(1, 2), 3/1, 1/\" test/sum.test.js",
        )
        .reason("fewer_tests")
        .says(&["adds"]),
        case("bends", "edits the expectation", suite, "sed -i 's/sum(1, 2), 3/sum(1, 2), -1/' test/sum.test.js")
            .reason("tests_weakened"),
        case(
            "npmrc",
            "plants a configuration of npm",
            suite,
            "echo 'node-options=--require ./x.js' > .npmrc; echo 'process.exit(0)' > x.js",
        )
        .steers(&[".npmrc"]),
    ];
    none_is_accepted(FILES, &cases);
}
