//! Whether gates send back more than they did, for people.

use holdpoint_account::events::{GateSpan, GateTrend, TrendDirection, TrendReport};
use holdpoint_text::{shown, units::seconds};

use super::words::{count, dash, span, table};

/// Both spans of each gate as a table, and below it what got worse.
pub(crate) fn trend(report: &TrendReport) -> String {
    let TrendReport { days, from, since, until, gates } = report;
    let until = seconds(*until);
    if gates.is_empty() {
        return format!("no gate was left from {} to {until}", seconds(*from));
    }
    let head = ["workflow", "gate", "left before", "left now", "sent back before", "now", "median before", "now", ""];
    let row = |gate: &GateTrend| {
        let GateTrend { workflow, gate, before, now, rejections } = gate;
        vec![
            shown::line(workflow).into_owned(),
            gate.to_string(),
            count(before.left as usize),
            count(now.left as usize),
            share(before),
            share(now),
            span(before.dwell.percentile(50)),
            span(now.dwell.percentile(50)),
            word(*rejections).to_owned(),
        ]
    };
    let spans = format!("the {days} days until {until}, and the {days} days before them (until {})", seconds(*since));
    let worse = gates.iter().filter(|gate| gate.rejections == TrendDirection::Worse);
    let worse: Vec<String> =
        worse.map(|one| format!("gate {} of workflow {}", one.gate, shown::line(&one.workflow))).collect();
    let judged = gates.iter().any(|gate| gate.rejections != TrendDirection::TooFew);
    let end = match worse.len() {
        0 if judged => "no gate sends back more than before".to_owned(),
        0 => "too few turns in one of the spans to compare".to_owned(),
        _ => format!("sends back more than before: {}", worse.join(", ")),
    };
    format!("{spans}\n{}\n{end}", table(&head, gates.iter().map(row)))
}

fn share(span: &GateSpan) -> String {
    span.rejection_percent.map_or_else(dash, |percent| format!("{percent} %"))
}

fn word(course: TrendDirection) -> &'static str {
    match course {
        TrendDirection::Worse => "worse",
        TrendDirection::Better => "better",
        TrendDirection::Steady => "steady",
        TrendDirection::TooFew => "too few",
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_account::events::Spread;
    use holdpoint_protocol::{Timestamp, time::Millis};

    use super::*;

    fn of(gate: &str, percents: [u32; 2], rejections: TrendDirection) -> GateTrend {
        let [before, now] = percents.map(|percent| {
            let mut dwell = Spread::default();
            dwell.add(Millis(60_000));
            GateSpan { left: 10, rejections: percent / 10, rejection_percent: Some(percent), dwell }
        });
        GateTrend { workflow: "review".to_owned(), gate: gate.parse().unwrap(), before, now, rejections }
    }

    #[test]
    fn a_trend_names_the_gates_that_got_worse_and_says_when_nothing_can_be_compared() {
        let at = Timestamp::from_millis;
        let report =
            |gates| TrendReport { days: 7, from: at(0), since: at(604_800_000), until: at(1_209_600_000), gates };
        let text = trend(&report(vec![
            of("code", [10, 40], TrendDirection::Worse),
            of("docs", [20, 20], TrendDirection::Steady),
        ]));
        let lines: Vec<&str> = text.lines().collect();
        let [spans, head, code, _, end] = lines.as_slice() else { panic!("{text}") };
        assert!(spans.contains("7 days until 1970-01-15") && head.starts_with("workflow  gate"), "{text}");
        assert_eq!(code.split_whitespace().collect::<Vec<_>>().join(" "), "review code 10 10 10 % 40 % 1m 1m worse");
        assert_eq!(*end, "sends back more than before: gate code of workflow review");
        let steady = trend(&report(vec![of("docs", [20, 20], TrendDirection::Steady)]));
        assert!(steady.ends_with("no gate sends back more than before"), "{steady}");
        let few = trend(&report(vec![of("docs", [0, 90], TrendDirection::TooFew)]));
        assert!(few.ends_with("too few turns in one of the spans to compare"), "{few}");
        assert!(trend(&report(Vec::new())).starts_with("no gate was left from 1970-01-01"));
    }
}
