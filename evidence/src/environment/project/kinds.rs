//! The kinds of projects that are known: by which files, how their dependencies are set up, and how they are tested.

use serde_json::Value;

use super::{Files, Found};

/// Whose folders are no projects by themselves: a part of a program may have such a file.
pub(super) const CMAKE: &str = "a CMake project";

impl Found {
    /// Whether it sets up what a lock file of this name in a folder below says: modules of Maven and Gradle are parts of the whole.
    pub(super) fn covers(&self, lock: &str) -> bool {
        let is_whole = lock == "pom.xml" || lock.starts_with("build.gradle");
        (is_whole && self.lock == Some(lock)) || (lock == "go.sum" && self.lock == Some("go.work"))
    }
}

/// What a repository is.
pub(super) fn all(files: &Files<'_>) -> Vec<Found> {
    let rows: [fn(&Files<'_>) -> Option<Found>; 8] = [rust, go, javascript, python, ruby, maven, gradle, cmake];
    rows.into_iter().filter_map(|row| row(files)).collect()
}

fn rust(files: &Files<'_>) -> Option<Found> {
    files.has("Cargo.toml").then(|| Found {
        kind: "a Cargo workspace",
        lock: Some("Cargo.lock"),
        // What is vendored is there.
        setup: (files.says("Cargo.lock", "source = ") && !files.says(".cargo/config.toml", "vendored-sources"))
            .then(|| "cargo fetch --locked".to_owned()),
        inputs: &["**/Cargo.toml", "Cargo.lock", ".cargo/**", "rust-toolchain", "rust-toolchain.toml"],
        // Without a target, and without those that it names, cargo refuses a manifest.
        names: &[
            "**/src/lib.rs",
            "**/src/main.rs",
            "**/src/bin/**",
            "**/benches/*.rs",
            "**/examples/**",
            "**/build.rs",
        ],
        suite: Some("cargo test".to_owned()),
        ..Found::default()
    })
}

/// Go compiles its library and all dependencies into an empty cache. The test of a stub has most of that compiled, as it is for tests.
/// Its failure costs time alone.
fn go(files: &Files<'_>) -> Option<Found> {
    const LIBRARY: &str = "testing encoding/json log/slog net/http os/exec text/template";
    const REQUIRED: &str = " $(go list -e -f '{{if not (or .Incomplete (eq .Name \"\" \"main\"))}}{{.ImportPath}}{{end}}' \
                            $(go list -m -f '{{if not (or .Main .Indirect)}}{{.Path}}{{end}}' all))";
    let module = files.first(&["go.mod", "go.work"])?;
    let is_workspace = files.has("go.work");
    let downloads = (files.has("go.sum") || is_workspace) && !files.has("vendor/modules.txt");
    let lock = if is_workspace { "go.work" } else { files.first(&["go.sum"]).unwrap_or(module) };
    // Without a module in the root, its own patterns match none.
    let each = "go list -m -f '{{.Dir}}/...' | xargs go test";
    let compiles = files.paths.iter().any(|path| path.ends_with(".go"));
    let (make, required) = match module {
        "go.mod" if downloads => ("cp -R . \"$TMPDIR/stub\" && cd \"$TMPDIR/stub\"", REQUIRED),
        _ => ("mkdir \"$TMPDIR/stub\" && cd \"$TMPDIR/stub\" && go mod init stub", ""),
    };
    let imports = format!("{{ echo package stub; printf 'import _ \"%s\"\\n' {LIBRARY}{required}; }}");
    let stub = format!("({make} && {imports} > stub_test.go && go test . || :)");
    let steps = [downloads.then(|| "go mod download".to_owned()), compiles.then_some(stub)];
    Some(Found {
        kind: "a Go module",
        lock: Some(lock),
        setup: steps.into_iter().flatten().reduce(|one, then| format!("{one} && {then}")),
        offline: !downloads,
        inputs: &["**/go.mod", "**/go.sum", "go.work", "go.work.sum"],
        suite: Some(if module == "go.mod" { "go test ./..." } else { each }.to_owned()),
        ..Found::default()
    })
}

/// npm, pnpm, yarn and bun. Scripts of the project itself, such as `prepare`, want its sources, which a setup does not see.
fn javascript(files: &Files<'_>) -> Option<Found> {
    const PACKAGE: &str = "package.json";
    let package: Value = serde_json::from_str(&files.text(PACKAGE)?).ok()?;
    let script = |name: &str| package["scripts"][name].as_str();
    let has_scripts =
        ["preinstall", "install", "postinstall", "prepare"].into_iter().any(|name| script(name).is_some());
    // `npm init` writes one that fails.
    let tested = script("test").is_some_and(|test| !test.contains("no test specified"));
    let common = Found { path: &["node_modules/.bin"], env: &[("CI", "true")], ..Found::default() };
    let with = |plain: &str, without: &str| Some(if has_scripts { without } else { plain }.to_owned());
    let found = if files.has("pnpm-lock.yaml") {
        Found {
            kind: "a pnpm package",
            lock: Some("pnpm-lock.yaml"),
            setup: with(
                "pnpm install --frozen-lockfile",
                "pnpm install --frozen-lockfile --ignore-scripts && pnpm rebuild",
            ),
            inputs: &[
                "**/package.json",
                "pnpm-lock.yaml",
                "pnpm-workspace.yaml",
                ".npmrc",
                ".pnpmfile.cjs",
                "patches/**",
            ],
            suite: tested.then(|| "pnpm test".to_owned()),
            ..common
        }
    } else if files.has("yarn.lock") {
        let is_modern = files.has(".yarnrc.yml") || files.says("yarn.lock", "__metadata:");
        Found {
            kind: "a yarn package",
            lock: Some("yarn.lock"),
            setup: if is_modern {
                Some("yarn install --immutable".to_owned())
            } else {
                with("yarn install --frozen-lockfile", "yarn install --frozen-lockfile --ignore-scripts")
            },
            inputs: &["**/package.json", "yarn.lock", ".yarnrc", ".yarnrc.yml", ".yarn/**", ".npmrc", "patches/**"],
            suite: tested.then(|| "yarn test".to_owned()),
            ..common
        }
    } else if let Some(lock) = files.first(&["bun.lock", "bun.lockb"]) {
        Found {
            kind: "a Bun package",
            lock: Some(if lock == "bun.lock" { "bun.lock" } else { "bun.lockb" }),
            setup: with("bun install --frozen-lockfile", "bun install --frozen-lockfile --ignore-scripts"),
            inputs: &["**/package.json", "bun.lock", "bun.lockb", "bunfig.toml", ".npmrc", "patches/**"],
            suite: Some(if tested { "bun run test" } else { "bun test" }.to_owned()),
            ..common
        }
    } else {
        let lock = files.first(&["package-lock.json", "npm-shrinkwrap.json"]);
        let needs = lock.is_some_and(|lock| files.says(lock, "node_modules/"));
        let quiet = "npm ci --no-audit --no-fund";
        Found {
            kind: "an npm package",
            lock: Some("package-lock.json"),
            setup: with(quiet, &format!("{quiet} --ignore-scripts && npm rebuild")).filter(|_| needs),
            inputs: &["**/package.json", "package-lock.json", "npm-shrinkwrap.json", ".npmrc", "patches/**"],
            suite: tested.then(|| "npm test".to_owned()),
            ..common
        }
    };
    (found.setup.is_some() || found.suite.is_some()).then_some(found)
}

/// uv, or a virtual environment with pip. The project itself is installed as a link to its sources, which a build makes that wants
/// their names.
fn python(files: &Files<'_>) -> Option<Found> {
    let runner = python_runner(files);
    if files.has("uv.lock") {
        return Some(Found {
            kind: "a Python project with uv",
            lock: Some("uv.lock"),
            setup: Some("uv sync --frozen || uv sync --frozen --no-install-workspace".to_owned()),
            inputs: &["**/pyproject.toml", "uv.lock", "uv.toml", ".python-version", "**/setup.cfg"],
            names: &["src/*/__init__.py", "*/__init__.py", "packages/*/src/*/__init__.py", "README*", "LICENSE*"],
            path: &[".venv/bin"],
            // The checkout has the project's sources in place of those that were built.
            env: &[("UV_NO_SYNC", "1")],
            suite: runner.map(|runner| match runner.strip_prefix("-m pytest") {
                Some(options) => format!("uv run pytest{options}"),
                None => format!("uv run python {runner}"),
            }),
            ..Found::default()
        });
    }
    let uses_pytest = runner.as_ref().is_some_and(|runner| runner.contains("pytest"));
    let suite = runner.map(|runner| format!("python3 {runner}"));
    if files.has("poetry.lock") {
        return Some(Found {
            kind: "a Python project with Poetry",
            lock: Some("poetry.lock"),
            setup: Some("poetry install --no-interaction || poetry install --no-interaction --no-root".to_owned()),
            inputs: &["pyproject.toml", "poetry.lock", "poetry.toml", ".python-version"],
            names: &["src/*/__init__.py", "*/__init__.py", "README*", "LICENSE*"],
            path: &[".venv/bin"],
            env: &[("POETRY_VIRTUALENVS_IN_PROJECT", "true")],
            suite,
            ..Found::default()
        });
    }
    let kind = if uses_pytest { "Python with pytest" } else { "Python with unittest" };
    let names_packages = |name: &&&str| {
        let text = files.text(name).unwrap_or_default();
        text.lines().map(str::trim).any(|line| line.starts_with(|c: char| c.is_ascii_alphanumeric()))
    };
    let lists: Vec<&str> =
        ["requirements.txt", "requirements-dev.txt", "requirements-test.txt", "dev-requirements.txt"]
            .iter()
            .filter(names_packages)
            .copied()
            .collect();
    if lists.first() == Some(&"requirements.txt") {
        let lists: String = lists.iter().map(|list| format!(" -r {list}")).collect();
        return Some(Found {
            kind,
            lock: Some("requirements.txt"),
            setup: Some(format!("python3 -m venv --system-site-packages .venv && .venv/bin/pip install -q{lists}")),
            inputs: &["*requirements*.txt", "requirements/**", "constraints*.txt"],
            path: &[".venv/bin"],
            suite,
            ..Found::default()
        });
    }
    suite.is_some().then(|| Found { kind, suite, ..Found::default() })
}

/// How many test modules are read.
const TEST_MODULES_READ: usize = 4;

/// The first of these paths that are test modules of Python, near the root.
pub(super) fn test_modules<'p>(paths: impl Iterator<Item = &'p str>) -> impl Iterator<Item = &'p str> {
    let is_module = |path: &&str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_test = name.starts_with("test") || name.ends_with("_test.py");
        is_test && name.ends_with(".py") && path.split('/').count() <= 3
    };
    paths.filter(is_module).take(TEST_MODULES_READ)
}

