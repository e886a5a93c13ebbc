//! A connection to a sidecar.

use std::env;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Endpoint;
use tonic::{Code, Request, Response, Status, Streaming};

use crate::answer::Answer;
use crate::cache::AnswerCache;
use crate::caller::{CallerCredentials, Connection, Stub};
use crate::error::{Error, OnFailure, is_this_machine};
use crate::follower::{Follower, RULES_BYTES_MAX};
use crate::memory::Memory;
use crate::question::Question;
use crate::reports::{Reports, tell_unknown};
use crate::times;
use crate::v1;

/// Where a sidecar listens unless its configuration says otherwise.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:50051";

/// Names the address of the sidecar.
const ADDRESS_VARIABLE: &str = "PORTCULLIS_GRPC_ADDRESS";

const TIMEOUT_DEFAULT: Duration = Duration::from_secs(5);
const TOKENS_MAX_DEFAULT: usize = 10_000;
// The answer to a long batch exceeds the 4 MiB that gRPC accepts by default.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Most APIs and conflicts in a page of the matrix.
const PAGE_SIZE: i32 = 1_000;

/// Options of a client. The default is for a sidecar on this machine.
#[derive(Clone, Default)]
pub struct Options {
    /// How long a call may take. `None`: 5 seconds. Streams may take any time.
    pub timeout: Option<Duration>,
    /// The file with the secret that identifies the program: needed to issue by profile, to revoke tokens of others, and
    /// in local mode. It is read again while the client is used, so a new secret needs no restart.
    pub caller_token_file: Option<PathBuf>,
    /// That secret itself.
    pub caller_token: Option<String>,
    /// The token of an account administrator, for administration. A secret.
    pub iam_token: Option<String>,
    /// For a sidecar on another machine. `None`: plaintext, for one on this machine.
    #[cfg(feature = "tls")]
    pub tls: Option<tonic::transport::ClientTlsConfig>,
    /// Sends secrets in plaintext to another machine. Only for a connection that something else encrypts.
    pub allow_plaintext: bool,
    /// Decides in the memory of the program: the client follows what changes, and asks about each token once. It needs the
    /// right `follow` of a caller. Until it follows, and where it cannot, each check is asked.
    pub local: Option<Local>,
}

/// Options of the local mode.
#[derive(Clone, Default)]
pub struct Local {
    /// Most pairs of token and client address that are known. `None`: 10,000.
    pub tokens_max: Option<usize>,
    /// The accounts that are followed. Tokens of others are asked about each time. Empty: all.
    pub accounts: Vec<String>,
    /// Called, once for each cause, if the client cannot follow what changes. `None`: a line on standard error.
    pub on_failure: Option<OnFailure>,
}

/// A connection to a sidecar. It opens at the first call, and again after a failure. Copies share it; the streams of a
/// client end with the last of them. A client belongs to the runtime of tokio in which it was made, and does not
/// outlive it: when that has ended, a call returns an error, also in another runtime.
///
/// ```no_run
/// use portcullis_client::{Client, Options, Question};
///
/// # async fn example(headers: http::HeaderMap) -> Result<(), portcullis_client::Error> {
/// let client = Client::connect("", Options::default())?;
/// let answer = client.check(&Question::new("balance", &headers)).await?;
/// println!("{} {}", answer.allowed(), answer.message());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    address: String,
    timeout: Duration,
    connection: Connection,
    stub: Stub,
    /// Whether secrets may not be sent, because others could read them.
    is_exposed: bool,
    cache: AnswerCache,
    local: Option<Follower>,
    reports: Reports,
    runtime: Handle,
}

