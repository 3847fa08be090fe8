//! Makes an environment: its setup runs in the sandbox, with network, on a tree that has its inputs and nothing else.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs, io,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    time::Duration,
};

use holdpoint_evidence::environment::{BUILD, BUILD_CACHE, HOME, SeenAs, SeenFile, Selection, WORK, key};
use holdpoint_protocol::{Digest, plan::EnvironmentSpec};
use holdpoint_sandbox::{
    Command, Ended, Network, Profile, RunLimits, RunOutcome, Sandbox, ShownTree, tidy_variables, toolchain_paths,
    tree::remove_tree,
};
use holdpoint_workspace::{EntryMode, Mirror, ObjectId, TreeEntry};

use super::{
    TreeMechanism,
    host::host,
    path_in,
    store::{LAYER_BYTES_MAX, Layer, LayerSlot, LayerStore, Vacancy},
};

/// Variables that name the certificates of a machine's network: paths, and no secrets.
pub const CERTIFICATES: [&str; 6] =
    ["CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"];
/// What stands for the variables of a process that has none.
const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";
const HOME_DEFAULT: &str = "/nonexistent";
/// How long a setup may take: it fetches what a whole project needs.
const SETUP_WALL: Duration = Duration::from_secs(30 * 60);
/// Bytes that a setup may print.
const SETUP_OUTPUT_BYTES_MAX: usize = 16 << 20;
/// Inputs of a setup, and their bytes.
const INPUTS_MAX: usize = 10_000;
const INPUT_BYTES_MAX: usize = 64 << 20;
/// Where a setup finds its folder for temporary files.
const TMP: &str = "/hold/tmp";

