//! What git work costs a waypoint, against plain git doing the same in the same run.
//!
//! Ours is what the product does, by the product's own code: the snapshot goes through a real broker into the mirrors
//! of a builder and of a verifier, who have nothing in common but the broker. Plain git is one `git clone
//! --no-hardlinks` on the same disk, a commit in it, a fetch of that commit into the repository and a second checkout:
//! no broker, no checks, no isolation.

mod history;
mod ours;
mod plain;
mod report;

use std::path::Path;

use holdpoint_sandbox::Tool;

use crate::{BenchError, Host, error::Doing as _};
use ours::Ours;

pub use report::{OursMs, PlainMs, Traffic, WorkspaceReport};

/// Times everything is measured; what is printed are medians. Both sides take turns, so that a busy moment hits both.
const ROUNDS: u32 = 5;
/// What the history is made from: the same figures make the same repository.
const SEED: u64 = 0x5eed;
/// Files that a waypoint changes.
const CHANGED: u32 = 5;

/// What to measure.
#[derive(Debug, Clone)]
pub struct WorkspaceArgs {
    /// Files in the repository.
    pub files: u32,
    /// Commits in its history.
    pub commits: u32,
}

/// Measures it.
///
/// # Errors
/// [`BenchError`].
pub async fn run(args: &WorkspaceArgs, host: &Host) -> Result<WorkspaceReport, BenchError> {
    host.in_folder(async |dir| Box::pin(measure(args, host, dir)).await).await
}

async fn measure(args: &WorkspaceArgs, host: &Host, dir: &Path) -> Result<WorkspaceReport, BenchError> {
    host.say(&format!("making a repository of {} files and {} commits", args.files, args.commits));
    let repo = dir.join("user");
    make_repository(&repo, args).await?;
    let ours = Ours::start(host, &dir.join("broker")).await?;
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        host.say(&format!("round {} of {ROUNDS}", round + 1));
        // A snapshot of its own each time: the broker takes no blob twice.
        let message = format!("round {round}");
        git(&repo, &["commit", "--quiet", "--allow-empty", "-m", &message]).await?;
        let (plain_dir, our_dir) = (dir.join("plain"), dir.join("ours"));
        let plain = plain::round(&repo, &plain_dir, args.files).await?;
        let ours = ours.round(&repo, &our_dir, args.files, round).await?;
        for used in [plain_dir, our_dir] {
            remove(&used)?;
        }
        rounds.push((plain, ours));
    }
    Ok(WorkspaceReport::of(args, rounds))
}

/// A repository as one that is worked with: packed, with its files checked out.
async fn make_repository(repo: &Path, args: &WorkspaceArgs) -> Result<(), BenchError> {
    create(repo)?;
    git(repo, &["init", "--quiet", "--initial-branch=main"]).await?;
    let stream = repo.join("stream");
    history::write(&stream, args, SEED).map_err(|source| BenchError::Io { path: stream.clone(), source })?;
    let import = Tool::new("sh").args(["-c", "git fast-import --quiet < stream && rm stream"]).dir(repo);
    import.run_ok().await.doing("make a repository")?;
    git(repo, &["repack", "-a", "-d", "-f", "--quiet"]).await?;
    git(repo, &["reset", "--quiet", "--hard"]).await?;
    Ok(())
}

/// Git as a user has it, but for who the user is; gives its answer.
async fn git(dir: &Path, args: &[&str]) -> Result<String, BenchError> {
    let mut tool = Tool::new("git").args(args).dir(dir).env("GIT_CONFIG_NOSYSTEM", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        tool = tool.env(format!("GIT_{role}_NAME"), "Bench").env(format!("GIT_{role}_EMAIL"), "bench@localhost");
    }
    let output = tool.run_ok().await.doing("run plain git")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// What an agent does: a line more in a few files, and a new one. `number` makes different changes.
fn edit(tree: &Path, files: u32, number: u32) -> Result<(), BenchError> {
    use std::io::Write as _;
    for nth in 0..CHANGED.min(files) {
        let path = tree.join(history::path(history::spread(nth + number * CHANGED, files)));
        let file = std::fs::File::options().append(true).open(&path);
        let written = file.and_then(|mut file| writeln!(file, "a line of waypoint {number}"));
        written.map_err(|source| BenchError::Io { path, source })?;
    }
    let path = tree.join(format!("new-{number}.txt"));
    std::fs::write(&path, format!("made by waypoint {number}\n")).map_err(|source| BenchError::Io { path, source })
}

fn create(dir: &Path) -> Result<(), BenchError> {
    std::fs::create_dir_all(dir).map_err(|source| BenchError::Io { path: dir.to_owned(), source })
}

fn remove(dir: &Path) -> Result<(), BenchError> {
    std::fs::remove_dir_all(dir).map_err(|source| BenchError::Io { path: dir.to_owned(), source })
}

/// Does something, and says how long it took, in milliseconds.
async fn timed<T>(work: impl Future<Output = Result<T, BenchError>>) -> Result<(T, f64), BenchError> {
    let begun = std::time::Instant::now();
    let done = work.await?;
    Ok((done, begun.elapsed().as_secs_f64() * 1e3))
}
