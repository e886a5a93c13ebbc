//! The programs on the page of the client.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use axum::extract::Path;
use axum::{Router, routing::get};
use portcullis_client::v1::authorization_service_server::AuthorizationServiceServer;
use portcullis_client::{CallGuard, Client, Guard, Local, Options, Scope, Token, Transport};
use tokio::net::TcpListener;
use tonic::transport::Server;

use super::fake::Fake;
use super::support::shared;

async fn balance(token: Token) -> String {
    format!("asked by {}", token.subject.name)
}

async fn example(address: &str, file: std::path::PathBuf) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let options = Options { caller_token_file: Some(file), local: Some(Local::default()), ..Options::default() };
    let client = Client::connect(address, options)?;

    let guard = Guard::new(&client, "balance").target_from(|Path(account): Path<String>| Scope::account(account));
    let app = Router::new().route("/accounts/{account}/balance", get(balance)).route_layer(guard);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, app).await });

    let reports = Transport::new(&client, "job").apis(["balance"]).client(reqwest::Client::builder())?.build();
    let mut found = Vec::new();
    for account in ["123456", "654321"] {
        let response = reports.get(format!("{url}/accounts/{account}/balance")).send().await?;
        found.push(format!("{} {}", response.status().as_u16(), response.text().await?));
    }

    let service = AuthorizationServiceServer::from_arc(Arc::new(Fake::default()));
    let calls = CallGuard::of_methods(&client, [("/grpc.health.v1.Health/Check", "balance")]);
    let server = Server::builder().layer(calls).add_service(service);
    drop(server);
    Ok(found)
}

#[tokio::test]
async fn the_examples_of_the_page_run() {
    let found = example(shared().address(), shared().folder.join("caller.token")).await.unwrap();
    assert_eq!(found[0], "200 asked by account");
    assert!(found[1].starts_with(r#"403 {"error":{"reason":"ACCOUNT_MISMATCH","#), "{}", found[1]);
}

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One of the folder `examples`, which cargo has compiled with the tests.
fn program(name: &str) -> Command {
    let folder = std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().join("examples");
    let mut command = Command::new(folder.join(name));
    command.env("PORTCULLIS_GRPC_ADDRESS", shared().address()).env("PORT", "0");
    command.env("CALLER_TOKEN_FILE", shared().folder.join("caller.token"));
    command
}

#[test]
fn the_programs_of_the_examples_run() {
    let mut service = Running(program("service").stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(service.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("listening on ").unwrap().to_owned();
    for (account, expected) in [("123456", "200 asked by account\n"), ("654321", "403 ")] {
        let output = program("job").arg(format!("{url}/accounts/{account}/balance")).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(printed.starts_with(expected), "{printed} {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A reader can copy each line of Rust in the README, because it is one of the test above.
#[test]
fn the_page_shows_what_the_tests_run() {
    let (page, ours) = (include_str!("../../README.md"), include_str!("page.rs"));
    let blocks: Vec<&str> = page.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 4, "expected blocks of Rust, found {}", blocks.len());
    for line in blocks.iter().flat_map(|block| block.lines()) {
        assert!(ours.contains(line.trim()), "expected a test with {line}");
    }
}
