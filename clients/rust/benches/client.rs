//! The cost of a check, beside one look-up of the token in a map and beside the same check over gRPC.
//!
//! It asks a running sidecar: `PORTCULLIS_GRPC_ADDRESS`, `CALLER_TOKEN` (of a caller with the right `follow`), `TOKENS_FILE` (a
//! static token on each line, each opens `balance`) and `ACCOUNT` (theirs). `SECONDS` says how long a measurement lasts. With
//! `OPERATOR_TOKEN` it also measures how soon a revoked token is denied. It prints one line of JSON. `bench/suites/clients.ts`
//! runs it, with its bounds.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderValue};
use portcullis_client::v1::directory_service_client::DirectoryServiceClient;
use portcullis_client::v1::revoke_request::Token as Revoked;
use portcullis_client::{Client, Local, Options, Question, Scope, Token, v1};
use tokio::runtime::Runtime;

/// Counts what is allocated.
struct Counting;

thread_local! {
    /// By this thread. The client follows on another one.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}
static BYTES: AtomicI64 = AtomicI64::new(0);

fn counted(layout: Layout, sign: i64) {
    BYTES.fetch_add(sign * i64::try_from(layout.size()).unwrap_or(0), Relaxed);
}

#[allow(unsafe_code, reason = "an allocator is unsafe, and this one only counts")]
// SAFETY: each call is the one of the system.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        counted(layout, 1);
        // SAFETY: the caller of this function keeps to the same rules.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        counted(layout, -1);
        // SAFETY: the caller of this function keeps to the same rules.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    let Ok(file) = std::env::var("TOKENS_FILE") else {
        // `cargo test --benches` and `cargo bench` run it, too.
        println!("skipped: expected a running sidecar, and TOKENS_FILE with tokens of ACCOUNT");
        return;
    };
    let tokens: Vec<String> = std::fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect();
    let seconds = std::env::var("SECONDS").map_or(1.0, |text| text.parse().unwrap());
    Runtime::new().unwrap().block_on(measure(tokens, Duration::from_secs_f64(seconds)));
}

fn local() -> Options {
    Options { caller_token: std::env::var("CALLER_TOKEN").ok(), local: Some(Local::default()), ..Options::default() }
}

/// A request as a framework has it.
fn request(token: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("host", "api.example"),
        ("user-agent", "bench"),
        ("accept", "application/json"),
        ("x-token", token),
        ("x-request-id", "0123456789abcdef"),
    ] {
        headers.insert(name, HeaderValue::from_str(value).unwrap());
    }
    headers
}

fn ask<'a>(headers: &'a HeaderMap, target: &'a Scope) -> Question<'a> {
    Question::new("balance", headers).target(target).client_address("192.0.2.1")
}

async fn measure(tokens: Vec<String>, duration: Duration) {
    let target = Scope::account(std::env::var("ACCOUNT").unwrap());
    let order = shuffled(tokens.len());
    let requests: Vec<HeaderMap> = order.iter().map(|&index| request(&tokens[index])).collect();
    let first_local_answer = first_local_answer(&requests[0], &target).await;

    let options =
        Options { local: Some(Local { tokens_max: Some(tokens.len().max(1)), ..Local::default() }), ..local() };
    let client = Client::connect("", options).unwrap();
    let is_known = async |headers: &HeaderMap| -> bool {
        let answer = client.check(&ask(headers, &target)).await.unwrap();
        assert!(answer.allowed(), "{answer:?}");
        answer.response().is_none()
    };
    while !is_known(&requests[0]).await {}
    let before = BYTES.load(Relaxed);
    for headers in requests.iter().skip(1) {
        is_known(headers).await;
    }
    // The memory of the questions is free a moment later.
    tokio::time::sleep(Duration::from_millis(20)).await;
    #[allow(clippy::cast_precision_loss)]
    let bytes = (BYTES.load(Relaxed) - before) as f64 / (tokens.len() - 1).max(1) as f64;

    let lookups = Lookups::new(&tokens, &order);
    let (mut lookup, mut check, mut allocations) = (Vec::new(), Vec::new(), 0);
    let (mut looked_up, mut checked) = (0, 0);
    let all = Instant::now();
    while all.elapsed() < 2 * duration || lookup.is_empty() {
        let began = Instant::now();
        looked_up = lookups.run(looked_up, STEPS);
        let between = Instant::now();
        let (already, mut is_local) = (ALLOCATIONS.with(Cell::get), true);
        for _ in 0..STEPS {
            let answer = client.check(&ask(&requests[checked], &target)).await.unwrap();
            is_local &= answer.response().is_none();
            checked = next_of(checked, answer.allowed(), requests.len());
        }
        let end = Instant::now();
        // The machine may have been so busy that the client heard nothing for too long.
        if is_local {
            allocations += ALLOCATIONS.with(Cell::get) - already;
            lookup.push((between - began).as_nanos());
            check.push((end - between).as_nanos());
        }
    }
    #[allow(clippy::cast_precision_loss)]
    let allocations = allocations as f64 / (check.len() as f64 * f64::from(STEPS));

    println!(
        r#"{{"lookup_ns":{},"local_check_ns":{},"grpc_check_ns":{},"bytes_per_token":{bytes:.0},"first_local_answer_ms":{:.3},"allocations_per_check":{},"revocation_ms":{}}}"#,
        median(lookup) / u128::from(STEPS),
        median(check) / u128::from(STEPS),
        over_grpc(&requests, &target, duration).await,
        first_local_answer.as_secs_f64() * 1e3,
        allocations,
        match std::env::var("OPERATOR_TOKEN") {
            Ok(operator) => revocations(&client, operator, &target, duration).await,
            Err(_) => "null".to_owned(),
        },
    );
}

