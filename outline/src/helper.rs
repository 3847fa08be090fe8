//! The helper: starting it, asking it, and being it. What it finds is [`crate::symbols`]'s.

use std::{
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use holdpoint_sandbox::{Confinement, Tool, ToolError};

use crate::{SourceFile, Symbol, symbols};

/// The argument under which an executable of ours becomes the helper.
const ARG: &str = "__outline";
/// Bytes of address space. Limits are set right after the start, when our allocator may have reserved a GiB already.
const ADDRESS_SPACE_MAX: u64 = 4 << 30;
/// Processor time of all files together. A megabyte takes tenths of a second.
const CPU: Duration = Duration::from_secs(5);
/// Time in which the helper is done, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of an answer.
const ANSWER_LEN_MAX: usize = 16 << 20;

/// Why there are no outlines.
#[derive(Debug, thiserror::Error)]
pub enum OutlineHelperError {
    /// The helper could not be run, or went over its limits.
    #[error("cannot run the helper that outlines source files")]
    Run(#[from] ToolError),
    /// It ended without an answer: a file was too much for it.
    #[error("the helper that outlines source files gave no answer (exit code {code:?})")]
    NoAnswer {
        /// Its exit code; `None` when a signal ended it.
        code: Option<i32>,
    },
    /// This executable cannot be found.
    #[error("cannot find the executable that outlines source files")]
    NotFound(#[source] io::Error),
}

/// Becomes the helper if this process was started as one; returns otherwise.
///
/// Every executable that makes outlines calls this in `main`, before any thread and any runtime.
pub fn maybe_run() {
    if std::env::args_os().nth(1).is_some_and(|arg| arg == ARG) {
        std::process::exit(i32::from(serve().is_err()));
    }
}

fn serve() -> io::Result<()> {
    let mut request = Vec::new();
    io::stdin().lock().read_to_end(&mut request)?;
    let sources: Vec<SourceFile> = serde_json::from_slice(&request)?;
    io::stdout().lock().write_all(&serde_json::to_vec(&symbols::symbols(&sources))?)
}

/// Outlines files in a process that is made for it. Cheap to clone.
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
        let request = serde_json::to_vec(sources).expect("texts are written without fail");
        let confinement = Confinement {
            read: Vec::new(),
            write: Vec::new(),
            memory_bytes: ADDRESS_SPACE_MAX,
            cpu: CPU,
            file_bytes: 0,
        };
        let tool = Tool::new(&self.program).arg(ARG).stdin(request).confined(confinement);
        let output = tool.timeout(PATIENCE).output_cap(ANSWER_LEN_MAX).run().await?;
        let answer = serde_json::from_slice::<Vec<Vec<Symbol>>>(&output.stdout).ok();
        let answer = answer.filter(|answer| output.success() && answer.len() == sources.len());
        answer.ok_or(OutlineHelperError::NoAnswer { code: output.code })
    }
}
