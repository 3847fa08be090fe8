//! `~/` at the beginning of configured paths: people write it, and no shell stands in between.

use std::path::{Path, PathBuf};

use super::Config;

/// Replaces `~/` by the user's home folder in every configured path.
pub(super) fn expand(config: &mut Config, home: &Path) {
    let agents = &mut config.agents;
    for list in [&mut agents.verifier.read_paths, &mut agents.verifier.deny_paths] {
        list.iter_mut().for_each(|path| expand_path(path, home));
    }
    for (_, program) in agents.programs_mut() {
        if let Some(path) = &mut program.settings_dir {
            expand_path(path, home);
        }
        for list in [&mut program.read_paths, &mut program.write_paths, &mut program.deny_paths] {
            list.iter_mut().for_each(|path| expand_path(path, home));
        }
    }
    let single = [&mut config.agent.state_dir, &mut config.orchestrator.state_dir];
    let nats = &mut config.nats;
    let files = [
        &mut nats.creds,
        &mut nats.creds_dir,
        &mut nats.trust,
        &mut nats.tls.ca,
        &mut nats.tls.cert,
        &mut nats.tls.key,
        &mut config.health.file,
        &mut config.notify.webhook_token_file,
    ];
    let files = files.into_iter().flatten();
    for path in single.into_iter().chain(files) {
        expand_path(path, home);
    }
    if let Some(program) = config.notify.command.first_mut()
        && let Some(rest) = program.strip_prefix("~/")
    {
        *program = home.join(rest).to_string_lossy().into_owned();
    }
}

fn expand_path(path: &mut PathBuf, home: &Path) {
    if let Ok(rest) = path.strip_prefix("~") {
        *path = home.join(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leading_tilde_is_the_home_folder_and_any_other_is_a_name() {
        let mut config = Config::default();
        config.agents.builder.read_paths = ["~/.claude", "~", "/a/~/b", "~other"].map(PathBuf::from).to_vec();
        config.notify.command = ["~/bin/tell", "~/x"].map(str::to_owned).to_vec();
        expand(&mut config, Path::new("/home/me"));
        let expected = ["/home/me/.claude", "/home/me/", "/a/~/b", "~other"].map(PathBuf::from);
        assert_eq!(config.agents.builder.read_paths, expected);
        assert_eq!(config.notify.command, ["/home/me/bin/tell", "~/x"], "arguments are passed as they are");
    }
}
