//! Reading `.holdpoint/handoff.yaml`.

use std::{collections::BTreeMap, time::Duration};

use holdpoint_protocol::{ids::RoleId, time::Millis};
use regex::RegexBuilder;

use super::{
    FILE_BYTES_MAX,
    settings::{ExchangeSettings, RETRIES_MAX, StuckAfter},
    shape::{Field, JsonType, Shape},
};
use crate::yaml::{
    error::{PlanErrors, Problems},
    fields::Fields,
    source::{self, FileBound},
    tree::{self, FileKind, Key, Node},
    words::quoted,
};

const KIND: FileKind = FileKind {
    name: "handoff file",
    least: "a handoff file has at least one of `retry_settings`, `handoff_validation` and `components`",
    depth: "a handoff file needs six levels",
};
const BOUND: FileBound =
    FileBound { bytes: FILE_BYTES_MAX, what: "the file", hint: "a handoff file has settings and fields only" };
const FILE_KEYS: &[&str] = &["retry_settings", "handoff_validation", "components"];
const RETRY_KEYS: &[&str] = &[
    "max_json_retries",
    "json_retry_delay",
    "use_exponential_backoff",
    "max_backoff_delay",
    "enable_partial_recovery",
    "retry_prompt_reduction",
    "stuck_after",
    "quit_too_quickly_below",
];
const VALIDATION_KEYS: &[&str] = &["strict_schema_validation", "log_all_handoffs", "save_failed_handoffs"];
const COMPONENT_KEYS: &[&str] = &["envelope", "fields"];
const FIELD_KEYS: &[&str] = &["required", "type", "enum", "pattern", "not_empty", "criteria"];

/// The most components, and fields of one.
const COMPONENTS_MAX: usize = 64;
const FIELDS_MAX: usize = 64;
/// Bytes of a compiled pattern.
const PATTERN_SIZE_MAX: usize = 128 << 10;
/// The longest pause between two retries, and the shortest time after which a program may be stuck.
const DELAY_MAX: Duration = Duration::from_secs(600);
const STUCK_MIN: Duration = Duration::from_secs(5);

/// What a project asks of exchanges.
#[derive(Debug, Clone, Default)]
pub struct HandoffRules {
    /// How failed exchanges go on.
    pub settings: ExchangeSettings,
    /// What each component's result has to hold, by role; a judge's by `judge`.
    pub components: BTreeMap<String, Component>,
}

/// What a component's result has to hold.
#[derive(Debug, Clone, Default)]
pub struct Component {
    /// Whether it has to print an envelope: then one that prints none has failed.
    pub envelope: bool,
    /// What `data` has to hold besides what every component's has.
    pub shape: Shape,
}

impl HandoffRules {
    /// Reads a file, whose problems are reported under the name `file`.
    ///
    /// # Errors
    /// Every problem, with its place.
    pub fn read(bytes: &[u8], file: &str) -> Result<Self, PlanErrors> {
        source::read(bytes, file, BOUND, |text, problems| {
            let root = tree::load(text, &KIND, problems)?;
            rules(&root, problems)
        })
    }

    /// What a component has to hand over.
    #[must_use]
    pub fn component(&self, name: &str) -> Component {
        self.components.get(name).cloned().unwrap_or_default()
    }
}

fn rules(root: &Node, problems: &mut Problems) -> Option<HandoffRules> {
    let file = Fields::open(root, "the handoff file", FILE_KEYS, problems)?;
    let mut rules = HandoffRules::default();
    if let Some(node) = file.get("retry_settings", problems) {
        retry(node, &mut rules.settings, problems);
    }
    if let Some(node) = file.get("handoff_validation", problems) {
        validation(node, &mut rules.settings, problems);
    }
    if let Some(node) = file.get("components", problems) {
        let hint = "write `components: {builder: {envelope: true}}`";
        let named = Fields::free(node, "`components`", hint, problems)?;
        for (key, _) in bounded(named.entries(), COMPONENTS_MAX, "components", problems) {
            if RoleId::try_new(key.name.as_str()).is_err() {
                let message = format!("`{}` is no component", quoted(&key.name));
                problems.add(key.at, message, "name a role, such as `builder`, or `judge`");
            }
            if let Some(component) = named.get(&key.name, problems).and_then(|node| component(node, key, problems)) {
                rules.components.insert(key.name.clone(), component);
            }
        }
    }
    Some(rules)
}

