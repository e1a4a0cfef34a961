package gate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"
)

// Gate bounds the calls in flight. All its methods are safe for concurrent use.
//
// A Gate is a mutex around a counter, a queue and a list of slots. Whole calls
// cannot tell that from a lock-free counter, and it leaves room for priorities,
// keys and the list of holders.
type Gate struct {
	name   string
	config config
	base   time.Time // what now counts from

	observers      atomic.Pointer[[]Observer]
	observerPanics atomic.Uint64
	// clocked makes every admission read the clock, so that the age of its
	// lease is known: a maximum hold is set, or somebody looked at a Snapshot.
	clocked atomic.Bool
	// simple says that an admission has nothing to see to but the limit and the
	// observers, plain that not even these want to be asked.
	simple, plain atomic.Bool

	mu       sync.Mutex
	limit    int64
	inFlight int64  // units held
	passing  int64  // units let through by a dry run, beyond those held
	serial   uint64 // of the newest lease
	queue    queue
	free     *slot
	slots    []*slot // all there are, in no order

	// room is the number of units that calls of a level may bring the gate
	// to: the limit less what is reserved for higher levels. fastRoom is the
	// same, or -1 when a call must not be admitted on the fast path.
	room, fastRoom [levels]int64
	keyCap         int64            // 0: no cap
	keys           map[string]int64 // units in flight or waiting, none of them 0

	dryRun   bool
	draining bool
	idle     chan struct{} // closed when a draining gate is empty
	expirer  *time.Timer   // ends waits
	expiry   int64         // when expirer will, 0 if it is not set
	holdScan *time.Timer   // runs while it may find a lease held too long
	scanning bool
	pressure pressure
	totals   totals
	deferred []deferredEvent // of dry runs, told after the lock is released
}

// New makes a gate that lets up to maxInFlight units be in flight: calls, unless
// their cost says otherwise. The name appears in metrics, spans and logs.
//
// By default a call waits up to 100 ms, at most half of its remaining deadline,
// with at most maxInFlight others. It is an error, which names the option and
// the value, if the name is empty or has control characters, if maxInFlight is
// not between 1 and [MaxLimit], or if an option has a bad value.
func New(name string, maxInFlight int64, opts ...Option) (*Gate, error) {
	c := defaultConfig()
	if err := c.build(name, maxInFlight, opts); err != nil {
		return nil, fmt.Errorf("gate.New(%q): %w", name, err)
	}
	g := &Gate{name: name, config: c, base: time.Now(), limit: maxInFlight, dryRun: c.dryRun}
	if len(c.observers) > 0 {
		g.observers.Store(&c.observers)
	}
	if c.keyLimit > 0 || c.keyShare > 0 {
		g.keys = make(map[string]int64)
	}
	g.clocked.Store(c.maxHold > 0)
	g.resize()
	g.setPlain()
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

func (c *config) build(name string, maxInFlight int64, opts []Option) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := checkLimit("maxInFlight", maxInFlight); err != nil {
		return err
	}
	for i, o := range opts {
		if o == nil {
			return fmt.Errorf("option %d is nil", i)
		}
		if err := o.apply(c); err != nil {
			return err
		}
	}
	reserved := int64(0)
	for _, units := range c.reserve {
		reserved += units // at most 2 * MaxLimit, which does not overflow
	}
	if reserved >= maxInFlight {
		return fmt.Errorf("WithReserve: want less than the limit %d in all, got %d", maxInFlight, reserved)
	}
	if c.delayCeiling > 0 && c.delayCeiling < c.maxDelay {
		return fmt.Errorf("WithRetryDelayGrowth: want a ceiling of at least WithRetryDelay's maximum %s, got %s",
			c.maxDelay, c.delayCeiling)
	}
	return nil
}

func checkName(name string) error {
	if name == "" {
		return errors.New("the name is empty")
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

// Name is the gate's name.
func (g *Gate) Name() string { return g.name }

// Gates returns the gate itself: see [Policy.Gates].
func (g *Gate) Gates() []*Gate { return []*Gate{g} }

// InFlight is the number of units in use now. It is at most the limit, except
// after the limit was lowered and in a dry run.
func (g *Gate) InFlight() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inFlight + g.passing
}

// Waiting is the number of calls that wait now.
func (g *Gate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.queue.total
}

// Limit is the number of units that may be in flight.
func (g *Gate) Limit() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.limit
}

