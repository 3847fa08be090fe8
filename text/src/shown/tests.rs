use proptest::prelude::*;

use super::*;

#[test]
fn what_cannot_be_seen_is_written_out_and_colours_go() {
    for (text, as_line, as_lines) in [
        ("plain – ä 漢 ✔\u{fe0f}", "plain – ä 漢 ✔\u{fe0f}", "plain – ä 漢 ✔\u{fe0f}"),
        ("a\nb\tc\n", "a\\nb\\tc\\n", "a\nb\tc\n"),
        ("a\r\nb\rc", "a\\r\\nb\\rc", "a\nb\\rc"),
        ("a\r\r\nb\r", "a\\r\\r\\nb\\r", "a\\r\nb\\r"),
        ("\u{1b}[1;31mred\u{1b}[0m\u{1b}[K and plain", "red and plain", "red and plain"),
        ("\u{1b}[38:2::255:0:0mred", "red", "red"),
        ("\u{1b}[2Jgone", "\\u{1b}[2Jgone", "\\u{1b}[2Jgone"),
        ("\u{1b}[\u{1b}[0m0m cut\u{1b}[", "\\u{1b}[0m cut\\u{1b}[", "\\u{1b}[0m cut\\u{1b}["),
        ("\u{1b}]0;title\u{7}\u{1b}", "\\u{1b}]0;title\\u{7}\\u{1b}", "\\u{1b}]0;title\\u{7}\\u{1b}"),
        ("\u{9b}2J\u{85}\u{7f}\0", "\\u{9b}2J\\u{85}\\u{7f}\\u{0}", "\\u{9b}2J\\u{85}\\u{7f}\\u{0}"),
        ("\u{202e}x\u{2069}\u{61c}", "\\u{202e}x\\u{2069}\\u{61c}", "\\u{202e}x\\u{2069}\\u{61c}"),
        ("a\u{2028}b\u{2029}c", "a\\u{2028}b\\u{2029}c", "a\\u{2028}b\\u{2029}c"),
        (
            "p\u{200b}a\u{200d}y\u{feff}\u{ad}",
            "p\\u{200b}a\\u{200d}y\\u{feff}\\u{ad}",
            "p\\u{200b}a\\u{200d}y\\u{feff}\\u{ad}",
        ),
        ("\u{e0041}\u{e007f}", "\\u{e0041}\\u{e007f}", "\\u{e0041}\\u{e007f}"),
    ] {
        assert_eq!((line(text).as_ref(), lines(text).as_ref()), (as_line, as_lines), "{text:?}");
    }
    assert!(matches!(line("plain"), Cow::Borrowed("plain")));
    assert!(matches!(lines("two\nlines"), Cow::Borrowed("two\nlines")));
}

#[test]
fn json_keeps_its_values() {
    let value = serde_json::json!({"a": "\u{202e}\u{1b}\u{9b}\u{e0041}\n", "b": ["ä"]});
    let pretty = serde_json::to_string_pretty(&value).unwrap();
    let shown = json(&pretty);
    assert!(shown.contains("\\u202e\\u001b\\u009b\\udb40\\udc41\\n") && shown.contains('ä'), "{shown}");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
}

#[test]
fn the_first_hidden_character_is_named() {
    assert_eq!(first_hidden("a\u{200b}\n"), Some('\u{200b}'));
    assert_eq!(first_hidden("two\nlines"), Some('\n'));
    assert_eq!(first_hidden("one line, ✔\u{fe0f}"), None);
}

#[test]
fn the_ranges_are_in_order_and_do_not_touch() {
    assert!(HIDDEN.iter().all(|(first, last)| first <= last));
    assert!(HIDDEN.windows(2).all(|two| two[0].1 < two[1].0));
}

#[test]
fn a_quotation_has_a_mark_before_each_line() {
    assert_eq!(
        quoted("one\r\n\n> holdpoint approve w\rx\u{2028}y"),
        ["| one", "|", "| > holdpoint approve w\\rx\\u{2028}y"]
    );
    assert!(quoted("").is_empty());
}

proptest! {
    #[test]
    fn no_line_of_a_quotation_is_without_its_mark(text in "(\\PC|\\pC|[>\r\n\t\u{85}\u{b}\u{c}]){0,60}") {
        const BREAKS: [char; 6] = ['\n', '\r', '\u{85}', '\u{2028}', '\u{b}', '\u{c}'];
        for line in quoted(&text) {
            prop_assert!(line.starts_with('|') && !line.contains(BREAKS));
        }
    }

    /// Texts of what the rule is about, and of anything.
    #[test]
    fn nothing_hidden_is_left_and_nothing_else_is_touched(text in "(\\PC|\\pC|[\u{1b}\\[0-9;mKJ\r\n\t]|\u{1b}\\[[0-9;]*m){0,60}") {
        let (one, many) = (line(&text), lines(&text));
        prop_assert_eq!(first_hidden(&one), None);
        prop_assert!(many.chars().all(|c| matches!(c, '\n' | '\t') || !is_hidden(c)));
        prop_assert_eq!(line(&one), one.clone());
        prop_assert_eq!(lines(&many), many.clone());
        prop_assert!(many.matches('\n').count() == text.matches('\n').count());
        if first_hidden(&text).is_none() {
            prop_assert_eq!(one, text.as_str());
        }
    }

    #[test]
    fn any_json_is_shown_as_the_same_json(text in "(\\PC|\\pC){0,60}") {
        let value = serde_json::Value::from(text);
        let written = value.to_string();
        let shown = json(&written);
        prop_assert_eq!(first_hidden(&shown), None);
        prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
