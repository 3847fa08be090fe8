//! Manifests: `Cargo.toml`, `package.json` and `pyproject.toml` may change in what they say about dependencies and the
//! package, and are steering in what they say about tests, scripts and tools.
//!
//! Done by taking the free parts out of both versions and comparing the rest: an unknown key is steering.

use serde_json::{Map, Value};

use super::file_name;

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
const CARGO_DEPENDENCIES: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];
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

/// Whether a path is a manifest, whose changes [`manifest_change_is_steering`] judges.
#[must_use]
pub fn is_manifest(path: &str) -> bool {
    matches!(file_name(path), "Cargo.toml" | "package.json" | "pyproject.toml")
}

/// Whether a change of a manifest touches its test, script or tool parts. `None`: not there on that side. What cannot
/// be parsed is steering, and so is a path that is no manifest.
#[must_use]
pub fn manifest_change_is_steering(path: &str, base: Option<&str>, new: Option<&str>) -> bool {
    let sides = (side(path, base), side(path, new));
    let (Some(mut base), Some(mut new)) = sides else { return true };
    match file_name(path) {
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
        "pyproject.toml" => {
            strip_pyproject(&mut base);
            strip_pyproject(&mut new);
            base != new
        }
        _ => true,
    }
}

type Table = Map<String, Value>;

fn side(path: &str, text: Option<&str>) -> Option<Table> {
    match text {
        None => Some(Table::new()),
        Some(text) if path.ends_with(".json") => serde_json::from_str(text).ok(),
        Some(text) => toml::from_str(text).ok(),
    }
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