impl Client {
    /// Makes a client of the sidecar at `HOST:PORT` or `unix:PATH`. Empty: where `PORTCULLIS_GRPC_ADDRESS` says, else at
    /// [`DEFAULT_ADDRESS`]. It must run in a runtime of tokio.
    ///
    /// # Errors
    ///
    /// [`Error::Option`] if an option or the address is not as expected, [`Error::Plaintext`] if a secret would be sent to
    /// another machine in plaintext.
    pub fn connect(address: &str, options: Options) -> Result<Client, Error> {
        let Ok(runtime) = Handle::try_current() else {
            return Err(Error::Option { option: "connect", expected: "a runtime of tokio".to_owned() });
        };
        let address = match (address, env::var(ADDRESS_VARIABLE)) {
            ("", Ok(named)) if !named.is_empty() => named,
            ("", _) => DEFAULT_ADDRESS.to_owned(),
            (given, _) => given.to_owned(),
        };
        let caller = CallerCredentials::new(
            options.caller_token.as_deref(),
            options.caller_token_file.as_deref(),
            options.iam_token.as_deref(),
        )?;
        let is_exposed = !is_encrypted(&options) && !options.allow_plaintext && !is_this_machine(&address);
        if is_exposed && !caller.is_empty() {
            return Err(Error::Plaintext { address });
        }
        let endpoint = endpoint_of(&address, &options)?;
        let connection = InterceptedService::new(endpoint.connect_lazy(), caller.clone());
        let stub = Stub::new(connection.clone()).max_decoding_message_size(ANSWER_BYTES_MAX);
        let local = options.local.map(|local| {
            let memory = Memory::new(local.accounts, local.tokens_max.unwrap_or(TOKENS_MAX_DEFAULT));
            let on_failure =
                local.on_failure.unwrap_or_else(|| Arc::new(|error| eprintln!("{error}; each check is asked")));
            Follower::new(endpoint, caller, &address, memory, on_failure)
        });
        let timeout = options.timeout.unwrap_or(TIMEOUT_DEFAULT);
        let cache = AnswerCache::default();
        let reports = Reports::default();
        let shared = Shared { address, timeout, connection, stub, is_exposed, cache, local, reports, runtime };
        Ok(Client { shared: Arc::new(shared) })
    }

    /// Decides whether a credential opens an API. In local mode the answer about a known token comes from memory.
    ///
    /// # Errors
    ///
    /// [`Error`] where there is no answer. Treat it as a denial.
    pub async fn check(&self, question: &Question<'_>) -> Result<Answer, Error> {
        match &self.shared.local {
            // Only who asks needs the room for it.
            None => Box::pin(self.ask(question)).await.map(|response| Answer::of(response, question)),
            Some(follower) => match follower.answer(question) {
                Some(answer) => Ok(answer),
                // Also for one that waits for the question of another one.
                None => {
                    let answer = follower.ask_once(question, || self.ask(question));
                    let late = |_| Err(Error::of(&Status::deadline_exceeded(""), &self.shared.address));
                    Box::pin(tokio::time::timeout(self.shared.timeout, answer)).await.unwrap_or_else(late)
                }
            },
        }
    }

    /// The answer out of the memory of a client in local mode, without waiting for anything. `None`: the
    /// sidecar must be asked.
    #[must_use]
    pub fn check_locally(&self, question: &Question<'_>) -> Option<Answer> {
        self.shared.local.as_ref()?.answer(question)
    }

    /// Whether a client in local mode follows what changes, so that it may answer from memory.
    #[must_use]
    pub fn is_following(&self) -> bool {
        self.shared.local.as_ref().is_some_and(Follower::is_following)
    }

    /// Checks for a guard: with the answer to an equal question, where it may be reused.
    pub(crate) async fn check_cached(&self, question: &Question<'_>) -> Result<Answer, Error> {
        if self.shared.local.is_some() {
            return self.check(question).await.inspect(|_| self.reports().answered());
        }
        // An answer that is reused says nothing of the sidecar.
        let ask = async |request| self.ask_for(question, request).await.inspect(|_| self.reports().answered());
        Box::pin(self.shared.cache.answer(question, ask)).await
    }

    /// The APIs in the matrix of the sidecar.
    pub(crate) async fn apis_of_matrix(&self) -> Result<Vec<String>, Error> {
        let mut apis = Vec::new();
        let mut request = v1::GetMatrixRequest { page_size: PAGE_SIZE, ..Default::default() };
        loop {
            let mut stub = self.shared.stub.clone();
            let asked = request.clone();
            let response = self.call(asked, |request| async move { stub.get_matrix(request).await }).await?;
            apis.extend(response.matrix.unwrap_or_default().apis.into_iter().map(|api| api.id));
            request.page_token = response.next_page_token;
            if request.page_token.is_empty() {
                return Ok(apis);
            }
        }
    }

    pub(crate) fn reports(&self) -> &Reports {
        &self.shared.reports
    }

