package gate

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"
)

// Gate bounds the units in flight. All its methods are safe for concurrent use.
//
// A Gate is a mutex around a counter, a queue and a list of slots. A lock-free
// counter would make no difference to whole calls, and the mutex leaves room for
// priorities, keys and the list of holders.
//
// A Gate is made by [New]. The zero Gate admits no call.
type Gate struct {
	name string
	rank rank
	base time.Time // the start of the gate's time scale; see moment

	settings       atomic.Pointer[settings] // replaced whole, under the lock
	observers      atomic.Pointer[[]registered]
	observerPanics atomic.Uint64
	// clocked makes every admission read the clock, so that the age of its
	// lease is known: a maximum hold is set, or a Snapshot was taken.
	clocked atomic.Bool
	// identifies says that an observer writes down ids; see Event.Identified.
	identifies atomic.Bool

	// Guarded by mu, as is all that follows duties. These change rarely, or
	// only for calls that wait.
	limit     int64
	room      [levels]int64 // the units that calls of a level may bring the gate to
	keyCap    int64         // 0: no cap
	keys      map[string]int64
	dryRun    bool
	drain     drain
	expiry    expiry
	holdWatch holdWatch
	pressure  pressure
	totals    totals
	deferred  []deferredEvent // for after the lock is released
	slots     []*slot         // all there are, in no order

	turnedAway int // slots whose goroutine has yet to hear of a rejection
	shadows    int // slots in the queue whose calls a dry run has let through

	_ [64]byte // what follows changes with each call, so it shares a line of the cache

	// duties says what an admission must see to beyond the limit; see duty.
	duties   atomic.Uint32
	mu       sync.Mutex
	inFlight int64  // units held
	serial   uint64 // of the newest lease
	free     *slot  // the free slots, spare in number
	spare    int
	passing  int64         // units let through by a dry run, beyond those held
	fastRoom [levels]int64 // room, or -1 where a call must not be admitted on the fast path
	draining bool
	queue    queue
}

// New makes a gate that lets up to maxInFlight units be in flight: calls, unless
// their cost says otherwise. The name appears in metrics, spans and logs.
//
// By default a call waits up to 100 ms, at most half of its remaining deadline,
// with as many others as fit into the limit, at least 16. It is an error, which names
// each bad option and its value, if the name is empty or has control characters, if
// maxInFlight is not between 1 and [MaxLimit], or if an option has a bad value.
func New(name string, maxInFlight int64, opts ...Option) (*Gate, error) {
	set, err := newSettings(maxInFlight, opts)
	if err := errors.Join(checkName(name), err); err != nil {
		return nil, fmt.Errorf("gate.New(%q): %w", name, err)
	}
	g := &Gate{name: name, rank: newRank(maxInFlight), base: time.Now(), limit: maxInFlight, dryRun: set.dryRun}
	g.settings.Store(set)
	if len(set.observers) > 0 {
		g.observers.Store(&set.observers)
	}
	if set.usesKeys() {
		g.keys = make(map[string]int64)
	}
	g.clocked.Store(set.maxHold > 0)
	g.resizeLocked()
	g.setDutiesLocked()
	return g, nil
}

// Must returns g, or panics if err is not nil. It is for gates that a program
// makes at its start:
//
//	var db = gate.Must(gate.New("orders-db", 16))
func Must(g *Gate, err error) *Gate {
	if err != nil {
		panic(err)
	}
	return g
}

func checkName(name string) error {
	if strings.TrimSpace(name) == "" {
		return fmt.Errorf("the name is empty: %q", name)
	}
	if len(name) > 128 {
		return fmt.Errorf("the name is longer than 128 bytes: %d", len(name))
	}
	if !utf8.ValidString(name) {
		return fmt.Errorf("the name is not valid UTF-8: %q", name)
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("the name has a character that cannot be printed: %q", r)
		}
	}
	return nil
}

func checkLimit(what string, n int64) error {
	if n < 1 || n > MaxLimit {
		return fmt.Errorf("%s: want 1 to %d, got %d", what, int64(MaxLimit), n)
	}
	return nil
}

// Name returns the gate's name.
func (g *Gate) Name() string { return g.name }

// Gates returns the gate itself: see [GateLister].
func (g *Gate) Gates() []*Gate { return []*Gate{g} }

// InFlight returns the number of units in use now. It is at most the limit, except
// after the limit was lowered and in a dry run.
func (g *Gate) InFlight() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inFlight + g.passing
}

// Waiting returns the number of calls that wait now.
func (g *Gate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.queue.total
}

// Limit returns the number of units that may be in flight.
func (g *Gate) Limit() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.limit
}

// The bits of duties. The lowest two are the greatest interest of the observers
// whose interest is fixed: an ObserveAll there, or any other bit, closes the fast
// path.
const (
	dutyInterest = uint32(ObserveTrouble | ObserveAll)
	dutyAsk      = 1 << 2 // ask observers for their interest
	dutyClock    = 1 << 3 // read the clock
	dutyWeigh    = 1 << 4 // call the functions for the cost or for the cap of a key
	dutyDryRun   = 1 << 5

	dutySlow = dutyClock | dutyWeigh | dutyDryRun
)

// setDutiesLocked keeps duties up to date.
func (g *Gate) setDutiesLocked() {
	var fixed Interest
	var duties uint32
	if observers := g.observers.Load(); observers != nil {
		for _, o := range *observers {
			if o.interest&ObserveFixed == 0 {
				duties |= dutyAsk
			} else {
				fixed = max(fixed, o.interest.level())
			}
		}
	}
	if g.clocked.Load() {
		duties |= dutyClock
	}
	if set := g.set(); set.cost != nil || set.keyLimitFunc != nil {
		duties |= dutyWeigh
	}
	if g.dryRun {
		duties |= dutyDryRun
	}
	g.duties.Store(duties | uint32(fixed))
}
