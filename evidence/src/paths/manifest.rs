//! Manifests: `Cargo.toml`, `package.json`, `pyproject.toml`, `pom.xml` and `go.mod` may change in what they say about dependencies
//! and the package, and are steering in what they say about tests, scripts and tools. A path in the place of a dependency is
//! steering as well ([`super::local_source`]). So are the entry points of an installed
//! Python package (`entry_points.txt` in a `*.dist-info` or `*.egg-info`): runners load plug-ins by them, from every
//! folder on Python's path.
//!
//! Done by taking the free parts out of both versions and comparing the rest: an unknown key is steering.

use holdpoint_text::bom;
use roxmltree::{Document, Node};
use serde_json::{Value, json};

use super::{
    file_name,
    local_source::{CARGO_DEPENDENCIES, Table, go_module, replaces_a_dependency},
    test_path::in_test_folder,
};

/// The parts of `[package]` that are free. Not `build`, `autotests` and the like, nor `metadata`, where tools look.
const CARGO_PACKAGE: &[&str] = &[
    "name",
    "version",
    "authors",
    "edition",
    "rust-version",
    "description",
    "documentation",
    "readme",
    "homepage",
    "repository",
    "license",
    "license-file",
    "keywords",
    "categories",
    "publish",
    "exclude",
    "include",
    "resolver",
];
/// What of a target decides whether and how it is tested.
const CARGO_TARGET_STEERING: &[&str] = &["test", "doctest", "bench", "harness", "required-features"];

/// The keys of `package.json` that are free. Not `scripts`, `workspaces`, nor the sections of tools.
const NPM_FREE: &[&str] = &[
    "name",
    "version",
    "description",
    "keywords",
    "homepage",
    "bugs",
    "license",
    "author",
    "contributors",
    "maintainers",
    "funding",
    "repository",
    "private",
    "publishConfig",
    "files",
    "main",
    "module",
    "browser",
    "types",
    "typings",
    "typesVersions",
    "type",
    "exports",
    "imports",
    "bin",
    "man",
    "directories",
    "sideEffects",
    "engines",
    "os",
    "cpu",
    "dependencies",
    "devDependencies",
    "peerDependencies",
    "peerDependenciesMeta",
    "optionalDependencies",
    "bundledDependencies",
    "bundleDependencies",
    "overrides",
    "resolutions",
];

/// The keys of `[project]` that are steering: commands and plug-ins, which runners load by themselves.
const PROJECT_STEERING: &[&str] = &["scripts", "gui-scripts", "entry-points"];
/// The groups of entry points that are commands, and no plug-ins.
const COMMANDS: &[&str] = &["console_scripts", "gui_scripts"];
/// What of `[tool.poetry]` is free.
const POETRY_FREE: &[&str] = &[
    "name",
    "version",
    "description",
    "authors",
    "maintainers",
    "license",
    "readme",
    "homepage",
    "repository",
    "documentation",
    "keywords",
    "classifiers",
    "dependencies",
    "dev-dependencies",
    "group",
    "extras",
    "source",
    "packages",
    "include",
    "exclude",
    "urls",
    "package-mode",
];
/// What of `[tool.uv]` is free.
const UV_FREE: &[&str] =
    &["sources", "dev-dependencies", "constraint-dependencies", "override-dependencies", "index", "package"];

/// What of Maven's `<project>` is free. Not `properties`, which plug-ins read, nor `build`, `profiles`, `parent` and `modules`.
const POM_FREE: &[&str] = &[
    "artifactId",
    "dependencies",
    "dependencyManagement",
    "description",
    "developers",
    "inceptionYear",
    "licenses",
    "modelVersion",
    "name",
    "organization",
    "scm",
    "url",
    "version",
];

/// Whether a path is a manifest, whose changes [`manifest_change_is_steering`] judges.
#[must_use]
pub fn is_manifest(path: &str) -> bool {
    matches!(file_name(path), "Cargo.toml" | "go.mod" | "package.json" | "pyproject.toml" | "pom.xml")
        || is_entry_points(path)
}

