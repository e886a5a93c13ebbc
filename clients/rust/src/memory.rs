//! The knowledge of a client in local mode: the rules, the tokens, and until when it may answer from them. It
//! has no clock and calls nothing; `clients/conformance` describes step by step what it must do. Times are in
//! nanoseconds on the clock of `Elapsed`.

use std::mem;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;

use crate::answer::{Answer, Remembered};
use crate::credentials::Found;
use crate::elapsed::JUMP_MAX;
use crate::question::{Credentials, Question};
use crate::reason::Reason;
use crate::routes::Route;
use crate::rules::{Rules, Words, situation_of, situation_of_fault};
use crate::times;
use crate::tokens::{ADDRESSES_MAX, Changing, Entry, TokenTable, Void};
use crate::v1;

pub(crate) struct Memory {
    /// Of which it hears. Empty: of all.
    accounts: Vec<String>,
    pub(crate) tokens: TokenTable,
    view: ArcSwap<View>,
    /// Around what follows, and around changes of what is above.
    state: Mutex<State>,
}

/// The state that one look-up needs, at one moment.
#[derive(Default)]
struct View {
    /// `None`: nothing may be answered.
    rules: Option<Arc<Rules>>,
    until: i64,
    /// The time of day of the sidecar at time 0, in nanoseconds since 1970. `None`: the sidecar does not say it.
    day_began: Option<i64>,
}

/// Most parts of rules. A sidecar sends some twenty for 100,000 APIs.
const PARTS_MAX: usize = 1_000;

#[derive(Default)]
struct State {
    changing: Changing,
    /// Counts how often the answers to what was asked before became void.
    generation: u64,
    /// The first one with these rules.
    rules_generation: u64,
    position: Option<Position>,
    /// The largest one that was received, or on which a denial of a token rests. Answers before it are not remembered.
    remembered_from: Option<Position>,
    basis: String,
    stream: Stream,
}

/// The number of a change, and when it was recorded, in nanoseconds since 1970.
#[derive(Clone, Copy, PartialEq)]
struct Position {
    change: i64,
    recorded_at: i64,
}

impl Position {
    fn of(message: &v1::Position) -> Position {
        Position { change: message.change, recorded_at: message.recorded_at.as_ref().map_or(0, times::day_nanos) }
    }

    fn message(self, basis: &str) -> v1::Position {
        let recorded_at = prost_types::Timestamp {
            seconds: self.recorded_at.div_euclid(1_000_000_000),
            nanos: i32::try_from(self.recorded_at.rem_euclid(1_000_000_000)).unwrap_or(0),
        };
        v1::Position { change: self.change, recorded_at: Some(recorded_at), basis: basis.to_owned() }
    }

    /// Whether it is smaller, or has the same number and another time.
    fn is_before(&self, other: &Position) -> bool {
        self.change < other.change || self.change == other.change && self.recorded_at != other.recorded_at
    }
}

/// The stream that is read.
#[derive(Default)]
struct Stream {
    asked: i64,
    /// By how much the wall clock had jumped then.
    jumped: i64,
    /// When the first response and the last one were sent. `None`: there was none.
    sent: Option<(i64, i64)>,
    /// Of rules that are on their way.
    parts: Vec<v1::Rules>,
}

/// The knowledge of the memory about a question that it cannot answer.
#[derive(Default)]
pub(crate) struct Asked {
    generation: u64,
    /// Of the token or the claims, if it is known.
    kind: String,
    /// The token and its place. `None`: there is no token to learn.
    pub(crate) credential: Option<(String, String)>,
    /// The findings of the known routes about the request.
    pub(crate) route: Option<Arc<Route>>,
    /// Whether the answer will probably be remembered, so that others may wait for it.
    pub(crate) is_followed: bool,
}

impl Asked {
    /// Finds the route and the token of a question, or that there are none.
    fn find_by(&mut self, rules: &Rules, question: &Question<'_>) {
        self.route = question.request.and_then(|request| rules.routes.as_ref()?.find(request, question));
        let found = Found::among(&rules.places, question);
        self.credential = found.credential().ok().map(|(place, value)| (value.into_owned(), place.to_owned()));
    }
}

/// Why a stream must be left: everything is void.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Refused {
    /// The sidecar says of its changes what cannot be.
    Changes,
    /// The rules have not a cell for each API and each kind of token.
    Rules,
}

impl Memory {
    pub(crate) fn new(accounts: Vec<String>, tokens_max: usize) -> Memory {
        Memory { accounts, tokens: TokenTable::new(tokens_max), view: ArcSwap::default(), state: Mutex::default() }
    }

