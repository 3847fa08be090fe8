//! A browser with its driver, and axe-core: the console's pages are tested with them, and pictures of them taken. Nothing
//! else needs them.
//!
//! All of it is in `target/tools/browser`: `chromedriver` and `chromium`, scripts that start those on `PATH` where both are there in
//! one version, or Debian's packages, unpacked there with the libraries that this machine lacks; and `axe.min.js`. Nothing is
//! installed.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};

use super::version::Version;
use super::wheel::installed;
use crate::files::{entries, remove};
use crate::layout::Layout;
use crate::process;

/// The programs, as tests start them.
const PROGRAMS: [&str; 2] = ["chromium", "chromedriver"];
/// Where Debian's packages have them. `chromium` is the browser itself: the script of that name reads the user's settings.
const UNPACKED: [&str; 2] = ["usr/lib/chromium/chromium", "usr/bin/chromedriver"];
/// Debian's packages that have them, and a font: some 130 MB with what they stand on, 420 MB unpacked.
const PACKAGES: [&str; 3] = ["chromium", "chromium-driver", "fonts-dejavu-core"];
/// The wheel that has axe-core, with the digest of the file that is accepted.
const REQUIREMENTS: &str = "xtask/browser.txt";
/// A copy of the requirements says that all is there.
const DONE: &str = "browser.txt";
const REMEDY: &str = "The tests of the console need `chromium` and `chromedriver`. They come from Debian's packages (apt-get update, then \
                      try again), or are on PATH; axe-core needs python3 with pip and a way to the Python package index.";

/// The folder that has all; it is put there where it is not.
///
/// # Errors
/// It cannot be had here; what to do.
pub(crate) fn find_or_get(layout: &Layout) -> anyhow::Result<PathBuf> {
    let requirements = layout.root.join(REQUIREMENTS);
    let wanted = fs::read(&requirements).with_context(|| format!("failed to read {}", requirements.display()))?;
    let folder = layout.tools().join("browser");
    if fs::read(folder.join(DONE)).is_ok_and(|text| text == wanted) {
        return Ok(folder);
    }
    let began = Instant::now();
    println!("browser      none here: getting chromium and axe-core (130 MB)");
    remove(&folder)?;
    fs::create_dir_all(&folder).with_context(|| format!("failed to create {}", folder.display()))?;
    match on_path() {
        Some(found) => {
            for (program, path) in PROGRAMS.iter().zip(found) {
                script(&folder.join(program), &path, "")?;
            }
        }
        None => from_packages(&folder)?,
    }
    for program in PROGRAMS {
        let said = process::output(&mut process::command(folder.join(program), &["--version"], &folder), REMEDY)?;
        ensure!(said.to_lowercase().contains("chrom"), "{program} answered {said:?}\n{REMEDY}");
    }
    axe(&requirements, &folder)?;
    // Last: a folder that was left half made is made again.
    fs::write(folder.join(DONE), wanted).with_context(|| format!("failed to write {DONE}"))?;
    println!("browser      had in {:.0} s", began.elapsed().as_secs_f64());
    Ok(folder)
}

/// Both programs, where both are on `PATH` and of one version.
fn on_path() -> Option<[PathBuf; 2]> {
    let path = std::env::var_os("PATH")?;
    let find = |program: &str| std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file());
    let [browser, driver] = PROGRAMS.map(find);
    let (browser, driver) = (browser?, driver?);
    let version = |program: &Path| {
        Version::find_in(&process::output(&mut process::command(program, &["--version"], Path::new("/")), "").ok()?)
    };
    (version(&browser)? == version(&driver)?).then_some([browser, driver])
}

