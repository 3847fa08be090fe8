//! Which fleet a command talks to: one elsewhere (`--nats`), or the local one of a repository.

use std::path::{Path, PathBuf};

use holdpoint_bus::{
    Bus, ConnectArgs,
    auth::{Credentials, Holder},
};
use holdpoint_protocol::ids::{AgentName, PoolId};
use holdpoint_runtime::{config::Config, fresh};

use crate::{
    args::Place,
    client::Client,
    failure::{Exit, Failure},
    fleet::Fleet,
    ground,
    interrupt::Interrupts,
    people::key,
    state::writable,
    typed::URL_VARIABLE,
};

/// Whose credentials a command takes for a fleet elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    /// An operator's, or a person's.
    Operator,
    /// The key that may delete.
    Archivist,
    /// The key that may copy streams.
    Migrator,
}

impl Holds {
    /// As a sentence has it.
    fn words(self) -> &'static str {
        match self {
            Self::Operator => "an operator",
            Self::Archivist => "an archivist",
            Self::Migrator => "a migrator",
        }
    }
}

/// A fleet elsewhere.
#[derive(Debug, Clone)]
pub(crate) struct Remote {
    config: Config,
}

impl Remote {
    /// The fleet that a flag or the environment names; `None`: the local one is meant.
    pub(crate) fn named(place: &Place) -> Result<Option<Self>, Failure> {
        let by_variable = std::env::var_os(URL_VARIABLE).is_some_and(|value| !value.is_empty());
        if place.nats.is_none() && !by_variable {
            if !place.overrides().is_empty() {
                let hint = "name the fleet with --nats URL, or leave these flags out to use the local one";
                return Err(Failure::usage(
                    "creds_without_nats",
                    "--creds and --tls-… are for a fleet elsewhere",
                    hint,
                ));
            }
            return Ok(None);
        }
        Ok(Some(Self { config: Config::load(None, place.overrides())? }))
    }

    /// The file that says whose signatures count there, if the environment names one.
    pub(crate) fn trust(&self) -> Option<&PathBuf> {
        self.config.nats.trust.as_ref()
    }

    /// Connects to it, as an operator or a person.
    pub(crate) async fn connect(&self) -> Result<Client, Failure> {
        Box::pin(self.connect_as(Holds::Operator)).await
    }

    /// Connects to it.
    pub(crate) async fn connect_as(&self, who: Holds) -> Result<Client, Failure> {
        let Some(creds) = &self.config.nats.creds else {
            let hint = format!("name {}'s .creds file with --creds FILE or HOLDPOINT__NATS__CREDS", who.words());
            return Err(Failure::usage("no_creds", "a fleet elsewhere wants credentials", hint));
        };
        let credentials = Credentials::load(creds)?;
        if who == Holds::Operator {
            operators(creds, &credentials)?;
        }
        let args = ConnectArgs {
            tls: self.config.nats.tls.files(),
            ..ConnectArgs::new(self.config.nats.url.clone(), credentials)
        };
        Ok(Client::new(Bus::connect(args).await?))
    }
}

/// Refuses credentials that are not an operator's: the broker lets no answer through to an agent's, and orchestrators do not take a
/// process for an operator.
fn operators(file: &Path, credentials: &Credentials) -> Result<(), Failure> {
    let holder = match credentials.holder() {
        Holder::Operator => return Ok(()),
        Holder::Agent => "an agent",
        Holder::Process => "a process of the fleet",
    };
    let message = format!("{} has the credentials of {holder} ({})", file.display(), credentials.name());
    let hint = "this command takes an operator's, as `holdpoint keys add operator NAME` makes them";
    Err(Failure::usage("not_an_operator", message, hint))
}

/// Whose key a command has in a local fleet.
#[derive(Debug, Clone, Copy)]
enum As<'a> {
    Operator,
    Person(&'a AgentName),
    Archivist,
}

/// A fleet that questions go to.
#[derive(Debug)]
pub(crate) struct Target {
    /// The connection.
    pub(crate) client: Client,
    /// What of a local fleet this command keeps running.
    pub(crate) fleet: Option<Fleet>,
}

impl Target {
    /// The fleet that `place` names. `None`: it would be the local one, and nothing was ever flown here.
    pub(crate) async fn find(place: &Place) -> Result<Option<Self>, Failure> {
        Self::find_as(place, As::Operator).await
    }

