//! The name of what a setup made: a function of all that the setup can read.

use std::collections::BTreeMap;

use holdpoint_protocol::{Digest, plan::EnvironmentSpec};
use serde::Serialize;

/// Counts up when the same inputs are set up, or kept, in another way.
const FORMAT: u32 = 3;

/// A file that a setup sees.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SeenFile {
    /// Where it is in the tree.
    pub path: String,
    /// Its mode as git has it, and its blob; `None`: its name alone is seen.
    pub content: Option<(String, String)>,
}

/// A program or library of the machine, by what shows that it was replaced.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct HostFile {
    /// Where it is, without links.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// When it was changed, in milliseconds since 1970.
    pub modified_ms: u64,
}

/// What a setup has of its machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SetupHost {
    /// Its processor and system.
    pub platform: String,
    /// Programs that set things up, and the loader of its C library.
    pub files: Vec<HostFile>,
    /// Variables that are passed on to the setup.
    pub variables: BTreeMap<String, String>,
}

/// The name under which the result of a setup is kept that stands at `place` and sees these files. Their order says nothing.
#[must_use]
pub fn key(spec: &EnvironmentSpec, place: &str, files: &[SeenFile], host: &SetupHost) -> Digest {
    let mut files: Vec<&SeenFile> = files.iter().collect();
    files.sort();
    let mut programs: Vec<&HostFile> = host.files.iter().collect();
    programs.sort();
    // The globs are no part of it: what they select is.
    let spec = (&spec.setup, &spec.path, &spec.env, spec.offline);
    let of = (FORMAT, spec, place, files, &host.platform, programs, &host.variables);
    Digest::of(&serde_json::to_vec(&of).expect("texts and numbers make JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, content: Option<&str>) -> SeenFile {
        SeenFile { path: path.to_owned(), content: content.map(|blob| ("100644".to_owned(), blob.to_owned())) }
    }

    fn host() -> SetupHost {
        let npm = HostFile { path: "/usr/bin/npm".to_owned(), bytes: 1, modified_ms: 2 };
        SetupHost { platform: "x86_64-linux".to_owned(), files: vec![npm], variables: BTreeMap::new() }
    }

    #[test]
    fn everything_that_a_setup_can_read_is_in_the_key_and_nothing_else() {
        let spec = EnvironmentSpec { setup: Some("npm ci".to_owned()), ..EnvironmentSpec::default() };
        let files = [file("package.json", Some("a")), file("src/lib.rs", None)];
        let plain = key(&spec, "/hold/work", &files, &host());
        let reversed: Vec<SeenFile> = files.iter().rev().cloned().collect();
        assert_eq!(key(&spec, "/hold/work", &reversed, &host()), plain);
        let globs = EnvironmentSpec { inputs: vec!["*.json".to_owned()], ..spec.clone() };
        assert_eq!(key(&globs, "/hold/work", &files, &host()), plain, "what globs select is in the files");
        let other = |spec: &EnvironmentSpec, files: &[SeenFile], host: &SetupHost| key(spec, "/hold/work", files, host);
        let env = EnvironmentSpec { env: [("CI".to_owned(), "true".to_owned())].into(), ..spec.clone() };
        let path = EnvironmentSpec { path: vec!["bin".to_owned()], ..spec.clone() };
        let command = EnvironmentSpec { setup: Some("npm install".to_owned()), ..spec.clone() };
        let offline = EnvironmentSpec { offline: true, ..spec.clone() };
        let mut replaced = host();
        replaced.files[0].modified_ms = 3;
        let told = SetupHost { variables: [("A".to_owned(), "b".to_owned())].into(), ..host() };
        let all = [
            key(&spec, "/elsewhere", &files, &host()),
            other(&env, &files, &host()),
            other(&path, &files, &host()),
            other(&command, &files, &host()),
            other(&offline, &files, &host()),
            other(&spec, &files[..1], &host()),
            other(&spec, &[file("package.json", Some("b")), files[1].clone()], &host()),
            other(&spec, &[file("package.json", None), files[1].clone()], &host()),
            other(&spec, &[files[0].clone(), file("src/main.rs", None)], &host()),
            other(&spec, &files, &replaced),
            other(&spec, &files, &told),
            plain,
        ];
        let distinct: std::collections::BTreeSet<Digest> = all.into_iter().collect();
        assert_eq!(distinct.len(), all.len());
    }
}
