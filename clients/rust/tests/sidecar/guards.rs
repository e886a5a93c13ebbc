//! Requests of HTTP, through a guard in front of axum.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use axum::body::Body;
use axum::extract::Path;
use axum::{Router, routing::get};
use http::{Request, StatusCode};
use portcullis_client::{Answer, Api, Client, Guard, Local, Options, Reason, Scope, Token};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tower_service::Service as _;

use super::fake::{Fake, serve};
use super::support::{
    ACCOUNT, OTHER_ACCOUNT, Sidecar, absent, connect, connect_local, fixed, is_from_memory, issue_token, modes,
    reporter, shared,
};

/// Each request, and its outcome. The tests run them through every guard, with and without local mode, and twice: the
/// second time the answer may come from memory.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) account: &'static str,
    pub(crate) reason: Reason,
}

impl Row {
    pub(crate) fn is_known_token(&self) -> bool {
        matches!(self.reason, Reason::Allowed | Reason::AccountMismatch | Reason::TokenKindNotAccepted)
    }
}

pub(crate) async fn rows() -> Vec<Row> {
    let (iam, project) = (issue_token("account", "").await, issue_token("alpha", "alpha").await);
    let fixed = fixed().to_owned();
    let forged = format!("{}AAAAAAAA", &iam[..iam.len() - 8]);
    let row = |name, headers: &[(&'static str, &str)], account, reason| {
        let headers = headers.iter().map(|&(name, value)| (name, value.to_owned())).collect();
        Row { name, headers, account, reason }
    };
    vec![
        row("no token", &[], ACCOUNT, Reason::CredentialMissing),
        row("a longer name", &[("X-Auth-Token-2", &iam)], ACCOUNT, Reason::CredentialMissing),
        row("two tokens", &[("X-Token", &fixed), ("X-Auth-Token", &iam)], ACCOUNT, Reason::CredentialAmbiguous),
        row(
            "the header twice",
            &[("X-Auth-Token", &iam), ("X-Auth-Token", &iam)],
            ACCOUNT,
            Reason::CredentialAmbiguous,
        ),
        row("a comma", &[("X-Token", &format!("{fixed}, {fixed}"))], ACCOUNT, Reason::CredentialAmbiguous),
        row("a blank inside", &[("X-Auth-Token", &format!("{iam} x"))], ACCOUNT, Reason::CredentialMalformed),
        row("a static token in X-Auth-Token", &[("X-Auth-Token", &fixed)], ACCOUNT, Reason::WrongHeader),
        row("an IAM token in X-Token", &[("X-Token", &iam)], ACCOUNT, Reason::WrongHeader),
        row("an unknown token", &[("X-Token", "unknown")], ACCOUNT, Reason::CredentialInvalid),
        row("a forged signature", &[("X-Auth-Token", &forged)], ACCOUNT, Reason::CredentialInvalid),
        row("a project token", &[("X-Auth-Token", &project)], ACCOUNT, Reason::TokenKindNotAccepted),
        row("the account of others", &[("X-Token", &fixed)], OTHER_ACCOUNT, Reason::AccountMismatch),
        row("the account of others, by IAM", &[("X-Auth-Token", &iam)], OTHER_ACCOUNT, Reason::AccountMismatch),
        row("a static token", &[("X-Token", &fixed)], ACCOUNT, Reason::Allowed),
        row("an IAM token", &[("x-AUTH-tOKEN", &iam)], ACCOUNT, Reason::Allowed),
        row("blanks around a token", &[("X-Token", &format!(" {fixed} "))], ACCOUNT, Reason::Allowed),
        row(
            "other headers",
            &[("Authorization", "Bearer x"), ("X-Token", &fixed), ("X-Portcullis-Kind", "x")],
            ACCOUNT,
            Reason::Allowed,
        ),
    ]
}

/// Serves an app on a free port.
pub(crate) async fn start(app: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let app = app.into_make_service_with_connect_info::<std::net::SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

#[tokio::test]
async fn requests_of_http() {
    let rows = rows().await;
    for (mode, client) in modes().await {
        let guard = Guard::new(&client, "balance").target_from(|Path(account): Path<String>| Scope::account(account));
        let balance = |token: Token, answer: Answer| async move {
            assert!(answer.allowed());
            format!("{} of {}", token.kind, token.scope.account)
        };
        let app = Router::new().route("/accounts/{account}/balance", get(balance)).route_layer(guard);
        expect_rows(mode, app, &rows).await;
    }
}

/// Sends each request twice, and expects what the row says.
async fn expect_rows(mode: &str, app: Router, rows: &[Row]) {
    let address = start(app).await;
    for row in rows.iter().flat_map(|row| [row, row]) {
        // As the bytes stand in the row.
        let mut request =
            format!("GET /accounts/{}/balance?x=y HTTP/1.1\r\nHost: a\r\nConnection: close\r\n", row.account);
        for (name, value) in &row.headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        let response = raw(&address, &format!("{request}\r\n").into_bytes()).await;
        expect_response(&format!("{mode} {}", row.name), row, &response);
    }
}

#[tokio::test]
async fn requests_by_the_routes() {
    let rows = rows().await;
    for (mode, client) in modes().await {
        let balance = |token: Token, answer: Answer| async move {
            let route = answer.route().unwrap();
            assert_eq!((route.api.as_str(), route.target), ("balance", Some(Scope::account(ACCOUNT))));
            format!("{} of {}", token.kind, token.scope.account)
        };
        // The nested router sees another path than the one that arrived.
        let nested = Router::new().route("/{account}/balance", get(balance)).layer(Guard::routes(&client));
        expect_rows(mode, Router::new().nest("/accounts", nested), &rows).await;
    }
}

#[tokio::test]
async fn requests_that_the_routes_refuse() {
    let rows = [
        ("GET /accounts/123456/balance", "", "200"),
        ("HEAD /accounts/123456/balance", "", "NOT_CANONICAL"),
        ("GET /accounts/123456/balance/", "", "NOT_CANONICAL"),
        ("GET /accounts/../accounts/123456/balance", "", "NOT_CANONICAL"),
        ("GET /accounts//123456/balance", "", "NOT_CANONICAL"),
        ("GET /accounts/123456/%62alance", "", "NOT_CANONICAL"),
        ("GET /accounts/123456/BALANCE", "", "NOT_CANONICAL"),
        ("GET /accounts/123456/balance.json", "", "NOT_CANONICAL"),
        ("GET http://else.where/accounts/123456/balance", "", "NOT_CANONICAL"),
        ("GET /accounts/123456/balance", "Host: b\r\n", "NOT_CANONICAL"),
        ("GET /accounts/123456/balance", "X-Original-URL: /\r\n", "NOT_CANONICAL"),
        ("GET /accounts/123456/balance", "X-HTTP-Method-Override: DELETE\r\n", "NOT_CANONICAL"),
        ("DELETE /accounts/123456/balance", "", "TOKEN_KIND_NOT_ACCEPTED"),
        ("GET /accounts/1%202/balance", "", "ACCOUNT_MISMATCH"),
        ("GET /else/where", "", "NO_ROUTE"),
        ("GET /balance", "", "TARGET_NOT_FOUND"),
    ];
    for (mode, client) in modes().await {
        let address = start(Router::new().fallback(|| async {}).layer(Guard::routes(&client))).await;
        for (start, headers, expected) in rows.iter().flat_map(|row| [row, row]) {
            let secret = fixed();
            let request =
                format!("{start} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Token: {secret}\r\n{headers}\r\n");
            let found = raw(&address, request.as_bytes()).await;
            let reason = found.header("x-portcullis-reason");
            let status = found.status.to_string();
            assert_eq!(if reason.is_empty() { &status } else { reason }, *expected, "{mode} {start} {headers}");
        }
    }
}

#[tokio::test]
async fn plain_requests_are_answered_from_memory() {
    let client = connect_local(Local::default()).await;
    let from_memory = |answer: Answer| async move { is_from_memory(&answer).to_string() };
    let mut app = Router::new().fallback(from_memory).layer(Guard::routes(&client));
    let mut ask = async |path: &str, version, accounts: usize| {
        let mut request = Request::get(path).version(version).header("X-Token", fixed());
        if version == http::Version::HTTP_11 {
            request = request.header("Host", "api.example.com:443");
        }
        for _ in 0..accounts {
            request = request.header("X-Account", ACCOUNT);
        }
        let response = app.as_service::<Body>().call(request.body(Body::empty()).unwrap()).await.unwrap();
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, String::from_utf8_lossy(&body).into_owned())
    };
    let (http1, http2) = (http::Version::HTTP_11, http::Version::HTTP_2);
    let rows = [
        ("/accounts/123456/balance", http1, 1, (200, "false")),
        ("/balance", http1, 1, (200, "true")),
        ("/accounts/123456/balance", http1, 1, (200, "true")),
        ("/balance?a=b", http1, 1, (200, "true")),
        ("https://api.example.com/balance?a=b", http2, 1, (200, "true")),
        ("https://api.example.com/balance", http1, 1, (403, "NOT_CANONICAL")),
        ("/Balance", http1, 1, (403, "NOT_CANONICAL")),
        ("/balance", http1, 2, (403, "TARGET_NOT_FOUND")),
    ];
    for (path, version, accounts, (status, body)) in rows {
        let found = ask(path, version, accounts).await;
        assert!(found.0 == status && found.1.contains(body), "{version:?} {path}: {found:?}");
    }
}

#[tokio::test]
async fn routes_where_there_are_none() {
    let routeless = shared().write("routeless.yaml", "log: { level: error }\n");
    let sidecar = Sidecar::start(&shared().folder, routeless.to_str().unwrap(), "127.0.0.1:0", false);
    let client = Client::connect(&sidecar.address, Options::default()).unwrap();
    let internal = r#"{"error":{"reason":"INTERNAL","message":"the request could not be authorized; the operator finds the cause in the log"}}"#;
    let (on_failure, mut reported) = reporter();
    let guard = Guard::routes(&client).on_failure(move |error| on_failure(error));
    assert_eq!(answered(guard).await, (500, internal.to_owned()));
    let error = reported.0.recv().await.unwrap().to_string();
    assert!(error.contains("request"), "{error}");
}

#[tokio::test]
async fn a_guard_by_the_routes_has_no_target_of_its_own() {
    let (on_failure, mut reported) = reporter();
    let guard = Guard::routes(&connect(Options::default())).target(|_| Some(Scope::account(ACCOUNT)));
    assert_eq!(answered(guard.on_failure(move |error| on_failure(error))).await.0, 500);
    let error = reported.0.recv().await.unwrap().to_string();
    assert!(error.contains("target"), "{error}");
}

pub(crate) struct Raw {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Raw {
    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(each, _)| each == name).map_or("", |(_, value)| value)
    }
}

