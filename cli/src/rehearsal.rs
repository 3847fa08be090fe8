//! Trying on the base what a flight's first turns would try: guards, which have to be green there, and checks that have to be
//! red first. With the verifier's own workbench, and before anything begins.

use holdpoint_planfile::plan;
use holdpoint_protocol::{
    artifact::{CriterionReport, VerificationPurpose},
    facts::Verdict,
    ids::WaypointId,
    plan::{Criterion, Plan, Waypoint},
};
use holdpoint_runtime::{config::Config, mirror::to_wire};
use holdpoint_text::shown;
use holdpoint_verifier_agent::Findings;

use crate::{
    failure::Failure,
    progress::evidence,
    ready::Ready,
    temporary,
    workbench::{LocalWorkbench, ToVerify, TreeEnvironment},
};

/// A criterion that is tried on the base, and the waypoint that has it.
type Tried = (WaypointId, Criterion);

/// Which waypoints are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// Those that depend on no others. The rest begins with the work of others, so their checks are left to the flight.
    Independent,
    /// All of them, as if the work of others changed nothing of their checks.
    All,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Rehearsal {
    /// Guards that are red, and checks that are green and have to be red first.
    pub(crate) refused: Vec<Failure>,
    /// Waypoints all of whose checks are green.
    pub(crate) untouched: Vec<(String, &'static str)>,
    /// What else there is to know.
    doubts: Vec<String>,
}

/// Refuses a plan whose guards are red on its base, or whose checks are green there that have to be red first; warns of waypoints all of
/// whose checks are green there.
pub(crate) async fn try_base(ready: &Ready, config: &Config) -> Result<Vec<String>, Failure> {
    let Rehearsal { refused, untouched, doubts } =
        rehearse(ready, config, Which::Independent).await.map_err(|failure| failure.also("--no-try leaves it out"))?;
    match refused.into_iter().next() {
        Some(first) => Err(first),
        None => Ok(untouched.into_iter().map(|(message, hint)| format!("{message}; {hint}")).chain(doubts).collect()),
    }
}

/// Tries all of it, and says everything that is wrong.
pub(crate) async fn rehearse(ready: &Ready, config: &Config, which: Which) -> Result<Rehearsal, Failure> {
    let tried = tried(&ready.plan, which);
    if tried.is_empty() && ready.plan.guards.is_empty() {
        return Ok(Rehearsal::default());
    }
    let findings = Box::pin(findings(ready, config, &tried)).await?;
    let red = findings.guards.iter().filter(|report| report.result.verdict != Verdict::Pass);
    let red = red.map(|report| red_guard(ready, report, &findings));
    let green = tried.iter().zip(&findings.criteria).filter(|(_, report)| report.result.verdict == Verdict::Pass);
    let green: Vec<&Tried> = green.map(|(tried, _)| tried).collect();
    let too_early = green
        .iter()
        .filter(|(_, criterion)| is_red_first(criterion))
        .map(|(waypoint, criterion)| green_too_early(ready, waypoint, criterion));
    Ok(Rehearsal {
        refused: red.chain(too_early).collect(),
        untouched: untouched(&tried, &green),
        doubts: findings.doubts.iter().map(|doubt| doubt.text.clone()).collect(),
    })
}

/// What is tried: what has to be red first, and of waypoints without that all checks, unless the plan itself shows that they are green.
fn tried(plan: &Plan, which: Which) -> Vec<Tried> {
    let mut tried = Vec::new();
    let is_meant = |waypoint: &&Waypoint| which == Which::All || waypoint.depends_on.is_empty();
    for waypoint in plan.waypoints.iter().filter(is_meant) {
        let idle = plan::idle_checks(waypoint).is_some() && !plan::nothing_fulfils(plan, waypoint);
        let wanted = |criterion: &&Criterion| idle || is_red_first(criterion);
        tried.extend(waypoint.criteria.iter().filter(wanted).map(|criterion| (waypoint.id.clone(), criterion.clone())));
    }
    tried
}

/// A warning for each waypoint of which everything that was tried is green, and what helps; what has to be red first is refused itself.
fn untouched(tried: &[Tried], green: &[&Tried]) -> Vec<(String, &'static str)> {
    let count = |waypoint: &WaypointId| tried.iter().filter(|(of, _)| of == waypoint).count();
    let idle = green.iter().filter(|(_, criterion)| !is_red_first(criterion));
    let mut waypoints: Vec<&WaypointId> = idle.map(|(waypoint, _)| waypoint).collect();
    waypoints.dedup();
    waypoints.retain(|waypoint| green.iter().filter(|(of, _)| of == *waypoint).count() == count(waypoint));
    waypoints.into_iter().map(plan::accepted_untouched).collect()
}

fn is_red_first(criterion: &Criterion) -> bool {
    criterion.check.as_ref().is_some_and(|check| check.red_first)
}

async fn findings(ready: &Ready, config: &Config, tried: &[Tried]) -> Result<Findings, Failure> {
    let folder = temporary::folder()?;
    let bundle = ready.repo.snapshot(&ready.base, &folder.path().join("snapshot.bundle")).await?;
    let bench =
        LocalWorkbench::new(&ready.repo, config, (folder, &bundle), "trying on the base", TreeEnvironment::SetUp)
            .await?;
    let base = to_wire(&ready.base);
    // A baseline's turn is about what has to be red first; here everything is tried in the same way.
    let mut criteria: Vec<Criterion> = tried.iter().map(|(_, criterion)| criterion.clone()).collect();
    criteria.iter_mut().filter_map(|criterion| criterion.check.as_mut()).for_each(|check| check.red_first = true);
    let asked = ToVerify {
        plan: &ready.plan,
        purpose: VerificationPurpose::Baseline,
        base: base.clone(),
        commit: base,
        tree: to_wire(&bench.mirror.tree_of(&ready.base).await?),
        criteria,
        waypoint: None,
    };
    bench.verify(&asked.request()).await
}

/// One refusal, with what the output says first.
fn red_guard(ready: &Ready, report: &CriterionReport, findings: &Findings) -> Failure {
    let bytes = report.result.evidence.first().and_then(|digest| {
        let found = findings.evidence.iter().find(|evidence| evidence.digest == *digest)?;
        Some(String::from_utf8_lossy(&found.bytes).into_owned())
    });
    let shown = evidence::read(&bytes.unwrap_or_default(), report.result.reason, report.note.as_deref());
    let (id, base) = (&report.result.id, &ready.base);
    let mut message = format!("guard {id} is red on {base}: {}", shown.why.unwrap_or_default());
    // The first one is the command.
    for line in shown.lines.into_iter().skip(1) {
        message.push_str("\n    ");
        message.push_str(&line);
    }
    for doubt in &findings.doubts {
        message.push_str(&format!("\n    {}", shown::line(&doubt.text)));
    }
    let hint = "nothing can be built on a base whose guards are red: fix it, or the guard. Checks see committed files only, and none \
                that git ignores (`environment` sets dependencies up)";
    Failure::usage("guard_red", message, hint)
}

fn green_too_early(ready: &Ready, waypoint: &WaypointId, criterion: &Criterion) -> Failure {
    let message =
        format!("criterion {} of waypoint {waypoint} is green on {}, before any work", criterion.id, ready.base);
    let hint = "it cannot show that the goal was reached: sharpen its check, or drop `red_first`";
    Failure::usage("not_red", message, hint)
}
