//! Lets requests pass whose token opens an API.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::HOST;
use http::request::Parts;
use http::uri::Authority;
use http::{Extensions, Request, Response, Uri, Version};
use tower_layer::Layer;
use tower_service::Service;

use crate::answer::Answer;
use crate::client::Client;
use crate::denial::Denial;
use crate::error::{Error, OnFailure};
use crate::question::{HttpRequest, Question, Scope, Token};
use crate::reason::Reason;

/// The future result of a function of a guard.
pub type TargetFuture<'a> = Pin<Box<dyn Future<Output = Option<Scope>> + Send + 'a>>;

/// A function of a request.
type Of<T> = Arc<dyn Fn(&Parts) -> Option<T> + Send + Sync>;

/// The API that a request asks for.
#[derive(Clone)]
pub struct Api(Kind);

#[derive(Clone)]
enum Kind {
    Constant(Arc<str>),
    /// With all that the function names, where the program knows them before a request comes.
    Function(Of<String>, Arc<[String]>),
    /// The routes of the sidecar say the API and the target. The method, if it is the same for all requests.
    Routes(Option<&'static str>),
}

impl Api {
    /// Names the API of a request, where requests ask for several ones. A request for which it names none is denied.
    pub fn of(function: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static) -> Api {
        Api(Kind::Function(Arc::new(function), Arc::default()))
    }

    /// The same, where all are known.
    #[cfg(feature = "server")]
    pub(crate) fn among(
        known: Arc<[String]>,
        function: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static,
    ) -> Api {
        Api(Kind::Function(Arc::new(function), known))
    }

    pub(crate) fn by_routes(method: Option<&'static str>) -> Api {
        Api(Kind::Routes(method))
    }

    fn named(&self, parts: &Parts) -> Option<Arc<str>> {
        let api = match &self.0 {
            Kind::Constant(api) => api.clone(),
            Kind::Function(function, _) => Arc::from(function(parts)?),
            Kind::Routes(_) => return None,
        };
        (!api.is_empty()).then_some(api)
    }

    /// Those that the program names, whatever a request is.
    fn known(&self) -> impl Iterator<Item = &str> {
        let (one, several): (_, &[String]) = match &self.0 {
            Kind::Constant(api) => (Some(api.as_ref()), &[]),
            Kind::Function(_, known) => (None, known),
            Kind::Routes(_) => (None, &[]),
        };
        one.into_iter().chain(several.iter().map(String::as_str))
    }
}

impl From<&str> for Api {
    fn from(api: &str) -> Api {
        Api(Kind::Constant(Arc::from(api)))
    }
}

impl From<String> for Api {
    fn from(api: String) -> Api {
        Api(Kind::Constant(Arc::from(api)))
    }
}

#[derive(Clone)]
enum Target {
    Now(Of<Scope>),
    Later(Arc<dyn for<'a> Fn(&'a mut Parts) -> TargetFuture<'a> + Send + Sync>),
}

/// Marks a guard of requests of HTTP.
#[derive(Clone, Copy, Debug)]
pub struct Requests;

/// A layer of tower that lets requests pass whose token opens an API. It answers the others itself: 401 or 403 with what would
/// be accepted, 503 where there is no answer. The handler finds who sent a request in its extensions: [`token_of`],
/// [`answer_of`], or with the feature `axum` the extractors [`Token`] and [`Answer`].
///
/// ```no_run
/// use portcullis_client::{Client, Guard, Options, Scope};
/// use tower_layer::Layer;
///
/// # fn example<S: Clone>(service: S) -> Result<(), portcullis_client::Error> {
/// let client = Client::connect("", Options::default())?;
/// // The path is /accounts/ACCOUNT/balance.
/// let guard = Guard::new(&client, "balance").target(|request| request.uri.path().split('/').nth(2).map(Scope::account));
/// let guarded = guard.layer(service);
/// # Ok(())
/// # }
/// ```
pub struct Guard<P = Requests> {
    settings: Settings,
    protocol: PhantomData<P>,
}

#[derive(Clone)]
struct Settings {
    client: Client,
    api: Api,
    target: Option<Target>,
    client_address: Option<Of<IpAddr>>,
    hide_others: bool,
    /// `None`: events are printed.
    on_failure: Option<OnFailure>,
}

impl Guard<Requests> {
    /// A guard of requests that ask for an API: a constant, or [`Api::of`] a function.
    pub fn new(client: &Client, api: impl Into<Api>) -> Guard {
        Guard::made(client, api.into())
    }

