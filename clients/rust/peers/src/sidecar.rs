//! Tells the rules to a client, and says why it denies.

use std::time::{Duration, Instant};

use portcullis_client::v1;
use portcullis_client::v1::authorization_service_server::{AuthorizationService, AuthorizationServiceServer};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};

use crate::questions::{Asked, questions_of};

pub(crate) struct Sidecar {
    rules: v1::Rules,
    asked: Vec<Asked>,
}

/// Starts it, and returns its address.
pub(crate) async fn start(rules: v1::Rules) -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let sidecar = Sidecar { asked: questions_of(&rules), rules };
    let server = Server::builder().add_service(AuthorizationServiceServer::new(sidecar));
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    Ok(address)
}

type Told<T> = ReceiverStream<Result<T, Status>>;
type Answer<T> = Result<Response<T>, Status>;

fn none<T>() -> Answer<T> {
    Err(Status::unimplemented("the client does not ask this"))
}

#[tonic::async_trait]
impl AuthorizationService for Sidecar {
    type CheckStreamStream = Told<v1::CheckStreamResponse>;
    type WatchMatrixStream = Told<v1::WatchMatrixResponse>;
    type WatchChangesStream = Told<v1::WatchChangesResponse>;

    async fn check(&self, request: Request<v1::CheckRequest>) -> Answer<v1::CheckResponse> {
        let request = request.into_inner();
        let Some(v1::check_request::Subject::Token(claims)) = request.subject else { return none() };
        let is_same = |each: &&Asked| each.api == request.api && each.kind == claims.kind;
        let allowed = self.asked.iter().find(is_same).is_some_and(|each| each.is_allowed);
        let reason = if allowed { v1::Reason::Allowed } else { v1::Reason::TokenKindNotAccepted };
        let rules_digest = self.rules.matrix.clone().unwrap_or_default().rules_digest;
        let message = "denied".to_owned();
        Ok(Response::new(v1::CheckResponse {
            allowed,
            reason: reason.into(),
            rules_digest,
            message,
            ..Default::default()
        }))
    }

    async fn watch_changes(&self, _: Request<v1::WatchChangesRequest>) -> Answer<Self::WatchChangesStream> {
        let (tell, told) = mpsc::channel(1);
        let voided = Some(v1::Voided { everything: true, ..Default::default() });
        let mut response = v1::WatchChangesResponse { rules: Some(self.rules.clone()), voided, ..Default::default() };
        let began = Instant::now();
        tokio::spawn(async move {
            loop {
                response.position = Some(v1::Position::default());
                response.valid_for = Duration::from_secs(60).try_into().ok();
                response.sent_at = began.elapsed().try_into().ok();
                if tell.send(Ok(response)).await.is_err() {
                    return;
                }
                response = v1::WatchChangesResponse::default();
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        });
        Ok(Response::new(ReceiverStream::new(told)))
    }

    async fn check_batch(&self, _: Request<v1::CheckBatchRequest>) -> Answer<v1::CheckBatchResponse> {
        none()
    }

    async fn check_stream(&self, _: Request<Streaming<v1::CheckStreamRequest>>) -> Answer<Self::CheckStreamStream> {
        none()
    }

    async fn issue(&self, _: Request<v1::IssueRequest>) -> Answer<v1::IssueResponse> {
        none()
    }

    async fn revoke(&self, _: Request<v1::RevokeRequest>) -> Answer<v1::RevokeResponse> {
        none()
    }

    async fn plan(&self, _: Request<v1::PlanRequest>) -> Answer<v1::PlanResponse> {
        none()
    }

    async fn get_matrix(&self, _: Request<v1::GetMatrixRequest>) -> Answer<v1::GetMatrixResponse> {
        none()
    }

    async fn watch_matrix(&self, _: Request<v1::WatchMatrixRequest>) -> Answer<Self::WatchMatrixStream> {
        none()
    }

    async fn describe_tokens(&self, _: Request<v1::DescribeTokensRequest>) -> Answer<v1::DescribeTokensResponse> {
        none()
    }
}
