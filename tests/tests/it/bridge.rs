//! Supervisors and workers who only know files: a folder as an agent and an operator of a fleet.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use holdpoint_faults::{FaultOrder, ORDER, PROCESS, STOPPED};
use holdpoint_tests::world::{RunningProcess, World, eventually_every, root};
use nix::sys::signal::Signal;
use serde_json::Value;

/// A turn whose bridge was killed comes again after this time.
const ACK_WAIT: (&str, &str) = ("HOLDPOINT__AGENT__ACK_WAIT", "2s");
/// Pauses between looks at the folder.
const PAUSE: Duration = Duration::from_millis(100);

/// A fleet, a folder, and who works in it.
struct Bridged {
    up: RunningProcess,
    bridge: RunningProcess,
    scripts: Vec<Child>,
    world: World,
}

impl Drop for Bridged {
    fn drop(&mut self) {
        for script in &mut self.scripts {
            // They may have ended.
            let _ = script.kill();
            let _ = script.wait();
        }
        for process in [&self.bridge, &self.up] {
            process.signal(Signal::SIGKILL);
        }
    }
}

/// A bridge that this order is for, if there is one.
fn bridge(world: &World) -> RunningProcess {
    let mut command = world.command(&["bridge", "../desk"]);
    command.env(ACK_WAIT.0, ACK_WAIT.1).env(PROCESS, "bridge");
    world.start_with(command)
}

impl Bridged {
    /// A fleet with a verifier and the bridge, and nobody at work in the folder.
    fn at(world: World) -> Self {
        let mut command = world.command(&["up", "--builder", "true", "--no-console"]);
        // A walk kills the bridge more often than an agent may die of one turn.
        command.env(ACK_WAIT.0, ACK_WAIT.1).env("HOLDPOINT__ORCHESTRATOR__DEAD_AFTER", "0");
        let mut up = world.start_with(command);
        up.until_said("serves");
        let mut bridge = bridge(&world);
        bridge.until_said("keeps");
        Self { up, bridge, scripts: Vec::new(), world }
    }

    /// Has the scripts of the example work in the folder.
    fn staffed(mut self) -> Self {
        for script in ["supervisor.sh", "worker.sh"] {
            let program = root().join("examples/bridge").join(script);
            let mut command = Command::new(program.canonicalize().unwrap());
            command.arg(self.desk("")).stdin(Stdio::null());
            self.scripts.push(command.spawn().unwrap());
        }
        self
    }

    fn desk(&self, path: &str) -> PathBuf {
        self.world.path("desk").join(path)
    }

    fn write(&self, path: &str, text: &str) {
        // Whole, as an editor writes it.
        let (file, unfinished) = (self.desk(path), self.desk(".unfinished"));
        fs::write(&unfinished, text).unwrap();
        fs::rename(unfinished, file).unwrap();
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.desk(path)).ok()
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.read(path).unwrap_or_else(|| panic!("no {path}"))).unwrap()
    }

    fn mv(&self, from: &str, to: &str) {
        fs::rename(self.desk(from), self.desk(to)).unwrap();
    }

    #[track_caller]
    fn until(&self, path: &str) -> String {
        eventually_every(PAUSE, path, || self.read(path))
    }

    #[track_caller]
    fn until_says(&self, path: &str, words: &str) -> String {
        eventually_every(PAUSE, &format!("{words:?} in {path}"), || self.read(path).filter(|text| text.contains(words)))
    }

    /// Waits until a task's file has the marks of its turn there.
    #[track_caller]
    fn until_open(&self, path: &str, gate: &str) -> String {
        self.until_says(path, &format!("gate: {gate}\n"))
    }
}

/// Where the bridge is killed, one after the other: each is its first passing of the step since it was started.
const WALK: [&str; 16] = [
    "bridge before submit 1",
    "bridge after submit 1",
    "bridge after take-turn 1",
    "bridge before publish-plan 1",
    "bridge after publish-plan 1",
    "bridge before publish-result 1",
    "bridge after publish-result 1",
    "bridge before bridge-write 2",
    "bridge after bridge-write 3",
    "bridge before ack-turn 1",
    "bridge after ack-turn 1",
    "bridge before bridge-move 1",
    "bridge after bridge-move 1",
    "bridge before publish-result 1",
    "bridge after publish-result 1",
    "bridge before bridge-write 1",
];

