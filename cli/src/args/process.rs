//! This executable as one of the processes: `orchestrator` and `agent`.

use std::{ffi::OsStr, path::PathBuf};

use clap::{
    Args, ValueEnum,
    builder::{PossibleValue, TypedValueParser},
};
use holdpoint_protocol::{ids::RoleId, roles::is_reserved};

/// `orchestrator`
#[derive(Debug, Args)]
pub(crate) struct ProcessArgs {
    /// The configuration file (TOML); variables HOLDPOINT__SECTION__KEY override it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// A folder of .creds files: the process takes the first that no other holds (nats.creds_dir)
    #[arg(long, value_name = "DIR")]
    pub(crate) creds_dir: Option<PathBuf>,
}

impl ProcessArgs {
    /// The flags as settings of the configuration.
    pub(crate) fn overrides(&self) -> Vec<(String, String)> {
        let dir = self.creds_dir.iter().map(|dir| ("nats.creds_dir".to_owned(), dir.display().to_string()));
        dir.collect()
    }
}

/// `agent`
#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    /// Whose turns it takes: builder, verifier, repair, solo, or a role that workflows declare and `[agents.ROLE]` has a program for
    #[arg(value_parser = RoleParser)]
    pub(crate) role: RoleId,
    /// What every process has
    #[command(flatten)]
    pub(crate) process: ProcessArgs,
}

/// Reads any role of agents; shells complete the built-in ones.
#[derive(Debug, Clone, Copy)]
struct RoleParser;

impl TypedValueParser for RoleParser {
    type Value = RoleId;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<RoleId, clap::Error> {
        let read = |text: &str| {
            let role = RoleId::try_new(text).map_err(|error| error.to_string())?;
            if is_reserved(&role) {
                Err(format!("`{role}` is no role of agents: it is the fleet's own"))
            } else {
                Ok(role)
            }
        };
        read.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(AgentRole::value_variants().iter().filter_map(AgentRole::to_possible_value)))
    }
}

/// Roles of agent processes that every fleet has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentRole {
    /// Builds
    Builder,
    /// Judges
    Verifier,
    /// Fixes what was rejected
    Repair,
}

impl AgentRole {
    /// The word on the command line and in names.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Builder => "builder",
            Self::Verifier => "verifier",
            Self::Repair => "repair",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        agent: AgentArgs,
    }

    fn role(word: &str) -> Result<String, String> {
        let line = <Line as clap::Parser>::try_parse_from(["agent", word]);
        line.map(|line| line.agent.role.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn an_agent_has_any_role_but_the_fleets_own() {
        for known in ["builder", "verifier", "repair", "code-review"] {
            assert_eq!(role(known).as_deref(), Ok(known));
        }
        assert!(role("operator").unwrap_err().contains("`operator` is no role of agents: it is the fleet's own"));
        assert!(role("Orchestrator").is_err() && role("two words").is_err());
        let suggested: Vec<_> =
            RoleParser.possible_values().unwrap().map(|value| value.get_name().to_owned()).collect();
        assert_eq!(suggested, ["builder", "verifier", "repair"], "shells complete the built-in ones");
    }
}
