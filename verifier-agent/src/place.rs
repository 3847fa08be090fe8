//! Places: where a program runs and what it may touch there.
//!
//! Pure: makes paths, environments and profiles. `checkout` and `runs` make what has to exist.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    path::{Path, PathBuf},
    time::Duration,
};

use holdpoint_sandbox::{Network, Profile, RunLimits, tidy_variables, toolchain_paths};

use crate::settings::VerifierSettings;

/// Bytes a check may print. A test suite of thousands of tests with names prints less than one; nextest shows what passed
/// tests print as well.
pub const CHECK_OUTPUT_BYTES_MAX: usize = 16 << 20;

/// The folders of one tree in a turn: its files, and what is kept next to them for all its runs.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// The checked-out files. Nobody writes here.
    pub(crate) tree: PathBuf,
    /// What `prepare` downloads: written by it and by checks with network, read by the others.
    pub(crate) caches: PathBuf,
    /// What builds leave for the next check of the same tree.
    pub(crate) build: PathBuf,
    /// The home that `prepare` has filled, where there is one.
    pub(crate) home: PathBuf,
}

impl Place {
    /// The folders of the tree called `name` in a turn's folder.
    pub(crate) fn in_folder(folder: &Path, name: &str) -> Self {
        let of = |kind: &str| folder.join(kind).join(name);
        Self { tree: of("trees"), caches: of("caches"), build: of("builds"), home: of("homes") }
    }
}

/// The folders of one run.
#[derive(Debug, Clone)]
pub(crate) struct RunFolders {
    /// The current directory: the tree, or a copy of it that goes after the run.
    pub(crate) dir: PathBuf,
    /// `HOME`.
    pub(crate) home: PathBuf,
    /// `TMPDIR`.
    pub(crate) tmp: PathBuf,
}

