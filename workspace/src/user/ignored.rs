//! What a user has git ignore by settings of their own, which no clone of the repository has.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use holdpoint_text::shown;

use super::UserRepo;

/// Bytes of one such file, and rules of both together. People write dozens.
const FILE_BYTES_MAX: u64 = 256 << 10;
const RULES_MAX: usize = 500;

impl UserRepo {
    /// The rules of `core.excludesFile` and, behind them as they are stronger, of `info/exclude`. A file that is not there or cannot
    /// be read has none; of more than 500 the last count.
    pub async fn ignore_rules(&self) -> Vec<String> {
        let files = [self.excludes_file().await, Some(self.git_dir.join("info/exclude"))];
        let mut rules: Vec<String> = files.into_iter().flatten().flat_map(|file| rules_in(&file)).collect();
        rules.split_off(rules.len().saturating_sub(RULES_MAX))
    }

    /// The file of the user's for all repositories: as git's settings say, or where git looks otherwise.
    async fn excludes_file(&self) -> Option<PathBuf> {
        let git = self.git("config").args(["--type=path", "--get", "core.excludesFile"]).with_users_settings();
        let named = git.run().await.ok().filter(|answer| answer.code == Some(0)).map(|answer| answer.stdout);
        if let Some(named) = named {
            let path = Path::new(OsStr::from_bytes(named.strip_suffix(b"\n").unwrap_or(&named)));
            return (!path.as_os_str().is_empty()).then(|| self.dir.join(path));
        }
        let folder = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let config = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")));
        config.map(|config| config.join("git/ignore"))
    }
}

/// The lines of a file that are rules.
fn rules_in(file: &Path) -> Vec<String> {
    let fits = std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.len() <= FILE_BYTES_MAX);
    let text = if fits { std::fs::read_to_string(file).unwrap_or_default() } else { String::new() };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines.filter(|line| shown::first_hidden(line).is_none()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blank_lines_are_no_rules_and_an_absent_file_has_none() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("exclude");
        std::fs::write(&file, "\u{feff}# mine\r\n*.orig\r\n\n!kept.orig\n  \n\\#odd\nx\u{1b}y\n").unwrap();
        assert_eq!(rules_in(&file), ["*.orig", "!kept.orig", "\\#odd"]);
        assert!(rules_in(&temp.path().join("absent")).is_empty());
    }
}