    /// Whether questions are answered from memory.
    pub(crate) fn is_following(&self, now: i64) -> bool {
        let view = self.view.load();
        view.rules.is_some() && now < view.until
    }

    /// Answers a question, if it can. Nothing here may allocate, unless a route says the target, or wait for more than a look
    /// at a few dozen tokens.
    pub(crate) fn answer(&self, question: &Question<'_>, now: i64) -> Option<Answer> {
        let view = self.view.load();
        let rules = view.rules.as_ref().filter(|_| now < view.until)?;
        let Some(request) = question.request else {
            return self.decided(&view, rules, question, None, now);
        };
        if question.is_about_claims() || !question.api.is_empty() || question.target.is_some() {
            return None;
        }
        let route = rules.routes.as_ref()?.find(request, question)?;
        let routed = Question { api: &route.api, target: route.target.as_ref(), ..*question };
        self.decided(&view, rules, &routed, Some(&route), now)
    }

    /// Answers about the API and the target of a question.
    #[inline]
    fn decided(
        &self,
        view: &View,
        rules: &Arc<Rules>,
        question: &Question<'_>,
        route: Option<&Arc<Route>>,
        now: i64,
    ) -> Option<Answer> {
        let row = rules.number(question.api);
        let (column, reason, kind, entry, is_verified) = match question.credentials {
            Credentials::Claims(claims) => {
                let column = rules.column(&claims.kind);
                let situation = situation_of(&claims.scope.account, &claims.scope.project, question.target);
                (column, rules.reason(row, column, situation), claims.kind.as_str(), None, false)
            }
            _ => {
                let found = Found::among(&rules.places, question);
                match found.only().and_then(|(place, token)| Some((place, self.tokens.find(&token)?))) {
                    Some((place, known)) => {
                        let fault = situation_of_fault(counts(view, &known, place, question, now)?);
                        known.is_used();
                        let like = &known.like;
                        let situation =
                            fault.unwrap_or_else(|| situation_of(&like.account, &like.project, question.target));
                        let column = rules.column(&like.kind);
                        (column, rules.reason(row, column, situation), "", Some(known), fault.is_none())
                    }
                    None => {
                        let fault = situation_of_fault(found.credential().err()?)?;
                        (0, rules.reason(row, 0, fault), "", None, false)
                    }
                }
            }
        };
        // Without a token, it needs none.
        let is_open = column == 0 && matches!(question.credentials, Credentials::Headers(_) | Credentials::Pairs(_));
        let words = if reason == Reason::Allowed && (column > 0 || is_open) {
            None
        } else {
            // Without the words of the sidecar there is no denial.
            let kind = entry.as_ref().map_or(kind, |known| &known.like.kind);
            Some(rules.words(question.api, kind, reason)?)
        };
        let (rules, route) = (rules.clone(), route.cloned());
        Some(Answer::remembered(reason, Remembered { rules, row, column, entry, is_verified, words, route }))
    }

    /// The facts to learn from a question that the sidecar is asked now.
    pub(crate) fn asked(&self, question: &Question<'_>, now: i64) -> Asked {
        let Ok(state) = self.state.lock() else { return Asked::default() };
        let mut asked = Asked { generation: state.generation, ..Asked::default() };
        drop(state);
        if let Credentials::Claims(claims) = question.credentials {
            asked.kind.clone_from(&claims.kind);
            return asked;
        }
        // Only now: where rules come in between, the token is looked for again.
        let view = self.view.load();
        let Some(rules) = &view.rules else { return asked };
        asked.find_by(rules, question);
        let Some((value, place)) = &asked.credential else { return asked };
        // The words alone may be missing.
        if now < view.until
            && let Some(known) = self.tokens.find(value.as_bytes())
            && counts(&view, &known, place, question, now).is_some()
        {
            asked.kind.clone_from(&known.like.kind);
        }
        // About a request that is not plain the sidecar is asked each time.
        asked.is_followed = now < view.until && (question.request.is_none() || asked.route.is_some());
        asked
    }

