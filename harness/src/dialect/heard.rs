//! What a program says, line by line while it says it. Keeps no more than the line that is not whole yet.

use holdpoint_protocol::live::LiveKind;
use holdpoint_text::live;

use super::{
    Dialect, DialectReader, Said, failure,
    lines::{Line, Lines},
};

/// Listens to one run's standard output piece by piece.
#[derive(Debug)]
pub struct DialectListener {
    lines: Lines,
    /// For a dialect of JSON lines.
    reader: Option<DialectReader>,
    /// What is printed on standard error.
    aside: Lines,
}

impl DialectListener {
    /// Listens to a program of this dialect.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        let reader = (!dialect.is_plain()).then(|| DialectReader::new(dialect, None));
        Self { lines: Lines::default(), reader, aside: Lines::default() }
    }

    /// Takes the next bytes, and reports each line of words and each tool call that they end.
    pub fn push(&mut self, bytes: &[u8], mut tell: impl FnMut(LiveKind, &str)) {
        let Self { lines, reader, .. } = self;
        lines.push(bytes, |line| {
            let Line::Whole(line) = line else { return };
            match reader {
                None => tell(LiveKind::Said, &live::beginning(line)),
                Some(reader) => of_event(reader, line, &mut tell),
            }
        });
    }
}

impl DialectListener {
    /// Takes the next bytes of standard error, and reports each line about a request that is refused or tried again.
    pub fn push_aside(&mut self, bytes: &[u8], mut tell: impl FnMut(LiveKind, &str)) {
        self.aside.push(bytes, |line| {
            let Line::Whole(line) = line else { return };
            let line = live::beginning(line);
            if failure::is_report(&line) {
                tell(LiveKind::Doing, &line);
            }
        });
    }
}

/// Reports what an event says: an agent's message line by line, and the tool call that it ends with.
fn of_event(reader: &mut DialectReader, event: &[u8], tell: &mut impl FnMut(LiveKind, &str)) {
    let Said { tool_calls: calls, doing: before, repeats, .. } = reader.said();
    let (calls, before, repeats) = (*calls, before.clone(), *repeats);
    reader.push(event);
    reader.push(b"\n");
    let said = reader.said();
    if said.text != b"\n" {
        let words = live::beginning(&said.text);
        words.lines().filter(|line| !line.trim().is_empty()).for_each(|line| tell(LiveKind::Said, line));
    }
    if (said.tool_calls > calls || said.doing != before)
        && let Some(doing) = &said.doing
    {
        tell(LiveKind::Tool, doing);
    }
    if said.repeats > repeats
        && let Some(trying) = &said.trying
    {
        tell(LiveKind::Doing, trying);
    }
    reader.forget();
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn heard(dialect: Dialect, output: &str, piece: usize) -> Vec<String> {
        let (mut listener, mut told) = (DialectListener::new(dialect), Vec::new());
        for bytes in output.as_bytes().chunks(piece) {
            listener.push(bytes, |kind, text| told.push(format!("{} {text}", kind.as_str())));
        }
        told
    }

    #[test]
    fn of_an_agent_each_message_and_tool_call_is_told_once_however_the_output_is_cut() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let tool = json!({"type": "tool_use", "name": "Edit", "input": {"file_path": "src/lib.rs"}});
        let message = |content| json!({"type": "assistant", "message": {"content": content}}).to_string();
        let events = [
            json!({"type": "system", "subtype": "init", "session_id": "s"}).to_string(),
            message(json!([text("I look at it.\nThen I edit.")])),
            message(json!([text("Now."), tool])),
            message(json!([text("Done.")])),
            json!({"type": "result", "result": "Done."}).to_string(),
        ];
        let output = format!("{}\n", events.join("\n"));
        let told = ["said I look at it.", "said Then I edit.", "said Now.", "tool Edit src/lib.rs", "said Done."];
        for piece in [1, 7, output.len()] {
            assert_eq!(heard(Dialect::Claude, &output, piece), told);
        }
        let codex = json!({"type": "item.started", "item": {"id": "1", "type": "command_execution", "command": "ls"}});
        assert_eq!(heard(Dialect::Codex, &format!("{codex}\n"), 5), ["tool command_execution ls"]);
    }

    #[test]
    fn what_a_call_runs_is_told_once_it_is_known() {
        let update = |update| format!("{}\n", json!({"type": "update", "update": update}));
        let output = [
            update(json!({"sessionUpdate": "tool_call", "toolCallId": "1", "kind": "execute", "title": "Terminal"})),
            update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "kind": "execute", "title": "make"})),
            update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"})),
        ];
        assert_eq!(heard(Dialect::Acp, &output.concat(), 9), ["tool execute Terminal", "tool execute make"]);
    }

    #[test]
    fn a_request_that_is_tried_again_is_told_wherever_the_program_says_so() {
        let retry = |retry| json!({"type": "system", "subtype": "api_retry", "attempt": retry, "max_retries": 10, "error_status": 529, "error": "overloaded"});
        let output = format!("{}\n{}\n", retry(1), retry(2));
        let told =
            ["doing trying again: 529 overloaded, retry 1 of 10", "doing trying again: 529 overloaded, retry 2 of 10"];
        assert_eq!(heard(Dialect::Claude, &output, 11), told);
        let codex = json!({"type": "error", "message": "Reconnecting... 1/5 (unexpected status 503)"});
        assert_eq!(
            heard(Dialect::Codex, &format!("{codex}\n"), 5),
            ["doing Reconnecting... 1/5 (unexpected status 503)"]
        );
        let (mut listener, mut told) = (DialectListener::new(Dialect::Acp), Vec::new());
        for line in ["Loading.\n", "Attempt 1 failed with status 429. Retrying with backoff...\n", "    at x.js:1\n"] {
            listener.push_aside(line.as_bytes(), |kind, text| told.push(format!("{} {text}", kind.as_str())));
        }
        assert_eq!(told, ["doing Attempt 1 failed with status 429. Retrying with backoff..."]);
    }

    #[test]
    fn of_a_plain_program_each_line_of_output_is_told() {
        assert_eq!(heard(Dialect::Plain, "one\ntwo\nnot yet", 2), ["said one", "said two"]);
    }
}
