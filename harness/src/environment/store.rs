//! Layers by key: what setups made, each by one maker at a time and never changed after.
//!
//! ```text
//! <dir>/<key>/work    what the setup made in the tree
//!            /home    its home, with all caches
//!            /build   what it compiled
//!            /made    how much that is; written last, its time says when the layer was used last
//! <dir>/<key>.lock    held by its maker alone, or shared by all who use it
//! <dir>/lock          held by who removes layers
//! ```

use std::{
    collections::BTreeSet,
    fs::{self, File, TryLockError},
    io,
    ops::Bound,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use holdpoint_evidence::environment::BUILD_CACHE;
use holdpoint_protocol::Digest;
use holdpoint_sandbox::tree::{remove_leftovers, remove_tree};
use serde::{Deserialize, Serialize};

/// Bytes of all layers on a machine, but for those in use.
const STORE_BYTES_MAX: u64 = 20 << 30;
/// How long a layer stays that nobody uses.
const UNUSED_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Bytes and entries of one layer.
pub const LAYER_BYTES_MAX: u64 = 8 << 30;
const LAYER_ENTRIES_MAX: u64 = 1_000_000;
/// The pause between two looks at a lock.
const LOCK_PAUSE: Duration = Duration::from_millis(50);
const MADE: &str = "made";
const FOLDERS: [&str; 3] = ["work", "home", "build"];
/// How long after it was made a file of Go's cache counts as changed. Go removes files that are five days old and marks those that it
/// uses after an hour: over a layer, the former loses them and the latter copies them.
const CACHED: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// Where layers are.
#[derive(Debug, Clone)]
pub(super) struct LayerStore {
    dir: PathBuf,
}

/// What is there under a key.
pub(super) enum LayerSlot {
    /// A layer, ready for use.
    Known(Layer),
    /// Nothing: who has this makes it.
    Vacant(Vacancy),
}

/// A layer that is to be made.
pub(super) struct Vacancy {
    dir: PathBuf,
    key: Digest,
    lock: File,
}

/// A layer in use: it stays as long as this lives.
#[derive(Debug, Clone)]
pub struct Layer {
    dir: PathBuf,
    key: Digest,
    _lock: Arc<File>,
}

/// The size of a layer.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Size {
    bytes: u64,
    entries: u64,
}

impl Layer {
    /// A layer in a folder that is no store's: nothing else uses it, and nobody keeps it.
    ///
    /// # Errors
    /// The folder cannot be used.
    pub(super) fn given(dir: &Path) -> io::Result<Self> {
        for folder in FOLDERS {
            fs::create_dir_all(dir.join(folder))?;
        }
        let key = Digest::of(dir.as_os_str().as_encoded_bytes());
        Ok(Self { dir: dir.canonicalize()?, key, _lock: Arc::new(File::open(dir)?) })
    }

    /// Its key.
    #[must_use]
    pub fn key(&self) -> &Digest {
        &self.key
    }

    /// What the setup made in the tree.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.dir.join("work")
    }

    /// The home of the setup.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.dir.join("home")
    }

    /// What the setup compiled.
    #[must_use]
    pub fn build(&self) -> PathBuf {
        self.dir.join("build")
    }

    /// The outermost paths of it that have no tracked file in them.
    ///
    /// # Errors
    /// A folder cannot be listed.
    pub fn places(&self, tracked: &BTreeSet<&str>) -> io::Result<Vec<String>> {
        let (mut places, mut folders) = (Vec::new(), vec![PathBuf::new()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(self.work().join(&folder))? {
                let entry = entry?;
                let path = folder.join(entry.file_name());
                let Some(text) = path.to_str() else { continue };
                let below = format!("{text}/");
                let shared = tracked.range::<str, _>((Bound::Included(below.as_str()), Bound::Unbounded)).next();
                let shared = shared.is_some_and(|next| next.starts_with(&below));
                if shared && entry.file_type()?.is_dir() {
                    folders.push(path);
                } else if !tracked.contains(text) {
                    places.push(text.to_owned());
                }
            }
        }
        places.sort();
        Ok(places)
    }
}

