use std::{sync::Arc, time::Duration};

use holdpoint_bus::auth::{Authority, Trust, TrustRoots};
use holdpoint_protocol::{ids::role, streams};

use super::{BrokerConnectionError, connect, trust};
use crate::{config::Config, process::exit};

/// How long something that must happen may take on a busy machine.
const SOON: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_configuration_that_lacks_something_is_a_usage_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut authority = Authority::create();
    let creds = dir.path().join("a.creds");
    authority.mint_orchestrator(&"other".parse().unwrap()).save(&creds).unwrap();
    let trust = dir.path().join("trust.json");
    std::fs::write(&trust, serde_json::to_vec(authority.trust_roots()).unwrap()).unwrap();

    let mut config = Config::default();
    let role = role::id(role::BUILDER);
    let failure = async |config: &Config| connect(config, &role).await.unwrap_err();
    assert!(matches!(failure(&config).await, BrokerConnectionError::Missing { key: "nats.creds" }));
    config.nats.creds = Some(dir.path().join("none.creds"));
    config.nats.trust = Some(dir.path().join("none.json"));
    assert!(matches!(failure(&config).await, BrokerConnectionError::Credentials(_)));
    config.nats.creds = Some(creds);
    assert!(matches!(failure(&config).await, BrokerConnectionError::Trust(_)));
    config.nats.trust = Some(trust);
    let other = failure(&config).await;
    assert!(
        matches!(&other, BrokerConnectionError::OtherRole { found, .. } if found.as_str() == role::ORCHESTRATOR),
        "{other}"
    );
    assert_eq!(other.exit_code(), exit::USAGE);
    let pool = streams::fleet_pool();
    let builders = authority.mint_agent(&role, &"other".parse().unwrap(), &pool, None).unwrap();
    builders.save(&config.nats.creds.clone().unwrap()).unwrap();
    config.agent.name = Some("me".parse().unwrap());
    let error = failure(&config).await;
    assert!(matches!(error, BrokerConnectionError::OtherName { .. }));
    assert_eq!(error.exit_code(), exit::USAGE);
}

#[tokio::test]
async fn trust_roots_follow_their_file_and_a_damaged_one_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("trust.json");
    let write = |roots: &TrustRoots| std::fs::write(&file, serde_json::to_vec(roots).unwrap()).unwrap();
    let mut authority = Authority::create();
    let trust = Trust::from(Arc::new(authority.trust_roots().clone()));
    write(authority.trust_roots());
    trust::follow(file.clone(), &trust, Duration::from_millis(1));
    let followed = async |wanted: &TrustRoots, meanwhile: &TrustRoots| {
        let deadline = tokio::time::Instant::now() + SOON;
        loop {
            let roots = trust.roots();
            if *roots == *wanted {
                return;
            }
            assert_eq!(*roots, *meanwhile);
            assert!(tokio::time::Instant::now() < deadline, "not followed");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    for key in ["one", "two", "three"] {
        let before = authority.trust_roots().clone();
        authority.revoke(key);
        // Half of a file, for as long as a few looks take.
        std::fs::write(&file, "{").unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert_eq!(*trust.roots(), before);
        write(authority.trust_roots());
        followed(authority.trust_roots(), &before).await;
    }
    let watched = trust.watched();
    drop(trust);
    assert!(!watched.is_used(), "who follows the file does not keep it");
}
