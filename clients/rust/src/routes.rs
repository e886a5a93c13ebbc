//! The routes of the sidecar, by which a client in local mode finds the API of a plain request: one that every server reads in
//! the same way. The sidecar is asked about all others, so nothing is decoded or corrected here. `clients/conformance`
//! describes it step by step.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::credentials::Name;
use crate::question::{HttpRequest, Question, Scope};
use crate::v1;
use crate::v1::route_source::Source as SourceMessage;

const METHOD_BYTES_MAX: usize = 32;
const HOST_BYTES_MAX: usize = 255;
const PORT_DIGITS_MAX: usize = 5;
const PATH_BYTES_MAX: usize = 8192;
const VALUE_BYTES_MAX: usize = 255;

/// The findings of the sidecar's routes about a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Route {
    /// The API that the request asks for. Empty: the request is refused.
    pub api: String,
    /// The account, and the project if any, that owns the requested resource. `None`: only the matrix decides.
    pub target: Option<Scope>,
    /// Why the routes refuse the request, for example `NO_ROUTE`. Empty: they do not.
    pub refused: String,
}

impl Route {
    pub(crate) fn of(message: &v1::FoundRoute) -> Route {
        let target = message.target.clone().map(|target| Scope { account: target.account, project: target.project });
        Route { api: message.api.clone(), target, refused: message.refused.clone() }
    }

    /// Whether the sidecar has found a route, and the client no other one.
    pub(crate) fn is_found_as(&self, known: Option<&Route>) -> bool {
        !self.api.is_empty() && self.refused.is_empty() && known.is_none_or(|known| known == self)
    }
}

#[derive(Debug)]
pub(crate) struct Routes {
    /// By the name of the host, without a port. A wildcard begins with a dot, and the empty name is any host.
    hosts: HashMap<String, Place>,
    /// Headers that override the path or the method.
    overrides: Vec<Name>,
    /// Whether some route has methods.
    names_methods: bool,
}

/// Where routes part: the segments of a path up to there.
#[derive(Debug, Default)]
struct Place {
    literals: HashMap<String, Place>,
    /// The texts of literals as lenient servers compare them.
    folded: HashSet<String>,
    /// The length of the longest of them.
    folded_max: usize,
    /// In the order of the list.
    captures: Vec<Capture>,
    /// The index of each by its text.
    captures_by_text: HashMap<String, usize>,
    /// Routes whose path ends here.
    here: Vec<Candidate>,
    /// Those for all that is below as well.
    below: Vec<Candidate>,
}

#[derive(Debug)]
struct Capture {
    text: String,
    folded: String,
    place: Place,
}

#[derive(Debug)]
struct Candidate {
    host: String,
    methods: Vec<String>,
    below: bool,
    segments: usize,
    target: Target,
}

#[derive(Debug)]
enum Target {
    /// Only the matrix decides.
    None(Arc<Route>),
    Found {
        api: String,
        account: Source,
        project: Option<Source>,
    },
}

/// Where a part of the target is found.
#[derive(Debug)]
enum Source {
    /// In the segment with that index, after a text of that length.
    Segment(usize, usize),
    Header(Name),
    Fixed(String),
    /// The sidecar knows.
    Unknown,
}

/// The finding at a place.
enum Step<'r> {
    Found(&'r Candidate),
    /// Some server could take a segment for another text than it is.
    Ask,
}

/// How the path of a request may end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Any,
    /// A route for all that is below a path is not for that path.
    Alone,
    Slash,
}

/// A plain request.
#[derive(Clone)]
struct Wanted<'q> {
    method: &'q str,
    /// In lower case, without its port.
    host: Cow<'q, str>,
    /// Without its query, and without a slash at its end.
    path: &'q str,
    end: End,
}

impl Routes {
    pub(crate) fn of(message: &v1::Routes) -> Routes {
        let mut hosts: HashMap<String, Place> = HashMap::new();
        for each in &message.routes {
            let name = each.host.split(':').next().unwrap_or_default();
            let host = hosts.entry(name.to_owned()).or_default();
            let place = each.segments.iter().fold(host, Place::next);
            let candidates = if each.below { &mut place.below } else { &mut place.here };
            candidates.push(Candidate {
                host: each.host.clone(),
                methods: each.methods.clone(),
                below: each.below,
                segments: each.segments.len(),
                target: Target::of(each),
            });
        }
        let overrides = message.overrides.iter().map(|name| Name::new(name)).collect();
        let names_methods = message.routes.iter().any(|each| !each.methods.is_empty());
        Routes { hosts, overrides, names_methods }
    }

