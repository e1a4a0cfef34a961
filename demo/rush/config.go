package rush

import (
	"fmt"
	"time"

	"github.com/rpcgate/rpcgate/demo/server"
)

const (
	reportsGate = 1 // reports in flight: fewer than the database's gate lets in, to leave room for orders
	desksPerTen = 7 // of ten clients so many use gRPC, the others Connect

	// What every desk asks for: all that is open in its region, which is fewer orders than that.
	listLimit = 500
)

// Config says how the rush is played. Zero fields are not allowed.
type Config struct {
	Clients  int           // how many ask at once
	Deadline time.Duration // of each call, and the pause from one round to the next
	Duration time.Duration // of the load on each side
	Gate     int64         // calls in flight at the gate in front of the database
	Seed     string        // path of the database that both sides start from
	Progress func(string)  // told what happens, line by line
}

// Rounds is how often every client asks: as often as the deadline fits into the duration.
func (c Config) Rounds() int { return int(c.Duration / c.Deadline) }

// grpcClients is how many of the clients use gRPC. The others use Connect.
func (c Config) grpcClients() int { return (c.Clients*desksPerTen + 9) / 10 }

// Check returns an error that names the field and the value if the rush cannot be played like this.
func (c Config) Check() error {
	switch {
	case c.Clients < 1:
		return fmt.Errorf("clients must be at least 1, got %d", c.Clients)
	case c.Deadline < 10*time.Millisecond:
		return fmt.Errorf("deadline must be at least 10ms, got %s", c.Deadline)
	case c.Duration < c.Deadline:
		return fmt.Errorf("duration must be at least the deadline of %s, got %s", c.Deadline, c.Duration)
	case c.Gate < 1:
		return fmt.Errorf("gate must be at least 1, got %d", c.Gate)
	}
	return nil
}

// gates are those of the gated side. A refused client is sent away for a tenth to three tenths of its deadline: it
// can try about five times, which is also what retryPolicy allows, until the last of its time is needed for the call.
func (c Config) gates() server.GateConfig {
	return server.GateConfig{
		DB:       c.Gate,
		Reports:  reportsGate,
		RetryMin: c.Deadline / 10,
		RetryMax: c.Deadline * 3 / 10,
	}
}

// retryPolicy is that of every client on both sides.
func (c Config) retryPolicy() retryPolicy {
	return retryPolicy{
		maxAttempts:    5, // the most that grpc-go does
		initialBackoff: c.Deadline / 10,
		maxBackoff:     c.Deadline,
		multiplier:     2,
	}
}
