//! The secrets that a program presents with each call.

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Request, Status};

use crate::error::Error;
use crate::v1::authorization_service_client::AuthorizationServiceClient;

/// Time between two looks at the file of the caller token.
const TOKEN_FILE_FRESH: Duration = Duration::from_secs(10);

/// The connection of a client, with the credentials of the program.
pub type Connection = InterceptedService<Channel, CallerCredentials>;

pub(crate) type Stub = AuthorizationServiceClient<Connection>;

/// Adds the credentials of the program to each call.
#[derive(Clone, Default)]
pub struct CallerCredentials {
    file: Option<Arc<Path>>,
    iam_token: Option<MetadataValue<Ascii>>,
    known: Arc<Mutex<Known>>,
}

#[derive(Default)]
struct Known {
    /// With `Bearer `.
    token: Option<MetadataValue<Ascii>>,
    read_at: Option<Instant>,
}

impl CallerCredentials {
    /// The options of a client.
    pub(crate) fn new(
        caller_token: Option<&str>,
        caller_token_file: Option<&Path>,
        iam_token: Option<&str>,
    ) -> Result<CallerCredentials, Error> {
        let of = |option, token: Option<&str>, prefix: &str| match token.map(secret_in) {
            None | Some("") => Ok(None),
            Some(token) => value_of(prefix, token).map(Some).ok_or_else(|| unexpected(option)),
        };
        let mut known = Known { token: of("caller_token", caller_token, "Bearer ")?, read_at: None };
        let file = caller_token_file.map(Arc::from);
        if let Some(file) = &file {
            known.read(file)?;
        }
        let iam_token = of("iam_token", iam_token, "")?;
        Ok(CallerCredentials { file, iam_token, known: Arc::new(Mutex::new(known)) })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.iam_token.is_none() && self.token().is_none()
    }

    fn token(&self) -> Option<MetadataValue<Ascii>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &self.file
            && known.read_at.is_none_or(|at| at.elapsed() > TOKEN_FILE_FRESH)
        {
            // The old token may still count.
            let _ = known.read(file);
        }
        known.token.clone()
    }

    /// Looks at the file again at the next call.
    #[cfg(test)]
    pub(crate) fn expire(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).read_at = None;
    }
}

impl Known {
    /// Reads the file. The token in it stays as it was if that is not possible.
    fn read(&mut self, file: &Path) -> Result<(), Error> {
        self.read_at = Some(Instant::now());
        let content = fs::read_to_string(file).map_err(|error| Error::Option {
            option: "caller_token_file",
            expected: format!("a file that can be read ({error})"),
        })?;
        self.token = Some(value_of("Bearer ", secret_in(&content)).ok_or_else(|| unexpected("caller_token_file"))?);
        Ok(())
    }
}

/// The secret in the text of a file or a variable. A byte order mark and white space around it are not part of it.
fn secret_in(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text).trim()
}

fn unexpected(option: &'static str) -> Error {
    Error::Option { option, expected: "visible ASCII characters without spaces".to_owned() }
}

/// `None`: the token is empty, or has other characters than visible ASCII.
fn value_of(prefix: &str, token: &str) -> Option<MetadataValue<Ascii>> {
    let is_visible = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    let mut value: MetadataValue<Ascii> = is_visible.then(|| format!("{prefix}{token}").parse().ok()).flatten()?;
    value.set_sensitive(true);
    Some(value)
}

impl Interceptor for CallerCredentials {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = self.token() {
            request.metadata_mut().insert("authorization", token);
        }
        if let Some(token) = self.iam_token.clone() {
            request.metadata_mut().insert("x-auth-token", token);
        }
        Ok(request)
    }
}

impl fmt::Debug for CallerCredentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It shows no secret.
        formatter.debug_struct("CallerCredentials").field("file", &self.file).finish_non_exhaustive()
    }
}
