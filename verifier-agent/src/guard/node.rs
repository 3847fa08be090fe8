//! Has the processes of Node's test files say when they are ended before their tests, the process that starts them what becomes
//! of each test, and Jest and Vitest print names.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{put, put_first, put_starter, quoted};
use crate::{error::VerifyError, folder::make_dir};

/// What every Node process of a check loads first.
const MODULE: &str = include_str!("node_end.cjs");
/// What starts `node --test` through the observer, with placeholders.
const STARTER: &str = include_str!("node.sh");
/// What tells the observer of tests, and what prints besides what would be printed without it.
const OBSERVER: &str = include_str!("node_observer.cjs");
const SHOWN: &str = include_str!("node_shown.cjs");
/// Programs that start Node's test runner without naming it, and test runners that are programs of Node's.
const STARTERS: [&str; 8] = ["npm", "npx", "pnpm", "yarn", "corepack", "jest", "vitest", "mocha"];
/// Names options to every Node process.
const VARIABLE: &str = "NODE_OPTIONS";

/// Whether a shell line may run tests with Node.
pub(crate) fn may_test(command: &str) -> bool {
    let mut words = command.split(super::SEPARATORS);
    let name = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    command.contains("--test") && command.contains("node") || words.any(|word| STARTERS.contains(&name(word).as_str()))
}

/// Whether a shell line names `node --test`, which an observer can hear.
pub(crate) fn names_tests(command: &str) -> bool {
    let has = |name: &str| command.split(super::SEPARATORS).any(|word| word == name);
    has("node") && has("--test")
}

/// Writes a starter for node into a folder of its own, and puts it first in `PATH`. Gives what the program has to read.
pub(crate) fn start_through(
    observer: &[PathBuf; 2],
    folder: &Path,
    env: &mut BTreeMap<String, String>,
) -> Result<PathBuf, VerifyError> {
    let (starters, modules) = (folder.join("bin"), folder.join("modules"));
    make_dir(&starters)?;
    make_dir(&modules)?;
    put(&modules.join("node_observer.cjs"), OBSERVER)?;
    put(&modules.join("node_shown.cjs"), SHOWN)?;
    let [program, socket] = observer.each_ref().map(|path| quoted(path));
    let text = STARTER.replace("@MODULES@", &quoted(&modules)).replace("@OBSERVE@", &format!("{program} {socket}"));
    put_starter(&starters, "node", &text)?;
    put_first(&starters, env);
    Ok(folder.to_owned())
}

/// Writes the module into a folder of its own and adds it to the environment of a program. Gives what the program has to
/// read.
pub(crate) fn load_first(folder: &Path, env: &mut BTreeMap<String, String>) -> Result<PathBuf, VerifyError> {
    make_dir(folder)?;
    let module = folder.join("node_end.cjs");
    put(&module, MODULE)?;
    // A word of its own, as Node reads them: with quotes, and a backslash before what would end them.
    let quoted = module.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
    let before = env.remove(VARIABLE).map(|before| before + " ").unwrap_or_default();
    env.insert(VARIABLE.to_owned(), format!("{before}--require=\"{quoted}\""));
    Ok(module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_may_run_nodes_tests_load_it() {
        for command in [
            "node --test",
            "cd a && node --import x --test b.js",
            "npm test",
            "sh -c 'npx tsc && node --test'",
            "a/bin/jest",
        ] {
            assert!(may_test(command), "{command}");
        }
        for command in ["node build.js", "cargo test", "python3 -m pytest", "grep -q npmrc a"] {
            assert!(!may_test(command), "{command}");
        }
    }

    #[test]
    fn lines_are_heard_that_name_the_runner_itself() {
        assert!(names_tests("node --test") && names_tests("cd a && node --import x --test b.js | tail"));
        assert!(!names_tests("npm test") && !names_tests("node build.js") && !names_tests("node --test-only a.js"));
    }

    #[test]
    fn only_jest_and_vitest_are_asked_for_names() {
        let temp = tempfile::tempdir().unwrap();
        let mut env = BTreeMap::new();
        load_first(&temp.path().join("module"), &mut env).unwrap();
        for (program, words, asked) in [
            ("jest.js", &["test/a.test.js"][..], &["--verbose", "test/a.test.js"][..]),
            ("jest.js", &["--json"], &["--json"]),
            ("vitest.mjs", &["run", "-t", "x"], &["run", "-t", "x", "--reporter=verbose"]),
            ("vitest.mjs", &["run", "--reporter=dot"], &["run", "--reporter=dot"]),
            ("vitest.mjs", &["list"], &["list"]),
            ("mocha.js", &["test"], &["test"]),
        ] {
            let script = temp.path().join(program);
            std::fs::write(&script, "console.log(process.argv.slice(2).join('\\n'));").unwrap();
            let ended = std::process::Command::new("node").arg(&script).args(words).envs(&env).output().unwrap();
            let printed = String::from_utf8(ended.stdout).unwrap();
            assert_eq!(printed.lines().collect::<Vec<_>>(), asked, "{program} {words:?}");
        }
    }

    #[test]
    fn options_that_are_there_stay() {
        let temp = tempfile::tempdir().unwrap();
        let mut env = BTreeMap::from([(VARIABLE.to_owned(), "--no-warnings".to_owned())]);
        let module = load_first(&temp.path().join("a b"), &mut env).unwrap();
        assert_eq!(env[VARIABLE], format!("--no-warnings --require=\"{}\"", module.display()));
    }
}
