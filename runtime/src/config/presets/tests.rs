use super::*;

fn filled(adjust: impl FnOnce(&mut ProgramConfig)) -> ProgramConfig {
    let mut agents = AgentsConfig::default();
    adjust(&mut agents.builder);
    apply(&mut agents, |name| match name {
        "HOME" => Some("/home/u".to_owned()),
        "CODEX_HOME" => Some("/srv/codex".to_owned()),
        _ => None,
    });
    agents.builder
}

fn command(line: &str) -> ProgramConfig {
    filled(|program| program.command = Some(line.to_owned()))
}

#[test]
fn every_preset_is_found_by_its_name_and_is_whole() {
    for preset in &PRESETS {
        assert_eq!(preset.name.preset(), preset);
        assert_eq!(PresetName::of_command(preset.program), Some(preset.name));
        assert!(preset.command.starts_with(preset.program) && !preset.command.contains("  "));
        let resumes =
            preset.resume.is_none_or(|resume| resume.contains("{session}") && resume.starts_with(preset.program));
        assert!(resumes && preset.resume.is_none_or(|_| preset.settings.is_some()));
        let files = preset.settings.iter().flat_map(|folder| folder.files.iter().chain(folder.login));
        assert!(files.into_iter().all(|file| !file.contains('/')), "names of files, and no paths");
    }
}

#[test]
fn a_bare_name_is_a_preset_and_everything_else_stays_a_command_line() {
    let claude = command(" claude ");
    assert_eq!(claude.command.as_deref(), Some(PRESETS[0].command));
    assert_eq!((claude.dialect, claude.preset), (Dialect::Claude, Some(PresetName::Claude)));
    assert_eq!(claude.settings_dir.as_deref(), Some(std::path::Path::new("/home/u/.claude")));
    assert_eq!(command("aider").ignore, ["/.aider.tags.cache.v*"]);
    assert_eq!(command("codex").settings_dir.as_deref(), Some(std::path::Path::new("/srv/codex")));
    for other in ["./claude", "claude -p", "/usr/bin/claude", "sh -c claude"] {
        let program = command(other);
        assert_eq!((program.command.as_deref(), program.dialect, program.preset), (Some(other), Dialect::Plain, None));
    }
}

#[test]
fn what_the_configuration_says_goes_before_the_preset() {
    let program = filled(|program| {
        program.preset = Some(PresetName::Claude);
        program.command = Some("claude -p --model x".to_owned());
        program.env.0.insert("IS_SANDBOX".to_owned(), "0".to_owned());
        program.pass_env = vec!["MINE".to_owned(), "ANTHROPIC_API_KEY".to_owned()];
    });
    assert_eq!((program.command.as_deref(), program.resume), (Some("claude -p --model x"), None));
    assert_eq!((program.env.0["IS_SANDBOX"].as_str(), program.dialect), ("0", Dialect::Claude));
    assert_eq!(program.pass_env.iter().filter(|name| *name == "ANTHROPIC_API_KEY").count(), 1);
    assert!(program.pass_env.contains(&"MINE".to_owned()));
}

#[test]
fn another_program_of_the_role_gets_nothing_of_the_first_ones_preset() {
    let mut agents = AgentsConfig { builder: command("claude"), ..AgentsConfig::default() };
    agents.builder.pass_env.push("MINE".to_owned());
    agents.builder.network = false;
    agents.builder.leave();
    assert_eq!((agents.builder.pass_env.as_slice(), agents.builder.network), (&["MINE".to_owned()][..], false));
    agents.builder.command = Some("codex".to_owned());
    apply(&mut agents, |_| None);
    let codex = PresetName::Codex.preset();
    assert_eq!((agents.builder.dialect, agents.builder.resume.as_deref()), (codex.dialect, codex.resume));
    assert!(!agents.builder.pass_env.contains(&"ANTHROPIC_API_KEY".to_owned()));
}

#[test]
fn filling_in_twice_changes_nothing() {
    for preset in &PRESETS {
        let once = command(preset.program);
        assert_eq!(filled(|program| *program = once.clone()), once);
    }
}

#[test]
fn a_judge_does_without_the_settings_of_the_tree() {
    let mut agents = AgentsConfig::default();
    agents.verifier.judge = Some("claude".to_owned());
    apply(&mut agents, |_| None);
    let VerifierConfig { judge, judge_resume, judge_dialect, judge_pass_env, pass_env, .. } = agents.verifier;
    let (judge, resume) = (judge.unwrap(), judge_resume.unwrap());
    assert!(judge.starts_with("IS_SANDBOX=1 DISABLE_AUTOUPDATER=1 "));
    assert_eq!(resume, format!("{judge} --resume {{session}}"), "the same walls in the same conversation");
    assert_eq!(judge_dialect, Dialect::Claude);
    assert!(judge_pass_env.contains(&"ANTHROPIC_API_KEY".to_owned()) && pass_env.is_empty());
}

