//! The console before a real fleet: a flight is seen from its submission to its landing, and a question is answered in it.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use holdpoint_tests::world::{Running, World, eventually};
use nix::sys::signal::Signal;

const PLAN: &str = r#"
plan: seen
waypoints:
  - {id: w, title: "A <b>bold</b> title", goal: g, criteria: [{id: c, check: "echo looked; grep -q blue result"}]}
"#;

/// Asks in its first turn, and builds with the answer.
const ASKS: &str = r#"
if [ ! -e "$HOME/asked" ]; then
  touch "$HOME/asked"
  echo '{"type":"ClarificationRequest","question":"Which <i>colour</i>?","options":["red","blue"]}'
  exit 0
fi
echo blue > result"#;

/// A browser of one console, as far as HTTP goes.
struct Browser {
    host: String,
    prefix: String,
    cookie: String,
}

impl Browser {
    /// Lets itself in with the printed address.
    fn enter(console: &Running) -> Self {
        let address = eventually("the console's address", || {
            let printed = console.printed();
            printed.lines().find_map(|line| line.strip_prefix("console  ").map(str::to_owned))
        });
        let rest = address.strip_prefix("http://").unwrap();
        let (host, path) = rest.split_at(rest.find('/').unwrap());
        let mut browser = Self { host: host.to_owned(), prefix: String::new(), cookie: String::new() };
        let (_, head, _) = browser.send("GET", path, "");
        let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        browser.cookie = cookie.split(';').next().unwrap().to_owned();
        browser.prefix = path.split("/enter").next().unwrap().to_owned();
        browser
    }

    fn send(&self, method: &str, path: &str, body: &str) -> (u16, String, String) {
        let Self { host, cookie, .. } = self;
        let mut stream = TcpStream::connect(host).unwrap();
        // Longer than any answer takes; a test that hangs says where.
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\ncookie: {cookie}\r\nconnection: close\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, content) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_owned(), content.to_owned())
    }

    /// A page, once it has this.
    fn page(&self, path: &str, wanted: &str) -> String {
        eventually(&format!("{wanted} on {path}"), || {
            let (status, _, page) = self.send("GET", &format!("{}{path}", self.prefix), "");
            (status == 200 && page.contains(wanted)).then_some(page)
        })
    }

    fn act(&self, body: &str) -> (u16, String) {
        let (status, _, said) = self.send("POST", &format!("{}/act", self.prefix), body);
        (status, said)
    }
}

/// The value of a hidden field.
fn field(page: &str, name: &str) -> String {
    let begin = format!(r#"name="{name}" value=""#);
    let at = page.find(&begin).unwrap() + begin.len();
    page[at..].split('"').next().unwrap().to_owned()
}

#[test]
fn a_flight_is_seen_over_http_from_its_submission_to_its_landing_and_a_question_answered() {
    let world = World::new(&[("readme", "x\n")]);
    world.plan(PLAN);
    let builder = world.program("builder.sh", ASKS);
    let mut up = world.start(&["up", "--builder", &builder]);
    eventually("the fleet", || up.printed().contains("state ").then_some(()));
    let console = world.start(&["console", "--as", "human-ann"]);
    let browser = Browser::enter(&console);
    browser.page("/", "No flights yet");
    let submitted = world.holdpoint(&["submit", "../plan/plan.yaml"]);
    let flight = submitted.expect(0).stdout.trim().to_owned();

    // A page that was open before stays: the list is asked for again.
    let inbox = browser.page("/inbox", "Which &lt;i&gt;colour&lt;/i&gt;?");
    assert!(inbox.contains(&flight) && !inbox.contains("<i>colour"), "{inbox}");
    let waiting = browser.page(&format!("/flight/{flight}"), "need a person");
    assert!(waiting.contains("A &lt;b&gt;bold&lt;/b&gt; title"), "{waiting}");
    let seen = field(&inbox, "seen").replace('/', "%2F");
    let answer = |option: u8| format!("verb=answer&flight={flight}&waypoint=w&seen={seen}&option={option}");
    let (status, said) = browser.act(&answer(7));
    assert_eq!(status, 409, "there is no such option: {said}");
    let (status, said) = browser.act(&answer(1));
    assert!(status == 200 && said.starts_with("answered; w"), "{status} {said}");
    let (status, said) = browser.act(&answer(0));
    assert_eq!(status, 409, "it is answered: {said}");

    browser.page(&format!("/flight/{flight}"), "1 of 1");
    let landed = browser.page(&format!("/flight/{flight}?show=landed"), "ol class=\"landed\"");
    assert!(landed.contains("human-"), "who submitted it: {landed}");
    let done = browser.page(&format!("/flight/{flight}/w"), "criteria_met");
    assert!(done.contains("Gates visited") && done.contains("looked"), "{done}");
    let link = format!("{}/flight/{flight}/w/diff?of=", browser.prefix);
    let at = done.rfind(&link).unwrap() + browser.prefix.len();
    let diff = browser.page(done[at..].split('"').next().unwrap(), "+</span>blue");
    assert!(diff.contains("result"), "{diff}");
    let at = done.find("/evidence/").unwrap();
    browser.page(&done[at..at + "/evidence/".len() + 64], "looked");
    browser.page("/fleet", "builder");

    let history = world.holdpoint(&["history", "w", "--json"]);
    assert!(history.expect(0).stdout.contains("human-ann"), "the answer is signed by whom the console runs for");
    world.holdpoint(&["audit", &flight]).expect(0);
    console.signal(Signal::SIGINT);
    console.finish().expect(0);
    assert!(up.is_running());
}
