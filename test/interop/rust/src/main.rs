//! Calls the sidecar with tonic. Messages are built from the contract's descriptors, so nothing is generated.
//!
//! The input is a line of JSON. The output has a line for each response, a line for the error if there is one, and a line for
//! the end.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, SerializeOptions};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codec::{Codec, CompressionEncoding, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::metadata::{AsciiMetadataKey, BinaryMetadataKey, BinaryMetadataValue, MetadataMap};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

type Failure = Box<dyn Error>;

/// The input: the call, its requests, and its deadline.
#[derive(Deserialize)]
struct Row {
    call: String,
    requests: Vec<Value>,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    deadline_ms: u64,
    /// The number of responses after which a stream is cancelled.
    responses_max: Option<usize>,
    compression: Option<String>,
    /// Of a long `CheckStream`: its requests are sent again and again.
    pace: Option<Pace>,
}

/// How many questions on how many streams, how many may wait for their answers, and when a stream rests.
#[derive(Deserialize, Clone)]
struct Pace {
    count: usize,
    streams: usize,
    in_flight: usize,
    rest_every: usize,
    rest_ms: u64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let flags: Vec<String> = std::env::args().collect();
    let value_of = |name: &str| {
        let index = flags.iter().position(|flag| flag == name)?;
        flags.get(index + 1).cloned()
    };
    let protos = value_of("--protos").ok_or("expected --protos")?;
    let address = value_of("--address").ok_or("expected --address")?;
    let pool = pool(Path::new(&protos))?;
    let channel = Endpoint::from_shared(format!("http://{address}"))?.connect_lazy();
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let row: Row = serde_json::from_str(&line)?;
        if let Err(status) = ask(&pool, channel.clone(), row).await {
            print(json!({ "error": describe(&pool, &status)? }))?;
        }
        print(json!({ "end": true }))?;
    }
    Ok(())
}

fn pool(protos: &Path) -> Result<DescriptorPool, Failure> {
    let mut pool = DescriptorPool::new();
    for name in ["portcullis.binpb", "health.binpb", "google_rpc.binpb"] {
        pool.decode_file_descriptor_set(std::fs::read(protos.join(name))?.as_slice())?;
    }
    Ok(pool)
}

async fn ask(pool: &DescriptorPool, channel: Channel, row: Row) -> Result<(), Status> {
    let (service, method) = row.call.split_once('/').ok_or_else(|| Status::internal("no call"))?;
    let package = if service == "Health" { "grpc.health.v1" } else { "portcullis.v1" };
    let service = pool
        .get_service_by_name(&format!("{package}.{service}"))
        .ok_or_else(|| Status::internal("no such service"))?;
    let method = service
        .methods()
        .find(|each| each.name() == method)
        .ok_or_else(|| Status::internal("no such method"))?;
    let requests = row
        .requests
        .iter()
        .map(|request| DynamicMessage::deserialize(method.input(), request))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| Status::internal(error.to_string()))?;
    let mut client = tonic::client::Grpc::new(channel).accept_compressed(CompressionEncoding::Gzip);
    if row.compression.is_some() {
        client = client.send_compressed(CompressionEncoding::Gzip);
    }
    let path = http::uri::PathAndQuery::from_str(&format!("/{}/{}", service.full_name(), method.name()))
        .map_err(|error| Status::internal(error.to_string()))?;
    client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
    let codec = Dynamic { response: method.output() };
    if let Some(pace) = row.pace {
        return ask_for_long(client, path, codec, requests, pace, method.is_client_streaming()).await;
    }
    let deadline = Duration::from_millis(row.deadline_ms);
    let mut request = Request::new(tokio_stream::iter(requests));
    *request.metadata_mut() = metadata(&row.metadata)?;
    request.set_timeout(deadline);
    // tonic sends the deadline to the server, and leaves it to the caller to keep it.
    let answered = async {
        let mut responses = client.streaming(request, path, codec).await?.into_inner();
        let mut number = 0;
        while let Some(response) = responses.next().await {
            print(json!({ "response": to_json(&response?) })).map_err(|error| Status::internal(error.to_string()))?;
            number += 1;
            if row.responses_max == Some(number) {
                break;
            }
        }
        Ok(())
    };
    // Longer than the deadline, so that the status is the server's.
    tokio::time::timeout(deadline + Duration::from_secs(10), answered)
        .await
        .unwrap_or_else(|_| Err(Status::internal("the server did not keep the deadline")))
}

/// Asks on several streams, and prints how often it got which answer.
async fn ask_for_long(
    client: tonic::client::Grpc<Channel>,
    path: http::uri::PathAndQuery,
    codec: Dynamic,
    requests: Vec<DynamicMessage>,
    pace: Pace,
    streaming: bool,
) -> Result<(), Status> {
    let tallies = Arc::new(Mutex::new(BTreeMap::<String, usize>::new()));
    let requests = Arc::new(requests);
    let streams: Vec<_> = (0..pace.streams)
        .map(|_| {
            let (client, path, codec, pace) = (client.clone(), path.clone(), codec.clone(), pace.clone());
            let (requests, tallies) = (requests.clone(), tallies.clone());
            tokio::spawn(async move {
                if streaming {
                    ask_stream(client, path, codec, &requests, pace, &tallies).await
                } else {
                    ask_calls(client, path, codec, &requests, pace, &tallies).await
                }
            })
        })
        .collect();
    let mut outcome = Ok(());
    for stream in streams {
        outcome = outcome.and(stream.await.map_err(|error| Status::internal(error.to_string()))?);
    }
    let counted = tallies.lock().map_err(|_| Status::internal("a stream has panicked"))?.clone();
    print(json!({ "response": counted })).map_err(|error| Status::internal(error.to_string()))?;
    outcome
}

