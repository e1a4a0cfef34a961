package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"connectrpc.com/cors"
	rscors "github.com/rs/cors"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/connecthost"
	"github.com/rpcgate/rpcgate/internal/interop/js"
)

// scripts is the folder of the scripts, from the root.
const scripts = "internal/interop/js"

func jsRows() []row {
	servers := []server{connectV1(), connectV2(), middleware()}
	return []row{
		{client: connectNode(), servers: servers, tried: "60 refused calls of 3.5 MB over HTTP/2, one more call after them", run: node("2")},
		{client: connectNode(), servers: without(servers), tried: "the same without ConfigureServer", known: bareRow, run: node("2")},
		{client: connectNode(), servers: servers, tried: "the same, with it, over HTTP/1.1", run: node("1.1"),
			known: "The rest of a refused body is read for at most 50 ms; a client that is slower may see its connection end before the answer"},
		{client: connectWeb(), servers: []server{pageServer()},
			tried: "a page of another origin reads code, details and delay of refusals by Connect and gRPC-Web", run: page},
	}
}

func node(httpVersion string) func(context.Context, meeting) (string, error) {
	return func(ctx context.Context, m meeting) (string, error) {
		b, err := m.busy(ctx, time.Second, forever)
		if err != nil {
			return "", err
		}
		defer b.stop()
		if err := js.Install(ctx, scripts); err != nil {
			return "", err
		}
		job, err := js.Job(map[string]any{"url": "http://" + b.addr, "httpVersion": httpVersion, "size": 3_500_000, "calls": 60})
		if err != nil {
			return "", err
		}
		file := filepath.Join(m.dir, "job.json")
		if err := os.WriteFile(file, job, 0o600); err != nil {
			return "", err
		}
		return m.flood(ctx, b, scripts, "node", "flood.mjs", file)
	}
}

// pageServer has CORS outside of the gate, and exposes what a refusal says.
func pageServer() server {
	return overHTTP("Connect v1 behind CORS", func(a gate.Admitter) http.Handler {
		return rscors.New(rscors.Options{
			AllowedOrigins: []string{"*"},
			AllowedMethods: cors.AllowedMethods(),
			AllowedHeaders: append(cors.AllowedHeaders(), "X-Request-Id"),
			ExposedHeaders: append(cors.ExposedHeaders(), "Retry-After", "Grpc-Retry-Pushback-Ms"),
		}).Handler(connecthost.HandlerV1(conformance.Echo, connectgate.NewInterceptor(a)))
	})
}

// page lets a browser make calls that are refused.
func page(ctx context.Context, m meeting) (string, error) {
	b, err := m.busy(ctx, 2*time.Second, forever)
	if err != nil {
		return "", err
	}
	defer b.stop()
	if err := js.Install(ctx, scripts); err != nil {
		return "", err
	}
	var targets []map[string]string
	for _, shape := range []string{"unary", "stream"} {
		for _, protocol := range []string{"connect", "grpc-web"} {
			targets = append(targets, map[string]string{"protocol": protocol, "url": "http://" + b.addr, "shape": shape})
		}
	}
	var seen []struct {
		Code, Message, Reason string
		RetryDelayMs          float64
		RetryAfter, Pushback  string
	}
	if err := js.InBrowser(ctx, scripts, filepath.Join(m.dir, "browser"), targets, &seen); err != nil {
		return "", err
	}
	for i, s := range seen {
		if s.Code != "ResourceExhausted" || s.Reason != "LIMIT" || s.RetryDelayMs != 2000 || s.RetryAfter+s.Pushback == "" {
			return "", fmt.Errorf("%s: %+v", targets[i]["protocol"], s)
		}
	}
	return fmt.Sprintf("%d refusals read", len(seen)), nil
}
