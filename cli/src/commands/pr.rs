//! `pr`: opens a pull request, or a merge request, with what a flight landed.

use std::collections::BTreeMap;

use holdpoint_account::{
    events::{EntryEffect, FlightReader},
    pull_request::{PullRequest, Reviewed},
};
use holdpoint_engine::{audit::HandoffLine, flight};
use holdpoint_protocol::{
    artifact::{Handed, VerificationReport},
    facts::Oid,
    ids::WaypointId,
    journal::Entry,
    view::FlightView,
};
use serde::Serialize;

use super::cost;
use crate::{
    args::pr::{PerRequest, PrArgs},
    branch,
    client::Client,
    failure::{Exit, Failure},
    forge::{ForgeProgram, Opening, UserGit},
    ground,
    observe::{Follower, Source},
    output,
    people::find,
    target::Target,
};

/// A request, and the work that it brings.
#[derive(Debug, Serialize)]
struct Request {
    branch: String,
    commit: Oid,
    /// The branch that it is to be merged into; `None`: the forge's default.
    into: Option<String>,
    title: String,
    body: String,
    /// What the forge's program said: its address; `None`: it was not opened.
    opened: Option<String>,
}

/// Pushes what landed, and opens the requests.
pub(super) async fn pr(args: PrArgs) -> Result<Exit, Failure> {
    let repo = ground::find(&args.place.repo).await?;
    let git = UserGit(repo.dir().to_owned());
    // A wrong remote is said before anything is read.
    let program = if args.dry_run { None } else { Some(ForgeProgram::of(&git.address(&args.remote).await?)) };
    let target = Target::existing(&args.place).await?;
    let (view, mut requests) = target
        .serve(async |client| {
            let view = find::known(client, &args.flight).await?;
            let requests = requests(client, &view, &args).await?;
            // The branch may be checked out, by somebody who reads it: what is here already needs no writing.
            let is_here = repo.resolve(view.head.as_str()).await.is_ok();
            if !requests.is_empty() && !args.dry_run && !is_here {
                branch::write(client, &repo, &view).await?;
            }
            Ok((view, requests))
        })
        .await?;
    if requests.is_empty() {
        let message = format!("nothing of the flight {} has landed yet", view.flight);
        let hint = "`holdpoint status FLIGHT` shows how it stands".to_owned();
        return Err(Failure::Other { exit: Exit::Incomplete, code: "nothing_landed", message, hint });
    }
    if let Some(program) = program {
        for request in &mut requests {
            open(&git, program, &args, request).await?;
        }
    }
    say(&args, program, &requests);
    Ok(Exit::Success)
}

async fn open(git: &UserGit, program: ForgeProgram, args: &PrArgs, request: &mut Request) -> Result<(), Failure> {
    git.push(&args.remote, request.commit.as_str(), &request.branch).await?;
    let text = PullRequest { title: request.title.clone(), body: request.body.clone() };
    let opening = Opening { request: &text, branch: &request.branch, into: request.into.as_deref(), draft: args.draft };
    request.opened = program.open(&git.0, &opening).await?;
    Ok(())
}

fn say(args: &PrArgs, program: Option<ForgeProgram>, requests: &[Request]) {
    if args.json {
        output::json(&serde_json::json!({"requests": requests}));
        return;
    }
    for request in requests {
        match (&request.opened, program) {
            (Some(address), _) => output::out(address),
            (None, program) => {
                if let Some(program) = program {
                    let name = program.name();
                    output::err(&format!(
                        "note: {} is pushed; {name} is not on PATH, so open it with:",
                        request.branch
                    ));
                }
                output::out(&request.title);
                output::out("");
                request.body.lines().for_each(output::out);
            }
        }
    }
}

/// The requests for what landed, in the order in which it did.
async fn requests(client: &Client, view: &FlightView, args: &PrArgs) -> Result<Vec<Request>, Failure> {
    let mut source = Source::open(client, &view.flight).await?;
    let mut reports = Reports::default();
    source.follow(client, &mut reports).await?;
    let Some(flight) = source.reader().flight() else { return Ok(Vec::new()) };
    let cost = cost::in_a_line(client, &view.flight).await;
    let doubts = reports.0.iter().map(|(id, report)| (id.clone(), flight::doubts([report]))).collect();
    let reviewed = Reviewed { flight, view, doubts: &doubts, cost: cost.as_deref() };
    let landed = reviewed.landed();
    if args.per == PerRequest::Flight {
        let whole =
            (!landed.is_empty()).then(|| request(&view.branch, &view.head, args.into.clone(), reviewed.whole()));
        return Ok(whole.into_iter().collect());
    }
    let mut requests: Vec<Request> = Vec::new();
    for waypoint in landed {
        let Some((text, commit)) = reviewed.of(&waypoint.id).zip(waypoint.commit.as_ref()) else { continue };
        let branch = format!("{}--{}", view.branch, waypoint.id);
        let into = requests.last().map(|before| before.branch.clone()).or_else(|| args.into.clone());
        requests.push(request(&branch, commit, into, text));
    }
    Ok(requests)
}

fn request(branch: &str, commit: &Oid, into: Option<String>, text: PullRequest) -> Request {
    let PullRequest { title, body } = text;
    Request { branch: branch.to_owned(), commit: commit.clone(), into, title, body, opened: None }
}

/// The last report on each waypoint's work that its verifier signed.
#[derive(Debug, Default)]
struct Reports(BTreeMap<WaypointId, VerificationReport>);

impl Follower for Reports {
    fn entry(&mut self, _: &FlightReader, _: &EntryEffect, _: &Entry) {}

    fn handoff(&mut self, line: &HandoffLine) {
        if let (Ok(_), Some(waypoint), Ok((_, Handed::Reported(report)))) =
            (&line.sender, &line.subject.waypoint, &line.body)
            && flight::is_first_of_work(report)
        {
            self.0.insert(waypoint.clone(), report.as_ref().clone());
        }
    }
}
