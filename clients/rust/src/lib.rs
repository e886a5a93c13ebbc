//! Asks a Portcullis sidecar whether credentials open APIs, and obtains tokens from it.
//!
//! [`Guard`] is a layer of tower that lets requests pass whose token opens an API, and `CallGuard` (feature `server`) does it for
//! calls of gRPC. [`Transport`] sends requests with the token of a profile. With [`Options::local`] a client decides in the
//! memory of the program: it follows changes, and asks the sidecar once about each token.
//!
//! A denial is an answer. Where there is no answer, a call returns an [`Error`]: treat it as a denial.
//!
//! | feature | what it brings |
//! |---|---|
//! | `tls` (default) | connections to a sidecar on another machine |
//! | `axum` | extractors of the verified token; the guard sees parameters of the path and the address of the sender |
//! | `server` | `CallGuard` for servers of tonic, and the stubs of a server of the contract, for fakes in tests |
//! | `reqwest` | `Transport::client`, which sends with the token of a profile |

#![forbid(unsafe_code)]

mod answer;
#[cfg(feature = "axum")]
mod axum_extract;
mod cache;
mod caller;
#[cfg(feature = "server")]
mod calls;
mod client;
mod credentials;
mod denial;
mod elapsed;
mod error;
mod follower;
mod guard;
mod meant;
mod memory;
mod outage;
mod question;
mod reason;
mod reports;
mod routes;
mod rules;
mod times;
mod tokens;
mod transport;

#[cfg(test)]
mod tests;

/// The messages and stubs of the contract, for every other call. `build.rs` makes them from the protos.
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]
pub mod v1 {
    tonic::include_proto!("portcullis.v1");
}

pub use answer::Answer;
pub use caller::{CallerCredentials, Connection};
#[cfg(feature = "server")]
pub use calls::{CallGuard, Calls};
pub use client::{Client, DEFAULT_ADDRESS, Local, Options};
pub use error::{CallError, Error, OnFailure, Violation};
pub use guard::{Api, Guard, Guarded, Requests, TargetFuture, answer_of, token_of};
pub use question::{Claims, Credentials, HttpRequest, Question, Scope, Subject, Token};
pub use reason::Reason;
pub use routes::Route;
pub use rules::AcceptedKind;
pub use transport::{Issued, Transport};
