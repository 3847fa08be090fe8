//! Agents that speak the Agent Client Protocol (ACP), version 1: `holdpoint-acp` in their sandbox is the client.
//!
//! It starts the agent's program next to itself, gives it the prompt, answers what it asks of its client, and prints what it says
//! as JSON lines, which the dialect `acp` reads. So everything around a program (limits, progress, live lines, the exchange)
//! works as for any other. It has no rights that the agent does not have.
//!
//! - [`wire`], [`talk`], [`chunks`], [`permission`], [`event`]: pure; messages, the course of a conversation, words that come in
//!   pieces, who may what, and the lines that are printed.
//! - [`files`]: reads and writes files for the agent, in its tree only.
//! - [`client`]: the program, a personality of every executable of ours that runs agents.
//!
//! The messages are ours and few ([ADR 24](../../docs/adr/0024-acp.md)); `cargo xtask soak agents` flies an agent that is built with
//! the protocol's own crate.

pub mod chunks;
pub mod client;
pub mod event;
pub mod files;
pub mod mode;
pub mod permission;
pub mod talk;
pub mod wire;

pub use client::maybe_run;

/// What the program is called, and the name under which an executable of ours becomes it.
pub const PROGRAM: &str = "holdpoint-acp";

/// The command line by which an agent's program is spoken with; it goes on with the conversation `session`, if with any.
/// `asks`: permissions are a person's to give.
#[must_use]
pub fn command_line(agent: &str, session: Option<&str>, asks: bool) -> String {
    let mut line = format!("exec {PROGRAM}");
    if asks {
        line.push_str(" --ask");
    }
    if let Some(session) = session {
        // A plain word: the dialect takes no other.
        line.push_str(" --session ");
        line.push_str(session);
    }
    format!("{line} '{}'", agent.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::program::last_argument;

    #[test]
    fn a_command_line_goes_through_the_shell_as_it_is() {
        assert_eq!(command_line("gemini --acp", None, false), "exec holdpoint-acp 'gemini --acp'");
        let line = command_line("A='x y' agent", Some("s-1"), true);
        assert_eq!(line, r"exec holdpoint-acp --ask --session s-1 'A='\''x y'\'' agent'");
        assert_eq!(last_argument(&line, PROGRAM).as_deref(), Some("A='x y' agent"));
        assert_eq!(last_argument("claude -p", PROGRAM), None);
    }
}
