//! The ways of a notification to people: the user's command, or a webhook. Its time is limited either way.

use std::time::Duration;

use holdpoint_runtime::{config::NotifyConfig, webhook::Webhook};
use holdpoint_sandbox::Tool;

use crate::failure::{Failure, chain};

/// What the command may print. Nobody reads it, but the end of what it says when it fails.
const OUTPUT_MAX: usize = 1 << 20;

/// A way.
#[derive(Debug)]
pub(super) enum Way {
    /// A program gets it on its standard input. Its arguments are fixed, and its environment is clean.
    Command {
        /// The program.
        program: String,
        /// Its arguments.
        args: Vec<String>,
        /// How long it may take.
        timeout: Duration,
    },
    /// A URL gets it by POST.
    Webhook(Box<Webhook>),
}

impl Way {
    /// Each way that is configured.
    pub(super) fn configured(config: &NotifyConfig) -> Result<Vec<Self>, Failure> {
        let timeout = config.timeout.duration();
        let command = config.command.split_first().map(|(program, args)| Self::Command {
            program: program.clone(),
            args: args.to_vec(),
            timeout,
        });
        let webhook = config.webhook.as_deref().map(|url| {
            let webhook = Webhook::new(url, config.webhook_token_file.as_deref(), timeout);
            webhook.map(|webhook| Self::Webhook(Box::new(webhook))).map_err(|error| {
                let hint = "set or remove notify.webhook in the configuration";
                Failure::environment("webhook", chain(&error), hint)
            })
        });
        command.map(Ok).into_iter().chain(webhook).collect()
    }

    /// Its name in messages.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Command { .. } => "notify.command",
            Self::Webhook(_) => "notify.webhook",
        }
    }

    /// The name of its record in the state folder.
    pub(super) fn record(&self) -> &'static str {
        match self {
            Self::Command { .. } => "notified.json",
            Self::Webhook(_) => "notified-webhook.json",
        }
    }

    /// Sends one notification; why it could not, otherwise.
    pub(super) async fn send(&self, json: String) -> Result<(), String> {
        match self {
            Self::Command { program, args, timeout } => {
                let mut tool = Tool::new(program)
                    .args(args)
                    .dir("/")
                    .stdin(json.into_bytes())
                    .timeout(*timeout)
                    .output_cap(OUTPUT_MAX);
                if let Some(home) = std::env::var_os("HOME") {
                    tool = tool.env("HOME", home);
                }
                tool.run_ok().await.map(|_| ()).map_err(|error| chain(&error))
            }
            Self::Webhook(webhook) => webhook.post(json).await.map_err(|error| chain(&error)),
        }
    }
}
