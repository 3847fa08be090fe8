//! What a setup has of its machine, for the name of its result.

use std::{collections::BTreeMap, os::unix::fs::MetadataExt as _, path::Path};

use holdpoint_evidence::environment::{HostFile, SetupHost};

/// Programs that set dependencies up or decide what fits: another version makes another environment.
const PROGRAMS: [&str; 22] = [
    "bun", "bundle", "cargo", "cc", "cmake", "composer", "corepack", "dotnet", "go", "gradle", "java", "make", "mvn",
    "node", "npm", "php", "pnpm", "python3", "ruby", "rustc", "uv", "yarn",
];
/// Loaders of C libraries: glibc's and musl's.
const LOADERS: [&str; 4] = [
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
];

/// The machine, as far as programs in this `PATH` see it.
#[must_use]
pub fn host(path: &str, variables: &BTreeMap<String, String>) -> SetupHost {
    let found = |name: &&str| std::env::split_paths(path).map(|dir| dir.join(name)).find_map(|file| identity(&file));
    let loaders = LOADERS.iter().filter_map(|loader| identity(Path::new(loader)));
    SetupHost {
        platform: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        files: PROGRAMS.iter().filter_map(found).chain(loaders).collect(),
        variables: variables.clone(),
    }
}

fn identity(file: &Path) -> Option<HostFile> {
    let path = file.canonicalize().ok()?;
    let found = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let modified = found.mtime().saturating_mul(1_000).saturating_add(found.mtime_nsec() / 1_000_000);
    let modified_ms = u64::try_from(modified).unwrap_or_default();
    Some(HostFile { path: path.display().to_string(), bytes: found.len(), modified_ms })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_of_a_program_is_another_machine() {
        let temp = tempfile::tempdir().unwrap();
        let (old, new) = (temp.path().join("old"), temp.path().join("new"));
        for (dir, text) in [(&old, "1"), (&new, "22")] {
            std::fs::create_dir(dir).unwrap();
            std::fs::write(dir.join("npm"), text).unwrap();
        }
        let of = |dir: &Path| host(&dir.display().to_string(), &BTreeMap::new());
        assert_ne!(of(&old), of(&new));
        assert_eq!(of(&old), of(&old));
        assert!(of(&old).files.iter().any(|file| file.path.ends_with("old/npm") && file.bytes == 1));
    }
}
