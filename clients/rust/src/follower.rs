//! Keeps the memory of a client up to date, and asks once about what is not in it.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Endpoint;
use tonic::{Code, Status};

use crate::answer::Answer;
use crate::caller::{CallerCredentials, Stub};
use crate::elapsed;
use crate::error::{Error, OnFailure, report};
use crate::memory::{Memory, Refused};
use crate::question::Question;
use crate::v1;

/// A sidecar says something at least every second. A stream that is silent for longer is left.
const QUIET_MAX: Duration = Duration::from_secs(2);
/// How long one stream is read. Two clocks drift by some milliseconds in that time; a new stream compares them anew.
const STREAM_MAX: Duration = Duration::from_secs(600);
// Pause after a stream that failed: longer after each further one.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// Pause where the sidecar does not let the client follow.
const PAUSE_REFUSED: Duration = Duration::from_secs(60);

/// The rules of a large matrix exceed the 4 MiB that gRPC accepts by default.
pub(crate) const RULES_BYTES_MAX: usize = 256 << 20;

/// How long a follower waits before it begins the next stream.
pub(crate) struct Pauses {
    next: Duration,
}

impl Default for Pauses {
    fn default() -> Pauses {
        Pauses { next: PAUSE_MIN }
    }
}

impl Pauses {
    /// A response of a stream counted.
    pub(crate) fn heard(&mut self) {
        self.next = PAUSE_MIN;
    }

    /// The pause after a stream that ended with a code.
    pub(crate) fn after(&mut self, code: Code) -> Duration {
        if is_refusal(code) {
            return PAUSE_REFUSED;
        }
        let pause = self.next;
        self.next = (2 * pause).min(PAUSE_MAX);
        pause
    }
}

/// A token and the address of a client.
type Pair = (String, String);

pub(crate) struct Follower {
    memory: Arc<Memory>,
    task: AbortHandle,
    /// Questions that are asked now. A semaphore is closed when its question has its answer.
    asking: Mutex<HashMap<Pair, Arc<Semaphore>>>,
}

impl Follower {
    pub(crate) fn new(
        endpoint: Endpoint,
        caller: CallerCredentials,
        address: &str,
        memory: Memory,
        on_failure: OnFailure,
    ) -> Follower {
        let memory = Arc::new(memory);
        let reader = Reader { endpoint, caller, memory: memory.clone() };
        let reports = Reports { address: address.to_owned(), on_failure, reported: HashSet::new() };
        let task = tokio::spawn(reader.run(reports)).abort_handle();
        Follower { memory, task, asking: Mutex::default() }
    }

    pub(crate) fn answer(&self, question: &Question<'_>) -> Option<Answer> {
        self.memory.answer(question, elapsed::now())
    }

    pub(crate) fn is_following(&self) -> bool {
        self.memory.is_following(elapsed::now())
    }

    /// Answers a question that the memory could not answer. Others who ask the same wait for the answer, and then look into
    /// the memory.
    pub(crate) async fn ask_once<F>(&self, question: &Question<'_>, ask: impl FnOnce() -> F) -> Result<Answer, Error>
    where
        F: Future<Output = Result<v1::CheckResponse, Error>>,
    {
        let memory = &self.memory;
        let mut asked = memory.asked(question, elapsed::now());
        let mut asking = None;
        if let Some((value, _)) = asked.credential.as_ref().filter(|_| asked.is_followed) {
            match self.begin((value.clone(), question.client_address.to_owned())) {
                Ok(first) => asking = Some(first),
                Err(earlier) => {
                    // It never gives a permit: it is closed when the first one has its answer, or has left.
                    let _ = earlier.acquire().await;
                    asked = memory.asked(question, elapsed::now());
                }
            }
            // Another one may have had its answer just now.
            if let Some(answer) = self.answer(question) {
                return Ok(answer);
            }
        }
        let mut response = ask().await?;
        memory.learn(question, &asked, &response);
        if response.position.is_some() {
            // The memory forgets it when a change touches it, and a cache would not.
            response.cache_for = None;
        }
        drop(asking);
        Ok(Answer::of(response, question))
    }

    /// Begins a question, if it is not asked already.
    fn begin(&self, pair: Pair) -> Result<Asking<'_>, Arc<Semaphore>> {
        let mut all = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get(&pair) {
            Some(earlier) => Err(earlier.clone()),
            None => {
                all.insert(pair.clone(), Arc::new(Semaphore::new(0)));
                Ok(Asking { follower: self, pair })
            }
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A question that is asked. Dropped, it has its answer, or the one who asked has left.
struct Asking<'a> {
    follower: &'a Follower,
    pair: Pair,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let mut all = self.follower.asking.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waited) = all.remove(&self.pair) {
            waited.close();
        }
    }
}

