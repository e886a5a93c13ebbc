//! Finds the credential among the headers of a request.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderName;

use crate::question::{Credentials, Question};
use crate::reason::Reason;
use crate::v1;

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
    /// The parts of Basic that may be the token. Empty: it is the text behind the scheme.
    parts: Vec<Part>,
}

/// A part of the credentials of Basic that tokens travel in.
#[derive(Debug)]
struct Part {
    is_password: bool,
    place: String,
    /// Its tokens begin with one of these.
    prefixes: Vec<String>,
}

/// The places of a matrix that credentials are looked for in.
#[derive(Debug, Default)]
pub(crate) struct Places {
    headers: Vec<CredentialHeader>,
    /// The headers that must come with tokens of a place, and that.
    companions: Vec<(Name, String)>,
}

/// The name of a place: the header, the scheme and the part of Basic in lower case.
pub(crate) fn place_name(place: &v1::TokenPlace) -> String {
    let words = [place.header.as_str(), &place.scheme, &place.basic];
    let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect();
    words.join(" ")
}

impl Places {
    pub(crate) fn of<'a>(places: impl Iterator<Item = &'a v1::TokenPlace>) -> Places {
        let mut all = Places::default();
        for place in places {
            let name = Name::new(&place.header);
            if !all.headers.iter().any(|known| known.name == name) {
                let name = Name::new(&place.header);
                all.headers.push(CredentialHeader { name, is_bare: false, schemes: Vec::new() });
            }
            if let Some(header) = all.headers.iter_mut().find(|known| known.name == name) {
                header.add(place);
            }
            if !place.with.is_empty() {
                all.companions.push((Name::new(&place.with), place_name(place)));
            }
        }
        all
    }
}

impl CredentialHeader {
    fn add(&mut self, place: &v1::TokenPlace) {
        let lower = place.scheme.to_ascii_lowercase();
        if lower.is_empty() {
            self.is_bare = true;
            return;
        }
        if !self.schemes.iter().any(|known| known.lower == lower) {
            let place = format!("{} {lower}", self.name.lower);
            self.schemes.push(Scheme { lower: lower.clone(), place, parts: Vec::new() });
        }
        let Some(scheme) = self.schemes.iter_mut().find(|known| known.lower == lower) else { return };
        if !place.basic.is_empty() {
            scheme.add(place);
        }
    }

    /// A scheme, and the text that follows it. `None`: the text before the first space is not one of the schemes.
    fn behind_scheme<'h, 'q>(&'h self, value: &'q [u8]) -> Option<(&'h Scheme, &'q [u8])> {
        if self.schemes.is_empty() {
            return None;
        }
        let end = value.iter().position(|&each| each == b' ').unwrap_or(value.len());
        let (before, mut token) = value.split_at_checked(end)?;
        let scheme = self.schemes.iter().find(|scheme| before.eq_ignore_ascii_case(scheme.lower.as_bytes()))?;
        while let [b' ', rest @ ..] = token {
            token = rest;
        }
        Some((scheme, token))
    }

    /// The place and the token in a value, or the fault of what is before it. The token may have other characters than it must.
    fn token_in<'h, 'q>(&'h self, value: &'q [u8]) -> Result<(&'h str, Cow<'q, [u8]>), Reason> {
        match self.behind_scheme(value) {
            Some((_, [])) => Err(Reason::CredentialMissing),
            Some((scheme, token)) if scheme.parts.is_empty() => Ok((&scheme.place, Cow::Borrowed(token))),
            Some((scheme, text)) => scheme.token_of_basic(text),
            None if self.is_bare => Ok((&self.name.lower, Cow::Borrowed(value))),
            None => Err(Reason::CredentialMalformed),
        }
    }
}

impl Scheme {
    fn add(&mut self, place: &v1::TokenPlace) {
        let name = place_name(place);
        if let Some(known) = self.parts.iter_mut().find(|part| part.place == name) {
            known.prefixes.push(place.prefix.clone());
            return;
        }
        let is_password = place.basic == "password";
        self.parts.push(Part { is_password, place: name, prefixes: vec![place.prefix.clone()] });
    }

    /// The token in the credentials of Basic. Where either part may be one, it is the one that is not empty; of two, the
    /// one that begins as tokens there do.
    fn token_of_basic(&self, text: &[u8]) -> Result<(&str, Cow<'static, [u8]>), Reason> {
        // It refuses what other readers would take for the same bytes.
        let decoded = STANDARD.decode(text).map_err(|_| Reason::CredentialMalformed)?;
        let colon = decoded.iter().position(|&byte| byte == b':').ok_or(Reason::CredentialMalformed)?;
        if decoded.iter().any(u8::is_ascii_control) {
            return Err(Reason::CredentialMalformed);
        }
        let of = |part: &Part| match part.is_password {
            true => decoded.get(colon + 1..).unwrap_or_default(),
            false => decoded.get(..colon).unwrap_or_default(),
        };
        let fits = |part: &&Part| part.prefixes.iter().any(|prefix| of(part).starts_with(prefix.as_bytes()));
        let sent: Vec<&Part> = self.parts.iter().filter(|part| !of(part).is_empty()).collect();
        let fitting: Vec<&Part> = sent.iter().copied().filter(fits).collect();
        match (sent.as_slice(), fitting.as_slice()) {
            ([], _) => Err(Reason::CredentialMissing),
            ([only], _) | (_, [only]) => Ok((&only.place, Cow::Owned(of(only).to_vec()))),
            (_, []) => Err(Reason::CredentialMalformed),
            _ => Err(Reason::CredentialAmbiguous),
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
    /// The places whose tokens lack a header that must come with them.
    incomplete: Vec<&'h str>,
}

impl<'q, 'h> Found<'q, 'h> {
    pub(crate) fn among(places: &'h Places, question: &Question<'q>) -> Found<'q, 'h> {
        let mut found = Found { count: 0, value: &[], header: None, is_one_empty: false, incomplete: Vec::new() };
        for header in &places.headers {
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
        for (name, place) in &places.companions {
            if question.only(name).is_none_or(|value| trimmed(value).is_empty()) {
                found.incomplete.push(place);
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
    pub(crate) fn only(&self) -> Option<(&'h str, Cow<'q, [u8]>)> {
        if self.count != 1 || self.is_one_empty {
            return None;
        }
        self.header?.token_in(self.value).ok().filter(|(place, _)| !self.incomplete.contains(place))
    }

    /// The token behind its place, or the fault of the credential.
    pub(crate) fn credential(&self) -> Result<(&'h str, Cow<'q, str>), Reason> {
        let header = match self.header {
            Some(header) if !self.is_one_empty => header,
            _ => return Err(Reason::CredentialMissing),
        };
        if self.count > 1 || self.value.contains(&b',') {
            return Err(Reason::CredentialAmbiguous);
        }
        let (place, token) = header.token_in(self.value)?;
        let is_token = token.iter().all(u8::is_ascii_graphic) && !self.incomplete.contains(&place);
        let text = match token {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
        };
        Ok((place, text.filter(|_| is_token).ok_or(Reason::CredentialMalformed)?))
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
