//! Answers from memory, beside those of the sidecar.

use std::future::Future as _;
use std::time::Duration;

use portcullis_client::{Answer, Claims, Client, Credentials, Local, Options, Question, Reason, Scope};
use tokio::task::JoinSet;

use super::support::{
    ACCOUNT, CALLER, MANY, OTHER_ACCOUNT, STRANGER, Sidecar, balance, connect, connect_local, create_token, eventually,
    fixed, headers, is_from_memory, reporter, revoke, shared, try_balance, with_caller,
};

#[tokio::test]
async fn a_known_token_is_answered_from_memory() {
    let (client, direct) = (connect_local(Local::default()).await, connect(Options::default()));
    let known = headers(&[("X-Token", fixed())]);
    let padded = format!("{} ", fixed());
    let pairs = [("X-TOKEN", padded.as_bytes())];
    let (none, two) = (headers(&[("X-Other", "x")]), headers(&[("X-Token", "a"), ("X-Token", "b")]));
    let claims = |kind: &str| Claims { kind: kind.to_owned(), scope: Scope::account(ACCOUNT) };
    let (of_kind, of_none) = (claims("static_token"), claims("no-such-kind"));
    let (own, other, project) =
        (Scope::account(ACCOUNT), Scope::account(OTHER_ACCOUNT), Scope::project(ACCOUNT, "alpha"));
    let of_token = |api| Question::new(api, &known).client_address("192.0.2.1");
    let questions = [
        of_token("balance").target(&own),
        Question { credentials: Credentials::Pairs(&pairs), ..of_token("balance") },
        of_token("reports").target(&other),
        of_token("secrets"),
        of_token("no-such-api"),
        Question::new("balance", &none),
        Question::new("balance", &two),
        Question::of_claims("balance", &of_kind).target(&project),
        Question::of_claims("balance", &of_none),
    ];
    for (index, question) in questions.iter().enumerate() {
        let expected = direct.check(question).await.unwrap();
        eventually("it is known", async || is_from_memory(&client.check(question).await.unwrap())).await;
        let found = client.check(question).await.unwrap();
        assert!(client.check_locally(question).is_some(), "{index}");
        expect_same(&index.to_string(), &found, &expected);
    }
    assert!(direct.check_locally(&questions[0]).is_none());
}

pub(crate) fn expect_same(what: &str, found: &Answer, expected: &Answer) {
    let seen = |answer: &Answer| {
        let texts = [answer.message(), answer.header().to_owned(), answer.rules_digest().to_owned()];
        // The memory keeps times in milliseconds, and so does the sidecar.
        (answer.allowed(), answer.verified(), answer.reason(), texts, answer.token(), answer.accepted())
    };
    assert_eq!(seen(found), seen(expected), "{what}");
}

