//! Asking the helper: which process evaluates what, and what is remembered.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use holdpoint_sandbox::ToolError;
use tokio::sync::Semaphore;

use crate::{
    ConditionAnswer,
    evaluator::{Evaluated, Evaluator, IDLE_MAX, Kept, RUNNING_MAX, locked},
    memo::{self, Memo},
    message::{Request, Scope},
};

/// Why conditions were not evaluated. It is not their fault: asking again may help.
#[derive(Debug, thiserror::Error)]
pub enum ConditionHelperError {
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

/// Evaluates conditions in confined processes, which are killed when a condition goes over its bounds. Cheap to clone.
///
/// At most four processes evaluate something at the same time, and at most four more stay for the next requests, each for a minute
/// at most while nobody asks it. Its methods need a Tokio runtime.
#[derive(Debug, Clone)]
pub struct ConditionHelper {
    program: PathBuf,
    memo: Arc<Mutex<Memo>>,
    kept: Arc<Mutex<Kept<Evaluator>>>,
    running: Arc<Semaphore>,
    idle: Duration,
}

impl ConditionHelper {
    /// This executable as its own helper.
    ///
    /// # Errors
    /// [`ConditionHelperError::NotFound`].
    pub fn own() -> Result<Self, ConditionHelperError> {
        let program = std::env::current_exe().map_err(|source| ConditionHelperError::NotFound { source })?;
        Ok(Self::at(&program))
    }

    /// Another executable that calls [`maybe_run`](crate::maybe_run).
    #[must_use]
    pub fn at(program: &Path) -> Self {
        let running = Arc::new(Semaphore::new(RUNNING_MAX));
        Self { program: program.to_owned(), memo: Arc::default(), kept: Arc::default(), running, idle: IDLE_MAX }
    }

    /// A process stays for this long while nobody asks it, in place of a minute.
    #[must_use]
    pub fn kept_for(self, idle: Duration) -> Self {
        Self { idle, ..self }
    }

    /// What comes of each condition. No process is asked where all of them came to something on the same scope before, unless
    /// it says that it does not recur: then nothing is looked up, and nothing pushes out what is remembered.
    ///
    /// `owner` names whose conditions they are. A process, and what is remembered, are one owner's only: conditions that got the
    /// better of the engine would have no say in what comes of others'.
    ///
    /// # Errors
    /// [`ConditionHelperError`]: no condition was evaluated.
    pub async fn evaluate(
        &self,
        owner: &str,
        conditions: &[String],
        scope: Scope<'_>,
    ) -> Result<Vec<ConditionAnswer>, ConditionHelperError> {
        if !scope.recurs {
            return self.ask(owner, conditions, Some(scope.json)).await;
        }
        let key = |condition: &String| memo::key(owner, condition, scope.json);
        let keys: Vec<Option<String>> = conditions.iter().map(key).collect();
        if let Some(known) = self.known(&keys) {
            return Ok(known);
        }
        let answers = self.ask(owner, conditions, Some(scope.json)).await?;
        let mut memo = locked(&self.memo);
        for (key, answer) in keys.into_iter().zip(&answers) {
            key.into_iter().for_each(|key| memo.keep(key, answer));
        }
        Ok(answers)
    }

    fn known(&self, keys: &[Option<String>]) -> Option<Vec<ConditionAnswer>> {
        let memo = locked(&self.memo);
        keys.iter().map(|key| memo.get(key.as_ref()?)).collect()
    }

    /// Whether each condition is an expression: [`ConditionAnswer::Holds`], or how it fails. None is run, so they need no owner.
    ///
    /// # Errors
    /// [`ConditionHelperError`].
    pub async fn parse(&self, conditions: &[String]) -> Result<Vec<ConditionAnswer>, ConditionHelperError> {
        self.ask("", conditions, None).await
    }

    async fn ask(
        &self,
        owner: &str,
        conditions: &[String],
        scope: Option<&str>,
    ) -> Result<Vec<ConditionAnswer>, ConditionHelperError> {
        if conditions.is_empty() {
            return Ok(Vec::new());
        }
        match self.run(owner, conditions, scope).await? {
            Evaluated::Answers(answers) => return Ok(answers),
            Evaluated::Ended(failure) if conditions.len() == 1 => return Ok(vec![ConditionAnswer::Failed(failure)]),
            Evaluated::Ended(_) => {}
        }
        // One of them ended the helper: each by itself says which.
        let mut answers = Vec::with_capacity(conditions.len());
        for condition in conditions {
            match self.run(owner, std::slice::from_ref(condition), scope).await? {
                Evaluated::Answers(mut alone) => answers.append(&mut alone),
                Evaluated::Ended(failure) => answers.push(ConditionAnswer::Failed(failure)),
            }
        }
        Ok(answers)
    }

    /// One request. A condition that goes over its bounds in a process that has answered before is asked again of a new
    /// one, whose word counts: nothing that was there before is at fault then.
    async fn run(
        &self,
        owner: &str,
        conditions: &[String],
        scope: Option<&str>,
    ) -> Result<Evaluated, ConditionHelperError> {
        let request = Request { conditions: conditions.to_vec(), scope: scope.map(str::to_owned) };
        let failed = |source| ConditionHelperError::Run { source };
        // Nobody closes it, so that there is always a permit in the end.
        let _running = self.running.acquire().await;
        let kept = locked(&self.kept).take(owner).filter(|kept| !kept.is_done());
        if let Some(kept) = kept
            && let Ok((evaluated, Some(kept))) = kept.ask(&request).await
        {
            Kept::put_for(&self.kept, owner, kept, self.idle);
            return Ok(evaluated);
        }
        let new = Evaluator::start(&self.program).await.map_err(failed)?;
        let (evaluated, kept) = new.ask(&request).await.map_err(failed)?;
        kept.into_iter().for_each(|kept| Kept::put_for(&self.kept, owner, kept, self.idle));
        Ok(evaluated)
    }
}