/// Whether a path is the metadata of an installed Python package. One that is a link may lead to any folder, so it is
/// steering; the tests of packaging tools have many, and no runner looks for plug-ins there.
pub(super) fn is_python_metadata(path: &str) -> bool {
    // Python lowers the case before it compares.
    let name = file_name(path).to_ascii_lowercase();
    (name.ends_with(".dist-info") || name.ends_with(".egg-info")) && !in_test_folder(path)
}

fn is_entry_points(path: &str) -> bool {
    path.strip_suffix("/entry_points.txt").is_some_and(is_python_metadata)
}

/// Whether a change of a manifest touches its test, script or tool parts, or puts a path in the place of a dependency. `None`: not
/// there on that side. A manifest that cannot be parsed is steering, and so is a path that is no manifest.
#[must_use]
pub fn manifest_change_is_steering(path: &str, base: Option<&str>, new: Option<&str>) -> bool {
    let sides = (side(path, base), side(path, new));
    let (Some(mut base), Some(mut new)) = sides else { return true };
    if replaces_a_dependency(file_name(path), &base, &new) {
        return true;
    }
    match file_name(path) {
        "go.mod" => false,
        "Cargo.toml" => {
            // A member more is a part of the package; a member less is tests less.
            let fewer = members(&base).iter().any(|member| !members(&new).contains(member));
            strip_cargo(&mut base);
            strip_cargo(&mut new);
            fewer || base != new
        }
        "package.json" => {
            remove(&mut base, NPM_FREE);
            remove(&mut new, NPM_FREE);
            base != new
        }
        "pom.xml" => {
            remove(&mut base, POM_FREE);
            remove(&mut new, POM_FREE);
            base != new
        }
        "entry_points.txt" => {
            remove(&mut base, COMMANDS);
            remove(&mut new, COMMANDS);
            base != new
        }
        "pyproject.toml" => {
            strip_pyproject(&mut base);
            strip_pyproject(&mut new);
            base != new
        }
        _ => true,
    }
}

fn side(path: &str, text: Option<&str>) -> Option<Table> {
    match text.map(bom::stripped) {
        None => Some(Table::new()),
        Some(text) if path.ends_with(".json") => serde_json::from_str(text).ok(),
        Some(text) if path.ends_with(".txt") => Some(entry_points(text)),
        Some(text) if path.ends_with(".xml") => project_of_maven(text),
        Some(text) if path.ends_with(".mod") => Some(go_module(text)),
        Some(text) => toml::from_str(text).ok(),
    }
}

/// The parts of Maven's `<project>`, each with all that is in it, by their names.
fn project_of_maven(text: &str) -> Option<Table> {
    let document = Document::parse(text).ok()?;
    let mut parts = Table::new();
    for part in document.root_element().children().filter(Node::is_element) {
        let said = parts.entry(part.tag_name().name()).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(said) = said {
            said.push(element(part));
        }
    }
    Some(parts)
}

/// An element with what is in it, without comments and layout.
fn element(node: Node<'_, '_>) -> Value {
    let attributes: Vec<String> = node.attributes().map(|one| format!("{}={}", one.name(), one.value())).collect();
    let texts = node.children().filter(Node::is_text).filter_map(|text| text.text());
    let text: String = texts.map(str::trim).collect();
    let inside: Vec<Value> = node.children().filter(Node::is_element).map(element).collect();
    json!([node.tag_name().name(), attributes, text, inside])
}

/// The groups of entry points. Text before the first group is no entry point.
fn entry_points(text: &str) -> Table {
    let mut groups = Table::new();
    let mut group: Option<&str> = None;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            group = Some(name);
        } else if let Some(group) = group {
            let entries = groups.entry(group).or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(entries) = entries {
                entries.push(line.into());
            }
        }
    }
    groups
}

fn remove(table: &mut Table, keys: &[&str]) {
    table.retain(|key, _| !keys.contains(&key.as_str()));
}

/// Changes the table under `key`, and removes it when nothing is left of it.
fn within(table: &mut Table, key: &str, change: impl FnOnce(&mut Table)) {
    if let Some(Value::Object(inner)) = table.get_mut(key) {
        change(inner);
        if inner.is_empty() {
            table.remove(key);
        }
    }
}

