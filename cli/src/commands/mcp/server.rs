//! The protocol: lists tools, and has calls answered one after the other. Calls that have begun are finished before the
//! server ends.

use std::{io, sync::Arc, thread};

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, JsonObject, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    },
    service::{RequestContext, ServerInitializeError},
    transport::async_rw::AsyncRwTransport,
};
use tokio::{
    runtime::Builder,
    sync::{mpsc, oneshot},
};

use super::{
    lines::{self, Answers},
    offer::Offer,
    reply::{Refusal, Reply, result},
};
use crate::{
    failure::{Failure, chain},
    interrupt::Interrupts,
};

/// The longest message of a client, in bytes. A completion with everything at its bound, written with escapes, is shorter.
const MESSAGE_BYTES_MAX: usize = 1 << 20;
/// What is read ahead of a client, in bytes.
const PIPE_BYTES: usize = 64 << 10;
/// Calls that wait for their turn.
const WAITING_MAX: usize = 32;

/// A call, and the way back to its caller.
struct Call {
    tool: String,
    arguments: JsonObject,
    answered: oneshot::Sender<CallToolResult>,
}

/// The protocol's end. It decides nothing.
#[derive(Clone)]
struct Server {
    tools: Arc<[Tool]>,
    instructions: &'static str,
    calls: mpsc::Sender<Call>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("holdpoint", env!("CARGO_PKG_VERSION")))
            .with_instructions(self.instructions)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.tools.iter().any(|tool| tool.name == request.name) {
            return Err(ErrorData::invalid_params(format!("there is no tool {:?} here", request.name), None));
        }
        let (answered, answer) = oneshot::channel();
        let (tool, arguments) = (request.name.into_owned(), request.arguments.unwrap_or_default());
        if self.calls.try_send(Call { tool, arguments, answered }).is_err() {
            let message = format!("{WAITING_MAX} calls wait already");
            return Ok(
                result(Err(Failure::environment("busy", message, "call again when they are answered").into())).into()
            );
        }
        let gone = |_| ErrorData::internal_error("the server is ending", None);
        Ok(answer.await.map_err(gone)?.into())
    }
}

/// Speaks with the client until that goes, on a thread of its own: what is spawned on one scheduler is begun in the order in which
/// it came, so that calls are, too.
fn speak(server: Server) -> Result<oneshot::Receiver<Result<(), Failure>>, Failure> {
    let failed = |error: io::Error| Failure::environment("thread", format!("cannot start a thread: {error}"), "");
    let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let (say, ended) = oneshot::channel();
    let spoken = async {
        let (lines, mended) = tokio::io::duplex(PIPE_BYTES);
        let (said, saying) = tokio::io::duplex(PIPE_BYTES);
        let answers = Answers::new(tokio::io::stdout());
        let refusing = answers.clone();
        tokio::spawn(async move { lines::mended(tokio::io::stdin(), mended, &refusing, MESSAGE_BYTES_MAX).await });
        let passing = tokio::spawn(async move { answers.pass_on(said).await });
        let transport = AsyncRwTransport::new_server(lines, saying);
        // One more for the end of the line.
        let served = server.serve(transport.with_max_line_length(MESSAGE_BYTES_MAX + 1)).await;
        match served {
            // How it ended makes no difference: nobody is there any more.
            Ok(running) => {
                drop(running.waiting().await);
                // What was answered last is written.
                let _ = passing.await;
            }
            Err(ServerInitializeError::ConnectionClosed(_)) => {}
            Err(error) => {
                let hint = "this is started by a client of the Model Context Protocol, and not by hand";
                return Err(Failure::usage(
                    "protocol",
                    format!("the client was not understood: {}", chain(&error)),
                    hint,
                ));
            }
        }
        Ok(())
    };
    let speaking = move || {
        // The receiver may have been interrupted.
        let _ = say.send(runtime.block_on(spoken));
        // A reading of standard input may never end.
        runtime.shutdown_background();
    };
    thread::Builder::new().name("mcp".to_owned()).spawn(speaking).map_err(failed)?;
    Ok(ended)
}

/// Serves on standard input and output until the client goes, or Ctrl-C or SIGTERM comes.
pub(super) async fn serve(
    offer: Offer,
    answer: impl AsyncFn(String, JsonObject) -> Result<Reply, Refusal>,
) -> Result<(), Failure> {
    let mut interrupts = Interrupts::listen()?;
    let (calls, mut queue) = mpsc::channel(WAITING_MAX);
    let server = Server { tools: offer.tools.into(), instructions: offer.instructions, calls };
    let ended = speak(server)?;
    let mut over = std::pin::pin!(async {
        tokio::select! {
            ended = ended => ended.unwrap_or_else(|_| {
                Err(Failure::environment("protocol", "speaking with the client failed", "start it again"))
            }),
            () = interrupts.next() => Ok(()),
        }
    });
    loop {
        let call = tokio::select! {
            biased;
            ended = &mut over => return ended,
            call = queue.recv() => call,
        };
        let Some(Call { tool, arguments, answered }) = call else { return Ok(()) };
        let mut answering = std::pin::pin!(answer(tool, arguments));
        let said = tokio::select! {
            said = &mut answering => said,
            ended = &mut over => {
                if !offer.ends_with_client {
                    // An act that was begun is finished, and its fleet is ended in order.
                    let _unheard = answering.await;
                }
                return ended;
            }
        };
        // The caller may have gone.
        let _ = answered.send(result(said));
    }
}