    /// The route of a plain request. `None`: the sidecar must be asked.
    pub(crate) fn find(&self, request: &HttpRequest<'_>, question: &Question<'_>) -> Option<Arc<Route>> {
        let wanted = Wanted::of(request)?;
        if self.overrides.iter().any(|header| question.has(header)) {
            return None;
        }
        let rest = request.path.get(wanted.path.len()..).unwrap_or_default();
        if self.names_methods && may_name_method(request.path) {
            return None;
        }
        let found = self.walk(&wanted, End::Any).ok()??;
        if !found.is_written(request.host) || (request.method == "HEAD" && !found.methods.is_empty()) {
            return None;
        }
        // Servers differ in whether `/a/` is `/a`, and in whether `/a` is below `/a/`.
        let is_clear = if wanted.path == "/" || rest.starts_with('/') {
            self.walk(&wanted, End::Slash).ok()?.is_some_and(|other| found.is_same(other))
        } else if found.below && found.segments == wanted.path.matches('/').count() {
            self.walk(&wanted, End::Alone).ok()?.is_none_or(|other| found.is_same(other))
        } else {
            true
        };
        if is_clear { found.target.of_request(wanted.path, question) } else { None }
    }

    /// The first route that matches: of the host, of its wildcards, the longest first, and of any host. An error: the
    /// sidecar must be asked.
    fn walk(&self, wanted: &Wanted<'_>, end: End) -> Result<Option<&Candidate>, ()> {
        let wanted = Wanted { end, ..wanted.clone() };
        // After the slash at its beginning.
        let rest = wanted.path.get(1..).filter(|rest| !rest.is_empty());
        let wildcards = wanted.host.match_indices('.').filter_map(|(dot, _)| wanted.host.get(dot..));
        let names = std::iter::once(&*wanted.host).chain(wildcards).chain(std::iter::once(""));
        match names.filter_map(|name| self.hosts.get(name)).find_map(|host| host.walk(&wanted, rest)) {
            None => Ok(None),
            Some(Step::Found(candidate)) => Ok(Some(candidate)),
            Some(Step::Ask) => Err(()),
        }
    }
}

impl Candidate {
    /// Whether every server takes the host for that of the route: not all ignore case and port.
    fn is_written(&self, host: &str) -> bool {
        if self.host.starts_with('.') {
            return host.ends_with(&self.host) && !host.bytes().any(|letter| letter.is_ascii_uppercase());
        }
        self.host.is_empty() || self.host == host
    }

    /// Whether it makes no difference which of the two is the route.
    fn is_same(&self, other: &Candidate) -> bool {
        match (&self.target, &other.target) {
            (Target::None(one), Target::None(other)) => one.api == other.api,
            _ => std::ptr::eq(self, other),
        }
    }
}

impl Place {
    fn next(&mut self, segment: &v1::RouteSegment) -> &mut Place {
        let text = &segment.text;
        let folded = segment.folded.as_ref().unwrap_or(text);
        if segment.capture {
            let index = *self.captures_by_text.entry(text.clone()).or_insert(self.captures.len());
            if index == self.captures.len() {
                self.captures.push(Capture { text: text.clone(), folded: folded.clone(), place: Place::default() });
            }
            #[allow(clippy::indexing_slicing, reason = "it was found or added just now")]
            return &mut self.captures[index].place;
        }
        self.folded_max = self.folded_max.max(folded.len());
        self.folded.insert(folded.clone());
        self.literals.entry(text.clone()).or_default()
    }

    /// The first route that matches what is left of the path. `None`: no segment is left.
    fn walk(&self, wanted: &Wanted<'_>, rest: Option<&str>) -> Option<Step<'_>> {
        let found = match rest {
            None if wanted.end == End::Alone => return pick(&self.here, wanted.method),
            // Some servers accept an empty name.
            None if wanted.end == End::Slash => self.captures_by_text.contains_key("").then_some(Step::Ask),
            None => pick(&self.here, wanted.method),
            Some(rest) => self.walk_on(wanted, rest),
        };
        found.or_else(|| pick(&self.below, wanted.method))
    }

    fn walk_on(&self, wanted: &Wanted<'_>, rest: &str) -> Option<Step<'_>> {
        let (segment, rest) = rest.split_once('/').map_or((rest, None), |(segment, rest)| (segment, Some(rest)));
        match self.literals.get(segment) {
            Some(literal) => {
                if let Some(step) = literal.walk(wanted, rest) {
                    return Some(step);
                }
            }
            None if self.is_similar(segment) => return Some(Step::Ask),
            None => {}
        }
        self.captures.iter().filter(|each| segment.starts_with(&each.text)).find_map(|each| {
            // Some servers accept an empty name.
            if segment == each.text { Some(Step::Ask) } else { each.place.walk(wanted, rest) }
        })
    }

    /// Whether some server would take the segment for a text that it is not: `admin.json` for `admin`.
    fn is_similar(&self, segment: &str) -> bool {
        let is_text = |capture: &Capture| !capture.text.is_empty() && !segment.starts_with(&capture.text);
        if self.folded.is_empty() && !self.captures.iter().any(is_text) {
            return false;
        }
        let lower = in_lower_case(segment);
        let is_folded = |text: &str| text.len() <= self.folded_max && self.folded.contains(text);
        let mut starts = lower.match_indices('.').map(|(dot, _)| lower.get(..dot).unwrap_or_default());
        is_folded(&lower)
            || starts.any(is_folded)
            || self.captures.iter().any(|each| is_text(each) && lower.starts_with(&each.folded))
    }
}

/// The first candidate for the method.
fn pick<'r>(candidates: &'r [Candidate], method: &str) -> Option<Step<'r>> {
    let fits = |each: &&Candidate| each.methods.is_empty() || each.methods.iter().any(|known| known == method);
    candidates.iter().find(fits).map(Step::Found)
}

