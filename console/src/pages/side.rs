//! A diff side by side: before on the left, after on the right, with what differs in a pair marked. On a narrow window a style sheet
//! puts the one below the other.

use std::ops::Range;

use maud::{Markup, html};

use super::{
    changes::{File, Row, differing, read},
    paint::{Language, language, pieces},
    parts::{lines, word},
};

/// The largest diff that is shown so, in bytes: each of its lines becomes some hundred bytes of markup.
const BYTES_MAX: usize = 256 << 10;
/// Rows of one file that are open at once; more are folded.
const ROWS_OPEN_MAX: usize = 600;

/// The files of a diff side by side; `None`: it is too large for that.
pub(super) fn side_by_side(text: &str) -> Option<Markup> {
    if text.len() > BYTES_MAX {
        return None;
    }
    let files = read(text);
    let count =
        |wanted: fn(&Row<'_>) -> bool| files.iter().flat_map(|file| &file.rows).filter(|row| wanted(row)).count();
    let added = count(|row| matches!(row, Row::Changed(_, Some(_))));
    let removed = count(|row| matches!(row, Row::Changed(Some(_), _)));
    Some(html! {
        p.sub { (files.len()) @if files.len() == 1 { " file, " } @else { " files, " } "+" (added) " −" (removed) }
        @for file in &files { (one(file)) }
    })
}

fn one(file: &File<'_>) -> Markup {
    let language = language(file.path);
    html! {
        details.side open[file.rows.len() <= ROWS_OPEN_MAX] {
            summary { code { (word(file.path)) } }
            @for head in &file.heads { p.sub { (word(head)) } }
            @if !file.rows.is_empty() {
                table.sides {
                    colgroup { col.n; col; col.n; col; }
                    thead { tr { th scope="col" colspan="2" { "Before" } th scope="col" colspan="2" { "After" } } }
                    tbody { @for row in &file.rows { (row_of(row, language)) } }
                }
            }
        }
    }
}

fn row_of(row: &Row<'_>, language: Option<&Language>) -> Markup {
    match row {
        Row::Hunk(line) => html! { tr.hunk { td colspan="4" { (word(line)) } } },
        Row::Note(note) => html! { tr.note { td colspan="4" { (word(note)) } } },
        Row::Same(old, new, text) => html! {
            tr.same { td.no { (old) } td.old { span.sign { " " } (painted(text, &(0..0), language)) } td.no { (new) } td.new { span.sign { " " } (painted(text, &(0..0), language)) } }
        },
        Row::Changed(old, new) => {
            let pair = old.zip(*new).and_then(|((_, old), (_, new))| differing(old, new));
            let (left, right) = pair.unwrap_or_default();
            html! {
                tr.changed {
                    @match old {
                        Some((number, text)) => { td.no { (number) } td.old.removed { span.sign { "−" } (painted(text, &left, language)) } }
                        None => { td.no.none {} td.old.none {} }
                    }
                    @match new {
                        Some((number, text)) => { td.no { (number) } td.new.added { span.sign { "+" } (painted(text, &right, language)) } }
                        None => { td.no.none {} td.new.none {} }
                    }
                }
            }
        }
    }
}

/// A line in its colours, with what differs marked.
fn painted(text: &str, differs: &Range<usize>, language: Option<&Language>) -> Markup {
    html! {
        @for (piece, kind) in pieces(text, language) {
            @for (part, marked) in split(&piece, differs) {
                @let shown = lines(text.get(part).unwrap_or_default());
                @match (kind.class(), marked) {
                    (None, false) => { (shown) }
                    (class, false) => { span class=[class] { (shown) } }
                    (class, true) => { mark class=[class] { (shown) } }
                }
            }
        }
    }
}

/// A piece, cut where what differs begins and ends; whether each part is within it.
fn split(piece: &Range<usize>, differs: &Range<usize>) -> Vec<(Range<usize>, bool)> {
    let begin = differs.start.clamp(piece.start, piece.end);
    let end = differs.end.clamp(begin, piece.end);
    let parts = [(piece.start..begin, false), (begin..end, true), (end..piece.end, false)];
    parts.into_iter().filter(|(part, _)| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_in_a_pair_is_marked_and_everything_is_text() {
        let diff = "diff --git a/f.py b/f.py\n@@ -1,2 +1,2 @@\n x = \"<b>\"\n-return round(x)\n+return ceil(x)\n";
        let shown = side_by_side(diff).unwrap().into_string();
        assert!(shown.contains("<span class=\"t-key\">return</span> <mark>ceil</mark>(x)"), "{shown}");
        assert!(shown.contains("<mark>round</mark>") && shown.contains("1 file, +1 −1"), "{shown}");
        assert!(shown.contains("<span class=\"t-text\">&quot;&lt;b&gt;&quot;</span>"), "{shown}");
        assert!(side_by_side(&"+\n".repeat(BYTES_MAX)).is_none());
    }
}
