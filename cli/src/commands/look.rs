//! `status`, `history` and `artifact`: looking at what is and was.

use std::{collections::BTreeSet, path::Path};

use holdpoint_bus::blobs;
use holdpoint_evidence::telling::SELF_CHECKED;
use holdpoint_protocol::{
    Digest,
    api::{FlightLine, HistoryLine, Standing},
    artifact::{Artifact as _, BuildPlan},
    facts::LeftOutKind,
    ids::role,
    names::answers_turn,
    streams,
    view::{FlightStatus, FlightView},
};
use holdpoint_text::{
    shown,
    units::{self, counted},
};
use serde::Serialize;
use serde_json::Value;

use super::forget::forgotten;
use crate::{
    archive::{FOLDER, exports},
    args::{ArtifactArgs, HistoryArgs, Place, StatusArgs},
    documents,
    failure::{Exit, Failure},
    ground, output,
    people::{
        attempts, find,
        words::{self, doubts_of},
    },
    running_fleet::goes_on_by,
    state::StateDir,
    target::{Remote, Target},
    typed::in_text,
    view,
};

/// What begins the name of bytes.
const DIGEST_PREFIX: &str = "sha256:";
/// The most bytes of evidence that are printed. The output of a check is capped far below it.
const EVIDENCE_BYTES_MAX: u64 = 256 << 20;

/// Shows a flight, or lists all.
pub(super) async fn status(args: StatusArgs) -> Result<Exit, Failure> {
    let Some(flight) = &args.flight else { return list(&args).await };
    let target = Target::existing(&args.place).await?;
    let view = target.serve(async |client| find::known(client, flight).await).await?;
    let goes_on = goes_on(&args.place, &view).await?;
    if args.json {
        output::json(&view::Shown::from(&view).interrupted(goes_on.is_some()));
    } else {
        output::out(&view::table_of(&view, goes_on.is_some()));
        if let Some(command) = goes_on {
            output::out(&format!("interrupted: nobody flies it at the moment\nnext:  {command}"));
        }
    }
    Ok(Exit::Success)
}

/// How a flight of this machine goes on that could move, and that nobody flies at the moment.
pub(super) async fn goes_on(place: &Place, view: &FlightView) -> Result<Option<String>, Failure> {
    if view.status != FlightStatus::Running || view.paused {
        return Ok(None);
    }
    Ok(own_state(place).await?.and_then(|state| goes_on_by(&state, &view.flight)))
}

/// Where the flights of this machine are; `None`: a fleet elsewhere is asked.
pub(super) async fn own_state(place: &Place) -> Result<Option<StateDir>, Failure> {
    if Remote::named(place)?.is_some() {
        return Ok(None);
    }
    ground::state(&ground::find(&place.repo).await?).await.map(Some)
}

/// A flight in the list, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Listed<'a> {
    #[serde(flatten)]
    line: &'a FlightLine,
    /// Nobody flies it at the moment.
    interrupted: bool,
}

async fn list(args: &StatusArgs) -> Result<Exit, Failure> {
    let flights = match Target::find(&args.place).await? {
        Some(target) => target.serve(async |client| Ok(client.flights().await?)).await?,
        None => Vec::new(),
    };
    let forgotten = if args.all { BTreeSet::new() } else { forgotten(&args.place).await? };
    let all = flights.len();
    let flights: Vec<FlightLine> =
        flights.into_iter().filter(|line| !forgotten.contains(line.flight.as_str())).collect();
    let state = own_state(&args.place).await?;
    let is_interrupted = |line: &FlightLine| {
        let may_move = line.status == FlightStatus::Running && !line.paused;
        may_move && state.as_ref().is_some_and(|state| goes_on_by(state, &line.flight).is_some())
    };
    if args.json {
        let lines = flights.iter().map(|line| Listed { line, interrupted: is_interrupted(line) });
        output::json(&lines.collect::<Vec<_>>());
        return Ok(Exit::Success);
    }
    if flights.is_empty() {
        let archive = state.as_ref().map(|state| state.path(FOLDER)).map(|dir| (exports(&dir), dir));
        output::out(&in_text(&nothing_listed(all, archive.as_ref().map(|(count, dir)| (*count, dir.as_path())))));
    } else {
        output::out(&view::list(&flights, is_interrupted));
    }
    Ok(Exit::Success)
}

/// Why no flight is listed: of those that there are, all are forgotten; or they left for the archive that is here. Where others
/// archive, there is no telling.
fn nothing_listed(forgotten: usize, archive: Option<(usize, &Path)>) -> String {
    match archive {
        _ if forgotten > 0 => {
            format!(
                "{}, and no other: `holdpoint status --all` lists what was forgotten",
                counted(forgotten, "forgotten flight")
            )
        }
        Some((archived @ 1.., dir)) => format!(
            "no flights any more; archived in {}: {}\nnext:  `holdpoint audit FILE` checks one, `holdpoint fetch --from FILE` \
             writes its branch",
            dir.display(),
            counted(archived, "flight"),
        ),
        Some((0, _)) => "no flights yet".to_owned(),
        None => "no flights: none was submitted yet, or all were archived".to_owned(),
    }
}

