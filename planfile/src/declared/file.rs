//! A file of declarations while it is looked at.

use crate::yaml::{
    error::Problems,
    findings::PlanProblems,
    place::Position,
    source::text_of,
    tree::{self, FileKind, Node},
};

/// The largest file in bytes. Workflows are recorded with each flight, so they have to stay small.
pub const FILE_BYTES_MAX: usize = 256 << 10;

/// A file as it was found. Of a larger one only one byte more than [`FILE_BYTES_MAX`] has to be given.
#[derive(Debug, Clone, Copy)]
pub struct DeclaredFile<'a> {
    /// The name under which its problems are reported.
    pub file: &'a str,
    /// What is in it.
    pub bytes: &'a [u8],
}

/// A file while it is looked at.
pub(super) struct File<'a> {
    /// The name under which its problems are reported.
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    pub(super) root: Option<Node>,
    pub(super) problems: Problems,
    pub(super) warnings: Problems,
}

impl<'a> File<'a> {
    /// Reads its text into a tree, where that can be done.
    pub(super) fn open(source: DeclaredFile<'a>, kind: &FileKind) -> Self {
        let DeclaredFile { file: name, bytes } = source;
        let mut problems = Problems::default();
        if bytes.len() > FILE_BYTES_MAX {
            let message = format!("the file is larger than {} KiB", FILE_BYTES_MAX >> 10);
            problems.add(Position::START, message, "leave long texts to documents of the project");
            return Self { name, text: "", root: None, problems, warnings: Problems::default() };
        }
        let (text, whole) = match text_of(bytes, &mut problems) {
            Ok(text) => (text, true),
            Err(before) => (before, false),
        };
        let root = if whole { tree::load(text, kind, &mut problems) } else { None };
        Self { name, text, root, problems, warnings: Problems::default() }
    }

    /// Puts what the rules found at its place.
    pub(super) fn locate(&mut self, errors: PlanProblems, warnings: PlanProblems) {
        let Some(root) = &self.root else { return };
        self.warnings = self.problems.another();
        self.warnings.locate(warnings, root);
        self.problems.locate(errors, root);
    }
}
