//! The walk: every step of a flight, each process stopped before and after it, and each of four things happening then.
//!
//! The order is shuffled by the seed, so that a walk that is cut short by its time is a fair sample.
#![expect(clippy::print_stdout, reason = "a long run tells how it goes")]

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use holdpoint_faults::{Step, When};

use super::{Terms, dice::Dice};
use crate::cell::{self, Cell, CellWorld, Flight, Victim};

/// Flights at once: each is half a dozen processes, and two are what two cores bear.
const AT_ONCE: usize = 2;

type Outcomes = BTreeMap<String, BTreeMap<(When, Victim), String>>;

/// Walks all cells, and prints the matrix.
///
/// # Errors
/// The cells that did not come to what a flight without faults comes to.
pub fn run(terms: &Terms) -> Result<(), String> {
    let cells = chosen(terms)?;
    println!("{} cells, {AT_ONCE} at once", cells.len());
    let begun = Instant::now();
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(Cell, Result<Duration, String>)>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(cell) =
                    cells.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| begun.elapsed() < terms.time)
                {
                    let outcome = cell::fly(cell);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    println!("{:>4}/{} {cell}: {}", done.len() + 1, cells.len(), word(&outcome));
                    done.push((cell.clone(), outcome));
                }
            });
        }
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    print!("{}", table(&done));
    println!("{} of {} cells in {} s", done.len(), cells.len(), begun.elapsed().as_secs());
    let wrong: Vec<String> =
        done.iter().filter_map(|(cell, outcome)| Some(format!("{cell}: {}", outcome.as_ref().err()?))).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n\n")) }
}

/// All cells in the seed's order, each at one of the passings that a flight without faults had.
fn chosen(terms: &Terms) -> Result<Vec<Cell>, String> {
    let mut dice = Dice::new(terms.seed);
    let mut cells = cell::all();
    if let Some(only) = &terms.only {
        cells.retain(|cell| cell.to_string().contains(only));
        if cells.is_empty() {
            return Err(format!("no cell's name has {only:?} in it, as {:?} has", cell::all()[0].to_string()));
        }
    }
    let mut passed = BTreeMap::new();
    for flight in Flight::ALL {
        if cells.iter().any(|cell| cell.flight == flight) {
            passed.insert(flight, passings(flight)?);
        }
    }
    for cell in &mut cells {
        let order = &mut cell.order;
        let count = passed[&cell.flight].get(&(order.role.clone(), order.step, order.when)).copied().unwrap_or(0);
        if count == 0 {
            return Err(format!("a flight without faults does not pass: {order}"));
        }
        // Several builders share the passings of their role, commands of people those of orchestrators, and what is asleep
        // is not the only one.
        if cell.flight != Flight::People && order.role != "builder" && cell.victim != Victim::Asleep {
            order.nth = 1 + dice.below(count);
        }
    }
    dice.shuffle(&mut cells);
    Ok(cells)
}

/// How often each role passes each side of each step of a flight without faults.
fn passings(flight: Flight) -> Result<BTreeMap<(String, Step, When), u32>, String> {
    let place = CellWorld::new(flight, None);
    let finished = place.fly_to_the_end().map_err(|error| format!("without faults: {error}"))?;
    let wrong = cell::problems(&place, &finished);
    if wrong.is_empty() {
        return Ok(place.passed());
    }
    Err(format!("without faults: {}\n{finished}", wrong.join("\n")))
}

fn word(outcome: &Result<Duration, String>) -> String {
    match outcome {
        Ok(took) => format!("accepted, {:.0} s", took.as_secs_f64()),
        Err(error) => format!("WRONG: {}", error.lines().next().unwrap_or_default()),
    }
}

/// The matrix as it is in `docs/failures.md`: seconds until the flight was accepted, before / after the step.
fn table(done: &[(Cell, Result<Duration, String>)]) -> String {
    let mut rows = Outcomes::new();
    for (cell, outcome) in done {
        let key = format!("{} | {}{}", place(cell.order.step), cell.flight.prefix(), cell.order.role);
        let word =
            outcome.as_ref().map_or_else(|_| "**wrong**".to_owned(), |took| format!("{:.0}", took.as_secs_f64()));
        rows.entry(key).or_default().insert((cell.order.when, cell.victim), word);
    }
    let mut text = format!("| step | process | {} |\n", Victim::ALL.map(Victim::name).join(" | "));
    text.push_str(&format!("|{}\n", "---|".repeat(2 + Victim::ALL.len())));
    for (key, outcomes) in rows {
        let name = key.split_once(' ').map_or(key.as_str(), |(_, rest)| rest);
        let at = |when, victim| outcomes.get(&(when, victim)).map_or("–", String::as_str);
        let columns = Victim::ALL.map(|victim| format!("{} / {}", at(When::Before, victim), at(When::After, victim)));
        text.push_str(&format!("| {name} | {} |\n", columns.join(" | ")));
    }
    text
}

/// The step with its place in the flight in front, for sorting.
fn place(step: Step) -> String {
    let place = Step::ALL.iter().position(|one| *one == step).unwrap_or_default();
    format!("{place:02} {}", step.name())
}
