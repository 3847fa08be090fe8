//! Plain English (docs/style.md): words that read as translated are in no documentation, no message and no comment. Names
//! are not checked.

use crate::files::{self, TextFile};
use crate::words::text_length;

/// The words, in lower case, as they are in a text whose words have one space between them.
const TRANSLATED: [&str; 12] = [
    "whoever",
    "is told",
    "are told",
    "was told",
    "were told",
    "anew",
    "beside",
    "mend",
    "mends",
    "mended",
    "mending",
    "somebody's matter",
];
/// The page that says which words they are.
const STYLE: &str = "docs/style.md";
/// Words of the page that everybody reads first.
const ARCHITECTURE_WORDS_MAX: usize = 3_000;
/// How the names of files end whose comments are checked, and the marks that begin a comment there.
const COMMENTED: [(&[&str], &[&str]); 3] = [
    (&[".rs", ".js", ".cjs"], &["///", "//!", "//"]),
    (&[".css"], &["/*", "*"]),
    (&[".sh", ".py", ".toml", ".yaml", ".yml", ".conf", "Dockerfile"], &["#"]),
];

#[test]
fn documentation_is_free_of_words_that_read_as_translated() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for file in files::below("", &[".md"])?.iter().filter(|file| file.path != STYLE) {
        for (number, line) in prose(&file.text) {
            wrong.extend(translated(&line).map(|word| format!("{}:{number}: {word:?} in {line}", file.path)));
        }
    }
    assert!(wrong.is_empty(), "say it as docs/style.md does: {wrong:#?}");
    Ok(())
}

#[test]
fn messages_are_free_of_words_that_read_as_translated() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for file in files::sources()?.iter().filter(|file| !file.is_test()) {
        let product: String = file.product_lines().map(|(_, line)| format!("{line}\n")).collect();
        for text in texts(&product) {
            wrong.extend(translated(&text).map(|word| format!("{}: {word:?} in {text}", file.path)));
        }
    }
    assert!(wrong.is_empty(), "say it as docs/style.md does: {wrong:#?}");
    Ok(())
}

#[test]
fn comments_are_free_of_words_that_read_as_translated() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for (endings, marks) in COMMENTED {
        for file in files::below("", endings)? {
            for (number, comment) in comments(&file, marks) {
                let found = translated(&comment);
                wrong.extend(found.map(|word| format!("{}:{number}: {word:?} in {comment}", file.path)));
            }
        }
    }
    assert!(wrong.is_empty(), "say it as docs/style.md does: {wrong:#?}");
    Ok(())
}

#[test]
fn the_architecture_is_read_in_one_sitting() -> anyhow::Result<()> {
    let words = files::read("ARCHITECTURE.md")?.split_whitespace().filter(|word| *word != "|").count();
    assert!(words <= ARCHITECTURE_WORDS_MAX, "{words} words: measurements and diaries go to a page of their own");
    Ok(())
}

#[test]
fn a_word_counts_as_a_whole_outside_of_code_and_over_the_end_of_a_line() {
    let found = |text: &str| translated(text).collect::<Vec<_>>();
    assert_eq!(found("It is\n told to whoever amends it, besides."), ["whoever", "is told"]);
    let lines: Vec<String> = prose("a `mend` b\n```\nmend\n```\nmend").map(|(_, line)| line).collect();
    assert_eq!(lines, ["a  b", "mend"]);
    assert_eq!(
        texts("let x = 'a'; // \"no\"\nsay(\"one \\\" two\"); '\"' \"three\"").collect::<Vec<_>>(),
        ["one \\\" two", "three"]
    );
    let file = TextFile {
        path: "a.rs".to_owned(),
        text: "//! It is\n//! told `anew`.\n#[test]\nlet a = \"mend\";\n    // b".to_owned(),
    };
    assert_eq!(comments(&file, COMMENTED[0].1), [(1, " It is\n told .".to_owned()), (5, " b".to_owned())]);
}

/// The words in a text that read as translated.
fn translated(text: &str) -> impl Iterator<Item = &'static str> {
    // A text that goes on in the next line of a source ends its line with a backslash.
    let spaced = |c: char| if c.is_alphanumeric() || c == '\'' { c } else { ' ' };
    let text: String = text.replace("\\n", " ").to_lowercase().chars().map(spaced).collect();
    let text = format!(" {} ", text.split_whitespace().collect::<Vec<_>>().join(" "));
    TRANSLATED.into_iter().filter(move |word| text.contains(&format!(" {word} ")))
}

/// The lines of a page, numbered from 1, without code.
fn prose(page: &str) -> impl Iterator<Item = (usize, String)> {
    let mut fenced = false;
    page.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        let outside = line.split('`').step_by(2).collect();
        (!fence && !fenced).then_some((index + 1, outside))
    })
}

/// The comments of a file without code, each with the number of its first line. A comment is a line that begins with one of
/// the marks, with all such lines that follow.
fn comments(file: &TextFile, marks: &[&str]) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut end = 0;
    for (number, line) in (1..).zip(file.text.lines()) {
        let Some(line) = marks.iter().find_map(|mark| line.trim_start().strip_prefix(mark)) else { continue };
        match all.last_mut().filter(|_| end + 1 == number) {
            Some((_, comment)) => *comment += &format!("\n{line}"),
            None => all.push((number, line.to_owned())),
        }
        end = number;
    }
    all.into_iter().map(|(number, comment)| (number, comment.split('`').step_by(2).collect())).collect()
}

/// The texts in a source.
fn texts(source: &str) -> impl Iterator<Item = String> {
    let mut all = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' => {
                let length = text_length(rest);
                all.push(rest[1..length].trim_end_matches('"').to_owned());
                length
            }
            '\'' if rest.starts_with("'\"'") => 3,
            _ => first.len_utf8(),
        };
        rest = &rest[length..];
    }
    all.into_iter()
}
