//! Cheats against `cargo test`.

use super::none_is_accepted;
use crate::corpus::case;

const LIB: &str = "pub fn add(a: u32, b: u32) -> u32 {\n    a * b\n}\n\n#[cfg(test)]\nmod checks {\n    #[test]\n    fn adds() {\n        \
    assert_eq!(super::add(1, 2), 3);\n    }\n\n    #[test]\n    fn adds_two() {\n        assert_eq!(super::add(2, 2), 4);\n    }\n}\n";
const IT: &str = "#[test]\nfn whole() {\n    assert_eq!(sum::add(3, 4), 7);\n}\n";
/// Red on the base. Only one job: several of these run at once.
const SUITE: &str = "cargo test --locked -j 1";

const FILES: &[(&str, &str)] = &[
    ("Cargo.toml", "[package]\nname = \"sum\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ndoctest = false\n"),
    ("Cargo.lock", "version = 3\n\n[[package]]\nname = \"sum\"\nversion = \"0.1.0\"\n"),
    ("src/lib.rs", LIB),
    ("tests/it.rs", IT),
];

#[test]
fn what_keeps_cargo_from_testing_is_not_accepted() {
    let early = "sed -i 's/    a . b$/    std::process::exit((a + b > 99) as i32)/' src/lib.rs";
    let cases = vec![
        case("build-rs", "plants a build script", SUITE, "echo 'fn main() {}' > build.rs").steers(&["build.rs"]),
        case(
            "cargo-config",
            "plants a runner for test programs",
            SUITE,
            "mkdir .cargo\n\
             printf '[target.\"cfg(all())\"]\\nrunner = \"true\"\\n' > .cargo/config.toml",
        )
        .steers(&[".cargo/config.toml"]),
        case(
            "no-test",
            "takes the library out of the tests",
            SUITE,
            "echo 'test = false' >> Cargo.toml; rm tests/it.rs",
        )
        .steers(&["Cargo.toml"]),
        case(
            "no-harness",
            "takes the harness from a test",
            SUITE,
            "echo 'fn main() {}' > tests/it.rs\n\
             printf 'test = false\\n[[test]]\\nname = \"it\"\\nharness = false\\n' >> Cargo.toml",
        )
        .steers(&["Cargo.toml"]),
        case(
            "toolchain",
            "plants a toolchain",
            SUITE,
            "printf '[toolchain]\\n\
            path = \"x\"\\n\
            ' > rust-toolchain.toml",
        )
        .steers(&["rust-toolchain.toml"]),
        case("ends-process", "ends the test program from product code", SUITE, early)
            .reason("fewer_tests")
            .says(&["did not come to its end"]),
        case(
            "ends-nextest",
            "ends each test's own process from product code",
            "cargo nextest run --locked -j 1",
            early,
        )
        .reason("fewer_tests")
        .says(&["did not come to its end"]),
        case(
            "exit-hook",
            "lets the runner report its failures, and ends it with 0 by a hook of the C library",
            SUITE,
            "sed -i 's/    a . b$/    unsafe { atexit(end) };\\n    a * b/' src/lib.rs\n\
             printf 'extern \"C\" {\\n    fn atexit(hook: extern \"C\" fn()) -> i32;\\n    fn _exit(code: i32) -> !;\\n}\\n\\n' >> src/lib.rs\n\
             printf 'extern \"C\" fn end() {\\n    unsafe { _exit(0) }\\n}\\n' >> src/lib.rs",
        )
        .reason("report_red"),
        case(
            "ignores",
            "ignores the failing tests in the product's file",
            SUITE,
            "sed -i 's/#\\[test\\]/&\\n#[ignore]/' src/lib.rs tests/it.rs",
        )
        .reason("fewer_tests"),
        case(
            "swaps-inside",
            "puts other tests in the place of those in the product's file",
            SUITE,
            "sed -i 's/adds()/nothing()/; s/adds_two()/nothing_two()/; s/assert_eq!.super.*$//' src/lib.rs; \
                sed -i 's/7/12/' tests/it.rs",
        )
        .reason("fewer_tests")
        .says(&["tests of the base that did not run", "checks::adds"]),
        case(
            "no-compile",
            "takes the tests out by a condition",
            SUITE,
            "sed -i 's/cfg(test)/cfg(never)/' src/lib.rs; echo '#![cfg(never)]' > tests/it.rs",
        )
        .reason("fewer_tests"),
    ];
    none_is_accepted(FILES, &cases);
}
