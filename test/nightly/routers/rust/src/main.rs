//! axum behind the guard by routes. Each handler says which route it is for, and which API the guard found.

use std::env;

use axum::Router;
use axum::extract::Request;
use axum::routing::{MethodFilter, MethodRouter, any, on};
use portcullis_client::{Client, Guard, Local, Options, answer_of};
use serde::Deserialize;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

#[derive(Clone, Deserialize)]
struct Route {
    host: Option<String>,
    path: String,
    #[serde(default)]
    methods: Vec<String>,
    api: String,
}

impl Route {
    fn handler(&self) -> MethodRouter {
        let api = self.api.clone();
        let handle = move |request: Request| {
            let found = answer_of(request.extensions())
                .and_then(|answer| answer.route().map(|route| route.api.clone()));
            let headers = [
                ("x-handler", api.clone()),
                ("x-found", found.unwrap_or_default()),
            ];
            async move { headers }
        };
        if self.methods.is_empty() {
            return any(handle);
        }
        self.methods
            .iter()
            .fold(MethodRouter::new(), |router, method| {
                let filter = MethodFilter::try_from(
                    axum::http::Method::from_bytes(method.as_bytes()).unwrap(),
                )
                .unwrap();
                router.merge(on(filter, handle.clone()))
            })
    }
}

#[tokio::main]
async fn main() {
    let table: Vec<Route> = serde_json::from_str(&env::var("ROUTERS_TABLE").unwrap()).unwrap();
    let caller_token = env::var("ROUTERS_CALLER_TOKEN").ok();
    let options = Options {
        caller_token,
        local: Some(Local::default()),
        ..Options::default()
    };
    let client = Client::connect(&env::var("ROUTERS_SIDECAR").unwrap(), options).unwrap();
    let mut router = Router::new();
    for route in table.iter().filter(|route| route.host.is_none()) {
        router = router.route(&route.path, route.handler());
        if route.path.ends_with('/') {
            router = router.route(&format!("{}{{*rest}}", route.path), route.handler());
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("axum http://{}\nready", listener.local_addr().unwrap());
    let served = axum::serve(listener, router.layer(Guard::routes(&client)));
    let ended = async {
        let mut nothing = Vec::new();
        tokio::io::stdin().read_to_end(&mut nothing).await.unwrap();
    };
    tokio::select! { _ = served.into_future() => (), () = ended => () }
}
