//! The questions of a program, and their subjects.

use std::time::SystemTime;

use http::HeaderMap;

use crate::times;
use crate::v1;

/// The scope that a token is bound to, or that a resource belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scope {
    /// The number of the account.
    pub account: String,
    /// The name of a project of the account. Empty: the whole account.
    pub project: String,
}

impl Scope {
    /// A whole account.
    #[must_use]
    pub fn account(account: impl Into<String>) -> Scope {
        Scope { account: account.into(), project: String::new() }
    }

    /// A project of an account.
    #[must_use]
    pub fn project(account: impl Into<String>, project: impl Into<String>) -> Scope {
        Scope { account: account.into(), project: project.into() }
    }

    pub(crate) fn message(&self) -> v1::Scope {
        v1::Scope { account: self.account.clone(), project: self.project.clone() }
    }
}

/// The claims of a token that the program has verified itself. Only the matrix decides about claims.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Claims {
    /// The id of a kind of token.
    pub kind: String,
    /// The scope of the token.
    pub scope: Scope,
}

/// Where the credential of a question is.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Credentials<'a> {
    /// Among the headers of a request, or the metadata of a call of gRPC (`metadata.as_ref()`).
    Headers(&'a HeaderMap),
    /// Among names and values as they arrived: names in any case, values of any bytes.
    Pairs(&'a [(&'a str, &'a [u8])]),
    /// Claims take the place of a credential. They are trusted without verification.
    Claims(&'a Claims),
}

/// A request of HTTP as it arrived: neither decoded nor corrected. A call of gRPC is one, too.
#[derive(Clone, Copy, Debug)]
pub struct HttpRequest<'a> {
    /// The method, for example `GET`. Of gRPC it is `POST`.
    pub method: &'a str,
    /// The header Host, or `:authority`. Empty: there is none. Several ones are joined with a comma.
    pub host: &'a str,
    /// The request target with its query, or the full method of gRPC: `/grpc.health.v1.Health/Check`.
    pub path: &'a str,
}

/// Asks whether a credential opens an API. A question borrows all that it names, so that it costs no allocation.
///
/// ```
/// use portcullis_client::{Question, Scope};
///
/// let mut headers = http::HeaderMap::new();
/// headers.insert("x-token", "a-token".parse()?);
/// let target = Scope::account("123456");
/// let question = Question::new("balance", &headers).target(&target).client_address("192.0.2.1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The id of an API, for example `balance`.
    pub api: &'a str,
    /// Where the credential is.
    pub credentials: Credentials<'a>,
    /// The account, and the project if any, that owns the requested resource. `None`: only the matrix decides.
    pub target: Option<&'a Scope>,
    /// The IP address of the client, for accounts that restrict addresses. Empty: none.
    pub client_address: &'a str,
    /// Takes the place of `api` and `target`, which must be empty then: the routes of the sidecar say them. It needs all
    /// headers of the request.
    pub request: Option<&'a HttpRequest<'a>>,
}

impl<'a> Question<'a> {
    /// A question about the credential among the headers of a request.
    #[must_use]
    pub fn new(api: &'a str, headers: &'a HeaderMap) -> Question<'a> {
        Question { api, credentials: Credentials::Headers(headers), target: None, client_address: "", request: None }
    }

    /// A question about claims.
    #[must_use]
    pub fn of_claims(api: &'a str, claims: &'a Claims) -> Question<'a> {
        Question { api, credentials: Credentials::Claims(claims), target: None, client_address: "", request: None }
    }

    /// A question about the credential among all the headers of a request. The routes of the sidecar say which API it is for,
    /// and who owns the requested resource.
    #[must_use]
    pub fn of_request(request: &'a HttpRequest<'a>, headers: &'a HeaderMap) -> Question<'a> {
        Question { request: Some(request), ..Question::new("", headers) }
    }

    /// Says who owns the requested resource.
    #[must_use]
    pub fn target(self, target: &'a Scope) -> Question<'a> {
        Question { target: Some(target), ..self }
    }

    /// Says what IP address the request comes from.
    #[must_use]
    pub fn client_address(self, client_address: &'a str) -> Question<'a> {
        Question { client_address, ..self }
    }

    pub(crate) fn is_about_claims(&self) -> bool {
        matches!(self.credentials, Credentials::Claims(_))
    }

    /// The message of the question, for the sidecar.
    pub(crate) fn message(&self) -> v1::CheckRequest {
        v1::CheckRequest {
            api: self.api.to_owned(),
            target: self.target.map(Scope::message),
            client_address: self.client_address.to_owned(),
            subject: Some(match self.credentials {
                Credentials::Headers(headers) => {
                    self.sent(headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())))
                }
                Credentials::Pairs(pairs) => self.sent(pairs.iter().copied()),
                Credentials::Claims(claims) => v1::check_request::Subject::Token(v1::TokenClaims {
                    kind: claims.kind.clone(),
                    scope: Some(claims.scope.message()),
                }),
            }),
            request: self.request.map(|request| v1::HttpRequest {
                method: request.method.to_owned(),
                host: request.host.to_owned(),
                path: request.path.to_owned(),
            }),
        }
    }

    fn sent<'h>(&self, headers: impl Iterator<Item = (&'h str, &'h [u8])>) -> v1::check_request::Subject {
        // The routes may look for a target in any header.
        let is_sent = |name: &str| if self.request.is_some() { !name.starts_with(':') } else { !is_irrelevant(name) };
        let mut headers: Vec<v1::Header> = headers
            .filter(|(name, _)| is_sent(name))
            .map(|(name, value)| v1::Header { name: name.to_owned(), value: text(value) })
            .collect();
        // Equal questions must be equal, because answers are reused.
        headers.sort_by(|a, b| a.name.cmp(&b.name));
        v1::check_request::Subject::Credentials(v1::Credentials { headers })
    }
}

