//! Places: where a program runs and what it may touch there.
//!
//! Pure: makes paths, environments and profiles. `runs` makes what has to exist. With overlays all programs find their folders at the
//! same paths; what they change is kept apart and thrown away. Without, each runs in a copy.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    path::{Path, PathBuf},
    time::Duration,
};

use holdpoint_evidence::environment::{BUILD, BUILD_CACHE, HOME, WORK};
use holdpoint_harness::environment::{Here, Layer, TreeMechanism, path_in};
use holdpoint_protocol::plan::EnvironmentSpec;
use holdpoint_sandbox::{Network, Overlaid, Profile, RunLimits, ShownTree, tidy_variables, toolchain_paths};

use crate::settings::VerifierSettings;

/// Bytes a check may print. A test suite of thousands of tests with names prints less than one; nextest shows what passed
/// tests print as well.
pub const CHECK_OUTPUT_BYTES_MAX: usize = 16 << 20;
/// Where programs find their folder for temporary files.
const TMP: &str = "/hold/tmp";

/// The folders of one tree in a turn: its files, and what is kept next to them for all its runs.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// The checked-out files. Nobody writes here.
    pub(crate) tree: PathBuf,
    /// What builds leave for the next check of the same tree.
    pub(crate) build: PathBuf,
    /// What it depends on.
    pub(crate) layer: Option<Layer>,
    /// The checkout that the layer is of, if it is one's.
    pub(crate) here: Option<Here>,
    /// It has compiled modules of Python, which need not be what their sources say.
    pub(crate) compiled: bool,
}

impl Place {
    /// The folders of the tree called `name` in a turn's folder.
    pub(crate) fn in_folder(folder: &Path, name: &str) -> Self {
        let of = |kind: &str| folder.join(kind).join(name);
        Self { tree: of("trees"), build: of("builds"), layer: None, here: None, compiled: false }
    }
}

/// The folders of one run, as they are on the machine or as its program finds them.
#[derive(Debug, Clone)]
pub(crate) struct RunFolders {
    /// The current directory: what takes the changes to the tree, or a copy of it. It goes after the run.
    pub(crate) dir: PathBuf,
    /// `HOME`.
    pub(crate) home: PathBuf,
    /// `TMPDIR`.
    pub(crate) tmp: PathBuf,
    /// Build output of the tree.
    pub(crate) build: PathBuf,
}

impl RunFolders {
    fn each(&self) -> [&PathBuf; 4] {
        [&self.dir, &self.home, &self.tmp, &self.build]
    }
}

/// Where a run stands.
#[derive(Debug, Clone)]
pub(crate) struct Stand {
    /// On the machine.
    pub(crate) real: RunFolders,
    /// As the program finds them.
    pub(crate) seen: RunFolders,
    /// What makes the difference.
    pub(crate) shown: Vec<ShownTree>,
    /// Empty folders that overlays need.
    pub(crate) work: Vec<PathBuf>,
    /// What takes the changes to folders of a checkout.
    laid: Vec<PathBuf>,
    /// It reads the checkout itself, and writes nothing there: a judge.
    pub(crate) looks: bool,
    mechanism: TreeMechanism,
}

