package model

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// op is an operation. Its numbers choose among what is there when it is done, so that every subset of a list of
// operations is a list of operations too.
type op struct {
	kind    int
	a, b, c uint32
}

// kinds are the operations. An operation that has nothing to work on does nothing.
var kinds = []struct {
	name   string
	weight int
	do     func(*driver, op)
}{
	{"acquire", 340, (*driver).opAcquire},
	{"try", 60, func(d *driver, o op) { d.tryAcquire(drawCall(o, d.ref.limit)) }},
	{"refuse early", 30, func(d *driver, o op) { d.refuseEarly(drawCall(o, d.ref.limit), drawDeadline(o)) }},
	{"acquire ended", 20, func(d *driver, o op) { d.acquireEnded(drawCall(o, d.ref.limit)) }},
	{"release", 240, (*driver).opRelease},
	{"release again", 30, (*driver).opReleaseAgain},
	{"cancel", 60, (*driver).opCancel},
	{"cut off", 20, (*driver).opCutOff},
	{"cut off too late", 5, (*driver).opCutOffReleased},
	{"set limit", 40, (*driver).opSetLimit},
	{"dry run", 8, (*driver).opDryRun},
	{"drain", 2, (*driver).opDrain},
	{"reopen", 10, (*driver).opReopen},
	{"snapshot", 30, (*driver).opSnapshot},
	{"advance", 120, (*driver).opAdvance},
	{"release, then cancel at once", 30, (*driver).opReleaseThenCancel},
	{"cancel, then release at once", 30, (*driver).opCancelThenRelease},
	{"release as time is up", 30, (*driver).opReleaseAtExpiry},
}

func drawOp(r *rand.Rand) op {
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	n := r.IntN(total)
	kind := 0
	for n >= kinds[kind].weight {
		n -= kinds[kind].weight
		kind++
	}
	return op{kind: kind, a: r.Uint32(), b: r.Uint32(), c: r.Uint32()}
}

// choose takes one of the things there are, or reports that there is none.
func choose[T any](n uint32, from []T) (chosen T, ok bool) {
	if len(from) == 0 {
		return chosen, false
	}
	return from[int(n%uint32(len(from)))], true
}

func drawCall(o op, limit int64) gate.Call {
	r := rand.New(rand.NewPCG(uint64(o.a), uint64(o.b)))
	c := gate.Call{
		Priority:      pick(r, gate.Normal, gate.Normal, gate.Normal, gate.Low, gate.Critical, gate.Low-5, gate.Critical+9),
		Key:           pick(r, "", "", "ann", "bob", "eve"),
		Cost:          pick(r, 0, 1, 1, 1, 1, 2, 3, limit, limit+1, -1, math.MaxInt64, math.MinInt64),
		Size:          pick[int64](r, 0, 1, 2, 3, 100, gate.SizeUnknown, gate.SizeUnknown),
		SizeIfUnknown: pick[int64](r, 0, 1, 2, 3),
	}
	switch r.IntN(4) {
	case 0:
		c.Caller = caller{}
	case 1:
		c.RequestID, c.RemoteIP = "own", "192.0.2.1"
	}
	return c
}

type caller struct{}

func (caller) Identify(context.Context) (requestID, remoteIP string) { return "asked", "192.0.2.2" }

func (d *driver) opAcquire(o op) {
	if len(d.open(true)) > 24 { // a dry run would let them all in
		d.opRelease(o)
		return
	}
	d.acquire(drawCall(o, d.ref.limit), drawDeadline(o))
}

// drawDeadline is how much is left until it, or 0 if there is none.
func drawDeadline(o op) time.Duration {
	return []time.Duration{
		0, 0, 0, 0, 500 * time.Microsecond, 3 * time.Millisecond, 20 * time.Millisecond,
		gate.DefaultMaxWait, 300 * time.Millisecond, 10 * time.Minute, math.MaxInt64,
	}[o.c%11]
}

func (d *driver) opRelease(o op) {
	if p, ok := choose(o.a, d.open(true)); ok {
		d.release(p)
		d.ref.release(p.call)
	}
}

func (d *driver) opReleaseAgain(o op) {
	if l, ok := choose(o.a, d.past); ok {
		d.say("release once more")
		l.Release()
	}
}

// opCancel ends the context of any call. A call that has its lease does not care.
func (d *driver) opCancel(o op) {
	from := d.open(false)
	if o.b%8 == 0 {
		from = d.open(true)
	}
	p, ok := choose(o.a, from)
	if !ok {
		return
	}
	d.say("cancel %d", p.id)
	p.cancel()
	if p.state == waiting && !p.dry {
		d.ref.abandon(p.call)
	}
}

