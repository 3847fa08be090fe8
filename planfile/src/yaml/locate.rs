//! Where in a file the rules' findings are: the way of each is followed through the tree.

use super::{
    error::Problems,
    findings::PlanProblems,
    path::{PlanPath, Step},
    place::Position,
    tree::{Node, Value},
};

impl Problems {
    /// Notes what the rules found, at its place in the file.
    pub(crate) fn locate(&mut self, found: PlanProblems, root: &Node) {
        let reported = std::mem::take(&mut self.reported);
        for problem in found.problems {
            let place = root.find(&problem.path, self);
            let known = reported.contains(&place.at) || self.kept.contains_key(&place.at);
            let misspelled = place.key.is_some_and(|key| self.is_misspelled(place.at, key));
            if (place.missing || !known) && !misspelled {
                self.add(place.at, problem.message, problem.hint);
            }
        }
        self.dropped += found.more;
    }
}

/// A place that a path leads to.
pub(crate) struct Found<'p> {
    /// Of the value; where the file does not have it, of what it would be in.
    pub(crate) at: Position,
    /// Whether the file does not have it.
    pub(crate) missing: bool,
    /// The key that the file does not have there.
    pub(crate) key: Option<&'p str>,
}

impl Node {
    /// Follows a path from here. Lists may have lost items when they were read, which `problems` know.
    pub(crate) fn find<'p>(&self, path: &'p PlanPath, problems: &Problems) -> Found<'p> {
        let mut node = self;
        for step in path.steps() {
            let next = match (step, &node.value) {
                (Step::Key(name), Value::Map(entries)) => {
                    entries.iter().find(|(key, _)| key.name == *name).map(|(_, node)| node)
                }
                (Step::Name(name), Value::Map(entries)) => {
                    let key = entries.iter().find(|(key, _)| key.name == *name);
                    return Found { at: key.map_or(node.at, |(key, _)| key.at), missing: key.is_none(), key: None };
                }
                (Step::Item(item), Value::List(items)) => items.get(problems.item_in_file(node.at, *item)),
                _ => None,
            };
            match next {
                Some(next) => node = next,
                None => {
                    let key = if let Step::Key(name) = step { Some(name.as_ref()) } else { None };
                    return Found { at: node.at, missing: true, key };
                }
            }
        }
        Found { at: node.at, missing: false, key: None }
    }
}
