//! Why there is no answer.

use std::collections::HashMap;
use std::error::Error as _;
use std::fmt;
use std::net::IpAddr;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use tonic::{Code, Status};
use tonic_types::StatusExt;

/// Says why there is no answer. Treat it as a denial.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A call got no answer.
    #[error("portcullis: {0}")]
    Call(Box<CallError>),
    /// A secret would be sent to another machine in plaintext.
    #[error(
        "portcullis: {address}: the sidecar is on another machine, and a secret would be sent to it in plaintext: set tls, or allow_plaintext if something else encrypts the connection"
    )]
    Plaintext {
        /// Of the sidecar.
        address: String,
    },
    /// An option is not as expected.
    #[error("portcullis: {option}: expected {expected}")]
    Option {
        /// Its name.
        option: &'static str,
        /// The expected value.
        expected: String,
    },
    /// The sidecar gave another number of answers than it was asked, so a question could get the answer to another one.
    #[error("portcullis: expected {expected} answers from the sidecar, found {found}")]
    Answers {
        /// How many questions there were.
        expected: usize,
        /// How many answers came.
        found: usize,
    },
    /// A guard names an API that the matrix does not have, so its requests are denied. The matrix may get the API later:
    /// requests then pass.
    #[error("portcullis: the matrix has no API `{api}`, so the requests of its guard are denied{}", hint(.meant.as_deref()))]
    UnknownApi {
        /// Of the guard.
        api: String,
        /// The API of the matrix with the nearest name. `None`: no name is near.
        meant: Option<String>,
    },
    /// A client cannot follow a sidecar that says of its changes what cannot be.
    #[error("portcullis: the sidecar says of its changes what cannot be")]
    Changes,
    /// A client cannot follow a sidecar whose rules are not whole.
    #[error("portcullis: expected rules with a cell for each API and each kind of token")]
    Rules,
}

/// A function that is called with the cause where a client fails at its work.
pub type OnFailure = Arc<dyn Fn(&Error) + Send + Sync>;

/// Calls a function of the program that learns of an error. If it panics, the client goes on.
pub(crate) fn report(on_failure: &OnFailure, error: &Error) {
    let called = AssertUnwindSafe(|| on_failure(error));
    // Its message is on standard error already.
    let _ = panic::catch_unwind(called);
}

/// Why a call got no answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallError {
    /// The code of gRPC.
    pub code: Code,
    /// The reason of the sidecar, for example `LOGIN_FAILED`. Empty: no sidecar answered.
    pub reason: String,
    /// Explains it for people.
    pub message: String,
    /// The fields of the request that are not as expected.
    pub violations: Vec<Violation>,
    /// Further facts, for example a plan for APIs that no single token opens.
    pub metadata: HashMap<String, String>,
}

/// A field of a request that is not as expected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// Its name.
    pub field: String,
    /// The expected value.
    pub description: String,
}

fn hint(meant: Option<&str>) -> String {
    meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default()
}

impl Error {
    /// The code of gRPC, if a call got no answer.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        match self {
            Error::Call(call) => Some(call.code),
            _ => None,
        }
    }

    /// The reason of the sidecar, for example `LOGIN_FAILED`. Empty: no sidecar answered.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Error::Call(call) => &call.reason,
            _ => "",
        }
    }

    /// The error of a client for an error of gRPC.
    pub(crate) fn of(status: &Status, address: &str) -> Error {
        let mut made = CallError {
            code: code_of(status),
            reason: String::new(),
            message: message_of(status),
            violations: Vec::new(),
            metadata: HashMap::new(),
        };
        if let Some(info) = status.get_details_error_info() {
            (made.reason, made.metadata) = (info.reason, info.metadata);
        }
        if let Some(request) = status.get_details_bad_request() {
            made.violations = request
                .field_violations
                .into_iter()
                .map(|each| Violation { field: each.field, description: each.description })
                .collect();
        }
        if made.reason.is_empty() {
            match made.code {
                Code::DeadlineExceeded => made.message = format!("no answer from {address} in time"),
                Code::Unavailable => made.message = format!("no sidecar answers at {address} ({})", made.message),
                _ => {}
            }
        }
        Error::Call(Box::new(made))
    }
}

/// A connection that could not be made has the code of any error in tonic.
fn code_of(status: &Status) -> Code {
    let is_of_transport = status.source().is_some_and(|source| source.is::<tonic::transport::Error>());
    if status.code() == Code::Unknown && is_of_transport { Code::Unavailable } else { status.code() }
}

/// The message with its causes, as far as they are known.
fn message_of(status: &Status) -> String {
    let mut message = status.message().to_owned();
    let mut cause = status.source();
    while let Some(each) = cause {
        let text = each.to_string();
        if !message.ends_with(&text) {
            message = format!("{message}: {text}");
        }
        cause = each.source();
    }
    message
}

impl fmt::Display for CallError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", name_of(self.code), self.message)
    }
}

/// The name of a code as the contract writes it: `UNAVAILABLE`.
pub(crate) fn name_of(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

/// Whether an address is on this machine: a Unix socket or loopback. A name that only resolves to loopback is not.
pub(crate) fn is_this_machine(address: &str) -> bool {
    if address.starts_with("unix:") {
        return true;
    }
    let host = match address.rsplit_once(':') {
        // An address of IPv6 without a port has colons, too. Text that is not a port could be the name of another machine,
        // behind a user: `localhost:1@sidecar.example`.
        Some((host, port))
            if (!host.contains(':') || host.ends_with(']')) && port.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            host
        }
        _ => address,
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
