package conformance

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
)

func refusalCases() []Case {
	return []Case{
		{Name: "RefusedAtTheLimit", Run: refusedLimit},
		{Name: "RefusedWhenTheQueueIsFull", Run: refusedQueueFull},
		{Name: "RefusedAfterTheWait", Run: refusedTimeout},
		{Name: "RefusedForItsKey", Run: refusedKey},
		{Name: "RefusedForItsDeadline", Run: refusedDeadline},
		{Name: "RefusedAsUnavailable", Run: refusedUnavailable},
		{Name: "RefusedAsUnimplementedAndNotRetried", Run: refusedUnimplemented},
		{Name: "RefusedAsTheRuleOfTheRouteSays", Run: refusedByRule},
		{Name: "DelayIsDrawnAnewFromTheRange", Shapes: []Shape{Unary}, Run: delays},
		{Name: "NearDeadlineForbidsRetry", Run: nearDeadline},
		{Name: "RequestIdIsKeptOrMade", Run: requestIDs},
		{Name: "StateIsToldOnlyWhenAskedFor", Run: state},
	}
}

// expectation is what a refusal must look like.
type expectation struct {
	code     uint32
	http     int
	reason   string // of ErrorInfo
	min, max time.Duration
	noRetry  bool
}

func busy(reason string) expectation {
	return expectation{
		code: codeResourceExhausted, http: 429, reason: reason,
		min: gate.DefaultMinRetryDelay, max: gate.DefaultMaxRetryDelay,
	}
}

// checkRefusal checks the parts of a refusal that the host can carry.
func (e *Env) checkRefusal(f *Failure, shape Shape, want expectation) {
	e.Helper()
	can := e.Host.Carriers(shape)
	if can.Code && f.Code != want.code {
		e.Errorf("code %d, want %d", f.Code, want.code)
	}
	if can.HTTPStatus && f.HTTPStatus != want.http {
		e.Errorf("HTTP status %d, want %d", f.HTTPStatus, want.http)
	}
	if can.HTTPStatus && !slices.Equal(f.CacheControl, []string{"no-store"}) {
		e.Errorf("Cache-Control %q, want no-store: a refusal is for one client", f.CacheControl)
	}
	if can.Message && f.Message != "server busy" {
		e.Errorf("text %q, want server busy", f.Message)
	}
	for _, internal := range []string{secret, "in_flight", "in flight"} {
		if strings.Contains(f.Dump, internal) {
			e.Errorf("the client sees %q in\n%s", internal, f.Dump)
		}
	}
	delay := time.Duration(-1) // unknown
	if can.Details {
		if f.RetryInfo == nil || f.ErrorInfo == nil || f.RequestInfo == nil {
			e.Fatalf("a detail is missing: %v, %v, %v", f.RetryInfo, f.ErrorInfo, f.RequestInfo)
		}
		if f.ErrorInfo.Reason != want.reason || f.ErrorInfo.Domain != "rpcgate" || len(f.ErrorInfo.Metadata) != 0 {
			e.Errorf("ErrorInfo %v, want reason %s, domain rpcgate and no metadata", f.ErrorInfo, want.reason)
		}
		if f.RequestInfo.RequestId == "" {
			e.Error("RequestInfo without an id")
		}
		delay = f.RetryInfo.RetryDelay.AsDuration()
		if delay < want.min || delay > want.max {
			e.Errorf("delay %s, want %s to %s", delay, want.min, want.max)
		}
	}
	if can.Pushback {
		e.checkPushback(f, delay, want)
	}
	if can.RetryAfter {
		e.checkRetryAfter(f, delay, want)
	}
}

func (e *Env) checkPushback(f *Failure, delay time.Duration, want expectation) {
	e.Helper()
	if len(f.Pushback) != 1 {
		e.Fatalf("pushback %q, want exactly one value", f.Pushback)
	}
	ms, err := strconv.Atoi(f.Pushback[0])
	switch {
	case err != nil:
		e.Errorf("pushback %q is no number", f.Pushback[0])
	case want.noRetry:
		if ms != -1 {
			e.Errorf("pushback %d, want -1", ms)
		}
	case delay >= 0 && time.Duration(ms)*time.Millisecond != delay:
		e.Errorf("pushback %d ms, but RetryInfo says %s", ms, delay)
	}
}

