//! The suite that all clients run (`clients/conformance/README.md`). `CONFORMANCE` names another folder, with other traces.

use std::collections::HashMap;
use std::env;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use prost::Message as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use crate::answer::Answer;
use crate::credentials::{Found, Places};
use crate::denial::Denial;
use crate::elapsed::Elapsed;
use crate::error::{Error, name_of};
use crate::follower::Pauses;
use crate::meant::names_meant;
use crate::memory::{Asked, Memory};
use crate::outage::Outage;
use crate::question::{Claims, Credentials, HttpRequest, Question, Scope};
use crate::reason::Reason;
use crate::routes::{Route, Routes};
use crate::rules::{AcceptedKind, Rules, situation_of, situation_of_fault};
use crate::transport::{Issued, ProfileToken};
use crate::v1;

fn suite() -> PathBuf {
    let ours = concat!(env!("CARGO_MANIFEST_DIR"), "/../conformance");
    PathBuf::from(env::var_os("CONFORMANCE").unwrap_or_else(|| ours.into()))
}

/// The lines of a file of the suite, without the first one.
fn lines_of<Line: DeserializeOwned>(name: &str) -> impl Iterator<Item = Line> {
    let mut lines = BufReader::new(File::open(suite().join(name)).unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().unwrap(), r#"{"version":6}"#, "{name}");
    lines.map(|line| serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
}

pub(super) fn rules_message(name: &str) -> v1::Rules {
    let encoded = fs::read(suite().join(format!("rules/{name}.binpb"))).unwrap();
    v1::Rules::decode(encoded.as_slice()).unwrap()
}

#[derive(Deserialize)]
struct ScopeLine {
    #[serde(default)]
    account: String,
    #[serde(default)]
    project: String,
}

impl ScopeLine {
    fn scope(self) -> Scope {
        Scope { account: self.account, project: self.project }
    }
}

fn reason_named(name: &str) -> Reason {
    Reason::ALL
        .into_iter()
        .find(|reason| reason.as_str() == name)
        .unwrap_or_else(|| panic!("expected a reason: {name}"))
}

fn accepted_in_json(accepted: &[AcceptedKind]) -> Value {
    let in_json = |each: &AcceptedKind| {
        let mut found =
            json!({"kind": each.kind, "header": each.header, "issuable": each.issuable, "obtained": each.obtained});
        if !each.link.is_empty() {
            found["link"] = json!(each.link);
        }
        if !each.scheme.is_empty() {
            found["scheme"] = json!(each.scheme);
        }
        found
    };
    accepted.iter().map(in_json).collect()
}

#[derive(Deserialize)]
struct SituationLine {
    scope: Option<ScopeLine>,
    target: Option<ScopeLine>,
    fault: Option<String>,
}

#[derive(Deserialize)]
struct DecisionLine {
    questions: Option<Vec<SituationLine>>,
    #[serde(default)]
    rules: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    api: String,
    apis: Option<Vec<String>>,
    #[serde(default)]
    reasons: Vec<String>,
    accepted: Option<Value>,
}

#[test]
fn decisions() {
    let mut situations: Vec<usize> = Vec::new();
    let mut known: HashMap<String, Rules> = HashMap::new();
    let mut count = 0;
    for line in lines_of::<DecisionLine>("decisions.jsonl") {
        if let Some(questions) = line.questions {
            let situation = |each: SituationLine| match (each.fault, each.scope) {
                (Some(fault), _) => situation_of_fault(reason_named(&fault)).unwrap(),
                (None, scope) => {
                    let (scope, target) = (scope.unwrap().scope(), each.target.map(ScopeLine::scope));
                    situation_of(&scope.account, &scope.project, target.as_ref())
                }
            };
            situations = questions.into_iter().map(situation).collect();
            continue;
        }
        let rules = known.entry(line.rules.clone()).or_insert_with(|| Rules::of(rules_message(&line.rules)).unwrap());
        if let Some(accepted) = line.accepted {
            let found = accepted_in_json(rules.accepted(rules.number(&line.api)));
            assert_eq!(found, accepted, "{} {}", line.rules, line.api);
        }
        for api in line.apis.unwrap_or_default() {
            assert_eq!(line.reasons.len(), situations.len());
            for (situation, expected) in situations.iter().zip(&line.reasons) {
                let found = rules.reason(rules.number(&api), rules.column(&line.kind), *situation);
                assert_eq!(found.as_str(), expected, "{} {api} {} {situation}", line.rules, line.kind);
                count += 1;
            }
        }
    }
    assert!(count > 1_000, "found {count}");
}

/// A text, or bytes, or pieces that are repeated.
#[derive(Deserialize)]
#[serde(untagged)]
enum Bytes {
    Text(String),
    Base64 { base64: String },
    Pieces { pieces: Vec<(String, usize)> },
}

impl Bytes {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Bytes::Text(text) => text.clone().into_bytes(),
            Bytes::Base64 { base64 } => STANDARD.decode(base64).unwrap(),
            Bytes::Pieces { pieces } => {
                pieces.iter().map(|(text, times)| text.repeat(*times)).collect::<String>().into_bytes()
            }
        }
    }
}

