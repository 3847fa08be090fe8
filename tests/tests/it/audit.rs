//! The account of a real flight, taken away as a file: sound, and every way to doctor it is named by its first broken
//! link. Said outside, it can be checked by anybody.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use holdpoint_bus::auth::{Authority, Credentials, TrustRoots, open_envelope};
use holdpoint_protocol::{
    attestation::{Envelope, PAYLOAD_TYPE, Statement},
    export::{Line, Message},
    headers,
    ids::role,
    streams,
};
use holdpoint_tests::{
    cell::{CellWorld, Flight},
    world::{Finished, World},
};
use serde_json::Value;

/// A flight that is over, and its export.
struct Flown {
    place: CellWorld,
    flight: String,
    file: PathBuf,
    /// Its branch.
    branch: String,
}

impl Flown {
    fn new() -> Self {
        let place = CellWorld::new(Flight::Alone, None);
        let finished = place.fly("2").finish();
        finished.expect(0);
        let json = finished.json();
        let (flight, branch) =
            (json["flight"].as_str().unwrap().to_owned(), json["branch"].as_str().unwrap().to_owned());
        let file = place.world.path("flight.jsonl");
        let exported = place.world.holdpoint(&["export", &flight, "--with-evidence", "--json", "--out", text(&file)]);
        exported.expect(0);
        let exported = exported.json();
        assert!(exported["messages"].as_u64() > Some(10) && exported["blobs"].as_u64() > Some(0), "{exported}");
        assert_eq!(exported["missing"], serde_json::json!([]));
        Self { place, flight, file, branch }
    }

    fn world(&self) -> &World {
        &self.place.world
    }

    fn keys(&self) -> PathBuf {
        self.world().state_folder().unwrap().join("keys")
    }

    fn roots(&self) -> TrustRoots {
        serde_json::from_slice(&fs::read(self.keys().join("trust.json")).unwrap()).unwrap()
    }

    /// Audits the export after `doctor`, by the fleet's own keys.
    fn doctored(&self, doctor: impl FnOnce(&mut Vec<Line>)) -> Finished {
        let mut lines = lines(&self.file);
        doctor(&mut lines);
        let mut text = String::new();
        for line in &lines {
            text.push_str(&(serde_json::to_string(line).unwrap() + "\n"));
        }
        self.world().write("doctored.jsonl", &text);
        let (file, trust) = (self.world().path("doctored.jsonl"), self.keys().join("trust.json"));
        self.world().holdpoint(&["audit", self::text(&file), "--trust", self::text(&trust), "--json"])
    }

