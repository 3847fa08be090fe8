//! What an attempt is, and what has to become of it.

use holdpoint_sandbox::Property;

/// One attempt to get out of the sandbox.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    /// Its name in docs/security.md.
    pub(crate) id: &'static str,
    /// The promise that it tries to break.
    pub(crate) about: Property,
    pub(crate) must: Must,
    /// Python; see `prelude.py`.
    pub(crate) body: &'static str,
    /// The same attempt gets through when everything is granted, which shows that it is a real one.
    pub(crate) controlled: bool,
    /// Only mounts keep this promise; without them the property's detail says what is open.
    pub(crate) open_without_mounts: bool,
    /// Too dangerous, or without meaning, where there is no process namespace.
    pub(crate) only_with_namespaces: bool,
    /// It forks without end: not to be tried where nothing limits that.
    pub(crate) forks: bool,
    /// It is about the network, which a builder otherwise has.
    pub(crate) without_network: bool,
}

/// What has to become of an attempt, besides that nothing outside is harmed and no secret seen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Must {
    /// The system refuses it.
    BeRefused,
    /// It may go on, but only among its own.
    BeHarmless,
    /// The run ends like this, as the shim's executable says it.
    End(&'static str),
}

impl Case {
    /// An attempt that has to be refused.
    pub(crate) const fn new(id: &'static str, about: Property, body: &'static str) -> Self {
        Self {
            id,
            about,
            must: Must::BeRefused,
            body,
            controlled: false,
            open_without_mounts: false,
            only_with_namespaces: false,
            forks: false,
            without_network: false,
        }
    }

    pub(crate) const fn harmless(self) -> Self {
        Self { must: Must::BeHarmless, ..self }
    }

    pub(crate) const fn ends(self, how: &'static str) -> Self {
        Self { must: Must::End(how), ..self }
    }

    pub(crate) const fn controlled(self) -> Self {
        Self { controlled: true, ..self }
    }

    pub(crate) const fn open_without_mounts(self) -> Self {
        Self { open_without_mounts: true, ..self }
    }

    pub(crate) const fn only_with_namespaces(self) -> Self {
        Self { only_with_namespaces: true, ..self }
    }

    pub(crate) const fn forks(self) -> Self {
        Self { forks: true, ..self }
    }

    pub(crate) const fn without_network(self) -> Self {
        Self { without_network: true, ..self }
    }
}
