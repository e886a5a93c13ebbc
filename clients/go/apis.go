package portcullis

import (
	"context"
	"errors"
	"log"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"

	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

// Most APIs of a client that are sought, and that are reported. They are those of guards, and not those of requests.
const apisMax = 1_000

// Most APIs and conflicts in a page of the matrix.
const pageSize = 1_000

// UnknownAPIError says that a guard names an API that the matrix does not have, so its requests are denied. The matrix may get the API
// later: requests then pass.
type UnknownAPIError struct {
	API string
	// Meant is the API with the nearest name. Empty: no name is near.
	Meant string
}

func (e *UnknownAPIError) Error() string {
	text := "portcullis: the matrix has no API `" + e.API + "`, so the requests of its guard are denied"
	if e.Meant != "" {
		text += "; did you mean `" + e.Meant + "`?"
	}
	return text
}

// The APIs that the guards of a client name.
type guardedAPIs struct {
	// The APIs of the matrix when the first guard started.
	atStart sync.Once
	known   []string
	failed  error
	// Only one guard says that no sidecar answers.
	absent sync.Once

	lock         sync.RWMutex
	sought, told apiSet
}

type apiSet map[string]bool

func (s apiSet) isFinal(api string) bool { return s[api] || len(s) >= apisMax }

// Whether an API is in a set, or the set is full.
func (g *guardedAPIs) isIn(set *apiSet, api string) bool {
	g.lock.RLock()
	defer g.lock.RUnlock()
	return set.isFinal(api)
}

// Adds an API to a set, unless it is in it.
func (g *guardedAPIs) add(set *apiSet, api string) bool {
	if g.isIn(set, api) {
		return false
	}
	g.lock.Lock()
	defer g.lock.Unlock()
	if set.isFinal(api) {
		return false
	}
	if *set == nil {
		*set = apiSet{}
	}
	(*set)[api] = true
	return true
}

// Looks whether a sidecar answers, and whether its matrix has the APIs of a guard that starts. It does not wait.
func (c *Client) seek(onFailure func(error), apis ...string) {
	added := slices.DeleteFunc(apis, func(api string) bool { return !c.guarded.add(&c.guarded.sought, api) })
	if len(added) > 0 {
		go c.look(onFailure, added)
	}
}

func (c *Client) look(onFailure func(error), apis []string) {
	c.guarded.atStart.Do(func() { c.guarded.known, c.guarded.failed = c.apisOfMatrix() })
	var failed *Error
	switch {
	case c.guarded.failed == nil:
		for _, api := range apis {
			if !slices.Contains(c.guarded.known, api) && c.guarded.add(&c.guarded.told, api) {
				tellUnknown(api, c.guarded.known, onFailure)
			}
		}
	// Another error is an answer.
	case errors.As(c.guarded.failed, &failed) && (failed.Code == codes.Unavailable || failed.Code == codes.DeadlineExceeded):
		c.guarded.absent.Do(func() { c.tellAbsent(failed, onFailure) })
	}
}

// The sidecar has said that the matrix does not have the API of a guard. It does not wait.
func (c *Client) denyUnknown(api string, onFailure func(error)) {
	if c.guarded.add(&c.guarded.told, api) {
		go func() {
			// Without the matrix, only the hint is missing.
			known, _ := c.apisOfMatrix()
			tellUnknown(api, known, onFailure)
		}()
	}
}

func tellUnknown(api string, known []string, onFailure func(error)) {
	failed := &UnknownAPIError{API: api}
	if meant := namesMeant(api, known); len(meant) > 0 {
		failed.Meant = meant[0]
	}
	if onFailure == nil {
		log.Print(failed)
	} else {
		reportTo(onFailure, failed)
	}
}

func (c *Client) apisOfMatrix() ([]string, error) {
	var apis []string
	for request := (&portcullisv1.GetMatrixRequest{PageSize: pageSize}); ; {
		response, err := call(c, context.Background(), c.stub.GetMatrix, request)
		if err != nil {
			return nil, err
		}
		for _, each := range response.GetMatrix().GetApis() {
			apis = append(apis, each.GetId())
		}
		if request.PageToken = response.GetNextPageToken(); request.PageToken == "" {
			return apis, nil
		}
	}
}

// Most edits between a name and the one that was meant. Of three characters, two edits leave little.
const (
	editsMax      = 2
	editsMaxShort = 1
	shortName     = 3
)

// The known names that differ from a name by a slip or two, the nearest first. Case does not matter.
func namesMeant(name string, known []string) []string {
	letters := []rune(strings.ToLower(name))
	var near [editsMax + 1][]string
	for _, each := range known {
		other, most := []rune(strings.ToLower(each)), editsMax
		if min(len(letters), len(other)) <= shortName {
			most = editsMaxShort
		}
		if max(len(letters)-len(other), len(other)-len(letters)) > most {
			continue
		}
		if edits := editDistance(letters, other); edits <= most {
			near[edits] = append(near[edits], each)
		}
	}
	return slices.Concat(near[:]...)
}

// Levenshtein distance: the fewest characters to insert, delete or replace.
func editDistance(one, other []rune) int {
	previous, current := make([]int, len(other)+1), make([]int, len(other)+1)
	for column := range previous {
		previous[column] = column
	}
	for row, letter := range one {
		current[0] = row + 1
		for column, another := range other {
			replaced := previous[column]
			if letter != another {
				replaced++
			}
			current[column+1] = min(previous[column+1]+1, current[column]+1, replaced)
		}
		previous, current = current, previous
	}
	return previous[len(other)]
}
