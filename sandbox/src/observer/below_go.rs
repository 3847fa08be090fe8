//! The observer as the program of `go test -exec`: go starts the test program of each package through it.
//!
//! A test program of go's says what becomes of its tests on its output alone, which the code under test can write as well.
//! But it lists its tests, in a process of its own, and once its tests are over it writes the profiles that it was asked
//! for: here one of its memory, to a pipe. It costs a collection of garbage, and says that `testing` came to its end. What it
//! ended with says the kernel. So of a run that came to its end with 0 each listed test is known to have been run and not to
//! have failed, or to have been skipped. Of another one nothing is known but that.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read as _},
    os::unix::{ffi::OsStrExt as _, process::CommandExt as _},
    path::Path,
    process::{Command, ExitStatus},
};

use super::{
    GO,
    inside::{begin, finish, tell},
    writing::{Given, printed},
};

/// The option by which a test program writes what its memory was used for, once its tests are over.
const PROFILE: &str = "-test.memprofile=";
/// Options of test programs with which nothing is heard: they run no tests, start more of themselves, or write that profile
/// for somebody else.
const UNHEARD: [&str; 5] = ["-test.list=", PROFILE, "-test.fuzz=", "-test.fuzzworker=", "-test.memprofilerate="];
/// Options by which not all listed tests are run, in ways that only the program knows.
const CHOOSING: [&str; 1] = ["-test.skip="];
/// The tests that are run.
const RUN: &str = "-test.run=";
/// How the names begin of what is run as a test. What begins otherwise is a benchmark, or was printed by something else.
const TESTS: [&str; 3] = ["Test", "Example", "Fuzz"];
/// Bytes of names that are said of one program: of more nothing is said by name, so that many programs can be heard at once.
const NAMES_BYTES_MAX: usize = 128 << 10;
/// How a profile begins, and how short none is.
const COMPRESSED: [u8; 2] = [0x1f, 0x8b];
const PROFILE_BYTES_MIN: u64 = 64;
/// What a program says of how it was built begins like this. Its path stands in the first bytes.
const BUILT: &[u8] = b"\xff Go buildinf:";
const BUILT_BYTES: usize = 8 << 10;
/// Bytes of a program that are looked at at once.
const LOOKED_AT: u64 = 1 << 20;

/// Runs a program that go starts.
pub(super) fn watch(socket: &Path, program: &OsStr, args: &[OsString]) -> io::Result<ExitStatus> {
    let mut command = Command::new(program);
    if !is_run(program, args) {
        return Err(command.args(args).exec());
    }
    let Some(mut line) = begin(socket, GO)? else { return Err(command.args(args).exec()) };
    tell(&mut line, "armed");
    let names = names(program, args)?;
    let mut profile = Profile::default();
    let given = Given::new()?;
    command.arg(format!("{PROFILE}{}", given.path())).args(args);
    let status = given.written(command, |bytes| profile.take(bytes))?;
    if let Some(code) = status.code().filter(|_| profile.is_one()) {
        match names.filter(|_| code == 0) {
            Some(names) => names.iter().for_each(|name| tell(&mut line, &format!("passed {name}"))),
            None => tell(&mut line, "unlisted"),
        }
        tell(&mut line, &format!("end {code}"));
    }
    finish(&mut line, status);
    Ok(status)
}

/// Whether a program runs tests and can say that it came to its end.
fn is_run(program: &OsStr, args: &[OsString]) -> bool {
    let begins = |with: &str| args.iter().any(|arg| arg.as_bytes().starts_with(with.as_bytes()));
    program.as_bytes().ends_with(b".test") && begins("-test.") && !UNHEARD.iter().any(|option| begins(option))
}

/// The tests that a program runs with these arguments, behind its package; `None`: only the program knows them.
fn names(program: &OsStr, args: &[OsString]) -> io::Result<Option<Vec<String>>> {
    let Some(pattern) = pattern(args) else { return Ok(None) };
    let Some(package) = package(Path::new(program))? else { return Ok(None) };
    let mut command = Command::new(program);
    command.arg(format!("-test.list={pattern}")).args(args);
    let list = printed(command)?;
    let names = list.map(|list| listed(&String::from_utf8_lossy(&list), &package));
    Ok(names.filter(|names| names.iter().map(String::len).sum::<usize>() <= NAMES_BYTES_MAX))
}

/// The pattern of the names of tests that are run, where that is all that chooses them.
fn pattern(args: &[OsString]) -> Option<String> {
    let texts: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
    if texts.iter().any(|text| CHOOSING.iter().any(|option| text.starts_with(option))) {
        return None;
    }
    let named = texts.iter().rev().find_map(|text| text.strip_prefix(RUN));
    // Behind a slash it chooses parts of tests.
    named.map_or_else(|| Some(".".to_owned()), |named| (!named.contains('/')).then(|| named.to_owned()))
}

