//! Sends requests with the token of a profile.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderName, HeaderValue};
use tokio::sync::watch;
use tonic::Status;

use crate::client::Client;
use crate::elapsed;
use crate::error::Error;
use crate::question::Scope;
use crate::{times, v1};

/// A token is renewed this long before it expires, or a tenth of what it had left when it came.
const RENEW_BEFORE: Duration = Duration::from_secs(60);
/// The profile may have another token after this time, also in place of one that never expires.
const KEPT_MAX: Duration = Duration::from_secs(300);

/// Puts the token of a profile on requests, in its header and behind its scheme. It keeps the token until shortly before it
/// expires, and renews it once where an API answers 401. With the feature `reqwest`, `client` makes an HTTP client that does
/// it; for others there are [`Transport::token`] and [`Transport::renewed`]. Copies share the token.
///
/// ```no_run
/// # #[cfg(feature = "reqwest")]
/// # async fn example(client: portcullis_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use portcullis_client::Transport;
///
/// let reports = Transport::new(&client, "nightly-report").apis(["reports"]).client(reqwest::Client::builder())?.build();
/// let response = reports.get("https://api.example/reports").send().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Transport {
    client: Client,
    profile: String,
    apis: Vec<String>,
    project: String,
    scope: Option<Scope>,
    place: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    token: ProfileToken,
    /// The result of the token that is being issued.
    issuing: Option<Issuing>,
}

/// The token of a profile, as a program keeps it. It has no clock and calls nothing; `clients/conformance`
/// describes what it must do.
#[derive(Default)]
pub(crate) struct ProfileToken {
    /// `None`: there is none, or an API has refused it.
    issued: Option<Issued>,
    /// A token that an API has refused, if none came since. A secret.
    pub(crate) rejected: String,
}

impl ProfileToken {
    /// The token that is sent without asking the sidecar.
    pub(crate) fn current(&self, now: i64) -> Option<&Issued> {
        self.issued.as_ref().filter(|issued| now < issued.renew_at)
    }

    /// The token that is sent where the sidecar has no answer.
    pub(crate) fn lasting(&self, today: SystemTime) -> Option<&Issued> {
        self.issued.as_ref().filter(|issued| issued.expires_at.is_none_or(|at| today < at))
    }

    /// An API has refused a token. Another one may have come since it was sent.
    pub(crate) fn refuse(&mut self, value: &HeaderValue) {
        if let Some(refused) = self.issued.take_if(|issued| issued.value == value) {
            refused.value.to_str().unwrap_or_default().clone_into(&mut self.rejected);
        }
    }

    /// A token came that was asked for at a time.
    pub(crate) fn came(&mut self, issued: Issued) -> Issued {
        self.rejected.clear();
        self.issued.insert(issued).clone()
    }
}

/// `None`: it is being issued.
type Issuing = watch::Receiver<Option<Result<Issued, Error>>>;

/// A token of a profile, and the header that it belongs in behind its scheme.
#[derive(Clone)]
pub struct Issued {
    header: HeaderName,
    value: HeaderValue,
    header_value: HeaderValue,
    /// When another one should be issued.
    renew_at: i64,
    /// `None`: never.
    expires_at: Option<SystemTime>,
}

impl Transport {
    /// Sends with the tokens of a profile of the sidecar. The client needs a caller token.
    pub fn new(client: &Client, profile: impl Into<String>) -> Transport {
        Transport {
            client: client.clone(),
            profile: profile.into(),
            apis: Vec::new(),
            project: String::new(),
            scope: None,
            place: String::new(),
            state: Arc::default(),
        }
    }

    /// The APIs that the requests are sent to: the token has a kind that all of them accept.
    #[must_use]
    pub fn apis<A: Into<String>>(mut self, apis: impl IntoIterator<Item = A>) -> Transport {
        self.apis = apis.into_iter().map(Into::into).collect();
        self.anew()
    }

    /// The project for which the token is, if the APIs only accept tokens of a project.
    #[must_use]
    pub fn project(mut self, project: impl Into<String>) -> Transport {
        self.project = project.into();
        self.anew()
    }

