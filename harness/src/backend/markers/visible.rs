//! Which lines of an output are its own words, and which it quotes in a code fence.

/// The fewest characters of a fence, as in Markdown.
const FENCE_LEN_MIN: usize = 3;
/// The most spaces before a fence, as in Markdown: more make it an indented block.
const INDENT_MAX: usize = 3;

/// Collects the lines outside code fences.
#[derive(Debug, Default)]
pub(super) struct Visible {
    text: String,
}

/// Which fence is open.
#[derive(Debug, Default)]
pub(super) struct Fences {
    open: Option<Fence>,
}

/// Where a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    /// Outside all fences.
    Outside,
    /// It opens a fence.
    Opens,
    /// Inside one, or its end.
    Inside,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    character: char,
    length: usize,
}

impl Fences {
    /// Takes a line with its end, and says where it is.
    pub(super) fn push(&mut self, line: &str) -> At {
        match (self.open, fence(line)) {
            (None, Some((opening, _))) => {
                self.open = Some(opening);
                At::Opens
            }
            (None, None) => At::Outside,
            (Some(open), Some((closing, bare))) => {
                if bare && open.closes_with(closing) {
                    self.open = None;
                }
                At::Inside
            }
            (Some(_), None) => At::Inside,
        }
    }
}

impl Visible {
    /// Takes a line that says something.
    pub(super) fn push(&mut self, line: &str) {
        self.text.push_str(line);
    }

    /// Text before a quotation and text after it do not belong together.
    pub(super) fn part(&mut self) {
        self.text.push('\n');
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

impl Fence {
    /// Whether a bare fence of this kind closes it.
    pub(super) fn closes_with(self, closing: Self) -> bool {
        closing.character == self.character && closing.length >= self.length
    }
}

/// The fence that closes what a text leaves open, as a line.
pub(crate) fn closing(text: &str) -> Option<String> {
    let mut fences = Fences::default();
    for line in text.lines() {
        fences.push(line);
    }
    fences.open.map(|fence| fence.character.to_string().repeat(fence.length))
}

/// The fence that a line opens or closes, and whether nothing follows it.
pub(super) fn fence(line: &str) -> Option<(Fence, bool)> {
    let rest = line.trim_start_matches(' ');
    if line.len() - rest.len() > INDENT_MAX {
        return None;
    }
    let character = rest.chars().next().filter(|first| matches!(first, '`' | '~'))?;
    let after = rest.trim_start_matches(character);
    let length = rest.len() - after.len();
    // Backticks in the rest make it a code span in a line of text.
    let is_span = character == '`' && after.contains('`');
    (length >= FENCE_LEN_MIN && !is_span).then(|| (Fence { character, length }, after.trim().is_empty()))
}
