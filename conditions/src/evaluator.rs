//! Processes that evaluate conditions, and which of them stay for the next ones.

use std::{collections::VecDeque, path::Path, time::Duration};

use holdpoint_sandbox::{Answered, Answering, Confinement, Limit, Tool, ToolError};

use crate::{Answer, Failure, message::Request, serve};

/// Bytes of address space. The engine has its own bound far below. Limits are set right after the start, when our allocator may have
/// reserved a GiB already.
const ADDRESS_SPACE_MAX: u64 = 4 << 30;
/// Time in which a request is answered, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of all answers: failures are short.
const ANSWERS_LEN_MAX: usize = 1 << 20;
/// Processor time of a process in its whole life. Each condition has a limit of its own far below ([`serve`]).
const LIFE_MAX: Duration = Duration::from_secs(20);
/// Requests to one process; then it is replaced, so that nothing adds up in it.
const REQUESTS_MAX: u32 = 1_000;
/// Processes that stay.
pub(crate) const KEPT_MAX: usize = 4;

/// A process that evaluates conditions of one owner. It is killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Evaluator {
    process: Answering,
    answered: u32,
}

/// How a request went.
#[derive(Debug)]
pub(crate) enum Evaluated {
    /// Each condition by itself.
    Answers(Vec<Answer>),
    /// One of them ended the process.
    Ended(Failure),
}

impl Evaluator {
    /// Starts one.
    pub(crate) async fn start(program: &Path) -> Result<Self, ToolError> {
        let confinement = Confinement {
            read: Vec::new(),
            write: Vec::new(),
            memory_bytes: ADDRESS_SPACE_MAX,
            cpu: LIFE_MAX,
            file_bytes: 0,
        };
        let tool = Tool::new(program).arg(serve::ARG).confined(confinement);
        let process = tool.timeout(PATIENCE).output_cap(ANSWERS_LEN_MAX).answering().await?;
        Ok(Self { process, answered: 0 })
    }

    /// Whether it has answered as often as one process may.
    pub(crate) fn is_done(&self) -> bool {
        self.answered >= REQUESTS_MAX
    }

    /// Asks it. `None` in place of the evaluator: something went over its bounds, and it is gone.
    pub(crate) async fn ask(mut self, request: &Request) -> Result<(Evaluated, Option<Self>), ToolError> {
        let line = serde_json::to_vec(request).expect("texts and JSON are written without fail");
        let said = match self.process.ask(&line).await {
            Err(ToolError::OverLimit { limit: Limit::ProcessorTime(_), .. }) => {
                return Ok((Evaluated::Ended(Failure::Time), None));
            }
            other => other?,
        };
        self.answered += 1;
        let answers = match said {
            Answered::Line(line) => serde_json::from_slice::<Vec<Answer>>(&line).ok(),
            Answered::Ended => None,
        };
        let Some(answers) = answers.filter(|answers| answers.len() == request.conditions.len()) else {
            return Ok((Evaluated::Ended(Failure::Memory), None));
        };
        let stays = !answers.iter().any(Answer::is_over_bounds);
        Ok((Evaluated::Answers(answers), stays.then_some(self)))
    }
}

/// What stays for the next requests, each by its owner: the one that was used last stands last.
#[derive(Debug)]
pub(crate) struct Kept<T>(VecDeque<(String, T)>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Kept<T> {
    /// Takes one of this owner out.
    pub(crate) fn take(&mut self, owner: &str) -> Option<T> {
        let at = self.0.iter().rposition(|(of, _)| of == owner)?;
        self.0.remove(at).map(|(_, one)| one)
    }

    /// Puts one in. Where there are too many, the one that waited longest is dropped.
    pub(crate) fn put(&mut self, owner: &str, one: T) {
        if self.0.len() >= KEPT_MAX {
            self.0.pop_front();
        }
        self.0.push_back((owner.to_owned(), one));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_is_its_owners_and_the_longest_unused_goes_first() {
        let mut kept = Kept::default();
        for n in 0..KEPT_MAX {
            kept.put(&format!("flight-{n}"), n);
        }
        assert_eq!((kept.take("flight-0"), kept.take("flight-0"), kept.take("nobody")), (Some(0), None, None));
        kept.put("flight-0", 10);
        kept.put("another", 11);
        assert_eq!((kept.take("flight-1"), kept.take("flight-0"), kept.take("another")), (None, Some(10), Some(11)));
        assert_eq!(kept.0.len(), KEPT_MAX - 2);
    }
}
