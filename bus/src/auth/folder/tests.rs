use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, time::Duration};

use holdpoint_protocol::{
    Timestamp,
    facts::Harness,
    ids::{AgentName, RoleId, role},
    streams,
};

use super::{CredentialsDestination, CredentialsStanding, Issued, KeyFolder, KeyFolderError};

/// Who has credentials in a fleet without declared roles.
const ROLES: [&str; 5] = [role::BUILDER, role::VERIFIER, role::REPAIR, role::ORCHESTRATOR, role::OPERATOR];
use crate::auth::{ClaimError, CredentialRequest, Credentials, JwtRefusal, TrustRoots, claim};

/// A time after anything in these tests was issued, and before anything expires.
fn soon() -> Timestamp {
    let now_ms = i64::try_from(super::now_s() * 1_000).unwrap();
    Timestamp::from_millis(now_ms + 5_000)
}

fn order(role: &'static str, name: &str) -> CredentialRequest {
    CredentialRequest {
        role: role::id(role),
        name: name.parse().unwrap(),
        pool: streams::fleet_pool(),
        harness: Harness::Foreign,
        lifetime: None,
    }
}

fn roots(dir: &Path) -> TrustRoots {
    TrustRoots::load(&dir.join("trust.json")).unwrap()
}

fn of(dir: &Path, role: &str, name: &str) -> Credentials {
    Credentials::load(&dir.join(role).join(format!("{name}.creds"))).unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// One of each role.
fn counts(count: u32) -> Vec<(RoleId, u32)> {
    ROLES.map(|role| (role::id(role), count)).to_vec()
}

fn names(issued: &[Issued]) -> Vec<&str> {
    issued.iter().map(|issued| issued.name.as_str()).collect()
}

#[test]
fn a_folder_has_credentials_of_every_role_and_only_the_secret_part_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("keys");
    KeyFolder::open_or_create(&dir).unwrap().ensure(&counts(1)).unwrap();
    for role in ROLES {
        let credentials = of(&dir, role, &format!("{role}-1"));
        assert_eq!(roots(&dir).check_credentials(&credentials, soon()), Ok(role::id(role)));
        assert_eq!(mode(&dir.join(role)), 0o700);
        assert_eq!(mode(&dir.join(role).join(format!("{role}-1.creds"))), 0o600);
    }
    assert_eq!((mode(&dir.join("authority")), mode(&dir.join("authority/authority.json"))), (0o700, 0o600));
    for public in ["trust.json", "broker/accounts.conf"] {
        assert_eq!(mode(&dir.join(public)) & 0o444, 0o444);
        let text = fs::read_to_string(dir.join(public)).unwrap();
        let seeds = |prefix: &str| text.contains(&format!("\"{prefix}")) || text.contains(&format!(" {prefix}"));
        assert!(!["SU", "SA", "SO"].iter().any(|seed| seeds(seed)), "{text}");
    }
}

#[test]
fn what_is_there_is_left_as_it_is_and_what_is_missing_is_added() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let made = KeyFolder::open_or_create(dir).unwrap().ensure(&counts(1)).unwrap();
    assert_eq!(made.len(), ROLES.len());
    let read = || [".", "broker", "builder"].map(|below| everything(&dir.join(below)));
    let before = read();
    assert_eq!(KeyFolder::open_or_create(dir).unwrap().ensure(&counts(1)).unwrap(), []);
    assert_eq!(read(), before);
    let more = [(role::id(role::BUILDER), 3)];
    assert_eq!(names(&KeyFolder::open(dir).unwrap().ensure(&more).unwrap()), ["builder-2", "builder-3"]);
    // No broker has to know.
    assert_eq!(read()[..2], before[..2]);
}

#[test]
fn a_role_that_was_added_keeps_its_keys_whatever_is_made_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let (dir, reviewer) = (dir.path(), role::id("reviewer"));
    KeyFolder::open_or_create(dir).unwrap().ensure(&counts(1)).unwrap();
    let mut folder = KeyFolder::open(dir).unwrap();
    folder.add_role(&reviewer, false).unwrap();
    folder.ensure(&[(reviewer.clone(), 2)]).unwrap();
    assert!(folder.changed().broker && folder.changed().trust);
    drop(folder);
    let read = || [".", "authority", "broker", "reviewer"].map(|below| everything(&dir.join(below)));
    let before = read();
    // As the containers' keys step does at each start.
    let mut folder = KeyFolder::open_or_create(dir).unwrap();
    assert_eq!(folder.ensure(&counts(1)).unwrap(), []);
    folder.add_role(&reviewer, false).unwrap();
    assert_eq!(folder.ensure(&[(reviewer.clone(), 2)]).unwrap(), []);
    drop(folder);
    assert_eq!(read(), before);
    assert_eq!(roots(dir).check_credentials(&of(dir, "reviewer", "reviewer-2"), soon()), Ok(reviewer));
}

