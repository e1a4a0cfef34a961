package model

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// driver does the same to a gate and to the reference. It lives in one synctest bubble.
type driver struct {
	gate    *gate.Gate
	ref     *reference
	check   func(*gate.Gate) error // more to check after each step, or nil
	pairs   []*pair                // calls that are not over
	past    []gate.Lease           // released, to be released again
	drains  []*drain
	wrong   error // that an operation found by itself
	calls   int
	snapped bool // a Snapshot was taken, so from now on every admission is clocked
	counts  Counts
	err     error        // of a step
	trace   func(string) // nil: nobody listens

	mu     sync.Mutex // of what observers write
	byID   map[int]*pair
	told   int
	panics uint64
}

// pair is one call, in the reference and in the gate.
type pair struct {
	*call
	asked    gate.Call
	ctx      context.Context
	cancel   context.CancelFunc
	deadline time.Duration // 0: none
	ageFrom  time.Duration // what its age counts from; -1: the next Snapshot

	// lease and err are there when done is closed.
	lease  gate.Lease
	err    error
	done   chan struct{}
	judged bool
	loose  bool // in flight depends on who of several came first

	decisions, releases, holds []gate.Event
}

// returned reports whether Acquire has.
func (p *pair) returned() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

type drain struct {
	cancel   context.CancelFunc
	emptied  int  // of the reference, when it began
	reopened bool // before the gate was empty
	ended    bool
	err      error
}

func newDriver(c config, check func(*gate.Gate) error, trace func(string)) (*driver, error) {
	d := &driver{ref: newReference(c), check: check, trace: trace, byID: map[int]*pair{}}
	g, err := gate.New("model", c.limit, c.options(d.onEvent)...)
	d.gate = g
	return d, err
}

func (d *driver) say(format string, args ...any) {
	if d.trace != nil {
		d.trace(fmt.Sprintf("%12s  ", d.ref.now) + fmt.Sprintf(format, args...))
	}
}

// onEvent notes what the gate tells, and panics now and then.
func (d *driver) onEvent(_ context.Context, e gate.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, _ := strconv.Atoi(strings.TrimPrefix(e.Call.Route, "/call/"))
	p := d.byID[id]
	switch e.Kind {
	case gate.EventDecision:
		p.decisions = append(p.decisions, e)
	case gate.EventRelease:
		p.releases = append(p.releases, e)
	case gate.EventMaxHold:
		p.holds = append(p.holds, e)
	}
	d.told++
	if d.ref.panics && d.told%7 == 0 {
		d.panics++
		panic("an observer's panic")
	}
}

// step does one operation and compares.
func (d *driver) step(o op) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	kinds[o.kind].do(d, o)
	synctest.Wait()
	d.counts.Steps++
	if d.err == nil && d.check != nil {
		d.err = d.check(d.gate)
	}
	return cmp.Or(d.err, d.compare())
}

// advance moves the time.
func (d *driver) advance(by time.Duration) {
	<-time.After(by)
	synctest.Wait()
	d.catchUp(d.ref.now + by)
}

// catchUp moves the reference's time. No two waits end at the same instant: see acquire.
func (d *driver) catchUp(to time.Duration) {
	for c := d.ref.nextExpiry(); c != nil && c.expiry <= to; c = d.ref.nextExpiry() {
		d.ref.now = c.expiry
		d.timeUp(c)
	}
	d.ref.now = to
}

// timeUp ends the wait of a call. If its deadline is over at the same instant, either may be the reason.
func (d *driver) timeUp(c *call) {
	p := d.pairOf(c)
	if p.deadline == c.expiry && p.returned() && p.err == p.ctx.Err() {
		d.ref.abandon(c)
		return
	}
	d.ref.expire(c)
}

func (d *driver) pairOf(c *call) *pair {
	return d.pairs[slices.IndexFunc(d.pairs, func(p *pair) bool { return p.call == c })]
}

// acquire lets a call arrive, which gives up when its deadline is so far away, if it has one.
func (d *driver) acquire(asked gate.Call, left time.Duration) {
	budget, tooShort := d.ref.budget(left, left > 0)
	for slices.ContainsFunc(d.ref.all(waiting), func(c *call) bool { return c.expiry == d.ref.now+budget }) {
		d.advance(1)
	}
	p := d.newPair(asked)
	if left > 0 {
		p.deadline = d.ref.now + left
		p.ctx, p.cancel = context.WithTimeout(context.Background(), left)
	} else {
		p.ctx, p.cancel = context.WithCancel(context.Background())
	}
	d.ref.arrive(p.call, budget, tooShort)
	d.say("call %d: %+v, deadline in %s -> %s", p.id, short(asked), left, p.state)
	if p.state != waiting || p.dry {
		p.lease, p.err = d.gate.Acquire(p.ctx, p.asked)
		close(p.done)
		return
	}
	go func() {
		defer close(p.done)
		p.lease, p.err = d.gate.Acquire(p.ctx, p.asked)
	}()
}

