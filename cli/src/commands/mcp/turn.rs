//! The tools in an agent's turn: what `holdpoint-ask` does over the turn's line, and the turn's file. No key is there.

use std::{
    fs::File,
    io::{self, Read as _},
    path::PathBuf,
};

use holdpoint_protocol::artifact::Confidence;
use holdpoint_runtime::ask::{
    client::{self, RESULT, Unasked},
    message::{Became, PATIENCE_DEFAULT, Wanted},
};
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    offer::{self, Nothing, Offer, tool},
    reply::{Refusal, Reply},
};
use crate::failure::{Failure, chain};

const GET_TASK: &str = "get_task";
const ASK: &str = "ask";
const HELP: &str = "help";

/// Names the turn's file.
const TURN_VARIABLE: &str = "HOLDPOINT_TURN_FILE";
/// The most of it that is read.
const TURN_BYTES_MAX: u64 = 4 << 20;

const INSTRUCTIONS: &str = "You work in one turn of a flight. get_task shows what is wanted; ask and help reach the people behind \
    it. A turn is completed by the end of your program, as your prompt says, and not by a tool.";

const GET_TASK_SAYS: &str = "Shows the whole turn as JSON: the waypoint with its goal, criteria and tests, the gate with what it \
    expects, and the limits. Changes nothing.\n\nExample: {}";

const ASK_SAYS: &str = r#"Asks the people behind this turn for a decision that you must not guess, and waits for the answer as long as `patience` says.

An answer is {"became": "answer", "answer": {option, text, rationale, constraints, by}}: go on with it, and keep to its constraints. If none comes in time, it is {"became": "result"}: the question is this turn's result now. End your program; what you left in its files is kept, and the next turn begins with the answer.

Example: {"question": "Retry on 429 as well, or on 5xx only?", "options": ["5xx only", "429 too"], "confidence": "low", "context": "the public API documents neither", "patience": 300}"#;

const HELP_SAYS: &str = r#"Calls a person for help where you cannot go on at all. The call is this turn's result at once: end your program. Work goes on in another turn when a person has answered.

Example: {"text": "there is no key for the payment service"}"#;

/// Arguments of `ask`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Question {
    /// The question.
    question: String,
    /// Answers that you can work with.
    #[serde(default)]
    options: Vec<String>,
    /// How sure you are of your own best guess; low without it.
    #[serde(default)]
    confidence: Option<Confidence>,
    /// What depends on the answer.
    #[serde(default)]
    context: String,
    /// How many seconds to wait for the answer; 0: not at all.
    #[serde(default = "default_patience")]
    patience: u64,
}

fn default_patience() -> u64 {
    PATIENCE_DEFAULT
}

/// Arguments of `help`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Help {
    /// With what.
    text: String,
}

/// A turn, from inside.
#[derive(Debug)]
pub(super) struct Turn {
    line: PathBuf,
    file: Option<PathBuf>,
}

impl Turn {
    /// The turn with this line; its file is named by the environment.
    pub(super) fn of(line: PathBuf) -> Self {
        Self { line, file: std::env::var_os(TURN_VARIABLE).map(PathBuf::from) }
    }

    /// What is offered here: `get_task` only where there is a file to read.
    pub(super) fn offer(&self) -> Offer {
        let task = self.file.as_ref().map(|_| tool::<Nothing>(GET_TASK, GET_TASK_SAYS, true));
        let asking = [tool::<Question>(ASK, ASK_SAYS, false), tool::<Help>(HELP, HELP_SAYS, false)];
        Offer { tools: task.into_iter().chain(asking).collect(), instructions: INSTRUCTIONS, ends_with_client: true }
    }

    /// Answers a call of one of the offered tools.
    pub(super) async fn call(&self, name: &str, arguments: JsonObject) -> Result<Reply, Refusal> {
        match name {
            ASK => {
                let Question { question: text, options, confidence, context, patience } = offer::read(name, arguments)?;
                self.ask(Wanted::Question { text, options, confidence, context, patience }).await
            }
            HELP => {
                let Help { text } = offer::read(name, arguments)?;
                self.ask(Wanted::Help { text }).await
            }
            _ => {
                let Nothing {} = offer::read(name, arguments)?;
                Ok(Reply::Json(self.task().map_err(|error| unreadable(&error))?))
            }
        }
    }

    fn task(&self) -> io::Result<Value> {
        let mut bytes = Vec::new();
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        File::open(file)?.take(TURN_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(serde_json::from_slice(&bytes)?)
    }

    async fn ask(&self, wanted: Wanted) -> Result<Reply, Refusal> {
        let line = self.line.clone();
        // It blocks until there is a reply; nobody waits for the thread when the client goes.
        let asked = tokio::task::spawn_blocking(move || client::ask(wanted, &line)).await;
        let asked = asked.map_err(|error| Failure::environment("asking", chain(&error), "call again"))?;
        match asked {
            Ok(Became::Answer(answer)) => Ok(Reply::Json(json!({"became": "answer", "answer": answer}))),
            Ok(Became::Result) => Ok(Reply::Json(json!({"became": "result", "message": RESULT}))),
            Ok(Became::Refused(why)) => {
                Err(Failure::usage("refused", why, "correct the call and send it again").into())
            }
            Err(bad @ Unasked::Bad(_)) => {
                Err(Failure::usage("invalid_question", chain(&bad), "correct the call and send it again").into())
            }
            Err(error @ Unasked::Line { .. }) => {
                Err(Failure::environment("no_line", chain(&error), "the turn may be over: end your program").into())
            }
        }
    }
}

fn unreadable(error: &io::Error) -> Failure {
    let message = format!("the file of {TURN_VARIABLE} cannot be read: {error}");
    Failure::environment("turn_file", message, "your prompt says what is wanted")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_offers_what_works_there_and_nothing_that_needs_a_key() {
        let names = |turn: &Turn| turn.offer().tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>();
        let mut turn = Turn { line: "/t/turn".into(), file: Some("/t/turn.json".into()) };
        assert_eq!(names(&turn), [GET_TASK, ASK, HELP]);
        turn.file = None;
        assert_eq!(names(&turn), [ASK, HELP]);
    }
}
