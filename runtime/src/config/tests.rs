use std::{collections::BTreeMap, error::Error as _, path::Path};

use holdpoint_protocol::ids::RoleId;
use holdpoint_sandbox::{Bounds, Property};

use super::*;

fn vars(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn flags(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    vars(pairs).into_iter().collect()
}

fn from_file(text: &str) -> Result<Config, ConfigError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("agent.toml");
    std::fs::write(&path, text).unwrap();
    Config::load_from(Some(&path), BTreeMap::new(), Vec::new())
}

fn whole(error: &ConfigError) -> String {
    format!("{error}: {}", error.source().map(ToString::to_string).unwrap_or_default())
}

#[test]
fn flags_win_over_environment_over_file_over_defaults() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("agent.toml");
    std::fs::write(&path, "[agents.builder]\ncommand = \"file\"\nwall = \"1m\"\noutput = \"1KiB\"\n").unwrap();
    let env = vars(&[("HOLDPOINT__AGENTS__BUILDER__COMMAND", "env"), ("HOLDPOINT__AGENTS__BUILDER__WALL", "2m")]);
    let config = Config::load_from(Some(&path), env, flags(&[("agents.builder.command", "flag")])).unwrap();
    let builder = &config.agents.builder;
    assert_eq!(builder.command.as_deref(), Some("flag"));
    assert_eq!(builder.wall.to_string(), "2m");
    assert_eq!(builder.output.to_string(), "1KiB");
    assert!(builder.network);
    assert_eq!(config.agent.ack_wait.to_string(), "30s");
}

#[test]
fn environment_sets_texts_numbers_lists_and_switches() {
    let env = vars(&[
        ("HOLDPOINT__NATS__URL", "nats://broker:4222"),
        ("HOLDPOINT__NATS__TLS__CA", "/ca.pem"),
        ("HOLDPOINT__AGENT__NAME", "007"),
        ("HOLDPOINT__AGENTS__BUILDER__NETWORK", "false"),
        ("HOLDPOINT__AGENTS__BUILDER__PASS_ENV", "A, B"),
        ("HOLDPOINT__AGENTS__VERIFIER__READ_PATHS", "/a"),
        ("HOLDPOINT__SANDBOX__WAIVE", "loopback"),
    ]);
    let config = Config::load_from(None, env, Vec::new()).unwrap();
    assert_eq!(config.nats.url, "nats://broker:4222");
    assert_eq!(config.nats.tls.ca.as_deref(), Some(Path::new("/ca.pem")));
    assert_eq!(config.agent.name.unwrap().as_str(), "007");
    assert!(!config.agents.builder.network);
    assert_eq!(config.agents.builder.pass_env, ["A", "B"]);
    assert_eq!(config.agents.verifier.read_paths, [Path::new("/a")]);
    assert_eq!(config.sandbox.waive, [Property::Loopback]);
}

#[test]
fn an_unknown_key_is_named_with_its_place() {
    let in_file = whole(&from_file("[nats]\nurll = \"x\"\n").unwrap_err());
    for part in ["agent.toml", "urll", "line 2"] {
        assert!(in_file.contains(part), "{part} in {in_file}");
    }
    let env = vars(&[("HOLDPOINT__NATS__URLL", "x")]);
    let in_env = whole(&Config::load_from(None, env, Vec::new()).unwrap_err());
    assert!(in_env.contains("HOLDPOINT__NATS__URLL") && in_env.contains("unknown field"), "{in_env}");
    let in_flag = whole(&Config::load_from(None, BTreeMap::new(), flags(&[("nats.urll", "x")])).unwrap_err());
    assert!(in_flag.contains("nats.urll") && in_flag.contains("unknown field"), "{in_flag}");
}

#[test]
fn a_bad_span_or_property_is_refused_with_its_place() {
    let span = whole(&from_file("[agents.repair]\nwall = \"soon\"\n").unwrap_err());
    assert!(span.contains("line 2") && span.contains("\"soon\" is not a span of time"), "{span}");
    let waive = whole(&from_file("[sandbox]\nwaive = [\"gravity\"]\n").unwrap_err());
    assert!(waive.contains("gravity"), "{waive}");
    let env = vars(&[("HOLDPOINT__AGENT__ACK_WAIT", "soon")]);
    let in_env = whole(&Config::load_from(None, env, Vec::new()).unwrap_err());
    assert!(in_env.contains("HOLDPOINT__AGENT__ACK_WAIT") && in_env.contains("soon"), "{in_env}");
}

