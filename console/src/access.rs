//! Who gets an answer. Pure: a request's head goes in, a verdict comes out.
//!
//! A user who knows the printed address gets a cookie for the console's path; everybody else of this machine, and every
//! page of another site, learns nothing.

/// The cookie.
const COOKIE: &str = "holdpoint";

/// What only the console and the readers of its address know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Secrets {
    /// Begins every path, without its `/`.
    pub(crate) prefix: String,
    /// Is exchanged for the cookie.
    pub(crate) token: String,
    /// The cookie's value.
    pub(crate) cookie: String,
}

/// Under which names the console is reached, `127.0.0.1:4280`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names(pub(crate) Vec<String>);

/// The parts of a request's head that matter here.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Head<'a> {
    pub(crate) is_post: bool,
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    pub(crate) host: Option<&'a str>,
    pub(crate) origin: Option<&'a str>,
    pub(crate) site: Option<&'a str>,
    pub(crate) cookies: Option<&'a str>,
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ruling {
    /// It is answered: the path below the prefix.
    Enter(String),
    /// The token is right: it gets the cookie.
    Welcome,
    /// The host is not this console.
    WrongHost,
    /// It comes from a page of others.
    Foreign,
    /// There is nothing there.
    Nothing,
    /// The path is right, and the cookie is not there.
    Stranger,
}

/// Rules on a request.
pub(crate) fn rule(secrets: &Secrets, names: &Names, head: Head<'_>) -> Ruling {
    let Some(host) = head.host.filter(|host| names.0.iter().any(|name| name == host)) else { return Ruling::WrongHost };
    let own = |origin: &str| origin.strip_prefix("http://").is_some_and(|rest| rest == host);
    // A request that changes something names its origin; one that only reads may, and then it has to be this one.
    let from_elsewhere = match head.origin {
        Some(origin) => !own(origin),
        None => head.is_post,
    };
    let of_other_site = head.site.is_some_and(|site| !matches!(site, "same-origin" | "none"));
    if from_elsewhere || of_other_site {
        return Ruling::Foreign;
    }
    let Some((prefix, below)) = head.path.strip_prefix('/').map(|path| path.split_once('/').unwrap_or((path, "")))
    else {
        return Ruling::Nothing;
    };
    if !same(prefix, &secrets.prefix) {
        return Ruling::Nothing;
    }
    if below == "enter" && !head.is_post {
        let token = head.query.strip_prefix("token=").unwrap_or_default();
        return if same(token, &secrets.token) { Ruling::Welcome } else { Ruling::Nothing };
    }
    let cookies = head.cookies.unwrap_or_default().split(';').filter_map(|pair| pair.trim().split_once('='));
    let mut values = cookies.filter(|(name, _)| *name == COOKIE).map(|(_, value)| value);
    if !values.any(|value| same(value, &secrets.cookie)) {
        return Ruling::Stranger;
    }
    Ruling::Enter(format!("/{below}"))
}

/// The cookie as it is set.
pub(crate) fn cookie(secrets: &Secrets) -> String {
    format!("{COOKIE}={}; Path=/{}; HttpOnly; SameSite=Strict", secrets.cookie, secrets.prefix)
}

/// Compares in a time that does not show how much is right.
fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    one.len() == other.len() && one.iter().zip(other).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> Secrets {
        Secrets { prefix: "p".repeat(32), token: "t".repeat(32), cookie: "c".repeat(32) }
    }

    fn ruled(change: impl FnOnce(&mut Head<'_>)) -> Ruling {
        let secrets = secrets();
        let path = format!("/{}/inbox", secrets.prefix);
        let path: &'static str = path.leak();
        let cookies: &'static str = format!("a=b; holdpoint={}", secrets.cookie).leak();
        let mut head = Head { path, host: Some("127.0.0.1:4280"), cookies: Some(cookies), ..Head::default() };
        change(&mut head);
        rule(&secrets, &Names(vec!["127.0.0.1:4280".to_owned(), "localhost:4280".to_owned()]), head)
    }

    #[test]
    fn a_browser_with_the_cookie_gets_its_page() {
        assert_eq!(ruled(|_| {}), Ruling::Enter("/inbox".to_owned()));
        let own = |head: &mut Head<'_>| {
            (head.is_post, head.origin, head.site) = (true, Some("http://127.0.0.1:4280"), Some("same-origin"));
        };
        assert_eq!(ruled(own), Ruling::Enter("/inbox".to_owned()));
    }

    #[test]
    fn another_host_origin_or_site_gets_nothing() {
        for host in [None, Some("evil.example"), Some("127.0.0.1"), Some("127.0.0.1:4281"), Some("[::1]:4280")] {
            assert_eq!(ruled(|head| head.host = host), Ruling::WrongHost, "{host:?}");
        }
        for origin in [
            "null",
            "http://evil.example",
            "https://127.0.0.1:4280",
            "http://localhost:4280",
            "http://127.0.0.1:4280.evil",
        ] {
            assert_eq!(ruled(|head| head.origin = Some(origin)), Ruling::Foreign, "{origin}");
        }
        assert_eq!(ruled(|head| head.is_post = true), Ruling::Foreign, "an act names its origin");
        assert_eq!(ruled(|head| head.site = Some("cross-site")), Ruling::Foreign);
        assert_eq!(ruled(|head| head.site = Some("same-site")), Ruling::Foreign, "another port is a page of others");
    }

    #[test]
    fn without_the_prefix_the_token_or_the_cookie_there_is_nothing() {
        let secrets = secrets();
        let enter: &'static str = format!("/{}/enter", secrets.prefix).leak();
        let token: &'static str = format!("token={}", secrets.token).leak();
        assert_eq!(ruled(|head| (head.path, head.query) = (enter, token)), Ruling::Welcome);
        for query in ["", "token=", "token=x", "t"] {
            assert_eq!(ruled(|head| (head.path, head.query) = (enter, query)), Ruling::Nothing, "{query}");
        }
        for path in ["/", "", "/inbox", "/pppp/inbox"] {
            assert_eq!(ruled(|head| head.path = path), Ruling::Nothing, "{path}");
        }
        for cookies in [None, Some("holdpoint="), Some("holdpoint=x"), Some("other=cccccccccccccccccccccccccccccccc")] {
            assert_eq!(ruled(|head| head.cookies = cookies), Ruling::Stranger, "{cookies:?}");
        }
    }
}