    /// The first broken link after `doctor`: exit 1, and what is said.
    #[track_caller]
    fn broken(&self, link: &str, doctor: impl FnOnce(&mut Vec<Line>)) -> Value {
        let finished = self.doctored(doctor);
        finished.expect(1);
        let json = finished.json();
        assert_eq!(json["sound"], false);
        let first = json["findings"][0].clone();
        assert_eq!(first["link"], link, "{first:#}");
        for field in ["at", "expected", "found"] {
            assert!(first[field].as_str().is_some_and(|text| !text.is_empty()), "{first:#}");
        }
        first
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn lines(file: &Path) -> Vec<Line> {
    fs::read_to_string(file).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn message(line: &Line) -> Option<&Message> {
    if let Line::Message(message) = line { Some(message) } else { None }
}

fn changed(line: &mut Line) -> &mut Message {
    let Line::Message(message) = line else { unreachable!() };
    message
}

/// Where a journal's entries are in the file.
fn entries(lines: &[Line], journal: &str) -> Vec<usize> {
    let of = |line: &Line| {
        message(line).is_some_and(|m| m.subject.split('.').nth(4) == Some(journal) && m.stream == streams::JOURNAL)
    };
    (0..lines.len()).filter(|at| of(&lines[*at])).collect()
}

/// Takes a line out, and says so in the last line, as an attacker would who wants it unnoticed.
fn remove(lines: &mut Vec<Line>, at: usize) -> Line {
    let line = lines.remove(at);
    let Some(Line::End(end)) = lines.last_mut() else { unreachable!() };
    end.messages -= u64::from(matches!(line, Line::Message(_)));
    end.blobs -= u64::from(matches!(line, Line::Blob(_)));
    line
}

fn last_handoff(lines: &[Line], role_name: &'static str, kind: &str) -> usize {
    let stream = streams::handoff(&role::id(role_name));
    lines.iter().rposition(|l| message(l).is_some_and(|m| m.stream == stream && m.subject.ends_with(kind))).unwrap()
}

#[test]
fn every_way_to_doctor_an_export_is_named_by_its_first_broken_link() {
    let flown = Flown::new();
    let sound = flown.doctored(|_| {});
    sound.expect(0);
    let counts = &sound.json()["counts"];
    assert_eq!(counts["landings"], 2);
    assert!(counts["decisions"].as_u64() > Some(7) && counts["evidence"].as_u64() > Some(0), "{counts}");

    damaged_entries(&flown);
    foreign_signatures(&flown);
    evidence(&flown);
    damaged_files(&flown);
}

fn damaged_entries(flown: &Flown) {
    // One byte of each entry's payload.
    let original = lines(&flown.file);
    for at in entries(&original, "two") {
        let first = flown.broken("signature", |lines| changed(&mut lines[at]).payload[40] ^= 1);
        assert_eq!(first["at"], message(&original[at]).unwrap().reference());
        assert_eq!(first["waypoint"], "two");
    }
    let journal = entries(&original, "two");
    let first = flown.broken("chain", |lines| drop(remove(lines, journal[1])));
    assert_eq!(first["at"], message(&original[journal[2]]).unwrap().reference());
    let first = flown.broken("chain", |lines| lines.swap(journal[1], journal[2]));
    assert_eq!(first["at"], message(&original[journal[2]]).unwrap().reference());
    let own = entries(&original, "_");
    let first = flown.broken("seal", |lines| drop(remove(lines, *own.last().unwrap())));
    assert!(first["found"].as_str().unwrap().contains("a tail was lost"), "{first}");
    let handoff = last_handoff(&original, role::VERIFIER, "verification_report");
    let first = flown.broken("cause", |lines| drop(remove(lines, handoff)));
    let lost = message(&original[handoff]).unwrap().reference();
    assert!(first["expected"].as_str().unwrap().contains(&lost), "{first}");
}

fn foreign_signatures(flown: &Flown) {
    let original = lines(&flown.file);
    let sign = |message: &mut Message, by: &Credentials| {
        let signature = by.signer().sign(&message.subject, &message.payload);
        message.headers.insert(headers::SIGNATURE.to_owned(), signature);
    };
    // An orchestrator of another fleet.
    let stranger = Authority::create().mint_orchestrator(&"orchestrator".parse().unwrap());
    let at = entries(&original, "one")[1];
    let first = flown.broken("signature", |lines| sign(changed(&mut lines[at]), &stranger));
    assert_eq!(first["at"], message(&original[at]).unwrap().reference());
    // A verifier's key under a builder's work, with its own JWT; and a builder's own key over other words.
    let authority = Authority::load(&flown.keys()).unwrap().unwrap();
    let pool = streams::fleet_pool();
    let mint =
        |name: &'static str| authority.mint_agent(&role::id(name), &"builder-1".parse().unwrap(), &pool, None).unwrap();
    let verifier = mint(role::VERIFIER);
    let work = last_handoff(&original, role::BUILDER, "build_artifact");
    let first = flown.broken("sender", |lines| {
        let message = changed(&mut lines[work]);
        sign(message, &verifier);
        message.headers.insert(headers::JWT.to_owned(), verifier.jwt().to_owned());
    });
    assert!(first["found"].as_str().unwrap().contains("role verifier, not builder"), "{first}");
    let first = flown.broken("sender", |lines| sign(changed(&mut lines[work]), &stranger));
    assert!(first["found"].as_str().unwrap().contains("signature"), "{first}");
    // Another fleet's keys are trusted: nothing counts.
    let foreign = flown.world().path("foreign.json");
    fs::write(&foreign, serde_json::to_vec(Authority::create().trust_roots()).unwrap()).unwrap();
    let file = text(&flown.file);
    let finished = flown.world().holdpoint(&["audit", file, "--trust", text(&foreign), "--json"]);
    finished.expect(1);
    assert_eq!(finished.json()["findings"][0]["link"], "signature");
    // A seal that no orchestrator signed.
    let first = flown.broken("seal", |lines| {
        let Line::Export(head) = &mut lines[0] else { unreachable!() };
        head.seal.signature = stranger.signer().sign("hp.v1.seal.other", &head.seal.payload);
    });
    assert!(first["found"].as_str().unwrap().contains("another key"), "{first}");
}

fn evidence(flown: &Flown) {
    let original = lines(&flown.file);
    let blobs: Vec<usize> = (0..original.len()).filter(|at| matches!(original[*at], Line::Blob(_))).collect();
    let passed: BTreeSet<usize> =
        blobs.iter().copied().filter(|at| flown.doctored(|lines| drop(remove(lines, *at))).code == 1).collect();
    assert!(!passed.is_empty(), "what something is passed by has to be there");
    let at = *passed.first().unwrap();
    let first = flown.broken("evidence", |lines| drop(remove(lines, at)));
    assert!(first["at"].as_str().unwrap().starts_with("HP_HANDOFF_VERIFIER/"), "{first}");
    let first = flown.broken("evidence", |lines| {
        let Line::Blob(part) = &mut lines[at] else { unreachable!() };
        part.data.push(b'!');
    });
    assert!(first["found"].as_str().unwrap().contains("bytes with the digest"), "{first}");
}

fn damaged_files(flown: &Flown) {
    let first = flown.broken("file", |lines| drop(lines.pop()));
    assert!(first["found"].as_str().unwrap().contains("cut off"), "{first}");
    // Lines are counted, but that one is missing says less than where.
    let first = flown.broken("chain", |lines| drop(lines.remove(3)));
    assert!(first["found"].as_str().unwrap().contains("an entry was lost"), "{first}");
    let whole = fs::read_to_string(&flown.file).unwrap();
    let file = flown.world().path("doctored.jsonl");
    fs::write(&file, whole.replacen("\"record\":\"message\"", "\"record\":\"massage\"", 1)).unwrap();
    let finished = flown.world().holdpoint(&["audit", text(&file), "--json"]);
    finished.expect(1);
    assert_eq!(
        (&finished.json()["findings"][0]["link"], &finished.json()["findings"][0]["at"]),
        (&"file".into(), &"line 2".into())
    );
    for junk in ["", "{}\n", "not JSON\n", &whole.replacen("holdpoint-export/1", "holdpoint-export/2", 1)] {
        fs::write(&file, junk).unwrap();
        let finished = flown.world().holdpoint(&["audit", text(&file)]);
        finished.expect(2);
        assert!(finished.stderr.contains("error:") && finished.stderr.contains("hint:"), "{finished}");
    }
}

#[test]
fn a_flight_is_audited_exported_and_attested_by_its_name() {
    let flown = Flown::new();
    let (world, flight) = (flown.world(), flown.flight.as_str());
    let audited = world.holdpoint(&["audit", flight]);
    audited.expect(0);
    assert!(audited.stdout.contains(&format!("{flight}: sound")), "{audited}");
    let by_file = world.holdpoint(&["audit", text(&flown.file)]);
    by_file.expect(0);
    assert!(by_file.stderr.contains("keys that the file itself names"), "{by_file}");
    // Without evidence, to standard output: smaller, and sound.
    let piped = world.holdpoint(&["export", flight, "--out", "-"]);
    piped.expect(0);
    world.write("digests.jsonl", &piped.stdout);
    let (read, write) = std::io::pipe().unwrap();
    drop(read);
    for args in [&["export", flight, "--out", "-"][..], &["attest", flight]] {
        let unread = world.command(args).stdout(write.try_clone().unwrap()).output().unwrap();
        let said = String::from_utf8(unread.stderr).unwrap();
        assert!(unread.status.success() && !said.contains("error"), "{said}");
    }
    let digests = world.holdpoint(&["audit", text(&world.path("digests.jsonl")), "--json"]);
    digests.expect(0);
    assert_eq!(digests.json()["evidence_bytes"], false);
    assert!(piped.stdout.len() < fs::read(&flown.file).unwrap().len());

    let attested = world.holdpoint(&["attest", flight, "two"]);
    attested.expect(0);
    let envelope: Envelope = serde_json::from_str(attested.stdout.trim_end()).unwrap();
    assert_eq!(envelope.payload_type, PAYLOAD_TYPE);
    let roots = flown.roots();
    let payload = roots.orchestrators.iter().find_map(|key| open_envelope(&envelope, key).ok());
    let statement: Statement =
        serde_json::from_slice(&payload.expect("signed by an orchestrator of the fleet")).unwrap();
    let commit = world.git(&["log", "--format=%H %T", "--grep=Holdpoint-Waypoint: two", &flown.branch]);
    let (commit, tree) = commit.trim().split_once(' ').unwrap();
    assert_eq!(statement.subject[0].digest["gitCommit"], commit);
    assert_eq!(statement.subject[1].digest["gitTree"], tree);
    let report = world.git(&["log", "-1", "--format=%(trailers:key=Holdpoint-Report,valueonly)", commit]);
    let input = &statement.predicate.input_attestations[0].digest["sha256"];
    assert_eq!(report.trim(), format!("sha256:{input}"));
    let all = world.holdpoint(&["attest", flight]);
    assert_eq!(all.expect(0).stdout.lines().count(), 2);
}

#[test]
fn what_was_not_flown_is_neither_exported_nor_audited_nor_attested() {
    let place = CellWorld::new(Flight::Alone, None);
    place.fly("1").finish().expect(0);
    let world = &place.world;
    for args in [&["export", "no-such-flight"][..], &["audit", "no-such-flight"], &["attest", "no-such-flight"]] {
        let finished = world.holdpoint(args);
        finished.expect(2);
        assert!(
            finished.stderr.contains("no flight no-such-flight") || finished.stderr.contains("no such flight"),
            "{finished}"
        );
    }
    world.holdpoint(&["audit", "no such file"]).expect(2);
    assert!(!world.path("repo/no-such-flight.export.jsonl").exists());
    assert!(!world.path("repo/no-such-flight.export.jsonl.part").exists());
    let flights = world.holdpoint(&["status", "--json"]).json();
    let flight = flights[0]["flight"].as_str().unwrap();
    let unknown = world.holdpoint(&["attest", flight, "three"]);
    unknown.expect(2);
    assert!(unknown.stderr.contains("there is no waypoint three"), "{unknown}");
}

#[test]
fn a_flight_is_audited_while_it_flies() {
    let world = World::new(&[]);
    world.plan("plan: wait\nwaypoints:\n  - {id: w, goal: g, criteria: [{id: c, check: \"grep -q done result\"}]}\n");
    let script = "while [ ! -e \"$(dirname \"$0\")/go\" ]; do sleep 0.05; done\necho done > result";
    let builder = world.program("builder.sh", script);
    let mut running = world.start(&world.run_args(&["--builder", &builder]));
    running.until_said("builder-1");
    let flights = world.holdpoint(&["status", "--json"]).json();
    let flight = flights[0]["flight"].as_str().unwrap().to_owned();
    let audited = world.holdpoint(&["audit", &flight, "--json"]);
    audited.expect(0);
    assert_eq!((&audited.json()["counts"]["entries"], &audited.json()["counts"]["landings"]), (&2.into(), &0.into()));
    world.write("plan/go", "");
    running.finish().expect(0);
    assert_eq!(world.holdpoint(&["audit", &flight, "--json"]).expect(0).json()["counts"]["landings"], 1);
}
