//! The environment of an agent's program: exactly what the contract says, and what the configuration passes on.
//!
//! Pure: what is passed on comes in as a map. No credentials of ours are in it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use holdpoint_sandbox::tidy_variables;

use super::BackendTask;
use crate::environment::CERTIFICATES;

/// Where the variables come from.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The program's home.
    pub home: &'a Path,
    /// The harness's own environment: `PATH`, `LANG`, the machine's certificates and the names in `pass_env` are taken from it.
    pub own: &'a BTreeMap<String, String>,
    /// Variables that point at the toolchains in `PATH`.
    pub toolchains: &'a BTreeMap<String, PathBuf>,
    /// Names that are passed on.
    pub pass_env: &'a [String],
    /// Values that are set, and win over all others but the contract's.
    pub env: &'a BTreeMap<String, String>,
}

/// The one toolchain variable that is not passed on by itself: cargo writes there, and its default is in the home.
const CARGO_HOME: &str = "CARGO_HOME";
/// What programs can rely on when the harness has no locale.
const LANG_DEFAULT: &str = "C.UTF-8";
/// Where programs are looked for when the harness has no `PATH`.
const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";

/// All variables of the program.
#[must_use]
pub fn environment(task: &BackendTask, sources: &Sources<'_>) -> BTreeMap<String, String> {
    let own = |name: &str, default: &str| sources.own.get(name).cloned().unwrap_or_else(|| default.to_owned());
    let mut env = BTreeMap::new();
    let toolchains = sources.toolchains.iter().filter(|(name, _)| *name != CARGO_HOME);
    env.extend(toolchains.map(|(name, path)| (name.clone(), path.display().to_string())));
    env.insert("PATH".to_owned(), own("PATH", PATH_DEFAULT));
    env.insert("LANG".to_owned(), own("LANG", LANG_DEFAULT));
    env.insert("HOME".to_owned(), sources.home.display().to_string());
    env.extend(tidy_variables(&task.scratch).map(|(name, value)| (name.to_owned(), value)));
    if let Some(underlay) = &task.underlay {
        env.extend(underlay.variables(&task.clone, &own("PATH", PATH_DEFAULT)));
    }
    // Agents add dependencies, over the same network as setups.
    let certificates = CERTIFICATES.iter().filter_map(|name| sources.own.get_key_value(*name));
    env.extend(certificates.map(|(name, path)| (name.clone(), path.clone())));
    let passed = sources.pass_env.iter().filter_map(|name| Some((name.clone(), sources.own.get(name)?.clone())));
    env.extend(passed);
    env.extend(sources.env.iter().map(|(name, value)| (name.clone(), value.clone())));
    env.extend(of_turn(task));
    env
}

