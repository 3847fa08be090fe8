//! Finding the toolchains that `PATH` refers to in a user's home, without opening the home itself.
//!
//! Looks at names only, but for cargo's configuration, which is closed where it has a token in it, and for the mark of a
//! Python virtual environment. A path that does not exist is left out when a program starts.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// Folders below a home that hold toolchains, and the variable that points programs at each.
const HOME_FOLDERS: [(&str, Option<&str>); 15] = [
    (".asdf", Some("ASDF_DATA_DIR")),
    (".bun", None),
    (".cargo", Some("CARGO_HOME")),
    (".deno", None),
    (".local/bin", None),
    (".local/lib", None),
    (".nix-profile", None),
    (".nvm", Some("NVM_DIR")),
    (".pyenv", Some("PYENV_ROOT")),
    (".rbenv", Some("RBENV_ROOT")),
    (".rustup", Some("RUSTUP_HOME")),
    (".sdkman", Some("SDKMAN_DIR")),
    (".volta", Some("VOLTA_HOME")),
    ("go", None),
    ("sdk", None),
];

/// What in a home is nobody's business, toolchain folder or not.
const HOME_SECRETS: [&str; 48] = [
    ".aws",
    ".azure",
    ".bash_history",
    ".boto",
    ".bunfig.toml",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".composer/auth.json",
    ".config",
    ".databrickscfg",
    ".docker",
    ".fly",
    ".gem/credentials",
    ".git-credentials",
    ".gnupg",
    ".gradle/gradle.properties",
    ".kube",
    ".local/share/fish",
    ".local/share/gnupg",
    ".local/share/keyrings",
    ".m2/settings-security.xml",
    ".m2/settings.xml",
    ".minikube",
    ".mozilla",
    ".my.cnf",
    ".mysql_history",
    ".netrc",
    ".ngrok2",
    ".node_repl_history",
    ".npmrc",
    ".nuget/NuGet",
    ".oci",
    ".password-store",
    ".pgpass",
    ".psql_history",
    ".pypirc",
    ".python_history",
    ".s3cfg",
    ".ssh",
    ".subversion/auth",
    ".terraform.d",
    ".terraformrc",
    ".thunderbird",
    ".vault-token",
    ".viminfo",
    ".yarnrc",
    ".yarnrc.yml",
    ".zsh_history",
];

/// What a program needs to use the toolchains of its caller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolchainPaths {
    /// Trees it must be able to read and execute.
    pub read: Vec<PathBuf>,
    /// Secrets in or near them that it must not.
    pub deny: Vec<PathBuf>,
    /// Variables that point at the toolchains, because its `HOME` is another one.
    pub env: BTreeMap<String, PathBuf>,
}

/// The toolchains that a `PATH` refers to.
///
/// Folders in `home` count when they are known to hold toolchains; other folders in `home` do not. Of folders elsewhere
/// exactly the named one is taken. A Rust toolchain brings its `cargo` and `rustup` folders, a Python virtual environment
/// all of itself, wherever they are.
#[must_use]
pub fn toolchain_paths(path_var: &OsStr, home: &Path) -> ToolchainPaths {
    let mut found = ToolchainPaths::default();
    for dir in std::env::split_paths(path_var).filter(|dir| usable(dir, home)) {
        match dir.strip_prefix(home) {
            Ok(below) => add_home_folder(&mut found, home, below),
            Err(_) => found.read.push(dir.clone()),
        }
        add_rust(&mut found, &dir);
        found.read.extend(virtual_environment(&dir));
    }
    found.deny = HOME_SECRETS.iter().map(|secret| home.join(secret)).collect();
    found.deny.extend(found.env.get("CARGO_HOME").into_iter().flat_map(|cargo| with_token(cargo)));
    for name in ["credentials", "credentials.toml"] {
        found.deny.extend(found.env.get("CARGO_HOME").map(|cargo| cargo.join(name)));
    }
    found.read.sort();
    found.read.dedup();
    found.deny.sort();
    found.deny.dedup();
    found
}

/// A folder above the home, or one written with dots, would open more than toolchains.
fn usable(dir: &Path, home: &Path) -> bool {
    dir.is_absolute() && !home.starts_with(dir) && !dir.components().any(|part| part == Component::ParentDir)
}

fn add_home_folder(found: &mut ToolchainPaths, home: &Path, below: &Path) {
    let Some((folder, variable)) = HOME_FOLDERS.iter().find(|(folder, _)| below.starts_with(folder)) else { return };
    found.read.push(home.join(folder));
    if *folder == ".local/bin" {
        // Programs there are mostly links into, or scripts that import from, the folder next to it.
        found.read.push(home.join(".local/lib"));
    }
    if let Some(variable) = variable {
        found.env.insert((*variable).to_owned(), home.join(folder));
    }
}