#[test]
fn values_that_cannot_be_used_are_refused_by_key() {
    for (text, key) in [
        ("[nats]\nurl = \"http://x\"\n", "nats.url"),
        ("[nats]\nurl = \"nats://me:secret@x\"\n", "nats.url"),
        ("[nats]\ncreds = \"a\"\ncreds_dir = \"b\"\n", "nats.creds_dir"),
        ("[nats.tls]\ncert = \"a\"\n", "nats.tls.cert"),
        ("[nats.tls]\nkey = \"a\"\n", "nats.tls.cert"),
        ("[agent]\nack_wait = \"1ms\"\n", "agent.ack_wait"),
        ("[agent]\ndrain = \"21s\"\n", "agent.drain"),
        ("[orchestrator]\nhandoff_ack_wait = \"1ms\"\n", "orchestrator.handoff_ack_wait"),
        ("[orchestrator]\nbroker_disk = \"1MiB\"\n", "orchestrator.broker_disk"),
        ("[orchestrator]\nconnections_per_key = 3\n", "orchestrator.connections_per_key"),
        ("[orchestrator]\nroom_per_key = 0\n", "orchestrator.room_per_key"),
        ("[orchestrator]\nroom_per_key = 101\n", "orchestrator.room_per_key"),
        ("[orchestrator]\nhandoffs_per_hour = 59\n", "orchestrator.handoffs_per_hour"),
        ("[orchestrator]\nrequests_per_minute = 59\n", "orchestrator.requests_per_minute"),
        ("[orchestrator]\nblob_wait = \"1ms\"\n", "orchestrator.blob_wait"),
        ("[orchestrator]\nopen_flights = 0\n", "orchestrator.open_flights"),
        ("[orchestrator]\nopen_waypoints = 0\n", "orchestrator.open_waypoints"),
        ("[telemetry]\nlog = \"a=b=c\"\n", "telemetry.log"),
        ("[metrics]\notlp_interval = \"100ms\"\n", "metrics.otlp_interval"),
        ("[telemetry]\notlp_endpoint = \"collector:4317\"\n", "telemetry.otlp_endpoint"),
        ("[agents.builder]\ncommand = \" \"\n", "agents.builder.command"),
        ("[agents.builder]\nignore = [\"a\", \"\"]\n", "agents.builder.ignore"),
        ("[agents.writer]\nignore = [\"a\\nb\"]\n", "agents.writer.ignore"),
        ("[agents.writer]\nignore = [\"!.env\"]\n", "agents.writer.ignore"),
        ("[agents.writer]\nignore = [\"**/*\"]\n", "agents.writer.ignore"),
        ("[agents.writer]\nignore = [\" a\"]\n", "agents.writer.ignore"),
        ("[agents.writer]\nprompt = \"8191\"\n", "agents.writer.prompt"),
        ("[agents.verifier]\njudge_prompt = \"4KiB\"\n", "agents.verifier.judge_prompt"),
        ("[notify]\ncommand = [\"./tell\"]\n", "notify.command"),
        ("[notify]\ncommand = [\"\"]\n", "notify.command"),
        ("[notify]\nwebhook = \"hooks.example.com\"\n", "notify.webhook"),
        ("[notify]\nwebhook = \"https://me:secret@hooks.example.com\"\n", "notify.webhook"),
        ("[notify]\nwebhook = \"http://hooks.example.com\"\nwebhook_token_file = \"/t\"\n", "notify.webhook"),
        ("[notify]\nwebhook_token_file = \"/t\"\n", "notify.webhook_token_file"),
    ] {
        let error = from_file(text).unwrap_err();
        assert!(matches!(&error, ConfigError::Value { key: found, .. } if found == key), "{text}: {error}");
        assert!(!error.to_string().contains("secret"));
    }
}

#[test]
fn bounds_of_the_sandbox_come_from_file_or_environment() {
    let default = Config::default().sandbox.bounds();
    assert_eq!(default, Bounds::default());
    let file = from_file("[sandbox]\nmemory = \"2GiB\"\ndisk = \"8GiB\"\nprocesses = 500\n").unwrap();
    let expected = Bounds { processes: 500, memory_bytes: Some(2 << 30), disk_bytes: 8 << 30 };
    assert_eq!(file.sandbox.bounds(), expected);
    let env = vars(&[
        ("HOLDPOINT__SANDBOX__MEMORY", "2GiB"),
        ("HOLDPOINT__SANDBOX__DISK", "8GiB"),
        ("HOLDPOINT__SANDBOX__PROCESSES", "500"),
    ]);
    assert_eq!(Config::load_from(None, env, Vec::new()).unwrap().sandbox.bounds(), expected);
}

