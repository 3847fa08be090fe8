//! The dashboard and the alerts of `deploy/monitoring`, asked of a real Prometheus that reads a real orchestrator.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use holdpoint_protocol::{facts::Verdict, ids::role, state::Status};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::{Duration, Instant, sleep},
};

use crate::support::{SOON, World};

const PLAN: &str = "plan: p\npolicy: {max_reworks: 9}\nwaypoints:\n  \
                    - {id: w, title: t, goal: g, scope: [a], criteria: [{id: c, statement: s, check: 'true'}]}\n  \
                    - {id: next, title: t, goal: g, criteria: [{id: c, statement: s, check: 'true'}]}\n";
/// Enough for a share to say something.
const ROUNDS: usize = 7;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// A Prometheus that reads one orchestrator every second, with the alerts that we ship.
struct Prometheus {
    child: Child,
    address: SocketAddr,
    _dir: TempDir,
}

impl Prometheus {
    async fn start(target: SocketAddr) -> Self {
        let program = root().join("target/tools/prometheus");
        assert!(program.is_file(), "there is no {}: run `cargo xtask tools`", program.display());
        let dir = TempDir::new().unwrap();
        let rules = root().join("deploy/monitoring/alerts.yaml");
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['{}']\n\
             scrape_configs: [{{job_name: o, static_configs: [{{targets: ['{target}']}}]}}]\n",
            rules.display()
        );
        let file = dir.path().join("prometheus.yaml");
        fs::write(&file, config).unwrap();
        let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let child = Command::new(program)
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", dir.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, address, _dir: dir }
    }

    /// The answer of its API; `None` while it starts.
    async fn get(&self, path: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(self.address).await.ok()?;
        stream.write_all(format!("GET {path} HTTP/1.0\r\nhost: x\r\n\r\n").as_bytes()).await.ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await.ok()?;
        serde_json::from_str(text.split_once("\r\n\r\n")?.1).ok()
    }

    /// What an expression comes to at this moment.
    async fn query(&self, expression: &str) -> Option<Value> {
        let encoded: String = expression.bytes().map(|byte| format!("%{byte:02X}")).collect();
        self.get(&format!("/api/v1/query?query={encoded}")).await
    }

    /// Waits until an expression comes to something.
    async fn until(&self, expression: &str) -> Vec<Value> {
        let deadline = Instant::now() + SOON;
        loop {
            let answer = self.query(expression).await;
            let found = answer.as_ref().and_then(|answer| answer["data"]["result"].as_array());
            if let Some(found) = found.filter(|found| !found.is_empty()) {
                return found.clone();
            }
            assert!(Instant::now() < deadline, "nothing for {expression}: {answer:?}");
            sleep(Duration::from_millis(100)).await;
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn dashboard() -> Value {
    let text = fs::read(root().join("deploy/monitoring/grafana/dashboards/gates.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// Title and expression of everything that the dashboard asks, with its variables filled in as Grafana does.
fn asked() -> Vec<(String, String)> {
    let filled = |expression: &str| {
        let filled = expression.replace("$project", ".*").replace("$workflow", ".*");
        filled.replace("$__rate_interval", "1m").replace("$__range", "1h")
    };
    let mut asked = Vec::new();
    for panel in dashboard()["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            asked.push((panel["title"].as_str().unwrap().to_owned(), filled(target["expr"].as_str().unwrap())));
        }
    }
    asked
}

#[test]
fn the_dashboard_has_its_five_panels_and_a_source_of_data() {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap();
    let titles: Vec<_> = panels.iter().map(|panel| panel["title"].as_str().unwrap()).collect();
    let wanted =
        ["Gate throughput", "Gate duration", "Rejection rate", "Work at each gate", "Passes through the workflow"];
    assert_eq!(titles, wanted);
    let sources = root().join("deploy/monitoring/grafana/provisioning/datasources/prometheus.yaml");
    let sources = fs::read_to_string(sources).unwrap();
    for panel in panels {
        let uid = panel["datasource"]["uid"].as_str().unwrap();
        assert!(sources.lines().any(|line| line.trim() == format!("uid: {uid}")), "{uid}");
        assert!(panel["description"].as_str().is_some_and(|text| !text.is_empty()), "{panel}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_query_of_the_dashboard_has_an_answer_and_every_alert_can_be_worked_out() {
    let mut world = World::start().await;
    world.start_orchestrator_with(|config| config.metrics.listen = Some("127.0.0.1:0".parse().unwrap())).await;
    let prometheus = Prometheus::start(world.orchestrator().metrics().unwrap()).await;
    world.submit_for(PLAN, Some(1)).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    prometheus.until("holdpoint_gate_rejections_total{gate=\"verify\"} == 0").await;
    for round in 1..=ROUNDS {
        builder.builds(&world, &[("a", &format!("try {round}\n"))]).await;
        verifier.judges(if round == ROUNDS { Verdict::Pass } else { Verdict::Fail }).await;
    }
    world.view_when("the landing", |view| view.waypoints.iter().any(|w| w.status == Status::Complete)).await;

    // 6 of 7, once the last turn was read.
    prometheus.until("holdpoint:gate_rejection_ratio{gate=\"verify\"} > 0.8 < 0.9").await;
    prometheus.until("holdpoint_gate_active_waypoints{gate=\"build\"} == 1").await;
    let asked = asked();
    assert!(asked.len() >= 8, "{asked:?}");
    for (title, expression) in asked {
        let found = prometheus.until(&expression).await;
        assert!(found.iter().any(|series| series["value"][1] != "NaN"), "{title}: {expression}: {found:?}");
    }
    // Groups of rules are evaluated each at its own time: the alerts may still be those of before the share was there.
    prometheus.until("ALERTS{alertname=\"HighRejectionRate\", alertstate=\"pending\"}").await;
    let rules = prometheus.get("/api/v1/rules").await.unwrap();
    let groups = rules["data"]["groups"].as_array().unwrap();
    let rules: Vec<&Value> = groups.iter().flat_map(|group| group["rules"].as_array().unwrap()).collect();
    assert_eq!(rules.len(), 12);
    assert!(rules.iter().all(|rule| rule["health"] == "ok" && rule["lastError"].is_null()), "{rules:#?}");
    let pending = |rule: &&Value| rule["alerts"].as_array().is_some_and(|alerts| !alerts.is_empty());
    let names: Vec<_> = rules.iter().filter(|rule| pending(rule)).map(|rule| rule["name"].clone()).collect();
    assert_eq!(names, ["HighRejectionRate"], "the critical one waits for its five minutes");
}