/// The folders of one run, under names that all runs have in common: where a tree was checked out is no part of what it shows.
#[derive(Debug, Clone)]
pub(crate) struct Places([(String, &'static str); 5]);

impl Places {
    pub(crate) fn of(place: &Place, run: &RunFolders) -> Self {
        let named = |folder: &Path, name| (folder.display().to_string(), name);
        Self([
            named(&run.dir, "/tree"),
            named(&run.home, "/home"),
            named(&run.tmp, "/tmp"),
            named(&place.build, "/build"),
            named(&place.caches, "/caches"),
        ])
    }

    /// A text with these names in the place of the folders.
    pub(crate) fn named(&self, mut text: String) -> String {
        for (folder, name) in &self.0 {
            if text.contains(folder) {
                text = text.replace(folder, name);
            }
        }
        text
    }
}

/// What one run is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// The machine's network instead of a loopback of its own.
    pub(crate) network: bool,
    /// Its directory may be written: it is a throw-away copy.
    pub(crate) writes_dir: bool,
    /// The caches of the tree may be written.
    pub(crate) writes_caches: bool,
    /// How long it may take.
    pub(crate) wall: Duration,
}

/// The profile of one run. It may read `more` as well.
pub(crate) fn profile(
    settings: &VerifierSettings,
    place: &Place,
    run: &RunFolders,
    allowed: Allowed,
    more: &[PathBuf],
) -> Profile {
    let toolchains = toolchain_paths(OsStr::new(&settings.path), &settings.home);
    let mut read = toolchains.read;
    read.extend(settings.read_paths.iter().chain(more).cloned());
    let mut write = vec![place.build.clone(), run.home.clone(), run.tmp.clone()];
    if allowed.writes_dir { &mut write } else { &mut read }.push(run.dir.clone());
    if allowed.writes_caches { &mut write } else { &mut read }.push(place.caches.clone());
    let mut deny = toolchains.deny;
    deny.extend(settings.deny_paths.iter().cloned());
    deny.push(settings.state_dir.clone());
    let network = network(allowed.network);
    let limits = RunLimits { wall: allowed.wall, output_bytes: CHECK_OUTPUT_BYTES_MAX, ..RunLimits::default() };
    Profile { read, write, deny, network, limits }
}

/// The network of a run that may use the machine's, or not.
pub(crate) fn network(machines: bool) -> Network {
    if machines { Network::Host } else { Network::Loopback }
}

/// The environment of one run: exactly this. What settings add never replaces what is set here.
pub(crate) fn environment(
    settings: &VerifierSettings,
    place: &Place,
    run: &RunFolders,
    more: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let text = |path: &Path| path.display().to_string();
    let toolchains = toolchain_paths(OsStr::new(&settings.path), &settings.home);
    let mut env = more.clone();
    env.extend(toolchains.env.iter().map(|(name, path)| (name.clone(), text(path))));
    for (name, folder) in [
        ("CARGO_HOME", "cargo"),
        ("GOMODCACHE", "go"),
        ("npm_config_cache", "npm"),
        ("PIP_CACHE_DIR", "pip"),
        ("PYTHONUSERBASE", "python"),
    ] {
        env.insert(name.to_owned(), text(&place.caches.join(folder)));
    }
    for (name, folder) in [("CARGO_TARGET_DIR", "cargo"), ("GOCACHE", "go")] {
        env.insert(name.to_owned(), text(&place.build.join(folder)));
    }
    env.insert("PATH".to_owned(), settings.path.clone());
    env.insert("HOME".to_owned(), text(&run.home));
    env.insert("TMPDIR".to_owned(), text(&run.tmp));
    env.insert("LANG".to_owned(), "C.UTF-8".to_owned());
    // Every tree is built from nothing, so a record of what changed only costs time.
    env.insert("CARGO_INCREMENTAL".to_owned(), "0".to_owned());
    // They would write next to the sources, which are read-only.
    env.extend(tidy_variables(&run.tmp).map(|(name, value)| (name.to_owned(), value)));
    // Compiled modules in the tree need not be what their sources say.
    env.insert("PYTHONPYCACHEPREFIX".to_owned(), text(&run.tmp.join("pycache")));
    // What a passed test's process printed shows whether libtest or the code under test ended it.
    env.insert("NEXTEST_SUCCESS_OUTPUT".to_owned(), "immediate".to_owned());
    env
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> VerifierSettings {
        VerifierSettings {
            state_dir: "/state".into(),
            path: "/home/v/.cargo/bin:/usr/bin".to_owned(),
            home: "/home/v".into(),
            check_env: BTreeMap::new(),
            read_paths: vec!["/data".into()],
            deny_paths: vec!["/data/secret".into()],
            judge: None,
        }
    }

    fn run() -> (Place, RunFolders) {
        let place = Place::in_folder(Path::new("/state/turns/t"), "abc");
        let run =
            RunFolders { dir: place.tree.clone(), home: "/state/turns/t/h".into(), tmp: "/state/turns/t/x".into() };
        (place, run)
    }

    fn allowed() -> Allowed {
        Allowed { network: false, writes_dir: false, writes_caches: false, wall: Duration::from_secs(1) }
    }

    #[test]
    fn plain_check_writes_scratch_and_build_output_only() {
        let (place, run) = run();
        let profile = profile(&settings(), &place, &run, allowed(), &[]);
        assert_eq!(profile.write, [place.build.clone(), run.home.clone(), run.tmp.clone()]);
        assert!(profile.read.contains(&place.tree) && profile.read.contains(&place.caches));
        assert!(
            profile.deny.contains(&PathBuf::from("/state")) && profile.deny.contains(&PathBuf::from("/data/secret"))
        );
        assert_eq!(profile.network, Network::Loopback);
    }

    #[test]
    fn what_two_checkouts_print_of_their_files_reads_the_same() {
        let printed = |tree: &str, run: &str| {
            let place = Place::in_folder(Path::new("/state/turns/t"), tree);
            let of = |kind: &str| Path::new("/state/turns/t/runs").join(run).join(kind);
            let folders = RunFolders { dir: place.tree.clone(), home: of("home"), tmp: of("tmp") };
            let text = format!(
                "ok {}/a.txt file://{}/b\nin {} and {}",
                place.tree.display(),
                place.tree.display(),
                folders.tmp.display(),
                place.build.display()
            );
            Places::of(&place, &folders).named(text)
        };
        assert_eq!(printed("abc", "1"), printed("def", "10"));
        assert_eq!(printed("abc", "1"), "ok /tree/a.txt file:///tree/b\nin /tmp and /build");
    }

    #[test]
    fn rights_open_one_by_one() {
        let (place, run) = run();
        let network = profile(&settings(), &place, &run, Allowed { network: true, ..allowed() }, &[]);
        assert_eq!(network.network, Network::Host);
        assert!(!network.write.contains(&place.caches));
        let caches = profile(&settings(), &place, &run, Allowed { writes_caches: true, ..allowed() }, &[]);
        assert!(caches.write.contains(&place.caches) && !caches.write.contains(&place.tree));
        let copy = profile(&settings(), &place, &run, Allowed { writes_dir: true, ..allowed() }, &[]);
        assert!(copy.write.contains(&run.dir) && !copy.read.contains(&run.dir));
    }

    #[test]
    fn environment_keeps_the_harness_values_and_the_real_toolchain() {
        let (place, run) = run();
        let more = BTreeMap::from([("HOME", "/root"), ("CI", "1")].map(|(k, v)| (k.to_owned(), v.to_owned())));
        let env = environment(&settings(), &place, &run, &more);
        assert_eq!((env["HOME"].as_str(), env["CI"].as_str()), ("/state/turns/t/h", "1"));
        assert_eq!(env["RUSTUP_HOME"], "/home/v/.rustup");
        assert_eq!(env["CARGO_HOME"], place.caches.join("cargo").display().to_string());
    }
}
