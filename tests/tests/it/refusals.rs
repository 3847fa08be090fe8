//! Everything that an agent can do wrong, by a client that says anything, and what it hears.

mod forged;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_nats::{Client, ConnectOptions, Event, HeaderMap, Request};
use holdpoint_bus::{Bus, ConnectArgs, auth::Credentials, signals::Signals};
use holdpoint_protocol::{
    Digest, headers,
    ids::{RoleId, role},
    plan::Priority,
    refusal::{RefusalAction, RefusalCode},
    streams, subjects,
};
use holdpoint_tests::{
    external::{Up, credentials, signal_own, up},
    world::{PATIENCE, World, eventually},
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

const PLAN: &str = "plan: p\nwaypoints:\n  - {id: w, goal: g, criteria: [{id: c, check: 'true'}]}\n";

/// How long an acknowledgement is waited for that must not come.
const NOTHING_AFTER: Duration = Duration::from_millis(700);

/// An agent that says whatever the test wants.
struct Liar {
    role: RoleId,
    creds: Credentials,
    raw: Client,
    refused: Signals,
    /// What the broker would not let it do.
    errors: Arc<Mutex<Vec<String>>>,
    said: u32,
}

/// A handoff as it is sent.
#[derive(Clone)]
struct Said {
    subject: String,
    payload: Vec<u8>,
    id: String,
    content_type: &'static str,
    jwt: Option<String>,
    signature: Option<String>,
}

impl Liar {
    async fn start(world: &World, fleet: &Up, role: &'static str, name: &str) -> Self {
        let role = role::id(role);
        let creds = credentials(world, &role, name);
        let errors: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = errors.clone();
        let options = ConnectOptions::with_credentials(&creds.to_text()).unwrap();
        let options = options.custom_inbox_prefix(format!("_INBOX.{name}")).event_callback(move |event| {
            if let Event::ServerError(error) = event {
                seen.lock().unwrap().push(error.to_string());
            }
            async {}
        });
        let raw = options.connect(fleet.url.as_str()).await.unwrap();
        let bus = Bus::connect(ConnectArgs::new(fleet.url.clone(), creds.clone())).await.unwrap();
        let refused = Signals::listen(&bus, subjects::refused(&role, creds.name())).await.unwrap();
        Self { role, creds, raw, refused, errors, said: 0 }
    }

    /// The next turn, as JSON.
    async fn turn(&self) -> Value {
        let looking = async {
            loop {
                for priority in Priority::ALL {
                    let consumer = streams::turn_consumer(&self.role, &streams::fleet_pool(), priority);
                    let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{}.{consumer}", streams::JOURNAL);
                    let pull =
                        Request::new().payload(r#"{"batch":1,"no_wait":true}"#.into()).inbox(self.raw.new_inbox());
                    // A consumer that is made again is gone for a moment: nobody answers, or not in time.
                    let Ok(answer) = self.raw.send_request(subject, pull).await else { continue };
                    if answer.status.is_none() {
                        return serde_json::from_slice(&answer.payload).unwrap();
                    }
                }
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(PATIENCE, looking).await.expect("a turn")
    }

    /// A handoff that is in order, of these fields besides those that all have.
    fn say(&mut self, turn: &Value, kind: &str, fields: Value) -> Said {
        self.said += 1;
        let name = self.creds.name().to_string();
        let mut artifact = json!({
            "schema_version": "1.0", "artifact_id": format!("{name}-{}", self.said), "waypoint_id": turn["waypoint"],
            "produced_by_role": self.role, "produced_at": "2026-09-21T14:13:20.123Z", "source_refs": [],
            "turn": turn["turn_id"], "delivery": 1, "agent": name,
        });
        artifact.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let subject = format!("{}.{kind}", turn["handoff_subject"].as_str().unwrap());
        let id = format!("{}.1.{name}.{kind}.{}", turn["turn_id"].as_str().unwrap(), self.said);
        let said = Said {
            subject,
            payload: serde_json::to_vec(&artifact).unwrap(),
            id,
            content_type: headers::JSON,
            jwt: Some(self.creds.jwt().to_owned()),
            signature: None,
        };
        self.signed(said)
    }

    fn signed(&self, mut said: Said) -> Said {
        said.signature = Some(self.creds.signer().sign(&said.subject, &said.payload));
        said
    }

    /// Sends it; the broker's answer.
    async fn send(&self, said: &Said) -> Value {
        let mut map = HeaderMap::new();
        map.insert(headers::CONTENT_TYPE, said.content_type);
        map.insert(headers::MESSAGE_ID, said.id.as_str());
        if let Some(jwt) = &said.jwt {
            map.insert(headers::JWT, jwt.as_str());
        }
        if let Some(signature) = &said.signature {
            map.insert(headers::SIGNATURE, signature.as_str());
        }
        let payload = said.payload.clone().into();
        let answer = self.raw.request_with_headers(said.subject.clone(), map, payload).await.unwrap();
        serde_json::from_slice(&answer.payload).unwrap()
    }

    /// Sends it and waits for what is said of it.
    async fn refusal(&mut self, said: &Said) -> Value {
        let stored = self.send(said).await;
        assert!(stored["error"].is_null(), "{stored}");
        let hearing = async {
            loop {
                let signal = self.refused.next().await.unwrap();
                let refusal: Value = serde_json::from_slice(&signal.payload).unwrap();
                // A missing blob is reported again and again.
                if refusal["message_id"] == said.id.as_str() {
                    return refusal;
                }
            }
        };
        timeout(PATIENCE, hearing).await.unwrap_or_else(|_| panic!("nothing is said of {}", said.id))
    }

    async fn expect(&mut self, code: RefusalCode, said: &Said) {
        let refusal = self.refusal(said).await;
        let action: RefusalAction = serde_json::from_value(refusal["action"].clone()).unwrap();
        assert_eq!((refusal["code"].as_str(), action), (Some(code.as_str()), code.action()), "{refusal}");
        assert_eq!(refusal["hint"], code.hint());
        // Without its signature anybody of the role may have sent it.
        let claimed = [RefusalCode::Unsigned, RefusalCode::WrongSignature].contains(&code);
        assert_eq!(refusal["claimed"] == true, claimed, "{refusal}");
        assert!(refusal["error"].as_str().is_some_and(|error| error.len() > 10), "{refusal}");
        assert!(refusal["ref"].as_str().unwrap().starts_with(&streams::handoff(&self.role)), "{refusal}");
    }
}

fn plan() -> Value {
    json!({"declared": false, "file_targets": [], "validation": [], "coverage": [], "budget": {}})
}

fn artifact(more: Value) -> Value {
    let mut fields = json!({
        "status": "ok", "failure": null, "commit": null, "tree": null, "bundle": null, "touched": [],
        "diff": {"files": 0, "insertions": 0, "deletions": 0}, "ledger": [], "claims": [], "completion_claim": null,
        "metered": {"wall": 0, "output_bytes": 0},
    });
    fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    fields
}

fn work(digest: &Digest) -> Value {
    let commit = "a".repeat(40);
    artifact(json!({"commit": commit, "tree": commit, "bundle": {
        "blob": {"role": "builder", "digest": digest.to_string(), "bytes": 5}, "tip": commit}}))
}

/// A flight whose turns nobody of ours takes.
async fn submitted(world: &World) -> Up {
    world.plan(PLAN);
    let own = world.program("builder.sh", "true");
    // Nothing here says that it still works on a turn.
    let fleet = up(world, &["--builder", &own], &[("HOLDPOINT__AGENT__ACK_WAIT", "2m")]);
    signal_own(&fleet, "builder", Signal::SIGSTOP);
    signal_own(&fleet, "verifier", Signal::SIGSTOP);
    world.holdpoint(&["submit", "../plan/plan.yaml", "--repo", "."]).expect(0);
    fleet
}

/// What is wrong with a handoff of a builder's turn that stays open.
fn mistakes(liar: &mut Liar, turn: &Value, verifier: &Credentials) -> Vec<(RefusalCode, Said)> {
    let good = liar.say(turn, "build_plan", plan());
    let mut all = Vec::new();
    let mut add = |liar: &mut Liar, code, change: &dyn Fn(&mut Said)| {
        let mut said = liar.say(turn, "build_plan", plan());
        change(&mut said);
        all.push((code, liar.signed(said)));
    };
    let text = |said: &Said| String::from_utf8(said.payload.clone()).unwrap();
    add(liar, RefusalCode::Unreadable, &|said| said.payload.truncate(20));
    add(liar, RefusalCode::Unreadable, &|said| said.payload.extend(b"{}"));
    add(liar, RefusalCode::WrongShape, &|said| {
        said.payload = text(said).replace("\"declared\"", "\"declaimed\"").into();
    });
    add(liar, RefusalCode::WrongShape, &|said| said.payload = b"[1]".to_vec());
    add(liar, RefusalCode::Version, &|said| said.payload = text(said).replace("\"1.0\"", "\"2.0\"").into());
    add(liar, RefusalCode::ContentType, &|said| said.content_type = "text/plain");
    add(liar, RefusalCode::UnknownKind, &|said| said.subject = said.subject.replace("build_plan", "poem"));
    add(liar, RefusalCode::NoSuchWaypoint, &|said| said.subject = said.subject.replace(".w.", ".nowhere."));
    add(liar, RefusalCode::JwtRefused, &|said| said.jwt = Some("no.such.jwt".to_owned()));
    add(liar, RefusalCode::JwtRefused, &|said| said.jwt = Some(verifier.jwt().to_owned()));
    add(liar, RefusalCode::WrongAgent, &|said| {
        said.payload = text(said).replace("\"agent\":\"liar\"", "\"agent\":\"other\"").into();
    });
    let partition = good.subject.split('.').nth(4).unwrap().parse::<u32>().unwrap();
    let (own, other) =
        (format!(".builder.{partition}."), format!(".builder.{}.", (partition + 1) % subjects::PARTITIONS));
    add(liar, RefusalCode::BadSubject, &|said| said.subject = said.subject.replace(&own, &other));
    let unsigned = Said { signature: None, ..liar.say(turn, "build_plan", plan()) };
    all.push((RefusalCode::Unsigned, unsigned));
    // The payload alone is signed: the commonest mistake.
    let mut said = liar.say(turn, "build_plan", plan());
    said.signature = Some(liar.creds.signer().sign("", &said.payload));
    all.push((RefusalCode::WrongSignature, said));
    let stale = json!({"turn": "guessed"});
    all.push((RefusalCode::TurnNotOpen, liar.say(turn, "build_artifact", artifact(stale))));
    let failure = json!({"status": "failed", "failure": {"reason": "merge_conflict", "detail": "d"}});
    all.push((RefusalCode::RequestMismatch, liar.say(turn, "build_artifact", artifact(failure))));
    all.push((RefusalCode::WorkMissing, liar.say(turn, "build_artifact", work(&Digest::of(b"nobody stored this")))));
    all
}

fn report(turn: &Value, evidence: &Digest) -> Value {
    let request = &turn["request"];
    let result = json!({"id": "c", "verdict": "pass", "reason": null, "evidence": [evidence.to_string()]});
    json!({
        "purpose": request["purpose"], "commit": request["commit"], "tree": request["tree"],
        "criteria": [{"result": result, "command": "true", "exit_code": 0, "output_tail": "", "note": null}],
        "guards": [], "violations": [], "diff": {"files": 0, "insertions": 0, "deletions": 0}, "doubts": [],
        "receipt": {"checks": [], "properties": [], "foreign": true}, "self_checked": false,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn every_mistake_of_an_agent_is_answered_with_its_code_and_what_to_do() {
    let world = World::new(&[("kept", "as it was\n")]);
    let fleet = submitted(&world).await;
    let mut liar = Liar::start(&world, &fleet, role::BUILDER, "liar").await;
    let mut judge = Liar::start(&world, &fleet, role::VERIFIER, "judge").await;
    let turn = liar.turn().await;
    let early = liar.say(&turn, "build_artifact", artifact(json!({})));
    liar.expect(RefusalCode::PlanMissing, &early).await;
    let plan_of_it = liar.say(&turn, "build_plan", plan());
    assert!(liar.send(&plan_of_it).await["error"].is_null());
    for (code, said) in mistakes(&mut liar, &turn, &judge.creds) {
        liar.expect(code, &said).await;
    }

    // Wrong bytes under a bundle's name decide the turn; the next one is answered well.
    let digest = Digest::of(b"a bundle");
    let mut map = HeaderMap::new();
    map.insert(headers::SIZE, "5");
    let chunk = subjects::blob_chunk(&liar.role, &digest, 0);
    liar.raw.request_with_headers(chunk, map, "wrong".into()).await.unwrap();
    let said = liar.say(&turn, "build_artifact", work(&digest));
    liar.expect(RefusalCode::WorkRefused, &said).await;
    let turn = liar.turn().await;
    assert_eq!(turn["attempt"], 2);
    let said = liar.say(&turn, "build_plan", plan());
    liar.send(&said).await;
    let said = liar.say(&turn, "verification_report", report(&turn, &digest));
    // A shape of another kind is no report on this turn.
    liar.expect(RefusalCode::WrongShape, &said).await;
    let tree = world.git(&["rev-parse", "HEAD^{tree}"]);
    let said = liar.say(&turn, "build_artifact", artifact(json!({"tree": tree.trim()})));
    assert!(liar.send(&said).await["error"].is_null());

    let verify = judge.turn().await;
    let said = judge.say(&verify, "verification_plan", json!({"wanted": []}));
    judge.send(&said).await;
    let mut asked = verify.clone();
    asked["handoff_subject"] = turn["handoff_subject"].clone();
    let said = liar.say(&asked, "build_artifact", artifact(json!({})));
    liar.expect(RefusalCode::WrongRole, &said).await;
    // A maker of work reports on it itself.
    let mut own = report(&verify, &digest);
    own["self_checked"] = true.into();
    let said = liar.say(&asked, "verification_report", own);
    liar.expect(RefusalCode::WrongRole, &said).await;
    let said = judge.say(&verify, "build_artifact", artifact(json!({})));
    judge.expect(RefusalCode::WrongKind, &said).await;
    let evidence = Digest::of(b"");
    let mut other = report(&verify, &evidence);
    other["tree"] = "b".repeat(40).into();
    store_nothing(&judge, &evidence).await;
    let said = judge.say(&verify, "verification_report", other);
    judge.expect(RefusalCode::RequestMismatch, &said).await;
    let said = judge.say(&verify, "verification_report", report(&verify, &Digest::of(b"not stored")));
    judge.expect(RefusalCode::EvidenceMissing, &said).await;
    // Fixed, the turn is taken, and the flight is over.
    let said = judge.say(&verify, "verification_report", report(&verify, &evidence));
    assert!(judge.send(&said).await["error"].is_null());
    let done = world.holdpoint(&["watch", verify["flight"].as_str().unwrap(), "--json"]);
    assert_eq!(done.expect(0).json()["status"], "accepted", "{done}");
}

/// Stores the output of a check that prints nothing.
async fn store_nothing(judge: &Liar, digest: &Digest) {
    let mut map = HeaderMap::new();
    map.insert(headers::SIZE, "0");
    let chunk = subjects::blob_chunk(&judge.role, digest, 0);
    let answer = judge.raw.request_with_headers(chunk, map, "".into()).await.unwrap();
    assert!(String::from_utf8_lossy(&answer.payload).contains("\"seq\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_reach_an_orchestrator_is_answered_by_the_broker() {
    let world = World::new(&[("kept", "as it was\n")]);
    let fleet = submitted(&world).await;
    let mut liar = Liar::start(&world, &fleet, role::BUILDER, "liar").await;
    let turn = liar.turn().await;

    // Another role's subject.
    let mut said = liar.say(&turn, "verification_report", json!({}));
    said.subject = said.subject.replace(".builder.", ".verifier.");
    let answer = timeout(NOTHING_AFTER, liar.raw.request(said.subject.clone(), said.payload.clone().into())).await;
    assert!(answer.is_err(), "{answer:?}");
    eventually("the broker's words", || {
        let told = liar.errors.lock().unwrap().join("\n").to_lowercase();
        (told.contains("permissions violation") && told.contains(".handoff.verifier.")).then_some(())
    });

    // Too much at once: for the client, and for the stream of chunks.
    let limit = liar.raw.server_info().max_payload;
    let too_much = liar.raw.publish("hp.v1.handoff.builder.0.f.w.build_plan", vec![b' '; limit + 1].into()).await;
    assert!(too_much.is_err());
    let chunk = subjects::blob_chunk(&liar.role, &Digest::of(b"x"), 0);
    let answer = liar.raw.request(chunk, vec![0; 300 << 10].into()).await.unwrap();
    let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
    assert_eq!(answer["error"]["err_code"], 10054, "{answer}");

    // The same message id again.
    let said = liar.say(&turn, "build_plan", plan());
    assert_eq!(liar.send(&said).await["duplicate"], Value::Null);
    assert_eq!(liar.send(&said).await["duplicate"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn pulls_that_somebody_leaves_in_the_broker_keep_nobody_from_turns() {
    let world = World::new(&[("a", "1\n")]);
    world.plan(PLAN);
    let own = world.program("builder.sh", "true");
    // A turn that such a pull takes would come again after this only.
    let fleet = up(&world, &["--builder", &own], &[("HOLDPOINT__AGENT__ACK_WAIT", "20m")]);
    signal_own(&fleet, "builder", Signal::SIGSTOP);
    signal_own(&fleet, "verifier", Signal::SIGSTOP);
    let thief = Liar::start(&world, &fleet, role::BUILDER, "thief").await;
    for priority in Priority::ALL {
        let consumer = streams::turn_consumer(&thief.role, &streams::fleet_pool(), priority);
        let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{}.{consumer}", streams::JOURNAL);
        for _ in 0..50 {
            let reply = subjects::wake(&thief.role);
            thief.raw.publish_with_reply(subject.clone(), reply, r#"{"batch":1}"#.into()).await.unwrap();
        }
    }
    thief.raw.flush().await.unwrap();
    world.holdpoint(&["submit", "../plan/plan.yaml", "--repo", "."]).expect(0);
    let honest = Liar::start(&world, &fleet, role::BUILDER, "honest").await;
    assert_eq!(honest.turn().await["waypoint"], "w");
}
