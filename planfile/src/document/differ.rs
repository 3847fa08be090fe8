//! The difference of two documents, as git writes one. Pure.

use std::{fmt::Write as _, ops::Range};

/// Lines that are shown around what differs.
const CONTEXT: usize = 3;
/// The most pairs of lines that are compared; what is larger is shown as removed and added whole.
const PAIRS_MAX: usize = 4_000_000;

/// One run of lines that differ: those before, and those in their place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Edit {
    old: Range<usize>,
    new: Range<usize>,
}

/// The difference between two texts under a name, in git's unified form; empty where there is none.
#[must_use]
pub fn unified_diff(name: &str, old: &str, new: &str) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let edits = edits(&before, &after);
    let mut out = String::new();
    if !edits.is_empty() {
        let _ = write!(out, "diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n");
    }
    let mut rest = edits.as_slice();
    while !rest.is_empty() {
        // Edits whose surroundings touch share a hunk.
        let apart = rest.windows(2).position(|pair| match pair {
            [one, next] => next.old.start - one.old.end > 2 * CONTEXT,
            _ => false,
        });
        let (hunk, behind) = rest.split_at(apart.map_or(rest.len(), |at| at + 1));
        write_hunk(&mut out, hunk, &before, &after);
        rest = behind;
    }
    out
}

fn write_hunk(out: &mut String, edits: &[Edit], before: &[&str], after: &[&str]) {
    let (Some(first), Some(last)) = (edits.first(), edits.last()) else { return };
    let lead = first.old.start.min(CONTEXT);
    let trail = (before.len() - last.old.end).min(CONTEXT);
    let old = first.old.start - lead..last.old.end + trail;
    let new = first.new.start - lead..last.new.end + trail;
    let span = |range: &Range<usize>| {
        let from = if range.is_empty() { range.start } else { range.start + 1 };
        format!("{from},{}", range.len())
    };
    let _ = writeln!(out, "@@ -{} +{} @@", span(&old), span(&new));
    let mut at = old.start;
    for edit in edits {
        write_lines(out, ' ', before.get(at..edit.old.start));
        write_lines(out, '-', before.get(edit.old.clone()));
        write_lines(out, '+', after.get(edit.new.clone()));
        at = edit.old.end;
    }
    write_lines(out, ' ', before.get(at..old.end));
}

fn write_lines(out: &mut String, sign: char, lines: Option<&[&str]>) {
    for line in lines.unwrap_or_default() {
        out.push(sign);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// What differs, in order.
fn edits(before: &[&str], after: &[&str]) -> Vec<Edit> {
    let lead = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (old, new) = (before.get(lead..).unwrap_or_default(), after.get(lead..).unwrap_or_default());
    let trail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let old = old.get(..old.len() - trail).unwrap_or_default();
    let new = new.get(..new.len() - trail).unwrap_or_default();
    let whole = Edit { old: lead..lead + old.len(), new: lead..lead + new.len() };
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    if old.is_empty() || new.is_empty() || old.len().saturating_mul(new.len()) > PAIRS_MAX {
        return vec![whole];
    }
    between(old, new, lead)
}

/// What differs between two runs of lines, by their longest common subsequence; `lead` lines come before both.
fn between(old: &[&str], new: &[&str], lead: usize) -> Vec<Edit> {
    let width = new.len() + 1;
    // How many lines are common from there on.
    let mut common = vec![0_u16; (old.len() + 1) * width];
    let of = |common: &[u16], i: usize, j: usize| common.get(i * width + j).copied().unwrap_or(0);
    for (i, line) in old.iter().enumerate().rev() {
        for (j, other) in new.iter().enumerate().rev() {
            let best = if line == other {
                of(&common, i + 1, j + 1).saturating_add(1)
            } else {
                of(&common, i + 1, j).max(of(&common, i, j + 1))
            };
            if let Some(place) = common.get_mut(i * width + j) {
                *place = best;
            }
        }
    }
    let (mut i, mut j, mut edits) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        let (from_i, from_j) = (i, j);
        while (i < old.len() || j < new.len()) && (old.get(i).is_none() || old.get(i) != new.get(j)) {
            let skips_old = j >= new.len() || i < old.len() && of(&common, i + 1, j) >= of(&common, i, j + 1);
            (i, j) = if skips_old { (i + 1, j) } else { (i, j + 1) };
        }
        if (from_i, from_j) != (i, j) {
            edits.push(Edit { old: lead + from_i..lead + i, new: lead + from_j..lead + j });
        }
        while i < old.len() && j < new.len() && old.get(i) == new.get(j) {
            (i, j) = (i + 1, j + 1);
        }
    }
    edits
}
