//! The people of a flight: one answers the question, another one approves, each by the command line. A command that was
//! killed, or that nobody answered, is called again, as its user would.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use holdpoint_faults::PROCESS;
use serde_json::Value;

use super::{CellWorld, STUCK, flights::ACTED};
use crate::world::Finished;

/// The pause before a command is called again.
const PAUSE: Duration = Duration::from_millis(100);
/// The exit code of a command that something around it failed.
const ENVIRONMENT: i32 = 3;
/// The exit code of a command that was killed.
const KILLED: i32 = -1;

/// What one of them does.
struct Part {
    /// What has to wait for it: the kind of an inbox item, and its waypoint.
    waits: (&'static str, &'static str),
    /// What the process of the command is called in orders.
    process: &'static str,
    command: &'static [&'static str],
}

const PARTS: [Part; 2] = [
    Part { waits: ("question", "one"), process: "answerer", command: &["answer", "one", "--option", "blue", "--json"] },
    Part {
        waits: ("approval", "two"),
        process: "approver",
        command: &["approve", "two", "--as", "human-ann", "--json"],
    },
];

/// Does all parts, each as soon as something waits for it. A waypoint that waits for the people goes on in any case.
pub(super) fn act(place: &CellWorld, over: &AtomicBool) -> Result<(), String> {
    let people = People { place, over, until: Instant::now() + STUCK };
    let done = PARTS.iter().try_for_each(|part| {
        people.wait_for(part)?;
        people.perform(part)
    });
    place.world.write(ACTED, "");
    done
}

struct People<'a> {
    place: &'a CellWorld,
    /// Nothing waits for them any more.
    over: &'a AtomicBool,
    until: Instant,
}

impl People<'_> {
    /// Looks into the inbox until something waits for this part.
    fn wait_for(&self, part: &Part) -> Result<(), String> {
        self.again("inbox", || {
            let looked = self.call("run", &["inbox", "--json"])?;
            match looked.code {
                0 => Ok(waits(&looked.json(), part)),
                ENVIRONMENT => Ok(false),
                _ => Err(format!("inbox: {looked}")),
            }
        })
    }

    /// Calls the command until it was done. Where an earlier call did not say what became of it, a refusal because nothing
    /// is open any more says that it was done; that it was done once is seen in the journal.
    fn perform(&self, part: &Part) -> Result<(), String> {
        let mut unclear = false;
        self.again(part.process, || {
            let called = self.call(part.process, part.command)?;
            match (called.code, code(&called).as_str()) {
                (0, _) => Ok(true),
                (KILLED | ENVIRONMENT, _) => {
                    unclear = true;
                    Ok(false)
                }
                (1, "answer_late" | "over" | "nothing_open") if unclear => Ok(true),
                (1, "nothing_open") => Ok(false),
                _ => Err(format!("{}: {called}", part.process)),
            }
        })
    }

    fn call(&self, process: &str, args: &[&str]) -> Result<Finished, String> {
        let mut command = self.place.command(args);
        command.env(PROCESS, process);
        let called = self.place.world.start_with(command).finish_by(self.until);
        called.map_err(|said| format!("{args:?} did not end\n{said}"))
    }

    /// Until it is so, or the flight is over.
    fn again(&self, what: &str, mut is_so: impl FnMut() -> Result<bool, String>) -> Result<(), String> {
        while Instant::now() < self.until && !self.over.load(Ordering::Relaxed) {
            if is_so()? {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
        Err(format!("{what}: in vain"))
    }
}

fn waits(inbox: &Value, part: &Part) -> bool {
    let items = inbox["items"].as_array().into_iter().flatten();
    items.into_iter().any(|item| (&item["kind"], &item["waypoint"]) == (&part.waits.0.into(), &part.waits.1.into()))
}

/// The code of a refusal, or nothing.
fn code(called: &Finished) -> String {
    let said: Option<Value> = serde_json::from_str(&called.stdout).ok();
    said.and_then(|said| Some(said["error"]["code"].as_str()?.to_owned())).unwrap_or_default()
}
