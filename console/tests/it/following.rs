//! Pages that stay open.

use std::sync::atomic::Ordering;

use tokio::{io::AsyncReadExt as _, net::TcpStream};

use crate::lab::{FLIGHT, Lab, PATIENCE, status};

/// Reads until the answer has this.
async fn until(stream: &mut TcpStream, read: &mut String, wanted: &str) {
    let reading = async {
        let mut bytes = [0; 4096];
        while !read.contains(wanted) {
            let count = stream.read(&mut bytes).await.unwrap();
            assert!(count > 0, "it ended without {wanted}: {read}");
            read.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.unwrap_or_else(|_| panic!("waited in vain for {wanted}"));
}

#[tokio::test]
async fn an_open_page_is_sent_what_changed_as_soon_as_something_hints_at_it() {
    let lab = Lab::open("human-ann", false).await;
    let path = format!("{}/stream?of=/flight/{FLIGHT}&mark=", lab.prefix);
    let mut stream = lab.begin(lab.own(&path)).await;
    let mut read = String::new();
    until(&mut stream, &mut read, "event: page").await;
    assert!(read.contains("text/event-stream"), "{read}");
    until(&mut stream, &mut read, "\n\n").await;
    read.clear();
    lab.fleet.pause(true);
    until(&mut stream, &mut read, "paused").await;
}

#[tokio::test]
async fn many_open_pages_of_a_flight_ask_the_fleet_once() {
    let lab = Lab::open("human-ann", false).await;
    let path = format!("{}/stream?of=/flight/{FLIGHT}&mark=", lab.prefix);
    let mut streams = Vec::new();
    for _ in 0..8 {
        let mut stream = lab.begin(lab.own(&path)).await;
        until(&mut stream, &mut String::new(), "event: page").await;
        streams.push(stream);
    }
    let before = lab.fleet.looks.load(Ordering::SeqCst);
    let mut read = String::new();
    lab.fleet.pause(true);
    for stream in &mut streams {
        read.clear();
        until(stream, &mut read, "paused").await;
    }
    let looks = lab.fleet.looks.load(Ordering::SeqCst) - before;
    // One, and on a busy machine a second where a page came late.
    assert!(looks < 8, "{looks} looks for 8 pages");
}

#[tokio::test]
async fn pages_that_follow_are_bounded_and_their_places_come_back() {
    let lab = Lab::open("human-ann", false).await;
    let path = format!("{}/stream?of=/inbox&mark=", lab.prefix);
    let mut streams = Vec::new();
    for _ in 0..32 {
        let mut stream = lab.begin(lab.own(&path)).await;
        until(&mut stream, &mut String::new(), "event: page").await;
        streams.push(stream);
    }
    let refused = lab.ask(lab.own(&path)).await;
    assert!(status(&refused) == 429 && refused.contains("32"), "{refused}");
    assert_eq!(status(&lab.page("/").await), 200, "pages are loaded all the same");
    drop(streams);
    let again = async {
        loop {
            let mut stream = lab.begin(lab.own(&path)).await;
            let mut read = String::new();
            until(&mut stream, &mut read, "\r\n\r\n").await;
            if status(&read) == 200 {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, again).await.unwrap();
}

/// Waits until this holds.
async fn soon(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("waited in vain for {what}"));
}

#[tokio::test]
async fn a_reading_goes_on_though_the_page_that_began_it_has_gone() {
    let lab = Lab::open("human-ann", false).await;
    let path = format!("{}/flight/{FLIGHT}", lab.prefix);
    lab.fleet.keep_silent(&["read on"]);
    let gone = lab.begin(lab.own(&path)).await;
    soon("the reading", || lab.fleet.opened.load(Ordering::SeqCst) == 1).await;
    drop(gone);
    // The connection's end is noticed before the next request of another is answered.
    assert_eq!(status(&lab.ask(lab.own(&format!("{}/inbox", lab.prefix))).await), 200);
    lab.fleet.keep_silent(&[]);
    assert_eq!(status(&lab.ask(lab.own(&path)).await), 200);
    assert_eq!(lab.fleet.opened.load(Ordering::SeqCst), 1, "it was not read again from the beginning");
}

#[tokio::test]
async fn a_history_that_is_slow_to_come_keeps_no_other_page_waiting() {
    let lab = Lab::open("human-ann", false).await;
    let other = {
        let mut view = lab.fleet.view.lock().unwrap();
        let mut other = view["waypoints"][0].clone();
        other["id"] = "v".into();
        view["waypoints"].as_array_mut().unwrap().push(other);
        format!("{}/flight/{FLIGHT}/v", lab.prefix)
    };
    lab.fleet.keep_silent(&["history of w"]);
    let slow = lab.begin(lab.own(&format!("{}/flight/{FLIGHT}/w", lab.prefix))).await;
    soon("the question", || lab.fleet.silent.receiver_count() > 0).await;
    assert_eq!(status(&lab.ask(lab.own(&other)).await), 200);
    assert_eq!(status(&lab.ask(lab.own(&format!("{}/flight/{FLIGHT}", lab.prefix))).await), 200);
    assert!(lab.fleet.silent.receiver_count() > 0, "neither waited until the slow page was given up");
    drop(slow);
}
