package otelgate_test

import (
	"context"
	"strings"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/otelgate"
)

// wrapper is an Admitter that does not tell of its gates.
type wrapper struct{ inner gate.Admitter }

func (w wrapper) Acquire(ctx context.Context, call gate.Call) (gate.Lease, error) {
	return w.inner.Acquire(ctx, call)
}

func TestBadArgumentsAreNamed(t *testing.T) {
	db := gate.Must(gate.New("db", 1))
	for _, c := range []struct {
		admitter gate.Admitter
		opts     []otelgate.Option
		want     string
	}{
		{db, []otelgate.Option{otelgate.WithMeterProvider(nil)}, "WithMeterProvider: want a provider, got nil"},
		{db, []otelgate.Option{otelgate.WithTracerProvider(nil)}, "WithTracerProvider: want a provider, got nil"},
		{db, []otelgate.Option{otelgate.WithMaxRoutes(-1)}, "WithMaxRoutes: want 0 or more, got -1"},
		{db, []otelgate.Option{otelgate.WithoutSpans(), nil}, "option 1 is nil"},
		{nil, nil, "the Admitter is nil"},
		{gate.Chain(db, gate.Must(gate.New("db", 2))), nil, `two gates have the name "db"`},
	} {
		r, err := otelgate.NewRecorder(c.admitter, c.opts...)
		if err == nil || err.Error() != "otelgate.NewRecorder: "+c.want || r != nil {
			t.Errorf("got %v, want %q", err, c.want)
		}
		if err := otelgate.Instrument(c.admitter, c.opts...); err == nil || err.Error() != "otelgate.Instrument: "+c.want {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestAnAdmitterThatDoesNotTellOfItsGates(t *testing.T) {
	a := wrapper{gate.Must(gate.New("db", 1))}
	if err := otelgate.Instrument(a); err == nil || !strings.Contains(err.Error(), "gate.GateLister") {
		t.Errorf("got %v, want an error: there is nothing to instrument", err)
	}
	recorder, err := otelgate.NewRecorder(a)
	if err != nil {
		t.Fatal(err)
	}
	sdk := newSDK()
	ctx, span := sdk.traces.Tracer("test").Start(context.Background(), "call")
	lease, err := a.Acquire(ctx, gate.Call{})
	recorder.Annotate(ctx, &gate.Call{}, lease, err)
	span.End()
	if n := len(sdk.spans.Ended()[0].Attributes()); n != 5 {
		t.Errorf("%d attributes, want the 5 of an accepted call", n)
	}
}

// wrapping is a gate.Wrapper.
type wrapping struct{ wrapper }

func (w wrapping) Unwrap() gate.Admitter { return w.inner }

func TestAnAdmitterAroundGatesHasTheirMetrics(t *testing.T) {
	sdk := newSDK()
	a := wrapping{wrapper{wrapping{wrapper{gate.Must(gate.New("db", 1))}}}}
	if err := otelgate.Instrument(a, otelgate.WithMeterProvider(sdk.meters)); err != nil {
		t.Fatal(err)
	}
	oneCall(t, a)
	wantLines(t, about(sdk.metrics(t), "requests", "limit"), oneRequest, oneLimit)
}

func TestWithoutMetrics(t *testing.T) {
	sdk := newSDK()
	db := gate.Must(gate.New("db", 1))
	for _, err := range []error{
		otelgate.Instrument(db, otelgate.WithMeterProvider(sdk.meters), otelgate.WithoutMetrics()),
		func() error {
			_, err := otelgate.NewRecorder(db, otelgate.WithMeterProvider(sdk.meters), otelgate.WithoutMetrics())
			return err
		}(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	oneCall(t, db)
	if got := sdk.metrics(t); len(got) != 0 {
		t.Errorf("got %q, want none", got)
	}
}

func TestInstrumentWithoutSpans(t *testing.T) {
	sdk := newSDK()
	db := gate.Must(gate.New("db", 1))
	if err := otelgate.Instrument(db, otelgate.WithoutSpans()); err != nil {
		t.Fatal(err)
	}
	ctx, span := sdk.traces.Tracer("test").Start(context.Background(), "call")
	if _, err := db.Acquire(ctx, gate.Call{}); err != nil {
		t.Fatal(err)
	}
	span.End()
	if got := sdk.spans.Ended()[0].Attributes(); len(got) != 0 {
		t.Errorf("got %v, want none", got)
	}
}
