//! Dependencies that a manifest takes from a path. If the base takes one from elsewhere, a folder of the tree in its place is code
//! of the work where tests expect a library's.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// A manifest, or a table in one.
pub(super) type Table = Map<String, Value>;

/// Where Cargo's dependencies stand, in a package, a target and a workspace.
pub(super) const CARGO_DEPENDENCIES: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

/// What one version of a manifest says of where dependencies come from.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sources {
    /// The dependencies that it names.
    named: BTreeSet<String>,
    /// Those of them that come from a path.
    local: BTreeSet<String>,
    /// Paths that stand for a dependency of any package, named or not.
    overriding: BTreeSet<String>,
}

/// Whether a change puts a path in the place of a dependency that the base has.
pub(super) fn replaces_a_dependency(file: &str, base: &Table, new: &Table) -> bool {
    let (base, new) = (Sources::of(file, base), Sources::of(file, new));
    new.local.difference(&base.local).any(|name| base.named.contains(name))
        || !new.overriding.is_subset(&base.overriding)
}

/// What `go.mod` requires, and what it replaces by a path.
pub(super) fn go_module(text: &str) -> Table {
    let (mut required, mut replaced, mut block) = (Table::new(), Table::new(), String::new());
    for line in text.lines().map(|line| line.split("//").next().unwrap_or_default().trim()) {
        let (verb, rest) = match line.split_once(char::is_whitespace) {
            Some((verb, "(")) => {
                verb.clone_into(&mut block);
                continue;
            }
            _ if line == ")" => {
                block.clear();
                continue;
            }
            Some((verb, rest)) if block.is_empty() => (verb, rest),
            _ => (block.as_str(), line),
        };
        let Some(name) = rest.split_whitespace().next() else { continue };
        match (verb, rest.split_once("=>")) {
            ("require", _) => {
                required.insert(name.to_owned(), Value::Null);
            }
            ("replace", Some((_, to))) if is_path(to.trim()) => {
                replaced.insert(name.to_owned(), to.trim().into());
            }
            _ => {}
        }
    }
    Table::from_iter([("require".to_owned(), Value::Object(required)), ("replace".to_owned(), Value::Object(replaced))])
}

impl Sources {
    fn of(file: &str, manifest: &Table) -> Self {
        let mut sources = Self::default();
        match file {
            "Cargo.toml" => sources.cargo(manifest),
            "package.json" => sources.npm(manifest),
            "pyproject.toml" => sources.python(manifest),
            "pom.xml" => sources.maven(&json!(manifest)),
            "go.mod" => {
                sources.named.extend(table(manifest, &["require"]).map(|(name, _)| name.clone()));
                sources.local.extend(table(manifest, &["replace"]).map(|(name, _)| name.clone()));
            }
            _ => {}
        }
        sources
    }

    fn takes(&mut self, name: &str, from_path: bool) {
        self.named.insert(name.to_owned());
        if from_path {
            self.local.insert(name.to_owned());
        }
    }

    fn cargo(&mut self, manifest: &Table) {
        let targets: Vec<&Table> = table(manifest, &["target"]).filter_map(|(_, target)| target.as_object()).collect();
        let places = targets.into_iter().chain([manifest]).chain(manifest.get("workspace").and_then(Value::as_object));
        for (name, said) in places.flat_map(|place| CARGO_DEPENDENCIES.iter().flat_map(|kind| table(place, &[kind]))) {
            self.takes(name, said.get("path").is_some());
        }
        let patched = table(manifest, &["patch"]).filter_map(|(_, registry)| registry.as_object()).flatten();
        for (name, said) in patched.chain(table(manifest, &["replace"])) {
            self.overriding.extend(said.get("path").map(|path| format!("{name} {path}")));
        }
    }

    fn npm(&mut self, manifest: &Table) {
        for kind in ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"] {
            for (name, said) in table(manifest, &[kind]) {
                self.takes(name, said.as_str().is_some_and(|said| is_path(said) || said.starts_with("workspace:")));
            }
        }
        for kind in ["overrides", "resolutions"] {
            self.overridden(manifest.get(kind).unwrap_or(&Value::Null), kind);
        }
    }

    /// Overrides name packages below packages.
    fn overridden(&mut self, value: &Value, name: &str) {
        match value {
            Value::Object(inside) => {
                for (below, value) in inside {
                    self.overridden(value, &format!("{name} {below}"));
                }
            }
            Value::String(said) if is_path(said) => {
                self.overriding.insert(format!("{name} {said}"));
            }
            _ => {}
        }
    }

    fn python(&mut self, manifest: &Table) {
        let listed = manifest.get("project").and_then(|project| project.get("dependencies")).into_iter();
        let optional = table(manifest, &["project", "optional-dependencies"]).map(|(_, list)| list);
        let groups = table(manifest, &["dependency-groups"]).map(|(_, list)| list);
        let lists = listed.chain(optional).chain(groups).filter_map(Value::as_array);
        for said in lists.flatten().filter_map(Value::as_str) {
            let end = said.find(|c: char| !(c.is_alphanumeric() || "-_.".contains(c))).unwrap_or(said.len());
            let from = said.split_once('@').map(|(_, from)| from.trim());
            self.takes(&normal(&said[..end]), from.is_some_and(is_path));
        }
        for (name, said) in table(manifest, &["tool", "uv", "sources"]) {
            let is_local = |said: &Value| said.get("path").is_some() || said.get("workspace").is_some();
            if is_local(said) || said.as_array().is_some_and(|all| all.iter().any(is_local)) {
                self.local.insert(normal(name));
            }
        }
        let groups = table(manifest, &["tool", "poetry", "group"]).filter_map(|(_, group)| group.as_object());
        let of_groups = groups.flat_map(|group| table(group, &["dependencies"]));
        let own = ["dependencies", "dev-dependencies"].map(|kind| table(manifest, &["tool", "poetry", kind]));
        for (name, said) in own.into_iter().flatten().chain(of_groups) {
            self.takes(&normal(name), said.get("path").is_some());
        }
    }

    /// A dependency of Maven's scope `system` is a file.
    fn maven(&mut self, part: &Value) {
        match part {
            Value::Array(parts) => {
                if parts.first().and_then(Value::as_str) == Some("systemPath") {
                    self.overriding.insert(part.to_string());
                }
                parts.iter().for_each(|part| self.maven(part));
            }
            Value::Object(parts) => parts.values().for_each(|part| self.maven(part)),
            _ => {}
        }
    }
}

