//! Looking into a commit without a checkout: many files at once, lines with a text, and the last commits that changed paths.
//!
//! What it finds was written by others: nothing here shows it to anybody.

use super::Mirror;
use crate::error::WorkspaceError;
use crate::git::unexpected;
use crate::objects::Odb;
use crate::oid::ObjectId;
use crate::path::RepoPath;
use crate::tree::{ascii, until};

/// Bytes that a search may find.
const FOUND_BYTES_MAX: usize = 4 << 20;

/// A line that has the text that was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLine {
    /// The file.
    pub path: RepoPath,
    /// Which line, from 1.
    pub line: u64,
    /// The line, without what is no text.
    pub text: String,
}

/// A commit in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// The commit.
    pub commit: ObjectId,
    /// The day it was made, as `YYYY-MM-DD`, as its committer says.
    pub day: String,
    /// The first line of its message.
    pub subject: String,
}

impl Mirror {
    /// The bytes of blobs, in their order.
    ///
    /// # Errors
    /// [`WorkspaceError::NoSuchObject`]; together they have more than `cap` bytes ([`WorkspaceError::BlobOverCap`]).
    pub async fn read_blobs(&self, blobs: &[ObjectId], cap: usize) -> Result<Vec<Vec<u8>>, WorkspaceError> {
        if blobs.is_empty() {
            return Ok(Vec::new());
        }
        let blobs = blobs.to_vec();
        let read = move |odb: &Odb| {
            let (mut all, mut left) = (Vec::with_capacity(blobs.len()), cap);
            for oid in &blobs {
                let bytes = odb.blob(oid, left)?;
                left = left.saturating_sub(bytes.len());
                all.push(bytes);
            }
            Ok(all)
        };
        self.inner.objects.with(read).await
    }

    /// The first lines of a commit's or tree's text files that have this text, `per_file` of each file at most.
    ///
    /// # Errors
    /// No such commit; git fails. More than 4 MiB of lines count as an error of git.
    pub async fn find_text(
        &self,
        commit: &ObjectId,
        text: &str,
        per_file: u32,
    ) -> Result<Vec<FoundLine>, WorkspaceError> {
        let git = self.git("grep").args(["-n", "-I", "-F", "-z", "--no-color", "--full-name", "--threads=1"]);
        let git = git.arg(format!("--max-count={per_file}")).arg("-e").arg(text).arg(commit);
        let output = git.output_cap(FOUND_BYTES_MAX).run().await?;
        match output.code {
            Some(0) => found_lines(&output.stdout),
            // Nothing is found.
            Some(1) => Ok(Vec::new()),
            _ => Err(unexpected("grep", &output.stderr)),
        }
    }

    /// The last commits up to `commit` that changed one of these paths (or anything, without paths), newest first.
    ///
    /// # Errors
    /// No such commit; git fails.
    pub async fn log(&self, commit: &ObjectId, paths: &[RepoPath], count: u32) -> Result<Vec<Logged>, WorkspaceError> {
        let git = self.git("log").args(["-z", "--no-color", "--no-show-signature", "--format=%H%x09%cs%x09%s"]);
        let git = git.arg(format!("--max-count={count}")).arg(commit).arg("--");
        let output = git.args(paths.iter().map(RepoPath::as_path)).run_ok().await?;
        output.split(|byte| *byte == 0).filter(|record| !record.is_empty()).map(logged).collect()
    }
}

/// Records of `grep -z -n <commit>`: `COMMIT:PATH`, NUL, the line's number, NUL, the line, line feed. A path may have a line feed
/// itself.
fn found_lines(output: &[u8]) -> Result<Vec<FoundLine>, WorkspaceError> {
    let (mut rest, mut found) = (output, Vec::new());
    while !rest.is_empty() {
        let read = |rest: &mut &[u8]| {
            let (place, line, text) = (until(rest, 0)?, until(rest, 0)?, until(rest, b'\n')?);
            let colon = place.iter().position(|byte| *byte == b':')?;
            Some(FoundLine {
                path: RepoPath::new(place.get(colon + 1..)?).ok()?,
                line: ascii(line)?.parse().ok()?,
                text: String::from_utf8_lossy(text).into_owned(),
            })
        };
        let before = rest;
        found.push(read(&mut rest).ok_or_else(|| unexpected("grep", before))?);
    }
    Ok(found)
}

fn logged(record: &[u8]) -> Result<Logged, WorkspaceError> {
    let text = String::from_utf8_lossy(record);
    let read = || {
        let mut parts = text.splitn(3, '\t');
        let (commit, day) = (parts.next()?.parse().ok()?, parts.next()?.to_owned());
        Some(Logged { commit, day, subject: parts.next()?.to_owned() })
    };
    read().ok_or_else(|| unexpected("log", record))
}
