//! What a program cannot reach, and what of it cannot outlive its turn.

use std::{
    fs::{File, TryLockError},
    path::Path,
    sync::Arc,
};

use holdpoint_harness::ask::Nobody;

use crate::support::{Shop, agent, make_executable, ready, wait_until};

#[tokio::test]
async fn state_other_turns_and_the_users_repository_are_out_of_reach() {
    let shop = Shop::new().await;
    std::fs::create_dir_all(shop.path("state/homes/verifier")).unwrap();
    std::fs::write(shop.path("state/homes/verifier/token"), "x").unwrap();
    let files = ["state/secret", "state/mirror/HEAD", "state/homes/verifier/token", "repo/a.txt", "repo/.git/HEAD"];
    let mut command = String::new();
    for file in files {
        assert!(shop.path(file).exists(), "{file}");
        command.push_str(&format!("cat '{}' >> stolen; ", shop.path(file).display()));
    }
    command.push_str("cat ../own/* >> stolen; echo x > ../input/more; ls ../.. > listed; true");
    // The whole temporary folder may be read: what is denied in it stays closed.
    let readable = shop.temp.path().to_owned();
    let workbench = shop.bench_with(&command, |program| program.read_paths.push(readable)).await;
    let built = workbench.run(&shop.turn(), &agent(), &shop.mirror, &Nobody).await.unwrap();
    let tree = &ready(&built).tree;
    assert_eq!(shop.text(tree, "stolen").await.unwrap(), "");
    assert!(!shop.text(tree, "listed").await.unwrap().contains("lock"));
    assert!(!shop.path("state/turns/flight1~w1/input/more").exists());
}

#[tokio::test]
async fn writes_outside_are_refused_and_configured_paths_are_open() {
    let shop = Shop::new().await;
    std::fs::create_dir(shop.path("shared")).unwrap();
    let command = format!("echo x > '{0}/shared/in'; echo x > '{0}/out'; true", shop.temp.path().display());
    let shared = shop.path("shared");
    let workbench = shop.bench_with(&command, |program| program.write_paths.push(shared)).await;
    workbench.run(&shop.turn(), &agent(), &shop.mirror, &Nobody).await.unwrap();
    assert!(shop.path("shared/in").exists() && !shop.path("out").exists());
}

#[tokio::test]
async fn nothing_that_is_planted_in_the_clone_runs_for_the_harness() {
    let shop = Shop::new().await;
    let canary = shop.path("canary");
    let trap = shop.path("trap.sh");
    std::fs::write(&trap, format!("#!/bin/sh\ntouch '{}'\ncat\n", canary.display())).unwrap();
    make_executable(&trap);
    let trap = trap.display();
    let command = format!(
        "git config core.fsmonitor '{trap}'; git config filter.x.clean '{trap}'; git config filter.x.smudge '{trap}'
         echo '*.x filter=x' > .gitattributes; : > new.x; mkdir -p .git/hooks .git/info
         echo '* filter=x' > .git/info/attributes
         for hook in pre-commit post-index-change post-commit reference-transaction; do ln -s '{trap}' .git/hooks/$hook; done
         echo two >> a.txt"
    );
    let built = shop.run(&command).await;
    assert_eq!(shop.text(&ready(&built).tree, "a.txt").await.unwrap(), "one\ntwo\n");
    assert!(!canary.exists());
}

/// Starts a program that survives its session, its parent and its closed pipes, and holds a lock as long as it lives.
const DAEMON: &str = "(setsid flock \"$HOME/alive\" sleep 600 </dev/null >/dev/null 2>&1 &)
    while flock --nonblock \"$HOME/alive\" true; do :; done";

#[tokio::test]
async fn a_daemon_ends_with_its_turn() {
    let shop = Shop::new().await;
    let built = shop.run(&format!("{DAEMON}; echo two >> a.txt")).await;
    assert!(ready(&built).work.is_some());
    assert!(is_free(&shop.path("state/homes/builder/alive")));
}

#[tokio::test]
async fn a_turn_that_is_dropped_ends_its_program_and_leaves_nothing_but_its_clone() {
    let shop = Arc::new(Shop::new().await);
    let alive = shop.path("state/homes/builder/alive");
    let running = tokio::spawn({
        let shop = Arc::clone(&shop);
        async move { shop.run(&format!("{DAEMON}; touch \"$HOME/started\"; sleep 600")).await }
    });
    wait_until(|| shop.path("state/homes/builder/started").exists()).await;
    assert!(!is_free(&alive));
    running.abort();
    assert!(running.await.is_err_and(|error| error.is_cancelled()));
    wait_until(|| is_free(&alive)).await;
    let left = std::fs::read_dir(shop.path("state/turns/flight1~w1")).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| !name.as_encoded_bytes().starts_with(b".")).collect();
    assert_eq!(left.len(), 2, "the clone, and what it started from: {left:?}");
}

fn is_free(file: &Path) -> bool {
    match File::options().write(true).open(file).unwrap().try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(error)) => panic!("{error}"),
    }
}
