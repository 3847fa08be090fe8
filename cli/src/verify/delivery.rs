//! Where a verdict goes: files that are asked for, the job of a forge, standard output.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
};

use holdpoint_verifier_agent::Findings;

use super::{report, verdict::ChangeVerdict};
use crate::{args::verify::VerifyArgs, failure::Failure, output};

/// What says that this is a job of GitHub Actions, and where its summary goes.
const GITHUB_JOB: &str = "GITHUB_ACTIONS";
const GITHUB_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

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
    write(&args.attest, &attestation)?;
    if std::env::var_os(GITHUB_JOB).is_some_and(|value| value == "true") {
        report::annotations(verdict).lines().for_each(output::err);
        if let Some(summary) = std::env::var_os(GITHUB_SUMMARY).map(PathBuf::from) {
            let appended = OpenOptions::new().append(true).create(true).open(&summary);
            let written = appended.and_then(|mut file| file.write_all(report::markdown(verdict).as_bytes()));
            written.map_err(|error| unwritable(&summary, &error))?;
        }
    }
    if args.json {
        output::json(verdict);
    } else {
        report::lines(verdict).iter().for_each(|line| output::out(line));
    }
    Ok(())
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