/// What an environment could not be set up for: our own failure.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// A folder of the store cannot be used.
    #[error("cannot use the environments in {}", path.display())]
    Store {
        /// The store.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The inputs cannot be read.
    #[error("cannot read what the environment is set up from")]
    Git(#[from] holdpoint_workspace::WorkspaceError),
    /// The sandbox could not run the setup.
    #[error("cannot run the setup in the sandbox")]
    Sandbox(#[from] holdpoint_sandbox::SandboxError),
}

/// The environments of a machine, and what their setups may see of it.
#[derive(Debug, Clone)]
pub struct Environments {
    dir: PathBuf,
    /// The `PATH` of setups.
    path: String,
    /// The home of this process, for toolchains in it.
    home: PathBuf,
    /// More that setups may read.
    pub read: Vec<PathBuf>,
    /// What they never reach.
    pub deny: Vec<PathBuf>,
    /// Variables that are passed on to them.
    variables: BTreeMap<String, String>,
}

/// What came of setting up a tree's environment.
#[derive(Debug)]
pub enum SetUp {
    /// It is there; with the run that made it, unless it was.
    Ready(Layer, Option<Box<RunOutcome>>),
    /// It cannot be made.
    Failed(NotSetUp),
}

/// Why an environment could not be set up.
#[derive(Debug)]
pub struct NotSetUp {
    /// The run; `None`: nothing was run.
    pub outcome: Option<Box<RunOutcome>>,
    /// An input that the setup changed.
    pub changed: Option<String>,
    /// Why, in words.
    pub why: String,
}

/// What a setup sees of a tree.
struct Inputs {
    files: Vec<SeenFile>,
    /// What is laid out for it, with the bytes or the target of a link.
    laid: Vec<(TreeEntry, Vec<u8>)>,
}

impl Environments {
    /// The environments in this folder, which processes of a machine share, for a process with these variables.
    #[must_use]
    pub fn new(dir: PathBuf, own_env: &BTreeMap<String, String>) -> Self {
        let own = |name: &str, default: &str| own_env.get(name).cloned().unwrap_or_else(|| default.to_owned());
        let certificates = CERTIFICATES.iter().filter_map(|name| own_env.get_key_value(*name));
        Self {
            dir,
            path: own("PATH", PATH_DEFAULT),
            home: PathBuf::from(own("HOME", HOME_DEFAULT)),
            read: Vec::new(),
            deny: Vec::new(),
            variables: certificates.map(|(name, value)| (name.clone(), value.clone())).collect(),
        }
    }

    /// The environment of a tree. It is set up where that was not done before for the same inputs. Nobody else makes the same one meanwhile.
    ///
    /// # Errors
    /// [`EnvironmentError`]. How a setup ended is none.
    pub async fn of_tree(
        &self,
        spec: &EnvironmentSpec,
        (sandbox, mechanism): (&Sandbox, TreeMechanism),
        (mirror, tree): (&Mirror, &ObjectId),
    ) -> Result<SetUp, EnvironmentError> {
        let inputs = match Inputs::of(spec, mirror, tree).await? {
            Ok(inputs) => inputs,
            Err(why) => return Ok(SetUp::Failed(NotSetUp { outcome: None, changed: None, why })),
        };
        let store = LayerStore::new(self.dir.clone());
        let vacancy = match store.take(&self.key(spec, &inputs.files, mechanism)).await.map_err(self.failed())? {
            LayerSlot::Known(layer) => return Ok(SetUp::Ready(layer, None)),
            LayerSlot::Vacant(vacancy) => vacancy,
        };
        let made = self.made(spec, sandbox, mechanism, &inputs, vacancy).await?;
        store.make_room().map_err(self.failed())?;
        Ok(made)
    }

    /// Whether the environment of a tree with these entries is there.
    #[must_use]
    pub fn is_set_up(&self, spec: &EnvironmentSpec, mechanism: TreeMechanism, entries: &[TreeEntry]) -> bool {
        let files: Vec<SeenFile> = seen(spec, entries).map(|(file, _)| file).collect();
        LayerStore::new(self.dir.clone()).is_known(&self.key(spec, &files, mechanism))
    }

    /// Whether the setup comes to its end in a layer of its own that nobody keeps, whatever is known: so it says whether a setup of
    /// other inputs failed for want of a network.
    ///
    /// # Errors
    /// As [`Environments::of_tree`].
    pub async fn comes_to_its_end(
        &self,
        spec: &EnvironmentSpec,
        (sandbox, mechanism): (&Sandbox, TreeMechanism),
        (mirror, tree): (&Mirror, &ObjectId),
    ) -> Result<bool, EnvironmentError> {
        let Ok(inputs) = Inputs::of(spec, mirror, tree).await? else { return Ok(false) };
        let store = LayerStore::new(self.dir.join("control"));
        let key = Digest::of(holdpoint_runtime::fresh::suffix().as_bytes());
        let LayerSlot::Vacant(vacancy) = store.take(&key).await.map_err(self.failed())? else { return Ok(false) };
        let dir = vacancy.dir().to_owned();
        let made = self.made(spec, sandbox, mechanism, &inputs, vacancy).await;
        remove_tree(&dir).and_then(|()| fs::remove_file(dir.with_extension("lock"))).map_err(self.failed())?;
        Ok(matches!(made?, SetUp::Ready(..)))
    }

    fn key(&self, spec: &EnvironmentSpec, files: &[SeenFile], mechanism: TreeMechanism) -> Digest {
        // Without namespaces it stands where it is kept, which its own name decides.
        let place = match mechanism {
            TreeMechanism::Overlay => WORK,
            TreeMechanism::Copy => "where it is kept",
        };
        key(spec, place, files, &host(&self.path, &self.variables))
    }

    async fn made(
        &self,
        spec: &EnvironmentSpec,
        sandbox: &Sandbox,
        mechanism: TreeMechanism,
        inputs: &Inputs,
        vacancy: Vacancy,
    ) -> Result<SetUp, EnvironmentError> {
        inputs.lay_out(&vacancy.work()).map_err(self.failed())?;
        let tmp = vacancy.dir().join("tmp");
        fs::create_dir_all(&tmp).map_err(self.failed())?;
        let outcome = Box::new(sandbox.run(&self.command(spec, mechanism, &vacancy, &tmp), None).await?);
        remove_tree(&tmp).map_err(self.failed())?;
        let fails = |outcome, changed, why| Ok(SetUp::Failed(NotSetUp { outcome: Some(outcome), changed, why }));
        if outcome.ended != Ended::Exited(0) {
            return fails(outcome, None, "its command failed".to_owned());
        }
        if !outcome.tree_ended {
            return fails(outcome, None, "programs of its command could not be shown to have ended".to_owned());
        }
        if let Some(changed) = inputs.changed(&vacancy.work()) {
            let why = format!(
                "its command changed {changed}, from which it is set up: use one that does not, such as `npm ci`"
            );
            return fails(outcome, Some(changed), why);
        }
        inputs.take_away(&vacancy.work()).map_err(self.failed())?;
        match vacancy.done().map_err(self.failed())? {
            Ok(layer) => Ok(SetUp::Ready(layer, Some(outcome))),
            Err(why) => fails(outcome, None, why),
        }
    }

    fn command(&self, spec: &EnvironmentSpec, mechanism: TreeMechanism, vacancy: &Vacancy, tmp: &Path) -> Command {
        let real = [vacancy.work(), vacancy.home(), vacancy.build(), tmp.to_owned()];
        let toolchains = toolchain_paths(OsStr::new(&self.path), &self.home);
        let limits = RunLimits {
            wall: SETUP_WALL,
            output_bytes: SETUP_OUTPUT_BYTES_MAX,
            disk_bytes: Some(LAYER_BYTES_MAX),
            ..RunLimits::default()
        };
        let profile = Profile {
            read: toolchains.read.iter().chain(&self.read).cloned().collect(),
            write: real.to_vec(),
            deny: toolchains.deny.iter().chain(&self.deny).cloned().collect(),
            network: if spec.offline { Network::Loopback } else { Network::Host },
            limits,
        };
        let mut command = Command::shell(spec.setup.as_deref().unwrap_or_default(), &real[0], profile);
        let [work, home, build, tmp] = match mechanism {
            TreeMechanism::Overlay => {
                let places = [WORK, HOME, BUILD, TMP].map(PathBuf::from);
                let shown = real.into_iter().zip(&places);
                command.shown = shown.map(|(tree, at)| ShownTree { tree, at: at.clone(), over: None }).collect();
                places
            }
            TreeMechanism::Copy => real,
        };
        let text = |path: &Path| path.display().to_string();
        let toolchain = toolchains.env.iter().filter(|(name, _)| *name != "CARGO_HOME");
        let mut env: BTreeMap<String, String> = self.variables.clone();
        env.extend(toolchain.map(|(name, path)| (name.clone(), text(path))));
        env.extend(tidy_variables(&tmp).map(|(name, value)| (name.to_owned(), value)));
        env.extend(spec.env.clone());
        env.insert("PATH".to_owned(), path_in(spec, &work, &self.path));
        env.insert("HOME".to_owned(), text(&home));
        env.insert("TMPDIR".to_owned(), text(&tmp));
        env.insert(BUILD_CACHE.0.to_owned(), text(&build.join(BUILD_CACHE.1)));
        env.insert("LANG".to_owned(), "C.UTF-8".to_owned());
        command.env = env;
        command
    }

    fn failed(&self) -> impl FnOnce(io::Error) -> EnvironmentError + use<> {
        let path = self.dir.clone();
        move |source| EnvironmentError::Store { path, source }
    }
}

/// What a setup sees of a tree with these entries.
fn seen<'a>(
    spec: &EnvironmentSpec,
    entries: &'a [TreeEntry],
) -> impl Iterator<Item = (SeenFile, &'a TreeEntry)> + use<'a> {
    let selection = Selection::of(spec);
    entries.iter().filter(|entry| entry.mode != EntryMode::Gitlink).filter_map(move |entry| {
        let path = entry.path.as_str()?;
        let whole = || (entry.mode.octal().to_owned(), entry.oid.as_str().to_owned());
        let content = (selection.seen(path)? == SeenAs::Whole).then(whole);
        Some((SeenFile { path: path.to_owned(), content }, entry))
    })
}

impl Inputs {
    /// What a setup sees of a tree; the inner error says which bound that exceeds.
    async fn of(
        spec: &EnvironmentSpec,
        mirror: &Mirror,
        tree: &ObjectId,
    ) -> Result<Result<Self, String>, EnvironmentError> {
        let entries = mirror.list_tree(tree).await?;
        let (mut files, mut whole, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for (file, entry) in seen(spec, &entries) {
            if file.content.is_some() {
                whole.push(entry.clone());
            } else {
                names.push((TreeEntry { mode: EntryMode::File, ..entry.clone() }, Vec::new()));
            }
            files.push(file);
        }
        let bytes: u64 = whole.iter().filter_map(|entry| entry.bytes).sum();
        if files.len() > INPUTS_MAX || bytes > INPUT_BYTES_MAX as u64 {
            let why = format!(
                "its `inputs` and `names` are {} files with {} MiB, and {INPUTS_MAX} files with {} MiB are the most",
                files.len(),
                bytes >> 20,
                INPUT_BYTES_MAX >> 20
            );
            return Ok(Err(why));
        }
        let blobs: Vec<ObjectId> = whole.iter().map(|entry| entry.oid.clone()).collect();
        let texts = mirror.read_blobs(&blobs, INPUT_BYTES_MAX).await?;
        let laid = whole.into_iter().zip(texts).chain(names).collect();
        Ok(Ok(Self { files, laid }))
    }

    fn lay_out(&self, dir: &Path) -> io::Result<()> {
        for (entry, bytes) in &self.laid {
            let path = dir.join(entry.path.as_path());
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            if entry.mode == EntryMode::Symlink {
                use std::os::unix::ffi::OsStrExt as _;
                symlink(OsStr::from_bytes(bytes), &path)?;
                continue;
            }
            fs::write(&path, bytes)?;
            if entry.mode == EntryMode::Executable {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
            }
        }
        Ok(())
    }

    /// The first of them that is not as it was laid out.
    fn changed(&self, dir: &Path) -> Option<String> {
        // Through a link in a folder's place, what is done to an input would be done to another file.
        let is_plain = |folder: &Path| dir.join(folder).symlink_metadata().is_ok_and(|found| found.is_dir());
        let is_same = |entry: &TreeEntry, bytes: &[u8]| -> io::Result<bool> {
            if !entry.path.as_path().ancestors().skip(1).all(is_plain) {
                return Ok(false);
            }
            let path = dir.join(entry.path.as_path());
            let found = path.symlink_metadata()?;
            if entry.mode == EntryMode::Symlink {
                return Ok(found.is_symlink() && fs::read_link(&path)?.as_os_str().as_encoded_bytes() == bytes);
            }
            Ok(found.is_file() && found.len() == bytes.len() as u64 && fs::read(&path)? == bytes)
        };
        let mut changed = self.laid.iter().filter(|(entry, bytes)| !is_same(entry, bytes).unwrap_or(false));
        changed.next().map(|(entry, _)| entry.path.to_string())
    }

    /// Leaves what the setup made.
    fn take_away(&self, dir: &Path) -> io::Result<()> {
        let mut folders = BTreeSet::new();
        for (entry, _) in &self.laid {
            fs::remove_file(dir.join(entry.path.as_path()))?;
            folders.extend(entry.path.as_path().ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()));
        }
        // The deepest first; those with something in them are the setup's.
        for folder in folders.iter().rev() {
            match fs::remove_dir(dir.join(folder)) {
                Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}
