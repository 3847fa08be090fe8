//! What is handed off: a tree on the base, as git sees it.

use holdpoint_harness::{
    ask::Nobody,
    build_turn::{BuildTurnOutcome, Ready},
};
use holdpoint_protocol::{
    facts::{ChangeStatus, LeftOutKind},
    reason::ReasonCode,
};
use holdpoint_runtime::mirror::to_wire;
use holdpoint_workspace::{HANDOFF_REF, Import, InputLimits, Mirror, ObjectId};

use crate::support::{Shop, agent, failure, left, ready};

fn commit(ready: &Ready) -> &ObjectId {
    &ready.work.as_ref().unwrap().0
}

#[tokio::test]
async fn edits_become_one_commit_on_the_base() {
    let shop = Shop::new().await;
    let built =
        shop.run("echo two >> a.txt; rm run.sh; printf x > 'new file'; chmod +x 'new file'; echo x > x.log").await;
    let ready = ready(&built);
    assert_eq!(shop.mirror.parents(commit(ready)).await.unwrap(), std::slice::from_ref(&shop.base));
    assert_eq!(shop.mirror.tree_of(commit(ready)).await.unwrap(), ready.tree);
    assert_eq!(shop.text(&ready.tree, "a.txt").await.unwrap(), "one\ntwo\n");
    let touched: Vec<_> = ready.touched.iter().map(|c| (c.path.as_str(), c.status, c.new_mode.as_deref())).collect();
    let expected = [
        ("a.txt", ChangeStatus::Modified, Some("100644")),
        ("new file", ChangeStatus::Added, Some("100755")),
        ("run.sh", ChangeStatus::Deleted, None),
    ];
    assert_eq!(touched, expected);
    assert_eq!((ready.diff.files, ready.diff.insertions, ready.diff.deletions), (3, 2, 1));
    assert_eq!(built.exit_code, Some(0));
}

#[tokio::test]
async fn what_a_program_leaves_for_itself_is_no_work() {
    let shop = Shop::new().await;
    let leaving = "mkdir .cache; echo x > .cache/tags.db";
    for (command, touched) in [(leaving.to_owned(), &[][..]), (format!("{leaving}; echo two >> a.txt"), &["a.txt"])] {
        let workbench = shop.bench_with(&command, |program| program.ignore = vec!["/.cache".to_owned()]).await;
        let built = workbench.run(&shop.turn(), &agent(), &shop.mirror, &Nobody).await.unwrap();
        let ready = ready(&built);
        assert_eq!(ready.touched.iter().map(|change| change.path.as_str()).collect::<Vec<_>>(), touched);
        assert_eq!(ready.work.is_some(), !touched.is_empty());
    }
}

#[tokio::test]
async fn what_an_earlier_attempt_handed_off_is_work_whatever_this_program_leaves_for_itself() {
    let shop = Shop::new().await;
    let earlier = shop.run("mkdir .cache; echo work > .cache/made").await;
    let start = to_wire(commit(ready(&earlier)));
    let program = "echo x > .cache/tags.db; echo two >> a.txt";
    let workbench = shop.bench_with(program, |program| program.ignore = vec!["/.cache".to_owned()]).await;
    let turn = shop.turn_with(|request| request.start = start);
    let built = workbench.run(&turn, &agent(), &shop.mirror, &Nobody).await.unwrap();
    let touched: Vec<_> = ready(&built).touched.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(touched, [".cache/made", "a.txt"]);
}

#[tokio::test]
async fn the_bundle_brings_the_commit_to_whoever_has_the_base() {
    let shop = Shop::new().await;
    let built = shop.run("echo two >> a.txt").await;
    let (commit, bundle) = ready(&built).work.as_ref().unwrap();
    let other = Mirror::open_or_create(&shop.path("other"), shop.base.format(), InputLimits::default()).await.unwrap();
    let snapshot = shop.path("snapshot.bundle");
    let snapshot = Import { bundle: &snapshot, ref_name: holdpoint_workspace::SNAPSHOT_REF, base: None };
    other.import(snapshot).await.unwrap();
    let import = Import { bundle: &bundle.path, ref_name: HANDOFF_REF, base: Some(&shop.base) };
    assert_eq!(&other.import(import).await.unwrap(), commit);
}

