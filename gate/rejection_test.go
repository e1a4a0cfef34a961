package gate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// TestTheTextOfARejectionSaysNothingOfTheInside has programs that print the error, or that send it to a client.
func TestTheTextOfARejectionSaysNothingOfTheInside(t *testing.T) {
	g := newNamed(t, "secret-db", 1, gate.WithMaxWait(0))
	defer acquire(t, g, gate.Call{}).Release()
	_, err := g.Acquire(t.Context(), gate.Call{RequestID: "req-17"})
	refused(t, err, gate.ReasonLimit)
	for _, text := range []string{
		err.Error(), fmt.Sprint(err), fmt.Sprintf("%v|%s|%q|%x|%#v|%20s", err, err, err, err, err, err),
		fmt.Errorf("load: %w", err).Error(), errors.Join(err, err).Error(), fmt.Sprintf("%v", fmt.Errorf("load: %w", err)),
	} {
		if strings.Contains(text, "secret") || strings.Contains(text, "of 1") || strings.Contains(text, "limit") {
			t.Errorf("the text %q tells of the inside", text)
		}
	}
	wantEqual(t, "text", err.Error(), "server busy")
	wantEqual(t, "%-13s", fmt.Sprintf("%-13s|", err), "server busy  |")
	wantEqual(t, "%q", fmt.Sprintf("%q", err), `"server busy"`)
}

func TestLogsGetAllOfARejection(t *testing.T) {
	r := &gate.Rejection{
		Gate: "db", Decision: gate.RejectedTimeout, Reason: gate.ReasonWaitTimeout, Waited: 1500 * time.Millisecond,
		InFlight: 3, Limit: 4, RequestID: "req-17",
	}
	wantEqual(t, "%+v", fmt.Sprintf("%+v", r),
		`server busy: gate "db": rejected_timeout (wait_timeout) after 1.5s with 3 of 4 in flight`)
	var b bytes.Buffer
	log := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	log.LogAttrs(context.Background(), slog.LevelInfo, "busy", slog.Any("error", error(r)))
	wantEqual(t, "slog", b.String(), "level=INFO msg=busy error.gate=db error.decision=rejected_timeout "+
		"error.reason=wait_timeout error.waited_ms=1500 error.in_flight=3 error.limit=4 error.request_id=req-17\n")
}

func TestANilRejectionIsPrintedAsNil(t *testing.T) {
	var r *gate.Rejection
	wantEqual(t, "%+v", fmt.Sprintf("%+v", r), "<nil>")
	wantEqual(t, "value", r.LogValue().Any(), nil)
}