/// A header, and how often it is repeated.
#[derive(Deserialize)]
#[serde(untagged)]
enum HeaderLine {
    Once(String, Bytes),
    Times(String, Bytes, usize),
}

fn pairs_of(headers: &[HeaderLine]) -> Vec<(String, Vec<u8>)> {
    let repeated = headers.iter().flat_map(|header| match header {
        HeaderLine::Once(name, value) => std::iter::repeat_n((name.clone(), value.bytes()), 1),
        HeaderLine::Times(name, value, times) => std::iter::repeat_n((name.clone(), value.bytes()), *times),
    });
    repeated.collect()
}

/// The other form in which a program has headers. Not all names and values can be in a map.
fn map_of(pairs: &[(&str, &[u8])]) -> Option<HeaderMap> {
    let mut map = HeaderMap::new();
    for (name, value) in pairs {
        map.append(HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_bytes(value).ok()?);
    }
    Some(map)
}

/// The header, the token, and the scheme and the part of Basic if there is one.
#[derive(Deserialize)]
#[serde(untagged)]
enum FoundLine {
    Bare(String, Bytes),
    BehindScheme(String, Bytes, String),
    Part(String, Bytes, String, String),
}

impl FoundLine {
    /// The place and the token.
    fn credential(&self) -> (String, Vec<u8>) {
        match self {
            FoundLine::Bare(header, value) => (header.clone(), value.bytes()),
            FoundLine::BehindScheme(header, value, scheme) => (format!("{header} {scheme}"), value.bytes()),
            FoundLine::Part(header, value, scheme, part) => (format!("{header} {scheme} {part}"), value.bytes()),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PlaceLine {
    header: String,
    scheme: String,
    prefix: String,
    basic: String,
    with: String,
}

#[derive(Deserialize)]
struct CredentialLine {
    name: String,
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    places: Vec<PlaceLine>,
    headers: Vec<HeaderLine>,
    found: Option<FoundLine>,
    fault: Option<String>,
}

#[test]
fn credentials() {
    let mut in_maps = 0;
    for line in lines_of::<CredentialLine>("credentials.jsonl") {
        let named = line.names.iter().map(|name| {
            let (header, scheme) = name.split_once(": ").unwrap_or((name, ""));
            v1::TokenPlace { header: header.to_owned(), scheme: scheme.to_owned(), ..Default::default() }
        });
        let listed = line.places.into_iter().map(|PlaceLine { header, scheme, prefix, basic, with }| {
            let scheme = if basic.is_empty() { scheme } else { "Basic".to_owned() };
            v1::TokenPlace { header, scheme, prefix, basic, with }
        });
        let places: Vec<_> = named.chain(listed).collect();
        let places = Places::of(places.iter());
        let owned = pairs_of(&line.headers);
        let pairs: Vec<_> = owned.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
        let map = map_of(&pairs);
        let mut forms = vec![Credentials::Pairs(&pairs)];
        if let Some(map) = &map {
            forms.push(Credentials::Headers(map));
            in_maps += 1;
        }
        for form in forms {
            let empty = HeaderMap::new();
            let question = Question { credentials: form, ..Question::new("", &empty) };
            let found = Found::among(&places, &question);
            let credential = found.credential();
            assert_eq!(credential.as_ref().err().map(|fault| fault.as_str()), line.fault.as_deref(), "{}", line.name);
            let credential = credential.ok().map(|(place, token)| (place.to_owned(), token.as_bytes().to_vec()));
            assert_eq!(credential, line.found.as_ref().map(FoundLine::credential), "{}", line.name);
        }
    }
    assert!(in_maps > 20, "found {in_maps}");
}

#[derive(Deserialize)]
struct RequestLine {
    method: String,
    host: String,
    path: String,
    #[serde(default)]
    headers: Vec<HeaderLine>,
}

impl RequestLine {
    fn request(&self) -> HttpRequest<'_> {
        HttpRequest { method: &self.method, host: &self.host, path: &self.path }
    }
}

#[derive(Deserialize)]
struct RoutesLine {
    name: String,
    routes: String,
    requests: Vec<RoutedLine>,
}

#[derive(Deserialize)]
struct RoutedLine {
    #[serde(flatten)]
    request: RequestLine,
    expect: Value,
}

/// A route in the form of `expect`.
fn route_in_json(route: Option<&Route>) -> Value {
    let Some(route) = route else { return json!("ask") };
    let mut found = json!({"api": route.api});
    if let Some(target) = &route.target {
        found["target"] = json!({"account": target.account});
        if !target.project.is_empty() {
            found["target"]["project"] = json!(target.project);
        }
    }
    found
}

#[test]
fn routes() {
    let mut in_maps = 0;
    for line in lines_of::<RoutesLine>("routes.jsonl") {
        let message = v1::Routes::decode(STANDARD.decode(line.routes).unwrap().as_slice()).unwrap();
        let routes = Routes::of(&message);
        for RoutedLine { request: line_of_request, expect } in &line.requests {
            let owned = pairs_of(&line_of_request.headers);
            let pairs: Vec<_> = owned.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
            let (map, empty) = (map_of(&pairs), HeaderMap::new());
            in_maps += usize::from(map.is_some());
            let request = line_of_request.request();
            let question = Question::of_request(&request, map.as_ref().unwrap_or(&empty));
            let mut forms = vec![Question { credentials: Credentials::Pairs(&pairs), ..question }];
            forms.extend(map.is_some().then_some(question));
            for form in forms {
                let found = route_in_json(routes.find(&request, &form).as_deref());
                assert_eq!(&found, expect, "{}: {request:?}", line.name);
            }
        }
    }
    assert!(in_maps > 500, "found {in_maps}");
}

#[derive(Deserialize, Clone, Copy)]
struct PositionLine(i64, i64);

impl PositionLine {
    fn message(self, basis: String) -> v1::Position {
        v1::Position { change: self.0, recorded_at: Some(time_of(self.1)), basis }
    }
}

fn time_of(millis: i64) -> prost_types::Timestamp {
    let nanos = i32::try_from(millis.rem_euclid(1000)).unwrap() * 1_000_000;
    prost_types::Timestamp { seconds: millis.div_euclid(1000), nanos }
}

fn duration_of(millis: f64) -> prost_types::Duration {
    let nanos = nanos_of(millis);
    prost_types::Duration { seconds: nanos / 1_000_000_000, nanos: i32::try_from(nanos % 1_000_000_000).unwrap() }
}

#[allow(clippy::cast_possible_truncation)]
fn nanos_of(millis: f64) -> i64 {
    (millis * 1_000_000.0) as i64
}

#[derive(Deserialize)]
struct TraceLine {
    name: String,
    options: OptionsLine,
    steps: Vec<StepLine>,
}

#[derive(Deserialize)]
struct OptionsLine {
    tokens_max: Option<usize>,
    #[serde(default)]
    accounts: Vec<String>,
}

#[derive(Deserialize)]
struct StepLine {
    at_ms: f64,
    wall_ms: Option<f64>,
    begin: Option<Value>,
    hear: Option<HearLine>,
    check: Option<CheckLine>,
    learn: Option<LearnLine>,
    expect: Option<Value>,
}

#[derive(Deserialize)]
struct HearLine {
    position: Option<PositionLine>,
    valid_for_ms: Option<f64>,
    sent_at_ms: Option<f64>,
    #[serde(default)]
    basis: String,
    time_of_day_ms: Option<i64>,
    rules: Option<String>,
    rules_part: Option<String>,
    voided: Option<Value>,
}

#[derive(Deserialize)]
struct CheckLine {
    #[serde(default)]
    api: String,
    request: Option<RequestLine>,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    address: String,
    scope: Option<ScopeLine>,
    target: Option<ScopeLine>,
    #[serde(default)]
    headers: Vec<HeaderLine>,
}

#[derive(Deserialize)]
struct LearnLine {
    of: usize,
    allowed: Option<bool>,
    reason: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    header: String,
    #[serde(default)]
    verified: bool,
    position: Option<PositionLine>,
    #[serde(default)]
    basis: String,
    same_rules: Option<bool>,
    token: Option<TokenLine>,
    route: Option<RouteLine>,
}

#[derive(Deserialize)]
struct RouteLine {
    #[serde(default)]
    api: String,
    target: Option<ScopeLine>,
    #[serde(default)]
    refused: String,
}

impl RouteLine {
    fn message(self) -> v1::FoundRoute {
        let target = self.target.map(|target| target.scope().message());
        v1::FoundRoute { api: self.api, target, refused: self.refused }
    }
}

#[derive(Deserialize)]
struct TokenLine {
    id: String,
    kind: String,
    account: String,
    #[serde(default)]
    project: String,
    #[serde(default)]
    user: String,
    expires_at_ms: Option<i64>,
    #[serde(default)]
    derived_from: Vec<String>,
    #[serde(default)]
    project_id: String,
}

/// A question that lasts longer than its step.
#[derive(Default)]
struct Kept {
    api: String,
    request: Option<RequestLine>,
    address: String,
    claims: Option<Claims>,
    target: Option<Scope>,
    headers: Vec<(String, Vec<u8>)>,
}

impl Kept {
    fn with<T>(&self, then: impl FnOnce(&Question<'_>) -> T) -> T {
        let pairs: Vec<_> = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
        let credentials = self.claims.as_ref().map_or(Credentials::Pairs(&pairs), Credentials::Claims);
        let target = self.target.as_ref();
        let request = self.request.as_ref().map(RequestLine::request);
        let request = request.as_ref();
        then(&Question { api: &self.api, credentials, target, client_address: &self.address, request })
    }
}

/// Plays the steps of a trace.
struct Player {
    memory: Memory,
    clock: Elapsed,
    asked: HashMap<usize, (Kept, Asked)>,
    digest: String,
}

#[test]
fn traces() {
    let mut count = 0;
    for trace in lines_of::<TraceLine>("traces.jsonl") {
        let memory = Memory::new(trace.options.accounts, trace.options.tokens_max.unwrap_or(10_000));
        let mut player = Player { memory, clock: Elapsed::new(0, 0), asked: HashMap::new(), digest: String::new() };
        for (number, step) in trace.steps.into_iter().enumerate() {
            let expected = step.expect.clone();
            let found = player.play(number, step);
            if let Some(expected) = expected {
                assert_eq!(found, expected, "{}, step {number}", trace.name);
            }
            count += 1;
        }
    }
    assert!(count > 500, "found {count}");
}

impl Player {
    /// The act of the client in the step, in the form of `expect`.
    fn play(&mut self, number: usize, step: StepLine) -> Value {
        let now = self.clock.read(nanos_of(step.wall_ms.unwrap_or(step.at_ms)), nanos_of(step.at_ms));
        if step.begin.is_some() {
            let request = self.memory.begin(now, self.clock.jumped());
            let position = |after: v1::Position| {
                let at = after.recorded_at.unwrap();
                json!([after.change, at.seconds * 1000 + i64::from(at.nanos) / 1_000_000])
            };
            let basis = request.after.as_ref().map_or(String::new(), |after| after.basis.clone());
            return json!({"accounts": request.accounts, "after": request.after.map(position), "basis": basis});
        }
        match (step.hear, step.check, step.learn) {
            (Some(hear), _, _) => self.hear(hear, now),
            (_, Some(check), _) => self.check(number, check, now),
            (_, _, Some(learn)) => self.learn(learn),
            _ => panic!("expected a step"),
        }
    }

    fn hear(&mut self, hear: HearLine, now: i64) -> Value {
        let names = |voided: &Value, of: &str| -> Vec<String> {
            voided.get(of).map(|all| serde_json::from_value(all.clone()).unwrap()).unwrap_or_default()
        };
        let response = v1::WatchChangesResponse {
            position: hear.position.map(|position| position.message(hear.basis)),
            valid_for: hear.valid_for_ms.map(duration_of),
            sent_at: hear.sent_at_ms.map(duration_of),
            time_of_day: hear.time_of_day_ms.map(time_of),
            rules: hear.rules.as_deref().map(rules_message),
            rules_part: hear.rules_part.as_deref().map(rules_message),
            voided: hear.voided.map(|voided| v1::Voided {
                everything: voided == "everything",
                token_ids: names(&voided, "token_ids"),
                user_ids: names(&voided, "user_ids"),
                accounts: names(&voided, "accounts"),
                project_ids: names(&voided, "project_ids"),
            }),
        };
        if let Some(rules) = &response.rules {
            self.digest = rules.matrix.as_ref().unwrap().rules_digest.clone();
        }
        json!(match self.memory.hear(response, now, self.clock.jumped()) {
            Ok(true) => "followed",
            Ok(false) => "left",
            Err(_) => "refused",
        })
    }

    fn check(&mut self, number: usize, check: CheckLine, now: i64) -> Value {
        let kind = check.kind;
        let question = Kept {
            api: check.api,
            request: check.request,
            address: check.address,
            claims: check.scope.map(|scope| Claims { kind, scope: scope.scope() }),
            target: check.target.map(ScopeLine::scope),
            headers: pairs_of(&check.headers),
        };
        if let Some(answer) = question.with(|question| self.memory.answer(question, now)) {
            let mut found = json!({
                "allowed": answer.allowed(),
                "reason": answer.reason().as_str(),
                "message": answer.message(),
            });
            if !answer.advice().is_empty() {
                found["advice"] = json!(answer.advice());
            }
            if question.request.is_some() {
                found["route"] = route_in_json(answer.route().as_ref());
            }
            return found;
        }
        let asked = question.with(|question| self.memory.asked(question, now));
        self.asked.insert(number, (question, asked));
        json!("ask")
    }

    /// The answer that the program gets.
    fn learn(&mut self, learn: LearnLine) -> Value {
        let (question, asked) = &self.asked[&learn.of];
        let reason = match learn.reason.as_str() {
            "" => 0,
            "UNSPECIFIED" => 999,
            reason => i32::from(reason_named(reason) as u8),
        };
        let response = v1::CheckResponse {
            allowed: learn.allowed.unwrap_or(learn.reason == "ALLOWED"),
            reason,
            message: learn.message,
            header: learn.header,
            verified: learn.verified,
            position: learn.position.map(|position| position.message(learn.basis)),
            rules_digest: if learn.same_rules == Some(false) { "others".to_owned() } else { self.digest.clone() },
            token: learn.token.map(|token| v1::VerifiedToken {
                token_id: token.id,
                kind: token.kind,
                scope: Some(v1::Scope { account: token.account, project: token.project }),
                subject: Some(v1::Subject { id: token.user, ..Default::default() }),
                expires_at: token.expires_at_ms.map(time_of),
                derived_from: token.derived_from,
                project_id: token.project_id,
                ..Default::default()
            }),
            route: learn.route.map(RouteLine::message),
            ..Default::default()
        };
        question.with(|question| {
            self.memory.learn(question, asked, &response);
            let answer = Answer::of(response, question);
            json!({"allowed": answer.allowed(), "reason": answer.reason().as_str()})
        })
    }
}

#[derive(Deserialize)]
struct DenialLine {
    answer: Option<DenialAnswer>,
    failure: Option<Failure>,
    status: u16,
    headers: HashMap<String, String>,
    body: Value,
}

#[derive(Deserialize)]
struct DenialAnswer {
    reason: String,
    message: String,
    accepted: Vec<AcceptedLine>,
    #[serde(default)]
    rules_digest: String,
    refused: Option<String>,
}

#[derive(Deserialize)]
struct AcceptedLine {
    kind: String,
    header: String,
    #[serde(default)]
    scheme: String,
    issuable: bool,
    obtained: String,
    #[serde(default)]
    link: String,
}

#[derive(Deserialize)]
struct Failure {
    code: String,
    #[serde(default)]
    reason: String,
}

#[test]
fn denials() {
    for line in lines_of::<DenialLine>("denials.jsonl") {
        let denial = match (line.answer, line.failure) {
            (Some(answer), _) => {
                let kind = |each: AcceptedLine| v1::AcceptedKind {
                    kind: each.kind,
                    header: each.header,
                    scheme: each.scheme,
                    issuable: each.issuable,
                    obtained: each.obtained,
                    link: each.link,
                };
                let (request, empty) = (HttpRequest { method: "", host: "", path: "" }, HeaderMap::new());
                let mut question = Question::new("", &empty);
                question.request = answer.refused.is_some().then_some(&request);
                let response = v1::CheckResponse {
                    route: answer.refused.map(|refused| v1::FoundRoute { refused, ..Default::default() }),
                    reason: i32::from(reason_named(&answer.reason) as u8),
                    message: answer.message,
                    accepted: answer.accepted.into_iter().map(kind).collect(),
                    rules_digest: answer.rules_digest,
                    ..Default::default()
                };
                Denial::of(&Answer::of(response, &question), false)
            }
            (None, Some(failure)) => {
                let codes = (0..17).map(tonic::Code::from);
                let code = codes.into_iter().find(|&code| name_of(code) == failure.code).unwrap();
                let status = if failure.reason.is_empty() {
                    Status::new(code, "")
                } else {
                    let details = ErrorDetails::with_error_info(failure.reason, "portcullis", HashMap::new());
                    Status::with_error_details(code, "", details)
                };
                Denial::of_failure(&Error::of(&status, "here"))
            }
            _ => panic!("expected an answer or a failure"),
        };
        let response = denial.response::<String>();
        let headers: HashMap<String, String> = response
            .headers()
            .iter()
            .filter(|(name, _)| *name != "content-length")
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect();
        assert_eq!(response.headers()["content-length"], response.body().len().to_string());
        assert_eq!((response.status().as_u16(), headers), (line.status, line.headers));
        assert_eq!(serde_json::from_str::<Value>(response.body()).unwrap(), line.body);
    }
}

#[derive(Deserialize)]
struct SendingLine {
    name: String,
    steps: Vec<SendingStep>,
}

#[derive(Deserialize)]
struct OutageLine {
    name: String,
    steps: Vec<OutageStep>,
}

#[derive(Deserialize)]
struct OutageStep {
    at_ms: i64,
    event: String,
    #[serde(default)]
    error: String,
    expect: Option<String>,
}

#[test]
fn outages() {
    for OutageLine { name, steps } in lines_of("outages.jsonl") {
        let outage = Outage::default();
        for (number, step) in steps.into_iter().enumerate() {
            let now = step.at_ms * 1_000_000;
            let said = match step.event.as_str() {
                "starts" => outage.starts(&step.error, now),
                "fails" => outage.fails(&step.error, now),
                _ => outage.answers(now),
            };
            assert_eq!(said, step.expect, "{name}, step {number}");
        }
    }
}

#[derive(Deserialize)]
struct PauseLine {
    name: String,
    steps: Vec<PauseStep>,
}

#[derive(Deserialize)]
struct PauseStep {
    heard: bool,
    code: String,
    expect_ms: u128,
}

#[test]
fn pauses() {
    for PauseLine { name, steps } in lines_of("pauses.jsonl") {
        let mut pauses = Pauses::default();
        for (number, step) in steps.into_iter().enumerate() {
            if step.heard {
                pauses.heard();
            }
            let code = (0..17).map(Code::from).find(|&code| name_of(code) == step.code).unwrap_or(Code::Unknown);
            assert_eq!(pauses.after(code).as_millis(), step.expect_ms, "{name}, step {number}");
        }
    }
}

#[derive(Deserialize)]
struct MeantLine {
    name: String,
    known: Vec<String>,
    meant: Vec<String>,
}

#[test]
fn names_that_were_meant() {
    for MeantLine { name, known, meant } in lines_of("meant.jsonl") {
        assert_eq!(names_meant(&name, known.iter().map(String::as_str)), meant, "{name} among {known:?}");
    }
}

#[derive(Deserialize)]
struct SendingStep {
    at_ms: u64,
    refused: Option<String>,
    sidecar: Option<IssuedLine>,
    expect: SentLine,
}

#[derive(Deserialize)]
struct IssuedLine {
    value: String,
    #[serde(default)]
    scheme: String,
    #[serde(default)]
    basic: String,
    expires_in_ms: Option<i64>,
}

#[derive(Deserialize, PartialEq, Debug)]
struct SentLine {
    asked: Option<String>,
    value: Option<String>,
}

#[test]
fn sending() {
    for SendingLine { name, steps } in lines_of("sending.jsonl") {
        let mut token = ProfileToken::default();
        for (number, step) in steps.into_iter().enumerate() {
            let now = i64::try_from(step.at_ms * 1_000_000).unwrap();
            let day_ms = 1_790_000_000_000 + step.at_ms;
            let today = SystemTime::UNIX_EPOCH + Duration::from_millis(day_ms);
            if let Some(refused) = step.refused {
                token.refuse(&HeaderValue::from_str(&refused).unwrap());
            }
            let current = token.current(now).cloned();
            let asked = current.is_none().then(|| token.rejected.clone());
            let sent = match (current, step.sidecar) {
                (Some(current), _) => Some(current),
                (None, None) => token.lasting(today).cloned(),
                (None, Some(issued)) => {
                    let expires_at = issued.expires_in_ms.map(|left| {
                        let at_ms = i64::try_from(day_ms).unwrap() + left;
                        let nanos = i32::try_from(at_ms % 1_000 * 1_000_000).unwrap();
                        prost_types::Timestamp { seconds: at_ms / 1_000, nanos }
                    });
                    let (header, IssuedLine { value, scheme, basic, .. }) = ("X-Auth-Token".to_owned(), issued);
                    let response = v1::IssueResponse { header, value, scheme, basic, expires_at, ..Default::default() };
                    Some(token.came(Issued::of(&response, now, today).unwrap()))
                }
            };
            let value = sent.map(|sent| sent.header_value().to_str().unwrap().to_owned());
            assert_eq!(SentLine { asked, value }, step.expect, "{name}, step {number}");
        }
    }
}