/// The tests of a list, which the program may have printed more into.
fn listed(list: &str, package: &str) -> Vec<String> {
    let is_name = |line: &&str| {
        TESTS.iter().any(|begin| line.starts_with(begin)) && line.chars().all(|c| c == '_' || c.is_alphanumeric())
    };
    list.lines().filter(is_name).map(|name| format!("{package} {name}")).collect()
}

/// The package whose tests are in a program, as the program says how it was built.
fn package(program: &Path) -> io::Result<Option<String>> {
    let mut file = File::open(program)?;
    let mut bytes = Vec::new();
    loop {
        let kept = bytes.len().min(BUILT.len());
        bytes.drain(..bytes.len() - kept);
        if file.by_ref().take(LOOKED_AT).read_to_end(&mut bytes)? == 0 {
            return Ok(None);
        }
        if let Some(at) = memchr::memmem::find(&bytes, BUILT) {
            bytes.drain(..at);
            file.by_ref().take(BUILT_BYTES as u64).read_to_end(&mut bytes)?;
            bytes.truncate(BUILT_BYTES);
            return Ok(package_of(&bytes));
        }
    }
}

/// `path`, a tab, the package with `.test`, and the end of the line.
fn package_of(built: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(built);
    let path = text.split_once("path\t")?.1.split('\n').next()?;
    path.strip_suffix(".test").map(str::to_owned)
}

/// What was written of a profile.
#[derive(Debug, Default)]
struct Profile {
    first: Vec<u8>,
    count: u64,
}

impl Profile {
    fn take(&mut self, bytes: &[u8]) {
        let missing = COMPRESSED.len() - self.first.len();
        self.first.extend(bytes.iter().take(missing));
        self.count += bytes.len() as u64;
    }

    /// Whether it can be one: what is written to all descriptors begins otherwise.
    fn is_one(&self) -> bool {
        self.first == COMPRESSED && self.count >= PROFILE_BYTES_MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn programs_are_heard_that_run_tests_and_write_no_profile_themselves() {
        let of = |program: &str, line: &str| is_run(OsStr::new(program), &words(line));
        assert!(of("/tmp/go-build1/b001/sum.test", "-test.paniconexit0 -test.timeout=10m0s -test.v=true"));
        for line in ["", "-test.list=. -test.v=true", "-test.memprofile=/a", "-test.fuzz=Fuzz"] {
            assert!(!of("/tmp/go-build1/b001/sum.test", line), "{line}");
        }
        assert!(!of("/tmp/go-build1/b001/exe/sum", "-test.v=true"), "`go run`");
    }

    #[test]
    fn names_are_known_where_the_first_part_of_a_pattern_chooses_them() {
        let of = |line: &str| pattern(&words(line));
        assert_eq!(of("-test.v=true").as_deref(), Some("."));
        assert_eq!(of("-test.run=A -test.run=^TestB$").as_deref(), Some("^TestB$"), "the last one counts");
        assert_eq!(of("-test.run=TestB/c"), None);
        assert_eq!(of("-test.skip=TestC"), None);
    }

    #[test]
    fn a_list_has_tests_and_what_was_printed_beside_it() {
        let list = "setting up\nTestAdd\nBenchmarkX\nFuzzIt\nExampleAdd\nTests are fine\n";
        let names = listed(list, "example.com/sum");
        assert_eq!(names, ["example.com/sum TestAdd", "example.com/sum FuzzIt", "example.com/sum ExampleAdd"]);
    }

    #[test]
    fn a_program_says_of_which_package_it_is() {
        let built = b"\xff Go buildinf:\x08\x02\0\x08go1.27.3\x90\x010w\xafpath\texample.com/sum.test\nmod\texample.com/sum\t(devel)\n";
        assert_eq!(package_of(built).as_deref(), Some("example.com/sum"));
        assert_eq!(package_of(b"\xff Go buildinf: nothing"), None);
    }

    #[test]
    fn what_is_no_profile_says_of_no_end() {
        let of = |pieces: &[&[u8]]| {
            let mut profile = Profile::default();
            pieces.iter().for_each(|bytes| profile.take(bytes));
            profile.is_one()
        };
        let rest = [0; PROFILE_BYTES_MIN as usize];
        assert!(of(&[b"\x1f", b"\x8b\x08", &rest]));
        assert!(!of(&[]) && !of(&[b"\x1f\x8b"]) && !of(&[b"passed a\nend 0\n", b"\x1f\x8b", &rest]));
    }
}
