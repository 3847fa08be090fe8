//! Steering files: files that decide what a check runs, or what agents read as instructions.
//!
//! By ecosystem, and by name alone: an entry of a list is matched wherever in the tree the file is, because a runner
//! started in a sub-folder reads the one it finds there. The files that coding agents read are in [`super::agents`].
//! Lock files and `.gitignore` are not in the lists: they hold dependencies and ignored paths.

use super::{agents, python::PYTHON_MODULES};

/// Holdpoint's own files at the root: the covenant's default name, workflows, the org chart.
const OWN_ROOT: &[&str] = &["project.yaml", "org.yaml"];

/// Names that shadow the runner itself when `python -m` starts it in the root.
const PYTHON_RUNNER_SHADOWS: &[&str] = &["pytest", "_pytest", "pluggy", "unittest", "doctest", "coverage", "nose2"];

/// Folders in which every file is steering, at any depth.
const FOLDERS: &[&str] = &[
    // Holdpoint.
    ".holdpoint",
    // Continuous integration.
    ".github",
    ".gitlab",
    ".circleci",
    ".buildkite",
    ".woodpecker",
    ".forgejo",
    ".gitea",
    ".teamcity",
    ".ci",
    // Hooks and build-tool configuration.
    ".husky",
    ".cargo",
    ".mvn",
    ".yarn",
    "buildSrc",
    // Where runners of JavaScript, and what they load, are looked for first.
    "node_modules",
    // Packages that Python imports before anything else.
    "sitecustomize",
    "usercustomize",
];

/// File names that are steering, at any depth.
const NAMES: &[&str] = &[
    // Continuous integration.
    ".gitlab-ci.yml",
    ".travis.yml",
    "azure-pipelines.yml",
    "Jenkinsfile",
    ".drone.yml",
    ".woodpecker.yml",
    "bitbucket-pipelines.yml",
    "appveyor.yml",
    ".appveyor.yml",
    ".cirrus.yml",
    "cloudbuild.yaml",
    "cloudbuild.yml",
    ".pre-commit-config.yaml",
    // Git: attributes change bytes at checkout, modules bring trees of others.
    ".gitattributes",
    ".gitmodules",
    // Any language: task runners and tool versions.
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    "Justfile",
    ".justfile",
    "Taskfile.yml",
    "Taskfile.yaml",
    "CMakeLists.txt",
    "CTestConfig.cmake",
    "meson.build",
    "BUILD",
    "BUILD.bazel",
    "WORKSPACE",
    "MODULE.bazel",
    ".bazelrc",
    ".tool-versions",
    "mise.toml",
    ".mise.toml",
    ".envrc",
    // Rust.
    "build.rs",
    "rust-toolchain",
    "rust-toolchain.toml",
    "clippy.toml",
    ".clippy.toml",
    "rustfmt.toml",
    ".rustfmt.toml",
    "nextest.toml",
    "deny.toml",
    "tarpaulin.toml",
    ".tarpaulin.toml",
    // Python.
    "conftest.py",
    "sitecustomize.py",
    "usercustomize.py",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "tox.ini",
    "tox.toml",
    "setup.cfg",
    "setup.py",
    "noxfile.py",
    ".coveragerc",
    "mypy.ini",
    ".mypy.ini",
    "ruff.toml",
    ".ruff.toml",
    ".flake8",
    ".pylintrc",
    "pylintrc",
    "pyrightconfig.json",
    ".python-version",
    // JavaScript and TypeScript.
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    "pnpm-workspace.yaml",
    "lerna.json",
    "nx.json",
    "turbo.json",
    ".swcrc",
    "bunfig.toml",
    "deno.json",
    "deno.jsonc",
    "biome.json",
    "biome.jsonc",
    ".nycrc",
    ".c8rc.json",
    ".nvmrc",
    ".node-version",
    // Go.
    "go.work",
    ".golangci.yml",
    ".golangci.yaml",
    ".golangci.toml",
    // Java and Kotlin.
    "build.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "gradle.properties",
    "junit-platform.properties",
    "gradle-wrapper.properties",
    "gradlew",
    "mvnw",
    "gradle-wrapper.jar",
    // Task runners of several languages, and what builds images.
    "tasks.py",
    "fabfile.py",
    "dodo.py",
    "SConstruct",
    "hatch.toml",
    "uv.toml",
    "poetry.toml",
    ".Rprofile",
    ".bazelversion",
    "WORKSPACE.bazel",
    // Ruby, PHP, Elixir, .NET.
    "composer.json",
    "Rakefile",
    ".rspec",
    ".rubocop.yml",
    "phpunit.xml",
    "phpunit.xml.dist",
    "mix.exs",
    "Directory.Build.props",
    "Directory.Build.targets",
    "global.json",
    ".runsettings",
];

/// Beginnings of the names of services that JUnit and TestNG load from the classpath, product and tests alike.
const JUNIT_SERVICES: &[&str] = &["org.junit.", "org.testng."];

/// Beginnings of file names that are steering: configuration with several endings.
const NAME_STARTS: &[&str] = &[
    "jest.config.",
    "jest.setup.",
    "vitest.config.",
    "vitest.setup.",
    "vitest.workspace.",
    "vite.config.",
    "babel.config.",
    ".babelrc",
    "karma.conf.",
    ".mocharc.",
    "ava.config.",
    "Gruntfile.",
    "gulpfile.",
    "playwright.config.",
    "cypress.config.",
    "webpack.config.",
    "rollup.config.",
    "esbuild.config.",
    "eslint.config.",
    ".eslintrc",
    ".prettierrc",
    "tsconfig.",
    "jsconfig.",
    ".nycrc.",
];

/// Ends of file names that are steering.
const NAME_ENDS: &[&str] = &[".mk", ".runsettings", ".gradle", ".gradle.kts", ".csproj", ".fsproj", ".sbt"];

/// Whether `path` is a steering file. Manifests and scripts of checks are looked at elsewhere.
#[must_use]
pub fn is_steering(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    in_steering_folder(folders)
        || agents::is_agents_settings(path)
        || agents::is_of_skills(path)
        || NAMES.contains(&name)
        || NAME_STARTS.iter().any(|start| name.starts_with(start))
        || NAME_ENDS.iter().any(|end| name.ends_with(end))
        || (folders.is_empty() && OWN_ROOT.contains(&name))
        || shadows_runner(path)
        || (folders.ends_with("META-INF/services") && JUNIT_SERVICES.iter().any(|start| name.starts_with(start)))
}

/// Whether the folders of a path (without its file name) are those of skill packs, or one of them is a steering folder.
pub(super) fn in_steering_folder(folders: &str) -> bool {
    agents::is_of_skills(folders)
        || folders.split('/').any(|segment| FOLDERS.contains(&segment) || agents::FOLDERS.contains(&segment))
}

fn shadows_runner(path: &str) -> bool {
    // Reports have folders of these names as well (`coverage/lcov.info`): only what Python could import takes a module's place.
    let is_code = [".py", ".pyc", ".so"].iter().any(|end| path.ends_with(end));
    let module = path.split(['/', '.']).next().unwrap_or(path);
    let runner = is_code && PYTHON_RUNNER_SHADOWS.contains(&module);
    // `python -m unittest` looks in the root first, for whatever its own modules import.
    let library = path.strip_suffix(".py").map(|path| path.strip_suffix("/__init__").unwrap_or(path));
    runner || library.is_some_and(|module| PYTHON_MODULES.contains(&module))
}
