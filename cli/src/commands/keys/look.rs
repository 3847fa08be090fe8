//! `keys list`, `show` and `server-config`: looking at keys.

use holdpoint_bus::auth::{Credentials, KeyFolder, TrustRoots};
use holdpoint_protocol::{Timestamp, facts::Harness, ids::role};
use holdpoint_text::units;
use serde_json::{Value, json};

use super::Line;
use crate::{
    args::keys::{ListArgs, ServerConfigArgs, ShowArgs},
    failure::{Exit, Failure},
    output,
};

/// Shows everything that was issued.
pub(super) fn list(args: &ListArgs) -> Result<Exit, Failure> {
    let folder = KeyFolder::open(&args.dir.dir)?;
    let issued = folder.issued();
    if args.json {
        let authority = folder.authority();
        let roles = authority.fleet_roles().agents().into_iter();
        let roles = roles.chain([role::ORCHESTRATOR, role::OPERATOR, role::ARCHIVIST].map(role::id));
        let keys: Vec<Value> = roles
            .map(|role| {
                json!({
                    "role": role, "key": authority.public_signing_key(&role), "former": authority.former_key(&role),
                    "builds": authority.makes(&role),
                })
            })
            .collect();
        let credentials: Vec<Line<'_>> = issued
            .into_iter()
            .map(|(issued, standing)| Line { issued, path: folder.path_of(issued), standing: Some(standing) })
            .collect();
        output::json(&json!({"signing_keys": keys, "credentials": credentials}));
        return Ok(Exit::Success);
    }
    output::out(&format!(
        "{:<20} {:<12} {:<9} {:<8} {:<20} {:<57} FILE",
        "NAME", "ROLE", "HARNESS", "STATE", "EXPIRES", "PUBLIC KEY"
    ));
    for (issued, standing) in issued {
        let file = folder.path_of(issued).map(|path| path.display().to_string()).unwrap_or_default();
        output::out(&format!(
            "{:<20} {:<12} {:<9} {:<8} {:<20} {:<57} {file}",
            issued.name.as_str(),
            issued.role.as_str(),
            issued.harness.map_or("", Harness::as_str),
            standing.as_str(),
            end(issued.expires_at),
            issued.public_key,
        ));
    }
    Ok(Exit::Success)
}

/// Shows one file, and whether it counts.
pub(super) fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    let credentials = Credentials::load(&args.file)?;
    let checked = match &args.dir {
        // Only the broker knows the accounts.
        Some(_) if credentials.is_of_account() => {
            output::err(
                "note: an account signed these itself (a migrator's): only the broker can tell whether they count",
            );
            None
        }
        None => None,
        Some(dir) => {
            let roots = TrustRoots::load(&dir.join("trust.json"))?;
            Some(roots.check_credentials(&credentials, holdpoint_runtime::clock::now()))
        }
    };
    let exit = if matches!(checked, Some(Err(_))) { Exit::Incomplete } else { Exit::Success };
    let (role, problem) = match &checked {
        None => (None, None),
        Some(Ok(role)) => (Some(role.to_string()), None),
        Some(Err(refusal)) => (None, Some(refusal.to_string())),
    };
    if args.json {
        output::json(&json!({
            "name": credentials.name(), "public_key": credentials.public_key(), "issuer": credentials.issuer(),
            "issued_at": credentials.issued_at(), "expires_at": credentials.expires_at(),
            "role": role, "counts": checked.as_ref().map(Result::is_ok), "problem": problem,
        }));
        return Ok(exit);
    }
    output::out(&format!("name        {}", credentials.name()));
    output::out(&format!("public key  {}", credentials.public_key()));
    output::out(&format!("issuer      {}", credentials.issuer()));
    output::out(&format!("issued      {}", at(credentials.issued_at())));
    output::out(&format!("expires     {}", end(credentials.expires_at())));
    if let Some(role) = role {
        output::out(&format!("role        {role}"));
    }
    if let Some(problem) = problem {
        output::out(&format!("does not count: {problem}"));
    }
    Ok(exit)
}

/// Prints the part of the broker's configuration.
pub(super) fn server_config(args: &ServerConfigArgs) -> Result<Exit, Failure> {
    output::bytes(KeyFolder::open(&args.dir.dir)?.authority().server_config().as_bytes());
    Ok(Exit::Success)
}

fn end(expires_at: Option<u64>) -> String {
    expires_at.map_or_else(|| "never".to_owned(), at)
}

/// Seconds since the epoch, for people.
fn at(at_s: u64) -> String {
    units::seconds(Timestamp::from_millis(i64::try_from(at_s.saturating_mul(1_000)).unwrap_or(i64::MAX)))
}
