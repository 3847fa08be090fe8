//! `keys`: making, adding, revoking and rotating keys, on files only.

mod look;
mod secrets;

use std::path::Path;

use holdpoint_bus::auth::{CredentialRequest, CredentialsDestination, CredentialsStanding, Issued, KeyFolder};
use holdpoint_protocol::{facts::Harness, ids::role, roles::is_reserved};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    args::keys::{AddArgs, InitArgs, KeysArgs, KeysCommand, RevokeArgs, RoleAddArgs, RoleCommand, RotateArgs},
    failure::{Exit, Failure},
    output,
};

/// What `--out` writes for standard output.
const STDOUT: &str = "-";

/// Runs one of the commands. None of them waits for anything but another one on the same folder.
pub(super) fn keys(args: KeysArgs) -> Result<Exit, Failure> {
    match args.command {
        KeysCommand::Init(args) => init(&args),
        KeysCommand::Add(args) => add(&args),
        KeysCommand::Role(args) => match args.command {
            RoleCommand::Add(args) => add_role(&args),
        },
        KeysCommand::Revoke(args) => revoke(&args),
        KeysCommand::Rotate(args) if args.drop_old => drop_old(&args),
        KeysCommand::Rotate(args) => rotate(&args),
        KeysCommand::List(args) => look::list(&args),
        KeysCommand::Show(args) => look::show(&args),
        KeysCommand::ServerConfig(args) => look::server_config(&args),
        KeysCommand::Secrets(args) => secrets::secrets(&args),
    }
}

fn init(args: &InitArgs) -> Result<Exit, Failure> {
    let counts = [
        (role::BUILDER, args.builders),
        (role::VERIFIER, args.verifiers),
        (role::REPAIR, args.repairs),
        (role::ORCHESTRATOR, args.orchestrators),
        (role::OPERATOR, args.operators),
    ];
    let mut folder = KeyFolder::open_or_create(&args.dir.dir)?;
    let made = folder.ensure(&counts.map(|(role, count)| (role::id(role), count)))?;
    let done = Done::new(&folder, &args.dir.dir);
    if args.json {
        output::json(&done.with(json!({"made": lines(&folder, &made)})));
        return Ok(Exit::Success);
    }
    let all = folder.issued().iter().filter(|(_, standing)| standing.counts()).count();
    output::out(&format!("{} credentials made, {all} count, in {}", made.len(), args.dir.dir.display()));
    done.tell();
    Ok(Exit::Success)
}

fn add_role(args: &RoleAddArgs) -> Result<Exit, Failure> {
    let mut folder = KeyFolder::open(&args.dir.dir)?;
    folder.add_role(&args.role, args.builds)?;
    let made = folder.ensure(&[(args.role.clone(), args.agents)])?;
    let done = Done::new(&folder, &args.dir.dir);
    if args.json {
        output::json(&done.with(json!({"role": args.role, "made": lines(&folder, &made)})));
        return Ok(Exit::Success);
    }
    let place = args.dir.dir.join(args.role.as_str());
    output::out(&format!(
        "the fleet has the role {}; {} credentials made in {}",
        args.role,
        made.len(),
        place.display()
    ));
    done.tell();
    Ok(Exit::Success)
}

fn add(args: &AddArgs) -> Result<Exit, Failure> {
    let to_stdout = args.out.as_ref().is_some_and(|out| out.as_os_str() == STDOUT);
    if to_stdout && args.json {
        let hint = "leave --json out, or name a file";
        return Err(Failure::usage("arguments", "standard output cannot hold both credentials and JSON", hint));
    }
    let place = match &args.out {
        Some(_) if to_stdout => CredentialsDestination::Nowhere,
        Some(path) => CredentialsDestination::File(path),
        None => CredentialsDestination::Folder,
    };
    if args.harness && is_reserved(&args.role) {
        let hint = "leave --harness out: orchestrators and people run no harness";
        let message = format!("--harness is for agents, not for {}", args.role);
        return Err(Failure::usage("arguments", message, hint));
    }
    let order = CredentialRequest {
        role: args.role.clone(),
        name: args.name.clone(),
        pool: args.pool.clone(),
        harness: if args.harness { Harness::Holdpoint } else { Harness::Foreign },
        lifetime: args.expires.map(holdpoint_runtime::config::TimeSpan::duration),
    };
    let mut folder = KeyFolder::open(&args.dir.dir)?;
    let (issued, credentials) = folder.add(order, place)?;
    let done = Done::new(&folder, &args.dir.dir);
    if args.json {
        output::json(&done.with(json!({"made": lines(&folder, &[issued])})));
        return Ok(Exit::Success);
    }
    match folder.path_of(&issued) {
        None => output::bytes(credentials.to_text().as_bytes()),
        Some(path) => output::out(&path.display().to_string()),
    }
    done.tell();
    Ok(Exit::Success)
}

