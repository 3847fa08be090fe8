//! What a repository is: read from its base, or from a folder.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use holdpoint_evidence::environment::Project;
use holdpoint_planfile::{declared::ProjectDefaults, plan::ChangeRules};
use holdpoint_protocol::plan::EnvironmentSpec;
use holdpoint_runtime::mirror::wire_path;
use holdpoint_workspace::{ObjectId, RepoPath, UserRepo};

use crate::{bounded, declared, failure::Failure};

/// The most bytes of a project's file that are looked at: lock files can be large.
const FILE_BYTES_MAX: usize = 32 << 20;
/// Names that are looked at in each folder.
const NAMES_MAX: usize = 10_000;
/// Folders below each other that are looked into.
const DEPTH_MAX: usize = 6;
/// Characters of a setup that is shown: longer ones are scripts.
const SETUP_SHOWN: usize = 100;
/// Folders in which nothing is a project's own.
const PASSED_OVER: [&str; 5] = ["node_modules", "target", "build", "dist", "venv"];

/// What plans of a repository go by where they say nothing of it.
#[derive(Debug, Default)]
pub(crate) struct Defaults {
    /// What its trees depend on.
    pub(crate) environment: EnvironmentSpec,
    /// By which files that is known.
    pub(crate) by: Vec<String>,
    /// The command that runs all of its tests.
    pub(crate) suite: Option<String>,
    /// How changes are judged that were made elsewhere.
    pub(crate) verify: Option<ChangeRules>,
    /// What a person has to know of it.
    pub(crate) note: Option<String>,
}

impl Defaults {
    /// What the project file declares on the base, and for the rest what follows from the base's files.
    pub(crate) async fn of(repo: &UserRepo, base: &ObjectId) -> Result<Self, Failure> {
        let ProjectDefaults { environment, suite, verify } = declared::defaults(repo, base).await?;
        let known = of_base(repo, base).await?;
        let by_file = environment.is_some();
        Ok(Self {
            note: aside_in_words(&known).filter(|_| !by_file),
            environment: environment.unwrap_or(known.environment),
            by: if by_file { vec![declared::PROJECT.to_owned()] } else { known.locks },
            suite: suite.or(known.suite),
            verify,
        })
    }

    /// The environment in words; `None`: there is none.
    pub(crate) fn in_words(&self) -> Option<String> {
        in_words(&self.environment, &self.by)
    }
}

/// What the files of a base say.
pub(crate) async fn of_base(repo: &UserRepo, base: &ObjectId) -> Result<Project, Failure> {
    let entries = repo.list_tree(base).await?;
    let paths: Vec<String> = entries.iter().map(|entry| wire_path(&entry.path)).collect();
    let paths: BTreeSet<&str> = paths.iter().map(String::as_str).collect();
    let mut texts = BTreeMap::new();
    for name in Project::read(&paths) {
        let Ok(path) = RepoPath::new(name.as_bytes()) else { continue };
        if let Some(bytes) = repo.file_at(base, &path, FILE_BYTES_MAX).await? {
            texts.insert(name, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    Ok(Project::of(&paths, &|path| texts.get(path).cloned()))
}

/// What the files of a folder and of those in it say.
pub(crate) fn of_folder(root: &Path) -> Project {
    let (mut paths, mut folders) = (BTreeSet::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        for entry in root.join(&folder).read_dir().into_iter().flatten().flatten().take(NAMES_MAX) {
            let (name, kind) = (entry.file_name().to_string_lossy().into_owned(), entry.file_type());
            let path = folder.join(&name);
            if kind.is_ok_and(|kind| kind.is_dir()) {
                let is_own = !PASSED_OVER.contains(&name.as_str()) && (!name.starts_with('.') || name == ".cargo");
                if is_own && folder.components().count() < DEPTH_MAX {
                    folders.push(path);
                }
            } else {
                paths.insert(path.to_string_lossy().into_owned());
            }
        }
    }
    let paths: BTreeSet<&str> = paths.iter().map(String::as_str).collect();
    let read = |path: &str| {
        let bytes = bounded::read(&root.join(path), FILE_BYTES_MAX).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    Project::of(&paths, &read)
}

/// What a person has to know of lock files that are not set up; `None`: there are none.
pub(crate) fn aside_in_words(project: &Project) -> Option<String> {
    let aside = project.aside.join(", ");
    (!aside.is_empty()).then(|| {
        format!("{aside}: not set up, because the root is a project as well; `environment` in project.yaml or the plan can do it")
    })
}

/// A project's environment in words; `None`: it has none.
pub(crate) fn environment_in_words(project: &Project) -> Option<String> {
    in_words(&project.environment, &project.locks)
}

fn in_words(environment: &EnvironmentSpec, by: &[String]) -> Option<String> {
    let setup = environment.setup.as_deref()?;
    let setup = if setup.len() > SETUP_SHOWN { "a script, which `holdpoint check --json` shows" } else { setup };
    Some(format!("{setup}    (by {})", by.join(", ")))
}
