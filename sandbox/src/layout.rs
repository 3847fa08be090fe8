//! From a profile to what is really there: resolved paths, in the order in which they are laid over each other.
//!
//! Looks at the file system and changes nothing. `shim` says what is done with a layout.

mod system;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

pub(crate) use system::DEVICES;

use crate::error::SandboxError;
use crate::profile::{Network, Overlaid, Profile, ShownTree};

/// What a program sees of the file system.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Layout {
    /// By depth, so that the more specific ones come later. No path occurs twice, none has a symbolic link in it.
    pub(crate) grants: Vec<Grant>,
    /// Symbolic links on the way to the granted paths, and where they lead.
    pub(crate) links: BTreeMap<PathBuf, PathBuf>,
    /// For Landlock.
    pub(crate) rules: Rules,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grant {
    /// Where the program finds it.
    pub(crate) path: PathBuf,
    /// Where it is on the machine, if that is elsewhere.
    #[serde(default)]
    pub(crate) real: Option<PathBuf>,
    pub(crate) kind: Kind,
    /// What shows through it, where it takes the changes to other trees.
    #[serde(default)]
    pub(crate) over: Option<Overlaid>,
}

impl Grant {
    fn new(path: PathBuf, kind: Kind) -> Self {
        Self { path, real: None, kind, over: None }
    }

    /// Where it is on the machine.
    pub(crate) fn real(&self) -> &Path {
        self.real.as_deref().unwrap_or(&self.path)
    }

    /// Whether other trees can be shown in it: what it has there is not the machine's.
    fn has_room(&self) -> bool {
        self.real.is_some() || matches!(self.kind, Kind::Private | Kind::Hidden)
    }

    /// The grant as the program finds it, with the tree `real` shown at `shown`.
    fn shown_at(self, real: &Path, shown: &Path) -> Self {
        match self.path.strip_prefix(real) {
            Ok(rest) if rest.as_os_str().is_empty() => Self { path: shown.to_owned(), real: Some(self.path), ..self },
            Ok(rest) => Self { path: shown.join(rest), real: Some(self.path.clone()), ..self },
            Err(_) => self,
        }
    }
}

/// In this order a later one rules where both name the same path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// An empty folder in memory that dies with the program.
    Private,
    Read,
    Write,
    Hidden,
}

/// Landlock's view: rights hold for everything below a path, nothing can be taken back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rules {
    /// Folders whose names may be listed, also those of all folders below.
    pub(crate) list: Vec<PathBuf>,
    pub(crate) read: Vec<PathBuf>,
    /// Files that may be written but not created or removed: devices.
    pub(crate) devices: Vec<PathBuf>,
    pub(crate) write: Vec<PathBuf>,
}

impl Layout {
    /// The layout of a profile. With `mounts` the program gets a root of its own in which only the granted is mounted;
    /// without, Landlock alone keeps it from the rest.
    pub(crate) fn of(profile: &Profile, mounts: bool) -> Result<Self, SandboxError> {
        Self::showing(profile, mounts, &[])
    }

    /// The layout of a profile of which the program finds these trees at paths of their own, and nowhere else. Without `mounts`
    /// every tree is where it is on the machine.
    pub(crate) fn showing(profile: &Profile, mounts: bool, shown: &[ShownTree]) -> Result<Self, SandboxError> {
        let mut gathered = Gathered::default();
        if mounts {
            for path in system::PRIVATE {
                gathered.grants.push(Grant::new(path.into(), Kind::Private));
            }
        }
        for path in system::TREES {
            gathered.add(Path::new(path), Kind::Read)?;
        }
        for path in system::secrets() {
            gathered.add(&path, Kind::Hidden)?;
        }
        if profile.network == Network::Host {
            gathered.add(Path::new(system::RESOLVER), Kind::Read)?;
        }
        for (paths, kind) in [(&profile.read, Kind::Read), (&profile.write, Kind::Write), (&profile.deny, Kind::Hidden)]
        {
            for path in paths {
                gathered.add(path, kind)?;
            }
        }
        for tree in shown {
            if mounts {
                gathered.show(tree)?;
            } else if tree.over.is_some() {
                let problem = "is to show trees through another one, for which there are no namespaces";
                return Err(SandboxError::BadPath { path: tree.at.clone(), problem });
            }
        }
        let grants = arrange(gathered.grants);
        let rules = if mounts { rules_over_mounts(&grants) } else { rules_alone(&grants) };
        Ok(Self { grants, links: gathered.links, rules })
    }

    /// Whether some right is taken back below a tree that may be written, which only mounts can do.
    pub(crate) fn takes_back_below_write(&self) -> bool {
        self.grants
            .iter()
            .any(|grant| grant.kind != Kind::Write && nearest_above(&self.grants, &grant.path) == Some(Kind::Write))
    }
}

#[derive(Default)]
struct Gathered {
    grants: Vec<Grant>,
    links: BTreeMap<PathBuf, PathBuf>,
}

