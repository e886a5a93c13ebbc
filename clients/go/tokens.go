package portcullis

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unique"

	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

// Most addresses that are kept of one token.
const addressesMax = 100

// A token that the sidecar has verified. It never changes, apart from its place in the table. Its texts are one string, and what
// many tokens share is kept once: a program may know tens of thousands of tokens, and what a check reads should be close together.
type entry struct {
	next atomic.Pointer[entry]
	// The value of the token, the first address, its id, the id and the name of its holder, and the id of its project.
	texts string
	ends  [6]uint16
	// The fault of the token at the first address; unspecified: nothing.
	fault Reason
	// Whether the token was used since eviction last came by.
	used atomic.Bool
	like unique.Handle[likeness]
	// In milliseconds since 1970. Expires at 0: never.
	expiresAt, issuedAt int64
	// Nil: there is nothing more to say.
	more *more
}

// The fields that many tokens share.
type likeness struct {
	kind, place              unique.Handle[string]
	account, project, kindID string
	holderType               string
}

// The fields that few tokens have.
type more struct {
	addresses   []addressFault
	roles       []string
	authority   string
	derivedFrom []string
}

type addressFault struct {
	address string
	fault   Reason
}

const (
	textValue = iota
	textAddress
	textID
	textHolderID
	textHolderName
	textProjectID
)

// Most bytes of the texts of a token. No token of a directory has more.
const textsMax = 1<<16 - 1

// Nil: the token is too long to be kept.
func newEntry(place unique.Handle[string], value string, token *portcullisv1.VerifiedToken, first addressFault) *entry {
	subject, scope := token.GetSubject(), token.GetScope()
	texts := [...]string{
		textValue: value, textAddress: first.address, textID: token.GetTokenId(),
		textHolderID: subject.GetId(), textHolderName: subject.GetName(), textProjectID: token.GetProjectId(),
	}
	made := &entry{
		texts: strings.Join(texts[:], ""),
		fault: first.fault,
		like: unique.Make(likeness{
			kind: unique.Make(token.GetKind()), kindID: token.GetKind(), place: place,
			account: scope.GetAccount(), project: scope.GetProject(), holderType: subject.GetType(),
		}),
		issuedAt: token.GetIssuedAt().AsTime().UnixMilli(),
	}
	if len(made.texts) > textsMax {
		return nil
	}
	if token.GetExpiresAt() != nil {
		made.expiresAt = token.GetExpiresAt().AsTime().UnixMilli()
		if made.expiresAt == 0 {
			// Then it has expired, as at any moment of 1970.
			made.expiresAt = 1
		}
	}
	end := 0
	for index, text := range texts {
		end += len(text)
		made.ends[index] = uint16(end)
	}
	if len(token.GetRoles())+len(token.GetDerivedFrom()) > 0 || token.GetAuthority() != "" {
		made.more = &more{roles: token.GetRoles(), authority: token.GetAuthority(), derivedFrom: token.GetDerivedFrom()}
	}
	return made
}

// Whether the sidecar said the same of the token.
func (e *entry) isSameAs(said *entry) bool {
	for _, index := range []int{textID, textHolderID, textHolderName, textProjectID} {
		if e.text(index) != said.text(index) {
			return false
		}
	}
	return e.like == said.like && e.expiresAt == said.expiresAt && e.issuedAt == said.issuedAt && slices.Equal(e.derivedFrom(), said.derivedFrom())
}

func (e *entry) text(index int) string {
	start := uint16(0)
	if index > 0 {
		start = e.ends[index-1]
	}
	return e.texts[start:e.ends[index]]
}

// The fault of the token at an address, and whether it is known.
func (e *entry) at(address string) (fault Reason, isKnown bool) {
	if e.text(textAddress) == address {
		return e.fault, true
	}
	if e.more != nil {
		for _, each := range e.more.addresses {
			if each.address == address {
				return each.fault, true
			}
		}
	}
	return 0, false
}

// Adds the facts of an earlier entry of the same token about other addresses, as many as there is room for.
func (e *entry) addAddresses(earlier *entry, room int) {
	known := []addressFault{{earlier.text(textAddress), earlier.fault}}
	if earlier.more != nil {
		known = append(known, earlier.more.addresses...)
	}
	known = slices.DeleteFunc(known, func(each addressFault) bool { return each.address == e.text(textAddress) })
	known = known[:min(len(known), max(0, room))]
	if len(known) == 0 {
		return
	}
	if e.more == nil {
		e.more = &more{}
	}
	e.more.addresses = known
}

// How many pairs of token and address it stands for.
func (e *entry) pairs() int {
	if e.more == nil {
		return 1
	}
	return 1 + len(e.more.addresses)
}

