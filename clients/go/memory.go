package portcullis

import (
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

// The knowledge of a client in local mode: the rules, the tokens, and until when it may answer from them. It has no clock and calls
// nothing; clients/conformance describes step by step what it must do. Times are in nanoseconds on the clock of elapsed.
type memory struct {
	// Of which it hears. Empty: of all.
	accounts []string
	tokens   *tokenTable
	view     atomic.Pointer[view]

	// Around what follows, and around changes of what is above.
	lock sync.Mutex
	// Counts how often the answers to what was asked before became void.
	generation int
	// The first one with these rules.
	rulesGeneration int
	position        *position
	// The largest one that was received, or on which a denial of a token rests. Answers before it are not remembered.
	rememberedFrom *position
	stream         stream

	wordsLock sync.RWMutex
	words     map[wordsKey]*said
}

// The state that one look-up needs, at one moment.
type view struct {
	rules *rules
	until int64
	// The time of day of the sidecar at time 0, in nanoseconds since 1970.
	dayBegan   int64
	isDayKnown bool
}

type position struct {
	change     int64
	recordedAt time.Time
	// The basis of answers besides the directory.
	basis string
}

func (p *position) isBefore(other *position) bool {
	return p.change < other.change || p.change == other.change && !p.recordedAt.Equal(other.recordedAt)
}

// The stream that is read.
type stream struct {
	asked int64
	// By how much the wall clock had jumped then.
	jumped    int64
	isFirst   bool
	firstSent int64
	lastSent  int64
	// Parts of rules that are on their way, merged, and how many there were. Nil: there were none.
	coming *portcullisv1.Rules
	parts  int
}

type wordsKey struct {
	api, kind string
	reason    Reason
}

const wordsMax = 10_000

// Most parts of rules. A sidecar sends some twenty for 100,000 APIs.
const partsMax = 1_000

func newMemory(accounts []string, tokensMax int) *memory {
	made := &memory{tokens: newTokenTable(tokensMax), words: map[wordsKey]*said{}, accounts: accounts}
	made.view.Store(&view{until: math.MinInt64})
	return made
}

// The knowledge of the memory about a question that it cannot answer.
type asked struct {
	generation int
	// Of the token, if it is known.
	kind string
	// Nil: the routes that are known say nothing of the request, or there is none.
	route *Route
	// Empty: there is no token to learn.
	value string
	// Where it is: the header, and the scheme before it.
	place unique.Handle[string]
	// Whether the answer will probably be remembered, so that others may wait for it.
	isFollowed bool
}

// Answers a question, if it can. Nothing here may allocate or wait.
func (m *memory) answer(question *Question, now int64, answer *Answer) bool {
	view := m.view.Load()
	if view.rules == nil || now >= view.until {
		return false
	}
	if question.Request != nil {
		return m.ofRequest(view, question, now, answer)
	}
	row := view.rules.row(question.API)
	if question.Claims != nil {
		return m.ofClaims(row, question, answer)
	}
	var credential found
	view.rules.find(question, &credential)
	if value, place, isThere := credential.token(); isThere {
		if known := m.tokens.find(value); known != nil {
			return m.ofToken(view, row, known, place, question, now, answer)
		}
	}
	fault := credential.fault()
	if fault == Unspecified {
		return false
	}
	reason := row.reason(0, situationOfFault(fault))
	// Some APIs need no token.
	*answer = Answer{row: row, Reason: reason, Allowed: reason == Allowed && fault == CredentialMissing}
	return answer.Allowed || m.say(question.API, "", answer)
}

// Answers about the API and the target that the routes say.
func (m *memory) ofRequest(view *view, question *Question, now int64, answer *Answer) bool {
	route := view.rules.routes.find(question)
	if route == nil || question.Claims != nil || question.API != "" || question.Target != nil {
		return false
	}
	routed := *question
	routed.Request, routed.API, routed.Target = nil, route.API, route.Target
	isAnswered := m.answer(&routed, now, answer)
	answer.route = route
	return isAnswered
}

func (m *memory) ofClaims(row *row, question *Question, answer *Answer) bool {
	claims, column := question.Claims, row.rules.columnOf(question.Claims.Kind)
	reason := row.reason(column, situationOf(claims.Scope.Account, claims.Scope.Project, question.Target))
	*answer = Answer{Reason: reason, Allowed: reason == Allowed && column > 0, row: row, column: column}
	return answer.Allowed || m.say(question.API, claims.Kind, answer)
}

func (m *memory) ofToken(view *view, row *row, known *entry, place unique.Handle[string], question *Question, now int64, answer *Answer) bool {
	like := known.like.Value()
	if like.place != place {
		return false
	}
	if known.expiresAt != 0 && (!view.isDayKnown || known.expiresAt <= (view.dayBegan+now)/int64(time.Millisecond)) {
		return false
	}
	fault, isKnown := known.at(question.ClientAddress)
	if !isKnown {
		return false
	}
	if !known.used.Load() {
		known.used.Store(true)
	}
	situation := situationOfFault(fault)
	isVerified := situation < 0
	if isVerified {
		situation = situationOf(like.account, like.project, question.Target)
	}
	column := view.rules.column(like.kind)
	reason := row.reason(column, situation)
	answer.Reason, answer.Allowed = reason, reason == Allowed && column > 0
	answer.row, answer.column, answer.entry, answer.isVerified = row, column, known, isVerified
	return answer.Allowed || m.say(question.API, like.kindID, answer)
}

// Adds the words of the sidecar to a denial. Without them there is no answer.
func (m *memory) say(api, kind string, answer *Answer) bool {
	m.wordsLock.RLock()
	answer.said = m.words[wordsKey{api, kind, answer.Reason}]
	m.wordsLock.RUnlock()
	return answer.said != nil
}

// The facts to learn from a question that the sidecar is asked now.
func (m *memory) asked(question *Question, now int64) (asked asked) {
	m.lock.Lock()
	asked.generation = m.generation
	m.lock.Unlock()
	// Only now: where rules come in between, the token is looked for again.
	view := m.view.Load()
	if question.Claims != nil {
		asked.kind = question.Claims.Kind
		return asked
	}
	if view.rules == nil {
		return asked
	}
	// The words alone may be missing.
	if answer := (Answer{}); !m.answer(question, now, &answer) && answer.entry != nil {
		asked.kind = answer.entry.like.Value().kindID
	}
	asked.findBy(view.rules, question)
	// About a request that is not plain the sidecar is asked each time.
	asked.isFollowed = asked.value != "" && now < view.until && (question.Request == nil || asked.route != nil)
	return asked
}

// Finds the route and the token of a question, or that there are none.
func (a *asked) findBy(rules *rules, question *Question) {
	a.route, a.value = nil, ""
	if question.Request != nil {
		a.route = rules.routes.find(question)
	}
	var credential found
	if rules.find(question, &credential); credential.fault() == Unspecified {
		a.value, a.place, _ = credential.token()
	}
}

// Takes the answer of the sidecar to a question into the memory, as far as it may be remembered.
func (m *memory) learn(question *Question, asked asked, response *portcullisv1.CheckResponse) {
	m.lock.Lock()
	defer m.lock.Unlock()
	rules := m.view.Load().rules
	if rules == nil {
		return
	}
	if asked.generation < m.rulesGeneration && question.Claims == nil {
		// It was asked by other rules, or by none: they may have found another token.
		asked.findBy(rules, question)
	}
	reason, token := reasonOf(response.GetReason()), response.GetToken()
	isFit := rules.wouldGive(question, &asked, response)
	if isFit && reason != Allowed {
		kind, api := asked.kind, question.API
		if token != nil {
			kind = token.GetKind()
		}
		if question.Request != nil {
			api = response.GetRoute().GetApi()
		}
		m.learnWords(wordsKey{api, kind, reason}, new(saidIn(response)))
	}
	if asked.value == "" {
		return
	}
	isRemembered := isFit && m.mayRemember(&asked, response)
	isFault := situationOfFault(reason) >= 0
	isVoid := question.Request == nil || asked.route != nil || !refusesRequest(response)
	if isFit {
		isVoid = isFault && m.isAgainst(reason, &asked, isRemembered)
	}
	if isVoid {
		// Once one caller has seen the denial, no caller may get an older allow.
		m.tokens.drop(asked.value)
		if !isFit {
			// An answer that is on its way may be older.
			m.generation++
		}
	}
	if !isRemembered {
		return
	}
	if reason == CredentialExpired || reason == CredentialRevoked {
		m.rememberedFrom = positionOf(response.GetPosition())
	}
	if !isFault {
		reason = Unspecified
	}
	added := newEntry(asked.place, asked.value, token, addressFault{question.ClientAddress, reason})
	if added == nil {
		return
	}
	if known := m.tokens.find(asked.value); known != nil && known.isSameAs(added) {
		added.addAddresses(known, min(addressesMax, m.tokens.pairsMax)-1)
	}
	m.tokens.put(added)
}

// Whether a fault makes void what is known of the token.
func (m *memory) isAgainst(fault Reason, asked *asked, isRemembered bool) bool {
	switch fault {
	case AddressNotAllowed:
		return !isRemembered
	case WrongHeader:
		known := m.tokens.find(asked.value)
		return known != nil && known.like.Value().place == asked.place
	}
	return true
}

// Whether the token of an answer that the rules would have given may be remembered.
func (m *memory) mayRemember(asked *asked, response *portcullisv1.CheckResponse) bool {
	switch reasonOf(response.GetReason()) {
	case CredentialExpired, CredentialRevoked, AddressNotAllowed:
	default:
		if !response.GetVerified() {
			return false
		}
	}
	token := response.GetToken()
	if token == nil || response.GetPosition() == nil || m.rememberedFrom == nil || asked.generation != m.generation {
		return false
	}
	answered := positionOf(response.GetPosition())
	// Of a process that has not read yet which keys are withdrawn, it would stay.
	if answered.isBefore(m.rememberedFrom) || answered.basis != m.position.basis {
		return false
	}
	return len(m.accounts) == 0 || slices.Contains(m.accounts, token.GetScope().GetAccount())
}

// Whether the routes refuse a request, and nothing is said of the token.
func refusesRequest(response *portcullisv1.CheckResponse) bool {
	return response.GetRoute().GetApi() == "" && !response.GetAllowed() && reasonOf(response.GetReason()) == UnknownAPI &&
		!response.GetVerified() && response.GetToken() == nil
}

func (m *memory) learnWords(key wordsKey, learnt *said) {
	m.wordsLock.Lock()
	defer m.wordsLock.Unlock()
	if len(m.words) >= wordsMax {
		clear(m.words)
	}
	m.words[key] = learnt
}

// Begins a stream at a moment. Known facts count for as long as before.
func (m *memory) begin(now, jumped int64) *portcullisv1.WatchChangesRequest {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.stream = stream{asked: now, jumped: jumped, isFirst: true}
	request := &portcullisv1.WatchChangesRequest{Accounts: m.accounts}
	if m.position != nil {
		request.After = m.position.message()
	}
	return request
}

var errStream = errors.New("the sidecar says of its changes what cannot be")

// Takes a response of the stream into the memory, and says whether the stream can go on. Otherwise another one must be begun, because the
// clocks have parted. After an error the stream must be left: everything is void.
func (m *memory) hear(response *portcullisv1.WatchChangesResponse, now, jumped int64) (goesOn bool, err error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if part := response.GetRulesPart(); part != nil && m.stream.parts < partsMax {
		m.stream.merge(part)
		return jumped-m.stream.jumped <= jumpMax, nil
	}
	rules, err := m.follows(response)
	if err != nil {
		m.forget()
		return false, err
	}
	isNew := rules != nil
	if !isNew {
		rules = m.view.Load().rules
	}
	if voided := response.GetVoided(); voided.GetEverything() {
		m.void()
	} else if voided != nil {
		m.tokens.removeAll(voids(voided))
	}
	if isNew {
		if last := m.view.Load().rules; last == nil || last.digest != rules.digest {
			m.generation++
			m.rulesGeneration = m.generation
		}
		m.wordsLock.Lock()
		clear(m.words)
		m.wordsLock.Unlock()
		m.tokens.removeAll(func(each *entry) bool {
			like := each.like.Value()
			return !rules.carries(rules.column(like.kind), like.place, each.text(textValue))
		})
	}
	m.position = positionOf(response.GetPosition())
	if m.rememberedFrom == nil || m.position.change >= m.rememberedFrom.change {
		m.rememberedFrom = m.position
	}
	// Only now may more be answered.
	view := m.stream.heard(rules, response, now)
	if response.GetValidFor() == nil {
		view.until = m.view.Load().until
	}
	m.view.Store(view)
	return jumped-m.stream.jumped <= jumpMax, nil
}

// Whether a response can follow what was heard before, and its rules.
func (m *memory) follows(response *portcullisv1.WatchChangesResponse) (made *rules, err error) {
	if response.GetPosition() == nil || response.GetSentAt() == nil {
		return nil, errStream
	}
	sent, isEverything := int64(response.GetSentAt().AsDuration()), response.GetVoided().GetEverything()
	isBack := m.position != nil && positionOf(response.GetPosition()).isBefore(m.position)
	isOtherBasis := m.position != nil && m.stream.isFirst && m.position.basis != response.GetPosition().GetBasis()
	if sent < 0 || response.GetValidFor().AsDuration() < 0 || (isBack || isOtherBasis) && !isEverything {
		return nil, errStream
	}
	if !m.stream.isFirst && sent < m.stream.lastSent {
		return nil, errStream
	}
	if response.GetRules() == nil {
		return nil, nil
	}
	whole := m.stream.merge(response.GetRules())
	m.stream.coming, m.stream.parts = nil, 0
	return rulesOf(whole)
}

// Adds a part of rules to those before it.
func (s *stream) merge(part *portcullisv1.Rules) *portcullisv1.Rules {
	s.parts++
	if s.coming == nil {
		s.coming = part
	} else {
		proto.Merge(s.coming, part)
	}
	return s.coming
}

// Notes when a response was sent, and says until when it counts.
func (s *stream) heard(rules *rules, response *portcullisv1.WatchChangesResponse, now int64) *view {
	sentAt := int64(response.GetSentAt().AsDuration())
	if s.isFirst {
		s.isFirst, s.firstSent = false, sentAt
	}
	s.lastSent = sentAt
	// It was sent then or later, if both clocks run alike; and not after it has arrived.
	sent := s.asked + min(sentAt-s.firstSent, now-s.asked)
	made := &view{rules: rules, until: math.MaxInt64}
	if validFor := int64(response.GetValidFor().AsDuration()); validFor < math.MaxInt64-max(0, sent) {
		made.until = sent + validFor
	}
	if day := response.GetTimeOfDay(); day != nil {
		made.isDayKnown, made.dayBegan = true, day.AsTime().UnixNano()-sent
	}
	return made
}

// Forgets everything. The next stream begins anew.
func (m *memory) forget() {
	m.view.Store(&view{until: math.MinInt64})
	m.void()
	m.position = nil
}

func (m *memory) void() {
	m.generation++
	m.tokens.clear()
	m.rememberedFrom = nil
}

// Whether a token is among what is void.
func voids(voided *portcullisv1.Voided) func(*entry) bool {
	tokens, holders := setOf(voided.GetTokenIds()), setOf(voided.GetUserIds())
	accounts, projects := setOf(voided.GetAccounts()), setOf(voided.GetProjectIds())
	return func(each *entry) bool {
		if tokens[each.text(textID)] || holders[each.text(textHolderID)] || accounts[each.like.Value().account] {
			return true
		}
		if project := each.text(textProjectID); project != "" && projects[project] {
			return true
		}
		for _, id := range each.derivedFrom() {
			if tokens[id] {
				return true
			}
		}
		return false
	}
}

func setOf(texts []string) map[string]bool {
	set := make(map[string]bool, len(texts))
	for _, text := range texts {
		set[text] = true
	}
	return set
}

func positionOf(message *portcullisv1.Position) *position {
	return &position{message.GetChange(), message.GetRecordedAt().AsTime(), message.GetBasis()}
}

func (p *position) message() *portcullisv1.Position {
	return &portcullisv1.Position{Change: p.change, RecordedAt: timestamppb.New(p.recordedAt), Basis: p.basis}
}
