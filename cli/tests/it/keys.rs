//! `keys`, as a person types it. `bus/tests/it/keys.rs` tries what the keys are good for at a broker.

use std::fs;

use crate::lab::{Answer, Lab};

/// A folder with few credentials.
const INIT: [&str; 13] = [
    "keys",
    "init",
    "--dir",
    "keys",
    "--builders",
    "2",
    "--verifiers",
    "1",
    "--repairs",
    "1",
    "--orchestrators",
    "1",
    "--json",
];

fn keys(lab: &Lab, args: &[&str]) -> Answer {
    lab.run(&[&["keys"], args, &["--dir", "keys"]].concat())
}

/// Name and standing of everything that was issued.
fn standings(lab: &Lab) -> Vec<(String, String)> {
    let list = keys(lab, &["list", "--json"]).json();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let lines = list["credentials"].as_array().unwrap();
    lines.iter().map(|line| (text(&line["name"]), text(&line["standing"]))).collect()
}

#[test]
fn keys_of_a_fleet_are_made_once_and_added_to() {
    let lab = Lab::new();
    let made = lab.run(&INIT).json();
    assert_eq!(made["made"].as_array().unwrap().len(), 6);
    assert_eq!(
        (&made["reload_broker"], &made["trust_changed"]),
        (&false.into(), &false.into()),
        "nobody runs on it yet"
    );
    for file in ["trust.json", "broker/accounts.conf", "builder/builder-2.creds", "operator/operator-1.creds"] {
        assert!(lab.path("keys").join(file).is_file(), "{file}");
    }
    let before = fs::read(lab.path("keys/builder/builder-1.creds")).unwrap();
    let again = lab.run(&INIT).json();
    assert_eq!((again["made"].as_array().unwrap().len(), &again["reload_broker"]), (0, &false.into()));
    assert_eq!(fs::read(lab.path("keys/builder/builder-1.creds")).unwrap(), before);

    let added = keys(&lab, &["add", "verifier", "ann", "--expires", "30d", "--json"]).json();
    assert_eq!((&added["made"][0]["name"], &added["reload_broker"]), (&"ann".into(), &false.into()));
    let expires = added["made"][0]["expires_at"].as_u64().unwrap() - added["made"][0]["issued_at"].as_u64().unwrap();
    assert_eq!(expires, 30 * 24 * 60 * 60);
    let orchestrator = keys(&lab, &["add", "orchestrator", "late", "--json"]).json();
    assert_eq!((&orchestrator["reload_broker"], &orchestrator["trust_changed"]), (&false.into(), &true.into()));
    let config = keys(&lab, &["server-config"]).stdout;
    assert_eq!(config, fs::read_to_string(lab.path("keys/broker/accounts.conf")).unwrap());
    assert!(config.contains("resolver_preload"), "{config}");
}

