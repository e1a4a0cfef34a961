package hosts

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/internal/conformance"
)

// What the first word of a request asks of the handler. All that do not end it also echo the request.
const (
	echo   = "echo"
	pause  = "pause"  // works for a moment
	linger = "linger" // works until the caller is gone, or the gate drains
	early  = "early"  // releases the lease early
	inner  = "inner"  // acquires another gate
	fail   = "fail"
	panics = "panic"
	goexit = "goexit"
)

// verb draws one of those words, a harmless one more often. A call whose handler ends its goroutine may take all the time
// of its caller, so that is rare.
func verb(r *rand.Rand) string {
	if r.IntN(40) == 0 {
		return goexit
	}
	return []string{echo, echo, echo, echo, pause, pause, pause, linger, early, inner, fail, panics}[r.IntN(12)]
}

// handle is the handler of all calls. It checks that no more of them are in it than its gates allow.
func (w *world) handle(ctx context.Context, shape conformance.Shape, s conformance.Stream) error {
	v := &visit{world: w, gates: w.of(shape)}
	defer v.leave()
	last, err := "", error(nil)
	if mode := modes[shape]; mode != gate.HoldMessage || shape == conformance.Unary {
		v.enter()
	}
	for {
		if modes[shape] == gate.HoldMessage {
			v.leave()
		}
		var text string
		if text, err = s.Recv(); err != nil {
			break
		}
		v.enter()
		if err = v.obey(ctx, text); err != nil {
			return err
		}
		if last = text; shape == conformance.ClientStream {
			continue
		}
		if modes[shape] == gate.HoldOpening {
			v.leave() // the lease ends with the first response
			v.gates = nil
		}
		if err = s.Send(text); err != nil {
			return err
		}
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	if shape == conformance.ClientStream {
		return s.Send(last)
	}
	return nil
}

// visit is a call while it is in its handler.
type visit struct {
	world *world
	gates []*watched
	in    bool
}

func (v *visit) enter() {
	if v.in {
		return
	}
	v.in = true
	for _, g := range v.gates {
		if n := g.inside.Add(1); n > g.most {
			v.world.problem("gate %s: %d in its handlers, want at most %d", g.Name(), n, g.most)
		}
	}
}

func (v *visit) leave() {
	if !v.in {
		return
	}
	v.in = false
	for _, g := range v.gates {
		g.inside.Add(-1)
	}
}

// obey does what the request asks for.
func (v *visit) obey(ctx context.Context, text string) error {
	what, _, _ := strings.Cut(text, " ")
	switch what {
	case pause:
		<-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond)
	case linger:
		lease, _ := gate.LeaseFromContext(ctx)
		select {
		case <-ctx.Done():
		case <-lease.Draining():
		case <-time.After(20 * time.Millisecond):
		}
	case early:
		lease, _ := gate.LeaseFromContext(ctx)
		v.leave()
		v.gates = nil
		lease.Release()
	case inner:
		return v.world.inner.Do(ctx, gate.Call{}, func(context.Context) error {
			own := &visit{world: v.world, gates: []*watched{v.world.inner}}
			own.enter()
			defer own.leave()
			<-time.After(time.Millisecond)
			return nil
		})
	case fail:
		return errors.New("a handler's error")
	case panics:
		panic("a handler's panic")
	case goexit:
		runtime.Goexit()
	}
	return nil
}
