use super::*;

fn project(files: &[(&str, &str)]) -> Project {
    let paths = files.iter().map(|(path, _)| *path).collect();
    let read = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
    Project::of(&paths, &read)
}

#[test]
fn projects_are_set_up_and_tested_as_their_files_say() {
    let npm = "{\"packages\": {\"node_modules/a\": {}}}";
    let tested = "{\"scripts\": {\"test\": \"jest\"}}";
    let prepared = "{\"scripts\": {\"test\": \"jest\", \"prepare\": \"husky\"}}";
    for (files, setup, suite) in [
        (vec![("Cargo.toml", ""), ("Cargo.lock", "source = \"r\"")], Some("cargo fetch --locked"), Some("cargo test")),
        (vec![("Cargo.toml", ""), ("Cargo.lock", "")], None, Some("cargo test")),
        (vec![("go.mod", ""), ("go.sum", "x")], Some("go mod download"), Some("go test ./...")),
        (vec![("go.mod", ""), ("go.sum", "x"), ("vendor/modules.txt", "")], None, Some("go test ./...")),
        (vec![("go.mod", "")], None, Some("go test ./...")),
        (
            vec![("package.json", tested), ("package-lock.json", npm)],
            Some("npm ci --no-audit --no-fund"),
            Some("npm test"),
        ),
        (
            vec![("package.json", prepared), ("package-lock.json", npm)],
            Some("npm ci --no-audit --no-fund --ignore-scripts && npm rebuild"),
            Some("npm test"),
        ),
        (vec![("package.json", tested), ("package-lock.json", "{}")], None, Some("npm test")),
        (vec![("package.json", "{}")], None, None),
        (vec![("package.json", "{\"keywords\": [\"test\"]}")], None, None),
        (
            vec![("package.json", "{\"scripts\": {\"test\": \"echo \\\"Error: no test specified\\\" && exit 1\"}}")],
            None,
            None,
        ),
        (
            vec![("package.json", tested), ("yarn.lock", "__metadata:\n  version: 8\n")],
            Some("yarn install --immutable"),
            Some("yarn test"),
        ),
        (
            vec![("pyproject.toml", "[tool.poetry]\npytest"), ("poetry.lock", "")],
            Some("poetry install --no-interaction || poetry install --no-interaction --no-root"),
            Some("python3 -m pytest -q"),
        ),
        (
            vec![("Gemfile.lock", "    rspec (3.13.0)\n"), ("Gemfile", ""), ("spec/a_spec.rb", "")],
            Some("bundle install"),
            Some("bundle exec rspec"),
        ),
        (
            vec![("package.json", tested), ("pnpm-lock.yaml", "")],
            Some("pnpm install --frozen-lockfile"),
            Some("pnpm test"),
        ),
        (vec![("package.json", tested), ("yarn.lock", "")], Some("yarn install --frozen-lockfile"), Some("yarn test")),
        (
            vec![("package.json", tested), ("yarn.lock", ""), (".yarnrc.yml", "")],
            Some("yarn install --immutable"),
            Some("yarn test"),
        ),
        (
            vec![("pyproject.toml", "pytest"), ("uv.lock", "")],
            Some("uv sync --frozen || uv sync --frozen --no-install-workspace"),
            Some("uv run pytest -q"),
        ),
        (
            vec![("requirements.txt", "# pinned\nflask==3"), ("requirements-dev.txt", "pytest"), ("app.py", "")],
            Some(
                "python3 -m venv --system-site-packages .venv && .venv/bin/pip install -q -r requirements.txt -r requirements-dev.txt",
            ),
            Some("python3 -m pytest -q"),
        ),
        (
            vec![("requirements.txt", "# nothing\n"), ("test_a.py", "import unittest")],
            None,
            Some("python3 -m unittest"),
        ),
        (vec![("tests/test_a.py", "import unittest")], None, Some("python3 -m unittest discover -s tests")),
        (vec![("tests/test_a.py", "import unittest"), ("tests/__init__.py", "")], None, Some("python3 -m unittest")),
        (vec![("tests/test_a.py", "from a import b\n\ndef test_b():\n    b()\n")], None, Some("python3 -m pytest -q")),
        (vec![("pyproject.toml", "[tool.ruff]"), ("a.py", "")], None, None),
        (vec![("pyproject.toml", "[tool.pytest.ini_options]")], None, Some("python3 -m pytest -q")),
        (
            vec![("CMakeLists.txt", "enable_testing()")],
            None,
            Some("cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure"),
        ),
        (vec![("CMakeLists.txt", "project(a)")], None, None),
        (vec![("README.md", "")], None, None),
    ] {
        let found = project(&files);
        assert_eq!(found.environment.setup.as_deref(), setup, "{files:?}");
        assert_eq!(found.suite.as_deref(), suite, "{files:?}");
        assert_eq!(found.environment.is_none(), setup.is_none(), "without a setup nothing of it is left: {files:?}");
    }
}

