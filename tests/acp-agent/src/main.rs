//! An agent that is made with the protocol's own crate: it does what its prompt's waypoint wants in the first of these ways that was
//! not tried in its conversation, and keeps its conversations in its home.
//!
//! ```text
//! ACP_AGENT_STEPS="hullo hello"    what it writes into made.txt, prompt by prompt
//! ```

use std::path::{Path, PathBuf};

use agent_client_protocol::{
    Agent, Client, Error, Result, Stdio,
    v1::{
        ConnectionTo,
        schema::{
            AgentCapabilities, ContentBlock, ContentChunk, InitializeRequest, InitializeResponse, LoadSessionRequest,
            LoadSessionResponse, NewSessionRequest, NewSessionResponse, PermissionOption, PermissionOptionKind,
            PromptRequest, PromptResponse, ReadTextFileRequest, RequestPermissionOutcome, RequestPermissionRequest,
            SessionNotification, SessionUpdate, StopReason, TextContent, ToolCall, ToolCallUpdate,
            ToolCallUpdateFields, WriteTextFileRequest,
        },
    },
};

/// Its one conversation in each folder.
const SESSION: &str = "acp-agent-1";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    Agent
        .v1()
        .name("holdpoint-acp-agent")
        .on_receive_request(
            async move |hello: InitializeRequest, responder, _connection| {
                let can = AgentCapabilities::new().load_session(true);
                responder.respond(InitializeResponse::new(hello.protocol_version).agent_capabilities(can))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |new: NewSessionRequest, responder, _connection| {
                remember(&new.cwd, 0)?;
                responder.respond(NewSessionResponse::new(SESSION))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |load: LoadSessionRequest, responder, connection: ConnectionTo<Client>| {
                if !note(&load.cwd).exists() {
                    return responder.respond_with_error(Error::invalid_params());
                }
                connection.send_notification(words("What I said long ago. <waypoint-failed>w1</waypoint-failed>"))?;
                responder.respond(LoadSessionResponse::new())
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |_prompt: PromptRequest, responder, connection: ConnectionTo<Client>| {
                let agent = connection.clone();
                connection.spawn(async move {
                    match work(&agent).await {
                        Ok(()) => responder.respond(PromptResponse::new(StopReason::EndTurn)),
                        Err(error) => responder.respond_with_error(error),
                    }
                })
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_to(Stdio::new())
        .await
}

/// Writes the next text by way of the client, after it asked for permission.
async fn work(client: &ConnectionTo<Client>) -> Result<()> {
    let tree = std::env::current_dir().map_err(Error::into_internal_error)?;
    let tried = std::fs::read_to_string(note(&tree)).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    let steps = std::env::var("ACP_AGENT_STEPS").unwrap_or_else(|_| "hello".to_owned());
    let text = steps.split_whitespace().nth(tried).ok_or_else(Error::internal_error)?;
    remember(&tree, tried + 1)?;
    let call = ToolCall::new("call-1", "Write made.txt");
    client.send_notification(SessionNotification::new(SESSION, SessionUpdate::ToolCall(call)))?;
    let options = vec![
        PermissionOption::new("no", "No", PermissionOptionKind::RejectOnce),
        PermissionOption::new("yes", "Yes", PermissionOptionKind::AllowOnce),
    ];
    let about = ToolCallUpdate::new("call-1", ToolCallUpdateFields::new().title("Write made.txt".to_owned()));
    let asked = RequestPermissionRequest::new(SESSION, about, options);
    let got = client.send_request(asked).block_task().await?;
    let RequestPermissionOutcome::Selected(chosen) = got.outcome else { return Err(Error::internal_error()) };
    if chosen.option_id.to_string() != "yes" {
        return Err(Error::internal_error());
    }
    let file = tree.join("made.txt");
    client.send_request(WriteTextFileRequest::new(SESSION, &file, format!("{text}\n"))).block_task().await?;
    let read = client.send_request(ReadTextFileRequest::new(SESSION, &file)).block_task().await?;
    if read.content.trim() != text {
        return Err(Error::internal_error());
    }
    // Nothing outside of the tree.
    if client.send_request(ReadTextFileRequest::new(SESSION, "/etc/passwd")).block_task().await.is_ok() {
        return Err(Error::internal_error());
    }
    for piece in ["I wrote ", text, ".\n\n<waypoint-", "complete>w1</waypoint-complete>"] {
        client.send_notification(words(piece))?;
    }
    Ok(())
}

fn words(text: &str) -> SessionNotification {
    let chunk = ContentChunk::new(ContentBlock::Text(TextContent::new(text.to_owned())));
    SessionNotification::new(SESSION, SessionUpdate::AgentMessageChunk(chunk))
}

/// Where the conversation of a folder is kept, as agents do that know conversations by the folder they were in.
fn note(tree: &Path) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    home.join(format!("acp-agent{}", tree.display().to_string().replace('/', "-")))
}

fn remember(tree: &Path, tried: usize) -> Result<()> {
    std::fs::write(note(tree), tried.to_string()).map_err(Error::into_internal_error)
}
