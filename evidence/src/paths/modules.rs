//! Files of a change that Python could import and that the base does not have.
//!
//! A runner imports its own modules by name, and folders of the tree may come first on its path. Which names those are
//! depends on what is installed where checks run, so they are not listed here: the verifier looks at each import of such a
//! file. Test files are left out: they are put back as on the base, and their runner imports them by their names.

use std::collections::BTreeSet;

use holdpoint_protocol::facts::PathChange;

use super::{PathClass, PathRules};

/// What Python imports: sources, compiled ones, libraries.
const ENDINGS: [&str; 3] = [".py", ".pyc", ".so"];
/// New modules that are looked at. A change that brings more vendors a library.
const MODULES_MAX: usize = 20_000;

/// The new files among `changes` that Python could import, and whose module the base (its paths, all of them) does not
/// have in the same folder in another form. Files that the scope names as steering are asked for.
#[must_use]
pub fn new_modules(changes: &[PathChange], base: &BTreeSet<String>, rules: &PathRules) -> BTreeSet<String> {
    let wanted = changes.iter().filter(|change| change.old_mode.is_none()).filter_map(|change| {
        let path = change.path.as_str();
        // A link may lead to a package of any name.
        let link = change.new_mode.as_deref() == Some("120000");
        let module = module(path).or_else(|| link.then_some(path))?;
        let asked = rules.scope_names_steering(path) || rules.classify(path) == PathClass::Test;
        (!asked && !is_there(base, module)).then(|| path.to_owned())
    });
    wanted.take(MODULES_MAX).collect()
}

/// The module of a file, as a path without its ending; a package is its folder.
fn module(path: &str) -> Option<&str> {
    let stem = ENDINGS.iter().find_map(|ending| path.strip_suffix(ending))?;
    // `_speed.cpython-311-x86_64-linux-gnu.so`.
    let (folder, name) = stem.rsplit_once('/').map_or(("", stem), |(folder, name)| (folder, name));
    let name = name.split('.').next().unwrap_or(name);
    if name == "__init__" {
        return Some(folder).filter(|folder| !folder.is_empty());
    }
    let at = if folder.is_empty() { 0 } else { folder.len() + 1 };
    stem.get(..at + name.len())
}

fn is_there(base: &BTreeSet<String>, module: &str) -> bool {
    let folder = format!("{module}/");
    let mut inside = base.range(folder.clone()..).take_while(|path| path.starts_with(&folder));
    base.contains(&format!("{module}.py")) || inside.any(|path| ENDINGS.iter().any(|ending| path.ends_with(ending)))
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::facts::ChangeStatus;

    use super::*;

    #[test]
    fn modules_are_new_where_the_base_has_none_of_their_name_in_their_folder() {
        let base =
            ["calc.py", "json/schema.json", "app/__init__.py", "app/core.py", "lib/a.py"].map(str::to_owned).into();
        let rules = PathRules { scope: vec![super::super::Glob::new("_asked.py").unwrap()], ..PathRules::default() };
        let new = |path: &str| {
            let mode = Some(if path.ends_with("link") { "120000" } else { "100644" }.to_owned());
            let change =
                PathChange { path: path.to_owned(), status: ChangeStatus::Added, old_mode: None, new_mode: mode };
            !new_modules(std::slice::from_ref(&change), &base, &rules).is_empty()
        };
        for path in [
            "_strptime.py",
            "json/__init__.py",
            "src/typing.py",
            "app/more.py",
            "_speed.cpython-311.so",
            "x.pyc",
            "link",
        ] {
            assert!(new(path), "{path}");
        }
        for path in [
            "calc/__init__.py",
            "app/core/__init__.py",
            "tests/helper.py",
            "test_a.py",
            "notes.md",
            "_asked.py",
            "__init__.py",
        ] {
            assert!(!new(path), "{path}");
        }
    }
}