    /// The scope of the token, in place of APIs.
    #[must_use]
    pub fn scope(mut self, scope: Scope) -> Transport {
        self.scope = Some(scope);
        self.anew()
    }

    /// The place of the token's kind to send it in, in place of the first one. As the matrix writes it: `X-Api-Key`,
    /// `Authorization: Bearer` or `Authorization: Basic (password)`.
    #[must_use]
    pub fn place(mut self, place: impl Into<String>) -> Transport {
        self.place = place.into();
        self.anew()
    }

    /// Another purpose or another place needs another token.
    fn anew(self) -> Transport {
        Transport { state: Arc::default(), ..self }
    }

    /// The token. All who need one at the same time wait for the same.
    ///
    /// # Errors
    ///
    /// [`Error`] if there is none.
    pub async fn token(&self) -> Result<Issued, Error> {
        self.token_after(None).await
    }

    /// The token that comes after one that an API has refused.
    ///
    /// # Errors
    ///
    /// [`Error`] if there is none.
    pub async fn renewed(&self, rejected: &Issued) -> Result<Issued, Error> {
        self.token_after(Some(rejected)).await
    }

    async fn token_after(&self, rejected: Option<&Issued>) -> Result<Issued, Error> {
        let (lasting, mut issuing) = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(rejected) = rejected {
                state.token.refuse(&rejected.value);
            }
            if let Some(current) = state.token.current(elapsed::now()) {
                return Ok(current.clone());
            }
            (state.token.lasting(SystemTime::now()).cloned(), self.issuing(&mut state))
        };
        let issued = match issuing.wait_for(Option::is_some).await {
            Ok(issued) => issued.clone(),
            Err(_) => None,
        };
        match (issued, lasting) {
            (Some(Ok(issued)), _) => Ok(issued),
            (_, Some(lasting)) => Ok(lasting),
            (Some(Err(error)), _) => Err(error),
            (None, _) => Err(self.error(&Status::cancelled("no token came"))),
        }
    }

    /// The token that is being issued now.
    fn issuing(&self, state: &mut State) -> Issuing {
        if let Some(running) = &state.issuing
            && running.has_changed().is_ok()
        {
            return running.clone();
        }
        let (tell, issuing) = watch::channel(None);
        state.issuing = Some(issuing.clone());
        let (transport, rejected) = (self.clone(), state.token.rejected.clone());
        // Others wait for it too, so it does not end with this request.
        tokio::spawn(async move {
            let issued = transport.issue(rejected).await;
            let issued = {
                let mut state = transport.state.lock().unwrap_or_else(PoisonError::into_inner);
                state.issuing = None;
                issued.map(|issued| state.token.came(issued))
            };
            let _ = tell.send(Some(issued));
        });
        issuing
    }

    async fn issue(&self, rejected: String) -> Result<Issued, Error> {
        let purpose = match &self.scope {
            Some(scope) => v1::issue_request::Purpose::Scope(scope.message()),
            None => v1::issue_request::Purpose::Apis(v1::ApiSelection {
                apis: self.apis.clone(),
                project: self.project.clone(),
            }),
        };
        let (began, today) = (elapsed::now(), SystemTime::now());
        let response = self.client.issue(v1::IssueRequest {
            requester: Some(v1::issue_request::Requester::Profile(self.profile.clone())),
            purpose: Some(purpose),
            rejected_value: rejected,
            place: self.place.clone(),
            ..Default::default()
        });
        let response = response.await.map_err(|error| match error {
            Error::Call(mut call) => {
                call.message = format!("no token of profile `{}`: {}", self.profile, call.message);
                Error::Call(call)
            }
            other => other,
        })?;
        Issued::of(&response, began, today)
            .ok_or_else(|| self.error(&Status::internal("the sidecar issued a token that no header can have")))
    }

    fn error(&self, status: &Status) -> Error {
        Error::of(status, &format!("the sidecar of profile `{}`", self.profile))
    }
}

