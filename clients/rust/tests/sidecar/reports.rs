//! The lines that guards print, and their calls of a function of the program.

use std::env;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use axum::body::Body;
use axum::{Router, routing::get};
use http::Request;
use portcullis_client::{Api, CallGuard, Client, Error, Guard, Options};
use tonic::Code;
use tower_layer::Layer as _;
use tower_service::Service as _;

use super::fake::{Fake, serve, serve_at};
use super::support::{eventually, reporter};

/// Names the sidecar of the program below.
const ADDRESS: &str = "REPORTS_ADDRESS";

fn client_of(address: &str) -> Client {
    Client::connect(address, Options::default()).unwrap()
}

/// The answer of a guard to a request.
async fn status_of(guard: &Guard) -> u16 {
    let mut app = Router::new().route("/", get(|| async {})).layer(guard.clone());
    let request = Request::get("/").body(Body::empty()).unwrap();
    app.as_service::<Body>().call(request).await.unwrap().status().as_u16()
}

/// An address where nothing listens.
fn gone() -> String {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// A program that serves behind guards: a round for each line that it reads, with the statuses to expect. The tests below start
/// it, because the harness keeps what a test prints.
#[tokio::test(flavor = "multi_thread")]
async fn program() {
    let Ok(address) = env::var(ADDRESS) else { return };
    let client = client_of(&address);
    let guards = ["balance", "balanec", "iam"].map(|api| Guard::new(&client, api));
    // It starts when it is put before a service.
    let _ = guards[0].layer(());
    for expected in std::io::stdin().lines() {
        let mut found = Vec::new();
        for guard in &guards {
            found.push(status_of(guard).await.to_string());
        }
        assert_eq!(found.join(","), expected.unwrap());
        println!("served");
    }
}

struct Program {
    process: std::process::Child,
    printed: BufReader<std::process::ChildStderr>,
    served: BufReader<std::process::ChildStdout>,
}

impl Program {
    fn start(address: &str) -> Program {
        let mut process = Command::new(env::current_exe().unwrap())
            .args(["--exact", "reports::program", "--nocapture"])
            .env(ADDRESS, address)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let printed = BufReader::new(process.stderr.take().unwrap());
        let served = BufReader::new(process.stdout.take().unwrap());
        Program { process, printed, served }
    }

    fn printed(&mut self) -> String {
        let mut line = String::new();
        self.printed.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Sends a request to each guard.
    fn serve(&mut self, statuses: &str) {
        writeln!(self.process.stdin.as_mut().unwrap(), "{statuses}").unwrap();
        let mut line = String::new();
        while !line.contains("served") {
            line.clear();
            assert!(self.served.read_line(&mut line).unwrap() > 0, "the program has ended");
        }
    }

    /// The lines that it has printed since, until its end.
    fn end(mut self) -> Vec<String> {
        drop(self.process.stdin.take());
        let printed = self.printed.lines().map(Result::unwrap).collect();
        assert!(self.process.wait().unwrap().success());
        printed
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_is_a_line_and_a_count() {
    let address = gone();
    let expect_start = |line: String| {
        assert!(line.starts_with(&format!("portcullis: no sidecar answers at {address} (")), "{line}");
        assert!(line.ends_with("); requests are denied until a sidecar answers"), "{line}");
    };
    let (mut first, mut second) = (Program::start(&address), Program::start(&address));
    expect_start(first.printed());
    for _ in 0..2 {
        first.serve("503,503,503");
    }
    assert_eq!(first.end(), [""; 0]);
    expect_start(second.printed());
    serve_at(&address, Arc::default()).await;
    for _ in 0..2 {
        second.serve("200,200,200");
    }
    assert_eq!(second.end(), ["portcullis: the sidecar answers again; 0 requests could not be checked"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_that_the_matrix_does_not_have_is_reported_once() {
    let fake = Arc::new(Fake { apis: Some(vec!["iam", "balance"]).into(), ..Fake::default() });
    let mut program = Program::start(&serve(fake).await);
    program.serve("200,403,200");
    let expected =
        "portcullis: the matrix has no API `balanec`, so the requests of its guard are denied; did you mean `balance`?";
    assert_eq!(program.printed(), expected);
    program.serve("200,403,200");
    assert_eq!(program.end(), [""; 0]);
}

#[tokio::test]
async fn a_function_of_the_program_learns_what_a_guard_finds() {
    let (on_failure, mut reported) = reporter();
    let listening = |guard: Guard| {
        let on_failure = on_failure.clone();
        guard.on_failure(move |error| on_failure(error))
    };
    let guard = listening(Guard::new(&client_of(&gone()), "balance"));
    let _ = guard.layer(());
    // At its start, and for each request.
    for _ in 0..3 {
        assert_eq!(reported.0.recv().await.unwrap().code(), Some(Code::Unavailable));
        assert_eq!(status_of(&guard).await, 503);
    }
    assert_eq!(reported.0.recv().await.unwrap().code(), Some(Code::Unavailable));

    // A sidecar that does not say at the start what its matrix has.
    let fake = Arc::new(Fake::default());
    let client = client_of(&serve(fake.clone()).await);
    let guard = listening(Guard::new(&client, "balanec"));
    let _ = guard.layer(());
    eventually("it is asked", async || fake.matrices.load(SeqCst) == 1).await;
    *fake.apis.lock().unwrap() = Some(vec!["iam", "balance"]);
    // The program does not hear of the API that a request names.
    assert_eq!(status_of(&listening(Guard::new(&client, Api::of(|_| Some("blance".to_owned()))))).await, 403);
    for _ in 0..2 {
        assert_eq!(status_of(&guard).await, 403);
    }
    expect_unknown(reported.0.recv().await, "balanec", Some("balance"));

    let client = client_of(&serve(fake).await);
    let methods = [("/a.B/C", "BALANCES"), ("/a.B/D", "BALANCES"), ("/a.B/E", "balance")];
    let guard = CallGuard::of_methods(&client, methods).on_failure(move |error| on_failure(error));
    let _ = guard.layer(());
    expect_unknown(reported.0.recv().await, "BALANCES", Some("balance"));
    assert!(reported.0.try_recv().is_err());
}

fn expect_unknown(error: Option<Error>, expected: &str, near: Option<&str>) {
    let Some(Error::UnknownApi { api, meant }) = error else { panic!("{error:?}") };
    assert_eq!((api.as_str(), meant.as_deref()), (expected, near));
}
