//! The console in a real browser, before a real fleet: flights are watched and moved on by clicks and keys, and every page is
//! examined for what people with other eyes, hands and screens would miss.

use holdpoint_tests::{
    browser::{Browser, ENTER, TAB, soon},
    visitor::address_in,
    world::World,
};
use serde_json::{Value, json};

const PLAN: &str = r#"
plan: seen
policy: {max_reworks: 1}
waypoints:
  - {id: fare, title: "Fares <b>round</b>", goal: "Round up.", workflow: fly-approved, scope: [fare.py], criteria: [{id: c, statement: rounds, check: "echo looked; grep -q ceil fare.py"}]}
  - {id: after, title: Stands on it, goal: g, depends_on: [fare], criteria: [{id: c, check: "true"}]}
  - {id: stuck, title: Fails twice, goal: g, criteria: [{id: c, check: "true"}]}
  - {id: unwanted, title: Nobody wants it, goal: g, depends_on: [stuck], criteria: [{id: c, check: "true"}]}
"#;

/// Asks before it builds `fare`, and fails in `stuck` until somebody has it tried again.
const BUILDER: &str = r#"
case $HOLDPOINT_WAYPOINT in
fare)
  if [ ! -e "$HOME/asked" ]; then
    touch "$HOME/asked"
    echo '{"type":"ClarificationRequest","question":"Up <i>or</i> down?","options":["down","up"]}'
    exit 0
  fi
  if [ -e "$HOME/built" ]; then echo 'import math # sent back' > fare.py; fi
  touch "$HOME/built"
  echo 'def fare(x): return math.ceil(x)' >> fare.py ;;
stuck) [ "$HOLDPOINT_ATTEMPT" -gt 2 ] && echo x > stuck ;;
*) echo x > "$HOLDPOINT_WAYPOINT" ;;
esac"#;

/// What can be reached by Tab, each by its tag and what is to be read on it, in the order of the document.
const FOCUSABLE: &str = r#"
const shown = (e) => e.checkVisibility({visibilityProperty: true}) && !e.closest('fieldset[disabled]') && !(e.closest('details:not([open])') && e.tagName !== 'SUMMARY');
const radios = (e) => e.type !== 'radio' || e === e.form.querySelector(`input[name=${e.name}]`);
return [...document.querySelectorAll('a[href], button, input:not([type=hidden]), textarea, select, summary, [tabindex="0"]')].filter(shown).filter(radios).map(e => `${e.tagName} ${e.name || e.textContent.trim().slice(0, 40)}`)"#;
/// What has the focus, in the same words, and whether an outline shows it.
const FOCUSED: &str = r#"
const e = document.activeElement;
return [`${e.tagName} ${e.name || e.textContent.trim().slice(0, 40)}`, getComputedStyle(e).outlineStyle !== 'none' && parseFloat(getComputedStyle(e).outlineWidth) >= 2]"#;

/// What is wrong with the page by axe-core in both schemes, and at 400 pixels by what runs out of the window.
fn faults(browser: &Browser) -> Vec<String> {
    let address = browser.address();
    let mut found = Vec::new();
    for scheme in ["light", "dark"] {
        browser.prefer(scheme);
        found.extend(browser.faults().into_iter().map(|fault| format!("{scheme} {address}: {fault}")));
    }
    browser.prefer("light");
    browser.resize(400, 800);
    let overflow = browser.overflow();
    if overflow > 0 {
        found.push(format!("{address} is {overflow} pixels wider than a window of 400"));
    }
    browser.resize(1200, 900);
    found
}

#[track_caller]
fn examine(browser: &Browser) {
    assert_eq!(faults(browser), Vec::<String>::new());
}

/// Everything that can be used is reached by Tab alone, in order, and is seen to have the focus.
#[track_caller]
fn reached_by_keyboard(browser: &Browser) {
    let none = json!([]);
    let there: Vec<String> = serde_json::from_value(browser.script(FOCUSABLE, &none)).unwrap();
    // Tab goes on from where somebody clicked last: the link that skips the head is the first thing of each page.
    browser.script("document.querySelector('.skip').focus()", &none);
    let mut reached = Vec::new();
    loop {
        let focused = browser.script(FOCUSED, &none);
        // Of the first a script put it there, which needs no outline.
        let is_seen = reached.is_empty() || focused[1] == Value::Bool(true);
        assert!(is_seen, "no outline shows that it has the focus: {focused}, after {reached:?}");
        reached.push(focused[0].as_str().unwrap().to_owned());
        if reached.len() == there.len() {
            break;
        }
        browser.press(TAB);
    }
    assert_eq!(reached, there, "{}", browser.address());
}