impl Issued {
    pub(crate) fn of(response: &v1::IssueResponse, now: i64, today: SystemTime) -> Option<Issued> {
        let expires_at = response.expires_at.as_ref().and_then(times::system_time);
        let kept = expires_at.map_or(KEPT_MAX, |at| {
            let left = at.duration_since(today).unwrap_or_default();
            KEPT_MAX.min(left - RENEW_BEFORE.min(left / 10))
        });
        let secret = |text: &str| {
            let mut value = HeaderValue::from_str(text).ok()?;
            value.set_sensitive(true);
            Some(value)
        };
        let value = secret(&response.value)?;
        let content = match response.basic.as_str() {
            "user" => STANDARD.encode(format!("{}:", response.value)),
            "password" => STANDARD.encode(format!(":{}", response.value)),
            _ => response.value.clone(),
        };
        let header_value = match response.scheme.as_str() {
            "" => secret(&content)?,
            scheme => secret(&format!("{scheme} {content}"))?,
        };
        Some(Issued {
            header: HeaderName::from_bytes(response.header.as_bytes()).ok()?,
            value,
            header_value,
            renew_at: now.saturating_add(i64::try_from(kept.as_nanos()).unwrap_or(i64::MAX)),
            expires_at,
        })
    }

    /// The header that the token belongs in.
    #[must_use]
    pub fn header(&self) -> &HeaderName {
        &self.header
    }

    /// The token. A secret.
    #[must_use]
    pub fn value(&self) -> &HeaderValue {
        &self.value
    }

    /// The value of the header: the token, behind its scheme if it has one (`Bearer`). A secret.
    #[must_use]
    pub fn header_value(&self) -> &HeaderValue {
        &self.header_value
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It shows no secret.
        formatter
            .debug_struct("Transport")
            .field("profile", &self.profile)
            .field("apis", &self.apis)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Issued {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Issued").field("header", &self.header).finish_non_exhaustive()
    }
}

#[cfg(feature = "reqwest")]
mod sending {
    use http::{Extensions, StatusCode};
    use reqwest::redirect::Policy;
    use reqwest::{Request, Response};
    use reqwest_middleware::{ClientBuilder, Error, Middleware, Next, Result};

    use super::{Issued, Transport};

    const REDIRECTS_MAX: usize = 10;

    impl Transport {
        /// An HTTP client that sends with the token. It follows redirects within the origin of a request. One that leads to
        /// another origin is the response: the token does not go there.
        ///
        /// # Errors
        ///
        /// Those of [`reqwest::ClientBuilder::build`].
        pub fn client(&self, builder: reqwest::ClientBuilder) -> reqwest::Result<ClientBuilder> {
            // It would take the token along: only some headers are taken away on the way to another origin.
            let within_origin = Policy::custom(|attempt| {
                let is_same = attempt.previous().first().map(reqwest::Url::origin) == Some(attempt.url().origin());
                if !is_same {
                    attempt.stop()
                } else if attempt.previous().len() > REDIRECTS_MAX {
                    attempt.error("too many redirects")
                } else {
                    attempt.follow()
                }
            });
            Ok(ClientBuilder::new(builder.redirect(within_origin).build()?).with(Sending(self.clone())))
        }
    }

    struct Sending(Transport);

    #[async_trait::async_trait]
    impl Middleware for Sending {
        async fn handle(&self, request: Request, extensions: &mut Extensions, next: Next<'_>) -> Result<Response> {
            let token = self.0.token().await.map_err(Error::middleware)?;
            // `None`: the body is a stream, which cannot be sent again.
            let again = request.try_clone();
            let (method, url) = (request.method().clone(), request.url().clone());
            let response = next.clone().run(with(request, &token), extensions).await?;
            if response.status() != StatusCode::UNAUTHORIZED {
                return Ok(response);
            }
            // The API has taken what led to a redirect.
            let again = again.filter(|_| method.is_safe() || *response.url() == url);
            match (self.0.renewed(&token).await, again) {
                (Ok(renewed), Some(again)) if renewed.value != token.value => {
                    next.run(with(again, &renewed), extensions).await
                }
                // The answer says more than why there is no other token.
                _ => Ok(response),
            }
        }
    }

    fn with(mut request: Request, token: &Issued) -> Request {
        request.headers_mut().insert(token.header.clone(), token.header_value.clone());
        request
    }
}
