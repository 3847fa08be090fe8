//! Who gets an answer at all.

use crate::lab::{Ask, Lab, content, status};

#[tokio::test]
async fn the_printed_address_is_exchanged_for_a_cookie_that_no_script_and_no_other_site_gets() {
    let lab = Lab::open("human-ann", false).await;
    let enter = format!("{}/enter?token={}", lab.prefix, lab.token);
    let welcome = lab.ask(Ask { cookie: None, ..lab.own(&enter) }).await;
    assert_eq!(status(&welcome), 303, "{welcome}");
    let cookie = welcome.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    assert_eq!(cookie, format!("holdpoint={}; Path={}; HttpOnly; SameSite=Strict", "c".repeat(32), lab.prefix));
    assert!(welcome.contains(&format!("location: {}/\r\n", lab.prefix)), "{welcome}");
    let page = lab.page("/").await;
    assert!(status(&page) == 200 && page.contains("harden-0a1b2c3d"), "{page}");
}

#[tokio::test]
async fn a_page_of_another_site_and_another_user_of_the_machine_get_nothing() {
    let lab = Lab::open("human-ann", false).await;
    let page = format!("{}/inbox", lab.prefix);
    let act = format!("{}/act", lab.prefix);
    let wrong_token = format!("{}/enter?token={}", lab.prefix, "x".repeat(32));
    let own = lab.own(&page);
    let post = Ask { method: "POST", path: &act, body: "verb=pause&flight=harden-0a1b2c3d", ..own };
    let asks = [
        ("another host (a name that was rebound)", Ask { host: "evil.example", ..own }, 421),
        ("another port", Ask { host: "127.0.0.1:1", ..own }, 421),
        ("another origin", Ask { origin: Some("http://evil.example"), ..own }, 403),
        ("an origin that is hidden", Ask { origin: Some("null"), ..post }, 403),
        ("an act without an origin", post, 403),
        ("no cookie", Ask { cookie: None, ..own }, 401),
        ("another cookie", Ask { cookie: Some("holdpoint=x"), ..own }, 401),
        ("another prefix", Ask { path: "/inbox", ..own }, 404),
        ("the root", Ask { path: "/", ..own }, 404),
        ("another token", Ask { path: &wrong_token, cookie: None, ..own }, 404),
        ("another method", Ask { method: "DELETE", ..own }, 405),
        ("a question for permission", Ask { method: "OPTIONS", origin: Some("http://evil.example"), ..own }, 405),
    ];
    for (who, ask, expected) in asks {
        let answer = lab.ask(ask).await;
        assert_eq!(status(&answer), expected, "{who}: {answer}");
        assert!(!answer.contains("harden-0a1b2c3d") && !answer.contains("access-control"), "{who}: {answer}");
        assert!(content(&answer).len() < 120, "{who}: {answer}");
    }
    assert!(lab.fleet.acts.lock().unwrap().is_empty());
}

#[tokio::test]
async fn every_answer_forbids_what_is_not_its_own() {
    let lab = Lab::open("human-ann", false).await;
    for path in ["/", "/inbox", "/fleet", "/console.js", "/console.css", "/nothing", "/flight/harden-0a1b2c3d"] {
        let answer = lab.page(path).await;
        let policy = answer.lines().find_map(|line| line.strip_prefix("content-security-policy: ")).unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"), "{policy}");
        assert!(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"), "{policy}");
        for header in ["referrer-policy: no-referrer", "x-content-type-options: nosniff", "cache-control: no-store"] {
            assert!(answer.contains(header), "{path}: {header}");
        }
        let page = content(&answer);
        assert!(!page.contains("style=\"") && !page.contains(" onclick"), "{path}: nothing inline");
        assert!(!page.contains("src=\"http") && !page.contains("href=\"http"), "{path}: nothing from elsewhere");
    }
}

#[tokio::test]
async fn what_is_too_long_is_refused() {
    let lab = Lab::open("human-ann", false).await;
    let long = format!("/flight/{}", "x".repeat(4_000));
    assert_eq!(status(&lab.page(&long).await), 414);
    let form = format!("verb=pause&flight=harden-0a1b2c3d&note={}", "x".repeat(70_000));
    assert_eq!(status(&lab.act(&form).await), 413);
    assert_eq!(status(&lab.page("/flight/nobody-00000000").await), 404);
    assert!(lab.fleet.acts.lock().unwrap().is_empty());
}

#[tokio::test]
async fn output_of_others_is_no_markup_and_moves_no_cursor() {
    let lab = Lab::open("human-ann", false).await;
    let evidence = lab.page(&format!("/evidence/{}", "0".repeat(64))).await;
    assert!(evidence.contains("&lt;script&gt;") && !evidence.contains("<script>alert"), "{evidence}");
    assert!(!evidence.contains('\u{1b}'), "{evidence}");
    let diff = lab.page("/flight/harden-0a1b2c3d/w/diff?of=HP%2F1").await;
    assert!(diff.contains("+&lt;script&gt;"), "{diff}");
    let page = lab.page("/flight/harden-0a1b2c3d/w").await;
    assert!(page.contains("Retries &lt;b&gt;back off&lt;/b&gt;"), "{page}");
    assert!(page.contains("Which &lt;i&gt;one&lt;/i&gt;?"), "what waits stands on its waypoint's page");
}
