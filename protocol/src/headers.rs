//! Names of message headers and the values they take.

/// `application/json` or `application/msgpack`.
pub const CONTENT_TYPE: &str = "Content-Type";
/// Kind and version of the payload: `build_artifact/1.0`.
pub const SCHEMA: &str = "Hp-Schema";
/// ed25519 over subject, LF and the payload bytes as sent; unpadded base64url.
pub const SIGNATURE: &str = "Hp-Signature";
/// The sender's user JWT.
pub const JWT: &str = "Hp-Jwt";
/// On a plan: a nonce of its sender, who wants to hear with it on [`crate::subjects::progress`] whether the turn is open.
pub const PROGRESS: &str = "Hp-Progress";
/// The longest nonce, in bytes.
pub const NONCE_LEN_MAX: usize = 64;
/// W3C trace context.
pub const TRACEPARENT: &str = "traceparent";
/// The broker's deduplication id.
pub const MESSAGE_ID: &str = "Nats-Msg-Id";

/// On chunk 0 of a blob: the length of the whole blob in bytes, in decimal digits.
pub const SIZE: &str = "Hp-Size";

/// Content type of JSON payloads.
pub const JSON: &str = "application/json";
/// Content type of MessagePack payloads.
pub const MSGPACK: &str = "application/msgpack";

/// The bytes that are signed: the subject, a line feed, the payload as sent.
#[must_use]
pub fn signing_input(subject: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(subject.len() + 1 + payload.len());
    bytes.extend_from_slice(subject.as_bytes());
    bytes.push(b'\n');
    bytes.extend_from_slice(payload);
    bytes
}