#[tokio::test]
async fn the_same_result_gives_the_same_commit_with_the_agent_as_co_author() {
    let shop = Shop::new().await;
    let first = shop.run("echo two >> a.txt").await;
    let first = commit(ready(&first)).clone();
    let second = shop.run("echo two >> a.txt").await;
    assert_eq!(&first, commit(ready(&second)));
    let text = crate::support::git(shop.mirror.dir(), &["cat-file", "commit", first.as_str()]).await;
    assert!(text.contains("author Holdpoint <holdpoint@localhost> 1700000000 +0000"), "{text}");
    assert!(text.contains("\n\nw1: Do it\n\nCo-authored-by: builder builder-1 <builder-1@localhost>"), "{text}");
}

#[tokio::test]
async fn commits_of_the_agent_count_as_files_only() {
    let shop = Shop::new().await;
    let built = shop.run("echo two >> a.txt && git commit --quiet -am mine && echo three >> a.txt").await;
    let ready = ready(&built);
    assert_eq!(shop.mirror.parents(commit(ready)).await.unwrap(), std::slice::from_ref(&shop.base));
    assert_eq!(shop.text(&ready.tree, "a.txt").await.unwrap(), "one\ntwo\nthree\n");
}

#[tokio::test]
async fn no_change_is_no_commit() {
    let shop = Shop::new().await;
    let built = shop.run("echo two >> a.txt; echo one > a.txt; echo done").await;
    let ready = ready(&built);
    assert!(ready.work.is_none() && ready.touched.is_empty());
    assert_eq!(ready.tree, shop.mirror.tree_of(&shop.base).await.unwrap());
}

#[tokio::test]
async fn a_rework_starts_from_the_last_handoff_and_stays_one_commit_on_the_base() {
    let shop = Shop::new().await;
    let first = shop.run("echo two >> a.txt").await;
    let last = commit(ready(&first)).clone();
    drop(first);
    let turn = shop.turn_with(|request| request.start = to_wire(&last));
    let built = shop.workbench("echo three >> a.txt").await.run(&turn, &agent(), &shop.mirror, &Nobody).await.unwrap();
    let ready = ready(&built);
    assert_eq!(shop.text(&ready.tree, "a.txt").await.unwrap(), "one\ntwo\nthree\n");
    assert_eq!(shop.mirror.parents(commit(ready)).await.unwrap(), std::slice::from_ref(&shop.base));
}

#[tokio::test]
async fn a_program_that_begins_a_new_conversation_sees_what_was_done_so_far() {
    let shop = Shop::new().await;
    let program = "cat > prompt.txt; echo two >> a.txt; cp \"$HOLDPOINT_DIFF_FILE\" diff.txt || true";
    let first = shop.run(program).await;
    let prompt = shop.text(&ready(&first).tree, "prompt.txt").await.unwrap();
    assert!(!prompt.contains("What was done so far"), "{prompt}");
    let last = commit(ready(&first)).clone();
    drop(first);
    let turn = shop.turn_with(|request| request.start = to_wire(&last));
    let built = shop.workbench(program).await.run(&turn, &agent(), &shop.mirror, &Nobody).await.unwrap();
    let tree = &ready(&built).tree;
    let prompt = shop.text(tree, "prompt.txt").await.unwrap();
    assert!(prompt.contains("## What was done so far") && prompt.contains("\n+two\n"), "{prompt}");
    let patch = shop.text(tree, "diff.txt").await.unwrap();
    assert!(patch.starts_with("diff --git") && patch.contains("\n+two\n"), "{patch}");
}

#[tokio::test]
async fn what_cannot_be_a_tree_fails_the_turn() {
    let shop = Shop::new().await;
    for command in [
        "git init --quiet inner && echo x > inner/file",
        "rm a.txt && mkfifo a.txt",
        "mkdir -p sub && { test -p sub/.gitignore || mkfifo sub/.gitignore; }",
    ] {
        let built = shop.run(command).await;
        assert_eq!(failure(&built).reason, ReasonCode::HandoffInvalid, "{command}");
    }
}