impl Stand {
    /// A run on a tree in a folder of its own. One with a `home` that outlives it only looks at the tree.
    pub(crate) fn in_folder(scratch: &Path, place: &Place, home: Option<PathBuf>, mechanism: TreeMechanism) -> Self {
        let looks = home.is_some();
        let real = RunFolders {
            dir: if looks { place.tree.clone() } else { scratch.join("tree") },
            home: home.unwrap_or_else(|| scratch.join("home")),
            tmp: scratch.join("tmp"),
            build: place.build.clone(),
        };
        if mechanism == TreeMechanism::Copy {
            return Self {
                seen: real.clone(),
                real,
                shown: Vec::new(),
                work: Vec::new(),
                laid: Vec::new(),
                looks,
                mechanism,
            };
        }
        let here = place.here.as_ref().filter(|_| !looks);
        let dir = here.map_or_else(|| WORK.into(), |here| here.root.clone());
        let [home, tmp, build] = [HOME, TMP, BUILD].map(PathBuf::from);
        let seen = RunFolders { dir, home, tmp, build };
        let layers: Vec<PathBuf> =
            std::iter::once(place.tree.clone()).chain(place.layer.iter().map(Layer::work)).collect();
        let builds: Vec<PathBuf> = place.layer.iter().map(Layer::build).collect();
        let homes: Vec<PathBuf> = place.layer.iter().filter(|_| !looks).map(Layer::home).collect();
        let layers = if looks { Vec::new() } else { layers };
        let mut work = Vec::new();
        let mut over = |name: &str, trees: Vec<PathBuf>| {
            let folder = scratch.join(name);
            (!trees.is_empty()).then(|| {
                work.push(folder.clone());
                Overlaid { trees, work: folder }
            })
        };
        let overs = [over("tree.work", layers), over("home.work", homes), None, over("build.work", builds)];
        let pairs = real.each().into_iter().zip(seen.each()).zip(overs);
        let mut shown: Vec<ShownTree> =
            pairs.map(|((tree, at), over)| ShownTree { tree: tree.clone(), at: at.clone(), over }).collect();
        let mut laid = Vec::new();
        let mut lay = |tree: PathBuf, at: PathBuf, trees: Vec<PathBuf>, under: PathBuf| {
            work.extend([tree.clone(), under.clone()]);
            laid.push(tree.clone());
            shown.push(ShownTree { tree, at, over: Some(Overlaid { trees, work: under }) });
        };
        let folders = here.map(|here| here.laid(&seen.dir, &seen.home)).unwrap_or_default();
        for (number, (folder, at)) in folders.into_iter().enumerate() {
            let [tree, under] = ["laid", "laid.work"].map(|name| scratch.join(name).join(number.to_string()));
            // What the tree tracks there wins.
            let own = at.strip_prefix(&seen.dir).ok().map(|rest| place.tree.join(rest)).filter(|own| own.is_dir());
            lay(tree, at, own.into_iter().chain([folder]).collect(), under);
        }
        if let Some(cache) = here.and_then(|here| here.go_cache.clone()) {
            // Kept for the next run on the tree, as its build output is.
            let tree = place.build.with_extension(BUILD_CACHE.1);
            lay(tree, seen.build.join(BUILD_CACHE.1), vec![cache], scratch.join("go.work"));
        }
        Self { real, seen, shown, work, laid, looks, mechanism }
    }
}

