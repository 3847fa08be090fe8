//! The keys of people in a local fleet: one file a person in the state folder, made when it is first used.
//!
//! The owner of the state folder is trusted with all of them. For a fleet elsewhere the credentials file is the person.

use std::path::Path;

use holdpoint_bus::auth::{Authority, Credentials};
use holdpoint_protocol::{
    ids::{AgentName, ID_LEN_MAX},
    workflow::HUMAN_PREFIX,
};
use holdpoint_runtime::clock;

use crate::{
    failure::{Failure, chain},
    state::{Lock, StateDir},
};

/// Where they are, in the state folder.
const FOLDER: &str = "people";
/// Variables that name the user, best first.
const USER_VARIABLES: [&str; 2] = ["USER", "LOGNAME"];
/// The person where nothing names the user.
const NOBODY_IN_PARTICULAR: &str = "user";

/// Who acts unless `--as` says so: `human-<user name>`.
pub(crate) fn default_name() -> AgentName {
    let named = USER_VARIABLES.into_iter().find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()));
    name_of(named.as_deref().unwrap_or(NOBODY_IN_PARTICULAR))
}

/// A user's name as the name of a key.
fn name_of(user: &str) -> AgentName {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let user: String = user.chars().map(plain).take(ID_LEN_MAX - HUMAN_PREFIX.len()).collect();
    AgentName::try_new(format!("{HUMAN_PREFIX}{user}")).expect("a prefix with characters of an id behind it is one")
}

/// The key of a person, made if there is none yet.
pub(crate) async fn of_person(
    state: &StateDir,
    authority: &Authority,
    name: &AgentName,
) -> Result<Credentials, Failure> {
    let folder = state.folder(FOLDER)?;
    // Two commands at once must not each make one.
    let _lock = Lock::exclusive(&folder.join("lock")).await?;
    let file = folder.join(format!("{name}.creds"));
    if !file.exists() {
        let made = authority.mint_operator(name);
        made.save(&file)?;
        return Ok(made);
    }
    let credentials = Credentials::load(&file)?;
    match authority.trust_roots().check_credentials(&credentials, clock::now()) {
        Ok(_) if credentials.name() == name => Ok(credentials),
        Ok(_) => Err(unusable(&file, &format!("they are those of {}", credentials.name()))),
        Err(refusal) => Err(unusable(&file, &chain(&refusal))),
    }
}

fn unusable(file: &Path, why: &str) -> Failure {
    let message = format!("the credentials in {} do not count: {why}", file.display());
    Failure::environment("person", message, "remove the file, and the next command makes a new key for this name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_user_name_makes_the_name_of_a_person() {
        assert_eq!(name_of("ann").as_str(), "human-ann");
        assert_eq!(name_of("ann.lee@corp").as_str(), "human-ann_lee_corp");
        assert_eq!(name_of(&"ä".repeat(100)).as_str().len(), ID_LEN_MAX);
        assert!(holdpoint_protocol::workflow::is_human(&name_of("0")));
    }
}