/// Sends bytes, and reads until the server ends the connection.
async fn raw(address: &str, request: &[u8]) -> Raw {
    let mut connection = TcpStream::connect(address).await.unwrap();
    connection.write_all(request).await.unwrap();
    let mut response = String::new();
    connection.read_to_string(&mut response).await.unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers =
        lines.map(|line| line.split_once(": ").unwrap()).map(|(name, value)| (name.to_owned(), value.to_owned()));
    Raw { status, headers: headers.collect(), body: body.to_owned() }
}

fn expect_response(what: &str, row: &Row, found: &Raw) {
    if row.reason == Reason::Allowed {
        assert!(found.status == 200 && found.body.ends_with(&format!(" of {ACCOUNT}")), "{what}: {}", found.body);
        return;
    }
    let reason = row.reason.as_str();
    let challenges =
        ["X-Auth-Token", "X-Token"].map(|name| format!(r#"Portcullis header="{name}", reason="{reason}""#)).join(", ");
    let (status, challenge) = if row.is_known_token() { (403, String::new()) } else { (401, challenges) };
    let body: Value = serde_json::from_str(&found.body).unwrap();
    assert_eq!((found.status, &body["error"]["reason"]), (status, &json!(reason)), "{what}");
    assert!(!body["error"]["message"].as_str().unwrap().is_empty(), "{what}");
    assert_eq!(body["error"]["accepted"].as_array().unwrap().len(), 2, "{what}");
    assert_eq!(found.header("www-authenticate"), challenge, "{what}");
    assert_eq!(found.header("x-portcullis-reason"), reason, "{what}");
    assert_eq!(
        (found.header("cache-control"), found.header("content-type")),
        ("no-store", "application/json"),
        "{what}"
    );
    assert!(found.header("x-portcullis-rules-digest").starts_with("sha256:"), "{what}");
}

#[tokio::test]
async fn headers_that_are_no_text() {
    for (mode, client) in modes().await {
        let app = Router::new().route("/", get(|| async {})).layer(Guard::new(&client, "balance"));
        let address = start(app).await;
        for _ in 0..2 {
            let request =
                b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Other: \xff\xfe\r\nX-Token: a\xff\r\n\r\n";
            let found = raw(&address, request).await;
            assert_eq!(found.header("x-portcullis-reason"), "CREDENTIAL_MALFORMED", "{mode}");
        }
    }
}

/// The answer of a guard to a request with the token of the owner.
async fn answered(guard: Guard) -> (u16, String) {
    let mut app = Router::new().route("/", get(|| async { "passed" })).layer(guard);
    let request = Request::get("/").header("X-Token", fixed()).body(Body::empty()).unwrap();
    let response = app.as_service::<Body>().call(request).await.unwrap();
    let status = response.status().as_u16();
    let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn the_answers_of_a_guard_without_a_decision() {
    let (on_failure, mut reported) = reporter();
    let client = connect(Options::default());
    let guard = || Guard::new(&client, "balance");
    let unknown = r#"{"error":{"reason":"UNKNOWN_API","message":"no API is known for this request"}}"#;
    let no_target =
        r#"{"error":{"reason":"TARGET_NOT_FOUND","message":"the request does not say whose resource it asks for"}}"#;
    let rows = [
        (
            "no sidecar",
            Guard::new(&absent(), "balance").on_failure(move |error| on_failure(error)),
            503,
            r#"{"error":{"reason":"UNAVAILABLE","message":"the request could not be authorized; try again later"}}"#,
        ),
        ("no target", guard().target(|_| None), 403, no_target),
        ("a target without an account", guard().target(|_| Some(Scope::account(""))), 403, no_target),
        ("no target later", guard().target_async(|_| Box::pin(async { None })), 403, no_target),
        (
            "no parameter of the path",
            guard().target_from(|Path(account): Path<String>| Scope::account(account)),
            403,
            no_target,
        ),
        (
            "a resource of others that is hidden",
            guard().target(|_| Some(Scope::account(OTHER_ACCOUNT))).hide_others(),
            404,
            r#"{"error":{"reason":"NOT_FOUND","message":"there is no such resource"}}"#,
        ),
        ("no API", Guard::new(&client, Api::of(|_| None)), 403, unknown),
        ("an empty API", Guard::new(&client, ""), 403, unknown),
        (
            "the API of a function",
            Guard::new(&client, Api::of(|parts| Some(parts.uri.path().replace('/', "balance")))),
            200,
            "passed",
        ),
        ("a target", guard().target_async(|_| Box::pin(async { Some(Scope::account(ACCOUNT)) })), 200, "passed"),
        ("an address", guard().client_address(|_| Some([192, 0, 2, 1].into())), 200, "passed"),
    ];
    for (name, guard, status, body) in rows {
        assert_eq!(answered(guard).await, (status, body.to_owned()), "{name}");
    }
    assert!(reported.0.recv().await.unwrap().code().is_some());
}

#[tokio::test]
async fn a_request_that_a_sidecar_refuses_is_a_failure() {
    let client = connect(Options::default());
    // More headers than a sidecar reads.
    let guard = Guard::new(&client, "balance").on_failure(|_| {}).target_async(|parts| {
        for index in 0..10_001 {
            parts.headers.append("x-other", http::HeaderValue::from(index));
        }
        Box::pin(async { Some(Scope::account(ACCOUNT)) })
    });
    let internal = r#"{"error":{"reason":"INTERNAL","message":"the request could not be authorized; the operator finds the cause in the log"}}"#;
    assert_eq!(answered(guard).await, (500, internal.to_owned()));
}

#[tokio::test]
async fn a_handler_without_a_guard_gets_no_token() {
    let mut app = Router::new().route("/token", get(|_: Token| async {})).route("/answer", get(|_: Answer| async {}));
    for path in ["/token", "/answer"] {
        let request = Request::get(path).header("X-Token", fixed()).body(Body::empty()).unwrap();
        let response = app.as_service::<Body>().call(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR, "{path}");
    }
}

#[tokio::test]
async fn an_answer_is_reused_for_as_long_as_it_says() {
    let fake = Arc::new(Fake::default());
    let client = Client::connect(&serve(fake.clone()).await, Options::default()).unwrap();
    for _ in 0..3 {
        assert_eq!(answered(Guard::new(&client, "balance")).await.0, 200);
    }
    assert_eq!(fake.checks.load(SeqCst), 1);
    assert_eq!(answered(Guard::new(&client, "reports")).await.0, 200);
    assert_eq!(fake.checks.load(SeqCst), 2, "expected that another question is asked");
}
