//! `keys secrets`: what a cluster of Kubernetes keeps of a folder of keys. It reads the folder, and talks to nobody.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use holdpoint_bus::auth::KeyFolder;
use holdpoint_protocol::{ids::role, roles::is_reserved};
use serde_json::{Value, json};

use crate::{
    args::keys::SecretsArgs,
    failure::{Exit, Failure},
    output,
};

/// Bytes of one Secret: Kubernetes takes 1 MiB, and names and labels need some of it.
const SECRET_MAX: usize = 1_000_000;
/// What the servers of a cluster know each other by, below the folder's `broker`.
const PASSWORD_FILE: &str = "routes.password";
/// Random bytes in it.
const PASSWORD_BYTES: usize = 32;
/// Where an orchestrator's credentials for the broker's own account are.
const SYSTEM: &str = "orchestrator/system/connections.creds";

/// Prints one `List`, for `kubectl apply`.
pub(super) fn secrets(args: &SecretsArgs) -> Result<Exit, Failure> {
    let dir = &args.dir.dir;
    let folder = KeyFolder::open(dir)?;
    let name = &args.name;
    let mut items = vec![
        item(
            "ConfigMap",
            &format!("{name}-trust"),
            "data",
            &[("trust.json".to_owned(), read(&dir.join("trust.json"))?)],
        ),
        item("Secret", &format!("{name}-broker"), "stringData", &broker(dir, name, args.brokers)?),
    ];
    for (role, mut files) in credentials(&folder)? {
        if role == role::ORCHESTRATOR && dir.join(SYSTEM).is_file() {
            files.push(("connections.creds".to_owned(), read(&dir.join(SYSTEM))?));
        }
        let size: usize = files.iter().map(|(file, text)| file.len() + text.len()).sum();
        if size > SECRET_MAX {
            return Err(Failure::usage(
                "secret_too_big",
                format!("the {} credentials of {role} have {size} bytes; a Secret holds {SECRET_MAX}", files.len()),
                "revoke some (`holdpoint keys revoke NAME`), or run the rest from a second folder of names of their own",
            ));
        }
        items.push(item("Secret", &format!("{name}-{role}-keys"), "stringData", &files));
    }
    output::json(&json!({"apiVersion": "v1", "kind": "List", "items": items}));
    Ok(Exit::Success)
}

/// The credentials of agents and orchestrators that count and are in their place, by role. People keep their own, and those that delete
/// or copy streams are no process's.
fn credentials(folder: &KeyFolder) -> Result<BTreeMap<String, Vec<(String, String)>>, Failure> {
    let mut all: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for (issued, standing) in folder.issued() {
        let role = issued.role.to_string();
        let Some(path) = folder.path_of(issued).filter(|path| path.is_file()) else { continue };
        if standing.counts() && (role == role::ORCHESTRATOR || !is_reserved(&issued.role)) {
            all.entry(role).or_default().push((format!("{}.creds", issued.name), read(&path)?));
        }
    }
    Ok(all)
}

/// What the broker's configuration includes: who is who, and in a cluster where the others are.
fn broker(dir: &Path, name: &str, servers: u32) -> Result<Vec<(String, String)>, Failure> {
    let mut files = vec![("accounts.conf".to_owned(), read(&dir.join("broker/accounts.conf"))?)];
    if servers > 1 {
        let password = password(&dir.join("broker").join(PASSWORD_FILE))?;
        let mut text = format!("authorization {{ user: route, password: \"{password}\", timeout: 5 }}\nroutes: [\n");
        for number in 0..servers {
            text.push_str(&format!("  \"nats://route:{password}@{name}-nats-{number}.{name}-nats:6222\"\n"));
        }
        text.push_str("]\n");
        files.push(("routes.conf".to_owned(), text));
    }
    Ok(files)
}

/// The password of the servers' routes, made where there is none: it has to stay the same as long as they run.
fn password(file: &Path) -> Result<String, Failure> {
    if file.is_file() {
        return Ok(read(file)?.trim().to_owned());
    }
    let made = || -> io::Result<String> {
        let mut bytes = [0_u8; PASSWORD_BYTES];
        fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let password: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut kept = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
        kept.write_all(password.as_bytes())?;
        kept.sync_all()?;
        Ok(password)
    };
    made().map_err(|error| {
        let message = format!("cannot keep the password of the brokers' routes in {}: {error}", file.display());
        Failure::usage("keys", message, "the folder of the keys has to be writable the first time")
    })
}

fn item(kind: &str, name: &str, data: &str, files: &[(String, String)]) -> Value {
    let files: BTreeMap<&str, &str> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let metadata = json!({"name": name, "labels": {"app.kubernetes.io/part-of": "holdpoint"}});
    let mut item = json!({"apiVersion": "v1", "kind": kind, "metadata": metadata});
    item[data] = json!(files);
    item
}

fn read(file: &Path) -> Result<String, Failure> {
    fs::read_to_string(file).map_err(|error| {
        let message = format!("cannot read {}: {error}", file.display());
        Failure::usage("keys", message, "`holdpoint keys init --dir DIR` makes what is missing")
    })
}
