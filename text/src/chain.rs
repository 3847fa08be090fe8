//! An error with everything that caused it, in one line.

use std::{error::Error, fmt};

/// How deep a chain is followed. Deeper ones are a mistake, and may be endless.
const DEPTH_MAX: usize = 16;

/// Shows an error and its sources, with `: ` between them. Our errors never contain their source's text; where a library's
/// ends with it, it is shown once.
#[derive(Clone, Copy)]
pub struct ErrorChain<'a>(pub &'a (dyn Error + 'a));

impl fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last = self.0.to_string();
        f.write_str(&last)?;
        let mut next = self.0.source();
        for _ in 0..DEPTH_MAX {
            let Some(error) = next else { break };
            let text = error.to_string();
            if !last.ends_with(&text) {
                write!(f, ": {text}")?;
                last = text;
            }
            next = error.source();
        }
        Ok(())
    }
}

impl fmt::Debug for ErrorChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Says(&'static str, #[source] Option<Box<Says>>);

    fn shown(words: &[&'static str]) -> String {
        let error = words.iter().rev().fold(None, |cause, word| Some(Box::new(Says(word, cause))));
        ErrorChain(&error.unwrap()).to_string()
    }

    #[test]
    fn every_cause_is_shown_once() {
        assert_eq!(shown(&["cannot read plan.yaml", "no such file"]), "cannot read plan.yaml: no such file");
        assert_eq!(shown(&["refused: bad key", "bad key", "of nobody"]), "refused: bad key: of nobody");
    }

    #[test]
    fn a_chain_without_an_end_is_cut() {
        let words: Vec<&'static str> = ["a", "b"].repeat(DEPTH_MAX);
        assert_eq!(shown(&words).matches(": ").count(), DEPTH_MAX);
    }
}
