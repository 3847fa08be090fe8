//! Messages of the protocol: JSON-RPC 2.0, one object in a line. Pure.
//!
//! What the other end sends is not trusted: a line that is no message is passed over, and an answer to nothing that was asked, too.

use holdpoint_text::lenient;
use serde_json::{Value, json};

/// There is no such method.
pub const NO_METHOD: i64 = -32_601;
/// The request cannot be granted as it is.
pub const BAD_PARAMS: i64 = -32_602;
/// The request failed here.
pub const FAILED: i64 = -32_603;

/// Where agents say what their error's message does not.
const DETAILS: [&str; 5] = ["/data/details", "/data/message", "/data/error/message", "/data/error", "/data"];

/// What an agent sent.
#[derive(Debug, Clone, PartialEq)]
pub enum WireMessage {
    /// It wants something, and waits for an answer with this id.
    Request {
        /// The id: a number or a text.
        id: Value,
        /// What it wants.
        method: String,
        /// About what.
        params: Value,
    },
    /// It reports something.
    Notice {
        /// What.
        method: String,
        /// About what.
        params: Value,
    },
    /// It answers a request of ours.
    Answer {
        /// The id of the request.
        id: Value,
        /// The result, or the error's code and message.
        result: Result<Value, (i64, String)>,
    },
}

/// The message in a line; the error says why there is none.
///
/// # Errors
/// Why it is no message.
pub fn read(line: &[u8]) -> Result<WireMessage, &'static str> {
    let mut value = lenient::value(line).ok_or("it is no JSON")?;
    let Some(object) = value.as_object_mut() else { return Err("it is no object") };
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err("it is no message of JSON-RPC 2.0");
    }
    let id = object.remove("id").filter(|id| id.is_number() || id.is_string());
    let method = match object.remove("method") {
        Some(Value::String(method)) => Some(method),
        Some(_) => return Err("its method is no text"),
        None => None,
    };
    let params = object.remove("params").unwrap_or(Value::Null);
    let (result, error) = (object.remove("result"), object.remove("error"));
    match (method, id) {
        (Some(method), Some(id)) => Ok(WireMessage::Request { id, method, params }),
        (Some(method), None) => Ok(WireMessage::Notice { method, params }),
        (None, Some(id)) => match (result, error) {
            (Some(result), None) => Ok(WireMessage::Answer { id, result: Ok(result) }),
            (_, Some(error)) => Ok(WireMessage::Answer { id, result: Err(failure(&error)) }),
            (None, None) => Err("it has neither a result nor an error"),
        },
        (None, None) => Err("it has neither a method nor an id"),
    }
}

/// An error's code, and its message with what is said besides.
fn failure(error: &Value) -> (i64, String) {
    let code = error.get("code").and_then(Value::as_i64).unwrap_or(FAILED);
    let message = error.get("message").and_then(Value::as_str).unwrap_or("it says no more");
    let details = DETAILS.iter().find_map(|place| error.pointer(place)?.as_str());
    match details.filter(|details| *details != message) {
        Some(details) => (code, format!("{message}: {details}")),
        None => (code, message.to_owned()),
    }
}

/// A request of ours.
#[must_use]
pub fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Something that we report.
#[must_use]
pub fn notice(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// The answer to a request.
#[must_use]
pub fn answer(id: &Value, result: Result<Value, (i64, String)>) -> Value {
    match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err((code, message)) => json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let request = read(br#"{"jsonrpc":"2.0","id":"a","method":"fs/read_text_file","params":{"path":"/x"}}"#);
        assert!(matches!(request, Ok(WireMessage::Request { method, .. }) if method == "fs/read_text_file"));
        let notice = read(br#"{"jsonrpc":"2.0","method":"session/update"}"#);
        assert_eq!(notice, Ok(WireMessage::Notice { method: "session/update".to_owned(), params: Value::Null }));
        let answer =
            read(br#"{"jsonrpc":"2.0","id":3,"error":{"code":-32000,"message":"no","data":{"details":"log in"}}}"#);
        assert_eq!(answer, Ok(WireMessage::Answer { id: json!(3), result: Err((-32_000, "no: log in".to_owned())) }));
    }

    #[test]
    fn the_reason_of_an_error_is_found_wherever_an_agent_puts_it() {
        for data in [
            json!("slow down"),
            json!({"details": "slow down"}),
            json!({"message": "slow down"}),
            json!({"error": {"message": "slow down"}}),
        ] {
            let error = json!({"code": -32_603, "message": "Internal error", "data": data});
            assert_eq!(failure(&error), (FAILED, "Internal error: slow down".to_owned()));
        }
        assert_eq!(failure(&json!({"message": "no", "data": {"retry": 3}})), (FAILED, "no".to_owned()));
    }

    #[test]
    fn what_is_no_message_is_named() {
        for (line, why) in [
            ("hello", "no JSON"),
            ("[]", "no object"),
            (r#"{"id":1,"result":1}"#, "JSON-RPC"),
            (r#"{"jsonrpc":"2.0","method":7}"#, "no text"),
            (r#"{"jsonrpc":"2.0","id":1}"#, "neither a result"),
            (r#"{"jsonrpc":"2.0","id":null,"result":1}"#, "nor an id"),
        ] {
            let refused = read(line.as_bytes()).unwrap_err();
            assert!(refused.contains(why), "{line}: {refused}");
        }
        let deep = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{}}}"#, "[".repeat(100_000));
        assert!(read(deep.as_bytes()).is_err());
    }
}
