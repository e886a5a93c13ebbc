//! The reports of a client's guards on their sidecar: that it does not answer, and that its matrix does not
//! have their API. They say it to the function of the program; without one they print it.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use http::StatusCode;
use tokio::sync::OnceCell;
use tonic::Code;

use crate::denial::Denial;
use crate::elapsed;
use crate::error::{Error, OnFailure, report};
use crate::meant::names_meant;
use crate::outage::Outage;

/// Most APIs that are looked for, and that are reported. They are those of guards, and not those of requests.
const APIS_MAX: usize = 1_000;

/// Of all guards of a client.
#[derive(Default)]
pub(crate) struct Reports {
    outage: Outage,
    /// The APIs of the matrix when the first guard started.
    pub(crate) at_start: OnceCell<Result<Vec<String>, Error>>,
    /// Only one guard says that no sidecar answers.
    is_absence_told: AtomicBool,
    pub(crate) sought: Apis,
    pub(crate) told: Apis,
}

#[derive(Default)]
pub(crate) struct Apis(Mutex<HashSet<String>>);

impl Apis {
    /// Adds an API. `false`: it is there already, or there are too many.
    pub(crate) fn add(&self, api: &str) -> bool {
        let mut apis = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        apis.len() < APIS_MAX && !apis.contains(api) && apis.insert(api.to_owned())
    }
}

impl Reports {
    pub(crate) fn absent(&self, error: &Error, on_failure: Option<&OnFailure>) {
        // Another error is an answer.
        let Error::Call(call) = error else { return };
        if !matches!(call.code, Code::Unavailable | Code::DeadlineExceeded)
            || self.is_absence_told.swap(true, Ordering::Relaxed)
        {
            return;
        }
        match on_failure {
            Some(on_failure) => report(on_failure, error),
            None => print(self.outage.starts(&call.message, elapsed::now())),
        }
    }

    /// A request was answered, by the sidecar or from memory.
    pub(crate) fn answered(&self) {
        if self.outage.is_open() {
            print(self.outage.answers(elapsed::now()));
        }
    }

    /// A request could not be checked.
    pub(crate) fn failed(&self, error: &Error, denial: &Denial, on_failure: Option<&OnFailure>) {
        match (on_failure, error) {
            (Some(on_failure), _) => report(on_failure, error),
            (None, Error::Call(call)) if denial.status == StatusCode::SERVICE_UNAVAILABLE => {
                print(self.outage.fails(&call.to_string(), elapsed::now()));
            }
            (None, _) => eprintln!("{error}; there was no answer, so a request was refused"),
        }
    }
}

pub(crate) fn tell_unknown(api: &str, known: &[String], on_failure: Option<&OnFailure>) {
    let meant = names_meant(api, known.iter().map(String::as_str)).first().map(|&meant| meant.to_owned());
    let error = Error::UnknownApi { api: api.to_owned(), meant };
    match on_failure {
        Some(on_failure) => report(on_failure, &error),
        None => eprintln!("{error}"),
    }
}

fn print(line: Option<String>) {
    if let Some(line) = line {
        eprintln!("portcullis: {line}");
    }
}
