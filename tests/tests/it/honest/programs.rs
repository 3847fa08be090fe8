//! Work in languages whose runners are there: Rust and JavaScript.

use super::all_are_accepted;
use crate::corpus::case;

const LIB: &str = "pub mod sums;\n";
const SUMS: &str = "/// Adds.\npub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n\n#[cfg(test)]\nmod checks {\n    #[test]\n    fn adds() {\n        \
    assert_eq!(super::add(1, 2), 3);\n    }\n}\n";
const SUITE: &str = "cargo test --locked -j 1";
const NODE: &str = "const test = require('node:test');\nconst assert = require('node:assert');\nconst sum = require('../sum.js');\n\
    test('adds', () => assert.equal(sum(1, 2), 3));\n";

#[test]
fn crates_may_grow_move_and_shrink() {
    let files = [
        (
            "Cargo.toml",
            "[package]\nname = \"sum\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ndoctest = false\n",
        ),
        ("Cargo.lock", "version = 3\n\n[[package]]\nname = \"sum\"\nversion = \"0.1.0\"\n"),
        ("src/lib.rs", LIB),
        ("src/sums.rs", SUMS),
        ("tests/it.rs", "#[test]\nfn whole() {\n    assert_eq!(sum::sums::add(3, 4), 7);\n}\n"),
    ];
    all_are_accepted(
        &files,
        &[
            case(
                "refactor",
                "says the same in other words",
                SUITE,
                "sed -i 's/^    a + b$/    b.checked_add(a).unwrap_or(u32::MAX)/' src/sums.rs",
            ),
            case(
                "module",
                "adds a module with a file of tests",
                SUITE,
                "echo 'pub mod more;' >> src/lib.rs; mkdir src/more\n\
            printf 'pub fn one() -> u32 {\\n    1\\n}\\n\\n#[cfg(test)]\\nmod tests;\\n' > src/more.rs\n\
            printf '#[test]\\nfn is_one() {\\n    assert_eq!(super::one(), 1);\\n}\\n' > src/more/tests.rs",
            ),
            case(
                "inside",
                "adds a test in the product's file",
                SUITE,
                "sed -i 's/^mod checks {/mod checks {\\n\
                    \x20   #[test]\\n\
                    \x20   fn adds_nothing() {\\n\
                    \x20       assert_eq!(super::add(1, 0), 1);\\n\
                    \x20   }\\n\
                    /' src/sums.rs",
            ),
            case(
                "moves",
                "renames a module with the tests inside it",
                SUITE,
                "git mv src/sums.rs src/addition.rs; printf 'pub mod addition;\\n\
                    pub use addition as sums;\\n\
                    pub mod more;\\n\
                    ' > src/lib.rs",
            ),
            case(
                "binary",
                "adds a program and a test of it",
                SUITE,
                "mkdir -p src/bin; echo 'fn main() { println!(\"{}\", sum::sums::add(1, 2)); }' > src/bin/three.rs\n\
            printf '#[test]\\nfn three() {\\n    let out = std::process::Command::new(env!(\"CARGO_BIN_EXE_three\")).output().unwrap();\\n\
                \x20   assert_eq!(out.stdout, b\"3\\\\n\");\\n\
                }\\n\
                ' > tests/three.rs",
            ),
            case(
                "nextest",
                "is tested by another runner",
                "cargo nextest run --locked -j 1",
                "sed -i 's/^.. Adds.$/\\/\\/\\/ Adds two numbers./' src/addition.rs",
            ),
        ],
    );
}

#[test]
fn node_projects_may_grow_and_move() {
    let files = [("sum.js", "module.exports = (a, b) => a + b;\n"), ("test/sum.test.js", NODE)];
    all_are_accepted(
        &files,
        &[
            case(
                "refactor",
                "says the same in other words",
                "node --test",
                "echo 'module.exports = function (a, b) { return b + a; };' > sum.js",
            ),
            case(
                "suite",
                "puts the tests into a suite",
                "node --test",
                "sed -i \"s/^test(.*/test.describe('sum', () => { & });/\" test/sum.test.js",
            ),
            case(
                "more",
                "adds tests",
                "node --test",
                "echo \"test('adds nothing', () => assert.equal(sum(1, 0), 1));\" >> test/sum.test.js",
            ),
            case("moves", "renames a file of tests", "node --test", "git mv test/sum.test.js test/addition.test.js"),
            case(
                "module",
                "adds a module with its tests",
                "node --test",
                "echo 'module.exports = a => 2 * a;' > twice.js; sed \"s/sum.js/twice.js/; \
                    s/describe('sum'/describe('twice'/; s/sum(1, 2), 3/sum(2), 4/; \
                    /nothing/d\" test/addition.test.js > test/twice.test.js",
            ),
        ],
    );
}
