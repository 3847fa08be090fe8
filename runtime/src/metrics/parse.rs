//! Reads back what this process writes as OpenMetrics, so that whatever is sent by OTLP says what `/metrics` says.
//!
//! It reads the text of our own registry, and no other: no timestamps, no exemplars, no comments but `HELP` and `TYPE`.

/// One metric with all its series.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Family {
    /// Its name, without a suffix.
    pub(super) name: String,
    pub(super) help: String,
    pub(super) kind: Kind,
    pub(super) lines: Vec<Line>,
}

/// What a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    /// What follows the metric's name: `_total`, `_sum`, `_count`, `_bucket`, or nothing.
    pub(super) suffix: String,
    pub(super) labels: Vec<(String, String)>,
    pub(super) value: Number,
}

/// A value as it was written: counts stay whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Whole(u64),
    Real(f64),
}

impl Number {
    pub(super) fn real(self) -> f64 {
        match self {
            Self::Whole(n) => n as f64,
            Self::Real(x) => x,
        }
    }

    pub(super) fn whole(self) -> u64 {
        match self {
            Self::Whole(n) => n,
            Self::Real(_) => 0,
        }
    }
}

/// All metrics of a text. A line that is not understood is left out.
pub(super) fn families(text: &str) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    let mut help = ("", "");
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ').unwrap_or((rest, ""));
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            let Some(kind) = kind_of(kind) else { continue };
            let help = if help.0 == name { help.1.to_owned() } else { String::new() };
            families.push(Family { name: name.to_owned(), help, kind, lines: Vec::new() });
        } else if let Some(family) = families.last_mut() {
            family.lines.extend(read(line, &family.name));
        }
    }
    families
}

fn kind_of(word: &str) -> Option<Kind> {
    match word {
        "counter" => Some(Kind::Counter),
        "gauge" => Some(Kind::Gauge),
        "histogram" => Some(Kind::Histogram),
        _ => None,
    }
}

/// A line of values: `name_suffix{label="value",…} 1`.
fn read(line: &str, family: &str) -> Option<Line> {
    let rest = line.strip_prefix(family)?;
    let end = rest.find(['{', ' '])?;
    let (suffix, mut rest) = rest.split_at(end);
    let mut labels = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        while !rest.starts_with('}') {
            let (name, value) = rest.trim_start_matches(',').split_once("=\"")?;
            let (value, behind) = unquoted(value)?;
            labels.push((name.to_owned(), value));
            rest = behind;
        }
        rest = rest.strip_prefix('}')?;
    }
    let text = rest.trim();
    let value = text.parse().map(Number::Whole).or_else(|_| text.parse().map(Number::Real)).ok()?;
    Some(Line { suffix: suffix.to_owned(), labels, value })
}

/// A quoted text up to its closing quote, and what is behind that.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let (mut value, mut chars) = (String::new(), text.char_indices());
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((value, text.get(at + 1..)?)),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_names_and_labels_are_read_as_they_were_written() {
        let text = "# HELP p_seen Seen.\n# TYPE p_seen counter\np_seen_total{gate=\"a\\\"} 1\\nb\\\\\",kind=\"x\"} 7\n\
                    # HELP p_age Age.\n# TYPE p_age gauge\np_age 2.5\n# EOF\n";
        let line = |suffix: &str, labels: &[(&str, &str)], value| Line {
            suffix: suffix.to_owned(),
            labels: labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            value,
        };
        let family = |name: &str, help: &str, kind, line| Family {
            name: name.to_owned(),
            help: help.to_owned(),
            kind,
            lines: vec![line],
        };
        let seen = line("_total", &[("gate", "a\"} 1\nb\\"), ("kind", "x")], Number::Whole(7));
        assert_eq!(
            families(text),
            [
                family("p_seen", "Seen.", Kind::Counter, seen),
                family("p_age", "Age.", Kind::Gauge, line("", &[], Number::Real(2.5))),
            ]
        );
    }

    #[test]
    fn a_line_that_is_cut_off_is_left_out() {
        let text = "# TYPE p counter\np_total{gate=\"a\np_total{gate=\"a\"}\np_total{gate=\"b\"} 1\n";
        assert_eq!(families(text)[0].lines.len(), 1);
    }
}
