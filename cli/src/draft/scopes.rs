//! What a waypoint may touch that says nothing of it: the files that its words name, else what the layout of the project tells. Pure.

use std::collections::BTreeSet;

use holdpoint_evidence::map;
use holdpoint_protocol::plan::Waypoint;

/// Globs that are proposed of one waypoint.
const GLOBS_MAX: usize = 12;

/// Globs for a waypoint. `paths` are those of the base, `layout` the globs of its sources and tests.
pub(super) fn proposed(waypoint: &Waypoint, paths: &[String], layout: &[String]) -> Vec<String> {
    let commands =
        waypoint.criteria.iter().filter_map(|criterion| criterion.check.as_ref()).map(|check| &check.command);
    let texts = [&waypoint.title, &waypoint.goal].into_iter().chain(commands);
    let named: BTreeSet<String> = texts.flat_map(|text| words(text)).filter_map(|word| glob(word, paths)).collect();
    let named: Vec<String> = named.into_iter().take(GLOBS_MAX).collect();
    if named.is_empty() { layout.to_vec() } else { named }
}

/// What may be a path, without the marks of its sentence.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || "/._-".contains(c);
    let words = text.split(move |c| !is_part(c)).map(|word| word.trim_end_matches('.').trim_start_matches("./"));
    words.filter(|word| word.contains(['/', '.']))
}

/// What a word names: a file or a folder of the base, or a file that is to be made.
fn glob(word: &str, paths: &[String]) -> Option<String> {
    let folder = word.trim_end_matches('/');
    if paths.iter().any(|path| path == word) {
        return Some(word.to_owned());
    }
    let is_folder = paths.iter().any(|path| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')));
    if is_folder {
        return Some(format!("{folder}/**"));
    }
    let mut of_this_name = paths.iter().filter(|path| path.rsplit('/').next() == Some(word));
    match (of_this_name.next(), of_this_name.next()) {
        (Some(only), None) => Some(only.clone()),
        (Some(_), Some(_)) => None,
        (None, _) => {
            (map::language(word).is_some() && !word.starts_with('/') && !word.contains("..")).then(|| word.to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_planfile::plan::{PlanTask, of_task};

    use super::*;

    #[test]
    fn a_scope_follows_from_the_files_that_are_named_or_from_the_layout() {
        let paths = ["src/net/client.py", "src/net/pool.py", "src/a/util.py", "src/b/util.py", "README.md"];
        let paths = paths.map(str::to_owned);
        for (goal, check, scope) in [
            ("Back off in `src/net/client.py`.", "x", &["src/net/client.py"][..]),
            ("Everything below src/net/ backs off.", "x", &["src/net/**"]),
            (
                "client.py backs off",
                "python3 -m unittest tests/test_backoff.py",
                &["src/net/client.py", "tests/test_backoff.py"],
            ),
            ("Say so in README.md, e.g. in version 1.2", "x", &["README.md"]),
            ("util.py is there twice", "x", &["src/**", "tests/**"]),
            ("Back off, and/or wait", "x", &["src/**", "tests/**"]),
            ("/etc/passwd.py and ../up.py", "x", &["src/**", "tests/**"]),
        ] {
            let task = PlanTask {
                title: "t".to_owned(),
                goal: Some(goal.to_owned()),
                checks: vec![check.to_owned()],
                ..PlanTask::default()
            };
            let plan = of_task(&task).unwrap();
            let layout = ["src/**", "tests/**"].map(str::to_owned);
            assert_eq!(proposed(&plan.waypoints[0], &paths, &layout), scope, "{goal}");
        }
    }
}
