package server

import (
	"context"
	"errors"
	"os"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
)

func TestProxyOfTheDemoWaitsForLongerThanTheDemo(t *testing.T) {
	conf, err := os.ReadFile("../nginx/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	g, err := NewGates(GateConfig{DB: 2, Reports: 1, RetryMin: time.Second, RetryMax: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^\s*(?:proxy|grpc)_(?:read|send)_timeout (\w+);`).FindAllSubmatch(conf, -1)
	if len(found) != 4 {
		t.Errorf("nginx.conf has %d timeouts of reading and sending, want 4", len(found))
	}
	for _, timeout := range found {
		d, err := time.ParseDuration(string(timeout[1]))
		if err != nil {
			t.Fatal(err)
		}
		if err := g.CheckProxy(d); err != nil {
			t.Errorf("%s: %v", timeout[0], err)
		}
	}
	if err := g.CheckProxy(HandlerTimeout); err == nil {
		t.Errorf("no warning about a proxy that gives up after %s, as the handlers do", HandlerTimeout)
	}
	if err := (*Gates)(nil).CheckProxy(time.Second); err != nil {
		t.Errorf("without gates: %v", err)
	}
}

func TestHandlerThatTakesTooLongEndsWithDeadlineExceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := func(ctx context.Context) (err error) {
			ctx, end := within(ctx, &err)
			defer end()
			<-ctx.Done()
			return errors.New("interrupted (9)") // as SQLite puts it
		}
		start := time.Now()
		err := handler(t.Context())
		if code, _ := classify(t.Context(), err); code != codes.DeadlineExceeded || time.Since(start) != HandlerTimeout {
			t.Errorf("%s (%v) after %s, want DeadlineExceeded after %s", code, err, time.Since(start), HandlerTimeout)
		}
	})
}
