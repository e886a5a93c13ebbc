//! Sidecars of other versions, and wrong ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use axum::{Router, routing::any};
use portcullis_client::{Answer, Claims, Client, Error, Guard, Local, Options, Question, Scope, v1};
use tonic::Code;

use super::fake::{Fake, connect_local, first_response, rules, seconds, serve};
use super::guards::start;
use super::support::{balance, eventually, headers, is_from_memory, reporter};

#[tokio::test]
async fn an_older_sidecar_is_asked_each_time() {
    let (on_failure, mut reported) = reporter();
    let fake = Arc::new(Fake::default());
    let client = connect_local(&fake, on_failure).await;
    assert_eq!(reported.0.recv().await.unwrap().code(), Some(Code::Unimplemented));
    for _ in 0..3 {
        assert!(!is_from_memory(&balance(&client, "x").await));
    }
    assert_eq!((fake.checks.load(SeqCst), fake.watches.load(SeqCst)), (3, 1));
    assert!(reported.0.try_recv().is_err());
}

#[tokio::test]
async fn a_stream_that_is_silent_is_left() {
    let (on_failure, mut reported) = reporter();
    let watch = |told: super::fake::Told<v1::WatchChangesResponse>| {
        tokio::spawn(async move {
            let _ = told.send(Ok(first_response())).await;
            told.closed().await;
        });
    };
    let fake = Arc::new(Fake { watch: Some(Box::new(watch)), ..Fake::default() });
    let client = connect_local(&fake, on_failure).await;
    eventually("the client asks for another stream", async || fake.watches.load(SeqCst) > 1).await;
    assert!(client.is_following());
    assert!(reported.0.try_recv().is_err());
}

fn followed(told: super::fake::Told<v1::WatchChangesResponse>) {
    tokio::spawn(async move {
        let _ = told.send(Ok(first_response())).await;
        told.closed().await;
    });
}

