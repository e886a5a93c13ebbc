//! Calls of gRPC, through a guard in front of tonic. The service behind it is a fake of the contract.

use std::sync::Arc;

use portcullis_client::v1::authorization_service_client::AuthorizationServiceClient;
use portcullis_client::v1::authorization_service_server::AuthorizationServiceServer;
use portcullis_client::{CallGuard, Client, Reason, Scope, token_of, v1};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Code, Request, Status};
use tonic_types::StatusExt as _;

use super::fake::{Fake, first_response};
use super::guards::{Row, rows};
use super::support::{ACCOUNT, absent, fixed, modes};

const PLAN: &str = "/portcullis.v1.AuthorizationService/Plan";
const WATCH: &str = "/portcullis.v1.AuthorizationService/WatchChanges";

type Guarded = AuthorizationServiceClient<Channel>;

/// A server behind a guard, and a client of it.
async fn start(guard: CallGuard) -> Guarded {
    let watch = |told: super::fake::Told<v1::WatchChangesResponse>| _ = told.try_send(Ok(first_response()));
    let fake = Arc::new(Fake { watch: Some(Box::new(watch)), ..Fake::default() });
    let expect_token = |request: Request<()>| match token_of(request.extensions()) {
        Some(token) if token.scope.account == ACCOUNT => Ok(request),
        _ => Err(Status::internal("expected the token")),
    };
    let service = InterceptedService::new(AuthorizationServiceServer::from_arc(fake), expect_token);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let server = Server::builder().layer(guard).add_service(service);
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    AuthorizationServiceClient::new(Endpoint::from_shared(address).unwrap().connect_lazy())
}

fn guard_of(client: &Client) -> CallGuard {
    CallGuard::of_methods(client, [(PLAN, "balance"), (WATCH, "balance")])
        .target(|request| Some(Scope::account(request.headers.get("account")?.to_str().ok()?)))
}

fn with<T>(row: &Row, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("account", row.account.parse().unwrap());
    for (name, value) in &row.headers {
        let name: AsciiMetadataKey = name.to_ascii_lowercase().parse().unwrap();
        request.metadata_mut().append(name, AsciiMetadataValue::try_from(value.trim()).unwrap());
    }
    request
}

#[tokio::test]
async fn calls_of_grpc() {
    let rows = rows().await;
    for (mode, client) in modes().await {
        let mut served = start(guard_of(&client)).await;
        expect_rows(mode, &mut served, &rows).await;
        let row = rows.iter().find(|row| row.reason == Reason::Allowed).unwrap();
        let denied = served.revoke(with(row, v1::RevokeRequest::default())).await.unwrap_err();
        assert_eq!(denied.code(), Code::PermissionDenied);
        assert!(
            denied.message().starts_with("UNKNOWN_API: "),
            "expected that a method without an API is denied: {denied}"
        );
        let mut no_target = Request::new(v1::PlanRequest::default());
        no_target.metadata_mut().insert("x-token", fixed().parse().unwrap());
        let denied = served.plan(no_target).await.unwrap_err();
        assert_eq!((denied.code(), &denied.message()[..18]), (Code::PermissionDenied, "TARGET_NOT_FOUND: "));
        let mut hiding = start(guard_of(&client).hide_others()).await;
        let row = rows.iter().find(|row| row.reason == Reason::AccountMismatch).unwrap();
        let denied = hiding.plan(with(row, v1::PlanRequest::default())).await.unwrap_err();
        assert_eq!(denied.code(), Code::NotFound);
    }
}

/// Calls each method twice, and expects what the row says.
async fn expect_rows(mode: &str, served: &mut Guarded, rows: &[Row]) {
    for row in rows.iter().flat_map(|row| [row, row]) {
        let what = format!("{mode} {}", row.name);
        expect_call(&what, row, served.plan(with(row, v1::PlanRequest::default())).await.err());
        let watched = match served.watch_changes(with(row, v1::WatchChangesRequest::default())).await {
            Ok(stream) => stream.into_inner().message().await.err(),
            Err(status) => Some(status),
        };
        expect_call(&what, row, watched);
    }
}

#[tokio::test]
async fn calls_by_the_routes() {
    let rows = rows().await;
    for (mode, client) in modes().await {
        let mut served = start(CallGuard::of_routes(&client)).await;
        expect_rows(mode, &mut served, &rows).await;
        let row = rows.iter().find(|row| row.reason == Reason::Allowed).unwrap();
        let denied = served.revoke(with(row, v1::RevokeRequest::default())).await.unwrap_err();
        assert_eq!(denied.code(), Code::PermissionDenied);
        assert!(
            denied.message().starts_with("NO_ROUTE: "),
            "expected that a method without a route is denied: {denied}"
        );
    }
}

fn expect_call(what: &str, row: &Row, found: Option<Status>) {
    let Some(found) = found else {
        assert_eq!(row.reason, Reason::Allowed, "{what}");
        return;
    };
    let code = match row.reason {
        Reason::Allowed => Code::Ok,
        _ if row.is_known_token() => Code::PermissionDenied,
        _ => Code::Unauthenticated,
    };
    assert_eq!(found.code(), code, "{what}: {found}");
    let info = found.get_details_error_info().unwrap();
    assert_eq!((info.reason.as_str(), info.domain.as_str()), (row.reason.as_str(), "portcullis"), "{what}");
    assert!(found.message().starts_with(&format!("{}: ", row.reason)), "{what}: {found}");
}

#[tokio::test]
async fn a_call_without_a_sidecar() {
    let guard = CallGuard::of_methods(&absent(), [(PLAN, "balance")]).on_failure(|_| {});
    let failed = start(guard).await.plan(v1::PlanRequest::default()).await.unwrap_err();
    assert_eq!(failed.code(), Code::Unavailable);
}
