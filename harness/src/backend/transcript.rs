//! The transcript of a conversation: found in a program's folder of conversations, and laid out there again on another machine.
//!
//! Programs write that folder, and the harness reads and writes it outside of their sandbox. So no link in it is followed, one file is
//! taken, which is named after its session, and one that holds a secret of the program's is not.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Component, Path, PathBuf},
};

use holdpoint_protocol::artifact::{TRANSCRIPT_BYTES_MAX, TRANSCRIPT_PATH_BYTES_MAX};
use rustix::fs::OFlags;

/// How a transcript's name ends, after the id of its session.
const SUFFIX: &str = ".jsonl";
/// Folders below the folder of conversations: Codex has one for each year, month and day.
const DEPTH_MAX: usize = 4;
/// Entries that are looked at before a transcript counts as not found.
const ENTRIES_MAX: usize = 10_000;
/// The shortest text that is a secret, in bytes: shorter ones occur by chance.
const SECRET_BYTES_MIN: usize = 16;

/// A transcript, and where it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// Its path in the folder of conversations.
    pub path: String,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// The transcript of a session; `None` where there is none, it is longer than [`TRANSCRIPT_BYTES_MAX`], or one of the secrets is in it.
#[must_use]
pub fn find(folder: &Path, session: &str, secrets: &[String]) -> Option<Transcript> {
    let path = look(folder, &format!("{session}{SUFFIX}"), DEPTH_MAX, &mut 0)?;
    let name = path.strip_prefix(folder).ok()?.to_str().filter(|name| is_plain(name))?.to_owned();
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(&path).ok()?;
    let about = file.metadata().ok().filter(fs::Metadata::is_file)?;
    if about.len() > TRANSCRIPT_BYTES_MAX {
        tracing::info!(bytes = about.len(), most = TRANSCRIPT_BYTES_MAX, "a conversation is too long to go along");
        return None;
    }
    let mut bytes = Vec::new();
    file.take(TRANSCRIPT_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    if secrets.iter().any(|secret| holds(&bytes, secret)) {
        tracing::warn!("a conversation has a key or a login of its program in it, and stays on this machine");
        return None;
    }
    Some(Transcript { path: name, bytes })
}

/// The file whose name ends so, in folders that are no links.
fn look(folder: &Path, end: &str, depth: usize, seen: &mut usize) -> Option<PathBuf> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).ok()?.flatten() {
        *seen += 1;
        if *seen > ENTRIES_MAX {
            return None;
        }
        let kind = entry.file_type().ok()?;
        let named = entry.file_name().to_str().is_some_and(|name| name.ends_with(end));
        if kind.is_file() && named {
            return Some(entry.path());
        }
        if kind.is_dir() && depth > 0 {
            folders.push(entry.path());
        }
    }
    folders.iter().find_map(|folder| look(folder, end, depth - 1, seen))
}

fn holds(bytes: &[u8], secret: &str) -> bool {
    secret.len() >= SECRET_BYTES_MIN && bytes.windows(secret.len()).any(|window| window == secret.as_bytes())
}

