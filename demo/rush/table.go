package rush

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rpcgate/rpcgate/demo/server"
)

// WriteTable writes the result as a table of at most 80 columns.
func (r Result) WriteTable(w io.Writer, c Config) error {
	var b strings.Builder
	fmt.Fprintf(&b, "The morning rush: %d clients (%d gRPC, %d Connect) ask at once, %d times;\n",
		c.Clients, c.grpcClients(), c.Clients-c.grpcClients(), c.Rounds())
	fmt.Fprintf(&b, "deadline %s, up to %d attempts; %d database connections, gate of %d.\n\n",
		c.Deadline, c.retryPolicy().maxAttempts, server.Pool, c.Gate)
	fmt.Fprintf(&b, "%-44s %10s %10s\n", "", "ungated", "gated")
	for _, row := range r.rows() {
		fmt.Fprintf(&b, "%-44s %10s %10s\n", row.name, row.ungated, row.gated)
	}
	b.WriteString("\n")
	for _, p := range r.Promises {
		mark := "kept  "
		if !p.Kept {
			mark = "BROKEN"
		}
		fmt.Fprintf(&b, "%s %s\n", mark, p.Text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

type row struct{ name, ungated, gated string }

func (r Result) rows() []row {
	u, g := r.Ungated, r.Gated
	rows := []row{
		{"calls offered", count(u.Offered), count(g.Offered)},
		{"answered in time", count(u.AnsweredInTime), count(g.AnsweredInTime)},
		{"late: no answer before the deadline", count(u.Late), count(g.Late)},
		{"refused at the last attempt", count(u.Rejected), count(g.Rejected)},
		{"retries", count(u.Retried), count(g.Retried)},
		{"answered in time per second", tenth(u.GoodputPerS), tenth(g.GoodputPerS)},
		{"answers, p50 (of the admitted attempt)", millis(u.P50Ms), millis(g.P50Ms)},
		{"answers, p99", millis(u.P99Ms), millis(g.P99Ms)},
		{"with retries and pauses, p50", millis(u.CallP50Ms), millis(g.CallP50Ms)},
		{"with retries and pauses, p99", millis(u.CallP99Ms), millis(g.CallP99Ms)},
		{"time in the handler, p50", millis(u.HeldP50Ms), millis(g.HeldP50Ms)},
		{"time in the handler, p99", millis(u.HeldP99Ms), millis(g.HeldP99Ms)},
		{"most calls in their handlers at once", count(u.MaxInFlight), count(g.MaxInFlight)},
		{"large reports finished", count(u.Reports), count(g.Reports)},
	}
	if u.Failed+g.Failed > 0 {
		rows = append(rows, row{"failed otherwise", count(u.Failed), count(g.Failed)})
	}
	return rows
}

func count(n int) string { return strconv.Itoa(n) }

func tenth(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

func millis(f float64) string { return strconv.FormatFloat(f, 'f', 0, 64) + " ms" }
