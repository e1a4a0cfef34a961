package hosts

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/connecthost"
	"github.com/rpcgate/rpcgate/internal/conformance/grpchost"
	"github.com/rpcgate/rpcgate/internal/conformance/httphost"
	"github.com/rpcgate/rpcgate/internal/conformance/resthost"
)

// Options say how long to run.
type Options struct {
	For  time.Duration // over all hosts
	Seed uint64
	// AtOnce is how many hosts are under stress at the same time; 0 is one.
	AtOnce int
	// Hosts are the hosts to run; nil is all of them.
	Hosts []conformance.Host
	// Progress, if it is not nil, hears of each host that did well. It may be called by several goroutines.
	Progress func(host string, counts Counts)
}

// Counts say what a stress has done.
type Counts struct {
	Answered, Refused, Failed uint64        // calls, as clients see them
	Bodies, InPart            uint64        // bodies that were sent by hand, whole and in part
	TooSlow                   uint64        // calls that gates have cut off, since their bodies came too slowly
	Innocent                  uint64        // calls beside all that, every one answered
	Again                     uint64        // attempts that they needed beyond the first
	Slowest                   time.Duration // of the innocent calls
	Drained, Reopened         uint64        // results of Drain
}

// Plus is the sum, and the slower of the slowest.
func (c Counts) Plus(o Counts) Counts {
	return Counts{
		Answered: c.Answered + o.Answered, Refused: c.Refused + o.Refused, Failed: c.Failed + o.Failed,
		Bodies: c.Bodies + o.Bodies, InPart: c.InPart + o.InPart, TooSlow: c.TooSlow + o.TooSlow,

		Innocent: c.Innocent + o.Innocent, Again: c.Again + o.Again, Slowest: max(c.Slowest, o.Slowest),
		Drained: c.Drained + o.Drained, Reopened: c.Reopened + o.Reopened,
	}
}

// String is a line for people.
func (c Counts) String() string {
	return fmt.Sprintf("%d answered, %d refused, %d failed; %d bodies sent by hand, %d in part, %d cut off as too "+
		"slow; %d innocent with %d attempts more, the slowest in %s; %d drained, %d reopened", c.Answered, c.Refused, c.Failed, c.Bodies, c.InPart, c.TooSlow, c.Innocent, c.Again,
		c.Slowest.Round(time.Millisecond), c.Drained, c.Reopened)
}

// All are the hosts, those of each package together. Those on net/http are there twice, as they are and with
// [httpgate.ConfigureServer].
func All() []conformance.Host {
	overHTTP := slices.Concat([]conformance.Host{grpchost.ServeHTTP(), httphost.Middleware()}, connecthost.All(), resthost.All())
	all := slices.Concat([]conformance.Host{
		grpchost.Interceptor(), grpchost.BeforeDecode(), grpchost.Both(), grpchost.Tap(),
	}, overHTTP)
	for _, h := range overHTTP {
		all = append(all, Configured(h))
	}
	return all
}

// Configured is a host on net/http with [httpgate.ConfigureServer].
func Configured(h conformance.Host) conformance.Host {
	start := h.Start
	h.Name += ", configured"
	h.Start = func(t testing.TB, s conformance.Setup) conformance.Client {
		s.Configure = func(srv *http.Server) { httpgate.ConfigureServer(srv) }
		return start(t, s)
	}
	return h
}

// Run puts the hosts under stress, a group of them after the other. It is an error if ever more than the limit of a gate
// is in its handlers, if an innocent call fails, if an answer is not what was sent, if a body that was sent whole gets no
// answer, or if in the end anything is in flight or waiting, a gate has counted differently, or goroutines are left.
func Run(t *testing.T, o Options) (Counts, error) {
	if o.Hosts == nil {
		o.Hosts = All()
	}
	groups := slices.Collect(slices.Chunk(o.Hosts, max(o.AtOnce, 1)))
	var sum Counts
	var errs []error
	for _, group := range groups {
		counts, err := o.stress(t, group, o.For/time.Duration(len(groups)))
		sum = sum.Plus(counts)
		errs = append(errs, err)
	}
	return sum, errors.Join(errs...)
}

// stress puts hosts under stress at the same time, and looks for goroutines that they leave.
func (o Options) stress(t *testing.T, chosen []conformance.Host, d time.Duration) (Counts, error) {
	before := runtime.NumGoroutine()
	all := make([]Counts, len(chosen))
	errs := make([]error, len(chosen))
	var group sync.WaitGroup
	for i, h := range chosen {
		group.Go(func() { all[i], errs[i] = o.stressOne(t, h, d) })
	}
	group.Wait()
	var sum Counts
	for _, counts := range all {
		sum = sum.Plus(counts)
	}
	return sum, errors.Join(append(errs, left(before))...)
}

// stressOne lasts for d, and for as long as it takes to make the fewest calls that tell something.
func (o Options) stressOne(t *testing.T, h conformance.Host, d time.Duration) (Counts, error) {
	w, err := newWorld(h)
	if err != nil {
		return Counts{}, err
	}
	t.Run(h.Name, func(t *testing.T) {
		w.client = h.Start(t, conformance.Setup{
			Admitter: w.policy, Handler: w.handle,
			Options: []interceptor.Option{interceptor.WithMinRate(1<<10, impatience)},
		})
		w.run(time.Now().Add(d), o.Seed+uint64(len(h.Name))<<32)
	})
	w.settle()
	w.finish()
	counts := w.counts()
	if err := w.verdict(); err != nil {
		return counts, fmt.Errorf("%s (%s): %w", h.Name, counts, err)
	}
	if o.Progress != nil {
		o.Progress(h.Name, counts)
	}
	return counts, nil
}

const (
	callers   = 16
	innocents = 3
	senders   = 6 // of bodies by hand
	fewest    = 8 // calls, bodies and so on that each of them makes, however short the time is
	patience  = 30 * time.Second
	// impatience is the grace that slow senders have: some of the bodies that are sent by hand take longer.
	impatience = 4 * time.Millisecond
)

// run lets the clients loose until the end.
func (w *world) run(end time.Time, seed uint64) {
	var busy, others sync.WaitGroup
	n := uint64(0)
	start := func(group *sync.WaitGroup, again func(done int) bool, f func(*rand.Rand)) {
		n++
		r := rand.New(rand.NewPCG(seed, n))
		group.Go(func() {
			for done := 0; again(done); done++ {
				f(r)
			}
		})
	}
	more := func(done int) bool {
		now := time.Now()
		return done < fewest || now.Before(end) || !w.seenAll() && now.Before(end.Add(patience))
	}
	for range callers {
		start(&busy, more, w.call)
	}
	for range innocents {
		start(&busy, more, w.innocent)
	}
	if over, ok := w.client.(overHTTP); ok {
		server, client := over.Over()
		for range senders {
			start(&busy, more, func(r *rand.Rand) { w.send(server, client, r) })
		}
	}
	stop := make(chan struct{})
	on := func(int) bool {
		select {
		case <-stop:
			return false
		default:
			return true
		}
	}
	start(&others, on, w.limits)
	start(&others, on, w.drain)
	busy.Wait()
	close(stop)
	others.Wait()
}