fn retry(node: &Node, settings: &mut ExchangeSettings, problems: &mut Problems) {
    let Some(fields) = Fields::open(node, "`retry_settings`", RETRY_KEYS, problems) else { return };
    if let Some(word) = fields.word("max_json_retries", problems) {
        match word.text.parse::<u64>() {
            Ok(number) if number <= RETRIES_MAX => settings.max_json_retries = number as u32,
            _ => {
                let message =
                    format!("`max_json_retries: {}` is not a number from 0 to {RETRIES_MAX}", quoted(word.text));
                problems.add(word.at, message, "5 is the default; 0 retries nothing");
            }
        }
    }
    let range = Duration::ZERO..=DELAY_MAX;
    if let Some(delay) = span(&fields, "json_retry_delay", &range, problems) {
        settings.json_retry_delay = delay;
    }
    if let Some(delay) = span(&fields, "max_backoff_delay", &range, problems) {
        settings.max_backoff_delay = delay;
    }
    flag(&fields, "use_exponential_backoff", &mut settings.use_exponential_backoff, problems);
    flag(&fields, "enable_partial_recovery", &mut settings.enable_partial_recovery, problems);
    flag(&fields, "retry_prompt_reduction", &mut settings.retry_prompt_reduction, problems);
    if fields.has("stuck_after") {
        if fields.word("stuck_after", problems).is_some_and(|word| word.text == "never") {
            settings.stuck_after = StuckAfter::Never;
        } else if let Some(limit) = span(&fields, "stuck_after", &(STUCK_MIN..=Duration::MAX), problems) {
            settings.stuck_after = StuckAfter::After(limit);
        }
    }
    settings.quit_too_quickly_below =
        span(&fields, "quit_too_quickly_below", &(Duration::ZERO..=Duration::MAX), problems);
}

fn validation(node: &Node, settings: &mut ExchangeSettings, problems: &mut Problems) {
    let Some(fields) = Fields::open(node, "`handoff_validation`", VALIDATION_KEYS, problems) else { return };
    flag(&fields, "strict_schema_validation", &mut settings.strict_schema_validation, problems);
    flag(&fields, "log_all_handoffs", &mut settings.log_all_handoffs, problems);
    flag(&fields, "save_failed_handoffs", &mut settings.save_failed_handoffs, problems);
}

fn flag(fields: &Fields<'_>, key: &str, value: &mut bool, problems: &mut Problems) {
    *value = fields.flag(key, problems).unwrap_or(*value);
}

/// A span of time: a duration, or, as in the source, a number of seconds.
fn span(
    fields: &Fields<'_>,
    key: &str,
    range: &std::ops::RangeInclusive<Duration>,
    problems: &mut Problems,
) -> Option<Duration> {
    let word = fields.word(key, problems)?;
    let seconds = word.text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let read = match seconds {
        Some(seconds) => Some(seconds),
        None => fields.duration(key, problems).map(Millis::duration),
    }?;
    if !range.contains(&read) {
        let least = range.start().as_secs();
        let most = if *range.end() == Duration::MAX {
            String::new()
        } else {
            format!(" and at most {} s", range.end().as_secs())
        };
        problems.add(
            word.at,
            format!("`{key}` has to be at least {least} s{most}"),
            "write `30s`, or a number of seconds",
        );
        return None;
    }
    Some(read)
}

fn component(node: &Node, key: &Key, problems: &mut Problems) -> Option<Component> {
    let what = format!("component `{}`", quoted(&key.name));
    let fields = Fields::open(node, &what, COMPONENT_KEYS, problems)?;
    let mut component = Component { envelope: true, shape: Shape::default() };
    flag(&fields, "envelope", &mut component.envelope, problems);
    if let Some(node) = fields.get("fields", problems) {
        let named = Fields::free(node, "`fields`", "write `fields: {summary: {required: true}}`", problems)?;
        for (key, _) in bounded(named.entries(), FIELDS_MAX, "fields", problems) {
            if let Some(field) = named.get(&key.name, problems).and_then(|node| field(node, key, problems)) {
                component.shape.fields.insert(key.name.clone(), field);
            }
        }
    }
    Some(component)
}

