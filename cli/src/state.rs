//! The state folder of one repository: where keys, broker, flights, agents and logs are kept.
//!
//! It is outside the repository and closed to everybody but its user. Nothing here knows what is in the files.

mod flights;
mod home;
mod lock;
mod slot;

use std::{
    env, fs, io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use holdpoint_protocol::Digest;
use holdpoint_workspace::UserRepo;

pub(crate) use flights::{FlightRecord, Submission};
pub(crate) use home::Home;
pub(crate) use lock::Lock;
pub(crate) use slot::Slot;

use crate::{failure::Failure, places};

/// What is written to see whether there is room: more than the broker writes at once, but for the biggest plans.
const TRIAL_BYTES: usize = 1 << 20;
/// Hex digits of the git folder's digest in the folder's name.
const NAME_DIGITS: usize = 12;

/// The folder of one repository.
#[derive(Debug, Clone)]
pub(crate) struct StateDir {
    root: PathBuf,
    dir: PathBuf,
    home: Home,
}

impl StateDir {
    /// The folder of this repository; nothing is made. One inside the repository is refused: keys would be a `git add`
    /// away from a commit, and a working tree is never touched.
    pub(crate) fn of(repo: &UserRepo) -> Result<Self, Failure> {
        let root = root()?;
        if let Some(place) = [repo.dir(), repo.git_dir()].into_iter().find(|place| root.starts_with(place)) {
            let message =
                format!("the state folder {} is inside the repository in {}", root.display(), place.display());
            let hint = "set HOLDPOINT_STATE_DIR to a folder outside of it";
            return Err(Failure::usage("state_in_repository", message, hint));
        }
        let git_dir = repo.git_dir().canonicalize().unwrap_or_else(|_| repo.git_dir().to_owned());
        let home = Home::of(&git_dir).map_err(|source| unusable("look at", &git_dir, &source))?;
        let dir = home::folder(&root, &home);
        Ok(Self { root, dir, home })
    }

    /// The folder that was made here; `None`: it does not say of which repository it is.
    pub(crate) fn at(dir: PathBuf) -> Option<Self> {
        let (root, home) = (dir.parent()?.to_owned(), Home::of_folder(&dir)?);
        Some(Self { root, dir, home })
    }

    /// Makes the folder, open to this user only.
    pub(crate) fn ensure(&self) -> Result<(), Failure> {
        for dir in ["", "flights", "processes", "agents", "orchestrator", "logs"] {
            self.make(&self.dir.join(dir))?;
        }
        self.home.note(&self.dir)
    }

    fn make(&self, dir: &Path) -> Result<(), Failure> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(|source| unusable("make", dir, &source))
    }

    /// A folder in it, made if need be.
    pub(crate) fn folder(&self, below: &str) -> Result<PathBuf, Failure> {
        let dir = self.dir.join(below);
        self.make(&dir)?;
        Ok(dir)
    }

    /// The folder itself.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The folder of all repositories: what no agent's program may see.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The environments of all repositories, which its fleets share.
    pub(crate) fn environments(&self) -> PathBuf {
        self.root.join("environments")
    }

    /// Whether flights were flown with it.
    pub(crate) fn is_used(&self) -> bool {
        self.dir.join("broker.json").is_file()
    }

    /// The state folders of other repositories, each with the repository.
    pub(crate) fn others(&self) -> Vec<(Self, Home)> {
        let others = home::all(&self.root).into_iter().filter(|(dir, _)| *dir != self.dir);
        others.map(|(dir, home)| (Self { root: self.root.clone(), dir, home: home.clone() }, home)).collect()
    }

    /// Takes the folder of a repository that is gone from its place: this one is it.
    pub(crate) fn adopt(&self, other: &Self) -> Result<(), Failure> {
        self.home.note(&other.dir)
    }

    /// A path in it.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.dir.join(below)
    }
}

/// Where all state folders are: `HOLDPOINT_STATE_DIR`, else below the user's state folder.
pub(crate) fn root() -> Result<PathBuf, Failure> {
    let var = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let named = var("HOLDPOINT_STATE_DIR")
        .or_else(|| Some(var("XDG_STATE_HOME")?.join("holdpoint")))
        .or_else(|| Some(var("HOME")?.join(".local/state/holdpoint")));
    let Some(named) = named else {
        let message = "there is no place for the state folder: neither HOME nor XDG_STATE_HOME is set";
        return Err(Failure::environment("state_folder", message, "set HOLDPOINT_STATE_DIR to a folder"));
    };
    let absolute = std::path::absolute(&named).map_err(|source| unusable("find", &named, &source))?;
    // What the sandbox hides is hidden by its real path. A folder that is not there yet has no links in its last part.
    let real = absolute.canonicalize().unwrap_or(absolute);
    places::check_path("the state folder", &real)?;
    Ok(real)
}

/// The repository's name for people, and a digest that distinguishes equal names.
pub(crate) fn folder_name(git_dir: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let git_dir = git_dir.canonicalize().unwrap_or_else(|_| git_dir.to_owned());
    let named = if git_dir.file_name().is_some_and(|name| name == ".git") { git_dir.parent() } else { Some(&*git_dir) };
    let name = named.and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let name: String = name.chars().map(plain).take(64).collect();
    let digits: String = Digest::of(git_dir.as_os_str().as_bytes()).hex().chars().take(NAME_DIGITS).collect();
    format!("{name}-{digits}")
}

/// Writes a file that only its owner can read, whole or not at all.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}.part", std::process::id()));
    let write = || -> io::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
        io::Write::write_all(&mut file, bytes)?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    write().map_err(|source| unusable("write", path, &source))
}

/// Refuses a folder that cannot be used, or made where it is not there yet, and one whose disk is full. Nothing is left there.
pub(crate) fn writable(dir: &Path) -> Result<(), Failure> {
    let there = dir.ancestors().find(|dir| dir.is_dir()).unwrap_or(dir);
    try_room(there).map_err(|source| unusable("write in", there, &source))
}

/// Tries whether there is room in a folder, by a file that goes at once. The system's own figures do not know of quotas.
pub(crate) fn try_room(dir: &Path) -> io::Result<()> {
    let mut file = tempfile::tempfile_in(dir)?;
    io::Write::write_all(&mut file, &vec![0; TRIAL_BYTES])
}

/// A file or folder of ours that cannot be used.
pub(crate) fn unusable(action: &str, path: &Path, source: &io::Error) -> Failure {
    let message = format!("cannot {action} {}: {source}", path.display());
    let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::FileTooLarge]
        .contains(&source.kind());
    let hint = format!(
        "{}HOLDPOINT_STATE_DIR names another place for the state folder",
        if full {
            "make room on that disk: `holdpoint purge --dry-run` lists what Holdpoint keeps there; or "
        } else {
            ""
        }
    );
    Failure::environment("state_folder", message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_of_the_same_name_have_different_folders() {
        let (one, other) = (folder_name(Path::new("/a/my repo/.git")), folder_name(Path::new("/b/my repo/.git")));
        assert!(one.starts_with("my_repo-") && other.starts_with("my_repo-"), "{one} {other}");
        assert_ne!(one, other);
        assert!(folder_name(Path::new("/srv/bare.git")).starts_with("bare.git-"));
    }

    #[test]
    fn a_private_file_is_replaced_as_a_whole() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        write_private(&path, b"one").unwrap();
        write_private(&path, b"2").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"2");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
