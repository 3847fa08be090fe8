//! What can be kept of a JSON object that was cut off (RETRY-6). Pure.

use holdpoint_text::lenient;
use serde_json::{Map, Value};

/// How deep objects may be whose fields are kept one by one: the envelope and its `data`.
const DEPTH_MAX: usize = 2;

/// The fields that came whole before the text was cut off, of the object itself and of the objects in it. A list or text
/// that was cut off is left out: nobody can say what else was in it.
#[must_use]
pub fn salvage(text: &str) -> Option<Map<String, Value>> {
    let mut objects = 0_usize;
    let mut lists = 0_usize;
    let (mut in_text, mut escaped) = (false, false);
    // Where the last field ended that came whole, and in how many objects that is.
    let mut whole = None;
    for (at, c) in text.char_indices() {
        if in_text {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_text = false,
                _ => {}
            }
            continue;
        }
        match c {
            '"' => in_text = true,
            '{' => objects += 1,
            '}' => objects = objects.checked_sub(1)?,
            '[' => lists += 1,
            ']' => lists = lists.checked_sub(1)?,
            ',' if lists == 0 && (1..=DEPTH_MAX).contains(&objects) => whole = Some((at, objects)),
            _ => {}
        }
    }
    let (end, open) = whole?;
    let closed = format!("{}{}", text.get(..end)?, "}".repeat(open));
    match lenient::value(closed.as_bytes())? {
        Value::Object(map) => Some(map),
        _ => None,
    }
}

/// An earlier object with what a later one says: of objects field by field, else the later one counts.
#[must_use]
pub fn merged(mut earlier: Map<String, Value>, later: Map<String, Value>) -> Map<String, Value> {
    for (key, value) in later {
        let value = match (earlier.remove(&key), value) {
            (Some(Value::Object(before)), Value::Object(after)) => Value::Object(merged(before, after)),
            (_, value) => value,
        };
        earlier.insert(key, value);
    }
    earlier
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const WHOLE: &str = r#"{"component": "b", "status": "success", "data": {"a": 1, "list": ["x, {", "y"], "t": "q\"}", "z": {"u": 2}}, "n": null}"#;

    #[test]
    fn fields_that_came_whole_are_kept_and_a_list_that_was_cut_off_is_not() {
        let cut = |to: &str| Value::Object(salvage(WHOLE.split_once(to).unwrap().0).unwrap());
        assert_eq!(cut(" \"y\""), json!({"component": "b", "status": "success", "data": {"a": 1}}));
        assert_eq!(cut("q\\"), json!({"component": "b", "status": "success", "data": {"a": 1, "list": ["x, {", "y"]}}));
        assert_eq!(cut("\"success\""), json!({"component": "b"}));
        assert_eq!(salvage("{\"component\": \"b"), None);
        assert_eq!(salvage("no object"), None);
    }

    #[test]
    fn a_later_object_fills_in_what_an_earlier_one_lacked() {
        let [earlier, later] =
            [json!({"a": 1, "data": {"x": 1, "y": [1]}}), json!({"data": {"y": [2], "z": 3}, "b": 2})];
        let (Value::Object(earlier), Value::Object(later)) = (earlier, later) else { unreachable!() };
        assert_eq!(Value::Object(merged(earlier, later)), json!({"a": 1, "b": 2, "data": {"x": 1, "y": [2], "z": 3}}));
    }

    proptest! {
        #[test]
        fn what_is_kept_of_a_beginning_is_a_part_of_the_whole(to in 0..WHOLE.len()) {
            let whole: Map<String, Value> = serde_json::from_str(WHOLE).unwrap();
            if let Some(kept) = salvage(&WHOLE[..to]) {
                prop_assert_eq!(merged(whole.clone(), kept), whole);
            }
        }

        #[test]
        fn no_text_is_too_odd(text in "[\\[\\]{}\",:\\\\a1 ]{0,60}") {
            let _ = salvage(&text);
        }
    }
}
