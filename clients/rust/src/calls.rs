//! Guards servers of gRPC.

use std::collections::HashMap;

use http::{Response, StatusCode};
use tonic::server::NamedService;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use crate::client::Client;
use crate::denial::Denial;
use crate::guard::{Api, Denies, Guard, Guarded};

/// Marks a guard of calls of gRPC.
#[derive(Clone, Copy, Debug)]
pub struct Calls;

/// A layer for a server of tonic that lets calls pass whose token opens an API. It answers the others itself:
/// `UNAUTHENTICATED` or `PERMISSION_DENIED`, and `UNAVAILABLE` where there is no answer. It asks once, at the beginning of a
/// call. A target that only the message of the call names cannot be seen here: the service asks with
/// [`Client::check`](crate::Client::check) then.
///
/// ```no_run
/// use portcullis_client::{CallGuard, Client, Options};
/// use tonic::transport::Server;
///
/// # fn example() -> Result<(), portcullis_client::Error> {
/// let client = Client::connect("", Options::default())?;
/// let calls = CallGuard::of_methods(&client, [("/grpc.health.v1.Health/Check", "balance")]);
/// let server = Server::builder().layer(calls);
/// # Ok(())
/// # }
/// ```
pub type CallGuard = Guard<Calls>;

impl Guard<Calls> {
    /// A guard of calls, with the API of each full method: `/grpc.health.v1.Health/Check`. A method that is not among them is
    /// denied.
    pub fn of_methods<M: Into<String>, A: Into<String>>(
        client: &Client,
        apis: impl IntoIterator<Item = (M, A)>,
    ) -> CallGuard {
        let apis: HashMap<String, String> = apis.into_iter().map(|(method, api)| (method.into(), api.into())).collect();
        let known = apis.values().cloned().collect();
        Guard::made(client, Api::among(known, move |parts| apis.get(parts.uri.path()).cloned()))
    }

    /// A guard that leaves it to the routes of the sidecar which API a call asks for, and who owns the requested resource. A call
    /// is a request with the method `POST` and the full method as its path. A call that the routes refuse is denied. The guard
    /// has no target.
    #[must_use]
    pub fn of_routes(client: &Client) -> CallGuard {
        // That is how a server of gRPC takes it, whatever it was.
        Guard::made(client, Api::by_routes(Some("POST")))
    }
}

impl<B: Default> Denies<B> for Calls {
    fn denied(denial: &Denial) -> Response<B> {
        let code = match denial.status {
            StatusCode::UNAUTHORIZED => Code::Unauthenticated,
            StatusCode::NOT_FOUND => Code::NotFound,
            StatusCode::SERVICE_UNAVAILABLE => Code::Unavailable,
            StatusCode::INTERNAL_SERVER_ERROR => Code::Internal,
            _ => Code::PermissionDenied,
        };
        let message = format!("{}: {}", denial.reason, denial.message);
        let details = ErrorDetails::with_error_info(&denial.reason, "portcullis", HashMap::new());
        Status::with_error_details(code, message, details).into_http()
    }
}

impl<S: NamedService> NamedService for Guarded<S, Calls> {
    const NAME: &'static str = S::NAME;
}
