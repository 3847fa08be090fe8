//! Languages whose lines can be broken, and what their compilers and loaders say of a text that is none.

/// A language, or several that are alike as far as tokens are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    Rust,
    /// JavaScript and TypeScript.
    Script,
    Go,
    /// C and C++.
    C,
    Java,
}

impl Language {
    /// The language of a file, by its name.
    pub(super) fn of(path: &str) -> Option<Self> {
        match path.rsplit_once('.')?.1 {
            "py" => Some(Self::Python),
            "rs" => Some(Self::Rust),
            "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => Some(Self::Script),
            "go" => Some(Self::Go),
            "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" => Some(Self::C),
            "java" => Some(Self::Java),
            _ => None,
        }
    }

    /// Whether a line of output says that a file of this language did not compile or could not be read.
    pub(super) fn is_complaint(self, line: &str) -> bool {
        let line = line.trim_start();
        let line = line.strip_prefix("E ").map_or(line, str::trim_start);
        let begins = |words: &[&str]| words.iter().any(|word| line.starts_with(word));
        match self {
            Self::Python => begins(&["SyntaxError: ", "IndentationError: ", "TabError: "]),
            Self::Rust => begins(&["error: could not compile"]),
            Self::Script => begins(&["SyntaxError: "]) || line.contains("error TS") || line.contains(" - error TS"),
            Self::Go => line.ends_with("[build failed]") || line.ends_with("[setup failed]"),
            Self::C | Self::Java => names_a_line(line),
        }
    }
}

/// `src/a.c:12:5: error: …`, `A.java:12: error: …`.
fn names_a_line(line: &str) -> bool {
    let Some((place, _)) = line.split_once(" fatal error: ").or_else(|| line.split_once(" error: ")) else {
        return false;
    };
    let Some((file, numbers)) = place.split_once(':') else { return false };
    !file.is_empty()
        && !file.contains(' ')
        && numbers.trim_end_matches(':').split(':').all(|part| part.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_compilers_and_loaders_say_is_known_by_language() {
        for (language, line) in [
            (Language::Python, "SyntaxError: invalid syntax"),
            (Language::Python, "E   IndentationError: unexpected indent"),
            (Language::Rust, "error: could not compile `a` (lib) due to 1 previous error"),
            (Language::Script, "SyntaxError: Unexpected token '+'"),
            (Language::Script, "src/a.ts(1,2): error TS2304: Cannot find name 'x'."),
            (Language::Go, "FAIL\texample.com/a [build failed]"),
            (Language::C, "src/a.c:12:5: error: expected ';'"),
            (Language::C, "a.h:1: fatal error: no.h"),
            (Language::Java, "A.java:12: error: incompatible types"),
        ] {
            assert!(language.is_complaint(line), "{line}");
        }
        for (language, line) in [
            (Language::Python, "AssertionError: SyntaxError: is what it should say"),
            (Language::Rust, "error: test failed, to rerun pass `--lib`"),
            (Language::C, "there was an error: 5"),
            (Language::Java, "java.lang.AssertionError: error: x"),
            (Language::Go, "FAIL\texample.com/a 0.01s"),
        ] {
            assert!(!language.is_complaint(line), "{line}");
        }
    }
}
