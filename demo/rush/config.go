package rush

import (
	"fmt"
	"time"

	"github.com/rpcgate/rpcgate/demo/server"
)

const (
	reportsGate = 1 // limit of reports in flight: less than the database's gate, to leave room for orders
	desksPerTen = 7 // of ten clients, how many use gRPC; the others use Connect

	// listLimit is above the number of open orders in a region, so every desk gets all of them.
	listLimit = 500
)

// Config says how the rush is played. Zero fields are not allowed.
type Config struct {
	Clients  int           // how many ask at once
	Deadline time.Duration // of each call, and the time between two rounds
	Duration time.Duration // of the load on each side
	Gate     int64         // limit of the gate in front of the database
	Seed     string        // path of the database that both sides start from
	Progress func(string)  // called with each line of progress
}

// Rounds returns how often every client asks: as often as the deadline fits into the duration.
func (c Config) Rounds() int { return int(c.Duration / c.Deadline) }

// grpcClients returns how many clients use gRPC. The others use Connect.
func (c Config) grpcClients() int { return (c.Clients*desksPerTen + 9) / 10 }

// Check returns an error that names the first bad field and its value, if there is one.
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

// gates configures the gates of the gated side. A refused client waits for a tenth to three tenths of its deadline. It
// can then make about five attempts, which is also what retryPolicy allows.
func (c Config) gates() server.GateConfig {
	return server.GateConfig{
		DB:       c.Gate,
		Reports:  reportsGate,
		RetryMin: c.Deadline / 10,
		RetryMax: c.Deadline * 3 / 10,
	}
}

// retryPolicy returns the policy of every client on both sides.
func (c Config) retryPolicy() retryPolicy {
	return retryPolicy{
		maxAttempts:    5, // the most that grpc-go does
		initialBackoff: c.Deadline / 10,
		maxBackoff:     c.Deadline,
		multiplier:     2,
	}
}
