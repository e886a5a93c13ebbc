//! The answer in place of a handler.

use std::fmt::Write as _;

use http::StatusCode;
use http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use tonic::Code;

use crate::answer::Answer;
use crate::error::{Error, name_of};
use crate::reason::Reason;
use crate::rules::AcceptedKind;

pub(crate) struct Denial {
    pub(crate) status: StatusCode,
    pub(crate) reason: String,
    pub(crate) message: String,
    /// `None`: there is no decision.
    decided: Option<Decided>,
}

struct Decided {
    accepted: Vec<AcceptedKind>,
    /// The digest of the rules that decided. `None`: none did.
    rules: Option<String>,
}

impl Denial {
    fn without_decision(status: StatusCode, reason: &str, message: &str) -> Denial {
        Denial { status, reason: reason.to_owned(), message: message.to_owned(), decided: None }
    }

    pub(crate) fn target_not_found() -> Denial {
        let message = "the request does not say whose resource it asks for";
        Denial::without_decision(StatusCode::FORBIDDEN, "TARGET_NOT_FOUND", message)
    }

    pub(crate) fn api_not_found() -> Denial {
        Denial::without_decision(StatusCode::FORBIDDEN, "UNKNOWN_API", "no API is known for this request")
    }

    pub(crate) fn of(answer: &Answer, hide_others: bool) -> Denial {
        let reason = answer.reason();
        if hide_others && matches!(reason, Reason::AccountMismatch | Reason::ProjectMismatch) {
            return Denial::without_decision(StatusCode::NOT_FOUND, "NOT_FOUND", "there is no such resource");
        }
        if let Some(route) = answer.route().filter(|route| !route.refused.is_empty()) {
            // No rules have decided, so there is no digest of them.
            let decided = Some(Decided { accepted: Vec::new(), rules: None });
            return Denial { status: StatusCode::FORBIDDEN, reason: route.refused, message: answer.message(), decided };
        }
        // Another credential may help. With every other reason the status is 403, also with one that is not known here.
        let is_unauthenticated = matches!(
            reason,
            Reason::CredentialMissing
                | Reason::CredentialAmbiguous
                | Reason::CredentialMalformed
                | Reason::WrongHeader
                | Reason::CredentialInvalid
                | Reason::CredentialExpired
                | Reason::CredentialRevoked
        );
        Denial {
            status: if is_unauthenticated { StatusCode::UNAUTHORIZED } else { StatusCode::FORBIDDEN },
            reason: reason.as_str().to_owned(),
            message: answer.message(),
            decided: Some(Decided { accepted: answer.accepted(), rules: Some(answer.rules_digest().to_owned()) }),
        }
    }

    /// The client cannot fix what is wrong with a configuration, so it learns the reason alone; the log has the rest.
    pub(crate) fn of_failure(error: &Error) -> Denial {
        match error.code() {
            Some(code) if code != Code::InvalidArgument => Denial::without_decision(
                StatusCode::SERVICE_UNAVAILABLE,
                if error.reason().is_empty() { name_of(code) } else { error.reason() },
                "the request could not be authorized; try again later",
            ),
            _ => Denial::without_decision(
                StatusCode::INTERNAL_SERVER_ERROR,
                "INTERNAL",
                "the request could not be authorized; the operator finds the cause in the log",
            ),
        }
    }

    /// The response, with the same bytes as those of a sidecar behind a proxy.
    pub(crate) fn response<B: From<String>>(&self) -> http::Response<B> {
        let body = self.body();
        let mut headers = vec![
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (CACHE_CONTROL, HeaderValue::from_static("no-store")),
            (CONTENT_LENGTH, HeaderValue::from(body.len())),
        ];
        let texts = [
            (HeaderName::from_static("x-portcullis-reason"), Some(self.reason.clone())),
            (
                HeaderName::from_static("x-portcullis-rules-digest"),
                self.decided.as_ref().and_then(|each| each.rules.clone()),
            ),
            (WWW_AUTHENTICATE, (self.status == StatusCode::UNAUTHORIZED).then(|| self.challenges())),
            (RETRY_AFTER, (self.status == StatusCode::SERVICE_UNAVAILABLE).then(|| "1".to_owned())),
        ];
        for (name, text) in texts {
            if let Some(value) = text.and_then(|text| HeaderValue::try_from(text).ok()) {
                headers.push((name, value));
            }
        }
        let mut response = http::Response::new(B::from(body));
        *response.status_mut() = self.status;
        response.headers_mut().extend(headers);
        response
    }

    fn accepted(&self) -> &[AcceptedKind] {
        self.decided.as_ref().map_or(&[], |decided| &decided.accepted)
    }

    /// A challenge for each place that a token could be sent in (RFC 9110 §11.6.1 demands one with 401).
    fn challenges(&self) -> String {
        let mut challenges = Vec::new();
        for each in self.accepted() {
            let scheme = if each.scheme.is_empty() { String::new() } else { format!(r#" scheme="{}","#, each.scheme) };
            let challenge = format!(r#"Portcullis header="{}",{scheme} reason="{}""#, each.header, self.reason);
            if !challenges.contains(&challenge) {
                challenges.push(challenge);
            }
        }
        if challenges.is_empty() {
            return format!(r#"Portcullis reason="{}""#, self.reason);
        }
        challenges.join(", ")
    }

    fn body(&self) -> String {
        let mut body = format!(r#"{{"error":{{"reason":{},"message":{}"#, quoted(&self.reason), quoted(&self.message));
        if let Some(Decided { accepted, .. }) = &self.decided {
            let accepted = accepted.iter().map(|each| {
                let (kind, header) = (quoted(&each.kind), quoted(&each.header));
                let scheme = if each.scheme.is_empty() {
                    String::new()
                } else {
                    format!(r#""scheme":{},"#, quoted(&each.scheme))
                };
                let link =
                    if each.link.is_empty() { String::new() } else { format!(r#","link":{}"#, quoted(&each.link)) };
                let (issuable, obtained) = (each.issuable, quoted(&each.obtained));
                format!(
                    r#"{{"kind":{kind},"header":{header},{scheme}"issuable":{issuable},"obtained":{obtained}{link}}}"#
                )
            });
            body.push_str(r#","accepted":["#);
            body.push_str(&accepted.collect::<Vec<_>>().join(","));
            body.push(']');
        }
        body.push_str("}}");
        body
    }
}

/// A text in JSON, as JavaScript writes it.
fn quoted(text: &str) -> String {
    let mut result = String::with_capacity(text.len() + 2);
    result.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => result.extend(['\\', letter]),
            '\u{8}' => result.push_str("\\b"),
            '\u{c}' => result.push_str("\\f"),
            '\n' => result.push_str("\\n"),
            '\r' => result.push_str("\\r"),
            '\t' => result.push_str("\\t"),
            '\0'..='\u{1f}' => {
                // Writing to a text cannot fail.
                let _ = write!(result, "\\u{:04x}", u32::from(letter));
            }
            _ => result.push(letter),
        }
    }
    result.push('"');
    result
}
