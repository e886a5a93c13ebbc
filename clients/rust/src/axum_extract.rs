//! Extractors for handlers of axum.

use axum::extract::FromRequestParts;
use http::StatusCode;
use http::request::Parts;

use crate::answer::Answer;
use crate::guard::{Guard, answer_of, token_of};
use crate::question::{Scope, Token};

/// A handler cannot be reached without a guard.
const UNGUARDED: (StatusCode, &str) = (StatusCode::INTERNAL_SERVER_ERROR, "no guard let this request pass");

impl<S: Sync> FromRequestParts<S> for Answer {
    type Rejection = (StatusCode, &'static str);

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Answer, Self::Rejection> {
        answer_of(&parts.extensions).cloned().ok_or(UNGUARDED)
    }
}

impl<S: Sync> FromRequestParts<S> for Token {
    type Rejection = (StatusCode, &'static str);

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Token, Self::Rejection> {
        token_of(&parts.extensions).ok_or(UNGUARDED)
    }
}

impl<P> Guard<P> {
    /// The target, from what an extractor of axum finds in the request. A request in which it finds nothing is denied. It sees
    /// the parameters of the path where the guard is a `route_layer`.
    ///
    /// ```no_run
    /// use axum::extract::Path;
    /// use axum::{Router, routing::get};
    /// use portcullis_client::{Guard, Scope, Token};
    ///
    /// # fn example(client: &portcullis_client::Client) {
    /// let guard = Guard::new(client, "balance").target_from(|Path(account): Path<String>| Scope::account(account));
    /// let app: Router = Router::new()
    ///     .route("/accounts/{account}/balance", get(|token: Token| async move { token.subject.name }))
    ///     .route_layer(guard);
    /// # }
    /// ```
    #[must_use]
    pub fn target_from<E>(self, target: impl Fn(E) -> Scope + Send + Sync + 'static) -> Guard<P>
    where
        E: FromRequestParts<()> + Send + 'static,
    {
        let target = std::sync::Arc::new(target);
        self.target_async(move |parts| {
            let target = target.clone();
            Box::pin(async move { E::from_request_parts(parts, &()).await.ok().map(|found| target(found)) })
        })
    }
}
