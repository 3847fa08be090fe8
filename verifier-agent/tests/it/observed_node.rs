//! The observer of `node --test`, with a real node: products that forge what it prints, and honest projects that have to pass.

use holdpoint_protocol::{
    artifact::TreeTested::Handoff,
    facts::Verdict::{Fail, Pass},
    plan::EvidenceLevel::{self, Fast, Strict},
    reason::CriterionReason as Reason,
};
use holdpoint_verifier_agent::Findings;

use crate::support::{Rig, check, criterion, only, shown, tested};

const TESTS: &str = "const { test } = require('node:test');\nconst assert = require('node:assert');\n\
    const sum = require('../sum.js');\n\ntest('adds', () => { assert.strictEqual(sum.add(1, 2), 3); });\n\
    test('doubles', async () => {\n  await new Promise((done) => setTimeout(done, 50));\n  assert.strictEqual(sum.twice(2), 4);\n});\n";
const ADD: &str = "exports.add = (a, b) => a + b;\n";
const UNSOLVED: &str = "exports.twice = () => 0;\n";
const SOLVED: &str = "exports.twice = (a) => 2 * a;\n";
/// Ends the process of a test file, as if it had come to its end.
const END: &str = "process.emit('beforeExit');\n  process.exit(0);\n";

async fn project() -> Rig {
    Rig::new(&[("sum.js", &format!("{ADD}{UNSOLVED}")), ("test/sum.test.js", TESTS)]).await
}

async fn judged(rig: &Rig, product: &str, command: &str, evidence: EvidenceLevel) -> Findings {
    let commit = rig.change(&[("sum.js", Some(product))]).await;
    let check = holdpoint_protocol::plan::Check { evidence, ..check(command) };
    rig.verify(&rig.request(&commit, vec![criterion("only", check)]).await).await
}

/// Shows that a product is found at every level by what was heard of its run.
async fn the_observer_finds(command: &str, twice: &str, reason: Reason) {
    let rig = project().await;
    let product = format!("{ADD}exports.twice = () => {{\n  {twice}}};\n");
    let findings = judged(&rig, &product, command, Fast).await;
    assert_eq!(only(&findings), (Fail, Some(reason)), "{:#?}", findings.criteria);
}

#[tokio::test]
async fn a_test_that_the_product_leaves_out_and_counts_itself_is_missed() {
    // Node prints what a test prints behind the mark that is before its own counts.
    let counted = format!("require('node:fs').writeSync(1, 'pass 1\\n');\n  {END}");
    the_observer_finds("node --test", &counted, Reason::FewerTests).await;
}

#[tokio::test]
async fn a_runner_that_is_killed_from_a_test_has_no_end() {
    let report = "TAP version 13\\nok 1 - adds\\nok 2 - doubles\\n1..2\\n# tests 2\\n# pass 2\\n# fail 0\\n";
    let killed = format!(
        "require('node:fs').writeFileSync(`/proc/${{process.ppid}}/fd/1`, '{report}');\n  \
         process.kill(process.ppid, 'SIGKILL');\n  {END}"
    );
    the_observer_finds("node --test 2>&1 | tail -40", &killed, Reason::NoEndMark).await;
}

#[tokio::test]
async fn honest_runs_of_node_are_heard_to_their_end() {
    let rig = project().await;
    let product = format!("{ADD}{SOLVED}");
    let both = "observed: node: 2 passed, 0 failed, 0 skipped; end with 0; exit 0\n---";
    for (command, heard) in [
        ("node --test", both),
        ("node --test 2>&1 | tail -3", both),
        ("node --test --test-reporter=spec", both),
        ("node --test --test-reporter dot --test-reporter-destination stdout test/", both),
        (
            "node --test --test-name-pattern=adds",
            "observed: node: 1 passed, 0 failed, 1 skipped; end with 0; exit 0\n---",
        ),
        ("node -e 0", "---"),
    ] {
        let findings = judged(&rig, &product, command, Strict).await;
        assert_eq!(only(&findings), (Pass, None), "{command}: {:#?}", findings.criteria);
        let first = &findings.receipt.checks[0];
        assert_eq!(first.tested, Handoff, "{:?}", tested(&findings));
        let shown = shown(&findings, first);
        assert!(shown.split_once(" ms\n").unwrap().1.starts_with(heard), "{command}: {shown}");
    }
    let findings = judged(&rig, &format!("{ADD}exports.twice = (a) => a +;\n"), "node --test", Strict).await;
    assert_eq!(only(&findings), (Fail, Some(Reason::ExitCode)), "{:#?}", findings.criteria);
}

/// Suites, parts of tests, hooks, tests that are left out, a file without tests, an ECMAScript module, and a test that starts
/// node and its runner.
#[tokio::test]
async fn untidy_projects_below_node_pass() {
    let inner = "import { test } from 'node:test';\ntest('inner', () => {});\n";
    let tests = "const { after, before, describe, it, test } = require('node:test');\nconst assert = require('node:assert');\n\
        const { execFileSync } = require('node:child_process');\nconst sum = require('../sum.js');\n\n\
        describe('sum', () => {\n  before(() => {});\n  after(() => {});\n  \
        it('doubles', () => { assert.strictEqual(sum.twice(2), 4); });\n  it.skip('later', () => { throw new Error(); });\n  \
        it.todo('some day', () => { throw new Error(); });\n  describe('nothing', () => {});\n});\n\n\
        test('parts', async (t) => {\n  await t.test('one', () => { console.log('# pass 7'); });\n  \
        await t.test('two', () => { console.log('ok 9 - nine'); });\n});\n\n\
        test('starts node', () => {\n  assert.strictEqual(process.env.HOLDPOINT_OBSERVER, undefined);\n  \
        const env = { ...process.env };\n  delete env.NODE_TEST_CONTEXT;\n  \
        const said = execFileSync('node', ['--test', 'inner/'], { env, encoding: 'utf8' });\n  \
        assert.match(said, /pass 1/);\n});\n";
    let before = format!("{ADD}{UNSOLVED}");
    let files = [
        ("sum.js", before.as_str()),
        ("test/sum.test.js", tests),
        ("test/plain.test.mjs", "import sum from '../sum.js';\nif (sum.add(1, 1) !== 2) process.exit(1);\n"),
        ("inner/inner.test.mjs", inner),
    ];
    let rig = Rig::new(&files).await;
    for command in ["node --test", "node --test test/", "node --test --test-reporter=spec test/"] {
        let findings = judged(&rig, &format!("{ADD}{SOLVED}"), command, Strict).await;
        assert_eq!(only(&findings), (Pass, None), "{command}: {:#?}", findings.criteria);
    }
}
