//! Has the processes of Node's test files say when they are ended before their tests.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::put;
use crate::{error::BenchError, folder::make_dir};

/// What every Node process of a check loads first.
const MODULE: &str = include_str!("node_end.cjs");
/// Programs that start Node's test runner without naming it.
const STARTERS: [&str; 5] = ["npm", "npx", "pnpm", "yarn", "corepack"];
/// Names options to every Node process.
const VARIABLE: &str = "NODE_OPTIONS";

/// Whether a shell line may run `node --test`.
pub(crate) fn may_test(command: &str) -> bool {
    let mut words = command.split(super::SEPARATORS);
    command.contains("--test") && command.contains("node") || words.any(|word| STARTERS.contains(&word))
}

/// Writes the module into a folder of its own and adds it to the environment of a program. Gives what the program has to
/// read.
pub(crate) fn load_first(folder: &Path, env: &mut BTreeMap<String, String>) -> Result<PathBuf, BenchError> {
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
        for command in
            ["node --test", "cd a && node --import x --test b.js", "npm test", "sh -c 'npx tsc && node --test'"]
        {
            assert!(may_test(command), "{command}");
        }
        for command in ["node build.js", "cargo test", "python3 -m pytest", "grep -q npmrc a"] {
            assert!(!may_test(command), "{command}");
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
