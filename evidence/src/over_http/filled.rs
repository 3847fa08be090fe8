//! Variables of a test over HTTP: where they come from, what they stand for, and that evidence has none of their values.

use std::collections::BTreeMap;

use holdpoint_protocol::plan::HttpGiven;

/// Values by name.
pub type HttpVariables = BTreeMap<String, String>;

/// Headers whose values are credentials.
const SECRET_HEADERS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];
/// What evidence has in place of a secret.
const MASK: &str = "***";
/// Bytes of a value that is taken for a secret wherever it stands: a shorter one stands in every other word.
const SECRET_BYTES_MIN: usize = 4;

/// The variables in what a command printed: one on each line `NAME=value`.
#[must_use]
pub fn variables(printed: &str) -> HttpVariables {
    let one = |line: &str| {
        let (name, value) = line.trim_end_matches('\r').split_once('=')?;
        is_name(name).then(|| (name.to_owned(), value.to_owned()))
    };
    printed.lines().filter_map(one).collect()
}

fn is_name(text: &str) -> bool {
    let letters = text.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    letters && text.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
}

/// A text in its parts: what stands as it is, and the name of the variable behind it.
fn parts(text: &str) -> Vec<(&str, Option<&str>)> {
    let (mut parts, mut rest, mut from) = (Vec::new(), text, 0);
    while let Some(at) = rest.get(from..).and_then(|text| text.find("${")).map(|at| at + from) {
        let name = rest.get(at + 2..).and_then(|text| text.split_once('}'));
        match name.filter(|(name, _)| is_name(name)) {
            Some((name, after)) => {
                parts.push((rest.get(..at).unwrap_or_default(), Some(name)));
                (rest, from) = (after, 0);
            }
            None => from = at + 2,
        }
    }
    parts.push((rest, None));
    parts
}

/// The variables that a text names as `${NAME}`.
pub fn names_in(text: &str) -> impl Iterator<Item = &str> {
    parts(text).into_iter().filter_map(|(_, name)| name)
}

/// A text with the values of its variables.
///
/// # Errors
/// The name of one that has none.
pub fn filled(text: &str, with: &HttpVariables) -> Result<String, String> {
    let mut filled = String::new();
    for (before, name) in parts(text) {
        filled.push_str(before);
        if let Some(name) = name {
            filled.push_str(with.get(name).ok_or(name)?);
        }
    }
    Ok(filled)
}

/// What evidence must not show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttpSecrets(Vec<String>);

impl HttpSecrets {
    /// Every variable's value, and the credentials in these headers.
    #[must_use]
    pub fn of(given: &HttpGiven, with: &HttpVariables) -> Self {
        let in_headers = given.headers.iter().filter(|(name, _)| is_secret_header(name));
        let in_headers = in_headers.filter_map(|(_, value)| filled(value, with).ok());
        let each = in_headers.flat_map(|value| {
            // Behind the scheme: `Bearer …`.
            let credentials = value.split_once(' ').map(|(_, credentials)| credentials.trim().to_owned());
            [Some(value), credentials].into_iter().flatten()
        });
        let mut all: Vec<String> = with.values().cloned().chain(each).collect();
        all.retain(|value| value.trim().len() >= SECRET_BYTES_MIN);
        // A longer one may have a shorter one in it.
        all.sort_by_key(|value| std::cmp::Reverse(value.len()));
        all.dedup();
        Self(all)
    }

    /// A text without them.
    #[must_use]
    pub fn masked(&self, text: &str) -> String {
        self.0.iter().fold(
            text.to_owned(),
            |text, secret| {
                if text.contains(secret) { text.replace(secret, MASK) } else { text }
            },
        )
    }

    /// A header's value as it may be shown.
    #[must_use]
    pub fn header(&self, name: &str, value: &str) -> String {
        if is_secret_header(name) { MASK.to_owned() } else { self.masked(value) }
    }
}

fn is_secret_header(name: &str) -> bool {
    SECRET_HEADERS.iter().any(|secret| name.eq_ignore_ascii_case(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> HttpVariables {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn variables_are_lines_that_begin_with_a_name() {
        let printed = "minting…\nTOKEN=a=b\r\n+ X=1\n2=c\n=d\n_E2=\nTOKEN=last\n";
        assert_eq!(variables(printed), with(&[("TOKEN", "last"), ("_E2", "")]));
        assert_eq!(variables("TOKEN=a=b\r\n"), with(&[("TOKEN", "a=b")]));
    }

    #[test]
    fn a_text_is_filled_by_name_and_names_what_it_lacks() {
        let values = with(&[("A", "1"), ("B", "${A}")]);
        for (text, expected) in [
            ("none", "none"),
            ("${A}${B}-${A}", "1${A}-1"),
            ("$A ${} ${a b} ${A", "$A ${} ${a b} ${A"),
            ("${${A}", "${1"),
            ("ä${A}ü", "ä1ü"),
        ] {
            assert_eq!(filled(text, &values).as_deref(), Ok(expected), "{text}");
        }
        assert_eq!(filled("Bearer ${TOKEN}", &values), Err("TOKEN".to_owned()));
        assert_eq!(names_in("a ${A} ${B}${1} ${A}").collect::<Vec<_>>(), ["A", "B", "A"]);
    }

    #[test]
    fn no_value_of_a_variable_and_no_credentials_are_shown() {
        let given = HttpGiven {
            env_from: None,
            headers: with(&[("authorization", "Bearer hunter22"), ("X-Key", "${KEY}"), ("X-Plain", "plain")]),
        };
        let secrets = HttpSecrets::of(&given, &with(&[("KEY", "key-of-mine"), ("ONE", "1")]));
        let text = "got Bearer hunter22, then hunter22 and key-of-mine; 1 plain word";
        assert_eq!(secrets.masked(text), "got ***, then *** and ***; 1 plain word");
        assert_eq!(secrets.header("Authorization", "anything"), "***");
        assert_eq!(secrets.header("X-Key", "key-of-mine"), "***");
        assert_eq!(secrets.header("X-Plain", "plain"), "plain");
    }
}