    /// The fleet that `place` names, with a key that may delete: elsewhere that of the credentials.
    pub(crate) async fn for_archivist(place: &Place) -> Result<Self, Failure> {
        Self::find_as(place, As::Archivist).await?.ok_or_else(|| nothing_flown(place))
    }

    /// The fleet that `place` names, as a person: in a local fleet the one that is named, or this user; elsewhere the
    /// person of the credentials.
    pub(crate) async fn for_person(place: &Place, person: Option<&AgentName>) -> Result<Self, Failure> {
        Self::check(place, person)?;
        let person = person.cloned().unwrap_or_else(key::default_name);
        Self::find_as(place, As::Person(&person)).await?.ok_or_else(|| nothing_flown(place))
    }

    /// Refuses flags that do not go together, without connecting to anything.
    pub(crate) fn check(place: &Place, person: Option<&AgentName>) -> Result<(), Failure> {
        if Remote::named(place)?.is_some() && person.is_some() {
            let message = "--as cannot be used with a fleet elsewhere (--nats)";
            return Err(Failure::usage("as_with_nats", message, "the credentials in --creds say who you are there"));
        }
        Ok(())
    }

    async fn find_as(place: &Place, who: As<'_>) -> Result<Option<Self>, Failure> {
        if let Some(remote) = Remote::named(place)? {
            let who = match who {
                As::Operator | As::Person(_) => Holds::Operator,
                As::Archivist => Holds::Archivist,
            };
            return Ok(Some(Self { client: Box::pin(remote.connect_as(who)).await?, fleet: None }));
        }
        let state = ground::state(&ground::find(&place.repo).await?).await?;
        if !state.is_used() {
            // Where nothing can be written nothing was found either.
            writable(state.dir())?;
            return Ok(None);
        }
        let mut fleet = Fleet::attach(&state, &format!("command-{}", fresh::suffix()), &[]).await?;
        let client = match who {
            As::Operator => fleet.client().await?,
            As::Person(person) => fleet.client_of(person).await?,
            As::Archivist => fleet.archivist().await?,
        };
        // One of its own, also where a flight's is there: that one ends with its flight. It only answers.
        let mut config = Config::load(None, Vec::new())?;
        config.orchestrator.serves = PoolId::try_new("nobody").expect("a literal id");
        // The flight's own has the port.
        config.metrics.listen = None;
        fleet.start_orchestrator(&config)?;
        Ok(Some(Self { client, fleet: Some(fleet) }))
    }

    /// As [`Target::find`], for commands that have nothing to say where nothing was flown.
    pub(crate) async fn existing(place: &Place) -> Result<Self, Failure> {
        Self::find(place).await?.ok_or_else(|| nothing_flown(place))
    }

    /// Runs `work` while the fleet is kept running, then ends what this command started of it, also when it is interrupted.
    pub(crate) async fn serve<T>(self, work: impl AsyncFnOnce(&Client) -> Result<T, Failure>) -> Result<T, Failure> {
        if self.fleet.is_none() {
            return self.serve_to_the_end(work).await;
        }
        let mut interrupts = Interrupts::listen()?;
        let work = async |client: &Client| {
            tokio::select! {
                result = Box::pin(work(client)) => result,
                () = interrupts.next() => Err(interrupted()),
            }
        };
        self.serve_to_the_end(work).await
    }

    /// As [`Target::serve`], for work that sees to interruptions itself.
    pub(crate) async fn serve_to_the_end<T>(
        mut self,
        work: impl AsyncFnOnce(&Client) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let result = match &mut self.fleet {
            None => Box::pin(work(&self.client)).await,
            Some(fleet) => tokio::select! {
                result = Box::pin(work(&self.client)) => result,
                failure = fleet.failed() => Err(failure),
            },
        };
        self.client.bus().close().await;
        if let Some(fleet) = self.fleet {
            Box::pin(fleet.stop(std::future::pending())).await;
        }
        result
    }
}

fn interrupted() -> Failure {
    let message = "interrupted: the flight goes on without this command".to_owned();
    Failure::Other { exit: Exit::Interrupted, code: "interrupted", message, hint: String::new() }
}

fn nothing_flown(place: &Place) -> Failure {
    let message = format!("nothing was flown for the repository in {} yet", place.repo.display());
    Failure::usage("not_found", message, "--repo DIR names another repository, --nats URL a fleet elsewhere")
}