/// The table of `docs/agents.md`, a row for each preset.
fn table() -> String {
    let listed = |words: Vec<String>| match words.is_empty() {
        true => "none".to_owned(),
        false => words.join(", "),
    };
    let code = |word: &str| format!("`{}`", word.replace('|', "\\|"));
    let rows = PRESETS.iter().map(|preset| {
        let Preset { command, dialect, resume, judge, ignore, pass_env, settings, guidance, .. } = preset;
        let variables = pass_env.iter().filter(|name| !["HTTPS_PROXY", "NO_PROXY"].contains(name));
        let files = settings.iter().flat_map(|folder| folder.files).map(|file| code(file)).collect();
        let files = settings.as_ref().map_or_else(
            || "none".to_owned(),
            |folder| {
                format!("{} of {} or {}", listed(files), code(folder.variable), code(&format!("~/{}", folder.default)))
            },
        );
        let login = settings.iter().flat_map(|folder| folder.login).map(|file| code(file)).collect();
        let goes_on = if resume.is_some() || *dialect == Dialect::Acp { "yes" } else { "no" };
        let judges = if judge.is_some() { "yes" } else { "no" };
        let cells = [
            code(preset.program),
            code(command),
            code(&format!("{dialect:?}").to_lowercase()),
            goes_on.to_owned(),
            judges.to_owned(),
            listed(variables.map(|name| code(name)).collect()),
            files,
            listed(login),
            listed(guidance.iter().map(|file| code(file)).collect()),
            listed(ignore.iter().map(|pattern| code(pattern)).collect()),
        ];
        format!("| {} |\n", cells.join(" | "))
    });
    let heading = "| name | command line | dialect | goes on | judges | variables of yours that it gets | settings that a turn gets copies \
                   of | its login (`--with-login`) | guidance that it reads in the repository | files of its own that are no work \
                   |\n|---|---|---|---|---|---|---|---|---|---|\n";
    std::iter::once(heading.to_owned()).chain(rows).collect()
}

/// The table of those without a preset.
fn table_of_unflown() -> String {
    let rows = UNFLOWN.iter().map(|agent| format!("| `{}` | `{}` |\n", agent.program, agent.instead("--builder")));
    std::iter::once("| name without a preset | type |\n|---|---|\n".to_owned()).chain(rows).collect()
}

#[test]
fn guidance_of_every_agent_is_a_steering_file_and_its_modes_are_of_one_kind() {
    let aside = holdpoint_evidence::paths::SetAside::among([]);
    for preset in &PRESETS {
        for file in preset.guidance {
            assert!(aside.path(file.as_bytes()).is_some(), "{} reads {file}", preset.program);
        }
        assert!(preset.modes.iter().all(|(id, kind)| mode_kind(id) == Some(*kind)), "{}", preset.program);
        assert!(preset.settings.is_none_or(|folder| !folder.logs_in.is_empty()) && !preset.keys().is_empty());
    }
}

#[test]
fn a_name_without_a_preset_has_a_command_line_to_type_and_none_of_a_preset_is_among_them() {
    assert_eq!(
        UnflownAgent::of_command(" goose ").unwrap().instead("--agent reviewer="),
        "--agent reviewer='goose acp' --dialect acp --pass-env GOOSE_PROVIDER"
    );
    assert_eq!(UnflownAgent::of_command("vibe").unwrap().instead("--builder"), "--builder vibe-acp");
    assert!(UnflownAgent::of_command("goose run").is_none());
    for agent in &UNFLOWN {
        assert!(PresetName::of_command(agent.program).is_none(), "{}", agent.program);
        assert!(agent.dialect.is_some() || PresetName::of_command(agent.command).is_some(), "{}", agent.program);
    }
}

#[test]
fn a_variable_of_the_user_that_a_preset_passes_goes_before_the_one_that_it_sets() {
    let of = |own: Option<&str>| {
        let mut agents = AgentsConfig::default();
        agents.builder.command = Some("claude-agent-acp".to_owned());
        apply(&mut agents, |name| own.filter(|_| name == "CLAUDE_CODE_MAX_RETRIES").map(str::to_owned));
        agents.builder.env.0.get("CLAUDE_CODE_MAX_RETRIES").cloned()
    };
    assert_eq!((of(None).as_deref(), of(Some("9"))), (Some("3"), None));
}

#[test]
fn the_page_about_agents_has_the_table_of_presets() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/agents.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let replaced = |text: &str, heading: &str, table: &str| {
        let (before, rest) = text.split_once(heading).unwrap();
        let (_, after) = rest.split_once("\n\n").unwrap();
        format!("{before}{table}\n{after}")
    };
    let wanted = replaced(&text, "| name | command line |", &table());
    let wanted = replaced(&wanted, "| name without a preset |", &table_of_unflown());
    if std::env::var_os("HOLDPOINT_UPDATE_GOLDEN").is_some() {
        std::fs::write(&page, &wanted).unwrap();
    }
    assert!(text == wanted, "docs/agents.md differs: HOLDPOINT_UPDATE_GOLDEN=1 writes it");
}
