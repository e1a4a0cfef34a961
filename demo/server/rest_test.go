package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
)

func TestRESTListsAndTakesOrders(t *testing.T) {
	t.Parallel()
	addr := serve(t, gates(t), nil)
	for _, orders := range restOrders(addr) {
		status, _, body := rest(t, http.MethodGet, orders+"?state=open&limit=2", "")
		var list struct {
			Orders []struct{ ID, State string }
		}
		if err := json.Unmarshal([]byte(body), &list); err != nil || status != 200 || len(list.Orders) != 2 {
			t.Errorf("list: status %d, error %v, body %s; want 2 orders", status, err, body)
		}
		status, _, body = rest(t, http.MethodPost, orders,
			`{"customer": "customer-0001", "region": "north coast", "item": "lamp", "amountCents": "1200"}`)
		if status != 200 || !strings.Contains(body, `"item":"lamp"`) && !strings.Contains(body, `"item": "lamp"`) {
			t.Errorf("create: status %d, body %s; want the order", status, body)
		}
	}
}

func TestRESTHasNoListOfOtherStates(t *testing.T) {
	t.Parallel()
	addr := serve(t, gates(t), nil)
	for _, orders := range restOrders(addr) {
		status, _, body := rest(t, http.MethodGet, orders+"?state=shipped", "")
		if status != http.StatusBadRequest || !strings.Contains(body, `state: want open, got "shipped"`) {
			t.Errorf("%s: status %d, body %s; want 400 and why", orders, status, body)
		}
	}
}

// restOrders are the addresses of the orders, through Connect and through grpc-go.
func restOrders(addr string) []string {
	return []string{"http://" + addr + "/v1/orders", "http://" + addr + "/grpc/v1/orders"}
}

func TestFullGateRefusesREST(t *testing.T) {
	t.Parallel()
	for refusal, want := range map[gate.Refusal]int{gate.TooManyRequests: 429, gate.ServiceUnavailable: 503} {
		g := gates(t)
		addr := serve(t, g, nil)
		fill(t, g.DB)
		if refusal == gate.ServiceUnavailable { // the answer of a draining gate
			now, cancel := context.WithCancel(t.Context())
			cancel()
			_ = g.DB.Drain(now) // does not wait for the lease
		}
		for _, orders := range restOrders(addr) {
			refusedREST(t, orders+"?state=open", want)
		}
	}
}

func refusedREST(t *testing.T, url string, want int) {
	t.Helper()
	status, header, body := rest(t, http.MethodGet, url, "")
	var answer struct {
		Code    int
		Message string
		Details []map[string]any
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%s: %v in %s", url, err, body)
	}
	if status != want || header.Get("Retry-After") == "" || answer.Message != "server busy" || len(answer.Details) != 3 {
		t.Errorf("%s: status %d, Retry-After %q, body %s; want %d with a delay and the details",
			url, status, header.Get("Retry-After"), body, want)
	}
}

func rest(t *testing.T, method, url, send string) (status int, header http.Header, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(send))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(b)
}
