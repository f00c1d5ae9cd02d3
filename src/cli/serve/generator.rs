//! The generator itself, for another ragscope: a connection that `GET /v1/generator` switches to the messages
//! of [`relay`].
//!
//! Each connection has a process of its own, so that the KV cache of a client is its own, and a crash of
//! llama.cpp costs its connection alone. The processes map the same weights, which the CPU has in memory once.
//! Calls take turns with all other requests: one at a time is evaluated, and a client that makes many waits
//! behind the others after each. The server loads the generator of its own settings and passes on calls
//! ([`relay::sent`]), within limits of size, number and time.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, UPGRADE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{interval, timeout};

use crate::cli::service::{Client, Refusal, RefusalKind, Turn};
use crate::config::{GeneratorSettings, Paths};
use crate::event::Problem;
use crate::llm::isolated::{GeneratorProcess, relay};
use crate::llm::{LlmError, resolve};
use crate::process::frame::{self, Decoder};

use super::Server;
use super::reply::Failure;

/// A client hears something at least this often during a call.
const ALIVE: Duration = Duration::from_millis(500);
/// A client that makes no call for this time makes room; its next question opens another connection.
const MAX_IDLE: Duration = Duration::from_secs(600);
/// A client that does not answer a token, or reads nothing, for this time has left.
const PATIENCE: Duration = Duration::from_secs(60);
/// After which a client may try again when all places are taken.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// Messages of the process that wait for a slow client.
const MAX_WAITING: usize = 16;
const PART_BYTES: usize = 64 << 10;

/// The generators that other programs use.
pub struct Generators {
    places: Arc<Semaphore>,
    max: usize,
    paths: Paths,
}

impl Generators {
    /// At most `max` connections at a time.
    pub fn new(max: usize, paths: &Paths) -> Self {
        Self {
            places: Arc::new(Semaphore::new(max)),
            max,
            paths: paths.clone(),
        }
    }

    fn claim(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        if self.max == 0 {
            let error = "this server provides its generator to nobody";
            return Err(refused(Problem::new(
                error,
                "start it with --generators 1 or more",
            )));
        }
        Arc::clone(&self.places).try_acquire_owned().map_err(|_| {
            let error = format!("{} programs use the generator already", self.max);
            let kind = RefusalKind::Unavailable {
                retry_after: RETRY_AFTER,
            };
            let advice = "try again in a while, or start the server with a larger --generators";
            Refusal::new(kind, Problem::new(error, advice))
        })
    }
}

/// The generator that a connection gets.
struct Model {
    file: PathBuf,
    log_file: PathBuf,
    settings: GeneratorSettings,
}

impl Model {
    /// Returns the generator of the settings of the server.
    fn of(server: &Server) -> Result<Self, Refusal> {
        let settings = server.engine.layers.config()?.generator;
        if !settings.url.is_empty() {
            let error = "the generator of this server is on a server itself";
            let advice = "connect to the one that generator.url names there";
            return Err(refused(Problem::new(error, advice)));
        }
        let paths = &server.generators.paths;
        let file = resolve(&settings.model, paths).map_err(|error| refused(error.into()))?;
        Ok(Self {
            file,
            log_file: paths.log_file(),
            settings,
        })
    }
}

/// Returns the refusal of a request that another attempt would not change.
fn refused(problem: Problem) -> Refusal {
    Refusal::new(RefusalKind::Refused, problem)
}

/// Answers a request of `GET /v1/generator`.
pub async fn connect(
    State(server): State<Arc<Server>>,
    Extension(client): Extension<Client>,
    mut request: Request,
) -> Response {
    if !has_version(request.headers()) {
        return with_upgrade(
            Failure::new(
                StatusCode::UPGRADE_REQUIRED,
                "upgrade_required",
                format!(
                    "this path is a connection of {}: name it as `generator.url` of a ragscope of this version",
                    relay::PROTOCOL
                ),
            )
            .into_response(),
        );
    }
    let claimed = server.generators.claim();
    let begun = claimed.and_then(|place| Ok((place, Model::of(&server)?)));
    let (place, model) = match begun {
        Ok(begun) => begun,
        Err(refusal) => return Failure::from(refusal).into_response(),
    };

    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        serve(upgrade, &server, client, model).await;
        drop(place);
    });
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    with_upgrade(response)
}