/// `…/cargo/bin` is full of proxies that need `…/rustup`; the dots are there in a home and not in images.
fn add_rust(found: &mut ToolchainPaths, dir: &Path) {
    let Some(cargo) = dir.parent().filter(|_| dir.ends_with("bin")) else { return };
    let rustup = match cargo.file_name().and_then(OsStr::to_str) {
        Some(".cargo") => cargo.with_file_name(".rustup"),
        Some("cargo") => cargo.with_file_name("rustup"),
        _ => return,
    };
    found.read.extend([cargo.to_owned(), rustup.clone()]);
    found.env.insert("CARGO_HOME".to_owned(), cargo.to_owned());
    found.env.insert("RUSTUP_HOME".to_owned(), rustup);
}

/// The virtual environment whose programs are in this folder: without the files next to them they do not start (PEP
/// 405).
fn virtual_environment(dir: &Path) -> Option<PathBuf> {
    let whole = dir.parent().filter(|_| dir.ends_with("bin"))?;
    whole.join("pyvenv.cfg").is_file().then(|| whole.to_owned())
}

/// Cargo's configuration, which it needs, if a user keeps a token there, which belongs into its credentials.
fn with_token(cargo: &Path) -> Vec<PathBuf> {
    let is_token = |line: &str| line.split_once('=').is_some_and(|(key, _)| key.trim().ends_with("token"));
    let files = ["config", "config.toml"].map(|name| cargo.join(name));
    let has = |file: &PathBuf| std::fs::read_to_string(file).is_ok_and(|text| text.lines().any(is_token));
    files.into_iter().filter(has).collect()
}

/// Variables by which tools that know no better keep what they write for themselves out of the sources they run on: in `scratch`,
/// or not at all.
#[must_use]
pub fn tidy_variables(scratch: &Path) -> [(&'static str, String); 2] {
    [
        ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
        ("PYTEST_ADDOPTS", format!("-o cache_dir='{}'", scratch.join("pytest-cache").display())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> ToolchainPaths {
        toolchain_paths(OsStr::new(path), Path::new("/home/u"))
    }

    fn read(path: &str) -> Vec<String> {
        of(path).read.iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn rust_toolchain_brings_rustup_and_its_variables() {
        let found = of("/home/u/.cargo/bin:/usr/bin");
        assert_eq!(read("/home/u/.cargo/bin"), ["/home/u/.cargo", "/home/u/.rustup"]);
        assert_eq!(found.env["RUSTUP_HOME"], Path::new("/home/u/.rustup"));
        assert_eq!(found.env["CARGO_HOME"], Path::new("/home/u/.cargo"));
    }

    #[test]
    fn rust_toolchain_of_an_image_is_found_too() {
        assert_eq!(of("/usr/local/cargo/bin").env["RUSTUP_HOME"], Path::new("/usr/local/rustup"));
    }

    #[test]
    fn home_itself_and_unknown_folders_in_it_stay_closed() {
        assert!(read("/home/u:/home/u/secret/bin:/home/u/.config/x").is_empty());
        assert!(read("/:/home:/srv/../home/u").is_empty());
    }

    #[test]
    fn known_folders_are_opened_as_a_whole() {
        assert_eq!(read("/home/u/.pyenv/shims:/home/u/.pyenv/bin"), ["/home/u/.pyenv"]);
        assert_eq!(read("/home/u/.local/bin"), ["/home/u/.local/bin", "/home/u/.local/lib"]);
    }

    #[test]
    fn folders_elsewhere_are_taken_as_they_are_and_relative_ones_never() {
        assert_eq!(read("/srv/tools/bin:bin:"), ["/srv/tools/bin"]);
    }

    #[test]
    fn virtual_environment_is_opened_as_a_whole_also_in_a_home() {
        let home = tempfile::tempdir().unwrap();
        let (whole, other) = (home.path().join("work/.venv"), home.path().join("work/other"));
        for folder in [&whole, &other] {
            std::fs::create_dir_all(folder.join("bin")).unwrap();
        }
        std::fs::write(whole.join("pyvenv.cfg"), "home = /usr/bin\n").unwrap();
        let path = std::env::join_paths([whole.join("bin"), other.join("bin")]).unwrap();
        assert_eq!(toolchain_paths(&path, home.path()).read, [whole]);
    }

    #[test]
    fn credentials_inside_are_denied() {
        let found = of("/home/u/.cargo/bin");
        assert!(found.deny.contains(&PathBuf::from("/home/u/.cargo/credentials.toml")));
        assert!(found.deny.contains(&PathBuf::from("/home/u/.ssh")));
    }

    #[test]
    fn cargo_configuration_is_denied_only_with_a_token_in_it() {
        let home = tempfile::tempdir().unwrap();
        let cargo = home.path().join(".cargo");
        std::fs::create_dir_all(cargo.join("bin")).unwrap();
        let config = cargo.join("config.toml");
        let denied = || toolchain_paths(cargo.join("bin").as_os_str(), home.path()).deny.contains(&config);
        std::fs::write(&config, "[build]\njobs = 2\n").unwrap();
        assert!(!denied());
        std::fs::write(&config, "[registries.ours]\ntoken = \"hush\"\n").unwrap();
        assert!(denied());
    }
}
