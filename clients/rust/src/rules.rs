//! The answers of the sidecar about verified tokens, as a table.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::{Arc, RwLock};

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::credentials::{Places, place_name};
use crate::question::{Credentials, Question, Scope};
use crate::reason::Reason;
use crate::routes::{Route, Routes};
use crate::v1;

// Questions that a cell distinguishes: three scopes with four targets each, then the faults of a credential.
const OF_ACCOUNT: usize = 4;
const OF_PROJECT: usize = 8;
const OF_FAULTS: usize = 12;
const SITUATIONS: usize = 20;

const TARGET_SAME: usize = 1;
const TARGET_OTHER_PROJECT: usize = 2;
const TARGET_OTHER_ACCOUNT: usize = 3;

/// The reason for each question.
type Cell = [Reason; SITUATIONS];

/// A kind of token that an API accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AcceptedKind {
    /// Its id.
    pub kind: String,
    /// The header to send it in.
    pub header: String,
    /// The scheme before the token in that header, for example `Bearer`. Empty: the header has the token alone.
    pub scheme: String,
    /// Whether [`Client::issue`](crate::Client::issue) can issue it.
    pub issuable: bool,
    /// How it is obtained: `issue`, `control_panel` or `elsewhere`.
    pub obtained: String,
    /// Where a person obtains it or reads how. Empty: the matrix does not say.
    pub link: String,
}

impl AcceptedKind {
    pub(crate) fn of(message: &v1::AcceptedKind) -> AcceptedKind {
        AcceptedKind {
            kind: message.kind.clone(),
            header: message.header.clone(),
            scheme: message.scheme.clone(),
            issuable: message.issuable,
            obtained: obtained(&message.obtained, message.issuable),
            link: message.link.clone(),
        }
    }
}

/// A sidecar of the release before does not say how, and knows no kinds that are obtained elsewhere.
fn obtained(said: &str, issuable: bool) -> String {
    match said {
        "" if issuable => "issue",
        "" => "control_panel",
        said => said,
    }
    .to_owned()
}

/// A kind of token of the matrix.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) id: String,
    /// A token of it and where it belongs, for a sentence.
    described: String,
    pub(crate) header: String,
    /// Before a token in that header. Empty: it has the token alone.
    pub(crate) scheme: String,
    /// The names of its places, each with the prefix of tokens there.
    places: Vec<(String, String)>,
    /// Where the situations of its level begin.
    level: usize,
    accepted: AcceptedKind,
}

/// The row of an API.
#[derive(Debug)]
struct Row {
    /// Empty: any API that is not in the matrix.
    api: String,
    /// The reasons, first for any kind that is not in the matrix, then for each kind.
    cells: Vec<Arc<Cell>>,
    accepted: Arc<[AcceptedKind]>,
    notes: Vec<v1::CellNote>,
}

/// The words of the sidecar for a denial.
#[derive(Debug)]
pub(crate) struct Words {
    pub(crate) message: String,
    pub(crate) header: String,
    pub(crate) scheme: String,
}

#[derive(Debug)]
struct Said {
    api: String,
    kind: String,
    reason: Reason,
    words: Arc<Words>,
}

/// The rules. They never change, but the words of their denials become known one after the other.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) digest: String,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) places: Places,
    /// `None`: the sidecar must be asked about each request.
    pub(crate) routes: Option<Routes>,
    hasher: DefaultHashBuilder,
    rows: Vec<Row>,
    /// Their numbers, by API.
    numbers: HashTable<usize>,
    /// The row of APIs that are not in the matrix.
    unknown: usize,
    words: RwLock<HashTable<Said>>,
}

/// Most words of denials that are kept.
const WORDS_MAX: usize = 10_000;

/// The rules lack a cell, or the places of a kind.
#[derive(Debug)]
pub(crate) struct CellMissing;

impl Rules {
    pub(crate) fn of(message: v1::Rules) -> Result<Rules, CellMissing> {
        let matrix = message.matrix.ok_or(CellMissing)?;
        // Of a sidecar of the release before. Without places, no token would be found in a request.
        if matrix.token_kinds.iter().any(|kind| kind.places.is_empty()) {
            return Err(CellMissing);
        }
        let kinds: Vec<Kind> = matrix.token_kinds.iter().map(kind_of).collect();
        let cells = message.cells.iter().map(cell_of).collect::<Result<Vec<_>, _>>()?;
        let mut accepted = HashMap::new();
        let mut rows = Vec::with_capacity(message.apis.len());
        for each in message.apis {
            let chosen = cells_of(&each, &cells, kinds.len())?;
            let accepted = accepted_by(&kinds, &chosen, &mut accepted);
            rows.push(Row { api: each.api, cells: chosen, accepted, notes: each.notes });
        }
        let hasher = DefaultHashBuilder::default();
        let hash_of = |&number: &usize| hasher.hash_one(rows.get(number).map_or("", |row| row.api.as_str()));
        let mut numbers = HashTable::with_capacity(rows.len());
        for number in 0..rows.len() {
            numbers.insert_unique(hash_of(&number), number, hash_of);
        }
        let places = Places::of(matrix.token_kinds.iter().flat_map(|kind| &kind.places));
        let unknown = rows.iter().position(|row| row.api.is_empty()).ok_or(CellMissing)?;
        let digest = matrix.rules_digest;
        let routes = message.routes.as_ref().map(Routes::of);
        Ok(Rules { digest, places, routes, kinds, hasher, rows, numbers, unknown, words: RwLock::default() })
    }