/// The module that runs all tests, as an option of Python: where the configuration names pytest that one, else what test modules are
/// written for.
fn python_runner(files: &Files<'_>) -> Option<String> {
    let configured = files.first(&["pytest.ini", "conftest.py", "tests/conftest.py"]).is_some()
        || ["pyproject.toml", "setup.cfg", "tox.ini", "requirements.txt", "requirements-dev.txt"]
            .iter()
            .any(|name| files.says(name, "pytest"));
    let modules: Vec<(&str, String)> =
        test_modules(files.all()).map(|path| (path, files.text(path).unwrap_or_default())).collect();
    let of_pytest =
        |text: &str| text.contains("import pytest") || text.lines().any(|line| line.starts_with("def test_"));
    if configured || modules.iter().any(|(_, text)| of_pytest(text)) {
        return Some("-m pytest -q".to_owned());
    }
    let (path, _) = modules.iter().find(|(_, text)| text.contains("unittest"))?;
    // It looks into packages alone.
    Some(match path.rsplit_once('/') {
        Some((folder, _)) if !files.has(&format!("{folder}/__init__.py")) => {
            format!("-m unittest discover -s {folder}")
        }
        _ => "-m unittest".to_owned(),
    })
}

/// Bundler, into a folder of the tree. Of its runners RSpec and Rake's default task are known.
fn ruby(files: &Files<'_>) -> Option<Found> {
    if !files.has("Gemfile.lock") {
        return None;
    }
    let names = |gem: &str| files.says("Gemfile.lock", &format!("    {gem} ("));
    let suite = if names("rspec") && (files.has(".rspec") || files.all().any(|path| path.starts_with("spec/"))) {
        Some("bundle exec rspec".to_owned())
    } else {
        (files.has("Rakefile") && names("rake")).then(|| "bundle exec rake test".to_owned())
    };
    Some(Found {
        kind: "a Ruby project with Bundler",
        lock: Some("Gemfile.lock"),
        setup: Some("bundle install".to_owned()),
        inputs: &["Gemfile", "Gemfile.lock", "*.gemspec", ".ruby-version", ".bundle/config"],
        names: &["lib/**/version.rb"],
        env: &[("BUNDLE_PATH", "vendor/bundle"), ("BUNDLE_FROZEN", "true")],
        suite,
        ..Found::default()
    })
}

