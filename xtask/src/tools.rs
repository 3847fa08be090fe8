//! What a build and its tests need besides Rust: git, a nats-server, a Python for the example agents, go, Compose, Prometheus, what
//! checks manifests of Kubernetes, and a browser.

pub(crate) mod agents;
pub(crate) mod browser;
mod compose;
mod go;
mod kubernetes;
mod prometheus;
mod python;
mod server;
mod version;
mod wheel;

use std::path::PathBuf;

use anyhow::bail;

use crate::layout::Layout;
use crate::process;
use crate::tools::version::Version;

/// `git merge-tree --write-tree` came with it.
const GIT_OLDEST: Version = Version(2, 38, 0);

/// The environment variable that names the nats-server that tests and the product start.
pub(crate) const SERVER_VARIABLE: &str = "HOLDPOINT_NATS_SERVER";

/// What was found.
pub(crate) struct Tools {
    /// Absolute path of a nats-server of an accepted version.
    pub(crate) nats_server: PathBuf,
}

/// Checks git, finds or gets a nats-server and the example agents' Python, and prints what it found.
pub(crate) fn prepare(layout: &Layout) -> anyhow::Result<Tools> {
    let git = git_version(layout)?;
    println!("git          {git}");
    let (nats_server, version) = server::find_or_get(layout)?;
    println!("nats-server  {version}  {}", nats_server.display());
    println!("python       {}", python::find_or_get(layout)?.display());
    match prometheus::find_or_get(layout) {
        Ok(folder) => println!("prometheus   {}", folder.join("prometheus").display()),
        // The tests that need it say so.
        Err(error) => println!("prometheus   {error:#}"),
    }
    match kubernetes::find_or_get(layout) {
        Ok(program) => println!("kubernetes   {}", program.display()),
        // The tests of manifests need it, which say so.
        Err(error) => println!("kubernetes   {error:#}"),
    }
    match browser::find_or_get(layout) {
        Ok(folder) => println!("browser      {}", folder.join("chromium").display()),
        // As above.
        Err(error) => println!("browser      {error:#}"),
    }
    Ok(Tools { nats_server })
}

/// The same, and what tests alone need: go, and Compose.
pub(crate) fn prepare_for_tests(layout: &Layout) -> anyhow::Result<Tools> {
    let tools = prepare(layout)?;
    println!("go           {}", go::find_or_get(layout)?.join("first/go").display());
    match compose::find_or_get(layout) {
        Ok(program) => println!("compose      {}", program.display()),
        // The tests of containers use another one, or say that there is none.
        Err(error) => println!("compose      {error:#}"),
    }
    Ok(tools)
}

fn git_version(layout: &Layout) -> anyhow::Result<Version> {
    let remedy = format!("Holdpoint needs git {GIT_OLDEST} or newer: install it (Debian: apt-get install git).");
    let words = process::output(&mut process::command("git", &["--version"], &layout.root), &remedy)?;
    match Version::find_in(&words) {
        Some(version) if version >= GIT_OLDEST => Ok(version),
        Some(version) => bail!("git {version} is too old\n{remedy}"),
        None => bail!("`git --version` answered {words:?}, which holds no version\n{remedy}"),
    }
}
