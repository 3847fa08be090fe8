//! What the workbench knows about its machine: plain data, and how it follows from the configuration of the process.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use holdpoint_engine::budget::price::Price;
use holdpoint_harness::{
    acp,
    backend::{
        installed::readable_of,
        program::{program_files, readable},
    },
    environment::{Environments, Here},
};
use holdpoint_outline::OutlineHelper;
use holdpoint_runtime::config::{ByteSize, Config, Dialect, PROMPT_DEFAULT, VerifierConfig};

/// Where programs are looked for when this process has no `PATH`.
const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";
/// The home of a process that has none: it has no toolchains of its own.
const HOME_DEFAULT: &str = "/nonexistent";

/// Where the workbench works and what the programs it runs may see.
#[derive(Debug, Clone)]
pub struct VerifierSettings {
    /// Turn folders live below it. Absolute; no other agent uses it.
    pub state_dir: PathBuf,
    /// The environments of this machine. Their setups may read what checks may.
    pub environments: Environments,
    /// What is installed in a checkout, in place of environments; `None`: trees have the latter.
    pub here: Option<Here>,
    /// The `PATH` of every program.
    pub path: String,
    /// The home that this process runs in. Toolchains in it are opened for reading, the rest of it is not.
    pub home: PathBuf,
    /// More variables for checks, with their values.
    pub check_env: BTreeMap<String, String>,
    /// Trees that programs may read besides the system, the toolchains and the tree under review.
    pub read_paths: Vec<PathBuf>,
    /// What programs never reach, even below something they may read.
    pub deny_paths: Vec<PathBuf>,
    /// Who judges criteria without a check.
    pub judge: Option<JudgeSettings>,
    /// Every run is made: nothing is taken from an earlier report.
    pub fresh: bool,
    /// What reads changed files for code that a person should see; `None`: nobody does.
    pub helper: Option<OutlineHelper>,
}

/// The program that judges criteria without a check.
#[derive(Debug, Clone)]
pub struct JudgeSettings {
    /// The shell command line.
    pub command: String,
    /// The shell command line by which it goes on with its conversation, `{session}` being its id.
    pub resume: Option<String>,
    /// In which form it prints what it says.
    pub dialect: Dialect,
    /// What its tokens cost where it names no cost.
    pub price: Option<Price>,
    /// How long a question may be.
    pub prompt: ByteSize,
    /// More variables for it, with their values.
    pub env: BTreeMap<String, String>,
    /// More that it may read than checks may: its own program.
    pub read_paths: Vec<PathBuf>,
    /// Whether it may use the network; a judge that asks a model has to.
    pub network: bool,
}

impl VerifierSettings {
    /// The settings of a verifier with this configuration and environment.
    ///
    /// # Errors
    /// The path that cannot be made absolute, because the current directory is gone.
    pub fn from_config(config: &Config, own_env: &BTreeMap<String, String>) -> Result<Self, (PathBuf, std::io::Error)> {
        let VerifierConfig {
            judge,
            judge_dialect,
            judge_resume,
            judge_price,
            judge_prompt,
            judge_pass_env,
            fresh,
            pass_env,
            read_paths,
            deny_paths,
        } = &config.agents.verifier;
        let own = |name: &str, default: &str| own_env.get(name).cloned().unwrap_or_else(|| default.to_owned());
        let passed = |names: &[String]| -> BTreeMap<String, String> {
            names.iter().filter_map(|name| Some((name.clone(), own_env.get(name)?.clone()))).collect()
        };
        let (path, home) = (own("PATH", PATH_DEFAULT), PathBuf::from(own("HOME", HOME_DEFAULT)));
        let judge = judge.as_ref().map(|command| JudgeSettings {
            command: match judge_dialect {
                Dialect::Acp => acp::command_line(command, None, false),
                Dialect::Plain | Dialect::Claude | Dialect::Codex | Dialect::Gemini => command.clone(),
            },
            resume: judge_resume.clone().filter(|_| *judge_dialect != Dialect::Acp),
            dialect: *judge_dialect,
            price: *judge_price,
            prompt: judge_prompt.unwrap_or(PROMPT_DEFAULT),
            env: passed(judge_pass_env),
            read_paths: judge_reads(command, &path, &home),
            network: true,
        });
        Ok(Self {
            state_dir: absolute(&config.agent.state_dir)?,
            environments: Environments::new(absolute(&config.agent.environments_dir())?, own_env),
            here: None,
            path,
            home,
            check_env: passed(pass_env),
            read_paths: read_paths.iter().map(|path| absolute(path)).collect::<Result<_, _>>()?,
            deny_paths: deny_paths
                .iter()
                .chain(config.nats.secrets())
                .map(|path| absolute(path))
                .collect::<Result<_, _>>()?,
            judge,
            fresh: *fresh,
            // Where it cannot be started, findings say so.
            helper: OutlineHelper::own().ok(),
        })
    }
}

impl VerifierSettings {
    /// The environments, whose setups reach what checks may.
    pub(crate) fn environments(&self) -> Environments {
        let mut environments = self.environments.clone();
        environments.read.clone_from(&self.read_paths);
        environments.deny.clone_from(&self.deny_paths);
        environments.deny.push(self.state_dir.clone());
        environments
    }
}

/// The judge's program, and what it needs around it.
fn judge_reads(command: &str, path: &str, home: &Path) -> Vec<PathBuf> {
    let mut read = readable(&program_files(command), home);
    read.extend(readable_of(command, path, home));
    read
}

fn absolute(path: &Path) -> Result<PathBuf, (PathBuf, std::io::Error)> {
    std::path::absolute(path).map_err(|error| (path.to_owned(), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_variables_are_passed_on_and_keys_are_out_of_reach() {
        let mut config = Config::default();
        config.agent.state_dir = "/state".into();
        config.nats.creds = Some("/keys/v.creds".into());
        config.nats.tls.key = Some("/keys/tls.key".into());
        config.agents.verifier.pass_env = vec!["CI".to_owned(), "MISSING".to_owned()];
        config.agents.verifier.judge = Some("/opt/judge/run --strict".to_owned());
        let own = [("CI", "1"), ("SECRET", "s"), ("PATH", "/bin"), ("HOME", "/home/v")];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let settings = VerifierSettings::from_config(&config, &own).unwrap();
        assert_eq!(settings.check_env, BTreeMap::from([("CI".to_owned(), "1".to_owned())]));
        assert_eq!((settings.path.as_str(), settings.home.as_path()), ("/bin", Path::new("/home/v")));
        for secret in ["/keys/v.creds", "/keys/tls.key"] {
            assert!(settings.deny_paths.contains(&PathBuf::from(secret)), "{secret}");
        }
        assert!(settings.judge.unwrap().read_paths.contains(&PathBuf::from("/opt/judge")));
        assert!(settings.read_paths.is_empty());
        config.agents.verifier.judge_dialect = Dialect::Acp;
        let settings = VerifierSettings::from_config(&config, &own).unwrap();
        assert_eq!(settings.judge.unwrap().command, "exec holdpoint-acp '/opt/judge/run --strict'");
    }
}
