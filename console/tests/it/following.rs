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
