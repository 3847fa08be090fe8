//! `schema`: what an agent's author needs of the wire, from this program itself.

use std::path::{Path, PathBuf};

use holdpoint_planfile::plan::{self, closest};
use holdpoint_protocol::{asyncapi, names, schema};
use holdpoint_text::units;
use serde_json::{Value, json};

use crate::{
    args::SchemaArgs,
    failure::{Exit, Failure},
    output,
};

/// The name of the AsyncAPI document.
const ASYNCAPI: &str = "asyncapi";
/// The name of the schema of plan files.
const PLAN: &str = "plan";
/// The name of the list of streams, consumers, subjects and headers.
const NAMES: &str = "names";

/// Prints or writes schemas, or the list of what there is.
pub(super) fn schema(args: &SchemaArgs) -> Result<Exit, Failure> {
    let documents = match &args.name {
        Some(name) => vec![find(name)?],
        None => all(),
    };
    match (&args.out, &args.name) {
        (Some(folder), _) => write(folder, &documents, args.json)?,
        (None, Some(_)) => documents.iter().for_each(|(_, document)| output::json(document)),
        (None, None) if args.json => {
            let schemas: Vec<&str> = schema::all().into_iter().map(|(name, _)| name).collect();
            output::json(&json!({"schemas": schemas, "names": names::all()}));
        }
        (None, None) => output::out(&overview()),
    }
    Ok(Exit::Success)
}

/// Everything that can be printed, by name.
fn all() -> Vec<(String, Value)> {
    let mut all: Vec<(String, Value)> =
        schema::all().into_iter().map(|(name, schema)| (name.to_owned(), schema.to_value())).collect();
    all.push((PLAN.to_owned(), plan::schema()));
    all.push((ASYNCAPI.to_owned(), asyncapi::document()));
    all.push((NAMES.to_owned(), json!(names::all())));
    all
}

fn find(name: &str) -> Result<(String, Value), Failure> {
    let found = all().into_iter().find(|(known, _)| known == name);
    found.ok_or_else(|| {
        let known: Vec<String> = all().into_iter().map(|(name, _)| name).collect();
        let hint = match closest(name, known.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("there are: {}", known.join(", ")),
        };
        Failure::usage("not_found", format!("there is no schema `{name}`"), hint)
    })
}

fn file_name(name: &str) -> String {
    if [ASYNCAPI, NAMES].contains(&name) { format!("{name}.json") } else { format!("{name}.schema.json") }
}

fn write(folder: &Path, documents: &[(String, Value)], json: bool) -> Result<(), Failure> {
    let failed = |path: &Path, error: &std::io::Error| {
        let hint = "name a folder that you may write to";
        Failure::environment("cannot_write", format!("cannot write {}: {error}", path.display()), hint)
    };
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let mut written: Vec<PathBuf> = Vec::new();
    for (name, document) in documents {
        let path = folder.join(file_name(name));
        let mut text = serde_json::to_vec_pretty(document).expect("plain data with text keys");
        text.push(b'\n');
        std::fs::write(&path, text).map_err(|error| failed(&path, &error))?;
        written.push(path);
    }
    if json {
        output::json(&json!({"written": written}));
    } else {
        output::out(&format!("{} in {}", units::counted(written.len(), "file"), folder.display()));
    }
    Ok(())
}

fn overview() -> String {
    let names = names::all();
    let mut lines = vec!["Streams".to_owned()];
    lines.extend(names.streams.iter().map(|stream| format!("  {:<22} {}", stream.name, stream.subjects)));
    lines.push("\nConsumers that agents of the pool `fleet` pull turns from".to_owned());
    lines.extend(names.consumers.iter().map(|consumer| format!("  {:<26} {}", consumer.name, consumer.filter)));
    lines.push("\nSubjects".to_owned());
    for subject in &names.subjects {
        lines.push(format!("  {:<12} {}\n  {:<12} {}", subject.name, subject.address, "", subject.summary));
    }
    lines.push("\nHeaders".to_owned());
    lines.extend(names.headers.iter().map(|header| format!("  {:<14} {}", header.name, header.summary)));
    lines.push("\nSchemas (`holdpoint schema NAME` prints one)".to_owned());
    lines.extend(all().into_iter().map(|(name, _)| format!("  {name}")));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_overview_can_be_printed() {
        let (overview, all) = (overview(), all());
        for (name, _) in &all {
            assert!(overview.contains(&format!("  {name}")), "{name}");
        }
        for (name, document) in all.first().into_iter().chain(all.last()) {
            assert_eq!(find(name).ok().map(|(_, found)| found).as_ref(), Some(document));
        }
        assert_eq!(find("no-such").err().map(|failure| failure.exit()), Some(Exit::Usage));
    }
}
