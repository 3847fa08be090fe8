//! `revise`: a person edits a document.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::people::Acting;

/// `revise`
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("edited").required(true).multiple(false).args(["from", "edit"]))]
#[command(after_help = "Examples:\n  \
    holdpoint revise HP_HANDOFF_ANALYST/42 --edit\n  \
    holdpoint artifact HP_HANDOFF_ANALYST/42 --markdown > requirements.md\n  \
    holdpoint revise HP_HANDOFF_ANALYST/42 --from requirements.md\n\n\
    Change the title, the text, and in `checkpoints` the status and message of those that somebody has to state; everything else of the \
    file stays as it is printed. The edited document is signed by you and takes the place of the one that REF names: each turn that \
    opens from then on gets it, and a turn that is open keeps the one that it began with. The checkpoints of its gate have to hold. Where \
    nothing is changed, nothing is sent. Where a newer document of the gate is there, yours is refused with the reference of that one. \
    Documents of work and verdicts cannot be revised: no later turn reads them.")]
pub(crate) struct ReviseArgs {
    /// STREAM/SEQUENCE of the document, as `holdpoint history WAYPOINT` prints it
    #[arg(value_name = "REF")]
    pub(crate) reference: String,
    /// The edited file; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    /// Open the document in $VISUAL, $EDITOR or vi
    #[arg(long)]
    pub(crate) edit: bool,
    /// Who revises
    #[command(flatten)]
    pub(crate) acting: Acting,
}
