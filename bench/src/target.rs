//! What a figure is to be, and whether it is.

use std::fmt;

use serde::Serialize;

/// One thing that was aimed at.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Target {
    /// The figure's name.
    pub figure: &'static str,
    /// Which side of the wanted value is good.
    pub bound: Bound,
    /// What was aimed at.
    pub wanted: f64,
    /// What was found.
    pub found: f64,
    /// Whether that is good enough.
    pub met: bool,
}

/// Which side of a value is good. The value itself is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// More is better.
    AtLeast,
    /// Less is better.
    AtMost,
}

impl Target {
    pub(crate) fn at_least(figure: &'static str, wanted: f64, found: f64) -> Self {
        Self { figure, bound: Bound::AtLeast, wanted, found, met: found >= wanted }
    }

    pub(crate) fn at_most(figure: &'static str, wanted: f64, found: f64) -> Self {
        Self { figure, bound: Bound::AtMost, wanted, found, met: found <= wanted }
    }
}

/// The end of a report's table.
pub(crate) fn write(targets: &[Target], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "\n  {:<32}{:>12}{:>12}", "target", "wanted", "found")?;
    for Target { figure, bound, wanted, found, met } in targets {
        let sign = if *bound == Bound::AtLeast { "≥" } else { "≤" };
        let met = if *met { "met" } else { "NOT MET" };
        writeln!(f, "    {figure:<30}{:>12}{found:>12.2}  {met}", format!("{sign} {wanted}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_met_at_its_bound() {
        assert!(Target::at_least("x", 0.4, 0.4).met && !Target::at_least("x", 0.4, 0.39).met);
        assert!(Target::at_most("x", 9.0, 9.0).met && !Target::at_most("x", 9.0, 9.1).met);
    }
}
