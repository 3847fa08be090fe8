use proptest::prelude::*;

use super::*;

const KINDS: [ExchangeErrorKind; 7] = [
    ExchangeErrorKind::Malformed,
    ExchangeErrorKind::MissingField,
    ExchangeErrorKind::Semantic,
    ExchangeErrorKind::Partial,
    ExchangeErrorKind::Stuck,
    ExchangeErrorKind::Crashed,
    ExchangeErrorKind::ContextWindow,
];

const ASK: PromptRequest<'_> = PromptRequest {
    whole: "{\"component\": \"builder\", \"status\": \"<text>\", \"data\": {}}",
    missing: "{\"data\": {\"todos\": [\"<text>\"]}}",
    instead: "",
    context: "The task is in a file.",
    wants_result: false,
};

fn problem(kind: ExchangeErrorKind, details: &str) -> ResultProblem {
    ResultProblem::new(kind, details)
}

fn asked(next: Next) -> (String, bool) {
    match next {
        Next::Ask { prompt, same_conversation, .. } => (prompt, same_conversation),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_same_error_twice_running_ends_it_and_another_in_between_does_not() {
    let mut course = ExchangeCourse::new(ExchangeSettings::default(), GateDemands::default());
    for details in ["a", "b", "a"] {
        assert!(asked(course.next(&problem(ExchangeErrorKind::Malformed, details), false, &ASK, 0.0)).1);
    }
    let again = course.next(&problem(ExchangeErrorKind::Malformed, "a"), false, &ASK, 0.0);
    assert_eq!(again, Next::End(ExchangeEnd::SameErrorTwice));
}

#[test]
fn five_retries_are_made_and_the_last_one_is_the_template_alone() {
    let mut course = ExchangeCourse::new(ExchangeSettings::default(), GateDemands::default());
    let mut last = String::new();
    for n in 0..5 {
        last = asked(course.next(&problem(ExchangeErrorKind::Malformed, &format!("error {n}")), false, &ASK, 0.0)).0;
    }
    assert_eq!(last, format!("```\n{}\n```\n", ASK.whole));
    let sixth = course.next(&problem(ExchangeErrorKind::Malformed, "error 6"), false, &ASK, 0.0);
    assert_eq!(sixth, Next::End(ExchangeEnd::RetriesUsedUp));
}

#[test]
fn a_full_context_window_goes_straight_to_the_template_in_a_new_conversation() {
    let mut course = ExchangeCourse::new(ExchangeSettings::default(), GateDemands::default());
    let full = problem(ExchangeErrorKind::ContextWindow, "the context window is full");
    let (prompt, same) = asked(course.next(&full, false, &ASK, 0.0));
    assert_eq!((prompt.as_str(), same), (format!("```\n{}\n```\n", ASK.whole).as_str(), false));
    let next = course.next(&problem(ExchangeErrorKind::Malformed, "no JSON"), false, &ASK, 0.0);
    assert_eq!(next, Next::End(ExchangeEnd::NothingShorter));
}

#[test]
fn a_stuck_or_killed_program_is_started_afresh_twice_and_one_that_exits_badly_never() {
    let stuck = problem(ExchangeErrorKind::Stuck, "no output for 300 s");
    let mut course = ExchangeCourse::new(ExchangeSettings::default(), GateDemands::default());
    for seconds in [1, 2] {
        let fresh = course.next(&stuck, true, &ASK, 0.0);
        assert_eq!(fresh, Next::Fresh { delay: Duration::from_secs(seconds) });
    }
    assert_eq!(course.next(&stuck, true, &ASK, 0.0), Next::End(ExchangeEnd::FreshStartsUsedUp));
    let exit = problem(ExchangeErrorKind::Crashed, "exit code 3");
    assert_eq!(
        ExchangeCourse::new(ExchangeSettings::default(), GateDemands::default()).next(&exit, false, &ASK, 0.0),
        Next::End(ExchangeEnd::BadEnd)
    );
}

#[test]
fn nothing_is_retried_where_a_project_wants_no_retries() {
    let settings = ExchangeSettings { max_json_retries: 0, ..ExchangeSettings::default() };
    let next = ExchangeCourse::new(settings, GateDemands::default()).next(
        &problem(ExchangeErrorKind::Malformed, "x"),
        false,
        &ASK,
        0.0,
    );
    assert_eq!(next, Next::End(ExchangeEnd::RetriesUsedUp));
}

proptest! {
    #[test]
    fn every_exchange_ends_and_its_prompts_get_shorter(
        failures in prop::collection::vec((0_usize..7, 0_usize..4, 0_usize..3000, any::<bool>(), any::<bool>()), 40),
        retries in 0_u32..=10,
        reduced in any::<bool>(),
    ) {
        let settings = ExchangeSettings { max_json_retries: retries, retry_prompt_reduction: reduced, ..ExchangeSettings::default() };
        let mut course = ExchangeCourse::new(settings.clone(), GateDemands::default());
        let (mut tries, mut last, mut ended) = (0, usize::MAX, false);
        for (kind, which, long, can_start, kept) in failures {
            let details = format!("{which}{}", "ä".repeat(long));
            let kept = kept.then(serde_json::Map::new);
            let problem = ResultProblem { kept, ..problem(KINDS[kind], &details) };
            match course.next(&problem, can_start, &ASK, 0.5) {
                Next::End(_) => { ended = true; break }
                Next::Fresh { delay } => prop_assert!(delay <= settings.max_backoff_delay),
                Next::Ask { prompt, delay, .. } => {
                    prop_assert!(delay <= settings.max_backoff_delay);
                    if reduced {
                        prop_assert!(prompt.len() < last, "{prompt}");
                        last = prompt.len();
                    }
                }
            }
            tries += 1;
            prop_assert!(tries <= retries + FRESH_STARTS_MAX);
        }
        prop_assert!(ended);
    }
}
