//! What people and programs write: plans, configuration, what agents print, what test runners print, manifests.

use std::{collections::BTreeSet, time::Duration};

use holdpoint_planfile::{declared::{self, DeclaredFile}, exchange::HandoffRules, plan};
use holdpoint_evidence::{paths::{self, Glob}, runners};
use holdpoint_harness::{backend::{BackendResult, markers::{self, Contract, MARKERS_MAX, Scanner, TEXT_BYTES_MAX}}, build_turn::answer as answers, dialect::{self, Dialect}, exchange::{Expected, envelope::Before}};
use holdpoint_protocol::{artifact::Confidence, codec::{self, Encoding}};
use holdpoint_runtime::config::Config;
use holdpoint_sandbox::Ended;

/// A plan is read, or has problems with places and hints; what was read survives the way to the broker.
pub fn plan(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match plan::read(text, "plan.yaml", plan::BUILT_IN_WORKFLOWS) {
        Ok(read) => {
            let bytes = codec::encode(&read, Encoding::MsgPack).expect("a plan has a form");
            if let Ok(again) = codec::decode::<holdpoint_protocol::plan::Plan>(&bytes, Encoding::MsgPack) {
                assert_eq!(again, read);
            }
            for glob in read.waypoints.iter().flat_map(|w| w.scope.iter().chain(&w.protected)) {
                assert!(Glob::new(glob).is_ok(), "{glob}");
            }
        }
        Err(errors) => {
            assert!(!errors.errors.is_empty() && errors.errors.len() <= plan::PROBLEMS_MAX + 1);
            for error in &errors.errors {
                assert!(error.line > 0 && error.column > 0 && !error.hint.is_empty(), "{error:?}");
                assert!(error.message.len() < 4_096, "{error:?}");
            }
            let shown = errors.render();
            assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
        }
    }
}

/// A workflow file and an org chart, with U+0001 between them, are sound or have problems with places and hints; what was read
/// survives being recorded.
pub fn declared(data: &[u8]) {
    let (project, org) = match data.iter().position(|byte| *byte == 1) {
        Some(at) => (&data[..at], Some(&data[at + 1..])),
        None => (data, None),
    };
    let source = |file, bytes| DeclaredFile { file, bytes };
    let org = org.map(|bytes| source("org.yaml", bytes));
    let found = declared::check(&[source("project.yaml", project)], org, None, &|_| Ok(()));
    for problem in found.errors.iter().chain(&found.warnings) {
        assert!(problem.line > 0 && problem.column > 0 && !problem.hint.is_empty(), "{problem:?}");
        let shown = problem.render("");
        assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
    }
    assert!(!found.errors.is_empty() || found.projects.len() == 1, "what is not read has a problem");
    for spec in found.projects.iter().flatten() {
        let bytes = codec::encode(spec, Encoding::MsgPack).expect("a workflow has a form");
        if let Ok(again) = codec::decode::<holdpoint_protocol::workflow::WorkflowSpec>(&bytes, Encoding::MsgPack) {
            assert_eq!(&again, spec);
        }
    }
}

/// The file of a configuration.
pub fn config(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(config) = toml::from_str::<Config>(text) {
        let again: Config = toml::from_str(&config.to_toml()).expect("what was written can be read");
        assert_eq!(again, config);
    }
}

/// A glob in the first line, paths in the others.
pub fn glob(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (pattern, names) = text.split_once('\n').unwrap_or((text, "src/main.rs"));
    let Ok(glob) = Glob::new(pattern) else { return };
    for path in names.split('\n') {
        let named = glob.names(path, |_| false, |folders| path.starts_with(folders));
        assert_eq!(glob.matches(path), named, "{pattern} {path}");
    }
}

/// The path's kind in the first byte, then both sides with a NUL between them.
pub fn manifest(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else { return };
    let path = ["Cargo.toml", "package.json", "pyproject.toml"][usize::from(*kind) % 3];
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let (base, new) = text.split_once('\0').map_or((None, text), |(base, new)| (Some(base), new));
    let steering = paths::manifest_change_is_steering(path, base, Some(new));
    let back = paths::manifest_change_is_steering(path, Some(new), Some(new));
    assert!(steering || !back, "what can be compared with another can be compared with itself");
}

