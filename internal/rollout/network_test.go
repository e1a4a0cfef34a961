package rollout

import (
	"context"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// delay is how long a packet takes.
const delay = 2 * time.Millisecond

// network is an in-memory network. What is sent arrives after the delay, also the end of a connection.
type network struct {
	mu        sync.Mutex
	listeners map[string]*listener
}

func newNetwork() *network { return &network{listeners: map[string]*listener{}} }

type listener struct {
	network *network
	addr    string
	backlog chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (n *network) listen(addr string) net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &listener{network: n, addr: addr, backlog: make(chan net.Conn, 1024), closed: make(chan struct{})}
	n.listeners[addr] = l
	return l
}

// dial connects to an address. It fails if nobody listens there.
func (n *network) dial(ctx context.Context, addr string) (net.Conn, error) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	select {
	case <-time.After(2 * delay):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.listeners[addr]
	if l == nil {
		return nil, refused
	}
	client, server := connection()
	l.backlog <- server
	return client, nil
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.backlog:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close refuses connections from now on, and closes those that were not accepted.
func (l *listener) Close() error {
	l.once.Do(func() {
		l.network.mu.Lock()
		defer l.network.mu.Unlock()
		delete(l.network.listeners, l.addr)
		close(l.closed)
		for {
			select {
			case c := <-l.backlog:
				_ = c.Close()
			default:
				return
			}
		}
	})
	return nil
}

func (l *listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80} }

// connection returns both ends of a connection.
func connection() (client, server net.Conn) {
	client, nearClient := net.Pipe()
	server, nearServer := net.Pipe()
	go carry(nearClient, nearServer)
	go carry(nearServer, nearClient)
	return client, server
}

type packet struct {
	arrives time.Time
	data    []byte // nil: the end
}

// carry takes what it reads to the other side.
func carry(from, to net.Conn) {
	packets := make(chan packet, 1<<16)
	go func() {
		defer close(packets)
		for {
			buffer := make([]byte, 4096)
			n, err := from.Read(buffer)
			if n > 0 {
				packets <- packet{time.Now().Add(delay), buffer[:n]}
			}
			if err != nil {
				packets <- packet{time.Now().Add(delay), nil}
				return
			}
		}
	}()
	for p := range packets {
		time.Sleep(time.Until(p.arrives))
		if p.data == nil {
			_ = to.Close()
		} else {
			_, _ = to.Write(p.data) // fails if the other side is closed: then it is lost
		}
	}
	_, _ = io.Copy(io.Discard, from)
}