#[test]
fn a_setup_of_the_java_kinds_leaves_nothing_in_the_tree() {
    for (files, program) in [
        (vec![("pom.xml", "")], "mvn -B"),
        (vec![("pom.xml", ""), ("mvnw", "")], "sh ./mvnw -B"),
        (vec![("build.gradle.kts", ""), ("gradlew", "")], "sh ./gradlew --no-daemon"),
    ] {
        let found = project(&files);
        let setup = found.environment.setup.unwrap();
        assert!(setup.starts_with("cp -R . \"$TMPDIR/stub\" && (cd ") && setup.contains(program), "{setup}");
        assert!(found.suite.is_some_and(|suite| suite.starts_with(program)));
    }
    let gradle = project(&[("build.gradle", "")]).environment.setup.unwrap();
    assert!(
        gradle.contains("src/test/java"),
        "what only tests need is fetched where a test class is compiled: {gradle}"
    );
}

#[test]
fn a_setup_of_go_compiles_the_library_and_what_is_required_in_a_copy() {
    let required = "go list -m";
    let of = |files: &[&str]| project(&files.iter().map(|file| (*file, "")).collect::<Vec<_>>());
    for files in [&["go.mod", "a.go"][..], &["go.mod", "go.sum", "a.go", "vendor/modules.txt"]] {
        let environment = of(files).environment;
        let setup = environment.setup.unwrap();
        assert!(environment.offline && setup.contains("go mod init stub") && !setup.contains("download"), "{setup}");
        assert!(!setup.contains(required), "what is required is compiled where it is there: {setup}");
    }
    let downloads = of(&["go.mod", "go.sum"]).environment;
    assert_eq!((downloads.setup.as_deref(), downloads.offline), (Some("go mod download"), false));
    assert_eq!(of(&["go.mod"]).environment.setup, None, "there is nothing to compile");
    for (files, imports, lock) in
        [(&["go.mod", "go.sum", "a.go"], true, "go.sum"), (&["go.work", "a/go.mod", "a/a.go"], false, "go.work")]
    {
        let found = of(files);
        let setup = found.environment.setup.unwrap();
        assert!(setup.starts_with("go mod download && ("), "{setup}");
        assert_eq!(setup.contains(required), imports, "{setup}");
        let in_copy =
            ["cd \"$TMPDIR/stub\" && ", "printf 'import _ \"%s\"\\n' testing ", "> stub_test.go && go test . || :)"];
        assert!(in_copy.iter().all(|part| setup.contains(part)), "{setup}");
        let suite = if lock == "go.work" { "go list -m -f '{{.Dir}}/...' | xargs go test" } else { "go test ./..." };
        assert_eq!((found.suite.as_deref(), found.locks), (Some(suite), vec![lock.to_owned()]));
    }
}

#[test]
fn a_repository_of_several_kinds_has_all_of_their_dependencies() {
    let found = project(&[
        ("pyproject.toml", "pytest"),
        ("uv.lock", ""),
        ("package.json", "{\"scripts\": {\"test\": \"vitest run\"}}"),
        ("pnpm-lock.yaml", ""),
    ]);
    assert_eq!(found.kind.as_deref(), Some("a pnpm package and a Python project with uv"));
    assert_eq!(found.locks, ["pnpm-lock.yaml", "uv.lock"]);
    let spec = found.environment;
    assert!(
        spec.setup.is_some_and(|setup| setup.starts_with("(pnpm install") && setup.contains(") && (uv sync --frozen"))
    );
    assert_eq!(spec.path, ["node_modules/.bin", ".venv/bin"]);
    assert_eq!((spec.env["CI"].as_str(), spec.env["UV_NO_SYNC"].as_str()), ("true", "1"));
    assert_eq!(found.suite.as_deref(), Some("pnpm test && uv run pytest -q"));
}

