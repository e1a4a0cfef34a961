package gatedebug

import (
	"strings"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/internal/clean"
)

const (
	// maxRoutes is how many routes of a gate are counted separately.
	maxRoutes = 50
	// otherRoute is the name of all other routes together.
	otherRoute = "_OTHER"
	// idleSamples is how many samples a route may have no call before it makes
	// room for another one.
	idleSamples = 60
)

// route counts the calls of a route since the last sample.
type route struct {
	name                          string // as shown
	accepted, rejected, abandoned uint64
	waits                         waits
	idle                          int // samples without a call
}

// routes are the routes of a gate that a viewer has open.
type routes struct {
	all map[string]*route // by the route of the calls, cut to size
}

// find returns the counts of the call's route.
func (r *routes) find(call *gate.Call) *route {
	name := call.Route
	switch {
	case call.UnknownRoute:
		name = otherRoute
	case len(name) > clean.MaxLen:
		name = clean.String(name)
	}
	if found := r.all[name]; found != nil {
		return found
	}
	if r.all == nil {
		r.all = make(map[string]*route)
	}
	if len(r.all) >= maxRoutes {
		name = otherRoute // may be one more than maxRoutes
		if found := r.all[name]; found != nil {
			return found
		}
	}
	name = strings.Clone(name)
	made := &route{name: clean.String(name)}
	r.all[name] = made
	return made
}

func (r *routes) add(e *gate.Event) {
	c := r.find(&e.Call)
	switch {
	case e.Decision == gate.Accepted:
		c.accepted++
	case e.Decision.Rejected():
		c.rejected++
	default:
		c.abandoned++
		return
	}
	c.waits.add(e.Waited)
}

// take calls f with each route and sets its counts to zero.
func (r *routes) take(f func(route)) {
	full := len(r.all) >= maxRoutes
	for name, c := range r.all {
		if c.accepted+c.rejected+c.abandoned > 0 {
			c.idle = 0
		} else if c.idle++; c.idle > idleSamples && full {
			delete(r.all, name)
			continue
		}
		f(*c)
		*c = route{name: c.name, idle: c.idle}
	}
}
