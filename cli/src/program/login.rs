//! Whether a coding agent has a login where turns run: a key in a variable, or its own login, which a turn gets only where that is asked
//! for. Nothing is sent: whether the provider takes it shows in the first turn.

use std::{collections::BTreeMap, path::Path};

use holdpoint_runtime::config::{ProgramConfig, presets::Preset};
use serde::Serialize;

/// How a program logs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Login {
    /// By a key in a variable that turns get.
    Key,
    /// By its own login, of which turns get a copy.
    Passed,
    /// Its own login is here, and turns do not get it.
    KeptBack,
    /// There is none.
    Missing,
}

impl Login {
    /// How the program of a preset logs in; `None`: nobody here knows where its login is.
    pub(crate) fn of(preset: &Preset, program: &ProgramConfig, own_env: &BTreeMap<String, String>) -> Option<Self> {
        let passed = program.pass_env.iter().filter_map(|name| own_env.get_key_value(name));
        let set = passed.chain(&program.env.0).any(|(name, value)| Preset::is_key(name) && !value.is_empty());
        if set {
            return Some(Self::Key);
        }
        let (folder, dir) = (preset.settings.as_ref()?, program.settings_dir.as_deref());
        let has = |dir: &Path| folder.login.iter().any(|name| dir.join(name).is_file());
        Some(match (dir.is_some_and(has), program.with_login) {
            (true, true) => Self::Passed,
            (true, false) => Self::KeptBack,
            (false, _) => Self::Missing,
        })
    }

    /// What a person should know of it; `None`: nothing is to be done.
    pub(crate) fn problem(self, preset: &Preset) -> Option<String> {
        let program = preset.program;
        match self {
            Self::Key | Self::Passed => None,
            Self::KeptBack => Some(format!(
                "{program} has a login here, and turns do not get it: name --with-login, or set {}",
                preset.keys().join(" or ")
            )),
            Self::Missing => Some(format!("{program} has no login here: {}", preset.login_advice())),
        }
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_runtime::config::presets::PresetName;

    use super::*;

    #[test]
    fn a_key_a_login_that_is_passed_one_that_is_not_and_none_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let preset = PresetName::Claude.preset();
        let mut program = ProgramConfig { settings_dir: Some(dir.path().to_owned()), ..ProgramConfig::default() };
        program.pass_env = vec!["ANTHROPIC_API_KEY".to_owned(), "HTTPS_PROXY".to_owned()];
        let mut own = BTreeMap::from([("HTTPS_PROXY".to_owned(), "http://p".to_owned())]);
        assert_eq!(Login::of(preset, &program, &own), Some(Login::Missing));
        std::fs::write(dir.path().join(".credentials.json"), "{}").unwrap();
        assert_eq!(Login::of(preset, &program, &own), Some(Login::KeptBack));
        program.with_login = true;
        assert_eq!(Login::of(preset, &program, &own), Some(Login::Passed));
        own.insert("ANTHROPIC_API_KEY".to_owned(), "k".to_owned());
        assert_eq!(Login::of(preset, &program, &own), Some(Login::Key));
        assert_eq!(Login::of(PresetName::Aider.preset(), &ProgramConfig::default(), &own), None);
        let words = Login::KeptBack.problem(preset).unwrap();
        assert!(words.contains("--with-login") && words.contains("ANTHROPIC_API_KEY"), "{words}");
    }
}
