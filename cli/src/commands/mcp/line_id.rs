//! The id of a JSON-RPC message that is too long to be kept, read on the way. Pure.

use serde_json::Value;

/// The longest name or id that is kept, in bytes.
const TEXT_BYTES_MAX: usize = 256;

/// What was read of a message so far.
#[derive(Debug, Default)]
pub(super) struct IdScan {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// What stands in the message itself since its last separator: a name, or a value.
    text: Vec<u8>,
    /// The name before the value.
    name: Option<Vec<u8>>,
    found: Option<Value>,
}

impl IdScan {
    /// Reads on.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.next(*byte));
    }

    /// The id, as far as the message came; `null` where it has none that can be read.
    pub(super) fn id(&self) -> Value {
        self.found.clone().unwrap_or_default()
    }

    fn next(&mut self, byte: u8) {
        if self.in_string {
            self.in_string = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            return self.note(byte);
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.note(byte);
            }
            b'{' | b'[' => {
                self.note(byte);
                self.depth += 1;
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.value_ends();
                }
            }
            b':' if self.depth == 1 => self.name = Some(std::mem::take(&mut self.text)),
            b',' if self.depth == 1 => self.value_ends(),
            _ => self.note(byte),
        }
    }

    fn note(&mut self, byte: u8) {
        if self.depth == 1 && self.text.len() < TEXT_BYTES_MAX {
            self.text.push(byte);
        }
    }

    fn value_ends(&mut self) {
        let (name, value) = (self.name.take(), std::mem::take(&mut self.text));
        if self.found.is_none() && name.is_some_and(|name| name.trim_ascii() == b"\"id\"") {
            let value = serde_json::from_slice::<Value>(&value).ok();
            self.found = value.filter(|id| id.is_number() || id.is_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_id_is_the_messages_own_wherever_it_stands() {
        let long = format!(r#"{{"id":"{}"}}"#, "x".repeat(TEXT_BYTES_MAX));
        for (message, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"m","#, json!(7)),
            (r#" { "id" : "a\"b,}" , "x": [1, {"id": 2}"#, json!("a\"b,}")),
            (r#"{"params":{"id":1,"a":["id",{"id":2}]},"id":-3}"#, json!(-3)),
            (r#"{"a":"\"id\":1,","b":"\\","id":4}"#, json!(4)),
            (r#"{"id":5,"id":6}"#, json!(5)),
            (r#"{"id":null,"id":6}"#, json!(6)),
            (r#"{"id":{"id":1}}"#, Value::Null),
            (r#"{"id":8"#, Value::Null),
            (r#"[{"id":1},{"id":2}]"#, Value::Null),
            (r#""id":1"#, Value::Null),
            (&long, Value::Null),
            ("}}]]", Value::Null),
            ("", Value::Null),
        ] {
            let mut scan = IdScan::default();
            message.as_bytes().chunks(3).for_each(|some| scan.take(some));
            assert_eq!(scan.id(), id, "{message}");
        }
    }
}