/// Shows everything about a waypoint.
pub(super) async fn history(args: HistoryArgs) -> Result<Exit, Failure> {
    let target = Target::existing(&args.place).await?;
    let lines = target
        .serve(async |client| {
            let (flight, waypoint) = find::flight_with(client, args.flight.as_ref(), &args.waypoint).await?;
            Ok(client.history(&flight, &waypoint).await?)
        })
        .await?;
    let attempts = if args.json { Vec::new() } else { attempts::lines(&lines) };
    attempts.iter().for_each(|line| output::out(line));
    if !attempts.is_empty() {
        output::out("");
    }
    for line in &lines {
        if args.json {
            output::json_line(line);
        } else {
            output::out(&readable(line));
        }
    }
    Ok(Exit::Success)
}

/// One line: when, what, where to find it, and the few fields that say most. Below it, what a report doubts, what a
/// completion wants changed, and what a handoff left out.
fn readable(line: &HistoryLine) -> String {
    const TELLING: [&str; 7] = ["role", "status", "disposition", "reason_code", "verdict", "outcome", "summary"];
    let field = |name: &str| {
        let value = line.artifact.get(name).or_else(|| line.artifact.get("decision")?.get(name))?;
        Some(format!("{name}={}", shown::line(value.as_str().filter(|text| !text.is_empty())?)))
    };
    let mut fields: Vec<String> = TELLING.iter().filter_map(|name| field(name)).collect();
    if let Some(reason) = line.artifact["failure"]["reason"].as_str() {
        fields.push(format!("failed={}", shown::line(reason)));
    }
    if line.artifact["receipt"]["foreign"] == true {
        fields.push("foreign receipt".to_owned());
    }
    if line.artifact["self_checked"] == true {
        fields.push(SELF_CHECKED.to_owned());
    }
    fields.extend(known(line));
    fields.extend(planned(line));
    fields.extend(children(line));
    match line.standing {
        Some(Standing::Conflict) => fields.push("CONFLICT: came too late, or second".to_owned()),
        Some(Standing::Unsigned) => fields.push("UNSIGNED: nothing heeds it".to_owned()),
        None if is_unanswered(line) => fields.push("NOT TAKEN: refused, or not looked at yet".to_owned()),
        Some(Standing::Taken) | None => {}
    }
    let head = format!("{}  {:<20} {:<28} {}", units::seconds(line.at), line.kind, line.reference, fields.join(" "));
    let doubts = doubts_of(line);
    let doubts = words::doubts(&doubts).map(|doubt| format!("\n    {doubt}"));
    let blockers = line.artifact["blockers"].as_array().into_iter().flatten().filter_map(|blocker| blocker.as_str());
    let blockers = blockers.map(|blocker| format!("\n    blocker: {}", shown::line(blocker)));
    let left_out = words::left_out_of(line, LeftOutKind::Dropping).into_iter().map(|line| format!("\n    {line}"));
    std::iter::once(head.trim_end().to_owned()).chain(doubts).chain(blockers).chain(left_out).collect()
}

/// Whether it wants an answer of the journal and has none. A call for help that is heard while its program runs wants none.
fn is_unanswered(line: &HistoryLine) -> bool {
    !line.reference.starts_with(streams::JOURNAL) && answers_turn(&line.kind) && line.artifact["running"] != true
}

/// The children that an entry adds.
fn children(line: &HistoryLine) -> Option<String> {
    let parent = line.artifact["parent"].as_str().filter(|_| line.kind == "added")?;
    let children = line.artifact["waypoints"].as_array()?.iter().filter_map(|child| child["id"].as_str());
    Some(format!("children of {parent}: {}", children.collect::<Vec<_>>().join(", ")))
}

/// The runs of a report that were made for earlier ones.
fn known(line: &HistoryLine) -> Option<String> {
    let runs = line.artifact["receipt"]["checks"].as_array()?;
    let known: Vec<&str> = runs.iter().filter_map(|run| run["known_from"].as_str()).collect();
    let reports: BTreeSet<_> = known.iter().map(|report| shown::line(report)).collect();
    let reports = Vec::from_iter(reports).join(", ");
    (!known.is_empty()).then(|| format!("{} of {} runs known from {reports}", known.len(), runs.len()))
}

/// What a program said that it means to do; of a plan that its harness wrote, nothing.
fn planned(line: &HistoryLine) -> Option<String> {
    let plan = (line.kind == BuildPlan::KIND && line.artifact["declared"] == true).then_some(&line.artifact)?;
    let part = |field: &str, words: &str| {
        let items: Vec<_> = plan[field].as_array()?.iter().filter_map(Value::as_str).map(shown::line).collect();
        (!items.is_empty()).then(|| format!("{words} {}", items.join(", ")))
    };
    let parts = [("file_targets", "touches"), ("validation", "validates with"), ("coverage", "covers")];
    let said: Vec<String> = parts.iter().filter_map(|(field, words)| part(field, words)).collect();
    Some(format!("its program {}", said.join("; ")))
}

