//! Places in a file.

use saphyr_parser::Marker;

/// A place in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Position {
    /// From 1.
    pub(crate) line: usize,
    /// In characters, from 1.
    pub(crate) column: usize,
}

impl Position {
    /// Where a file begins.
    pub(crate) const START: Self = Self { line: 1, column: 1 };
}

impl From<Marker> for Position {
    fn from(marker: Marker) -> Self {
        Self { line: marker.line().max(1), column: marker.col() + 1 }
    }
}