impl LayerStore {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// The layer with this key, once nobody makes it any more.
    pub(super) async fn take(&self, key: &Digest) -> io::Result<LayerSlot> {
        fs::create_dir_all(&self.dir)?;
        let dir = self.dir.canonicalize()?.join(key.hex());
        let path = dir.with_extension("lock");
        loop {
            let lock = File::options().create(true).truncate(false).write(true).open(&path)?;
            match lock.try_lock_shared() {
                Ok(()) if is_made(&dir) => {
                    // Who removes layers goes by it.
                    let used = File::options().write(true).open(dir.join(MADE))?.set_modified(SystemTime::now());
                    used?;
                    return Ok(LayerSlot::Known(Layer { dir, key: *key, _lock: Arc::new(lock) }));
                }
                Ok(()) => lock.unlock()?,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
            match lock.try_lock() {
                Ok(()) if is_made(&dir) => {}
                Ok(()) => {
                    self.removing(|| remove_tree(&dir))?;
                    for folder in FOLDERS {
                        fs::create_dir_all(dir.join(folder))?;
                    }
                    return Ok(LayerSlot::Vacant(Vacancy { dir, key: *key, lock }));
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_PAUSE).await,
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// Whether there is a layer with this key.
    pub(super) fn is_known(&self, key: &Digest) -> bool {
        is_made(&self.dir.join(key.hex()))
    }

    /// Removes layers that nobody used for long, and of others the least recently used, until all fit.
    pub(super) fn make_room(&self) -> io::Result<()> {
        self.make_room_within(STORE_BYTES_MAX, UNUSED_MAX)
    }

    fn make_room_within(&self, most: u64, unused: Duration) -> io::Result<()> {
        let mut layers = Vec::new();
        for entry in fs::read_dir(&self.dir)?.flatten() {
            let made = entry.path().join(MADE);
            let Some(size) = fs::read(&made).ok().and_then(|text| serde_json::from_slice::<Size>(&text).ok()) else {
                continue;
            };
            layers.push((made.metadata()?.modified()?, entry.path(), size.bytes));
        }
        layers.sort();
        let mut sum: u64 = layers.iter().map(|(_, _, bytes)| bytes).sum();
        for (used, dir, bytes) in layers {
            // A time that is to come is that of another clock.
            let is_old = used.elapsed().is_ok_and(|since| since > unused);
            if sum <= most && !is_old {
                break;
            }
            let lock = File::options().write(true).open(dir.with_extension("lock"))?;
            if lock.try_lock().is_ok() {
                self.removing(|| fs::remove_file(dir.join(MADE)).and_then(|()| remove_tree(&dir)))?;
                sum = sum.saturating_sub(bytes);
            }
        }
        Ok(())
    }

    /// Removes something as the only one who does.
    fn removing(&self, remove: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let lock = File::options().create(true).truncate(false).write(true).open(self.dir.join("lock"))?;
        lock.lock()?;
        remove_leftovers(&self.dir)?;
        remove()
    }
}

impl Vacancy {
    /// The folder of the layer.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn work(&self) -> PathBuf {
        self.dir.join("work")
    }

    pub(super) fn home(&self) -> PathBuf {
        self.dir.join("home")
    }

    pub(super) fn build(&self) -> PathBuf {
        self.dir.join("build")
    }

    /// What is there is the layer, if it may be one; the inner error says why not.
    pub(super) fn done(self) -> io::Result<Result<Layer, String>> {
        let size = match measured(&FOLDERS.map(|folder| self.dir.join(folder)))? {
            Ok(size) => size,
            Err(why) => return Ok(Err(why)),
        };
        keep_new(&self.build().join(BUILD_CACHE.1), SystemTime::now() + CACHED)?;
        let made = self.dir.join("making");
        fs::write(&made, serde_json::to_vec(&size)?)?;
        fs::rename(&made, self.dir.join(MADE))?;
        // Shared from now on. Who takes it alone in between finds that it is made.
        self.lock.unlock()?;
        self.lock.lock_shared()?;
        Ok(Ok(Layer { dir: self.dir, key: self.key, _lock: Arc::new(self.lock) }))
    }
}

/// Gives all files below a folder a time of change, if it is there.
fn keep_new(root: &Path, time: SystemTime) -> io::Result<()> {
    let mut folders: Vec<PathBuf> =
        root.symlink_metadata().is_ok_and(|found| found.is_dir()).then(|| root.to_owned()).into_iter().collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                File::open(entry.path())?.set_modified(time)?;
            }
        }
    }
    Ok(())
}

fn is_made(dir: &Path) -> bool {
    dir.join(MADE).is_file()
}

