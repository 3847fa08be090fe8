//! One libFuzzer program for all targets; `HOLDPOINT_FUZZ_TARGET` says which one is fed.
//!
//! One program and not one for each target: linking takes longer than compiling. A target gets bytes and panics if
//! something that must hold does not; that the bytes are refused is never a finding.
#![no_main]

mod engine;
mod texts;
mod wire;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

type Target = fn(&[u8]);

/// All targets by name. `tests/src/soak/fuzz.rs` has the same names, with the seeds of each.
const TARGETS: &[(&str, Target)] = &[
    ("answer", texts::answer),
    ("api_json", wire::api_json),
    ("api_msgpack", wire::api_msgpack),
    ("artifact_json", wire::artifact_json),
    ("artifact_msgpack", wire::artifact_msgpack),
    ("bundle", wire::bundle),
    ("config", texts::config),
    ("declared", texts::declared),
    ("engine", engine::report),
    ("glob", texts::glob),
    ("journal_json", wire::journal_json),
    ("journal_msgpack", wire::journal_msgpack),
    ("jwt", wire::jwt),
    ("manifest", texts::manifest),
    ("markers", texts::markers),
    ("names", wire::names),
    ("plan", texts::plan),
    ("runners", texts::runners),
    ("scripts", texts::scripts),
];

static CHOSEN: OnceLock<Target> = OnceLock::new();

fuzz_target!(|data: &[u8]| {
    let target = CHOSEN.get_or_init(|| {
        let name = std::env::var("HOLDPOINT_FUZZ_TARGET").expect("HOLDPOINT_FUZZ_TARGET names a target");
        TARGETS.iter().find(|(known, _)| *known == name).expect("a target of this name").1
    });
    target(data);
});
