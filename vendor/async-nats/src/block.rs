//! Holdpoint's change to this crate: a block of headers as a stored message has it, which its sender chose and the server did not
//! look at. Whatever is in it, the connection goes on: lines that are no header are passed over.

use std::str::FromStr;

use crate::header::{HeaderMap, HeaderName, HeaderValue, NATS_SEQUENCE};
use crate::status::StatusCode;

/// What deliveries of consumers are answered to.
const ACKNOWLEDGEMENTS: &str = "$JS.ACK.";
const VERSION: &str = "NATS/1.0";

/// See the module.
pub(crate) struct Block {
    pub(crate) status: Option<StatusCode>,
    pub(crate) description: Option<String>,
    pub(crate) headers: HeaderMap,
}

/// Reads a block. A status is the server's word only where no stored message is given out: those have the status line of their sender.
pub(crate) fn parse(block: &[u8], reply: Option<&str>) -> Block {
    let text = String::from_utf8_lossy(block);
    let mut lines = text.lines().peekable();
    let suffix = lines.next().and_then(|line| line.strip_prefix(VERSION)).map_or("", str::trim);
    let (status, description) = suffix.split_once(' ').unwrap_or((suffix, ""));
    let mut headers = HeaderMap::new();
    while let Some(line) = lines.next() {
        let Some((name, value)) = line.split_once(':') else { continue };
        let mut value = value.trim_start().to_owned();
        while let Some(more) = lines.next_if(|line| line.starts_with(char::is_whitespace)) {
            value.push_str(more);
        }
        if let (Ok(name), Ok(value)) = (HeaderName::from_str(name), HeaderValue::from_str(value.trim_end())) {
            headers.append(name, value);
        }
    }
    let is_stored = reply.is_some_and(|reply| reply.starts_with(ACKNOWLEDGEMENTS)) || headers.get(NATS_SEQUENCE).is_some();
    let description = Some(description.trim()).filter(|text| !text.is_empty() && !is_stored);
    Block {
        status: status.trim().parse().ok().filter(|_| !is_stored),
        description: description.map(str::to_owned),
        headers,
    }
}
