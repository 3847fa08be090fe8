//! Buttons, and when they are off.

use std::sync::atomic::Ordering;

use holdpoint_console::{ActKind, WantedAct};

use crate::lab::{Ask, FLIGHT, Lab, content, status};

const ANSWER: &str = "verb=answer&flight=harden-0a1b2c3d&waypoint=w&seen=HP%2F7&option=1&text=";
const APPROVE: &str = "verb=approve&flight=harden-0a1b2c3d&waypoint=w&seen=HP%2F7&note=";

#[tokio::test]
async fn an_answer_names_the_question_that_its_person_looked_at() {
    let lab = Lab::open("human-ann", false).await;
    let answer = lab.act(ANSWER).await;
    assert_eq!((status(&answer), content(&answer)), (200, "answered; w builds again"));
    let wanted = WantedAct {
        flight: FLIGHT.parse().unwrap(),
        waypoint: Some("w".parse().unwrap()),
        seen: Some("HP/7".to_owned()),
        what: ActKind::Answer { option: Some(1), text: None },
    };
    assert_eq!(*lab.fleet.acts.lock().unwrap(), [wanted]);
    let wrong = lab.act("verb=reject&flight=harden-0a1b2c3d&waypoint=w").await;
    assert!(status(&wrong) == 409 && content(&wrong).contains("has to change"), "{wrong}");
}