impl Bridged {
    /// Kills the bridge at this step, and starts it again; `false`: the request was done before it came by.
    fn kill_at(&mut self, order: &str) -> bool {
        let order = FaultOrder::parse(order).unwrap();
        self.bridge.signal(Signal::SIGKILL);
        for left in [STOPPED, ORDER] {
            // There may be none.
            let _ = fs::remove_file(self.world.path(&format!("faults/{left}")));
        }
        self.world.write(&format!("faults/{ORDER}"), &order.to_string());
        self.bridge = bridge(&self.world);
        let stopped = self.world.path(&format!("faults/{STOPPED}"));
        let is_done =
            || self.read("state/bridge/requests/greet.json").is_some_and(|text| text.contains("\"over\":true"));
        eventually_every(PAUSE, &order.to_string(), || {
            if stopped.exists() { Some(true) } else { is_done().then_some(false) }
        })
    }

    fn status(&self) -> Value {
        let flights = self.world.holdpoint(&["status", "--json"]).expect(0).json();
        assert_eq!(flights.as_array().unwrap().len(), 1, "one request is one flight: {flights}");
        self.world.holdpoint(&["status", flights[0]["flight"].as_str().unwrap(), "--json"]).expect(0).json()
    }

    /// The types of the messages in an inbox, in order.
    fn told(&self, to: &str) -> Vec<String> {
        let files = fs::read_dir(self.desk(&format!("comms/{to}/inbox"))).unwrap().flatten();
        let mut all: Vec<(u64, String)> = files
            .map(|file| {
                let name = file.file_name().into_string().unwrap();
                let message = self.json(&format!("comms/{to}/inbox/{name}"));
                assert_eq!(format!("{}.json", message["id"].as_str().unwrap()), name);
                assert_eq!(message["to"], to, "{message}");
                let (sequence, rest) = name.split_once('-').unwrap();
                (sequence.parse().unwrap(), rest.trim_end_matches(".json").to_owned())
            })
            .collect();
        all.sort();
        all.into_iter().map(|(_, rest)| rest).collect()
    }
}