fn members(manifest: &Table) -> Vec<Value> {
    let members = manifest.get("workspace").and_then(|workspace| workspace.get("members"));
    members.and_then(Value::as_array).cloned().unwrap_or_default()
}

fn strip_cargo(manifest: &mut Table) {
    remove(manifest, CARGO_DEPENDENCIES);
    remove(manifest, &["features", "patch", "replace"]);
    within(manifest, "package", |package| remove(package, CARGO_PACKAGE));
    within(manifest, "workspace", |workspace| {
        remove(workspace, &["dependencies", "members", "resolver"]);
        within(workspace, "package", |package| remove(package, CARGO_PACKAGE));
    });
    within(manifest, "target", |targets| {
        for name in targets.keys().cloned().collect::<Vec<_>>() {
            within(targets, &name, |target| remove(target, CARGO_DEPENDENCIES));
        }
    });
    // A crate that takes the workspace's lints follows the house rule; anything else about lints steers clippy.
    if manifest.get("lints").is_some_and(|lints| *lints == serde_json::json!({"workspace": true})) {
        manifest.remove("lints");
    }
    within(manifest, "lib", |lib| lib.retain(|key, _| CARGO_TARGET_STEERING.contains(&key.as_str())));
    for kind in ["bin", "example"] {
        strip_targets(manifest, kind);
    }
}

/// Keeps of `[[bin]]` and `[[example]]` only those that say something about testing, and of these only that.
fn strip_targets(manifest: &mut Table, kind: &str) {
    let Some(Value::Array(targets)) = manifest.get_mut(kind) else { return };
    targets.retain_mut(|target| {
        let Value::Object(target) = target else { return true };
        target.retain(|key, _| key == "name" || CARGO_TARGET_STEERING.contains(&key.as_str()));
        target.keys().any(|key| key != "name")
    });
    if targets.is_empty() {
        manifest.remove(kind);
    }
}

