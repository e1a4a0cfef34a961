package otelgate

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/rpcgate/rpcgate/gate"
)

// routes has the routes of one gate, up to a number, with their attribute sets. To
// find one takes no lock and allocates nothing. It is safe for concurrent use.
type routes struct {
	gate  string
	most  int
	other *route

	mu    sync.Mutex                        // held to add to known
	known atomic.Pointer[map[string]*route] // copied when one is added
}

func newRoutes(gateName string, most int) *routes {
	t := &routes{gate: gateName, most: most, other: newRoute(gateName, OtherMethod)}
	t.known.Store(&map[string]*route{})
	return t
}

// find returns the call's route, or the one that stands for all the routes that are
// not told apart.
func (t *routes) find(call *gate.Call) *route {
	if call.UnknownRoute {
		return t.other
	}
	known := *t.known.Load()
	if r := known[call.Route]; r != nil {
		return r
	}
	if len(known) >= t.most {
		return t.other
	}
	return t.add(call.Route)
}

func (t *routes) add(name string) *route {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := *t.known.Load()
	if r := known[name]; r != nil {
		return r
	}
	if len(known) >= t.most {
		return t.other
	}
	// A copy, as the name may be a part of something large.
	name = strings.Clone(name)
	r := newRoute(t.gate, methodOf(name))
	known = maps.Clone(known)
	known[name] = r
	t.known.Store(&known)
	return r
}

// methodOf returns a route as a value of [KeyMethod].
func methodOf(route string) string { return strings.TrimPrefix(route, "/") }

// route has the attribute sets of one route at one gate.
type route struct {
	gate, method string
	lease        []metric.RecordOption
	tooLong      []metric.AddOption
	outcomes     [outcomes]atomic.Pointer[series] // made when first needed
	mean         mean                             // of the times that leases are held
}

// series is one outcome of a route.
type series struct {
	calls  atomic.Int64 // that have not been added to the counter yet
	add    []metric.AddOption
	record []metric.RecordOption
}

// outcomes is how many there may be: four decisions, each with up to 16 reasons, each
// of these in a dry run or not.
const outcomes = 4 * 16 * 2

func newRoute(gateName, method string) *route {
	r := &route{gate: gateName, method: method}
	set := metric.WithAttributeSet(attribute.NewSet(r.attributes()...))
	r.lease, r.tooLong = []metric.RecordOption{set}, []metric.AddOption{set}
	return r
}

// held are the attributes of the time that a lease was held. Few calls are cut off.
func (r *route) held(cutOff gate.Reason) []metric.RecordOption {
	if cutOff == 0 {
		return r.lease
	}
	attrs := append(r.attributes(), KeyReason.String(cutOff.String()))
	return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attrs...))}
}

// attributes returns those of all measurements of the route, with room for more.
func (r *route) attributes() []attribute.KeyValue {
	attrs := append(make([]attribute.KeyValue, 0, 5), KeyGateName.String(r.gate))
	if r.method != "" {
		attrs = append(attrs, KeyMethod.String(r.method))
	}
	return attrs
}

// outcome returns the series of the decision that the event tells of.
func (r *route) outcome(e *gate.Event) *series {
	i := int(e.Decision-gate.Accepted)&3<<5 | int(e.Reason)&15<<1
	if e.DryRun {
		i |= 1
	}
	if s := r.outcomes[i].Load(); s != nil {
		return s
	}
	attrs := append(r.attributes(), KeyDecision.String(e.Decision.String()))
	if e.Reason != 0 {
		attrs = append(attrs, KeyReason.String(e.Reason.String()))
	}
	if e.DryRun {
		attrs = append(attrs, KeyDryRun.Bool(true))
	}
	set := metric.WithAttributeSet(attribute.NewSet(attrs...))
	s := &series{add: []metric.AddOption{set}, record: []metric.RecordOption{set}}
	if !r.outcomes[i].CompareAndSwap(nil, s) {
		return r.outcomes[i].Load()
	}
	return s
}

// each calls f for every series that there is.
func (t *routes) each(f func(*series)) {
	t.other.each(f)
	for _, r := range *t.known.Load() {
		r.each(f)
	}
}

func (r *route) each(f func(*series)) {
	for i := range r.outcomes {
		if s := r.outcomes[i].Load(); s != nil {
			f(s)
		}
	}
}
