//! Sends with the token of a profile.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::response::{Redirect, Response};
use axum::{Router, routing::any};
use http::{HeaderMap, StatusCode};
use portcullis_client::{Client, Guard, Local, Options, Token, Transport, v1};
use reqwest_middleware::ClientWithMiddleware;
use tokio::sync::Semaphore;
use tonic::Status;

use super::fake::{Fake, issued, serve};
use super::guards::start;
use super::support::{CALLER, connect, connect_local, eventually, revoke, with_caller};

/// A client that sends with the tokens of a fake.
pub(crate) async fn send_with(fake: &Arc<Fake>) -> (Transport, ClientWithMiddleware) {
    let client = Client::connect(&serve(fake.clone()).await, Options::default()).unwrap();
    let transport = Transport::new(&client, "job").apis(["balance"]);
    let sender = sender_of(&transport);
    (transport, sender)
}

fn sender_of(transport: &Transport) -> ClientWithMiddleware {
    transport.client(reqwest::Client::builder()).unwrap().build()
}

#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn expect(&self, expected: &[&str]) {
        assert_eq!(*self.0.lock().unwrap(), expected);
    }
}

/// An API that refuses these tokens, and notes what it got.
async fn start_api(refused: &'static [&'static str]) -> (String, Seen) {
    let seen = Seen::default();
    let noted = seen.clone();
    let answer = move |headers: HeaderMap, body: String| async move {
        let token = headers.get("x-auth-token").map_or("", |value| value.to_str().unwrap()).to_owned();
        noted.0.lock().unwrap().push(format!("{token} {body}").trim().to_owned());
        if refused.contains(&token.as_str()) { StatusCode::UNAUTHORIZED } else { StatusCode::OK }
    };
    (format!("http://{}", start(Router::new().route("/", any(answer))).await), seen)
}