func (e *Env) checkRetryAfter(f *Failure, delay time.Duration, want expectation) {
	e.Helper()
	if len(f.RetryAfter) != 1 {
		e.Fatalf("Retry-After %q, want exactly one value", f.RetryAfter)
	}
	seconds, err := strconv.Atoi(f.RetryAfter[0])
	if err != nil {
		e.Fatalf("Retry-After %q is no number", f.RetryAfter[0])
	}
	least, most := rounded(want.min, want.max, want.reason)
	if delay >= 0 {
		least, most = rounded(delay, delay, want.reason)
	}
	if seconds < least || seconds > most {
		e.Errorf("Retry-After %d s, want %d to %d; RetryInfo says %s", seconds, least, most, delay)
	}
}

// rounded is the range of whole seconds for a delay from low to high. A delay is rounded
// up or down, and down while the gate drains.
func rounded(low, high time.Duration, reason string) (least, most int) {
	if reason == "DRAINING" {
		return int(low.Seconds()), int(high.Seconds())
	}
	return max(1, int(low.Seconds())), max(1, int(math.Ceil(high.Seconds())))
}

func refusedLimit(e *Env) {
	g := e.gate(gate.WithMaxWait(0))
	defer e.fill(g)()
	start := time.Now()
	e.checkRefusal(e.refused(e.Context(), e.start(g, e.unreachable()), nil), e.Shape, busy("LIMIT"))
	e.took(start, 0)
	e.totals(g, 1, 1, 0)
}

// unreachable is the handler of a call that is refused.
func (e *Env) unreachable() Handler {
	return func(context.Context, Shape, Stream) error {
		e.Error("the handler of a refused call ran")
		return nil
	}
}

func refusedQueueFull(e *Env) {
	g := e.gate(gate.WithMaxWaiting(1), gate.WithMaxWait(time.Minute))
	release := e.fill(g)
	c := e.start(g, nil)
	waiting := e.background(func() error {
		_, err := e.call(e.Context(), c, "hello")
		return err
	})
	start := time.Now()
	e.checkRefusal(e.refused(e.Context(), c, nil), e.Shape, busy("QUEUE_FULL"))
	e.took(start, 0)
	release()
	if err := waiting(); err != nil {
		e.Error(err)
	}
}

func refusedTimeout(e *Env) {
	g := e.gate()
	defer e.fill(g)()
	start := time.Now()
	e.checkRefusal(e.refused(e.Context(), e.start(g, e.unreachable()), nil), e.Shape, busy("WAIT_TIMEOUT"))
	e.took(start, gate.DefaultMaxWait)
}

func refusedKey(e *Env) {
	g, err := gate.New(secret, 10, gate.WithKeyLimit(1))
	if err != nil {
		e.Fatal(err)
	}
	lease, err := g.TryAcquire(gate.Call{Key: "a"})
	if err != nil {
		e.Fatal(err)
	}
	defer lease.Release()
	c := e.start(g, e.unreachable(), interceptor.WithKeyFromHeader("X-Tenant"))
	f := e.refused(e.Context(), c, map[string]string{"x-tenant": "a"})
	e.checkRefusal(f, e.Shape, busy("KEY_LIMIT"))
}

func refusedDeadline(e *Env) {
	g := e.gate()
	defer e.fill(g)()
	ctx, cancel := context.WithTimeout(e.Context(), time.Millisecond)
	defer cancel()
	want := busy("DEADLINE")
	want.noRetry = true
	e.checkRefusal(e.refused(ctx, e.start(g, e.unreachable()), nil), e.Shape, want)
}

// refusedByRule has a route whose rule says how long its calls wait and how they are
// refused.
func refusedByRule(e *Env) {
	const wait, delay = 250 * time.Millisecond, 17 * time.Second
	g := e.gate()
	defer e.fill(g)()
	p, err := gate.NewPolicy(gate.Route("*", g),
		gate.Route(e.Shape.Route(), g).MaxWait(wait).RetryDelay(delay, delay).Refusal(gate.ServiceUnavailable))
	if err != nil {
		e.Fatal(err)
	}
	want := busy("WAIT_TIMEOUT")
	want.code, want.http, want.min, want.max = codeUnavailable, 503, delay, delay
	start := time.Now()
	e.checkRefusal(e.refused(e.Context(), e.start(p, e.unreachable()), nil), e.Shape, want)
	e.took(start, wait)
}

