//! The helper: starting it, asking it, and being it. Its answers come from [`crate::symbols`] and [`crate::rules`].

use std::{
    borrow::Cow,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use holdpoint_sandbox::{Confinement, Tool, ToolError};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    ChangeFindings, ChangedSource, RuleFile, RuleFileError, SourceFile, Symbol, added,
    rules::{self, RuleInfo, ScanAnswer, Scanned},
    symbols,
};

/// The argument under which an executable of ours becomes the helper.
const ARG: &str = "__outline";
/// Bytes of address space. Limits are set right after the start, when our allocator may have reserved a GiB already.
const ADDRESS_SPACE_MAX: u64 = 4 << 30;
/// Processor time of all files together. A megabyte takes tenths of a second.
const CPU: Duration = Duration::from_secs(5);
/// Processor time of a scan. The helper itself leaves out what takes long, well before.
const SCAN_CPU: Duration = Duration::from_secs(20);
/// Time in which the helper is done, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(30);
/// Scans that may end the helper before the rest of the files counts as unseen. One bad file among a thousand takes ten.
const FAILURES_MAX: usize = 24;
/// Time for all scans of a change together, however many end the helper. The rest of the files counts as unseen then too.
const SCANS_PATIENCE: Duration = Duration::from_secs(180);
/// Bytes of the texts of one scan, of one file at least.
const SCAN_BYTES_MAX: usize = 8 << 20;
/// Bytes of an answer.
const ANSWER_LEN_MAX: usize = 16 << 20;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum OutlineHelperError {
    /// The helper could not be run, or went over its limits.
    #[error("cannot run the helper that reads source files")]
    Run(#[from] ToolError),
    /// It ended without an answer: a file was too much for it.
    #[error("the helper that reads source files gave no answer (exit code {code:?})")]
    NoAnswer {
        /// Its exit code; `None` when a signal ended it.
        code: Option<i32>,
    },
    /// A file of rules of the project cannot be used.
    #[error(transparent)]
    Rules(#[from] RuleFileError),
    /// This executable cannot be found.
    #[error("cannot find the executable that reads source files")]
    NotFound(#[source] io::Error),
}

/// Becomes the helper if this process was started as one; returns otherwise.
///
/// Every executable that asks for outlines or findings calls this in `main`, before any thread and any runtime.
pub fn maybe_run() {
    if std::env::args_os().nth(1).is_some_and(|arg| arg == ARG) {
        std::process::exit(i32::from(serve().is_err()));
    }
}

/// A question to the helper.
#[derive(Serialize, Deserialize)]
enum Request<'a> {
    Outline(Cow<'a, [SourceFile]>),
    Scan { changes: Cow<'a, [ChangedSource]>, own_rules: Cow<'a, [RuleFile]> },
}

fn serve() -> io::Result<()> {
    let mut request = Vec::new();
    io::stdin().lock().read_to_end(&mut request)?;
    let answer = match serde_json::from_slice(&request)? {
        Request::Outline(sources) => serde_json::to_vec(&symbols::symbols(&sources))?,
        Request::Scan { changes, own_rules } => serde_json::to_vec(&rules::scan(&changes, &own_rules))?,
    };
    io::stdout().lock().write_all(&answer)
}

/// Reads files in a process that is made for it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct OutlineHelper {
    program: PathBuf,
}

impl OutlineHelper {
    /// This executable as its own helper.
    ///
    /// # Errors
    /// [`OutlineHelperError::NotFound`].
    pub fn own() -> Result<Self, OutlineHelperError> {
        Ok(Self { program: std::env::current_exe().map_err(OutlineHelperError::NotFound)? })
    }

    /// Another executable that calls [`maybe_run`].
    #[must_use]
    pub fn at(program: &Path) -> Self {
        Self { program: program.to_owned() }
    }

    /// What each file defines, in their order.
    ///
    /// # Errors
    /// [`OutlineHelperError`]: there is no outline of any of them.
    pub async fn outline(&self, sources: &[SourceFile]) -> Result<Vec<Vec<Symbol>>, OutlineHelperError> {
        if sources.is_empty() {
            return Ok(Vec::new());
        }
        let answer: Vec<Vec<Symbol>> = self.ask(&Request::Outline(sources.into()), CPU).await?;
        if answer.len() == sources.len() { Ok(answer) } else { Err(OutlineHelperError::NoAnswer { code: Some(0) }) }
    }

    /// The places that a change adds and that a rule names: those of the shipped rules and of the project's own.
    ///
    /// `changes` are all files of the change, the deleted ones too, since code that moves from one to another is no finding.
    /// A file that ends the helper is reported as unseen, and keeps no other file from being looked at.
    ///
    /// # Errors
    /// [`OutlineHelperError::Rules`] when a file of rules is wrong, or another one when the helper gives no answer at all.
    pub async fn findings(
        &self,
        changes: &[ChangedSource],
        own_rules: &[RuleFile],
    ) -> Result<ChangeFindings, OutlineHelperError> {
        let asked: Vec<usize> =
            (0..).zip(changes).filter(|(_, change)| rules::concern(change)).map(|(at, _)| at).collect();
        let mut scanned: Vec<Scanned> = changes.iter().map(rules::unasked).collect();
        let mut infos = Vec::new();
        let mut waiting = parts(changes, &asked);
        let (mut failures, start) = (0, Instant::now());
        let goes_on = |failures| failures < FAILURES_MAX && start.elapsed() < SCANS_PATIENCE;
        while let Some(part) = waiting.pop().filter(|_| goes_on(failures)) {
            let sources: Vec<ChangedSource> = part.iter().filter_map(|at| changes.get(*at)).cloned().collect();
            match self.scan(&sources, own_rules).await {
                Ok((rules, files)) => {
                    let numbers = rules::merge(&mut infos, rules);
                    for (at, file) in part.iter().zip(files) {
                        scanned.splice(*at..=*at, [file.renumbered(&numbers)]);
                    }
                }
                Err(error @ OutlineHelperError::Rules(_)) => return Err(error),
                // Without files there is none to blame.
                Err(error) if part.is_empty() => return Err(error),
                Err(_) => {
                    failures += 1;
                    waiting.extend(smaller(part));
                }
            }
        }
        Ok(added::findings(changes, &infos, &scanned))
    }

    async fn scan(
        &self,
        changes: &[ChangedSource],
        own_rules: &[RuleFile],
    ) -> Result<(Vec<RuleInfo>, Vec<Scanned>), OutlineHelperError> {
        let request = Request::Scan { changes: changes.into(), own_rules: own_rules.into() };
        match self.ask(&request, SCAN_CPU).await? {
            ScanAnswer::BadRules(error) => Err(error.into()),
            ScanAnswer::Scanned { rules, files } if files.len() == changes.len() => Ok((rules, files)),
            ScanAnswer::Scanned { .. } => Err(OutlineHelperError::NoAnswer { code: Some(0) }),
        }
    }

    async fn ask<T: DeserializeOwned>(&self, request: &Request<'_>, cpu: Duration) -> Result<T, OutlineHelperError> {
        let request = serde_json::to_vec(request).expect("texts are written without fail");
        let confinement =
            Confinement { read: Vec::new(), write: Vec::new(), memory_bytes: ADDRESS_SPACE_MAX, cpu, file_bytes: 0 };
        let tool = Tool::new(&self.program).arg(ARG).stdin(request).confined(confinement);
        let output = tool.timeout(PATIENCE).output_cap(ANSWER_LEN_MAX).run().await?;
        let answer = serde_json::from_slice(&output.stdout).ok().filter(|_| output.success());
        answer.ok_or(OutlineHelperError::NoAnswer { code: output.code })
    }
}

/// The files that are asked for, in parts that one scan can do in its time. There is one even where there is no file, so
/// that broken rules are an error whatever the change is.
fn parts(changes: &[ChangedSource], asked: &[usize]) -> Vec<Vec<usize>> {
    let (mut parts, mut bytes) = (vec![Vec::new()], 0);
    for at in asked {
        let texts = changes.get(*at).into_iter().flat_map(|change| [&change.before, &change.after]).flatten();
        let length = texts.map(String::len).sum::<usize>();
        bytes += length;
        if bytes > SCAN_BYTES_MAX {
            bytes = length;
            parts.push(Vec::new());
        }
        if let Some(part) = parts.last_mut() {
            part.push(*at);
        }
    }
    parts
}

/// The parts to try after one ended the helper: its halves, or nothing at all for a single file, since a helper that cannot
/// run fails again then.
fn smaller(mut part: Vec<usize>) -> Vec<Vec<usize>> {
    let half = part.split_off(part.len() / 2);
    if part.is_empty() { vec![part] } else { vec![half, part] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(path: &str) -> ChangedSource {
        ChangedSource {
            path: path.to_owned(),
            before: Some("x".repeat(SCAN_BYTES_MAX / 4)),
            after: Some("y".repeat(SCAN_BYTES_MAX / 4)),
            is_test: false,
        }
    }

    #[test]
    fn a_part_has_as_many_files_as_a_scan_can_do_in_its_time() {
        let changes = ["a", "b", "c", "d", "e"].map(long);
        assert_eq!(parts(&changes, &[0, 1, 2, 4]), [vec![0, 1], vec![2, 4]]);
        assert_eq!(parts(&changes, &[]), [Vec::<usize>::new()]);
    }

    #[test]
    fn the_file_that_ends_a_scan_is_found_by_halves() {
        assert_eq!(smaller(vec![3, 5, 7]), [vec![5, 7], vec![3]]);
        assert_eq!(smaller(vec![3]), [Vec::<usize>::new()]);
    }
}
