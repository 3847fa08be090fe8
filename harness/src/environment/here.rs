//! What is installed already: in the ignored folders of a checkout, and in the caches of its user. Nothing is set up; it is laid under
//! trees that stand where the checkout does, so that programs which name each other by their paths find each other.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use holdpoint_evidence::paths::is_compiled_module;

use super::Layer;

/// Caches of a home, in which package managers keep what they downloaded.
const CACHES: [&str; 16] = [
    ".bundle/cache",
    ".cache/pip",
    ".cache/uv",
    ".cache/yarn",
    ".cargo/git",
    ".cargo/registry",
    ".gem/ruby",
    ".gradle/caches",
    ".gradle/wrapper",
    ".local/lib",
    ".local/share/pnpm/store",
    ".m2/repository",
    ".m2/wrapper",
    ".npm/_cacache",
    ".nuget/packages",
    "go/pkg/mod",
];
/// Where Go keeps in a home what it compiled. It finds entries by all that they were built from.
const GO_CACHE: &str = ".cache/go-build";
/// Folders that are laid under a tree: each is a mount of its own.
const FOLDERS_MAX: usize = 500;
/// Bytes of one ignored file: more is no source that something generated.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// An environment that somebody else set up.
#[derive(Debug, Clone)]
pub struct Here {
    /// The root of the checkout.
    pub root: PathBuf,
    /// The home of its user.
    pub home: PathBuf,
    /// Ignored folders, from the root.
    pub folders: Vec<PathBuf>,
    /// Caches, from the home.
    pub caches: Vec<PathBuf>,
    /// What Go compiled, if it is there.
    pub go_cache: Option<PathBuf>,
    /// What is no folder, and an empty folder in the place of each that is one.
    pub layer: Layer,
}

impl Here {
    /// What is installed in the checkout at `root`, of which git ignores these paths, and in a home. `dir` is an empty folder for what
    /// this needs; it has to be there as long as this is used.
    ///
    /// # Errors
    /// The checkout cannot be read, `dir` not written, or too many folders are ignored.
    pub fn find(root: &Path, ignored: &[String], home: &Path, dir: &Path) -> io::Result<Self> {
        let (root, home) = (root.canonicalize()?, home.canonicalize().unwrap_or_else(|_| home.to_owned()));
        let layer = Layer::given(dir)?;
        let mut folders = Vec::new();
        for path in ignored.iter().map(|path| path.trim_end_matches('/')).filter(|path| !is_compiled_module(path)) {
            let (from, to) = (root.join(path), layer.work().join(path));
            let found = from.symlink_metadata()?;
            if found.is_dir() {
                fs::create_dir_all(&to)?;
                folders.push(PathBuf::from(path));
                continue;
            }
            to.parent().map_or(Ok(()), fs::create_dir_all)?;
            if found.is_symlink() {
                symlink(fs::read_link(&from)?, &to)?;
            } else if found.is_file() && found.len() <= FILE_BYTES_MAX && !is_settings(path) {
                fs::copy(&from, &to)?;
            }
        }
        if folders.len() > FOLDERS_MAX {
            let why = format!("git ignores {} folders of it, and {FOLDERS_MAX} are the most", folders.len());
            return Err(io::Error::other(why));
        }
        let caches = CACHES.iter().map(PathBuf::from).filter(|cache| home.join(cache).is_dir());
        // One in the checkout is among its folders, or tracked.
        let caches: Vec<PathBuf> = caches.filter(|cache| !home.join(cache).starts_with(&root)).collect();
        caches.iter().try_for_each(|cache| fs::create_dir_all(layer.home().join(cache)))?;
        let go_cache = Some(home.join(GO_CACHE)).filter(|cache| cache.is_dir());
        Ok(Self { root, home, folders, caches, go_cache, layer })
    }

    /// The folders on this machine, each with its place in a tree and in a home that are at `tree` and `home`.
    pub fn laid(&self, tree: &Path, home: &Path) -> Vec<(PathBuf, PathBuf)> {
        let of = |from: &Path, to: &Path, all: &[PathBuf]| -> Vec<(PathBuf, PathBuf)> {
            all.iter().map(|path| (from.join(path), to.join(path))).collect()
        };
        [of(&self.root, tree, &self.folders), of(&self.home, home, &self.caches)].concat()
    }

    /// Leads from a copied tree and home to the folders, where nothing else took their places.
    ///
    /// # Errors
    /// A link cannot be made.
    pub fn link(&self, tree: &Path, home: &Path) -> io::Result<()> {
        for (real, at) in self.laid(tree, home) {
            if fs::remove_dir(&at).is_ok() {
                symlink(real, at)?;
            }
        }
        Ok(())
    }
}

/// Whether a file is of the kind that holds a user's settings and secrets, such as `.env` and `.npmrc`.
fn is_settings(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_caches_are_laid_where_they_are_and_secrets_and_compiled_modules_are_not() {
        let temp = tempfile::tempdir().unwrap();
        let at = |path: &str| temp.path().join(path);
        for file in [
            "repo/node_modules/x/i.js",
            "repo/src/version.py",
            "repo/.env",
            "repo/src/__pycache__/a.pyc",
            "home/.cargo/registry/c",
            "home/.ssh/id",
        ] {
            fs::create_dir_all(at(file).parent().unwrap()).unwrap();
            fs::write(at(file), file).unwrap();
        }
        fs::create_dir(at("dir")).unwrap();
        let ignored = ["node_modules/", "src/version.py", ".env", "src/__pycache__/"].map(str::to_owned);
        let here = Here::find(&at("repo"), &ignored, &at("home"), &at("dir")).unwrap();
        let (repo, home) = (at("repo").canonicalize().unwrap(), at("home").canonicalize().unwrap());
        let laid = here.laid(Path::new("/t"), Path::new("/h"));
        let pair = |from: PathBuf, to: &str| (from, PathBuf::from(to));
        assert_eq!(
            laid,
            [
                pair(repo.join("node_modules"), "/t/node_modules"),
                pair(home.join(".cargo/registry"), "/h/.cargo/registry")
            ]
        );
        let work = here.layer.work();
        assert!(work.join("src/version.py").is_file() && work.join("node_modules").is_dir());
        assert!(!work.join(".env").exists() && !work.join("src/__pycache__").exists());
        fs::create_dir_all(at("copy/node_modules")).unwrap();
        here.link(&at("copy"), &at("none")).unwrap();
        assert!(at("copy/node_modules/x/i.js").is_file());
    }
}