impl Target {
    fn of(message: &v1::Route) -> Target {
        let api = message.api.clone();
        if message.account.is_none() && message.project.is_none() {
            return Target::None(Arc::new(Route { api, ..Route::default() }));
        }
        // With a project alone the sidecar is asked.
        let account = message.account.as_ref().map_or(Source::Unknown, |source| Source::of(source, &message.segments));
        let project = message.project.as_ref().map(|source| Source::of(source, &message.segments));
        Target::Found { api, account, project }
    }

    fn of_request(&self, path: &str, question: &Question<'_>) -> Option<Arc<Route>> {
        match self {
            Target::None(route) => Some(route.clone()),
            Target::Found { api, account, project } => {
                let account = account.value(path, question)?.to_owned();
                let project = match project {
                    None => String::new(),
                    Some(project) => project.value(path, question)?.to_owned(),
                };
                let target = Some(Scope { account, project });
                Some(Arc::new(Route { api: api.clone(), target, refused: String::new() }))
            }
        }
    }
}

impl Source {
    fn of(message: &v1::RouteSource, segments: &[v1::RouteSegment]) -> Source {
        match &message.source {
            Some(SourceMessage::Fixed(text)) if !text.is_empty() => Source::Fixed(text.clone()),
            Some(SourceMessage::Header(name)) => Source::Header(Name::new(name)),
            Some(SourceMessage::Segment(index)) => {
                let index = usize::try_from(*index).unwrap_or(usize::MAX);
                let capture = segments.get(index).filter(|segment| segment.capture);
                capture.map_or(Source::Unknown, |segment| Source::Segment(index, segment.text.len()))
            }
            _ => Source::Unknown,
        }
    }

    /// `None`: the sidecar must be asked.
    fn value<'q>(&'q self, path: &'q str, question: &Question<'q>) -> Option<&'q str> {
        let value = match self {
            Source::Fixed(text) => return Some(text),
            // The path begins with a slash, so there is nothing before the first one.
            Source::Segment(index, text_length) => path.split('/').nth(index + 1)?.get(*text_length..)?,
            Source::Header(header) => std::str::from_utf8(question.only(header)?).ok()?,
            Source::Unknown => return None,
        };
        let is_plain = (1..=VALUE_BYTES_MAX).contains(&value.len()) && value.bytes().all(is_plain);
        is_plain.then_some(value)
    }
}

impl<'q> Wanted<'q> {
    /// `None`: the request is not plain.
    fn of(request: &HttpRequest<'q>) -> Option<Wanted<'q>> {
        let is_method = (1..=METHOD_BYTES_MAX).contains(&request.method.len())
            && request.method.bytes().all(|letter| letter.is_ascii_uppercase());
        if !is_method {
            return None;
        }
        let (host, path) = (plain_host(request.host)?, plain_path(request.path)?);
        Some(Wanted { method: request.method, host, path, end: End::Any })
    }
}

/// Whether a query has the word, or something encoded in the name of a parameter.
fn may_name_method(target: &str) -> bool {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    query.split(['?', '&', ';']).any(|each| each.split('=').next().is_some_and(|name| name.contains('%')))
        || query.to_ascii_lowercase().contains("method")
}

/// The host without its port, in lower case.
fn plain_host(host: &str) -> Option<Cow<'_, str>> {
    if host.len() > HOST_BYTES_MAX {
        return None;
    }
    let (name, port) = host.split_once(':').unwrap_or((host, "0"));
    let is_port = (1..=PORT_DIGITS_MAX).contains(&port.len()) && port.bytes().all(|digit| digit.is_ascii_digit());
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'_'))
    };
    (is_port && name.split('.').all(is_label)).then(|| in_lower_case(name))
}

/// The path without its query, and without a slash at its end.
fn plain_path(target: &str) -> Option<&str> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if path.len() > PATH_BYTES_MAX || !query.bytes().all(|letter| letter.is_ascii_graphic() && letter != b'#') {
        return None;
    }
    let segments = path.strip_prefix('/')?;
    if segments.is_empty() {
        return Some(path);
    }
    let path = path.strip_suffix('/').unwrap_or(path);
    let is_segment = |segment: &str| !segment.is_empty() && !segment.ends_with('.') && segment.bytes().all(is_plain);
    path.split('/').skip(1).all(is_segment).then_some(path)
}

/// A character of a plain segment.
fn is_plain(letter: u8) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'.' | b'_' | b'~' | b':' | b'@' | b'+' | b'=')
}

fn in_lower_case(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|letter| letter.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}