/// The check's shell line, and what was printed after it.
pub fn runners(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (command, output) = text.split_once('\n').unwrap_or(("", &text));
    if let Some(counts) = runners::counts(command, output) {
        let _ = counts.total();
        assert_eq!(runners::compare(&counts, Some(&counts)), None, "a run is not worse than itself");
        let _ = runners::weakened(Some(&counts), &counts, &counts);
    }
}

/// A check's shell line, and the paths of the base.
pub fn scripts(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for on_base in [true, false] {
        for script in paths::scripts_of(text, |_| on_base) {
            assert!(!script.starts_with('/') && !script.split('/').any(|part| part == ".."), "{script}");
        }
    }
    let links = text.lines().filter_map(|line| line.split_once(' ')).map(|(a, b)| (a.to_owned(), b.to_owned()));
    let links = paths::Links::new(links);
    for path in text.split([' ', '\n']) {
        let _ = (links.resolve(path), links.names(path), paths::is_steering(path), paths::is_test_path(path));
    }
}

/// What a program prints, whole and in pieces: the first byte says how it is cut.
pub fn markers(data: &[u8]) {
    let Some((first, output)) = data.split_first() else { return };
    let whole = markers::read(output, b"", "", Contract::default());
    let mut scanner = Scanner::default();
    output.chunks(usize::from(*first).max(1)).for_each(|piece| scanner.push(piece));
    let cut = scanner.finish(Contract::default());
    // The final object may call as well.
    assert!(cut.help.is_none() || whole.help.is_some());
    let cut = markers::Found { help: whole.help.clone(), ..cut };
    assert_eq!(cut, whole, "how it is cut makes no difference");
    let kinds = [whole.markers.stages.len(), whole.markers.claims.len(), whole.markers.validations.len()];
    assert!(kinds.iter().all(|count| *count <= MARKERS_MAX));
    let completions = whole.markers.completions.iter().map(|completion| &completion.text);
    assert!(completions.chain(&whole.markers.stages).all(|text| text.len() <= TEXT_BYTES_MAX));
    let _ = markers::read(b"", output, "", Contract::default());
}

/// How the program ended in the first byte, then what it printed on both streams with a NUL between them.
pub fn answer(data: &[u8]) {
    let Some((how, output)) = data.split_first() else { return };
    let ended = match how % 4 {
        0 => Ended::Exited(0),
        1 => Ended::Exited(i32::from(*how)),
        2 => Ended::TimedOut,
        _ => Ended::Signalled(9),
    };
    let mut streams = output.splitn(2, |byte| *byte == 0).map(<[u8]>::to_vec);
    let stdout = streams.next().unwrap_or_default();
    let result = BackendResult {
        command: "agent".to_owned(),
        prompt: String::new(),
        ended,
        said: dialect::read(Dialect::Plain, &stdout, None),
        went_on: false,
        stdout,
        stderr: streams.next().unwrap_or_default(),
        help_events: Vec::new(),
        duration: Duration::from_secs(1),
        tree_ended: true,
    };
    let criteria: BTreeSet<_> = ["unit".parse().expect("an id")].into();
    let (role, waypoint) = ("builder".parse().expect("an id"), "w1".parse().expect("an id"));
    let expected = Expected::work(&role, &waypoint, criteria, &HandoffRules::default());
    let before = Before { asked: how & 4 != 0, kept: None };
    let wanted =
        answers::AnswerRules { waypoint: &waypoint, expected: &expected, before, ask_below: Some(Confidence::High) };
    match answers::answer(&result, &wanted) {
        answers::ProgramAnswer::Ready(said) => {
            assert_eq!(result.ended, Ended::Exited(0), "only a program that ended well is ready");
            assert!(said.claims.iter().all(|claim| wanted.expected.criteria.contains(&claim.criterion)));
        }
        answers::ProgramAnswer::Clarify(question) => {
            assert_eq!(question.clone().checked(), Ok(question), "a question keeps to its bounds");
        }
        answers::ProgramAnswer::Failed(_) | answers::ProgramAnswer::Help(_) => {}
        answers::ProgramAnswer::Unusable(problem) => {
            assert_eq!(result.ended, Ended::Exited(0), "a program that ended badly is not asked again for its words");
            assert!(!problem.details.is_empty());
        }
    }
}
