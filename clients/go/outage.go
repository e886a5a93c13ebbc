package portcullis

import (
	"errors"
	"fmt"
	"log"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// A line at most this often while requests fail.
	outageLine = int64(time.Minute)
	// Some requests may still be answered, from memory too, and others fail late.
	outageQuiet = int64(10 * time.Second)
)

// The reports of a client's guards on requests that could not be checked (clients/conformance/README.md,
// "What a guard prints"). Each method returns the line to log; empty: none.
type outage struct {
	isOpen atomic.Bool

	lock sync.Mutex
	// Of the last line, and when the sidecar may be said to answer again.
	saidAt, quietAt int64
	// Requests that could not be checked, and those that no line has counted.
	requests, more int
}

// A guard has asked before its first request, and there was no answer.
func (o *outage) starts(failed string, now int64) string {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.isOpen.Load() {
		return ""
	}
	o.begin(now)
	o.quietAt = now
	return failed + "; requests are denied until a sidecar answers"
}

// A request could not be checked.
func (o *outage) fails(failed string, now int64) string {
	o.lock.Lock()
	defer o.lock.Unlock()
	isFirst := !o.isOpen.Load()
	if isFirst {
		o.begin(now)
	}
	o.quietAt = now + outageQuiet
	o.requests++
	if isFirst {
		return "no answer, so a request was refused: " + failed
	}
	o.more++
	if now-o.saidAt < outageLine {
		return ""
	}
	line := requestCount(o.more, "more ") + " could not be checked: " + failed
	o.saidAt, o.more = now, 0
	return line
}

// A request was answered, by the sidecar or from memory.
func (o *outage) answers(now int64) string {
	o.lock.Lock()
	defer o.lock.Unlock()
	if !o.isOpen.Load() || now < o.quietAt {
		return ""
	}
	o.isOpen.Store(false)
	return "the sidecar answers again; " + requestCount(o.requests, "") + " could not be checked"
}

func (o *outage) begin(now int64) {
	o.isOpen.Store(true)
	o.saidAt, o.requests, o.more = now, 0, 0
}

func requestCount(count int, more string) string {
	if count == 1 {
		return "1 " + more + "request"
	}
	return fmt.Sprintf("%d %srequests", count, more)
}

// Tells why a request could not be checked.
func (c *Client) failed(err error, onFailure func(error)) *denial {
	denied := failureOf(err)
	var failed *Error
	switch {
	case onFailure != nil:
		reportTo(onFailure, err)
	case denied.status == http.StatusServiceUnavailable && errors.As(err, &failed):
		logLine(c.outage.fails(failed.text(), clockNow()))
	default:
		log.Print("portcullis: no answer, so a request was refused: ", err)
	}
	return denied
}

// Tells that no sidecar answers when a guard starts.
func (c *Client) tellAbsent(failed *Error, onFailure func(error)) {
	if onFailure != nil {
		reportTo(onFailure, failed)
		return
	}
	logLine(c.outage.starts(failed.Message, clockNow()))
}

func logLine(line string) {
	if line != "" {
		log.Print("portcullis: ", line)
	}
}