/// The folders of one run, under names that all runs have in common: where a tree was checked out is no part of what it shows.
#[derive(Debug, Clone)]
pub(crate) struct Places([(String, &'static str); 4]);

impl Places {
    pub(crate) fn of(seen: &RunFolders) -> Self {
        let named = |folder: &Path, name| (folder.display().to_string(), name);
        Self([
            named(&seen.dir, "/tree"),
            named(&seen.home, "/home"),
            named(&seen.tmp, "/tmp"),
            named(&seen.build, "/build"),
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
    /// How long it may take.
    pub(crate) wall: Duration,
}

/// The profile of one run. It may read `more` as well.
pub(crate) fn profile(
    settings: &VerifierSettings,
    place: &Place,
    stand: &Stand,
    allowed: Allowed,
    more: &[PathBuf],
) -> Profile {
    let toolchains = toolchain_paths(OsStr::new(&settings.path), &settings.home);
    let mut read = toolchains.read;
    read.extend(settings.read_paths.iter().chain(more).cloned());
    if stand.mechanism == TreeMechanism::Copy {
        // Programs of the environment name each other by where they were set up.
        read.extend(place.layer.iter().flat_map(|layer| [layer.work(), layer.home()]));
        let folders = place.here.iter().flat_map(|here| here.laid(&stand.seen.dir, &stand.seen.home));
        read.extend(folders.map(|(folder, _)| folder));
    }
    let mut write: Vec<PathBuf> = stand.real.each().into_iter().chain(&stand.laid).cloned().collect();
    if stand.looks {
        write.retain(|folder| *folder != stand.real.dir);
        read.push(stand.real.dir.clone());
    }
    let mut deny = toolchains.deny;
    deny.extend(settings.deny_paths.iter().cloned());
    deny.push(settings.state_dir.clone());
    if stand.mechanism == TreeMechanism::Overlay {
        // Where the tree stands nothing of the checkout is seen but what is laid there.
        let apart = |path: &PathBuf| !path.starts_with(&stand.seen.dir);
        read.retain(apart);
        deny.retain(apart);
    }
    let network = network(allowed.network);
    let limits = RunLimits { wall: allowed.wall, output_bytes: CHECK_OUTPUT_BYTES_MAX, ..RunLimits::default() };
    Profile { read, write, deny, network, limits }
}

/// The network of a run that may use the machine's, or not.
pub(crate) fn network(machines: bool) -> Network {
    if machines { Network::Host } else { Network::Loopback }
}

/// The variables of one run: exactly these. What settings add never replaces what is set here.
pub(crate) fn variables(
    settings: &VerifierSettings,
    spec: &EnvironmentSpec,
    (place, seen): (&Place, &RunFolders),
    more: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let text = |path: &Path| path.display().to_string();
    let toolchains = toolchain_paths(OsStr::new(&settings.path), &settings.home);
    let mut env = more.clone();
    // Cargo writes into its home, and the default is in that of the run.
    let toolchains = toolchains.env.iter().filter(|(name, _)| *name != "CARGO_HOME");
    env.extend(toolchains.map(|(name, path)| (name.clone(), text(path))));
    env.extend(spec.env.clone());
    for (name, folder) in [("CARGO_TARGET_DIR", "cargo"), BUILD_CACHE] {
        env.insert(name.to_owned(), text(&seen.build.join(folder)));
    }
    env.insert("PATH".to_owned(), path_in(spec, &seen.dir, &settings.path));
    env.insert("HOME".to_owned(), text(&seen.home));
    env.insert("TMPDIR".to_owned(), text(&seen.tmp));
    env.insert("LANG".to_owned(), "C.UTF-8".to_owned());
    // Every tree is built from nothing, so a record of what changed only costs time.
    env.insert("CARGO_INCREMENTAL".to_owned(), "0".to_owned());
    // They would write next to the sources.
    env.extend(tidy_variables(&seen.tmp).map(|(name, value)| (name.to_owned(), value)));
    // Python then compiles all that it imports, its own library too: three times what a short check takes.
    if place.compiled {
        env.insert("PYTHONPYCACHEPREFIX".to_owned(), text(&seen.tmp.join("pycache")));
    }
    // What a passed test's process printed shows whether libtest or the code under test ended it.
    env.insert("NEXTEST_SUCCESS_OUTPUT".to_owned(), "immediate".to_owned());
    env
}

#[cfg(test)]
mod tests {
    use holdpoint_harness::environment::Environments;

    use super::*;

    fn settings() -> VerifierSettings {
        VerifierSettings {
            here: None,
            state_dir: "/state".into(),
            environments: Environments::new("/state/environments".into(), &BTreeMap::new()),
            path: "/home/v/.cargo/bin:/usr/bin".to_owned(),
            home: "/home/v".into(),
            check_env: BTreeMap::new(),
            read_paths: vec!["/data".into()],
            deny_paths: vec!["/data/secret".into()],
            judge: None,
            fresh: false,
            helper: None,
        }
    }

    fn stand(mechanism: TreeMechanism) -> (Place, Stand) {
        let place = Place::in_folder(Path::new("/state/turns/t"), "abc");
        let stand = Stand::in_folder(Path::new("/state/turns/t/runs/1"), &place, None, mechanism);
        (place, stand)
    }

    fn allowed() -> Allowed {
        Allowed { network: false, wall: Duration::from_secs(1) }
    }

    #[test]
    fn a_check_writes_folders_that_go_with_it_and_the_build_output_of_its_tree() {
        for mechanism in [TreeMechanism::Overlay, TreeMechanism::Copy] {
            let (place, stand) = stand(mechanism);
            let profile = profile(&settings(), &place, &stand, allowed(), &[]);
            let own = ["tree", "home", "tmp"].map(|name| Path::new("/state/turns/t/runs/1").join(name));
            assert_eq!(profile.write, [&own[..], std::slice::from_ref(&place.build)].concat());
            assert!(!profile.read.contains(&place.tree) && !profile.write.contains(&place.tree));
            assert!(
                profile.deny.contains(&PathBuf::from("/state"))
                    && profile.deny.contains(&PathBuf::from("/data/secret"))
            );
            assert_eq!(profile.network, Network::Loopback);
        }
        let (place, stand) = stand(TreeMechanism::Overlay);
        let network = profile(&settings(), &place, &stand, Allowed { network: true, ..allowed() }, &[]);
        assert_eq!(network.network, Network::Host);
    }

    #[test]
    fn with_overlays_all_trees_are_at_one_path_and_a_kept_home_has_nothing_below() {
        let (place, plain) = stand(TreeMechanism::Overlay);
        let tree = &plain.shown[0];
        assert_eq!((tree.at.as_path(), &tree.tree), (Path::new("/hold/work"), &plain.real.dir));
        assert_eq!(tree.over.as_ref().unwrap().trees, std::slice::from_ref(&place.tree));
        assert!(plain.shown[1..].iter().all(|shown| shown.over.is_none()), "without a layer the rest is empty");
        assert_eq!(plain.work, [Path::new("/state/turns/t/runs/1/tree.work")]);
        let kept = Stand::in_folder(Path::new("/r"), &place, Some("/kept/judge".into()), TreeMechanism::Overlay);
        assert!(kept.looks && kept.shown[0].tree == place.tree && kept.shown[0].over.is_none());
        assert_eq!(
            (kept.shown[1].tree.as_path(), kept.shown[1].at.as_path()),
            (Path::new("/kept/judge"), Path::new("/hold/home"))
        );
    }

    #[test]
    fn what_two_checkouts_print_of_their_files_reads_the_same() {
        let printed = |run: &str, mechanism| {
            let place = Place::in_folder(Path::new("/state/turns/t"), run);
            let stand = Stand::in_folder(&Path::new("/state/turns/t/runs").join(run), &place, None, mechanism);
            let RunFolders { dir, tmp, build, .. } = &stand.seen;
            let (dir, tmp, build) = (dir.display(), tmp.display(), build.display());
            let text = format!("ok {dir}/a.txt file://{dir}/b\nin {tmp} and {build}");
            Places::of(&stand.seen).named(text)
        };
        for mechanism in [TreeMechanism::Overlay, TreeMechanism::Copy] {
            for run in ["1", "10"] {
                assert_eq!(printed(run, mechanism), "ok /tree/a.txt file:///tree/b\nin /tmp and /build");
            }
        }
    }

    #[test]
    fn variables_of_the_harness_win_and_folders_of_the_environment_come_first_in_path() {
        let (place, stand) = stand(TreeMechanism::Overlay);
        let more =
            BTreeMap::from([("HOME", "/root"), ("CI", "1"), ("A", "a")].map(|(k, v)| (k.to_owned(), v.to_owned())));
        let spec = EnvironmentSpec {
            path: vec!["node_modules/.bin".to_owned()],
            env: [("CI".to_owned(), "true".to_owned())].into(),
            ..EnvironmentSpec::default()
        };
        let env = variables(&settings(), &spec, (&place, &stand.seen), &more);
        assert_eq!((env["HOME"].as_str(), env["CI"].as_str(), env["A"].as_str()), ("/hold/home", "true", "a"));
        assert_eq!(env["RUSTUP_HOME"], "/home/v/.rustup");
        assert!(!env.contains_key("CARGO_HOME"), "its default is in the home of the run");
        assert_eq!(env["PATH"], "/hold/work/node_modules/.bin:/home/v/.cargo/bin:/usr/bin");
    }

    #[test]
    fn python_passes_over_compiled_modules_where_the_tree_has_some() {
        let (place, stand) = stand(TreeMechanism::Overlay);
        let of = |compiled| {
            let place = Place { compiled, ..place.clone() };
            variables(&settings(), &EnvironmentSpec::default(), (&place, &stand.seen), &BTreeMap::new())
        };
        assert_eq!(of(true)["PYTHONPYCACHEPREFIX"], "/hold/tmp/pycache");
        assert!(!of(false).contains_key("PYTHONPYCACHEPREFIX"));
    }
}
