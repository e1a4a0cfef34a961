package gatedebug

import (
	"strings"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/internal/clean"
)

const (
	// maxRoutes is how many routes of a gate are told apart, at most.
	maxRoutes = 50
	// otherRoute is the name of all further ones.
	otherRoute = "_OTHER"
	// idleSamples is after how many samples without a call a route gives up
	// its place to others.
	idleSamples = 60
)

// route counts the calls of a route since the last sample.
type route struct {
	name                          string // as it is shown
	accepted, rejected, abandoned uint64
	waits                         waits
	idle                          int // samples without a call
}

// routes are those of a gate that somebody has open.
type routes struct {
	all map[string]*route // by route as the calls give it, cut to size
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
		name = otherRoute // beyond the bound, if need be
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

// take calls f with what was counted for each route, and starts all counts anew.
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