fn field(node: &Node, key: &Key, problems: &mut Problems) -> Option<Field> {
    let fields = Fields::open(node, &format!("field `{}`", quoted(&key.name)), FIELD_KEYS, problems)?;
    let matches = fields.word("pattern", problems).and_then(|word| {
        let built = RegexBuilder::new(word.text).size_limit(PATTERN_SIZE_MAX).build();
        if built.is_err() {
            let message = format!("`pattern: {}` is no regular expression, or too large a one", quoted(word.text));
            problems.add(word.at, message, "write one of Rust's `regex` crate; quote it with ' '");
        }
        built.ok()
    });
    Some(Field {
        required: fields.flag("required", problems).unwrap_or(true),
        kind: fields.choice("type", "a type", &JsonType::ALL, problems),
        one_of: fields.texts("enum", problems),
        matches,
        not_empty: fields.flag("not_empty", problems).unwrap_or(false),
        criteria: fields.flag("criteria", problems).unwrap_or(false),
    })
}

/// The first `most` entries; that there are more is a problem.
fn bounded<'t>(entries: &'t [(Key, Node)], most: usize, what: &str, problems: &mut Problems) -> &'t [(Key, Node)] {
    if let Some((key, _)) = entries.get(most) {
        problems.add(key.at, format!("there are more than {most} {what}"), "leave out what nobody reads");
    }
    entries.get(..most).unwrap_or(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "\
retry_settings:
  max_json_retries: 3
  json_retry_delay: 0.5
  use_exponential_backoff: false
  max_backoff_delay: 10s
  enable_partial_recovery: true
  retry_prompt_reduction: false
  stuck_after: 2m
  quit_too_quickly_below: 5s
handoff_validation:
  strict_schema_validation: false
  log_all_handoffs: false
  save_failed_handoffs: false
components:
  builder:
    fields:
      summary: {type: string, not_empty: true}
      risk: {required: false, enum: [low, high]}
  judge: {envelope: false}
";

    #[test]
    fn every_setting_of_the_file_is_read_and_what_it_leaves_out_is_the_default() {
        let rules = HandoffRules::read(WHOLE.as_bytes(), "h").unwrap();
        let expected = ExchangeSettings {
            max_json_retries: 3,
            json_retry_delay: Duration::from_millis(500),
            use_exponential_backoff: false,
            max_backoff_delay: Duration::from_secs(10),
            enable_partial_recovery: true,
            retry_prompt_reduction: false,
            strict_schema_validation: false,
            log_all_handoffs: false,
            save_failed_handoffs: false,
            stuck_after: StuckAfter::After(Duration::from_secs(120)),
            quit_too_quickly_below: Some(Duration::from_secs(5)),
        };
        assert_eq!(rules.settings, expected);
        let (builder, judge) = (rules.component("builder"), rules.component("judge"));
        assert!(builder.envelope && builder.shape.fields["summary"].required && !judge.envelope);
        assert!(!builder.shape.fields["risk"].required && !rules.component("repair").envelope);
        let little = HandoffRules::read(b"retry_settings: {stuck_after: never}\n", "h").unwrap();
        assert_eq!(little.settings, ExchangeSettings { stuck_after: StuckAfter::Never, ..ExchangeSettings::default() });
    }

    #[test]
    fn what_is_wrong_is_refused_with_its_place() {
        let table = [
            ("retry_setings: {}\n", "h:1:1: unknown key `retry_setings`"),
            ("retry_settings: {max_json_retries: 11}\n", "h:1:36: `max_json_retries: 11` is not a number from 0 to 10"),
            ("retry_settings:\n  stuck_after: 1s\n", "h:2:16: `stuck_after` has to be at least 5 s"),
            (
                "retry_settings:\n  json_retry_delay: 2h\n",
                "h:2:21: `json_retry_delay` has to be at least 0 s and at most",
            ),
            ("components: {builder: {fields: {a: {pattern: '('}}}}\n", "is no regular expression"),
            ("components: {builder: {fields: {a: {type: text}}}}\n", "h:1:43: `type: text` is not a type"),
            ("components: {'a b': {}}\n", "h:1:14: `a b` is no component"),
            ("- x\n", "h:1:1: the handoff file is a mapping"),
        ];
        for (text, expected) in table {
            let refused = HandoffRules::read(text.as_bytes(), "h").unwrap_err().render();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
        assert!(HandoffRules::read(&vec![b'#'; FILE_BYTES_MAX + 1], "h").is_err());
    }
}