/// Surefire fetches the provider of a project's tests only once there is one: so one is made, in a copy that goes with the setup.
fn maven(files: &Files<'_>) -> Option<Found> {
    if !files.has("pom.xml") {
        return None;
    }
    let mvn = if files.has("mvnw") { "sh ./mvnw" } else { "mvn" };
    let stub = "find . -name pom.xml | while IFS= read -r pom; do d=${pom%pom.xml}src/test/java; mkdir -p \"$d\"; \
                echo 'class StubTest {}' > \"$d/StubTest.java\"; done";
    Some(Found {
        kind: "a Maven project",
        lock: Some("pom.xml"),
        setup: Some(format!(
            "cp -R . \"$TMPDIR/stub\" && (cd \"$TMPDIR/stub\" && {stub}; {mvn} -B -q dependency:go-offline && {mvn} -B -q test)"
        )),
        inputs: &["**/pom.xml", ".mvn/**", "mvnw"],
        suite: Some(format!("{mvn} -B test")),
        ..Found::default()
    })
}

fn gradle(files: &Files<'_>) -> Option<Found> {
    let build = files.first(&["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"])?;
    let gradle = if files.has("gradlew") { "sh ./gradlew --no-daemon" } else { "gradle --no-daemon" };
    Some(Found {
        kind: "a Gradle project",
        lock: Some(if build.ends_with(".kts") { "build.gradle.kts" } else { "build.gradle" }),
        // What only tests need is fetched when tests are compiled and begun: each module gets a class that is none.
        setup: Some(format!(
            "cp -R . \"$TMPDIR/stub\" && (cd \"$TMPDIR/stub\" && find . -name 'build.gradle*' | while read -r f; do \
             d=$(dirname \"$f\")/src/test/java; mkdir -p \"$d\" && echo 'class HoldpointStub {{}}' > \"$d/HoldpointStub.java\"; done && \
             {gradle} -q dependencies testClasses && {{ {gradle} -q test || true; }})"
        )),
        inputs: &["**/*.gradle", "**/*.gradle.kts", "gradle/**", "gradle.properties", "**/gradle.lockfile", "gradlew"],
        suite: Some(format!("{gradle} test")),
        ..Found::default()
    })
}

fn cmake(files: &Files<'_>) -> Option<Found> {
    let build = "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure";
    let tested = ["enable_testing", "include(CTest)"].iter().any(|words| files.says("CMakeLists.txt", words));
    files.has("CMakeLists.txt").then(|| Found {
        kind: CMAKE,
        suite: tested.then(|| build.to_owned()),
        ..Found::default()
    })
}
