//! Files that an agent reads and writes by way of its client: in its tree only.
//!
//! This runs inside the sandbox, with the agent's own rights: a link that leads out of the tree is refused, and if it is made in
//! between it leads to nothing that the agent cannot reach by itself.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Component, Path, PathBuf},
};

use serde_json::{Value, json};

use super::wire::{BAD_PARAMS, FAILED};

/// The longest file that is read or written for an agent, in bytes.
pub const FILE_BYTES_MAX: u64 = 2 << 20;
/// Opening does not wait for the other end of a pipe.
const NO_WAIT: i32 = 0o4000;

/// A request about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileRequest {
    /// What is in it.
    Read {
        /// The file.
        path: PathBuf,
        /// From which line on, from 1.
        line: usize,
        /// At most so many lines.
        limit: usize,
    },
    /// That this is in it.
    Write {
        /// The file.
        path: PathBuf,
        /// The whole text.
        content: String,
    },
}

/// Why a request is refused: the protocol's code, and words.
type Refused = (i64, String);

impl FileRequest {
    /// What a request wants.
    ///
    /// # Errors
    /// It has no path, or no text to write.
    pub fn of(method: &str, params: &Value) -> Result<Self, Refused> {
        let text = |name: &str| params.get(name).and_then(Value::as_str);
        let path = text("path").ok_or_else(|| (BAD_PARAMS, "`path` has to be a text".to_owned()))?;
        let path = PathBuf::from(path);
        if method.ends_with("write_text_file") {
            let content = text("content").ok_or_else(|| (BAD_PARAMS, "`content` has to be a text".to_owned()))?;
            return Ok(Self::Write { path, content: content.to_owned() });
        }
        let number =
            |name: &str| params.get(name).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok());
        Ok(Self::Read { path, line: number("line").unwrap_or(1).max(1), limit: number("limit").unwrap_or(usize::MAX) })
    }

    /// The request in a line.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::Read { path, .. } => format!("read {}", path.display()),
            Self::Write { path, .. } => format!("write {}", path.display()),
        }
    }

    /// Does it, in this tree.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn done(&self, tree: &Path) -> Result<Value, Refused> {
        match self {
            Self::Read { path, line, limit } => {
                let text = read(&within(tree, path)?)?;
                let lines = text.split_inclusive('\n').skip(line - 1).take(*limit);
                Ok(json!({"content": lines.collect::<String>()}))
            }
            Self::Write { path, content } => write(&within(tree, path)?, content).map(|()| json!({})),
        }
    }
}

/// The file's real path, which is in the tree.
fn within(tree: &Path, path: &Path) -> Result<PathBuf, Refused> {
    let outside = || (BAD_PARAMS, format!("{} is not in the tree of this turn, {}", path.display(), tree.display()));
    let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    let (true, Some(name)) = (path.is_absolute() && plain, path.file_name()) else { return Err(outside()) };
    let tree = tree.canonicalize().map_err(|error| failed(tree, &error))?;
    // The folder of a new file need not be there; what is there of it must be in the tree.
    let folder = path.parent().unwrap_or(path);
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(folder);
    let real = there.canonicalize().map_err(|error| failed(path, &error))?;
    let below = folder.strip_prefix(there).map_err(|_| outside())?;
    let real = real.join(below).join(name);
    let real = if real.is_symlink() { real.canonicalize().map_err(|error| failed(path, &error))? } else { real };
    if real.starts_with(&tree) { Ok(real) } else { Err(outside()) }
}

