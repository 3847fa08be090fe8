//! `[agents]`: what the agents of each role run.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use holdpoint_engine::budget::price::Price;
use holdpoint_protocol::{
    ids::{RoleId, role},
    roles::{is_persons, is_reserved},
};
use serde::{Deserialize, Deserializer, Serialize, de};

use super::{
    dialect::{Dialect, Permissions},
    presets::PresetName,
    sections::list,
    units::{ByteSize, TimeSpan},
};

/// How long a prompt may be where nothing else is configured.
pub const PROMPT_DEFAULT: ByteSize = ByteSize::from_kib(128);
/// The least that a prompt can be bounded to: how to ask and how to end have to fit.
pub(super) const PROMPT_LEAST: ByteSize = ByteSize::from_kib(8);

/// `[agents]`: what the agents of each role run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AgentsConfig {
    /// `[agents.builder]`
    pub builder: ProgramConfig,
    /// `[agents.repair]`
    pub repair: ProgramConfig,
    /// `[agents.verifier]`
    pub verifier: VerifierConfig,
    /// `[agents.<role>]`: roles that workflows declare.
    #[serde(flatten)]
    pub declared: BTreeMap<RoleId, ProgramConfig>,
}

impl AgentsConfig {
    /// What the agents of a role run; `None` for verifiers, which run checks, and where nothing is said of the role.
    #[must_use]
    pub fn program(&self, role: &RoleId) -> Option<&ProgramConfig> {
        match role.as_str() {
            role::BUILDER => Some(&self.builder),
            role::REPAIR => Some(&self.repair),
            role::VERIFIER => None,
            _ => self.declared.get(role),
        }
    }

    /// Every program, with its role.
    pub fn programs(&self) -> impl Iterator<Item = (RoleId, &ProgramConfig)> {
        let own = [(role::BUILDER, &self.builder), (role::REPAIR, &self.repair)];
        let declared = self.declared.iter().map(|(role, program)| (role.clone(), program));
        own.into_iter().map(|(name, program)| (role::id(name), program)).chain(declared)
    }

    /// Every program, with its role, to be changed.
    pub fn programs_mut(&mut self) -> impl Iterator<Item = (RoleId, &mut ProgramConfig)> {
        let own = [(role::BUILDER, &mut self.builder), (role::REPAIR, &mut self.repair)];
        let declared = self.declared.iter_mut().map(|(role, program)| (role.clone(), program));
        own.into_iter().map(|(name, program)| (role::id(name), program)).chain(declared)
    }
}

/// By hand, because what is flattened is read before it is known what it is: a number in a variable would stay a text.
impl<'de> Deserialize<'de> for AgentsConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = AgentsConfig;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of roles")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<AgentsConfig, A::Error> {
                let mut agents = AgentsConfig::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        role::BUILDER => agents.builder = map.next_value()?,
                        role::REPAIR => agents.repair = map.next_value()?,
                        role::VERIFIER => agents.verifier = map.next_value()?,
                        _ => {
                            let role = RoleId::try_new(key).map_err(de::Error::custom)?;
                            if is_reserved(&role) {
                                let why = format!("`{role}` is no role of agents: it is the fleet's own");
                                return Err(de::Error::custom(why));
                            }
                            if is_persons(&role) {
                                let why = format!("`{role}` is no role of agents: names that begin so are people's");
                                return Err(de::Error::custom(why));
                            }
                            agents.declared.insert(role, map.next_value()?);
                        }
                    }
                }
                Ok(agents)
            }
        }

        deserializer.deserialize_map(Visitor)
    }
}

