//! A job that asks a service with the token of the profile `job`.
//!
//! ```sh
//! cargo run --features reqwest --example job http://127.0.0.1:3000/accounts/123456/balance
//! ```

use std::error::Error;

use portcullis_client::{Client, Options, Transport};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("expected a URL")?;
    let caller_token_file = std::env::var_os("CALLER_TOKEN_FILE").map(Into::into);
    let client = Client::connect("", Options { caller_token_file, ..Options::default() })?;
    let reports = Transport::new(&client, "job").apis(["balance"]).client(reqwest::Client::builder())?.build();
    let response = reports.get(url).send().await?;
    println!("{} {}", response.status().as_u16(), response.text().await?);
    Ok(())
}
