//! Finds the credential among the headers of a request.

use http::HeaderName;

use crate::question::{Credentials, Question};
use crate::reason::Reason;

/// The name of a header, in the spellings that it is looked up by.
#[derive(Debug, PartialEq)]
pub(crate) struct Name {
    lower: String,
    /// `None`: it cannot be the name of a header of HTTP.
    name: Option<HeaderName>,
}

impl Name {
    pub(crate) fn new(name: &str) -> Name {
        let lower = name.to_ascii_lowercase();
        Name { name: HeaderName::from_bytes(lower.as_bytes()).ok(), lower }
    }
}

/// A header of the matrix, and its possible content.
#[derive(Debug)]
pub(crate) struct CredentialHeader {
    /// In lower case, it is the place of a token that is in it alone.
    name: Name,
    /// Whether a token may be in it alone.
    is_bare: bool,
    /// The schemes that may stand before a token.
    schemes: Vec<Scheme>,
}

#[derive(Debug)]
struct Scheme {
    lower: String,
    /// The place of a token behind it: the header and the scheme, both in lower case.
    place: String,
}

impl CredentialHeader {
    /// The headers of the matrix, each once, by the header and the scheme of each kind.
    pub(crate) fn all<'a>(kinds: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<CredentialHeader> {
        let mut headers: Vec<CredentialHeader> = Vec::new();
        for (header, scheme) in kinds {
            let name = Name::new(header);
            if let Some(known) = headers.iter_mut().find(|known| known.name == name) {
                known.add(scheme);
                continue;
            }
            let mut made = CredentialHeader { name, is_bare: false, schemes: Vec::new() };
            made.add(scheme);
            headers.push(made);
        }
        headers
    }

    /// Adds a scheme that may be before a token. Empty: a token may be alone.
    fn add(&mut self, scheme: &str) {
        let lower = scheme.to_ascii_lowercase();
        if lower.is_empty() {
            self.is_bare = true;
        } else if !self.schemes.iter().any(|known| known.lower == lower) {
            let place = format!("{} {lower}", self.name.lower);
            self.schemes.push(Scheme { lower, place });
        }
    }

    /// The place of what follows a scheme, and that. `None`: the text before the first space is not one of the schemes.
    fn behind_scheme<'h, 'q>(&'h self, value: &'q [u8]) -> Option<(&'h str, &'q [u8])> {
        if self.schemes.is_empty() {
            return None;
        }
        let end = value.iter().position(|&each| each == b' ').unwrap_or(value.len());
        let (before, mut token) = value.split_at_checked(end)?;
        let scheme = self.schemes.iter().find(|scheme| before.eq_ignore_ascii_case(scheme.lower.as_bytes()))?;
        while let [b' ', rest @ ..] = token {
            token = rest;
        }
        Some((&scheme.place, token))
    }

    /// The place and the token in a value, or the fault of what is before it. The token may have other characters than it must.
    fn token_in<'h, 'q>(&'h self, value: &'q [u8]) -> Result<(&'h str, &'q [u8]), Reason> {
        match self.behind_scheme(value) {
            Some((_, [])) => Err(Reason::CredentialMissing),
            Some(found) => Ok(found),
            None if self.is_bare => Ok((&self.name.lower, value)),
            None => Err(Reason::CredentialMalformed),
        }
    }
}

/// The credentials among the headers of a request.
pub(crate) struct Found<'q, 'h> {
    /// How many values of credential headers there are.
    count: usize,
    /// The first of them.
    value: &'q [u8],
    /// Its header.
    header: Option<&'h CredentialHeader>,
    /// Whether a header came once, and is empty.
    is_one_empty: bool,
}

impl<'q, 'h> Found<'q, 'h> {
    pub(crate) fn among(headers: &'h [CredentialHeader], question: &Question<'q>) -> Found<'q, 'h> {
        let mut found = Found { count: 0, value: &[], header: None, is_one_empty: false };
        for header in headers {
            match question.credentials {
                Credentials::Headers(map) => {
                    if let Some(name) = &header.name.name {
                        found.add(header, map.get_all(name).iter().map(|value| value.as_bytes()));
                    }
                }
                Credentials::Pairs(pairs) => {
                    let same = pairs.iter().filter(|(name, _)| name.eq_ignore_ascii_case(&header.name.lower));
                    found.add(header, same.map(|&(_, value)| value));
                }
                Credentials::Claims(_) => {}
            }
        }
        found
    }

    /// Adds the values of one header.
    fn add(&mut self, header: &'h CredentialHeader, mut values: impl Iterator<Item = &'q [u8]>) {
        let Some(first) = values.next() else { return };
        let value = trimmed(first);
        if self.count == 0 {
            (self.value, self.header) = (value, Some(header));
        }
        // More than two make no difference to two.
        let count = 1 + values.take(1).count();
        // A repeated header is never empty: intermediaries join the values with a comma.
        self.is_one_empty |= count == 1 && value.is_empty();
        self.count += count;
    }

    /// The only token that there is, behind its place. It may have a fault, which no token has that is known.
    pub(crate) fn only(&self) -> Option<(&'h str, &'q [u8])> {
        if self.count != 1 || self.is_one_empty {
            return None;
        }
        self.header?.token_in(self.value).ok()
    }

    /// The token behind its place, or the fault of the credential.
    pub(crate) fn credential(&self) -> Result<(&'h str, &'q str), Reason> {
        let header = match self.header {
            Some(header) if !self.is_one_empty => header,
            _ => return Err(Reason::CredentialMissing),
        };
        if self.count > 1 || self.value.contains(&b',') {
            return Err(Reason::CredentialAmbiguous);
        }
        let (place, token) = header.token_in(self.value)?;
        let is_token = token.iter().all(u8::is_ascii_graphic);
        let token = std::str::from_utf8(token).ok().filter(|_| is_token);
        Ok((place, token.ok_or(Reason::CredentialMalformed)?))
    }
}

impl<'q> Question<'q> {
    /// Whether a header is there.
    pub(crate) fn has(&self, header: &Name) -> bool {
        self.first(header).is_some()
    }

    /// The value of a header, as it arrived. `None`: there is none, or more than one.
    pub(crate) fn only(&self, header: &Name) -> Option<&'q [u8]> {
        self.first(header).filter(|(_, is_only)| *is_only).map(|(value, _)| value)
    }

    /// The first value of a header, and whether it is the only one.
    fn first(&self, header: &Name) -> Option<(&'q [u8], bool)> {
        match self.credentials {
            Credentials::Headers(map) => {
                let mut values = map.get_all(header.name.as_ref()?).iter();
                Some((values.next()?.as_bytes(), values.next().is_none()))
            }
            Credentials::Pairs(pairs) => {
                let mut same = pairs.iter().filter(|(name, _)| name.eq_ignore_ascii_case(&header.lower));
                Some((same.next()?.1, same.next().is_none()))
            }
            Credentials::Claims(_) => None,
        }
    }
}

/// White space around a value is not part of it (RFC 9110 §5.5).
fn trimmed(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = value {
        value = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}
