//! The escape matrix: every attempt, with the rights of both roles, behind every wall that the sandbox can be made of.
//!
//! docs/security.md lists the attempts. An attempt that names a file or a socket is also made where everything is granted:
//! there it has to get through, or it would show nothing.

mod arena;
mod case;
mod files;
mod floods;
mod kernel;
mod network;
mod processes;
mod reads;

use holdpoint_sandbox::{Command, Ended, Network, Profile, ProgramInput, Property, PropertyReport, RunLimits, Sandbox};
use serde::Deserialize;

use crate::lab::{SHIM, text};
use arena::{Arena, Role};
use case::{Case, Must};

/// How the system says no. Others, such as "invalid argument", would show that the attempt itself is wrong.
const REFUSALS: [&str; 17] = [
    "EPERM",
    "EACCES",
    "EROFS",
    "ENOENT",
    "ENOSYS",
    "ESRCH",
    "EXDEV",
    "ECONNREFUSED",
    "ENETUNREACH",
    "EAFNOSUPPORT",
    "ENXIO",
    "ENODEV",
    "ENOTDIR",
    "EADDRNOTAVAIL",
    "EPROTONOSUPPORT",
    "ENOTSUP",
    "EOPNOTSUPP",
];

/// What keeps the attempt in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wall {
    /// All that this platform gives.
    Namespaces,
    /// No namespaces, as if the platform refused them. If the tests run as root, what nothing keeps then is waived.
    Landlock,
    /// The real thing: in a sandbox, which refuses namespaces and control groups to a second sandbox in it.
    Nested,
}

/// How an attempt ended, in each way to run it.
#[derive(Deserialize)]
struct Seen {
    ended: String,
    stdout: String,
    stderr: String,
    tree_ended: bool,
}

/// What became of one of several attempts.
#[derive(Deserialize)]
struct Said {
    ended: String,
    said: String,
}

impl Wall {
    fn waived(self) -> Vec<Property> {
        use Property::{Loopback, NoForeignProcesses, NoPrivilegeGain, ProcessesLimited};
        match self {
            Self::Namespaces => vec![],
            Self::Landlock => vec![Loopback, NoForeignProcesses, NoPrivilegeGain, ProcessesLimited],
            Self::Nested => vec![Loopback, ProcessesLimited],
        }
    }

    fn sandbox(self) -> Sandbox {
        let sandbox = Sandbox::new(SHIM).waiving(self.waived());
        if self == Self::Landlock { sandbox.without_namespaces() } else { sandbox }
    }
}

async fn seen(sandbox: &Sandbox, command: &Command) -> Seen {
    let outcome = sandbox.run(command, None).await.unwrap();
    let ended = match outcome.ended {
        Ended::Exited(code) => format!("exited {code}"),
        Ended::Signalled(signal) => format!("signalled {signal}"),
        Ended::TimedOut => "timed out".to_owned(),
        Ended::OutputLimit => "output limit".to_owned(),
        Ended::MemoryLimit => "memory limit".to_owned(),
        Ended::DiskLimit => "disk limit".to_owned(),
    };
    let (stdout, stderr) = (text(&outcome.stdout), text(&outcome.stderr));
    Seen { ended, stdout, stderr, tree_ended: outcome.tree_ended }
}

/// Runs a whole harness in a sandbox that grants it the arena, and the command in that harness's own sandbox.
async fn seen_nested(arena: &Arena, command: &Command) -> Seen {
    let shim = std::path::Path::new(SHIM).parent().unwrap().to_owned();
    let profile = Profile {
        read: vec![shim],
        write: vec![arena.root().to_owned()],
        deny: vec![],
        network: Network::Host,
        limits: RunLimits::default(),
    };
    let mut argv = vec![SHIM.to_owned()];
    argv.extend(Wall::Nested.waived().into_iter().map(|property| property.name().to_owned()));
    let stdin = ProgramInput::Bytes(serde_json::to_vec(command).unwrap());
    let harness = Command { argv, dir: arena.root().to_owned(), shown: Vec::new(), env: [].into(), stdin, profile };
    let outcome = Sandbox::new(SHIM).run(&harness, None).await.unwrap();
    assert_eq!(outcome.ended, Ended::Exited(0), "{}", text(&outcome.stderr));
    serde_json::from_slice(&outcome.stdout).unwrap()
}

/// Makes every attempt behind a wall. Reports all that went wrong at once.
async fn attempts(cases: &[Case], wall: Wall) {
    let sandbox = wall.sandbox();
    let mut wrong = Vec::new();
    for role in [Role::Builder, Role::Verifier] {
        let mut left: Vec<&Case> = Vec::new();
        let arena = Arena::new();
        for case in cases {
            if promised(&sandbox, wall, &arena.command(&[case], role, false), case).await {
                left.push(case);
            }
        }
        // Those that are refused one by one in a single run; the others each in its own.
        let (together, alone): (Vec<&Case>, Vec<&Case>) =
            left.into_iter().partition(|case| case.must == Must::BeRefused);
        let (offline, online): (Vec<&Case>, Vec<&Case>) = together.into_iter().partition(|case| case.without_network);
        // Two sandboxes around each other take their time: one role will do for what needs a run of its own.
        let alone = if wall == Wall::Nested && role == Role::Builder { Vec::new() } else { alone };
        let runs = alone.into_iter().map(|case| vec![case]).chain([offline, online]).filter(|run| !run.is_empty());
        for run in runs {
            let problems = attempt(&sandbox, wall, role, &run).await;
            wrong.extend(problems.into_iter().map(|problem| format!("as {role:?}: {problem}")));
        }
    }
    for case in cases.iter().filter(|case| wall == Wall::Namespaces && case.controlled) {
        let arena = Arena::new();
        let seen = seen(&sandbox, &arena.control(case)).await;
        if seen.ended != "exited 0" {
            wrong.push(format!("{} is no attempt: {} {} {}", case.id, seen.ended, seen.stdout, seen.stderr));
        }
    }
    assert!(wrong.is_empty(), "{wall:?}:\n{}", wrong.join("\n"));
}

