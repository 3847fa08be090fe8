//! Who may do what at the broker: every role, every family of subjects and every way to use one, tried against a real
//! server. Exactly what the table allows has an effect.
//!
//! An effect is what is found afterwards: in the streams, at ears in every account, in the inbox of who tried. It does
//! not matter whether the client heard of a refusal.

mod families;
mod lab;
mod spies;
mod table;
mod ways;

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_protocol::ids::role;

use families::{Actor, Family};
use lab::Lab;
use ways::Way;

/// What a user tried.
#[derive(Debug, Clone)]
struct Cell {
    actor: Actor,
    /// Its place in the list of families.
    family: usize,
    way: Way,
}

impl Cell {
    /// What is found again in whatever comes of it.
    fn mark(id: usize) -> String {
        format!("mark{id}end")
    }

    /// The cell whose mark is somewhere in a text.
    fn marked(text: &str) -> Option<usize> {
        let (_, rest) = text.split_once("mark")?;
        rest.split_once("end")?.0.parse().ok()
    }
}

/// What may come of it. The words are those of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    /// A stream has it.
    Stored,
    /// A stream has something on another subject because of it.
    Forged,
    /// It was heard in the account of agents.
    Agents,
    /// Something on another subject was heard there because of it.
    AgentsElsewhere,
    /// It was heard in the account with the streams.
    Holdpoint,
    /// Something on another subject was heard there because of it.
    HoldpointElsewhere,
    /// Anything of it was heard in the system's account.
    System,
    /// Who tried was answered.
    Answered,
    /// Who tried heard that it cannot be.
    Refused,
    /// A listener hears what is said in the account of agents.
    HearsAgents,
    /// A listener hears what is said in the account with the streams.
    HearsHoldpoint,
    /// A listener hears what is said in the system's account.
    HearsSystem,
}

impl Effect {
    fn word(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Forged => "forged",
            Self::Agents => "agents",
            Self::AgentsElsewhere => "agents-elsewhere",
            Self::Holdpoint => "holdpoint",
            Self::HoldpointElsewhere => "holdpoint-elsewhere",
            Self::System => "system",
            Self::Answered => "answered",
            Self::Refused => "refused",
            Self::HearsAgents => "hears-agents",
            Self::HearsHoldpoint => "hears-holdpoint",
            Self::HearsSystem => "hears-system",
        }
    }

    /// Whether it is within the account with the streams, which is the orchestrators' own.
    fn is_within_holdpoint(self) -> bool {
        use Effect::{Answered, Forged, HearsHoldpoint, Holdpoint, HoldpointElsewhere, Refused, Stored};
        matches!(self, Stored | Forged | Holdpoint | HoldpointElsewhere | Answered | Refused | HearsHoldpoint)
    }
}

/// What an archivist does in the account with the streams, where answers go wherever it says: which subjects it reaches is what
/// the table is about.
const INSIDE: &str = "inside";

/// What came of each cell.
type Effects = BTreeMap<usize, BTreeSet<Effect>>;

/// A line of what was found, or of the table: role, family, way, and what comes of it.
type Line = (String, String, String, String);

fn cells(families: &[Family], roles: &[&'static str]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for role in roles {
        for (index, family) in families.iter().enumerate() {
            let publishing = Way::PUBLISHING.into_iter().filter(|_| !family.listen_only);
            for way in publishing.chain(Way::LISTENING) {
                cells.push(Cell { actor: Actor::new(role), family: index, way });
            }
        }
    }
    cells
}

/// Cells with an effect, as lines. Actions of an orchestrator within its own account are left out.
fn lines(cells: &[Cell], families: &[Family], effects: &Effects) -> BTreeSet<Line> {
    let mut lines = BTreeSet::new();
    for (id, found) in effects {
        let Cell { actor, family, way } = &cells[*id];
        let is_owner = actor.role == role::ORCHESTRATOR;
        let is_guest = actor.role == role::ARCHIVIST;
        let words = found.iter().filter(|effect| !(is_owner && effect.is_within_holdpoint())).map(|effect| {
            let inside = is_guest && effect.is_within_holdpoint() && *effect != Effect::HearsHoldpoint;
            if inside { INSIDE } else { effect.word() }
        });
        let words = words.fold(Vec::new(), |mut words, word| {
            if !words.contains(&word) {
                words.push(word);
            }
            words
        });
        if !words.is_empty() {
            let line = (actor.role.to_owned(), families[*family].name.clone(), way.word().to_owned(), words.join(" "));
            lines.insert(line);
        }
    }
    lines
}

/// Tries everything as these roles, in a lab of their own.
async fn tried_by(roles: &[&'static str]) {
    let families = families::all();
    let cells = cells(&families, roles);
    let lab = Lab::start().await;
    let before = lab.settings().await;
    let mut effects = Effects::new();
    for role in roles {
        lab.attempt(role, &cells, &families, &mut effects).await;
    }
    let after = lab.settings().await;
    let gone: Vec<_> = before.iter().filter(|setting| !after.contains(setting)).collect();
    assert!(gone.is_empty(), "streams or consumers that are not as they were: {gone:?}");
    assert!(after.len() == before.len() || roles.contains(&role::ORCHESTRATOR), "streams or consumers were made");
    lab.ids_of_others_are_free(&cells, &families).await;
    lab.look(&cells, &families, &mut effects).await;

    let (found, allowed) = (lines(&cells, &families, &effects), table::allowed(roles, &families));
    let more: Vec<_> = found.difference(&allowed).collect();
    let less: Vec<_> = allowed.difference(&found).collect();
    assert!(more.is_empty() && less.is_empty(), "not in the table: {more:#?}\nonly in the table: {less:#?}");
    assert!(cells.len() > roles.len() * 1_000, "so many attempts: {}", cells.len());
}

#[tokio::test]
async fn agents_and_people_have_exactly_the_effects_that_the_table_allows() {
    Box::pin(tried_by(&[role::BUILDER, role::VERIFIER, role::REPAIR, role::OPERATOR])).await;
}

#[tokio::test]
async fn an_orchestrator_has_its_account_but_for_unmaking_what_is_written_and_nothing_of_the_others() {
    Box::pin(tried_by(&[role::ORCHESTRATOR])).await;
}

#[tokio::test]
async fn an_archivist_reads_and_purges_streams_and_has_no_other_effect_of_its_own() {
    Box::pin(tried_by(&[role::ARCHIVIST])).await;
}

#[tokio::test]
async fn nobody_gets_in_without_credentials_of_this_authority() {
    Lab::start().await.strangers_stay_out().await;
}

#[tokio::test]
async fn a_delivery_is_acknowledged_by_agents_of_its_role_only() {
    Lab::start().await.acknowledge_for_others().await;
}
