//! The result of a check.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::question::{Question, Token};
use crate::reason::Reason;
use crate::routes::Route;
use crate::rules::{AcceptedKind, Rules, Words};
use crate::times;
use crate::tokens::Entry;
use crate::v1;

/// A decision. It came from the sidecar, or from the memory of a client in local mode. A copy shares what it stands for.
#[derive(Clone)]
pub struct Answer {
    allowed: bool,
    reason: Reason,
    source: Source,
}

#[derive(Clone)]
enum Source {
    Sidecar(Arc<v1::CheckResponse>),
    Memory(Remembered),
}

/// The parts of an answer from memory.
#[derive(Clone)]
pub(crate) struct Remembered {
    pub(crate) rules: Arc<Rules>,
    /// The number of the row of the API.
    pub(crate) row: usize,
    /// Of the kind; 0: it is not in the matrix.
    pub(crate) column: usize,
    /// `None`: the answer is not about a known token.
    pub(crate) entry: Option<Arc<Entry>>,
    /// Whether the token is in force.
    pub(crate) is_verified: bool,
    /// The words of a denial.
    pub(crate) words: Option<Arc<Words>>,
    /// Of the request, if the question had one.
    pub(crate) route: Option<Arc<Route>>,
}

impl Answer {
    pub(crate) fn of(response: v1::CheckResponse, question: &Question<'_>) -> Answer {
        Answer::of_shared(Arc::new(response), question)
    }

    pub(crate) fn of_shared(response: Arc<v1::CheckResponse>, question: &Question<'_>) -> Answer {
        let reason = Reason::of(response.reason);
        // An answer to a request without its API does not answer this question.
        let is_routed = |route: &v1::FoundRoute| !route.api.is_empty() && route.refused.is_empty();
        let is_answer = question.request.is_none() || response.route.as_ref().is_some_and(is_routed);
        // A reason that this client does not know may stand for anything, so it is a denial.
        let allowed = response.allowed && reason == Reason::Allowed && is_answer;
        Answer { allowed, reason, source: Source::Sidecar(response) }
    }

    pub(crate) fn remembered(reason: Reason, remembered: Remembered) -> Answer {
        // A denial has words. An unknown kind is allowed nothing, but some APIs need no token.
        let allowed = reason == Reason::Allowed && remembered.words.is_none();
        Answer { allowed, reason, source: Source::Memory(remembered) }
    }

    /// Whether the credential opens the API.
    #[must_use]
    pub fn allowed(&self) -> bool {
        self.allowed
    }

    /// Why the decision is as it is.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// Explains the decision for people, with what to do.
    #[must_use]
    pub fn message(&self) -> String {
        match &self.source {
            Source::Sidecar(response) => response.message.clone(),
            Source::Memory(Remembered { words: Some(words), .. }) => words.message.clone(),
            Source::Memory(known) => known.rules.allowed_message(known.row, known.column),
        }
    }

    /// The request header for tokens of this kind. Empty: the kind is not known.
    #[must_use]
    pub fn header(&self) -> &str {
        match &self.source {
            Source::Sidecar(response) => &response.header,
            Source::Memory(Remembered { words: Some(words), .. }) => &words.header,
            Source::Memory(known) => known.rules.kind(known.column).map_or("", |kind| &kind.header),
        }
    }

    /// The scheme before the token in that header, for example `Bearer`. Empty: the header has the token alone.
    #[must_use]
    pub fn scheme(&self) -> &str {
        match &self.source {
            Source::Sidecar(response) => &response.scheme,
            Source::Memory(Remembered { words: Some(words), .. }) => &words.scheme,
            Source::Memory(known) => known.rules.kind(known.column).map_or("", |kind| &kind.scheme),
        }
    }

    /// On a denial, every kind of token that the API accepts.
    #[must_use]
    pub fn accepted(&self) -> Vec<AcceptedKind> {
        match &self.source {
            Source::Sidecar(response) => response.accepted.iter().map(AcceptedKind::of).collect(),
            Source::Memory(_) if self.allowed => Vec::new(),
            Source::Memory(known) => known.rules.accepted(known.row).to_vec(),
        }
    }

    /// Recommendations about such a token, and the note of the cell. An answer from memory has the note if it allows.
    #[must_use]
    pub fn advice(&self) -> Vec<String> {
        match &self.source {
            Source::Sidecar(response) => response.advice.clone(),
            Source::Memory(known) if self.allowed => known.rules.notes(known.row, known.column),
            Source::Memory(_) => Vec::new(),
        }
    }

    /// The verified token, if there is one. It is there on denials too.
    #[must_use]
    pub fn token(&self) -> Option<Token> {
        match &self.source {
            Source::Sidecar(response) => response.token.as_ref().map(Token::of),
            Source::Memory(_) if self.reason == Reason::UnknownApi => None,
            Source::Memory(known) => known.entry.as_ref().map(|entry| entry.token()),
        }
    }

    /// Whether the credential was verified. Claims are not.
    #[must_use]
    pub fn verified(&self) -> bool {
        match &self.source {
            Source::Sidecar(response) => response.verified,
            Source::Memory(known) => known.is_verified && self.reason != Reason::UnknownApi,
        }
    }

    /// Names the exact rules: the matrix and the mode.
    #[must_use]
    pub fn rules_digest(&self) -> &str {
        match &self.source {
            Source::Sidecar(response) => &response.rules_digest,
            Source::Memory(known) => &known.rules.digest,
        }
    }

    /// The findings of the sidecar's routes about the request. `None`: the question had none.
    #[must_use]
    pub fn route(&self) -> Option<Route> {
        match &self.source {
            Source::Sidecar(response) => response.route.as_ref().map(Route::of),
            Source::Memory(known) => known.route.as_deref().cloned(),
        }
    }

    /// How long the answer may be reused. Zero: it must not be reused, as those from memory.
    #[must_use]
    pub fn cache_for(&self) -> Duration {
        let cache_for = self.response().and_then(|response| response.cache_for.as_ref());
        Duration::from_nanos(cache_for.and_then(|each| u64::try_from(times::nanos(each)).ok()).unwrap_or(0))
    }

    /// The answer of the sidecar itself, with its conflicts and advice. `None`: the answer came from memory.
    #[must_use]
    pub fn response(&self) -> Option<&v1::CheckResponse> {
        match &self.source {
            Source::Sidecar(response) => Some(response),
            Source::Memory(_) => None,
        }
    }

    pub(crate) fn shared_response(&self) -> Option<&Arc<v1::CheckResponse>> {
        match &self.source {
            Source::Sidecar(response) => Some(response),
            Source::Memory(_) => None,
        }
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Answer")
            .field("allowed", &self.allowed)
            .field("reason", &self.reason)
            .field("message", &self.message())
            .field("token", &self.token())
            .field("from_memory", &self.response().is_none())
            .finish()
    }
}