    /// The number of the row of an API, which may be the one of those that are not in the matrix.
    pub(crate) fn number(&self, api: &str) -> usize {
        let is_same = |&number: &usize| self.rows.get(number).is_some_and(|row| row.api == api);
        self.numbers.find(self.hasher.hash_one(api), is_same).copied().unwrap_or(self.unknown)
    }

    /// The reason for a kind in a situation.
    pub(crate) fn reason(&self, number: usize, column: usize, situation: usize) -> Reason {
        let cell = self.rows.get(number).and_then(|row| row.cells.get(column));
        cell.and_then(|cell| cell.get(situation)).copied().unwrap_or_default()
    }

    /// The kinds that a row accepts.
    pub(crate) fn accepted(&self, number: usize) -> &[AcceptedKind] {
        self.rows.get(number).map_or(&[], |row| &row.accepted)
    }

    /// The column of a kind. 0: it is not in the matrix.
    pub(crate) fn column(&self, kind: &str) -> usize {
        self.kinds.iter().position(|known| known.id == kind).map_or(0, |index| index + 1)
    }

    /// The kind of a column, if it is in the matrix.
    pub(crate) fn kind(&self, column: usize) -> Option<&Kind> {
        self.kinds.get(column.checked_sub(1)?)
    }

    /// Whether these rules would have given an answer (`clients/conformance`, "Learning"). The credential, with its place, and
    /// the route are those that were known when the sidecar was asked.
    pub(crate) fn would_give(
        &self,
        question: &Question<'_>,
        credential: Option<&(String, String)>,
        route: Option<&Route>,
        response: &v1::CheckResponse,
    ) -> bool {
        let (reason, token) = (Reason::of(response.reason), response.token.as_ref());
        if reason == Reason::Unspecified
            || response.allowed != (reason == Reason::Allowed)
            || response.rules_digest != self.digest
        {
            return false;
        }
        let found = response.route.as_ref().map(Route::of);
        let (api, target) = match (question.request, &found) {
            (None, _) => (question.api, question.target),
            (Some(_), Some(found)) if found.is_found_as(route) => (&*found.api, found.target.as_ref()),
            (Some(_), _) => return false,
        };
        let row = self.number(api);
        if let Credentials::Claims(claims) = question.credentials {
            let situation = situation_of(&claims.scope.account, &claims.scope.project, target);
            let expected = self.reason(row, self.column(&claims.kind), situation);
            return token.is_none() && !response.verified && reason == expected;
        }
        if token.is_some_and(|token| credential.is_none() || !is_whole(token)) {
            return false;
        }
        let column = token.map_or(0, |token| self.column(&token.kind));
        if !response.verified {
            return reason == self.reason(row, column, situation_of_fault(reason).unwrap_or(OF_FAULTS));
        }
        let (Some(token), Some((value, place))) = (token, credential) else { return false };
        let (account, project) = token.scope.as_ref().map_or(("", ""), |scope| (&scope.account, &scope.project));
        self.carries(&token.kind, place, value)
            && reason == self.reason(row, column, situation_of(account, project, target))
    }

    /// Whether tokens of the kind travel so. Those of a kind that is not in the matrix travel anywhere.
    pub(crate) fn carries(&self, kind: &str, place: &str, value: &str) -> bool {
        let Some(known) = self.kind(self.column(kind)) else { return true };
        known.places.iter().any(|(own, prefix)| own == place && value.starts_with(prefix))
    }

    pub(crate) fn allowed_message(&self, number: usize, column: usize) -> String {
        match (self.rows.get(number), self.kind(column)) {
            (Some(row), Some(kind)) => format!("`{}` accepts {}", row.api, kind.described),
            (Some(row), None) => format!("`{}` needs no token", row.api),
            (None, _) => String::new(),
        }
    }

    /// The notes of a cell.
    pub(crate) fn notes(&self, number: usize, column: usize) -> Vec<String> {
        let (Some(row), Some(kind)) = (self.rows.get(number), self.kind(column)) else { return Vec::new() };
        row.notes.iter().filter(|note| note.kind == kind.id).map(|note| note.text.clone()).collect()
    }