func (d *driver) tryAcquire(asked gate.Call) {
	p := d.newPair(asked)
	p.ctx, p.cancel = context.Background(), func() {}
	d.ref.arrive(p.call, 0, false)
	d.say("call %d tries: %+v -> %s", p.id, short(asked), p.state)
	p.lease, p.err = d.gate.TryAcquire(p.asked)
	close(p.done)
}

// refuseEarly asks whether a call would be refused at once. If so it counts as one that was; if not, nothing happens.
func (d *driver) refuseEarly(asked gate.Call, left time.Duration) {
	p := d.newPair(asked)
	p.ctx, p.cancel = context.WithCancel(context.Background())
	if left > 0 {
		p.ctx, p.cancel = context.WithTimeout(p.ctx, left)
	}
	budget, tooShort := d.ref.budget(left, left > 0)
	verdict, reason := d.ref.judge(p.call, budget, tooShort)
	d.say("would call %d be refused: %+v, deadline in %s -> %s", p.id, short(asked), left, reason)
	p.err = d.gate.RefuseEarly(p.ctx, p.asked)
	close(p.done)
	if verdict == gone && !d.ref.dryRun {
		p.start = d.ref.now
		d.ref.reject(p.call, reason)
		return
	}
	d.err = p.err
	d.pairs = d.pairs[:len(d.pairs)-1]
	p.cancel()
}

// acquireEnded lets a call arrive that has ended already.
func (d *driver) acquireEnded(asked gate.Call) {
	p := d.newPair(asked)
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.cancel()
	p.start = d.ref.now
	d.ref.abandon(p.call)
	d.say("call %d, ended: %+v", p.id, short(asked))
	p.lease, p.err = d.gate.Acquire(p.ctx, p.asked)
	close(p.done)
}

func (d *driver) newPair(asked gate.Call) *pair {
	d.calls++
	asked.Route = "/call/" + strconv.Itoa(d.calls)
	p := &pair{asked: asked, done: make(chan struct{}), ageFrom: -1, call: &call{
		id: d.calls, level: min(max(asked.Priority, gate.Low), gate.Critical), key: asked.Key, want: max(asked.Cost, 1),
	}}
	if d.ref.costBySize {
		p.want = sizeOf(asked)
	}
	d.pairs = append(d.pairs, p)
	d.mu.Lock()
	d.byID[p.id] = p
	d.mu.Unlock()
	return p
}

// sizeOf is what a call of the given size costs at a gate that counts bytes.
func sizeOf(c gate.Call) int64 {
	switch {
	case c.Size >= 0:
		return max(c.Size, 1)
	case c.SizeIfUnknown > 0:
		return c.SizeIfUnknown
	default:
		return gate.DefaultUnknownSize
	}
}

// short is a call without what is the same for all.
func short(c gate.Call) string {
	return fmt.Sprintf("%s cost=%d size=%d (%d) key=%q", c.Priority, c.Cost, c.Size, c.SizeIfUnknown, c.Key)
}

// release gives a lease back.
func (d *driver) release(p *pair) {
	d.say("release %d", p.id)
	p.lease.Release()
	d.past = append(d.past, p.lease)
}

// open are the calls in some of the states; only those without a lease, or only those with one.
func (d *driver) open(leased bool) []*pair {
	var found []*pair
	for _, p := range d.pairs {
		if p.state != gone && leased == (p.state != waiting || p.dry) {
			found = append(found, p)
		}
	}
	return found
}

// loosen is for steps in which several things happen at once: what was in flight in between is anybody's guess.
func (d *driver) loosen() {
	for _, p := range d.open(false) {
		p.loose = true
	}
}

// finish ends everything in an orderly way: what waits runs out of time, what is held is given back.
func (d *driver) finish() error {
	for c := d.ref.nextExpiry(); c != nil; c = d.ref.nextExpiry() {
		d.advance(c.expiry - d.ref.now)
		if err := d.compare(); err != nil {
			return err
		}
	}
	for _, p := range d.open(true) {
		d.release(p)
		d.ref.release(p.call)
		synctest.Wait()
		if err := d.compare(); err != nil {
			return err
		}
	}
	if s := d.gate.Snapshot(); s.InFlight != 0 || s.Waiting != 0 || s.Keys != 0 || len(s.Holders) != 0 {
		return fmt.Errorf("at the end: %+v, want nothing in flight, waiting or booked", s)
	}
	return nil
}

// abort ends everything somehow after an error, so that no goroutine is left in the bubble.
func (d *driver) abort(t *testing.T, err error) {
	for _, p := range d.pairs {
		p.cancel()
	}
	for _, w := range d.drains {
		w.cancel()
	}
	<-time.After(24 * time.Hour)
	synctest.Wait()
	for _, p := range d.pairs {
		if p.returned() {
			p.lease.Release()
		} else {
			t.Logf("call %d waits for ever: the bubble will end with a panic, after %v", p.id, err)
		}
	}
	synctest.Wait()
}
