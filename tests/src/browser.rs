//! A real browser, driven as a person would use it: it opens pages, clicks, types, and says what is to be seen.
//!
//! Chromium, by the W3C's WebDriver protocol; `cargo xtask tools` gets both. The protocol is JSON over HTTP on the loopback, so
//! that no library is needed: `wire` has the requests.

mod wire;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use data_encoding::BASE64;
use serde_json::{Value, json};
use wire::Wire;

use crate::world::{World, root};

/// The key that the protocol gives the names of elements under.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";
/// Tab, as the protocol writes it.
pub const TAB: &str = "\u{e004}";
/// Enter.
pub const ENTER: &str = "\u{e007}";
/// How long a page may take to show something: a person would have given up.
const SOON: Duration = Duration::from_secs(90);
/// How the browser is started: without a screen, and without calling anybody.
const FLAGS: [&str; 9] = [
    "--headless",
    // Pages of ours alone are opened, and as root it does not start otherwise.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--lang=en",
];

/// A browser with one page. It goes with it.
pub struct Browser {
    driver: Child,
    session: Wire,
    folder: PathBuf,
}

/// An element of the page, as long as it is there.
#[derive(Debug, Clone)]
pub struct Element(String);

impl Browser {
    /// Starts one with its files in this world; `None` where there is none, which is said loudly.
    ///
    /// # Panics
    /// There is none and `CI` is `true`, or it does not start.
    pub fn start(world: &World) -> Option<Self> {
        let folder = root()
            .join("target/tools/browser")
            .canonicalize()
            .ok()
            .filter(|folder| folder.join("axe.min.js").is_file());
        let Some(folder) = folder else {
            let words = "NOT RUN: no browser in target/tools/browser, so nothing was shown about the console in one (`cargo xtask tools`)";
            assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{words}");
            crate::say(&format!("\n*** {words} ***\n"));
            return None;
        };
        // Both name a path in the world on their command line: what a killed test leaves is found by it and ended.
        let (log, profile) = (world.path("chromedriver.log"), world.path("browser"));
        fs::create_dir_all(&profile).unwrap();
        let mut command = Command::new(folder.join("chromedriver"));
        command
            .args(["--port=0", &format!("--log-path={}", log.display())])
            .env("HOME", &profile)
            .env("TMPDIR", &profile);
        let mut driver = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let port = wire::port_of(driver.stdout.take().unwrap());
        let mut flags: Vec<String> = FLAGS.map(str::to_owned).into();
        flags.push(format!("--user-data-dir={}", profile.display()));
        let chromium = folder.join("chromium");
        let options = json!({"binary": chromium, "args": flags});
        let timeouts = json!({"script": (PATIENCE / 2).as_millis()});
        let wanted = json!({"capabilities": {"alwaysMatch": {"goog:chromeOptions": options, "timeouts": timeouts}}});
        let root = Wire::new(port, "");
        let opened = root.call("POST", "/session", &wanted);
        let session = opened["sessionId"].as_str().unwrap();
        Some(Self { driver, session: root.below(&format!("/session/{session}")), folder })
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.session.call("POST", path, body)
    }

    /// Opens an address.
    pub fn open(&self, address: &str) {
        self.post("/url", &json!({"url": address}));
    }

    /// Loads the page again.
    pub fn reload(&self) {
        self.post("/refresh", &json!({}));
    }

    /// The address of the page.
    pub fn address(&self) -> String {
        self.session.call("GET", "/url", &Value::Null).as_str().unwrap().to_owned()
    }

    /// Runs a script of ours in the page; what it returns.
    pub fn script(&self, script: &str, args: &Value) -> Value {
        self.post("/execute/sync", &json!({"script": script, "args": args}))
    }

    /// All elements that a selector means now.
    pub fn all(&self, selector: &str) -> Vec<Element> {
        let found = self.post("/elements", &json!({"using": "css selector", "value": selector}));
        found.as_array().unwrap().iter().map(|one| Element(one[ELEMENT].as_str().unwrap().to_owned())).collect()
    }