#[test]
fn two_scripts_that_know_files_alone_take_a_request_to_landed_work_while_the_bridge_is_killed_at_every_step() {
    let world = World::new(&[("readme", "x\n")]);
    fs::create_dir(world.path("faults")).unwrap();
    let mut bridged = Bridged::at(world).staffed();
    bridged.write("tasks/queue/NEW_greet.md", "# Greet\n\nOne file is to say hello, another one world.\n");
    let walked = WALK.iter().take_while(|order| bridged.kill_at(order)).count();
    assert!(walked >= 12, "the walk ended at {}", WALK[walked]);
    // The last order was for a process that is gone.
    let _ = fs::remove_file(bridged.world.path(&format!("faults/{ORDER}")));
    bridged.bridge.signal(Signal::SIGKILL);
    bridged.bridge = bridge(&bridged.world);
    bridged.until("tasks/completed/PLAN_greet.md");
    let status = eventually_every(PAUSE, "the end of the flight", || {
        Some(bridged.status()).filter(|status| status["status"] == "accepted")
    });
    let of = |id: &str| status["waypoints"].as_array().unwrap().iter().find(|w| w["id"] == id).unwrap().clone();
    assert_eq!((&of("greet_01")["attempts"], &of("greet_02")["attempts"]), (&2.into(), &1.into()), "{status}");
    let flight = status["flight"].as_str().unwrap();
    bridged.world.holdpoint(&["fetch", flight]).expect(0);
    let branch = status["branch"].as_str().unwrap();
    assert_eq!(bridged.world.git(&["show", &format!("{branch}:one")]), "hello\n");
    assert_eq!(bridged.world.git(&["show", &format!("{branch}:two")]), "world\n");
    bridged.world.holdpoint(&["audit", flight]).expect(0);

    bridged.until_says("tasks/history/greet_01.json", "completed");
    let lineage = bridged.json("tasks/history/greet_01.json");
    assert_eq!(lineage, serde_json::json!({"id": "greet_01", "retries": 1, "parent": "greet", "status": "completed"}));
    let gate = bridged.json("state/gates/greet_01_4.json");
    assert_eq!((&gate["gate"], &gate["score"]), (&"4".into(), &100.into()), "{gate}");
    let checks: Vec<_> =
        gate["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
    assert!(checks.contains(&"commit"), "what the gate checks, and not what the task does: {gate}");
    assert_eq!(bridged.json("state/gates/greet_1.json")["score"], 100);
    let (worker, supervisor) = (bridged.told("worker"), bridged.told("supervisor"));
    for expected in
        ["TASK_REJECTED-greet", "TASK_REJECTED-greet_01", "TASK_APPROVED-greet_01", "TASK_ASSIGNED-greet_02"]
    {
        let times = worker.iter().filter(|told| *told == expected).count();
        assert_eq!(times, 1, "{expected}: {worker:#?}");
    }
    assert!(supervisor.contains(&"TASK_SUBMITTED-greet_02".to_owned()), "{supervisor:#?}");
    for folder in ["queue", "running", "review", "rejected"] {
        let left: Vec<_> = fs::read_dir(bridged.desk(&format!("tasks/{folder}"))).unwrap().collect();
        assert!(left.is_empty(), "{folder}: {left:?}");
    }
}

#[test]
fn a_person_with_an_editor_answers_a_question_and_a_second_bridge_goes_on_with_the_folder() {
    let mut bridged = Bridged::at(World::new(&[("readme", "x\n")]));
    bridged.write("tasks/queue/HIGH_NEW_page.md", "# A page\n");
    let first = bridged.until_open("tasks/queue/HIGH_NEW_page.md", "brainstorm");
    // The supervisor asks, and a person answers in the same file.
    bridged.write("tasks/escalations/page_CLARIFY.md", "Which colour?\n");
    let asked = bridged.until_says("tasks/escalations/page_CLARIFY.md", "## Answer");
    assert!(asked.contains("Which colour?"), "{asked}");
    bridged.write("tasks/escalations/page_CLARIFY.md", &format!("{asked}Blue, as always.\n"));
    eventually_every(PAUSE, "the answer", || {
        (!bridged.desk("tasks/escalations/page_CLARIFY.md").exists()).then_some(())
    });
    let history = bridged.world.holdpoint(&["history", "page", "--json"]);
    assert!(history.expect(0).stdout.contains("Blue, as always."), "{history}");

    // What does not count is undone, and says why.
    let again = || bridged.read("tasks/queue/HIGH_NEW_page.md").filter(|text| *text != first);
    eventually_every(PAUSE, "the turn that the answer opens", again);
    bridged.mv("tasks/queue/HIGH_NEW_page.md", "tasks/completed/HIGH_NEW_page.md");
    bridged.until_says("tasks/supervisor_feedback/FEEDBACK_page.md", "means nothing at gate `brainstorm`");
    bridged.until("tasks/queue/HIGH_NEW_page.md");
    let lacking = "# Requirements\n\n## Goal\n\nA page.\n";
    bridged.write("docs/requirements/page_req.md", lacking);
    bridged.mv("tasks/queue/HIGH_NEW_page.md", "tasks/queue/HIGH_DOC_page.md");
    bridged.until_says("tasks/supervisor_feedback/FEEDBACK_page.md", "constraints_defined");
    bridged.until("tasks/queue/HIGH_NEW_page.md");
    std::os::unix::fs::symlink("/etc/passwd", bridged.desk("tasks/queue/NEW_link.md")).unwrap();
    bridged.until_says("tasks/supervisor_feedback/FEEDBACK_NEW_link.md", "no plain file");

    // A second bridge stands by, and has the folder once the first is gone.
    let mut second = bridge(&bridged.world);
    second.until_said("stands by");
    bridged.bridge.signal(Signal::SIGKILL);
    second.until_said("keeps");
    bridged.bridge = second;
    let front = "---\ncheckpoints:\n  - {name: stack_aligned, status: pass}\n---\n";
    bridged.write("docs/requirements/page_req.md", &format!("{front}{lacking}\n## Constraints\n\nNone.\n"));
    bridged.mv("tasks/queue/HIGH_NEW_page.md", "tasks/queue/HIGH_DOC_page.md");
    bridged.until_open("tasks/queue/HIGH_DOC_page.md", "document");
    let flights = bridged.world.holdpoint(&["status", "--json"]).expect(0).json();
    assert_eq!(flights.as_array().unwrap().len(), 1, "the link was no request: {flights}");

    // A worker that dies gives its task back.
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned();
    let lock = serde_json::json!({"holder": "w", "host": host, "pid": u32::MAX}).to_string();
    bridged.write("tasks/running/HIGH_DOC_page.md.lock", &lock);
    bridged.mv("tasks/queue/HIGH_DOC_page.md", "tasks/running/HIGH_DOC_page.md");
    bridged.until("tasks/queue/HIGH_DOC_page.md");
    assert!(!bridged.desk("tasks/running/HIGH_DOC_page.md.lock").exists());
    bridged.bridge.signal(Signal::SIGINT);
}