/// Each question is a separate call.
async fn ask_calls(
    mut client: tonic::client::Grpc<Channel>,
    path: http::uri::PathAndQuery,
    codec: Dynamic,
    requests: &[DynamicMessage],
    pace: Pace,
    tallies: &Mutex<BTreeMap<String, usize>>,
) -> Result<(), Status> {
    for index in 0..pace.count {
        client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
        let at = index % requests.len();
        let question = Request::new(requests[at].clone());
        let response = client.unary(question, path.clone(), codec.clone()).await?.into_inner();
        tally(tallies, format!("{at} {}", to_json(&response)["allowed"]));
    }
    Ok(())
}

fn tally(tallies: &Mutex<BTreeMap<String, usize>>, key: String) {
    if let Ok(mut counts) = tallies.lock() {
        *counts.entry(key).or_default() += 1;
    }
}

async fn ask_stream(
    mut client: tonic::client::Grpc<Channel>,
    path: http::uri::PathAndQuery,
    codec: Dynamic,
    requests: &Arc<Vec<DynamicMessage>>,
    pace: Pace,
    tallies: &Mutex<BTreeMap<String, usize>>,
) -> Result<(), Status> {
    let waiting = Arc::new(Semaphore::new(pace.in_flight));
    let (sender, questions) = mpsc::channel(1);
    let (asked, room) = (requests.clone(), waiting.clone());
    tokio::spawn(async move {
        for index in 0..pace.count {
            match room.acquire().await {
                Ok(permit) => permit.forget(),
                Err(_) => return,
            }
            if sender.send(asked[index % asked.len()].clone()).await.is_err() {
                return;
            }
        }
    });
    let questions = Request::new(ReceiverStream::new(questions));
    client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
    let mut responses = client.streaming(questions, path, codec).await?.into_inner();
    let mut index = 0;
    while let Some(response) = responses.next().await {
        let response = to_json(&response?);
        let due = to_json(&requests[index % requests.len()]);
        let key = if response["id"] == due["id"] {
            format!("{} {}", response["id"].as_str().unwrap_or_default(), response["result"]["allowed"])
        } else {
            "out of order".to_string()
        };
        tally(tallies, key);
        index += 1;
        if pace.rest_every > 0 && index % pace.rest_every == 0 {
            tokio::time::sleep(Duration::from_millis(pace.rest_ms)).await;
        }
        waiting.add_permits(1);
    }
    Ok(())
}

fn metadata(entries: &BTreeMap<String, String>) -> Result<MetadataMap, Status> {
    let invalid = |_| Status::internal("metadata that cannot be sent");
    let mut found = MetadataMap::new();
    for (name, value) in entries {
        if name.ends_with("-bin") {
            let bytes = STANDARD.decode(value).map_err(|_| Status::internal("metadata that is not base64"))?;
            let key = BinaryMetadataKey::from_str(name).map_err(|_| invalid(()))?;
            found.insert_bin(key, BinaryMetadataValue::from_bytes(&bytes));
        } else {
            let key = AsciiMetadataKey::from_str(name).map_err(|_| invalid(()))?;
            found.insert(key, value.parse().map_err(|_| invalid(()))?);
        }
    }
    Ok(found)
}

fn describe(pool: &DescriptorPool, status: &Status) -> Result<Value, Failure> {
    let mut details = Vec::new();
    if !status.details().is_empty() {
        let message = pool.get_message_by_name("google.rpc.Status").ok_or("no google.rpc.Status")?;
        let stated = DynamicMessage::decode(message, status.details())?;
        details = to_json(&stated)["details"].as_array().cloned().unwrap_or_default();
    }
    // `InvalidArgument` → `INVALID_ARGUMENT`.
    let mut code = String::new();
    for letter in format!("{:?}", status.code()).chars() {
        if letter.is_uppercase() && !code.is_empty() {
            code.push('_');
        }
        code.push(letter.to_ascii_uppercase());
    }
    Ok(json!({ "code": code, "message": status.message(), "details": details }))
}

fn to_json(message: &DynamicMessage) -> Value {
    let options = SerializeOptions::new().use_proto_field_name(true).skip_default_fields(false);
    message.serialize_with_options(serde_json::value::Serializer, &options).unwrap_or(Value::Null)
}

fn print(value: Value) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{}", serde_json::to_string(&value)?)?;
    Ok(output.flush()?)
}

/// Messages of any type, by their descriptors.
#[derive(Clone)]
struct Dynamic {
    response: MessageDescriptor,
}

impl Codec for Dynamic {
    type Encode = DynamicMessage;
    type Decode = DynamicMessage;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        self.clone()
    }

    fn decoder(&mut self) -> Self {
        self.clone()
    }
}

impl Encoder for Dynamic {
    type Item = DynamicMessage;
    type Error = Status;

    fn encode(&mut self, message: DynamicMessage, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        message.encode(buffer).map_err(|error| Status::internal(error.to_string()))
    }
}

impl Decoder for Dynamic {
    type Item = DynamicMessage;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<DynamicMessage>, Status> {
        DynamicMessage::decode(self.response.clone(), buffer)
            .map(Some)
            .map_err(|error| Status::internal(error.to_string()))
    }
}
