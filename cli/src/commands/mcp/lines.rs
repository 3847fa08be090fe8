//! What a client of the Model Context Protocol writes, line by line: a request with half a character in it has its id and gets its answer,
//! and so does one that is too long.

use std::{io, sync::Arc};

use holdpoint_text::lenient;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::Mutex,
};

use super::line_id::IdScan;

/// The code of JSON-RPC for a request that is none.
const INVALID_REQUEST: i32 = -32_600;

/// Where answers go, a whole line at a time.
pub(super) struct Answers<W>(Arc<Mutex<W>>);

impl<W> Clone for Answers<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W: AsyncWrite + Unpin> Answers<W> {
    /// To there.
    pub(super) fn new(to: W) -> Self {
        Self(Arc::new(Mutex::new(to)))
    }

    /// Passes on the lines of the server until it has said all.
    pub(super) async fn pass_on(&self, from: impl AsyncRead + Unpin) -> io::Result<()> {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while from.read_until(b'\n', &mut line).await? > 0 {
            self.write(&line).await?;
            line.clear();
        }
        Ok(())
    }

    /// Answers a message that is not read because it is too long.
    async fn refuse(&self, id: &Value, bytes_max: usize) -> io::Result<()> {
        let message =
            format!("a message has at most {bytes_max} bytes, and this one is longer: it was not read; send less");
        let error = json!({"code": INVALID_REQUEST, "message": message});
        self.write(format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "error": error})).as_bytes()).await
    }

    async fn write(&self, line: &[u8]) -> io::Result<()> {
        let mut to = self.0.lock().await;
        to.write_all(line).await?;
        to.flush().await
    }
}

/// Passes lines on, each read as a person would read it. One of more than so many bytes is answered instead, under its id, and the next
/// one is read.
pub(super) async fn mended(
    from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    answers: &Answers<impl AsyncWrite + Unpin>,
    bytes_max: usize,
) -> io::Result<()> {
    let mut from = BufReader::new(from);
    let most = u64::try_from(bytes_max).unwrap_or(u64::MAX);
    let mut line = Vec::new();
    loop {
        line.clear();
        // One more for the end of the line.
        if (&mut from).take(most.saturating_add(1)).read_until(b'\n', &mut line).await? == 0 {
            return to.shutdown().await;
        }
        if line.len() > bytes_max && !line.ends_with(b"\n") {
            let id = id_of_long(&mut from, &line).await?;
            answers.refuse(&id, bytes_max).await?;
            continue;
        }
        if serde_json::from_slice::<Value>(&line).is_err()
            && let Some(value) = lenient::value(&line)
        {
            line = value.to_string().into_bytes();
            // What stands for half a character is longer than it.
            if line.len() > bytes_max {
                answers.refuse(value.get("id").unwrap_or(&Value::Null), bytes_max).await?;
                continue;
            }
            line.push(b'\n');
        }
        to.write_all(&line).await?;
        to.flush().await?;
    }
}

/// The id of a message that begins like this. It is read to its end, and not kept.
async fn id_of_long(from: &mut BufReader<impl AsyncRead + Unpin>, begin: &[u8]) -> io::Result<Value> {
    let mut scan = IdScan::default();
    scan.take(begin);
    loop {
        let more = from.fill_buf().await?;
        let end = more.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(more.len());
        let is_over = end.is_some() || more.is_empty();
        scan.take(more.get(..taken).unwrap_or_default());
        from.consume(taken + usize::from(end.is_some()));
        if is_over {
            return Ok(scan.id());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What goes on, and what is answered, of lines of at most so many bytes.
    async fn passed(lines: &str, bytes_max: usize) -> (String, String) {
        let (mut out, mut said) = (Vec::new(), Vec::new());
        mended(lines.as_bytes(), &mut out, &Answers::new(&mut said), bytes_max).await.unwrap();
        (String::from_utf8(out).unwrap(), String::from_utf8(said).unwrap())
    }

    #[tokio::test]
    async fn a_line_that_is_no_whole_json_is_mended_and_every_other_goes_on_as_it_is() {
        let deep = format!("{{\"id\":3,\"params\":{}1{}}}", "[".repeat(300), "]".repeat(300));
        let lines = format!("{{\"id\": 1}}\n{{\"id\":2,\"a\":\"\\ud83d\"}}\n{deep}\nhello\n\u{feff}{{\"id\":5}}\n");
        let (out, said) = passed(&lines, 2_000).await;
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!((lines[0], lines[3], said.as_str()), ("{\"id\": 1}", "hello", ""));
        let ids = [1, 2, 4].map(|at| serde_json::from_str::<Value>(lines[at]).unwrap()["id"].clone());
        assert_eq!(ids, [2, 3, 5].map(Value::from));
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_answered_under_its_id_and_the_next_one_is_read() {
        let long = "x".repeat(40_000);
        let last = format!("{{\"method\":\"m\",\"params\":{{\"id\":1,\"a\":\"{long}\"}},\"id\":\"call-7\"}}");
        let lines = [
            format!("{{\"jsonrpc\":\"2.0\",\"id\":4,\"a\":\"{long}\"}}"),
            "{\"id\":5}".to_owned(),
            last,
            long.clone(),
            "{\"id\":6}".to_owned(),
            format!("{{\"id\":8,\"a\":\"{long}"),
        ];
        let (out, said) = passed(&lines.join("\n"), 2_000).await;
        assert_eq!(out, "{\"id\":5}\n{\"id\":6}\n");
        let said: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let ids: Vec<Value> = said.iter().map(|answer| answer["id"].clone()).collect();
        assert_eq!(ids, [json!(4), json!("call-7"), Value::Null, json!(8)]);
        for answer in &said {
            assert_eq!((&answer["jsonrpc"], &answer["error"]["code"]), (&json!("2.0"), &json!(INVALID_REQUEST)));
            assert!(answer["error"]["message"].as_str().unwrap().contains("at most 2000 bytes"), "{answer}");
        }
    }

    #[tokio::test]
    async fn the_bound_is_of_the_message_without_its_end_also_once_it_is_put_right() {
        let of = |bytes: usize| format!("{{\"id\":1,\"a\":\"{}\"}}", "x".repeat(bytes - 15));
        let (out, said) = passed(&format!("{}\n{}\n", of(100), of(101)), 100).await;
        assert_eq!((out, said.lines().count()), (format!("{}\n", of(100)), 1));
        let grows = format!("{{\"id\":2,\"a\":\"{}\\ud83d\"}}", "\u{7}".repeat(70));
        let (out, said) = passed(&format!("{grows}\n"), 100).await;
        assert_eq!(out, "");
        assert!(said.contains("\"id\":2"), "{said}");
    }

    #[tokio::test]
    async fn lines_of_the_server_and_refusals_are_whole_lines() {
        let mut said = Vec::new();
        let answers = Answers::new(&mut said);
        let (mut server, end) = tokio::io::duplex(8);
        let writing = async move {
            server.write_all(b"{\"id\":1,\"result\":{}}\n{\"id\":2,\"result\":{}}\n").await.unwrap();
        };
        let id = json!(3);
        let (passed, refused, ()) = tokio::join!(answers.pass_on(end), answers.refuse(&id, 9), writing);
        passed.unwrap();
        refused.unwrap();
        drop(answers);
        let lines = String::from_utf8(said).unwrap();
        let mut ids: Vec<_> =
            lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_u64()).collect();
        ids.sort_unstable();
        assert_eq!(ids, [Some(1), Some(2), Some(3)]);
    }
}
