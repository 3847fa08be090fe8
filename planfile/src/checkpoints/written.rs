//! A document as an agent or a person writes it: Markdown, with front matter where they state something (DOC-2, DOC-7). Every
//! problem is found at once, with its place.
//!
//! Of the front matter only what its writer alone can know counts: its title, what it says of checkpoints, and what blocks it.
//! `handoff_ready` and the like are computed.

use holdpoint_protocol::{
    checkpoint::{CHECKPOINTS_MAX, CheckpointStatement, CheckpointStatus, DOCUMENT_BYTES_MAX},
    ids::CriterionId,
    proposal::PlanProposal,
    reason::BlockReason,
};

use crate::{
    proposal,
    yaml::{
        error::{PlanErrors, Problems},
        fields::Fields,
        front_matter,
        source::{self, FileBound},
        tree::{self, FileKind, Node},
    },
};

const LEAST: &str = "begin the file with `---`, `title: …` and `---`, each a line; the document follows";
const BOUND: FileBound = FileBound {
    bytes: DOCUMENT_BYTES_MAX,
    what: "the document",
    hint: "keep to what the next reader needs, and name files for the rest",
};
const KIND: FileKind =
    FileKind { name: "document's front matter", least: LEAST, depth: "a document's front matter needs eight levels" };

/// A document that was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WrittenDocument {
    /// Its title, where its front matter or its first heading has one.
    pub title: Option<String>,
    /// What it says of checkpoints.
    pub statements: Vec<CheckpointStatement>,
    /// The waypoints that it proposes.
    pub proposal: Option<PlanProposal>,
    /// What blocks its writer.
    pub block: Option<Block>,
    /// Its Markdown, without front matter.
    pub text: String,
}

/// What blocks the writer of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// What kind of obstacle it is.
    pub reason: BlockReason,
    /// What it is.
    pub details: String,
}

/// Reads a document.
///
/// # Errors
/// It is too large, no text, or its front matter cannot be read.
pub fn read_document(bytes: &[u8], file: &str) -> Result<WrittenDocument, PlanErrors> {
    source::read(bytes, file, BOUND, document)
}

fn document(text: &str, problems: &mut Problems) -> Option<WrittenDocument> {
    let Some((front, body)) = front_matter::split(text) else {
        return Some(WrittenDocument {
            title: first_heading(text),
            text: text.to_owned(),
            ..WrittenDocument::default()
        });
    };
    let root = tree::load(front, &KIND, problems)?;
    // Other programs, and the document as it is shown, have keys of their own there.
    let fields = Fields::free(&root, "the front matter", LEAST, problems)?;
    Some(WrittenDocument {
        title: fields.text("title", problems).or_else(|| first_heading(body)),
        statements: statements(&fields, problems),
        proposal: proposal::read(&fields, problems),
        block: block(&fields, problems),
        text: body.trim_start_matches(['\r', '\n']).to_owned(),
    })
}

fn statements(fields: &Fields<'_>, problems: &mut Problems) -> Vec<CheckpointStatement> {
    let statements = fields.list("checkpoints", problems, statement);
    if statements.len() > CHECKPOINTS_MAX {
        let message = format!("`checkpoints` has more than {CHECKPOINTS_MAX} items");
        problems.add(fields.at, message, "name those of the gate");
    }
    statements
}

fn statement(node: &Node, problems: &mut Problems) -> Option<CheckpointStatement> {
    let fields = Fields::free(node, "a checkpoint", "write `{name: code_complete, status: pass}`", problems)?;
    fields.demand("name", "name the checkpoint, as the gate has it", problems);
    fields.demand("status", "say `status: pass`, `fail` or `skip`", problems);
    let name = fields.id("name", CriterionId::try_new, problems);
    let words = [CheckpointStatus::Pass, CheckpointStatus::Fail, CheckpointStatus::Skip]
        .map(|status| (status.as_str(), status));
    let status = fields.choice("status", "a status of a checkpoint", &words, problems);
    let message = fields.text("message", problems).unwrap_or_default();
    Some(CheckpointStatement { name: name?, status: status?, message })
}

/// What blocks the writer, where `status` says that something does.
fn block(fields: &Fields<'_>, problems: &mut Problems) -> Option<Block> {
    if fields.text("status", &mut Problems::default()).as_deref() != Some("blocked") {
        return None;
    }
    fields.demand(
        "block_reason",
        "say what kind of obstacle it is, such as `block_reason: needs_human_input`",
        problems,
    );
    let words: Vec<_> = BlockReason::ALL.iter().map(|reason| (reason.as_str(), *reason)).collect();
    let reason = fields.choice("block_reason", "a reason for which work is blocked", &words, problems)?;
    let details = fields.text("block_details", problems).unwrap_or_default();
    if details.trim().is_empty() {
        problems.add(fields.at, "the document is blocked and does not say by what", "write `block_details: …`");
    }
    Some(Block { reason, details })
}

/// The words of the first line, where that is a heading.
fn first_heading(text: &str) -> Option<String> {
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    line.strip_prefix("# ").map(|words| words.trim().to_owned()).filter(|words| !words.is_empty())
}
