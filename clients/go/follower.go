package portcullis

import (
	"context"
	"errors"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

const (
	// A sidecar says something at least every second. A stream that is silent for longer is left.
	quietMax = 2 * time.Second
	// How long one stream is read. Two clocks drift by some milliseconds in that time, and a new stream compares them anew.
	streamMax = 10 * time.Minute
	// Pause after a stream that failed: longer after each further one.
	pauseMin = 100 * time.Millisecond
	pauseMax = 2 * time.Second
	// Pause where the sidecar does not let the client follow.
	pauseRefused = time.Minute
)

// How long a follower waits before it begins the next stream.
type pauses struct{ next time.Duration }

// A response of a stream counted.
func (p *pauses) heard() { p.next = 0 }

// The pause after a stream that ended with a code.
func (p *pauses) after(code codes.Code) time.Duration {
	if isRefusal(code) {
		return pauseRefused
	}
	pause := max(p.next, pauseMin)
	p.next = min(2*pause, pauseMax)
	return pause
}

// Keeps the memory of a client up to date, and asks once about what is not in it.
type follower struct {
	connection *grpc.ClientConn
	stub       portcullisv1.AuthorizationServiceClient
	memory     *memory
	report     func(error)
	// Each reason is reported once: an interruption is ordinary, a refusal is not.
	reported map[string]bool
	isClosed atomic.Bool
	cancel   context.CancelFunc
	done     chan struct{}

	lock sync.Mutex
	// Questions that are asked now.
	asking map[askingKey]chan struct{}
}

type askingKey struct{ value, address string }

func follow(connection *grpc.ClientConn, memory *memory, report func(error)) *follower {
	ctx, cancel := context.WithCancel(context.Background())
	made := &follower{
		connection: connection, stub: portcullisv1.NewAuthorizationServiceClient(connection), memory: memory, report: report, reported: map[string]bool{},
		cancel: cancel, done: make(chan struct{}), asking: map[askingKey]chan struct{}{},
	}
	go made.run(ctx)
	return made
}

// The clock of the client. After its end nothing in its memory counts.
func (f *follower) now() int64 {
	if f.isClosed.Load() {
		return math.MaxInt64
	}
	return clockNow()
}

func (f *follower) stop() {
	f.isClosed.Store(true)
	f.cancel()
	<-f.done
}

// Follows until the client is closed.
func (f *follower) run(ctx context.Context) {
	defer close(f.done)
	var pauses pauses
	for ctx.Err() == nil {
		heard, err := f.read(ctx)
		if ctx.Err() != nil {
			return
		}
		if heard {
			pauses.heard()
		}
		next := time.Duration(0)
		if err != nil {
			code := status.Code(err)
			if isRefusal(code) {
				f.reportOnce(code.String(), errorOf(ctx, err, ""))
			} else if errors.Is(err, errStream) || errors.Is(err, errRules) {
				f.reportOnce(err.Error(), err)
			}
			next = pauses.after(code)
		}
		select {
		case <-ctx.Done():
		case <-time.After(next):
		}
	}
}

func (f *follower) reportOnce(what string, err error) {
	if !f.reported[what] {
		f.reported[what] = true
		reportTo(f.report, err)
	}
}

// An older sidecar has no such stream, and not every caller may follow.
func isRefusal(code codes.Code) bool {
	switch code {
	case codes.Unimplemented, codes.Unauthenticated, codes.PermissionDenied:
		return true
	}
	return false
}

// Reads one stream. The error is nil if it was read for long enough.
func (f *follower) read(ctx context.Context) (heard bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := f.connect(ctx); err != nil {
		return false, err
	}
	silence := time.AfterFunc(quietMax, cancel)
	defer silence.Stop()
	request := f.memory.begin(f.now(), clock.jumped.Load())
	stream, err := f.stub.WatchChanges(ctx, request, grpc.MaxCallRecvMsgSize(rulesBytesMax))
	if err != nil {
		return false, err
	}
	for began := time.Now(); time.Since(began) < streamMax; heard = true {
		response, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return heard, status.Error(codes.Unavailable, "the sidecar ended the stream")
		}
		if err != nil {
			return heard, err
		}
		silence.Reset(quietMax)
		goesOn, err := f.memory.hear(response, f.now(), clock.jumped.Load())
		if err != nil || !goesOn {
			return heard || err == nil, err
		}
	}
	return heard, nil
}

// Waits for the connection. An answer counts from the moment of the question, so the time to connect would be lost.
func (f *follower) connect(ctx context.Context) error {
	for {
		state := f.connection.GetState()
		if state == connectivity.Ready {
			return nil
		}
		f.connection.Connect()
		if !f.connection.WaitForStateChange(ctx, state) {
			return ctx.Err()
		}
	}
}

// Answers a question that the memory could not answer. Others who ask the same wait for the answer, and then look into the memory.
func (c *Client) checkOnce(ctx context.Context, question *Question) (Answer, error) {
	f, ends := c.local, c.ends()
	asked := f.memory.asked(question, f.now())
	if asked.value != "" && asked.isFollowed {
		key := askingKey{asked.value, question.ClientAddress}
		asking, isFirst := f.ask(key)
		if isFirst {
			defer f.asked(key, asking)
		} else {
			late := time.NewTimer(time.Until(ends))
			defer late.Stop()
			select {
			case <-asking:
			case <-late.C:
				return Answer{}, errorOf(ctx, status.Error(codes.DeadlineExceeded, ""), c.address)
			case <-ctx.Done():
				return Answer{}, &Error{Code: status.FromContextError(ctx.Err()).Code(), Message: "the call was ended", cause: ctx.Err()}
			}
			asked = f.memory.asked(question, f.now())
		}
		// Another one may have had its answer just now.
		if answer := (Answer{}); f.memory.answer(question, f.now(), &answer) {
			return answer, nil
		}
	}
	response, err := c.ask(ctx, ends, question)
	if err != nil {
		return Answer{}, err
	}
	f.memory.learn(question, asked, response)
	if response.GetPosition() != nil {
		// The memory forgets it when a change touches it, and a cache would not.
		response.CacheFor = nil
	}
	return answerOf(response, question), nil
}

// Says whether a question is the first of its kind. If not, the channel is closed when the first one has its answer.
func (f *follower) ask(key askingKey) (asking chan struct{}, isFirst bool) {
	f.lock.Lock()
	defer f.lock.Unlock()
	if known, isAsked := f.asking[key]; isAsked {
		return known, false
	}
	asking = make(chan struct{})
	f.asking[key] = asking
	return asking, true
}

func (f *follower) asked(key askingKey, asking chan struct{}) {
	f.lock.Lock()
	delete(f.asking, key)
	f.lock.Unlock()
	close(asking)
}
