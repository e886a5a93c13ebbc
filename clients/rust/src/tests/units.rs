//! Parts that a test outside cannot bring into each state.

use http::HeaderMap;
use tempfile::NamedTempFile;
use tonic::Request;
use tonic::service::Interceptor as _;

use super::conformance::rules_message;
use crate::answer::Answer;
use crate::caller::CallerCredentials;
use crate::error::is_this_machine;
use crate::rules::Rules;
use crate::{HttpRequest, Question, Reason, v1};

#[test]
fn addresses_of_this_machine() {
    for address in ["127.0.0.1:1", "localhost:1", "[::1]:1", "::1", "unix:x", "127.1.2.3:1", "127.0.0.1"] {
        assert!(is_this_machine(address), "{address}");
    }
    for address in [
        "192.0.2.1:1",
        "localhost.example:1",
        "[2001:db8::1]:1",
        "127.0.0.1.example:1",
        "sidecar:1",
        "2001:db8::1",
        "[::1].example:1",
        // A user before the name of another machine.
        "localhost:1@sidecar.example",
        "localhost:@sidecar.example",
    ] {
        assert!(!is_this_machine(address), "{address}");
    }
}

#[test]
fn a_reason_that_is_not_known_denies() {
    for reason in [-1, 0, 17, 999] {
        let headers = HeaderMap::new();
        let response = v1::CheckResponse { allowed: true, reason, ..Default::default() };
        let answer = Answer::of(response, &Question::new("balance", &headers));
        assert_eq!((answer.allowed(), answer.reason().as_str()), (false, "UNSPECIFIED"));
    }
    for (number, reason) in Reason::ALL.into_iter().enumerate() {
        assert_eq!(reason as usize, number);
    }
    assert!(v1::Reason::try_from(17).is_err(), "expected that all reasons are known");
}

#[test]
fn an_answer_without_the_route_of_a_request_denies() {
    let (headers, request) = (HeaderMap::new(), HttpRequest { method: "GET", host: "a", path: "/" });
    let route = |api: &str, refused: &str| {
        Some(v1::FoundRoute { api: api.to_owned(), refused: refused.to_owned(), ..Default::default() })
    };
    for (route, is_allowed) in [
        (route("balance", ""), true),
        // A sidecar that does not know requests.
        (None, false),
        (route("", ""), false),
        (route("balance", "NO_ROUTE"), false),
    ] {
        let response =
            v1::CheckResponse { allowed: true, reason: v1::Reason::Allowed.into(), route, ..Default::default() };
        let answer = Answer::of(response, &Question::of_request(&request, &headers));
        assert_eq!(answer.allowed(), is_allowed, "{:?}", answer.route());
    }
}

#[test]
fn rules_with_a_cell_missing_are_refused() {
    type Damage = fn(&mut v1::Rules);
    let damages: [(&str, Damage); 6] = [
        ("no matrix", |rules| rules.matrix = None),
        ("no rows", |rules| rules.apis.clear()),
        ("no row for unknown APIs", |rules| _ = rules.apis.remove(0)),
        ("a kind that a row lacks", |rules| _ = rules.apis[3].cells.pop()),
        ("a cell that does not exist", |rules| rules.apis[3].cells[0] = 1_000_000),
        ("a reason that is missing", |rules| _ = rules.cells[0].reasons.pop()),
    ];
    for (name, damage) in damages {
        let mut message = rules_message("shipped");
        assert!(Rules::of(message.clone()).is_ok());
        damage(&mut message);
        assert!(Rules::of(message.clone()).is_err(), "{name}");
    }
}

#[test]
fn a_matrix_of_100_000_apis() {
    let mut message = rules_message("shipped");
    for index in 0..100_000 {
        let mut row = message.apis[1 + index % 30].clone();
        row.api = format!("api-{index}");
        message.apis.push(row);
    }
    let rules = Rules::of(message.clone()).unwrap();
    for (number, row) in message.apis.iter().enumerate() {
        assert_eq!(rules.number(&row.api), number);
    }
    assert_eq!(rules.number("api-100000"), 0);
}

#[test]
fn a_new_caller_token_is_read() {
    let file = NamedTempFile::new().unwrap();
    let put = |token: &str| std::fs::write(file.path(), format!("\u{feff}{token}\r\n")).unwrap();
    put("first");
    let mut caller = CallerCredentials::new(None, Some(file.path()), None).unwrap();
    // A variable may have been written as a file is.
    let mut variable = CallerCredentials::new(Some("\u{feff}first\n"), None, None).unwrap();
    let request = variable.call(Request::new(())).unwrap();
    assert_eq!(request.metadata().get("authorization").unwrap(), "Bearer first");
    for (content, expected) in
        [("second", "Bearer second"), ("third", "Bearer third"), ("", "Bearer third"), ("a b", "Bearer third")]
    {
        put(content);
        caller.expire();
        let request = caller.call(Request::new(())).unwrap();
        assert_eq!(request.metadata().get("authorization").unwrap(), expected);
    }
}