/// Has apt download the packages and what this machine lacks of their surroundings, and unpacks them.
fn from_packages(folder: &Path) -> anyhow::Result<()> {
    let simulated = ["install", "--simulate", "--no-install-recommends"];
    // In the words of no language but apt's own.
    let mut simulate = process::command("apt-get", &[simulated.as_slice(), &PACKAGES].concat(), folder);
    let said = process::output(simulate.env("LC_ALL", "C"), REMEDY)?;
    let lacking = said.lines().filter_map(|line| line.strip_prefix("Inst ")?.split_whitespace().next());
    // Of the packages that are installed, too: a browser without its driver is no use, and a driver drives its own version only.
    let packages: BTreeSet<&str> = PACKAGES.into_iter().chain(lacking).collect();
    let scratch = folder.join("download");
    fs::create_dir_all(&scratch).with_context(|| format!("failed to create {}", scratch.display()))?;
    // apt checks what it gets by the archive's signatures; its scripts are not run.
    let download: Vec<&str> = ["download", "--quiet"].into_iter().chain(packages).collect();
    process::output(&mut process::command("apt-get", &download, &scratch), REMEDY)?;
    let to = folder.join("unpacked");
    for package in entries(&scratch)?.iter().filter(|path| path.extension().is_some_and(|end| end == "deb")) {
        let (from, to) = (package.to_string_lossy(), to.to_string_lossy());
        process::output(&mut process::command("dpkg-deb", &["-x", from.as_ref(), to.as_ref()], &scratch), REMEDY)?;
    }
    remove(&scratch)?;
    let fonts = folder.join("fonts.conf");
    fs::write(&fonts, fonts_of(&to)).with_context(|| format!("failed to write {}", fonts.display()))?;
    let libraries: Vec<String> = libraries(&to)?.iter().map(|dir| quoted(dir)).collect();
    let mut surroundings = format!("export FONTCONFIG_FILE={}\n", quoted(&fonts));
    if !libraries.is_empty() {
        let _ = writeln!(surroundings, "export LD_LIBRARY_PATH={}", libraries.join(":"));
    }
    for (program, path) in PROGRAMS.iter().zip(UNPACKED) {
        script(&folder.join(program), &to.join(path), &surroundings)?;
    }
    Ok(())
}

/// Where the packages have libraries: the architecture's folders, and those in them whose libraries are found by a path
/// that is written into others.
fn libraries(unpacked: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for place in ["usr/lib", "lib"] {
        let place = unpacked.join(place);
        if !place.is_dir() {
            continue;
        }
        for dir in entries(&place)?.into_iter().filter(|dir| dir.to_string_lossy().ends_with("-linux-gnu")) {
            let private = dir.join("pulseaudio");
            found.push(dir);
            found.extend(Some(private).filter(|dir| dir.is_dir()));
        }
    }
    Ok(found)
}

/// The fonts of the packages, next to those of the machine.
fn fonts_of(unpacked: &Path) -> String {
    let own = unpacked.join("usr/share/fonts").display().to_string().replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<?xml version=\"1.0\"?>\n<!DOCTYPE fontconfig SYSTEM \"fonts.dtd\">\n<fontconfig>\n<dir>/usr/share/fonts</dir>\n\
         <dir>{own}</dir>\n<cachedir prefix=\"xdg\">fontconfig</cachedir>\n\
         <include ignore_missing=\"yes\">/etc/fonts/conf.d</include>\n</fontconfig>\n"
    )
}

/// A script that starts a program in these surroundings.
fn script(at: &Path, program: &Path, surroundings: &str) -> anyhow::Result<()> {
    if !program.is_file() {
        bail!("there is no {}\n{REMEDY}", program.display());
    }
    let text = format!("#!/bin/sh\n{surroundings}exec {} \"$@\"\n", quoted(program));
    fs::write(at, text).with_context(|| format!("failed to write {}", at.display()))?;
    fs::set_permissions(at, fs::Permissions::from_mode(0o755)).context("failed to make a script executable")
}

/// A path in a shell's words.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

/// Takes the one file out of the wheel; nothing of the wheel is run.
fn axe(requirements: &Path, folder: &Path) -> anyhow::Result<()> {
    let scratch = folder.join("axe");
    installed(requirements, &scratch, &["--only-binary=:all:"], REMEDY)?;
    let file = "axe.min.js";
    fs::rename(scratch.join("axe_playwright_python").join(file), folder.join(file))
        .with_context(|| format!("the wheel has no {file}"))?;
    remove(&scratch)
}
