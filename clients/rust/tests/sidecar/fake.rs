//! A sidecar that says what a test wants.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use portcullis_client::v1::authorization_service_server::{AuthorizationService, AuthorizationServiceServer};
use portcullis_client::{Client, Local, OnFailure, Options, v1};
use prost::Message as _;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};

pub(crate) type Told<T> = mpsc::Sender<Result<T, Status>>;
type Watch = dyn Fn(Told<v1::WatchChangesResponse>) + Send + Sync;
type Issue = dyn Fn(usize) -> Result<v1::IssueResponse, Status> + Send + Sync;

#[derive(Default)]
pub(crate) struct Fake {
    /// `None`: it is older, and has no such stream.
    pub(crate) watch: Option<Box<Watch>>,
    pub(crate) watches: AtomicUsize,
    pub(crate) checks: AtomicUsize,
    /// Of each token, which the rules of the library have. `None`: a static token.
    pub(crate) kind: Option<&'static str>,
    /// Whether it leaves checks without an answer.
    pub(crate) is_silent: bool,
    /// Of each token, in seconds since 1970. `None`: it says none.
    pub(crate) issued_at: Option<i64>,
    /// Of its matrix, and how often it was asked for it. `None`: it does not say them, and knows every API.
    pub(crate) apis: std::sync::Mutex<Option<Vec<&'static str>>>,
    pub(crate) matrices: AtomicUsize,
    /// Answers to a batch beside the right number of them.
    pub(crate) more_answers: usize,
    /// Is issued in place of tokens `token-1`, `token-2` and so on.
    pub(crate) issue: Option<Box<Issue>>,
    /// Closed: tokens are issued at once.
    pub(crate) gate: Option<Arc<tokio::sync::Semaphore>>,
    pub(crate) issues: std::sync::Mutex<Vec<v1::IssueRequest>>,
}

/// Starts a server, and returns its address.
pub(crate) async fn serve(fake: Arc<Fake>) -> String {
    serve_at("127.0.0.1:0", fake).await
}

pub(crate) async fn serve_at(address: &str, fake: Arc<Fake>) -> String {
    let listener = TcpListener::bind(address).await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = Server::builder().add_service(AuthorizationServiceServer::from_arc(fake));
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    address
}

/// A client in local mode of a fake.
pub(crate) async fn connect_local(fake: &Arc<Fake>, on_failure: OnFailure) -> Client {
    let local = Local { on_failure: Some(on_failure), ..Local::default() };
    Client::connect(&serve(fake.clone()).await, Options { local: Some(local), ..Options::default() }).unwrap()
}

pub(crate) fn seconds(seconds: i64) -> Option<prost_types::Duration> {
    Some(prost_types::Duration { seconds, nanos: 0 })
}

pub(crate) fn rules(name: &str) -> v1::Rules {
    let file = format!("{}/../conformance/rules/{name}.binpb", env!("CARGO_MANIFEST_DIR"));
    v1::Rules::decode(std::fs::read(file).unwrap().as_slice()).unwrap()
}

pub(crate) fn first_response() -> v1::WatchChangesResponse {
    v1::WatchChangesResponse {
        position: Some(v1::Position::default()),
        rules: Some(rules("shipped")),
        voided: Some(v1::Voided { everything: true, ..Default::default() }),
        valid_for: seconds(60),
        sent_at: seconds(1),
        ..Default::default()
    }
}

pub(crate) fn issued(count: usize) -> v1::IssueResponse {
    v1::IssueResponse { header: "X-Auth-Token".to_owned(), value: format!("token-{count}"), ..Default::default() }
}

fn allowed(kind: Option<&str>) -> v1::CheckResponse {
    v1::CheckResponse {
        allowed: true,
        reason: v1::Reason::Allowed.into(),
        verified: true,
        position: Some(v1::Position::default()),
        token: Some(v1::VerifiedToken {
            token_id: "id".to_owned(),
            kind: kind.unwrap_or("static_token").to_owned(),
            scope: Some(v1::Scope { account: super::support::ACCOUNT.to_owned(), project: String::new() }),
            subject: Some(v1::Subject { id: "holder".to_owned(), ..Default::default() }),
            ..Default::default()
        }),
        cache_for: seconds(60),
        rules_digest: rules(if kind.is_none() { "shipped" } else { "library" }).matrix.unwrap().rules_digest,
        ..Default::default()
    }
}

