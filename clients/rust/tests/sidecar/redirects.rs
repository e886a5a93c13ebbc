//! The conformance suite of redirects: two servers play a line together. The client ends where one leads elsewhere.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use axum::{Router, extract::Request, routing::any};
use http::{Method, Response, StatusCode};
use serde::Deserialize;

use super::fake::Fake;
use super::guards::start;
use super::sending::send_with;

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Sequence {
        name: String,
        method: String,
        body: String,
        answers: Vec<Answer>,
        requests: Vec<Seen>,
        least: Option<usize>,
    },
    Origins {
        from: String,
        to: String,
        same: bool,
    },
}

#[derive(Clone, Deserialize)]
struct Answer {
    status: u16,
    location: Option<String>,
}

/// The server, the method, the token and the body.
type Seen = (String, String, Option<String>, String);

#[derive(Default)]
struct Play {
    answers: Vec<Answer>,
    seen: Vec<Seen>,
    /// HOST:PORT of the servers.
    servers: Vec<(&'static str, String)>,
}

impl Play {
    fn placed(&self, location: &str) -> String {
        self.servers.iter().fold(location.to_owned(), |placed, (name, address)| {
            let port = address.rsplit(':').next().unwrap();
            placed.replace(&format!("{{{name}}}"), address).replace(&format!("{{{name}.port}}"), port)
        })
    }
}

async fn serve(name: &'static str, play: &Arc<Mutex<Play>>) {
    let played = play.clone();
    let answer = move |request: Request| async move {
        let (head, body) = request.into_parts();
        let token = head.headers.get("x-auth-token").map(|value| value.to_str().unwrap().to_owned());
        let body = String::from_utf8(axum::body::to_bytes(body, 1_000).await.unwrap().to_vec()).unwrap();
        let mut play = played.lock().unwrap();
        let next = play.answers.get(play.seen.len()).cloned();
        play.seen.push((name.to_owned(), head.method.to_string(), token, body));
        let mut response = Response::new(axum::body::Body::empty());
        if let Some(Answer { status, location }) = next {
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            if let Some(location) = location {
                response.headers_mut().insert("location", play.placed(&location).parse().unwrap());
            }
        }
        response
    };
    let address = start(Router::new().fallback(any(answer))).await;
    play.lock().unwrap().servers.push((name, address));
}

#[tokio::test]
async fn sequences_and_origins() {
    let ours = concat!(env!("CARGO_MANIFEST_DIR"), "/../conformance");
    let suite = PathBuf::from(env::var_os("CONFORMANCE").unwrap_or_else(|| ours.into()));
    let text = fs::read_to_string(suite.join("redirects.jsonl")).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(r#"{"version":6}"#));
    let play = Arc::new(Mutex::new(Play::default()));
    serve("a", &play).await;
    serve("b", &play).await;
    for line in lines {
        match serde_json::from_str(line).unwrap() {
            Line::Origins { from, to, same } => {
                let [some, other] = [&from, &to].map(|url| reqwest::Url::parse(url).unwrap().origin());
                assert_eq!(some == other, same, "{from} {to}");
            }
            Line::Sequence { name, method, body, answers, requests, least } => {
                let url = {
                    let mut play = play.lock().unwrap();
                    (play.answers, play.seen) = (answers.clone(), Vec::new());
                    play.placed("http://{a}/start")
                };
                let (_, sender) = send_with(&Arc::new(Fake::default())).await;
                let method = Method::from_bytes(method.as_bytes()).unwrap();
                let response = sender.request(method, url).body(body).send().await;
                let seen = play.lock().unwrap().seen.clone();
                let within =
                    requests.iter().take_while(|(server, _, token, _)| server == "a" && token.is_some()).count();
                assert!(seen.len() >= least.unwrap_or(within).min(within), "{name}: {seen:?}");
                assert!(requests[..within].starts_with(&seen), "{name}: {seen:?}");
                if let Ok(response) = response {
                    assert_eq!(response.status().as_u16(), answers[seen.len() - 1].status, "{name}");
                }
            }
        }
    }
}
