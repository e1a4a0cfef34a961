package rush

import (
	"sync"
	"time"

	"github.com/rpcgate/rpcgate/gen/demo/orders/v1/ordersv1connect"
)

// section measures what goes on behind the gates: how many calls were in their handlers at once, and how long those of
// the order service stayed there. The server calls enter in every handler, whether there are gates or not.
type section struct {
	mu     sync.Mutex
	inside int
	most   int
	held   []time.Duration
}

func (s *section) enter(service string) (leave func()) {
	began := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inside++
	s.most = max(s.most, s.inside)
	return func() {
		held := time.Since(began)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.inside--
		if service == ordersv1connect.OrderServiceName {
			s.held = append(s.held, held)
		}
	}
}

// reset forgets what was measured so far.
func (s *section) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most, s.held = s.inside, nil
}

// result returns the most calls that were inside at once and the times they stayed. The second is not complete before
// all have left.
func (s *section) result() (most int, held []time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most, append([]time.Duration(nil), s.held...)
}
