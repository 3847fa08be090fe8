//! What a program can read and write, and what it cannot.

use holdpoint_sandbox::{Overlaid, Property, SandboxError, ShownTree};

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
        let shown = ShownTree { tree: real.clone(), at: "/hold/w1".into(), over: None };
        (command.dir, command.shown) = (real.clone(), vec![shown]);
        command.profile.write = vec![real.clone()];
        let outcome = lab.sandbox.run(&command, None).await.unwrap();
        assert_eq!(outcome.ended, holdpoint_sandbox::Ended::Exited(0), "{}", String::from_utf8_lossy(&outcome.stderr));
        assert_eq!(std::fs::read_to_string(real.join("at")).unwrap().trim(), "/hold/w1");
    }
    let lab = Lab::plain();
    let mut command = lab.command("pwd > at");
    command.shown = vec![ShownTree { tree: lab.scratch(), at: "/hold/w1".into(), over: None }];
    assert_eq!(lab.sandbox.run(&command, None).await.unwrap().ended, holdpoint_sandbox::Ended::Exited(0));
    let at = std::fs::read_to_string(lab.scratch().join("at")).unwrap();
    assert_eq!(
        at.trim(),
        lab.scratch().canonicalize().unwrap().display().to_string(),
        "without namespaces it is where it is"
    );
}

#[tokio::test]
async fn changes_to_trees_that_show_through_are_kept_above_them_and_leave_no_trace_below() {
    let lab = Lab::full();
    assert!(lab.sandbox.overlays_in(&lab.scratch()).await.unwrap());
    let at = |name: &str| lab.scratch().join(name);
    for (folder, file) in [("top", "both"), ("top", "mine"), ("low", "both"), ("low", "deps/a"), ("low", "deps/b")] {
        let path = at(folder).join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, folder).unwrap();
    }
    for folder in ["up", "work"] {
        std::fs::create_dir(at(folder)).unwrap();
    }
    let said = "cat both deps/a && echo changed > deps/a && rm deps/b && mkdir new && echo n > new/n && chmod +x mine";
    let mut command = lab.command(&format!("pwd && {said} && test \"$HOME\" = ~ && getent passwd \"$(id -u)\""));
    command.dir = at("up");
    command.env.insert("HOME".to_owned(), "/hold/home".to_owned());
    command.profile.write = vec![at("up")];
    let over = Overlaid { trees: vec![at("top"), at("low")], work: at("work") };
    command.shown = vec![ShownTree { tree: at("up"), at: "/hold/work".into(), over: Some(over) }];
    let outcome = lab.sandbox.run(&command, None).await.unwrap();
    let printed = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert_eq!(outcome.ended, holdpoint_sandbox::Ended::Exited(0), "{}", String::from_utf8_lossy(&outcome.stderr));
    assert!(printed.starts_with("/hold/work\ntoplow") && printed.contains("::/hold/home:"), "{printed}");
    let read = |path: &str| std::fs::read_to_string(at(path)).unwrap();
    assert_eq!((read("low/deps/a").as_str(), read("low/deps/b").as_str()), ("low", "low"));
    assert_eq!((read("up/deps/a").as_str(), read("up/new/n").as_str()), ("changed\n", "n\n"));
    assert!(at("up/mine").exists() && !at("up/both").exists(), "what was only read is not copied");
    for n in 1..=9 {
        let mut again = command.clone();
        let said = format!("test \"$(cat deps/a)\" = changed && test ! -e deps/b && test \"$(ls new | wc -l)\" = {n}");
        again.argv = lab.command(&format!("{said} && echo {n} > new/{n}")).argv;
        let work = at(&format!("work{n}"));
        std::fs::create_dir(&work).unwrap();
        again.shown[0].over.as_mut().unwrap().work = work;
        let outcome = lab.sandbox.run(&again, None).await.unwrap();
        let printed = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert_eq!(outcome.ended, holdpoint_sandbox::Ended::Exited(0), "{n}: changes are found again: {printed}");
    }
    let plain = Lab::plain();
    assert!(!plain.sandbox.overlays_in(&plain.scratch()).await.unwrap(), "without namespaces there is none");
    assert!(plain.sandbox.run(&command, None).await.is_err());
}
