//! The rules: which files of them there are, and what is wrong with one of a project.

mod compiled;
mod language;
mod scan;

pub(crate) use compiled::RuleInfo;
pub(crate) use scan::{ScanAnswer, Scanned, ScannedMatch, concern, merge, scan, unasked};

use serde::{Deserialize, Serialize};

use compiled::CompiledFile;
use language::RuleLanguage;

/// Bytes of a file that the rules look at. A longer one is reported as unseen.
pub const SCANNED_BYTES_MAX: usize = 1 << 20;
/// Bytes of a file of rules.
const RULE_FILE_BYTES_MAX: usize = 256 << 10;
/// Parentheses in parentheses in a file of rules: the parser of queries calls itself for each.
const NESTING_MAX: usize = 64;

/// A file of rules that a project adds, such as `.holdpoint/rules/python.scm`.
///
/// It is a tree-sitter query. The part of its name up to the first `-` or `.` is the language: `python`, `rust`,
/// `javascript` (also holds for TypeScript), `typescript`, `go`, `java`, `cpp` (also holds for C) or `shell`. Each pattern
/// marks the place with `@at` and makes the settings of its rule:
///
/// ```text
/// ; Why the rule is there.
/// ((call function: (identifier) @f) @at
///   (#eq? @f "eval")
///   (#set! rule "runs-text-as-code")
///   (#set! group "suspicious")
///   (#set! sentence "The line runs a text as code, which no rule can look into."))
/// ```
///
/// - `group` is `suspicious` or `suppression`, `where` is `product` (the default), `test` or `any`.
/// - `path` and `not-path` are regular expressions on the file's path.
/// - `not-in` names regions, with blanks between them. A pattern with `region` instead of `rule` makes one of its `@region`;
///   code in the region `test` counts as test code.
/// - `without` names regions none of which may lie in the pattern's `@body`.
/// - `named` names a set of names to which `@name` has to belong. A pattern with `names` instead of `rule` adds its `@name`.
///   A region with `named` is one only then.
///   The sets and the regions that the shipped rules make hold for rules of a project too.
/// - A later pattern of the same rule takes over the settings that it does not make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleFile {
    /// Its name or path.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// A problem in a file of rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{file}:{line}: {problem}")]
pub struct RuleFileError {
    /// The file's name.
    pub file: String,
    /// Which line, from 1.
    pub line: u32,
    /// The problem, with what to do.
    pub problem: String,
}

impl RuleFileError {
    fn new(file: &RuleFile, line: usize, problem: impl Into<String>) -> Self {
        Self { file: file.name.clone(), line: u32::try_from(line).unwrap_or(u32::MAX), problem: problem.into() }
    }
}

/// Checks a file of rules of a project in this process.
///
/// The parser of queries is C: check only what the project's owner wrote. [`crate::OutlineHelper::findings`] checks in the
/// confined helper.
///
/// # Errors
/// [`RuleFileError`] with the file, the line and the problem.
pub fn check_rules(file: &RuleFile) -> Result<(), RuleFileError> {
    for language in languages_of(file)? {
        compile(language, file)?;
    }
    Ok(())
}

/// The languages for which a file is, by its name.
fn languages_of(file: &RuleFile) -> Result<Vec<RuleLanguage>, RuleFileError> {
    let name = file.name.rsplit('/').next().unwrap_or_default();
    let stem = name.split(['-', '.']).next().unwrap_or_default();
    let languages: Vec<RuleLanguage> =
        RuleLanguage::ALL.into_iter().filter(|language| language.rule_names().contains(&stem)).collect();
    if languages.is_empty() {
        let known = "python, rust, javascript, typescript, go, java, cpp or shell";
        return Err(RuleFileError::new(
            file,
            1,
            format!("no language is called {stem:?}; begin the name with {known}"),
        ));
    }
    Ok(languages)
}

fn compile(language: RuleLanguage, file: &RuleFile) -> Result<CompiledFile, RuleFileError> {
    if file.text.len() > RULE_FILE_BYTES_MAX {
        return Err(RuleFileError::new(file, 1, format!("the file is longer than {RULE_FILE_BYTES_MAX} bytes")));
    }
    if let Some(line) = too_deep(&file.text) {
        return Err(RuleFileError::new(file, line, format!("more than {NESTING_MAX} brackets are open here")));
    }
    CompiledFile::new(language, file)
}

/// The line in which more brackets are open than a query may have.
fn too_deep(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (number, line) in (1..).zip(text.lines()) {
        for c in line.chars() {
            match c {
                // Brackets in texts and comments count too: no honest file has that many.
                '(' | '[' => depth += 1,
                ')' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if depth > NESTING_MAX {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests;
