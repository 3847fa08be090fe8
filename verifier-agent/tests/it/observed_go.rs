//! The observer below `go test`, and canaries in go, with a real go: programs of tests that end themselves or are patched,
//! and honest projects that have to pass.

use std::path::Path;

use holdpoint_protocol::{
    artifact::TreeTested::Handoff,
    facts::Verdict::{Fail, Pass},
    plan::EvidenceLevel::{self, Fast, Strict},
    reason::CriterionReason as Reason,
};
use holdpoint_verifier_agent::{Findings, VerifierSettings};

use crate::support::{Rig, check, criterion, only, shown, tested};

const MODULE: &str = "module example.com/sum\n\ngo 1.21\n";
const TESTS: &str = "package sum\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\t\
    t.Fatal(\"add\")\n\t}\n}\n\nfunc TestTwice(t *testing.T) {\n\tt.Run(\"of two\", func(t *testing.T) {\n\t\t\
    if Twice(2) != 4 {\n\t\t\tt.Error(\"twice\")\n\t\t}\n\t})\n}\n";
const ADD: &str = "func Add(a, b int) int { return a + b }\n";
const UNSOLVED: &str = "func Twice(a int) int { return 0 }\n";
const SOLVED: &str = "func Twice(a int) int { return 2 * a }\n";
const QUIET: &str = "go test ./...";
const VERBOSE: &str = "go test -v ./...";
/// What go's tests print of the suite.
const REPORT: &str = "=== RUN   TestAdd\\n--- PASS: TestAdd (0.00s)\\n=== RUN   TestTwice\\n=== RUN   TestTwice/of_two\\n\
    --- PASS: TestTwice (0.00s)\\n    --- PASS: TestTwice/of_two (0.00s)\\nPASS\\n";

/// The go that `cargo xtask tools` gets.
pub(crate) fn with_go(settings: &mut VerifierSettings) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/go");
    assert!(folder.join("first/go").exists(), "there is no go: run `cargo xtask tools`");
    let folder = folder.canonicalize().unwrap();
    settings.path = format!("{}:{}", folder.join("first").display(), settings.path);
    settings.read_paths.push(folder);
}

fn product(imports: &str, code: &str) -> String {
    format!("package sum\n\n{imports}\n{ADD}\n{code}")
}

async fn project() -> Rig {
    Rig::with(&[("go.mod", MODULE), ("sum.go", &product("", UNSOLVED)), ("sum_test.go", TESTS)], with_go).await
}

async fn judged(rig: &Rig, files: &[(&str, Option<&str>)], command: &str, evidence: EvidenceLevel) -> Findings {
    let commit = rig.change(files).await;
    let check = holdpoint_protocol::plan::Check { evidence, ..check(command) };
    rig.verify(&rig.request(&commit, vec![criterion("only", check)]).await).await
}