/// Names and contents of a folder's files.
fn everything(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let files = fs::read_dir(dir).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file());
    let mut all: Vec<_> =
        files.map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap())).collect();
    all.sort();
    all
}

#[test]
fn a_name_belongs_to_one_user_until_it_is_revoked() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut folder = KeyFolder::open_or_create(dir).unwrap();
    let (first, _) = folder.add(order(role::BUILDER, "ann"), CredentialsDestination::Folder).unwrap();
    for role in [role::BUILDER, role::VERIFIER] {
        let refused = folder.add(order(role, "ann"), CredentialsDestination::Folder).unwrap_err();
        assert!(matches!(refused, KeyFolderError::NameTaken { .. }), "{refused:?}");
    }
    assert_eq!(folder.revoke("ann").unwrap().unwrap().public_key, first.public_key);
    assert!(!dir.join("builder/ann.creds").exists());
    assert!(matches!(folder.revoke("ann"), Err(KeyFolderError::NotIssued { .. })));
    assert_eq!(folder.ensure(&[]).unwrap(), []);
    let (second, credentials) = folder.add(order(role::VERIFIER, "ann"), CredentialsDestination::Nowhere).unwrap();
    assert_ne!(second.public_key, first.public_key);
    assert_eq!(roots(dir).check_credentials(&credentials, soon()), Ok(role::id(role::VERIFIER)));
    let standings: Vec<_> = folder.issued().into_iter().map(|(_, standing)| standing).collect();
    assert_eq!(standings, [CredentialsStanding::Revoked, CredentialsStanding::Valid]);
    assert!(roots(dir).revoked.contains_key(&first.public_key));
    // By key: also one that this folder never saw.
    folder.revoke(&second.public_key).unwrap().unwrap();
    let stranger = nkeys::KeyPair::new_user().public_key();
    assert_eq!(folder.revoke(&stranger).unwrap(), None);
    assert!(roots(dir).revoked.contains_key(&stranger));
}

#[test]
fn a_revoked_number_is_not_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut folder = KeyFolder::open_or_create(dir.path()).unwrap();
    folder.ensure(&counts(2)).unwrap();
    folder.revoke("builder-1").unwrap();
    assert_eq!(folder.ensure(&counts(2)).unwrap(), []);
    assert!(!dir.path().join("builder/builder-1.creds").exists());
}

#[test]
fn a_file_of_somebody_else_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let mut folder = KeyFolder::open_or_create(&dir.path().join("keys")).unwrap();
    let file = dir.path().join("mine");
    fs::write(&file, "mine").unwrap();
    let refused = folder.add(order(role::OPERATOR, "ann"), CredentialsDestination::File(&file)).unwrap_err();
    assert!(matches!(refused, KeyFolderError::FileThere { .. }), "{refused:?}");
    assert_eq!(fs::read(&file).unwrap(), b"mine");
    assert!(folder.issued().is_empty());
    // Nor those of a process that has them from here, as long as they count.
    let bobs = dir.path().join("bobs");
    let short = CredentialRequest { lifetime: Some(Duration::ZERO), ..order(role::OPERATOR, "bob") };
    folder.add(short, CredentialsDestination::File(&bobs)).unwrap();
    folder.add(order(role::OPERATOR, "bob"), CredentialsDestination::File(&bobs)).unwrap();
    let refused = folder.add(order(role::OPERATOR, "eve"), CredentialsDestination::File(&bobs)).unwrap_err();
    assert!(matches!(refused, KeyFolderError::FileThere { .. }), "{refused:?}");
    let unknown = CredentialRequest { role: "poet".parse().unwrap(), ..order(role::OPERATOR, "ann") };
    assert!(matches!(folder.add(unknown, CredentialsDestination::Folder), Err(KeyFolderError::UnknownRole { .. })));
    assert!(matches!(KeyFolder::open(dir.path()), Err(KeyFolderError::NoKeys { .. })));
}

