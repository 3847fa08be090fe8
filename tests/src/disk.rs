//! A small disk that a test can fill: a file system in memory, seen by the thread that mounted it and by what that thread
//! starts. It goes with them.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
    unistd::geteuid,
};

/// The file that takes the room.
const BALLAST: &str = "ballast";
/// What is written at once.
static BLOCK: [u8; 1 << 16] = [0; 1 << 16];

/// A file system of a few mebibytes.
#[derive(Debug)]
pub struct SmallDisk {
    dir: PathBuf,
}

impl SmallDisk {
    /// Mounts one of so many mebibytes at a folder, which is made. `None`, said aloud, where only root may do that; a run
    /// of every check (`CI=true`) may not go without.
    ///
    /// # Panics
    /// It cannot be mounted, or everything has to be checked and this cannot be.
    #[must_use]
    pub fn mount(dir: &Path, mebibytes: u32) -> Option<Self> {
        if !geteuid().is_root() {
            let why = "NOT RUN: only root can mount a small disk for the tests of full disks";
            assert!(std::env::var_os("CI").is_none(), "{why}");
            let _ = writeln!(std::io::stderr(), "{why}");
            return None;
        }
        fs::create_dir_all(dir).unwrap();
        unshare(CloneFlags::CLONE_NEWNS).expect("a mount namespace of our own");
        let none = None::<&str>;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).expect("mounts that stay ours");
        let options = format!("size={mebibytes}m,mode=0700");
        mount(Some("tmpfs"), dir, Some("tmpfs"), MsFlags::empty(), Some(options.as_str())).expect("a small disk");
        Some(Self { dir: dir.to_owned() })
    }

    /// Takes all the room that is left.
    ///
    /// # Panics
    /// Something else than a lack of room stops it.
    pub fn fill(&self) {
        let mut file = fs::File::options().create(true).append(true).open(self.dir.join(BALLAST)).unwrap();
        for len in [BLOCK.len(), 4096, 1] {
            let full = loop {
                if let Err(error) = file.write_all(&BLOCK[..len]) {
                    break error;
                }
            };
            assert_eq!(full.kind(), std::io::ErrorKind::StorageFull, "{full}");
        }
    }

    /// Takes all the room that is left but for so many bytes.
    ///
    /// # Panics
    /// There is less.
    pub fn fill_but(&self, bytes: u64) {
        self.fill();
        let ballast = fs::File::options().write(true).open(self.dir.join(BALLAST)).unwrap();
        let taken = ballast.metadata().unwrap().len();
        ballast.set_len(taken.checked_sub(bytes).expect("there was more room")).unwrap();
    }

    /// Gives the room back.
    ///
    /// # Panics
    /// It was not taken.
    pub fn free(&self) {
        fs::remove_file(self.dir.join(BALLAST)).unwrap();
    }
}