#[tokio::test]
async fn a_failure_names_the_files_that_cannot_be_kept_and_all_others_are() {
    let shop = Shop::new().await;
    let made = "printf 'one\\ntwo\\n' > a.txt; git init --quiet inner; echo x > inner/file; mkdir -p sub sup
        test -p sub/.gitignore || mkfifo sub/.gitignore; echo x > 'sup/git~1'";
    for end in ["true", "exit 3"] {
        let built = shop.run(&format!("{made}; {end}")).await;
        assert_eq!(shop.text(left(&built), "a.txt").await.as_deref(), Some("one\ntwo\n"), "{end}");
        let BuildTurnOutcome::Failed(_, _, left_out) = &built.outcome else { panic!("{:?}", built.outcome) };
        let mut named: Vec<_> = left_out.iter().map(|one| (one.kind, one.what.as_str())).collect();
        named.sort();
        let wanted = ["inner", "sub/.gitignore", "sup/git~1"].map(|what| (LeftOutKind::Unfit, what));
        assert_eq!(named, wanted, "{end}: {left_out:?}");
    }
}

#[tokio::test]
async fn what_a_failed_turn_had_besides_is_named_as_that_of_a_handoff_is() {
    let shop = Shop::new().await;
    let made = "echo '*.log' > .gitignore; echo x > work.txt; echo x > notes.log; mkfifo queue";
    let built = shop.run(&format!("{made}; exit 3")).await;
    let BuildTurnOutcome::Failed(_, _, left_out) = &built.outcome else { panic!("{:?}", built.outcome) };
    let named: Vec<_> = left_out.iter().map(|one| (one.kind, one.what.as_str(), one.why.as_str())).collect();
    assert_eq!(
        named,
        [
            (LeftOutKind::Unfit, "queue", "a pipe, which no commit can hold"),
            (LeftOutKind::Ignored, "notes.log", "ignored by .gitignore:1 `*.log`"),
        ]
    );
    assert_eq!(ready(&shop.run(made).await).left_out, *left_out);
}

#[tokio::test]
async fn files_that_no_checkout_can_have_fail_the_turn_and_its_agent_is_told_why() {
    let shop = Shop::new().await;
    let deep = "d=$(printf '%0200d' 0); p=$d; for i in $(seq 17); do p=$p/$d; done; mkdir -p $p && echo x > $p/f";
    for (command, why) in [
        (deep, "the path is too long to be checked out"),
        ("mkdir -p sub && echo x > 'sub/git~1'", "taken for git's own folder"),
        ("ln -sf a.txt .GitModules", "a link in the place of a file that git reads"),
    ] {
        let built = shop.run(command).await;
        let failure = failure(&built);
        assert_eq!(failure.reason, ReasonCode::HandoffInvalid, "{command}");
        let told = failure.detail.lines().next().unwrap_or_default();
        assert!(told.starts_with("what the program left cannot be handed off (") && told.contains(why), "{told}");
    }
}

#[tokio::test]
async fn what_does_not_count_is_named_with_its_rule() {
    let shop = Shop::new().await;
    let turn = shop.turn_with(|request| request.ignore = vec!["*.orig".to_owned()]);
    let program = "mkdir -p __pycache__ && echo x > __pycache__/m.pyc && echo x > run.log && echo x > a.orig
        git checkout -q -b other && echo two >> a.txt && git commit -q -a -m work && git checkout -q work";
    let built = shop.workbench(program).await.run(&turn, &agent(), &shop.mirror, &Nobody).await.unwrap();
    let ready = ready(&built);
    assert!(ready.work.is_none(), "{ready:?}");
    let left_out: Vec<_> = ready.left_out.iter().map(|one| (one.what.as_str(), one.why.as_str())).collect();
    assert_eq!(
        left_out,
        [
            ("branch other", "1 commit that the files do not have"),
            ("a.orig", "ignored by the flight's rule `*.orig`"),
            ("run.log", "ignored by .gitignore:1 `*.log`"),
            ("__pycache__/", "compiled Python"),
        ]
    );
}