/// Opens the page behind a link of the page.
fn follow(browser: &Browser, ends: &str) {
    browser.click(&format!("main a[href$='{ends}'], header a[href$='{ends}']"));
    soon(&format!("the page {ends}"), || browser.address().ends_with(ends).then_some(()));
}

#[test]
fn a_flight_is_watched_and_moved_on_by_clicks_and_keys_in_a_real_browser() {
    let world = World::new(&[("fare.py", "import math\n")]);
    world.plan(PLAN);
    let Some(browser) = Browser::start(&world) else { return };
    let builder = world.program("builder.sh", BUILDER);
    let mut up = world.start(&["up", "--builder", &builder]);
    up.until_said("serves");
    let console = world.start(&["console", "--as", "human-ann"]);
    browser.open(&soon("the console's address", || address_in(&console.printed())));
    browser.until("No flights yet");
    examine(&browser);
    a_plan_is_looked_at_and_submitted(&browser, &world);

    // An open page shows what is submitted elsewhere.
    browser.open(&base(&browser));
    let flight = world.holdpoint(&["submit", "../plan/plan.yaml"]).expect(0).stdout.trim().to_owned();
    browser.until(&flight);
    follow(&browser, &format!("/flight/{flight}"));
    browser.until("need a person");
    assert_eq!(browser.script("return document.querySelectorAll('main b').length", &json!([])), json!(0));
    answered(&browser);

    // The broker goes and comes back under an open page.
    browser.script("window.stayed = true", &json!([]));
    let broker = world.broker().unwrap();
    broker.kill().unwrap();
    up.until("another broker", || world.broker().filter(|other| other != &broker));
    browser.until("Send back");
    assert_eq!(browser.script("return window.stayed", &json!([])), json!(true), "it was not loaded again");
    browser.reload();
    sent_back_and_approved(&browser);

    retried_and_cancelled(&browser, &flight);
    browser.open(&format!("{}/flight/{flight}?show=graph", base(&browser)));
    browser.until("3 of 4");
    every_page_is_examined(&browser, &flight);
    world.holdpoint(&["audit", &flight]).expect(0);
    assert!(world.holdpoint(&["history", "fare", "--json"]).expect(0).stdout.contains("human-ann"));
}

/// A plan with a mistake is pasted, corrected and flown.
fn a_plan_is_looked_at_and_submitted(browser: &Browser, world: &World) {
    follow(browser, "/submit");
    let paste = |text: &str| {
        browser.script("document.getElementById('text').value = arguments[0]", &json!([text]));
    };
    paste("plan: pasted\nwaypoints:\n  - {id: one, goal: g, criterai: []}\n");
    browser.click("button[value=look]");
    browser.until("Line 3");
    examine(browser);
    let plan = "plan: pasted\nwaypoints:\n  - {id: one, goal: g, criteria: [{id: c, statement: s, check: 'true'}]}\n  \
                - {id: two, goal: g, depends_on: [one], criteria: [{id: c, statement: s, check: 'true'}]}\n";
    paste(plan);
    browser.click("button[value=look]");
    browser.until("It can be flown from");
    browser.until("This machine");
    examine(browser);
    reached_by_keyboard(browser);
    browser.click("button[value=submit]");
    browser.until("Submitted: pasted-");
    browser.click("#looked a");
    browser.until("2 of 2");
    assert!(world.holdpoint(&["status", "--json"]).expect(0).stdout.contains("pasted-"));
}

/// A question is answered with the keyboard alone, once an answer was half written while the page moved on.
fn answered(browser: &Browser) {
    follow(browser, "/inbox");
    browser.until("Up <i>or</i> down?");
    examine(browser);
    reached_by_keyboard(browser);
    browser.click(".v-answer input[value='1']");
    browser.script("document.querySelector('.v-answer button').focus()", &json!([]));
    browser.press(ENTER);
    browser.until("answered; fare");
}

/// What was verified is sent back once, with the reason, and approved then.
fn sent_back_and_approved(browser: &Browser) {
    browser.until("Send back");
    examine(browser);
    reached_by_keyboard(browser);
    let seen = "return document.querySelector('.v-approve input[name=seen]')?.value ?? ''";
    let first = browser.script(seen, &json!([]));
    browser.type_into(".v-reject textarea", "say that it was sent back");
    browser.click(".v-reject button");
    // The next approval is another one: the page brings it without being loaded again.
    soon("the second approval", || {
        let now = browser.script(seen, &json!([]));
        (now != first && now != json!("")).then_some(())
    });
    browser.type_into(".v-approve textarea", "looked at the diff");
    browser.click(".v-approve button");
    browser.until("approved");
}

