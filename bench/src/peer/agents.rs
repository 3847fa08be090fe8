//! Agents on the turn loop of the product, with work that is nothing.

use std::{sync::Arc, time::Duration};

use holdpoint_bus::{
    Bus, ConnectArgs,
    auth::{Credentials, Trust, TrustRoots},
};
use holdpoint_harness::agent::{self, AgentArgs};
use holdpoint_runtime::config::Config;
use holdpoint_sandbox::service;

use super::{AgentsSpec, noop::NoOp};
use crate::{BenchError, error::Doing as _};

/// Takes turns until the process that started this one is gone.
pub(super) async fn run(spec: AgentsSpec) -> Result<(), BenchError> {
    let trust = Trust::from(Arc::new(TrustRoots::load(&spec.trust).doing("read the trust roots")?));
    let think = Duration::from_millis(spec.think_ms);
    let mut trees = Vec::new();
    for creds in &spec.creds {
        let credentials = Credentials::load(creds).doing("read an agent's credentials")?;
        let bus = Bus::connect(ConnectArgs::new(spec.url.clone(), credentials)).await.map_err(BenchError::Connect)?;
        let args = AgentArgs {
            role: spec.role.clone(),
            pool: spec.pool.clone(),
            ack_wait: Config::default().agent.ack_wait.duration(),
            bus,
            trust: trust.clone(),
            worker: Arc::new(NoOp::new(think, spec.commits).doing("make a folder for commits")?),
        };
        trees.push(agent::start(args).await.doing("start an agent")?);
    }
    service::starter_gone().await;
    Ok(())
}
