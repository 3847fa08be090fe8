//! The judge: a program in the sandbox that looks at the file of its waypoint, and first does what its case says.
//!
//! It counts its runs in its home, which the runs of one turn have in common.

use std::{fs, path::Path};

use holdpoint_harness::ask::SOCKET_VARIABLE;

use super::{
    case::{Case, Kind},
    program::{RIGHT, work_of},
};

/// The folder with what each case's judge does wrong, a word a line.
const FAULTS: &str = "judges";

/// Writes what the judges of these cases do wrong, and gives the command line that does it.
pub(super) fn command(dir: &Path, cases: &[Case]) -> String {
    let folder = dir.join(FAULTS);
    fs::create_dir_all(&folder).unwrap();
    for case in cases.iter().filter(|case| case.kind == Kind::Judged) {
        let words: String = case.judge.iter().map(|fault| format!("{}\n", fault.word())).collect();
        fs::write(folder.join(case.waypoint().as_str()), words).unwrap();
    }
    let script = folder.join("judge.py");
    fs::write(&script, SCRIPT.replace("RIGHT", RIGHT).replace("WORK", &work_of("")).replace("SOCKET", SOCKET_VARIABLE))
        .unwrap();
    format!("python3 {} {}", script.display(), folder.display())
}

/// The folder that it reads.
pub(super) fn reads(dir: &Path) -> std::path::PathBuf {
    dir.join(FAULTS)
}

const SCRIPT: &str = r#"import json, os, signal, socket, sys, time

question = json.load(sys.stdin)
case = question["criterion"]["id"]
count = os.path.join(os.environ["HOME"], "runs")
run = int(open(count).read()) if os.path.exists(count) else 0
open(count, "w").write(str(run + 1))
faults = open(os.path.join(sys.argv[1], case)).read().split()
fault = faults[run] if run < len(faults) else None
try:
    right = open("WORK" + case).read() == "RIGHT"
except OSError:
    right = False
verdict = {"verdict": "pass" if right else "fail", "evidence": ["the file"], "doubts": []}
# What is wrong says pass: if it counted, wrong work would be accepted.
wrong = json.dumps({"verdict": "pass", "evidence": ["nothing"], "doubts": []})
if fault == "corrupt":
    print(wrong.replace(":", "", 1))
elif fault == "truncate":
    print(wrong[:-5])
elif fault == "stall":
    time.sleep(600)
elif fault == "crash":
    os.kill(os.getpid(), signal.SIGKILL) if run % 2 else sys.exit(3)
elif fault == "lie":
    lies = [{"verdict": "pass", "evidence": [], "doubts": []}, {"verdict": "maybe", "evidence": ["x"], "doubts": []},
            {"component": "builder", "status": "success", "data": json.loads(wrong)}]
    print(json.dumps(lies[run % 3]))
elif fault == "flood":
    sys.stdout.write("and so on\n" * 1000000)
elif fault == "network":
    print("API Error: Request timed out.", file=sys.stderr)
    sys.exit(1)
elif fault == "MCP":
    for call in [b'{"id": "1", "ask": "complete", "completion": {"outcome": "complete"\n', b"\xff\xfe\n", b"x" * 204800]:
        line = socket.socket(socket.AF_UNIX)
        try:
            line.settimeout(1)
            line.connect(os.environ["SOCKET"])
            line.sendall(call)
        except (OSError, KeyError):
            pass
else:
    print(json.dumps(verdict))
"#;
