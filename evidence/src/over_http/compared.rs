//! What a response has against what a test expects.

use holdpoint_protocol::plan::HttpExpected;

/// A whole response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttpAnswer {
    /// The status code.
    pub status: u16,
    /// Its headers, in their order.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
}

/// Every difference, as a sentence with what was expected and what there is; none: the test is green.
#[must_use]
pub fn differences(expected: &HttpExpected, got: &HttpAnswer) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(status) = expected.status.filter(|status| *status != got.status) {
        found.push(format!("expected status {status}, got {}", got.status));
    }
    let body = String::from_utf8_lossy(&got.body);
    for text in expected.body_contains.iter().filter(|text| !body.contains(text.as_str())) {
        found.push(format!("expected a body with {text:?}, and it has no such text"));
    }
    for (name, value) in &expected.headers {
        let is_named = |(known, _): &&(String, String)| known.eq_ignore_ascii_case(name);
        let values: Vec<&str> = got.headers.iter().filter(is_named).map(|(_, value)| value.trim()).collect();
        if values.contains(&value.trim()) {
            continue;
        }
        let there = match values.as_slice() {
            [] => "there is no such header".to_owned(),
            values => format!("got {}", values.iter().map(|value| format!("{value:?}")).collect::<Vec<_>>().join(", ")),
        };
        found.push(format!("expected header {name}: {value:?}, {there}"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> HttpAnswer {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        HttpAnswer {
            status: 401,
            headers: vec![header("content-type", "text/plain"), header("set-cookie", "a"), header("set-cookie", "b")],
            body: "token expired: grün \u{fffd}".into(),
        }
    }

    fn expected(status: Option<u16>, body: &[&str], headers: &[(&str, &str)]) -> HttpExpected {
        HttpExpected {
            status,
            body_contains: body.iter().map(|text| (*text).to_owned()).collect(),
            headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        }
    }

    #[test]
    fn a_response_as_expected_has_no_difference() {
        for expected in [
            expected(Some(401), &[], &[]),
            expected(None, &["expired", "token", "grün"], &[]),
            expected(None, &[], &[("Content-Type", "text/plain "), ("SET-COOKIE", "b")]),
        ] {
            assert_eq!(differences(&expected, &answer()), [""; 0], "{expected:?}");
        }
    }

    #[test]
    fn every_difference_says_what_was_expected_and_what_there_is() {
        let wrong = expected(Some(200), &["expired", "success"], &[("content-type", "text/html"), ("x-id", "1")]);
        assert_eq!(
            differences(&wrong, &answer()),
            [
                "expected status 200, got 401",
                "expected a body with \"success\", and it has no such text",
                "expected header content-type: \"text/html\", got \"text/plain\"",
                "expected header x-id: \"1\", there is no such header",
            ]
        );
        let cookies = differences(&expected(None, &[], &[("set-cookie", "c")]), &answer());
        assert_eq!(cookies, ["expected header set-cookie: \"c\", got \"a\", \"b\""]);
    }
}
