package gatedebug

import (
	"math"
	"strconv"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// row is a gate in the list of gates. Rows are comparable.
type row struct {
	numbers
	maxWaiting   int
	state        string
	pressure     float64
	since        int64 // when the trouble began, in Unix milliseconds, or 0
	lastRejected int64 // in Unix milliseconds, or 0
	dryRun       bool
}

// rowColumns returns the names of what row.append writes.
func rowColumns() []string {
	columns := append([]string{"gate"}, numberColumns()...)
	return append(columns, "max_waiting", "state", "pressure", "since", "last_rejected", "dry_run")
}

// append writes the row of the gate with the given index as a JSON array.
func (r *row) append(b []byte, index int) []byte {
	b = append(b, '[')
	b = strconv.AppendInt(b, int64(index), 10)
	b = append(b, ',')
	b = r.numbers.append(b)
	b = append(b, ',')
	b = strconv.AppendInt(b, int64(r.maxWaiting), 10)
	b = append(b, `,"`...)
	b = append(b, r.state...) // a constant without characters to escape
	b = append(b, `",`...)
	b = appendNumber(b, r.pressure)
	b = append(b, ',')
	b = strconv.AppendInt(b, r.since, 10)
	b = append(b, ',')
	b = strconv.AppendInt(b, r.lastRejected, 10)
	b = append(b, ',')
	b = strconv.AppendBool(b, r.dryRun)
	return append(b, ']')
}

// totals are the counters of a gate in a sample.
type totals struct {
	accepted, rejected, abandoned uint64
}

func totalsOf(s *gate.Snapshot) totals {
	t := s.Totals
	return totals{t.Accepted, t.RejectedBusy + t.RejectedTimeout, t.Abandoned}
}

// renew makes the row of a new sample. elapsed is the time since the sample
// before, or 0 if there was none.
func (g *sampled) renew(w *watch, s *gate.Snapshot, now time.Time, elapsed time.Duration) {
	r := row{
		numbers: numbers{
			inFlight: s.InFlight, limit: s.Limit, waiting: s.Waiting,
			accepted: unknown, rejected: unknown, abandoned: unknown,
		},
		maxWaiting: s.MaxWaiting,
		dryRun:     s.DryRun,
	}
	waits := w.takeWaits()
	t, before := totalsOf(s), g.totals
	g.totals = t
	if elapsed > 0 {
		accepted, rejected := t.accepted-before.accepted, t.rejected-before.rejected
		r.accepted = perSecond(accepted, elapsed)
		r.rejected = perSecond(rejected, elapsed)
		r.abandoned = perSecond(t.abandoned-before.abandoned, elapsed)
		g.pace.add(r.accepted, r.rejected, elapsed)
		if decided := accepted + rejected; decided > 0 {
			r.waitMean = ms(waits.sum / time.Duration(decided))
			r.waitMax = ms(waits.longest)
		}
	}
	st := w.status(now, s, g.pace)
	r.state = st.State
	r.pressure = math.Round(st.Pressure*100) / 100 // noise is no change
	r.since, r.lastRejected = milli(st.Since), milli(st.LastRejected)
	if r != g.row {
		g.changed = true
		g.urgent = g.urgent || r.pressure >= 1 || g.row.pressure >= 1
		g.row = r
	}
}

// milli returns t in Unix milliseconds, or 0 if it is zero.
func milli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func perSecond(n uint64, elapsed time.Duration) float64 {
	return math.Round(float64(n)/elapsed.Seconds()*100) / 100
}
