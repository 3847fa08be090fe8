//! What a program's stream says of help against what its final object says: the stream is the truth (RETRY-11).

use holdpoint_protocol::artifact::HelpRequest;
use serde_json::Value;

use super::{HelpCall, PrintedResult, help::CONTEXT_BYTES_MAX};

/// The field by which a final object says that its program asked for help, in its `data` or next to it.
const FIELD: &str = "requested_help";

/// The call that counts. One of the stream counts whatever the object says; where the object says otherwise, the call says so.
/// An object that says it without a call in the stream is one as well. One that is not whole says nothing.
pub(crate) fn reconcile(stream: Option<HelpCall>, object: Option<&PrintedResult>) -> Option<HelpCall> {
    let Some(PrintedResult::Whole(map)) = object else { return stream };
    let data = map.get("data").and_then(Value::as_object);
    let says = [data, Some(map)].into_iter().flatten().any(|map| map.get(FIELD).and_then(Value::as_bool) == Some(true));
    match stream {
        Some(call) => Some(HelpCall { overruled: !says, ..call }),
        None if says => {
            let context = data.map(|data| Value::Object(data.clone()));
            let fits = |value: &Value| value.to_string().len() <= CONTEXT_BYTES_MAX && HelpRequest::can_carry(value);
            Some(HelpCall { context: context.filter(fits), ..HelpCall::of_line(format!("\"{FIELD}\": true")) })
        }
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(text: &str) -> Option<PrintedResult> {
        match serde_json::from_str(text) {
            Ok(Value::Object(map)) => Some(PrintedResult::Whole(map)),
            _ => Some(PrintedResult::Broken { cut_off: true, details: String::new(), start: text.to_owned() }),
        }
    }

    #[test]
    fn the_stream_overrules_the_final_object_and_the_discrepancy_is_noted() {
        let called = || Some(HelpCall::of_line(">>>HELP<<<".to_owned()));
        let none = None::<bool>;
        // What the stream says, the object, and: whether it is a call, and whether the object is overruled.
        for (stream, printed, overruled) in [
            (None, None, none),
            (called(), None, Some(false)),
            (None, object(r#"{"data": {"success": true}}"#), none),
            (None, object(r#"{"data": {"requested_help": false}}"#), none),
            (None, object(r#"{"data": {"requested_help": "yes"}}"#), none),
            (None, object(r#"{"data": {"requested_help": true}}"#), Some(false)),
            (None, object(r#"{"requested_help": true}"#), Some(false)),
            (None, object(r#"{"data": {"requested_help": true"#), none),
            (called(), object(r#"{"data": {"requested_help": true}}"#), Some(false)),
            (called(), object(r#"{"requested_help": true, "data": {}}"#), Some(false)),
            (called(), object(r#"{"data": {"success": true}}"#), Some(true)),
            (called(), object(r#"{"data": {"requested_help": false}}"#), Some(true)),
            (called(), object(r#"{"data": {"requested_help"#), Some(false)),
        ] {
            let came = reconcile(stream.clone(), printed.as_ref());
            assert_eq!(came.map(|call| call.overruled), overruled, "{stream:?} {printed:?}");
        }
    }

    #[test]
    fn a_call_of_the_object_alone_has_its_data_as_context() {
        let call =
            reconcile(None, object(r#"{"data": {"requested_help": true, "reason": "stuck"}}"#).as_ref()).unwrap();
        assert_eq!(call.context, Some(json!({"requested_help": true, "reason": "stuck"})));
    }
}