/// How much is in these folders; the inner error names what a layer must not have.
fn measured(folders: &[PathBuf]) -> io::Result<Result<Size, String>> {
    let (mut size, mut folders) = (Size::default(), folders.to_vec());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let found = entry.metadata()?;
            size.entries += 1;
            size.bytes += found.blocks() * 512;
            if size.entries > LAYER_ENTRIES_MAX {
                return Ok(Err(format!("it left more than {LAYER_ENTRIES_MAX} files")));
            }
            if size.bytes > LAYER_BYTES_MAX {
                return Ok(Err(format!("it left more than {} GiB", LAYER_BYTES_MAX >> 30)));
            }
            if found.is_dir() {
                folders.push(entry.path());
            } else if !found.is_file() && !found.is_symlink() {
                return Ok(Err(format!(
                    "it left {}, which is neither a file nor a folder nor a link",
                    entry.path().display()
                )));
            }
        }
    }
    Ok(Ok(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn vacancy(store: &LayerStore, key: &Digest) -> Vacancy {
        match store.take(key).await.unwrap() {
            LayerSlot::Vacant(vacancy) => vacancy,
            LayerSlot::Known(_) => panic!("it is made already"),
        }
    }

    async fn made(store: &LayerStore, name: &str) -> (Digest, Layer) {
        let key = Digest::of(name.as_bytes());
        let vacancy = vacancy(store, &key).await;
        fs::create_dir_all(vacancy.work().join("packages/a/node_modules/x")).unwrap();
        fs::create_dir_all(vacancy.work().join("node_modules")).unwrap();
        fs::write(vacancy.home().join("cache"), vec![1; 1 << 20]).unwrap();
        (key, vacancy.done().unwrap().unwrap())
    }

    #[tokio::test]
    async fn a_layer_is_made_by_one_while_others_wait_and_is_known_to_all_after() {
        let temp = tempfile::tempdir().unwrap();
        let store = LayerStore::new(temp.path().join("environments"));
        let key = Digest::of(b"key");
        let first = vacancy(&store, &key).await;
        let waiting = {
            let store = store.clone();
            tokio::spawn(async move { matches!(store.take(&key).await.unwrap(), LayerSlot::Known(_)) })
        };
        fs::write(first.work().join("a"), "a").unwrap();
        assert!(!waiting.is_finished());
        let layer = first.done().unwrap().unwrap();
        assert!(waiting.await.unwrap() && fs::read(layer.work().join("a")).unwrap() == b"a");
        let tracked = BTreeSet::from(["packages/a/package.json", "src/a.js"]);
        let (_, layer) = made(&store, "other").await;
        assert_eq!(layer.places(&tracked).unwrap(), ["node_modules", "packages/a/node_modules"]);
    }

    #[tokio::test]
    async fn what_was_compiled_counts_as_new_for_as_long_as_the_layer_may_last() {
        let temp = tempfile::tempdir().unwrap();
        let store = LayerStore::new(temp.path().to_owned());
        let vacancy = vacancy(&store, &Digest::of(b"key")).await;
        for file in ["go/00/a", "other"] {
            let path = vacancy.build().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let layer = vacancy.done().unwrap().unwrap();
        let in_years = SystemTime::now() + CACHED / 2;
        let is_new = |file: &str| layer.build().join(file).metadata().unwrap().modified().unwrap() > in_years;
        assert!(is_new("go/00/a") && !is_new("other"));
    }

    #[tokio::test]
    async fn what_a_maker_left_that_did_not_come_to_its_end_is_no_layer() {
        let temp = tempfile::tempdir().unwrap();
        let store = LayerStore::new(temp.path().to_owned());
        let key = Digest::of(b"key");
        let broken = vacancy(&store, &key).await;
        fs::write(broken.work().join("half"), "").unwrap();
        drop(broken);
        let again = vacancy(&store, &key).await;
        assert!(!again.work().join("half").exists());
        let _socket = std::os::unix::net::UnixListener::bind(again.home().join("socket")).unwrap();
        let why = again.done().unwrap().unwrap_err();
        assert!(why.contains("socket, which is neither a file"), "{why}");
    }

    #[tokio::test]
    async fn the_least_recently_used_layers_go_and_none_that_is_in_use() {
        let temp = tempfile::tempdir().unwrap();
        let store = LayerStore::new(temp.path().to_owned());
        let (used, in_use) = made(&store, "used").await;
        let mut keys = Vec::new();
        for name in ["old", "newer"] {
            let (key, layer) = made(&store, name).await;
            let age = if name == "old" { 60 } else { 30 };
            let file = File::options().write(true).open(layer.dir.join(MADE)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
            keys.push(key);
        }
        store.make_room_within(2 << 20 | 64 << 10, UNUSED_MAX).unwrap();
        let is_known = |key: &Digest| temp.path().join(key.hex()).join(MADE).exists();
        assert!(is_known(&used) && !is_known(&keys[0]) && is_known(&keys[1]));
        store.make_room_within(0, UNUSED_MAX).unwrap();
        assert!(is_known(&used) && !is_known(&keys[1]));
        drop(in_use);
        store.make_room_within(0, UNUSED_MAX).unwrap();
        assert!(!is_known(&used));
    }

    #[tokio::test]
    async fn a_layer_that_nobody_used_for_long_goes_though_there_is_room() {
        let temp = tempfile::tempdir().unwrap();
        let store = LayerStore::new(temp.path().to_owned());
        let mut keys = Vec::new();
        for (name, age) in [("old", UNUSED_MAX + Duration::from_secs(60)), ("newer", UNUSED_MAX / 2)] {
            let (key, layer) = made(&store, name).await;
            let file = File::options().write(true).open(layer.dir.join(MADE)).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
            keys.push(key);
        }
        store.make_room().unwrap();
        assert_eq!(keys.iter().map(|key| store.is_known(key)).collect::<Vec<_>>(), [false, true]);
    }
}