/// A message has text in UTF-8, and a header any bytes. No credential has other bytes than ASCII, so each other byte may
/// become the character with its number.
fn text(value: &[u8]) -> String {
    value.iter().map(|&byte| char::from(byte)).collect()
}

/// Headers that carry no credential of this kind. They differ from request to request, so without them an answer can be
/// reused.
const IRRELEVANT: [&str; 42] = [
    "accept",
    "baggage",
    "cache-control",
    "connection",
    "cookie",
    "date",
    "dnt",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "origin",
    "pragma",
    "priority",
    "range",
    "referer",
    "te",
    "traceparent",
    "tracestate",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "upgrade-insecure-requests",
    "user-agent",
    "via",
    "x-real-ip",
    "x-request-id",
    "x-correlation-id",
    "x-forwarded-by",
    "x-forwarded-client-cert",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-method",
    "x-forwarded-path",
    "x-forwarded-port",
    "x-forwarded-prefix",
    "x-forwarded-proto",
    "x-forwarded-protocol",
    "x-forwarded-scheme",
    "x-forwarded-server",
    "x-forwarded-ssl",
    "x-forwarded-uri",
];

const IRRELEVANT_FAMILIES: [&str; 8] = [":", "accept-", "content-", "grpc-", "if-", "sec-", "access-control-", "x-b3-"];

fn is_irrelevant(name: &str) -> bool {
    let starts = |family: &&str| {
        name.as_bytes().get(..family.len()).is_some_and(|start| start.eq_ignore_ascii_case(family.as_bytes()))
    };
    IRRELEVANT.iter().any(|known| known.eq_ignore_ascii_case(name)) || IRRELEVANT_FAMILIES.iter().any(starts)
}

/// A token that the sidecar has verified.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Token {
    /// The id of its kind.
    pub kind: String,
    /// The scope that it is bound to.
    pub scope: Scope,
    /// Its holder.
    pub subject: Subject,
    /// Names the token without revealing it.
    pub id: String,
    /// When it was issued.
    pub issued_at: Option<SystemTime>,
    /// When it expires. `None`: never.
    pub expires_at: Option<SystemTime>,
    /// The roles of the holder in the scope, as an upstream names them.
    pub roles: Vec<String>,
    /// The name of the upstream that verifies it. Empty: the sidecar's own directory does.
    pub authority: String,
    /// The id of the project of its scope.
    pub project_id: String,
    /// The ids of the tokens that it was derived from. It ends with any of them.
    pub derived_from: Vec<String>,
}

/// The holder of a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Subject {
    /// Their id in the directory.
    pub id: String,
    /// Their name.
    pub name: String,
    /// `service_user`, `control_panel_user`, or `user` where an upstream verifies the token.
    pub kind: String,
}

impl Token {
    pub(crate) fn of(message: &v1::VerifiedToken) -> Token {
        let scope = message.scope.clone().unwrap_or_default();
        let subject = message.subject.clone().unwrap_or_default();
        Token {
            kind: message.kind.clone(),
            scope: Scope { account: scope.account, project: scope.project },
            subject: Subject { id: subject.id, name: subject.name, kind: subject.r#type },
            id: message.token_id.clone(),
            issued_at: message.issued_at.as_ref().and_then(times::system_time),
            expires_at: message.expires_at.as_ref().and_then(times::system_time),
            roles: message.roles.clone(),
            authority: message.authority.clone(),
            project_id: message.project_id.clone(),
            derived_from: message.derived_from.clone(),
        }
    }
}
