//! A git directory for one operation: an index of its own over another repository's objects. So
//! neither the user's repository nor a mirror ever gets a temporary ref or a foreign index, and no configuration but
//! ours is read.

use std::path::{Path, PathBuf};

use holdpoint_sandbox::TemporaryFolder;

use crate::error::WorkspaceError;
use crate::files::{create_dir, write};
use crate::git::Git;
use crate::objects::Objects;
use crate::oid::ObjectFormat;

/// A git directory for one operation. It is removed when dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    dir: TemporaryFolder,
    objects: Objects,
    /// Objects that the user of this machine has in a repository: git is as free with them as the user's own.
    trusted: bool,
}

impl Scratch {
    /// A fresh one over objects that others made, below `parent` (default: the system's folder for temporary files).
    pub(crate) fn new(parent: Option<&Path>, objects: Objects) -> Result<Self, WorkspaceError> {
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
        let dir = TemporaryFolder::new_in(&parent).map_err(WorkspaceError::io("create a folder in", &parent))?;
        for folder in ["refs", "objects", "info"] {
            create_dir(&dir.path().join(folder))?;
        }
        write(&dir.path().join("HEAD"), "ref: refs/heads/none\n")?;
        write(&dir.path().join("config"), config(objects.format, "\tbare = true\n"))?;
        Ok(Self { dir, objects, trusted: false })
    }

    /// As [`Scratch::new`], over the user's own objects.
    pub(crate) fn of_user(objects: Objects) -> Result<Self, WorkspaceError> {
        Ok(Self { trusted: true, ..Self::new(None, objects)? })
    }

    /// A fresh one with objects of its own, which finds those of another repository and writes none there.
    pub(crate) fn apart_from(theirs: &Objects) -> Result<Self, WorkspaceError> {
        let begun = Self::new(None, theirs.clone())?;
        let own = begun.path().join("objects");
        create_dir(&own.join("info"))?;
        write(&own.join("info/alternates"), format!("{}\n", theirs.dir.display()))?;
        Ok(Self { objects: Objects { dir: own, format: theirs.format }, ..begun })
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Where git reads which files to ignore, besides the ignore files of a tree. Not there yet.
    pub(crate) fn exclude_file(&self) -> PathBuf {
        self.path().join("info/exclude")
    }

    pub(crate) fn objects(&self) -> &Objects {
        &self.objects
    }

    /// A call of git on this directory that finds further objects in a folder which somebody else may write.
    pub(crate) fn git_with(&self, command: &'static str, objects: &Path) -> Git {
        self.git(command).env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects).reads(objects)
    }

    /// A call of git on this directory.
    pub(crate) fn git(&self, command: &'static str) -> Git {
        let git = Git::new(command).git_dir(self.path()).dir(self.path());
        let git = git.env("GIT_OBJECT_DIRECTORY", &self.objects.dir);
        if self.trusted {
            return git;
        }
        let alternates = self.objects.alternates();
        let git = git.confined(self.objects.work(&alternates)).writes(self.path()).writes(&self.objects.dir);
        alternates.iter().fold(git, |git, dir| git.reads(dir))
    }
}

/// The configuration of a repository whose objects are named with `format`, with these lines of `[core]`.
pub(crate) fn config(format: ObjectFormat, core: &str) -> String {
    let (version, extension) = match format {
        ObjectFormat::Sha1 => (0, ""),
        ObjectFormat::Sha256 => (1, "[extensions]\n\tobjectformat = sha256\n"),
    };
    format!("[core]\n\trepositoryformatversion = {version}\n{core}{extension}")
}