/// Shows that each product is found for this reason: at every level by what was heard of its runs, or with canaries by `strict` alone.
async fn finds(command: &str, tries: &[(&str, String, Reason)]) {
    let rig = project().await;
    let mut wrong = Vec::new();
    for (what, product, reason) in tries {
        let files = [("sum.go", Some(product.as_str()))];
        let level = if *reason == Reason::Canary { Strict } else { Fast };
        let findings = judged(&rig, &files, command, level).await;
        if only(&findings) != (Fail, Some(*reason)) {
            wrong.push(format!("{what}: {:#?}", findings.criteria));
        }
        if level == Strict {
            let fast = judged(&rig, &files, command, Fast).await;
            assert_eq!(only(&fast), (Pass, None), "{what}: {:#?}", fast.criteria);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A product that prints a report and then does something.
fn forged(then: &str, more: &str) -> String {
    product(
        "import (\n\t\"os\"\n\t\"syscall\"\n)\n",
        &format!(
            "var _ = syscall.Exit\n\nfunc report() {{ os.Stdout.WriteString(\"{REPORT}\") }}\n\n{more}\n\
             func Twice(a int) int {{\n\treport()\n\t{then}\n\treturn 0\n}}\n"
        ),
    )
}

#[tokio::test]
async fn a_forged_end_of_gos_tests_is_not_heard() {
    let before = forged("", "func init() {\n\treport()\n\tsyscall.Exit(0)\n}\n");
    let called = forged("syscall.Exit(0)", "");
    let thread = forged("go syscall.Exit(0)\n\tselect {}", "");
    let executed = forged("syscall.Exec(\"/bin/true\", []string{\"true\"}, nil)", "");
    let answered = forged(
        "for fd := 3; fd < 1024; fd++ {\n\t\tsyscall.Write(fd, []byte(\"passed a\\nend 0\\n\"))\n\t}\n\tsyscall.Exit(0)",
        "",
    );
    let tries = [
        ("before main", before, Reason::NoEndMark),
        ("when called", called, Reason::NoEndMark),
        ("from a thread", thread, Reason::NoEndMark),
        ("by another program", executed, Reason::NoEndMark),
        ("to every descriptor", answered, Reason::NoEndMark),
    ];
    finds(VERBOSE, &tries).await;
    let quiet = product("import \"syscall\"\n", "func Twice(a int) int {\n\tsyscall.Exit(0)\n\treturn 0\n}\n");
    finds(QUIET, &[("without a word", quiet, Reason::NoEndMark)]).await;
}

#[tokio::test]
async fn honest_runs_of_go_are_heard_to_their_end() {
    let rig = project().await;
    let solved = product("", SOLVED);
    let files = [("sum.go", Some(solved.as_str()))];
    for (command, heard) in [
        (VERBOSE, "observed: go: 2 tests; came to its end; exit 0\n---"),
        (QUIET, "observed: go: 2 tests; came to its end; exit 0\n---"),
        ("go test -run TestAdd 2>&1 | tail -3", "observed: go: 1 tests; came to its end; exit 0\n---"),
        ("go test -v -run TestTwice/of", "observed: go: came to its end; exit 0\n---"),
        ("go vet ./... && go test -count=2 -json ./...", "observed: go: 2 tests; came to its end; exit 0\n---"),
        ("go build ./...", "---"),
    ] {
        let findings = judged(&rig, &files, command, Strict).await;
        assert_eq!(only(&findings), (Pass, None), "{command}: {:#?}", findings.criteria);
        let first = &findings.receipt.checks[0];
        assert_eq!(first.tested, Handoff, "{:?}", tested(&findings));
        let shown = shown(&findings, first);
        assert!(shown.split_once(" ms\n").unwrap().1.starts_with(heard), "{command}: {shown}");
    }
    let broken = product("", "func Twice(a int) int { return a + }\n");
    let findings = judged(&rig, &[("sum.go", Some(&broken))], VERBOSE, Strict).await;
    assert_eq!(only(&findings), (Fail, Some(Reason::ExitCode)), "{:#?}", findings.criteria);
}

const MAIN: &str = "package other_test\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"os/exec\"\n\t\"strings\"\n\t\"testing\"\n\n\t\
    \"example.com/sum\"\n\t\"example.com/sum/other\"\n)\n\n\
    func TestMain(m *testing.M) {\n\tif os.Getenv(\"HELPER\") != \"\" {\n\t\tfmt.Println(\"7\")\n\t\tos.Exit(0)\n\t}\n\t\
    fmt.Println(\"setting up\")\n\tos.Exit(m.Run())\n}\n\n\
    func TestStartsItself(t *testing.T) {\n\tt.Parallel()\n\tcommand := exec.Command(os.Args[0], os.Args[1:]...)\n\t\
    command.Env = append(os.Environ(), \"HELPER=1\")\n\tsaid, err := command.Output()\n\t\
    if err != nil || string(said) != \"7\\n\" {\n\t\tt.Fatal(string(said), err)\n\t}\n}\n\n\
    func TestStartsGo(t *testing.T) {\n\tsaid, err := exec.Command(\"go\", \"test\", \"../inner\").CombinedOutput()\n\t\
    if err != nil || !strings.HasPrefix(string(said), \"ok\") {\n\t\tt.Fatal(string(said), err)\n\t}\n}\n\n\
    func TestLater(t *testing.T) { t.Skip(\"later\") }\n\n\
    func TestPanics(t *testing.T) {\n\tdefer func() { recover() }()\n\tpanic(\"--- FAIL: TestPanics (0.00s)\")\n}\n\n\
    func FuzzIt(f *testing.F) {\n\tf.Add(1)\n\tf.Fuzz(func(t *testing.T, i int) {})\n}\n\n\
    func BenchmarkIt(b *testing.B) {}\n\n\
    func ExampleTell() {\n\tother.Tell(sum.Twice(2))\n\t// Output: 4\n}\n";

/// A module of several packages: with a main of the tests, helpers that are the program itself, a package without tests, and
/// one whose files are built elsewhere alone.
#[tokio::test]
async fn untidy_projects_in_go_pass() {
    let inner = "package inner\n\nimport \"testing\"\n\nfunc TestInner(t *testing.T) { t.Log(\"in\") }\n";
    let elsewhere = "package inner\n\nimport \"testing\"\n\nfunc TestElsewhere(t *testing.T) { t.Fatal(\"no\") }\n";
    let before = product("", UNSOLVED);
    let files = [
        ("go.mod", MODULE),
        ("sum.go", before.as_str()),
        ("sum_test.go", TESTS),
        ("other/other.go", "package other\n\nimport \"fmt\"\n\nfunc Tell(a int) { fmt.Println(a) }\n"),
        ("other/other_test.go", MAIN),
        ("inner/inner.go", "package inner\n"),
        ("inner/inner_test.go", inner),
        ("inner/inner_windows_test.go", elsewhere),
        ("bare/bare.go", "package bare\n"),
    ];
    let rig = Rig::with(&files, with_go).await;
    let solved = product("", SOLVED);
    for command in [VERBOSE, QUIET, "go -C other test -shuffle=on -race=false .", "go test -skip TestLater ./..."] {
        let findings = judged(&rig, &[("sum.go", Some(&solved))], command, Strict).await;
        assert_eq!(only(&findings), (Pass, None), "{command}: {:#?}", findings.criteria);
    }
}

/// A program that changes the library in its own memory: failures are noted nowhere. The method that is called is behind the one
/// that can be named.
const PATCHED: &str = "\nvar _ testing.TB\n\nfunc init() {\n\tnamed := reflect.ValueOf((*testing.T).Fail).Pointer()\n\t\
    for at := named; at < named+128; at++ {\n\t\tjump := unsafe.Slice((*byte)(unsafe.Pointer(at)), 5)\n\t\t\
    if jump[0] != 0xe8 && jump[0] != 0xe9 {\n\t\t\tcontinue\n\t\t}\n\t\t\
    target := uintptr(int64(at) + 5 + int64(int32(binary.LittleEndian.Uint32(jump[1:]))))\n\t\t\
    called := runtime.FuncForPC(target)\n\t\tif called == nil || called.Name() != \"testing.(*common).Fail\" {\n\t\t\t\
    continue\n\t\t}\n\t\tpage := target &^ 4095\n\t\tcode := unsafe.Slice((*byte)(unsafe.Pointer(page)), 8192)\n\t\t\
    syscall.Mprotect(code, syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC)\n\t\tcode[target-page] = 0xc3\n\t}\n}\n\n";

fn patched() -> String {
    let imports = ["encoding/binary", "reflect", "runtime", "syscall", "testing", "unsafe"];
    let imports = imports.map(|import| format!("\t\"{import}\"\n")).concat();
    product(&format!("import (\n{imports})\n"), &format!("{PATCHED}{UNSOLVED}"))
}

#[tokio::test]
#[cfg(target_arch = "x86_64")]
async fn a_patched_library_of_go_is_found_by_canaries() {
    let tries = [("failures that are not noted", patched(), Reason::Canary)];
    finds(VERBOSE, &tries).await;
}
