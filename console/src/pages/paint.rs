//! The words of a line of source, by what they are: keywords, texts, comments, numbers. Not a parser: it knows one line at a time,
//! so that what spans several (a comment, a text) is painted on its first line alone. It decides nothing but colours.

use std::ops::Range;

/// What a piece of a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Keyword,
    Text,
    Comment,
    Number,
}

impl Kind {
    /// The class that style sheets know it by.
    pub(super) fn class(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Keyword => Some("t-key"),
            Self::Text => Some("t-text"),
            Self::Comment => Some("t-note"),
            Self::Number => Some("t-num"),
        }
    }
}

/// What a language writes how.
#[derive(Debug)]
pub(super) struct Language {
    endings: &'static [&'static str],
    /// What begins a comment that ends with its line.
    comments: &'static [&'static str],
    /// What begins and ends a text.
    quotes: &'static [char],
    keywords: &'static [&'static str],
}

/// How long a line may be that is painted, in bytes: longer ones are no source that a person wrote.
const LINE_BYTES_MAX: usize = 2_000;

const LANGUAGES: [Language; 7] = [
    Language {
        endings: &["rs"],
        comments: &["//"],
        quotes: &['"'],
        keywords: &[
            "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "false",
            "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return",
            "self", "Self", "static", "struct", "super", "trait", "true", "type", "unsafe", "use", "where", "while",
        ],
    },
    Language {
        endings: &["py", "pyi"],
        comments: &["#"],
        quotes: &['"', '\''],
        keywords: &[
            "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
            "except", "False", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "None",
            "nonlocal", "not", "or", "pass", "raise", "return", "True", "try", "while", "with", "yield",
        ],
    },
    Language {
        endings: &["js", "jsx", "mjs", "cjs", "ts", "tsx"],
        comments: &["//"],
        quotes: &['"', '\'', '`'],
        keywords: &[
            "async",
            "await",
            "break",
            "case",
            "catch",
            "class",
            "const",
            "continue",
            "default",
            "delete",
            "do",
            "else",
            "export",
            "extends",
            "false",
            "finally",
            "for",
            "from",
            "function",
            "if",
            "import",
            "in",
            "instanceof",
            "interface",
            "let",
            "new",
            "null",
            "of",
            "return",
            "static",
            "super",
            "switch",
            "this",
            "throw",
            "true",
            "try",
            "type",
            "typeof",
            "undefined",
            "var",
            "void",
            "while",
            "yield",
        ],
    },
    Language {
        endings: &["go"],
        comments: &["//"],
        quotes: &['"', '`'],
        keywords: &[
            "break",
            "case",
            "chan",
            "const",
            "continue",
            "default",
            "defer",
            "else",
            "false",
            "for",
            "func",
            "go",
            "goto",
            "if",
            "import",
            "interface",
            "map",
            "nil",
            "package",
            "range",
            "return",
            "select",
            "struct",
            "switch",
            "true",
            "type",
            "var",
        ],
    },
    Language {
        endings: &["c", "h", "cc", "cpp", "hpp", "java", "kt", "cs", "swift"],
        comments: &["//"],
        quotes: &['"', '\''],
        keywords: &[
            "abstract",
            "bool",
            "boolean",
            "break",
            "case",
            "catch",
            "char",
            "class",
            "const",
            "continue",
            "default",
            "do",
            "double",
            "else",
            "enum",
            "extends",
            "false",
            "final",
            "float",
            "for",
            "if",
            "implements",
            "import",
            "int",
            "interface",
            "long",
            "namespace",
            "new",
            "null",
            "nullptr",
            "package",
            "private",
            "protected",
            "public",
            "return",
            "short",
            "static",
            "struct",
            "switch",
            "this",
            "throw",
            "true",
            "try",
            "typedef",
            "unsigned",
            "using",
            "virtual",
            "void",
            "while",
        ],
    },
    Language {
        endings: &["sh", "bash"],
        comments: &["#"],
        quotes: &['"', '\''],
        keywords: &[
            "case", "do", "done", "elif", "else", "esac", "exit", "export", "fi", "for", "function", "if", "in",
            "local", "return", "set", "then", "until", "while",
        ],
    },
    Language {
        endings: &["yaml", "yml", "toml"],
        comments: &["#"],
        quotes: &['"', '\''],
        keywords: &["false", "null", "true"],
    },
];