// setPlain keeps simple and plain up to date. The lock is held, or nobody else has
// the gate yet.
func (g *Gate) setPlain() {
	simple := !g.clocked.Load() && !g.dryRun && g.config.cost == nil
	g.simple.Store(simple)
	g.plain.Store(simple && g.pressureOnly())
}

// now is the time since the gate was made, in nanoseconds and never 0, so that
// 0 can stand for a time that is not known.
func (g *Gate) now() int64 { return int64(time.Since(g.base)) + 1 }

// Acquire admits the call, lets it wait, or refuses it.
//
// The error is a [*Rejection] when the call is refused, and ctx's own error when
// ctx has ended or ends during the wait; then no slot is taken. Otherwise the
// lease must be released, and covers the call until that is done: ctx has no
// say in it any more.
func (g *Gate) Acquire(ctx context.Context, call Call) (Lease, error) {
	// The common case, written out: nobody watches, and there is room. All
	// else is for acquire.
	observed := !g.plain.Load() && g.observed(ctx)
	if !observed && g.simple.Load() && ctx.Err() == nil {
		want, level := max(call.Cost, 1), call.Priority.level()
		g.mu.Lock()
		if s := g.free; s != nil && g.queue.total == 0 && want <= g.fastRoom[level]-g.inFlight {
			g.free = s.next
			g.serial++
			g.inFlight += want
			serial, inFlight := g.serial, g.inFlight+g.passing
			s.call = call
			s.cost = want
			s.serial = serial
			s.state = slotHolding
			if call.Caller != nil { // as note does
				s.noted = true
				s.ctx = ctx
			}
			g.mu.Unlock()
			return Lease{slot: s, serial: serial, gate: g, inFlight: inFlight, outcome: outcome(Accepted)}, nil
		}
		return g.acquireSlow(ctx, &arrival{call: &call, level: level, want: want}, wait{budget: g.config.maxWait})
	}
	return g.acquireAs(ctx, &call, wait{budget: g.config.maxWait}, observed)
}

// TryAcquire is an Acquire that never waits and does not look at a context.
func (g *Gate) TryAcquire(call Call) (Lease, error) {
	return g.acquire(context.Background(), &call, wait{})
}

// Do acquires, runs f and releases, also if f panics or ends its goroutine. It
// returns what f returns, or the error of [Gate.Acquire] without running f. The
// context of f carries the lease; see [LeaseFromContext].
func (g *Gate) Do(ctx context.Context, call Call, f func(context.Context) error) error {
	lease, err := g.Acquire(ctx, call)
	if err != nil {
		return err
	}
	defer lease.Release()
	return f(NewContext(ctx, lease, g))
}

// wait is how long a call may wait at a gate.
type wait struct {
	budget time.Duration // of this gate, or what is left of a chain's
	spent  time.Duration // at the gates before this one in a chain
}

func (g *Gate) acquire(ctx context.Context, call *Call, w wait) (Lease, error) {
	return g.acquireAs(ctx, call, w, g.observed(ctx))
}

// acquireAs is acquire for a call that observers want to hear of, or not.
func (g *Gate) acquireAs(ctx context.Context, call *Call, w wait, observed bool) (Lease, error) {
	if err := ctx.Err(); err != nil {
		return Lease{}, g.abandon(ctx, call, 0, observed, err)
	}
	want := call.Cost
	if g.config.cost != nil {
		want = g.config.cost(*call)
	}
	want = max(want, 1)
	level := call.Priority.level()
	var now int64
	if observed || g.clocked.Load() {
		now = g.now()
	}

	g.mu.Lock()
	if g.queue.total != 0 || want > g.fastRoom[level]-g.inFlight {
		return g.acquireSlow(ctx, &arrival{call, level, want, now, observed}, w)
	}
	s := g.takeSlot(call, level, want)
	g.hold(s, want)
	if now != 0 || call.Caller != nil {
		g.note(s, ctx, now, observed)
		g.watchHold(g.config.maxHold)
	}
	return g.accepted(ctx, s)
}
