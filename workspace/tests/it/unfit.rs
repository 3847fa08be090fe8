//! Trees that no working tree can have are refused, no matter who sends them.

use std::path::{Path, PathBuf};

use holdpoint_sandbox::Tool;
use holdpoint_workspace::{HANDOFF_REF, Import};

use crate::support::{Workbench, foreign_bundle, git};

/// Writes trees and a commit of them as git stores them, whatever git thinks of them, and puts `HEAD` there. Each line of
/// input is `<mode> <name> <text or ->`; `-` stands for a folder with one file.
const COMMIT: &str = r#"
import binascii, subprocess, sys
def store(kind, data):
    call = ['git', 'hash-object', '-t', kind, '-w', '--literally', '--stdin']
    return subprocess.run(call, input=data, capture_output=True, check=True).stdout.strip()
def entry(mode, name, oid): return mode + b' ' + name + b'\0' + binascii.unhexlify(oid)
blob = store('blob', b'text')
entries = b''
for line in sys.stdin.buffer.read().splitlines():
    mode, name, text = line.split(b' ', 2)
    oid = store('tree', entry(b'100644', b'f', blob)) if text == b'-' else store('blob', text)
    entries += entry(mode, name, oid)
parent = subprocess.run(['git', 'rev-parse', 'HEAD'], capture_output=True, check=True).stdout.strip()
who = b' A <a@b> 1 +0000\n'
commit = b'tree ' + store('tree', entries) + b'\nparent ' + parent + b'\nauthor' + who + b'committer' + who + b'\nodd\n'
subprocess.run(['git', 'update-ref', '--no-deref', 'HEAD', store('commit', commit)], check=True)
"#;

async fn commit(workbench: &Workbench, name: &str, entries: &str) -> PathBuf {
    let clone = workbench.path(name);
    git(workbench.temp.path(), &["clone", "--quiet", "--no-local", workbench.repo.to_str().unwrap(), name]).await;
    Tool::new("python3").dir(&clone).args(["-c", COMMIT]).stdin(entries).run_ok().await.unwrap();
    clone
}

async fn refused(workbench: &Workbench, bundle: &Path, as_handoff: bool) -> bool {
    let base = as_handoff.then_some(&workbench.base);
    let import = Import { bundle, ref_name: HANDOFF_REF, base };
    workbench.mirror.import(import).await.is_err_and(|error| error.is_refusal())
}

#[tokio::test]
async fn handoffs_and_snapshots_with_trees_that_cannot_be_checked_out_are_refused() {
    let workbench = Workbench::new().await;
    let (long, target) = ("n".repeat(256), "t".repeat(4_096));
    let cases = [
        ("long-name", format!("100644 {long} x")),
        ("long-target", format!("120000 link {target}")),
        ("short-git", "40000 git~1 -".to_owned()),
        ("capital-git", "40000 .GIT -".to_owned()),
        ("hidden-git", "40000 .g\u{200c}it -".to_owned()),
        ("modules-link", "120000 .gitmodules x".to_owned()),
        ("twice", "100644 a x\n100644 a y".to_owned()),
        ("file-and-folder", "100644 a x\n40000 a -".to_owned()),
        ("slash", "100644 a/b x".to_owned()),
        ("dots", "40000 .. -".to_owned()),
    ];
    let mut taken = Vec::new();
    for (name, entries) in cases {
        let clone = commit(&workbench, name, &entries).await;
        let out = workbench.path(&format!("{name}.bundle"));
        foreign_bundle(&clone, &workbench.base, &[HANDOFF_REF], &out).await;
        for as_handoff in [true, false] {
            if !refused(&workbench, &out, as_handoff).await {
                taken.push((name, as_handoff));
            }
        }
    }
    assert_eq!(taken, []);
}

#[tokio::test]
async fn odd_but_usable_names_are_taken() {
    let workbench = Workbench::new().await;
    let name = "n".repeat(255);
    let clone =
        commit(&workbench, "usable", &format!("100644 .gitmodules2 x\n100644 {name} x\n120000 zlink target")).await;
    let out = workbench.path("usable.bundle");
    foreign_bundle(&clone, &workbench.base, &[HANDOFF_REF], &out).await;
    for as_handoff in [true, false] {
        assert!(!refused(&workbench, &out, as_handoff).await);
    }
}
