package server_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestPagesOfOtherOriginsMayReadRefusals has a page that asks before it sends JSON, as browsers do.
func TestPagesOfOtherOriginsMayReadRefusals(t *testing.T) {
	t.Parallel()
	g := gates(t)
	addr := serve(t, g, nil)
	fill(t, g.DB)
	for _, orders := range append(restOrders(addr), "http://"+addr+"/demo.orders.v1.OrderService/ListOpenOrders") {
		ask := map[string]string{
			"Origin": "https://shop.test", "Access-Control-Request-Method": "POST",
			"Access-Control-Request-Headers": "content-type,x-request-id",
		}
		status, header := fromPage(t, http.MethodOptions, orders, ask)
		if status != http.StatusNoContent || header.Get("Access-Control-Allow-Headers") == "" {
			t.Errorf("%s: the preflight got %d, %v", orders, status, header)
		}
		status, header = fromPage(t, http.MethodPost, orders, map[string]string{
			"Origin": "https://shop.test", "Content-Type": "application/json",
		})
		exposed := header.Get("Access-Control-Expose-Headers")
		if status != http.StatusTooManyRequests || header.Get("Access-Control-Allow-Origin") != "*" ||
			!strings.Contains(exposed, "Retry-After") || !strings.Contains(exposed, "Grpc-Retry-Pushback-Ms") {
			t.Errorf("%s: the refusal is %d, %v", orders, status, header)
		}
	}
	if got := g.DB.Snapshot().Totals; got.RejectedBusy+got.RejectedTimeout != 3 {
		t.Errorf("the gate counted %+v, want 3 rejections: preflights are no calls", got)
	}
}

// fromPage sends {} as a page does.
func fromPage(t *testing.T, method, url string, headers map[string]string) (status int, header http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range headers {
		req.Header.Set(key, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode, res.Header
}
