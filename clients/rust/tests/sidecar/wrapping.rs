//! A guard does not change a call that passes: four kinds of calls, with a guard and without.

use std::convert::Infallible;
use std::future::{Future, ready};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::uri::PathAndQuery;
use portcullis_client::{CallGuard, Options, token_of};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tokio_stream::{Stream, StreamExt as _};
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::metadata::MetadataMap;
use tonic::server::{ClientStreamingService, NamedService, ServerStreamingService, StreamingService, UnaryService};
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;

use super::support::{connect, fixed};

const KINDS: [&str; 4] = ["Unary", "Up", "Down", "Both"];
/// The acts of a method with its call. Each is the message of one.
const ACTS: [&str; 5] = ["answers", "refuses", "sends metadata", "says what it was sent", "fails"];

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Messages = Pin<Box<dyn Stream<Item = Result<String, Status>> + Send>>;

/// A method of each kind. Behind a guard, it expects the token.
#[derive(Clone, Copy)]
struct Methods {
    is_guarded: bool,
}

impl Methods {
    fn act<T>(self, name: &str, request: &Request<T>, response: Response<String>) -> Result<Response<String>, Status> {
        let name_of = token_of(request.extensions()).map(|token| token.subject.name);
        assert_eq!(name_of.as_deref(), self.is_guarded.then_some("owner"));
        let mut response = response;
        match name {
            "refuses" => {
                let mut trailers = MetadataMap::new();
                trailers.insert("x-own", "trailer".parse().unwrap());
                return Err(Status::with_metadata(tonic::Code::PermissionDenied, "not yours", trailers));
            }
            "fails" => return Err(Status::unknown("the records do not answer")),
            "sends metadata" => _ = response.metadata_mut().insert("x-own", "header".parse().unwrap()),
            "says what it was sent" => {
                let sent = request.metadata();
                let told = format!("{:?} {}", sent.get("x-sent"), sent.contains_key("grpc-timeout"));
                response.metadata_mut().insert("x-own", told.parse().unwrap());
            }
            _ => {}
        }
        Ok(response)
    }

    async fn act_on_stream(self, request: Request<Streaming<String>>) -> Result<Response<String>, Status> {
        let (metadata, extensions, mut messages) = request.into_parts();
        let name = messages.message().await?.unwrap_or_default();
        self.act(&name, &Request::from_parts(metadata, extensions, ()), Response::new("done".to_owned()))
    }
}

fn streamed(response: Response<String>) -> Response<Messages> {
    response.map(|message| Box::pin(tokio_stream::iter([Ok("begun".to_owned()), Ok(message)])) as Messages)
}

impl UnaryService<String> for Methods {
    type Response = String;
    type Future = Boxed<Result<Response<String>, Status>>;

    fn call(&mut self, request: Request<String>) -> Self::Future {
        Box::pin(ready(self.act(request.get_ref(), &request, Response::new("done".to_owned()))))
    }
}

impl ServerStreamingService<String> for Methods {
    type Response = String;
    type ResponseStream = Messages;
    type Future = Boxed<Result<Response<Messages>, Status>>;

    fn call(&mut self, request: Request<String>) -> Self::Future {
        let acted = self.act(request.get_ref(), &request, Response::new("done".to_owned()));
        Box::pin(ready(acted.map(streamed)))
    }
}

impl ClientStreamingService<String> for Methods {
    type Response = String;
    type Future = Boxed<Result<Response<String>, Status>>;

    fn call(&mut self, request: Request<Streaming<String>>) -> Self::Future {
        Box::pin(self.act_on_stream(request))
    }
}

impl StreamingService<String> for Methods {
    type Response = String;
    type ResponseStream = Messages;
    type Future = Boxed<Result<Response<Messages>, Status>>;

    fn call(&mut self, request: Request<Streaming<String>>) -> Self::Future {
        let acted = self.act_on_stream(request);
        Box::pin(async move { acted.await.map(streamed) })
    }
}

impl NamedService for Methods {
    const NAME: &'static str = "test.Service";
}

impl Service<http::Request<Body>> for Methods {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Boxed<Result<http::Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let methods = *self;
        Box::pin(async move {
            let mut grpc = tonic::server::Grpc::new(ProstCodec::<String, String>::default());
            Ok(match request.uri().path() {
                "/test.Service/Unary" => grpc.unary(methods, request).await,
                "/test.Service/Up" => grpc.client_streaming(methods, request).await,
                "/test.Service/Down" => grpc.server_streaming(methods, request).await,
                _ => grpc.streaming(methods, request).await,
            })
        })
    }
}

async fn start(guard: Option<CallGuard>) -> Channel {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let incoming = TcpListenerStream::new(listener);
    let methods = Methods { is_guarded: guard.is_some() };
    match guard {
        Some(guard) => {
            let server = Server::builder().layer(guard).add_service(methods);
            tokio::spawn(server.serve_with_incoming(incoming));
        }
        None => {
            let server = Server::builder().add_service(methods);
            tokio::spawn(server.serve_with_incoming(incoming));
        }
    }
    Endpoint::from_shared(address).unwrap().connect_lazy()
}

/// All that a client sees of a call.
async fn outcome(channel: &Channel, kind: &str, act: &str) -> Vec<String> {
    let mut grpc = tonic::client::Grpc::new(channel.clone());
    grpc.ready().await.unwrap();
    let mut request = Request::new(tokio_stream::once(act.to_owned()));
    request.set_timeout(Duration::from_secs(600));
    request.metadata_mut().insert("x-token", fixed().parse().unwrap());
    request.metadata_mut().insert("x-sent", "by the client".parse().unwrap());
    let path = PathAndQuery::try_from(format!("/test.Service/{kind}")).unwrap();
    let own = |metadata: &MetadataMap| format!("{:?}", metadata.get("x-own"));
    let refused = |status: &Status| vec![format!("{:?} {}", status.code(), status.message()), own(status.metadata())];
    match grpc.streaming(request, path, ProstCodec::<String, String>::default()).await {
        Err(status) => refused(&status),
        Ok(response) => {
            let mut told = vec![own(response.metadata())];
            let mut messages = response.into_inner();
            while let Some(message) = messages.next().await {
                match message {
                    Ok(message) => told.push(message),
                    Err(status) => told.extend(refused(&status)),
                }
            }
            told
        }
    }
}

#[tokio::test]
async fn a_call_that_passes_is_not_changed() {
    let client = connect(Options::default());
    let apis = KINDS.map(|kind| (format!("/test.Service/{kind}"), "balance"));
    let (bare, guarded) = (start(None).await, start(Some(CallGuard::of_methods(&client, apis))).await);
    for kind in KINDS {
        for act in ACTS {
            let expected = outcome(&bare, kind, act).await;
            assert_eq!(outcome(&guarded, kind, act).await, expected, "{kind} {act}");
        }
    }
}