// opCutOff is for any reason. Only some of them cut a call off.
func (d *driver) opCutOff(o op) {
	p, ok := choose(o.a, d.open(true))
	if !ok {
		return
	}
	reason := gate.ReasonSlowResponse + 1 - gate.Reason(o.b%4)
	d.say("cut off %d: %s", p.id, reason)
	d.err = differ("cut off", p.lease.CutOff(reason), d.ref.cutOff(p.call, reason))
}

// opCutOffReleased is for a lease that was released.
func (d *driver) opCutOffReleased(o op) {
	if l, ok := choose(o.a, d.past); ok {
		d.err = differ("cut off after the release", l.CutOff(gate.ReasonSlowRequest), false)
	}
}

func (d *driver) opSetLimit(o op) {
	n := int64(1 + o.a%8)
	if o.b%16 == 0 {
		n = 1 << 55
	}
	d.say("set limit %d", n)
	d.err = d.gate.SetLimit(n)
	d.ref.setLimit(n)
}

func (d *driver) opDryRun(op) {
	d.ref.dryRun = !d.ref.dryRun
	d.say("dry run %t", d.ref.dryRun)
	d.gate.SetDryRun(d.ref.dryRun)
}

func (d *driver) opDrain(op) {
	d.say("drain")
	ctx, cancel := context.WithCancel(context.Background())
	w := &drain{cancel: cancel, emptied: d.ref.emptied}
	if d.ref.empty() {
		w.emptied--
	}
	d.drains = append(d.drains, w)
	go func() {
		w.err = d.gate.Drain(ctx)
		w.ended = true
	}()
	d.ref.drain()
}

// opReopen undoes a drain, and ends the calls of Drain that still wait.
func (d *driver) opReopen(op) {
	d.say("reopen")
	if err := d.gate.Reopen(); (err == nil) != d.ref.draining {
		d.wrong = fmt.Errorf("reopen: %v, draining %t", err, d.ref.draining)
	}
	for _, w := range d.drains {
		if d.ref.emptied <= w.emptied {
			w.reopened = true
		}
	}
	d.ref.reopen()
}

func (d *driver) opAdvance(o op) {
	by := []time.Duration{
		1, 100 * time.Microsecond, time.Millisecond, 7 * time.Millisecond, 40 * time.Millisecond, 2 * gate.DefaultMaxWait,
	}[o.a%6] + time.Duration(o.b%1000)
	d.say("advance %s", by)
	d.advance(by)
}

// opReleaseThenCancel lets the front waiter be granted and cancelled at the same time. Whether it got its lease is
// asked of the gate; either is right, but no unit may be lost over it.
func (d *driver) opReleaseThenCancel(o op) {
	w, h, ok := d.frontAndHolder(o)
	if !ok {
		return
	}
	d.say("release %d and cancel %d", h.id, w.id)
	d.loosen()
	d.release(h)
	w.cancel()
	synctest.Wait()
	d.counts.Races++
	if w.returned() && w.err != nil {
		d.ref.abandon(w.call)
	} else {
		d.counts.RacesWon++
	}
	d.ref.release(h.call)
}

// opCancelThenRelease cancels any waiter, then makes room before it could leave. It must not take a slot.
func (d *driver) opCancelThenRelease(o op) {
	w, ok := choose(o.b, d.open(false))
	h, held := choose(o.a, d.open(true))
	if !ok || !held {
		return
	}
	d.say("cancel %d and release %d", w.id, h.id)
	d.loosen()
	w.cancel()
	d.release(h)
	d.ref.abandon(w.call)
	d.ref.release(h.call)
}

// opReleaseAtExpiry makes room at the very instant at which the front waiter's time is up.
func (d *driver) opReleaseAtExpiry(o op) {
	w, h, ok := d.frontAndHolder(o)
	if !ok || d.ref.nextExpiry() != w.call {
		return
	}
	d.say("release %d as the time of %d is up", h.id, w.id)
	d.loosen()
	<-time.After(w.expiry - d.ref.now)
	d.release(h)
	synctest.Wait()
	d.counts.Races++
	d.ref.now = w.expiry
	if w.returned() && w.err != nil {
		d.timeUp(w.call)
	} else {
		d.counts.RacesWon++
	}
	d.ref.release(h.call)
}

// frontAndHolder are a waiting goroutine whose turn it is, and somebody who can make room for it.
func (d *driver) frontAndHolder(o op) (front, holder *pair, ok bool) {
	c := d.ref.front()
	if c == nil || c.dry {
		return nil, nil, false
	}
	holder, ok = choose(o.a, d.open(true))
	return d.pairOf(c), holder, ok
}