func refusedUnavailable(e *Env) {
	g := e.gate(gate.WithMaxWait(0), gate.WithRefusal(gate.ServiceUnavailable))
	defer e.fill(g)()
	want := busy("LIMIT")
	want.code, want.http = codeUnavailable, 503
	e.checkRefusal(e.refused(e.Context(), e.start(g, e.unreachable()), nil), e.Shape, want)
}

func refusedUnimplemented(e *Env) {
	g := e.gate(gate.WithMaxWait(0), gate.WithRefusal(gate.Unimplemented))
	defer e.fill(g)()
	want := busy("LIMIT")
	want.code, want.http, want.noRetry = codeUnimplemented, 501, true
	e.checkRefusal(e.refused(e.Context(), e.start(g, e.unreachable()), nil), e.Shape, want)
}

func delays(e *Env) {
	g := e.gate(gate.WithMaxWait(0), gate.WithRetryDelay(1500*time.Millisecond, 7*time.Second))
	defer e.fill(g)()
	c := e.start(g, nil)
	want := busy("LIMIT")
	want.min, want.max = 1500*time.Millisecond, 7*time.Second
	seen := map[string]bool{}
	for range 20 {
		f := e.refused(e.Context(), c, nil)
		e.checkRefusal(f, e.Shape, want)
		seen[f.RetryInfo.GetRetryDelay().AsDuration().String()+strings.Join(f.RetryAfter, "")] = true
	}
	if len(seen) < 3 {
		e.Errorf("20 refusals with the delays %v: clients would come back together", seen)
	}
}

func nearDeadline(e *Env) {
	g := e.gate(gate.WithMaxWait(0))
	defer e.fill(g)()
	c := e.start(g, e.unreachable())
	want := busy("LIMIT")
	want.noRetry = true
	ctx, cancel := context.WithTimeout(e.Context(), 900*time.Millisecond)
	defer cancel()
	e.checkRefusal(e.refused(ctx, c, nil), e.Shape, want)

	far, cancelFar := context.WithTimeout(e.Context(), time.Minute)
	defer cancelFar()
	e.checkRefusal(e.refused(far, c, nil), e.Shape, busy("LIMIT"))
}

func requestIDs(e *Env) {
	var told []string
	g := e.gate(gate.WithMaxWait(0), gate.WithOnEvent(func(_ context.Context, ev gate.Event) {
		if ev.Rejection != nil {
			told = append(told, ev.Rejection.RequestID)
		}
	}))
	defer e.fill(g)()
	c := e.start(g, e.unreachable())
	kept := e.refused(e.Context(), c, map[string]string{"x-request-id": "req-7"})
	made := e.refused(e.Context(), c, nil)
	if len(told) != 2 || told[0] != "req-7" || told[1] == "" {
		e.Fatalf("the gate told the request ids %q", told)
	}
	if !e.Host.Carriers(e.Shape).Details {
		return
	}
	if got := kept.RequestInfo.GetRequestId(); got != "req-7" {
		e.Errorf("request id %q, want the client's own", got)
	}
	if got := made.RequestInfo.GetRequestId(); got != told[1] {
		e.Errorf("request id %q, want that of the event, %q", got, told[1])
	}
}

func state(e *Env) {
	if !e.Host.Carriers(e.Shape).Details {
		return // checkRefusal looks for it in all other cases
	}
	g := e.gate(gate.WithMaxWait(0))
	defer e.fill(g)()
	f := e.refused(e.Context(), e.start(g, e.unreachable(), interceptor.WithStateInDetails()), nil)
	got := f.ErrorInfo.GetMetadata()
	if len(got) != 3 || got["gate"] != secret || got["in_flight"] != "1" || got["limit"] != "1" {
		e.Errorf("metadata %v, want gate, in_flight and limit", got)
	}
}
