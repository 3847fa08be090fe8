//! What a client of the Model Context Protocol writes, line by line: a request with half a character in it has its id and gets its answer.

use std::io;

use holdpoint_core::lenient;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};

/// Passes lines on, each of at most so many bytes read as a person would read it; a longer one goes on as it is.
pub(super) async fn mended(
    from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    bytes_max: usize,
) -> io::Result<()> {
    let mut from = BufReader::new(from);
    let most = u64::try_from(bytes_max).unwrap_or(u64::MAX);
    let (mut line, mut begun) = (Vec::new(), false);
    loop {
        line.clear();
        if (&mut from).take(most).read_until(b'\n', &mut line).await? == 0 {
            return to.shutdown().await;
        }
        let whole = line.ends_with(b"\n");
        // A piece of a line that is too long is none.
        if whole
            && !begun
            && serde_json::from_slice::<serde_json::Value>(&line).is_err()
            && let Some(value) = lenient::value(&line)
        {
            line = value.to_string().into_bytes();
            line.push(b'\n');
        }
        begun = !whole;
        to.write_all(&line).await?;
        to.flush().await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_that_is_no_whole_json_is_mended_and_every_other_goes_on_as_it_is() {
        let deep = format!("{{\"id\":3,\"params\":{}1{}}}", "[".repeat(300), "]".repeat(300));
        let long = format!("{{\"id\":4,\"a\":\"{}\\ud83d\"}}", "x".repeat(4_000));
        let lines =
            format!("{{\"id\": 1}}\n{{\"id\":2,\"a\":\"\\ud83d\"}}\n{deep}\nhello\n{long}\n\u{feff}{{\"id\":5}}\n");
        let mut out = Vec::new();
        mended(lines.as_bytes(), &mut out, 2_000).await.unwrap();
        let out = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!((lines[0], lines[3], lines[4]), ("{\"id\": 1}", "hello", long.as_str()));
        let ids = [1, 2, 5].map(|at| serde_json::from_str::<serde_json::Value>(lines[at]).unwrap()["id"].clone());
        assert_eq!(ids, [2, 3, 5].map(serde_json::Value::from));
    }
}