/// What only the harness knows; nothing configured replaces it.
fn of_turn(task: &BackendTask) -> BTreeMap<String, String> {
    let mut env = BTreeMap::new();
    let mut set = |name: &str, value: String| env.insert(name.to_owned(), value);
    set("HOLDPOINT_FLIGHT", task.flight.to_string());
    set("HOLDPOINT_WAYPOINT", task.waypoint.to_string());
    set("HOLDPOINT_ROLE", task.role.to_string());
    set("HOLDPOINT_ATTEMPT", task.attempt.to_string());
    set("HOLDPOINT_TURN_FILE", task.turn_file.display().to_string());
    if let Some(file) = &task.feedback_file {
        set("HOLDPOINT_FEEDBACK_FILE", file.display().to_string());
    }
    if let Some(file) = &task.diff_file {
        set("HOLDPOINT_DIFF_FILE", file.display().to_string());
    }
    if let Some(dir) = &task.documents {
        set("HOLDPOINT_DOCUMENTS_DIR", dir.display().to_string());
    }
    if let Some(file) = &task.document_file {
        set("HOLDPOINT_DOCUMENT_FILE", file.display().to_string());
    }
    if task.retry > 0 {
        set("HOLDPOINT_RETRY", task.retry.to_string());
    }
    set("TMPDIR", task.scratch.display().to_string());
    env
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(feedback: bool) -> BackendTask {
        BackendTask {
            flight: "f1".parse().unwrap(),
            waypoint: "w1".parse().unwrap(),
            role: "repair".parse().unwrap(),
            attempt: 2,
            clone: "/t/clone".into(),
            looks: false,
            keeps: true,
            underlay: None,
            settings: PathBuf::from("/turn/settings"),
            scratch: "/t/scratch".into(),
            turn_file: "/t/in/turn.json".into(),
            feedback_file: feedback.then(|| "/t/in/feedback.json".into()),
            diff_file: feedback.then(|| "/t/in/diff.patch".into()),
            documents: feedback.then(|| "/t/in/documents".into()),
            document_file: feedback.then(|| "/t/scratch/document.md".into()),
            map_file: None,
            line: None,
            tap: None,
            prompt: String::new(),
            wall: None,
            output_bytes: None,
            degraded: false,
            retry: 0,
            go_on: None,
        }
    }

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn of(feedback: bool, own: &[(&str, &str)], pass: &[&str], env: &[(&str, &str)]) -> BTreeMap<String, String> {
        let toolchains =
            [("RUSTUP_HOME", "/h/.rustup"), ("CARGO_HOME", "/h/.cargo")].map(|(n, p)| (n.to_owned(), p.into()));
        let pass: Vec<String> = pass.iter().map(|name| (*name).to_owned()).collect();
        let sources = Sources {
            home: Path::new("/state/home"),
            own: &map(own),
            toolchains: &toolchains.into(),
            pass_env: &pass,
            env: &map(env),
        };
        environment(&task(feedback), &sources)
    }

    #[test]
    fn the_environment_is_exactly_the_contracts() {
        let own = [("PATH", "/bin"), ("SECRET", "x"), ("SSL_CERT_FILE", "/ca.pem"), ("HOLDPOINT__NATS__CREDS", "y")];
        let env = of(true, &own, &[], &[]);
        let expected = map(&[
            ("HOLDPOINT_ATTEMPT", "2"),
            ("HOLDPOINT_DIFF_FILE", "/t/in/diff.patch"),
            ("HOLDPOINT_DOCUMENTS_DIR", "/t/in/documents"),
            ("HOLDPOINT_DOCUMENT_FILE", "/t/scratch/document.md"),
            ("HOLDPOINT_FEEDBACK_FILE", "/t/in/feedback.json"),
            ("HOLDPOINT_FLIGHT", "f1"),
            ("HOLDPOINT_ROLE", "repair"),
            ("HOLDPOINT_TURN_FILE", "/t/in/turn.json"),
            ("HOLDPOINT_WAYPOINT", "w1"),
            ("HOME", "/state/home"),
            ("LANG", "C.UTF-8"),
            ("PATH", "/bin"),
            ("PYTEST_ADDOPTS", "-o cache_dir='/t/scratch/pytest-cache'"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
            ("RUSTUP_HOME", "/h/.rustup"),
            ("SSL_CERT_FILE", "/ca.pem"),
            ("TMPDIR", "/t/scratch"),
        ]);
        assert_eq!(env, expected);
    }

    #[test]
    fn files_are_named_only_when_there_are_any() {
        let env = of(false, &[], &[], &[]);
        assert!(!env.contains_key("HOLDPOINT_FEEDBACK_FILE") && !env.contains_key("HOLDPOINT_DIFF_FILE"));
    }

    #[test]
    fn what_is_configured_is_passed_on_and_replaces_nothing_of_the_turn() {
        let own = [("TOKEN", "t"), ("CARGO_HOME", "/mine")];
        let env = of(false, &own, &["TOKEN", "CARGO_HOME", "ABSENT"], &[("MODE", "fast"), ("HOLDPOINT_ROLE", "x")]);
        assert_eq!((env["TOKEN"].as_str(), env["CARGO_HOME"].as_str()), ("t", "/mine"));
        assert_eq!((env["MODE"].as_str(), env["HOLDPOINT_ROLE"].as_str()), ("fast", "repair"));
        assert!(!env.contains_key("ABSENT"));
    }
}
