//! The parts of a webhook's URL, and which URLs are refused. Pure.

use std::net::IpAddr;

use hyper::{Uri, http::uri::PathAndQuery};

/// Where a request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// Whether by TLS.
    pub(super) tls: bool,
    /// The host as it is looked up: an IPv6 address has no brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// Host and port as the URL has them.
    pub(super) authority: String,
    /// The path with its query. It may hold a secret.
    pub(super) path: PathAndQuery,
}

impl Target {
    pub(super) fn host_and_port(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }

    fn is_this_machine(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

/// The parts of a URL, or what is wrong with it. A token goes to this machine or by TLS.
pub(crate) fn check(url: &str, has_token: bool) -> Result<Target, &'static str> {
    let uri: Uri = url.parse().map_err(|_| "is no URL")?;
    let tls = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        _ => return Err("has to begin with http:// or https://"),
    };
    let authority = uri.authority().ok_or("has no host")?;
    if authority.as_str().contains('@') {
        return Err("must not hold a user or password: use notify.webhook_token_file");
    }
    let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
    if host.is_empty() {
        return Err("has no host");
    }
    let port = authority.port_u16().unwrap_or(if tls { 443 } else { 80 });
    let path = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    let target = Target { tls, host, port, authority: authority.to_string(), path };
    if has_token && !tls && !target.is_this_machine() {
        return Err("has to begin with https:// where a token is sent to another machine");
    }
    Ok(target)
}

/// A URL without its path, in which services put a secret.
pub(crate) fn shown(url: &str) -> String {
    match check(url, false) {
        Ok(Target { tls, authority, .. }) => format!("{}://{authority}/…", if tls { "https" } else { "http" }),
        Err(_) => "…".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_host_a_port_and_a_path() {
        let of = |url: &str| {
            let target = check(url, false).unwrap();
            format!("{} {} {}", target.tls, target.host_and_port(), target.path)
        };
        assert_eq!(of("https://hooks.example.com/a/b?c=d"), "true hooks.example.com:443 /a/b?c=d");
        assert_eq!(of("http://127.0.0.1:8080"), "false 127.0.0.1:8080 /");
        assert_eq!(of("http://[::1]:8080/x"), "false [::1]:8080 /x");
    }

    #[test]
    fn what_is_no_url_or_would_tell_a_secret_is_refused() {
        for (url, has_token, problem) in [
            ("hooks.example.com", false, "http://"),
            ("ftp://hooks.example.com/", false, "http://"),
            ("https://", false, "URL"),
            ("https://me:secret@hooks.example.com/", false, "password"),
            ("http://hooks.example.com/", true, "https://"),
        ] {
            let found = check(url, has_token).unwrap_err();
            assert!(found.contains(problem), "{url}: {found}");
        }
        for url in ["https://hooks.example.com/", "http://localhost:1/", "http://127.0.0.1/", "http://[::1]/"] {
            assert_eq!(check(url, true).err(), None, "{url}");
        }
    }
}