/// The language of a file, by the ending of its name.
pub(super) fn language(path: &str) -> Option<&'static Language> {
    let (_, ending) = path.rsplit_once('.')?;
    LANGUAGES.iter().find(|language| language.endings.contains(&ending))
}

/// The pieces of a line, in order and without gaps.
pub(super) fn pieces(line: &str, language: Option<&Language>) -> Vec<(Range<usize>, Kind)> {
    let mut pieces: Vec<(Range<usize>, Kind)> = Vec::new();
    let Some(language) = language.filter(|_| line.len() <= LINE_BYTES_MAX) else {
        return vec![(0..line.len(), Kind::Plain)];
    };
    let mut at = 0;
    while let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) {
        let (length, kind) = first(rest, language);
        match pieces.last_mut() {
            Some((range, last)) if *last == kind => range.end += length,
            _ => pieces.push((at..at + length, kind)),
        }
        at += length;
    }
    pieces
}

/// The piece that a text begins with, and its length.
fn first(rest: &str, language: &Language) -> (usize, Kind) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if language.comments.iter().any(|begin| rest.starts_with(begin)) {
        return (rest.len(), Kind::Comment);
    }
    if let (true, Some(end)) = (rest.starts_with("/*") && language.comments.contains(&"//"), rest.find("*/")) {
        return (end + 2, Kind::Comment);
    }
    let Some(begin) = rest.chars().next() else { return (0, Kind::Plain) };
    if language.quotes.contains(&begin) {
        return (text(rest, begin), Kind::Text);
    }
    if !is_word(begin) {
        return (begin.len_utf8(), Kind::Plain);
    }
    let word = rest.split(|c| !is_word(c)).next().unwrap_or(rest);
    let kind = match begin {
        '0'..='9' => Kind::Number,
        _ if language.keywords.contains(&word) => Kind::Keyword,
        _ => Kind::Plain,
    };
    (word.len(), kind)
}

/// How long a text is that begins with this quote; one that does not end on the line reaches to the line's end.
fn text(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn painted(path: &str, line: &str) -> Vec<String> {
        let pieces = pieces(line, language(path));
        let shown = |(range, kind): (Range<usize>, Kind)| format!("{}:{}", kind.class().unwrap_or("-"), &line[range]);
        pieces.into_iter().map(shown).collect()
    }

    #[test]
    fn words_of_a_line_are_known_by_its_files_language() {
        assert_eq!(
            painted("a/b.rs", "let x = \"a\\\"b\"; // let"),
            ["t-key:let", "-: x = ", "t-text:\"a\\\"b\"", "-:; ", "t-note:// let"]
        );
        assert_eq!(painted("x.py", "return 12 # é"), ["t-key:return", "-: ", "t-num:12", "-: ", "t-note:# é"]);
        assert_eq!(painted("x.go", "/* a */ nil"), ["t-note:/* a */", "-: ", "t-key:nil"]);
        assert_eq!(painted("README", "let x"), ["-:let x"], "no language, no colours");
    }

    #[test]
    fn pieces_are_the_whole_line_whatever_stands_in_it() {
        for line in ["", "\"", "'é", "\\", "/*", "ünï 1é \"\\", "\u{202e}let", &"x".repeat(3_000)] {
            for path in ["a.rs", "a.py", "a.ts", "a.sh", "a.yaml", "a"] {
                let pieces = pieces(line, language(path));
                let whole: String = pieces.iter().map(|(range, _)| &line[range.clone()]).collect();
                assert_eq!(whole, line, "{path}");
            }
        }
    }
}