#[tonic::async_trait]
impl AuthorizationService for Fake {
    type CheckStreamStream = ReceiverStream<Result<v1::CheckStreamResponse, Status>>;
    type WatchMatrixStream = ReceiverStream<Result<v1::WatchMatrixResponse, Status>>;
    type WatchChangesStream = ReceiverStream<Result<v1::WatchChangesResponse, Status>>;

    async fn check(&self, request: Request<v1::CheckRequest>) -> Result<Response<v1::CheckResponse>, Status> {
        self.checks.fetch_add(1, SeqCst);
        if self.apis.lock().unwrap().as_ref().is_some_and(|apis| !apis.contains(&request.get_ref().api.as_str())) {
            let reason = v1::Reason::UnknownApi.into();
            return Ok(Response::new(v1::CheckResponse { reason, ..Default::default() }));
        }
        if self.is_silent {
            std::future::pending::<()>().await;
        }
        let mut response = allowed(self.kind);
        if let Some(token) = &mut response.token {
            token.issued_at = self.issued_at.map(|seconds| prost_types::Timestamp { seconds, nanos: 0 });
        }
        Ok(Response::new(response))
    }

    async fn check_batch(
        &self,
        request: Request<v1::CheckBatchRequest>,
    ) -> Result<Response<v1::CheckBatchResponse>, Status> {
        let results = vec![allowed(self.kind); request.get_ref().checks.len() + self.more_answers];
        Ok(Response::new(v1::CheckBatchResponse { results }))
    }

    async fn check_stream(
        &self,
        _: Request<Streaming<v1::CheckStreamRequest>>,
    ) -> Result<Response<Self::CheckStreamStream>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn issue(&self, request: Request<v1::IssueRequest>) -> Result<Response<v1::IssueResponse>, Status> {
        let count = {
            let mut issues = self.issues.lock().unwrap();
            issues.push(request.into_inner());
            issues.len()
        };
        if let Some(gate) = &self.gate {
            let _ = gate.acquire().await;
        }
        match &self.issue {
            None => Ok(Response::new(issued(count))),
            Some(issue) => issue(count).map(Response::new),
        }
    }

    async fn revoke(&self, _: Request<v1::RevokeRequest>) -> Result<Response<v1::RevokeResponse>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn plan(&self, _: Request<v1::PlanRequest>) -> Result<Response<v1::PlanResponse>, Status> {
        Ok(Response::new(v1::PlanResponse::default()))
    }

    async fn get_matrix(&self, _: Request<v1::GetMatrixRequest>) -> Result<Response<v1::GetMatrixResponse>, Status> {
        let apis = self.apis.lock().unwrap().clone();
        self.matrices.fetch_add(1, SeqCst);
        let apis = apis.ok_or_else(|| Status::unimplemented(""))?;
        let apis = apis.into_iter().map(|id| v1::Api { id: id.to_owned(), ..Default::default() }).collect();
        let matrix = Some(v1::Matrix { apis, ..Default::default() });
        Ok(Response::new(v1::GetMatrixResponse { matrix, ..Default::default() }))
    }

    async fn watch_matrix(
        &self,
        _: Request<v1::WatchMatrixRequest>,
    ) -> Result<Response<Self::WatchMatrixStream>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn watch_changes(
        &self,
        _: Request<v1::WatchChangesRequest>,
    ) -> Result<Response<Self::WatchChangesStream>, Status> {
        self.watches.fetch_add(1, SeqCst);
        let watch = self.watch.as_ref().ok_or_else(|| Status::unimplemented("no such method"))?;
        let (tell, told) = mpsc::channel(16);
        watch(tell);
        Ok(Response::new(ReceiverStream::new(told)))
    }

    async fn describe_tokens(
        &self,
        _: Request<v1::DescribeTokensRequest>,
    ) -> Result<Response<v1::DescribeTokensResponse>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn get_promoted_matrix(
        &self,
        _: Request<v1::GetPromotedMatrixRequest>,
    ) -> Result<Response<v1::GetPromotedMatrixResponse>, Status> {
        Err(Status::unimplemented(""))
    }
}
