//! Reading the repository: members, and text files with their paths relative to the root. No rules here.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// Folders that hold nothing that we wrote.
const SKIPPED_FOLDERS: [&str; 5] = [".git", "target", "vendor", "node_modules", "__pycache__"];

/// A text file of the repository.
pub(crate) struct TextFile {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl TextFile {
    /// Whether the file is test code as a whole.
    pub(crate) fn is_test(&self) -> bool {
        self.path.starts_with("tests/") || self.path.contains("/tests/") || self.path.ends_with("/tests.rs")
    }

    /// The lines before an inline test module, which is at a file's end, numbered from 1.
    pub(crate) fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let product = |line: &&str| !line.starts_with("mod tests {");
        self.text.lines().take_while(product).enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// The workspace root.
pub(crate) fn root() -> anyhow::Result<PathBuf> {
    let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR").context("CARGO_MANIFEST_DIR is set by cargo")?;
    Ok(Path::new(&manifest_dir).parent().context("xtask is below the root")?.to_path_buf())
}

/// Folder names of the workspace's members.
pub(crate) fn members() -> anyhow::Result<Vec<String>> {
    let manifest: toml::Table = read("Cargo.toml")?.parse()?;
    let members = manifest["workspace"]["members"].as_array().context("members is a list")?;
    members.iter().map(|member| Ok(member.as_str().context("a member is a string")?.to_owned())).collect()
}

/// The text of the file at `path`, relative to the root.
pub(crate) fn read(path: &str) -> anyhow::Result<String> {
    fs::read_to_string(root()?.join(path)).with_context(|| format!("failed to read {path}"))
}

/// All files below `folder` (`""` for the root) with one of the `endings`, in order of their paths.
pub(crate) fn below(folder: &str, endings: &[&str]) -> anyhow::Result<Vec<TextFile>> {
    let mut files = Vec::new();
    collect(&root()?, Path::new(folder), endings, &mut files)?;
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

/// All Rust sources of the members; examples' repositories are not ours to rule.
pub(crate) fn sources() -> anyhow::Result<Vec<TextFile>> {
    let mut files = Vec::new();
    for member in members()? {
        files.extend(below(&member, &[".rs"])?);
    }
    Ok(files)
}

fn collect(root: &Path, folder: &Path, endings: &[&str], files: &mut Vec<TextFile>) -> anyhow::Result<()> {
    let place = root.join(folder);
    if !place.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(&place).with_context(|| format!("failed to read {}", place.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = folder.join(&name);
        let kind = entry.file_type()?;
        if kind.is_dir() && !SKIPPED_FOLDERS.contains(&name.as_str()) {
            collect(root, &path, endings, files)?;
        } else if kind.is_file() && endings.iter().any(|ending| name.ends_with(ending)) {
            let text =
                fs::read_to_string(entry.path()).with_context(|| format!("failed to read {}", path.display()))?;
            files.push(TextFile { path: path.to_string_lossy().into_owned(), text });
        }
    }
    Ok(())
}
