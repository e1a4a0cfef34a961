package hosts

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/rpcgate/rpcgate/internal/conformance"
)

// draw draws the text of a request: a word for the handler, and a size.
func draw(r *rand.Rand) string {
	size := 0
	switch r.IntN(32) {
	case 0:
		size = 1 << 20
	case 1, 2, 3:
		size = 70_000
	case 4, 5, 6, 7, 8, 9, 10, 11, 12:
		size = r.IntN(2000)
	}
	return verb(r) + " " + strings.Repeat("x", size)
}

// hurry returns the context of a caller that has little time, or leaves.
func hurry(r *rand.Rand) (context.Context, context.CancelFunc) {
	switch r.IntN(8) {
	case 0:
		return context.WithTimeout(context.Background(), time.Duration(r.IntN(20_000))*time.Microsecond)
	case 1:
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		timer := time.AfterFunc(time.Duration(r.IntN(10_000))*time.Microsecond, cancel)
		return ctx, func() { timer.Stop(); cancel() }
	default:
		return context.WithTimeout(context.Background(), time.Second)
	}
}

// call makes a call of any shape.
func (w *world) call(r *rand.Rand) {
	shape := w.host.Shapes[r.IntN(len(w.host.Shapes))]
	ctx, cancel := hurry(r)
	defer cancel()
	call := w.client.Open(ctx, shape, nil)
	messages := 1
	if shape == conformance.ClientStream || shape == conformance.BidiStream {
		messages = r.IntN(4)
	}
	var sent []string
	for range messages {
		text := draw(r)
		if call.Send(text) != nil {
			break
		}
		sent = append(sent, text)
		if r.IntN(4) == 0 {
			<-time.After(time.Duration(r.IntN(2000)) * time.Microsecond)
		}
	}
	_ = call.CloseSend()
	w.count(receive(call), sent, shape)
}

// outcome is how a call ended, for its client.
type outcome struct {
	received []string
	err      error
}

func receive(call conformance.ClientCall) outcome {
	var o outcome
	for {
		text, err := call.Recv()
		if err == io.EOF {
			return o
		}
		if err != nil {
			o.err = err
			return o
		}
		o.received = append(o.received, text)
	}
}

func (w *world) count(o outcome, sent []string, shape conformance.Shape) {
	var f *conformance.Failure
	switch {
	case o.err == nil:
		w.answered.Add(1)
		w.compare(o.received, sent, shape)
	case errors.As(o.err, &f) && (f.Code == resourceExhausted || f.Code == unavailable || f.HTTPStatus == 429 || f.HTTPStatus == 503):
		w.refused.Add(1)
	default:
		w.failed.Add(1)
	}
}

// The codes of refusals.
const (
	resourceExhausted = 8
	unavailable       = 14
)

// compare checks that an answered call has got what it sent.
func (w *world) compare(received, sent []string, shape conformance.Shape) {
	if slices.ContainsFunc(sent, func(text string) bool { return strings.HasPrefix(text, goexit) }) {
		return // what becomes of the answer is up to the host
	}
	want := sent
	if shape == conformance.ClientStream {
		want = []string{""}
		if len(sent) > 0 {
			want = sent[len(sent)-1:]
		}
	}
	if got, want := strings.Join(received, "|"), strings.Join(want, "|"); got != want {
		w.problem("%s: %d bytes came back, %d were sent: %.40q, %.40q", shape, len(got), len(want), got, want)
	}
}

// attempts are those that a call may need beyond the first.
const attempts = 3

// innocent makes a call past the gates on a connection of the others. It may need another attempt: gRPC clients without a
// retry policy report the second of two connections in a row that a draining server ends.
func (w *world) innocent(*rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	began := time.Now()
	err := w.client.Check(ctx)
	for range attempts {
		if err == nil {
			break
		}
		w.again.Add(1)
		err = w.client.Check(ctx)
	}
	if err != nil {
		w.problem("an innocent call failed after %s: %v", time.Since(began).Round(time.Millisecond), err)
		return
	}
	w.innocents.Add(1)
	w.mu.Lock()
	w.slowest = max(w.slowest, time.Since(began))
	w.mu.Unlock()
	<-time.After(time.Millisecond)
}