/// Shows one artifact, or the bytes behind a digest.
pub(super) async fn artifact(args: ArtifactArgs) -> Result<Exit, Failure> {
    if let Some(hex) = args.reference.strip_prefix(DIGEST_PREFIX) {
        let digest = Digest::from_hex(hex).map_err(|error| {
            let hint = "references are printed by `holdpoint history WAYPOINT` and `holdpoint status FLIGHT --json`";
            Failure::usage("bad_reference", format!("{} is no reference: {error}", args.reference), hint)
        })?;
        if args.markdown {
            let hint = "without --markdown it is printed as it is; references of artifacts are STREAM/SEQUENCE";
            return Err(Failure::usage("no_document", "evidence is bytes, and has no document", hint));
        }
        return evidence(&args, digest).await;
    }
    let target = Target::existing(&args.place).await?;
    if args.markdown {
        let found = target.serve(async |client| documents::find(client, &args.reference).await).await?;
        output::of_others(documents::rendered(&found.document)?.as_bytes());
        return Ok(Exit::Success);
    }
    let found = target.serve(async |client| Ok(client.artifact(&args.reference).await?)).await?;
    if args.json {
        output::json_line(&found.line);
    } else {
        output::json(&found.line.artifact);
    }
    Ok(Exit::Success)
}

async fn evidence(args: &ArtifactArgs, digest: Digest) -> Result<Exit, Failure> {
    // People may read all of them; evidence is the verifier's.
    let roles = role::SHOWN.map(role::id);
    let target = Target::existing(&args.place).await?;
    let bytes =
        target.serve(async |client| Ok(blobs::get(client.bus(), digest, &roles, EVIDENCE_BYTES_MAX).await?)).await?;
    output::of_others(&bytes);
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::Timestamp;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_empty_list_says_where_flights_went() {
        let dir = Path::new("/state/archive");
        for (forgotten, archive, words) in [
            (0, None, &["submitted yet, or all were archived"][..]),
            (0, Some((0, dir)), &["no flights yet"]),
            (0, Some((2, dir)), &["archived in /state/archive: 2 flights", "holdpoint audit FILE"]),
            (1, Some((2, dir)), &["1 forgotten flight,", "holdpoint status --all"]),
        ] {
            let said = nothing_listed(forgotten, archive);
            assert!(words.iter().all(|word| said.contains(word)), "{said}");
        }
    }

    #[test]
    fn history_shows_what_a_report_doubts_below_it() {
        let report = json!({"doubts": [{"blocking": false, "text": "no test notices a.py"}, {"blocking": true, "text": "x\n> y"}]});
        let mut line = HistoryLine {
            at: Timestamp::from_millis(0),
            kind: "verification_report".to_owned(),
            reference: "S/1".to_owned(),
            artifact: report,
            standing: None,
        };
        let shown = readable(&line);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1..], ["    doubt: no test notices a.py", "    doubt: x\\n> y"]);
        line.kind = "build_artifact".to_owned();
        assert_eq!(readable(&line).lines().count(), 1);
    }

    #[test]
    fn history_says_which_runs_of_a_report_are_known_from_others() {
        let line = |known: [Option<&str>; 3]| HistoryLine {
            at: Timestamp::from_millis(0),
            kind: "verification_report".to_owned(),
            reference: "S/1".to_owned(),
            artifact: json!({"receipt": {"checks": known.map(|report| json!({"known_from": report}))}}),
            standing: Some(Standing::Taken),
        };
        let said = readable(&line([Some("one"), None, Some("one")]));
        assert!(said.ends_with(" 2 of 3 runs known from one"), "{said}");
        assert!(!readable(&line([None; 3])).contains("known"));
    }

    #[test]
    fn history_says_of_what_no_entry_answers_that_it_was_not_taken() {
        let line = |kind: &str, stream: &str, standing| HistoryLine {
            at: Timestamp::from_millis(0),
            kind: kind.to_owned(),
            reference: format!("{stream}/1"),
            artifact: json!({"outcome": "complete"}),
            standing,
        };
        let operators = streams::handoff(&role::id(role::OPERATOR));
        assert!(readable(&line("completion", &operators, None)).ends_with("NOT TAKEN: refused, or not looked at yet"));
        for line in [
            line("completion", &operators, Some(Standing::Taken)),
            line("build_plan", "HP_HANDOFF_BUILDER", None),
            line("decided", streams::JOURNAL, None),
        ] {
            assert!(!readable(&line).contains("NOT TAKEN"), "{}", line.kind);
        }
    }
}
