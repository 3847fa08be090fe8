//! What verifications doubt and what holds nothing up, for the people who decide on the work. Pure.

use holdpoint_protocol::artifact::{VerificationPurpose, VerificationReport};

/// Doubts that one item shows, and characters of each: all of them are in the report.
const DOUBTS_MAX: usize = 20;
const CHARS_MAX: usize = 500;

/// Whether the reports before this one are about other work.
#[must_use]
pub fn is_first_of_work(report: &VerificationReport) -> bool {
    report.purpose != VerificationPurpose::Merge
}

/// The doubts of these reports, each once and shortened, and how many more there are.
pub fn doubts<'a>(reports: impl IntoIterator<Item = &'a VerificationReport>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for doubt in reports.into_iter().flat_map(|report| &report.doubts) {
        let text = shortened(&doubt.text);
        if !all.contains(&text) {
            all.push(text);
        }
    }
    let more = all.len().saturating_sub(DOUBTS_MAX);
    all.truncate(DOUBTS_MAX);
    if more > 0 {
        all.push(format!("and {more} more, in the report"));
    }
    all
}

fn shortened(text: &str) -> String {
    let end = text.char_indices().nth(CHARS_MAX).map(|(at, _)| at);
    end.and_then(|end| text.get(..end)).map_or_else(|| text.to_owned(), |start| format!("{start}…"))
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::artifact::Doubt;

    use super::*;

    fn report(purpose: VerificationPurpose, texts: &[String]) -> VerificationReport {
        let golden = include_str!("../../../protocol/golden/verification_report.json");
        let report: VerificationReport = serde_json::from_str(golden).unwrap();
        let doubts = texts.iter().map(|text| Doubt::note(text.clone())).collect();
        VerificationReport { purpose, doubts, ..report }
    }

    #[test]
    fn doubts_of_a_work_and_its_merge_are_shown_once_and_within_bounds() {
        let texts = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
        let (merge, handoff) = (VerificationPurpose::Merge, VerificationPurpose::Handoff);
        let [merge, handoff] = [report(merge, &texts(1)), report(handoff, &texts(2))];
        assert!(is_first_of_work(&handoff) && !is_first_of_work(&merge));
        assert_eq!(doubts([&merge, &handoff]), ["0", "1"]);
        let many = doubts([&report(VerificationPurpose::Handoff, &texts(100))]);
        assert_eq!((many.len(), many.last().unwrap().as_str()), (21, "and 80 more, in the report"));
        let long = doubts([&report(VerificationPurpose::Handoff, &["ä".repeat(10_000)])]);
        assert_eq!(long, ["ä".repeat(CHARS_MAX) + "…"]);
    }
}
