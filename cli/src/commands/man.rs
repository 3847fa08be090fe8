//! `man`: the help of every command as manual pages.

use clap::CommandFactory as _;

use crate::{
    args::{Cli, ManArgs},
    failure::{Exit, Failure},
};

/// Writes a page for each command.
pub(super) fn man(args: &ManArgs) -> Result<Exit, Failure> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
        .map(|()| Exit::Success)
        .map_err(|error| {
            let message = format!("cannot write {}: {error}", folder.display());
            Failure::environment("cannot_write", message, "name a folder that you may write to")
        })
}
