//! The console before a real fleet: a flight is seen from its submission to its landing, and a question is answered in it.

use holdpoint_tests::{
    visitor::Visitor,
    world::{World, eventually},
};
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
    assert!(
        !up.printed().contains("console "),
        "an address that lets anybody act is in no log unasked: {}",
        up.printed()
    );
    let console = world.start(&["console", "--as", "human-ann"]);
    let browser = Visitor::enter(|| console.printed());
    browser.page("/", "No flights yet");
    browser.page("/fleet", "HP_BLOB_BUILDER");
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
    let link = format!("{}/flight/{flight}/w/diff?of=", browser.prefix());
    let at = done.rfind(&link).unwrap() + browser.prefix().len();
    let diff = browser.page(done[at..].split('"').next().unwrap(), "+</span>blue");
    assert!(diff.contains("result"), "{diff}");
    let at = done.rfind(&format!("/flight/{flight}/w/document?of=")).unwrap();
    let shown = browser.page(done[at..].split('"').next().unwrap(), "handoff_ready: ");
    assert!(shown.contains("--markdown") && !shown.contains("<b>bold"), "{shown}");
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
