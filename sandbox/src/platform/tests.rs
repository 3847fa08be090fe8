use super::Platform;
use crate::layout::{Grant, Kind, Layout};
use crate::profile::{Network, Profile, RunLimits};
use crate::property::Property;
use crate::wire::{GroupVersion, Sockets};

const FULL: Platform = Platform {
    namespaces: true,
    own_proc: true,
    own_network: true,
    landlock_abi: Some(7),
    process_namespace_limit: true,
    processes_bound: true,
    memory_group: None,
    process_group: None,
    machine_memory: Some(8 << 30),
    root: false,
};
const CONTAINER: Platform = Platform { namespaces: false, own_proc: false, own_network: false, ..FULL };

fn missing(platform: &Platform, network: Network, layout: &Layout) -> Vec<Property> {
    let profile = Profile { read: vec![], write: vec![], deny: vec![], network, limits: RunLimits::default() };
    let reports = platform.reports(&profile, layout);
    reports.iter().filter(|report| !report.enforced() && report.property.required()).map(|r| r.property).collect()
}

#[test]
fn namespaces_give_everything() {
    assert!(missing(&FULL, Network::Loopback, &Layout::default()).is_empty());
    assert!(missing(&FULL, Network::Host, &Layout::default()).is_empty());
}

#[test]
fn container_without_namespaces_lacks_only_the_loopback() {
    assert_eq!(missing(&CONTAINER, Network::Loopback, &Layout::default()), [Property::Loopback]);
    assert!(missing(&CONTAINER, Network::Host, &Layout::default()).is_empty());
}

#[test]
fn neither_namespaces_nor_landlock_is_refused() {
    let bare = Platform { landlock_abi: None, ..CONTAINER };
    let missing = missing(&bare, Network::Host, &Layout::default());
    assert_eq!(missing, [Property::NoWritesOutside, Property::NoReadsOutside, Property::NoForeignProcesses]);
}

#[test]
fn root_without_a_user_namespace_is_refused() {
    let root = Platform { root: true, processes_bound: false, ..CONTAINER };
    let missing = missing(&root, Network::Host, &Layout::default());
    assert_eq!(missing, [Property::NoForeignProcesses, Property::NoPrivilegeGain, Property::ProcessesLimited]);
}

#[test]
fn landlock_alone_cannot_close_a_path_below_a_writable_tree() {
    let grants = [("/w", Kind::Write), ("/w/closed", Kind::Hidden)]
        .map(|(path, kind)| Grant { path: path.into(), real: None, kind, over: None })
        .to_vec();
    let layout = Layout { grants, ..Layout::default() };
    assert!(missing(&CONTAINER, Network::Host, &layout).contains(&Property::NoReadsOutside));
    assert!(missing(&FULL, Network::Host, &layout).is_empty());
}

#[test]
fn unix_sockets_are_refused_where_those_outside_can_be_reached() {
    assert_eq!(FULL.sockets(Network::Host), Sockets::All);
    assert_eq!(CONTAINER.sockets(Network::Host), Sockets::Internet);
    assert_eq!(CONTAINER.sockets(Network::Loopback), Sockets::None);
    let old = Platform { landlock_abi: Some(5), ..FULL };
    assert_eq!(old.sockets(Network::Host), Sockets::Internet);
    assert_eq!(old.sockets(Network::Loopback), Sockets::All);
}

fn by(platform: &Platform, property: Property) -> Option<String> {
    let profile =
        Profile { read: vec![], write: vec![], deny: vec![], network: Network::Host, limits: RunLimits::default() };
    let reports = platform.reports(&profile, &Layout::default());
    reports.into_iter().find(|report| report.property == property).and_then(|report| report.mechanism)
}

#[test]
fn processes_are_limited_by_the_first_of_several_mechanisms() {
    let old = Platform { process_namespace_limit: false, ..FULL };
    let grouped = Platform { process_group: Some(GroupVersion::V2), processes_bound: false, ..old };
    for (platform, mechanism) in [
        (FULL, Some("process namespace")),
        (grouped, Some("control group v2")),
        (old, Some("rlimit in the user namespace")),
        (CONTAINER, Some("rlimit of the user")),
        (Platform { processes_bound: false, ..old }, None),
    ] {
        assert_eq!(by(&platform, Property::ProcessesLimited).as_deref(), mechanism);
    }
    assert!(grouped.groups().processes);
    assert!(!Platform { process_namespace_limit: true, ..grouped }.groups().processes);
}

#[test]
fn memory_is_limited_by_a_group_or_by_looking_and_to_a_part_of_the_machine() {
    assert_eq!(by(&FULL, Property::MemoryLimited).as_deref(), Some("supervisor"));
    let grouped = Platform { memory_group: Some(GroupVersion::V1), ..FULL };
    assert_eq!(by(&grouped, Property::MemoryLimited).as_deref(), Some("control group v1"));
    assert_eq!(FULL.memory_bytes(None), Some(6 << 30));
    assert_eq!(FULL.memory_bytes(Some(1 << 40)), Some(1 << 40));
    assert_eq!(by(&Platform { machine_memory: None, ..FULL }, Property::MemoryLimited), None);
}