/// Why a stream was left.
enum Left {
    Status(Status),
    Refused(Refused),
}

struct Reader {
    endpoint: Endpoint,
    caller: CallerCredentials,
    memory: Arc<Memory>,
}

impl Reader {
    /// Follows until the client is dropped.
    async fn run(self, mut reports: Reports) {
        let mut pauses = Pauses::default();
        loop {
            let ended = match self.read(&mut pauses).await {
                Ok(()) => continue,
                Err(Left::Status(status)) => {
                    if is_refusal(status.code()) {
                        reports.refusal(&status);
                    }
                    status.code()
                }
                Err(Left::Refused(refused)) => {
                    reports.refused(refused);
                    Code::Unknown
                }
            };
            sleep(pauses.after(ended)).await;
        }
    }

    /// Reads one stream, for long enough.
    async fn read(&self, pauses: &mut Pauses) -> Result<(), Left> {
        let memory = &self.memory;
        // An answer counts from the moment of the question, so the time to connect would be lost.
        let channel =
            self.endpoint.connect().await.map_err(|error| Left::Status(Status::unavailable(error.to_string())))?;
        let connection = InterceptedService::new(channel, self.caller.clone());
        let mut stub = Stub::new(connection).max_decoding_message_size(RULES_BYTES_MAX);
        let began = Instant::now();
        let request = memory.begin(elapsed::now(), elapsed::jumped());
        let mut stream = within(QUIET_MAX, stub.watch_changes(request)).await?.into_inner();
        while began.elapsed() < STREAM_MAX {
            let Some(response) = within(QUIET_MAX, stream.message()).await? else {
                return Err(Left::Status(Status::unavailable("the sidecar ended the stream")));
            };
            let goes_on = memory.hear(response, elapsed::now(), elapsed::jumped()).map_err(Left::Refused)?;
            pauses.heard();
            if !goes_on {
                break;
            }
        }
        Ok(())
    }
}

async fn within<T>(limit: Duration, call: impl Future<Output = Result<T, Status>>) -> Result<T, Left> {
    let silent = |_| Err(Status::unavailable("the sidecar is silent"));
    timeout(limit, call).await.unwrap_or_else(silent).map_err(Left::Status)
}

/// An older sidecar has no such stream, and not every caller may follow.
fn is_refusal(code: Code) -> bool {
    matches!(code, Code::Unimplemented | Code::Unauthenticated | Code::PermissionDenied)
}

/// Each cause is reported once: an interruption is ordinary, a refusal is not.
struct Reports {
    address: String,
    on_failure: OnFailure,
    reported: HashSet<Cause>,
}

#[derive(PartialEq, Eq, Hash)]
enum Cause {
    Code(i32),
    Refused(Refused),
}

impl Reports {
    fn refusal(&mut self, status: &Status) {
        if self.reported.insert(Cause::Code(status.code().into())) {
            report(&self.on_failure, &Error::of(status, &self.address));
        }
    }

    fn refused(&mut self, refused: Refused) {
        if self.reported.insert(Cause::Refused(refused)) {
            let error = match refused {
                Refused::Changes => &Error::Changes,
                Refused::Rules => &Error::Rules,
            };
            report(&self.on_failure, error);
        }
    }
}
