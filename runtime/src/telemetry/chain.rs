//! An error with everything that caused it, in one line.

use std::{error::Error, fmt};

/// How deep a chain is followed. Deeper ones are a mistake, and may be endless.
const DEPTH_MAX: usize = 16;

/// Shows an error and its sources, with `: ` between them. Our errors never contain their source's text.
#[derive(Clone, Copy)]
pub struct ErrorChain<'a>(pub &'a (dyn Error + 'a));

impl fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut next = self.0.source();
        for _ in 0..DEPTH_MAX {
            let Some(error) = next else { break };
            write!(f, ": {error}")?;
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