#[tokio::test]
async fn a_console_that_only_shows_refuses_every_act_and_says_so_beside_its_buttons() {
    let lab = Lab::open("human-ann", true).await;
    let inbox = lab.page("/inbox").await;
    assert!(inbox.contains("<fieldset disabled>") && inbox.contains("--read-only"), "{inbox}");
    assert!(!inbox.contains("<fieldset>"), "{inbox}");
    for act in [ANSWER, APPROVE, "verb=pause&flight=harden-0a1b2c3d", "verb=cancel&flight=harden-0a1b2c3d"] {
        let refused = lab.act(act).await;
        assert!(status(&refused) == 409 && content(&refused).contains("--read-only"), "{refused}");
    }
    assert!(lab.fleet.acts.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_scripts_key_answers_and_completes_no_gate() {
    let lab = Lab::open("ci", false).await;
    let inbox = lab.page("/inbox").await;
    assert!(inbox.contains("Approve is off: only a person"), "{inbox}");
    let refused = lab.act(APPROVE).await;
    assert!(status(&refused) == 409 && content(&refused).contains("human-"), "{refused}");
    assert_eq!(status(&lab.act(ANSWER).await), 200);
    assert_eq!(lab.fleet.acts.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_plan_is_looked_at_without_being_submitted_and_its_mistakes_stand_at_their_lines() {
    let lab = Lab::open("human-ann", false).await;
    assert!(lab.page("/submit").await.contains("Submit a plan"));
    let looked = lab.post("/plan", "go=look&plan=plan%3A+p%0D%0Awaypoints%3A+%3C%0D%0A").await;
    assert_eq!(status(&looked), 200, "{looked}");
    for shown in ["Line 2", "&lt;i&gt;odd&lt;/i&gt;", "waypoints: &lt;", "21 bytes"] {
        assert!(looked.contains(shown), "{shown}: {looked}");
    }
    assert_eq!(lab.fleet.submitted.load(Ordering::Relaxed), 0);
    let submitted = lab.post("/plan", "go=submit&plan=plan%3A+p").await;
    assert!(status(&submitted) == 200 && submitted.contains(FLIGHT), "{submitted}");
    let long = format!("go=submit&plan={}", "x".repeat(300 << 10));
    let refused = lab.post("/plan", &long).await;
    assert!(status(&refused) == 413 && refused.contains("262144 bytes"), "{refused}");
    assert_eq!(lab.fleet.submitted.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn an_edit_is_shown_before_it_is_sent_and_one_that_came_too_late_shows_both_and_loses_no_text() {
    let lab = Lab::open("human-ann", false).await;
    let page = |of: usize| format!("/flight/{FLIGHT}/w/document?of=HP_HANDOFF_WRITER%2F{of}");
    let edit = |of: usize, go: &str, more: &str| {
        format!(
            "flight={FLIGHT}&waypoint=w&of=HP_HANDOFF_WRITER%2F{of}&go={go}{more}&text=%23+Impact%0D%0A%0D%0ASmall.%0D%0A"
        )
    };
    let shown = lab.page(&page(1)).await;
    assert!(
        shown.contains("<textarea class=\"code\" name=\"text\"") && shown.contains("None &lt;i&gt;yet&lt;/i&gt;."),
        "{shown}"
    );
    let looked = lab.post("/document", &edit(1, "look", "")).await;
    assert!(status(&looked) == 200 && looked.contains("Small.") && !looked.contains("Nothing was done"), "{looked}");
    assert_eq!(lab.fleet.documents.lock().unwrap().len(), 1, "a look sends nothing");
    let strange = lab.ask(Ask { method: "POST", ..lab.own(&format!("{}/document", lab.prefix)) }).await;
    assert_eq!(status(&strange), 403, "no page of this console asked for it");
    let done = lab.post("/document", &edit(1, "revise", "")).await;
    assert!(
        status(&done) == 200 && done.contains("revised; w is looked at") && done.contains("HP_HANDOFF_WRITER/2"),
        "{done}"
    );
    assert_eq!(lab.fleet.documents.lock().unwrap()[1], "# Impact\n\nSmall.\n");
    lab.fleet.documents.lock().unwrap().push("# Impact\n\nGreat.\n".to_owned());
    let late = lab.post("/document", &edit(2, "revise", "")).await;
    for part in ["Nothing was done", "HP_HANDOFF_WRITER/3", "Great.", "Small.", "form=\"edit\" name=\"onto\""] {
        assert!(status(&late) == 200 && late.contains(part), "{part}: {late}");
    }
    let older = lab.page(&page(2)).await;
    assert!(
        !older.contains("<textarea class=\"code\"") && older.contains("The newest document of its gate is"),
        "{older}"
    );
    let onto = lab.post("/document", &edit(2, "revise", "&onto=HP_HANDOFF_WRITER%2F3")).await;
    assert!(onto.contains("revised; w is looked at"), "{onto}");
    assert_eq!(lab.fleet.documents.lock().unwrap().len(), 4);
    let long = format!("flight={FLIGHT}&waypoint=w&of=x&go=revise&text={}", "x".repeat(200 << 10));
    assert_eq!(status(&lab.post("/document", &long).await), 413);
}

#[tokio::test]
async fn a_console_that_only_shows_and_a_scripts_key_revise_nothing() {
    for (me, read_only, why) in [("human-ann", true, "--read-only"), ("ci", false, "only a person")] {
        let lab = Lab::open(me, read_only).await;
        let page = lab.page(&format!("/flight/{FLIGHT}/w/document?of=HP_HANDOFF_WRITER%2F1")).await;
        assert!(page.contains("Revise is off: ") && page.contains(why), "{page}");
        let edit = format!("flight={FLIGHT}&waypoint=w&of=HP_HANDOFF_WRITER%2F1&go=revise&text=x");
        let refused = lab.post("/document", &edit).await;
        assert!(status(&refused) == 409 && content(&refused).contains(why), "{refused}");
        assert_eq!(lab.fleet.documents.lock().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_console_that_only_shows_looks_at_plans_and_submits_none() {
    let lab = Lab::open("human-ann", true).await;
    assert!(lab.page("/submit").await.contains("Submit is off: this console was started with --read-only"));
    assert_eq!(status(&lab.post("/plan", "go=look&plan=x").await), 200);
    let refused = lab.post("/plan", "go=submit&plan=x").await;
    assert!(status(&refused) == 409 && content(&refused).contains("--read-only"), "{refused}");
    assert_eq!(lab.fleet.submitted.load(Ordering::Relaxed), 0);
}
