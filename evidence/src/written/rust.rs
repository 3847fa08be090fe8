//! What is written on Rust's tests: the attributes on them and their modules, and macros in the place of the library's.

use std::collections::BTreeSet;

use super::{ByName, tokens::Token};

/// Macros of the standard library by which tests fail.
const ASSERTS: [&str; 11] = [
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "matches",
    "panic",
    "todo",
    "unimplemented",
    "unreachable",
];
/// Last parts of the names of attributes that make a function a test.
const TEST_ATTRIBUTES: [&str; 5] = ["test", "rstest", "test_case", "quickcheck", "wasm_bindgen_test"];
/// Attributes that decide whether a test is built and run, and how it ends.
const DECIDING: [&str; 4] = ["should_panic", "ignore", "cfg", "cfg_attr"];

/// The tests and macros of files.
#[derive(Debug, Default)]
pub(super) struct Tests {
    /// Tests by the names of their functions.
    pub(super) tests: ByName,
    /// Modules in files of their own, as `mod name`.
    pub(super) modules: ByName,
    /// Macros with the names of the standard library's.
    pub(super) macros: BTreeSet<String>,
}

/// Whether a mark turns a failure into a success.
pub(super) fn reverses(mark: &str) -> bool {
    mark.contains("should_panic")
}

impl Tests {
    /// Adds what a file has.
    pub(super) fn read(&mut self, tokens: &[Token]) {
        // Conditions of the file, and of every open brace.
        let mut scopes: Vec<Vec<String>> = vec![Vec::new()];
        let mut pending: Vec<String> = Vec::new();
        let mut module: Option<Vec<String>> = None;
        for (at, token) in tokens.iter().enumerate() {
            let word = |ahead: usize| match tokens.get(at + ahead) {
                Some(Token::Word(word)) => Some(word.as_str()),
                _ => None,
            };
            match token {
                Token::Attribute(text, false) => pending.push(text.clone()),
                Token::Attribute(text, true) => {
                    if let Some(scope) = scopes.last_mut() {
                        scope.extend(deciding(std::slice::from_ref(text)));
                    }
                }
                Token::Word(kind) if kind == "mod" => {
                    let own: Vec<String> = deciding(&pending).collect();
                    if let (Some(name), Some(Token::Mark(';'))) = (word(1), tokens.get(at + 2)) {
                        let known = self.modules.entry(format!("mod {name}")).or_default();
                        known.add(own.iter().chain(scopes.iter().flatten()));
                        known.for_tests |= pending.iter().any(|attribute| is_for_tests(attribute));
                    }
                    module = Some(own);
                }
                Token::Word(kind) if kind == "fn" => {
                    if let Some(name) = word(1).filter(|_| pending.iter().any(|attribute| is_test(attribute))) {
                        let own: Vec<String> = deciding(&pending).collect();
                        let known = self.tests.entry(name.to_owned()).or_default();
                        known.add(own.iter().chain(scopes.iter().flatten()));
                    }
                    pending.clear();
                }
                Token::Word(kind) if kind == "as" => self.macros.extend(asserting(word(1))),
                Token::Word(kind) if kind == "macro_rules" => self.macros.extend(asserting(word(2))),
                Token::Mark('{') => {
                    scopes.push(module.take().unwrap_or_default());
                    pending.clear();
                }
                Token::Mark('}') => {
                    // The file's own stays, however many braces are closed.
                    if scopes.len() > 1 {
                        scopes.pop();
                    }
                    pending.clear();
                }
                Token::Mark(';') => {
                    module = None;
                    pending.clear();
                }
                Token::Word(_) | Token::Mark(_) | Token::Text(_) => {}
            }
        }
    }
}

fn asserting(name: Option<&str>) -> Option<String> {
    name.filter(|name| ASSERTS.contains(name)).map(str::to_owned)
}

/// The name of an attribute without the path before it.
pub(super) fn name(attribute: &str) -> &str {
    let path = attribute.split(['(', '=']).next().unwrap_or(attribute);
    path.rsplit("::").next().unwrap_or(path)
}

pub(super) fn is_test(attribute: &str) -> bool {
    TEST_ATTRIBUTES.contains(&name(attribute))
}

pub(super) fn is_for_tests(attribute: &str) -> bool {
    name(attribute) == "cfg" && attribute.contains("test")
}

/// Those that decide; what every module of tests has is no condition.
fn deciding(attributes: &[String]) -> impl Iterator<Item = String> + '_ {
    attributes.iter().filter(|text| DECIDING.contains(&name(text)) && *text != "cfg(test)").cloned()
}
