//! `revise`: a person edits the document of a gate, in a file or in their editor.

use std::{
    fs,
    path::{Path, PathBuf},
};

use holdpoint_planfile::document::RENDERED_BYTES_MAX;
use holdpoint_protocol::artifact::Verb;
use holdpoint_sandbox::beside;

use super::{act::report, run::print};
use crate::{
    args::revise::ReviseArgs,
    bounded,
    client::Client,
    documents::{self, revise::revise as perform},
    failure::{Exit, Failure},
    output,
    people::act::About,
    target::Target,
    temporary,
};

/// The editor of a person who names none.
const EDITOR: &str = "vi";
/// What somebody does whose editor does not open.
const HINT: &str =
    "set $EDITOR to your editor, or edit the file of `holdpoint artifact REF --markdown` and name it with --from";
/// The file that is edited.
const FILE: &str = "document.md";

/// Revises a document.
pub(super) async fn revise(args: ReviseArgs) -> Result<Exit, Failure> {
    let ReviseArgs { reference, from, acting, .. } = args;
    let given = from.as_deref().map(read).transpose()?;
    let target = Target::for_person(&acting.place, acting.person.as_ref()).await?;
    let local = target.fleet.is_some();
    let work = async |client: &Client| {
        let old = documents::find(client, &reference).await?;
        let (about, is_changed) = match (&given, &from) {
            (Some(bytes), Some(file)) => perform(client, &old, &file.display().to_string(), bytes).await?,
            _ => in_editor(client, &old).await?,
        };
        Ok((is_changed, client.status(&about.flight).await?, about))
    };
    let (is_changed, view, about) = target.serve(work).await?;
    if is_changed {
        return report(&acting, Verb::Revise, &about, &view, local).await;
    }
    if acting.json {
        print(&view, true);
    }
    output::err("nothing was changed, and nothing is sent");
    Ok(Exit::Success)
}

/// The file; of standard input all.
fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    bounded::read_or_stdin(file, RENDERED_BYTES_MAX).map_err(|error| {
        let message = format!("cannot read {}: {error}", file.display());
        Failure::usage("unreadable", message, "name the file that you edited")
    })
}

/// Has the document edited. What a person wrote is kept where it could not be taken.
async fn in_editor(client: &Client, old: &documents::PlacedDocument) -> Result<(About, bool), Failure> {
    let folder = temporary::folder()?;
    let file = folder.path().join(FILE);
    let write = |path: &Path, bytes: &[u8]| {
        let unwritten = |error| {
            Failure::environment("unwritable", format!("cannot write {}: {error}", path.display()), "make room there")
        };
        fs::write(path, bytes).map_err(unwritten)
    };
    write(&file, documents::rendered(&old.document)?.as_bytes())?;
    let opened = file.clone();
    let edited = tokio::task::spawn_blocking(move || edit(&opened)).await;
    edited.map_err(|error| Failure::environment("editor", error.to_string(), HINT))??;
    let written = read(&file)?;
    let done = perform(client, old, FILE, &written).await;
    if done.is_err() {
        let kept = kept_at(&old.document.reference);
        write(&kept, &written)?;
        let kept = kept.display();
        output::err(&format!("what you wrote is kept in {kept}: correct it there, and send it with `--from {kept}`"));
    }
    done
}

/// Where text is kept that could not be taken: in the current folder, under a name that is free.
fn kept_at(reference: &str) -> PathBuf {
    let name = reference.replace('/', "-").to_lowercase();
    let names = std::iter::once(format!("{name}.md")).chain((2..).map(|n| format!("{name}-{n}.md")));
    names.map(PathBuf::from).find(|path| !path.exists()).unwrap_or_default()
}

/// Opens a file in its person's editor, and waits.
fn edit(file: &Path) -> Result<(), Failure> {
    let named = ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|line| !line.trim().is_empty()));
    let line = named.unwrap_or_else(|| EDITOR.to_owned());
    match beside::in_terminal(&line, &[file.as_os_str()]) {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::usage("editor", format!("`{line}` ended with {status}: nothing is sent"), HINT)),
        Err(error) => Err(Failure::environment("editor", format!("cannot start `{line}`: {error}"), HINT)),
    }
}