/// `[agents.builder]`, `[agents.repair]` and `[agents.<role>]`: the program and what it may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProgramConfig {
    /// The program, a shell command line (`sh -c`). Without one there is no agent of this role.
    pub command: Option<String>,
    /// The coding agent whose ways fill in what is not set here; a `command` that is its bare name says the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<PresetName>,
    /// The folder of the program's own settings, of which a turn gets copies of files that the preset names. The folder itself is
    /// out of reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings_dir: Option<PathBuf>,
    /// Whether a turn gets a copy of the program's login as well. A token that is refreshed there can end the login.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub with_login: bool,
    /// In which form the program prints what it does: `plain`, `claude`, `codex`, `gemini`, or `acp` for one that speaks the Agent Client
    /// Protocol.
    #[serde(skip_serializing_if = "Dialect::is_plain")]
    pub dialect: Dialect,
    /// Who gives the permissions that a program asks for over the Agent Client Protocol.
    #[serde(skip_serializing_if = "Permissions::is_default")]
    pub permissions: Permissions,
    /// The command line by which the program goes on with a conversation, `{session}` being its id. Without one each run
    /// begins a new conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// The command line of turns that have to be cheaper, because an earlier one of the waypoint reached a limit and the plan says
    /// `on_exceeded: degrade`. It begins a new conversation. Without one the same program runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cheaper: Option<String>,
    /// What the tokens of the program's model cost, for programs that report tokens and no cost: their cost is then an estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// How many agents of this role `run` and `up` start; 1 unless it is said. Builders: `--builders` says so first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Files that the program leaves in its clone and that are no work, as patterns of gitignore(5): caches of its own. Files that the
    /// base or an earlier attempt has always count. A preset adds its own.
    #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// Names of variables that the program gets from the environment of its agent process.
    #[serde(deserialize_with = "list")]
    pub pass_env: Vec<String>,
    /// Further variables. Names are case-sensitive, so they are given in the file only. Values are never shown.
    pub env: Variables,
    /// Paths the program may read, besides the system and its toolchains.
    #[serde(deserialize_with = "list")]
    pub read_paths: Vec<PathBuf>,
    /// Paths the program may write, besides its clone, scratch and home.
    #[serde(deserialize_with = "list")]
    pub write_paths: Vec<PathBuf>,
    /// Paths the program never reaches, also below those that it may read.
    #[serde(deserialize_with = "list")]
    pub deny_paths: Vec<PathBuf>,
    /// Whether it may use the network.
    pub network: bool,
    /// How long a turn may take, unless the plan says otherwise.
    pub wall: TimeSpan,
    /// How much it may print in a turn, unless the plan says otherwise.
    pub output: ByteSize,
    /// How long its prompt may be. What does not fit is cut, and the prompt says what was and where the whole is.
    pub prompt: ByteSize,
}

impl ProgramConfig {
    /// Makes room for another program of the role: what was said of this one goes, and what the role may do stays.
    pub fn leave(&mut self) {
        let before = std::mem::take(self);
        let of_preset = before.preset.map(|name| name.preset().pass_env).unwrap_or_default();
        *self = Self {
            count: before.count,
            pass_env: before.pass_env.into_iter().filter(|name| !of_preset.contains(&name.as_str())).collect(),
            env: before.env,
            read_paths: before.read_paths,
            write_paths: before.write_paths,
            deny_paths: before.deny_paths,
            network: before.network,
            wall: before.wall,
            output: before.output,
            prompt: before.prompt,
            ..Self::default()
        };
    }
}

impl Default for ProgramConfig {
    fn default() -> Self {
        Self {
            command: None,
            preset: None,
            settings_dir: None,
            with_login: false,
            dialect: Dialect::Plain,
            permissions: Permissions::Allow,
            resume: None,
            cheaper: None,
            price: None,
            count: None,
            ignore: Vec::new(),
            pass_env: Vec::new(),
            env: Variables::default(),
            read_paths: Vec::new(),
            write_paths: Vec::new(),
            deny_paths: Vec::new(),
            network: true,
            wall: TimeSpan::from_secs(30 * 60),
            output: ByteSize::from_mib(10),
            prompt: PROMPT_DEFAULT,
        }
    }
}

/// `[agents.verifier]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VerifierConfig {
    /// The program that judges criteria without a check, a shell command line. Without one such criteria escalate.
    pub judge: Option<String>,
    /// In which form the judge prints what it does.
    #[serde(skip_serializing_if = "Dialect::is_plain")]
    pub judge_dialect: Dialect,
    /// The command line by which the judge goes on with its conversation, `{session}` being its id, when it is asked again because its
    /// verdict cannot be used. Without one it is asked again in a new conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_resume: Option<String>,
    /// What the tokens of the judge's model cost, for judges that report tokens and no cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_price: Option<Price>,
    /// How long the judge's question may be; 128 KiB unless it is said. What does not fit is cut, and the question says what was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_prompt: Option<ByteSize>,
    /// Names of variables that the judge gets from the environment of the verifier's process: its keys. Checks run the
    /// code under review and never get them.
    #[serde(deserialize_with = "list")]
    pub judge_pass_env: Vec<String>,
    /// Every run of a check is made: none is taken from an earlier report of the same process.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// Names of variables that checks and the judge get from the environment of the verifier's process.
    #[serde(deserialize_with = "list")]
    pub pass_env: Vec<String>,
    /// Paths that checks and the judge may read, besides the system and its toolchains.
    #[serde(deserialize_with = "list")]
    pub read_paths: Vec<PathBuf>,
    /// Paths they never reach, also below those that they may read.
    #[serde(deserialize_with = "list")]
    pub deny_paths: Vec<PathBuf>,
}

/// Variables of a program's environment. `Debug` shows their names only.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Variables(pub BTreeMap<String, String>);

impl Variables {
    /// Replaces every value.
    pub(super) fn hide(&mut self) {
        for value in self.0.values_mut() {
            "<hidden>".clone_into(value);
        }
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