/// The entries of a table within tables; none where it is not there.
fn table<'t>(outer: &'t Table, keys: &[&str]) -> impl Iterator<Item = (&'t String, &'t Value)> + use<'t> {
    let found = keys.iter().try_fold(outer, |table, key| table.get(*key)?.as_object());
    found.into_iter().flatten()
}

fn is_path(said: &str) -> bool {
    ["file:", "link:", "portal:", "./", "../", "/", "~/"].iter().any(|begin| said.starts_with(begin))
}

/// A name as Python's installers compare it (PEP 503).
fn normal(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}

#[cfg(test)]
mod tests {
    use super::super::manifest_change_is_steering;

    #[test]
    fn a_path_in_the_place_of_a_dependency_is_steering_and_a_new_one_is_not() {
        let cargo = "[dependencies]\nserde = \"1\"\n";
        let npm = r#"{"dependencies": {"chai": "^4.3.0"}, "devDependencies": {"own": "file:own"}}"#;
        let python = "[project]\ndependencies = [\"typing_extensions>=4\"]\n";
        let poetry = "[tool.poetry.dependencies]\nattrs = \"23\"\n";
        let go = "module m\n\ngo 1.21\n\nrequire github.com/pkg/errors v0.9.1 // the one\n";
        let pom = "<project><dependencies><dependency><artifactId>a</artifactId></dependency></dependencies></project>";
        for (path, base, new, steering) in [
            ("Cargo.toml", cargo, "[dependencies]\nserde = { path = \"fake\" }\n", true),
            ("Cargo.toml", cargo, "[dependencies]\nserde = { version = \"2\", features = [\"x\"] }\n", false),
            ("Cargo.toml", cargo, "[dependencies]\nserde = \"1\"\nown = { path = \"own\" }\n", false),
            (
                "Cargo.toml",
                cargo,
                &format!("{cargo}[target.'cfg(unix)'.dependencies]\nserde = {{ path = \"a\" }}\n"),
                true,
            ),
            ("Cargo.toml", cargo, &format!("{cargo}[patch.crates-io]\nlibc = {{ path = \"fake\" }}\n"), true),
            ("Cargo.toml", cargo, &format!("{cargo}[patch.crates-io]\nlibc = {{ git = \"https://h/libc\" }}\n"), false),
            ("package.json", npm, &npm.replace("^4.3.0", "file:lib/fake"), true),
            ("package.json", npm, &npm.replace("^4.3.0", "../fake"), true),
            ("package.json", npm, &npm.replace("^4.3.0", "workspace:*"), true),
            ("package.json", npm, &npm.replace("^4.3.0", "5"), false),
            ("package.json", npm, &npm.replace("file:own", "file:moved"), false),
            ("package.json", npm, &npm.replace("\"own\"", "\"b\": \"file:b\", \"own\""), false),
            ("package.json", npm, &npm.replace("{\"dep", r#"{"overrides": {"x": {"y": "file:y"}}, "dep"#), true),
            ("package.json", npm, &npm.replace("{\"dep", r#"{"overrides": {"x": {"y": "2"}}, "dep"#), false),
            ("pyproject.toml", python, "[project]\ndependencies = [\"typing-extensions @ file:fake\"]\n", true),
            (
                "pyproject.toml",
                python,
                &format!("{python}[tool.uv.sources]\nTyping_Extensions = {{ path = \"x\" }}\n"),
                true,
            ),
            (
                "pyproject.toml",
                python,
                "[project]\ndependencies = [\"typing-extensions>=4\", \"own @ file:own\"]\n",
                false,
            ),
            ("pyproject.toml", poetry, "[tool.poetry.dependencies]\nattrs = { path = \"fake\" }\n", true),
            ("pyproject.toml", poetry, "[tool.poetry.dependencies]\nattrs = \"24\"\n", false),
            ("go.mod", go, &format!("{go}replace github.com/pkg/errors => ./fake\n"), true),
            ("go.mod", go, &format!("{go}replace (\n\tgithub.com/pkg/errors v0.9.1 => ../fake\n)\n"), true),
            ("go.mod", go, &format!("{go}require m/own v0.0.0\nreplace m/own => ./own\n"), false),
            ("go.mod", go, &format!("{go}replace github.com/pkg/errors => github.com/fork/errors v1.0.0\n"), false),
            ("go.mod", go, &go.replace("v0.9.1", "v0.9.2"), false),
            (
                "pom.xml",
                pom,
                &pom.replace("</artifactId>", "</artifactId><systemPath>${basedir}/a.jar</systemPath>"),
                true,
            ),
            ("pom.xml", pom, &pom.replace(">a<", ">b<"), false),
        ] {
            assert_eq!(manifest_change_is_steering(path, Some(base), Some(new)), steering, "{path}\n{new}");
            assert!(!manifest_change_is_steering(path, Some(new), Some(new)), "{path}\n{new}");
        }
    }
}
