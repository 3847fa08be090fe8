//! `holdpoint-screenshots FOLDER`: flies a small flight, looks at it in the console with a real browser, and writes what is to be
//! seen. `cargo xtask screenshots` builds what it needs and calls this.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool talks to a person")]

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;
use holdpoint_tests::{
    browser::{Browser, keep, soon},
    visitor::address_in,
    world::World,
};

/// Pictures of the console, of a flight that is flown for them.
#[derive(Parser)]
struct Arguments {
    /// Where they are written
    folder: PathBuf,
}

const PLAN: &str = r#"
plan: harden-client
guards:
  - {id: suite, check: "python3 -m unittest"}
waypoints:
  - id: retry-backoff
    title: Retries back off
    workflow: fly-approved
    goal: "`client.fetch` retries three times, waiting 1, 2 and 4 seconds."
    scope: [client.py, tests/test_backoff.py]
    criteria:
      - {id: unit, statement: The back-off is tested, check: "python3 -m unittest tests.test_backoff", red_first: true}
  - id: redirects
    title: Redirects stay on the host
    goal: "`client.fetch` follows no redirect to another host."
    criteria: [{id: unit, statement: Redirects are handled, check: "grep -q same_host redirects.py"}]
  - id: timeouts
    title: Requests have a time limit
    goal: "Every request ends after its time limit."
    depends_on: [retry-backoff]
    criteria: [{id: unit, statement: There is a limit, check: "grep -q timeout timeouts.py"}]
  - id: guide
    title: The guide names the new options
    goal: "docs/client.md names retries, redirects and time limits."
    depends_on: [redirects, timeouts]
    criteria: [{id: named, statement: They are named, check: "grep -q timeout guide.md"}]
"#;

const CLIENT: &str = "\"\"\"A small client.\"\"\"\n\nRETRIES = 0\n\n\ndef delays():\n    \"\"\"Seconds between tries.\"\"\"\n    return []\n";
const SUITE: &str = "import unittest\n\nimport client\n\n\nclass Client(unittest.TestCase):\n    def test_delays_are_numbers(self):\n        \
                     self.assertTrue(all(d >= 0 for d in client.delays()))\n";

/// Is wrong once, asks once, and builds.
const BUILDER: &str = r#"
case $HOLDPOINT_WAYPOINT in
retry-backoff)
  cat > tests/test_backoff.py <<'END'
import unittest

import client


class Backoff(unittest.TestCase):
    def test_each_wait_is_twice_as_long(self):
        self.assertEqual(client.delays(), [1, 2, 4])
END
  step='n + 1'; if [ -n "${HOLDPOINT_FEEDBACK_FILE:-}" ]; then step='2**n'; fi
  sed -i -e 's/RETRIES = 0/RETRIES = 3/' -e "s/return \[\]/return [$step for n in range(RETRIES)]  # seconds/" client.py ;;
redirects)
  if [ ! -e "$HOME/asked" ]; then
    touch "$HOME/asked"
    echo '{"type":"ClarificationRequest","question":"May a redirect go from http to https on the same host?","options":["yes, it only adds safety","no, the address has to stay"]}'
    exit 0
  fi
  echo 'def same_host(a, b): return a == b' > redirects.py ;;
timeouts) echo 'timeout = 30' > timeouts.py ;;
guide) echo 'retries, redirects, timeout' > guide.md ;;
esac"#;

fn main() -> ExitCode {
    let Arguments { folder } = Arguments::parse();
    let world = World::new(&[("client.py", CLIENT), ("tests/__init__.py", ""), ("tests/test_client.py", SUITE)]);
    world.plan(PLAN);
    let Some(browser) = Browser::start(&world) else {
        eprintln!("there is no browser: `cargo xtask tools` gets one");
        return ExitCode::FAILURE;
    };
    if let Err(error) = std::fs::create_dir_all(&folder) {
        eprintln!("cannot make {}: {error}", folder.display());
        return ExitCode::FAILURE;
    }
    let studio = Studio { browser, folder };
    studio.take(&world);
    ExitCode::SUCCESS
}

struct Studio {
    browser: Browser,
    folder: PathBuf,
}

impl Studio {
    fn take(&self, world: &World) {
        let browser = &self.browser;
        let builder = world.program("builder.sh", BUILDER);
        let mut up = world.start(&["up", "--builder", &builder, "--builders", "2"]);
        up.until("the fleet", || world.broker());
        let mut console = world.start(&["console", "--as", "human-ann"]);
        browser.open(&soon("the console's address", || address_in(&console.printed())));
        let base = browser.script("return location.origin + document.body.dataset.base", &serde_json::json!([]));
        let base = base.as_str().unwrap_or_default().to_owned();
        let flight = world.holdpoint(&["submit", "../plan/plan.yaml"]).expect(0).stdout.trim().to_owned();

        browser.open(&format!("{base}/inbox"));
        browser.until("2 things wait");
        self.keep("inbox", "light", 720);
        browser.open(&format!("{base}/flight/{flight}"));
        browser.until("2 waypoints need a person");
        self.keep("flight", "light", 520);
        browser.open(&format!("{base}/inbox"));
        browser.click(".v-answer input[value='0']");
        browser.click(".v-answer button");
        browser.until("answered");
        browser.click(".v-approve button");
        browser.until("approved");
        browser.open(&format!("{base}/flight/{flight}/retry-backoff"));
        browser.until("Landed");
        self.keep("waypoint", "light", 1000);
        let diff = "return [...document.querySelectorAll(\"main a[href*='diff?of=']\")].at(0).href";
        browser.open(browser.script(diff, &serde_json::json!([])).as_str().unwrap_or_default());
        browser.until("test_backoff.py");
        self.keep("diff-dark", "dark", 700);
        assert!(up.is_running() && console.is_running(), "both stay");
    }

    fn keep(&self, name: &str, scheme: &str, height: u32) {
        self.browser.resize(1100, height);
        self.browser.prefer(scheme);
        let at = self.folder.join(format!("{name}.png"));
        keep(&self.browser.picture(), &at);
        println!("{}", at.display());
    }
}