    /// Takes the answer of the sidecar to a question into the memory, as far as it may be remembered.
    pub(crate) fn learn(&self, question: &Question<'_>, asked: &Asked, response: &v1::CheckResponse) {
        let Ok(mut state) = self.state.lock() else { return };
        let view = self.view.load();
        let Some(rules) = &view.rules else { return };
        let mut found = Asked { kind: asked.kind.clone(), generation: asked.generation, ..Asked::default() };
        let asked = if asked.generation < state.rules_generation && !question.is_about_claims() {
            // It was asked by other rules, or by none: they may have found another token.
            found.find_by(rules, question);
            &found
        } else {
            asked
        };
        let reason = Reason::of(response.reason);
        let is_fit = rules.would_give(question, asked.credential.as_ref(), asked.route.as_deref(), response);
        if is_fit && reason != Reason::Allowed {
            let routed = response.route.as_ref().filter(|_| question.request.is_some());
            let api = routed.map_or(question.api, |route| &route.api);
            let kind = response.token.as_ref().map_or(&asked.kind, |token| &token.kind);
            let (message, header) = (response.message.clone(), response.header.clone());
            rules.learn_words(api, kind, reason, Words { message, header, scheme: response.scheme.clone() });
        }
        let Some((value, place)) = &asked.credential else { return };
        let remembered = if is_fit { self.rememberable(&state, asked, response) } else { None };
        let is_fault = situation_of_fault(reason).is_some();
        let is_void = if is_fit {
            match reason {
                Reason::AddressNotAllowed => remembered.is_none(),
                Reason::WrongHeader => {
                    self.tokens.find(value.as_bytes()).is_some_and(|known| known.like.place == *place)
                }
                _ => is_fault,
            }
        } else {
            question.request.is_none() || asked.route.is_some() || !is_refusal(response)
        };
        if is_void {
            // Once one caller has seen the denial, no caller may get an older allow.
            self.tokens.drop(value.as_bytes());
            if !is_fit {
                // An answer that is on its way may be older.
                state.generation += 1;
            }
        }
        let Some((token, position)) = remembered else { return };
        if matches!(reason, Reason::CredentialExpired | Reason::CredentialRevoked) {
            state.remembered_from = Some(position);
        }
        let fault = if is_fault { reason } else { Reason::Unspecified };
        let Some(mut added) = Entry::new(place, value, token, question.client_address, fault) else { return };
        if let Some(known) = self.tokens.find(value.as_bytes())
            && known.is_same_as(&added)
        {
            added.add_addresses(&known, ADDRESSES_MAX.min(self.tokens.pairs_max()).saturating_sub(1));
        }
        self.tokens.put(&mut state.changing, added);
    }

    /// The token of an answer that the rules would have given, and its position, if it may be remembered.
    fn rememberable<'a>(
        &self,
        state: &State,
        asked: &Asked,
        response: &'a v1::CheckResponse,
    ) -> Option<(&'a v1::VerifiedToken, Position)> {
        let (token, said) = (response.token.as_ref()?, response.position.as_ref()?);
        let is_lasting = matches!(
            Reason::of(response.reason),
            Reason::CredentialExpired | Reason::CredentialRevoked | Reason::AddressNotAllowed
        );
        let position = Position::of(said);
        let is_void = asked.generation != state.generation
            || state.remembered_from.is_none_or(|earliest| position.is_before(&earliest))
            // Of a process that has not read yet which keys are withdrawn, it would stay.
            || said.basis != state.basis;
        let account = token.scope.as_ref().map_or("", |scope| scope.account.as_str());
        let is_ours = self.accounts.is_empty() || self.accounts.iter().any(|each| each == account);
        ((response.verified || is_lasting) && !is_void && is_ours).then_some((token, position))
    }

    /// Begins a stream at a moment. Known facts count for as long as before.
    pub(crate) fn begin(&self, now: i64, jumped: i64) -> v1::WatchChangesRequest {
        let mut request = v1::WatchChangesRequest { accounts: self.accounts.clone(), ..Default::default() };
        if let Ok(mut state) = self.state.lock() {
            state.stream = Stream { asked: now, jumped, ..Stream::default() };
            request.after = state.position.map(|position| position.message(&state.basis));
        }
        request
    }

    /// Takes a response of the stream into the memory, and says whether the stream can go on. Otherwise another one must be
    /// begun, because the clocks have parted. After an error the stream must be left: everything is void.
    pub(crate) fn hear(&self, mut response: v1::WatchChangesResponse, now: i64, jumped: i64) -> Result<bool, Refused> {
        let Ok(mut state) = self.state.lock() else {
            // Some thread panicked in here, so nothing counts any longer.
            self.view.store(Arc::default());
            return Err(Refused::Changes);
        };
        if let Some(part) = response.rules_part.take_if(|_| state.stream.parts.len() < PARTS_MAX) {
            state.stream.parts.push(part);
            return Ok(jumped - state.stream.jumped <= JUMP_MAX);
        }
        let heard = match state.follows(&mut response) {
            Ok(heard) => heard,
            Err(refused) => {
                self.forget(&mut state);
                return Err(refused);
            }
        };
        match &response.voided {
            Some(voided) if voided.everything => {
                self.forget_tokens(&mut state);
            }
            Some(voided) => self.tokens.remove_void(&Void::of(voided)),
            None => {}
        }
        if let Some(rules) = &heard.rules {
            if self.view.load().rules.as_ref().is_none_or(|last| last.digest != rules.digest) {
                state.generation += 1;
                state.rules_generation = state.generation;
            }
            self.tokens.remove_all(|each| !rules.carries(&each.like.kind, &each.like.place, each.value()));
        }
        state.position = Some(heard.position);
        if state.remembered_from.is_none_or(|earliest| heard.position.change >= earliest.change) {
            state.remembered_from = state.position;
        }
        state.basis = heard.basis;
        let sent = state.stream.heard(heard.sent_at, now);
        // Only now may more be answered.
        self.view.store(Arc::new(View {
            rules: heard.rules.map(Arc::new).or_else(|| self.view.load().rules.clone()),
            until: heard.valid_for.map_or_else(|| self.view.load().until, |valid_for| sent.saturating_add(valid_for)),
            day_began: response.time_of_day.as_ref().map(|day| times::day_nanos(day).saturating_sub(sent)),
        }));
        Ok(jumped - state.stream.jumped <= JUMP_MAX)
    }

    /// Forgets everything. The next stream begins anew.
    fn forget(&self, state: &mut State) {
        self.view.store(Arc::default());
        self.forget_tokens(state);
        state.position = None;
        state.basis.clear();
    }

    fn forget_tokens(&self, state: &mut State) {
        state.generation += 1;
        self.tokens.clear(&mut state.changing);
        state.remembered_from = None;
    }
}