/// What failed is tried again, and what nobody wants is ended, each on its own page.
fn retried_and_cancelled(browser: &Browser, flight: &str) {
    let base = base(browser);
    browser.open(&format!("{base}/flight/{flight}/unwanted"));
    browser.click(".v-cancel button");
    browser.confirm();
    browser.until("cancelled");
    browser.open(&format!("{base}/flight/{flight}/stuck"));
    browser.until("Try again");
    examine(browser);
    browser.type_into(".v-retry textarea", "it works the third time");
    browser.click(".v-retry button");
    browser.until("complete");
}

/// Where all pages of the console are.
fn base(browser: &Browser) -> String {
    let base = browser.script("return location.origin + document.body.dataset.base", &json!([]));
    base.as_str().unwrap().to_owned()
}

/// What is wrong with any page is said at once.
fn every_page_is_examined(browser: &Browser, flight: &str) {
    let base = base(browser);
    let mut found = Vec::new();
    for page in ["/", "/inbox", "/fleet", "/submit", "/nothing"] {
        browser.open(&format!("{base}{page}"));
        found.extend(faults(browser));
    }
    for show in ["graph", "board", "timeline", "list", "landed"] {
        browser.open(&format!("{base}/flight/{flight}?show={show}"));
        browser.until(flight);
        found.extend(faults(browser));
        reached_by_keyboard(browser);
    }
    browser.open(&format!("{base}/flight/{flight}/fare"));
    browser.until("Turns over time");
    browser.script("document.querySelectorAll('details').forEach(d => { d.open = true })", &json!([]));
    found.extend(faults(browser));
    follow_first(browser, "diff?of=");
    browser.until("fare.py");
    assert!(browser.text().contains("Before"), "side by side: {}", browser.text());
    found.extend(faults(browser));
    browser.open(&format!("{base}/flight/{flight}/fare"));
    follow_first(browser, "/evidence/");
    browser.until("looked");
    found.extend(faults(browser));
    assert_eq!(found, Vec::<String>::new());
}

/// Opens what the first link with these words in its address leads to.
fn follow_first(browser: &Browser, part: &str) {
    let link = browser.script("return document.querySelector(`main a[href*='${arguments[0]}']`).href", &json!([part]));
    browser.open(link.as_str().unwrap());
}

/// How far the page is scrolled, and whether its last row is to be seen.
const SCROLLED: &str = r#"
const last = [...document.querySelectorAll('main tbody tr')].at(-1).getBoundingClientRect();
return [Math.round(scrollY), last.top >= 0 && last.bottom <= innerHeight]"#;

#[test]
fn five_thousand_waypoints_are_scrolled_through_and_stay_where_they_are_when_the_flight_moves() {
    const MANY: usize = 5_000;
    let world = World::new(&[("a.txt", "a\n")]);
    let check = "criteria: [{id: c, check: \"true\"}]";
    let many = (1..MANY).map(|at| format!("  - {{id: w{at}, goal: g, depends_on: [first], {check}}}\n"));
    let many: String = many.collect();
    world.plan(&format!("plan: many\nwaypoints:\n  - {{id: first, goal: g, {check}}}\n{many}"));
    let Some(browser) = Browser::start(&world) else { return };
    let asks = r#"echo '{"type":"ClarificationRequest","question":"Go on?","options":["yes","no"]}'"#;
    let mut up = world.start(&["up", "--builder", &world.program("asks.sh", asks)]);
    up.until_said("serves");
    let console = world.start(&["console"]);
    let flight = world.holdpoint(&["submit", "../plan/plan.yaml"]).expect(0).stdout.trim().to_owned();
    browser.open(&soon("the console's address", || address_in(&console.printed())));
    browser.until(&flight);
    follow(&browser, &format!("/flight/{flight}"));
    browser.until("Page 1 of 25");
    let none = json!([]);
    for page in 2..=4 {
        browser.script("scrollTo(0, document.body.scrollHeight)", &none);
        soon("the end of the page", || (browser.script(SCROLLED, &none)[1] == json!(true)).then_some(()));
        browser.click("nav.pager a[rel=next]");
        browser.until(&format!("Page {page} of 25"));
    }
    browser.open(&browser.address().replace("page=3", "page=24"));
    browser.until("Page 25 of 25");
    assert!(browser.text().contains(&format!("w{}", MANY - 1)));
    examine(&browser);

    // The flight moves under a page that somebody scrolled: it shows so, and stays where it is.
    browser.script("scrollTo(0, document.body.scrollHeight / 2)", &none);
    let before = browser.script(SCROLLED, &none)[0].as_i64().unwrap();
    assert!(before > 500, "the page is long: {before}");
    world.holdpoint(&["pause", &flight, "--as", "human-ann"]).expect(0);
    browser.until("paused");
    let after = browser.script(SCROLLED, &none)[0].as_i64().unwrap();
    assert!((after - before).abs() < 100, "it was scrolled from {before} to {after}");
    browser.click("nav.filters a[href*='status=pending']");
    browser.until("Page 1 of 25");
}