    /// A guard that leaves it to the routes of the sidecar which API a request asks for, and who owns the requested resource.
    /// A request that they refuse is denied: no route has it, it does not say whose resource it asks for, or servers could read
    /// it in different ways. The guard has no target.
    ///
    /// Routers change the path of a request in a nested service. With the feature `axum` the guard sees it as it arrived at the
    /// router of axum; others belong outside of what changes it.
    #[must_use]
    pub fn routes(client: &Client) -> Guard {
        Guard::made(client, Api::by_routes(None))
    }
}

impl<P> Guard<P> {
    pub(crate) fn made(client: &Client, api: Api) -> Guard<P> {
        let settings = Settings {
            client: client.clone(),
            api,
            target: None,
            client_address: None,
            hide_others: false,
            on_failure: None,
        };
        Guard { settings, protocol: PhantomData }
    }

    /// Returns the account, and the project if any, that owns the requested resource: from the records of the program or the
    /// path, never from the token. A request for which it returns none is denied. Without a target, only the matrix decides.
    #[must_use]
    pub fn target(mut self, target: impl Fn(&Parts) -> Option<Scope> + Send + Sync + 'static) -> Guard<P> {
        self.settings.target = Some(Target::Now(Arc::new(target)));
        self
    }

    /// The same, for a function that waits for something: a database, or an extractor.
    #[must_use]
    pub fn target_async(
        mut self,
        target: impl for<'a> Fn(&'a mut Parts) -> TargetFuture<'a> + Send + Sync + 'static,
    ) -> Guard<P> {
        self.settings.target = Some(Target::Later(Arc::new(target)));
        self
    }

    /// Returns the IP address of the sender, for accounts that restrict addresses. Without it: the one of the connection,
    /// where axum (`into_make_service_with_connect_info`) or tonic show it. Behind a proxy that is the proxy.
    #[must_use]
    pub fn client_address(
        mut self,
        client_address: impl Fn(&Parts) -> Option<IpAddr> + Send + Sync + 'static,
    ) -> Guard<P> {
        self.settings.client_address = Some(Arc::new(client_address));
        self
    }

    /// Answers 404 where the resource belongs to others, so that a client does not learn that it exists.
    #[must_use]
    pub fn hide_others(mut self) -> Guard<P> {
        self.settings.hide_others = true;
        self
    }

    /// Called where there was no answer: for each request, and once for the client if no sidecar answers when a guard starts.
    /// Called once with [`Error::UnknownApi`] if the matrix does not have an API of the guard. Without it: lines on standard
    /// error, which are the first failure of an outage, a count each minute, and its end.
    #[must_use]
    pub fn on_failure(mut self, on_failure: impl Fn(&Error) + Send + Sync + 'static) -> Guard<P> {
        self.settings.on_failure = Some(Arc::new(on_failure));
        self
    }
}

impl Settings {
    /// Lets a request pass, or says what is answered in place of the handler.
    async fn judge(&self, parts: &mut Parts) -> Result<Answer, Denial> {
        if let Kind::Routes(method) = self.api.0 {
            return self.judge_by_routes(parts, method).await;
        }
        let api = self.api.named(parts).ok_or_else(Denial::api_not_found)?;
        let target = match &self.target {
            None => None,
            Some(Target::Now(target)) => Some(target(parts)),
            Some(Target::Later(target)) => Some(target(parts).await),
        };
        // Without a target the check would be about the API alone, and the resource could belong to any account.
        let target = match target {
            None => None,
            Some(Some(target)) if !target.account.is_empty() => Some(target),
            Some(_) => return Err(Denial::target_not_found()),
        };
        let address = self.address(parts);
        let question =
            Question { target: target.as_ref(), ..Question::new(&api, &parts.headers).client_address(&address) };
        self.check(&question).await
    }

    async fn judge_by_routes(&self, parts: &Parts, method: Option<&'static str>) -> Result<Answer, Denial> {
        if self.target.is_some() {
            let expected = "none, because the routes say it".to_owned();
            return Err(self.failed(&Error::Option { option: "target", expected }));
        }
        let (host, path) = (host_of(parts), path_of(parts));
        let request = HttpRequest { method: method.unwrap_or(parts.method.as_str()), host: &host, path: &path };
        let address = self.address(parts);
        self.check(&Question::of_request(&request, &parts.headers).client_address(&address)).await
    }