fn has_version(headers: &HeaderMap) -> bool {
    let wanted = headers.get(UPGRADE).and_then(|value| value.to_str().ok());
    wanted.is_some_and(|wanted| wanted.eq_ignore_ascii_case(relay::PROTOCOL))
}

fn with_upgrade(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static(relay::PROTOCOL));
    response
}

/// Serves a connection until it ends, and the process with it.
async fn serve(upgrade: OnUpgrade, server: &Server, client: Client, model: Model) {
    let Ok(upgraded) = upgrade.await else {
        return;
    };
    let (input, output) = tokio::io::split(TokioIo::new(upgraded));
    let mut output = Output(output);
    let (process, replies) = match start(model).await {
        Ok(started) => started,
        Err(error) => {
            // a client that has left needs no reason
            let _ = output.send(&relay::ended(error)).await;
            return;
        }
    };
    let session = Session {
        server,
        client,
        process,
        output,
        // the load
        phase: Phase::Working(Working::new(None)),
    };
    let _ = session.run(Input::new(input), replies).await;
}

/// Starts the process, which begins to load.
async fn start(model: Model) -> Result<(GeneratorProcess, mpsc::Receiver<Vec<u8>>), LlmError> {
    let (sender, replies) = mpsc::channel(MAX_WAITING);
    let started = tokio::task::spawn_blocking(move || {
        let take = move |reply| sender.blocking_send(reply).is_ok();
        GeneratorProcess::load(&model.file, Some(model.log_file), &model.settings, take)
    });
    let process = started
        .await
        .map_err(|error| LlmError::Backend(error.to_string()))??;
    Ok((process, replies))
}

/// A connection and its process.
struct Session<'s> {
    server: &'s Server,
    client: Client,
    process: GeneratorProcess,
    output: Output,
    phase: Phase<'s>,
}

/// Where the call of a client is.
enum Phase<'s> {
    Idle(Instant),
    /// It waits for its turn.
    Waiting {
        call: Vec<u8>,
        turn: Pin<Box<dyn Future<Output = Result<Turn, Refusal>> + Send + 's>>,
    },
    /// The process carries it out.
    Working(Working),
}

struct Working {
    /// `None` while the model is loaded, which takes no turn.
    _turn: Option<Turn>,
    is_interrupted: bool,
    /// Since when a token waits for the answer of the client.
    shown: Option<Instant>,
}

impl Working {
    fn new(turn: Option<Turn>) -> Self {
        Self {
            _turn: turn,
            is_interrupted: false,
            shown: None,
        }
    }
}

/// Why a connection ends.
#[derive(Debug)]
struct Over;

impl<'s> Session<'s> {
    async fn run(
        mut self,
        mut input: Input,
        mut replies: mpsc::Receiver<Vec<u8>>,
    ) -> Result<(), Over> {
        let mut ticks = interval(ALIVE);
        loop {
            tokio::select! {
                message = input.next() => self.take(message?).await?,
                reply = replies.recv() => match reply {
                    Some(reply) => self.pass_on(&reply).await?,
                    None => return self.report_end().await,
                },
                turn = next_turn(&mut self.phase) => self.begin(turn).await?,
                _ = ticks.tick() => self.check().await?,
            }
        }
    }

    /// Takes a message of the client.
    async fn take(&mut self, message: Vec<u8>) -> Result<(), Over> {
        let sent = match relay::sent(&message) {
            Ok(sent) => sent,
            Err(problem) => {
                let refused = relay::ended(LlmError::Settings(problem));
                self.output.send(&refused).await?;
                return Err(Over);
            }
        };
        match (&mut self.phase, sent) {
            (Phase::Idle(_), relay::Sent::Call) => {
                let server = self.server;
                let client = self.client.clone();
                self.phase = Phase::Waiting {
                    call: message,
                    turn: Box::pin(async move { server.engine.turn(&client).await }),
                };
                Ok(())
            }
            // a stop may arrive when the call is over
            (Phase::Idle(_), relay::Sent::Interrupt) => Ok(()),
            (Phase::Waiting { .. }, relay::Sent::Interrupt) => {
                self.phase = Phase::Idle(Instant::now());
                self.output.send(&relay::ended(LlmError::Stopped)).await
            }
            (Phase::Working(working), relay::Sent::Interrupt) => {
                if std::mem::replace(&mut working.is_interrupted, true) {
                    return Ok(());
                }
                self.send(&message)
            }
            (Phase::Working(working), relay::Sent::Seen) => {
                working.shown.take().ok_or(Over)?;
                self.send(&message)
            }
            // one call at a time, and no answer without a token
            (Phase::Idle(_), relay::Sent::Seen)
            | (Phase::Waiting { .. }, relay::Sent::Call | relay::Sent::Seen)
            | (Phase::Working(_), relay::Sent::Call) => Err(Over),
        }
    }

