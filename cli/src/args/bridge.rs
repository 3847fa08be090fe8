//! `bridge`: a folder of files as a part of a fleet.

use std::path::PathBuf;

use clap::Args;

use super::Place;

/// Turns of each role that are shown at the same time, at most.
const SLOTS_MAX: i64 = 64;

/// `bridge`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint up &\n  \
    holdpoint bridge desk\n  \
    echo '# Log in with a password' > desk/tasks/queue/NEW_login.md\n  \
    holdpoint bridge desk --nats nats://fleet:4222 --creds op.creds --supervisor-creds s.creds --worker-creds w.creds\n\n\
    Supervisors and workers who only know files take part in flights: a request is a file in DIR/tasks/queue, and each turn of the \
    roles supervisor and worker is a file that somebody moves. A move to the folder that its gate names hands it in; any other move \
    is undone, and DIR/tasks/supervisor_feedback says why.\n\n  \
    requirements  write DIR/docs/requirements/ID_req.md, then move queue/NEW_ID.md to queue/DOC_ID.md\n  \
    specification move queue/DOC_ID.md to running/, write DIR/docs/specs/ID_spec.md, move it to review/\n  \
    review        move review/DOC_ID.md to queue/PLAN_ID.md, or back to queue/ with comments below its text\n  \
    plan          write queue/EXEC_ID_01.md and so on, and DIR/docs/plans/ID_plan.md that names each of them\n  \
    estimate      move running/PLAN_ID.md to review/, or back to queue/ with comments\n  \
    task          move queue/EXEC_ID_01.md to running/, edit the clone that it names, move it to review/\n  \
    audit         a verifier looks at it; red work is in rejected/ again, with feedback\n  \
    review        move review/EXEC_ID_01.md to completed/, or to rejected/ with comments\n  \
    track         move review/PLAN_ID.md to completed/ once its tasks are, or to queue/ for another plan\n\n\
    A question is a file DIR/tasks/escalations/ID_CLARIFY.md, and its answer is written below it. The bridge holds no person's key: \
    it passes no gate for people. It may be killed at any point, and a second one on the folder stands by. docs/bridge.md says more.")]
pub(crate) struct BridgeArgs {
    /// The folder; it is made where it is not there
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// How many turns of each role are shown at the same time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=SLOTS_MAX))]
    pub(crate) slots: u32,
    /// The workflow of new requests
    #[arg(long, value_name = "NAME", default_value = "sdlc")]
    pub(crate) workflow: String,
    /// The .creds file of the role supervisor, for a fleet elsewhere
    #[arg(long, value_name = "FILE", requires = "nats")]
    pub(crate) supervisor_creds: Option<PathBuf>,
    /// The .creds file of the role worker, for a fleet elsewhere
    #[arg(long, value_name = "FILE", requires = "nats")]
    pub(crate) worker_creds: Option<PathBuf>,
    /// The configuration file (TOML); flags and variables HOLDPOINT__SECTION__KEY override it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
}

#[cfg(test)]
mod tests {
    use crate::args::{Command, parsed};

    #[test]
    fn a_folder_is_bridged_with_sixteen_slots_unless_it_is_said() {
        let Ok(Command::Bridge(args)) = parsed("bridge desk") else { panic!("a bridge") };
        assert_eq!((args.dir.to_str(), args.slots, args.workflow.as_str()), (Some("desk"), 16, "sdlc"));
        assert!(parsed("bridge desk --slots 0").is_err() && parsed("bridge desk --slots 65").is_err());
        assert!(parsed("bridge").is_err() && parsed("bridge desk --worker-creds f").is_err());
    }
}