impl Gathered {
    fn add(&mut self, path: &Path, kind: Kind) -> Result<(), SandboxError> {
        let bad = |problem| SandboxError::BadPath { path: path.to_owned(), problem };
        if !path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
            return Err(bad("is not absolute"));
        }
        if path.parent().is_none() {
            return Err(bad("is the root of the file system"));
        }
        if path.to_str().is_none() {
            return Err(bad("is not valid UTF-8"));
        }
        match self.resolve(path) {
            Some(path) => self.grants.push(Grant::new(path, kind)),
            None if kind == Kind::Write => return Err(bad("does not exist")),
            None => {}
        }
        Ok(())
    }

    /// Shows a tree at another path, at which nothing else may be but an empty folder or another tree that is shown.
    fn show(&mut self, ShownTree { tree, at, over }: &ShownTree) -> Result<(), SandboxError> {
        let bad = |problem| SandboxError::BadPath { path: at.to_owned(), problem };
        let plain = at.components().skip(1).all(|part| matches!(part, Component::Normal(_)));
        if !at.is_absolute() || !plain || at.parent().is_none() || at.to_str().is_none() {
            return Err(bad("is no place to show a tree at"));
        }
        if self
            .grants
            .iter()
            .any(|grant| grant.path.starts_with(at) || (at.starts_with(&grant.path) && !grant.has_room()))
        {
            return Err(bad("is in another tree that the program has, and no place to show one at"));
        }
        let real = self.resolve(tree).ok_or_else(|| bad("is to show a tree that does not exist"))?;
        let grants = std::mem::take(&mut self.grants);
        self.grants = grants.into_iter().map(|grant| grant.shown_at(&real, at)).collect();
        let Some(over) = over else { return Ok(()) };
        let there =
            |path: &PathBuf| path.canonicalize().map_err(|_| bad("is to show through a tree that does not exist"));
        let over =
            Overlaid { trees: over.trees.iter().map(there).collect::<Result<_, _>>()?, work: there(&over.work)? };
        let grant = self.grants.iter_mut().find(|grant| grant.path == *at && grant.kind == Kind::Write);
        grant.ok_or_else(|| bad("is to take changes and may not be written"))?.over = Some(over);
        Ok(())
    }

    /// The path without symbolic links, noting those on the way. `None`: it does not exist.
    fn resolve(&mut self, path: &Path) -> Option<PathBuf> {
        let mut here = PathBuf::from("/");
        for part in path.components().skip(1) {
            here.push(part);
            if here.is_symlink() {
                let target = here.canonicalize().ok()?;
                self.links.insert(std::mem::replace(&mut here, target.clone()), target);
            }
        }
        here.exists().then_some(here)
    }
}

/// Puts grants in order and drops those that change nothing.
fn arrange(mut grants: Vec<Grant>) -> Vec<Grant> {
    grants.sort_by(|a, b| {
        let depth = |grant: &Grant| grant.path.components().count();
        (depth(a), &a.path, a.kind).cmp(&(depth(b), &b.path, b.kind))
    });
    let mut kept: Vec<Grant> = Vec::with_capacity(grants.len());
    for grant in grants {
        if kept.last().is_some_and(|last| last.path == grant.path) {
            kept.pop();
        }
        let above = nearest_above(&kept, &grant.path);
        let hides_nothing = grant.kind == Kind::Hidden && matches!(above, None | Some(Kind::Private));
        if grant.real.is_some() || (above != Some(grant.kind) && !hides_nothing) {
            kept.push(grant);
        }
    }
    kept
}

/// What rules at a path because of a grant above it, in ordered grants.
fn nearest_above(grants: &[Grant], path: &Path) -> Option<Kind> {
    grants.iter().rev().find(|grant| grant.path != path && path.starts_with(&grant.path)).map(|grant| grant.kind)
}

/// Mounts already show only what was granted and hide what was denied: whole trees will do.
fn rules_over_mounts(grants: &[Grant]) -> Rules {
    let of = |kinds: &[Kind]| -> Vec<PathBuf> {
        grants.iter().filter(|grant| kinds.contains(&grant.kind)).map(|grant| grant.path.clone()).collect()
    };
    let mut read = of(&[Kind::Read]);
    read.push(system::PROC.into());
    let mut write = of(&[Kind::Write, Kind::Private]);
    write.push(system::DEV.into());
    Rules { list: vec!["/".into()], read, devices: Vec::new(), write }
}

/// Landlock cannot take back: a tree with something hidden in it is replaced by its other children.
fn rules_alone(grants: &[Grant]) -> Rules {
    let hidden: Vec<&Path> =
        grants.iter().filter(|grant| grant.kind == Kind::Hidden).map(|grant| grant.path.as_path()).collect();
    let mut read = vec![system::PROC.into()];
    let mut write = Vec::new();
    for grant in grants {
        match grant.kind {
            Kind::Read => expand(&grant.path, &hidden, &mut read),
            Kind::Write => write.push(grant.path.clone()),
            Kind::Private | Kind::Hidden => {}
        }
    }
    Rules { list: Vec::new(), read, devices: DEVICES.iter().map(PathBuf::from).collect(), write }
}

fn expand(path: &Path, hidden: &[&Path], into: &mut Vec<PathBuf>) {
    if hidden.contains(&path) {
        return;
    }
    if !hidden.iter().any(|hidden| hidden.starts_with(path)) {
        into.push(path.to_owned());
        return;
    }
    let Ok(children) = path.read_dir() else { return };
    for child in children.flatten() {
        // A rule on a link would open what it leads to.
        if child.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            expand(&child.path(), hidden, into);
        }
    }
}