/// The rules of which the last part has come.
fn joined(parts: Vec<v1::Rules>, last: v1::Rules) -> v1::Rules {
    let mut all = v1::Rules { matrix: last.matrix.clone(), ..v1::Rules::default() };
    for part in parts.into_iter().chain([last]) {
        all.cells.extend(part.cells);
        all.apis.extend(part.apis);
        if let Some(routes) = part.routes {
            let known = all.routes.get_or_insert_default();
            known.routes.extend(routes.routes);
            known.overrides.extend(routes.overrides);
        }
    }
    all
}

/// Whether the routes refuse a request, and nothing is said of the token.
fn is_refusal(response: &v1::CheckResponse) -> bool {
    response.route.as_ref().is_none_or(|route| route.api.is_empty())
        && !response.allowed
        && Reason::of(response.reason) == Reason::UnknownApi
        && !response.verified
        && response.token.is_none()
}

/// The fault of a known token (unspecified: none), if the knowledge of it counts for a question.
fn counts(view: &View, known: &Entry, place: &str, question: &Question<'_>, now: i64) -> Option<Reason> {
    if known.like.place != place {
        return None;
    }
    if known.expires_at != 0 && known.expires_at <= view.day_began?.saturating_add(now) / 1_000_000 {
        return None;
    }
    known.at(question.client_address)
}

/// A response that can follow what was heard before.
struct Heard {
    position: Position,
    basis: String,
    sent_at: i64,
    /// `None`: as long as was said before.
    valid_for: Option<i64>,
    rules: Option<Rules>,
}

impl State {
    fn follows(&mut self, response: &mut v1::WatchChangesResponse) -> Result<Heard, Refused> {
        let (Some(position), Some(sent_at)) = (&response.position, &response.sent_at) else {
            return Err(Refused::Changes);
        };
        let basis = position.basis.clone();
        let (position, sent_at) = (Position::of(position), times::nanos(sent_at));
        let valid_for = response.valid_for.as_ref().map(times::nanos);
        let is_everything = response.voided.as_ref().is_some_and(|voided| voided.everything);
        let is_back = self.position.is_some_and(|last| position.is_before(&last));
        let is_other_basis = self.position.is_some() && self.stream.sent.is_none() && self.basis != basis;
        let is_earlier = self.stream.sent.is_some_and(|(_, last)| sent_at < last);
        if sent_at < 0
            || valid_for.is_some_and(|valid_for| valid_for < 0)
            || (is_back || is_other_basis) && !is_everything
            || is_earlier
        {
            return Err(Refused::Changes);
        }
        let rules = match response.rules.take() {
            Some(last) => Some(Rules::of(joined(mem::take(&mut self.stream.parts), last)).map_err(|_| Refused::Rules)?),
            None => None,
        };
        Ok(Heard { position, basis, sent_at, valid_for, rules })
    }
}

impl Stream {
    /// Notes that a response was sent. It was sent at the returned time or later, if both clocks run alike; and not after
    /// it has arrived.
    fn heard(&mut self, sent_at: i64, now: i64) -> i64 {
        let (first, _) = *self.sent.get_or_insert((sent_at, sent_at));
        self.sent = Some((first, sent_at));
        self.asked.saturating_add(sent_at - first).min(now)
    }
}
