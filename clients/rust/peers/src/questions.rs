//! The questions: every API and every kind of token of the shipped matrix.

use std::error::Error;
use std::fs;

use portcullis_client::v1;
use prost::Message as _;

/// A cell of the matrix, and whether it allows.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) api: String,
    pub(crate) kind: String,
    pub(crate) is_of_project: bool,
    pub(crate) is_allowed: bool,
}

pub(crate) fn shipped_rules() -> Result<v1::Rules, Box<dyn Error>> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/rules/shipped.binpb");
    Ok(v1::Rules::decode(fs::read(file)?.as_slice())?)
}

pub(crate) fn questions_of(rules: &v1::Rules) -> Vec<Asked> {
    let kinds = rules.matrix.iter().flat_map(|matrix| &matrix.token_kinds).enumerate();
    let rows = rules.apis.iter().filter(|row| !row.api.is_empty());
    let asked = rows.flat_map(|row| kinds.clone().map(move |(index, kind)| (row, index, kind)));
    asked
        .map(|(row, index, kind)| {
            let is_of_project = kind.scope_level == "project";
            let situation = if is_of_project { 8 } else { 4 };
            let cell = row.cells.get(index + 1).and_then(|&cell| rules.cells.get(usize::try_from(cell).ok()?));
            let reason = cell.and_then(|cell| cell.reasons.get(situation));
            let is_allowed = reason == Some(&v1::Reason::Allowed.into());
            Asked { api: row.api.clone(), kind: kind.id.clone(), is_of_project, is_allowed }
        })
        .collect()
}