#[test]
fn credentials_go_to_a_file_or_to_standard_output_and_nowhere_else() {
    let lab = Lab::new();
    lab.run(&INIT);
    let printed = keys(&lab, &["add", "operator", "ann", "--out", "-"]);
    assert!(printed.stdout.starts_with("-----BEGIN NATS USER JWT-----"), "{}", printed.stdout);
    assert!(!lab.path("keys/operator/ann.creds").exists());
    let filed = keys(&lab, &["add", "operator", "bob", "--out", "bob.creds"]);
    assert!(lab.path("bob.creds").is_file() && !filed.stdout.contains("SEED") && !filed.stderr.contains("SEED"));
    keys(&lab, &["add", "operator", "eve", "--out", "bob.creds"]).refuses(2, &["bob.creds", "there already"]);
    keys(&lab, &["add", "operator", "eve", "--out", "-", "--json"]).refuses(2, &["standard output"]);

    let shown = lab.run(&["keys", "show", "bob.creds", "--dir", "keys", "--json"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert_eq!((&shown.json()["name"], &shown.json()["role"]), (&"bob".into(), &"operator".into()));
    assert!(!shown.stdout.contains("\"S"), "no seed: {}", shown.stdout);
    keys(&lab, &["revoke", "bob"]);
    let revoked = lab.run(&["keys", "show", "bob.creds", "--dir", "keys", "--json"]);
    assert_eq!((revoked.code, &revoked.json()["problem"]), (Some(1), &"revoked".into()));
}

#[test]
fn an_added_key_is_for_a_foreign_harness_unless_it_is_said_to_be_ours() {
    let lab = Lab::new();
    lab.run(&INIT);
    for args in [&["add", "verifier", "theirs"][..], &["add", "verifier", "ours", "--harness"]] {
        assert_eq!(keys(&lab, args).code, Some(0));
    }
    keys(&lab, &["add", "operator", "ann", "--harness"]).refuses(2, &["--harness is for agents", "operator"]);
    let list = keys(&lab, &["list", "--json"]).json();
    let of = |name: &str| {
        let line = list["credentials"].as_array().unwrap().iter().find(|line| line["name"] == name);
        line.unwrap()["harness"].clone()
    };
    let expected =
        [("verifier-1", "holdpoint"), ("builder-1", "holdpoint"), ("theirs", "foreign"), ("ours", "holdpoint")];
    for (name, harness) in expected {
        assert_eq!(of(name), harness, "{name}");
    }
    assert!(of("operator-1").is_null());
    let table = keys(&lab, &["list"]).stdout;
    assert!(table.lines().any(|line| line.starts_with("theirs") && line.contains("foreign")), "{table}");
}

#[test]
fn a_role_is_added_with_credentials_once_and_its_name_is_looked_at() {
    let lab = Lab::new();
    lab.run(&INIT);
    keys(&lab, &["add", "architect", "ann"]).refuses(2, &["no role architect", "builder, verifier", "keys role add"]);
    let added = keys(&lab, &["role", "add", "architect", "--agents", "2", "--json"]).json();
    assert_eq!((added["made"].as_array().unwrap().len(), &added["reload_broker"]), (2, &true.into()));
    assert!(lab.path("keys/architect/architect-2.creds").is_file());
    let again = keys(&lab, &["role", "add", "architect", "--agents", "2", "--json"]).json();
    assert_eq!((again["made"].as_array().unwrap().len(), &again["reload_broker"]), (0, &false.into()));
    assert_eq!(keys(&lab, &["role", "add", "backend", "--builds"]).code, Some(0));
    assert_eq!(keys(&lab, &["add", "architect", "ann"]).code, Some(0));
    let list = keys(&lab, &["list", "--json"]).json();
    let keys_of = list["signing_keys"].as_array().unwrap();
    let builds = |role: &str| keys_of.iter().find(|key| key["role"] == role).unwrap()["builds"].clone();
    assert_eq!((builds("architect"), builds("backend"), builds("builder")), (false.into(), true.into(), true.into()));
    keys(&lab, &["role", "add", "operator"]).refuses(2, &["`operator` is reserved"]);
    keys(&lab, &["role", "add", "human-x"])
        .refuses(2, &["`human-x` begins with `human-`", "keys add operator human-NAME"]);
    assert!(!lab.path("keys/human-x").exists(), "nothing was made");
    keys(&lab, &["add", "architect", "human-ann"])
        .refuses(2, &["human-ann is a person's name", "keys add operator human-ann"]);
    assert_eq!(keys(&lab, &["add", "operator", "human-ann"]).code, Some(0));
    keys(&lab, &["role", "add", "Architect"]).refuses(2, &["`Architect` and `architect` would share a stream"]);
}

#[test]
fn credentials_are_revoked_and_signed_anew() {
    let lab = Lab::new();
    lab.run(&INIT);
    let revoked = keys(&lab, &["revoke", "builder-1"]);
    assert_eq!(revoked.code, Some(0));
    for word in ["broker/accounts.conf changed", "SIGHUP", "trust.json changed"] {
        assert!(revoked.stderr.contains(word), "{word}: {}", revoked.stderr);
    }
    let rotated = keys(&lab, &["rotate", "builder", "--json"]).json();
    assert_eq!((rotated["renewed"].as_array().unwrap().len(), &rotated["reload_broker"]), (1, &true.into()));
    fs::rename(lab.path("keys/verifier/verifier-1.creds"), lab.path("elsewhere")).unwrap();
    let left = keys(&lab, &["rotate", "verifier"]);
    assert!(left.stderr.contains("verifier-1"), "{}", left.stderr);
    keys(&lab, &["rotate", "verifier", "--drop-old"]).refuses(2, &["verifier-1", "--force"]);
    assert_eq!(keys(&lab, &["rotate", "verifier", "--drop-old", "--force"]).code, Some(0));
    assert_eq!(keys(&lab, &["rotate", "builder", "--drop-old"]).code, Some(0));
    keys(&lab, &["rotate", "builder", "--drop-old"]).refuses(2, &["no old key"]);
    let of = |name: &str| standings(&lab).into_iter().find(|(found, _)| found == name).unwrap().1;
    let expected = [("builder-1", "revoked"), ("builder-2", "valid"), ("verifier-1", "dropped"), ("repair-1", "valid")];
    for (name, standing) in expected {
        assert_eq!(of(name), standing, "{name}");
    }
    assert!(keys(&lab, &["list"]).stdout.lines().any(|line| line.starts_with("builder-1") && line.contains("revoked")));
}

#[test]
fn what_cannot_be_done_is_told_with_what_to_do() {
    let lab = Lab::new();
    keys(&lab, &["list"]).refuses(2, &["no keys in keys", "keys init"]);
    lab.run(&INIT);
    keys(&lab, &["add", "verifier", "builder-1"]).refuses(2, &["builder-1", "as builder", "keys revoke"]);
    keys(&lab, &["add", "poet", "ann"]).refuses(2, &["poet", "builder"]);
    keys(&lab, &["add", "builder", "a.b"]).refuses(2, &["a.b"]);
    keys(&lab, &["add", "builder", "ann", "--expires", "soon"]).refuses(2, &["soon", "30m"]);
    let unknown = keys(&lab, &["revoke", "nobody", "--json"]);
    unknown.refuses(2, &["nobody", "keys list"]);
    assert_eq!(unknown.json()["error"]["code"], "not_issued");
}

#[test]
fn a_process_that_finds_no_free_credentials_says_what_to_do() {
    let lab = Lab::new();
    lab.run(&INIT);
    fs::create_dir(lab.path("empty")).unwrap();
    let env = [("HOLDPOINT__NATS__TRUST", &*lab.path("keys/trust.json"))];
    let told = lab.run_with(&["orchestrator", "--creds-dir", "empty"], &env);
    told.refuses(3, &["no free credentials", "holdpoint keys add"]);
    let env = [env[0], ("HOLDPOINT__NATS__CREDS", &*lab.path("keys/operator/operator-1.creds"))];
    lab.run_with(&["orchestrator", "--creds-dir", "empty"], &env).refuses(2, &["nats.creds_dir", "nats.creds"]);
}

#[test]
fn tls_files_that_cannot_be_used_are_the_environments_fault() {
    let lab = Lab::new();
    lab.run(&INIT);
    let creds = "keys/operator/operator-1.creds";
    let remote = ["status", "--nats", "tls://127.0.0.1:1", "--creds", creds];
    let told = lab.run(&[&remote[..], &["--tls-ca", "none.pem", "--json"]].concat());
    told.refuses(3, &["TLS", "none.pem", "--tls-ca"]);
    assert_eq!(told.json()["error"]["code"], "tls");
    lab.run(&[&remote[..], &["--tls-cert", "a.pem"]].concat()).refuses(2, &["--tls-key"]);
    lab.run(&["status", "--repo", "repo", "--tls-ca", "a.pem"]).refuses(2, &["--tls-", "--nats"]);
}

#[test]
fn without_credentials_for_a_fleet_elsewhere_each_command_names_whose_it_takes() {
    let lab = Lab::new();
    let nats = ["--nats", "nats://127.0.0.1:1"];
    for (command, who) in [
        (&["status"][..], "an operator's"),
        (&["archive", "f", "--to", "to"], "an archivist's"),
        (&["migrate", "save", "to"], "a migrator's"),
    ] {
        lab.run(&[command, &nats].concat()).refuses(2, &["credentials", who, "--creds"]);
    }
}

#[test]
fn keys_become_secrets_of_a_cluster_without_those_of_the_authority_and_of_people() {
    let lab = Lab::new();
    lab.run(&INIT);
    keys(&lab, &["revoke", "builder-2"]);
    let list = keys(&lab, &["secrets", "--name", "fleet", "--brokers", "3"]).json();
    let item = |name: &str| {
        let items = list["items"].as_array().unwrap();
        items.iter().find(|item| item["metadata"]["name"] == name).cloned().unwrap_or_default()
    };
    let of = |file: &str| fs::read_to_string(lab.path("keys").join(file)).unwrap();
    assert_eq!(item("fleet-trust")["data"]["trust.json"], of("trust.json"));
    assert_eq!(item("fleet-broker")["stringData"]["accounts.conf"], of("broker/accounts.conf"));
    let builders = item("fleet-builder-keys")["stringData"].as_object().unwrap().clone();
    assert_eq!(builders.keys().collect::<Vec<_>>(), ["builder-1.creds"], "what was revoked is left out");
    assert_eq!(builders["builder-1.creds"], of("builder/builder-1.creds"));
    let orchestrators = item("fleet-orchestrator-keys")["stringData"].as_object().unwrap().clone();
    assert_eq!(orchestrators.keys().collect::<Vec<_>>(), ["connections.creds", "orchestrator-1.creds"]);
    let routes = item("fleet-broker")["stringData"]["routes.conf"].as_str().unwrap().to_owned();
    assert!(routes.contains("@fleet-nats-2.fleet-nats:6222"), "{routes}");
    let again = keys(&lab, &["secrets", "--name", "fleet", "--brokers", "3"]).json();
    assert_eq!(again, list, "the password stays");

    let kinds = |kind: &str| list["items"].as_array().unwrap().iter().filter(|item| item["kind"] == kind).count();
    assert_eq!((kinds("ConfigMap"), kinds("Secret")), (1, 5));
    assert!(!list.to_string().contains(of("operator/operator-1.creds").lines().nth(1).unwrap()), "people keep theirs");
    keys(&lab, &["secrets", "--name", "Fleet_1"]).refuses(2, &["a-z"]);
}

#[test]
fn a_migrators_key_counts_for_a_day_is_no_process_and_has_no_signing_key_to_change() {
    let lab = Lab::new();
    lab.run(&INIT);
    let made = keys(&lab, &["add", "migrator", "mover", "--json"]).json();
    assert_eq!((&made["reload_broker"], &made["trust_changed"]), (&false.into(), &false.into()), "nobody is told");
    let times = ["issued_at", "expires_at"].map(|time| made["made"][0][time].as_u64().unwrap());
    assert_eq!(times[1] - times[0], 24 * 60 * 60);
    assert!(standings(&lab).contains(&("mover".to_owned(), "valid".to_owned())));
    let shown = keys(&lab, &["show", "keys/migrator/mover.creds"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(shown.stderr.contains("an account signed these itself"), "{}", shown.stderr);
    keys(&lab, &["add", "archivist", "keeper"]);
    let secrets = keys(&lab, &["secrets"]).stdout;
    assert!(secrets.contains("builder-1.creds") && !secrets.contains("mover") && !secrets.contains("keeper"));
    keys(&lab, &["rotate", "migrator"]).refuses(2, &["no signing key of migrator", "keys revoke"]);
    keys(&lab, &["rotate", "migrator", "--drop-old"]).refuses(2, &["no signing key of migrator"]);
    assert_eq!(keys(&lab, &["revoke", "mover"]).code, Some(0));
    assert!(standings(&lab).contains(&("mover".to_owned(), "revoked".to_owned())));
}

#[test]
fn the_keys_of_a_local_fleet_are_left_to_its_commands() {
    let lab = Lab::new();
    fs::create_dir(lab.path("keys")).unwrap();
    for file in ["authority.json", "trust.json"] {
        fs::write(lab.path("keys").join(file), "{}").unwrap();
    }
    for args in [&["add", "operator", "human-ann"][..], &["init"], &["list"]] {
        keys(&lab, args).refuses(2, &["those of a local fleet", "--as human-NAME", "holdpoint keys init"]);
    }
    assert_eq!(fs::read_dir(lab.path("keys")).unwrap().count(), 2, "nothing was made");
}
