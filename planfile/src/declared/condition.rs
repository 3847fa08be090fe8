//! What the reader of declarations asks about conditions. Whether a text is one says the engine that evaluates them
//! (`conditions/`), which is not pure: the caller brings its answers.

/// Says of a condition whether it can be evaluated at all; if not, why.
pub type Conditions<'a> = &'a dyn Fn(&str) -> Result<(), String>;
