//! Which tools there are: names, descriptions that teach, and schemas made from the types that calls are read into.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, de::DeserializeOwned};

use super::reply::Refusal;

/// What a server offers.
#[derive(Debug)]
pub(super) struct Offer {
    /// Its tools.
    pub(super) tools: Vec<Tool>,
    /// What the whole is for.
    pub(super) instructions: &'static str,
    /// Whether a call is given up when the client goes; otherwise it is finished first.
    pub(super) ends_with_client: bool,
}

/// A tool that takes these arguments.
pub(super) fn tool<A: JsonSchema>(name: &'static str, description: &'static str, only_reads: bool) -> Tool {
    let hints = ToolAnnotations::new().read_only(only_reads).destructive(false).idempotent(only_reads);
    Tool::new(name, description, schema::<A>()).annotate(hints)
}

/// The schema in one piece: clients need not follow references.
fn schema<A: JsonSchema>() -> Arc<JsonObject> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<A>();
    for title in ["title", "description"] {
        schema.remove(title);
    }
    Arc::new(schema.as_object().cloned().unwrap_or_default())
}

/// The arguments of a call.
pub(super) fn read<A: DeserializeOwned>(tool: &str, arguments: JsonObject) -> Result<A, Refusal> {
    serde_json::from_value(arguments.into()).map_err(|error| Refusal::arguments(tool, &error))
}

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}