/// Whether what the attempt tries to break is promised here. What is not promised, and said not to be, is not tried.
async fn promised(sandbox: &Sandbox, wall: Wall, command: &Command, case: &Case) -> bool {
    if wall != Wall::Namespaces && case.only_with_namespaces {
        return false;
    }
    if wall == Wall::Nested {
        // Whether the kernel limits processes there depends on who runs the tests.
        return !case.open_without_mounts && !case.forks && case.about != Property::ProcessesLimited;
    }
    let reports = sandbox.properties(&command.profile).await.unwrap();
    let report = |wanted| reports.iter().find(|report: &&PropertyReport| report.property == wanted).cloned();
    let made = |wanted| report(wanted).is_some_and(|report| report.enforced());
    let promised = made(case.about) && (!case.forks || made(Property::ProcessesLimited));
    assert!(promised || wall == Wall::Landlock, "{} is not promised", case.id);
    if promised && case.open_without_mounts && wall == Wall::Landlock {
        assert!(
            report(case.about).is_some_and(|report| !report.detail.is_empty()),
            "{}: what is open is not told",
            case.id
        );
        return false;
    }
    promised
}

/// One run with one or more attempts.
async fn attempt(sandbox: &Sandbox, wall: Wall, role: Role, run: &[&Case]) -> Vec<String> {
    let mut arena = Arena::new();
    let command = arena.command(run, role, wall == Wall::Nested);
    let seen = match wall {
        Wall::Nested => seen_nested(&arena, &command).await,
        Wall::Namespaces | Wall::Landlock => seen(sandbox, &command).await,
    };
    let mut problems = Vec::new();
    if let [case] = run {
        problems.extend(problem(case, &seen.ended, &format!("{}{}", seen.stdout, seen.stderr)));
    } else {
        let each: Vec<Said> = serde_json::from_str(&seen.stdout).unwrap_or_default();
        if each.len() != run.len() {
            problems.push(format!("not all was tried: {} {} {}", seen.ended, seen.stdout, seen.stderr));
        }
        problems.extend(run.iter().zip(&each).filter_map(|(case, said)| problem(case, &said.ended, &said.said)));
    }
    let ids: Vec<&str> = run.iter().map(|case| case.id).collect();
    problems.extend(arena.harm().into_iter().map(|harm| format!("{harm} by one of {}", ids.join(", "))));
    if !seen.tree_ended {
        problems.push(format!("the tree was not ended after {}", ids.join(", ")));
    }
    problems
}

fn problem(case: &Case, ended: &str, said: &str) -> Option<String> {
    let refusal = said.lines().last().and_then(|line| line.strip_prefix("refused "));
    let refused = ended == "exited 77" && refusal.is_some_and(|errno| REFUSALS.contains(&errno));
    let as_it_must = match case.must {
        Must::BeRefused => refused,
        Must::BeHarmless => refused || ended == "exited 0" || ended == "signalled 9",
        Must::End(how) => ended == how,
    };
    (!as_it_must || Arena::told(said)).then(|| format!("{}: {ended}: {}", case.id, said.trim()))
}

#[test]
fn every_attempt_stands_in_the_document_and_nothing_else_does() {
    let document = include_str!("../../../docs/security.md");
    let (_, section) = document.split_once("## Attempts to get out of the sandbox").unwrap();
    let table = section.lines().take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with("| "));
    let first = table.filter_map(|line| line.split('|').nth(1));
    let mut told: Vec<&str> = first.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let groups = [files::CASES, reads::CASES, processes::CASES, kernel::CASES, network::CASES, floods::CASES];
    let mut made: Vec<&str> = groups.iter().flat_map(|cases| cases.iter().map(|case| case.id)).collect();
    told.sort_unstable();
    made.sort_unstable();
    assert_eq!(told, made);
}

macro_rules! matrix {
    ($($wall:ident: $(fn $name:ident of $cases:ident),*;)*) => {
        $($(
            #[tokio::test]
            async fn $name() {
                attempts($cases::CASES, Wall::$wall).await;
            }
        )*)*
    };
}

matrix! {
    Namespaces:
        fn nothing_outside_is_written of files,
        fn nothing_outside_is_read of reads,
        fn no_other_process_is_touched_and_none_is_left of processes,
        fn the_kernel_is_out_of_reach of kernel,
        fn nobody_is_reached_over_a_socket of network,
        fn a_flood_ends_that_run_only of floods;
    Landlock:
        fn nothing_outside_is_written_without_namespaces of files,
        fn nothing_outside_is_read_without_namespaces of reads,
        fn no_other_process_is_touched_and_none_is_left_without_namespaces of processes,
        fn the_kernel_is_out_of_reach_without_namespaces of kernel,
        fn nobody_is_reached_over_a_socket_without_namespaces of network,
        fn a_flood_ends_that_run_only_without_namespaces of floods;
    Nested:
        fn nothing_outside_is_written_where_namespaces_are_refused of files,
        fn nothing_outside_is_read_where_namespaces_are_refused of reads,
        fn no_other_process_is_touched_and_none_is_left_where_namespaces_are_refused of processes,
        fn the_kernel_is_out_of_reach_where_namespaces_are_refused of kernel,
        fn nobody_is_reached_over_a_socket_where_namespaces_are_refused of network,
        fn a_flood_ends_that_run_only_where_namespaces_are_refused of floods;
}