    /// The first element that a selector means, once there is one.
    #[track_caller]
    pub fn find(&self, selector: &str) -> Element {
        soon(&format!("{selector} on {}", self.address()), || self.all(selector).into_iter().next())
    }

    /// Clicks on an element, which has to be visible and not covered; again, if the page replaced it meanwhile.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        soon(&format!("a click on {selector} of {}", self.address()), || {
            let element = self.all(selector).into_iter().next()?;
            self.session.try_call("POST", &format!("/element/{}/click", element.0), &json!({})).ok()
        });
    }

    /// Types into an element.
    #[track_caller]
    pub fn type_into(&self, selector: &str, text: &str) {
        let element = self.find(selector);
        self.post(&format!("/element/{}/value", element.0), &json!({"text": text}));
    }

    /// Presses a key where the focus is.
    pub fn press(&self, key: &str) {
        let keys = json!([{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]);
        self.post("/actions", &json!({"actions": [{"type": "key", "id": "keys", "actions": keys}]}));
    }

    /// The text that is to be seen of the page.
    pub fn text(&self) -> String {
        self.script("return document.body.innerText", &json!([])).as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the page shows this, without loading it again.
    #[track_caller]
    pub fn until(&self, wanted: &str) {
        let mut text = String::new();
        let deadline = Instant::now() + SOON;
        while !text.contains(wanted) {
            assert!(
                Instant::now() < deadline,
                "waited in vain for {wanted:?} on {}, which shows {text}",
                self.address()
            );
            text = self.text();
        }
    }

    /// Says yes to what the page asks in a dialogue.
    #[track_caller]
    pub fn confirm(&self) {
        soon("a dialogue", || self.session.try_call("POST", "/alert/accept", &json!({})).ok());
    }

    /// Gives the page this many pixels.
    pub fn resize(&self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.post("/goog/cdp/execute", &json!({"cmd": "Emulation.setDeviceMetricsOverride", "params": size}));
    }

    /// Has the system prefer dark colours, or light ones.
    pub fn prefer(&self, scheme: &str) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.post("/goog/cdp/execute", &json!({"cmd": "Emulation.setEmulatedMedia", "params": features}));
    }

    /// What the page looks like, as PNG.
    pub fn picture(&self) -> Vec<u8> {
        let picture = self.session.call("GET", "/screenshot", &Value::Null);
        BASE64.decode(picture.as_str().unwrap().as_bytes()).unwrap()
    }

    /// What axe-core finds wrong with the page, a line each: WCAG 2.2 at AA, and its best practices.
    pub fn faults(&self) -> Vec<String> {
        let axe = fs::read_to_string(self.folder.join("axe.min.js")).unwrap();
        if self.script("return typeof window.axe", &json!([])) == json!("undefined") {
            self.script(&axe, &json!([]));
        }
        let run = "const done = arguments[0]; \
                   axe.run(document, {resultTypes: ['violations']}).then(r => done(r.violations.flatMap(v => v.nodes.map(n => \
                   `${v.id}: ${v.help}: ${n.html.slice(0, 300)} ${n.failureSummary}`))), e => done([String(e)]))";
        let found = self.post("/execute/async", &json!({"script": run, "args": []}));
        found.as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect()
    }

    /// How far the page is wider than its window, in pixels.
    pub fn overflow(&self) -> i64 {
        let script = "return document.documentElement.scrollWidth - window.innerWidth";
        self.script(script, &json!([])).as_i64().unwrap()
    }
}

/// Looks until something is there, as long as a person would.
#[track_caller]
pub fn soon<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + SOON;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Asks the browser to end; the driver has no end of its own.
        let _ = self.session.try_call("DELETE", "", &Value::Null);
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Writes a picture where documents have theirs.
///
/// # Panics
/// It is larger than a document should make its reader load.
pub fn keep(picture: &[u8], at: &Path) {
    /// What GitHub's reader on a slow line waits a second for.
    const BYTES_MAX: usize = 150_000;
    assert!(picture.len() < BYTES_MAX, "{} has {} bytes, at most {BYTES_MAX} are kept", at.display(), picture.len());
    fs::write(at, picture).unwrap();
}

/// How long the driver may take for one request.
const PATIENCE: Duration = Duration::from_secs(240);
