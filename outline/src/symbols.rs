//! The definitions in a file.

use tree_sitter_tags::TagsContext;

use crate::{NAME_CHARS_MAX, SYMBOLS_MAX, SourceFile, Symbol, grammar::Grammars};

/// What each file defines, in the order of the files; nothing of one in no known language.
pub(crate) fn symbols(sources: &[SourceFile]) -> Vec<Vec<Symbol>> {
    let (mut grammars, mut context) = (Grammars::default(), TagsContext::new());
    sources.iter().map(|source| of(&mut grammars, &mut context, source).unwrap_or_default()).collect()
}

fn of(grammars: &mut Grammars, context: &mut TagsContext, source: &SourceFile) -> Option<Vec<Symbol>> {
    let grammar = grammars.of(&source.name)?;
    let text = source.text.as_bytes();
    let (tags, _) = context.generate_tags(grammar, text, None).ok()?;
    let definitions = tags.filter_map(Result::ok).filter(|tag| tag.is_definition);
    let mut symbols: Vec<Symbol> = definitions
        .filter_map(|tag| {
            let name = String::from_utf8_lossy(text.get(tag.name_range.clone())?);
            Some(Symbol {
                line: u32::try_from(tag.span.start.row).unwrap_or(u32::MAX).saturating_add(1),
                kind: grammar.syntax_type_name(tag.syntax_type_id).to_owned(),
                name: name.chars().take(NAME_CHARS_MAX).collect(),
            })
        })
        .collect();
    symbols.sort_by_key(|symbol| symbol.line);
    symbols.dedup();
    symbols.truncate(SYMBOLS_MAX);
    Some(symbols)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, text: &str) -> Vec<(u32, String, String)> {
        let source = SourceFile { name: name.to_owned(), text: text.to_owned() };
        let found = symbols(std::slice::from_ref(&source)).remove(0);
        found.into_iter().map(|symbol| (symbol.line, symbol.kind, symbol.name)).collect()
    }

    #[test]
    fn definitions_of_each_language_are_found_with_their_lines() {
        for (name, text, kind, symbol) in [
            ("a/b.rs", "\nfn leave() {}\n", "function", "leave"),
            ("b.rs", "\nstruct Gate;\n", "class", "Gate"),
            ("b.py", "\nclass Gate:\n    pass\n", "class", "Gate"),
            ("b.go", "package a\nfunc Leave() {}\n", "function", "Leave"),
            ("b.mjs", "\nfunction leave() {}\n", "function", "leave"),
            ("b.ts", "\nfunction leave(gate: string): void {}\n", "function", "leave"),
            ("b.tsx", "\ninterface Gate { at: number }\n", "interface", "Gate"),
            ("B.java", "\nclass Gate {}\n", "class", "Gate"),
            ("b.c", "\nint leave(void) { return 0; }\n", "function", "leave"),
            ("b.h", "\nstruct gate { int at; };\n", "class", "gate"),
            ("b.cc", "\nbool Gate::leave() const { return true; }\n", "method", "leave"),
            ("b.hpp", "\nclass Gate {};\n", "class", "Gate"),
        ] {
            let found = named(name, text);
            assert_eq!(found, [(2, kind.to_owned(), symbol.to_owned())], "{name}");
        }
    }

    #[test]
    fn calls_are_no_definitions_and_files_in_no_known_language_have_none() {
        assert_eq!(named("b.rs", "fn a() { b(); c.d() }\n").len(), 1);
        assert!(named("b.md", "# fn a() {}\n").is_empty());
        assert!(named("Makefile", "a:\n").is_empty());
    }

    #[test]
    fn what_is_found_is_bounded_and_broken_files_are_outlined_as_far_as_they_can_be() {
        let many: String = (0..SYMBOLS_MAX + 50).map(|n| format!("fn f{n}() {{}}\n")).collect();
        assert_eq!(named("b.rs", &many).len(), SYMBOLS_MAX);
        let long = named("b.rs", &format!("fn {}() {{}}\n", "x".repeat(500)));
        assert_eq!(long[0].2.len(), NAME_CHARS_MAX);
        assert_eq!(named("b.rs", "fn a() {}\n)]} fn {{{{\n")[0].2, "a");
    }
}
