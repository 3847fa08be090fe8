//! Flags that several commands share: where to work, and what the fleet runs.

use std::path::PathBuf;

use clap::Args;
use holdpoint_protocol::ids::{InvalidId, RoleId, role};
use holdpoint_runtime::config::{Config, Dialect};

/// Most builders of one local fleet; each is a process with a program of its own.
const BUILDERS_MAX: i64 = 64;
/// Most verifiers of one local fleet: more than the queue to the branch has room for help little.
const VERIFIERS_MAX: i64 = 32;

/// Which repository, and which fleet.
#[derive(Debug, Clone, Args)]
pub(crate) struct Place {
    /// The repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) repo: PathBuf,
    /// The broker of a fleet that runs elsewhere; without it a local fleet is used
    #[arg(long, value_name = "URL")]
    pub(crate) nats: Option<String>,
    /// The operator's .creds file for that broker
    #[arg(long, value_name = "FILE")]
    pub(crate) creds: Option<PathBuf>,
    /// TLS to that broker
    #[command(flatten)]
    pub(crate) tls: TlsFlags,
}

/// TLS to a broker elsewhere.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TlsFlags {
    /// Certificates (PEM) of the authority that issued the broker's; without it the system's count
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_ca: Option<PathBuf>,
    /// The certificate (PEM) to show a broker that asks for one
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Its key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
}

impl Place {
    /// The flags about a fleet elsewhere as settings of the configuration.
    pub(crate) fn overrides(&self) -> Vec<(String, String)> {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let settings = [
            ("nats.url", self.nats.clone()),
            ("nats.creds", path(&self.creds)),
            ("nats.tls.ca", path(&self.tls.tls_ca)),
            ("nats.tls.cert", path(&self.tls.tls_cert)),
            ("nats.tls.key", path(&self.tls.tls_key)),
        ];
        settings.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }
}

/// Settings of the fleet.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FleetFlags {
    /// The configuration file (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// What the fleet runs.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct CommandFlags {
    /// The program that builds: an agent that `holdpoint doctor` lists by name, such as `claude`, or a shell command line with the task on its
    /// standard input
    #[arg(long, value_name = "CMD")]
    pub(crate) builder: Option<String>,
    /// The program that fixes what was rejected; without it the builder does
    #[arg(long, value_name = "CMD")]
    pub(crate) repair: Option<String>,
    /// The program that judges criteria without a check
    #[arg(long, value_name = "CMD")]
    pub(crate) judge: Option<String>,
    /// The program of the agents of a role that a workflow declares, or of `advisor`, which is asked when an agent calls for
    /// help; may be repeated
    #[arg(long = "agent", value_name = "ROLE=CMD", value_parser = role_command)]
    pub(crate) agents: Vec<(RoleId, String)>,
    /// In which form the programs named here print what they do, other than those of a preset: `plain`, `claude`, `codex`, `gemini`, or `acp`
    /// for those that speak the Agent Client Protocol
    #[arg(long, value_name = "DIALECT", value_parser = dialect)]
    pub(crate) dialect: Option<Dialect>,
    /// A variable of yours that the agents' programs get, besides those of a preset; may be repeated
    #[arg(long, value_name = "NAME", value_parser = variable_name)]
    pub(crate) pass_env: Vec<String>,
    /// Give turns a copy of the program's login (a token refreshed there can log you out: prefer a key in a variable)
    #[arg(long)]
    pub(crate) with_login: bool,
    /// How many builders work at once [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=BUILDERS_MAX))]
    pub(crate) builders: Option<u32>,
    /// How many verifiers there are [default: one for every two builders, at most 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=VERIFIERS_MAX))]
    pub(crate) verifiers: Option<u32>,
    /// The configuration file (TOML); flags and variables HOLDPOINT__SECTION__KEY override it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

impl CommandFlags {
    /// The flags as settings of the configuration.
    pub(crate) fn overrides(&self) -> Vec<(String, String)> {
        let settings = [
            ("agents.builder.command", &self.builder),
            ("agents.repair.command", &self.repair),
            ("agents.verifier.judge", &self.judge),
        ];
        let settings = settings.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value.clone()?)));
        let declared = self.agents.iter().map(|(role, command)| (format!("agents.{role}.command"), command.clone()));
        settings.chain(declared).collect()
    }

    /// What holds for the programs of all roles.
    pub(crate) fn for_all(&self, config: &mut Config) {
        for (_, program) in config.agents.programs_mut().filter(|(_, program)| program.command.is_some()) {
            let new = self.pass_env.iter().filter(|name| !program.pass_env.contains(name));
            let new: Vec<String> = new.cloned().collect();
            program.pass_env.extend(new);
            program.with_login |= self.with_login;
        }
        if let Some(dialect) = self.dialect {
            let programs = config.agents.programs_mut().filter(|(role, _)| self.names(role));
            programs.filter(|(_, program)| program.preset.is_none()).for_each(|(_, program)| program.dialect = dialect);
        }
    }

    /// Whether the program of this role was named by a flag.
    pub(crate) fn names(&self, role: &RoleId) -> bool {
        match role.as_str() {
            role::BUILDER => self.builder.is_some(),
            role::REPAIR => self.repair.is_some(),
            _ => self.agents.iter().any(|(named, _)| named == role),
        }
    }

    /// The flags that describe a fleet of one's own, as far as they were given.
    pub(crate) fn given(&self) -> Vec<&'static str> {
        let flags = [
            ("--builder", self.builder.is_some()),
            ("--repair", self.repair.is_some()),
            ("--judge", self.judge.is_some()),
            ("--builders", self.builders.is_some()),
            ("--verifiers", self.verifiers.is_some()),
            ("--agent", !self.agents.is_empty()),
            ("--dialect", self.dialect.is_some()),
            ("--pass-env", !self.pass_env.is_empty()),
            ("--with-login", self.with_login),
        ];
        flags.into_iter().filter_map(|(flag, given)| given.then_some(flag)).collect()
    }
}

/// The name of a variable, and not its value: values do not belong into process lists.
pub(super) fn variable_name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !text.is_empty() && text.chars().all(plain) && !text.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(text.to_owned());
    }
    Err("write the name of a variable alone, such as OPENAI_API_KEY: its value is taken from your environment"
        .to_owned())
}

/// The word for a dialect.
pub(super) fn dialect(text: &str) -> Result<Dialect, String> {
    let words = || Dialect::ALL.map(Dialect::as_str).join(", ");
    Dialect::ALL.into_iter().find(|dialect| dialect.as_str() == text).ok_or_else(|| format!("write one of {}", words()))
}

/// `ROLE=CMD`.
fn role_command(text: &str) -> Result<(RoleId, String), String> {
    let (role, command) = text.split_once('=').ok_or("write ROLE=CMD, such as architect=claude")?;
    let role: RoleId = role.parse().map_err(|error: InvalidId| error.to_string())?;
    if role::AGENTS.contains(&role.as_str()) {
        return Err(format!("{role} has a flag of its own: --builder, --repair or --judge"));
    }
    Ok((role, command.to_owned()))
}
