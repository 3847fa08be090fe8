//! A visitor of one console, as far as HTTP goes: what a browser sends, without a browser.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use crate::world::eventually;

/// One that was let in.
pub struct Visitor {
    host: String,
    prefix: String,
    cookie: String,
}

impl Visitor {
    /// Lets itself in with the address that a console has printed among other lines, once it is there.
    pub fn enter(printed: impl Fn() -> String) -> Self {
        let address = eventually("the console's address", || address_in(&printed()));
        let rest = address.strip_prefix("http://").unwrap();
        let (host, path) = rest.split_at(rest.find('/').unwrap());
        let mut visitor = Self { host: host.to_owned(), prefix: String::new(), cookie: String::new() };
        let (_, head, _) = visitor.send("GET", path, "");
        let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        visitor.cookie = cookie.split(';').next().unwrap().to_owned();
        visitor.prefix = path.split("/enter").next().unwrap().to_owned();
        visitor
    }

    /// What every path begins with.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Sends a request; the status, the head and the content of the answer.
    pub fn send(&self, method: &str, path: &str, body: &str) -> (u16, String, String) {
        let Self { host, cookie, .. } = self;
        let mut stream = TcpStream::connect(host).unwrap();
        // Longer than any answer takes; a test that hangs says where.
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\ncookie: {cookie}\r\nconnection: close\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, content) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_owned(), content.to_owned())
    }

    /// A page, once it has this.
    pub fn page(&self, path: &str, wanted: &str) -> String {
        eventually(&format!("{wanted} on {path}"), || {
            let (status, _, page) = self.send("GET", &format!("{}{path}", self.prefix), "");
            (status == 200 && page.contains(wanted)).then_some(page)
        })
    }

    /// Sends the form of an act; the status, and what is said.
    pub fn act(&self, body: &str) -> (u16, String) {
        let (status, _, said) = self.send("POST", &format!("{}/act", self.prefix), body);
        (status, said)
    }
}

/// The address that a console has printed, wherever it stands in a line: Compose writes the service's name before it.
pub fn address_in(printed: &str) -> Option<String> {
    let mut lines = printed.lines().filter_map(|line| line.split_once("console  http://"));
    lines.next().map(|(_, rest)| format!("http://{}", rest.trim_end()))
}