fn read(path: &Path) -> Result<String, Refused> {
    let file = File::options().read(true).custom_flags(NO_WAIT).open(path).map_err(|error| failed(path, &error))?;
    let about = file.metadata().map_err(|error| failed(path, &error))?;
    if !about.is_file() || about.len() > FILE_BYTES_MAX {
        return Err((FAILED, format!("{} is no file of at most {FILE_BYTES_MAX} bytes", path.display())));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(|error| failed(path, &error))?;
    String::from_utf8(bytes).map_err(|_| (FAILED, format!("{} is no text", path.display())))
}

fn write(path: &Path, content: &str) -> Result<(), Refused> {
    if content.len() as u64 > FILE_BYTES_MAX {
        return Err((
            BAD_PARAMS,
            format!("the text has {} bytes, and at most {FILE_BYTES_MAX} are taken", content.len()),
        ));
    }
    let written = || {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut options = File::options();
        let mut file = options.write(true).create(true).truncate(true).custom_flags(NO_WAIT).open(path)?;
        file.write_all(content.as_bytes())
    };
    written().map_err(|error: io::Error| failed(path, &error))
}

fn failed(path: &Path, error: &io::Error) -> Refused {
    (FAILED, format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn read_of(tree: &Path, path: &Path, line: u64, limit: u64) -> Result<Value, Refused> {
        let params = json!({"path": path, "line": line, "limit": limit});
        FileRequest::of("fs/read_text_file", &params).unwrap().done(tree)
    }

    #[test]
    fn files_of_the_tree_are_read_and_written() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path();
        let path = tree.join("new/deep/file.txt");
        let written = FileRequest::of("fs/write_text_file", &json!({"path": path, "content": "a\nb\nc\n"}));
        assert_eq!(written.unwrap().done(tree), Ok(json!({})));
        assert_eq!(read_of(tree, &path, 2, 1), Ok(json!({"content": "b\n"})));
        assert_eq!(read_of(tree, &path, 9, 1), Ok(json!({"content": ""})));
    }

    #[test]
    fn nothing_outside_of_the_tree_is_read_or_written() {
        let dir = tempfile::tempdir().unwrap();
        let (tree, outside) = (dir.path().join("tree"), dir.path().join("outside"));
        fs::create_dir_all(&tree).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("secret"), "s").unwrap();
        symlink(&outside, tree.join("folder")).unwrap();
        symlink(outside.join("secret"), tree.join("link")).unwrap();
        symlink(outside.join("new"), tree.join("dangling")).unwrap();
        let paths = [
            outside.join("secret"),
            tree.join("../outside/secret"),
            tree.join("folder/secret"),
            tree.join("link"),
            tree.join("dangling"),
            PathBuf::from("relative"),
            PathBuf::from("/"),
            tree.clone(),
        ];
        for path in paths {
            assert!(read_of(&tree, &path, 1, 9).is_err(), "{}", path.display());
            let write = FileRequest::of("fs/write_text_file", &json!({"path": path, "content": "x"})).unwrap();
            assert!(write.done(&tree).is_err(), "{}", path.display());
        }
        assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "s");
        assert!(!outside.join("new").exists());
    }

    #[test]
    fn sizes_are_bounded_and_pipes_are_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().canonicalize().unwrap();
        fs::write(tree.join("large"), vec![b'x'; usize::try_from(FILE_BYTES_MAX).unwrap() + 1]).unwrap();
        fs::write(tree.join("binary"), [0xff, 0xfe]).unwrap();
        holdpoint_sandbox::pipe::make(&tree.join("pipe")).unwrap();
        for (name, why) in
            [("large", "at most"), ("binary", "no text"), ("pipe", "no file"), ("absent", "No such file")]
        {
            let (_, refused) = read_of(&tree, &tree.join(name), 1, 9).unwrap_err();
            assert!(refused.contains(why), "{name}: {refused}");
        }
        let content = "x".repeat(usize::try_from(FILE_BYTES_MAX).unwrap() + 1);
        let write =
            FileRequest::of("fs/write_text_file", &json!({"path": tree.join("w"), "content": content})).unwrap();
        assert!(write.done(&tree).unwrap_err().1.contains("at most"));
        for params in [json!({}), json!({"path": 7}), json!({"path": "/x"})] {
            assert!(FileRequest::of("fs/write_text_file", &params).is_err());
        }
    }
}