    /// Begins the call whose turn has come.
    async fn begin(&mut self, turn: Result<Turn, Refusal>) -> Result<(), Over> {
        let phase = std::mem::replace(&mut self.phase, Phase::Idle(Instant::now()));
        let Phase::Waiting { call, .. } = phase else {
            return Err(Over);
        };
        match turn {
            Ok(turn) => {
                self.phase = Phase::Working(Working::new(Some(turn)));
                self.send(&call)
            }
            Err(refusal) => {
                let refused = LlmError::Settings(refusal.problem);
                self.output.send(&relay::ended(refused)).await
            }
        }
    }

    /// Passes on a message of the process.
    async fn pass_on(&mut self, reply: &[u8]) -> Result<(), Over> {
        match (relay::said(reply), &mut self.phase) {
            (Some(relay::Said::Progress), _) => {}
            (Some(relay::Said::Token), Phase::Working(working)) => {
                working.shown = Some(Instant::now());
            }
            (Some(relay::Said::Done), Phase::Working(_)) => {
                self.phase = Phase::Idle(Instant::now());
            }
            (Some(relay::Said::Token | relay::Said::Done) | None, _) => return Err(Over),
        }
        self.output.send(reply).await
    }

    /// Shows a client in a call that it is not lost, and ends a connection whose client is.
    async fn check(&mut self) -> Result<(), Over> {
        let is_over = match &self.phase {
            Phase::Idle(since) => since.elapsed() > MAX_IDLE,
            Phase::Waiting { .. } => false,
            Phase::Working(working) => working.shown.is_some_and(|at| at.elapsed() > PATIENCE),
        };
        match &self.phase {
            _ if is_over => Err(Over),
            Phase::Idle(_) => Ok(()),
            Phase::Waiting { .. } | Phase::Working(_) => self.output.send(&relay::alive()).await,
        }
    }

    /// Reports that the process has ended.
    async fn report_end(&mut self) -> Result<(), Over> {
        if let Phase::Working(_) = self.phase {
            let ended = LlmError::settings(
                "the process of the model ended on the server",
                "ask again; where it repeats, the log of llama.cpp there says more",
            );
            self.output.send(&relay::ended(ended)).await?;
        }
        Err(Over)
    }

    /// Sends a message to the process, which always reads.
    fn send(&mut self, message: &[u8]) -> Result<(), Over> {
        tokio::task::block_in_place(|| self.process.send(message)).map_err(|_| Over)
    }
}

/// Waits for the turn of a call, if one waits.
async fn next_turn(phase: &mut Phase<'_>) -> Result<Turn, Refusal> {
    match phase {
        Phase::Waiting { turn, .. } => turn.await,
        Phase::Idle(_) | Phase::Working(_) => std::future::pending().await,
    }
}

/// The messages of a client.
struct Input {
    half: ReadHalf<TokioIo<Upgraded>>,
    frames: Decoder,
    part: Vec<u8>,
}

impl Input {
    fn new(half: ReadHalf<TokioIo<Upgraded>>) -> Self {
        Self {
            half,
            frames: Decoder::new(relay::MAX_REQUEST_BYTES),
            part: vec![0; PART_BYTES],
        }
    }

    /// Waits for a message. What was read stays when this is dropped.
    async fn next(&mut self) -> Result<Vec<u8>, Over> {
        loop {
            if let Some(message) = self.frames.take().map_err(|_| Over)? {
                return Ok(message);
            }
            match self.half.read(&mut self.part).await {
                Ok(length @ 1..) => self.frames.push(&self.part[..length]),
                Ok(0) | Err(_) => return Err(Over),
            }
        }
    }
}

/// Messages to a client.
struct Output(WriteHalf<TokioIo<Upgraded>>);

impl Output {
    async fn send(&mut self, message: &[u8]) -> Result<(), Over> {
        let frame = frame::encode(message);
        match timeout(PATIENCE, self.0.write_all(&frame)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Over),
        }
    }
}
