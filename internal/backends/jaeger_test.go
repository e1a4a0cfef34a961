//go:build backends

package backends

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
)

// span is what Jaeger's query API says about a span.
type span struct {
	SpanID        string
	OperationName string
	References    []struct{ RefType, SpanID string }
	Tags          []struct {
		Key   string
		Value any
	}
}

func (s span) tag(key string) any {
	for _, tag := range s.Tags {
		if tag.Key == key {
			return tag.Value
		}
	}
	return nil
}

func startJaeger(t *testing.T) (otlp, query string) {
	t.Helper()
	path, err := jaegerBinary()
	if err != nil {
		t.Fatal(err)
	}
	otlp, query = freeAddr(t), freeAddr(t)
	start(t, path, []string{"SPAN_STORAGE_TYPE=memory"},
		"--collector.otlp.http.host-port="+otlp, "--query.http-server.host-port="+query,
		"--collector.otlp.grpc.host-port="+freeAddr(t), "--query.grpc-server.host-port="+freeAddr(t),
		"--collector.grpc-server.host-port="+freeAddr(t), "--collector.http-server.host-port="+freeAddr(t),
		"--admin.http.host-port="+freeAddr(t))
	eventually(t, "Jaeger is ready", func() error { return get("http://"+query+"/api/services", nil, nil) })
	return otlp, query
}

// find returns the traces that Jaeger finds, each as a list of spans.
func find(query string, by url.Values) (traces [][]span, err error) {
	by.Set("service", "rpcgate-demo")
	by.Set("lookback", "1h")
	by.Set("limit", "20")
	var answer struct{ Data []struct{ Spans []span } }
	if err := get("http://"+query+"/api/traces", by, &answer); err != nil {
		return nil, err
	}
	for _, trace := range answer.Data {
		traces = append(traces, trace.Spans)
	}
	if len(traces) == 0 {
		return nil, fmt.Errorf("no trace by %v", by)
	}
	return traces, nil
}

func TestJaeger(t *testing.T) {
	otlp, query := startJaeger(t)
	addr := startDemo(t, "OTEL_TRACES_EXPORTER=otlp", "OTEL_METRICS_EXPORTER=none",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://"+otlp, "OTEL_BSP_SCHEDULE_DELAY=500")
	load(t, addr, 30)

	t.Run("a rejected call is found by its decision", func(t *testing.T) {
		eventually(t, "rejected calls of both protocols", func() error { return checkRejected(query) })
	})
	t.Run("a wait is a span of its own, below that of the call", func(t *testing.T) {
		eventually(t, "calls that waited", func() error { return checkWaited(query) })
	})
}

func checkRejected(query string) error {
	var errs []error
	for _, system := range []string{"grpc", "connectrpc"} {
		// How long the calls take decides whether any waits in vain; that the queue is full is certain.
		tags := fmt.Sprintf(`{"gate.decision":"rejected_busy","rpc.system.name":%q}`, system)
		traces, err := find(query, url.Values{"tags": {tags}})
		for _, spans := range traces {
			for _, s := range spans {
				if s.tag("gate.decision") != "rejected_busy" {
					continue
				}
				if s.tag("gate.waited_ms") != 0.0 || s.tag("gate.in_flight") != 1.0 ||
					s.tag("gate.name") != "db" || s.tag("gate.reason") != "queue_full" {
					err = fmt.Errorf("a call that found the queue full: %+v", s)
				}
			}
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func checkWaited(query string) error {
	traces, err := find(query, url.Values{"operation": {"gate.wait"}})
	if err != nil {
		return err
	}
	for _, spans := range traces {
		byID := map[string]span{}
		for _, s := range spans {
			byID[s.SpanID] = s
		}
		for _, s := range spans {
			if s.OperationName != "gate.wait" {
				continue
			}
			if len(s.References) != 1 || s.References[0].RefType != "CHILD_OF" {
				return fmt.Errorf("the wait is below %v", s.References)
			}
			call := byID[s.References[0].SpanID]
			if call.tag("gate.decision") == nil || !strings.HasSuffix(call.OperationName, "/ListOpenOrders") {
				return fmt.Errorf("the wait is below %+v", call)
			}
		}
	}
	return nil
}

func TestJaegerIsTheVersionThatTheModuleSays(t *testing.T) {
	mod, err := os.ReadFile("jaeger/go.mod")
	if err != nil || !strings.Contains(string(mod), "github.com/jaegertracing/jaeger "+jaegerVersion+" ") {
		t.Errorf("jaeger/go.mod does not require %s: error %v", jaegerVersion, err)
	}
}
