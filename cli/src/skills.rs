//! The skill packs of a plan's base (FLY-35): which apply to which waypoint, and which nobody gets because they cannot be read.
//! For people who write skills. It goes by the base of the plan; a builder's harness looks by itself, at that of its turn.

use std::collections::BTreeMap;

use holdpoint_evidence::map::{self, MapFile};
use holdpoint_planfile::{
    gates::Workflow,
    plan::PlanError,
    skills::{self, Covered, FILE_BYTES_MAX, LOOKED_AT_MAX, Skill},
    workflows,
};
use holdpoint_protocol::{ids::WaypointId, plan::Waypoint};
use holdpoint_text::shown;
use holdpoint_workspace::WorkspaceError;
use serde::Serialize;

use crate::{base_tree::BaseTree, failure::chain, ready::Ready};

/// Problems that are listed one by one.
const PROBLEMS_MAX: usize = 10;

/// The skills of a plan's base.
pub(crate) struct Skills {
    skills: Vec<Skill>,
    /// What is wrong with others, a line each.
    pub(crate) problems: Vec<String>,
}

/// What a skill applies to.
#[derive(Debug, Serialize)]
pub(crate) struct Applied {
    /// The skill's path.
    pub(crate) path: String,
    /// The waypoints whose first turn gets it.
    pub(crate) waypoints: Vec<WaypointId>,
}

impl Skills {
    /// Those of the base. That they cannot be read is a problem like others: flights go on without skills.
    pub(crate) async fn of(tree: &BaseTree<'_>) -> Self {
        let mut found = Self { skills: Vec::new(), problems: Vec::new() };
        if let Err(error) = found.look(tree).await {
            found.problems.push(format!("the skills of the base cannot be read: {}", chain(&error)));
        }
        if let Some(more) = found.problems.len().checked_sub(PROBLEMS_MAX).filter(|more| *more > 0) {
            found.problems.truncate(PROBLEMS_MAX);
            found.problems.push(format!("{more} more skills have problems"));
        }
        found
    }

    async fn look(&mut self, tree: &BaseTree<'_>) -> Result<(), WorkspaceError> {
        let named = skills::among(tree.files().map(|file| file.path), tree.links());
        for link in tree.linked().filter(|link| skills::may_be_skills(link)) {
            let leads = tree.links().resolve(link);
            let is_below = |path: &str| path.strip_prefix(leads.as_str()).is_some_and(|rest| rest.starts_with('/'));
            if leads == link || !tree.files().any(|file| file.path == leads || is_below(file.path)) {
                self.refuse(link, "it is a link to nothing in the repository");
            }
        }
        for name in named.keys().skip(LOOKED_AT_MAX) {
            self.refuse(name, &format!("{LOOKED_AT_MAX} skills come before it"));
        }
        for (name, file) in named.iter().take(LOOKED_AT_MAX) {
            match tree.read(file, FILE_BYTES_MAX).await {
                Ok(bytes) => match skills::read(name, &bytes) {
                    Ok(skill) => self.skills.push(skill),
                    Err(found) => self.problems.extend(found.errors.first().map(PlanError::in_a_line)),
                },
                Err(WorkspaceError::BlobOverCap { .. }) => {
                    self.refuse(name, &format!("it is larger than {} KiB", FILE_BYTES_MAX >> 10));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn refuse(&mut self, name: &str, why: &str) {
        self.problems.push(format!("{}: {why}, so no agent gets it", shown::line(name)));
    }

    /// What each applies to, of the waypoints whose workflow has a turn that makes work.
    pub(crate) fn applied(&self, Ready { plan, workflows, .. }: &Ready, tree: &BaseTree<'_>) -> Vec<Applied> {
        let files: Vec<MapFile<'_>> = tree.files().collect();
        let makes: Vec<String> =
            workflows::flown(plan, workflows).filter(Workflow::makes_work).map(|workflow| workflow.name).collect();
        let mut applied: BTreeMap<&str, Vec<WaypointId>> =
            self.skills.iter().map(|skill| (skill.path.as_str(), Vec::new())).collect();
        let mut by_scope: BTreeMap<&[String], Covered> = BTreeMap::new();
        for waypoint in &plan.waypoints {
            let Waypoint { id, title, goal, criteria, scope, .. } = waypoint;
            if !makes.contains(waypoint.workflow.as_ref().unwrap_or(&plan.workflow)) {
                continue;
            }
            let covered = by_scope.entry(scope).or_insert_with(|| {
                let focus = map::focus(&files, scope, &[]);
                Covered::by(&self.skills, &skills::paths(&files, &focus, scope))
            });
            for skill in skills::relevant(&self.skills, covered, &skills::words(title, goal, criteria), None) {
                applied.entry(&skill.path).or_default().push(id.clone());
            }
        }
        applied.into_iter().map(|(path, waypoints)| Applied { path: path.to_owned(), waypoints }).collect()
    }
}

impl Applied {
    /// For people. `most` waypoints are named.
    pub(crate) fn in_a_line(&self, most: usize) -> String {
        let path = shown::line(&self.path);
        let named: Vec<&str> = self.waypoints.iter().take(most).map(WaypointId::as_str).collect();
        match self.waypoints.len().saturating_sub(most) {
            0 if named.is_empty() => format!("skill {path}: no waypoint's first turn"),
            0 => format!("skill {path}: {}", named.join(", ")),
            more => format!("skill {path}: {} and {more} more", named.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_is_a_line_whatever_it_is_called_and_however_many_waypoints_get_it() {
        let of = |path: &str, count: usize| {
            let waypoints = (0..count).map(|n| format!("w{n}").parse().unwrap()).collect();
            Applied { path: path.to_owned(), waypoints }.in_a_line(2)
        };
        assert_eq!(of("docs/skills/a.md", 0), "skill docs/skills/a.md: no waypoint's first turn");
        assert_eq!(of("docs/skills/a.md", 2), "skill docs/skills/a.md: w0, w1");
        assert_eq!(of("docs/skills/a.md", 5), "skill docs/skills/a.md: w0, w1 and 3 more");
        assert!(!of("docs/skills/a\nwarning: b.md", 1).contains('\n'));
    }
}
