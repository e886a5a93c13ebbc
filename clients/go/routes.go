package portcullis

import (
	"slices"
	"strings"

	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

// The routes of the sidecar, by which a client in local mode finds the API of a plain request: one that every server reads in the same
// way. The sidecar is asked about all others, so nothing is decoded or corrected here. clients/conformance describes it step by step.
type routes struct {
	// By the name of the host, without a port. A wildcard begins with a dot, and the empty name is any host.
	hosts map[string]*place
	// Headers that override the path or the method.
	overrides []headerName
	// Whether some route has methods.
	namesMethods bool
}

// Where routes part: the segments of a path up to there.
type place struct {
	literals map[string]*place
	// The texts of literals as lenient servers compare them, and the length of the longest.
	folded    map[string]bool
	foldedMax int
	// The longest text first, as the sidecar sends them, and the index of each by its text.
	captures       []capturePlace
	capturesByText map[string]int
	// Routes whose path ends here, and those for all that is below as well.
	here, below []*route
}

type capturePlace struct {
	text, folded string
	place        *place
}

type route struct {
	// Of a route without a target.
	found            Route
	host             string
	methods          []string
	below            bool
	segments         int
	account, project *routeSource
}

// Where a part of the target is found.
type routeSource struct {
	// Index of a segment, and the length of the text that it begins with. Below 0: it is not a capture.
	segment, textLength int
	// Nil: it is not in a header.
	header *headerName
	// Empty: it is not fixed.
	fixed string
}

// Some server could take a segment for another text than it is.
var askAboutRoute = &route{}

// Nil: the sidecar must be asked about each request.
func routesOf(message *portcullisv1.Routes) *routes {
	if message == nil {
		return nil
	}
	made := &routes{hosts: map[string]*place{}}
	for _, name := range message.GetOverrides() {
		made.overrides = append(made.overrides, headerNameOf(name))
	}
	for _, each := range message.GetRoutes() {
		made.namesMethods = made.namesMethods || len(each.GetMethods()) > 0
		name, _, _ := strings.Cut(each.GetHost(), ":")
		at := made.hosts[name]
		if at == nil {
			at = &place{}
			made.hosts[name] = at
		}
		for _, segment := range each.GetSegments() {
			at = at.next(segment)
		}
		if each.GetBelow() {
			at.below = append(at.below, routeOf(each))
		} else {
			at.here = append(at.here, routeOf(each))
		}
	}
	return made
}

func (p *place) next(segment *portcullisv1.RouteSegment) *place {
	text, folded := segment.GetText(), segment.GetText()
	if segment.Folded != nil {
		folded = segment.GetFolded()
	}
	if segment.GetCapture() {
		if index, known := p.capturesByText[text]; known {
			return p.captures[index].place
		}
		if p.capturesByText == nil {
			p.capturesByText = map[string]int{}
		}
		made := &place{}
		p.capturesByText[text] = len(p.captures)
		p.captures = append(p.captures, capturePlace{text, folded, made})
		return made
	}
	if p.literals == nil {
		p.literals, p.folded = map[string]*place{}, map[string]bool{}
	}
	if p.literals[text] == nil {
		p.literals[text] = &place{}
		p.folded[folded] = true
		p.foldedMax = max(p.foldedMax, len(folded))
	}
	return p.literals[text]
}

func routeOf(message *portcullisv1.Route) *route {
	segments := message.GetSegments()
	return &route{
		found: Route{API: message.GetApi()}, host: message.GetHost(), methods: message.GetMethods(),
		below: message.GetBelow(), segments: len(segments),
		account: sourceOf(message.GetAccount(), segments), project: sourceOf(message.GetProject(), segments),
	}
}

func sourceOf(message *portcullisv1.RouteSource, segments []*portcullisv1.RouteSegment) *routeSource {
	if message == nil {
		return nil
	}
	made := &routeSource{segment: -1}
	switch source := message.GetSource().(type) {
	case *portcullisv1.RouteSource_Fixed:
		made.fixed = source.Fixed
	case *portcullisv1.RouteSource_Header:
		header := headerNameOf(source.Header)
		made.header = &header
	case *portcullisv1.RouteSource_Segment:
		if index := int(source.Segment); index < len(segments) && segments[index].GetCapture() {
			made.segment, made.textLength = index, len(segments[index].GetText())
		}
	}
	return made
}

// The route of a plain request. Nil: the sidecar must be asked.
func (r *routes) find(question *Question) *Route {
	if r == nil {
		return nil
	}
	request := question.Request
	end := endOfPlainPath(request.Path)
	host := plainHost(request.Host)
	if end < 0 || host == "" || !isPlainMethod(request.Method) {
		return nil
	}
	for index := range r.overrides {
		if _, count := question.valuesOf(&r.overrides[index]); count > 0 {
			return nil
		}
	}
	if r.namesMethods && mayNameMethod(request.Path[end:]) {
		return nil
	}
	path := request.Path[:end]
	wanted := wantedRoute{path: path, host: host, method: request.Method}
	found := r.first(wanted)
	if found == nil || found == askAboutRoute || !found.isWritten(request.Host) || request.Method == "HEAD" && len(found.methods) > 0 {
		return nil
	}
	// Servers differ in whether "/a/" is "/a", and in whether "/a" is below "/a/".
	if strings.HasPrefix(request.Path[end:], "/") {
		wanted.end = endSlash
		if !found.isSame(r.first(wanted)) {
			return nil
		}
	} else if found.below && found.segments == strings.Count(path, "/") {
		wanted.end = endAlone
		if other := r.first(wanted); other != nil && !found.isSame(other) {
			return nil
		}
	}
	if found.account == nil && found.project == nil {
		return &found.found
	}
	target := Scope{}
	if target.Account = found.account.value(path, question); target.Account == "" {
		return nil
	}
	if found.project != nil {
		if target.Project = found.project.value(path, question); target.Project == "" {
			return nil
		}
	}
	return &Route{API: found.found.API, Target: &target}
}

const (
	plainMethodMax = 32
	plainHostMax   = 255
	plainPathMax   = 8_192
	plainValueMax  = 255
)

func isPlainMethod(method string) bool {
	for index := range len(method) {
		if method[index] < 'A' || method[index] > 'Z' {
			return false
		}
	}
	return method != "" && len(method) <= plainMethodMax
}

// The host without its port, in lower case. Empty: it is not plain.
func plainHost(host string) string {
	if len(host) > plainHostMax {
		return ""
	}
	name, port, hasPort := strings.Cut(host, ":")
	if hasPort && (port == "" || len(port) > 5) {
		return ""
	}
	for index := range len(port) {
		if port[index] < '0' || port[index] > '9' {
			return ""
		}
	}
	last := byte('.')
	for index := range len(name) {
		letter := name[index]
		if letter == '.' && last == '.' || letter != '.' && letter != '-' && letter != '_' && !isAlphanumeric(letter) {
			return ""
		}
		last = letter
	}
	if last == '.' {
		return ""
	}
	return lowerCase(name)
}

func isAlphanumeric(letter byte) bool {
	return letter >= 'a' && letter <= 'z' || letter >= 'A' && letter <= 'Z' || letter >= '0' && letter <= '9'
}

// Characters of a plain segment.
var isPlain = func() (plain [256]bool) {
	for letter := range plain {
		plain[letter] = isAlphanumeric(byte(letter)) || strings.IndexByte("-._~:@+=", byte(letter)) >= 0
	}
	return plain
}()

// Where the path ends, without a slash at its end. Below 0: the target is not plain.
func endOfPlainPath(target string) int {
	last, end := byte(0), 0
	for ; end < len(target) && target[end] != '?'; end++ {
		letter := target[end]
		switch {
		case end == plainPathMax || letter != '/' && !isPlain[letter]:
			return -1
		// Neither an empty segment, nor one with a dot at its end.
		case letter == '/' && (last == '/' || last == '.'):
			return -1
		}
		last = letter
	}
	if end == 0 || target[0] != '/' || last == '.' {
		return -1
	}
	for index := end; index < len(target); index++ {
		if target[index] < 0x21 || target[index] > 0x7e || target[index] == '#' {
			return -1
		}
	}
	if last == '/' {
		return end - 1
	}
	return end
}

// The parts of a query that may name a method: the word, or something encoded in the name of a parameter.
func mayNameMethod(query string) bool {
	inName := false
	for index := range len(query) {
		switch query[index] {
		case '?', '&', ';':
			inName = true
		case '=':
			inName = false
		case '%':
			if inName {
				return true
			}
		}
	}
	return strings.Contains(lowerCase(query), "method")
}

// Whether every server takes the host for that of the route: not all ignore case and port.
func (r *route) isWritten(host string) bool {
	if strings.HasPrefix(r.host, ".") {
		return strings.HasSuffix(host, r.host) && host == lowerCase(host)
	}
	return r.host == "" || r.host == host
}

// Whether it makes no difference which of the two is the route.
func (r *route) isSame(other *route) bool {
	if other == r || other == nil || other == askAboutRoute {
		return other == r
	}
	return r.found.API == other.found.API && r.account == nil && r.project == nil && other.account == nil && other.project == nil
}

type wantedRoute struct {
	// Without a slash at its end.
	path, host, method string
	end                int
}

const (
	// A route for all that is below a path is not for that path.
	endAlone = iota + 1
	// A slash follows the path.
	endSlash
)

// The first route that matches: of the host, of its wildcards, the longest first, and of any host.
func (r *routes) first(wanted wantedRoute) *route {
	for name := wanted.host; ; {
		if at := r.hosts[name]; at != nil {
			if found := at.walk(wanted, 1); found != nil || name == "" {
				return found
			}
		} else if name == "" {
			return nil
		}
		// Behind the dot that a wildcard begins with.
		if dot := strings.IndexByte(name[1:], '.'); dot >= 0 {
			name = name[1+dot:]
		} else {
			name = ""
		}
	}
}

// The first route that matches. The next segment begins at start; beyond the end of the path: there is none.
func (p *place) walk(wanted wantedRoute, start int) *route {
	path := wanted.path
	switch {
	case start > len(path):
		if wanted.end != endSlash {
			if found := withMethod(p.here, wanted.method); found != nil || wanted.end == endAlone {
				return found
			}
		} else if _, takesNothing := p.capturesByText[""]; takesNothing {
			// Some servers accept an empty name.
			return askAboutRoute
		}
	case len(p.literals) > 0 || len(p.captures) > 0:
		segment := path[start:]
		if slash := strings.IndexByte(segment, '/'); slash >= 0 {
			segment = segment[:slash]
		}
		next := start + len(segment) + 1
		if literal := p.literals[segment]; literal != nil {
			if found := literal.walk(wanted, next); found != nil {
				return found
			}
		} else if p.isSimilar(segment) {
			return askAboutRoute
		}
		for _, each := range p.captures {
			if len(segment) > len(each.text) && strings.HasPrefix(segment, each.text) {
				if found := each.place.walk(wanted, next); found != nil {
					return found
				}
			} else if segment == each.text {
				return askAboutRoute
			}
		}
	}
	return withMethod(p.below, wanted.method)
}

// Whether some server would take the segment for a text that it is not: "admin.json" for "admin".
func (p *place) isSimilar(segment string) bool {
	lower := lowerCase(segment)
	if p.folded[lower] {
		return true
	}
	for end := 0; end < len(lower) && end <= p.foldedMax; end++ {
		if lower[end] == '.' && p.folded[lower[:end]] {
			return true
		}
	}
	for _, each := range p.captures {
		if each.text != "" && !strings.HasPrefix(segment, each.text) && strings.HasPrefix(lower, each.folded) {
			return true
		}
	}
	return false
}

func withMethod(routes []*route, method string) *route {
	for _, each := range routes {
		if len(each.methods) == 0 || slices.Contains(each.methods, method) {
			return each
		}
	}
	return nil
}

// Empty: the sidecar must be asked.
func (s *routeSource) value(path string, question *Question) string {
	if s == nil {
		return ""
	}
	if s.fixed != "" {
		return s.fixed
	}
	value := ""
	switch {
	case s.header != nil:
		found, count := question.valuesOf(s.header)
		if count != 1 {
			return ""
		}
		value = found
	case s.segment >= 0:
		rest := path[1:]
		for range s.segment {
			rest = rest[strings.IndexByte(rest, '/')+1:]
		}
		value, _, _ = strings.Cut(rest, "/")
		value = value[s.textLength:]
	}
	if len(value) > plainValueMax {
		return ""
	}
	for index := range len(value) {
		if !isPlain[value[index]] {
			return ""
		}
	}
	return value
}
