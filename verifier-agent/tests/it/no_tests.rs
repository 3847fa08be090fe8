//! Checks that run no test, added tests that speak for themselves, and tests that a scope lets one add and not take away. With a real
//! go, and with CMake and GoogleTest where they are there.

use std::process::Command;

use holdpoint_protocol::{
    facts::Verdict::{Fail, Pass},
    plan::Check,
    reason::CriterionReason as Reason,
};

use crate::{
    observed_go::with_go,
    support::{Rig, check, criterion, guard, of, only},
};

const MODULE: &str = "module example.com/stock\n\ngo 1.21\n";
const TOTAL: &str = "package stock\n\nfunc Total(a, b int) int { return a + b }\n";
const TOTAL_TEST: &str = "package stock\n\nimport \"testing\"\n\nfunc TestTotal(t *testing.T) {\n\tif Total(1, 2) != 3 {\n\t\t\
    t.Fatal(\"total\")\n\t}\n}\n";
const FIND_TEST: &str = "\nfunc TestFind(t *testing.T) {\n\tif Find() != 7 {\n\t\tt.Fatal(\"find\")\n\t}\n}\n";
const FIND: &str = "package stock\n\nfunc Find() int { return 7 }\n";
const FIND_CHECK: &str = "go test -run TestFind -v ./...";

async fn stock() -> Rig {
    Rig::with(&[("go.mod", MODULE), ("total.go", TOTAL), ("total_test.go", TOTAL_TEST)], with_go).await
}

#[tokio::test]
async fn added_tests_of_go_speak_for_themselves_though_go_ends_with_0_without_them() {
    let rig = stock().await;
    let more = format!("{TOTAL_TEST}{FIND_TEST}");
    let commit = rig.change(&[("find.go", Some(FIND)), ("total_test.go", Some(&more))]).await;
    let expecting = Check { expect: Some("PASS: TestFind".to_owned()), red_first: true, ..check(FIND_CHECK) };
    for check in [check(FIND_CHECK), expecting] {
        let mut request = rig.request(&commit, vec![criterion("only", check)]).await;
        request.scope = vec!["*.go".to_owned()];
        let findings = rig.verify(&request).await;
        assert_eq!(only(&findings), (Pass, None), "{:#?}", findings.criteria);
        let note = findings.criteria[0].note.as_deref().unwrap();
        assert!(note.contains("only the added ones speak"), "{note}");
    }
}

#[tokio::test]
async fn a_check_that_runs_no_test_is_red_for_a_criterion_and_doubted_for_a_guard() {
    let rig = stock().await;
    let commit = rig.change(&[("find.go", Some(FIND))]).await;
    let mut request = rig.request(&commit, vec![criterion("only", check(FIND_CHECK))]).await;
    request.guards = vec![guard("suite", check(FIND_CHECK))];
    let findings = rig.verify(&request).await;
    assert_eq!(only(&findings), (Fail, Some(Reason::NoTests)), "{:#?}", findings.criteria);
    assert_eq!(of(&findings.guards[0]), (Pass, None));
    let doubts: Vec<&str> = findings.doubts.iter().map(|doubt| doubt.text.as_str()).collect();
    assert_eq!(doubts, ["guard suite: it ran no test, so it shows nothing"]);
    let first = Check { red_first: true, ..check(FIND_CHECK) };
    assert_eq!(of(&rig.check_base(first).await), (Fail, Some(Reason::NoTests)), "red on the base");
}

#[tokio::test]
async fn a_scope_with_the_tests_does_not_let_one_of_go_be_replaced_by_two() {
    let rig = stock().await;
    let (_, test) = TOTAL_TEST.split_once("\"testing\"\n").unwrap();
    let two = TOTAL_TEST.replace("TestTotal", "TestOne") + &test.replace("TestTotal", "TestTwo");
    let renamed = TOTAL_TEST.replace("TestTotal", "TestSum");
    for (text, verdict) in [(&two, (Fail, Some(Reason::FewerTests))), (&renamed, (Pass, None))] {
        let commit = rig.change(&[("total_test.go", Some(text))]).await;
        let mut request = rig.request(&commit, vec![criterion("only", check("go test -v ./..."))]).await;
        request.scope = vec!["*.go".to_owned()];
        let findings = rig.verify(&request).await;
        assert_eq!(only(&findings), verdict, "{:#?}", findings.criteria);
        let doubted = findings.doubts.iter().any(|doubt| doubt.text.contains("tests of the base are gone"));
        assert_eq!(doubted, verdict.0 == Pass, "{:#?}", findings.doubts);
        request.changed_tests = vec!["total_test.go::TestTotal".to_owned()];
        let allowed = rig.verify(&request).await;
        assert_eq!(only(&allowed), (Pass, None), "{:#?}", allowed.criteria);
    }
}