/// How long a token that was revoked is still allowed, while it is checked all the time.
async fn revocations(client: &Client, operator: String, target: &Scope, duration: Duration) -> String {
    let operator = Client::connect("", Options { caller_token: Some(operator), ..Options::default() }).unwrap();
    let mut directory = DirectoryServiceClient::new(operator.connection());
    let mut delays = Vec::new();
    for number in 0..if duration < Duration::from_secs(1) { 3 } else { 100 } {
        let name = format!("rust-{}-{number}", std::process::id());
        let wish = v1::CreateStaticTokenRequest {
            account: target.account.clone(),
            user_name: "owner".to_owned(),
            name,
            ..Default::default()
        };
        let made = directory.create_static_token(wish).await.unwrap().into_inner();
        let headers = request(&made.value);
        while client.check(&ask(&headers, target)).await.unwrap().response().is_some() {}
        let wish = v1::RevokeRequest { token: Some(Revoked::Value(made.value)), ..Default::default() };
        operator.revoke(wish).await.unwrap();
        let began = Instant::now();
        while client.check(&ask(&headers, target)).await.unwrap().allowed() {
            tokio::task::yield_now().await;
        }
        delays.push(began.elapsed().as_secs_f64() * 1e3);
    }
    delays.sort_unstable_by(f64::total_cmp);
    let at = |part: usize| delays[delays.len() * part / 100];
    format!(r#"{{"p50":{:.3},"p99":{:.3}}}"#, at(50), at(99))
}

/// Measures take turns in slices: other work of the machine slows both.
const STEPS: u32 = 100;

/// Each step depends on the one before, so that a processor cannot make several at a time.
fn next_of(index: usize, is_allowed: bool, count: usize) -> usize {
    assert!(is_allowed);
    let next = index + usize::from(is_allowed);
    if next == count { 0 } else { next }
}

/// Look-ups of tokens in a map of the language, in the order of the checks.
struct Lookups {
    known: HashMap<String, (usize, Option<Token>)>,
    /// Separate texts, as those of requests are.
    texts: Vec<String>,
}

impl Lookups {
    fn new(tokens: &[String], order: &[usize]) -> Lookups {
        let texts: Vec<String> = order.iter().map(|&index| tokens[index].clone()).collect();
        let known =
            order.iter().enumerate().map(|(at, &index)| (tokens[index].clone(), ((at + 1) % order.len(), None)));
        Lookups { known: known.collect(), texts }
    }

    fn run(&self, mut at: usize, steps: u32) -> usize {
        for _ in 0..steps {
            at = black_box(self.known.get(&self.texts[at])).unwrap().0;
        }
        at
    }
}

fn median(mut all: Vec<u128>) -> u128 {
    all.sort_unstable();
    all[all.len() / 2]
}

/// From nothing to the first answer from memory.
async fn first_local_answer(headers: &HeaderMap, target: &Scope) -> Duration {
    let mut all = Vec::new();
    for _ in 0..5 {
        let began = Instant::now();
        let client = Client::connect("", local()).unwrap();
        while client.check(&ask(headers, target)).await.unwrap().response().is_some() {}
        all.push(began.elapsed());
    }
    all.sort_unstable();
    all[all.len() / 2]
}

/// The same checks without local mode, one after the other.
async fn over_grpc(requests: &[HeaderMap], target: &Scope, duration: Duration) -> u128 {
    let client = Client::connect("", Options::default()).unwrap();
    let (began, mut all) = (Instant::now(), Vec::new());
    for headers in requests.iter().cycle() {
        let asked = Instant::now();
        assert!(client.check(&ask(headers, target)).await.unwrap().allowed());
        all.push(asked.elapsed().as_nanos());
        if began.elapsed() > duration && all.len() > 10 {
            break;
        }
    }
    median(all)
}

/// The numbers below an end in an order that has no pattern.
fn shuffled(end: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..end).collect();
    let mut state = 1_u64;
    for index in (1..end).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(index, usize::try_from(state >> 33).unwrap() % (index + 1));
    }
    order
}