async fn post(sender: &ClientWithMiddleware, url: &str, body: impl Into<reqwest::Body>) -> u16 {
    sender.post(url).body(body).send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_token_is_kept_and_renewed_once_after_401() {
    let fake = Arc::new(Fake::default());
    let (_, sender) = send_with(&fake).await;
    let (url, seen) = start_api(&["token-1"]).await;
    for _ in 0..2 {
        assert_eq!(post(&sender, &url, "body").await, 200);
    }
    seen.expect(&["token-1 body", "token-2 body", "token-2 body"]);
    let issues = fake.issues.lock().unwrap();
    let rejected: Vec<_> = issues.iter().map(|request| request.rejected_value.as_str()).collect();
    assert_eq!(rejected, ["", "token-1"]);
    assert_eq!(issues[1].requester, Some(v1::issue_request::Requester::Profile("job".to_owned())));
    let apis = v1::ApiSelection { apis: vec!["balance".to_owned()], project: String::new() };
    assert_eq!(issues[1].purpose, Some(v1::issue_request::Purpose::Apis(apis)));
}

#[tokio::test]
async fn a_token_is_sent_behind_its_scheme() {
    let behind_scheme = |count: usize| {
        let (header, scheme) = ("Authorization".to_owned(), "Bearer".to_owned());
        Ok(v1::IssueResponse { header, scheme, ..issued(count) })
    };
    let fake = Arc::new(Fake { issue: Some(Box::new(behind_scheme)), ..Fake::default() });
    let transport = send_with(&fake).await.0.place("Authorization: Bearer");
    let sender = sender_of(&transport);
    let seen = Seen::default();
    let noted = seen.clone();
    let answer = move |headers: HeaderMap| async move {
        let all: Vec<_> = headers.get_all("authorization").iter().map(|value| value.to_str().unwrap()).collect();
        noted.0.lock().unwrap().push(all.join(", "));
        if all == ["Bearer token-1"] { StatusCode::UNAUTHORIZED } else { StatusCode::OK }
    };
    let url = format!("http://{}", start(Router::new().route("/", any(answer))).await);
    let sent = sender.get(&url).basic_auth("program", Some("x")).send().await.unwrap();
    assert_eq!(sent.status().as_u16(), 200);
    seen.expect(&["Bearer token-1", "Bearer token-2"]);
    let asked = fake.issues.lock().unwrap()[1].clone();
    assert_eq!((asked.rejected_value.as_str(), asked.place.as_str()), ("token-1", "Authorization: Bearer"));
    assert_eq!(transport.token().await.unwrap().value(), "token-2");
}

#[tokio::test]
async fn an_api_that_refuses_every_token_is_asked_twice() {
    let (_, sender) = send_with(&Arc::new(Fake::default())).await;
    let (url, seen) = start_api(&["token-1", "token-2"]).await;
    assert_eq!(post(&sender, &url, "").await, 401);
    seen.expect(&["token-1", "token-2"]);
}

#[tokio::test]
async fn a_body_that_cannot_be_sent_again_is_sent_once() {
    let (_, sender) = send_with(&Arc::new(Fake::default())).await;
    let (url, seen) = start_api(&["token-1"]).await;
    let stream = || reqwest::Body::wrap_stream(tokio_stream::once(Ok::<_, std::io::Error>("stream")));
    assert_eq!(post(&sender, &url, stream()).await, 401);
    assert_eq!(post(&sender, &url, stream()).await, 200);
    seen.expect(&["token-1 stream", "token-2 stream"]);
}

#[tokio::test]
async fn all_who_need_a_token_wait_for_the_same() {
    let gate = Arc::new(Semaphore::new(0));
    let fake = Arc::new(Fake { gate: Some(gate.clone()), ..Fake::default() });
    let (transport, sender) = send_with(&fake).await;
    let (url, _) = start_api(&[]).await;
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..32 {
        let (sender, url) = (sender.clone(), url.clone());
        all.spawn(async move { post(&sender, &url, "").await });
    }
    // A waiting caller may leave, and the others keep waiting.
    assert!(tokio::time::timeout(Duration::from_millis(10), transport.token()).await.is_err());
    eventually("a token is being issued", async || fake.issues.lock().unwrap().len() == 1).await;
    gate.close();
    assert_eq!(all.join_all().await, vec![200; 32]);
    assert_eq!(fake.issues.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_token_lasts_while_no_other_can_be_had() {
    // The first one should be renewed at once, and the second one has expired.
    let expiring = |count: usize| {
        let today = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let seconds = i64::try_from(today).unwrap() + if count == 1 { 1 } else { -1 };
        let expires_at = Some(prost_types::Timestamp { seconds, nanos: 0 });
        match count {
            1 | 3 => Ok(v1::IssueResponse { expires_at, ..issued(count) }),
            _ => Err(Status::unavailable("no directory")),
        }
    };
    let fake = Arc::new(Fake { issue: Some(Box::new(expiring)), ..Fake::default() });
    let (transport, _) = send_with(&fake).await;
    let token = async || transport.token().await.map(|token| token.value().to_str().unwrap().to_owned());
    assert_eq!(token().await.unwrap(), "token-1");
    eventually("another one is tried", async || {
        let found = token().await;
        found.is_err() || fake.issues.lock().unwrap().len() > 1
    })
    .await;
    eventually("there is none", async || token().await.is_err()).await;
    let shown = format!("{:?} {transport:?}", transport.token().await);
    assert!(!shown.contains("token-"), "{shown}");
}

#[tokio::test]
async fn redirects_come_to_an_end() {
    let (_, sender) = send_with(&Arc::new(Fake::default())).await;
    let app = Router::new().route("/", any(|| async { Redirect::temporary("/") }));
    let url = format!("http://{}", start(app).await);
    assert!(sender.get(url).send().await.is_err());
}

#[tokio::test]
async fn a_profile_of_a_sidecar() {
    let guard = Guard::new(&connect_local(Local::default()).await, "balance");
    let handler = |token: Token| async move { Response::new(axum::body::Body::from(token.subject.name)) };
    let url = format!("http://{}", start(Router::new().route("/", any(handler)).layer(guard)).await);
    let transport = Transport::new(&connect(with_caller(CALLER)), "job").apis(["balance"]);
    let sender = sender_of(&transport);
    let response = sender.get(&url).send().await.unwrap();
    assert_eq!(response.text().await.unwrap(), "account");
    // The API knows a token as revoked, and the profile must get another one.
    let first = transport.token().await.unwrap();
    revoke(first.value().to_str().unwrap()).await;
    eventually("the revoked token is replaced", async || {
        post(&sender, &url, "").await == 200 && transport.token().await.unwrap().value() != first.value()
    })
    .await;
    let stranger = Transport::new(&connect(Options::default()), "job").apis(["balance"]);
    let failed = stranger.token().await.unwrap_err();
    assert_eq!(failed.reason(), "CALLER_TOKEN_MISSING");
    assert!(sender_of(&stranger).get(&url).send().await.is_err());
}
