//! YAML files: a text becomes a tree in which every key and value knows its place, and every problem names one.
//!
//! From below: [`place`] and [`path`] say where something is, [`error`] collects problems and [`findings`] what rules find, both in the
//! [`words`] that readers and rules share. [`source`] makes a text of bytes, [`tree`] a tree of a text, [`fields`] values of a
//! mapping; [`locate`] finds the place of a finding in the tree. Nothing here knows what any kind of file says.

pub(crate) mod error;
pub(crate) mod fields;
pub(crate) mod findings;
pub mod front_matter;
pub(crate) mod json;
pub(crate) mod likeness;
mod locate;
pub(crate) mod path;
pub(crate) mod place;
pub(crate) mod source;
pub(crate) mod tree;
pub(crate) mod words;
