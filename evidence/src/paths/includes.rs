//! What a file of a check reads before it does anything: includes of Makefiles and justfiles, modules next to a
//! program, folders of programs that a script puts into `PATH`.
//!
//! Each is given as paths that may or may not be there yet: a file that is not there, and would be read if it were,
//! decides as much. A part that is not understood (a variable without a plain value) becomes `*`.

use std::collections::BTreeMap;

use super::file_name;

/// Variables of one file that are looked up: values may name each other without end.
const LOOKUPS_MAX: usize = 2_000;
/// Bytes that one line of includes comes to.
const INCLUDES_BYTES_MAX: usize = 64 << 10;
/// Endings that node tries behind a name without one, and that a module next to it may have.
const NODE_ENDINGS: [&str; 6] = ["", ".js", ".json", ".mjs", ".cjs", "/index.js"];

/// The files that a Makefile or a justfile includes, as they are written.
pub(super) fn of_recipes(path: &str, text: &str) -> Vec<String> {
    let just = file_name(path).to_ascii_lowercase().ends_with("justfile") || path.ends_with(".just");
    let text = text.replace("\\\n", " ");
    let values = plain_values(&text);
    let mut left = LOOKUPS_MAX;
    let mut files = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('\t')) {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let first = words.next().unwrap_or_default();
        if just && matches!(first, "import" | "import?") {
            files.extend(words.map(|word| word.trim_matches(['\'', '"']).to_owned()));
        } else if just && line.trim().replace(' ', "").starts_with("setdotenv-load") {
            files.push(".env".to_owned());
        } else if !just && matches!(first, "include" | "-include" | "sinclude") {
            let rest = words.collect::<Vec<_>>().join(" ");
            files.extend(expanded(&rest, &values, &mut left, 0).split_whitespace().map(str::to_owned));
        }
    }
    files
}

/// `NAME = value` without conditions: the last one counts.
fn plain_values(text: &str) -> BTreeMap<&str, &str> {
    let value = |line: &'_ str| -> Option<(usize, usize)> {
        let at = line.find('=')?;
        Some((line.get(..at)?.trim_end_matches([':', '?', '+']).trim().len(), at + 1))
    };
    let lines = text.lines().filter(|line| !line.starts_with('\t'));
    lines
        .filter_map(|line| {
            let line = line.trim_start();
            let (name, rest) = value(line)?;
            let (name, rest) = (line.get(..name)?, line.get(rest..)?.trim());
            (!name.is_empty() && !name.contains(char::is_whitespace)).then_some((name, rest))
        })
        .collect()
}

/// Text with the variables that are known; any other becomes `*`, and `$(wildcard x)` is `x`.
fn expanded(text: &str, values: &BTreeMap<&str, &str>, left: &mut usize, depth: usize) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('$').filter(|_| *left > 0 && out.len() < INCLUDES_BYTES_MAX) {
        *left -= 1;
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(end) = closing(rest) else {
            out.push('*');
            rest = rest.get(rest.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default();
            continue;
        };
        let inner = &rest[1..end];
        rest = &rest[end + 1..];
        match (inner.strip_prefix("wildcard "), values.get(inner)) {
            (Some(files), _) if depth < 4 => out.push_str(&expanded(files, values, left, depth + 1)),
            (None, Some(value)) if depth < 4 => out.push_str(&expanded(value, values, left, depth + 1)),
            _ => out.push('*'),
        }
    }
    out + rest
}

/// Where the bracket that `text` begins with is closed.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return (at > 0).then_some(at);
        }
    }
    None
}

/// The modules next to a program that it imports, as paths from its folder: each one in all the forms in which it could
/// be there. Of Python's modules all may be meant, of node's those that begin with a dot.
pub(super) fn of_program(path: &str, text: &str) -> Vec<Vec<String>> {
    match file_name(path).rsplit_once('.') {
        Some((_, "py")) => of_python(text),
        Some((_, "js" | "mjs" | "cjs" | "ts")) => of_node(text),
        _ => Vec::new(),
    }
}

