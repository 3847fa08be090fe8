//! What a program can read and write, and what it cannot.

use holdpoint_sandbox::{Property, SandboxError};

use crate::lab::Lab;

#[tokio::test]
async fn writes_outside_are_refused() {
    for lab in Lab::both() {
        let victim = lab.outside().join("victim");
        std::fs::write(&victim, "kept").unwrap();
        for line in ["echo x > {}", "rm {}", "mv {} ./taken", "ln {} ./linked", "truncate -s 0 {}", "echo x > {}.new"] {
            lab.refused(&line.replace("{}", &victim.display().to_string())).await;
        }
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "kept");
        assert_eq!(lab.outside().read_dir().unwrap().count(), 1);
        lab.ok("echo x > mine && mkdir -p a/b && mv mine a/b/mine && rm -r a").await;
    }
}

#[tokio::test]
async fn reads_outside_are_refused() {
    for lab in Lab::both() {
        let secret = lab.outside().join("secret");
        std::fs::write(&secret, "hush").unwrap();
        lab.refused(&format!("cat {}", secret.display())).await;
        lab.refused(&format!("ln -s {} link && cat link", secret.display())).await;
        lab.refused("cat /etc/shadow").await;
        lab.refused("ls /root").await;
        lab.ok("cat /etc/passwd").await;
    }
}

#[tokio::test]
async fn denied_path_below_a_readable_tree_is_out_of_reach() {
    for mut lab in Lab::both() {
        std::fs::create_dir_all(lab.tree().join("state/turns")).unwrap();
        std::fs::write(lab.tree().join("state/key"), "hush").unwrap();
        std::fs::write(lab.tree().join("token"), "hush").unwrap();
        std::fs::write(lab.tree().join("open"), "fine").unwrap();
        lab.profile.deny = vec![lab.tree().join("state"), lab.tree().join("token")];
        let tree = lab.tree().display().to_string();
        lab.refused(&format!("grep hush {tree}/state/key")).await;
        lab.refused(&format!("grep hush {tree}/token")).await;
        assert_eq!(lab.ok(&format!("cat {tree}/open")).await, "fine");
    }
}

#[tokio::test]
async fn own_tree_inside_a_denied_one_is_open() {
    for mut lab in Lab::both() {
        let mine = lab.tree().join("state/turns/mine");
        std::fs::create_dir_all(&mine).unwrap();
        std::fs::write(lab.tree().join("state/key"), "hush").unwrap();
        lab.profile.deny = vec![lab.tree().join("state")];
        lab.profile.write.push(mine.clone());
        lab.ok(&format!("echo x > {}/result", mine.display())).await;
        lab.refused(&format!("cat {}/state/key", lab.tree().display())).await;
    }
}

#[tokio::test]
async fn path_below_a_writable_tree_is_closed_by_mounts_or_refused() {
    let [mut full, mut plain] = Lab::both();
    for lab in [&mut full, &mut plain] {
        std::fs::create_dir(lab.scratch().join("closed")).unwrap();
        std::fs::write(lab.scratch().join("closed/key"), "hush").unwrap();
        lab.profile.deny = vec![lab.scratch().join("closed")];
    }
    full.refused("cat closed/key").await;
    let error = plain.sandbox.run(&plain.command("true"), None).await.unwrap_err();
    let SandboxError::NotEnforceable { properties } = error else { panic!("{error}") };
    assert_eq!(properties, [Property::NoWritesOutside, Property::NoReadsOutside]);
}

#[tokio::test]
async fn readable_tree_cannot_be_changed() {
    let [full, plain] = Lab::both();
    for lab in [&full, &plain] {
        let file = lab.tree().join("file");
        std::fs::write(&file, "as it was").unwrap();
        for line in ["echo x > {}", "rm {}", "echo x > {}.new", "truncate -s 0 {}"] {
            lab.refused(&line.replace("{}", &file.display().to_string())).await;
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "as it was");
    }
    for line in ["chmod 777 {}/file", "touch -d 2001-01-01 {}/file", "chmod 700 {}"] {
        full.refused(&line.replace("{}", &full.tree().display().to_string())).await;
    }
}

#[tokio::test]
async fn settings_of_the_machine_cannot_be_changed() {
    for lab in Lab::both() {
        lab.refused("cat /proc/sys/kernel/hostname > /proc/sys/kernel/hostname").await;
        lab.refused("mount -t tmpfs none /usr").await;
        lab.refused("unshare -Ur true").await;
    }
}

#[tokio::test]
async fn private_folders_end_with_the_program() {
    let lab = Lab::full();
    lab.ok("echo x > /tmp/left && echo x > /dev/shm/left").await;
    lab.ok("test ! -e /tmp/left && test ! -e /dev/shm/left").await;
}

#[tokio::test]
async fn a_tree_is_shown_at_one_path_wherever_it_is_on_the_machine() {
    for folder in ["here", "there"] {
        let lab = Lab::full();
        let real = lab.scratch().join(folder);
        std::fs::create_dir(&real).unwrap();
        let mut command = lab.command(&format!("pwd > at && test ! -e {} && ! touch ../x", real.display()));
        (command.dir, command.shown) = (real.clone(), Some("/hold/w1".into()));
        command.profile.write = vec![real.clone()];
        let outcome = lab.sandbox.run(&command, None).await.unwrap();
        assert_eq!(outcome.ended, holdpoint_sandbox::Ended::Exited(0), "{}", String::from_utf8_lossy(&outcome.stderr));
        assert_eq!(std::fs::read_to_string(real.join("at")).unwrap().trim(), "/hold/w1");
    }
    let lab = Lab::plain();
    let mut command = lab.command("pwd > at");
    command.shown = Some("/hold/w1".into());
    assert_eq!(lab.sandbox.run(&command, None).await.unwrap().ended, holdpoint_sandbox::Ended::Exited(0));
    let at = std::fs::read_to_string(lab.scratch().join("at")).unwrap();
    assert_eq!(
        at.trim(),
        lab.scratch().canonicalize().unwrap().display().to_string(),
        "without namespaces it is where it is"
    );
}