#[tokio::test]
async fn one_who_waits_for_another_has_the_same_deadline() {
    let fake = Arc::new(Fake { watch: Some(Box::new(followed)), is_silent: true, ..Fake::default() });
    let options =
        Options { local: Some(Local::default()), timeout: Some(Duration::from_secs(3)), ..Options::default() };
    let client = Client::connect(&serve(fake.clone()).await, options).unwrap();
    eventually("the client follows", async || client.is_following()).await;
    let token = headers(&[("X-Token", "x")]);
    let question = Question::new("balance", &token);
    let began = Instant::now();
    let (one, other) = tokio::join!(client.check(&question), client.check(&question));
    for failed in [one, other] {
        assert_eq!(failed.unwrap_err().code(), Some(Code::DeadlineExceeded));
    }
    assert!(began.elapsed() < Duration::from_millis(5_500), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_time_that_is_none_is_an_error() {
    let fake = Arc::new(Fake { watch: Some(Box::new(followed)), issued_at: Some(i64::MAX), ..Fake::default() });
    let client = connect_local(&fake, Arc::new(|_| {})).await;
    let token = headers(&[("X-Token", "x")]);
    for _ in 0..2 {
        let answer = client.check(&Question::new("balance", &token)).await;
        assert_eq!(answer.unwrap_err().code(), Some(Code::Internal));
    }
}

#[tokio::test]
async fn a_failure_that_panics_ends_nothing() {
    let is_first = AtomicBool::new(true);
    let watch = move |told: super::fake::Told<v1::WatchChangesResponse>| {
        if is_first.swap(false, SeqCst) {
            tokio::spawn(async move { told.send(Ok(v1::WatchChangesResponse::default())).await });
        } else {
            followed(told);
        }
    };
    let fake = Arc::new(Fake { watch: Some(Box::new(watch)), ..Fake::default() });
    let client = connect_local(&fake, Arc::new(|error| panic!("{error}"))).await;
    eventually("the client follows", async || client.is_following()).await;
}

#[tokio::test]
async fn a_token_behind_a_scheme_is_known() {
    let is_first = AtomicBool::new(true);
    let watch = move |told: super::fake::Told<v1::WatchChangesResponse>| {
        let mut first = v1::WatchChangesResponse { rules: Some(rules("library")), ..first_response() };
        if !is_first.swap(false, SeqCst) {
            first.voided = None;
        }
        tokio::spawn(async move {
            let _ = told.send(Ok(first)).await;
            told.closed().await;
        });
    };
    let fake = Arc::new(Fake { watch: Some(Box::new(watch)), kind: Some("kiosk_key"), ..Fake::default() });
    let client = connect_local(&fake, Arc::new(|error| panic!("{error}"))).await;
    let kiosk = headers(&[("Authorization", "Kiosk key")]);
    eventually("the token is known", async || {
        is_from_memory(&client.check(&Question::new("printers", &kiosk)).await.unwrap())
    })
    .await;
    let otherwise = headers(&[("Authorization", "kiosk  key")]);
    let question = Question::new("printers", &otherwise);
    let before = super::allocations::count();
    for _ in 0..1_000 {
        let answer = client.check_locally(&question).unwrap();
        assert_eq!((answer.allowed(), answer.header(), answer.scheme()), (true, "Authorization", "Kiosk"));
    }
    assert_eq!(super::allocations::count(), before);
    for value in ["Bearer key", "key", "Kiosk"] {
        let headers = headers(&[("Authorization", value)]);
        assert!(client.check_locally(&Question::new("printers", &headers)).is_none(), "{value}");
    }
    let asked = fake.checks.load(SeqCst);
    let handler = |answer: Answer| async move { answer.message() };
    let app = Router::new().route("/", any(handler)).layer(Guard::new(&client, "printers").client_address(|_| None));
    let url = format!("http://{}", start(app).await);
    let sent = reqwest::Client::new().get(url).headers(otherwise).send().await.unwrap();
    assert_eq!(sent.text().await.unwrap(), "`printers` accepts a kiosk key in `Authorization: Kiosk`");
    assert_eq!(fake.checks.load(SeqCst), asked);
}

#[tokio::test]
async fn a_sidecar_that_says_what_cannot_be_is_left() {
    let (on_failure, mut reported) = reporter();
    let is_wrong = Arc::new(AtomicBool::new(false));
    let told_wrong = is_wrong.clone();
    let watch = move |told: super::fake::Told<v1::WatchChangesResponse>| {
        let is_wrong = told_wrong.clone();
        tokio::spawn(async move {
            let _ = told.send(Ok(first_response())).await;
            while !is_wrong.load(SeqCst) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let earlier =
                v1::WatchChangesResponse { sent_at: seconds(0), rules: None, voided: None, ..first_response() };
            let _ = told.send(Ok(earlier)).await;
            told.closed().await;
        });
    };
    let fake = Arc::new(Fake { watch: Some(Box::new(watch)), ..Fake::default() });
    let client = connect_local(&fake, on_failure).await;
    eventually("the token is known", async || {
        let answer = balance(&client, "x").await;
        // No cache may keep an answer of the memory.
        answer.allowed() && answer.cache_for() == Duration::ZERO && is_from_memory(&answer)
    })
    .await;
    is_wrong.store(true, SeqCst);
    assert!(matches!(reported.0.recv().await.unwrap(), Error::Changes));
    eventually("the client asks for another stream", async || fake.watches.load(SeqCst) > 1).await;
}

#[tokio::test]
async fn rules_that_are_not_whole_are_refused() {
    let (on_failure, mut reported) = reporter();
    let watch = |told: super::fake::Told<v1::WatchChangesResponse>| {
        let mut first = first_response();
        first.rules.as_mut().unwrap().apis[3].cells.pop();
        let _ = told.try_send(Ok(first));
    };
    let fake = Arc::new(Fake { watch: Some(Box::new(watch)), ..Fake::default() });
    let client = connect_local(&fake, on_failure).await;
    assert!(matches!(reported.0.recv().await.unwrap(), Error::Rules));
    assert!(!client.is_following() && !is_from_memory(&balance(&client, "x").await));
}

#[tokio::test]
async fn another_number_of_answers_is_none() {
    let fake = Arc::new(Fake { more_answers: 1, ..Fake::default() });
    let client = portcullis_client::Client::connect(&serve(fake).await, Options::default()).unwrap();
    let claims = Claims { kind: "static_token".to_owned(), scope: Scope::account("1") };
    let found = client.check_batch(&[Question::of_claims("balance", &claims)]).await;
    assert!(matches!(found, Err(Error::Answers { expected: 1, found: 2 })), "{found:?}");
}

#[tokio::test]
async fn what_a_client_follows_ends_with_it() {
    let (closed, mut closings) = tokio::sync::mpsc::unbounded_channel();
    let watch = move |told: super::fake::Told<v1::WatchChangesResponse>| {
        let closed = closed.clone();
        tokio::spawn(async move {
            let _ = told.send(Ok(first_response())).await;
            told.closed().await;
            let _ = closed.send(());
        });
    };
    let fake = Arc::new(Fake { watch: Some(Box::new(watch)), ..Fake::default() });
    let client = connect_local(&fake, Arc::new(|error| panic!("{error}"))).await;
    eventually("the client follows", async || client.is_following()).await;
    let copy = client.clone();
    drop(client);
    assert!(copy.is_following());
    drop(copy);
    closings.recv().await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(fake.watches.load(SeqCst), 1);
}
