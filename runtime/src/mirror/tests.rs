use std::{fs, sync::mpsc, thread, time::Duration};

use nix::{sys::stat::Mode, unistd::mkfifo};

use super::*;

/// Far more than either takes: it only ends a test that would hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whether another task goes on while `work` is at something that blocks until `free` is called, both on one thread.
fn lets_others_go_on<W: Future<Output = ()>>(work: impl FnOnce() -> W + Send + 'static, free: impl FnOnce()) -> bool {
    let (went_on, others) = mpsc::channel();
    let worker = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async { tokio::join!(work(), async { went_on.send(()).unwrap() }) });
    });
    let went_on = others.recv_timeout(PATIENCE).is_ok();
    free();
    worker.join().unwrap();
    went_on
}

#[test]
fn a_mirror_whose_folder_is_slow_to_touch_and_mirrors_that_wait_to_be_removed_hold_up_no_other_task() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(MirrorStore::new(dir.path(), InputLimits::default()));
    let flight = |n: usize| format!("f{n}").parse::<FlightId>().unwrap();

    // Writing a pipe waits for a reader.
    let folder = dir.path().join("f0");
    fs::create_dir(&folder).unwrap();
    let pipe = folder.join("last-used");
    mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    let touching = Arc::clone(&store);
    let touch = move || async move { drop(touching.touch(&flight(0)).await.unwrap()) };
    assert!(lets_others_go_on(touch, || drop(fs::read(&pipe).unwrap())));

    for n in 1..=MIRRORS_MAX {
        fs::create_dir(dir.path().join(flight(n).as_str())).unwrap();
    }
    let pruning = Arc::clone(&store);
    let slots = store.open.lock().unwrap();
    assert!(lets_others_go_on(move || async move { pruning.prune().await }, || drop(slots)));
    assert_eq!(
        fs::read_dir(dir.path())
            .unwrap()
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with('f'))
            .count(),
        MIRRORS_MAX
    );
}
