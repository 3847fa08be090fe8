//! The languages that have rules: how their files are known, and the files of rules that are shipped.

use tree_sitter_language::LanguageFn;

use crate::grammar::CPP_ENDINGS;

/// A language that has rules. TypeScript has two grammars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleLanguage {
    /// C too, by the same grammar.
    Cpp,
    Go,
    Java,
    JavaScript,
    Python,
    Rust,
    Shell,
    Tsx,
    TypeScript,
}

/// A shipped file of rules: its name and its text.
type Shipped = (&'static str, &'static str);

macro_rules! shipped {
    ($($name:literal),*) => { &[$(($name, include_str!(concat!("../../rules/", $name)))),*] };
}

const CPP: &[Shipped] = shipped!["cpp.scm", "cpp-tests.scm"];
const GO: &[Shipped] = shipped!["go.scm", "go-tests.scm"];
const JAVA: &[Shipped] = shipped!["java.scm", "java-tests.scm"];
const JAVASCRIPT: &[Shipped] = shipped!["javascript.scm", "javascript-tests.scm"];
const PYTHON: &[Shipped] = shipped!["python.scm", "python-tests.scm"];
const RUST: &[Shipped] = shipped!["rust.scm", "rust-tests.scm"];
const SHELL: &[Shipped] = shipped!["shell.scm"];

impl RuleLanguage {
    pub(super) const ALL: [Self; 9] = [
        Self::Cpp,
        Self::Go,
        Self::Java,
        Self::JavaScript,
        Self::Python,
        Self::Rust,
        Self::Shell,
        Self::Tsx,
        Self::TypeScript,
    ];

    /// The language of a file: its ending says it, or else the program that its first line names.
    pub(super) fn of(path: &str, text: &str) -> Option<Self> {
        let name = path.rsplit('/').next()?;
        match name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()) {
            Some((_, ending)) => Self::by_ending(ending),
            None => Self::by_program(text.lines().next()?.strip_prefix("#!")?),
        }
    }

    fn by_ending(ending: &str) -> Option<Self> {
        Some(match ending {
            ending if CPP_ENDINGS.contains(&ending) => Self::Cpp,
            "go" => Self::Go,
            "java" => Self::Java,
            "js" | "jsx" | "mjs" | "cjs" => Self::JavaScript,
            "py" | "pyi" | "pyw" => Self::Python,
            "rs" => Self::Rust,
            "sh" | "bash" => Self::Shell,
            "tsx" => Self::Tsx,
            "ts" | "mts" | "cts" => Self::TypeScript,
            _ => return None,
        })
    }

    fn by_program(line: &str) -> Option<Self> {
        let words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
        let program = words.into_iter().find(|word| *word != "env" && !word.starts_with('-'))?;
        match program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
            "python" | "pypy" => Some(Self::Python),
            "sh" | "bash" | "dash" | "zsh" | "ksh" => Some(Self::Shell),
            "node" | "nodejs" | "bun" => Some(Self::JavaScript),
            "deno" | "tsx" | "ts-node" => Some(Self::TypeScript),
            _ => None,
        }
    }

    /// The names of the files of rules that hold for it.
    pub(super) fn rule_names(self) -> &'static [&'static str] {
        match self {
            Self::Cpp => &["cpp"],
            Self::Go => &["go"],
            Self::Java => &["java"],
            Self::JavaScript => &["javascript"],
            Self::Python => &["python"],
            Self::Rust => &["rust"],
            Self::Shell => &["shell"],
            Self::Tsx | Self::TypeScript => &["javascript", "typescript"],
        }
    }

    /// The files of rules that are shipped for it.
    pub(super) fn shipped(self) -> &'static [Shipped] {
        match self {
            Self::Cpp => CPP,
            Self::Go => GO,
            Self::Java => JAVA,
            Self::JavaScript | Self::Tsx | Self::TypeScript => JAVASCRIPT,
            Self::Python => PYTHON,
            Self::Rust => RUST,
            Self::Shell => SHELL,
        }
    }

    pub(super) fn grammar(self) -> LanguageFn {
        match self {
            Self::Cpp => tree_sitter_cpp::LANGUAGE,
            Self::Go => tree_sitter_go::LANGUAGE,
            Self::Java => tree_sitter_java::LANGUAGE,
            Self::JavaScript => tree_sitter_javascript::LANGUAGE,
            Self::Python => tree_sitter_python::LANGUAGE,
            Self::Rust => tree_sitter_rust::LANGUAGE,
            Self::Shell => tree_sitter_bash::LANGUAGE,
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX,
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
        }
    }
}
