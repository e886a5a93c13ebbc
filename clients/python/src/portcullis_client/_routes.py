"""Finds the API of a plain request by the routes of the sidecar (clients/conformance/README.md).

Servers read a plain request in one way alone. Every other one is the sidecar's to read, so nothing is decoded or
corrected here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ._values import FoundRoute, Request, Scope
from .gen.portcullis.v1 import authorization_pb2 as wire

# Each expression looks once at each character.
_METHOD = re.compile(r"[A-Z]{1,32}\Z").match
_HOST = re.compile(r"([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)(?::[0-9]{1,5})?\Z").match
_HOST_LENGTH_MAX = 255
_PATH_LENGTH_MAX = 8_192
_PATH = re.compile(r"/[A-Za-z0-9\-._~:@+=/]*\Z").match
_QUERY = re.compile(r"[\x21\x22\x24-\x7e]*\Z").match
# The parts of a query that may name a method: the word, or something encoded in the name of a parameter.
_METHOD_IN_QUERY = re.compile(r"method|(?:^|[?&;])[^=?&;]*%", re.IGNORECASE).search
_VALUE = re.compile(r"[A-Za-z0-9\-._~:@+=]{1,255}\Z").match


@dataclass(slots=True)
class _Place:
    """Where routes part: the segments of a path up to there."""

    literals: dict[str, _Place] = field(default_factory=dict)
    #: The texts of ``literals`` as lenient servers compare them.
    folded: set[str] = field(default_factory=set)
    folded_max: int = 0
    #: Folded text and place by the text; the longest text first, as the sidecar sends them.
    captures: dict[str, tuple[str, _Place]] = field(default_factory=dict)
    #: Routes whose path ends here.
    here: list[wire.Route] = field(default_factory=list)
    #: Routes for all that is below, as well.
    below: list[wire.Route] = field(default_factory=list)

    def next(self, segment: wire.RouteSegment) -> _Place:
        """The place behind a segment of a route."""
        folded = segment.folded if segment.HasField("folded") else segment.text
        if segment.capture:
            return self.captures.setdefault(segment.text, (folded, _Place()))[1]
        self.folded.add(folded)
        self.folded_max = max(self.folded_max, len(folded))
        return self.literals.setdefault(segment.text, _Place())

    def is_similar(self, segment: str) -> bool:
        """Whether some server would take the segment for a text that it is not: ``admin.json`` for ``admin``."""
        lower = segment.lower()
        if lower in self.folded:
            return True
        dot = lower.find(".")
        while dot != -1 and dot <= self.folded_max:
            if lower[:dot] in self.folded:
                return True
            dot = lower.find(".", dot + 1)
        return any(
            text != "" and not segment.startswith(text) and lower.startswith(folded)
            for text, (folded, _) in self.captures.items()
        )


#: The end of the path: nothing, and a route for all that is below a path is not for that path; or a slash.
_ALONE, _SLASH = 1, 2


class _AskError(Exception):
    """Some server could take a segment for another text than it is."""


class Routes:
    """The routes of a sidecar."""

    def __init__(self, message: wire.Routes) -> None:
        #: By the name of the host, without a port. A wildcard begins with a dot, and the empty name is any host.
        self._hosts: dict[str, _Place] = {}
        self._overrides = frozenset(message.overrides)
        self._lengths = frozenset(map(len, message.overrides))
        self._names_methods = any(route.methods for route in message.routes)
        for route in message.routes:
            place = self._hosts.setdefault(route.host.partition(":")[0], _Place())
            for segment in route.segments:
                place = place.next(segment)
            (place.below if route.below else place.here).append(route)

    def find(self, request: Request, headers: Sequence[tuple[str, str]]) -> FoundRoute | None:
        """The route of a plain request; ``None``: the sidecar must be asked."""
        path, _, query = request.path.partition("?")
        if len(path) > _PATH_LENGTH_MAX or len(request.host) > _HOST_LENGTH_MAX:
            return None
        host = _HOST(request.host)
        if host is None or not _METHOD(request.method) or not _PATH(path) or not _QUERY(query):
            return None
        # Neither an empty segment, nor one with a dot at its end.
        if "//" in path or "./" in path or path.endswith("."):
            return None
        lengths, overrides = self._lengths, self._overrides
        if any(len(name) in lengths and _lower(name) in overrides for name, _ in headers):
            return None
        if self._names_methods and _METHOD_IN_QUERY(query):
            return None
        segments = path[1:].removesuffix("/").split("/") if path != "/" else []
        wanted = segments, host[1].lower(), request.method
        try:
            route = self._first(*wanted)
            if route is None or not _is_written(route.host, request.host):
                return None
            if request.method == "HEAD" and route.methods:
                return None
            # Servers differ in whether "/a/" is "/a", and in whether "/a" is below "/a/".
            if path.endswith("/"):
                other = self._first(*wanted, _SLASH)
                if other is None or not _is_same(route, other):
                    return None
            elif route.below and len(route.segments) == len(segments):
                other = self._first(*wanted, _ALONE)
                if other is not None and not _is_same(route, other):
                    return None
        except _AskError:
            return None
        return _found(route, segments, headers)

    def _first(self, segments: list[str], host: str, method: str, end: int = 0) -> wire.Route | None:
        """The first route that matches: of the host, of its wildcards, the longest first, and of any host."""
        name = host
        while True:
            place = self._hosts.get(name)
            route = _walk(place, segments, method, end) if place is not None else None
            if route is not None or not name:
                return route
            dot = name.find(".", 1)
            name = name[dot:] if dot != -1 else ""


def _is_written(pattern: str, host: str) -> bool:
    """Whether every server takes the host for that of the route: not all ignore case and port."""
    if pattern.startswith("."):
        return host.endswith(pattern) and host == host.lower()
    return pattern in ("", host)


def _is_same(one: wire.Route, other: wire.Route) -> bool:
    """Whether it makes no difference which of the two is the route."""
    if one is other:
        return True
    targets = (each.HasField(part) for each in (one, other) for part in ("account", "project"))
    return one.api == other.api and not any(targets)


def _walk(place: _Place, segments: list[str], method: str, end: int, index: int = 0) -> wire.Route | None:
    """The first route of a place that matches."""
    if index == len(segments):
        if end != _SLASH:
            route = _with_method(place.here, method)
            if route is not None or end == _ALONE:
                return route
        elif "" in place.captures:
            # Some servers accept an empty name.
            raise _AskError
    elif place.literals or place.captures:
        segment = segments[index]
        literal = place.literals.get(segment)
        if literal is not None:
            route = _walk(literal, segments, method, end, index + 1)
            if route is not None:
                return route
        elif place.is_similar(segment):
            raise _AskError
        for text, (_, captured) in place.captures.items():
            if len(segment) > len(text) and segment.startswith(text):
                route = _walk(captured, segments, method, end, index + 1)
                if route is not None:
                    return route
            elif segment == text:
                raise _AskError
    return _with_method(place.below, method)


def _with_method(routes: Sequence[wire.Route], method: str) -> wire.Route | None:
    for route in routes:
        if not route.methods or method in route.methods:
            return route
    return None


def _found(route: wire.Route, segments: list[str], headers: Sequence[tuple[str, str]]) -> FoundRoute | None:
    if not route.HasField("account") and not route.HasField("project"):
        return FoundRoute(route.api)
    account = _value(route.account, route, segments, headers)
    if account is None:
        return None
    if not route.HasField("project"):
        return FoundRoute(route.api, Scope(account))
    project = _value(route.project, route, segments, headers)
    return None if project is None else FoundRoute(route.api, Scope(account, project))


def _value(
    source: wire.RouteSource, route: wire.Route, segments: list[str], headers: Sequence[tuple[str, str]]
) -> str | None:
    kind = source.WhichOneof("source")
    if kind == "fixed":
        return source.fixed
    if kind == "header":
        values = [value for name, value in headers if _lower(name) == source.header]
        if len(values) != 1:
            return None
        value = values[0]
    elif kind == "segment" and source.segment < len(route.segments) and route.segments[source.segment].capture:
        value = segments[source.segment][len(route.segments[source.segment].text) :]
    else:
        return None
    return value if _VALUE(value) else None


def _lower(name: str) -> str:
    return name.lower() if name.isascii() else name
