package exchange

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// sender is the body of a client that sends a block each time it is read, after a pause.
type sender struct {
	block, left int
	pause       time.Duration
	deadline    *[]time.Time // the last one counts
	read        int
}

func (s *sender) Read(p []byte) (int, error) {
	time.Sleep(s.pause)
	if d := *s.deadline; len(d) > 0 && time.Now().After(d[len(d)-1]) {
		return 0, http.ErrHandlerTimeout
	}
	n := min(s.block, s.left, len(p))
	s.left -= n
	s.read += n
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (*sender) Close() error { return nil }

// refuse drains a request over HTTP/2 with the given body, and returns how much was read and how long that took.
func refuse(c *Connection, s *sender, contentLength int64) (read int, took time.Duration) {
	began := time.Now()
	r := httptest.NewRequest(http.MethodPost, "/", s)
	r.ProtoMajor, r.ContentLength = 2, contentLength
	x, _ := Begin(foreign{httptest.NewRecorder(), s.deadline}, r)
	x.conn = c
	x.Refuse(http.Header{})
	x.End()
	return s.read, time.Since(began)
}

func TestADrainIsBounded(t *testing.T) {
	const kib, mib, ms = 1 << 10, 1 << 20, time.Millisecond
	configured := func() *Connection { return &Connection{server: &Server{}} }
	for _, test := range []struct {
		name          string
		conn          *Connection
		block, bytes  int
		contentLength int64
		pause         time.Duration
		want          int
		wantTook      time.Duration
	}{
		{"a small body", nil, 8 * kib, 50 * kib, -1, 0, 50 * kib, 0},
		{"more than a server reads that was not configured", nil, 8 * kib, mib, -1, 0, 256 * kib, 0},
		{"the same, announced", nil, 8 * kib, mib, mib, 0, 0, 0},
		{"a large body", configured(), 8 * kib, 4*mib - 8*kib, 4*mib - 8*kib, 0, 4*mib - 8*kib, 0},
		{"more than a connection may", configured(), 8 * kib, 10 * mib, -1, 0, 4 * mib, 0},
		{"the same, announced", configured(), 8 * kib, 10 * mib, 10 * mib, 0, 0, 0},
		{"a client that sends little", nil, 10, mib, -1, 6 * ms, 10, 12 * ms},
		{"a client that sends much", nil, 8 * kib, mib, -1, 4 * ms, 12 * 8 * kib, 52 * ms},
		{"no body", nil, 8 * kib, mib, 0, 0, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &sender{block: test.block, left: test.bytes, pause: test.pause, deadline: new([]time.Time)}
				read, took := refuse(test.conn, s, test.contentLength)
				if read != test.want || took != test.wantTook {
					t.Errorf("%d bytes were read in %s, want %d in %s", read, took, test.want, test.wantTook)
				}
				if c := test.conn; c != nil && (c.read.Load() != 0 || c.server.drains.Load() != 0) {
					t.Errorf("%d bytes and %d drains are counted at the end", c.read.Load(), c.server.drains.Load())
				}
			})
		})
	}
}

// TestDrainsShrinkUnderAttack has other drains that go on at the same server and connection.
func TestDrainsShrinkUnderAttack(t *testing.T) {
	for _, test := range []struct {
		drains int64
		read   int64 // by them, on this connection
		want   int
	}{
		{0, 0, 12}, {128, 0, 6}, {250, 0, 0}, {256, 0, 0}, {1000, 0, 0},
		{1, connectionBytes - 5*8<<10, 5}, {1, connectionBytes, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := &Connection{server: &Server{}}
			c.server.drains.Store(test.drains)
			c.read.Store(test.read)
			s := &sender{block: 8 << 10, left: 1 << 20, pause: 4 * time.Millisecond, deadline: new([]time.Time)}
			if read, _ := refuse(c, s, -1); read != test.want*8<<10 {
				t.Errorf("beside %d drains that have read %d bytes, %d blocks were read, want %d", test.drains, test.read, read>>13, test.want)
			}
		})
	}
}

func TestABodyThatExpectsToContinueIsNotRead(t *testing.T) {
	for _, major := range []int{1, 2} {
		s := &sender{block: 10, left: 100, deadline: new([]time.Time)}
		r := httptest.NewRequest(http.MethodPost, "/", s)
		r.ProtoMajor, r.ContentLength = major, 100
		r.Header.Set("Expect", "100-continue")
		x, _ := Begin(foreign{httptest.NewRecorder(), s.deadline}, r)
		x.Refuse(http.Header{})
		if x.End(); s.read != 0 {
			t.Errorf("HTTP/%d: %d bytes were read", major, s.read)
		}
	}
}
