//! What a `when` may be, before anything evaluates it.
//!
//! [`plausible`] is no parser: it finds an empty predicate, quotes and brackets that do not close, and a text that is far too
//! long. What else is wrong with a predicate only the engine that evaluates it can say; such an engine takes the place of
//! [`plausible`] as the [`Conditions`] of [`super::check`].

/// Says of a predicate whether it can be evaluated at all.
pub type Conditions<'a> = &'a dyn Fn(&str) -> Result<(), ConditionError>;

/// The longest predicate in bytes. It is one expression, and is evaluated each time work comes to its gate.
pub const CONDITION_BYTES_MAX: usize = 4 << 10;

/// Why a text is no predicate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// Nothing is there.
    #[error("it is empty")]
    Empty,
    /// More than anybody reads.
    #[error("it is longer than {} KiB", CONDITION_BYTES_MAX >> 10)]
    Long,
    /// A quote without its partner.
    #[error("the {quote} at character {at} is never closed")]
    Quote {
        /// The quote.
        quote: char,
        /// Where, in characters from 1.
        at: usize,
    },
    /// A bracket without its partner, or with another one's.
    #[error("the {bracket} at character {at} has no partner")]
    Bracket {
        /// The bracket.
        bracket: char,
        /// Where, in characters from 1.
        at: usize,
    },
}

/// The check that there is until an engine evaluates predicates.
///
/// # Errors
/// [`ConditionError`]: the first thing that no predicate has.
pub fn plausible(text: &str) -> Result<(), ConditionError> {
    if text.trim().is_empty() {
        return Err(ConditionError::Empty);
    }
    if text.len() > CONDITION_BYTES_MAX {
        return Err(ConditionError::Long);
    }
    let mut open: Vec<(char, usize)> = Vec::new();
    let mut characters = (1..).zip(text.chars()).peekable();
    let mut before = None;
    while let Some((at, character)) = characters.next() {
        match character {
            '"' | '\'' | '`' => {
                skip(&mut characters, character).ok_or(ConditionError::Quote { quote: character, at })?;
            }
            '/' if begins_pattern(before) => {
                skip(&mut characters, character).ok_or(ConditionError::Quote { quote: character, at })?;
            }
            '(' | '[' | '{' => open.push((character, at)),
            ')' | ']' | '}' => match open.pop() {
                Some((bracket, _)) if partner(bracket) == character => {}
                Some((bracket, at)) => return Err(ConditionError::Bracket { bracket, at }),
                None => return Err(ConditionError::Bracket { bracket: character, at }),
            },
            _ => {}
        }
        if !character.is_whitespace() {
            before = Some(character);
        }
    }
    match open.pop() {
        Some((bracket, at)) => Err(ConditionError::Bracket { bracket, at }),
        None => Ok(()),
    }
}

fn partner(bracket: char) -> char {
    match bracket {
        '(' => ')',
        '[' => ']',
        _ => '}',
    }
}

/// Whether a `/` behind this character begins a regular expression: where a value would begin it divides nothing.
fn begins_pattern(before: Option<char>) -> bool {
    before.is_none_or(|before| "([{,;:=!&|?+-*%~^<>".contains(before))
}

/// Reads on behind the closing quote. `None`: there is none. In a regular expression a `/` between brackets closes nothing.
fn skip(characters: &mut impl Iterator<Item = (usize, char)>, quote: char) -> Option<()> {
    let mut class = false;
    while let Some((_, character)) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            '[' | ']' if quote == '/' => class = character == '[',
            _ if character == quote && !class => return Some(()),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn predicates_of_the_examples_are_plausible() {
        for text in [
            "!tags.includes('skip-qa')",
            "tags.includes('security') || tags.includes('auth')",
            "metadata.dealSize > 50000",
            "gateHistory.some(g => g.gate === \"review\" && g.outcome !== 'complete')",
            r"/^news\)|(research)[/)]/.test(tags[0])",
            "metadata.a / metadata.b > 2 || `it's ${1}` === ')'",
            r"tags.includes('it\'s')",
        ] {
            assert_eq!(plausible(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn what_does_not_close_is_named_with_its_place() {
        for (text, said) in [
            ("", "it is empty"),
            (" \n", "it is empty"),
            ("tags.includes('x'", "the ( at character 14 has no partner"),
            ("tags.includes('x)", "the ' at character 15 is never closed"),
            ("tags.includes('x'))", "the ) at character 19 has no partner"),
            ("tags[0)", "the [ at character 5 has no partner"),
            ("/a/.test(b) && /c", "the / at character 16 is never closed"),
        ] {
            assert_eq!(plausible(text).unwrap_err().to_string(), said, "{text}");
        }
        assert_eq!(plausible(&"a".repeat(CONDITION_BYTES_MAX + 1)), Err(ConditionError::Long));
    }

    proptest! {
        #[test]
        fn any_text_is_plausible_or_has_a_reason(text in "(?s).{0,80}") {
            if let Err(error) = plausible(&text) {
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}
