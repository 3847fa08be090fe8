//! What lies under an agent's clone: the clone takes the changes, and what was set up shows through it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use holdpoint_evidence::environment::{BUILD, BUILD_CACHE, CACHES, HOME, MAVEN_CACHE, WORK};
use holdpoint_protocol::plan::EnvironmentSpec;
use holdpoint_sandbox::{Overlaid, ShownTree};

use super::{Layer, TreeMechanism, path_in};

/// An environment under a clone.
#[derive(Debug, Clone)]
pub struct Underlay {
    /// What it was set up from.
    pub spec: EnvironmentSpec,
    /// What was set up; `None`: it could not be, and its program goes without.
    pub layer: Option<Layer>,
    /// How the layer comes under the clone.
    pub mechanism: TreeMechanism,
    /// A folder that goes with the turn.
    pub dir: PathBuf,
}

impl Underlay {
    /// Makes what has to be there before a program runs in the clone.
    ///
    /// # Errors
    /// A folder cannot be made, or files cannot be copied.
    pub fn lay(&self, clone: &Path) -> io::Result<()> {
        let Some(layer) = &self.layer else { return Ok(()) };
        match self.mechanism {
            TreeMechanism::Overlay => {
                let shown = self.shown(clone);
                let folders = shown.iter().flat_map(|shown| [Some(&shown.tree), shown.over.as_ref().map(|o| &o.work)]);
                folders.flatten().try_for_each(fs::create_dir_all)
            }
            TreeMechanism::Copy => copy_below(&layer.work(), clone),
        }
    }

    /// Where its program finds the clone and, where they are laid under it, caches and build output.
    #[must_use]
    pub fn shown(&self, clone: &Path) -> Vec<ShownTree> {
        let over = |trees, name: &str| Some(Overlaid { trees: vec![trees], work: self.dir.join(name) });
        let of_clone = self.overlay().and_then(|layer| over(layer.work(), "clone.work"));
        let mut shown = vec![ShownTree { tree: clone.to_owned(), at: WORK.into(), over: of_clone }];
        if let Some(layer) = self.overlay() {
            let [home, build] = self.own();
            shown.push(ShownTree { tree: home, at: HOME.into(), over: over(layer.home(), "home.work") });
            shown.push(ShownTree { tree: build, at: BUILD.into(), over: over(layer.build(), "build.work") });
        }
        shown
    }

    /// What its program may write besides.
    #[must_use]
    pub fn write(&self) -> Vec<PathBuf> {
        self.overlay().map(|_| self.own().into()).unwrap_or_default()
    }

    fn overlay(&self) -> Option<&Layer> {
        self.layer.as_ref().filter(|_| self.mechanism == TreeMechanism::Overlay)
    }

    /// The folders that take changes to caches and build output.
    fn own(&self) -> [PathBuf; 2] {
        ["home", "build"].map(|name| self.dir.join(name))
    }

    /// The variables of its program, with `PATH` as it is without.
    #[must_use]
    pub fn variables(&self, clone: &Path, path: &str) -> BTreeMap<String, String> {
        let mut variables = self.spec.env.clone();
        variables.insert("PATH".to_owned(), path_in(&self.spec, self.mechanism.seen(clone), path));
        if self.overlay().is_some() {
            let caches = CACHES.map(|(name, folder)| (name.to_owned(), format!("{HOME}/{folder}")));
            variables.insert(BUILD_CACHE.0.to_owned(), format!("{BUILD}/{}", BUILD_CACHE.1));
            let (name, option, folder) = MAVEN_CACHE;
            variables.extend(caches.into_iter().chain([(name.to_owned(), format!("{option}{HOME}/{folder}"))]));
        }
        variables
    }

    /// Patterns of gitignore(5) for what it puts among the tracked files: it is no work.
    ///
    /// # Errors
    /// A folder of the layer cannot be listed.
    pub fn ignored(&self, tracked: &BTreeSet<&str>) -> io::Result<Vec<String>> {
        let places = self.layer.as_ref().map(|layer| layer.places(tracked)).transpose()?.unwrap_or_default();
        let escaped =
            |c: char| if matches!(c, '*' | '?' | '[' | ']' | '\\') { format!("\\{c}") } else { c.to_string() };
        Ok(places.iter().map(|place| format!("/{}", place.chars().map(escaped).collect::<String>())).collect())
    }
}

/// Copies what is in a folder to another one. What is there stays: a tracked file wins over the environment.
///
/// # Errors
/// The first one of the system.
pub fn copy_below(from: &Path, to: &Path) -> io::Result<()> {
    let mut folders = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = folders.pop() {
        for entry in fs::read_dir(&from)? {
            let entry = entry?;
            let (kind, there) = (entry.file_type()?, to.join(entry.file_name()));
            let is_there = there.symlink_metadata().ok();
            match is_there {
                None if kind.is_dir() => {
                    fs::create_dir(&there)?;
                    folders.push((entry.path(), there));
                }
                Some(found) if kind.is_dir() && found.is_dir() => folders.push((entry.path(), there)),
                None if kind.is_symlink() => std::os::unix::fs::symlink(fs::read_link(entry.path())?, &there)?,
                None => drop(fs::copy(entry.path(), &there)?),
                Some(_) => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn underlay(layer: Option<Layer>, mechanism: TreeMechanism) -> Underlay {
        let spec = EnvironmentSpec {
            path: vec!["node_modules/.bin".to_owned()],
            env: [("CI".to_owned(), "true".to_owned())].into(),
            ..EnvironmentSpec::default()
        };
        Underlay { spec, layer, mechanism, dir: "/turn/under".into() }
    }

    #[test]
    fn a_program_whose_environment_could_not_be_set_up_stands_at_the_same_path_without_it() {
        let clone = Path::new("/turn/clone");
        let without = underlay(None, TreeMechanism::Overlay);
        let shown = without.shown(clone);
        assert_eq!((shown.len(), shown[0].at.as_path(), shown[0].over.is_none()), (1, Path::new(WORK), true));
        let variables = without.variables(clone, "/usr/bin");
        assert_eq!(
            (variables["CI"].as_str(), variables["PATH"].as_str()),
            ("true", "/hold/work/node_modules/.bin:/usr/bin")
        );
        assert!(!variables.contains_key("GOMODCACHE") && without.write().is_empty());
        let copied = underlay(None, TreeMechanism::Copy).variables(clone, "/usr/bin");
        assert_eq!(copied["PATH"], "/turn/clone/node_modules/.bin:/usr/bin");
    }

    #[test]
    fn files_that_are_there_stay_when_others_are_copied_to_them() {
        let temp = tempfile::tempdir().unwrap();
        let (from, to) = (temp.path().join("from"), temp.path().join("to"));
        for (dir, file) in [(&from, "deps/a"), (&from, "deps/b"), (&from, "file/in"), (&to, "deps/a"), (&to, "file")] {
            let path = dir.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, dir.file_name().unwrap().as_encoded_bytes()).unwrap();
        }
        std::os::unix::fs::symlink("a", from.join("deps/link")).unwrap();
        copy_below(&from, &to).unwrap();
        let read = |path: &str| fs::read_to_string(to.join(path)).unwrap();
        assert_eq!(
            (read("deps/a"), read("deps/b"), read("file"), read("deps/link")),
            ("to".into(), "from".into(), "to".into(), "to".into())
        );
    }
}