fn strip_pyproject(manifest: &mut Table) {
    remove(manifest, &["dependency-groups"]);
    within(manifest, "project", |project| project.retain(|key, _| PROJECT_STEERING.contains(&key.as_str())));
    within(manifest, "build-system", |build| remove(build, &["requires"]));
    within(manifest, "tool", |tool| {
        within(tool, "poetry", |poetry| remove(poetry, POETRY_FREE));
        within(tool, "uv", |uv| remove(uv, UV_FREE));
        within(tool, "setuptools", |setuptools| {
            remove(
                setuptools,
                &["packages", "package-dir", "package-data", "py-modules", "dynamic", "include-package-data"],
            );
        });
        within(tool, "pdm", |pdm| remove(pdm, &["dev-dependencies"]));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_are_free_in_dependencies_and_package_and_steering_in_the_rest() {
        let cargo = "[package]\nname = \"a\"\nversion = \"0.1.0\"\n[dependencies]\nserde = \"1\"\n";
        let npm = r#"{"name": "a", "scripts": {"test": "jest"}, "dependencies": {}}"#;
        let pom = "<project><version>1</version><properties/><dependencies/><build><plugin><skip>false</skip></plugin></build></project>";
        let python = "[project]\nname = \"a\"\n[tool.pytest.ini_options]\naddopts = \"-v\"\n";
        let table: &[(&str, &str, &str, bool)] = &[
            ("Cargo.toml", cargo, &cargo.replace("0.1.0", "0.2.0"), false),
            (
                "Cargo.toml",
                cargo,
                &format!("{cargo}rand = \"1\"\n[dev-dependencies]\nx = \"1\"\n[features]\nd = []\n"),
                false,
            ),
            ("a/Cargo.toml", cargo, &format!("{cargo}[target.'cfg(unix)'.dependencies]\nx = \"1\"\n"), false),
            (
                "Cargo.toml",
                cargo,
                &format!("{cargo}[lints]\nworkspace = true\n[[bin]]\nname = \"b\"\npath = \"b.rs\"\n"),
                false,
            ),
            ("Cargo.toml", cargo, &format!("{cargo}[lib]\ntest = false\n"), true),
            ("Cargo.toml", cargo, &format!("{cargo}[[test]]\nname = \"it\"\nharness = false\n"), true),
            ("Cargo.toml", cargo, &format!("{cargo}[profile.test]\ndebug-assertions = false\n"), true),
            ("Cargo.toml", cargo, &format!("{cargo}[lints.clippy]\nall = \"allow\"\n"), true),
            ("Cargo.toml", cargo, &cargo.replace("version", "autotests = false\nversion"), true),
            ("Cargo.toml", cargo, &cargo.replace("version", "build = \"b.rs\"\nversion"), true),
            ("Cargo.toml", "[workspace]\nmembers = [\"a\"]", "[workspace]\nmembers = [\"a\", \"b\"]", false),
            ("Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\"]", "[workspace]\nmembers = [\"a\"]", true),
            ("Cargo.toml", cargo, "[package", true),
            ("package.json", npm, &npm.replace("{}", r#"{"left-pad": "1"}"#), false),
            ("package.json", npm, &npm.replace("jest", "true"), true),
            ("package.json", npm, &npm.replace("\"dep", "\"jest\": {}, \"dep"), true),
            ("package.json", npm, "[]", true),
            ("pyproject.toml", python, &python.replace("\"a\"", "\"a\"\ndependencies = [\"x\"]"), false),
            ("pyproject.toml", python, &python.replace("-v", "-k nothing"), true),
            ("pyproject.toml", python, "[project]\nname = \"a\"\n", true),
            ("pyproject.toml", python, &format!("{python}[project.entry-points.pytest11]\nx = \"y\"\n"), true),
            (
                "pom.xml",
                pom,
                &pom.replace("<dependencies/>", "<dependencies><dependency>x</dependency></dependencies>"),
                false,
            ),
            ("core/pom.xml", pom, &pom.replace("<version>1", "<!-- new --> <version>2"), false),
            (
                "pom.xml",
                pom,
                &pom.replace("<properties/>", "<properties><skipTests>true</skipTests></properties>"),
                true,
            ),
            ("pom.xml", pom, &pom.replace("<skip>false", "<skip>true"), true),
            ("pom.xml", pom, "<project>", true),
            (
                "src/a-1.dist-info/entry_points.txt",
                "[console_scripts]\na = a:main\n",
                "[console_scripts]\nb = b:main\n",
                false,
            ),
            ("a.egg-info/entry_points.txt", "", "[pytest11]\na = a\n", true),
            (
                "A.EGG-INFO/entry_points.txt",
                "[console_scripts]\na = a:b\n",
                "[console_scripts]\na = a:b\n [pytest11] \na = a\n",
                true,
            ),
            (
                "pyproject.toml",
                python,
                &format!("{python}[tool.poetry.dependencies]\nx = \"1\"\n[dependency-groups]\nd = []\n"),
                false,
            ),
            ("setup.cfg", "", "", true),
        ];
        for (path, base, new, steering) in table {
            assert_eq!(manifest_change_is_steering(path, Some(base), Some(new)), *steering, "{path}\n{new}");
        }
        // Editors of other systems begin with a mark and end lines with two characters.
        for (path, text) in [("Cargo.toml", cargo), ("package.json", npm), ("pyproject.toml", python)] {
            let foreign = format!("\u{feff}{}", text.replace('\n', "\r\n"));
            assert!(!manifest_change_is_steering(path, Some(text), Some(&foreign)), "{path}");
            assert!(manifest_change_is_steering(path, Some(""), Some(&foreign)) == (path != "Cargo.toml"), "{path}");
        }
        assert!(!manifest_change_is_steering("Cargo.toml", None, Some(cargo)));
        assert!(!manifest_change_is_steering("Cargo.toml", Some(cargo), None));
        assert!(manifest_change_is_steering("package.json", None, Some(npm)));
        assert!(manifest_change_is_steering("pyproject.toml", Some(python), None));
    }
}