    async fn check(&self, question: &Question<'_>) -> Result<Answer, Denial> {
        match self.client.check_cached(question).await {
            Ok(answer) if answer.allowed() => Ok(answer),
            Ok(answer) => {
                if answer.reason() == Reason::UnknownApi && self.api.known().any(|api| api == question.api) {
                    self.client.deny_unknown(question.api, self.on_failure.as_ref());
                }
                Err(Denial::of(&answer, self.hide_others))
            }
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn failed(&self, error: &Error) -> Denial {
        let denial = Denial::of_failure(error);
        self.client.reports().failed(error, &denial, self.on_failure.as_ref());
        denial
    }

    fn address(&self, parts: &Parts) -> String {
        let address = match &self.client_address {
            Some(client_address) => client_address(parts),
            None => connected_from(&parts.extensions),
        };
        address.map(|address| address.to_canonical().to_string()).unwrap_or_default()
    }
}

/// The host of a request as it arrived: `:authority`, and each header Host.
fn host_of(parts: &Parts) -> Cow<'_, str> {
    let authority = parts.uri.authority().filter(|_| parts.version >= Version::HTTP_2).map(Authority::as_str);
    // No host has other bytes than ASCII, and none of it is plain.
    let headers = parts.headers.get_all(HOST).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    let mut hosts = authority.map(Cow::Borrowed).into_iter().chain(headers);
    let first = hosts.next().unwrap_or_default();
    hosts.fold(first, |joined, host| Cow::Owned(format!("{joined},{host}")))
}

/// The request target as it arrived.
fn path_of(parts: &Parts) -> Cow<'_, str> {
    let uri = arrived(parts);
    match uri.path_and_query() {
        // HTTP/2 has the parts before it in separate fields.
        Some(path) if uri.authority().is_none() || parts.version >= Version::HTTP_2 => Cow::Borrowed(path.as_str()),
        // Those of HTTP/1 with a host in them are for proxies.
        _ => Cow::Owned(uri.to_string()),
    }
}

/// Routers of axum change the URI of a request that they forward.
#[cfg(feature = "axum")]
fn arrived(parts: &Parts) -> &Uri {
    parts.extensions.get::<axum::extract::OriginalUri>().map_or(&parts.uri, |original| &original.0)
}

#[cfg(not(feature = "axum"))]
fn arrived(parts: &Parts) -> &Uri {
    &parts.uri
}

/// The address of the connection, as axum and tonic show it.
fn connected_from(extensions: &Extensions) -> Option<IpAddr> {
    let mut address = None;
    #[cfg(feature = "axum")]
    if let Some(axum::extract::ConnectInfo(from)) = extensions.get::<axum::extract::ConnectInfo<std::net::SocketAddr>>()
    {
        address = Some(from.ip());
    }
    #[cfg(feature = "server")]
    {
        use tonic::transport::server::TcpConnectInfo;
        let connected = extensions.get::<TcpConnectInfo>();
        #[cfg(feature = "tls")]
        let connected = connected.or_else(|| {
            let encrypted = extensions.get::<tonic::transport::server::TlsConnectInfo<TcpConnectInfo>>();
            encrypted.map(tonic::transport::server::TlsConnectInfo::get_ref)
        });
        address = address.or_else(|| Some(connected?.remote_addr()?.ip()));
    }
    let _ = (&mut address, extensions);
    address
}

/// How a denial is answered.
pub(crate) trait Denies<B> {
    fn denied(denial: &Denial) -> Response<B>;
}

impl<B: From<String>> Denies<B> for Requests {
    fn denied(denial: &Denial) -> Response<B> {
        denial.response()
    }
}

impl<P> Clone for Guard<P> {
    fn clone(&self) -> Guard<P> {
        Guard { settings: self.settings.clone(), protocol: PhantomData }
    }
}

impl<P> fmt::Debug for Guard<P> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Guard").field("client", &self.settings.client).finish_non_exhaustive()
    }
}

impl<P, S> Layer<S> for Guard<P> {
    type Service = Guarded<S, P>;

    fn layer(&self, service: S) -> Guarded<S, P> {
        let Settings { client, api, on_failure, .. } = &self.settings;
        client.begin(api.known(), on_failure.as_ref());
        Guarded { settings: Arc::new(self.settings.clone()), service, protocol: PhantomData }
    }
}

/// A service behind a [`Guard`].
pub struct Guarded<S, P = Requests> {
    settings: Arc<Settings>,
    service: S,
    protocol: PhantomData<fn() -> P>,
}

impl<S: Clone, P> Clone for Guarded<S, P> {
    fn clone(&self) -> Guarded<S, P> {
        Guarded { settings: self.settings.clone(), service: self.service.clone(), protocol: PhantomData }
    }
}

impl<S, P> fmt::Debug for Guarded<S, P> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Guarded").finish_non_exhaustive()
    }
}

#[allow(private_bounds, reason = "how denials are told is no concern of others")]
impl<S, P, B, R> Service<Request<B>> for Guarded<S, P>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
    P: Denies<R>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let settings = self.settings.clone();
        // The one that is ready is called, and its copy waits for the next request.
        let copy = self.service.clone();
        let mut service = std::mem::replace(&mut self.service, copy);
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            match settings.judge(&mut parts).await {
                Ok(answer) => {
                    parts.extensions.insert(answer);
                    service.call(Request::from_parts(parts, body)).await
                }
                Err(denial) => Ok(P::denied(&denial)),
            }
        })
    }
}

/// The answer that let a request or a call pass, from its extensions. `None`: no guard did.
#[must_use]
pub fn answer_of(extensions: &Extensions) -> Option<&Answer> {
    extensions.get::<Answer>()
}

/// The verified token of a request or a call that passed: who sent it. `None`: no guard let it pass.
#[must_use]
pub fn token_of(extensions: &Extensions) -> Option<Token> {
    answer_of(extensions)?.token()
}