func (e *entry) derivedFrom() []string {
	if e.more == nil {
		return nil
	}
	return e.more.derivedFrom
}

func (e *entry) token() *Token {
	like := e.like.Value()
	token := &Token{
		Kind:     like.kindID,
		Scope:    Scope{Account: like.account, Project: like.project},
		Subject:  Subject{ID: e.text(textHolderID), Name: e.text(textHolderName), Type: like.holderType},
		ID:       e.text(textID),
		IssuedAt: time.UnixMilli(e.issuedAt).UTC(),

		ProjectID:   e.text(textProjectID),
		DerivedFrom: e.derivedFrom(),
	}
	if e.expiresAt != 0 {
		token.ExpiresAt = time.UnixMilli(e.expiresAt).UTC()
	}
	if e.more != nil {
		token.Roles, token.Authority = e.more.roles, e.more.authority
	}
	return token
}

// The known tokens by their values. Any number of goroutines may look one up without waiting. Changes need a lock around them; a
// look-up that runs at the same time can miss a token, and then the sidecar is asked.
type tokenTable struct {
	seed    maphash.Seed
	buckets atomic.Pointer[[]atomic.Pointer[entry]]
	count   int
	// Of token and address.
	pairs, pairsMax int
	// The bucket that eviction looks at next.
	cursor int
}

const bucketsMin = 16

func newTokenTable(pairsMax int) *tokenTable {
	table := &tokenTable{seed: maphash.MakeSeed(), pairsMax: pairsMax}
	table.clear()
	return table
}

func (t *tokenTable) find(value string) *entry {
	hash, buckets := maphash.String(t.seed, value), *t.buckets.Load()
	for each := buckets[hash&uint64(len(buckets)-1)].Load(); each != nil; each = each.next.Load() {
		if each.text(textValue) == value {
			return each
		}
	}
	return nil
}

func (t *tokenTable) hash(each *entry) uint64 { return maphash.String(t.seed, each.text(textValue)) }

func (t *tokenTable) clear() {
	buckets := make([]atomic.Pointer[entry], bucketsMin)
	t.buckets.Store(&buckets)
	t.count, t.pairs, t.cursor = 0, 0, 0
}

// Adds an entry, in place of the one with the same value.
func (t *tokenTable) put(added *entry) {
	if t.pairsMax < added.pairs() {
		return
	}
	t.drop(added.text(textValue))
	t.evict(t.pairsMax - added.pairs())
	if t.count >= len(*t.buckets.Load()) {
		t.grow()
	}
	t.link(*t.buckets.Load(), added)
	t.count++
	t.pairs += added.pairs()
}

// Removes the entry with a value, if there is one.
func (t *tokenTable) drop(value string) {
	if known := t.find(value); known != nil {
		t.remove(*t.buckets.Load(), t.hash(known), func(each *entry) bool { return each == known })
	}
}

func (t *tokenTable) link(buckets []atomic.Pointer[entry], added *entry) {
	bucket := &buckets[t.hash(added)&uint64(len(buckets)-1)]
	added.next.Store(bucket.Load())
	bucket.Store(added)
}

// A look-up that follows an entry into its new bucket ends there, because each chain ends.
func (t *tokenTable) grow() {
	old := *t.buckets.Load()
	grown := make([]atomic.Pointer[entry], 2*len(old))
	for index := range old {
		for each := old[index].Load(); each != nil; {
			next := each.next.Load()
			t.link(grown, each)
			each = next
		}
	}
	t.buckets.Store(&grown)
}

func (t *tokenTable) removeAll(isVoid func(*entry) bool) {
	buckets := *t.buckets.Load()
	for index := range buckets {
		t.remove(buckets, uint64(index), isVoid)
	}
}

// Removes those of one bucket that are void.
func (t *tokenTable) remove(buckets []atomic.Pointer[entry], hash uint64, isVoid func(*entry) bool) {
	link := &buckets[hash&uint64(len(buckets)-1)]
	for each := link.Load(); each != nil; each = link.Load() {
		if !isVoid(each) {
			link = &each.next
			continue
		}
		link.Store(each.next.Load())
		t.count--
		t.pairs -= each.pairs()
	}
}

// Makes room: those go first that were not used since it last came by.
func (t *tokenTable) evict(pairsMax int) {
	buckets := *t.buckets.Load()
	for seen := 0; t.pairs > pairsMax; seen++ {
		isSecondRound := seen >= len(buckets)
		t.remove(buckets, uint64(t.cursor), func(each *entry) bool {
			return t.pairs > pairsMax && (isSecondRound || !each.used.Swap(false))
		})
		t.cursor = (t.cursor + 1) % len(buckets)
	}
}