fn of_python(text: &str) -> Vec<Vec<String>> {
    let mut modules = Vec::new();
    for line in text.lines() {
        let mut words = line.trim_start().splitn(2, char::is_whitespace);
        match (words.next(), words.next()) {
            (Some("import"), Some(rest)) => {
                modules.extend(rest.split(',').filter_map(|module| module.split_whitespace().next()));
            }
            (Some("from"), Some(rest)) => modules.extend(rest.split_whitespace().next()),
            _ => {}
        }
    }
    let name = |module: &str| module.trim_end_matches(';').split('.').next().unwrap_or_default().to_owned();
    let names = modules
        .into_iter()
        .map(name)
        .filter(|name| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_'));
    names.map(|name| vec![format!("{name}.py"), format!("{name}/__init__.py")]).collect()
}

fn of_node(text: &str) -> Vec<Vec<String>> {
    let mut modules = Vec::new();
    for quote in ['\'', '"', '`'] {
        let parts: Vec<&str> = text.split(quote).collect();
        let pairs = parts.iter().zip(parts.iter().skip(1));
        let loads = |before: &str| {
            let before = before.trim_end();
            before.ends_with("require(")
                || before.ends_with("import(")
                || before.ends_with("from")
                || before.ends_with("import")
        };
        modules.extend(pairs.filter(|(before, word)| loads(before) && word.starts_with('.')).map(|(_, word)| *word));
    }
    modules.into_iter().map(|word| NODE_ENDINGS.iter().map(|ending| format!("{word}{ending}")).collect()).collect()
}

/// The folders of the tree that a shell text puts into `PATH`, as they are written.
pub(super) fn path_folders(text: &str) -> Vec<String> {
    let mut folders = Vec::new();
    for (at, _) in text.match_indices("PATH=") {
        let own = text[..at].chars().next_back().is_none_or(|c| !(c.is_alphanumeric() || c == '_'));
        if !own {
            continue;
        }
        let value = text[at + "PATH=".len()..].split([' ', '\t', '\n', ';', '&', '|']).next().unwrap_or_default();
        let entries = value.split(':').map(|entry| entry.trim_matches(['"', '\'']));
        folders
            .extend(entries.filter(|entry| !entry.is_empty() && !entry.contains(['$', '~', '`'])).map(str::to_owned));
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn includes_are_read_with_what_is_known_of_their_names() {
        let make = "DIR := ci\nDEEP = $(DIR)/deep\n-include local.conf \\\n  $(DEEP)/x\ninclude $(wildcard more/*.inc)\n\
            \tinclude not.this\nsinclude $(OS).rules # text\nall:\n\techo\n";
        assert_eq!(of_recipes("Makefile", make), ["local.conf", "ci/deep/x", "more/*.inc", "*.rules"]);
        let just = "set dotenv-load\nimport 'ci/more.just'\nimport? \"own.just\"\ntest:\n    import x\n";
        assert_eq!(of_recipes("justfile", just), [".env", "ci/more.just", "own.just", "x"]);
        assert_eq!(of_recipes("Makefile", "include $($(A\ninclude $\n"), ["**A", "*"]);
        // Values that name each other over and over come to an end.
        let twice = |name: char, of: char| format!("{name} = {}\n", format!("$({of})").repeat(5_000));
        let bomb = format!("{}{}{}D =\ninclude $(A)\n", twice('A', 'B'), twice('B', 'C'), twice('C', 'D'));
        let _ = of_recipes("Makefile", &bomb);
    }

    #[test]
    fn programs_name_the_modules_beside_them() {
        let python =
            of_program("a.py", "import os, helpers as h\nfrom deep.er import x\nfrom . import y\n# import z\n");
        let first: Vec<&str> = python.iter().map(|forms| forms[0].as_str()).collect();
        assert_eq!(first, ["os.py", "helpers.py", "deep.py"]);
        let node = of_program("a.mjs", "import x from './x.js'; const y = require(\"../y\"); import 'z'; f('./w');");
        assert_eq!(node.len(), 2);
        assert!(node[0].contains(&"./x.js".to_owned()) && node[1].contains(&"../y.js".to_owned()));
        assert!(of_program("a.rb", "import x").is_empty());
    }

    #[test]
    fn folders_of_programs_are_those_that_are_plain() {
        assert_eq!(path_folders("export PATH=\"./bin:tools/x:$PATH\"; go"), ["./bin", "tools/x"]);
        assert!(path_folders("PYTHONPATH=src PATH=$HOME/bin:$PATH x").is_empty());
    }
}
