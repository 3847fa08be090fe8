//! The roles of one fleet: the built-in ones, and those its keys declare. Streams, consumers, permissions and what is read
//! back all follow from this list.
//!
//! `holdpoint_bus::auth` says what a role may do, `holdpoint_planfile::gates` what its turns are.

use std::collections::BTreeSet;

use crate::{
    ids::{RoleId, role},
    streams::roles_collide,
    workflow::HUMAN_PREFIX,
};

/// The most roles that a fleet has besides the built-in ones. Each has two streams with a reserved share of the broker's
/// disk, and a consumer per priority and pool.
pub const DECLARED_MAX: usize = 12;

/// The roles of a fleet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roles {
    declared: BTreeSet<RoleId>,
}

/// Why a fleet cannot have a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RoleRefused {
    /// The fleet uses the name itself.
    #[error("`{role}` is reserved for the fleet itself")]
    Reserved {
        /// The name.
        role: RoleId,
    },
    /// Names that begin so are people's (GATE-2), and those of its agents begin with the role's.
    #[error(
        "`{role}` begins with `{HUMAN_PREFIX}`, as the names of people do, and so would the names of its agents: choose another name. \
         A person is made with `holdpoint keys add operator human-NAME`"
    )]
    Persons {
        /// The name.
        role: RoleId,
    },
    /// Its streams or consumers would have another role's names.
    #[error("`{role}` and `{other}` would share a stream or consumer of the broker: give it another name")]
    Collides {
        /// The name.
        role: RoleId,
        /// The role that is there.
        other: RoleId,
    },
    /// There are as many as there may be.
    #[error(
        "the fleet has {DECLARED_MAX} roles besides the built-in ones, and no room for `{role}`: let gates share roles"
    )]
    TooMany {
        /// The name.
        role: RoleId,
    },
}

impl Roles {
    /// The built-in roles only.
    #[must_use]
    pub fn built_in() -> Self {
        Self::default()
    }

    /// These, and the built-in ones. Built-in or reserved names among them are there anyway, and change nothing.
    #[must_use]
    pub fn with_all<'a>(names: impl IntoIterator<Item = &'a RoleId>) -> Self {
        Self { declared: names.into_iter().filter(|name| !is_own(name)).cloned().collect() }
    }

    /// Whether the fleet could have this role as well.
    ///
    /// # Errors
    /// [`RoleRefused`]. A role that is there already is no error.
    pub fn accepts(&self, role: &RoleId) -> Result<(), RoleRefused> {
        if is_reserved(role) {
            return Err(RoleRefused::Reserved { role: role.clone() });
        }
        if self.is_agents(role) {
            return Ok(());
        }
        if is_persons(role) {
            return Err(RoleRefused::Persons { role: role.clone() });
        }
        if let Some(other) = self.agents().into_iter().find(|other| roles_collide(other, role)) {
            return Err(RoleRefused::Collides { role: role.clone(), other });
        }
        if self.declared.len() >= DECLARED_MAX {
            return Err(RoleRefused::TooMany { role: role.clone() });
        }
        Ok(())
    }

    /// Those besides the built-in ones.
    pub fn declared(&self) -> impl Iterator<Item = &RoleId> {
        self.declared.iter()
    }

    /// The roles whose agents take turns.
    #[must_use]
    pub fn agents(&self) -> Vec<RoleId> {
        self.with(&role::AGENTS)
    }

    /// The roles that hand something off: agents, and people with their acts.
    #[must_use]
    pub fn handing(&self) -> Vec<RoleId> {
        self.with(&role::HANDING)
    }

    /// The roles that store blobs.
    #[must_use]
    pub fn storing(&self) -> Vec<RoleId> {
        self.with(&role::STORING)
    }

    /// Whether agents have this role.
    #[must_use]
    pub fn is_agents(&self, role: &RoleId) -> bool {
        role::AGENTS.contains(&role.as_str()) || self.declared.contains(role)
    }

    fn with(&self, built_in: &[&'static str]) -> Vec<RoleId> {
        built_in.iter().copied().map(role::id).chain(self.declared.iter().cloned()).collect()
    }
}

/// Whether the name is the fleet's own, in any letters (streams are named in capitals): no agent takes turns of it.
#[must_use]
pub fn is_reserved(role: &RoleId) -> bool {
    role::OWN.iter().any(|own| role.as_str().eq_ignore_ascii_case(own))
}

/// Whether the name begins as people's do, in any letters: no role has such a name.
#[must_use]
pub fn is_persons(role: &RoleId) -> bool {
    role.as_str().get(..HUMAN_PREFIX.len()).is_some_and(|begins| begins.eq_ignore_ascii_case(HUMAN_PREFIX))
}

fn is_own(role: &RoleId) -> bool {
    is_reserved(role) || role::AGENTS.contains(&role.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> RoleId {
        name.parse().unwrap()
    }

    fn fleet(names: &[&str]) -> Roles {
        let ids: Vec<RoleId> = names.iter().map(|name| id(name)).collect();
        Roles::with_all(&ids)
    }

    #[test]
    fn a_fleet_has_the_built_in_roles_and_what_is_declared() {
        let roles = fleet(&["qa", "builder", "operator", "architect", "qa"]);
        assert_eq!(roles.declared().map(RoleId::as_str).collect::<Vec<_>>(), ["architect", "qa"]);
        assert_eq!(roles.agents().len(), role::AGENTS.len() + 2);
        assert!(roles.handing().contains(&id("operator")) && roles.handing().contains(&id("qa")));
        assert!(roles.storing().contains(&id("orchestrator")) && roles.storing().contains(&id("architect")));
        assert!(roles.is_agents(&id("qa")) && !roles.is_agents(&id("operator")));
        assert_eq!(fleet(&[]), Roles::built_in());
    }

    #[test]
    fn a_role_is_refused_when_its_name_is_reserved_or_ambiguous() {
        let roles = fleet(&["code-review"]);
        for own in ["orchestrator", "operator", "OPERATOR", "archivist", "migrator"] {
            assert_eq!(roles.accepts(&id(own)), Err(RoleRefused::Reserved { role: id(own) }));
        }
        for persons in ["human-x", "Human-review", "human-"] {
            let refused = roles.accepts(&id(persons)).unwrap_err();
            assert_eq!(refused, RoleRefused::Persons { role: id(persons) });
            assert!(refused.to_string().contains("keys add operator human-NAME"), "{refused}");
        }
        for other in ["humans", "human_review", "a-human-x"] {
            assert_eq!(roles.accepts(&id(other)), Ok(()), "{other}");
        }
        let ambiguous = [("code_review", "code-review"), ("Builder", "builder"), ("repair_low", "repair")];
        for (name, other) in ambiguous {
            let refused = RoleRefused::Collides { role: id(name), other: id(other) };
            assert_eq!(roles.accepts(&id(name)), Err(refused));
        }
        for there in ["code-review", "builder", "qa"] {
            assert_eq!(roles.accepts(&id(there)), Ok(()), "{there}");
        }
    }

    #[test]
    fn the_number_of_roles_is_bounded() {
        let names: Vec<String> = (0..DECLARED_MAX).map(|n| format!("r{n}")).collect();
        let full = fleet(&names.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(full.accepts(&id("more")), Err(RoleRefused::TooMany { role: id("more") }));
        assert_eq!(full.accepts(&id("r0")), Ok(()), "it is there already");
    }
}