    /// Does something beside the program, in the runtime of the client.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.shared.runtime.spawn(work);
    }

    /// Asks the sidecar.
    async fn ask(&self, question: &Question<'_>) -> Result<v1::CheckResponse, Error> {
        self.ask_for(question, question.message()).await
    }

    async fn ask_for(&self, question: &Question<'_>, request: v1::CheckRequest) -> Result<v1::CheckResponse, Error> {
        self.expect_not_exposed(!question.is_about_claims())?;
        let mut stub = self.shared.stub.clone();
        let response = self.call(request, |request| async move { stub.check(request).await }).await?;
        self.expect_times(&response)?;
        Ok(response)
    }

    fn expect_times(&self, response: &v1::CheckResponse) -> Result<(), Error> {
        let token = response.token.as_ref();
        let times =
            [token.and_then(|token| token.issued_at.as_ref()), token.and_then(|token| token.expires_at.as_ref())];
        if times::are_times(times) { Ok(()) } else { Err(self.wrong_time()) }
    }

    fn wrong_time(&self) -> Error {
        let said = "the sidecar sent an answer that cannot be: expected a time";
        Error::of(&Status::internal(said), &self.shared.address)
    }

    /// Makes many checks in one round trip. The answers have the order and the number of the questions.
    ///
    /// # Errors
    ///
    /// [`Error`] where there is no answer to any of them.
    pub async fn check_batch(&self, questions: &[Question<'_>]) -> Result<Vec<Answer>, Error> {
        self.expect_not_exposed(questions.iter().any(|question| !question.is_about_claims()))?;
        let request =
            v1::CheckBatchRequest { checks: questions.iter().map(Question::message).collect(), ..Default::default() };
        let mut stub = self.shared.stub.clone();
        let response = self.call(request, |request| async move { stub.check_batch(request).await }).await?;
        if response.results.len() != questions.len() {
            return Err(Error::Answers { expected: questions.len(), found: response.results.len() });
        }
        for result in &response.results {
            self.expect_times(result)?;
        }
        let answer = |(response, question)| Answer::of(response, question);
        Ok(response.results.into_iter().zip(questions).map(answer).collect())
    }

    /// Issues a token for a scope, or for a set of APIs.
    ///
    /// # Errors
    ///
    /// [`Error`] where there is no token.
    pub async fn issue(&self, request: v1::IssueRequest) -> Result<v1::IssueResponse, Error> {
        // The answer is a secret, too.
        self.expect_not_exposed(true)?;
        let mut stub = self.shared.stub.clone();
        let response = self.call(request, |request| async move { stub.issue(request).await }).await?;
        let times = [response.issued_at.as_ref(), response.expires_at.as_ref()];
        if times::are_times(times) { Ok(response) } else { Err(self.wrong_time()) }
    }

    /// Revokes a token by its value, or by its id.
    ///
    /// # Errors
    ///
    /// [`Error`] if the token was not revoked.
    pub async fn revoke(&self, request: v1::RevokeRequest) -> Result<v1::RevokeResponse, Error> {
        self.expect_not_exposed(matches!(request.token, Some(v1::revoke_request::Token::Value(_))))?;
        let mut stub = self.shared.stub.clone();
        self.call(request, |request| async move { stub.revoke(request).await }).await
    }

    /// Finds the smallest set of tokens that opens all of the APIs.
    ///
    /// # Errors
    ///
    /// [`Error`] where there is no plan.
    pub async fn plan<Api: Into<String>>(
        &self,
        apis: impl IntoIterator<Item = Api>,
    ) -> Result<v1::PlanResponse, Error> {
        let request = v1::PlanRequest { apis: apis.into_iter().map(Into::into).collect(), ..Default::default() };
        let mut stub = self.shared.stub.clone();
        self.call(request, |request| async move { stub.plan(request).await }).await
    }

    /// Follows the changes that make answers void. [`Options::local`] does that for a program.
    ///
    /// # Errors
    ///
    /// [`Error`] if the sidecar does not return it.
    pub async fn watch_changes(
        &self,
        request: v1::WatchChangesRequest,
    ) -> Result<Streaming<v1::WatchChangesResponse>, Error> {
        let mut stub = Stub::new(self.connection()).max_decoding_message_size(RULES_BYTES_MAX);
        let response = stub.watch_changes(request).await;
        response.map(Response::into_inner).map_err(|status| Error::of(&status, &self.shared.address))
    }

    /// For the stubs of [`v1`]: every other call of the contract, such as those of its `DirectoryService`. Unlike the
    /// methods of the client, they do not refuse to send secrets in plaintext.
    #[must_use]
    pub fn connection(&self) -> Connection {
        self.shared.connection.clone()
    }

    /// Makes a call within the time that it may take.
    async fn call<M, R, F>(&self, message: M, method: impl FnOnce(Request<M>) -> F) -> Result<R, Error>
    where
        F: Future<Output = Result<Response<R>, Status>>,
    {
        let mut request = Request::new(message);
        request.set_timeout(self.shared.timeout);
        let answered = tokio::time::timeout(self.shared.timeout, method(request)).await;
        let answered = answered.unwrap_or_else(|_| Err(Status::deadline_exceeded("")));
        answered.map(Response::into_inner).map_err(|status| {
            // That is how tonic says that its own clock has run out.
            let is_late = status.code() == Code::Cancelled && status.message() == "Timeout expired";
            let late = Status::deadline_exceeded("");
            Error::of(if is_late { &late } else { &status }, &self.shared.address)
        })
    }

    fn expect_not_exposed(&self, is_secret: bool) -> Result<(), Error> {
        if is_secret && self.shared.is_exposed {
            return Err(Error::Plaintext { address: self.shared.address.clone() });
        }
        Ok(())
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").field("address", &self.shared.address).finish_non_exhaustive()
    }
}

