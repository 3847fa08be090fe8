//! The grammars, by the endings of files, with their queries for tags.

use tree_sitter_language::LanguageFn;
use tree_sitter_tags::TagsConfiguration;

/// A grammar, and what in it is a definition. The query of TypeScript adds to that of JavaScript.
struct Grammar {
    endings: &'static [&'static str],
    language: LanguageFn,
    queries: &'static [&'static str],
}

/// How files in C and C++ end.
pub(crate) const CPP_ENDINGS: [&str; 11] = ["c", "h", "cc", "hh", "cpp", "hpp", "cxx", "hxx", "ipp", "tpp", "inl"];

const GRAMMARS: [Grammar; 8] = [
    // C is read as C++: headers do not say which of the two they are in.
    Grammar { endings: &CPP_ENDINGS, language: tree_sitter_cpp::LANGUAGE, queries: &[tree_sitter_cpp::TAGS_QUERY] },
    Grammar { endings: &["go"], language: tree_sitter_go::LANGUAGE, queries: &[tree_sitter_go::TAGS_QUERY] },
    Grammar { endings: &["java"], language: tree_sitter_java::LANGUAGE, queries: &[tree_sitter_java::TAGS_QUERY] },
    Grammar {
        endings: &["js", "jsx", "mjs", "cjs"],
        language: tree_sitter_javascript::LANGUAGE,
        queries: &[tree_sitter_javascript::TAGS_QUERY],
    },
    Grammar {
        endings: &["py", "pyi"],
        language: tree_sitter_python::LANGUAGE,
        queries: &[tree_sitter_python::TAGS_QUERY],
    },
    Grammar { endings: &["rs"], language: tree_sitter_rust::LANGUAGE, queries: &[tree_sitter_rust::TAGS_QUERY] },
    Grammar {
        endings: &["ts", "mts", "cts"],
        language: tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
        queries: &[tree_sitter_javascript::TAGS_QUERY, tree_sitter_typescript::TAGS_QUERY],
    },
    Grammar {
        endings: &["tsx"],
        language: tree_sitter_typescript::LANGUAGE_TSX,
        queries: &[tree_sitter_javascript::TAGS_QUERY, tree_sitter_typescript::TAGS_QUERY],
    },
];

/// The grammars that were needed so far: making one takes some milliseconds.
#[derive(Default)]
pub(crate) struct Grammars(Vec<(usize, Option<TagsConfiguration>)>);

impl Grammars {
    /// The grammar of a file with this name; `None` where there is none.
    pub(crate) fn of(&mut self, name: &str) -> Option<&TagsConfiguration> {
        let ending = name.rsplit('/').next()?.rsplit_once('.')?.1;
        let wanted = GRAMMARS.iter().position(|grammar| grammar.endings.contains(&ending))?;
        if !self.0.iter().any(|(at, _)| *at == wanted) {
            let made = GRAMMARS.get(wanted).and_then(|grammar| {
                TagsConfiguration::new(grammar.language.into(), &grammar.queries.concat(), "").ok()
            });
            self.0.push((wanted, made));
        }
        self.0.iter().find(|(at, _)| *at == wanted).and_then(|(_, made)| made.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_grammar_fits_its_query() {
        for grammar in GRAMMARS {
            let made = TagsConfiguration::new(grammar.language.into(), &grammar.queries.concat(), "");
            assert!(made.is_ok(), "{:?}: {:?}", grammar.endings, made.err());
        }
    }
}