/// The texts in a program's login file that have to stay secret.
#[must_use]
pub fn secrets_of(login: &Path) -> Vec<String> {
    let mut secrets = Vec::new();
    let value = File::open(login).ok().and_then(|file| serde_json::from_reader(file.take(TRANSCRIPT_BYTES_MAX)).ok());
    let mut open: Vec<serde_json::Value> = value.into_iter().collect();
    while let Some(value) = open.pop() {
        match value {
            serde_json::Value::String(text) => secrets.push(text),
            serde_json::Value::Array(items) => open.extend(items),
            serde_json::Value::Object(map) => open.extend(map.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
    secrets
}

/// Lays a transcript out. One that is there is replaced.
///
/// # Errors
/// The path is none of a transcript, a link is on the way, or the file cannot be written.
pub fn lay_out(folder: &Path, session: &str, transcript: &Transcript) -> io::Result<()> {
    let Transcript { path, bytes } = transcript;
    if !is_plain(path) || !path.ends_with(&format!("{session}{SUFFIX}")) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the conversation names no transcript of its session"));
    }
    let to = folder.join(path);
    let mut dir = folder.to_owned();
    for part in Path::new(path).parent().into_iter().flat_map(Path::components) {
        dir.push(part);
        match DirBuilder::new().mode(0o700).create(&dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ if !fs::symlink_metadata(&dir)?.is_dir() => {
                return Err(io::Error::new(io::ErrorKind::NotADirectory, "a link or a file is in the way"));
            }
            _ => {}
        }
    }
    match fs::remove_file(&to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(&to)?.write_all(bytes)
}

/// Whether it is a short relative path of plain names.
fn is_plain(path: &str) -> bool {
    let parts: Vec<_> = Path::new(path).components().collect();
    let plain = parts.iter().all(|part| matches!(part, Component::Normal(_)));
    plain && (1..=DEPTH_MAX + 1).contains(&parts.len()) && path.len() <= TRANSCRIPT_PATH_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("files");
        fs::create_dir(&folder).unwrap();
        (dir, folder)
    }

    #[test]
    fn a_transcript_is_found_by_its_session_and_laid_out_at_the_same_place() {
        let (_here, from) = folder();
        let (_there, to) = folder();
        for path in ["-hold-w1/s-1.jsonl", "2026/11/25/rollout-1-s-2.jsonl"] {
            let session = if path.contains("s-1") { "s-1" } else { "s-2" };
            fs::create_dir_all(from.join(path).parent().unwrap()).unwrap();
            fs::write(from.join(path), "{}\n").unwrap();
            let found = find(&from, session, &[]).unwrap();
            assert_eq!((found.path.as_str(), found.bytes.as_slice()), (path, &b"{}\n"[..]));
            lay_out(&to, session, &found).unwrap();
            lay_out(&to, session, &found).unwrap();
            assert_eq!(find(&to, session, &[]), Some(found));
        }
        assert_eq!(find(&from, "s-3", &[]), None);
    }

    #[test]
    fn no_link_is_followed_and_no_path_leads_out() {
        let (dir, files) = folder();
        let outside = dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("s-1.jsonl"), "private").unwrap();
        symlink(outside.join("s-1.jsonl"), files.join("s-1.jsonl")).unwrap();
        symlink(&outside, files.join("w")).unwrap();
        assert_eq!(find(&files, "s-1", &[]), None);
        for path in ["../s-2.jsonl", "/tmp/s-2.jsonl", "w/s-2.jsonl", "a/b/c/d/e/s-2.jsonl", "s-2.json", ""] {
            let transcript = Transcript { path: path.to_owned(), bytes: b"x".to_vec() };
            assert!(lay_out(&files, "s-2", &transcript).is_err(), "{path}");
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        // A link at the very place is replaced, and not written through.
        lay_out(&files, "s-1", &Transcript { path: "s-1.jsonl".to_owned(), bytes: b"mine".to_vec() }).unwrap();
        assert_eq!(fs::read_to_string(outside.join("s-1.jsonl")).unwrap(), "private");
    }

    #[test]
    fn a_transcript_with_a_secret_or_too_many_bytes_stays_where_it_is() {
        let (dir, files) = folder();
        let login = dir.path().join("auth.json");
        fs::write(&login, r#"{"tokens": [{"access": "sk-0123456789abcdef"}], "mode": "key"}"#).unwrap();
        let secrets = secrets_of(&login);
        fs::write(files.join("s-1.jsonl"), "{\"text\": \"it is sk-0123456789abcdef\"}").unwrap();
        assert_eq!(find(&files, "s-1", &secrets), None);
        fs::write(files.join("s-1.jsonl"), "{\"text\": \"the key\"}").unwrap();
        assert!(find(&files, "s-1", &secrets).is_some(), "short words are no secrets");
        File::create(files.join("s-1.jsonl")).unwrap().set_len(TRANSCRIPT_BYTES_MAX + 1).unwrap();
        assert_eq!(find(&files, "s-1", &[]), None);
    }
}
