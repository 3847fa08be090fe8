//! Where a verdict goes: files that are asked for, the job of a forge, standard output.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
};

use holdpoint_verifier_agent::Findings;

use super::{report, verdict::ChangeVerdict};
use crate::{args::verify::VerifyArgs, failure::Failure, output};

/// What says that this is a job of GitHub Actions, where its summary goes, and where the outputs of its step.
const GITHUB_JOB: &str = "GITHUB_ACTIONS";
const GITHUB_SUMMARY: &str = "GITHUB_STEP_SUMMARY";
const GITHUB_OUTPUT: &str = "GITHUB_OUTPUT";
/// A `#` that is written out, as other characters of others are, and in JSON.
const HASH: &str = "\\u{23}";
const HASH_IN_JSON: &str = "\\u0023";

/// Says the verdict in every form that is asked for; `attestation`: the signed one.
pub(crate) fn tell(
    args: &VerifyArgs,
    verdict: &ChangeVerdict,
    attestation: &dyn Fn() -> String,
) -> Result<(), Failure> {
    let write = |file: &Option<PathBuf>, text: &dyn Fn() -> String| {
        file.as_deref().map_or(Ok(()), |file| fs::write(file, text()).map_err(|error| unwritable(file, &error)))
    };
    write(&args.junit, &|| report::junit(verdict))?;
    write(&args.sarif, &|| report::sarif(verdict).to_string())?;
    write(&args.markdown, &|| report::markdown(verdict))?;
    write(&args.codequality, &|| report::codequality(verdict).to_string())?;
    write(&args.attest, &attestation)?;
    if std::env::var_os(GITHUB_JOB).is_some_and(|value| value == "true") {
        report::annotations(verdict).lines().for_each(|line| output::err(&report::inert(line, HASH)));
        append(GITHUB_SUMMARY, &report::markdown(verdict))?;
        append(GITHUB_OUTPUT, &format!("shown={}\nreason={}\n", verdict.shown, verdict.reason_code))?;
    }
    if args.json {
        let json = serde_json::to_string_pretty(verdict).expect("plain data with text keys");
        output::exactly(&report::inert(&json, HASH_IN_JSON));
    } else {
        report::lines(verdict).iter().for_each(|line| output::out(&report::inert(line, HASH)));
    }
    Ok(())
}

/// Adds to a file that the job names in a variable.
fn append(variable: &str, text: &str) -> Result<(), Failure> {
    let Some(file) = std::env::var_os(variable).map(PathBuf::from) else { return Ok(()) };
    let appended = OpenOptions::new().append(true).create(true).open(&file);
    appended.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| unwritable(&file, &error))
}

/// Writes what each run printed under the name by which the verdict has it.
pub(crate) fn logs<'a>(dir: &Path, findings: impl Iterator<Item = &'a Findings>) -> Result<(), Failure> {
    fs::create_dir_all(dir).map_err(|error| unwritable(dir, &error))?;
    for evidence in findings.flat_map(|findings| &findings.evidence) {
        let file = dir.join(format!("{}.log", evidence.digest.to_string().replace(':', "-")));
        fs::write(&file, &evidence.bytes).map_err(|error| unwritable(&file, &error))?;
    }
    Ok(())
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("cannot write {}: {error}", path.display());
    Failure::usage("unwritable", message, "name a place that can be written")
}
