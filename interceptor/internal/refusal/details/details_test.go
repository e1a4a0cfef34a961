package details

import (
	"testing"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

func TestPackedDetailsAreTheBytesOfTheMessages(t *testing.T) {
	for name, r := range refusals(t) {
		packed := Packed(r)
		for i, m := range Messages(r) {
			want, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
			if err != nil {
				t.Fatalf("%s: marshal %T: %v", name, m, err)
			}
			if got := string(packed[i].MessageName()); got != string(m.ProtoReflect().Descriptor().FullName()) {
				t.Errorf("%s: detail %d is a %s, want a %T", name, i, got, m)
			}
			if string(packed[i].Value) != string(want) {
				t.Errorf("%s: %T packed as %x, want %x", name, m, packed[i].Value, want)
			}
		}
	}
}

func TestStatusCanBeMarshaledWhateverTheGateWasTold(t *testing.T) {
	for name, r := range refusals(t) {
		if _, err := proto.Marshal(Status(r)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, detail := range Status(r).Details {
			if _, err := detail.UnmarshalNew(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func refusals(t *testing.T) map[string]refusal.Refusal {
	t.Helper()
	out := map[string]refusal.Refusal{}
	for reason := range gate.ReasonDraining + 2 {
		r := &gate.Rejection{Reason: reason, RequestID: "id-1", RetryDelay: 1500 * time.Millisecond}
		out["reason "+reason.String()] = refusal.New(t.Context(), r, false)
	}
	for name, delay := range map[string]time.Duration{
		"no delay": 0, "whole seconds": 3 * time.Second, "milliseconds": 20 * time.Millisecond,
		"nanoseconds": 1, "days": 100 * 24 * time.Hour,
	} {
		out[name] = refusal.New(t.Context(), &gate.Rejection{RetryDelay: delay}, false)
	}
	odd := &gate.Rejection{Gate: "g\xff", RequestID: "\xffä", InFlight: -1, Limit: 7, Reason: gate.ReasonLimit}
	out["with state"] = refusal.New(t.Context(), odd, true)
	out["local"] = refusal.New(t.Context(), odd, false).Local()
	out["local with state"] = refusal.New(t.Context(), odd, true).Local()
	return out
}

func TestAppendedStatusIsThatOfTheMessage(t *testing.T) {
	for name, r := range refusals(t) {
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(Status(r))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := Append(nil, r); string(got) != string(want) {
			t.Errorf("%s: appended %x, want %x", name, got, want)
		}
	}
}

// What is borrowed next must not change what was copied before.
func TestBorrowedStatusIsThatOfTheMessage(t *testing.T) {
	copies := map[string]*spb.Status{}
	for name, r := range refusals(t) {
		loan := Borrow(r)
		copies[name] = proto.CloneOf(loan.Status())
		loan.Return()
	}
	for name, r := range refusals(t) {
		if want := Status(r); !proto.Equal(copies[name], want) {
			t.Errorf("%s: borrowed %v, want %v", name, copies[name], want)
		}
	}
}
