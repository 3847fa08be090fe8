//! `forget`: putting a flight out of sight. Flights out of sight are remembered in the state folder of the repository
//! here.

use std::{collections::BTreeSet, fs, io};

use crate::{
    args::{Place, first::ForgetArgs},
    failure::{Exit, Failure},
    ground, output,
    people::find,
    state::{StateDir, unusable},
    target::Target,
    typed::in_text,
};

/// Where they are, one empty file each.
const FOLDER: &str = "forgotten";

/// Puts a flight out of sight, or lists it again.
pub(super) async fn forget(args: ForgetArgs) -> Result<Exit, Failure> {
    let target = Target::existing(&args.place).await?;
    let flight = target.serve(async |client| Ok(find::known(client, &args.flight).await?.flight)).await?;
    let state = ground::state(&ground::find(&args.place.repo).await?).await?;
    state.ensure()?;
    let file = state.folder(FOLDER)?.join(flight.as_str());
    let done = if args.undo { fs::remove_file(&file) } else { fs::write(&file, "") };
    let done = match done {
        Err(error) if args.undo && error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    };
    done.map_err(|error| unusable("write", &file, &error))?;
    output::out(&in_text(&if args.undo {
        format!("{flight} is listed again")
    } else {
        format!("{flight} is not listed any more; nothing of it was deleted (`holdpoint status --all`)")
    }));
    Ok(Exit::Success)
}

/// The flights that are out of sight here.
pub(super) async fn forgotten(place: &Place) -> Result<BTreeSet<String>, Failure> {
    let Ok(repo) = ground::find(&place.repo).await else { return Ok(BTreeSet::new()) };
    Ok(listed(&StateDir::of(&repo)?))
}

fn listed(state: &StateDir) -> BTreeSet<String> {
    let entries = fs::read_dir(state.path(FOLDER)).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}
