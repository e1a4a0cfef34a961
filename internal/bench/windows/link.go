package windows

import (
	"context"
	"net"
	"time"
)

// link is a way to a server that takes the same time for each byte, however many there are.
type link struct {
	addr  string
	delay time.Duration // of one direction
}

// dial returns the client's end of a new connection.
func (l link) dial(ctx context.Context) (net.Conn, error) {
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", l.addr)
	if err != nil || l.delay == 0 {
		return server, err
	}
	client, near := net.Pipe()
	go l.carry(server, near)
	go l.carry(near, server)
	return client, nil
}

// parcel is what was sent at one time.
type parcel struct {
	due  time.Time
	data []byte
}

// carry delivers what comes from one end to the other one.
func (l link) carry(to, from net.Conn) {
	way := make(chan parcel, 1<<16) // as much as there may be on the way
	go func() {
		defer to.Close()
		for p := range way {
			time.Sleep(time.Until(p.due))
			if _, err := to.Write(p.data); err != nil {
				break
			}
		}
		for range way { // until the sender notices
		}
	}()
	defer close(way)
	for {
		buf := make([]byte, 64<<10)
		n, err := from.Read(buf)
		if n > 0 {
			way <- parcel{time.Now().Add(l.delay), buf[:n]}
		}
		if err != nil {
			_ = to.Close()
			return
		}
	}
}
