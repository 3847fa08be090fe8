//! Coding agents' own settings in a repository: their instructions, the hooks they run, the servers they start.
//!
//! By name alone, wherever in the tree they are, because an agent reads those of the folder that it works in. Builders
//! change them only where the scope names them; a judge or reviewer never loads those of the tree under review.

use std::collections::BTreeSet;

/// Folders of settings, at any depth.
pub(super) const FOLDERS: &[&str] = &[
    ".agents",
    ".amp",
    ".claude",
    ".clinerules",
    ".codex",
    ".continue",
    ".crush",
    ".cursor",
    ".gemini",
    ".opencode",
    ".qwen",
    ".roo",
    ".vibe",
    ".windsurf",
];

/// The folder of the repository's skill packs, from its root (`planfile::skills`).
pub const SKILLS_FOLDER: &str = "docs/skills";

/// Files of settings and guidance, at any depth.
pub(super) const NAMES: &[&str] = &[
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "CRUSH.md",
    "GEMINI.md",
    "QWEN.md",
    "copilot-instructions.md",
    ".mcp.json",
    ".cursorrules",
    ".cursorignore",
    ".windsurfrules",
    ".roorules",
    ".goosehints",
    "opencode.json",
    "opencode.jsonc",
];

/// Beginnings of such names: aider's settings, environment and model files.
pub(super) const NAME_STARTS: &[&str] = &[".aider"];

/// What is added to a name so that no agent loads it.
const ASIDE: &str = ".set-aside";

/// Whether `path` is an agent's settings, or in a folder of them. A file or link in a folder's name is as well.
pub(super) fn is_agents_settings(path: &str) -> bool {
    path.split('/').any(|segment| is_settings(segment.as_bytes()))
}

/// Whether a path is the folder of skill packs, or in it. A file or link in its place is as well.
pub(super) fn is_of_skills(path: &str) -> bool {
    path.strip_prefix(SKILLS_FOLDER).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The names under which the settings in one tree are set aside. Paths are bytes, as git has them.
///
/// A name of the tree never ends with what is added, so that nothing takes the place of another file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    ending: String,
}

impl SetAside {
    /// The names for the tree that has these paths.
    pub fn among<'a>(paths: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let taken: BTreeSet<u64> = paths.into_iter().flat_map(|path| path.split(is_slash)).filter_map(number).collect();
        let free = (0..).zip(&taken).find(|(n, taken)| n != *taken).map_or(taken.len() as u64, |(n, _)| n);
        Self { ending: if free == 0 { ASIDE.to_owned() } else { format!("{ASIDE}-{free}") } }
    }

    /// Where an agent's settings are put in the tree that a judge or reviewer sees: next to where they are, under a
    /// name that no agent loads; `None`: the path stays as it is.
    #[must_use]
    pub fn path(&self, path: &[u8]) -> Option<Vec<u8>> {
        let mut aside = Vec::new();
        let mut any = false;
        for (n, segment) in path.split(is_slash).enumerate() {
            if n > 0 {
                aside.push(b'/');
            }
            aside.extend_from_slice(segment);
            if is_settings(segment) {
                aside.extend_from_slice(self.ending.as_bytes());
                any = true;
            }
        }
        any.then_some(aside)
    }
}

fn is_slash(byte: &u8) -> bool {
    *byte == b'/'
}

/// Which of the endings a name has: 0 for the plain one, N for `.set-aside-N`.
fn number(segment: &[u8]) -> Option<u64> {
    if segment.ends_with(ASIDE.as_bytes()) {
        return Some(0);
    }
    let (name, digits) = std::str::from_utf8(segment.get(segment.iter().rposition(|b| *b == b'-')?..)?)
        .ok()
        .and_then(|end| Some((segment.strip_suffix(end.as_bytes())?, end.strip_prefix('-')?)))?;
    name.ends_with(ASIDE.as_bytes()).then(|| digits.parse().ok()).flatten()
}

fn is_settings(segment: &[u8]) -> bool {
    let is = |name: &&str| segment == name.as_bytes();
    let starts = |start: &&str| segment.starts_with(start.as_bytes());
    FOLDERS.iter().any(is) || NAMES.iter().any(is) || NAME_STARTS.iter().any(starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_agents_are_known_anywhere_in_the_tree_and_set_aside_under_a_name_that_none_loads() {
        for (path, aside) in [
            ("CLAUDE.md", "CLAUDE.md.set-aside"),
            ("sub/GEMINI.md", "sub/GEMINI.md.set-aside"),
            ("a/AGENTS.md", "a/AGENTS.md.set-aside"),
            (".claude/settings.json", ".claude.set-aside/settings.json"),
            ("a/.claude/hooks/CLAUDE.md", "a/.claude.set-aside/hooks/CLAUDE.md.set-aside"),
            (".claude", ".claude.set-aside"),
            (".codex/config.toml", ".codex.set-aside/config.toml"),
            (".cursor/rules/x.mdc", ".cursor.set-aside/rules/x.mdc"),
            (".mcp.json", ".mcp.json.set-aside"),
            (".aider.conf.yml", ".aider.conf.yml.set-aside"),
        ] {
            assert!(is_agents_settings(path), "{path}");
            let names = SetAside::among([path.as_bytes()]);
            assert_eq!(names.path(path.as_bytes()).unwrap(), aside.as_bytes(), "{path}");
        }
        for path in ["src/claude.md", "claude/CLAUDE.md.txt", "docs/claude/x", "mcp.json", "aider.py", "x.claude/y"] {
            assert!(!is_agents_settings(path), "{path}");
            assert_eq!(SetAside::among([path.as_bytes()]).path(path.as_bytes()), None, "{path}");
        }
        let odd = b"\xff/.claude/x".as_slice();
        assert_eq!(SetAside::among([odd]).path(odd).unwrap(), b"\xff/.claude.set-aside/x", "not every path is text");
    }

    #[test]
    fn settings_that_are_set_aside_take_the_place_of_no_file_of_the_tree() {
        for (tree, aside) in [
            (&["CLAUDE.md"][..], "CLAUDE.md.set-aside"),
            (&["CLAUDE.md", "CLAUDE.md.set-aside"], "CLAUDE.md.set-aside-1"),
            (&["CLAUDE.md", "CLAUDE.md.set-aside/x"], "CLAUDE.md.set-aside-1"),
            (&["x.set-aside-1", "x.set-aside", "x.set-aside-3"], "CLAUDE.md.set-aside-2"),
            (&["x.set-aside-1"], "CLAUDE.md.set-aside"),
            (&["x.set-aside", "x.set-aside-01"], "CLAUDE.md.set-aside-2"),
            (&["x.set-aside-99999999999999999999999", "set-aside", "-"], "CLAUDE.md.set-aside"),
        ] {
            let names = SetAside::among(tree.iter().map(|path| path.as_bytes()));
            assert_eq!(names.path(b"CLAUDE.md").unwrap(), aside.as_bytes(), "{tree:?}");
        }
    }
}
