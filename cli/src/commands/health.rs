//! `health`: whether the process that this machine or container is for is well.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use holdpoint_runtime::{
    clock,
    config::Config,
    health::{self, LifeSign, Unwell},
};
use serde_json::json;

use crate::{
    args::HealthArgs,
    failure::{Exit, Failure, chain},
    output,
};

/// How often it looks while it holds its answer back.
const EVERY: Duration = Duration::from_secs(2);

/// Looks at the last sign of life.
pub(super) fn health(args: &HealthArgs) -> Result<Exit, Failure> {
    let config = Config::load(args.config.as_deref(), Vec::new())?;
    let Some(file) = &config.health.file else {
        let hint = "HOLDPOINT__HEALTH__FILE, or `file` below [health], names it for the process and for this command";
        return Err(Failure::usage(
            "no_health_file",
            "health.file is not configured: no process says here how it is",
            hint,
        ));
    };
    let found = match args.hold {
        Some(span) => held(file, span.duration(), EVERY),
        None => health::look(file, clock::now()),
    };
    let (exit, well, words) = match found {
        Ok(sign) => (Exit::Success, true, format!("{} is well", sign.name)),
        Err(unwell) => (Exit::Incomplete, false, chain(&unwell)),
    };
    if args.json {
        output::json(&json!({"well": well, "detail": words}));
    } else {
        output::out(&words);
    }
    Ok(exit)
}

/// Answers at once the first time that the process is well, and after `span` while it stays so: who is asked again and again
/// has one process a span for it. A file next to the sign says that the first answer was given.
fn held(file: &Path, span: Duration, every: Duration) -> Result<LifeSign, Unwell> {
    let answered = beside(file);
    let deadline = Instant::now() + span;
    loop {
        match health::look(file, clock::now()) {
            Err(unwell) => {
                // The next answer that it is well comes at once again. A mark that stays makes it late, not wrong.
                let _ = fs::remove_file(&answered);
                return Err(unwell);
            }
            Ok(sign) if Instant::now() >= deadline || mark(&answered) => return Ok(sign),
            Ok(_) => std::thread::sleep(every),
        }
    }
}

/// Whether this is the first answer; a place that cannot be written has only first ones.
fn mark(answered: &Path) -> bool {
    match fs::OpenOptions::new().write(true).create_new(true).open(answered) {
        Ok(_) => true,
        Err(error) => error.kind() != io::ErrorKind::AlreadyExists,
    }
}

fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".answered");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_millis(40);
    const LOOK: Duration = Duration::from_millis(5);

    fn says(file: &Path, connected: bool) {
        let at = serde_json::to_string(&clock::now()).unwrap();
        fs::write(file, format!(r#"{{"name":"b1","pid":1,"connected":{connected},"at":{at}}}"#)).unwrap();
    }

    #[test]
    fn the_first_answer_comes_at_once_and_further_ones_are_held_until_something_is_wrong() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("sign");
        assert!(held(&file, SPAN, LOOK).is_err());
        says(&file, true);
        let long = Duration::from_secs(3_600);
        assert!(held(&file, long, LOOK).is_ok(), "the first is not held");
        let began = Instant::now();
        assert!(held(&file, SPAN, LOOK).is_ok());
        assert!(began.elapsed() >= SPAN, "the second is");
        says(&file, false);
        assert!(held(&file, long, LOOK).is_err(), "a failure is not held");
        says(&file, true);
        assert!(held(&file, long, LOOK).is_ok(), "nor is the first answer behind a failure");
    }
}
