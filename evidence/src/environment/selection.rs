//! What a setup sees of a tree.

use holdpoint_protocol::plan::EnvironmentSpec;

use crate::paths::Glob;

/// What is seen of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeenAs {
    /// All of it.
    Whole,
    /// Its name: it is there, and empty.
    Name,
}

/// The globs of an environment.
#[derive(Debug)]
pub struct Selection {
    inputs: Vec<Glob>,
    names: Vec<Glob>,
}

impl Selection {
    /// The globs of `spec`. One that is none selects nothing; the rules of plans refuse it.
    #[must_use]
    pub fn of(spec: &EnvironmentSpec) -> Self {
        let globs = |texts: &[String]| texts.iter().filter_map(|text| Glob::new(text).ok()).collect();
        Self { inputs: globs(&spec.inputs), names: globs(&spec.names) }
    }

    /// What a setup sees of the file; `None`: nothing.
    #[must_use]
    pub fn seen(&self, path: &str) -> Option<SeenAs> {
        let of = |globs: &[Glob]| globs.iter().any(|glob| glob.matches(path));
        if of(&self.inputs) { Some(SeenAs::Whole) } else { of(&self.names).then_some(SeenAs::Name) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_seen_whole_even_where_its_name_is_asked_for() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let spec = EnvironmentSpec {
            inputs: texts(&["**/Cargo.toml", "Cargo.lock"]),
            names: texts(&["**/src/lib.rs", "Cargo.lock"]),
            ..EnvironmentSpec::default()
        };
        let selection = Selection::of(&spec);
        for (path, seen) in [
            ("Cargo.toml", Some(SeenAs::Whole)),
            ("crates/a/Cargo.toml", Some(SeenAs::Whole)),
            ("Cargo.lock", Some(SeenAs::Whole)),
            ("src/lib.rs", Some(SeenAs::Name)),
            ("crates/a/src/lib.rs", Some(SeenAs::Name)),
            ("src/other.rs", None),
        ] {
            assert_eq!(selection.seen(path), seen, "{path}");
        }
    }
}