    /// The words of the sidecar for a denial, if they are known.
    pub(crate) fn words(&self, api: &str, kind: &str, reason: Reason) -> Option<Arc<Words>> {
        let is_same = |said: &Said| said.reason == reason && said.api == api && said.kind == kind;
        let hash = self.hasher.hash_one((api, kind, reason));
        self.words.read().ok()?.find(hash, is_same).map(|said| said.words.clone())
    }

    pub(crate) fn learn_words(&self, api: &str, kind: &str, reason: Reason, words: Words) {
        let Ok(mut known) = self.words.write() else { return };
        if known.len() >= WORDS_MAX {
            known.clear();
        }
        let is_same = |said: &Said| said.reason == reason && said.api == api && said.kind == kind;
        let hash = self.hasher.hash_one((api, kind, reason));
        if let Ok(earlier) = known.find_entry(hash, is_same) {
            earlier.remove();
        }
        let said = Said { api: api.to_owned(), kind: kind.to_owned(), reason, words: Arc::new(words) };
        let hash_of = |said: &Said| self.hasher.hash_one((said.api.as_str(), said.kind.as_str(), said.reason));
        known.insert_unique(hash, said, hash_of);
    }
}

/// Whether changes can name all that a token depends on.
fn is_whole(token: &v1::VerifiedToken) -> bool {
    let is_held = token.subject.as_ref().is_some_and(|holder| !holder.id.is_empty());
    let is_scoped = token
        .scope
        .as_ref()
        .is_some_and(|scope| !scope.account.is_empty() && (scope.project.is_empty() || !token.project_id.is_empty()));
    !token.token_id.is_empty() && is_held && is_scoped
}

fn kind_of(message: &v1::TokenKind) -> Kind {
    Kind {
        id: message.id.clone(),
        described: message.described.clone(),
        header: message.header.clone(),
        scheme: message.scheme.clone(),
        places: message.places.iter().map(|place| (place_name(place), place.prefix.clone())).collect(),
        level: if message.scope_level == "project" { OF_PROJECT } else { OF_ACCOUNT },
        accepted: AcceptedKind {
            kind: message.id.clone(),
            header: message.header.clone(),
            scheme: message.scheme.clone(),
            issuable: message.issuable,
            obtained: obtained(&message.obtained, message.issuable),
            link: message.link.clone(),
        },
    }
}

fn cell_of(message: &v1::CellReasons) -> Result<Arc<Cell>, CellMissing> {
    let reasons: Vec<Reason> = message.reasons.iter().take(SITUATIONS).map(|&number| Reason::of(number)).collect();
    Ok(Arc::new(Cell::try_from(reasons).map_err(|_| CellMissing)?))
}

/// The cells of a row: one for each kind, and one more.
fn cells_of(row: &v1::ApiCells, cells: &[Arc<Cell>], kinds: usize) -> Result<Vec<Arc<Cell>>, CellMissing> {
    let cell = |&index: &u32| cells.get(usize::try_from(index).ok()?).cloned();
    let chosen: Vec<_> = row.cells.iter().filter_map(cell).collect();
    if chosen.len() == row.cells.len() && chosen.len() == 1 + kinds { Ok(chosen) } else { Err(CellMissing) }
}

/// The kinds that open an API. Many APIs have the same ones, which are kept once.
fn accepted_by(
    kinds: &[Kind],
    cells: &[Arc<Cell>],
    known: &mut HashMap<Vec<bool>, Arc<[AcceptedKind]>>,
) -> Arc<[AcceptedKind]> {
    let opens = |(kind, cell): (&Kind, &Arc<Cell>)| cell.get(kind.level) == Some(&Reason::Allowed);
    let which: Vec<bool> = kinds.iter().zip(cells.iter().skip(1)).map(opens).collect();
    let accepted = |(kind, _): (&Kind, _)| kind.accepted.clone();
    if let Some(same) = known.get(&which) {
        return same.clone();
    }
    let made: Arc<[AcceptedKind]> = kinds.iter().zip(&which).filter(|(_, opens)| **opens).map(accepted).collect();
    known.insert(which, made.clone());
    made
}

/// The situation of a token with that scope.
pub(crate) fn situation_of(account: &str, project: &str, target: Option<&Scope>) -> usize {
    if account.is_empty() {
        return 0;
    }
    let situation = if project.is_empty() { OF_ACCOUNT } else { OF_PROJECT };
    situation
        + match target {
            None => 0,
            Some(target) if target.account != account => TARGET_OTHER_ACCOUNT,
            Some(target) if target.project != project => TARGET_OTHER_PROJECT,
            Some(_) => TARGET_SAME,
        }
}

/// The situation of a fault of the credential. `None`: the reason is not one.
pub(crate) fn situation_of_fault(reason: Reason) -> Option<usize> {
    let fault = (reason as usize).checked_sub(Reason::CredentialMissing as usize)?;
    (fault < SITUATIONS - OF_FAULTS).then_some(OF_FAULTS + fault)
}
