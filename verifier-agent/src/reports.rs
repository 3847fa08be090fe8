//! What a run of a check leaves in files: reports in JUnit's XML of Maven and Gradle and CTest's log in the tree, and pytest's
//! report where it is asked for one.
//!
//! The work under review wrote them. Only plain files that are newer than the run's begin are read, each of them and all of them
//! up to a bound; what they say is read by `holdpoint_evidence::runners`.

use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::Read as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

use holdpoint_evidence::runners::{ReportTexts, Runner};

use crate::{error::VerifyError, folder::make_dir};

/// The longest report that is read, in bytes, and the most reports and entries of folders of one run.
const REPORT_BYTES_MAX: u64 = 8 << 20;
const REPORTS_MAX: usize = 4_000;
const ENTRIES_MAX: usize = 200_000;
/// Folders between the root of a tree and a report: modules of a project may lie deep.
const DEPTH_MAX: usize = 10;
/// Folders that hold reports, below those that build tools write to.
const FOLDERS: [(&str, &str); 3] =
    [("target", "surefire-reports"), ("target", "failsafe-reports"), ("build", "test-results")];
/// CTest's log, in a build folder. It has all that programs printed.
const CTEST_LOG: &str = "Testing/Temporary/LastTest.log";
const LOG_BYTES_MAX: u64 = 64 << 20;
/// The folder of those that are asked for.
const FOLDER: &str = "reports";
/// Has options of pytest.
const OF_PYTEST: &str = "PYTEST_ADDOPTS";

/// Where the reports of one run are.
#[derive(Debug)]
pub(crate) struct Reports {
    folder: PathBuf,
    begun: SystemTime,
}

impl Reports {
    /// Has pytest write below the run's folder for temporary files: as it is here, and as they find it.
    pub(crate) fn asked_for(tmp: &Path, seen: &Path, env: &mut BTreeMap<String, String>) -> Result<Self, VerifyError> {
        let folder = tmp.join(FOLDER);
        make_dir(&folder)?;
        // By the clock that files have: the system's is ahead of it by up to a tick.
        let begun = fs::metadata(&folder).and_then(|data| data.modified());
        let begun = begun.map_err(VerifyError::io("look at", &folder))?;
        let seen = seen.join(FOLDER);
        // Of several runs of pytest the last one's stays.
        let option = format!("--junitxml='{}'", seen.join("pytest.xml").display());
        let before = env.remove(OF_PYTEST).map(|before| before + " ").unwrap_or_default();
        env.insert(OF_PYTEST.to_owned(), before + &option);
        Ok(Self { folder, begun })
    }

    /// What a run on the tree in `dir` left. Its programs have ended.
    pub(crate) fn read(&self, dir: &Path) -> ReportTexts {
        let mut search = Search { begun: self.begun, entries: 0, found: ReportTexts::new() };
        search.folder(&self.folder, 1, Some(Runner::Pytest));
        search.folder(dir, DEPTH_MAX, None);
        search.found
    }
}

struct Search {
    begun: SystemTime,
    entries: usize,
    found: ReportTexts,
}

impl Search {
    /// Looks below a folder, whose `.xml` files may be a runner's reports.
    fn folder(&mut self, folder: &Path, depth: usize, reports_of: Option<Runner>) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut paths: Vec<(PathBuf, fs::FileType)> = Vec::new();
        for entry in entries.flatten() {
            self.entries += 1;
            if self.entries > ENTRIES_MAX {
                return;
            }
            if let Ok(kind) = entry.file_type() {
                paths.push((entry.path(), kind));
            }
        }
        paths.sort_by(|(one, _), (other, _)| one.cmp(other));
        for (path, kind) in paths {
            if kind.is_dir() && depth > 1 && !is_left_out(&path) {
                self.folder(&path, depth - 1, reports_of.or_else(|| is_of_reports(&path).then_some(Runner::Junit)));
            } else if kind.is_file() && path.ends_with(CTEST_LOG) {
                self.report(Runner::GoogleTest, &path, LOG_BYTES_MAX);
            } else if let Some(runner) = reports_of
                && kind.is_file()
                && path.extension().is_some_and(|ending| ending == "xml")
            {
                self.report(runner, &path, REPORT_BYTES_MAX);
            }
        }
    }

    fn report(&mut self, runner: Runner, path: &Path, bytes_max: u64) {
        // What became a link or a pipe since is not followed, and not waited for.
        let flags = (nix::fcntl::OFlag::O_NOFOLLOW | nix::fcntl::OFlag::O_NONBLOCK).bits();
        let Ok(file) = OpenOptions::new().read(true).custom_flags(flags).open(path) else { return };
        let fits = file.metadata().is_ok_and(|data| {
            data.is_file() && data.len() <= bytes_max && data.modified().is_ok_and(|written| written > self.begun)
        });
        let mut text = String::new();
        let room = self.found.values().map(Vec::len).sum::<usize>() < REPORTS_MAX;
        if fits && room && file.take(bytes_max).read_to_string(&mut text).is_ok() {
            self.found.entry(runner).or_default().push(text);
        }
    }
}

/// Folders of dependencies, in which nothing is of this run.
fn is_left_out(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "node_modules" || name == ".git" || name == ".venv")
}

fn is_of_reports(path: &Path) -> bool {
    FOLDERS.iter().any(|(above, name)| path.ends_with(Path::new(above).join(name)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const REPORT: &str = "<testsuite><testcase classname=\"a.B\" name=\"c\"/></testsuite>";

    fn put(path: &Path, written: SystemTime) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, REPORT).unwrap();
        fs::File::options().append(true).open(path).unwrap().set_modified(written).unwrap();
    }

    #[test]
    fn reports_of_this_run_are_read_wherever_build_tools_write_them() {
        let temp = tempfile::tempdir().unwrap();
        let tree = temp.path().join("tree");
        let mut env = BTreeMap::from([(OF_PYTEST.to_owned(), "-q".to_owned())]);
        let reports = Reports::asked_for(temp.path(), Path::new("/hold/tmp"), &mut env).unwrap();
        assert_eq!(env[OF_PYTEST], "-q --junitxml='/hold/tmp/reports/pytest.xml'");
        for path in [
            "target/surefire-reports/TEST-a.B.xml",
            "sub/target/failsafe-reports/TEST-a.B.xml",
            "sub/build/test-results/test/TEST-a.B.xml",
            "other/TEST-a.B.xml",
            "build/Testing/Temporary/LastTest.log",
            "other/LastTest.log",
            "node_modules/x/target/surefire-reports/TEST-a.B.xml",
        ] {
            put(&tree.join(path), reports.begun + SECOND);
        }
        std::os::unix::fs::symlink(tree.join("other/TEST-a.B.xml"), tree.join("target/surefire-reports/link.xml"))
            .unwrap();
        put(&tree.join("target/surefire-reports/TEST-old.xml"), reports.begun);
        put(&reports.folder.join("pytest.xml"), reports.begun + SECOND);
        let found = reports.read(&tree);
        let number = |runner| found.get(&runner).map_or(0, Vec::len);
        assert_eq!([Runner::Junit, Runner::GoogleTest, Runner::Pytest].map(number), [3, 1, 1]);
        let later = Reports { begun: reports.begun + SECOND, ..reports };
        assert!(later.read(&tree).is_empty(), "they are of an earlier run");
    }
}
