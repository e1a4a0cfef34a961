package rush

import (
	"sync"
	"time"

	"github.com/rpcgate/rpcgate/gen/demo/orders/v1/ordersv1connect"
)

// section measures what happens behind the gates: how many calls were in their handlers at once, and how long calls of
// the order service stayed there. The server calls enter in every handler, with and without gates.
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

// reset drops the measurements so far.
func (s *section) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most, s.held = s.inside, nil
}

// result returns the largest number of calls that were inside at once, and how long they stayed. The times are complete
// when all calls have left.
func (s *section) result() (most int, held []time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most, append([]time.Duration(nil), s.held...)
}
