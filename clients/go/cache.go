package portcullis

import (
	"context"
	"crypto/sha256"
	"sync"

	"google.golang.org/protobuf/proto"

	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

const cacheMax = 1_000

// Answers that may be reused for the time that each of them states.
type answerCache struct {
	lock    sync.Mutex
	answers map[[sha256.Size]byte]cached
}

type cached struct {
	response *portcullisv1.CheckResponse
	until    int64
}

// Checks for a guard: with the answer to an equal question, where it may be reused.
func (c *Client) checkCached(ctx context.Context, question *Question) (Answer, error) {
	if c.local != nil {
		return c.checkNow(ctx, question)
	}
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(question.request())
	if err != nil {
		return Answer{}, err
	}
	// The tokens themselves are not kept. The time counts from the question on: how old an answer is when it arrives is not known.
	key, asked := sha256.Sum256(encoded), clockNow()
	if response := c.cache.find(key, asked); response != nil {
		return answerOf(response, question), nil
	}
	answer, err := c.checkNow(ctx, question)
	if err == nil && answer.CacheFor() > 0 {
		c.cache.keep(key, cached{answer.Response(), asked + int64(answer.CacheFor())})
	}
	return answer, err
}

// An answer that comes now ends an outage.
func (c *Client) checkNow(ctx context.Context, question *Question) (Answer, error) {
	answer, err := c.Check(ctx, question)
	if err == nil && c.outage.isOpen.Load() {
		logLine(c.outage.answers(clockNow()))
	}
	return answer, err
}

func (a *answerCache) find(key [sha256.Size]byte, now int64) *portcullisv1.CheckResponse {
	a.lock.Lock()
	defer a.lock.Unlock()
	if known, isKnown := a.answers[key]; isKnown && now < known.until {
		return known.response
	}
	return nil
}

func (a *answerCache) keep(key [sha256.Size]byte, entry cached) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.answers == nil || len(a.answers) >= cacheMax {
		a.answers = map[[sha256.Size]byte]cached{}
	}
	a.answers[key] = entry
}