#[tokio::test]
async fn a_revoked_token_is_denied_while_a_program_decides_locally() {
    let client = connect_local(Local::default()).await;
    let (value, _) = create_token("to-be-revoked").await;
    eventually("the token is known", async || is_from_memory(&balance(&client, &value).await)).await;
    revoke(&value).await;
    eventually("the token is denied", async || !balance(&client, &value).await.allowed()).await;
    let answer = balance(&client, &value).await;
    assert!(answer.reason() == Reason::CredentialRevoked && is_from_memory(&answer), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_token_is_asked_about_once_by_all_who_use_it() {
    let client = connect_local(Local::default()).await;
    let mut all = JoinSet::new();
    for _ in 0..64 {
        let client = client.clone();
        all.spawn(async move { balance(&client, fixed()).await });
    }
    let answers = all.join_all().await;
    assert!(answers.iter().all(Answer::allowed));
    assert_eq!(answers.iter().filter(|answer| !is_from_memory(answer)).count(), 1);
}

#[tokio::test]
async fn a_caller_who_leaves_does_not_take_the_answer_along() {
    let client = connect_local(Local::default()).await;
    // It has begun to ask, and others wait for it.
    let left = tokio::time::timeout(Duration::ZERO, balance(&client, fixed())).await;
    assert!(left.is_err());
    assert!(balance(&client, fixed()).await.allowed());
}

/// Asks about all of many tokens, and returns how many answers came from the sidecar.
async fn ask_many(client: &Client) -> usize {
    let mut all = JoinSet::new();
    for part in shared().many.chunks(MANY / 8) {
        let client = client.clone();
        all.spawn(async move {
            let mut asked = 0;
            for value in part {
                let answer = balance(&client, value).await;
                assert!(answer.allowed());
                asked += usize::from(!is_from_memory(&answer));
            }
            asked
        });
    }
    all.join_all().await.into_iter().sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_tokens() {
    let client = connect_local(Local { tokens_max: Some(MANY), ..Local::default() }).await;
    assert_eq!(ask_many(&client).await, MANY);
    // An answer that a change of another test has overtaken is not remembered.
    eventually("all are known", async || ask_many(&client).await == 0).await;
    // One more takes the place of another.
    assert!(!is_from_memory(&balance(&client, fixed()).await));
    eventually("it is known", async || is_from_memory(&balance(&client, fixed()).await)).await;
}

#[tokio::test]
async fn tokens_of_other_accounts_are_asked_about() {
    let client = connect_local(Local { accounts: vec![OTHER_ACCOUNT.to_owned()], ..Local::default() }).await;
    let mut asked = 0;
    for _ in 0..2 {
        for value in [fixed(), &shared().secrets["stranger"]] {
            asked += usize::from(!is_from_memory(&balance(&client, value).await));
        }
    }
    // The answer to the stranger is a denial, whose words are known from then on.
    assert_eq!(asked, 3);
}

#[tokio::test]
async fn without_the_right_to_follow_each_check_is_asked() {
    let (on_failure, mut reported) = reporter();
    let local = Local { on_failure: Some(on_failure), ..Local::default() };
    let client = connect(Options { local: Some(local), ..with_caller(STRANGER) });
    assert_eq!(reported.0.recv().await.unwrap().reason(), "CALLER_RIGHT_MISSING");
    for _ in 0..2 {
        let answer = balance(&client, fixed()).await;
        assert!(answer.allowed() && !is_from_memory(&answer));
    }
    assert!(reported.0.try_recv().is_err());
}

#[tokio::test]
async fn a_sidecar_that_is_killed_and_comes_back() {
    let folder = &shared().folder;
    let sidecar = Sidecar::start(folder, "portcullis.yaml", "127.0.0.1:0", false);
    let address = sidecar.address.clone();
    let options = Options { local: Some(Local::default()), ..with_caller(CALLER) };
    let client = Client::connect(&address, options).unwrap();
    eventually("the client follows", async || client.is_following()).await;
    eventually("the token is known", async || is_from_memory(&balance(&client, fixed()).await)).await;
    sidecar.kill();
    eventually("there is no answer", async || try_balance(&client, fixed()).await.is_err()).await;
    assert!(known(&client).is_none() && !client.is_following());
    let again = Sidecar::start(folder, "portcullis.yaml", &address, false);
    eventually("the token is known again", async || {
        try_balance(&client, fixed()).await.is_ok_and(|answer| answer.allowed() && is_from_memory(&answer))
    })
    .await;
    drop(again);
}

#[tokio::test]
async fn a_check_of_a_known_token_allocates_nothing_and_does_not_wait() {
    let client = connect_local(Local::default()).await;
    let (headers, target) = (headers(&[("Accept", "text/html"), ("X-Token", fixed())]), Scope::account(ACCOUNT));
    let question = Question::new("balance", &headers).target(&target).client_address("192.0.2.1");
    let stranger = Question { target: None, ..question };
    client.check(&question).await.unwrap();
    let before = super::allocations::count();
    for _ in 0..1_000 {
        let mut check = std::pin::pin!(client.check(&question));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(matches!(check.as_mut().poll(&mut context), std::task::Poll::Ready(Ok(answer)) if answer.allowed()));
        assert!(client.check_locally(&stranger).is_some_and(|answer| answer.allowed()));
    }
    assert_eq!(super::allocations::count(), before);
}

fn known(client: &Client) -> Option<Answer> {
    let (headers, target) = (headers(&[("X-Token", fixed())]), Scope::account(ACCOUNT));
    client.check_locally(&Question::new("balance", &headers).target(&target).client_address("192.0.2.1"))
}
