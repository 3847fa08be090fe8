//! Git: snapshots, mirrors, clones, bundles, trees and merges.
//!
//! The only crate of the workspace that runs git, or reads what git writes. It never opens a repository that an agent could write: an agent's
//! clone is read as plain files, with a git directory and an index of ours. It knows nothing of flights, turns or the
//! broker, and decides nothing: it says what a tree is, and what differs.
//!
//! - [`oid`], [`path`]: object ids and paths as git has them.
//! - [`error`], [`limits`]: what can go wrong, and how much is taken in.
//! - [`user`]: the user's repository, read, and one branch of it written.
//! - [`mirror`]: a process's own bare repository, where all work on trees happens.
//! - [`bundle`]: the file in which commits travel.

mod allowance;
pub mod bundle;
pub mod commit;
mod droppings;
pub mod error;
mod files;
mod fit;
mod git;
mod lfs;
pub mod limits;
pub mod mirror;
mod objects;
pub mod oid;
pub mod path;
mod quarantine;
mod scratch;
pub mod tree;
pub mod user;
mod version;

pub use bundle::{Bundle, HANDOFF_REF, SNAPSHOT_REF};
pub use commit::{Commit, CommitMeta};
pub use error::{InputRefusal, WorkspaceError};
pub use git::require_git;
pub use limits::InputLimits;
pub use mirror::{
    AgentClone, Captured, Change, CheckedSnapshot, Checkout, DiffStat, DiffStatus, FileAs, FoundLine, IgnoreRules,
    Import, Landing, Logged, Merge, Mirror, Replacement, left_out_named,
};
pub use oid::{ObjectFormat, ObjectId};
pub use path::RepoPath;
pub use tree::{EntryMode, TreeEntry};
pub use user::{BranchState, BranchUpdate, ChangeSource, CommitStanding, UserRepo};
pub use version::{GIT_FLOOR, GitVersion};
