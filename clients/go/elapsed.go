package portcullis

import (
	"sync/atomic"
	"time"
)

// Clocks that part by more than this do not only drift.
const jumpMax = int64(500 * time.Millisecond)

// How much time has passed, by the longer of a monotonic clock and the wall clock: the monotonic clock of Linux stands still while a
// machine sleeps. It never goes back, so nothing lasts longer because the wall clock was set. Times are in nanoseconds.
type elapsed struct {
	// The total by which the wall clock overtook the monotonic one.
	jumped atomic.Int64
	// The lead of the wall clock over this one.
	ahead atomic.Int64
}

func newElapsed(wall, monotonic int64) *elapsed {
	made := &elapsed{}
	made.ahead.Store(wall - monotonic)
	return made
}

func (e *elapsed) read(wall, monotonic int64) int64 {
	ahead, jumped := e.ahead.Load(), e.jumped.Load()
	parted := wall - ahead - monotonic - jumped
	if parted < -jumpMax {
		// It was set back: from now on they go together again.
		e.ahead.CompareAndSwap(ahead, ahead+parted)
	}
	for most := jumped + parted; most > jumped; jumped = e.jumped.Load() {
		if e.jumped.CompareAndSwap(jumped, most) {
			return monotonic + most
		}
	}
	return monotonic + jumped
}

var (
	clockBegan = time.Now()
	clock      = newElapsed(clockBegan.UnixNano(), 0)
)

// The time since the program began.
func clockNow() int64 {
	// It reads the wall clock first, which must not be ahead because the program was interrupted in between.
	both := time.Now()
	return clock.read(both.UnixNano(), int64(both.Sub(clockBegan)))
}