fn revoke(args: &RevokeArgs) -> Result<Exit, Failure> {
    let mut folder = KeyFolder::open(&args.dir.dir)?;
    let revoked = folder.revoke(&args.name_or_key)?;
    let done = Done::new(&folder, &args.dir.dir);
    let key = revoked.as_ref().map_or(&args.name_or_key, |issued| &issued.public_key);
    if args.json {
        output::json(&done.with(json!({"revoked": key})));
    } else {
        output::out(&format!("revoked {key}"));
        done.tell();
    }
    Ok(Exit::Success)
}

fn rotate(args: &RotateArgs) -> Result<Exit, Failure> {
    let mut folder = KeyFolder::open(&args.dir.dir)?;
    let rotation = folder.rotate(&args.role)?;
    let done = Done::new(&folder, &args.dir.dir);
    if args.json {
        let (renewed, left) = (lines(&folder, &rotation.renewed), lines(&folder, &rotation.left));
        output::json(&done.with(json!({"renewed": renewed, "left": left})));
        return Ok(Exit::Success);
    }
    let role = &args.role;
    output::out(&format!("{role} has its new key; credentials signed again by it: {}", rotation.renewed.len()));
    for issued in &rotation.left {
        output::err(&format!("not in its place, so not signed again: {} ({})", issued.name, issued.public_key));
    }
    done.tell();
    output::err(&format!("then restart the processes of {role}, and end the old key with --drop-old"));
    Ok(Exit::Success)
}

fn drop_old(args: &RotateArgs) -> Result<Exit, Failure> {
    let mut folder = KeyFolder::open(&args.dir.dir)?;
    let cut = folder.drop_old(&args.role, args.force)?;
    let done = Done::new(&folder, &args.dir.dir);
    if args.json {
        output::json(&done.with(json!({"cut": lines(&folder, &cut)})));
        return Ok(Exit::Success);
    }
    output::out(&format!("the old key of {} counts no more", args.role));
    for issued in &cut {
        output::err(&format!("these credentials end with it: {} ({})", issued.name, issued.public_key));
    }
    done.tell();
    Ok(Exit::Success)
}

/// One of the credentials, for scripts.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    issued: &'a Issued,
    /// Where they are, if anywhere.
    path: Option<std::path::PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    standing: Option<CredentialsStanding>,
}

fn lines<'a>(folder: &KeyFolder, issued: &'a [Issued]) -> Vec<Line<'a>> {
    issued.iter().map(|issued| Line { issued, path: folder.path_of(issued), standing: None }).collect()
}

/// What a change means for those that run.
struct Done<'a> {
    dir: &'a Path,
    broker: bool,
    trust: bool,
}

impl<'a> Done<'a> {
    fn new(folder: &KeyFolder, dir: &'a Path) -> Self {
        let changed = folder.changed();
        Self { dir, broker: changed.broker, trust: changed.trust }
    }

    fn with(&self, mut value: Value) -> Value {
        value["reload_broker"] = json!(self.broker);
        value["trust_changed"] = json!(self.trust);
        value
    }

    fn tell(&self) {
        if self.broker {
            let accounts = self.dir.join("broker/accounts.conf");
            output::err(&format!(
                "{} changed: a broker that runs has to read it again (SIGHUP, `nats-server --signal reload`)",
                accounts.display()
            ));
        }
        if self.trust {
            let trust = self.dir.join("trust.json");
            output::err(&format!("{} changed: processes that run take it over within seconds", trust.display()));
        }
    }
}
