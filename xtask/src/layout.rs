//! Where things are in the checkout. Nothing here touches the file system.

use std::path::PathBuf;

use anyhow::Context as _;

/// Folders of this checkout, all absolute.
pub(crate) struct Layout {
    /// The workspace root.
    pub(crate) root: PathBuf,
    /// Cargo's build output; everything that xtask writes is below it.
    pub(crate) target: PathBuf,
}

impl Layout {
    /// Reads the layout from what cargo passes to its children.
    pub(crate) fn find() -> anyhow::Result<Self> {
        let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR").context("start me as `cargo xtask`")?;
        let root = PathBuf::from(manifest_dir).parent().context("xtask is not below a workspace root")?.to_path_buf();
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir));
        Ok(Self { root, target })
    }

    /// Where downloaded tools live.
    pub(crate) fn tools(&self) -> PathBuf {
        self.target.join("tools")
    }

    /// The debug build of the command line tool.
    pub(crate) fn holdpoint(&self) -> PathBuf {
        self.target.join("debug/holdpoint")
    }
}
