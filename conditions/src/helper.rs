//! The helper: starting it, asking it, and being it. What it evaluates is [`crate::engine`]'s.

use std::{
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use holdpoint_sandbox::{Confinement, Limit, Tool, ToolError};
use serde_json::Value;

use crate::{Answer, Failure, TIME_MAX, engine, message::Request};

/// The argument under which an executable of ours becomes the helper.
const ARG: &str = "__conditions";
/// Bytes of address space. The engine has its own bound far below. Limits are set right after the start, when our allocator may have
/// reserved a GiB already.
const ADDRESS_SPACE_MAX: u64 = 4 << 30;
/// Time in which a helper that was started is done, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of all answers: failures are short.
const ANSWERS_LEN_MAX: usize = 1 << 20;

/// Why conditions were not evaluated. It is not their fault: asking again may help.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// The helper could not be run.
    #[error("cannot run the helper that evaluates conditions")]
    Run {
        /// What went wrong.
        #[source]
        source: ToolError,
    },
    /// This executable cannot be found.
    #[error("cannot find the executable that evaluates conditions")]
    NotFound {
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Becomes the helper if this process was started as one; returns otherwise.
///
/// Every executable that evaluates conditions calls this in `main`, before any thread and any runtime.
pub fn maybe_run() {
    if std::env::args_os().nth(1).is_some_and(|arg| arg == ARG) {
        std::process::exit(i32::from(serve().is_err()));
    }
}

fn serve() -> io::Result<()> {
    let mut request = Vec::new();
    io::stdin().lock().read_to_end(&mut request)?;
    let Request { conditions, scope } = serde_json::from_slice(&request)?;
    let scope = scope.map(|scope| scope.to_string());
    let answers: Vec<Answer> = conditions.iter().map(|condition| engine::answer(condition, scope.as_deref())).collect();
    io::stdout().lock().write_all(&serde_json::to_vec(&answers)?)
}

/// Evaluates conditions in a process that is made for it and killed when it goes over its bounds. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Helper {
    program: PathBuf,
}

impl Helper {
    /// This executable as its own helper.
    ///
    /// # Errors
    /// [`HelperError::NotFound`].
    pub fn own() -> Result<Self, HelperError> {
        let program = std::env::current_exe().map_err(|source| HelperError::NotFound { source })?;
        Ok(Self { program })
    }

    /// Another executable that calls [`maybe_run`].
    #[must_use]
    pub fn at(program: &Path) -> Self {
        Self { program: program.to_owned() }
    }

    /// What comes of each condition. Each sees the members of `scope`, a JSON object, under their names.
    ///
    /// # Errors
    /// [`HelperError`]: no condition was evaluated.
    pub async fn evaluate(&self, conditions: &[String], scope: &Value) -> Result<Vec<Answer>, HelperError> {
        self.ask(conditions, Some(scope)).await
    }

    /// Whether each condition is an expression: [`Answer::Holds`], or how it fails.
    ///
    /// # Errors
    /// [`HelperError`].
    pub async fn parse(&self, conditions: &[String]) -> Result<Vec<Answer>, HelperError> {
        self.ask(conditions, None).await
    }

    async fn ask(&self, conditions: &[String], scope: Option<&Value>) -> Result<Vec<Answer>, HelperError> {
        if conditions.is_empty() {
            return Ok(Vec::new());
        }
        if let Ok(answers) = self.run(conditions, scope).await? {
            return Ok(answers);
        }
        // One of them ended the helper: each by itself says which.
        let mut answers = Vec::with_capacity(conditions.len());
        for condition in conditions {
            let alone = self.run(std::slice::from_ref(condition), scope).await?;
            answers.push(alone.map_or_else(Answer::Failed, |mut answers| answers.remove(0)));
        }
        Ok(answers)
    }

    /// One run of the helper; the inner error is how a condition ended it.
    async fn run(
        &self,
        conditions: &[String],
        scope: Option<&Value>,
    ) -> Result<Result<Vec<Answer>, Failure>, HelperError> {
        let request = Request { conditions: conditions.to_vec(), scope: scope.cloned() };
        let request = serde_json::to_vec(&request).expect("texts and JSON are written without fail");
        let confinement = Confinement {
            read: Vec::new(),
            write: Vec::new(),
            memory_bytes: ADDRESS_SPACE_MAX,
            cpu: TIME_MAX * u32::try_from(conditions.len()).unwrap_or(u32::MAX) + Duration::from_secs(1),
            file_bytes: 0,
        };
        let tool = Tool::new(&self.program).arg(ARG).stdin(request).confined(confinement);
        match tool.timeout(PATIENCE).output_cap(ANSWERS_LEN_MAX).run().await {
            Err(ToolError::OverLimit { limit: Limit::ProcessorTime(_), .. }) => Ok(Err(Failure::Time)),
            Err(source) => Err(HelperError::Run { source }),
            Ok(output) => {
                let answers = serde_json::from_slice::<Vec<Answer>>(&output.stdout).ok();
                Ok(answers
                    .filter(|answers| output.success() && answers.len() == conditions.len())
                    .ok_or(Failure::Memory))
            }
        }
    }
}