#[test]
fn a_written_configuration_reads_back_the_same() {
    let mut config = Config::default();
    config.agents.builder.command = Some("make \"all\"".to_owned());
    config.agents.builder.env.0.insert("TOKEN".to_owned(), "secret".to_owned());
    config.sandbox.waive.push(Property::Loopback);
    config.notify.command = vec!["notify-send".to_owned(), "a b".to_owned()];
    config.notify.webhook = Some("https://hooks.example.com/a".to_owned());
    config.agent.name = Some("builder-1".parse().unwrap());
    assert_eq!(from_file(&config.to_toml()).unwrap(), config);
}

#[test]
fn what_is_printed_shows_no_value_of_the_environment() {
    let mut config = Config::default();
    config.agents.repair.env.0.insert("TOKEN".to_owned(), "secret".to_owned());
    config.notify.webhook = Some("https://hooks.example.com/secret?key=secret".to_owned());
    for shown in [config.to_string(), format!("{config:?}"), format!("{:?}", config.agents)] {
        assert!(shown.contains("TOKEN") && !shown.contains("secret"), "{shown}");
    }
}

#[test]
fn a_price_is_read_as_it_is_written_and_what_is_none_is_refused() {
    let text =
        "[agents.builder.price]\ninput = 1.25\noutput = 10\n[agents.verifier.judge_price]\ninput = 0\noutput = 0.4\n";
    let config = from_file(text).unwrap();
    assert!(config.agents.builder.price.is_some() && config.agents.verifier.judge_price.is_some());
    assert_eq!(from_file(&config.to_toml()).unwrap(), config, "processes get what was read");
    let error = from_file("[agents.builder.price]\ninput = -1\noutput = 10\n").unwrap_err();
    assert!(whole(&error).contains("-1 is not a price"), "{}", whole(&error));
}

#[test]
fn names_of_variables_keep_their_case_in_the_file() {
    let config = from_file("[agents.builder.env]\nAPI_Key = \"x\"\n").unwrap();
    assert_eq!(config.agents.builder.env.0.keys().collect::<Vec<_>>(), ["API_Key"]);
}

#[test]
fn the_configurations_of_the_examples_load() {
    for example in ["claude-code", "codex"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../examples/{example}/holdpoint.toml"));
        let config = Config::load_from(Some(&file), BTreeMap::new(), Vec::new());
        assert!(config.unwrap_or_else(|error| panic!("{example}: {error:?}")).agents.builder.command.is_some());
    }
}

#[test]
fn agents_of_any_role_are_configured_like_builders() {
    let text = "[agents.code-review]\ncommand = \"review\"\ncount = 3\n[agents.builder]\ncommand = \"build\"\n";
    let config = from_file(text).unwrap();
    let role: RoleId = "code-review".parse().unwrap();
    let program = config.agents.program(&role).unwrap();
    assert_eq!((program.command.as_deref(), program.count), (Some("review"), Some(3)));
    assert_eq!(config.agents.programs().count(), 3);
    assert_eq!(config.agents.program(&"verifier".parse().unwrap()), None);
    assert_eq!(from_file(&config.to_toml()).unwrap(), config, "processes get what was read");

    let env = vars(&[("HOLDPOINT__AGENTS__ARCHITECT__COUNT", "2"), ("HOLDPOINT__AGENTS__ARCHITECT__NETWORK", "false")]);
    let config =
        Config::load_from(None, env, vec![("agents.code-review.command".to_owned(), "look".to_owned())]).unwrap();
    let architect = config.agents.program(&"architect".parse().unwrap()).unwrap();
    assert_eq!((architect.count, architect.network), (Some(2), false));
    assert_eq!(config.agents.program(&role).unwrap().command.as_deref(), Some("look"));
}

#[test]
fn a_role_that_no_agent_can_have_is_refused_in_the_configuration() {
    for (text, part) in [
        ("[agents.operator]\ncommand = \"x\"\n", "`operator` is no role of agents"),
        ("[agents.\"a b\"]\ncommand = \"x\"\n", "is not an id"),
        ("[agents.architect]\ncomand = \"x\"\n", "unknown field `comand`"),
        ("[agents.architect]\ncount = 0\n", "agents.architect.count must be 1 to 64"),
        ("[agents.architect]\ncommand = \" \"\n", "agents.architect.command is empty"),
    ] {
        let error = whole(&from_file(text).unwrap_err());
        assert!(error.contains(part), "{text}: {error}");
    }
}
