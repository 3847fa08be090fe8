//! Has cargo start its test programs through the observer.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use holdpoint_sandbox::observer::{CARGO, runner_variables};

/// Commands of cargo that run tests.
const TESTS: [&str; 3] = ["test", "t", "nextest"];
/// Runs of one line that are heard at once where each test has a process of its own: more than machines have cores.
const AT_ONCE: usize = 256;
/// How deep in the tree configurations of cargo are looked for, and in how many folders.
const DEPTH_MAX: usize = 4;
const FOLDERS_MAX: usize = 4_096;

/// Whether a shell line may have cargo run tests, with a runner that it does not name itself.
pub(crate) fn may_test(command: &str) -> bool {
    let words = || command.split(super::SEPARATORS);
    let tests = words().any(|word| word == "cargo") && words().any(|word| TESTS.contains(&word));
    tests && !command.to_lowercase().contains("runner")
}

/// How many runs of a shell line can be heard at once.
pub(crate) fn at_once(command: &str) -> usize {
    let nextest = may_test(command) && command.split(super::SEPARATORS).any(|word| word == "nextest");
    if nextest { AT_ONCE } else { 1 }
}

/// Names the observer's program and its socket as cargo's runner in the environment of a program on the tree in `dir`. Not
/// where the project has a runner of its own, or a path that cargo cannot take.
pub(crate) fn start_through(observer: &[PathBuf; 2], dir: &Path, env: &mut BTreeMap<String, String>) {
    let home = env.get("CARGO_HOME").map(PathBuf::from);
    let of_home = home.is_some_and(|home| names_runner(&home));
    let mut left = FOLDERS_MAX;
    if of_home || has_runner(dir, DEPTH_MAX, &mut left) {
        return;
    }
    let [program, socket] = observer.each_ref().map(|path| path.to_string_lossy().into_owned());
    if program.contains(char::is_whitespace) || socket.contains(char::is_whitespace) {
        return;
    }
    for variable in runner_variables() {
        env.insert(variable, format!("{program} {socket} {CARGO}"));
    }
}

/// Whether a configuration of cargo in a tree names a runner.
fn has_runner(dir: &Path, depth: usize, left: &mut usize) -> bool {
    if names_runner(&dir.join(".cargo")) {
        return true;
    }
    let Ok(entries) = fs::read_dir(dir) else { return false };
    for entry in entries.flatten() {
        // Not through links.
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_dir || depth == 0 || *left == 0 {
            continue;
        }
        *left -= 1;
        if has_runner(&entry.path(), depth - 1, left) {
            return true;
        }
    }
    false
}

/// Whether a folder has a configuration of cargo that names a runner.
fn names_runner(folder: &Path) -> bool {
    let text = |name: &str| fs::read(folder.join(name)).unwrap_or_default();
    ["config.toml", "config"].iter().any(|name| String::from_utf8_lossy(&text(name)).contains("runner"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_may_run_cargos_tests_are_heard() {
        for command in
            ["cargo test", "cd a && cargo +stable t -q", "sh -c 'cargo nextest run'", "RUSTFLAGS=x cargo test"]
        {
            assert!(may_test(command), "{command}");
        }
        for command in
            ["cargo build", "make test", "cargotest", "cargo test --config 'target.x.runner=[]'", "python3 -m t"]
        {
            assert!(!may_test(command), "{command}");
        }
        assert_eq!((at_once("cargo test"), at_once("cargo fmt && cargo nextest run")), (1, AT_ONCE));
    }

    #[test]
    fn a_runner_of_the_projects_own_stays() {
        let observer = ["/o/observe", "/o/socket"].map(PathBuf::from);
        let temp = tempfile::tempdir().unwrap();
        let named = |observer: &[PathBuf; 2]| {
            let mut env = BTreeMap::new();
            start_through(observer, temp.path(), &mut env);
            env.into_values().next()
        };
        assert_eq!(named(&observer).as_deref(), Some("/o/observe /o/socket cargo"));
        assert_eq!(named(&["/o o/observe", "/o/socket"].map(PathBuf::from)), None);
        let config = temp.path().join("boards/one/.cargo");
        fs::create_dir_all(&config).unwrap();
        fs::write(config.join("config.toml"), "[build]\njobs = 1\n").unwrap();
        assert!(named(&observer).is_some());
        fs::write(config.join("config.toml"), "[target.'cfg(all())']\nrunner = 'qemu'\n").unwrap();
        assert_eq!(named(&observer), None);
    }
}