#[test]
fn projects_in_folders_are_set_up_and_tested_there_unless_the_root_is_one() {
    let npm = "{\"packages\": {\"node_modules/a\": {}}}";
    let tested = "{\"scripts\": {\"test\": \"jest\"}}";
    let folders = [
        ("frontend/package.json", tested),
        ("frontend/package-lock.json", npm),
        ("backend/go.mod", ""),
        ("backend/go.sum", "x"),
        ("docs/requirements.txt", "sphinx"),
    ];
    let found = project(&folders);
    assert_eq!(found.kind.as_deref(), Some("a Go module in backend and an npm package in frontend"));
    assert_eq!(found.locks, ["backend/go.sum", "frontend/package-lock.json"]);
    let environment = found.environment;
    assert_eq!(
        environment.setup.as_deref(),
        Some("(cd backend && go mod download) && (cd frontend && npm ci --no-audit --no-fund)")
    );
    assert!(environment.inputs.contains(&"frontend/**/package.json".to_owned()), "{:?}", environment.inputs);
    assert_eq!(environment.path, ["frontend/node_modules/.bin"]);
    assert_eq!(found.suite.as_deref(), Some("(cd backend && go test ./...) && (cd frontend && npm test)"));
    let uv = project(&[("api/uv.lock", ""), ("api/pyproject.toml", "pytest")]);
    let setup = "cd api && (uv sync --frozen || uv sync --frozen --no-install-workspace)";
    assert_eq!(
        (uv.environment.setup.as_deref(), uv.suite.as_deref()),
        (Some(setup), Some("cd api && uv run pytest -q"))
    );
    let with_root = project(&[folders.as_slice(), &[("Cargo.toml", ""), ("src/lib.rs", "")]].concat());
    assert_eq!((with_root.suite.as_deref(), with_root.environment.setup), (Some("cargo test"), None));
    assert_eq!(with_root.aside, ["backend/go.sum", "frontend/package-lock.json"]);
    let modules = project(&[("pom.xml", ""), ("core/pom.xml", "")]);
    assert!(modules.aside.is_empty(), "they are parts of the whole");
}

#[test]
fn the_texts_that_are_read_are_those_of_projects() {
    let paths = ["a.txt", "package.json", "test_a.py", "web/package.json", "web/src/package.json", "docs/package.json"];
    assert_eq!(Project::read(&paths.into()), ["web/package.json", "package.json", "test_a.py"]);
}

#[test]
fn the_scope_is_where_sources_and_tests_are() {
    for (files, scope) in [
        (vec!["src/a.js", "test/a.test.js", "docs/x.md", "package.json"], vec!["src/**", "test/**"]),
        (vec!["go.mod", "main.go", "stock/stock.go", "stock/testdata/g"], vec!["*.go", "stock/**"]),
        (vec!["setup.py", "client.py", "dates/__init__.py", "docs/conf.md"], vec!["*.py", "dates/**"]),
        (vec!["README.md"], vec![]),
    ] {
        let files: Vec<(&str, &str)> = files.into_iter().map(|file| (file, "")).collect();
        let mut found = project(&files).scope;
        found.sort();
        assert_eq!(found, scope, "{files:?}");
    }
}

#[test]
fn a_program_that_is_not_there_gets_its_remedy() {
    for (printed, says) in [
        ("sh: 1: pnpm: not found\n", "not found: pnpm; npm install --global pnpm"),
        ("x\nsh: line 1: uv: command not found\n", "not found: uv; pip install uv"),
        ("sh: 1: jest: not found\nnpm error", "not found: jest; it is a dependency of the project"),
        ("sh: 1: frobnicate: not found", "not found: frobnicate; install it"),
    ] {
        assert!(
            missing_program(printed).is_some_and(|said| said.starts_with(says)),
            "{printed}: {:?}",
            missing_program(printed)
        );
    }
    assert_eq!(missing_program("AssertionError: not found\nsh: 1: x: Permission denied"), None);
    assert_eq!(missing_program("ok"), None);
}
