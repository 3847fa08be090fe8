//! Environments: what a project depends on, set up once for each state of its lock files and laid under the trees that agents and checks work in.
//!
//! [`Selection`] says what a setup sees, [`key`] under which name its result is kept, [`TreeChanges`] what a run changed in a tree that it may
//! write and that is thrown away. [`Project`] says how a repository is set up and tested, by its files.

mod changed;
mod key;
mod project;
mod selection;

pub use changed::{NEW_PATHS_MAX, Touched, TreeChanges};
pub use key::{HostFile, SeenFile, SetupHost, key};
pub use project::{Project, missing_program};
pub use selection::{SeenAs, Selection};

/// Where setup, agents and checks find the tree.
pub const WORK: &str = "/hold/work";
/// Where setup and checks have their home, and agents, whose own home is another, what a setup left in it.
pub const HOME: &str = "/hold/home";
/// Where they have the build output of the tree.
pub const BUILD: &str = "/hold/build";
/// The variable that leads Go to its cache there, and where that is. Go finds entries by all that they were built from, so those of a
/// setup fit any tree. Cargo goes by times, so its output is never shared.
pub const BUILD_CACHE: (&str, &str) = ("GOCACHE", "go");
/// Variables that lead programs to the caches in such a home, and where they are there.
pub const CACHES: [(&str, &str); 7] = [
    ("CARGO_HOME", ".cargo"),
    ("GOMODCACHE", "go/pkg/mod"),
    ("GRADLE_USER_HOME", ".gradle"),
    ("PIP_CACHE_DIR", ".cache/pip"),
    ("UV_CACHE_DIR", ".cache/uv"),
    ("npm_config_cache", ".npm"),
    ("npm_config_store_dir", ".local/share/pnpm/store"),
];
/// The same for Maven: options of its JVM, before the folder of its repository.
pub const MAVEN_CACHE: (&str, &str, &str) = ("MAVEN_OPTS", "-Dmaven.repo.local=", ".m2/repository");
