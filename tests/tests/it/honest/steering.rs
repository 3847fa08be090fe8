//! Files that decide what runs, where the scope asks for them; and the parts of manifests that are free.

use super::all_are_accepted;
use crate::corpus::{Case, case};

const FILES: &[(&str, &str)] = &[
    ("greeting", "hello\n"),
    ("check.sh", "grep -q hello greeting\n"),
    ("Makefile", "check:\n\tsh check.sh\nrun:\n\tsh app.sh\n"),
    ("app.sh", "echo app\n"),
    ("rust/Cargo.toml", "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
    ("rust/src/lib.rs", ""),
    ("js/package.json", "{\"name\": \"a\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"true\"}}\n"),
    ("py/pyproject.toml", "[project]\nname = \"a\"\nversion = \"1\"\n"),
    (".github/workflows/ci.yml", "on: push\n"),
];
const CHECK: &str = "sh check.sh";

#[test]
fn what_decides_what_runs_may_change_where_the_scope_asks_for_it() {
    all_are_accepted(FILES, &named());
}

#[test]
fn configurations_may_change_where_the_scope_asks_for_it() {
    all_are_accepted(FILES, &configurations());
}

#[test]
fn manifests_may_change_in_their_free_parts() {
    all_are_accepted(FILES, &manifests());
}

/// Writes a file that its scope names.
fn write(id: &'static str, path: &'static str, scope: &'static [&'static str]) -> Case {
    // The corpus is made once a process.
    let text = |text: String| -> &'static str { text.leak() };
    let script = text(format!("mkdir -p \"$(dirname {path})\"; echo '# changed' >> {path}"));
    case(
        id,
        text(format!("changes {path}, which its scope names")),
        text(format!("test -e {path} && sh check.sh")),
        script,
    )
    .scope(scope)
}

fn named() -> Vec<Case> {
    vec![
        write("makefile", "Makefile", &["Makefile"]),
        write("sub-makefile", "sub/Makefile", &["**/Makefile"]),
        write("mk", "rules/all.mk", &["rules/all.mk"]),
        write("justfile", "justfile", &["src/**", "justfile"]),
        write("build-rs", "rust/build.rs", &["rust/build.rs"]),
        write("cargo-config", ".cargo/config.toml", &[".cargo/**"]),
        write("toolchain", "rust-toolchain.toml", &["rust-toolchain.toml"]),
        write("clippy", "clippy.toml", &["clippy.toml"]),
        write("nextest", ".config/nextest.toml", &[".config/nextest.toml"]),
    ]
}

fn configurations() -> Vec<Case> {
    vec![
        write("conftest", "py/conftest.py", &["**/conftest.py"]),
        write("pytest-ini", "pytest.ini", &["pytest.ini"]),
        write("setup-cfg", "setup.cfg", &["setup.cfg"]),
        write("tox", "tox.ini", &["tox.ini"]),
        write("jest", "js/jest.config.js", &["js/jest.config.js"]),
        write("tsconfig", "js/tsconfig.json", &["js/tsconfig.json"]),
        write("npmrc", ".npmrc", &[".npmrc"]),
        write("ci", ".github/workflows/ci.yml", &[".github/**"]),
        write("gitlab", ".gitlab-ci.yml", &[".gitlab-ci.yml"]),
        write("attributes", "sub/.gitattributes", &["sub/.gitattributes"]),
        write("covenant", "AGENTS.md", &["AGENTS.md"]),
        write("gradle", "build.gradle", &["build.gradle"]),
        write("cmake", "CMakeLists.txt", &["CMakeLists.txt"]),
        write("own-check", "check.sh", &["check.sh"]),
        case(
            "app-beside",
            "changes the product that the Makefile can also start",
            "make check",
            "echo 'echo better' > app.sh",
        ),
    ]
}

fn manifests() -> Vec<Case> {
    vec![
        case(
            "cargo-deps",
            "adds dependencies",
            CHECK,
            "printf '[dependencies]\\nserde = \"1\"\\n[dev-dependencies]\\nproptest = \"1\"\\n' >> rust/Cargo.toml",
        ),
        case("cargo-version", "releases a version", CHECK, "sed -i 's/0.1.0/0.2.0/' rust/Cargo.toml"),
        case("cargo-features", "adds features", CHECK, "printf '[features]\\nfast = []\\n' >> rust/Cargo.toml"),
        case(
            "cargo-bin",
            "adds a program",
            CHECK,
            "printf '[[bin]]\\n\
                name = \"b\"\\n\
                path = \"src/b.rs\"\\n\
                ' >> rust/Cargo.toml; echo 'fn main() {}' > rust/src/b.rs",
        ),
        case(
            "cargo-new",
            "adds a crate",
            CHECK,
            "mkdir -p more/src; printf '[package]\\n\
                name = \"more\"\\n\
                version = \"0.1.0\"\\n\
                ' > more/Cargo.toml; touch more/src/lib.rs",
        ),
        case(
            "npm-deps",
            "adds dependencies",
            CHECK,
            "sed -i 's/\"1.0.0\",/\"1.0.0\", \"dependencies\": {\"left\": \"1\"},/' js/package.json",
        ),
        case("npm-version", "releases a version", CHECK, "sed -i 's/1.0.0/1.1.0/' js/package.json"),
        case(
            "npm-exports",
            "says what it exports",
            CHECK,
            "sed -i 's/\"name\"/\"main\": \"a.js\", \"exports\": \".\\/a.js\", \"name\"/' js/package.json",
        ),
        case(
            "npm-script",
            "changes scripts, which its scope names",
            CHECK,
            "sed -i 's/\"true\"/\"node --test\"/' js/package.json",
        )
        .scope(&["js/package.json"]),
        case("py-deps", "adds dependencies", CHECK, "echo 'dependencies = [\"x\"]' >> py/pyproject.toml"),
        case(
            "py-groups",
            "adds groups of dependencies",
            CHECK,
            "printf '[dependency-groups]\\ndev = [\"pytest\"]\\n' >> py/pyproject.toml",
        ),
        case(
            "py-tools",
            "configures tools, which its scope names",
            CHECK,
            "printf '[tool.pytest.ini_options]\\naddopts = \"-v\"\\n' >> py/pyproject.toml",
        )
        .scope(&["py/**", "py/pyproject.toml"]),
    ]
}