const CMAKE: &str = "cmake_minimum_required(VERSION 3.20)\nproject(geo CXX)\nset(CMAKE_CXX_STANDARD 17)\nenable_testing()\n\
    find_package(GTest REQUIRED)\ninclude(GoogleTest)\nadd_executable(geo_tests area_test.cpp area.cpp)\n\
    target_link_libraries(geo_tests GTest::gtest_main)\nadd_test(NAME all COMMAND geo_tests)\n";
const AREA: &str = "int area(int w, int h) { return w * h; }\n";
const AREA_TEST: &str = "#include <gtest/gtest.h>\nint area(int w, int h);\nTEST(Area, Product) { EXPECT_EQ(area(2, 3), 6); }\n\
    TEST(Area, Zero) { EXPECT_EQ(area(0, 3), 0); }\n";
const CTEST: &str = "cmake -S . -B build && cmake --build build && ctest --test-dir build";

/// Whether CMake finds GoogleTest on this machine.
#[allow(clippy::print_stderr, reason = "who reads the tests' output has to see what was not tried")]
fn has_google_test() -> bool {
    let temp = tempfile::tempdir().unwrap();
    std::fs::write(temp.path().join("CMakeLists.txt"), CMAKE).unwrap();
    std::fs::write(temp.path().join("area.cpp"), AREA).unwrap();
    std::fs::write(temp.path().join("area_test.cpp"), AREA_TEST).unwrap();
    let configured = Command::new("cmake").args(["-S", ".", "-B", "build"]).current_dir(temp.path()).output();
    let there = configured.is_ok_and(|ended| ended.status.success());
    if !there {
        eprintln!("there is no CMake with GoogleTest here, so nothing below CTest was tried");
    }
    there
}

#[tokio::test]
async fn tests_inside_of_a_program_that_ctest_runs_are_counted() {
    if !has_google_test() {
        return;
    }
    let rig = Rig::new(&[("CMakeLists.txt", CMAKE), ("area.cpp", AREA), ("area_test.cpp", AREA_TEST)]).await;
    let disabled = AREA_TEST.replace("(Area, Zero)", "(Area, DISABLED_Zero)");
    let early = format!("#include <cstdlib>\n{AREA}static int early = (std::_Exit(0), 0);\n");
    let honest = AREA.replace("w * h", "h * w");
    for (file, text, verdict) in [
        ("area.cpp", &honest, (Pass, None)),
        ("area_test.cpp", &disabled, (Fail, Some(Reason::FewerTests))),
        ("area.cpp", &early, (Fail, Some(Reason::FewerTests))),
    ] {
        let commit = rig.change(&[(file, Some(text))]).await;
        let check = Check { writes_tree: true, ..check(CTEST) };
        let mut request = rig.request(&commit, vec![criterion("only", check)]).await;
        request.scope = vec!["*.cpp".to_owned()];
        let findings = rig.verify(&request).await;
        assert_eq!(only(&findings), verdict, "{text}: {:#?}", findings.criteria);
    }
}

#[tokio::test]
async fn a_product_that_ends_its_program_below_ctest_is_seen_though_the_base_has_no_such_test() {
    if !has_google_test() {
        return;
    }
    let rig = Rig::new(&[("CMakeLists.txt", CMAKE), ("area.cpp", AREA), ("area_test.cpp", AREA_TEST)]).await;
    let build = "cmake_minimum_required(VERSION 3.20)\nproject(edge CXX)\nenable_testing()\nfind_package(GTest REQUIRED)\n\
        include(GoogleTest)\nadd_executable(edge edge_test.cpp)\ntarget_link_libraries(edge GTest::gtest_main)\n\
        gtest_discover_tests(edge)\n";
    let test = "#include \"edge.h\"\n#include <gtest/gtest.h>\nTEST(Edge, Whole) { EXPECT_EQ(edge(2), 8); }\n";
    let ends = "#include <cstdlib>\ninline int edge(int) { std::exit(0); }\n";
    let honest = "inline int edge(int n) { return 4 * n; }\n";
    for (text, verdict) in [(honest, (Pass, None)), (ends, (Fail, Some(Reason::FewerTests)))] {
        let files = [("edge/CMakeLists.txt", build), ("edge/edge.h", text), ("edge/edge_test.cpp", test)];
        let commit = rig.change(&files.map(|(path, text)| (path, Some(text)))).await;
        let red_first =
            Check { red_first: true, writes_tree: true, ..check(&format!("cd edge && {CTEST} --no-tests=error")) };
        let mut request = rig.request(&commit, vec![criterion("only", red_first)]).await;
        request.scope = vec!["edge/**".to_owned(), "edge/CMakeLists.txt".to_owned()];
        let findings = rig.verify(&request).await;
        assert_eq!(only(&findings), verdict, "{text}: {:#?}", findings.criteria);
        let doubts: Vec<&str> = findings.doubts.iter().map(|doubt| doubt.text.as_str()).collect();
        assert!(doubts.iter().any(|doubt| doubt.contains("what checks run: edge/CMakeLists.txt")), "{doubts:?}");
    }
}
