//! The observer as cargo's runner: `cargo test` and `cargo nextest run` start every test program through it.
//!
//! libtest can load nothing of ours. But it lists its tests, in a process of its own, and writes what becomes of each into
//! a file that it is given: here the end of a pipe. So the observer knows which tests there are, hears of each one at the
//! time it is done, apart from what is printed, and from the kernel how the process ended. A run whose listed tests were not
//! all heard of has no end mark: the code under test ended it.

mod log;

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read},
    os::unix::{ffi::OsStrExt, net::UnixStream, process::CommandExt},
    path::Path,
    process::{Command, ExitStatus},
};

use log::Log;

use super::{
    LIBTEST, NEXTEST, OWN_PROGRAM,
    inside::{begin, finish, tell},
    writing::{Given, printed},
};

/// Texts that libtest has, and other programs do not: without them nothing is known of a program's options.
const LIBTEST_TEXTS: [&str; 2] = ["RUST_TEST_SHUFFLE_SEED", "Write logs to the specified file"];
/// Names to a program of doc tests that rustdoc built together where it is, so that each runs in a process of its own. Rustdoc
/// leaves it out where there is a runner.
const TOGETHER: &str = "RUSTDOC_DOCTEST_BIN_PATH";
/// Arguments with which a program runs nothing.
const NOTHING_RUNS: [&str; 3] = ["--list", "--help", "-h"];
/// Names to programs below nextest that they are.
const BELOW_NEXTEST: &str = "NEXTEST";
/// Bytes of a program that are looked at at once.
const LOOKED_AT: usize = 1 << 20;

/// The variables by which cargo finds the observer as its runner, for the machine's own targets.
#[must_use]
pub fn runner_variables() -> [String; 2] {
    let machine = std::env::consts::ARCH.to_uppercase();
    ["GNU", "MUSL"].map(|library| format!("CARGO_TARGET_{machine}_UNKNOWN_LINUX_{library}_RUNNER"))
}

/// What is to be done with a program.
enum Kind {
    /// Nothing is heard of it.
    Unheard,
    /// Its end is heard.
    Own,
    /// All is heard.
    Libtest,
}

/// Runs a program that cargo starts. Processes that it starts are the program's own, and not heard.
pub(super) fn watch(socket: &Path, program: &OsStr, args: &[OsString]) -> io::Result<ExitStatus> {
    let below_nextest = std::env::var_os(BELOW_NEXTEST).is_some_and(|is| is == "1");
    let mut command = child(program);
    command.args(args);
    let name = match kind(Path::new(program), args, &mut command)? {
        Kind::Unheard => return Err(command.exec()),
        Kind::Own => OWN_PROGRAM,
        Kind::Libtest if below_nextest => NEXTEST,
        Kind::Libtest => LIBTEST,
    };
    let Some(mut line) = begin(socket, name)? else { return Err(command.exec()) };
    let status = if name == OWN_PROGRAM {
        command.status()?
    } else {
        tell(&mut line, "armed");
        let only = args.iter().skip_while(|arg| *arg != "--exact").nth(1).filter(|_| below_nextest);
        let log = match only {
            // Nextest has listed them.
            Some(only) => Log::of_one(&only.to_string_lossy()),
            None => Log::of_list(&list(program, args)?),
        };
        logged(command, log, &mut line)?
    };
    finish(&mut line, status);
    Ok(status)
}

/// A program as it would be without the observer.
fn child(program: &OsStr) -> Command {
    let mut command = Command::new(program);
    for variable in runner_variables() {
        command.env_remove(variable);
    }
    command
}

fn kind(program: &Path, args: &[OsString], command: &mut Command) -> io::Result<Kind> {
    let folder = program.parent().and_then(Path::file_name).unwrap_or_default();
    let is_documentation = folder.as_bytes().starts_with(b"rustdoctest");
    if is_documentation {
        if has_all(program, &[TOGETHER])? {
            command.env(TOGETHER, program);
        }
        return Ok(Kind::Unheard);
    }
    if args.iter().any(|arg| NOTHING_RUNS.iter().any(|nothing| arg == nothing)) {
        return Ok(Kind::Unheard);
    }
    let logs = args.iter().any(|arg| arg.as_bytes().starts_with(b"--logfile"));
    Ok(if !logs && has_all(program, &LIBTEST_TEXTS)? {
        Kind::Libtest
    } else if folder == "deps" {
        Kind::Own
    } else {
        // `cargo run`.
        Kind::Unheard
    })
}

/// Whether all texts are in a file.
fn has_all(path: &Path, texts: &[&str]) -> io::Result<bool> {
    let overlap = texts.iter().map(|text| text.len()).max().unwrap_or_default();
    let mut file = File::open(path)?;
    let mut missing: Vec<&str> = texts.to_vec();
    let mut bytes = Vec::new();
    loop {
        let kept = bytes.len().min(overlap);
        bytes.drain(..bytes.len() - kept);
        if Read::by_ref(&mut file).take(LOOKED_AT as u64).read_to_end(&mut bytes)? == 0 {
            return Ok(false);
        }
        missing.retain(|text| memchr::memmem::find(&bytes, text.as_bytes()).is_none());
        if missing.is_empty() {
            return Ok(true);
        }
    }
}

/// What a program lists with the filters that it is given.
fn list(program: &OsStr, args: &[OsString]) -> io::Result<Vec<u8>> {
    let mut command = child(program);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_bytes() {
            // How it is shown is for nobody to see.
            b"-q" | b"--quiet" => {}
            b"--format" => drop(args.next()),
            shown if shown.starts_with(b"--format=") => {}
            _ => {
                command.arg(arg);
            }
        }
    }
    command.arg("--list");
    Ok(printed(command)?.unwrap_or_default())
}

/// Runs a program of libtest's with a log, and says what becomes of its tests.
fn logged(mut command: Command, mut log: Log, line: &mut UnixStream) -> io::Result<ExitStatus> {
    let given = Given::new()?;
    command.arg("--logfile").arg(given.path());
    let status = given.written(command, |bytes| log.take(bytes, |message| tell(line, message)))?;
    if let Some(code) = log.end() {
        tell(line, &format!("end {code}"));
    }
    Ok(status)
}
