//! The chart in a cluster: a fleet of pods flies while pods are deleted and replaced; with one broker, and with three. Then the flight
//! is accepted, every pod is ready again, the audit is sound, and the job of the archive takes the flight off the broker.
//!
//! `HOLDPOINT_KUBECONFIG` names the cluster; without it `tests/kubernetes/cluster.sh` starts a small one. It makes a namespace and a
//! daemon set in `kube-system`, and takes both away again. What the daemon set wrote stays on the nodes, under a name of its own.

#![expect(clippy::print_stdout, reason = "a long run tells how it goes")]

mod cluster;

use std::{process::Command, time::Instant};

use serde_json::json;

use self::cluster::{Cluster, Release};
use super::Terms;
use crate::world::{World, root};

/// Names the cluster, as `KUBECONFIG` does for kubectl: nobody's own cluster is taken by accident.
pub const KUBECONFIG: &str = "HOLDPOINT_KUBECONFIG";

/// Starts a cluster around a command.
const OWN: &str = "tests/kubernetes/cluster.sh";
/// Where that has its programs, below the folder of the build.
const FOLDER: &str = "target/cluster";
/// With what the images of this build are tagged.
const TAG: &str = "debug";
/// The profile of system calls, below the kubelet's folder: not that of a fleet that is in use.
const PROFILE: &str = "holdpoint-soak/seccomp.json";

/// How many waypoints a flight has: the last disruption comes when half of them have landed.
const WAYPOINTS: usize = 24;
/// What a flight goes through: each as soon as so many waypoints have landed.
const DISRUPTIONS: [(usize, Disruption); 5] = [
    (2, Disruption::Delete("holdpoint/role=builder")),
    (4, Disruption::Delete(BROKER)),
    (6, Disruption::Force("app.kubernetes.io/component=orchestrator")),
    (8, Disruption::Force(BROKER)),
    (12, Disruption::ReplaceAll),
];
const BROKER: &str = "app.kubernetes.io/component=broker";
/// What builders do: one file for each waypoint, after a while in which they can be killed.
const BUILDER: &str = "sleep 4\necho done > \"$HOLDPOINT_WAYPOINT.txt\"";

#[derive(Debug, Clone, Copy)]
enum Disruption {
    /// The first pod with this label is deleted: its process may end in order.
    Delete(&'static str),
    /// The same, and the cluster does not wait for its end.
    Force(&'static str),
    /// Every stateful set replaces its pods, one after another.
    ReplaceAll,
}

/// Flies on a fleet with one broker, then on one with three.
///
/// # Errors
/// What did not come up, did not end well, or is not sound.
pub fn run(_: &Terms) -> Result<(), String> {
    let Some(config) = std::env::var_os(KUBECONFIG) else { return in_a_cluster_of_its_own() };
    println!(
        "| brokers | orchestrators | nodes | Kubernetes | waypoints | ready after, s | flown in, s |\n|---|---|---|---|---|---|---|"
    );
    for (brokers, orchestrators) in [(1, 1), (3, 2)] {
        let world = World::new(&[("readme", "x\n")]);
        world.plan(&plan());
        world.program("builder.sh", BUILDER);
        let cluster = Cluster::at(&config, world.path("cluster"))?;
        let begun = Instant::now();
        let release = Release::install(&cluster, &world, brokers, &values(brokers, orchestrators))?;
        let ready = begun.elapsed().as_secs();
        let begun = Instant::now();
        fly(&world, &release)?;
        let (nodes, version) = (cluster.nodes, &cluster.version);
        let flown = begun.elapsed().as_secs();
        println!("| {brokers} | {orchestrators} | {nodes} | {version} | {WAYPOINTS} | {ready} | {flown} |");
    }
    Ok(())
}

/// Starts a cluster, and this part in it. The script ends the cluster, also where it is interrupted.
fn in_a_cluster_of_its_own() -> Result<(), String> {
    println!("a cluster on this machine; its programs are built once, which takes ten minutes");
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut script = Command::new("sh");
    script.arg(root().join(OWN)).arg("with").arg(root().join(FOLDER)).arg(this).arg("kubernetes");
    let ended = script.env("HOLDPOINT_TAG", TAG).status().map_err(|error| error.to_string())?;
    if ended.success() {
        return Ok(());
    }
    Err(format!("{OWN} ended with {ended}. {KUBECONFIG} may name a cluster of yours instead"))
}

/// Waypoints that do not depend on each other: as many are built at once as there are builders.
fn plan() -> String {
    let waypoint = |n: usize| {
        format!("  - {{id: w{n}, goal: g, criteria: [{{id: c, check: \"test -s w{n}.txt\", red_first: true}}]}}\n")
    };
    format!("plan: pods\nwaypoints:\n{}", (0..WAYPOINTS).map(waypoint).collect::<String>())
}

/// What differs from the chart's own values: what a small machine has room for, and images from wherever they are.
fn values(brokers: u32, orchestrators: u32) -> serde_json::Value {
    let small = |limit: &str| json!({"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": limit}});
    let variable = |name, otherwise: &str| std::env::var(name).unwrap_or_else(|_| otherwise.to_owned());
    let agents = |replicas: u32| json!({"replicas": replicas, "resources": small("4Gi")});
    json!({
        "images": {"repository": variable("HOLDPOINT_IMAGES", "holdpoint"), "tag": variable("HOLDPOINT_TAG", "latest")},
        "broker": {"replicas": brokers, "disk": "4GiB", "storage": "8Gi", "resources": small("1Gi")},
        "orchestrator": {"replicas": orchestrators, "resources": small("1Gi")},
        "agents": {"builder": agents(3), "repair": agents(1), "verifier": agents(2)},
        "sandbox": {"install": true, "profile": PROFILE},
        // Everything that is over, at once.
        "archive": {"enabled": true, "olderThan": "1s", "grace": "1s", "storage": "8Gi", "resources": small("1Gi")},
    })
}

fn fly(world: &World, release: &Release<'_>) -> Result<(), String> {
    let door = release.door();
    let mut flight = world.start(&[&["run", "../plan/plan.yaml", "--repo", ".", "--json"][..], &door.args()].concat());
    for (landed, disruption) in DISRUPTIONS {
        flight.until_said_times(" landed as ", landed);
        match disruption {
            Disruption::Delete(label) => release.delete(label, &["--wait=false"])?,
            Disruption::Force(label) => release.delete(label, &["--grace-period=0", "--force"])?,
            Disruption::ReplaceAll => release.replace_all()?,
        }
    }
    let flown = flight.finish();
    if flown.code != 0 {
        return Err(format!("the flight did not end well: {flown}\n{}", release.said()));
    }
    release.ready()?;
    let audit = world.holdpoint(&[&["audit", "--all"][..], &door.args()].concat());
    if audit.code != 0 {
        return Err(format!("the audit finds something: {audit}"));
    }
    release.archive(world)?;
    let flight = flown.json()["flight"].as_str().unwrap_or_default().to_owned();
    let gone = world.holdpoint(&[&["status", &flight, "--json"][..], &door.args()].concat());
    if gone.stdout.contains("\"archived\"") { Ok(()) } else { Err(format!("it was not archived: {gone}")) }
}