#[test]
fn a_role_gets_a_new_key_and_the_old_one_counts_until_it_is_dropped() {
    for role in ROLES {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let mut folder = KeyFolder::open_or_create(dir).unwrap();
        folder.ensure(&[(role::id(role), 2)]).unwrap();
        let (name, role) = (format!("{role}-1"), role::id(role));
        let old = of(dir, role.as_str(), &name);
        fs::remove_file(dir.join(format!("{role}/{role}-2.creds"))).unwrap();

        let rotation = folder.rotate(&role).unwrap();
        assert_eq!((names(&rotation.renewed), names(&rotation.left)), (vec![&*name], vec![&*format!("{role}-2")]));
        let new = of(dir, role.as_str(), &name);
        assert_eq!((new.name(), new.public_key()), (old.name(), old.public_key()));
        assert_ne!(new.issuer(), old.issuer());
        for credentials in [&old, &new] {
            assert_eq!(roots(dir).check_credentials(credentials, soon()), Ok(role.clone()));
        }
        // Once more goes on with the same key.
        let again = folder.rotate(&role).unwrap();
        assert_eq!((again.renewed.len(), names(&again.left)), (0, vec![&*format!("{role}-2")]));
        let refused = folder.drop_old(&role, false).unwrap_err();
        assert!(matches!(&refused, KeyFolderError::StillUsed { left, .. } if left.len() == 1), "{refused:?}");
        assert_eq!(names(&folder.drop_old(&role, true).unwrap()), [format!("{role}-2")]);
        assert!(matches!(folder.drop_old(&role, true), Err(KeyFolderError::NoOldKey { .. })));

        assert_eq!(roots(dir).check_credentials(&new, soon()), Ok(role.clone()));
        if role.as_str() != role::ORCHESTRATOR {
            assert_eq!(roots(dir).check_credentials(&old, soon()), Err(JwtRefusal::UnknownIssuer));
        }
        assert!(!fs::read_to_string(dir.join("broker/accounts.conf")).unwrap().contains(old.issuer()));
        let standings: Vec<_> = folder.issued().into_iter().map(|(_, standing)| standing).collect();
        assert_eq!(standings, [CredentialsStanding::Valid, CredentialsStanding::Dropped]);
    }
}

#[test]
fn what_was_cut_off_is_completed_or_undone() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut folder = KeyFolder::open_or_create(dir).unwrap();
    folder.ensure(&[(role::id(role::ORCHESTRATOR), 2)]).unwrap();
    // As it is after a crash: known to the authority, but only one of two files was written.
    for issued in &mut folder.authority.issued {
        issued.pending = true;
    }
    folder.save().unwrap();
    drop(folder);
    let lost = of(dir, role::ORCHESTRATOR, "orchestrator-2");
    fs::remove_file(dir.join("orchestrator/orchestrator-2.creds")).unwrap();
    let mut folder = KeyFolder::open(dir).unwrap();
    assert_eq!(folder.issued().len(), 1);
    assert_eq!(names(&folder.ensure(&[(role::id(role::ORCHESTRATOR), 2)]).unwrap()), ["orchestrator-2"]);
    assert!(!roots(dir).orchestrators.contains(&lost.public_key().to_owned()));
    for name in ["orchestrator-1", "orchestrator-2"] {
        assert!(roots(dir).check_credentials(&of(dir, role::ORCHESTRATOR, name), soon()).is_ok(), "{name}");
    }
}

#[test]
fn processes_that_share_a_folder_get_credentials_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut folder = KeyFolder::open_or_create(dir).unwrap();
    folder.ensure(&[(role::id(role::BUILDER), 12)]).unwrap();
    let builders = dir.join("builder");
    let take = |name: Option<&AgentName>| claim(&builders, name, &roots(dir));
    let mut held: Vec<_> = (1..=11).map(|_| take(None).unwrap()).collect();
    let names: Vec<_> = held.iter().map(|(credentials, _)| credentials.name().to_string()).collect();
    assert_eq!(names, (1..=11).map(|number| format!("builder-{number}")).collect::<Vec<_>>());
    // Signed again, they are still held.
    folder.rotate(&role::id(role::BUILDER)).unwrap();
    assert_eq!(take(None).unwrap().0.name().as_str(), "builder-12");
    folder.revoke("builder-12").unwrap();
    let refused = take(None).unwrap_err();
    assert!(matches!(refused, ClaimError::NoneFree { held: 11, useless: 0, .. }), "{refused}");
    // What an ended process held is free again.
    held.remove(4);
    assert_eq!(take(Some(&"builder-5".parse().unwrap())).unwrap().0.name().as_str(), "builder-5");
    assert!(take(Some(&"builder-6".parse().unwrap())).is_err());
}

#[test]
fn credentials_that_do_not_count_are_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut folder = KeyFolder::open_or_create(dir).unwrap();
    let expired = CredentialRequest { lifetime: Some(Duration::ZERO), ..order(role::BUILDER, "a1") };
    folder.add(expired, CredentialsDestination::Folder).unwrap();
    folder.add(order(role::BUILDER, "a2"), CredentialsDestination::Folder).unwrap();
    fs::write(dir.join("builder/a0.creds"), "damaged").unwrap();
    let (credentials, _claim) = claim(&dir.join("builder"), None, &roots(dir)).unwrap();
    assert_eq!(credentials.name().as_str(), "a2");
    let refused = claim(&dir.join("builder"), None, &roots(dir)).unwrap_err();
    assert!(matches!(refused, ClaimError::NoneFree { held: 1, useless: 2, .. }), "{refused}");
    assert!(refused.to_string().contains("holdpoint keys add"), "{refused}");
    assert!(matches!(claim(&dir.join("none"), None, &roots(dir)), Err(ClaimError::Folder { .. })));
}