#[cfg(feature = "tls")]
fn is_encrypted(options: &Options) -> bool {
    options.tls.is_some()
}

#[cfg(not(feature = "tls"))]
fn is_encrypted(_: &Options) -> bool {
    false
}

fn endpoint_of(address: &str, options: &Options) -> Result<Endpoint, Error> {
    let unexpected = |_| Error::Option { option: "address", expected: "`HOST:PORT` or `unix:PATH`".to_owned() };
    let scheme = if is_encrypted(options) { "https" } else { "http" };
    let uri = if address.starts_with("unix:") { address.to_owned() } else { format!("{scheme}://{address}") };
    let endpoint = Endpoint::from_shared(uri).map_err(unexpected)?;
    // A connection that died silently is noticed.
    let endpoint = endpoint
        .connect_timeout(Duration::from_secs(5))
        .http2_keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(10))
        .tcp_nodelay(true);
    #[cfg(feature = "tls")]
    if let Some(tls) = options.tls.clone() {
        return endpoint.tls_config(tls).map_err(|error| Error::Option {
            option: "tls",
            expected: format!("certificates and a key that fit ({error})"),
        });
    }
    Ok(endpoint)
}

impl Client {
    /// A guard starts: looks whether a sidecar answers, and whether its matrix has the APIs. It does not wait.
    pub(crate) fn begin<'a>(&self, apis: impl Iterator<Item = &'a str>, on_failure: Option<&OnFailure>) {
        let apis: Vec<String> = apis.filter(|api| self.reports().sought.add(api)).map(str::to_owned).collect();
        if apis.is_empty() {
            return;
        }
        let (client, on_failure) = (self.clone(), on_failure.cloned());
        self.spawn(async move {
            let reports = client.reports();
            match reports.at_start.get_or_init(|| client.apis_of_matrix()).await {
                Ok(known) => {
                    for api in apis.iter().filter(|api| !known.contains(api)) {
                        if reports.told.add(api) {
                            tell_unknown(api, known, on_failure.as_ref());
                        }
                    }
                }
                Err(error) => reports.absent(error, on_failure.as_ref()),
            }
        });
    }

    /// The sidecar has said that the matrix does not have the API of a guard. It does not wait.
    pub(crate) fn deny_unknown(&self, api: &str, on_failure: Option<&OnFailure>) {
        if !self.reports().told.add(api) {
            return;
        }
        let (client, api, on_failure) = (self.clone(), api.to_owned(), on_failure.cloned());
        self.spawn(async move {
            // Without the matrix, only the name that was meant is missing.
            let known = client.apis_of_matrix().await.unwrap_or_default();
            tell_unknown(&api, &known, on_failure.as_ref());
        });
    }
}
