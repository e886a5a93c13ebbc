//! A service of axum behind a guard. It serves until it is stopped.
//!
//! ```sh
//! cargo run --features axum --example service
//! ```

use std::error::Error;

use axum::extract::Path;
use axum::{Router, routing::get};
use portcullis_client::{Client, Guard, Local, Options, Scope, Token};
use tokio::net::TcpListener;

async fn balance(token: Token) -> String {
    format!("asked by {}", token.subject.name)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let caller_token_file = std::env::var_os("CALLER_TOKEN_FILE").map(Into::into);
    let options = Options { caller_token_file, local: Some(Local::default()), ..Options::default() };
    let client = Client::connect("", options)?;
    let guard = Guard::new(&client, "balance").target_from(|Path(account): Path<String>| Scope::account(account));
    let app = Router::new().route("/accounts/{account}/balance", get(balance)).route_layer(guard);
    let port = std::env::var("PORT").unwrap_or_else(|_| "3000".to_owned());
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    println!("listening on http://{}", listener.local_addr()?);
    // With the addresses of clients, for accounts that restrict them.
    axum::serve(listener, app.into_make_service_with_connect_info::<std::net::SocketAddr>()).await?;
    Ok(())
}
