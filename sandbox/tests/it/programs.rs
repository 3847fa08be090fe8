//! Honest programs work: shells, python, git, cargo.

use std::path::{Path, PathBuf};

use holdpoint_sandbox::{Ended, ProgramInput, SandboxError, toolchain_paths};

use crate::lab::{Lab, text};

#[tokio::test]
async fn exit_codes_and_signals_are_told_apart() {
    for lab in Lab::both() {
        for (line, ended) in [
            ("exit 0", Ended::Exited(0)),
            ("exit 125", Ended::Exited(125)),
            ("no-such-program", Ended::Exited(127)),
            ("kill -TERM $$", Ended::Signalled(15)),
            ("kill -SEGV $$", Ended::Signalled(11)),
        ] {
            assert_eq!(lab.run(line).await.ended, ended, "{line}");
        }
    }
}

#[tokio::test]
async fn environment_is_exactly_as_given() {
    for lab in Lab::both() {
        let mut command = lab.command("");
        command.argv = vec!["/usr/bin/env".to_owned()];
        command.env = [("ONLY".to_owned(), "this one".to_owned())].into();
        let outcome = lab.sandbox.run(&command, None).await.unwrap();
        assert_eq!(text(&outcome.stdout), "ONLY=this one\n");
    }
}

#[tokio::test]
async fn input_is_passed_on_and_ends() {
    for lab in Lab::both() {
        std::fs::write(lab.tree().join("prompt"), "from a file").unwrap();
        let big = vec![b'x'; 1_000_000];
        for (stdin, expected) in [
            (ProgramInput::Empty, Vec::new()),
            (ProgramInput::Bytes(big.clone()), big),
            (ProgramInput::File(lab.tree().join("prompt")), b"from a file".to_vec()),
        ] {
            let mut command = lab.command("cat");
            command.stdin = stdin;
            let outcome = lab.sandbox.run(&command, None).await.unwrap();
            assert!(outcome.stdout == expected && outcome.ended == Ended::Exited(0));
        }
        let mut unread = lab.command("exit 4");
        unread.stdin = ProgramInput::Bytes(vec![b'x'; 1_000_000]);
        assert_eq!(lab.sandbox.run(&unread, None).await.unwrap().ended, Ended::Exited(4));
    }
}

#[tokio::test]
async fn program_that_cannot_be_started_is_an_error() {
    for lab in Lab::both() {
        let mut missing = lab.command("");
        missing.argv = vec!["/usr/bin/no-such-program".to_owned()];
        assert!(matches!(lab.sandbox.run(&missing, None).await, Err(SandboxError::NotStarted { .. })));
        let mut elsewhere = lab.command("pwd");
        elsewhere.dir = lab.outside().join("missing");
        assert!(matches!(lab.sandbox.run(&elsewhere, None).await, Err(SandboxError::NotStarted { .. })));
    }
}

#[tokio::test]
async fn git_python_and_bash_work() {
    for lab in Lab::both() {
        let git = "git init -q repo && cd repo && echo a > a && git add a && \
                   git -c user.name=n -c user.email=e@e commit -qm m && git log --format=%s";
        assert_eq!(lab.ok(&format!("export HOME=$PWD; {git}")).await, "m\n");
        assert_eq!(lab.ok("bash -c 'cat <(echo sub) | tee >(cat > copy)'").await, "sub\n");
        let threads = "import subprocess,threading; t=threading.Thread(target=print,args=(1,)); t.start(); t.join(); \
                       print(subprocess.check_output([\"echo\",\"2\"]).decode())";
        assert_eq!(lab.ok(&format!("/usr/bin/python3 -c '{threads}'")).await.trim(), "1\n2");
    }
}

#[tokio::test]
async fn cargo_tests_a_read_only_tree() {
    let path = std::env::var_os("PATH").unwrap();
    let home = PathBuf::from(std::env::var_os("HOME").unwrap());
    let tools = toolchain_paths(&path, &home);
    for mut lab in Lab::both() {
        crate_at(&lab.tree());
        lab.profile.read.extend(tools.read.clone());
        lab.profile.deny.extend(tools.deny.clone());
        let mut command = lab.command("cargo test --offline --locked 2>&1");
        command.dir = lab.tree();
        command.env.extend(tools.env.iter().map(|(key, value)| (key.clone(), value.display().to_string())));
        command.env.insert("PATH".to_owned(), path.to_string_lossy().into_owned());
        command.env.insert("HOME".to_owned(), lab.scratch().display().to_string());
        command.env.insert("TMPDIR".to_owned(), lab.scratch().display().to_string());
        command.env.insert("CARGO_TARGET_DIR".to_owned(), lab.scratch().join("target").display().to_string());
        let outcome = lab.sandbox.run(&command, None).await.unwrap();
        assert_eq!(outcome.ended, Ended::Exited(0), "{}", text(&outcome.stdout));
        assert!(text(&outcome.stdout).contains("1 passed"));
        assert!(!lab.tree().join("target").exists());
    }
}

fn crate_at(dir: &Path) {
    std::fs::create_dir(dir.join("src")).unwrap();
    std::fs::write(dir.join("Cargo.toml"), "[package]\nname = \"one\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")
        .unwrap();
    std::fs::write(dir.join("Cargo.lock"), "version = 4\n\n[[package]]\nname = \"one\"\nversion = \"0.1.0\"\n")
        .unwrap();
    std::fs::write(dir.join("src/lib.rs"), "#[test]\nfn works() {}\n").unwrap();
}
